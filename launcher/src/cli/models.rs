//! `models`: the routes to models.

use super::args::model::{ModelVerb, Models};
use super::{Context, Outcome};
use crate::render;
use ouroboros_proto::api::{CatalogView, ModelTest, ModelTestAnswer, ModelsView, PriceSet};
use std::time::Duration;

/// How long a model may take before it answers: one that runs here may have to be loaded first.
const PATIENCE: Duration = Duration::from_secs(720);

/// How long it may take to look for routes.
const LOOK: Duration = Duration::from_secs(60);

/// Lists routes, or tries one.
pub fn models(context: &Context, models: Models) -> Outcome {
    match models.verb {
        Some(ModelVerb::Test { route }) => test(context, route),
        // Without amounts the server forgets; the arguments see to it that this was said.
        Some(ModelVerb::Price { route, input, output, cached, cache_write, forget: _ }) => {
            price(context, &PriceSet { route, input, output, cached, cache_write })
        }
        None => list(context, models.refresh),
    }
}

fn list(context: &Context, refresh: bool) -> Outcome {
    let answer = if refresh {
        context.acting(|client| client.act_within("/api/models/refresh", LOOK))?
    } else {
        context.client().get("/api/models")?
    };
    if context.json() {
        context.print_json(&answer.value()?)?;
        return Ok(0);
    }
    let models: ModelsView = answer.read()?;
    context.print(&render::model::routes(&models, context.out()))?;
    for problem in &models.problems {
        context.note(&render::clean(problem));
    }
    if models.routes.is_empty() {
        context.note("there is no route to a model; `ouroboros keys set PROVIDER` keeps a key for one");
    }
    Ok(0)
}

fn price(context: &Context, price: &PriceSet) -> Outcome {
    let answer = context.acting(|client| client.post("/api/model-catalog", price))?;
    let known: CatalogView = answer.read()?;
    if context.json() {
        context.print_json(&answer.value()?)?;
    } else {
        context.print(&render::model::priced(&known))?;
    }
    Ok(0)
}

fn test(context: &Context, route: String) -> Outcome {
    let asked = ModelTest { route };
    let answer = context.acting(|client| client.post_within("/api/models/test", &asked, PATIENCE))?;
    let tried: ModelTestAnswer = answer.read()?;
    if context.json() {
        context.print_json(&answer.value()?)?;
    } else {
        context.print(&render::model::tried(&tried, context.out()))?;
    }
    Ok(u8::from(!tried.works))
}
