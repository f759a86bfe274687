//! Where the tool works: its folders outside the checkout, its environment, and which trees it is kept out of.

use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::Context;
use sha2::{Digest, Sha256};

use crate::core::ids::Root;
use crate::core::key::hex;
use crate::engine::Checkout;
use crate::engine::made::make_folder;

/// Folders that a repository must not carry into a root: the tool would run the programs in them.
const POISON: [&str; 2] = [".terraform", "terraform.d"];
/// Names that would turn the tool into another one: never passed on, whoever asks for them.
const REFUSED_NAMES: [&str; 3] = ["TF_WORKSPACE", "TF_DATA_DIR", "TF_REATTACH_PROVIDERS"];
const REFUSED_PREFIXES: [&str; 2] = ["TF_CLI_ARGS", "TF_LOG"];
/// Where the tool reads its own configuration from.
const CONFIG: &str = "TF_CLI_CONFIG_FILE";
/// Providers that several roots share.
const CACHE: &str = "TF_PLUGIN_CACHE_DIR";

/// Makes the job's private folder with an empty configuration for the tool in it.
pub(super) fn prepare(checkout: &Checkout) -> anyhow::Result<()> {
    make_folder(&checkout.scratch)
        .and_then(|()| fs::write(config(checkout), ""))
        .with_context(|| format!("cannot prepare {}", checkout.scratch.display()))
}

/// A root's own folder below the scratch folder; a hash, because roots stand inside each other.
pub(super) fn folder(checkout: &Checkout, root: &Root) -> PathBuf {
    let hash = hex(&Sha256::digest(root.as_str())[..8]);
    checkout.scratch.join(hash)
}

/// What the tool gets beside what every process gets. The operator's names first: ours win.
pub(super) fn env(checkout: &Checkout) -> Vec<(String, String)> {
    let given = checkout.env.iter().filter(|(name, _)| is_passed_on(name));
    let mut all: Vec<(String, String)> = given.cloned().collect();
    let ours = [
        ("TF_IN_AUTOMATION", "1"),
        ("TF_INPUT", "0"),
        ("CHECKPOINT_DISABLE", "1"),
        // A quarter less time: most of a small plan is the start of the program. The limit bounds what that costs.
        ("GOGC", "off"),
        ("GOMEMLIMIT", "512MiB"),
    ];
    all.extend(ours.map(|(name, value)| (name.to_owned(), value.to_owned())));
    if given_value(checkout, CONFIG).is_none() {
        all.push((CONFIG.to_owned(), config(checkout).display().to_string()));
    }
    all
}

/// Whether several roots write to one folder of providers.
pub(super) fn has_shared_cache(checkout: &Checkout) -> bool {
    let config = given_value(checkout, CONFIG);
    given_value(checkout, CACHE).is_some()
        || config
            .and_then(|it| fs::read_to_string(it).ok())
            .is_some_and(|it| it.contains("plugin_cache_dir"))
}

/// The root's real folder, if it may be worked in; otherwise why not, as a clause.
pub(super) fn enter(checkout: &Checkout, root: &Root) -> Result<PathBuf, String> {
    let path = checkout.dir.join(root.as_str());
    let (top, real) = checkout
        .dir
        .canonicalize()
        .and_then(|top| Ok((top, path.canonicalize()?)))
        .map_err(|_| format!("there is no directory `{root}` at this commit"))?;
    if !real.starts_with(&top) {
        return Err(format!("`{root}` is a symlink that leaves the repository"));
    }
    let entries = fs::read_dir(&real).map_err(|_| format!("`{root}` is not a directory"))?;
    for entry in entries {
        let entry = entry.map_err(|it| format!("`{root}` cannot be listed: {it}"))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if POISON.contains(&name.as_str()) {
            return Err(format!(
                "`{root}` has a committed `{name}`, whose programs would run; remove it from the repository"
            ));
        }
        if leads_out(&entry.path(), &top) {
            return Err(format!(
                "`{root}/{name}` is a symlink that leaves the repository; remove it"
            ));
        }
    }
    Ok(real)
}

