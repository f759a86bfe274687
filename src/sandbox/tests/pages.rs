//! The pages, as a browser without scripts uses them.

use reqwest::redirect::Policy;
use serde_json::json;

use crate::sandbox::tests::World;

/// A browser that acts as somebody and follows no redirect.
struct Browser<'a> {
    world: &'a World,
    who: &'a str,
    http: reqwest::Client,
}

impl<'a> Browser<'a> {
    fn new(world: &'a World, who: &'a str) -> Self {
        let http = reqwest::Client::builder()
            .no_proxy()
            .redirect(Policy::none());
        let http = http.build().unwrap();
        Self { world, who, http }
    }

    async fn open(&self, path: &str) -> String {
        let url = format!("{}{path}", self.world.address);
        let cookie = format!("sandbox_login={}", self.who);
        let answer = self
            .http
            .get(url)
            .header("Cookie", cookie)
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status().as_u16(), 200, "{path}");
        answer.text().await.unwrap()
    }

    /// Sends a form and answers the status and where to go on.
    async fn send(&self, path: &str, form: &[(&str, &str)]) -> (u16, String) {
        self.send_from(&self.world.address, path, form).await
    }

    async fn send_from(&self, origin: &str, path: &str, form: &[(&str, &str)]) -> (u16, String) {
        let url = format!("{}{path}", self.world.address);
        let cookie = format!("sandbox_login={}", self.who);
        let request = self.http.post(url).header("Cookie", cookie);
        let answer = request
            .header("Origin", origin)
            .form(form)
            .send()
            .await
            .unwrap();
        let location = answer.headers().get("location");
        let location = location.map(|it| it.to_str().unwrap().to_owned());
        (answer.status().as_u16(), location.unwrap_or_default())
    }
}

#[tokio::test]
async fn a_pull_request_is_opened_discussed_and_merged_in_a_browser() {
    let world = World::new().await;
    world.push("main", "main.txt", "first").await;
    let head = world.push("feature", "feature.txt", "feature").await;
    let ada = Browser::new(&world, "ada");
    let new = ada.open("/acme/infra/new?head=feature").await;
    assert!(new.contains("<option value=\"feature\" selected>"), "{new}");
    let form = [
        ("head", "feature"),
        ("base", "main"),
        ("title", "A wave"),
        ("body", ""),
    ];
    let opened = ada.send("/acme/infra/new", &form).await;
    assert_eq!(opened, (303, "/acme/infra/pull/1".to_owned()));
    let grace = Browser::new(&world, "grace");
    for (deed, body) in [
        ("comment", "**fine**\r\nby me"),
        ("approve", ""),
        ("merge", ""),
    ] {
        let form = [("act", deed), ("body", body), ("head", head.as_str())];
        assert_eq!(
            grace.send(&opened.1, &form).await,
            (303, opened.1.clone()),
            "{deed}"
        );
    }
    let page = grace.open(&opened.1).await;
    for part in [
        "<strong>fine</strong>",
        "approved",
        "merged",
        "<span class=\"added\">+feature</span>",
    ] {
        assert!(page.contains(part), "{part} is not in {page}");
    }
}

#[tokio::test]
async fn a_page_that_shows_an_older_head_does_not_merge() {
    let world = World::new().await;
    let (number, head) = world.pull("feature").await;
    world.push("feature", "more.txt", "more").await;
    let form = [("act", "merge"), ("body", ""), ("head", head.as_str())];
    let path = format!("/acme/infra/pull/{number}");
    assert_eq!(
        Browser::new(&world, "grace").send(&path, &form).await.0,
        409
    );
}

#[tokio::test]
async fn a_form_from_elsewhere_does_nothing() {
    let world = World::new().await;
    let (number, head) = world.pull("feature").await;
    let form = [("act", "close"), ("body", ""), ("head", head.as_str())];
    let path = format!("/acme/infra/pull/{number}");
    let browser = Browser::new(&world, "grace");
    let answer = browser.send_from("http://evil.example", &path, &form).await;
    assert_eq!(answer.0, 403);
    let pull = world.get("ada", &format!("/pulls/{number}")).await;
    assert_eq!(pull["state"], "open");
}

#[tokio::test]
async fn who_a_visitor_acts_as_is_asked_and_kept_in_a_strict_cookie() {
    let world = World::new().await;
    let (number, head) = world.pull("feature").await;
    let path = format!("/acme/infra/pull/{number}");
    let nobody = Browser::new(&world, "");
    let form = [("act", "comment"), ("body", "x"), ("head", head.as_str())];
    assert_eq!(nobody.send(&path, &form).await.0, 403);
    let url = format!("{}/login", world.address);
    let form = [("login", "grace"), ("back", "//evil.example")];
    let request = nobody.http.post(url).header("Origin", &world.address);
    let answer = request.form(&form).send().await.unwrap();
    let cookie = answer.headers()["set-cookie"].to_str().unwrap();
    assert_eq!(
        cookie,
        "sandbox_login=grace; Path=/; HttpOnly; SameSite=Strict"
    );
    assert_eq!(answer.headers()["location"], "/");
}

#[tokio::test]
async fn what_people_write_is_text_on_every_page() {
    let world = World::new().await;
    world.push("main", "main.txt", "first").await;
    world
        .push("feature", "feature.txt", "<script>alert(1)</script>")
        .await;
    let bad = "<script>alert(1)</script>";
    let pull = json!({ "title": bad, "body": bad, "head": "feature", "base": "main" });
    let (_, pull) = world.post("ada", "/pulls", pull).await;
    world
        .post("mallory", "/issues/1/comments", json!({ "body": bad }))
        .await;
    let review = json!({ "body": bad, "event": "COMMENT" });
    world.post("mallory", "/pulls/1/reviews", review).await;
    let head = pull["head"]["sha"].as_str().unwrap();
    let status = json!({ "state": "success", "context": bad, "target_url": "javascript:alert(1)" });
    world
        .post("ada", &format!("/statuses/{head}"), status)
        .await;
    for path in ["/", "/acme/infra", "/acme/infra/new", "/acme/infra/pull/1"] {
        let page = Browser::new(&world, "ada").open(path).await;
        assert!(
            !page.contains("<script") && !page.contains("href=\"javascript"),
            "{page}"
        );
    }
}
