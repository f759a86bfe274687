//! The project's own commands, in place of Terraform: one that plans a run and one that applies it.

use crate::core::config::keys::{Keys, Known, Shape};
use crate::core::config::section::{At, Reader};
use crate::core::ids::{Op, Root, WaveNumber};

/// What stands for the path of a run's plan file.
const PLAN_SLOT: &str = "{plan}";
pub(super) const KEYS: Keys = Keys {
    read: &[
        Known::needed(
            "plan",
            Shape::Holding(r"\{plan\}"),
            "the program that plans one root and its arguments; one of them says `{plan}`",
        ),
        Known::needed(
            "apply",
            Shape::Some(&Shape::Text),
            "the program that applies one root and its arguments",
        ),
    ],
    later: &[],
};

/// Two argv templates. No shell reads them; in every element, `{op}`, `{target}`, `{wave}` and `{plan}` stand for what
/// [`Slots`] holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commands {
    /// Writes what applying would do to `{plan}`, as [`crate::core::plan::op::read`] reads it.
    pub plan: Vec<String>,
    pub apply: Vec<String>,
}

/// What a run fills into a template.
#[derive(Clone, Copy, Debug)]
pub struct Slots<'a> {
    pub op: &'a Op,
    pub target: &'a Root,
    pub wave: WaveNumber,
    /// The path of the plan file.
    pub plan: &'a str,
}

impl Slots<'_> {
    /// A template's arguments for one run. What is filled in is not read for slots again.
    pub fn fill(&self, template: &[String]) -> Vec<String> {
        template.iter().map(|it| self.fill_one(it)).collect()
    }

    fn fill_one(&self, template: &str) -> String {
        let slots = [
            ("{op}", self.op.to_string()),
            ("{target}", self.target.to_string()),
            ("{wave}", format!("wave-{}", self.wave)),
            (PLAN_SLOT, self.plan.to_owned()),
        ];
        let (mut filled, mut rest) = (String::new(), template);
        while let Some(at) = rest.find('{') {
            filled.push_str(&rest[..at]);
            rest = &rest[at..];
            let slot = slots.iter().find(|(name, _)| rest.starts_with(name));
            let (name, value) = slot.map_or(("{", "{"), |(name, value)| (*name, value));
            filled.push_str(value);
            rest = &rest[name.len()..];
        }
        filled + rest
    }
}

/// Reads the key `commands`.
pub(super) fn read(reader: &mut Reader, at: &At) -> Option<Commands> {
    let keys = reader.section(at, &KEYS);
    let hint = "give the program and its arguments as a list";
    let plan = reader.need(&keys, "plan", hint, read_plan);
    let apply = reader.need(&keys, "apply", hint, read_argv);
    Some(Commands {
        plan: plan?,
        apply: apply?,
    })
}

fn read_plan(reader: &mut Reader, at: &At) -> Option<Vec<String>> {
    let argv = read_argv(reader, at)?;
    if argv.iter().any(|it| it.contains(PLAN_SLOT)) {
        return Some(argv);
    }
    let hint = "add an argument with `{plan}` in it";
    reader.wrong(at, "does not say where the plan file goes", hint)
}

fn read_argv(reader: &mut Reader, at: &At) -> Option<Vec<String>> {
    let items = reader.some(at, "names no program", "give the program and its arguments")?;
    let argv = reader.texts(&items, |_, _, text| Some(text.to_owned()));
    (argv.len() == items.len()).then_some(argv)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(template: &str, target: &str) -> String {
        let slots = Slots {
            op: &Op::tf_apply(),
            target: &Root::try_from(target).unwrap(),
            wave: WaveNumber(2),
            plan: "/jobs/1/plan.json",
        };
        slots.fill(&[template.to_owned()]).remove(0)
    }

    #[test]
    fn every_slot_is_filled_wherever_it_stands() {
        for (template, wanted) in [
            ("./bin/plan", "./bin/plan"),
            ("{target}", "envs/dev"),
            (
                "--for={op}/{wave}:{target}{target}",
                "--for=tf-apply/wave-2:envs/devenvs/dev",
            ),
            ("--out={plan}", "--out=/jobs/1/plan.json"),
            ("{Target} {{target} {plan", "{Target} {envs/dev {plan"),
        ] {
            assert_eq!(filled(template, "envs/dev"), wanted);
        }
    }

    #[test]
    fn a_run_that_is_named_like_a_slot_or_a_shell_word_stays_one_argument() {
        for name in ["{plan}", "a b", "$(reboot)"] {
            assert_eq!(filled("{target}", name), name);
        }
    }
}
