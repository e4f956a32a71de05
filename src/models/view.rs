//! Routes and prices as answers show them.

use super::book::{Book, Known};
use crate::http::render;
use crate::supervisor::Status;
use ouroboros_gateway::catalogue::{PriceFact, PriceSource};
use ouroboros_gateway::discover::How;
use ouroboros_gateway::gate::Gate;
use ouroboros_gateway::route::Route;
use ouroboros_proto::api::{HealthView, ModelsView, PriceView, RouteView};
use ouroboros_proto::kind::clock;

/// Everything about routes.
pub fn models(book: &Book, known: &Known, gate: &Gate, status: &Status) -> ModelsView {
    let own = book.own_route();
    let default = book.find(known, None).ok();
    let why = match (&default, &own, &known.routes.default) {
        (None, _, _) => "no route was found".to_owned(),
        (Some(route), Some(own), _) if route.id == own.id => "models.local_command".to_owned(),
        (Some(route), _, Some(choice)) if choice.route == route.id => choice.why.clone(),
        (Some(_), _, _) => "models.default".to_owned(),
    };
    let routes = own.iter().chain(known.routes.routes.values()).map(|route| self::route(book, known, gate, route));
    ModelsView {
        default: default.map(|route| route.id.to_string()),
        why,
        routes: routes.collect(),
        problems: book.problems(known),
        limits: render::spending(status).limits,
    }
}

fn route(book: &Book, known: &Known, gate: &Gate, route: &Route) -> RouteView {
    let found = known.routes.providers.iter().find(|found| found.provider == route.provider);
    RouteView {
        id: route.id.to_string(),
        provider: route.provider.name.clone(),
        model: route.model.clone(),
        found: match found.map(|found| &found.how) {
            None => "models.local_command".to_owned(),
            Some(How::Key(place)) => place.clone(),
            Some(how @ (How::Setting | How::Address(_))) => how.to_string(),
        },
        window: route.facts.window,
        max_output: route.facts.max_output,
        tools: route.facts.tools,
        images: route.facts.images,
        price: book.price(known, &route.id).as_ref().map(price),
        health: health(gate, route),
    }
}

fn health(gate: &Gate, route: &Route) -> HealthView {
    let Some(health) = gate.health(&route.id) else {
        return HealthView { state: "untried".to_owned(), ..HealthView::default() };
    };
    let failing = health.last_failure.as_ref().is_some_and(|(at, _)| health.last_answer.is_none_or(|good| good < *at));
    let state = match (health.rests.is_some(), failing) {
        (true, _) => "cooling",
        (false, true) => "failing",
        (false, false) if health.last_answer.is_some() => "well",
        (false, false) => "untried",
    };
    HealthView {
        state: state.to_owned(),
        reason: health.last_failure.filter(|_| failing).map(|(_, why)| why),
        cooling_until: health.rests.map(|rest| clock::wall().plus(rest).into()),
        in_flight: u32::try_from(health.in_flight).unwrap_or(u32::MAX),
    }
}

/// A price.
pub fn price(fact: &PriceFact) -> PriceView {
    PriceView {
        input_nanos_per_million: fact.price.input.0,
        output_nanos_per_million: fact.price.output.0,
        cached_nanos_per_million: fact.price.cached.map(|price| price.0),
        cache_write_nanos_per_million: fact.price.cache_write.map(|price| price.0),
        source: match fact.source {
            PriceSource::Owner => "owner",
            PriceSource::Local => "local",
            PriceSource::Provider => "provider",
            PriceSource::Openrouter => "openrouter",
        }
        .to_owned(),
        at: Some(fact.at.into()),
    }
}
