//! Query parameters: known names only, each once.

use ouroboros_proto::api::{ApiError, Code};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// Decoded parameters.
#[derive(Debug, Default)]
pub struct Query(BTreeMap<String, String>);

impl Query {
    /// Reads `name=value&…`, percent-encoded.
    ///
    /// # Errors
    /// A name that is not among `known`, one that comes twice, or text that does not decode.
    pub fn parse(raw: &str, known: &[&str]) -> Result<Self, ApiError> {
        let mut found = BTreeMap::new();
        for pair in raw.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (Some(name), Some(value)) = (decode(name), decode(value)) else {
                return Err(bad("", "A query parameter is not percent-encoded UTF-8."));
            };
            if !known.contains(&name.as_str()) {
                let all = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                return Err(bad(&name, &format!("Unknown query parameter {name:?}; known here: {all}.")));
            }
            if found.insert(name.clone(), value).is_some() {
                return Err(bad(&name, &format!("The query parameter {name:?} is there twice.")));
            }
        }
        Ok(Self(found))
    }

    /// A parameter as text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// A parameter of another type.
    ///
    /// # Errors
    /// It does not read as one.
    pub fn value<T: FromStr>(&self, name: &str) -> Result<Option<T>, ApiError>
    where
        T::Err: fmt::Display,
    {
        self.text(name)
            .map(|text| text.parse().map_err(|error| bad(name, &format!("The query parameter {name:?}: {error}."))))
            .transpose()
    }

    /// A parameter that is `true` or `false`; alone it is `true`.
    ///
    /// # Errors
    /// It is something else.
    pub fn flag(&self, name: &str, default: bool) -> Result<bool, ApiError> {
        match self.text(name) {
            None => Ok(default),
            Some("" | "true") => Ok(true),
            Some("false") => Ok(false),
            Some(other) => Err(bad(name, &format!("The query parameter {name:?} is true or false, not {other:?}."))),
        }
    }
}

/// A refusal of one parameter.
pub fn bad(name: &str, message: &str) -> ApiError {
    ApiError::new(Code::BadField, message).detail(serde_json::json!({ "parameter": name }))
}

fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let high = char::from(rest.next()?).to_digit(16)?;
                let low = char::from(rest.next()?).to_digit(16)?;
                u8::try_from(high * 16 + low).ok()?
            }
            plain => plain,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_decode() {
        let query = Query::parse("name=a%20b+c%C3%A9&follow&limit=3", &["name", "follow", "limit"]).unwrap();
        assert_eq!(query.text("name"), Some("a b cé"));
        assert!(query.flag("follow", false).unwrap());
        assert_eq!(query.value::<u32>("limit").unwrap(), Some(3));
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for raw in ["other=1", "name=1&name=2", "name=%zz", "name=%f", "name=%ff", "limit=many"] {
            let result =
                Query::parse(raw, &["name", "limit"]).and_then(|query| query.value::<u32>("limit").map(|_| ()));
            assert_eq!(result.unwrap_err().code, Code::BadField, "{raw}");
        }
    }
}
