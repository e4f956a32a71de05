//! Routes to models and keys of providers, for people.

use super::{Column, Look, Table, Tone, clean};
use ouroboros_proto::api::{CatalogView, KeysView, ModelTestAnswer, ModelsView, RouteView};
use ouroboros_proto::kind::NanoDollars;

/// One row a route, `*` at the default one, and what was looked for in vain below.
pub fn routes(models: &ModelsView, look: Look) -> String {
    let mut table = Table::new(&[
        Column::Left("ROUTE"),
        Column::Right("WINDOW"),
        Column::Right("IN/M"),
        Column::Right("OUT/M"),
        Column::Left("HEALTH"),
        Column::Left("FOUND"),
    ]);
    let unknown = || "?".to_owned();
    for route in &models.routes {
        let mark = if models.default.as_ref() == Some(&route.id) { "*" } else { "" };
        let price = route.price.as_ref();
        let dollars = |nanos: u64| NanoDollars::new(nanos).to_string();
        table.row([
            (Tone::Plain, format!("{}{mark}", route.id)),
            (Tone::Plain, route.window.map_or_else(unknown, |window| window.to_string())),
            (Tone::Plain, price.map_or_else(unknown, |price| dollars(price.input_nanos_per_million))),
            (Tone::Plain, price.map_or_else(unknown, |price| dollars(price.output_nanos_per_million))),
            (health_tone(route), health(route)),
            (Tone::Plain, route.found.clone()),
        ]);
    }
    let mut text = if models.routes.is_empty() { String::new() } else { table.render(look) };
    if models.default.is_some() {
        text.push_str(&format!("\n* is taken when none is named: {}\n", clean(&models.why)));
    }
    text
}

fn health(route: &RouteView) -> String {
    match &route.health.reason {
        Some(reason) => format!("{}: {reason}", route.health.state),
        None => route.health.state.clone(),
    }
}

fn health_tone(route: &RouteView) -> Tone {
    match route.health.state.as_str() {
        "well" => Tone::Good,
        "cooling" => Tone::Warn,
        "failing" => Tone::Bad,
        _ => Tone::Plain,
    }
}

/// What came of a real call.
pub fn tried(test: &ModelTestAnswer, look: Look) -> String {
    let (tone, word) = if test.works { (Tone::Good, "works") } else { (Tone::Bad, "does not work") };
    let problem = test.problem.as_ref().map(|problem| format!(": {}", clean(problem))).unwrap_or_default();
    let cost = test.cost.map_or_else(|| "?".to_owned(), |cost| cost.amount.to_string());
    let tokens = super::money::tokens(test.usage.input, test.usage.output);
    let call =
        test.tool_call.as_ref().map(|(tool, arguments)| format!("called {} {}\n", clean(tool), clean(arguments)));
    let said = Some(clean(test.text.trim())).filter(|text| !text.is_empty()).map(|text| format!("said {text}\n"));
    let came = [call, said].into_iter().flatten().collect::<String>();
    format!(
        "{} {}{problem}\n{came}{cost} · {tokens} · {} ms\n",
        clean(&test.route),
        look.paint(tone, word),
        test.elapsed_ms
    )
}

/// What a route costs.
pub fn priced(known: &CatalogView) -> String {
    let route = clean(&known.route);
    match &known.price {
        None => format!("{route}: what it costs is not known\n"),
        Some(price) => {
            let dollars = |nanos: u64| NanoDollars::new(nanos).to_string();
            format!(
                "{route}: {} in, {} out, for a million tokens; says the {}\n",
                dollars(price.input_nanos_per_million),
                dollars(price.output_nanos_per_million),
                clean(&price.source)
            )
        }
    }
}

/// One row a key, and how they are protected.
pub fn keys(keys: &KeysView, look: Look) -> String {
    let mut table = Table::new(&[Column::Left("PROVIDER"), Column::Left("KEY"), Column::Left("FOUND")]);
    for key in &keys.keys {
        table.row([
            (Tone::Plain, key.provider.clone()),
            (Tone::Plain, format!("…{}", key.ending)),
            (Tone::Plain, key.found.clone()),
        ]);
    }
    let rows = if keys.keys.is_empty() { String::new() } else { format!("{}\n", table.render(look)) };
    format!("{rows}{}\n", clean(&keys.protection))
}
