//! What endpoints share.

use super::admission::Surroundings;
use super::auth::{Auth, Caller};
use super::blocking::Blocking;
use super::body::{Room, Whole};
use super::follow::stream::Streams;
use super::json;
use super::metrics::Counters;
use super::models::Models;
use super::operations::Operations;
use super::reference;
use super::request::Request;
use super::router::Routing;
use super::view::View;
use crate::supervisor::Handle;
use ouroboros_proto::api::{ApiError, Code};
use ouroboros_proto::kind::{TaskId, TaskNumber};
use serde::de::DeserializeOwned;
use std::sync::Arc;

/// Facts about the server that do not change while it serves.
#[derive(Debug, Clone)]
pub struct About {
    /// Its version.
    pub version: String,
    /// The data directory.
    pub data_dir: String,
    /// Address of the page; `None` without a TCP listener.
    pub url: Option<String>,
}

/// Everything an endpoint can reach.
pub struct Site {
    /// The supervisor.
    pub handle: Handle,
    /// The store.
    pub view: Arc<dyn View>,
    /// The server as a whole.
    pub operations: Arc<dyn Operations>,
    /// Routes, keys and prices.
    pub models: Arc<dyn Models>,
    /// Defaults of tasks.
    pub surroundings: Surroundings,
    /// For calls that block.
    pub blocking: Blocking,
    /// For large bodies.
    pub room: Room,
    /// For answers that grow.
    pub streams: Streams,
    /// Logins.
    pub auth: Auth,
    /// Counts.
    pub counters: Counters,
    /// Facts.
    pub about: About,
    /// The routes.
    pub routing: Routing,
}

/// A request that may go on, with what is around it.
pub struct Call<'a> {
    /// Everything.
    pub site: &'a Arc<Site>,
    /// The request.
    pub request: &'a mut Request,
    /// Who sent it.
    pub caller: Caller,
}

impl Call<'_> {
    /// Reads the body, which must be declared as JSON.
    ///
    /// # Errors
    /// Another media type; too large, too slow, cut short.
    pub async fn body(&mut self) -> Result<Whole, ApiError> {
        self.request.require_json()?;
        self.request.body.read(&self.site.room).await
    }

    /// Reads the body as a value; without a body its default.
    ///
    /// # Errors
    /// Those of [`Call::body`], or it is not such a value.
    pub async fn optional<T: DeserializeOwned + Default>(&mut self) -> Result<T, ApiError> {
        if self.request.body.is_empty() { Ok(T::default()) } else { self.required().await }
    }

    /// Reads the body as a value.
    ///
    /// # Errors
    /// Those of [`Call::body`], or it is not such a value.
    pub async fn required<T: DeserializeOwned>(&mut self) -> Result<T, ApiError> {
        let whole = self.body().await?;
        json::parse(&whole.bytes)
    }

    /// Refuses a body where none is taken.
    ///
    /// # Errors
    /// There is one.
    pub fn no_body(&self) -> Result<(), ApiError> {
        if self.request.body.is_empty() {
            return Ok(());
        }
        Err(ApiError::new(Code::BadField, "This request takes no body; nothing was done."))
    }

    /// The task with this name.
    ///
    /// # Errors
    /// There is none, or the store cannot be read.
    pub async fn task(&self, name: &str) -> Result<(TaskId, TaskNumber), ApiError> {
        let (view, name) = (Arc::clone(&self.site.view), name.to_owned());
        self.site.blocking.read(move || reference::require(&*view, &name)).await
    }
}
