//! From one address to the next, each checked before anything is sent there. Another origin is not gone to: who asked was allowed this one.

use crate::address;
use crate::body::{length, read};
use crate::message::{Answer, PAGE_BYTES, Page, Refusal, Request, Why};
use crate::origin::Origin;
use crate::page::{self, MediaType, Said};
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION};
use reqwest::{Client, Response, StatusCode, Url, redirect, retry};
use std::error::Error;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

const AGENT: &str = concat!("ouroboros/", env!("CARGO_PKG_VERSION"));
const ACCEPTED: &str =
    "text/html,application/xhtml+xml,text/*;q=0.9,application/json;q=0.9,application/xml;q=0.8,*/*;q=0.1";

/// Characters of an address.
const URL_CHARS: usize = 8 << 10;

/// Bytes of a page that came with a status that is no success, and characters of it that are told.
const EXCERPT_BYTES: u64 = 64 << 10;
const EXCERPT_CHARS: usize = 2_000;

/// Bounds of one page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// From the first name that is resolved to the last byte.
    pub total: Duration,
    /// Until a connection is there, of each.
    pub connect: Duration,
    /// How often one address may lead to the next.
    pub redirects: u32,
    /// Bytes of a page.
    pub bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { total: seconds(30), connect: seconds(10), redirects: 5, bytes: PAGE_BYTES }
    }
}

/// Finds the addresses of a name. It may block.
pub trait Resolve: Send + Sync + 'static {
    /// All addresses that the name stands for now.
    ///
    /// # Errors
    /// There are none, or nobody can be asked.
    fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

/// As the system does.
#[derive(Debug, Clone, Copy)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        Ok((host, 0).to_socket_addrs()?.map(|address| address.ip()).collect())
    }
}

/// Fetches pages.
pub struct Fetcher {
    resolver: Arc<dyn Resolve>,
    limits: Limits,
}

impl Fetcher {
    /// With these names and bounds.
    #[must_use]
    pub fn new(resolver: Arc<dyn Resolve>, limits: Limits) -> Self {
        Self { resolver, limits }
    }

    /// Fetches a page. It ends in time.
    pub async fn fetch(&self, request: &Request) -> Answer {
        let deadline = Instant::now() + self.limits.total;
        let page = tokio::time::timeout_at(deadline, self.page(request, deadline)).await;
        match page.unwrap_or_else(|_| Err(self.late())) {
            Ok(page) => Answer::Page(page),
            Err(refusal) => Answer::Refused(refusal),
        }
    }

    fn late(&self) -> Refusal {
        Refusal::new(Why::TimedOut, format!("it took longer than {} seconds", self.limits.total.as_secs_f32()))
    }

    async fn page(&self, request: &Request, deadline: Instant) -> Result<Page, Refusal> {
        let most = request.max_bytes.unwrap_or(self.limits.bytes).min(self.limits.bytes);
        let first = parse(&request.url)?;
        let mut url = first.clone();
        let mut redirects = 0_u32;
        loop {
            let response = self.hop(&url, &request.private_origins, deadline).await?;
            let Some(next) = next(&url, &response)? else {
                return whole(url, response, redirects, most, request.raw).await;
            };
            if !Origin::leads_to(&first, &next) {
                return Err(Refusal::new(Why::LedElsewhere, format!("it leads to another origin: {next}")));
            }
            redirects = redirects.saturating_add(1);
            if redirects > self.limits.redirects {
                let text = format!("one address led to the next more than {} times", self.limits.redirects);
                return Err(Refusal::new(Why::RedirectedTooOften, text));
            }
            url = next;
        }
    }

    /// Sends one request to an address that was checked.
    async fn hop(&self, url: &Url, private: &[Origin], deadline: Instant) -> Result<Response, Refusal> {
        let host = url.host_str().ok_or_else(|| bad_url("it names no host"))?;
        let addresses = self.addresses(url, host).await?;
        if !private.contains(&Origin::of(url)) {
            // All of them: which one answers would be left to chance.
            for address in &addresses {
                if let Some(what) = address::closed(*address) {
                    return Err(Refusal::new(Why::PrivateAddress, format!("{host} is at {address}: {what}")));
                }
            }
        }
        let client = self.client(url, host, &addresses)?;
        let left = deadline.saturating_duration_since(Instant::now());
        let response = client.get(url.clone()).timeout(left).send().await.map_err(|error| failed(&error))?;
        match response.remote_addr() {
            Some(peer) if !addresses.contains(&peer.ip()) => {
                Err(Refusal::new(Why::PrivateAddress, format!("{host} was reached at {peer}, which was not checked")))
            }
            Some(_) | None => Ok(response),
        }
    }

