//! The forge contract: what every forge must do, told once and run on each. People act through a sandbox forge.

use std::sync::Arc;

use http::Method;
use jiff::Timestamp;
use serde_json::{Value, json};
use tidegate::core::config::server::{Account, ForgeKind, ForgeOptions};
use tidegate::core::effect::{Reaction, Status, StatusContext, StatusState};
use tidegate::core::event::Event;
use tidegate::core::ids::{Actor, CommentId, Login, Pull, PullNumber, Repo, RepoId, RepoName, Sha};
use tidegate::core::lost::Changes;
use tidegate::core::person::{Role, Verdict};
use tidegate::core::rollout::pull::PullState;
use tidegate::forge::{Connection, Delivery, Forge, ForgeError, ServedForge};

use crate::world::app;
use crate::world::site::{self, Letters, REPO, SECRET, Site, token};

/// A forge, spoken to as `tide`, and the people beside it.
pub(crate) struct Stage {
    pub(crate) site: Site,
    letters: Letters,
    pub(crate) forge: Arc<dyn Forge>,
    pub(crate) served: ServedForge,
    pub(crate) repo: Repo,
    account: site::Account,
}

fn options_of(account: site::Account) -> Account {
    let file = "unused".into();
    match account {
        site::Account::User => Account::Token { file },
        site::Account::App => Account::App {
            id: app::ID,
            key_file: file,
        },
    }
}

pub(crate) fn connection(account: site::Account) -> Connection {
    let secret = match account {
        site::Account::User => token("tide"),
        site::Account::App => app::private_key(),
    };
    Connection {
        secret: secret.into(),
        http: reqwest::Client::new(),
        clock: Arc::new(Timestamp::now),
    }
}

impl Stage {
    async fn on(kind: ForgeKind) -> Self {
        Self::acting_as(kind, site::Account::User).await
    }

    pub(crate) async fn acting_as(kind: ForgeKind, account: site::Account) -> Self {
        let (site, letters) = Site::start(account).await;
        let options = ForgeOptions {
            kind,
            url: site.address.parse().unwrap(),
            api_url: format!("{}/api/v3", site.address).parse().unwrap(),
            account: options_of(account),
            webhook_secret_files: Vec::new(),
            repos: vec!["acme/*".to_owned()],
        };
        let forge = kind.connect(&options, connection(account)).unwrap();
        let repo = Repo {
            forge: options.host(),
            id: RepoId(site.repo_id().await),
            name: RepoName::try_from(REPO).unwrap(),
        };
        let served = ServedForge::new(options, vec!["retired".into(), SECRET.into()]).unwrap();
        Self {
            site,
            letters,
            forge,
            served,
            repo,
            account,
        }
    }

    pub(crate) fn pull(&self, number: u64) -> Pull {
        Pull {
            repo: self.repo.clone(),
            number: PullNumber(number),
        }
    }

    async fn actor(&self, login: &str) -> Actor {
        let user = self
            .site
            .ask(login, Method::GET, "/user", Value::Null)
            .await;
        serde_json::from_value(json!({"id": user["id"], "login": login})).unwrap()
    }

    /// The next delivery, read.
    async fn delivery(&mut self) -> Delivery {
        let letter = self.letters.next().await;
        let kind = self.served.options.kind;
        kind.read(&letter.headers, &letter.body, &self.served)
            .unwrap()
    }

    /// The next event; deliveries that are none are passed over.
    pub(crate) async fn event(&mut self) -> Event {
        loop {
            if let Ok(event) = self.delivery().await.event {
                return event;
            }
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.site.check_against_the_description();
        }
    }
}

fn sha(text: &str) -> Sha {
    Sha::try_from(text).unwrap()
}

