//! The URL of a path at a provider.

use crate::route::Provider;
use reqwest::Url;
use std::net::IpAddr;

/// Why a path at a provider is no URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum AddressError {
    /// The provider's base URL is none.
    #[error("`{0}` is no http or https URL")]
    Base(String),
    /// The path would lead away from the base URL.
    #[error("the path `{0}` does not stay below the base URL of its provider")]
    Astray(String),
}

/// The URL of `path` at `provider`: always below the base URL, so that a key cannot be led to another host by what a catalogue says.
pub(super) fn endpoint(provider: &Provider, path: &str) -> Result<Url, AddressError> {
    let base = base(provider)?;
    let astray = || AddressError::Astray(path.to_owned());
    if !path.is_empty() && !path.starts_with(['/', '?']) {
        return Err(astray());
    }
    let url = Url::parse(&format!("{}{path}", provider.base_url.trim_end_matches('/'))).map_err(|_| astray())?;
    // Dots in a path are resolved while it is parsed.
    let below = url.path().starts_with(base.path().trim_end_matches('/'));
    if url.origin() == base.origin() && below { Ok(url) } else { Err(astray()) }
}

/// The provider's base URL.
pub(super) fn base(provider: &Provider) -> Result<Url, AddressError> {
    let none = || AddressError::Base(without_password(&provider.base_url));
    let url = Url::parse(&provider.base_url).map_err(|_| none())?;
    let usable = matches!(url.scheme(), "http" | "https") && url.query().is_none() && url.fragment().is_none();
    if usable && url.has_host() { Ok(url) } else { Err(none()) }
}

/// Whether what is sent to a provider, with its key, can be read on the way.
#[must_use]
pub fn is_in_the_clear(provider: &Provider) -> bool {
    base(provider).is_ok_and(|url| url.scheme() == "http" && !is_loopback(&url))
}

/// Whether a URL leads to this machine.
pub(super) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.ends_with(".localhost") || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// The URL as it may be shown. A password can have an `@` and a slash of its own, so all before the last `@` goes.
pub(crate) fn without_password(url: &str) -> String {
    url.rsplit_once('@').map_or_else(|| url.to_owned(), |(_, host)| format!("…@{host}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::Dialect;

    fn at(base_url: &str) -> Provider {
        Provider { name: "p".to_owned(), dialect: Dialect::OpenaiChat, base_url: base_url.to_owned(), local: false }
    }

    #[test]
    fn a_path_stays_below_its_base() {
        let url = |base, path| endpoint(&at(base), path).map(|url| url.to_string());
        assert_eq!(url("https://h/v1", "/models?a=1"), Ok("https://h/v1/models?a=1".to_owned()));
        assert_eq!(url("https://h/v1/", "/models"), Ok("https://h/v1/models".to_owned()));
        assert_eq!(url("http://127.0.0.1:80", "/x"), Ok("http://127.0.0.1/x".to_owned()));
        for (base, path) in [
            ("http://127.0.0.1:1234", "@evil.example/"),
            ("http://127.0.0.1:1234", "9/"),
            ("https://h", ".evil.example/x"),
            ("https://h/v1", "https://evil.example/"),
            ("https://h/v1", "/../admin"),
            ("https://h/v1", "/a/../../v2"),
        ] {
            assert_eq!(url(base, path), Err(AddressError::Astray(path.to_owned())), "{base} {path}");
        }
        for base in ["", "h/v1", "ftp://h", "file:///etc", "https://h/v1?key=1"] {
            assert_eq!(url(base, "/models"), Err(AddressError::Base(base.to_owned())));
        }
        for base in ["ftp://u:p@h/v1", "ftp://u:p@ss@h/v1", "ftp://u:p@s/s@h/v1"] {
            assert_eq!(url(base, "/models"), Err(AddressError::Base("…@h/v1".to_owned())), "{base}");
        }
    }

    #[test]
    fn loopback_is_this_machine_only() {
        let loopback = |url: &str| is_loopback(&Url::parse(url).expect("a URL"));
        for url in ["http://127.0.0.1:1", "http://127.9.9.9", "http://localhost:11434", "http://[::1]:8080"] {
            assert!(loopback(url), "{url}");
        }
        for url in ["http://10.0.0.1", "https://localhost.example", "http://128.0.0.1", "http://[::2]"] {
            assert!(!loopback(url), "{url}");
        }
        assert!(is_in_the_clear(&at("http://10.0.0.1/v1")));
        assert!(!is_in_the_clear(&at("http://127.0.0.1/v1")) && !is_in_the_clear(&at("https://10.0.0.1/v1")));
    }
}
