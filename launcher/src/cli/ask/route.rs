//! Which model answers, and why: said before anything is spent.

use super::REFUSED;
use crate::cli::{Context, Failure, keys};
use crate::render::{clean, money};
use ouroboros_proto::api::{KeySet, KeysView, ModelsView};
use std::io::{self, BufRead, IsTerminal, Write};

/// What was found out before the question is asked.
#[derive(Debug)]
pub struct Chosen {
    route: Option<String>,
    why: Option<String>,
    limits: String,
}

impl Chosen {
    /// `model openai/gpt-5.1 (OPENAI_API_KEY) · limit $2.00 task, $10.00 total`
    pub fn words(&self) -> String {
        let route = self.route.as_deref().map_or_else(|| "none yet".to_owned(), clean);
        let why = self.why.as_deref().map(|why| format!(" ({})", clean(why))).unwrap_or_default();
        format!("model {route}{why} · {}", self.limits)
    }
}

/// What is wanted of a route.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// A route or a model's name; the default one when absent.
    pub route: Option<String>,
    /// Whether the work waits when there is none.
    pub waits: bool,
}

/// Finds out which route is taken, and what it may cost. When there is none because a key is here and not in the server, that is said, and on a
/// terminal offered to be put right.
pub fn choose(context: &Context, wanted: &Wanted, max_cost: Option<&str>) -> Result<Chosen, Failure> {
    let (asked, waits) = (wanted.route.as_deref(), wanted.waits);
    let mut models = routes(context)?;
    if found(&models, asked).is_none()
        && let Some(missing) = missing(context, asked)?
    {
        if offer(context, &missing)? {
            keys::keep(context, &KeySet { provider: missing.provider, key: missing.value })?;
            models = routes(context)?;
        } else if waits {
            context.note(&format!("{}: {}", missing.message(), missing.command()));
        } else {
            return Err(Failure::new("key_not_in_server", format!("{}; nothing was asked", missing.message()))
                .remedy(missing.remedy())
                .exit(REFUSED));
        }
    }
    let limits = money::limits(&models.limits, max_cost);
    Ok(match found(&models, asked) {
        Some((route, why)) => Chosen { route: Some(route), why: Some(why), limits },
        None => Chosen { route: asked.map(ToOwned::to_owned), why: None, limits },
    })
}

fn routes(context: &Context) -> Result<ModelsView, Failure> {
    context.acting(|client| client.get("/api/models")?.read())
}

/// The route that a name means, and how it was found. The server has the last word on that.
fn found(models: &ModelsView, asked: Option<&str>) -> Option<(String, String)> {
    let name = asked.or(models.default.as_deref())?;
    let by_id = models.routes.iter().find(|route| route.id == name);
    let route = by_id.or_else(|| models.routes.iter().find(|route| route.model == name))?;
    Some((route.id.clone(), route.found.clone()))
}

/// A key that is here and not in the server.
struct Missing {
    provider: String,
    variable: String,
    value: String,
}

impl Missing {
    fn message(&self) -> String {
        format!("{} is set here, but the server has no key for {}", self.variable, self.provider)
    }

    fn remedy(&self) -> String {
        format!("Give it to the server with {}.", self.command())
    }

    fn command(&self) -> String {
        format!("`ouroboros keys set {} --from-env`", self.provider)
    }
}

/// The first provider that could be meant, whose key is here and not in the server.
fn missing(context: &Context, asked: Option<&str>) -> Result<Option<Missing>, Failure> {
    let known: KeysView = context.client().get("/api/keys")?.read()?;
    let meant = |name: &str| match asked.and_then(|asked| asked.split_once('/')) {
        Some((provider, _)) => provider == name || !known.providers.iter().any(|known| known.name == provider),
        None => true,
    };
    let lacking = known
        .providers
        .iter()
        .filter(|provider| meant(&provider.name) && !known.keys.iter().any(|key| key.provider == provider.name));
    Ok(lacking.into_iter().find_map(|provider| {
        let (variable, value) = keys::set_here(provider)?;
        let value = value.trim().to_owned();
        Some(Missing { provider: provider.name.clone(), variable: variable.to_owned(), value })
    }))
}

/// Asks on a terminal whether the server is to be given the key now.
fn offer(context: &Context, missing: &Missing) -> Result<bool, Failure> {
    let (stdin, stderr) = (io::stdin(), io::stderr());
    if context.json() || context.quiet() || !stdin.is_terminal() || !stderr.is_terminal() {
        return Ok(false);
    }
    let asked = write!(
        stderr.lock(),
        "ouroboros: {} is set here, but the server has no key for {}. Give it to the server now? [y/N] ",
        missing.variable,
        missing.provider
    );
    let mut answer = String::new();
    asked
        .and_then(|()| stdin.lock().read_line(&mut answer))
        .map_err(|error| Failure::io("the terminal cannot be read; nothing was asked", &error))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