/// A pull request is read from opening to merge, and found by the commit that merged it.
async fn a_pull_request_is_read_from_opening_to_merge(stage: &Stage) {
    let head = stage.site.push("ada", "deepen", "main.tf").await;
    let number = stage.site.open("ada", "deepen").await;
    let pull = stage.pull(number);

    let open = stage.forge.pull(&pull).await.unwrap();
    assert_eq!(open.pull, pull);
    assert_eq!(
        (open.author.login.as_str(), open.head.as_str()),
        ("ada", head.as_str())
    );
    assert_eq!(
        (open.target.as_str(), open.is_fork(), open.is_draft),
        ("main", false, false)
    );
    assert_eq!(open.state, PullState::Open);

    stage.forge.merge(&pull, &open.head).await.unwrap();
    let merged = stage.forge.pull(&pull).await.unwrap();
    let PullState::Merged {
        commit: Some(commit),
    } = merged.state
    else {
        panic!("{:?}", merged.state);
    };
    let found = stage
        .forge
        .pulls_of_commit(&stage.repo, &commit)
        .await
        .unwrap();
    assert_eq!(found, [pull.number]);
}

/// A pull request whose head moved is not merged; one that is merged stays as it is.
async fn a_merge_is_of_one_head_and_happens_once(stage: &Stage) {
    let old = stage.site.push("ada", "deepen", "main.tf").await;
    let number = stage.site.open("ada", "deepen").await;
    let pull = stage.pull(number);
    let new = stage.site.push("ada", "deepen", "main.tf").await;
    let refused = stage.forge.merge(&pull, &sha(&old)).await;
    assert!(
        matches!(refused, Err(ForgeError::Forbidden(_))),
        "{refused:?}"
    );
    for _ in 0..2 {
        stage.forge.merge(&pull, &sha(&new)).await.unwrap();
    }
}

/// There is one note: ours by marker and author, written again only when its text changes.
async fn there_is_one_note(stage: &Stage) {
    stage.site.push("ada", "deepen", "main.tf").await;
    let number = stage.site.open("ada", "deepen").await;
    let pull = stage.pull(number);
    let first = stage.forge.upsert_note(&pull, "low water").await.unwrap();
    let same = stage.forge.upsert_note(&pull, "low water").await.unwrap();
    assert_eq!(first, same);
    let (_, ours) = stage.site.comments(number).await.remove(0);
    let forged = ours.replace("low", "no");
    stage.site.comment("mallory", number, &forged).await;

    let options = &stage.served.options;
    let again = options.kind.connect(options, connection(stage.account));
    let changed = again
        .unwrap()
        .upsert_note(&pull, "high water")
        .await
        .unwrap();
    assert!(changed >= first);
    let expected = [
        (
            stage.account.login().to_owned(),
            ours.replace("low", "high"),
        ),
        ("mallory".to_owned(), forged),
    ];
    assert_eq!(stage.site.comments(number).await, expected);
}

/// An answer is posted once by its key, however often it is asked for.
async fn an_answer_is_posted_once(stage: &Stage) {
    stage.site.push("ada", "deepen", "main.tf").await;
    let number = stage.site.open("ada", "deepen").await;
    let pull = stage.pull(number);
    for key in ["comment-1", "comment-2", "comment-1"] {
        stage.forge.reply(&pull, key, "not yet").await.unwrap();
    }
    let comments = stage.site.comments(number).await;
    assert_eq!(comments.len(), 2);
    assert!(
        comments
            .iter()
            .all(|(who, text)| who == stage.account.login() && text.ends_with("not yet"))
    );
}

