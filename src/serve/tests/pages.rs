//! What people open: text of others stays text, and a browser is told to run nothing.

use super::*;
use crate::core::ids::{Branch, Op, RolloutId, Root, WaveNumber};
use crate::core::rollout::{Rollout, Source, Unplanned, Wave};
use crate::store::{Change, Delivery, Handled};

const HOSTILE: &str = "<img src=x onerror=alert(1)>";

/// A rollout in which everything that others can name is hostile.
fn rollout() -> Rollout {
    let now = Timestamp::now();
    let root = Root::try_from(HOSTILE.replace(' ', "_")).unwrap();
    let mut wave = Wave::new(WaveNumber(1), vec![root.clone()], now);
    wave.unplanned = vec![Unplanned {
        root,
        why: HOSTILE.to_owned(),
        detail: HOSTILE.to_owned(),
    }];
    Rollout {
        id: RolloutId::try_from("r-1").unwrap(),
        repo: repo(7),
        op: Op::tf_apply(),
        source: Source::Push {
            branch: Branch::try_from("<script>alert(1)</script>").unwrap(),
            before: sha('a'),
            after: sha('b'),
        },
        commit: sha('b'),
        base: sha('a'),
        authors: Vec::new(),
        pulls: Vec::new(),
        waves: vec![wave],
        taken_over: Vec::new(),
        parallelism: 1,
        started: now,
    }
}

async fn save(stage: &Stage, rollout: Rollout) {
    let (inbox, now) = (&stage.store().inbox, Timestamp::now());
    let sent = Delivery {
        forge: rollout.repo.forge.clone(),
        id: "d-1".try_into().unwrap(),
    };
    let event = crate::core::event::Event::NoteStale { pull: pull() };
    inbox.file(&sent, &event, now).await.unwrap();
    let claimed = inbox.claim("w", now, stage.server.lease()).await.unwrap();
    let change = Change::Rollout {
        rollout: Box::new(rollout),
        version: 0,
    };
    let handled = Handled {
        changes: vec![change],
        effects: Vec::new(),
    };
    inbox
        .finish(&claimed.unwrap(), &handled, now)
        .await
        .unwrap();
}

#[tokio::test]
async fn what_others_wrote_is_text_on_every_page() {
    let stage = Stage::new().await;
    save(&stage, rollout()).await;
    for path in ["/", "/rollouts/r-1", "/rollouts/%3Cscript%3E"] {
        let answer = stage.open(path).await;
        assert_eq!(answer.headers["content-type"], "text/html; charset=utf-8");
        for hostile in ["<img", "<script"] {
            assert!(!answer.text.contains(hostile), "{path}: {}", answer.text);
        }
    }
    let page = stage.open("/rollouts/r-1").await.text;
    assert!(page.contains("&lt;img"), "{page}");
}

#[tokio::test]
async fn what_a_sentence_quotes_is_drawn_as_code() {
    let stage = Stage::new().await;
    let mut rollout = rollout();
    rollout.waves[0].unplanned[0].why = "`main.tf` is <b>not</b> there".to_owned();
    save(&stage, rollout).await;
    let page = stage.open("/rollouts/r-1").await.text;
    let drawn = "<code>main.tf</code> is &lt;b&gt;not&lt;/b&gt; there";
    assert!(page.contains(drawn), "{page}");
}

#[tokio::test]
async fn a_browser_runs_nothing_and_frames_nothing_of_ours() {
    let stage = Stage::new().await;
    for path in ["/", "/rollouts.json", "/rollouts/r-9", "/style.css"] {
        let headers = stage.open(path).await.headers;
        let policy = headers["content-security-policy"].to_str().unwrap();
        assert!(
            policy.starts_with("default-src 'none';"),
            "{path}: {policy}"
        );
        assert!(
            policy.contains("frame-ancestors 'none'"),
            "{path}: {policy}"
        );
        assert_eq!(headers["x-content-type-options"], "nosniff", "{path}");
    }
}
