//! What OpenRouter says afterwards about a request it served. Source: OpenRouter's API reference, "Get a generation".

use super::decimal;
use ouroboros_proto::kind::NanoDollars;
use serde::Deserialize;
use serde_json::value::RawValue;

/// Where it is asked, appended to the base URL, with the request's id. `None` for what cannot be an id.
#[must_use]
pub fn generation_path(request: &str) -> Option<String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (!request.is_empty() && request.bytes().all(plain)).then(|| format!("/generation?id={request}"))
}

/// What the request cost, to the last digit.
#[must_use]
pub fn generation_cost(body: &[u8]) -> Option<NanoDollars> {
    #[derive(Deserialize)]
    struct Answer<'a> {
        #[serde(borrow)]
        data: Data<'a>,
    }
    #[derive(Deserialize)]
    struct Data<'a> {
        #[serde(borrow)]
        total_cost: &'a RawValue,
    }
    let answer: Answer<'_> = serde_json::from_slice(body).ok()?;
    decimal::dollars(answer.data.total_cost.get())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_is_read_digit_for_digit() {
        let cost =
            |text: &str| generation_cost(format!(r#"{{"data":{{"id":"gen-1","total_cost":{text}}}}}"#).as_bytes());
        assert_eq!(cost("0.00014"), Some(NanoDollars::new(140_000)));
        assert_eq!(cost("1.4e-05"), Some(NanoDollars::new(14_000)));
        assert_eq!(cost("null"), None);
        assert_eq!(generation_cost(b"{}"), None);
    }

    #[test]
    fn an_id_never_changes_the_path() {
        assert_eq!(generation_path("gen-1_a.b").as_deref(), Some("/generation?id=gen-1_a.b"));
        assert_eq!(generation_path("a&b"), None);
        assert_eq!(generation_path(""), None);
    }
}
