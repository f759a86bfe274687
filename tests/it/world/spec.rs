//! The forges' published descriptions: whether a request is one that the forge documents, and a delivery one it sends.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::LazyLock;

use flate2::read::GzDecoder;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use url::form_urlencoded;

static GITHUB: LazyLock<Description> = LazyLock::new(|| Description::of("github"));
static FORGEJO: LazyLock<Description> = LazyLock::new(|| Description::of("forgejo"));

/// What a forge publishes about itself.
struct Description {
    forge: &'static str,
    requests: Requests,
    webhooks: Webhooks,
}

#[derive(Deserialize)]
struct Requests {
    operations: Vec<Operation>,
    #[serde(rename = "$defs")]
    defs: Value,
}

#[derive(Deserialize)]
struct Operation {
    id: String,
    method: String,
    path: String,
    #[serde(default)]
    path_params: BTreeMap<String, Parameter>,
    #[serde(default)]
    query: BTreeMap<String, Parameter>,
    body: Option<Body>,
}

#[derive(Deserialize)]
struct Parameter {
    schema: Value,
    #[serde(default)]
    required: bool,
    /// Whether it may hold slashes.
    #[serde(default)]
    multi_segment: bool,
}

#[derive(Deserialize)]
struct Body {
    required: bool,
    schema: Value,
    /// Every field the description knows; a schema alone lets a misspelt optional one through.
    known_properties: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Webhooks {
    webhooks: BTreeMap<String, Value>,
    #[serde(rename = "$defs")]
    defs: Value,
}

/// Checks a request to a forge: its path with the API's prefix, its query as it was sent, its body (null when there was
/// none). The prefix says which forge it is; GitHub's own description has none.
pub(crate) fn check_request(
    method: &str,
    path: &str,
    query: &str,
    body: &Value,
) -> Result<(), String> {
    if path.starts_with("/api/v1/") {
        return FORGEJO.check_request(method, path, (query, body));
    }
    let path = path.strip_prefix("/api/v3").unwrap_or(path);
    GITHUB.check_request(method, path, (query, body))
}

/// Checks a delivery of a forge: the event's name from its header, and the payload.
pub(crate) fn check_webhook(forge: &str, event: &str, payload: &Value) -> Result<(), String> {
    if forge == FORGEJO.forge {
        return FORGEJO.check_webhook(event, payload);
    }
    let action = payload["action"].as_str();
    let name: Vec<_> = [Some(event), action].into_iter().flatten().collect();
    GITHUB.check_webhook(&name.join("-").replace('_', "-"), payload)
}

/// What a GitHub App may ask for: `events` with the permission each needs, and the `manifest`'s schema.
pub(crate) fn github_app() -> Value {
    read("github-app.json.gz")
}

impl Description {
    fn of(forge: &'static str) -> Self {
        Self {
            forge,
            requests: read(&format!("{forge}.requests.json.gz")),
            webhooks: read(&format!("{forge}-webhooks.schema.json.gz")),
        }
    }

    fn check_request(&self, method: &str, path: &str, said: (&str, &Value)) -> Result<(), String> {
        let operation = self.requests.find(method, path);
        let operation = operation
            .ok_or_else(|| format!("{method} {path} is no operation of {}", self.forge))?;
        operation
            .check(said, &self.requests.defs)
            .map_err(|why| format!("{method} {path} ({}): {why}", operation.id))
    }

