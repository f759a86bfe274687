//! How a server starts: beside another one, and without its forge.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::cli::forge::Forge;
use crate::cli::tidegate;
use crate::world::server::free_address;

/// How long a server may take to come up.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server that is killed with the test.
struct Serving(Child);

impl Serving {
    fn start(forge: &Forge, log: &str) -> Self {
        let log = std::fs::File::create(forge.home().join(log)).unwrap();
        let mut serve = tidegate(&forge.home(), &["serve"]);
        Self(serve.stderr(log).stdout(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn says(forge: &Forge, log: &str, words: &str) {
    let start = Instant::now();
    loop {
        let said = std::fs::read_to_string(forge.home().join(log)).unwrap();
        if said.contains(words) {
            return;
        }
        assert!(start.elapsed() < PATIENCE, "no {words:?} in {said}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A server's file for addresses that nobody else uses.
fn file(forge: &Forge) -> String {
    let (port, pages) = (free_address().port(), free_address().port());
    let text = forge.server_file(port);
    text.replace(&format!(":{}", port + 1), &format!(":{pages}"))
}

#[tokio::test]
async fn a_server_starts_while_its_forge_is_away() {
    let forge = Forge::start("write");
    let away = format!("http://{}", free_address());
    let text = file(&forge).replace(&forge.address, &away);
    forge.write("tidegate-server.yml", &text);
    let _serving = Serving::start(&forge, "log");
    says(&forge, "log", "tidegate serves").await;
}

#[tokio::test]
async fn a_server_takes_over_a_data_folder_when_the_one_before_it_is_gone() {
    let forge = Forge::start("write");
    forge.write("tidegate-server.yml", &file(&forge));
    let first = Serving::start(&forge, "first");
    says(&forge, "first", "tidegate serves").await;
    forge.write("tidegate-server.yml", &file(&forge));
    let _second = Serving::start(&forge, "second");
    says(&forge, "second", "another server uses the data folder").await;
    drop(first);
    says(&forge, "second", "tidegate serves").await;
}
