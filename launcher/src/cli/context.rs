//! What every verb is given.

use super::args::Global;
use super::failure::{Failure, skew};
use super::start;
use crate::client::{Client, ClientError};
use crate::render::Look;
use ouroboros_proto::api::API_VERSION;
use ouroboros_settings::Paths;
use serde::Serialize;
use serde_json::Value;
use std::io::{self, Write};

/// The installation, how to reach its server, and how to speak to whoever called us.
#[derive(Debug)]
pub struct Context {
    global: Global,
    paths: Paths,
    client: Client,
    out: Look,
    err: Look,
}

impl Context {
    /// The context of this process.
    pub fn new(global: Global) -> Result<Self, Failure> {
        let paths = places()?;
        let client = Client::new(paths.api_socket());
        Ok(Self { global, paths, client, out: Look::of(&io::stdout()), err: Look::of(&io::stderr()) })
    }

    /// Another one of the same installation, for another thread.
    pub fn another(&self) -> Result<Self, Failure> {
        Self::new(self.global)
    }

    /// Where everything is.
    pub fn paths(&self) -> &Paths {
        &self.paths
    }

    /// Reaches the server.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Whether answers are JSON.
    pub fn json(&self) -> bool {
        self.global.json
    }

    /// Whether less is said on standard error.
    pub fn quiet(&self) -> bool {
        self.global.quiet
    }

    /// Whether more is said on standard error.
    pub fn verbose(&self) -> bool {
        self.global.verbose
    }

    /// How standard output is written to.
    pub fn out(&self) -> Look {
        self.out
    }

    /// How standard error is written to.
    pub fn err(&self) -> Look {
        self.err
    }

    /// Does something that needs a running server, and starts one when there is none.
    pub fn acting<T>(&self, act: impl Fn(&Client) -> Result<T, ClientError>) -> Result<T, Failure> {
        match act(&self.client) {
            Err(ClientError::NotRunning { .. }) => {
                start::start(self)?;
                Ok(act(&self.client)?)
            }
            result => Ok(result?),
        }
    }

    /// Writes an answer to standard output.
    pub fn print(&self, text: &str) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        Ok(out.flush()?)
    }

    /// Writes an answer as one line of JSON, with the version of its shape.
    pub fn print_json(&self, answer: &impl Serialize) -> Result<(), Failure> {
        self.print(&line(answer)?)
    }

    /// Says something on standard error that is not the answer.
    pub fn note(&self, text: &str) {
        if !self.global.quiet {
            // Without a standard error there is nobody to tell.
            let _ = writeln!(io::stderr(), "ouroboros: {text}");
        }
    }

    /// Says that the server is of another build, when it is.
    pub fn note_other_build(&self) {
        if let Some(build) = self.client.other_build() {
            self.note(&skew(&build));
        }
    }
}

/// The places of the installation that this process's environment names.
pub fn places() -> Result<Paths, Failure> {
    let home = std::env::home_dir();
    Paths::resolve(|name| std::env::var_os(name), home.as_deref(), rustix::process::getuid().as_raw())
        .map_err(|error| Failure::usage(format!("{error}.")))
}

/// One line of JSON: an object gets the version of its shape, anything else goes below `items`.
pub fn line(answer: &impl Serialize) -> Result<String, Failure> {
    let bad = |error: serde_json::Error| Failure::new("internal", format!("the answer cannot be written: {error}"));
    let mut object = match serde_json::to_value(answer).map_err(bad)? {
        Value::Object(object) => object,
        other => serde_json::Map::from_iter([("items".to_owned(), other)]),
    };
    object.insert("api".to_owned(), API_VERSION.into());
    Ok(format!("{}\n", Value::Object(object)))
}

#[cfg(test)]
mod tests {
    use super::line;
    use serde_json::json;

    #[test]
    fn every_answer_names_its_version() {
        assert_eq!(line(&json!({ "z": 1 })).unwrap(), "{\"api\":1,\"z\":1}\n");
        assert_eq!(line(&json!([1])).unwrap(), "{\"api\":1,\"items\":[1]}\n");
    }
}
