//! Small readers of a provider's JSON that forgive what does not matter.

use super::StreamFault;
use serde_json::Value;

/// The JSON of an event.
pub(super) fn json(data: &str) -> Result<Value, StreamFault> {
    serde_json::from_str(data).map_err(|error| malformed(&error))
}

/// What came is not JSON, or not of this shape.
pub(super) fn malformed(error: &serde_json::Error) -> StreamFault {
    StreamFault::Malformed(format!("an event is not what it should be: {error}"))
}

/// A count of tokens: a whole number that is not negative.
pub(super) fn tokens(value: Option<&Value>) -> Option<u64> {
    let value = value?;
    value.as_u64().or_else(|| value.as_number()?.to_string().strip_suffix(".0")?.parse().ok())
}

/// A count of tokens below a field.
pub(super) fn tokens_in(value: &Value, field: &str, name: &str) -> Option<u64> {
    tokens(value.get(field)?.get(name))
}

/// A text, if there is one with something in it.
pub(super) fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str().filter(|text| !text.is_empty())
}

/// A value, if there is one that says something.
pub(super) fn some(value: Option<&Value>) -> Option<&Value> {
    value.filter(|value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    })
}
