//! One table of what the product does, each row beside a floor or a peer that was measured in the same run.
//!
//! | module | what it is for |
//! | --- | --- |
//! | [`rows`] | what is measured, one module a subject |
//! | [`floor`] | the least that a task can cost: the real worker driven by the smallest loop that keeps the same promises |
//! | [`peer`] | others to compare with: a bare warp server, a minimal group-commit server, pueue |
//! | [`site`], [`api`], [`seed`], [`seed_ledger`] | an installation of its own, its API, a filled store |
//! | [`stand_in`], [`doomed`], [`caller`] | workers that die, and workers that only call models |
//! | [`models`], [`bare`] | an installation with a scripted provider; the same calls over a bare client |
//! | [`process`], [`disk`], [`sample`], [`table`] | reading `/proc`, the disk's floor, percentiles, printing |
//!
//! A figure never decides anything: the exit code tells only whether every scenario could be measured.
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::indexing_slicing,
    reason = "figures for people, of a size that a float holds"
)]

mod api;
mod arguments;
mod bare;
mod caller;
mod disk;
mod doomed;
mod floor;
mod models;
mod peer;
mod process;
mod rows;
mod run;
mod sample;
mod seed;
mod seed_ledger;
mod site;
mod stand_in;
mod table;

use arguments::Request;
use std::process::ExitCode;

fn main() -> ExitCode {
    if stand_in::is_wanted() {
        return stand_in::run();
    }
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let Some(("serve-peer", rest)) = words.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        return told(peer::serve(rest).map(|()| true));
    }
    match arguments::parse(&words) {
        Ok(Request::Run(arguments)) => told(run::run(&arguments)),
        Ok(Request::Tell(text)) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("bench: {error}\n{}", arguments::USAGE);
            ExitCode::from(64)
        }
    }
}

fn told(result: anyhow::Result<bool>) -> ExitCode {
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}
