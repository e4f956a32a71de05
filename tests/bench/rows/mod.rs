//! What is measured. A scenario makes an installation of its own, and gives one or more rows.

mod accept;
mod agent;
mod cancel;
mod cli;
mod endurance;
mod floors;
mod gateway;
mod idle;
mod latency;
mod ledger;
mod memory;
mod money;
mod server;
mod storm;
mod throughput;
mod tools;
mod up;
mod worker;

use crate::run::Bench;
use crate::table::Row;

/// One scenario.
pub struct Scenario {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it measures.
    pub about: &'static str,
    /// Measures it.
    pub run: fn(&Bench) -> anyhow::Result<Vec<Row>>,
}

const fn scenario(name: &'static str, about: &'static str, run: fn(&Bench) -> anyhow::Result<Vec<Row>>) -> Scenario {
    Scenario { name, about, run }
}

/// All of them, in the order of the table.
pub const SCENARIOS: &[Scenario] = &[
    scenario("floors", "the disk's floor and floor-task", floors::measure),
    scenario("up", "from `up` to ready", up::measure),
    scenario("accept", "accepting tasks", accept::measure),
    scenario("latency", "one task on an idle system", latency::measure),
    scenario("rate", "2,000 tasks on 2 and 5 slots", throughput::measure),
    scenario("cancel", "cancelling every shape of process", cancel::measure),
    scenario("worker", "sudden death of a worker", worker::measure),
    scenario("server", "sudden death of the server", server::measure),
    scenario("memory", "memory", memory::measure),
    scenario("idle", "doing nothing", idle::measure),
    scenario("storm", "every worker dies", storm::measure),
    scenario("endurance", "what is left after many tasks", endurance::measure),
    scenario("cli", "the command line", cli::measure),
    scenario("gateway", "what the gateway adds to a call", gateway::calls),
    scenario("streams", "many streams at once", gateway::streams),
    scenario("ask", "a whole question", money::ask),
    scenario("agent", "tasks in words", agent::measure),
    scenario("tools", "tools of agents on large things", tools::measure),
    scenario("agent-memory", "memory of workers", tools::memory),
    scenario("dollar", "many workers at the last dollar", money::last_dollar),
    scenario("ledger", "a usage ledger of a million sends", ledger::measure),
    scenario("models", "models while nothing is asked", money::idle),
    scenario("build", "building and testing from nothing", cli::build),
];