/// What changed lately is listed: pull requests as they stand, and what was said on them.
async fn what_changed_is_listed(stage: &Stage) {
    let head = stage.site.push("ada", "deepen", "main.tf").await;
    let number = stage.site.open("ada", "deepen").await;
    let pull = stage.pull(number);
    let comment = stage.site.comment("grace", number, "/plan").await;
    stage.forge.reply(&pull, "7-0", "not yet").await.unwrap();

    let hour = jiff::SignedDuration::from_hours(1);
    let lately = stage
        .forge
        .changes_since(&stage.repo, Timestamp::now() - hour);
    let lately = lately.await.unwrap();
    let [listed] = &lately.pulls[..] else {
        panic!("{:?}", lately.pulls);
    };
    assert_eq!(listed.details, stage.forge.pull(&pull).await.unwrap());
    assert_eq!(listed.details.head.as_str(), head);
    let [said, answer] = &lately.comments[..] else {
        panic!("{:?}", lately.comments);
    };
    assert_eq!(
        (&said.said.pull, said.said.comment),
        (&pull, CommentId(comment))
    );
    assert_eq!(said.said.actor.login.as_str(), "grace");
    assert_eq!((said.said.body.as_str(), said.is_edited), ("/plan", false));
    assert!(said.said.at <= said.updated_at && said.updated_at <= listed.updated_at);
    assert_eq!(answer.answers.as_deref(), Some("7-0"));
    assert_eq!(answer.said.actor.id, stage.forge.me().await.unwrap().id);

    stage.forge.merge(&pull, &sha(&head)).await.unwrap();
    let lately = stage
        .forge
        .changes_since(&stage.repo, listed.updated_at)
        .await;
    let merged = &lately.unwrap().pulls[0].details;
    assert_eq!(*merged, stage.forge.pull(&pull).await.unwrap());
    let later = stage
        .forge
        .changes_since(&stage.repo, Timestamp::now() + hour)
        .await;
    assert_eq!(later.unwrap(), Changes::default());
}

/// A comment gets a reaction once; a comment that is gone needs none.
async fn a_comment_gets_a_reaction(stage: &Stage) {
    stage.site.push("ada", "deepen", "main.tf").await;
    let number = stage.site.open("ada", "deepen").await;
    let (pull, comment) = (
        stage.pull(number),
        stage.site.comment("ada", number, "/plan").await,
    );
    for _ in 0..2 {
        let reacted = stage
            .forge
            .react(&pull, CommentId(comment), Reaction::Eyes)
            .await;
        reacted.unwrap();
    }
    let path = format!("/repos/{REPO}/issues/comments/{comment}/reactions");
    let reactions = stage.site.ask("ada", Method::GET, &path, Value::Null).await;
    let contents: Vec<_> = reactions
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["content"])
        .collect();
    assert_eq!(contents, ["eyes"]);
    let gone = CommentId(comment + 1000);
    stage
        .forge
        .react(&pull, gone, Reaction::Confused)
        .await
        .unwrap();
}

/// The newest status of a context is the one that stands.
async fn the_newest_status_stands(stage: &Stage) {
    let head = stage.site.push("ada", "deepen", "main.tf").await;
    let mut status = Status {
        context: StatusContext::Plan,
        state: StatusState::Pending,
        description: "planning 3 roots".to_owned(),
        url: None,
    };
    let set = async |status: &Status| {
        stage
            .forge
            .set_status(&stage.repo, &sha(&head), status)
            .await
            .unwrap();
    };
    set(&status).await;
    status.state = StatusState::Success;
    status.url = Some("https://tide.acme.example/rollouts/1".to_owned());
    set(&status).await;
    let path = format!("/repos/{REPO}/commits/{head}/status");
    let combined = stage.site.ask("ada", Method::GET, &path, Value::Null).await;
    let statuses = combined["statuses"].as_array().unwrap();
    assert_eq!(statuses.len(), 1);
    assert_eq!(
        (&statuses[0]["context"], &statuses[0]["state"]),
        (&json!("tidegate/plan"), &json!("success"))
    );
}

/// A role is what the forge says now, of the account with that number.
async fn a_role_is_the_accounts_own(stage: &Stage) {
    let expected = [
        ("ada", Role::Write),
        ("grace", Role::Admin),
        ("mallory", Role::Read),
    ];
    for (login, role) in expected {
        let actor = stage.actor(login).await;
        assert_eq!(
            stage.forge.role(&stage.repo, &actor).await.unwrap(),
            role,
            "{login}"
        );
    }
    let mut renamed = stage.actor("mallory").await;
    renamed.login = Login::try_from("grace").unwrap();
    assert_eq!(
        stage.forge.role(&stage.repo, &renamed).await.unwrap(),
        Role::None
    );
    let mut stranger = renamed;
    stranger.login = Login::try_from("nobody-here").unwrap();
    assert_eq!(
        stage.forge.role(&stage.repo, &stranger).await.unwrap(),
        Role::None
    );
}

