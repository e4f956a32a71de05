//! What a model wrote as arguments, read into a tool's own type.

use crate::outcome::{Attempt, Code, Outcome};
use serde::de::DeserializeOwned;
use serde_json::json;

/// Arguments of one tool.
pub trait Arguments: DeserializeOwned {
    /// Arguments that work, as JSON: shown to a model whose own do not.
    const EXAMPLE: &'static str;
}

/// Reads the arguments of a call. No text at all means no arguments; what may be left out may also be `null`, since some
/// providers make models write every field.
///
/// # Errors
/// They are not JSON, too long, or not what the tool takes: an argument error that names the field.
pub fn read<A: Arguments>(text: &str, max: usize) -> Attempt<A> {
    if text.len() > max {
        return Err(bad::<A>(".", &format!("they have {} bytes, at most {max} are taken", text.len())));
    }
    let text = if text.trim().is_empty() { "{}" } else { text };
    if !text.trim_start().starts_with('{') {
        // Otherwise a list would be taken for fields in their order.
        return Err(bad::<A>(".", "they are not a JSON object"));
    }
    let mut json = serde_json::Deserializer::from_str(text);
    let arguments = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let field = error.path().to_string();
        bad::<A>(&field, &error.into_inner().to_string())
    })?;
    json.end().map_err(|error| bad::<A>(".", &error.to_string()))?;
    Ok(arguments)
}

/// Characters of a field's name, and of what is wrong with it, that are told.
const TOLD_CHARS: usize = 500;

fn bad<A: Arguments>(field: &str, why: &str) -> Outcome {
    let cut = |text: &str| text.chars().take(TOLD_CHARS).collect::<String>();
    let (field, why) = (cut(field), cut(why));
    let at = if field == "." { String::new() } else { format!(" at `{field}`") };
    let text = format!("The arguments are wrong{at}: {why}.\nNothing was done. Example: {}", A::EXAMPLE);
    Outcome::not_ok(Code::BadArguments, text).with(json!({ "field": field }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Deserialize, Debug)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        #[expect(dead_code)]
        line: usize,
    }

    #[derive(Deserialize, Debug)]
    #[serde(deny_unknown_fields)]
    struct Sample {
        #[expect(dead_code)]
        path: String,
        #[serde(default)]
        #[expect(dead_code)]
        edits: Vec<Inner>,
    }

    impl Arguments for Sample {
        const EXAMPLE: &'static str = r#"{"path":"a.rs"}"#;
    }

    #[test]
    fn wrong_arguments_name_the_field_what_was_expected_and_an_example() {
        for (text, words) in [
            ("", "missing field `path`"),
            ("{", "EOF"),
            (r#"["a"]"#, "they are not a JSON object"),
            (r#"{"path":"a","line":1}"#, "unknown field `line`, expected `path` or `edits`"),
            (r#"{"path":7}"#, "at `path`: invalid type: integer `7`, expected a string"),
            (r#"{"path":"a","edits":[{"line":"x"}]}"#, "at `edits[0].line`"),
            (r#"{"path":"a"} {}"#, "trailing characters"),
        ] {
            let outcome = read::<Sample>(text, 1_000).unwrap_err();
            assert_eq!(outcome.code, Some(Code::BadArguments));
            assert!(outcome.text.contains(words), "{text}: {}", outcome.text);
            assert!(outcome.text.contains(Sample::EXAMPLE));
        }
        let long = format!(r#"{{"path":"a","edits":"{}"}}"#, "x".repeat(900));
        assert!(read::<Sample>(&long, 1_000).unwrap_err().text.len() < 700, "it is not given back");
        assert!(read::<Sample>(r#"{"path":"a"}"#, 5).unwrap_err().text.contains("at most 5"));
        assert!(read::<Sample>(r#"{"path":"a"}"#, 1_000).is_ok());
    }
}
