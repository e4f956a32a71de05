//! Finds the routes of this machine. Three sources, in this order, and the first that gives a default gives it:
//!
//! 1. the settings: the default route, and providers that are named there;
//! 2. keys: each known provider with a key is asked for its catalogue, in the order of [`KNOWN`](crate::providers::KNOWN);
//! 3. servers of this machine: the usual ports are asked, all at once.
//!
//! What is found is told with how it was found; what was in the way is told in words. Asking costs nothing, and a key is sent to its
//! provider's base URL only.

mod account;
mod candidates;
mod choose;
mod local;
#[cfg(test)]
mod tests;

pub use account::{ListError, public_catalogue};

use crate::route::{ModelFacts, Provider, Route, RouteId};
use crate::transport::{Transport, is_in_the_clear};
use candidates::Candidate;
use std::collections::BTreeMap;
use std::fmt;

/// What is known before anything is asked.
#[derive(Clone, Copy)]
pub struct Search<'a> {
    /// The keys that are there.
    pub keys: &'a [Key<'a>],
    /// Providers that the settings name.
    pub providers: &'a [Provider],
    /// The default route of the settings: an id, or a provider's name.
    pub default: Option<&'a str>,
    /// Whether servers are looked for at the usual addresses of this machine.
    pub local: bool,
    /// Looks a variable up. Only names of addresses are asked for.
    pub variable: &'a (dyn Fn(&str) -> Option<String> + Sync),
    /// The models that a provider listed when it was last asked: those of one on another machine that cannot be asked now.
    pub listed_before: &'a (dyn Fn(&Provider) -> Vec<ModelFacts> + Sync),
}

impl Search<'_> {
    /// Whether the settings name this provider, or a route of it, as the default.
    fn names(&self, provider: &str) -> bool {
        self.default.is_some_and(|default| RouteId::from(default.to_owned()).provider() == provider)
    }
}

/// A key that is there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key<'a> {
    /// Whose.
    pub provider: &'a str,
    /// Where it was found, in words.
    pub found: &'a str,
    /// It.
    pub secret: &'a str,
}

impl fmt::Debug for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("provider", &self.provider).field("found", &self.found).finish_non_exhaustive()
    }
}

/// What there is.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Routes {
    /// Providers that can be asked, in the order of the sources.
    pub providers: Vec<Found>,
    /// Their models.
    pub routes: BTreeMap<RouteId, Route>,
    /// The route of a request that names none.
    pub default: Option<Choice>,
    /// What was in the way.
    pub problems: Vec<Problem>,
}

/// A provider that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// It.
    pub provider: Provider,
    /// How.
    pub how: How,
    /// Requests at a time, if the server says so.
    pub slots: Option<usize>,
    /// Whether its catalogue could be read. When not, its models can be named all the same.
    pub listed: bool,
}

/// How a provider was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum How {
    /// The settings name it.
    Setting,
    /// There is a key for it; where, in words.
    Key(String),
    /// It answers at its usual address.
    Address(String),
}

impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setting => f.write_str("named in the settings"),
            Self::Key(found) => write!(f, "a key in {found}"),
            Self::Address(url) => write!(f, "answers at {url}"),
        }
    }
}

/// A default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The route.
    pub route: RouteId,
    /// Why this one, in words.
    pub why: String,
}

/// What was in the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The provider.
    pub provider: String,
    /// What is wrong, in words.
    pub what: String,
}

/// Asks, and gives what there is. Takes at most as long as the slowest provider may, which is about ten seconds.
pub async fn discover(transport: &Transport, search: &Search<'_>) -> Routes {
    let candidates = candidates::all(search);
    let asked = candidates.list.iter().map(|candidate| ask(transport, candidate));
    let answers = futures_util::future::join_all(asked).await;
    let mut routes = Routes { problems: candidates.problems, ..Routes::default() };
    for (candidate, answer) in candidates.list.into_iter().zip(answers) {
        if candidate.key.is_some() && is_in_the_clear(&candidate.provider) {
            routes.problem(
                &candidate.provider,
                "its key can be read on the way: the base URL is http, on another machine",
            );
        }
        match answer {
            Ok(Answer { models, slots }) => {
                let found = Found { provider: candidate.provider, how: candidate.how, slots, listed: true };
                routes.add(found, models);
            }
            // Nobody is at home at a usual address, which is as usual.
            Err(ListError::Absent) if candidate.silent => {}
            Err(error) => {
                routes.problem(&candidate.provider, error.to_string());
                if !candidate.silent || error.is_busy() {
                    let before = |provider| (search.listed_before)(provider);
                    let models = if candidate.provider.local { Vec::new() } else { before(&candidate.provider) };
                    let found = Found { provider: candidate.provider, how: candidate.how, slots: None, listed: false };
                    routes.add(found, models);
                }
            }
        }
    }
    choose::default(&mut routes, search.default);
    routes
}

/// What a provider says of itself.
#[derive(Debug, Default)]
struct Answer {
    models: Vec<ModelFacts>,
    slots: Option<usize>,
}

async fn ask(transport: &Transport, candidate: &Candidate<'_>) -> Result<Answer, ListError> {
    if candidate.provider.local {
        local::ask(transport, &candidate.provider, candidate.key).await
    } else {
        let models = account::list(transport, &candidate.provider, candidate.key, account::REMOTE).await?;
        Ok(Answer { models, slots: None })
    }
}

impl Routes {
    /// The route that a request names: an id, the name of a model, or nothing for the default. Of several models of one
    /// name it is that of the first provider. A model that its provider does not list can be named by its id; nothing
    /// is known of it then.
    #[must_use]
    pub fn find(&self, name: Option<&str>) -> Option<Route> {
        let Some(name) = name else {
            return self.find(Some(self.default.as_ref()?.route.as_str()));
        };
        let id = RouteId::from(name.to_owned());
        if let Some(route) = self.routes.get(&id) {
            return Some(route.clone());
        }
        if let Some(route) = self.named(name).first().and_then(|id| self.routes.get(id)) {
            return Some(route.clone());
        }
        let found = self.providers.iter().find(|found| found.provider.name == id.provider())?;
        let model = Some(id.model()).filter(|model| !model.is_empty())?;
        Some(route(&found.provider, ModelFacts { model: model.to_owned(), ..ModelFacts::default() }))
    }

    /// The routes to models of this name, in the order of their providers.
    #[must_use]
    pub fn named(&self, name: &str) -> Vec<RouteId> {
        let ids = self.providers.iter().map(|found| RouteId::new(&found.provider.name, name));
        ids.filter(|id| self.routes.contains_key(id)).collect()
    }

    fn add(&mut self, found: Found, models: Vec<ModelFacts>) {
        for facts in models {
            let route = route(&found.provider, facts);
            self.routes.insert(route.id.clone(), route);
        }
        self.providers.push(found);
    }

    fn problem(&mut self, provider: &Provider, what: impl Into<String>) {
        self.problems.push(Problem { provider: provider.name.clone(), what: what.into() });
    }
}

/// The route of a model.
fn route(provider: &Provider, facts: ModelFacts) -> Route {
    Route {
        id: RouteId::new(&provider.name, &facts.model),
        provider: provider.clone(),
        model: facts.model.clone(),
        facts,
    }
}
