//! What is generated is what is committed; `TIDEGATE_BLESS=1` writes it again.

use std::path::Path;

use tidegate::cli::reference;
use tidegate::core::config::schema::{File, schema, table};

/// Compares a generated text with a committed file.
fn check(path: &str, generated: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("TIDEGATE_BLESS").is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, generated).unwrap();
    }
    let committed = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(
        generated, committed,
        "{path} is not what the program generates"
    );
}

#[test]
fn the_page_about_commands_is_the_programs_own() {
    check("docs/cli.md", &reference());
}

#[test]
fn the_committed_schemas_are_those_the_program_prints() {
    for (file, path) in [
        (File::Project, "docs/tidegate.schema.json"),
        (File::Server, "docs/tidegate-server.schema.json"),
    ] {
        check(path, &format!("{:#}\n", schema(file)));
    }
}

#[test]
fn the_tables_of_keys_are_those_that_parse() {
    let path = "docs/configuration.md";
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let mut page = std::fs::read_to_string(file).unwrap();
    for (name, of) in [("project", File::Project), ("server", File::Server)] {
        let (start, end) = (format!("<!-- keys: {name} -->\n"), "<!-- end of keys -->");
        let from = page.find(&start).unwrap() + start.len();
        let to = from + page[from..].find(end).unwrap();
        page.replace_range(from..to, &format!("\n{}\n", table(of)));
    }
    check(path, &page);
}

#[test]
fn every_metric_that_is_documented_is_one() {
    let read = |path: &str| {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        std::fs::read_to_string(file).unwrap()
    };
    let (source, page) = (read("src/serve/health.rs"), read("docs/operating.md"));
    let documented: Vec<&str> = page
        .lines()
        .filter_map(|it| it.strip_prefix("| `tidegate_")?.split(['`', '{']).next())
        .collect();
    assert!(documented.len() >= 13, "{documented:?}");
    for name in &documented {
        assert!(
            source.contains(&format!("\"{name}\"")),
            "there is no metric {name}"
        );
    }
}
