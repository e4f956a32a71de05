//! A JSON Schema that what an agent delivers must satisfy.
//!
//! It is read where a task is accepted, so that one that means nothing is refused there, and again where values are held against it.
//! Nothing is ever loaded from elsewhere: a reference that leads out of the schema makes it unusable. Patterns are matched in linear time.

mod embed;

use boon::{CompileError, Compiler, SchemaIndex, Schemas, UrlLoader, ValidationError};
use serde_json::Value;
use std::error::Error;
use std::fmt;

/// What names a schema to the compiler; relative references are resolved against it.
const PLACE: &str = "output://schema/";
/// Faults of a value that are told.
const FAULTS: usize = 8;
/// Characters that are told of each.
const FAULT_CHARS: usize = 300;

/// Why a schema cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// It refers to something that is not in it.
    #[error("it refers to {0}, which is not in it, and nothing is fetched")]
    Outside(String),
    /// It is no schema.
    #[error("{0}")]
    Wrong(String),
}

/// A schema that is ready to be held against values.
pub struct Schema {
    value: Value,
    schemas: Schemas,
    index: SchemaIndex,
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Schema").field(&self.value).finish()
    }
}

impl Schema {
    /// Reads a schema: draft 2020-12 where it does not say which.
    ///
    /// # Errors
    /// It is none, or not complete in itself.
    pub fn read(value: &Value) -> Result<Self, Unusable> {
        if !value.is_object() && !value.is_boolean() {
            return Err(Unusable::Wrong("a schema is a JSON object".to_owned()));
        }
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        compiler.use_loader(Box::new(Nothing));
        compiler.add_resource(PLACE, value.clone()).map_err(|error| unusable(&error))?;
        let index = compiler.compile(PLACE, &mut schemas).map_err(|error| unusable(&error))?;
        Ok(Self { value: value.clone(), schemas, index })
    }

    /// What is wrong with a value: where, as a JSON pointer, and what. Nothing when it satisfies the schema.
    #[must_use]
    pub fn faults(&self, value: &Value) -> Vec<String> {
        let Err(error) = self.schemas.validate(value, self.index) else { return Vec::new() };
        let mut faults = Vec::new();
        leaves(&error, &mut faults);
        faults
    }

    /// The schema as a part of another one, at this JSON pointer there.
    #[must_use]
    pub fn embedded_at(&self, pointer: &str) -> Value {
        embed::at(&self.value, pointer)
    }
}

/// Loads nothing.
struct Nothing;

impl UrlLoader for Nothing {
    fn load(&self, _: &str) -> Result<Value, Box<dyn Error>> {
        Err("nothing is fetched".into())
    }
}

fn unusable(error: &CompileError) -> Unusable {
    let shown = |url: &str| url.strip_prefix(PLACE).unwrap_or(url).to_owned();
    match error {
        CompileError::LoadUrlError { url, .. } | CompileError::UnsupportedUrlScheme { url } => {
            Unusable::Outside(shown(url))
        }
        CompileError::ValidationError { src, .. } => {
            let mut faults = Vec::new();
            leaves(src, &mut faults);
            Unusable::Wrong(faults.join("; "))
        }
        other => Unusable::Wrong(other.to_string().replace(PLACE, "")),
    }
}

/// The faults that have no others beneath them.
fn leaves(error: &ValidationError<'_, '_>, faults: &mut Vec<String>) {
    if faults.len() >= FAULTS {
        return;
    }
    if error.causes.is_empty() {
        let place = error.instance_location.to_string();
        let place = if place.is_empty() { "at the top".to_owned() } else { format!("at {place}") };
        let fault = format!("{place}: {}", error.kind);
        faults.push(fault.chars().filter(|letter| !letter.is_control()).take(FAULT_CHARS).collect());
    }
    error.causes.iter().for_each(|cause| leaves(cause, faults));
}

#[cfg(test)]
mod tests;
