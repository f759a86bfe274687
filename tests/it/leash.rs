//! The leash: what our own program starts for us does not outlive who asked for it.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use tidegate::process::Program;

/// A shell starts a program on a leash, and kills itself when it is told something. (In a shell's background an
/// interrupt is ignored unless that is undone.)
const PARENT: &str = "env --default-signal=INT \"$0\" leash --parent $$ -- \
    sh -c 'echo up; exec sleep 600' < /dev/null & read line; kill -9 $$";

#[test]
fn a_program_is_interrupted_when_its_parent_dies() {
    let mut parent = Command::new("sh")
        .args(["-c", PARENT, env!("CARGO_BIN_EXE_tidegate")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(parent.stdout.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert_eq!(line, "up\n");
    parent.stdin.take().unwrap().write_all(b"die\n").unwrap();
    parent.wait().unwrap();
    // The program holds the other end: this returns when it is gone.
    said.read_to_string(&mut line).unwrap();
    assert_eq!(line, "up\n");
}

#[test]
fn nothing_is_started_for_a_parent_that_is_gone() {
    let ran = Command::new(env!("CARGO_BIN_EXE_tidegate"))
        .args(["leash", "--parent", "1", "--", "echo", "up"])
        .output()
        .unwrap();
    assert_eq!(
        (ran.status.code(), ran.stdout.as_slice()),
        (Some(1), &b""[..])
    );
    assert!(String::from_utf8_lossy(&ran.stderr).contains("nothing was started"));
}

#[tokio::test]
async fn what_a_leashed_program_says_needs_nobody_who_reads_it() {
    let ran = Program::new("readlink")
        .args(["/proc/self/fd/1", "/proc/self/fd/2"])
        .leashed(Path::new(env!("CARGO_BIN_EXE_tidegate")))
        .run()
        .await
        .unwrap();
    let said = String::from_utf8(ran.stdout).unwrap();
    assert_eq!(said.lines().count(), 2);
    assert!(!said.contains("pipe:"), "{said}");
}