    fn check_webhook(&self, name: &str, payload: &Value) -> Result<(), String> {
        let schema = self.webhooks.webhooks.get(name);
        let schema = schema.ok_or_else(|| format!("{name} is no delivery of {}", self.forge))?;
        let checked = validate(schema, &self.webhooks.defs, payload);
        checked.map_err(|why| format!("{name}: {why}"))
    }
}

impl Requests {
    /// The operation whose path fits with the most words of its own: `/user/repos` is not `/{owner}/{repo}`.
    fn find(&self, method: &str, path: &str) -> Option<&Operation> {
        let asked: Vec<&str> = path.split('/').collect();
        let fitting = self.operations.iter().filter_map(|operation| {
            let template: Vec<&str> = operation.path.split('/').collect();
            let words = operation.fit(&template, &asked)?;
            (operation.method == method).then_some((words, operation))
        });
        Some(fitting.max_by_key(|(words, _)| *words)?.1)
    }
}

impl Operation {
    /// How many parts of the template are words that stand in the path; none when it does not fit.
    fn fit(&self, template: &[&str], asked: &[&str]) -> Option<usize> {
        let ([part, template @ ..], [word, asked @ ..]) = (template, asked) else {
            return (template.is_empty() && asked.is_empty()).then_some(0);
        };
        let Some(name) = part.strip_prefix('{').and_then(|it| it.strip_suffix('}')) else {
            let rest = (part == word).then(|| self.fit(template, asked))?;
            return rest.map(|it| it + 1);
        };
        let is_long = |name: &str| {
            let parameter = self.path_params.get(name);
            parameter.is_some_and(|it| it.multi_segment)
        };
        let longest = if is_long(name) { asked.len() } else { 0 };
        (0..=longest).find_map(|more| self.fit(template, &asked[more..]))
    }

    fn check(&self, (query, body): (&str, &Value), defs: &Value) -> Result<(), String> {
        let query: Vec<_> = form_urlencoded::parse(query.as_bytes()).collect();
        for (name, value) in &query {
            let known = self.query.get(name.as_ref());
            let parameter = known.ok_or_else(|| format!("there is no query parameter {name}"))?;
            let value = typed(&parameter.schema, value);
            validate(&parameter.schema, defs, &value)
                .map_err(|why| format!("the query parameter {name}: {why}"))?;
        }
        let is_missing = |name: &str| !query.iter().any(|(given, _)| given == name);
        match self
            .query
            .iter()
            .find(|(name, it)| it.required && is_missing(name))
        {
            Some((name, _)) => Err(format!("the query parameter {name} is missing")),
            None => self.check_body(body, defs),
        }
    }

