//! `ouroboros-worker`: runs one attempt under custody, then leaves.
//!
//! | module | what it is for |
//! | --- | --- |
//! | [`serve`] | the life of a worker: harden, say hello, take one attempt, report its end |
//! | [`invitation`] | what the server tells a worker it starts |
//! | [`link`] | the server's socket: handshake, orders in, reports out, and the lifeline |
//! | [`command`] | a command from its start behind a barrier to the proof that its tree is gone |
//! | [`model`] | work that asks models: one call through the server, and what is written meanwhile |
//! | [`ask`] | one question to a model |
//! | [`agent`] | a task in words: calls of a model and of tools, in turn, until it delivers |
//! | [`keep`], [`wake`] | what is kept on disk of an attempt; the one wait of the main thread |
//! | [`exec`] | what every foreign command starts as; what it does to itself before it becomes one is `ouroboros_sandbox` |
//!
//! A worker holds no secret and no database. It starts in well under a millisecond, so nothing here starts a runtime, parses a
//! configuration or installs a logger; what it has to say beyond its reports goes to standard error, a line each.

mod agent;
mod ask;
mod command;
mod exec;
mod invitation;
mod keep;
mod link;
mod model;
mod note;
mod serve;
mod wake;

use ouroboros_proto::kind::ExitCode;

const USAGE: &str = "usage: ouroboros-worker serve | probe | exec …\n\
    It is started by ouroboros-server; there is nothing to run by hand.";

fn main() -> std::process::ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let mode = arguments.next();
    match mode.as_deref().and_then(std::ffi::OsStr::to_str) {
        Some("serve") => serve::run().into(),
        Some("exec") => exec::run(arguments).into(),
        Some("probe") => ExitCode::Stopped.into(),
        Some(_) | None => {
            note::note(USAGE);
            ExitCode::Usage.into()
        }
    }
}
