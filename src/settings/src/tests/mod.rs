//! Behaviour of the whole crate: what a configuration means.

mod bounds;
mod edit;
mod layers;
mod reading;
mod reference;

use crate::problem::Problem;
use crate::resolve::{Loaded, Revision, Sources};
use crate::schema::{Key, Settings};
use crate::source::Variable;
use std::path::Path;

/// Where the tests say the file is.
const FILE: &str = "/etc/o/config.toml";

/// Sources, owned.
#[derive(Default)]
struct Given {
    flags: Vec<(Key, String)>,
    environment: Vec<Variable>,
    file: String,
}

impl Given {
    fn file(text: &str) -> Self {
        Self { file: text.to_owned(), ..Self::default() }
    }

    fn variable(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    fn flag(mut self, key: Key, value: &str) -> Self {
        self.flags.push((key, value.to_owned()));
        self
    }

    fn sources(&self) -> Sources<'_> {
        Sources {
            flags: &self.flags,
            environment: &self.environment,
            file: (Path::new(FILE), &self.file),
            processors: 4,
        }
    }

    fn load(&self) -> Result<Loaded, Vec<Problem>> {
        Settings::load(&self.sources(), Revision::new(1))
    }

    fn settings(&self) -> Settings {
        self.load().unwrap().settings
    }

    fn problems(&self) -> Vec<String> {
        self.load().unwrap_err().iter().map(ToString::to_string).collect()
    }

    fn warnings(&self) -> Vec<String> {
        self.load().unwrap().warnings.iter().map(ToString::to_string).collect()
    }
}