    fn check_body(&self, given: &Value, defs: &Value) -> Result<(), String> {
        match (&self.body, given) {
            (None, Value::Null) => Ok(()),
            (None, _) => Err("it takes no body".to_owned()),
            (Some(body), Value::Null) if body.required => Err("its body is missing".to_owned()),
            (Some(_), Value::Null) => Ok(()),
            (Some(body), given) => {
                body.check_names(given.as_object())?;
                validate(&body.schema, defs, given)
            }
        }
    }
}

impl Body {
    fn check_names(&self, given: Option<&Map<String, Value>>) -> Result<(), String> {
        let (Some(known), Some(given)) = (&self.known_properties, given) else {
            return Ok(());
        };
        match given.keys().find(|name| !known.contains(name)) {
            Some(name) => Err(format!("there is no field {name}")),
            None => Ok(()),
        }
    }
}

/// A query parameter's text as the value that its schema speaks of.
fn typed(schema: &Value, text: &str) -> Value {
    let parsed = match schema["type"].as_str() {
        Some("integer" | "number" | "boolean") => serde_json::from_str(text).ok(),
        _ => None,
    };
    parsed.unwrap_or_else(|| Value::from(text))
}

fn validate(schema: &Value, defs: &Value, value: &Value) -> Result<(), String> {
    let mut whole = schema.clone();
    whole["$defs"] = defs.clone();
    let validator = jsonschema::draft202012::new(&whole).map_err(|it| it.to_string())?;
    let complaints: Vec<_> = validator
        .iter_errors(value)
        .map(|it| format!("{} at {:?}", it, it.instance_path().as_str()))
        .collect();
    if complaints.is_empty() {
        return Ok(());
    }
    Err(complaints.join("; "))
}

fn read<T: DeserializeOwned>(name: &str) -> T {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/spec");
    let file = File::open(folder.join(name)).unwrap();
    serde_json::from_reader(GzDecoder::new(file)).unwrap()
}

const STATUS: &str = "/repos/acme/infra/statuses/abc";
const PULLS: &str = "/repos/acme/infra/pulls";

#[test]
fn a_request_that_github_documents_passes() {
    let status = json!({"state": "success", "description": "fine"});
    let check = |method, path, query, body| check_request(method, path, query, &body);
    assert_eq!(
        check("GET", PULLS, "state=open&per_page=100", Value::Null),
        Ok(())
    );
    assert_eq!(check("GET", "/user", "", Value::Null), Ok(()));
    let long = "/repos/acme/infra/commits/release/1/status";
    assert_eq!(check("GET", long, "", Value::Null), Ok(()));
    assert_eq!(check("POST", STATUS, "", status), Ok(()));
}

#[test]
fn a_request_that_github_does_not_document_is_found() {
    let misspelt = json!({"state": "success", "desc": "fine"});
    let cases = [
        ("POST", STATUS, "", json!({"state": "bogus"}), "bogus"),
        ("POST", STATUS, "", misspelt, "no field desc"),
        ("POST", STATUS, "", json!({"description": "fine"}), "state"),
        ("POST", STATUS, "", Value::Null, "body is missing"),
        ("GET", PULLS, "", json!({}), "takes no body"),
        (
            "GET",
            PULLS,
            "stat=open",
            Value::Null,
            "no query parameter stat",
        ),
        ("GET", PULLS, "state=opened", Value::Null, "parameter state"),
        (
            "GET",
            PULLS,
            "per_page=all",
            Value::Null,
            "parameter per_page",
        ),
        (
            "GET",
            "/repos/acme/infra/pulls/1/filez",
            "",
            Value::Null,
            "no operation",
        ),
        (
            "DELETE",
            "/repos/acme/infra/pulls/1",
            "",
            Value::Null,
            "no operation",
        ),
    ];
    for (method, path, query, body, expected) in cases {
        let why = check_request(method, path, query, &body).unwrap_err();
        assert!(why.contains(expected), "{why}");
    }
}

#[test]
fn a_delivery_that_github_does_not_send_is_found() {
    let ping = json!({"zen": "Keep it logically awesome.", "hook_id": 1});
    let check = |event, payload: &Value| check_webhook("github", event, payload);
    assert_eq!(check("ping", &ping), Ok(()));
    assert!(check("ping", &json!({"zen": 7})).is_err());
    assert!(check("pull_request", &json!({"action": "opened"})).is_err());
    assert!(check("pull_request", &json!({"action": "ajar"})).is_err());
}

#[test]
fn a_request_that_forgejo_does_not_describe_is_found() {
    let status = "/api/v1/repos/acme/infra/statuses/abc";
    let (pulls, hooks) = (
        "/api/v1/repos/acme/infra/pulls",
        "/api/v1/repos/acme/infra/hooks",
    );
    let fine = json!({"state": "success", "context": "tidegate/plan"});
    assert_eq!(check_request("POST", status, "", &fine), Ok(()));
    let oldest = "state=open&sort=oldest&limit=50&page=2";
    assert_eq!(check_request("GET", pulls, oldest, &Value::Null), Ok(()));
    let cases = [
        (
            "POST",
            status,
            "",
            json!({"status": "success"}),
            "no field status",
        ),
        (
            "GET",
            pulls,
            "per_page=50",
            Value::Null,
            "no query parameter per_page",
        ),
        ("GET", pulls, "sort=created", Value::Null, "parameter sort"),
        ("POST", hooks, "", json!({"config": {}}), "type"),
        (
            "GET",
            "/api/v1/repos/acme/infra/commits/abc/pulls",
            "",
            Value::Null,
            "no operation",
        ),
    ];
    for (method, path, query, body, expected) in cases {
        let why = check_request(method, path, query, &body).unwrap_err();
        assert!(why.contains(expected), "{why}");
    }
}

#[test]
fn a_delivery_that_forgejo_does_not_send_is_found() {
    let payload = json!({"action": "synchronize"});
    let why = check_webhook("forgejo", "pull_request", &payload).unwrap_err();
    assert!(
        why.contains("synchronize") && why.contains("repository"),
        "{why}"
    );
    assert!(check_webhook("forgejo", "pull_request_review", &payload).is_err());
}