/// Reviews say who, what, and about which commit; one that was dismissed says so.
async fn reviews_name_their_commit(stage: &Stage) {
    let head = stage.site.push("ada", "deepen", "main.tf").await;
    let number = stage.site.open("ada", "deepen").await;
    stage.site.review("grace", number, "APPROVE").await;
    let later = stage.site.push("ada", "deepen", "main.tf").await;
    let taken_back = stage.site.review("grace", number, "REQUEST_CHANGES").await;
    let path = format!("/repos/{REPO}/pulls/{number}/reviews/{taken_back}/dismissals");
    let body = json!({"message": "seen again"});
    stage.site.ask("grace", Method::PUT, &path, body).await;

    let reviews = stage.forge.reviews(&stage.pull(number)).await.unwrap();
    let said: Vec<_> = reviews
        .iter()
        .map(|it| (it.verdict, it.commit.clone()))
        .collect();
    let expected = [
        (Verdict::Approved, Some(sha(&head))),
        (Verdict::Dismissed, Some(sha(&later))),
    ];
    assert_eq!(said, expected);
    assert!(reviews.iter().all(|it| it.actor.login.as_str() == "grace"));
}

/// Git reaches the repository by the remote, and finds a pull request's head under its ref.
async fn git_finds_the_head(stage: &Stage) {
    use secrecy::ExposeSecret;
    let head = stage.site.push("ada", "deepen", "main.tf").await;
    let number = stage.site.open("ada", "deepen").await;
    let remote = stage.forge.remote(&stage.repo).await.unwrap();
    let authorization = remote.authorization.unwrap();
    let header = format!(
        "http.extraHeader=Authorization: {}",
        authorization.expose_secret()
    );
    let name = stage.forge.head_ref(PullNumber(number));
    let listed = stage
        .site
        .git(&["-c", &header, "ls-remote", &remote.url, &name])
        .await;
    assert_eq!(listed, format!("{head}\t{name}"));
}

/// Each thing people do arrives as its event, signed, in the order they did it.
async fn what_people_do_arrives_as_events(stage: &mut Stage) {
    let Event::BranchPushed { branch, before, .. } = stage.event().await else {
        panic!("another event");
    };
    assert_eq!((branch.as_str(), before.is_zero()), ("main", true));

    let head = stage.site.push("ada", "deepen", "main.tf").await;
    let number = stage.site.open("ada", "deepen").await;
    let pull = stage.pull(number);
    stage.site.comment("ada", number, "/approve wave-1").await;
    stage.site.review("grace", number, "APPROVE").await;
    stage.site.push("ada", "deepen", "main.tf").await;
    let path = format!("/repos/{REPO}/pulls/{number}");
    stage
        .site
        .ask("ada", Method::PATCH, &path, json!({"title": "Deeper"}))
        .await;
    stage
        .site
        .ask("ada", Method::PATCH, &path, json!({"state": "closed"}))
        .await;

    let Event::BranchPushed { after, actor, .. } = stage.event().await else {
        panic!("another event");
    };
    assert_eq!((after, actor.login.as_str()), (sha(&head), "ada"));
    let ada = stage.actor("ada").await;
    assert_eq!(
        stage.event().await,
        Event::PullOpened {
            pull: pull.clone(),
            actor: ada.clone()
        }
    );
    let Event::Commented(comment) = stage.event().await else {
        panic!("another event");
    };
    assert_eq!(
        (comment.pull, comment.actor, comment.body.as_str()),
        (pull.clone(), ada.clone(), "/approve wave-1")
    );
    let grace = stage.actor("grace").await;
    assert_eq!(
        stage.event().await,
        Event::Reviewed {
            pull: pull.clone(),
            actor: grace
        }
    );
    let mut moved = [stage.event().await.name(), stage.event().await.name()];
    moved.sort_unstable();
    assert_eq!(moved, ["branch-pushed", "pull-pushed"]);
    let closed = Event::PullClosed {
        pull,
        merged: false,
        actor: ada,
    };
    assert_eq!(stage.event().await, closed);
}

