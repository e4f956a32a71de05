//! JSON that is being written: fields stay in the order in which they were put, and a provider's own JSON stays as it was, byte for byte.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// A JSON value.
#[derive(Debug, Clone)]
pub(super) enum Json {
    /// As usual.
    Value(Value),
    /// As it came.
    Raw(Box<RawValue>),
    /// An array.
    List(Vec<Json>),
    /// An object.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// An empty object.
    pub(super) const fn object() -> Self {
        Self::Object(Vec::new())
    }

    /// The JSON text as it is; `None` when it is none.
    pub(super) fn raw(text: &str) -> Option<Self> {
        RawValue::from_string(text.to_owned()).ok().map(Self::Raw)
    }

    /// With this field last; a field of that name is replaced. Only objects have fields.
    #[must_use]
    pub(super) fn with(mut self, name: &str, value: impl Into<Self>) -> Self {
        self.put(name, value);
        self
    }

    /// With this field, if there is a value.
    #[must_use]
    pub(super) fn with_some(self, name: &str, value: Option<impl Into<Self>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Sets a field. Only objects have fields.
    pub(super) fn put(&mut self, name: &str, value: impl Into<Self>) {
        if let Self::Object(fields) = self {
            let value = value.into();
            match fields.iter_mut().find(|(field, _)| field == name) {
                Some((_, place)) => *place = value,
                None => fields.push((name.to_owned(), value)),
            }
        }
    }

    /// Sets a field as it is, or the fields in it when both are objects.
    pub(super) fn merge(&mut self, name: &str, value: &Value) {
        let Self::Object(fields) = self else { return };
        let place = fields.iter_mut().find(|(field, _)| field == name).map(|(_, place)| place);
        match (place, value) {
            (Some(place @ Self::Object(_)), Value::Object(inner)) => {
                for (name, value) in inner {
                    place.merge(name, value);
                }
            }
            (Some(place), value) => *place = Self::Value(value.clone()),
            (None, value) => fields.push((name.to_owned(), Self::Value(value.clone()))),
        }
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Value(value) => value.serialize(serializer),
            Self::Raw(raw) => raw.serialize(serializer),
            Self::List(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    list.serialize_element(item)?;
                }
                list.end()
            }
            Self::Object(fields) => {
                let mut object = serializer.serialize_map(Some(fields.len()))?;
                for (name, value) in fields {
                    object.serialize_entry(name, value)?;
                }
                object.end()
            }
        }
    }
}

impl From<Value> for Json {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::Value(Value::from(text))
    }
}

impl From<String> for Json {
    fn from(text: String) -> Self {
        Self::Value(Value::from(text))
    }
}

impl From<bool> for Json {
    fn from(flag: bool) -> Self {
        Self::Value(Value::from(flag))
    }
}

impl From<u32> for Json {
    fn from(number: u32) -> Self {
        Self::Value(Value::from(number))
    }
}

impl From<u64> for Json {
    fn from(number: u64) -> Self {
        Self::Value(Value::from(number))
    }
}

impl From<Vec<Self>> for Json {
    fn from(items: Vec<Self>) -> Self {
        Self::List(items)
    }
}

/// `key: value` pairs as an object, in that order.
macro_rules! fields {
    ($($name:literal : $value:expr),* $(,)?) => {
        $crate::dialect::json::Json::Object(vec![$(($name.to_owned(), $crate::dialect::json::Json::from($value))),*])
    };
}
pub(super) use fields;

/// Thousandths as a JSON number.
pub(super) fn milli(thousandths: u32) -> Json {
    Json::Value(Value::from(f64::from(thousandths) / 1_000.0))
}

/// The text for a URL's path or query: everything but unreserved characters and those in `keep` as `%XX`.
pub(super) fn percent(text: &str, keep: &[u8]) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || keep.contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}
