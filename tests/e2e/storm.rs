//! Many questions at once to a provider in a storm, while workers and servers are killed: whatever happens, the ledger has each request
//! once, at what it cost or at its bound, and nothing that may have been answered is asked again.
//!
//! `OUROBOROS_STORM_CALLS` sets how many questions are asked, which is 300 when it is not set, and `OUROBOROS_STORM_SERVERS` about how
//! often the server is killed in a long run, which is 12; a long run is
//! `OUROBOROS_STORM_CALLS=10000 cargo test -p ouroboros-tests --test e2e storm`. A failure prints the seed, and `OUROBOROS_STORM_SEED`
//! runs it again with the same kills and the same storm.

use super::rig::{PRICED, Rig, is_over, sends};
use super::scene::{request, workers};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use support::home::kill;

const CALLS: u64 = 300;
/// Questions in one request.
const BATCH: u64 = 100;
/// Questions settle this many at a time between two kills of a worker, and of the server; a long run kills it less often.
const CALM: (u64, u64) = (10, 70);
/// Kills of the server in one run, about: a launcher whose server dies again and again takes its time.
const SERVERS: u64 = 12;
/// The longest pause of a launcher before it starts the server again.
const PAUSE: Duration = Duration::from_secs(40);
/// A question may take this long on a busy machine, and the whole some minutes.
const EACH: Duration = Duration::from_millis(250);

pub fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().unwrap())
}

/// A storm in which two of three questions are answered at once.
fn storm(seed: u64) -> String {
    let mut script = format!("seed = {seed}\n{PRICED}");
    for (likely, what) in [
        (0.04, "status = 503"),
        (0.04, "status = 429\nretry_after = 0"),
        (0.01, "status = 429\nretry_after = 100000"),
        (0.02, "status = 401"),
        (0.02, "overflow = 1000"),
        (0.03, "say = 'a part of an answer'\ncut = 'close'"),
        (0.03, "say = 'a part of an answer'\ncut = 'reset'"),
        (0.03, "hang_up = 'close'\nbill = 'whole'"),
        (0.02, "hang_up = 'reset'"),
        (0.02, "say = 'a part of an answer'\nerror_frame = { status = 500 }"),
        (0.10, "say = 'an answer that takes its time and comes in many pieces'\nchunk = 4\ngap_ms = 10"),
    ] {
        script.push_str(&format!("[[rule]]\nprobability = {likely}\n{what}\n"));
    }
    script
}

/// What follows from a seed: xorshift.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

#[test]
fn whatever_is_killed_every_request_is_paid_for_once_and_none_is_asked_again() {
    let calls = number("OUROBOROS_STORM_CALLS").unwrap_or(CALLS);
    let seed = number("OUROBOROS_STORM_SEED").unwrap_or_else(|| u64::from(std::process::id()) + 1);
    eprintln!("seed {seed}; again: OUROBOROS_STORM_CALLS={calls} OUROBOROS_STORM_SEED={seed}");
    // So much that the last questions may find nothing left.
    let limit = 500_000 * calls;
    let total = format!("'{}.{:09}'", limit / 1_000_000_000, limit % 1_000_000_000);
    let settings = [
        ("limits.total", total.as_str()),
        ("queue.slots", "16"),
        ("models.concurrency", "16"),
        ("models.retries", "2"),
        ("models.fallbacks", "'anthropic/m'"),
    ];
    let mut rig = Rig::start(&storm(seed), &settings, &[("ANTHROPIC_API_KEY", "sk-ant-of-a-test-000001")]);
    rig.price("openai/m");
    rig.price("anthropic/m");
    submit(&rig, calls);
    ride_out(&rig, calls, limit, &mut Dice(seed));
    assert_eq!(rig.home.run(&["stop"]).code, 0);
    rig.home.launcher_ends();
    rig.home.is_empty();
    // What is left is judged by a life that sent nothing of it.
    rig.write(&[("queue.slots", "0")]);
    rig.up();
    judge(&rig, calls, limit);
}

/// Asks everything.
fn submit(rig: &Rig, calls: u64) {
    for batch in (0..calls).step_by(usize::try_from(BATCH).unwrap()) {
        let one = |number: u64| json!({ "ask": { "prompt": format!("question {number} of the storm"), "max_output_tokens": 100 } });
        rig.submit_many((batch..calls.min(batch + BATCH)).map(one).collect());
    }
}

/// Kills workers and servers until every question is over, is paused or waits for a later time.
fn ride_out(rig: &Rig, calls: u64, limit: u64, dice: &mut Dice) {
    let begun = Instant::now();
    let kills = number("OUROBOROS_STORM_SERVERS").unwrap_or(SERVERS).max(1);
    let deadline = (5 * support::DEADLINE)
        .max(PAUSE * u32::try_from(kills).unwrap())
        .saturating_add(EACH * u32::try_from(calls).unwrap());
    let servers = CALM.1.max(calls / kills);
    let (mut next_worker, mut next_server) = (CALM.0, CALM.1);
    loop {
        assert!(begun.elapsed() < deadline, "it takes too long: {:#}", rig.get("/api/state"));
        let Some((_, state)) = request(&rig.home, "GET", "/api/state", b"") else { continue };
        let Some(pid) = state["pid"].as_i64() else { continue };
        let spending = &state["spending"];
        assert!(spending["accounted_nanos"].as_u64().unwrap() <= limit, "more than the limit: {spending}");
        let count = |name: &str| state["queue"][name].as_u64().unwrap();
        let over = count("settled") + count("paused") + count("waiting");
        if over == calls && count("running") == 0 && spending["reserved_nanos"] == 0 {
            return;
        }
        if over >= next_server {
            next_server = over + 1 + servers / 2 + dice.below(servers);
            kill(i32::try_from(pid).unwrap());
            rig.succeeded(i32::try_from(pid).unwrap());
        } else if over >= next_worker {
            next_worker = over + 1 + dice.below(2 * CALM.0);
            let alive = workers(&rig.home);
            if !alive.is_empty() {
                let unlucky = dice.below(u64::try_from(alive.len()).unwrap());
                kill(alive[usize::try_from(unlucky).unwrap()]);
            }
        }
    }
}

fn judge(rig: &Rig, calls: u64, limit: u64) {
    let balance = rig.balance();
    eprintln!("{balance:?}");
    assert!(balance.settled + balance.unresolved <= limit, "{balance:?}");
    let tasks = rig.tasks();
    assert_eq!(u64::try_from(tasks.len()).unwrap(), calls, "a question was lost");
    for task in &tasks {
        // A new life looks for routes again, which ends the waits for a key; it has no slot for what is woken.
        assert!(is_over(task) || task["status"] != "running", "{task:#}");
        let rows: Vec<&Value> = sends(task).iter().filter(|send| send["state"] != "released").collect();
        // What is not known is the last that was sent for its question.
        let unknown = rows.iter().position(|send| send["state"] == "unresolved");
        assert!(unknown.is_none_or(|place| place + 1 == rows.len()), "asked again: {task:#}");
        assert!(task["status"] != "completed" || unknown.is_none(), "{task:#}");
    }
    // Two lives besides those that were killed: the first one, and this.
    assert!(rig.get("/api/state")["generation"].as_u64().unwrap() >= 4, "the server was hardly killed");
    let answered = tasks.iter().filter(|task| task["status"] == "completed").count();
    assert!(answered * 3 > tasks.len(), "only {answered} were answered");
}
