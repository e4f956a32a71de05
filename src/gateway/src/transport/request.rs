//! A request as it is handed to the network.

use super::client::{ClientError, Clients};
use super::{Sending, address};
use crate::route::Provider;
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Client, Method, Request};

/// Why a request cannot be sent as it is.
#[derive(Debug, thiserror::Error)]
pub(super) enum PrepareError {
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error("the header `{0}` cannot be sent: its value is no text of one line")]
    Header(&'static str),
    #[error("the key cannot be sent: it is no text of one line")]
    Key,
}

/// The request, and the pool of its provider.
pub(super) fn prepare(clients: &Clients, sending: &Sending<'_>) -> Result<(Client, Request), PrepareError> {
    let provider = &sending.route.provider;
    let client = clients.of(provider, sending.timing.connect)?;
    let mut request =
        Request::new(Method::POST, address::endpoint(provider, &sending.wire.path).map_err(ClientError::from)?);
    for (name, value) in &sending.wire.headers {
        header(&mut request, name, value)?;
    }
    if let Some(key) = sending.key {
        authorize(&mut request, provider, key)?;
    }
    *request.body_mut() = Some(sending.wire.body.clone().into());
    Ok((client, request))
}

/// Sets a header.
pub(super) fn header(request: &mut Request, name: &'static str, value: &str) -> Result<(), PrepareError> {
    let unsendable = || PrepareError::Header(name);
    let value = HeaderValue::from_str(value).map_err(|_| unsendable())?;
    request.headers_mut().insert(HeaderName::try_from(name).map_err(|_| unsendable())?, value);
    Ok(())
}

/// Adds the key, marked so that no log shows it.
pub(super) fn authorize(request: &mut Request, provider: &Provider, key: &str) -> Result<(), PrepareError> {
    let (name, value) = provider.dialect.auth_header(key.trim());
    let mut value = HeaderValue::from_str(&value).map_err(|_| PrepareError::Key)?;
    value.set_sensitive(true);
    request.headers_mut().insert(HeaderName::try_from(name).map_err(|_| PrepareError::Header(name))?, value);
    Ok(())
}
