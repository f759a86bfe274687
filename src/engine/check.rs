//! Which tools are on this machine, and which of them plans.

use std::time::Duration;

use serde_json::Value;

use crate::core::finding::Finding;
use crate::engine::{Tool, installed};
use crate::process::Program;

/// How long a tool may take to say its version.
const LIMIT: Duration = Duration::from_secs(30);

/// Looks for OpenTofu and Terraform. The first one plans where a repository names none.
pub async fn check() -> Vec<Finding> {
    let tools = installed();
    if tools.is_empty() {
        return vec![Finding::fail(
            "tool",
            "neither `tofu` nor `terraform` is on the PATH",
            "install one of them where jobs run; a repository with `commands` of its own needs none",
        )];
    }
    let mut findings = Vec::new();
    for (number, tool) in tools.iter().enumerate() {
        findings.push(look_at(tool, use_of(number)).await);
    }
    findings
}

fn use_of(number: usize) -> &'static str {
    match number {
        0 => "plans where a repository names no tool",
        _ => "plans where a repository names it",
    }
}

async fn look_at(tool: &Tool, used: &str) -> Finding {
    let program = tool.program.display();
    let ran = Program::new(&tool.program)
        .args(["version", "-json"])
        .env("CHECKPOINT_DISABLE", "1")
        .limit(LIMIT)
        .run()
        .await;
    let hint = format!("run `{program} version` and mend what it says");
    match ran {
        Ok(ran) if ran.status.success() => match version(&ran.stdout) {
            Some(version) => {
                let name = tool.kind.name();
                Finding::ok("tool", format!("{name} {version} ({program}) {used}"))
            }
            None => Finding::warn("tool", format!("{program} does not say its version"), hint),
        },
        Ok(ran) => {
            let what = format!("{program} does not run: {}", ran.complaint());
            Finding::fail("tool", what, hint)
        }
        Err(error) => Finding::fail("tool", format!("cannot start {program}: {error}"), hint),
    }
}

fn version(said: &[u8]) -> Option<String> {
    let said: Value = serde_json::from_slice(said).ok()?;
    Some(said["terraform_version"].as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::finding::Level;
    use crate::engine::EngineKind;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    async fn level_of(script: &str) -> Level {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("tofu");
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let tool = Tool {
            kind: EngineKind::OpenTofu,
            program,
            wrapper: None,
        };
        look_at(&tool, "plans").await.level
    }

    #[tokio::test]
    async fn a_tool_that_cannot_say_its_version_is_told_from_one_that_does_not_run() {
        let says = r#"echo '{"terraform_version": "1.12.6"}'"#;
        assert_eq!(level_of(says).await, Level::Ok);
        assert_eq!(level_of("echo tofu").await, Level::Warn);
        assert_eq!(level_of("echo no libc >&2; exit 127").await, Level::Fail);
    }
}
