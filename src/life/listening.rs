//! The sockets that clients come to.

use super::place::io_error;
use super::{StartError, activation};
use crate::http;
use crate::supervisor::Handle;
use ouroboros_proto::kind::ExitCode;
use ouroboros_settings::{Paths, Settings};
use std::sync::Arc;

/// Binds the sockets and serves on them.
pub(super) fn serve(
    paths: &Paths,
    settings: &Settings,
    handle: Handle,
    view: Arc<dyn http::View>,
    operations: Arc<dyn http::Operations>,
    models: Arc<dyn http::Models>,
) -> Result<http::Running, StartError> {
    let bind_error = |error: http::BindError| {
        StartError::new(
            ExitCode::Unavailable,
            error.to_string(),
            "Free the address, or change `server.listen` with `ouroboros config set`.",
        )
    };
    let mut listeners = vec![http::bind_unix(&paths.api_socket()).map_err(bind_error)?];
    let activated = activation::sockets().map_err(|error| io_error("take the sockets it was given", &error))?;
    let given = !activated.is_empty();
    if !given {
        listeners.push(http::bind_tcp(settings.server_listen, settings.server_listen_fallback).map_err(bind_error)?);
    }
    for socket in activated {
        listeners.push(http::inherit(socket).map_err(bind_error)?);
    }
    let token = http::Token::load_or_create(&paths.data_dir().join("token")).map_err(|error| {
        StartError::new(
            ExitCode::NoPermission,
            error.to_string(),
            "Make the file readable by its owner only, or remove it.",
        )
    })?;
    let options = http::Options {
        listeners,
        handle,
        view,
        operations,
        models,
        token,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        data_dir: paths.data_dir().display().to_string(),
        surroundings: http::Surroundings::of_process(),
        bounds: http::Bounds::default(),
    };
    let running = http::serve(options).map_err(|error| {
        StartError::new(ExitCode::Unavailable, error.to_string(), "Look at the limits of this user (`ulimit -a`).")
    })?;
    let wanted = settings.server_listen;
    if !given && wanted.port() != 0 && !running.addresses.contains(&wanted) {
        tracing::warn!(%wanted, url = running.url, "the address is in use by another program; another port is taken");
    }
    Ok(running)
}
