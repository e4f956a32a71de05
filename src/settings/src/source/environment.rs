//! `OUROBOROS_*` variables.

use super::Reading;
use crate::problem::{Place, UnknownKey, Warning};
use crate::schema::{ALL, PREFIX};
use crate::value::Raw;
use std::ffi::OsString;

/// Names that start as settings do and are none: where everything is, the log filter of developers.
const RESERVED: [&str; 5] =
    ["OUROBOROS_HOME", "OUROBOROS_LOG", "OUROBOROS_LAUNCHER_PID", "OUROBOROS_READY_FD", "OUROBOROS_UNPROVEN"];

/// What names that only tests use start with.
const RESERVED_PREFIX: &str = "OUROBOROS_TEST_";

/// Name and value of an environment variable.
pub type Variable = (OsString, OsString);

/// Reads the variables that name settings; others are passed over.
///
/// An empty variable counts as not set. One that starts as ours and names no setting is a warning.
pub fn read<'a>(variables: impl IntoIterator<Item = &'a Variable>) -> Reading {
    let mut reading = Reading::default();
    for (name, value) in variables {
        let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else { continue };
        if RESERVED.contains(&name) || name.starts_with(RESERVED_PREFIX) || value.is_empty() {
            continue;
        }
        let place = Place::Environment(name.to_owned());
        match ALL.iter().find(|setting| setting.key.variable() == name) {
            Some(setting) => {
                let raw = value.to_str().map_or(Raw::Other("text that is not UTF-8"), |text| Raw::Untyped(text.into()));
                reading.add(setting.key, &raw, place);
            }
            None => reading.warnings.push(Warning { place, unknown: UnknownKey::variable(name) }),
        }
    }
    reading
}
