//! The commands of a chat: lines that begin with `/`.

use ouroboros_proto::agent::Mode;

/// Their names, and what each is for.
pub const NAMES: [(&str, &str); 9] = [
    ("model", "ROUTE — the route of the next task; alone, says which it is"),
    ("mode", "MODE — what the next task may do without asking; alone, says which it is"),
    ("cost", "what this task cost, and what is left"),
    ("diff", "what this task changed"),
    ("undo", "takes back what this task changed"),
    ("stop", "cancels the task"),
    ("new", "begins another conversation"),
    ("help", "this list"),
    ("quit", "leaves; a task that works goes on"),
];

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Another route, or which it is.
    Model(Option<String>),
    /// Another mode, or which it is.
    Mode(Option<Mode>),
    /// What it cost.
    Cost,
    /// What it changed.
    Diff,
    /// Taking that back.
    Undo,
    /// Cancels the task.
    Stop,
    /// Another conversation.
    New,
    /// What there is.
    Help,
    /// Leaves.
    Quit,
}

/// The command that a line is; `None` for one that is meant for the agent. The error says what would be a command.
///
/// A path such as `/etc/hosts is wrong` is no command: only the first word counts, and it has no other slash.
pub fn read(line: &str) -> Result<Option<Command>, String> {
    let line = line.trim();
    let Some(rest) = line.strip_prefix('/') else { return Ok(None) };
    let (name, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if name.contains('/') {
        return Ok(None);
    }
    let argument = Some(argument.trim()).filter(|argument| !argument.is_empty());
    let command = match name {
        "model" => return Ok(Some(Command::Model(argument.map(str::to_owned)))),
        "mode" => {
            let mode = argument.map(str::parse).transpose();
            return mode.map(|mode| Some(Command::Mode(mode))).map_err(|error| error.to_string());
        }
        "cost" => Command::Cost,
        "diff" => Command::Diff,
        "undo" => Command::Undo,
        "stop" => Command::Stop,
        "new" => Command::New,
        "help" | "?" => Command::Help,
        "quit" | "exit" => Command::Quit,
        _ => return Err(format!("/{} is no command; /help lists them", crate::render::clean(name))),
    };
    match argument {
        None => Ok(Some(command)),
        Some(_) => Err(format!("/{name} takes no words")),
    }
}

/// All of them, one a line.
pub fn help() -> String {
    let lines: String = NAMES.iter().map(|(name, what)| format!("/{name:<6} {what}\n")).collect();
    format!("{lines}Ctrl-C or Esc stops the turn, Alt-Enter breaks the line, @ and Tab name a file, Ctrl-D leaves.\n")
}

#[cfg(test)]
mod tests {
    use super::{Command, NAMES, help, read};
    use ouroboros_proto::agent::Mode;

    #[test]
    fn commands_are_told_from_words_and_paths() {
        assert_eq!(read("fix /etc"), Ok(None));
        assert_eq!(read("/etc/hosts is wrong"), Ok(None));
        assert_eq!(read(" /model openai/gpt-5.1 "), Ok(Some(Command::Model(Some("openai/gpt-5.1".to_owned())))));
        assert_eq!(read("/mode light"), Ok(Some(Command::Mode(Some(Mode::Light)))));
        assert_eq!(read("/mode"), Ok(Some(Command::Mode(None))));
        for wrong in ["/mode loud", "/nothing", "/", "/quit now"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        for (name, _) in NAMES {
            assert!(matches!(read(&format!("/{name}")), Ok(Some(_))) && help().contains(name), "{name}");
        }
    }
}
