//! Ending what a server left, and remembering what could not be ended.

use super::voice::Voice;
use crate::render::{clean, count, time};
use ouroboros_process::census;
use ouroboros_process::ledger::{Verdict, judge};
use ouroboros_process::reaper::{Report, Survivor, end_everything};
use ouroboros_proto::kind::{BootMicros, Identity, Millis, clock};
use serde::Serialize;
use std::collections::BTreeSet;
use std::io;
use std::time::Duration;

/// How long the tree of a dead server may take to go.
pub const BOUND: Duration = Duration::from_secs(2);

/// A process of an earlier server that could not be proven gone.
#[derive(Debug, Clone, Serialize)]
struct Unproven {
    pid: i32,
    /// `null` when it could not be read.
    identity: Option<Identity>,
    command: String,
}

/// Keeps this process's children in view.
#[derive(Debug)]
pub struct Sweeper {
    /// Children that this process had before it started any: whoever was here before us belongs to somebody else. They stay
    /// unreaped when they end, so their numbers are not given to others.
    strangers: BTreeSet<i32>,
    unproven: Vec<Unproven>,
    refused: bool,
}

impl Sweeper {
    /// Must be made before anything is started.
    ///
    /// # Errors
    /// `/proc` cannot be read.
    pub fn new() -> io::Result<Self> {
        let strangers = census::children_of_self()?.into_iter().collect();
        Ok(Self { strangers, unproven: Vec::new(), refused: false })
    }

    /// Kills and reaps everything below us, the server included, within [`BOUND`], and says what that came to.
    pub fn sweep(&mut self, voice: Voice) {
        let Report { ended, survivors, unknown } = end_everything(&|pid| self.strangers.contains(&pid), BOUND);
        if ended > 0 {
            voice.note(&format!("ended {} that the server left", processes(ended)));
        }
        if let Some(error) = unknown {
            voice.trouble(
                &format!("it is not known whether the server left processes: {error}"),
                "`ouroboros doctor` looks for them; the next server does so too.",
            );
        }
        self.refused = survivors.iter().any(|survivor| survivor.refused);
        self.remember(&survivors, voice);
    }

    fn remember(&mut self, survivors: &[Survivor], voice: Voice) {
        self.unproven.retain(|known| match &known.identity {
            Some(identity) => !matches!(judge(identity), Verdict::Gone | Verdict::Stranger),
            None => survivors.iter().any(|survivor| survivor.pid == known.pid),
        });
        for survivor in survivors {
            let why = if survivor.refused { "may not be signalled" } else { "does not die" };
            let age = age(survivor.pid).map_or_else(|| "unknown".to_owned(), time::age);
            voice.trouble(
                &format!("pid {} ({}) {why}; age {age}", survivor.pid, clean(&survivor.command)),
                "The next server is told of it. `kill -9` by its owner may end it; one that is held in the kernel ends with the machine.",
            );
            if !self.unproven.iter().any(|known| known.pid == survivor.pid) {
                let Survivor { pid, identity, command, .. } = survivor.clone();
                self.unproven.push(Unproven { pid, identity, command });
            }
        }
    }

    /// What the next server is to be told, as JSON; `None` when everything is proven gone.
    pub fn unproven(&self) -> Option<String> {
        if self.unproven.is_empty() { None } else { serde_json::to_string(&self.unproven).ok() }
    }

    /// How many processes are not proven gone.
    pub fn survivors(&self) -> usize {
        self.unproven.len()
    }

    /// Whether the kernel refused us a signal in the last sweep.
    pub fn was_refused(&self) -> bool {
        self.refused
    }
}

/// `1 process`, `2 processes`.
pub fn processes(number: usize) -> String {
    if number == 1 { count(1, "process") } else { format!("{number} processes") }
}

/// How long a process has been running.
pub fn age(pid: i32) -> Option<Millis> {
    let ticks = census::sample(pid).ok().flatten()?.start_ticks;
    let started = ticks.saturating_mul(1_000_000) / rustix::param::clock_ticks_per_second().max(1);
    Some(clock::boot().since(BootMicros::new(started)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouroboros_process::identity;

    fn survivor(pid: i32) -> Survivor {
        Survivor { pid, identity: identity::read(pid).unwrap(), command: "x".to_owned(), refused: false }
    }

    #[test]
    fn what_survives_is_told_until_it_is_proven_gone() {
        let mut sweeper = Sweeper { strangers: BTreeSet::new(), unproven: Vec::new(), refused: false };
        assert_eq!(sweeper.unproven(), None);
        let own = i32::try_from(std::process::id()).unwrap();
        let mut gone = survivor(own);
        gone.pid = own + 1;
        if let Some(identity) = &mut gone.identity {
            identity.pid = own;
            identity.start_ticks += 1;
        }
        let voice = Voice::new(false);
        sweeper.remember(&[survivor(own), gone], voice);
        assert_eq!(sweeper.survivors(), 2);
        sweeper.remember(&[survivor(own)], voice);
        let told: serde_json::Value = serde_json::from_str(&sweeper.unproven().unwrap()).unwrap();
        assert_eq!(told[0]["pid"], own);
        let identity: Identity = serde_json::from_value(told[0]["identity"].clone()).unwrap();
        assert!(identity.same(&identity::of_self().unwrap()));
        assert_eq!(told.as_array().unwrap().len(), 1);
    }

    #[test]
    fn our_own_age_is_known() {
        let own = i32::try_from(std::process::id()).unwrap();
        assert!(age(own).unwrap() < Millis::seconds(24 * 60 * 60));
        assert_eq!(age(i32::MAX), None);
    }
}
