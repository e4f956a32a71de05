//! From the command line to what is submitted.

use super::environment;
use crate::cli::args::work::Run;
use crate::cli::{Context, Failure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ouroboros_proto::api::{CommandSpec, PtySpec, SubmitOne};
use ouroboros_proto::kind::Isolation;
use ouroboros_proto::limits;
use std::ffi::OsString;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The size of a terminal that does not say its own.
const TERMINAL: PtySpec = PtySpec { columns: 80, rows: 24 };

/// What `run` submits: the command with this process's directory, umask and environment.
pub fn build(context: &Context, run: Run) -> Result<SubmitOne, Failure> {
    let shared = shared(&run);
    let argv = run.argv.into_iter().map(text).collect::<Result<Vec<String>, Failure>>()?;
    let env = environment::build(std::env::vars_os(), &run.env, run.clean_env)?;
    if context.verbose() && !env.left_out.is_empty() {
        context.note(&format!("left out of the environment: {}", env.left_out.join(" ")));
    }
    let (stdin, stdin_base64) = if run.stdin { stdin(io::stdin().lock())? } else { (None, None) };
    Ok(SubmitOne {
        command: CommandSpec {
            argv,
            cwd: Some(directory(run.cwd)?),
            env: env.variables,
            clean_env: run.clean_env,
            umask: Some(umask()),
            stdin,
            stdin_base64,
            pty: run.tty.then(terminal),
        },
        ..shared
    })
}

/// What is said of a task whatever its work is.
pub(super) fn shared(run: &Run) -> SubmitOne {
    SubmitOne {
        name: run.name.clone(),
        key: run.key.clone(),
        priority: run.priority,
        delay_ms: run.delay.map(|delay| delay.get()),
        after: run.after.iter().map(ToString::to_string).collect(),
        hold: run.hold,
        rerun: run.rerun,
        retries: run.retries,
        timeout_ms: run.timeout.map(|timeout| timeout.get()),
        isolation: run.host.then_some(Isolation::Host),
        ..SubmitOne::default()
    }
}

/// An argument as text.
pub fn text(argument: OsString) -> Result<String, Failure> {
    argument.into_string().map_err(|argument| {
        Failure::usage(format!("the argument {argument:?} is not valid UTF-8; nothing was submitted"))
            .remedy("Put the bytes into a file or a script and run that.")
    })
}

/// The absolute working directory. It is resolved here and not looked at: whether it can be entered is known when it is.
pub fn directory(wanted: Option<PathBuf>) -> Result<String, Failure> {
    let here = || {
        std::env::current_dir().map_err(|error| {
            Failure::io("the current directory is not known; nothing was submitted", &error)
                .remedy("Change to a directory that exists, or name one with --cwd.")
        })
    };
    let path = match wanted {
        Some(path) if path.is_absolute() => path,
        Some(path) => here()?.join(path),
        None => here()?,
    };
    let tidy: PathBuf = Path::new(&path).components().collect();
    text(tidy.into_os_string())
}

/// Standard input to its end, as text or base64.
fn stdin(input: impl Read) -> Result<(Option<String>, Option<String>), Failure> {
    let max = limits::STDIN_BYTES.max;
    let mut bytes = Vec::new();
    input
        .take(max.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::io("standard input cannot be read; nothing was submitted", &error))?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > max {
        return Err(Failure::usage(format!("standard input is over {max} bytes; nothing was submitted"))
            .remedy("Put it into a file and let the command read that."));
    }
    Ok(match String::from_utf8(bytes) {
        Ok(text) => (Some(text), None),
        Err(error) => (None, Some(STANDARD.encode(error.as_bytes()))),
    })
}

/// The mask of this process. There is one thread, so nobody sees it change.
fn umask() -> u32 {
    let mask = rustix::process::umask(rustix::fs::Mode::empty());
    rustix::process::umask(mask);
    mask.bits() & 0o777
}

/// The size of the terminal that we are on.
fn terminal() -> PtySpec {
    let size = [rustix::termios::tcgetwinsize(io::stdout()), rustix::termios::tcgetwinsize(io::stderr())];
    let size = size.into_iter().flatten().find(|size| size.ws_col > 0 && size.ws_row > 0);
    size.map_or(TERMINAL, |size| PtySpec { columns: size.ws_col, rows: size.ws_row })
}

#[cfg(test)]
mod tests {
    use super::{directory, stdin};
    use crate::cli::Failure;
    use ouroboros_proto::limits;
    use std::io::Read;

    #[test]
    fn standard_input_is_text_or_base64_and_bounded() {
        assert_eq!(stdin(&b"h\xc3\xa9"[..]).unwrap(), (Some("hé".to_owned()), None));
        assert_eq!(stdin(&b"\xff\x00"[..]).unwrap(), (None, Some("/wA=".to_owned())));
        assert_eq!(stdin(&b""[..]).unwrap(), (Some(String::new()), None));
        let max = limits::STDIN_BYTES.max;
        assert!(stdin(std::io::repeat(b'x').take(max)).is_ok());
        let Err(Failure::Told(report)) = stdin(std::io::repeat(b'x').take(max + 1)) else { panic!() };
        assert_eq!(report.exit, 2);
    }

    #[test]
    fn the_directory_is_absolute_and_its_links_stay() {
        let here = std::env::current_dir().unwrap();
        assert_eq!(directory(None).unwrap(), here.to_str().unwrap());
        assert_eq!(directory(Some("x/./y/".into())).unwrap(), here.join("x/y").to_str().unwrap());
        assert_eq!(directory(Some("/srv//x/../y".into())).unwrap(), "/srv/x/../y");
    }
}
