//! What a life gives to calls of models: keys, connections, routes, and the inference server of its own.

use super::configuration::Configuration;
use crate::http::{Models, Surroundings};
use crate::models::call::Context;
use crate::models::recorder::Recorder;
use crate::models::trial::Trial;
use crate::models::{Asked, Book, Desk, KeyBook, Local};
use crate::supervisor::Handle;
use crate::supervisor::work::FactsOf;
use ouroboros_domain::MoneyInput;
use ouroboros_gateway::gate::Gate;
use ouroboros_gateway::transport::{Proxies, Transport, TransportOptions};
use ouroboros_proto::agent::Facts;
use ouroboros_secrets::{Keyring, NoKeyring, SecretStore, SessionKeyring, SharedMasker};
use ouroboros_settings::Settings;
use ouroboros_store::{Exchanges, Layout, Reader};
use std::ffi::OsString;
use std::io;
use std::sync::Arc;
use tokio::sync::watch;

/// The parts, before there is a supervisor to start anything.
pub struct ModelParts {
    configuration: Arc<Configuration>,
    asked: Asked,
    book: Arc<Book>,
    transport: Arc<Transport>,
    gate: Arc<Gate>,
    masker: SharedMasker,
    layout: Layout,
    /// What was sent and what came back.
    pub exchanges: Exchanges,
}

impl ModelParts {
    /// Opens what is kept of keys and prices. Asks nobody yet.
    #[must_use]
    pub fn new(configuration: &Arc<Configuration>, asked: Asked, masker: SharedMasker) -> Self {
        let environment: Vec<(OsString, OsString)> = std::env::vars_os().collect();
        let data_dir = configuration.paths().data_dir().to_owned();
        let keyring: Arc<dyn Keyring> = match SessionKeyring::find(|name| std::env::var_os(name)) {
            Some(keyring) => Arc::new(keyring),
            None => Arc::new(NoKeyring),
        };
        let store = SecretStore::open(&data_dir, keyring);
        let keys = Arc::new(KeyBook::new(store, environment, masker.clone()));
        let transport = Arc::new(Transport::new(options(configuration, &keys)));
        let book = Book::open(Arc::clone(configuration), keys, Arc::clone(&transport), &data_dir);
        let layout = Layout::new(data_dir);
        Self {
            configuration: Arc::clone(configuration),
            asked,
            book: Arc::new(book),
            transport,
            gate: Gate::new(),
            masker,
            exchanges: Exchanges::new(&layout),
            layout,
        }
    }

    /// What calls need.
    ///
    /// # Errors
    /// When no thread is to be had.
    pub fn context(&self) -> io::Result<Arc<Context>> {
        let settings = self.configuration.settings();
        let recorder = if settings.models_record {
            let configuration = Arc::clone(&self.configuration);
            let most = move || configuration.settings().retention_exchanges_total.get();
            Some(Recorder::start(self.exchanges.clone(), self.masker.clone(), most)?)
        } else {
            None
        };
        Ok(Arc::new(Context {
            configuration: Arc::clone(&self.configuration),
            asked: self.asked.clone(),
            book: Arc::clone(&self.book),
            transport: Arc::clone(&self.transport),
            gate: Arc::clone(&self.gate),
            masker: self.masker.clone(),
            recorder,
        }))
    }

    /// What an agent is told beforehand.
    #[must_use]
    pub fn facts(&self) -> FactsOf {
        let (book, configuration) = (Arc::clone(&self.book), Arc::clone(&self.configuration));
        Arc::new(move |route| {
            let settings = configuration.settings();
            let (max_cost, safety) = (settings.limits_task.0, settings.agent_safety);
            let safety_route = book.usable(&settings.models_safety);
            Facts { max_cost, safety, safety_route, ..book.facts(route) }
        })
    }

    /// What the HTTP side needs. From now on the inference server of our own can be started, and routes are looked for.
    #[must_use]
    pub fn desk(self, handle: &Handle, reader: &Reader, runtime: &tokio::runtime::Runtime) -> Arc<dyn Models> {
        let environment = Surroundings::of_process().env;
        let local =
            Local::new(handle.clone(), reader.clone(), Arc::clone(&self.configuration), environment, runtime.handle());
        self.book.attach(Arc::new(local));
        let asked = self.asked.clone();
        let changed: Arc<dyn Fn() + Send + Sync> = Arc::new(move || asked.tell(MoneyInput::RoutesChanged));
        runtime.spawn(look_whenever(Arc::clone(&self.book), self.configuration.changes(), Arc::clone(&changed)));
        Arc::new(Desk {
            book: self.book,
            gate: self.gate,
            asked: self.asked,
            transport: self.transport,
            trial: Trial { handle: handle.clone(), reader: reader.clone(), layout: self.layout, masker: self.masker },
            changed,
            runtime: runtime.handle().clone(),
        })
    }
}

/// Looks for routes now, and again whenever settings change that say where they are.
async fn look_whenever(
    book: Arc<Book>,
    mut settings: watch::Receiver<Arc<Settings>>,
    changed: Arc<dyn Fn() + Send + Sync>,
) {
    loop {
        let before = Arc::clone(&settings.borrow_and_update());
        book.look().await;
        changed();
        let others = |settings: &Arc<Settings>| whereabouts(settings) != whereabouts(&before);
        // They end with the server.
        if settings.wait_for(others).await.is_err() {
            return;
        }
    }
}

/// The settings that say which routes there are.
fn whereabouts(settings: &Settings) -> impl PartialEq + use<'_> {
    (
        (&settings.models_default, &settings.models_fallbacks),
        (&settings.models_compatible_url, settings.models_discover),
        (&settings.models_local_command, &settings.models_local_file),
    )
}

fn options(configuration: &Configuration, keys: &KeyBook) -> TransportOptions {
    let path = configuration.settings().models_certificates.clone();
    let roots = match path.trim() {
        "" => Vec::new(),
        path => match std::fs::read(path) {
            Ok(pem) => vec![pem],
            Err(error) => {
                tracing::error!(path, %error, "`models.certificates` cannot be read; only the system's are trusted");
                Vec::new()
            }
        },
    };
    TransportOptions {
        user_agent: format!("ouroboros/{}", env!("CARGO_PKG_VERSION")),
        roots,
        proxies: Proxies::from_variables(&|name| keys.variable(name)),
    }
}
