//! The claims of the estate as a whole.

mod properties;
mod refusals;

use super::radius::radius;
use super::*;

fn root(name: &str) -> Root {
    Root::try_from(name).unwrap()
}

fn set(names: &[&str]) -> BTreeSet<Root> {
    names.iter().map(|it| root(it)).collect()
}

fn words<'a>(roots: impl IntoIterator<Item = &'a Root>) -> String {
    roots
        .into_iter()
        .map(Root::as_str)
        .collect::<Vec<_>>()
        .join(" ")
}

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|it| (*it).to_owned()).collect()
}

/// A root with a state of its own that reads the states of others.
fn reading(name: &str, upstreams: &[&str]) -> (String, String) {
    let mut text =
        format!("terraform {{\n backend \"s3\" {{\n bucket = \"b\"\n key = \"{name}\"\n }}\n}}\n");
    for upstream in upstreams {
        text.push_str(&format!(
            "data \"terraform_remote_state\" \"{}\" {{\n backend = \"s3\"\n config = {{ bucket = \"b\", key = \
             \"{upstream}\" }}\n}}\n",
            upstream.replace('/', "_")
        ));
    }
    (format!("{name}/main.tf"), text)
}

fn after(rules: &[(&str, &[&str])]) -> Project {
    let mut project = Project::default();
    let rules = rules
        .iter()
        .map(|(key, values)| ((*key).to_owned(), strings(values)));
    project.waves.after = rules.collect();
    project
}

fn canary(globs: &[&str]) -> Project {
    let mut project = Project::default();
    project.waves.canary = strings(globs);
    project
}

fn read(files: &[(String, String)], project: &Project) -> Result<Estate, Vec<EstateError>> {
    Estate::read(&files.iter().cloned().collect(), project)
}

fn waves(estate: &Estate) -> Vec<String> {
    estate.waves.iter().map(words).collect()
}

/// network ← database ← app; search reads database too, dns nothing.
fn harbour(project: &Project) -> Estate {
    let files = [
        reading("network", &[]),
        reading("database", &["network"]),
        reading("app", &["database", "network"]),
        reading("search", &["database"]),
        reading("dns", &[]),
    ];
    read(&files, project).unwrap()
}

#[test]
fn a_root_that_reads_a_state_goes_in_a_later_wave() {
    assert_eq!(
        waves(&harbour(&Project::default())),
        ["dns network", "database", "app search"]
    );
}

#[test]
fn roots_that_read_nothing_go_in_the_order_of_waves_after() {
    let files = [
        reading("network", &[]),
        reading("database", &[]),
        reading("app", &[]),
    ];
    let project = after(&[("app", &["database"]), ("database", &["network"])]);
    let estate = read(&files, &project).unwrap();
    assert_eq!(waves(&estate), ["network", "database", "app"]);
    let reach = estate.reach(&strings(&["network/main.tf"]));
    assert_eq!(words(&reach.touched), "network");
    assert_eq!(words(&reach.members), "app database network");
    let radius = radius(&estate, &set(&["network"]), &reach.members);
    assert_eq!(
        words(radius.downstream.iter().map(|it| &it.root)),
        "database app"
    );
}

#[test]
fn globs_of_waves_after_skip_the_root_itself() {
    let files = [
        reading("envs/a", &[]),
        reading("envs/b", &[]),
        reading("envs/c", &[]),
    ];
    let estate = read(
        &files,
        &after(&[("envs/*", &["envs/b"]), ("envs/c", &["envs/*"])]),
    )
    .unwrap();
    assert_eq!(waves(&estate), ["envs/b", "envs/a", "envs/c"]);
}

#[test]
fn canaries_go_first_layer_by_layer() {
    assert_eq!(
        waves(&harbour(&canary(&["search", "dns"]))),
        ["dns", "search", "network", "database", "app"]
    );
}

#[test]
fn canaries_that_match_nothing_make_no_wave() {
    let plain = harbour(&Project::default());
    assert_eq!(waves(&harbour(&canary(&["envs/canary"]))), waves(&plain));
}

#[test]
fn a_repository_without_roots_has_no_waves() {
    let estate = read(&[], &Project::default()).unwrap();
    assert_eq!(estate, Estate::default());
    assert_eq!(estate.everything(), Reach::default());
}

#[test]
fn states_in_other_buckets_order_nothing() {
    let (path, text) = reading("app", &["network"]);
    let elsewhere = text.replace("config = { bucket = \"b\"", "config = { bucket = \"c\"");
    let unnamed = text.replace("config = { bucket = \"b\",", "config = {");
    for (text, wanted) in [(elsewhere, 1), (unnamed, 2)] {
        let estate = read(
            &[reading("network", &[]), (path.clone(), text)],
            &Project::default(),
        );
        assert_eq!(estate.unwrap().waves.len(), wanted);
    }
}

#[test]
fn a_read_in_a_module_orders_nothing() {
    let (_, module) = reading("m", &["network"]);
    let (path, app) = reading("app", &[]);
    let (_, module) = module.split_once("}\n}\n").unwrap();
    let files = [
        reading("network", &[]),
        (
            path,
            format!("{app}module \"m\" {{\n source = \"../m\"\n}}\n"),
        ),
        ("m/main.tf".to_owned(), module.to_owned()),
    ];
    assert_eq!(
        waves(&read(&files, &Project::default()).unwrap()),
        ["app network"]
    );
}

