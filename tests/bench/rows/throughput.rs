//! Many small tasks on a few slots.

use crate::api::Api;
use crate::peer::pueue::{self, Pueue};
use crate::run::Bench;
use crate::sample::{micros, per_second, seconds_since};
use crate::site::Site;
use crate::table::Row;
use serde_json::json;

pub fn measure(bench: &Bench) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    let pueue = pueue::find().map(|bin| Pueue::start(bench, &bin)).transpose()?;
    let tasks = bench.count(2_000, 400);
    for (slots, bar) in [(2, 0.6), (5, 0.7)] {
        let mut site = Site::new(bench, slots, 1)?;
        site.up()?;
        let mut api = site.api()?;
        rate(&mut api, &["true"], tasks / 10)?;
        let floor = |tasks| bench.with_floor(|floor| floor.rate(tasks, slots as usize));
        let before = floor(tasks / 2)?;
        let ours = rate(&mut api, &["true"], tasks)?;
        let floor = f64::midpoint(before, floor(tasks / 2)?);
        rows.push(
            Row::new(format!("{tasks} × `true`, {slots} slots"), per_second(ours))
                .against(format!("{} floor-task", per_second(floor)), ours / floor)
                .at_least(ours / floor, bar, format!("{:.0} % of floor-task", bar * 100.0)),
        );
        if slots == 2 {
            let echo = rate(&mut api, &["echo", "hi"], tasks)?;
            let again = rate(&mut api, &["true"], tasks)?;
            let silent = f64::midpoint(ours, again);
            rows.push(
                Row::new("`echo hi`, 2 slots", per_second(echo))
                    .against(format!("{} `true`", per_second(silent)), echo / silent)
                    .at_least(echo / silent, 0.8, "80 % of `true`"),
            );
        }
        let name = format!("`true` against pueue, {slots} slots");
        rows.push(match &pueue {
            None => Row::skipped(name, "pueue is not installed (PUEUE_BIN, PATH)"),
            Some(pueue) => {
                let peer = pueue.rate(bench.count(60, 20), slots)?;
                let against = format!("{} pueue", per_second(peer));
                Row::new(name, per_second(ours)).against(against, ours / peer).at_least(ours / peer, 10.0, "10 × pueue")
            }
        });
    }
    Ok(rows)
}

/// From the release of a full queue to the settling of all of it. Tasks a second.
fn rate(api: &mut Api<'_>, argv: &[&str], tasks: usize) -> anyhow::Result<f64> {
    api.command(&json!({ "command": "hold_queue" }))?;
    let before = api.state()?["queue"]["settled"].as_u64().unwrap_or(0);
    api.submit_many(argv, tasks)?;
    let start = micros();
    api.command(&json!({ "command": "release_queue" }))?;
    api.until_settled(before + tasks as u64)?;
    let rate = tasks as f64 / seconds_since(start);
    api.until_idle(1)?;
    Ok(rate)
}
