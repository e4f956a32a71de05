//! A small language for JSON shapes.

use serde_json::{Map, Value, json};

/// What a field holds.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// Text.
    Text,
    /// A whole number that is not negative.
    Count,
    /// Yes or no.
    Flag,
    /// A time.
    Time,
    /// A UUID.
    Id,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Another shape.
    Ref(&'static str),
    /// A list.
    List(&'static Kind),
    /// Text by name.
    Map,
    /// Anything.
    Any,
}

/// A field of an object.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// How it may be missing.
    pub presence: Presence,
    /// What it means.
    pub about: &'static str,
}

/// How a field may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// Always there.
    Always,
    /// There, perhaps as null.
    Nullable,
    /// Left out when it says nothing.
    Optional,
}

/// A field that is always there.
pub const fn always(name: &'static str, kind: Kind, about: &'static str) -> Field {
    Field { name, kind, presence: Presence::Always, about }
}

/// A field that may be null.
pub const fn nullable(name: &'static str, kind: Kind, about: &'static str) -> Field {
    Field { name, kind, presence: Presence::Nullable, about }
}

/// A field that may be left out.
pub const fn optional(name: &'static str, kind: Kind, about: &'static str) -> Field {
    Field { name, kind, presence: Presence::Optional, about }
}

/// Whether an object may have other fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Openness {
    /// A request: other fields are refused.
    Closed,
    /// An answer: it may gain fields.
    Open,
}

/// An object.
#[must_use]
pub fn object(about: &str, openness: Openness, fields: &[Field]) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for field in fields {
        let mut schema = kind(field.kind);
        if field.presence == Presence::Nullable {
            schema = json!({ "anyOf": [schema, { "type": "null" }] });
        }
        if let Value::Object(map) = &mut schema {
            map.insert("description".to_owned(), field.about.into());
        }
        properties.insert(field.name.to_owned(), schema);
        if field.presence != Presence::Optional {
            required.push(field.name);
        }
    }
    let mut schema = json!({ "type": "object", "description": about, "properties": properties });
    if let Value::Object(map) = &mut schema {
        if !required.is_empty() {
            map.insert("required".to_owned(), required.into());
        }
        if openness == Openness::Closed {
            map.insert("additionalProperties".to_owned(), false.into());
        }
    }
    schema
}

/// What a field holds, as a schema.
#[must_use]
pub fn kind(of: Kind) -> Value {
    match of {
        Kind::Text => json!({ "type": "string" }),
        Kind::Count => json!({ "type": "integer", "minimum": 0 }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Time => json!({ "type": "string", "format": "date-time" }),
        Kind::Id => json!({ "type": "string", "format": "uuid" }),
        Kind::Word(words) => json!({ "type": "string", "enum": words }),
        Kind::Ref(name) => json!({ "$ref": format!("#/components/schemas/{name}") }),
        Kind::List(item) => json!({ "type": "array", "items": kind(*item) }),
        Kind::Map => json!({ "type": "object", "additionalProperties": { "type": "string" } }),
        Kind::Any => json!({}),
    }
}
