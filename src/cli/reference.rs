//! The command line described as a page, from the same definitions that parse it.

use std::fmt::Write;

use clap::{Arg, Command, CommandFactory};

/// What the page begins with.
const HEAD: &str = "\
# Command line

This page is made from the program's own definitions (`TIDEGATE_BLESS=1 cargo test --test it reference` writes it), and
`tidegate <command> --help` says the same.
";

/// The page about all commands.
pub fn reference() -> String {
    let mut page = HEAD.to_owned();
    let mut tidegate = super::Cli::command();
    tidegate.build();
    if let Some(codes) = tidegate.get_after_help() {
        add(
            &mut page,
            &format!("\n```text\n{}\n```\n", codes.to_string().trim_end()),
        );
    }
    for command in tidegate.get_subcommands() {
        describe(&mut page, "tidegate", command);
    }
    page
}

fn describe(page: &mut String, above: &str, command: &Command) {
    let name = format!("{above} {}", command.get_name());
    if command.is_hide_set() || command.get_name() == "help" {
        return;
    }
    let about = command.get_long_about().or(command.get_about());
    let about = sentence(&about.map(ToString::to_string).unwrap_or_default());
    let usage = command
        .clone()
        .bin_name(name.clone())
        .render_usage()
        .to_string();
    let usage = usage.trim_start_matches("Usage: ");
    add(
        page,
        &format!("\n## `{name}`\n\n{about}\n\n```text\n{usage}\n```\n"),
    );
    let arguments: Vec<&Arg> = (command.get_arguments())
        .filter(|it| !it.is_hide_set() && it.get_id() != "help")
        .collect();
    if !arguments.is_empty() {
        add(page, "\n| | |\n|---|---|\n");
    }
    for argument in arguments {
        add(page, &row(argument));
    }
    if let Some(examples) = command.get_after_help() {
        add(
            page,
            &format!("\n```text\n{}\n```\n", examples.to_string().trim_end()),
        );
    }
    for below in command.get_subcommands() {
        describe(page, &name, below);
    }
}

fn row(argument: &Arg) -> String {
    let help = argument.get_long_help().or(argument.get_help());
    let help = help.map(ToString::to_string).unwrap_or_default();
    let mut meaning = sentence(&help.split_whitespace().collect::<Vec<_>>().join(" "));
    let values: Vec<String> = (argument.get_possible_values().iter())
        .filter(|_| argument.get_action().takes_values())
        .map(|it| format!("`{}`", it.get_name()))
        .collect();
    if !values.is_empty() {
        meaning += &format!(" One of {}.", values.join(", "));
    }
    let defaults: Vec<_> = argument.get_default_values().iter().collect();
    let defaults: Vec<_> = defaults.into_iter().filter(|it| !it.is_empty()).collect();
    if let [default] = defaults.as_slice()
        && argument.get_action().takes_values()
    {
        meaning += &format!(" Default: `{}`.", default.to_string_lossy());
    }
    if let Some(variable) = argument.get_env() {
        meaning += &format!(" Variable: `{}`.", variable.to_string_lossy());
    }
    format!(
        "| `{}` | {} |\n",
        spelled(argument),
        meaning.replace('|', "\\|")
    )
}

/// Help loses the full stop of its last sentence.
fn sentence(text: &str) -> String {
    match text.ends_with(['.', ':']) || text.is_empty() {
        true => text.to_owned(),
        false => format!("{text}."),
    }
}

fn spelled(argument: &Arg) -> String {
    let names = argument.get_value_names().unwrap_or_default();
    let value: Vec<String> = names.iter().map(|it| format!("<{it}>")).collect();
    let value = value.join(" ");
    match argument.get_long() {
        None => value,
        Some(long) if argument.get_action().takes_values() => format!("--{long} {value}"),
        Some(long) => format!("--{long}"),
    }
}

fn add(page: &mut String, text: &str) {
    write!(page, "{text}").expect("a String takes any text");
}
