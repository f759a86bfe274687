//! What `tidegate doctor` sees, and that it changes nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::cli::forge::{Forge, TOKEN, findings, names};
use crate::cli::{Ran, run, tidegate};
use crate::world::server::free_address;

/// What doctor says as JSON, and its exit code.
fn doctor(forge: &Forge, arguments: &[&str]) -> (Option<i32>, Value) {
    let arguments = [&["doctor", "--json"], arguments].concat();
    let ran = run(&forge.home(), &arguments);
    assert!(!ran.stdout.contains(TOKEN), "{}", ran.stdout);
    (ran.code, ran.json())
}

fn host(forge: &Forge) -> &str {
    forge.address.trim_start_matches("http://")
}

#[test]
fn without_a_server_file_the_programs_are_looked_at_and_two_is_the_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let ran: Ran = run(folder.path(), &["doctor"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stdout.starts_with("ok    git"), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("cannot read tidegate-server.yml"),
        "{}",
        ran.stdout
    );
    assert!(!ran.stdout.contains('\u{1b}'), "{}", ran.stdout);
}

#[test]
fn every_complaint_about_the_server_file_is_a_finding() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("tidegate-server.yml"),
        "lisen: x\nforges: []\n",
    )
    .unwrap();
    let ran = run(folder.path(), &["doctor", "--json"]);
    assert_eq!(ran.code, Some(2));
    let found = findings("server file", &ran.json());
    assert_eq!(found.len(), 3, "{found:#?}");
    assert!(
        found.iter().any(|it| it.contains("did you mean `listen`?")),
        "{found:#?}"
    );
}

#[test]
fn an_installation_that_works_is_told_before_its_first_start_and_not_touched() {
    let forge = Forge::start("admin");
    let before = names(&forge.home());
    let (code, said) = doctor(&forge, &[]);
    assert_eq!(
        (code, &said["ok"]),
        (Some(0), &Value::Bool(true)),
        "{said:#}"
    );
    let found = findings(host(&forge), &said);
    assert!(found[0].starts_with("ok we are tide there"), "{found:#?}");
    assert!(
        found[1].starts_with("ok we may write in acme/infra"),
        "{found:#?}"
    );
    assert!(found[2].starts_with("warn no active webhook"), "{found:#?}");
    assert!(findings("job user", &said)[0].starts_with("warn jobs run as the server's own user"));
    assert!(findings("store", &said)[0].starts_with("ok there is no"));
    assert!(findings("clock", &said)[0].starts_with("ok within"));
    assert_eq!(names(&forge.home()), before);
}

#[tokio::test]
async fn a_webhook_that_delivers_here_is_seen() {
    let forge = Forge::start("admin");
    forge
        .add_hook("http://127.0.0.1:4141/webhooks/github")
        .await;
    let found = findings(host(&forge), &doctor(&forge, &["--repo", "acme/infra"]).1);
    assert!(
        found[2].starts_with("ok acme/infra delivers to"),
        "{found:#?}"
    );
}

#[test]
fn a_token_the_forge_does_not_know_fails_and_says_what_to_do() {
    let forge = Forge::start("admin");
    forge.write("token", "somebody-elses");
    let (code, said) = doctor(&forge, &[]);
    let found = findings(host(&forge), &said);
    assert_eq!((code, found.len()), (Some(1), 1), "{found:#?}");
    assert!(found[0].contains("make a new access token"), "{found:#?}");
    assert!(!said.to_string().contains("somebody-elses"));
}

#[test]
fn a_repository_we_may_only_read_or_not_see_fails() {
    let forge = Forge::start("read");
    let (code, said) = doctor(&forge, &["--repo", "acme/infra", "--repo", "acme/attic"]);
    let found = findings(host(&forge), &said);
    assert_eq!(code, Some(1));
    assert!(
        found[1].starts_with("fail we may read acme/infra and not write"),
        "{found:#?}"
    );
    assert!(
        found[2].starts_with("fail we cannot see acme/attic"),
        "{found:#?}"
    );
}

#[test]
fn a_pattern_is_looked_up_among_what_we_can_see() {
    let forge = Forge::start("write");
    for (pattern, expected) in [
        ("acme/*", "ok we may write in acme/infra"),
        ("other/*", "warn no repository"),
    ] {
        let text = forge
            .server_file(4141)
            .replace("[acme/infra]", &format!("[\"{pattern}\"]"));
        forge.write("tidegate-server.yml", &text);
        let found = findings(host(&forge), &doctor(&forge, &[]).1);
        assert!(found[1].starts_with(expected), "{found:#?}");
    }
}

#[test]
fn secrets_that_others_can_read_fail_and_a_key_that_is_none() {
    let forge = Forge::start("write");
    let token = forge.home().join("token");
    fs::set_permissions(&token, fs::Permissions::from_mode(0o644)).unwrap();
    let secret = forge.home().join("secret");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o640)).unwrap();
    fs::create_dir(forge.home().join("data")).unwrap();
    forge.write("data/key", "not a key");
    let (code, said) = doctor(&forge, &[]);
    assert_eq!(code, Some(1));
    let found = findings("token", &said);
    assert!(
        found[0].starts_with("fail") && found[0].contains("mode 0644"),
        "{found:#?}"
    );
    assert!(found[0].contains("chmod 600"), "{found:#?}");
    let found = findings("webhook secret", &said);
    assert!(found[0].starts_with("warn"), "{found:#?}");
    assert!(findings("key", &said)[0].starts_with("fail"), "{said:#}");
}