#[test]
fn a_root_that_reads_its_own_state_waits_for_nobody() {
    let estate = read(&[reading("app", &["app"])], &Project::default()).unwrap();
    assert_eq!(waves(&estate), ["app"]);
}

#[test]
fn a_read_that_cannot_be_told_is_told_with_root_and_block() {
    let (path, text) = reading("app", &["net"]);
    let text = text
        .replace("config = {", "config = merge(local.x, {")
        .replace("\"net\" }", "\"net\" })");
    let estate = read(&[(path, text)], &Project::default()).unwrap();
    assert_eq!(
        estate.warnings,
        [
            "Which state `app` reads with `data.terraform_remote_state.net` cannot be told: `config` is not a literal. \
             It is not put after the root that keeps it."
        ]
    );
}

#[test]
fn roots_in_json_syntax_stand_in_waves_too() {
    let json = r#"{
        "terraform": {"backend": {"s3": {"bucket": "b", "key": "app"}}},
        "data": {"terraform_remote_state": {"net": {"backend": "s3", "config": {"bucket": "b", "key": "network"}}}}
    }"#;
    let files = [
        reading("network", &[]),
        ("app/cdk.tf.json".to_owned(), json.to_owned()),
    ];
    assert_eq!(
        waves(&read(&files, &Project::default()).unwrap()),
        ["network", "app"]
    );
}

#[test]
fn a_wave_keeps_its_number_whatever_a_change_reaches() {
    let estate = harbour(&Project::default());
    let reach = estate.reach(&strings(&["search/x.md"]));
    let reached = estate.reached_waves(&reach);
    assert_eq!(reached.len(), 1);
    assert_eq!(
        (reached[0].number, words(&reached[0].members)),
        (WaveNumber(3), "search".to_owned())
    );
    assert_eq!(estate.wave_of(&root("database")), Some(WaveNumber(2)));
    assert_eq!(estate.wave_of(&root("gone")), None);
    let all = estate.reached_waves(&estate.everything());
    assert_eq!(
        all.iter().map(|it| words(&it.members)).collect::<Vec<_>>(),
        waves(&estate)
    );
}

#[test]
fn a_root_knows_what_it_waits_for_and_who_waits_for_it() {
    let estate = harbour(&Project::default());
    assert_eq!(words(estate.upstreams(&root("app"))), "database network");
    assert_eq!(words(estate.readers(&root("database"))), "app search");
    assert_eq!(words(estate.upstreams(&root("gone"))), "");
}

#[test]
fn a_change_touches_the_roots_that_watch_a_path_above_it() {
    let call = |name: &str| {
        let (path, text) = reading(name, &[]);
        (
            path,
            format!("{text}module \"m\" {{\n source = \"../modules/net//vpc\"\n}}\n"),
        )
    };
    let files = [
        call("app"),
        call("apps"),
        reading("app/nested", &[]),
        ("modules/net/vpc/main.tf".to_owned(), String::new()),
    ];
    let estate = read(&files, &Project::default()).unwrap();
    for (path, wanted) in [
        ("app/README.md", "app"),
        ("app", "app"),
        ("app/templates/deep/x.tpl", "app"),
        ("app/nested/x.tf", "app app/nested"),
        ("apps/x", "apps"),
        ("ap", ""),
        ("app2/main.tf", ""),
        ("modules/net/vpc/main.tf", "app apps"),
        ("modules/net/main.tf", ""),
        ("gone/main.tf", ""),
        ("", ""),
        ("/", ""),
        ("../app/x", ""),
    ] {
        assert_eq!(
            words(&estate.reach(&strings(&[path])).touched),
            wanted,
            "{path}"
        );
    }
}

#[test]
fn a_root_at_the_top_is_touched_by_anything() {
    let (_, text) = reading("top", &[]);
    let estate = read(
        &[("main.tf".to_owned(), text), reading("app", &[])],
        &Project::default(),
    )
    .unwrap();
    assert_eq!(words(&estate.reach(&strings(&["docs/x.md"])).touched), ".");
    assert_eq!(words(&estate.reach(&strings(&["app/x"])).touched), ". app");
}

#[test]
fn the_radius_names_who_reads_what_changes_nearest_first() {
    let estate = harbour(&Project::default());
    let radius = radius(
        &estate,
        &set(&["network"]),
        &set(&["network", "database", "app"]),
    );
    let rows: Vec<_> = radius
        .downstream
        .iter()
        .map(|it| {
            format!(
                "{} {} {} [{}] {}",
                it.depth,
                it.root,
                it.wave,
                words(&it.reads),
                it.planned
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            "1 app 3 [database network] true",
            "1 database 2 [network] true",
            "2 search 3 [database] false",
        ]
    );
}

#[test]
fn a_root_that_changes_is_not_downstream() {
    let estate = harbour(&Project::default());
    let radius = radius(
        &estate,
        &set(&["network", "database", "gone"]),
        &BTreeSet::new(),
    );
    assert_eq!(words(&radius.changed), "database gone network");
    assert_eq!(
        words(radius.downstream.iter().map(|it| &it.root)),
        "app search"
    );
}

#[test]
fn an_estate_survives_being_written_and_read_back() {
    let estate = harbour(&Project::default());
    let text = serde_json::to_string(&estate).unwrap();
    assert_eq!(serde_json::from_str::<Estate>(&text).unwrap(), estate);
}
