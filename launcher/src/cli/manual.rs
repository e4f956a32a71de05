//! Completion scripts and manual pages, made from the definition of the command line.

use super::args::command;
use super::args::system::{Completions, Man};
use super::{Context, Failure, Outcome};
use clap_complete::env::Shells;
use std::io::{self, Write};

/// Prints the script that makes a shell ask this program for completions.
pub fn completions(completions: &Completions) -> Outcome {
    let shells = Shells::builtins();
    let shell = shells
        .completer(&completions.shell)
        .ok_or_else(|| Failure::usage(format!("there are no completions for {}", completions.shell)))?;
    let mut script = Vec::new();
    shell.write_registration("COMPLETE", "ouroboros", "ouroboros", "ouroboros", &mut script)?;
    io::stdout().write_all(&script)?;
    Ok(0)
}

/// Prints one page, or writes all of them to a directory.
pub fn man(context: &Context, man: &Man) -> Outcome {
    let mut all = without_help(command());
    all.build();
    if let Some(dir) = &man.dir {
        let what = || format!("the pages cannot be written to {}", dir.display());
        std::fs::create_dir_all(dir).map_err(|error| Failure::io(what(), &error))?;
        clap_mangen::generate_to(all, dir).map_err(|error| Failure::io(what(), &error))?;
        context.note(&format!("the pages are in {}", dir.display()));
        return Ok(0);
    }
    let page = match &man.verb {
        None => all,
        Some(verb) => {
            let found = all.find_subcommand(verb).cloned();
            found.ok_or_else(|| {
                Failure::usage(format!("there is no verb {verb}")).remedy("`ouroboros --help` lists them.")
            })?
        }
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page).render(&mut text)?;
    io::stdout().write_all(&text)?;
    Ok(0)
}

/// The definition without the verbs named `help`, which need no pages.
fn without_help(command: clap::Command) -> clap::Command {
    command.disable_help_subcommand(true).mut_subcommands(without_help)
}