mod github {
    use super::*;

    const KIND: ForgeKind = ForgeKind::GitHub;

    #[tokio::test]
    async fn a_pull_request_is_read_from_opening_to_merge() {
        super::a_pull_request_is_read_from_opening_to_merge(&Stage::on(KIND).await).await;
    }

    #[tokio::test]
    async fn a_merge_is_of_one_head_and_happens_once() {
        super::a_merge_is_of_one_head_and_happens_once(&Stage::on(KIND).await).await;
    }

    #[tokio::test]
    async fn there_is_one_note() {
        super::there_is_one_note(&Stage::on(KIND).await).await;
    }

    #[tokio::test]
    async fn an_answer_is_posted_once() {
        super::an_answer_is_posted_once(&Stage::on(KIND).await).await;
    }

    #[tokio::test]
    async fn what_changed_is_listed() {
        super::what_changed_is_listed(&Stage::on(KIND).await).await;
    }

    #[tokio::test]
    async fn a_comment_gets_a_reaction() {
        super::a_comment_gets_a_reaction(&Stage::on(KIND).await).await;
    }

    #[tokio::test]
    async fn the_newest_status_stands() {
        super::the_newest_status_stands(&Stage::on(KIND).await).await;
    }

    #[tokio::test]
    async fn a_role_is_the_accounts_own() {
        super::a_role_is_the_accounts_own(&Stage::on(KIND).await).await;
    }

    #[tokio::test]
    async fn reviews_name_their_commit() {
        super::reviews_name_their_commit(&Stage::on(KIND).await).await;
    }

    #[tokio::test]
    async fn git_finds_the_head() {
        super::git_finds_the_head(&Stage::on(KIND).await).await;
    }

    #[tokio::test]
    async fn what_people_do_arrives_as_events() {
        super::what_people_do_arrives_as_events(&mut Stage::on(KIND).await).await;
    }
}

mod github_app {
    use super::*;

    async fn stage() -> Stage {
        Stage::acting_as(ForgeKind::GitHub, site::Account::App).await
    }

    #[tokio::test]
    async fn a_pull_request_is_read_from_opening_to_merge() {
        super::a_pull_request_is_read_from_opening_to_merge(&stage().await).await;
    }

    #[tokio::test]
    async fn a_merge_is_of_one_head_and_happens_once() {
        super::a_merge_is_of_one_head_and_happens_once(&stage().await).await;
    }

    #[tokio::test]
    async fn there_is_one_note() {
        super::there_is_one_note(&stage().await).await;
    }

    #[tokio::test]
    async fn an_answer_is_posted_once() {
        super::an_answer_is_posted_once(&stage().await).await;
    }

    #[tokio::test]
    async fn what_changed_is_listed() {
        super::what_changed_is_listed(&stage().await).await;
    }

    #[tokio::test]
    async fn a_comment_gets_a_reaction() {
        super::a_comment_gets_a_reaction(&stage().await).await;
    }

    #[tokio::test]
    async fn the_newest_status_stands() {
        super::the_newest_status_stands(&stage().await).await;
    }

    #[tokio::test]
    async fn a_role_is_the_accounts_own() {
        super::a_role_is_the_accounts_own(&stage().await).await;
    }

    #[tokio::test]
    async fn reviews_name_their_commit() {
        super::reviews_name_their_commit(&stage().await).await;
    }

    #[tokio::test]
    async fn git_finds_the_head() {
        super::git_finds_the_head(&stage().await).await;
    }

    #[tokio::test]
    async fn what_people_do_arrives_as_events() {
        let mut stage = stage().await;
        let installed = Event::Installed {
            repos: vec![stage.repo.clone()],
        };
        assert_eq!(stage.event().await, installed);
        super::what_people_do_arrives_as_events(&mut stage).await;
    }
}
