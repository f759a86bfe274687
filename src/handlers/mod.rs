//! What the server does about an event: gather, decide, act. Never waits for Terraform.
