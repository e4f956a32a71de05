//! `ouroboros`: the launcher that keeps one server running, and the command line.
//!
//! | module | what it is for |
//! | --- | --- |
//! | [`cli`] | verbs: what a person types, and what they come to |
//! | [`client`] | the HTTP API over its Unix socket, blocking, one connection a request |
//! | [`render`] | tables, ages, sizes, colours: how answers look on a terminal and in a pipe |
//! | [`supervise`] | the launcher behind `up` |
//!
//! Invariants: standard output carries the answer or the command's own output and nothing else; a look-up never starts
//! anything; an error says what happened, what was kept and what to do.

mod cli;
mod client;
mod render;
mod supervise;

fn main() -> std::process::ExitCode {
    cli::main()
}
