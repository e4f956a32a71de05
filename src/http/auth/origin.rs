//! Whether a request is meant for us, and whether a browser sent it from our own page.

use crate::http::request::Request;
use ouroboros_proto::api::{ApiError, Code};
use std::net::SocketAddr;

/// The `host:port` forms under which we are reached.
#[derive(Debug, Clone, Default)]
pub struct Origins(Vec<String>);

impl Origins {
    /// Of a server that listens on these loopback addresses.
    #[must_use]
    pub fn new(addresses: &[SocketAddr]) -> Self {
        let mut hosts = Vec::new();
        for address in addresses {
            let port = address.port();
            let own = match address {
                SocketAddr::V4(four) => four.ip().to_string(),
                SocketAddr::V6(six) => format!("[{}]", six.ip()),
            };
            for name in [own, "localhost".to_owned(), "127.0.0.1".to_owned(), "[::1]".to_owned()] {
                hosts.push(format!("{name}:{port}"));
                if port == 80 {
                    hosts.push(name);
                }
            }
        }
        Self(hosts)
    }

    /// Refuses requests for another host (a name that was made to point here) and requests of foreign pages.
    ///
    /// # Errors
    /// The reason.
    pub fn check(&self, request: &Request) -> Result<(), ApiError> {
        let host = request.header("host").unwrap_or("");
        let once = request.headers.get_all("host").iter().count() == 1;
        if !once || !self.knows(host) {
            return Err(ApiError::new(Code::Forbidden, format!("This server does not answer for the host {host:?}."))
                .remedy("Use the address that `ouroboros status` prints."));
        }
        for origin in request.headers.get_all("origin") {
            let ours =
                origin.to_str().is_ok_and(|origin| origin.strip_prefix("http://").is_some_and(|host| self.knows(host)));
            if !ours {
                return Err(foreign());
            }
        }
        // Browsers say where a request started. A link from elsewhere may open the page; nothing else may come from there.
        let site = request.header("sec-fetch-site").unwrap_or("none");
        let opens_page = request.header("sec-fetch-mode") == Some("navigate") && !request.path.starts_with("/api/");
        if matches!(site, "same-origin" | "none") || opens_page { Ok(()) } else { Err(foreign()) }
    }

    fn knows(&self, host: &str) -> bool {
        self.0.iter().any(|known| known.eq_ignore_ascii_case(host))
    }
}

fn foreign() -> ApiError {
    ApiError::new(Code::Forbidden, "The request comes from a page of another origin.")
}