    /// The addresses of a host: those that its name stands for now, or the one that it is.
    async fn addresses(&self, url: &Url, host: &str) -> Result<Vec<IpAddr>, Refusal> {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        if let Ok(address) = bare.parse() {
            return Ok(vec![address]);
        }
        let (resolver, name) = (Arc::clone(&self.resolver), host.to_owned());
        let found = tokio::task::spawn_blocking(move || resolver.resolve(&name)).await;
        let lost =
            |why: &dyn std::fmt::Display| Refusal::new(Why::Dns, format!("the name {host} cannot be resolved: {why}"));
        let addresses = found.map_err(|error| lost(&error))?.map_err(|error| lost(&error))?;
        if addresses.is_empty() {
            return Err(lost(&format!("nothing is known of it (asked for {})", url.scheme())));
        }
        Ok(addresses)
    }

    /// A client that can connect to these addresses only.
    fn client(&self, url: &Url, host: &str, addresses: &[IpAddr]) -> Result<Client, Refusal> {
        // Port 0 stands for that of the address.
        let pinned: Vec<SocketAddr> = addresses.iter().map(|address| SocketAddr::new(*address, 0)).collect();
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static(ACCEPTED));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        let builder = Client::builder()
            .user_agent(AGENT)
            .default_headers(headers)
            .no_proxy()
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .referer(false)
            .connect_timeout(self.limits.connect)
            .pool_max_idle_per_host(0)
            .resolve_to_addrs(host, &pinned);
        // The system's certificates are not needed for the other scheme, and need not be there.
        let builder = if url.scheme() == "https" { builder } else { builder.tls_certs_only([]) };
        builder.build().map_err(|error| Refusal::new(Why::Unreachable, chain(&error)))
    }
}

/// Reads an address, as the model or a redirect gave it.
fn parse(text: &str) -> Result<Url, Refusal> {
    if text.chars().count() > URL_CHARS {
        return Err(bad_url(&format!("it has more than {URL_CHARS} characters")));
    }
    let url = Url::parse(text.trim()).map_err(|error| bad_url(&error.to_string()))?;
    checked(url)
}

fn checked(mut url: Url) -> Result<Url, Refusal> {
    if !["http", "https"].contains(&url.scheme()) {
        return Err(bad_url(&format!("its scheme is {}, and only http and https are fetched", url.scheme())));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(bad_url("it has credentials in it"));
    }
    if url.host_str().is_none_or(str::is_empty) || url.port() == Some(0) {
        return Err(bad_url("it names no host or no port"));
    }
    url.set_fragment(None);
    Ok(url)
}

fn bad_url(why: &str) -> Refusal {
    Refusal::new(Why::BadUrl, why)
}

/// Where a response leads on; `None` when it is the end.
fn next(url: &Url, response: &Response) -> Result<Option<Url>, Refusal> {
    let leads_on = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    let Some(to) = response.headers().get(LOCATION).filter(|_| leads_on) else { return Ok(None) };
    let to = String::from_utf8_lossy(to.as_bytes());
    if to.chars().count() > URL_CHARS {
        return Err(bad_url("the address that it leads to is too long"));
    }
    let to = url.join(&to).map_err(|error| bad_url(&format!("it leads to what is no address: {error}")))?;
    checked(to).map(Some).map_err(|refusal| bad_url(&format!("of the address that it leads to: {}", refusal.detail)))
}

async fn whole(url: Url, response: Response, redirects: u32, most: u64, raw: bool) -> Result<Page, Refusal> {
    let status = response.status();
    let header = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media = MediaType::parse(header);
    if !status.is_success() {
        return Err(unsuccessful(status, response, &media).await);
    }
    media.text_only()?;
    let bytes = read(response, most).await?;
    let Said { text, title, lossy, cut } = page::said(&bytes, &media, raw)?;
    let bytes = length(&bytes);
    Ok(Page { url: url.into(), media_type: media.essence, title, bytes, redirects, text, lossy, cut })
}

async fn unsuccessful(status: StatusCode, response: Response, media: &MediaType) -> Refusal {
    let mut refusal = Refusal::new(Why::HttpStatus, format!("the host answered {status}"));
    refusal.status = Some(status.as_u16());
    // What it says besides is a help, and no more.
    if media.text_only().is_ok()
        && let Ok(bytes) = read(response, EXCERPT_BYTES).await
        && let Ok(said) = page::said(&bytes, media, false)
    {
        let text: String = said.text.trim().chars().take(EXCERPT_CHARS).collect();
        refusal.excerpt = Some(text).filter(|text| !text.is_empty());
    }
    refusal
}

/// What a failed request comes to.
pub(crate) fn failed(error: &reqwest::Error) -> Refusal {
    if error.is_timeout() {
        return Refusal::new(Why::TimedOut, "the host took too long");
    }
    let mut source: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(inner) = source {
        if inner.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_parse_too_large) {
            return Refusal::new(Why::TooLarge, "its headers are too long");
        }
        source = inner.source();
    }
    Refusal::new(Why::Unreachable, chain(error))
}

/// An error with its causes. The address is left out: the caller knows it.
fn chain(error: &reqwest::Error) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut source: Option<&(dyn Error + 'static)> = error.source();
    while let Some(inner) = source {
        let said = inner.to_string();
        if words.last() != Some(&said) {
            words.push(said);
        }
        source = inner.source();
    }
    if words.is_empty() { "the request failed".to_owned() } else { words.join(": ") }
}
