//! Terraform plan JSON in, a draft out.