/// Whether a path stands for something outside of `top`, or would once something is made there.
fn leads_out(path: &Path, top: &Path) -> bool {
    match (path.canonicalize(), fs::read_link(path)) {
        (Ok(real), _) => !real.starts_with(top),
        // Of a link to nothing the folder counts in which it would be made.
        (Err(_), Ok(to)) => {
            let to = path.parent().unwrap_or(top).join(to);
            let folder = to.ancestors().skip(1).find_map(|it| it.canonicalize().ok());
            folder.is_none_or(|it| !it.starts_with(top))
        }
        (Err(_), Err(_)) => false,
    }
}

/// The way from one real folder to another. Relative, so that what the tool writes of it (`path.module` of a fetched
/// module) is the same in every job.
pub(super) fn relative(from: &Path, to: &Path) -> PathBuf {
    let shared = from
        .components()
        .zip(to.components())
        .take_while(|(one, other)| one == other)
        .count();
    let up = from.components().skip(shared).map(|_| Component::ParentDir);
    up.chain(to.components().skip(shared)).collect()
}

fn is_passed_on(name: &str) -> bool {
    !REFUSED_NAMES.contains(&name) && !REFUSED_PREFIXES.iter().any(|it| name.starts_with(it))
}

fn given_value<'a>(checkout: &'a Checkout, name: &str) -> Option<&'a str> {
    let given = checkout.env.iter().find(|(given, _)| given == name);
    given.map(|(_, value)| value.as_str())
}

fn config(checkout: &Checkout) -> PathBuf {
    checkout.scratch.join("cli.tfrc")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_change_the_tool_is_not_passed_on() {
        let mut checkout = Checkout::below("/jobs/1".as_ref());
        let given = ["TF_CLI_ARGS_plan", "TF_LOG", "TF_WORKSPACE", "TF_VAR_size"];
        checkout.env = given.map(|it| (it.to_owned(), "x".to_owned())).to_vec();
        let passed = env(&checkout);
        let theirs: Vec<&str> = passed
            .iter()
            .filter(|(_, value)| value == "x")
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(theirs, ["TF_VAR_size"]);
    }

    #[test]
    fn a_tools_configuration_is_an_empty_one_unless_the_operator_gives_another() {
        let mut checkout = Checkout::below("/jobs/1".as_ref());
        let of = |checkout: &Checkout| {
            let all = env(checkout);
            let found = all.into_iter().find(|(name, _)| name == CONFIG);
            found.map(|(_, value)| value)
        };
        assert_eq!(of(&checkout).as_deref(), Some("/jobs/1/scratch/cli.tfrc"));
        checkout.env = vec![(CONFIG.to_owned(), "/etc/mirror.tfrc".to_owned())];
        assert_eq!(of(&checkout).as_deref(), Some("/etc/mirror.tfrc"));
    }

    #[test]
    fn a_link_to_nothing_leads_where_it_would_be_made() {
        let home = tempfile::tempdir().unwrap();
        let top = home.path().canonicalize().unwrap().join("checkout");
        fs::create_dir_all(top.join("net")).unwrap();
        for (to, leads) in [
            ("not-yet", false),
            ("../no/folder/yet", false),
            ("../../beside", true),
            ("/tmp/no-such-folder/file", true),
        ] {
            let link = top.join("net/link");
            std::os::unix::fs::symlink(to, &link).unwrap();
            assert_eq!(leads_out(&link, &top), leads, "{to}");
            fs::remove_file(link).unwrap();
        }
    }

    #[test]
    fn a_way_between_folders_is_the_same_wherever_they_are() {
        for top in ["/a", "/data/jobs/7"] {
            let (from, to) = (format!("{top}/checkout/net"), format!("{top}/scratch/1"));
            assert_eq!(
                relative(from.as_ref(), to.as_ref()),
                Path::new("../../scratch/1")
            );
        }
    }
}
