//! One task or a list, told apart without reading twice, and a list that does not grow past its bound.

use ouroboros_proto::api::SubmitOne;
use ouroboros_proto::limits;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use std::fmt;

/// [`SubmitMany`](ouroboros_proto::api::SubmitMany), read with a bound.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubmitBounded {
    /// The tasks.
    pub tasks: Bounded,
}

/// The first tasks of a list, and how many there are.
#[derive(Debug)]
pub struct Bounded {
    /// No more than one request may have.
    pub tasks: Vec<SubmitOne>,
    /// How many the list has.
    pub found: u64,
}

/// Whether a body is a list of tasks: `tasks` is its only field, so it is the first.
#[must_use]
pub fn is_list(body: &[u8]) -> bool {
    let body = body.trim_ascii_start();
    body.strip_prefix(b"{").is_some_and(|rest| rest.trim_ascii_start().starts_with(b"\"tasks\""))
}

impl<'de> Deserialize<'de> for Bounded {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = Bounded;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of tasks")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Bounded, A::Error> {
                let mut tasks = Vec::new();
                let mut found = 0_u64;
                while found < limits::TASKS_PER_REQUEST.max {
                    let Some(task) = list.next_element()? else { return Ok(Bounded { tasks, found }) };
                    tasks.push(task);
                    found += 1;
                }
                while list.next_element::<IgnoredAny>()?.is_some() {
                    found += 1;
                }
                Ok(Bounded { tasks, found })
            }
        }
        deserializer.deserialize_seq(List)
    }
}
