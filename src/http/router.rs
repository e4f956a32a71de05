//! From a method and a path to a route.

use super::routes::{ROUTES, Route};
use matchit::Router;
use ouroboros_proto::api::{ApiError, Code};
use std::collections::BTreeMap;

/// Finds routes.
#[derive(Debug)]
pub struct Routing {
    paths: Router<Vec<&'static Route>>,
}

/// A route with the parameters of its path.
#[derive(Debug)]
pub struct Found {
    /// The route.
    pub route: &'static Route,
    id: Option<String>,
    last: Option<String>,
}

impl Found {
    /// The task that the path names.
    #[must_use]
    pub fn id(&self) -> &str {
        self.id.as_deref().unwrap_or("")
    }

    /// The other parameter of the path: a stream, an asset, a provider.
    #[must_use]
    pub fn last(&self) -> &str {
        self.last.as_deref().unwrap_or("")
    }
}

/// Why there is no route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoRoute {
    /// Nothing is at the path.
    Path,
    /// Something is, for other methods: these.
    Method(String),
}

impl Routing {
    /// Over the whole table.
    ///
    /// # Errors
    /// Two paths of the table cannot be told apart.
    pub fn new() -> Result<Self, matchit::InsertError> {
        let mut by_path: BTreeMap<&str, Vec<&'static Route>> = BTreeMap::new();
        for route in ROUTES {
            by_path.entry(route.path).or_default().push(route);
        }
        let mut paths = Router::new();
        for (path, routes) in by_path {
            paths.insert(path, routes)?;
        }
        Ok(Self { paths })
    }

    /// The route of a request. HEAD is answered where GET is.
    ///
    /// # Errors
    /// There is none.
    pub fn find(&self, method: &str, path: &str) -> Result<Found, NoRoute> {
        let at = self.paths.at(path).map_err(|_| NoRoute::Path)?;
        let wanted = if method == "HEAD" { "GET" } else { method };
        let route = at.value.iter().find(|route| route.verb.as_str() == wanted).ok_or_else(|| {
            let mut allowed: Vec<&str> = at.value.iter().map(|route| route.verb.as_str()).collect();
            if allowed.contains(&"GET") {
                allowed.push("HEAD");
            }
            NoRoute::Method(allowed.join(", "))
        })?;
        let param = |name: &str| at.params.get(name).map(str::to_owned);
        Ok(Found {
            route,
            id: param("id"),
            last: param("stream")
                .or_else(|| param("part"))
                .or_else(|| param("name"))
                .or_else(|| param("provider"))
                .or_else(|| param("number"))
                .or_else(|| param("rule")),
        })
    }
}

impl From<&NoRoute> for ApiError {
    fn from(reason: &NoRoute) -> Self {
        match reason {
            NoRoute::Path => Self::new(Code::UnknownPath, "There is nothing at this path.")
                .remedy("/api/openapi.json describes every path."),
            NoRoute::Method(allowed) => {
                Self::new(Code::BadMethod, format!("This path answers to {allowed} only; nothing was done."))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::routes::Endpoint;

    #[test]
    fn every_route_is_found_and_only_once() {
        let routing = Routing::new().unwrap();
        for route in ROUTES {
            let path = route
                .path
                .replace("{id}", "7")
                .replace("{stream}", "stdout")
                .replace("{part}", "request")
                .replace("{name}", "app.js")
                .replace("{provider}", "openai");
            let found = routing.find(route.verb.as_str(), &path).unwrap();
            assert_eq!(found.route, route, "{path}");
        }
        let found = routing.find("GET", "/api/tasks/last/logs/stderr").unwrap();
        assert_eq!((found.route.endpoint, found.id(), found.last()), (Endpoint::Logs, "last", "stderr"));
    }

    #[test]
    fn what_is_not_there_is_told_from_what_is_done_otherwise() {
        let routing = Routing::new().unwrap();
        for path in ["/api", "/api/tasks/", "/api/tasks/1/2", "*", "", "//", "/assets/a/b"] {
            assert_eq!(routing.find("GET", path).unwrap_err(), NoRoute::Path, "{path}");
        }
        assert_eq!(routing.find("PUT", "/api/tasks").unwrap_err(), NoRoute::Method("POST, GET, HEAD".to_owned()));
    }
}
