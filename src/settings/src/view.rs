//! The rows of `config list`, as JSON. A secret value is never in them.

use crate::resolve::Origin;
use crate::schema::{ALL, Effect, Key, MASK, Setting, Settings};
use crate::value::Value;
use serde::Serialize;
use serde_json::{Value as Json, json};

/// One setting and its value in force.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The setting.
    pub key: Key,
    /// Its value: a number, a boolean or text; masked when it is secret.
    pub value: Json,
    /// Its value when no source names it; masked when it is secret.
    pub default: Json,
    /// Where the value came from.
    pub origin: Origin,
    /// When a change is in force.
    pub effect: Effect,
    /// Whether the value is masked.
    pub secret: bool,
    /// Whether only the owner may change it.
    pub owner_only: bool,
    /// The word for its shape.
    pub kind: &'static str,
    /// What is allowed, in words.
    pub allowed: String,
    /// Its environment variable.
    pub variable: String,
    /// What it is for.
    pub description: &'static str,
}

impl Settings {
    /// One row for each setting, in the order of the documentation.
    #[must_use]
    pub fn rows(&self) -> Vec<Row> {
        ALL.iter().map(|setting| self.row(setting.key)).collect()
    }

    /// The row of one setting.
    #[must_use]
    pub fn row(&self, key: Key) -> Row {
        let setting = key.setting();
        Row {
            key,
            value: json(&setting, &self.value(key)),
            default: setting.default_value(self.processors).map_or(Json::Null, |value| json(&setting, &value)),
            origin: self.origin(key).clone(),
            effect: setting.effect,
            secret: setting.secret,
            owner_only: setting.owner_only,
            kind: setting.kind.name(),
            allowed: setting.kind.to_string(),
            variable: key.variable(),
            description: setting.description,
        }
    }
}

fn json(setting: &Setting, value: &Value) -> Json {
    match value {
        _ if setting.secret => json!(MASK),
        Value::Integer(number) => json!(number),
        Value::Boolean(yes) => json!(yes),
        Value::Duration(_)
        | Value::Bytes(_)
        | Value::Text(_)
        | Value::Choice(_)
        | Value::Path(_)
        | Value::Address(_)
        | Value::Money(_) => json!(value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::json;
    use crate::schema::{Key, MASK, Setting};
    use crate::value::{Kind, Raw, Value};

    #[test]
    fn a_secret_is_shown_nowhere() {
        let setting = Setting { secret: true, kind: Kind::Text { max: 4 }, ..Key::LogLevel.setting() };
        let value = Value::Text("hush".into());
        assert_eq!(json(&setting, &value), MASK);
        assert_eq!(setting.shown(&value), MASK);
        assert_eq!(setting.read(&Raw::Text("too long".into())).unwrap_err().found, MASK);
    }
}
