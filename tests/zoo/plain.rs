//! Shapes that are about exits, streams and terminals.

use crate::argument;
use crate::raw::{self, Gate, Zoo};
use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::time::Duration;

pub fn three_deep(zoo: &Zoo, _: &[String]) -> ExitCode {
    let gate = Gate::new();
    zoo.fork("child", |zoo| {
        zoo.fork("grandchild", |zoo| {
            zoo.fork("great-grandchild", |zoo| {
                gate.open();
                zoo.stay()
            });
            gate.open();
            zoo.stay()
        });
        gate.open();
        zoo.stay()
    });
    gate.wait();
    zoo.ready();
    zoo.stay()
}

pub fn exit_at_once(zoo: &Zoo, _: &[String]) -> ExitCode {
    zoo.ready();
    ExitCode::SUCCESS
}

pub fn exit_code(zoo: &Zoo, rest: &[String]) -> ExitCode {
    zoo.ready();
    ExitCode::from(argument(rest, 1_u8))
}

pub fn kill_self(zoo: &Zoo, rest: &[String]) -> ExitCode {
    let _ = rustix::process::setrlimit(
        rustix::process::Resource::Core,
        rustix::process::Rlimit { current: Some(0), maximum: Some(0) },
    );
    zoo.ready();
    raw::raise_default(argument(rest, libc::SIGKILL));
    // The init of a namespace does not die by its own signals.
    ExitCode::from(70)
}

pub fn sleep(zoo: &Zoo, rest: &[String]) -> ExitCode {
    zoo.ready();
    std::thread::sleep(Duration::from_secs_f64(argument(rest, 3600.0)));
    ExitCode::SUCCESS
}

/// The byte at offset n is the last digit of n, or a newline where that is 9.
pub fn flood_output(zoo: &Zoo, rest: &[String]) -> ExitCode {
    eprintln!("ready {}", std::process::id());
    let _ = zoo;
    let block: Vec<u8> = b"012345678\n".repeat(6553);
    let mut left: usize = argument(rest, 1 << 20);
    let mut out = io::stdout().lock();
    while left > 0 {
        let part = block.get(..left.min(block.len())).unwrap_or(&block);
        if out.write_all(part).is_err() {
            return ExitCode::from(74);
        }
        left -= part.len();
    }
    if out.flush().is_ok() { ExitCode::SUCCESS } else { ExitCode::from(74) }
}

pub fn read_stdin(zoo: &Zoo, _: &[String]) -> ExitCode {
    zoo.ready();
    let mut bytes = Vec::new();
    match io::stdin().read_to_end(&mut bytes) {
        Ok(count) => {
            println!("stdin {count}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("zoo: stdin: {error}");
            ExitCode::from(74)
        }
    }
}

pub fn open_tty(zoo: &Zoo, _: &[String]) -> ExitCode {
    zoo.ready();
    match std::fs::OpenOptions::new().read(true).write(true).open("/dev/tty") {
        Ok(_) => println!("tty yes"),
        Err(_) => println!("tty no"),
    }
    ExitCode::SUCCESS
}
