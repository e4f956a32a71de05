//! Money for people. What is not known is `?` or a bound, never nothing.

use super::{Column, Look, Table, Tone, clean};
use ouroboros_proto::api::{CostBreakdown, CostGroup, CostView, LimitView, SpendingView};
use ouroboros_proto::kind::{Allowance, Cost, LimitScope, NanoDollars, SendState};

/// What some calls cost and took, in a line: `$0.0021 · 312 in, 48 out`.
pub fn words(cost: &CostView) -> String {
    if cost.sends == 0 {
        return "nothing was sent".to_owned();
    }
    let known = |tokens: u64| (tokens > 0).then_some(tokens);
    format!("{} · {}", amount(cost), tokens(known(cost.input_tokens), known(cost.output_tokens)))
}

/// What it cost, or what it can have cost at most.
fn amount(cost: &CostView) -> String {
    let open = cost.accounted_nanos > cost.settled_nanos;
    let unknown = cost.unpriced > 0 || cost.unresolved > 0;
    match (open, unknown) {
        (true, _) => format!("≤ {}", cost.accounted_nanos),
        (false, true) => "?".to_owned(),
        (false, false) => cost.settled_nanos.to_string(),
    }
}

/// What one call cost, or what it can cost at most.
pub fn of_send(state: SendState, cost: Option<Cost>, bound: NanoDollars) -> String {
    match (state, cost) {
        (SendState::Released, _) => "nothing was sent".to_owned(),
        (_, Some(cost)) => cost.amount.to_string(),
        (_, None) => at_most(bound),
    }
}

/// Tokens: `312 in, 48 out`.
pub fn tokens(input: Option<u64>, output: Option<u64>) -> String {
    let shown = |tokens: Option<u64>| tokens.map_or_else(|| "?".to_owned(), |tokens| tokens.to_string());
    format!("{} in, {} out", shown(input), shown(output))
}

/// A limit: an amount, or none.
pub fn limit(allowance: Allowance) -> String {
    allowance.0.map_or_else(|| allowance.to_string(), |amount| amount.to_string())
}

/// What is spent in all, and what is left.
pub fn spending(spending: &SpendingView) -> String {
    let SpendingView { settled_nanos, reserved_nanos, unresolved_nanos, .. } = spending;
    let some =
        |amount: NanoDollars, words: String| if amount == NanoDollars::default() { String::new() } else { words };
    let reserved = some(*reserved_nanos, format!(", {reserved_nanos} set aside"));
    let unresolved = some(*unresolved_nanos, format!(", ≤ {unresolved_nanos} not known"));
    let left: String = spending.limits.iter().filter_map(left).map(|left| format!("; {left}")).collect();
    format!("{settled_nanos} spent{reserved}{unresolved}{left}")
}

/// What is left of a limit: `$9.79 left of $10.00 total`.
fn left(limit: &LimitView) -> Option<String> {
    let (of, spent) = (limit.nanos?, limit.accounted_nanos?);
    Some(format!("{} left of {of} {}", of.saturating_sub(spent), limit.limit.as_str()))
}

/// What calls cost, as a table with its sum, the limits below it.
pub fn breakdown(costs: &CostBreakdown, look: Look) -> String {
    let mut table = Table::new(&[
        Column::Left(heading(&costs.by)),
        Column::Right("SETTLED"),
        Column::Right("RESERVED"),
        Column::Right("UNRESOLVED"),
        Column::Right("UPPER BOUND"),
        Column::Right("CALLS"),
        Column::Right("IN"),
        Column::Right("CACHED"),
        Column::Right("OUT"),
    ]);
    for CostGroup { key, cost } in &costs.groups {
        table.row(row(key.clone(), cost));
    }
    table.row(row("all".to_owned(), &costs.whole));
    let mut text = table.render(look);
    let limits: Vec<String> = costs.limits.iter().filter_map(limit_line).collect();
    if !limits.is_empty() {
        text.push_str(&format!("\nlimits: {}\n", limits.join(", ")));
    }
    if let Some(warning) = &costs.warning {
        text.push_str(&look.paint(Tone::Bad, &format!("warning: {}\n", clean(warning))));
    }
    text
}

fn heading(by: &str) -> &'static str {
    match by {
        "task" => "TASK",
        "tree" => "TREE",
        "route" => "ROUTE",
        "model" => "MODEL",
        "day" => "DAY",
        _ => "GROUP",
    }
}