#[test]
fn a_server_file_with_a_databases_address_is_a_secret() {
    let forge = Forge::start("write");
    let file = forge.server_file(4141) + "database: postgres://tide:hunter2@127.0.0.1:1/tide\n";
    forge.write("tidegate-server.yml", &file);
    let server_file = forge.home().join("tidegate-server.yml");
    fs::set_permissions(&server_file, fs::Permissions::from_mode(0o644)).unwrap();
    let (code, said) = doctor(&forge, &[]);
    assert_eq!(code, Some(1));
    let found = findings("server file", &said);
    assert!(found[1].starts_with("fail"), "{found:#?}");
    assert!(!said.to_string().contains("hunter2"), "{said:#}");
}

#[test]
fn secrets_that_are_not_there_fail_and_say_what_to_do() {
    let forge = Forge::start("write");
    for file in ["token", "secret"] {
        fs::remove_file(forge.home().join(file)).unwrap();
    }
    let (code, said) = doctor(&forge, &[]);
    assert_eq!(code, Some(1));
    let found = findings(host(&forge), &said);
    assert!(
        found[0].starts_with("fail cannot read the secret in") && found[0].contains("access token"),
        "{found:#?}"
    );
    let found = findings("webhook secret", &said);
    assert!(
        found[0].starts_with("fail") && found[0].contains("openssl rand"),
        "{found:#?}"
    );
}

#[test]
fn a_data_folder_that_others_look_into_and_a_broken_store_are_told() {
    let forge = Forge::start("write");
    let data = forge.home().join("data");
    fs::create_dir(&data).unwrap();
    fs::set_permissions(&data, fs::Permissions::from_mode(0o755)).unwrap();
    forge.write("data/tidegate.db", &"nothing of a database ".repeat(99));
    let (code, said) = doctor(&forge, &[]);
    assert_eq!(code, Some(1));
    assert!(findings("data folder", &said)[0].starts_with("warn"));
    assert!(findings("store", &said)[0].starts_with("fail"), "{said:#}");
}

#[test]
fn a_key_of_the_environment_is_looked_at_instead_of_the_file() {
    let forge = Forge::start("write");
    for (key, wanted) in [("hunter2", "fail"), (&*"7".repeat(64), "ok TIDEGATE_KEY")] {
        let mut command = tidegate(&forge.home(), &["doctor", "--json"]);
        let ran = Ran::from(command.env("TIDEGATE_KEY", key).output().unwrap());
        let found = findings("key", &ran.json());
        assert!(found[0].starts_with(wanted), "{found:#?}");
        assert!(!ran.stdout.contains("hunter2"), "{}", ran.stdout);
    }
}

#[test]
fn variables_that_jobs_are_to_get_and_nobody_set_are_named() {
    let forge = Forge::start("write");
    let file = forge.server_file(4141)
        + "executor:\n  plan_env: [PATH, TF_VAR_a]\n  apply_env: [TF_VAR_b]\n";
    forge.write("tidegate-server.yml", &file);
    let found = findings("job environment", &doctor(&forge, &[]).1);
    assert!(
        found[0].starts_with("warn jobs are to get TF_VAR_a, TF_VAR_b, not set"),
        "{found:#?}"
    );
}

#[test]
fn a_job_user_that_does_not_exist_fails() {
    let forge = Forge::start("write");
    let file = forge.server_file(4141) + "executor:\n  user: nobody-of-that-name\n";
    forge.write("tidegate-server.yml", &file);
    let (code, said) = doctor(&forge, &[]);
    assert_eq!(code, Some(1));
    let found = findings("job user", &said);
    assert!(
        found[0].starts_with("fail") && found[0].contains("there is no user"),
        "{found:#?}"
    );
}

/// A server of the forge that is stopped with the test.
struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn a_running_server_is_reached_at_its_public_address_and_a_strangers_is_told() {
    let forge = Forge::start("write");
    let port = free_address().port();
    let file = forge.server_file(port).replace(
        &format!(":{}", port + 1),
        &format!(":{}", free_address().port()),
    );
    forge.write("tidegate-server.yml", &file);
    let mut serve = tidegate(&forge.home(), &["serve"]);
    let _serving = Serving(serve.stderr(Stdio::null()).spawn().unwrap());
    let health = format!("http://127.0.0.1:{port}/healthz");
    let deadline = std::time::Instant::now() + Duration::from_secs(60);
    while reqwest::get(&health).await.is_err() {
        assert!(
            std::time::Instant::now() < deadline,
            "the server does not answer"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let webhooks = |said: &Value| findings("webhooks", said);
    let found = webhooks(&doctor(&forge, &[]).1);
    assert!(
        found[0].starts_with("warn") && found[0].contains("only this machine"),
        "{found:#?}"
    );
    assert!(
        found[1].starts_with("ok") && found[1].contains("reaches this server"),
        "{found:#?}"
    );

    let key = fs::read_to_string(forge.home().join("data/key")).unwrap();
    forge.write("data/key", &"7".repeat(64));
    let found = webhooks(&doctor(&forge, &[]).1);
    assert!(
        found[1].starts_with("fail") && found[1].contains("another installation"),
        "{found:#?}"
    );

    forge.write("data/key", &key);
    let public = format!("public_url: http://{}", free_address());
    let elsewhere = file.replace(&format!("public_url: http://127.0.0.1:{port}"), &public);
    forge.write("tidegate-server.yml", &elsewhere);
    let found = webhooks(&doctor(&forge, &[]).1);
    assert!(
        found[1].starts_with("fail the server runs, and"),
        "{found:#?}"
    );
}
