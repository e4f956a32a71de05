//! The command line.

use crate::rows::SCENARIOS;
use anyhow::bail;

/// How to use it.
pub const USAGE: &str = "usage: bench [--quick] [--json] [--only NAME]... [--list]\n\
    --quick      fewer samples, for a look\n\
    --json       the table as JSON\n\
    --only NAME  only this scenario; may be given more than once\n\
    --list       the names of the scenarios\n\
    PUEUE_BIN    a directory with pueue and pueued, when they are not on the PATH\n\
    RIPGREP_BIN  a directory with rg, when it is not on the PATH";

/// What was asked for.
#[derive(Debug, Clone, Default)]
pub struct Arguments {
    /// Fewer samples.
    pub quick: bool,
    /// The table as JSON.
    pub json: bool,
    /// Only these scenarios; all when empty.
    pub only: Vec<String>,
}

/// What the command line asks for.
#[derive(Debug, Clone)]
pub enum Request {
    /// To measure.
    Run(Arguments),
    /// To be told this.
    Tell(String),
}

/// Reads the command line.
///
/// # Errors
/// A word that means nothing.
pub fn parse(words: &[String]) -> anyhow::Result<Request> {
    let mut arguments = Arguments::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--quick" => arguments.quick = true,
            "--json" => arguments.json = true,
            "--only" => {
                let Some(name) = words.next() else { bail!("--only needs a name") };
                if !SCENARIOS.iter().any(|scenario| scenario.name == name) {
                    bail!("there is no scenario {name:?}; --list shows them");
                }
                arguments.only.push(name.clone());
            }
            "--list" => {
                let lines = SCENARIOS.iter().map(|scenario| format!("{:<10} {}", scenario.name, scenario.about));
                return Ok(Request::Tell(lines.collect::<Vec<_>>().join("\n")));
            }
            "--help" | "-h" => return Ok(Request::Tell(USAGE.to_owned())),
            other => bail!("unknown argument {other:?}"),
        }
    }
    Ok(Request::Run(arguments))
}