fn row(key: String, cost: &CostView) -> Vec<(Tone, String)> {
    let nothing = NanoDollars::default();
    let dash = || "-".to_owned();
    let unknown = cost.unpriced.saturating_add(cost.unresolved);
    let settled = match (cost.settled_nanos == nothing, cost.sends) {
        (true, 0) => dash(),
        // All there is is not known.
        (true, sends) if unknown >= sends => "?".to_owned(),
        (true, _) if cost.reserved_nanos > nothing => dash(),
        _ => cost.settled_nanos.to_string(),
    };
    let reserved = if cost.reserved_nanos == nothing { dash() } else { cost.reserved_nanos.to_string() };
    let unresolved = match (unknown, cost.unresolved_nanos == nothing) {
        (0, true) => dash(),
        (_, true) => "?".to_owned(),
        (_, false) => at_most(cost.unresolved_nanos),
    };
    // Without a number the provider did not count.
    let tokens = |tokens: u64| match (tokens, cost.sends) {
        (0, 0) => dash(),
        (0, _) => "?".to_owned(),
        _ => tokens.to_string(),
    };
    let cached = if cost.cached_tokens == 0 { dash() } else { cost.cached_tokens.to_string() };
    let upper = if cost.sends == 0 { dash() } else { amount(cost) };
    let cells = [
        key,
        settled,
        reserved,
        unresolved,
        upper.trim_start_matches("≤ ").to_owned(),
        cost.sends.to_string(),
        tokens(cost.input_tokens),
        cached,
        tokens(cost.output_tokens),
    ];
    cells.into_iter().map(|cell| (Tone::Plain, cell)).collect()
}

fn limit_line(limit: &LimitView) -> Option<String> {
    left(limit).or_else(|| Some(format!("{} a {}", limit.nanos?, limit.limit.as_str())))
}

fn at_most(bound: NanoDollars) -> String {
    if bound == NanoDollars::default() { "?".to_owned() } else { format!("≤ {bound}") }
}

/// The limits in force for one task: `limit $2.00 task, $10.00 total`. `own` is the task's own.
pub fn limits(limits: &[LimitView], own: Option<&str>) -> String {
    let own = own.map(|own| (own, Allowance::read(own)));
    let mut parts = Vec::new();
    for limit in limits.iter().rev() {
        let scope = limit.limit.as_str();
        let amount = match own {
            Some((text, own)) if limit.limit == LimitScope::Task => match own {
                Ok(Allowance(own)) => own.map(|own| own.to_string()),
                // The server refuses it and says why.
                Err(_) => Some(text.to_owned()),
            },
            Some(_) | None => limit.nanos.map(|nanos| nanos.to_string()),
        };
        parts.extend(amount.map(|amount| format!("{amount} {scope}")));
    }
    if parts.is_empty() { "no limit".to_owned() } else { format!("limit {}", parts.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::{limits, words};
    use ouroboros_proto::api::{CostView, LimitView};
    use ouroboros_proto::kind::{LimitScope, NanoDollars};

    #[test]
    fn what_is_not_known_is_never_nothing() {
        let known = CostView {
            settled_nanos: NanoDollars::new(2_100_000),
            accounted_nanos: NanoDollars::new(2_100_000),
            sends: 1,
            input_tokens: 312,
            output_tokens: 48,
            ..CostView::default()
        };
        assert_eq!(words(&known), "$0.0021 · 312 in, 48 out");
        let free = CostView { sends: 1, input_tokens: 3, output_tokens: 4, ..CostView::default() };
        assert_eq!(words(&free), "$0.00 · 3 in, 4 out");
        let bounded = CostView {
            accounted_nanos: NanoDollars::new(3_000_000),
            unresolved_nanos: NanoDollars::new(900_000),
            unresolved: 1,
            ..known
        };
        assert_eq!(words(&bounded), "≤ $0.003 · 312 in, 48 out");
        let unbounded = CostView { sends: 1, unpriced: 1, ..CostView::default() };
        assert_eq!(words(&unbounded), "? · ? in, ? out");
        assert_eq!(words(&CostView::default()), "nothing was sent");
    }

    #[test]
    fn limits_are_named_narrowest_first() {
        let view = |limit, dollars: Option<u64>| LimitView {
            limit,
            nanos: dollars.map(|dollars| NanoDollars::new(dollars * 1_000_000_000)),
            accounted_nanos: None,
        };
        let all = [view(LimitScope::Total, Some(10)), view(LimitScope::Hour, None), view(LimitScope::Task, Some(2))];
        assert_eq!(limits(&all, None), "limit $2.00 task, $10.00 total");
        assert_eq!(limits(&all, Some("0.5")), "limit $0.50 task, $10.00 total");
        assert_eq!(limits(&all, Some("none")), "limit $10.00 total");
        assert_eq!(limits(&[], None), "no limit");
    }
}
