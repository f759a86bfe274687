//! Terraform and OpenTofu: init, plan, show and apply of one root at a time, side by side.
