//! The server's program. Its life is in the library.

use ouroboros_proto::kind::ExitCode;
use ouroboros_server::life::{StartError, build, start};
use ouroboros_settings::Paths;
use std::path::{Path, PathBuf};

const USAGE: &str = "usage: ouroboros-server run [--auto]\n       ouroboros-server restore FILE\n       ouroboros-server version\n\nIt is started by `ouroboros up`; see `ouroboros --help`.";

fn main() -> std::process::ExitCode {
    match act() {
        Ok(code) => code.into(),
        Err(error) => {
            eprintln!("ouroboros-server: {}\n{}", error.message, error.remedy);
            error.code.into()
        }
    }
}

fn act() -> Result<ExitCode, StartError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["run"] => start::run(paths()?, &start::Options { auto: false }),
        ["run", "--auto"] => start::run(paths()?, &start::Options { auto: true }),
        ["restore", file] => start::restore(&paths()?, Path::new(file)),
        ["version"] => {
            println!("{}", build());
            Ok(ExitCode::Stopped)
        }
        _ => Err(StartError::new(ExitCode::Usage, "it was started with other arguments than it takes", USAGE)),
    }
}

fn paths() -> Result<Paths, StartError> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let uid = rustix::process::getuid().as_raw();
    Paths::resolve(|name| std::env::var_os(name), home.as_deref(), uid).map_err(|error| {
        StartError::new(ExitCode::Config, error.to_string(), "Set OUROBOROS_HOME to an absolute path.")
    })
}
