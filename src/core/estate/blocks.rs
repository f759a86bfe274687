//! The blocks of Terraform texts (HCL and JSON) that say what a root is and what it reads.
