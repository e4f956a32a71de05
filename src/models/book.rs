//! The routes there are, what they cost, and which of them a request takes.

use super::keys::KeyBook;
use super::local::Local;
use super::shelf::{Shelf, ShelfError};
use super::windows;
use crate::life::configuration::Configuration;
use ouroboros_domain::PriceBasis;
use ouroboros_gateway::catalogue::{Catalogue, Entry, PriceFact, PriceSource};
use ouroboros_gateway::dialect::DEFAULT_MAX_OUTPUT;
use ouroboros_gateway::discover::{self, Found, Key, ListError, Routes, Search, public_catalogue};
use ouroboros_gateway::gate;
use ouroboros_gateway::price::{PerMillion, Price};
use ouroboros_gateway::providers;
use ouroboros_gateway::route::{ModelFacts, Provider, Route, RouteId};
use ouroboros_gateway::transport::{Timing, Transport};
use ouroboros_proto::agent::{Facts, Window};
use ouroboros_proto::kind::{NanoDollars, clock};
use ouroboros_secrets::Secret;
use ouroboros_secrets::sources::Found as Source;
use std::path::Path;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use tokio::sync::watch;

/// What a million tokens are assumed to cost when no price at all is known.
const LAST_RESORT: PerMillion = PerMillion(75_000_000_000);

/// A route that a request may take, with all that a send needs.
pub struct Candidate {
    /// It.
    pub route: Route,
    /// The key of its provider.
    pub key: Option<Secret>,
    /// What is set aside by.
    pub price: Price,
    /// Where that comes from.
    pub basis: PriceBasis,
    /// Requests at a time.
    pub places: usize,
    /// How long a send may take.
    pub timing: Timing,
    /// The inference server that has to run for it.
    pub own: Option<Arc<Local>>,
}

impl Candidate {
    /// The route, with its provider at this base URL.
    #[must_use]
    pub fn at(&self, base_url: &str) -> Route {
        let provider = Provider { base_url: base_url.to_owned(), ..self.route.provider.clone() };
        Route { provider, ..self.route.clone() }
    }
}

/// No route takes the request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoRoute {
    /// There is none at all.
    #[error("there is no route to a model")]
    None,
    /// None of that name.
    #[error("no route is called {0}")]
    Unknown(String),
}

/// What is known.
#[derive(Debug, Default)]
pub struct Known {
    /// The routes.
    pub routes: Routes,
    /// What they cost.
    pub catalogue: Catalogue,
}

/// The book.
pub struct Book {
    configuration: Arc<Configuration>,
    /// The keys.
    pub keys: Arc<KeyBook>,
    transport: Arc<Transport>,
    local: OnceLock<Arc<Local>>,
    shelf: Shelf,
    known: RwLock<Arc<Known>>,
    looked: watch::Sender<bool>,
    looking: tokio::sync::Mutex<()>,
}

impl Book {
    /// With what was known in an earlier life.
    #[must_use]
    pub fn open(
        configuration: Arc<Configuration>,
        keys: Arc<KeyBook>,
        transport: Arc<Transport>,
        data_dir: &Path,
    ) -> Self {
        let shelf = Shelf::open(data_dir);
        let known = Known {
            routes: Routes::default(),
            catalogue: shelf.catalogue().with_owners(&shelf.owner(), clock::wall()),
        };
        Self {
            configuration,
            keys,
            transport,
            local: OnceLock::new(),
            shelf,
            known: RwLock::new(Arc::new(known)),
            looked: watch::channel(false).0,
            looking: tokio::sync::Mutex::default(),
        }
    }

    /// The inference server of our own, once there is somebody to start it.
    pub fn attach(&self, local: Arc<Local>) {
        // The first one counts.
        let _ = self.local.set(local);
    }

