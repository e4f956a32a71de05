//! Connections: a pool for each provider, built when it is first used.

use super::address::{self, AddressError};
use crate::route::Provider;
use ouroboros_proto::kind::Millis;
use reqwest::{Certificate, Client, NoProxy, Proxy, Url, redirect, retry};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Pools that are kept; past it all are dropped and built anew, which costs connections and nothing else.
const MAX_POOLS: usize = 64;

/// How the transport reaches the world.
#[derive(Clone, Default)]
pub struct TransportOptions {
    /// How it calls itself.
    pub user_agent: String,
    /// Certificates that are trusted besides the system's, PEM.
    pub roots: Vec<Vec<u8>>,
    /// Proxies. Never used for this machine.
    pub proxies: Proxies,
}

impl fmt::Debug for TransportOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { user_agent, roots, proxies } = self;
        f.debug_struct("TransportOptions")
            .field("user_agent", user_agent)
            .field("roots", &roots.len())
            .field("proxies", proxies)
            .finish()
    }
}

/// Which proxies are used for what. `None` everywhere is a direct connection.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Proxies {
    /// For `https` URLs.
    pub https: Option<String>,
    /// For `http` URLs.
    pub http: Option<String>,
    /// Hosts that are reached directly, as in `NO_PROXY`.
    pub except: Option<String>,
}

/// A proxy's URL can hold a password.
impl fmt::Debug for Proxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { https, http, except } = self;
        f.debug_struct("Proxies")
            .field("https", &https.is_some())
            .field("http", &http.is_some())
            .field("except", except)
            .finish()
    }
}

impl Proxies {
    /// As the usual variables say: `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`; the lower-case name comes first.
    #[must_use]
    pub fn from_variables(lookup: &dyn Fn(&str) -> Option<String>) -> Self {
        let of = |name: &str| {
            let found = lookup(&name.to_lowercase()).or_else(|| lookup(name));
            found.map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
        };
        let all = of("ALL_PROXY");
        Self {
            https: of("HTTPS_PROXY").or_else(|| all.clone()),
            http: of("HTTP_PROXY").or(all),
            except: of("NO_PROXY"),
        }
    }

    fn of(&self, url: &Url) -> Option<&str> {
        let proxy = if url.scheme() == "https" { &self.https } else { &self.http };
        proxy.as_deref().filter(|_| !address::is_loopback(url))
    }
}

/// Why there is no client for a provider.
#[derive(Debug, thiserror::Error)]
pub(super) enum ClientError {
    #[error(transparent)]
    Address(#[from] AddressError),
    #[error("a certificate of the settings cannot be read")]
    Certificate,
    #[error("the proxy of the settings is no URL")]
    Proxy,
    #[error("no secure connections can be made: {0}")]
    Build(String),
}

/// What tells pools apart. A connection's deadline is a property of its pool.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Pool {
    provider: String,
    base_url: String,
    connect: Millis,
}

/// All pools.
#[derive(Debug)]
pub(super) struct Clients {
    options: TransportOptions,
    pools: Mutex<HashMap<Pool, Client>>,
}

impl Clients {
    pub(super) fn new(options: TransportOptions) -> Self {
        Self { options, pools: Mutex::default() }
    }

    /// The provider's pool.
    pub(super) fn of(&self, provider: &Provider, connect: Millis) -> Result<Client, ClientError> {
        let pool = Pool { provider: provider.name.clone(), base_url: provider.base_url.clone(), connect };
        let mut pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = pools.get(&pool) {
            return Ok(client.clone());
        }
        let client = self.build(&address::base(provider)?, connect)?;
        if pools.len() >= MAX_POOLS {
            pools.clear();
        }
        pools.insert(pool, client.clone());
        Ok(client)
    }

    fn build(&self, base: &Url, connect: Millis) -> Result<Client, ClientError> {
        let local = address::is_loopback(base);
        let builder = Client::builder()
            .user_agent(self.options.user_agent.as_str())
            // A request is written once; whoever asked decides about the next time. What the pool itself repeats on a fresh connection
            // is a request of which nothing was written, because the idle connection it was meant for had closed.
            .retry(retry::never())
            .redirect(redirect::Policy::none())
            .no_proxy()
            .connect_timeout(connect.duration())
            .tcp_nodelay(true)
            .tcp_keepalive(Duration::from_secs(30))
            .http2_keep_alive_interval(Duration::from_secs(30))
            .http2_keep_alive_timeout(Duration::from_secs(20))
            .http2_adaptive_window(true)
            // Below what servers keep: a request that meets a closing connection may or may not have arrived. The small servers that run
            // here give up a connection after five seconds.
            .pool_idle_timeout(Duration::from_secs(if local { 3 } else { 30 }));
        let builder = match self.options.proxies.of(base) {
            Some(url) => {
                let except = self.options.proxies.except.as_deref().and_then(NoProxy::from_string);
                builder.proxy(Proxy::all(url).map_err(|_| ClientError::Proxy)?.no_proxy(except))
            }
            None => builder,
        };
        let builder = if base.scheme() == "https" {
            builder.tls_certs_merge(self.roots()?)
        } else {
            // The system's certificates are not needed, and need not be there.
            builder.tls_certs_only([])
        };
        builder.build().map_err(|error| ClientError::Build(super::read::chain(&error)))
    }

    fn roots(&self) -> Result<Vec<Certificate>, ClientError> {
        let read = |pem: &Vec<u8>| Certificate::from_pem_bundle(pem).ok().filter(|found| !found.is_empty());
        let found: Option<Vec<_>> = self.options.roots.iter().map(read).collect();
        Ok(found.ok_or(ClientError::Certificate)?.into_iter().flatten().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_follow_the_variables_and_never_this_machine() {
        let variables = |name: &str| match name {
            "https_proxy" => Some("http://small:1".to_owned()),
            "HTTPS_PROXY" => Some("http://large:1".to_owned()),
            "ALL_PROXY" => Some("socks5h://all:1".to_owned()),
            "NO_PROXY" => Some(" ".to_owned()),
            _ => None,
        };
        let proxies = Proxies::from_variables(&variables);
        let of = |url: &str| proxies.of(&Url::parse(url).expect("a URL"));
        assert_eq!(of("https://api.example/v1"), Some("http://small:1"));
        assert_eq!(of("http://10.0.0.1:8000"), Some("socks5h://all:1"));
        assert_eq!(of("http://127.0.0.1:8000"), None);
        assert_eq!(of("https://localhost:8000"), None);
        assert_eq!(proxies.except, None);
        assert!(!format!("{proxies:?}").contains("small"), "a proxy's URL can hold a password");
    }
}
