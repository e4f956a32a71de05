//! Origins: a scheme, a host and a port, and nothing else.

use reqwest::Url;
use serde::{Deserialize, Serialize};
use std::fmt;

/// An origin, as browsers compare them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Origin(String);

/// A text is no origin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is no origin: {why}; one is http://host or https://host, with or without a port, such as http://127.0.0.1:8080"
)]
pub struct BadOrigin {
    text: String,
    why: &'static str,
}

impl Origin {
    /// Reads a bare origin. One with a path, a query, credentials or a wildcard is none.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(text: &str) -> Result<Self, BadOrigin> {
        let bad = |why| BadOrigin { text: text.chars().take(200).collect(), why };
        let (scheme, rest) = text.split_once("://").ok_or_else(|| bad("it has no scheme"))?;
        if !["http", "https"].contains(&scheme) {
            return Err(bad("its scheme is neither http nor https"));
        }
        if rest.contains('@') {
            return Err(bad("it has credentials"));
        }
        if rest.contains('*') {
            return Err(bad("it has a wildcard"));
        }
        if rest.contains(['/', '?', '#', '\\']) {
            return Err(bad("it has more than a host and a port"));
        }
        if rest.chars().any(|letter| letter.is_whitespace() || letter.is_control()) {
            return Err(bad("it has white space"));
        }
        let url = Url::parse(text).map_err(|_| bad("its host or port is not valid"))?;
        Ok(Self::of(&url))
    }

    /// The origin of an address.
    #[must_use]
    pub fn of(url: &Url) -> Self {
        Self(url.origin().ascii_serialization())
    }

    /// Whether who may go to an address may be led on to another: in the same origin, from the one scheme to the safe one of the same
    /// host, and to the same host with or without `www.`.
    #[must_use]
    pub(crate) fn leads_to(from: &Url, to: &Url) -> bool {
        let host = |url: &Url| url.host_str().map(|host| host.strip_prefix("www.").unwrap_or(host).to_owned());
        let same_port = from.port_or_known_default() == to.port_or_known_default();
        let scheme = match (from.scheme(), to.scheme()) {
            ("http", "https") => same_port || (from.port().is_none() && to.port().is_none()),
            (one, other) => one == other && same_port,
        };
        scheme && host(from) == host(to)
    }

    /// As text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.0)
    }
}

impl TryFrom<String> for Origin {
    type Error = BadOrigin;

    fn try_from(text: String) -> Result<Self, BadOrigin> {
        Self::parse(&text)
    }
}

impl From<Origin> for String {
    fn from(origin: Origin) -> Self {
        origin.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bare_origins_are_read_and_compared_as_browsers_do() {
        for (text, same) in [
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080/a/b?c#d"),
            ("http://LocalHost", "http://localhost:80/"),
            ("https://host.example:443", "https://host.example/x"),
            ("http://[::1]:3000", "http://[::1]:3000/"),
        ] {
            assert_eq!(Origin::parse(text).unwrap(), Origin::of(&Url::parse(same).unwrap()), "{text}");
        }
        let one = Origin::parse("http://127.0.0.1:8080").unwrap();
        for other in
            ["http://127.0.0.1:8081/", "https://127.0.0.1:8080/", "http://127.0.0.1/", "http://localhost:8080/"]
        {
            assert_ne!(one, Origin::of(&Url::parse(other).unwrap()), "{other}");
        }
    }

    #[test]
    fn one_is_led_on_in_the_same_place_only() {
        let leads = |from, to| Origin::leads_to(&Url::parse(from).unwrap(), &Url::parse(to).unwrap());
        for (from, to) in [
            ("http://a.example/x", "http://a.example/y"),
            ("http://a.example/", "https://a.example/"),
            ("http://a.example/", "https://www.a.example/"),
            ("https://www.a.example/", "https://a.example:443/"),
            ("http://a.example:81/", "http://a.example:81/y"),
        ] {
            assert!(leads(from, to), "{from} {to}");
        }
        for (from, to) in [
            ("https://a.example/", "http://a.example/"),
            ("https://a.example/", "https://b.example/"),
            ("https://a.example/", "https://b.a.example/"),
            ("https://a.example/", "https://www.www.a.example/"),
            ("http://a.example/", "http://a.example:81/"),
            ("http://a.example/", "https://a.example:8443/"),
            ("http://a.example:81/", "https://a.example/"),
        ] {
            assert!(!leads(from, to), "{from} {to}");
        }
    }

    #[test]
    fn anything_more_than_an_origin_is_refused() {
        for text in [
            "",
            "host",
            "ftp://host",
            "file:///etc",
            "http://",
            "http://host/",
            "http://host/path",
            "http://host?q",
            "http://host#f",
            "http://user@host",
            "http://user:pass@host",
            "http://*.host",
            "http://*",
            "http://ho st",
            "http://host:99999",
            "http:\\\\host",
            "http://host\\path",
            "*",
            "http://host\n",
        ] {
            assert!(Origin::parse(text).is_err(), "{text:?}");
            assert!(serde_json::from_value::<Origin>(serde_json::json!(text)).is_err(), "{text:?}");
        }
    }
}