    /// What is known now.
    #[must_use]
    pub fn known(&self) -> Arc<Known> {
        Arc::clone(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// What is wrong with what is kept, with what was looked for, and with the routes that settings name, a sentence each.
    #[must_use]
    pub fn problems(&self, known: &Known) -> Vec<String> {
        let found = known.routes.problems.iter().map(|one| format!("{}: {}", one.provider, one.what));
        let settings = self.configuration.settings();
        let missing = |name: &str| matches!(self.find(known, Some(name)), Err(NoRoute::Unknown(_)));
        let default = match self.find(known, None) {
            Err(NoRoute::Unknown(name)) => Some(format!(
                "models.default: it names {name}, and there is no such route here; who names no route is refused"
            )),
            Ok(_) | Err(NoRoute::None) => None,
        };
        let fallbacks = fallbacks(&settings.models_fallbacks).filter(|name| missing(name)).map(|name| {
            format!("models.fallbacks: it names {name}, and there is no such route here; that one is left out")
        });
        let safety = Some(settings.models_safety.trim()).filter(|name| !name.is_empty() && missing(name)).map(|name| {
            format!("models.safety: it names {name}, and there is no such route here; the route of each task is asked")
        });
        let odd = windows::problems(&settings.models_windows);
        self.shelf
            .problems()
            .into_iter()
            .chain(default)
            .chain(fallbacks)
            .chain(safety)
            .chain(odd)
            .chain(found)
            .collect()
    }

    /// Whether anybody has looked in this life.
    #[must_use]
    pub fn has_looked(&self) -> bool {
        *self.looked.borrow()
    }

    /// Whether there is no default only because a provider could not be asked for its models.
    #[must_use]
    pub fn misses_default(&self) -> bool {
        let known = self.known();
        self.find(&known, None).is_err() && known.routes.providers.iter().any(|found| !found.listed)
    }

    /// Waits until somebody has looked in this life.
    pub async fn settled(&self) {
        let mut looked = self.looked.subscribe();
        // The sender lives as long as this.
        let _ = looked.wait_for(|looked| *looked).await;
    }

    /// Looks for routes and prices. Those who ask at the same time look once.
    pub async fn look(&self) {
        let _one = self.looking.lock().await;
        let settings = self.configuration.settings();
        let variable = |name: &str| self.keys.variable(name);
        let present = self.keys.present();
        let found: Vec<(String, String, Secret)> = present
            .iter()
            .filter_map(|(name, found)| Some((name.clone(), place(found), self.keys.key(name)?.0)))
            .collect();
        let keys: Vec<Key<'_>> =
            found.iter().map(|(provider, found, secret)| Key { provider, found, secret: secret.expose() }).collect();
        let named = self.named_providers(&settings.models_compatible_url);
        let default = Some(settings.models_default.trim()).filter(|default| !default.is_empty());
        let older = self.shelf.catalogue();
        let listed = |provider: &Provider| older.models(provider);
        let search = Search {
            keys: &keys,
            providers: &named,
            default,
            local: settings.models_discover,
            variable: &variable,
            listed_before: &listed,
        };
        let routes = discover::discover(&self.transport, &search).await;
        let public = if routes.providers.iter().any(|found| !found.provider.local) {
            let read = public_catalogue(&self.transport, &variable).await;
            let told = |error: &ListError| tracing::warn!(%error, "the public catalogue of prices cannot be read");
            read.inspect_err(told).ok()
        } else {
            None
        };
        self.take(routes, public.as_deref());
    }

    fn take(&self, mut routes: Routes, public: Option<&[ModelFacts]>) {
        let catalogue = Catalogue::of(&routes, public, &self.shelf.owner(), clock::wall());
        let catalogue = catalogue.with_older(self.shelf.catalogue(), &routes, public);
        if let Err(error) = self.shelf.keep(&catalogue) {
            tracing::warn!(%error, "the catalogue of prices cannot be kept");
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        // The owner may have set a price meanwhile.
        let catalogue = catalogue.with_owners(&self.shelf.owner(), clock::wall());
        catalogue.apply(&mut routes);
        *known = Arc::new(Known { routes, catalogue });
        drop(known);
        self.looked.send_replace(true);
    }

    /// Fields that a route did not accept lately.
    #[must_use]
    pub fn learned(&self, route: &RouteId) -> Vec<String> {
        self.shelf.learned(route, clock::wall())
    }

    /// A route answered without these fields, and not with them.
    pub fn learn(&self, route: &RouteId, omitted: Vec<String>) {
        if let Err(error) = self.shelf.learn(route.clone(), omitted, clock::wall()) {
            tracing::warn!(%error, route = %route, "what a route does not accept cannot be kept");
        }
    }

    /// Sets or removes the owner's price of a route. It is durable when this returns.
    ///
    /// # Errors
    /// It cannot be stored.
    pub fn set_price(&self, route: RouteId, price: Option<Price>) -> Result<(), ShelfError> {
        self.shelf.set_owner(route.clone(), price.clone())?;
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let mut catalogue = known.catalogue.clone();
        let fact = price.map(|price| PriceFact { price, source: PriceSource::Owner, at: clock::wall() });
        // Without the owner's price nothing is known until somebody looks again.
        let entry = catalogue.routes.entry(route.clone());
        entry.or_insert_with(|| Entry::unlisted(&route)).price = fact;
        let mut routes = known.routes.clone();
        catalogue.apply(&mut routes);
        *known = Arc::new(Known { routes, catalogue });
        Ok(())
    }

    /// The routes that a request may take, best first. Waits until somebody has looked in this life.
    ///
    /// # Errors
    /// There is none.
    pub async fn candidates(&self, name: Option<&str>) -> Result<Vec<Candidate>, NoRoute> {
        self.settled().await;
        let known = self.known();
        let first = self.find(&known, name)?;
        let settings = self.configuration.settings();
        let mut routes = vec![first];
        for name in fallbacks(&settings.models_fallbacks) {
            if let Ok(route) = self.find(&known, Some(name))
                && !routes.iter().any(|known| known.id == route.id)
            {
                routes.push(route);
            }
        }
        Ok(routes.into_iter().map(|route| self.candidate(&known, route)).collect())
    }

    /// The route that a request names.
    ///
    /// # Errors
    /// There is none of that name, or none at all.
    pub fn find(&self, known: &Known, name: Option<&str>) -> Result<Route, NoRoute> {
        let own = self.own_route();
        let set = self.configuration.settings().models_default.trim().to_owned();
        let set = Some(set.as_str()).filter(|set| !set.is_empty());
        match name.or(set) {
            Some(name) => own
                .filter(|own| own.id.as_str() == name || own.model == name || own.provider.name == name)
                .or_else(|| known.routes.find(Some(name)))
                .or_else(|| known.routes.find(None).filter(|chosen| set == Some(chosen.provider.name.as_str())))
                .ok_or_else(|| NoRoute::Unknown(name.to_owned())),
            None => {
                let chosen = known.routes.find(None);
                // A model of our own comes before servers that happen to run here, and after providers with a key.
                match (own, chosen) {
                    (Some(own), Some(chosen)) if chosen.provider.local => Ok(own),
                    (_, Some(chosen)) => Ok(chosen),
                    (Some(own), None) => Ok(own),
                    (None, None) => Err(NoRoute::None),
                }
            }
        }
    }

    /// Other routes that `name` could mean than the one that it is taken for; none where it is the id of one. A second
    /// format of a provider is meant only where it is named.
    #[must_use]
    pub fn others(&self, name: &str, taken: &RouteId) -> Vec<RouteId> {
        let mut all = self.known().routes.named(name);
        all.retain(|id| id != taken && providers::known(id.provider()).is_none_or(|known| known.key == known.name));
        if taken.as_str() == name { Vec::new() } else { all }
    }

    /// Whether nothing that takes this route, or the default one, can cost anything. Not when there is none.
    #[must_use]
    pub fn is_free(&self, known: &Known, name: Option<&str>) -> bool {
        let price = self.find(known, name).ok().map(|route| self.candidate(known, route).price);
        price.is_some_and(|price| price.bound(u64::MAX, u64::MAX, u64::MAX) == NanoDollars::default())
    }

    /// The route to the inference server of our own, when a command is set.
    #[must_use]
    pub fn own_route(&self) -> Option<Route> {
        self.local.get().filter(|local| local.is_configured())?;
        let settings = self.configuration.settings();
        let stem = Path::new(&settings.models_local_file).file_stem().and_then(|stem| stem.to_str());
        let model = stem.filter(|stem| !stem.is_empty()).unwrap_or("model").to_owned();
        let provider = providers::known("local")?.at("");
        let facts = ModelFacts { model: model.clone(), price: Some(Price::free()), ..ModelFacts::default() };
        Some(Route { id: RouteId::new(&provider.name, &model), provider, model, facts })
    }

    /// How much prompt and answer may have together on a route: what the owner says, else what its provider reports.
    #[must_use]
    pub fn window(&self, route: &Route) -> Option<Window> {
        windows::of(&self.configuration.settings().models_windows, route)
    }

    /// What an agent is told beforehand when it names this route. What is not looked for yet is taken from what is kept.
    #[must_use]
    pub fn facts(&self, name: Option<&str>) -> Facts {
        let known = self.known();
        let set = self.configuration.settings().models_default.trim().to_owned();
        let id = RouteId::from(name.unwrap_or(&set).to_owned());
        let kept = || {
            let facts = known.catalogue.routes.get(&id)?.facts.clone();
            let provider = providers::known(id.provider())?.at("");
            Some(Route { id: id.clone(), provider, model: id.model().to_owned(), facts })
        };
        let Some(route) = self.find(&known, name).ok().or_else(kept) else { return Facts::default() };
        let max_output = [route.facts.max_output, Some(u64::from(DEFAULT_MAX_OUTPUT))].into_iter().flatten().min();
        let (window, images, route) = (self.window(&route), route.facts.images, Some(route.id.to_string()));
        Facts { window, images, route, max_output, ..Facts::default() }
    }

    /// A name that a setting gives, unless it is empty or no route goes by it.
    #[must_use]
    pub fn usable(&self, name: &str) -> Option<String> {
        let name = Some(name.trim()).filter(|name| !name.is_empty())?;
        let is_known = !self.has_looked() || self.find(&self.known(), Some(name)).is_ok();
        is_known.then(|| name.to_owned())
    }

    /// What is known of the price of a route.
    #[must_use]
    pub fn price(&self, known: &Known, route: &RouteId) -> Option<PriceFact> {
        known.catalogue.price(route).cloned()
    }

    fn candidate(&self, known: &Known, route: Route) -> Candidate {
        let own = (route.provider.name == "local" && route.provider.base_url.is_empty())
            .then(|| self.local.get().cloned())
            .flatten();
        let key_name = providers::known(&route.provider.name).map_or(route.provider.name.as_str(), |known| known.key);
        let key = self.keys.key(key_name).map(|(key, _)| key);
        let (price, basis) = match known.catalogue.price(&route.id).map(|fact| fact.price.clone()) {
            _ if route.provider.local => (Price::free(), PriceBasis::Free),
            Some(price) => (price, PriceBasis::Known),
            None => (self.assumed_price(known), PriceBasis::Assumed),
        };
        let slots = known.routes.providers.iter().find(|found| found.provider == route.provider);
        let places = match slots.and_then(|found: &Found| found.slots) {
            Some(slots) => slots,
            None if route.provider.local => gate::LOCAL_REQUESTS,
            None => usize::try_from(self.configuration.settings().models_concurrency).unwrap_or(gate::REMOTE_REQUESTS),
        };
        let settings = self.configuration.settings();
        let timing = match Timing::of(&route) {
            local if route.provider.local => local,
            remote => {
                Timing { first_byte: settings.models_first_piece, between_bytes: settings.models_silence, ..remote }
            }
        };
        Candidate { route, key, price, basis, places, timing, own }
    }

    /// What is set aside by where no price is known: what the owner says, else the highest that is known.
    fn assumed_price(&self, known: &Known) -> Price {
        let flat = |amount| Price { input: amount, output: amount, tiers: Some(Vec::new()), ..Price::free() };
        match self.configuration.settings().models_assumed_price.0 {
            Some(amount) => flat(PerMillion(amount.get())),
            None => known.catalogue.highest().unwrap_or_else(|| flat(LAST_RESORT)),
        }
    }

    /// Where a provider is, by its name.
    #[must_use]
    pub fn provider(&self, name: &str) -> Option<Provider> {
        let named = self.named_providers(&self.configuration.settings().models_compatible_url);
        let variable = |variable: &str| self.keys.variable(variable);
        named.into_iter().find(|named| named.name == name).or_else(|| providers::known(name)?.provider(&variable))
    }

    fn named_providers(&self, compatible: &str) -> Vec<Provider> {
        let url = compatible.trim();
        let known = providers::known("openai-compatible").filter(|_| !url.is_empty());
        known.map(|known| known.at(url)).into_iter().collect()
    }
}

/// The routes that the setting names, in order.
fn fallbacks(setting: &str) -> impl Iterator<Item = &str> {
    setting.split(',').map(str::trim).filter(|name| !name.is_empty())
}

/// Where a key was found, in a word.
fn place(found: &Source) -> String {
    match found {
        Source::Store => "ouroboros keys".to_owned(),
        Source::Environment(variable) => (*variable).to_owned(),
        Source::Credential(path) | Source::File(path) => path.display().to_string(),
    }
}
