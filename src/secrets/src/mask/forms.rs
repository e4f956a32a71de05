//! The forms in which a known secret travels: as it is, escaped in JSON, encoded in a URL, and inside base64.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Characters that encoders of JSON escape beyond what they must: a solidus by some, what HTML gives a meaning by others.
const JSON_EXTRAS: [&str; 4] = ["", "/", "<>&", "<>&'+`\""];

/// Characters other than letters and digits that encoders of URLs leave as they are: RFC 3986's unreserved ones, those of
/// JavaScript's component and URI functions and of HTML forms, and those of the URL standard's userinfo and query.
const URL_KEPT: [&str; 6] =
    ["-_.~", "-_.~!'()*", "-_.~!'()*;/?:@&=+$,#", "-_.*", "-_.~!$%&'()*+,", "-_.~!$%&()*+,/:;=?@[\\]^`{|}"];

/// Every form of the secret, itself included, without doubles.
pub fn of(secret: &str) -> BTreeSet<Vec<u8>> {
    let mut forms = BTreeSet::from([secret.as_bytes().to_vec()]);
    for extras in JSON_EXTRAS {
        for upper in [false, true] {
            let once = json(secret, extras, upper);
            // A text in a text: a tool's answer quoted in a request, for one.
            forms.insert(json(&once, extras, upper).into_bytes());
            forms.insert(once.into_bytes());
        }
    }
    for kept in URL_KEPT {
        for upper in [false, true] {
            forms.insert(url(secret, kept, upper).into_bytes());
        }
    }
    for before in 0..3 {
        forms.extend(base64(secret, before));
    }
    forms
}

fn json(text: &str, extras: &str, upper: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '/' if extras == "/" => out.push_str("\\/"),
            _ if extras.contains(character) => push_unicode(&mut out, character, upper),
            '"' | '\\' => out.extend(['\\', character]),
            _ => out.push(character),
        }
    }
    out
}

fn push_unicode(out: &mut String, character: char, upper: bool) {
    let number = u32::from(character);
    // Writing to a String does not fail.
    let _ = if upper { write!(out, "\\u{number:04X}") } else { write!(out, "\\u{number:04x}") };
}

fn url(text: &str, kept: &str, upper: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        let number = u32::from(character);
        let _ = if character.is_ascii_alphanumeric() || kept.contains(character) {
            write!(out, "{character}")
        } else if upper {
            write!(out, "%{number:02X}")
        } else {
            write!(out, "%{number:02x}")
        };
    }
    out
}

/// The characters of base64 that are the secret's alone when `before` bytes, modulo three, stand in front of it: the same whatever
/// surrounds it. What is left of it at either side is less than one byte.
fn base64(secret: &str, before: usize) -> [Vec<u8>; 2] {
    let mut bytes = vec![0; before];
    bytes.extend_from_slice(secret.as_bytes());
    let first = (before * 8).div_ceil(6);
    let end = bytes.len().saturating_mul(8) / 6;
    let part = |encoded: String| encoded.as_bytes().get(first..end).unwrap_or_default().to_vec();
    [part(STANDARD_NO_PAD.encode(&bytes)), part(URL_SAFE_NO_PAD.encode(&bytes))]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(secret: &str, form: &str) -> bool {
        of(secret).contains(form.as_bytes())
    }

    #[test]
    fn json_and_url_forms_are_those_of_real_encoders() {
        let secret = r#"a"b\c/d<e&f=g+h"#;
        assert!(has(secret, secret));
        let inside = |text: &str| {
            let encoded = serde_json::to_string(text).unwrap();
            encoded.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap().to_owned()
        };
        let once = inside(secret);
        assert!(has(secret, &once) && has(secret, &inside(&once)));
        assert!(has(secret, r#"a\"b\\c\/d<e&f=g+h"#));
        assert!(has(secret, r#"a\"b\\c/d\u003ce\u0026f=g+h"#));
        assert!(has(secret, "a%22b%5Cc%2Fd%3Ce%26f%3Dg%2Bh"));
        assert!(has(secret, "a%22b%5cc%2fd%3ce%26f%3dg%2bh"));
    }

    #[test]
    fn base64_of_any_surroundings_contains_a_form() {
        let secret = "tok/en?~>secret";
        let forms = of(secret);
        for before in 0..7 {
            for after in 0..4 {
                let text = format!("{}{secret}{}", "x".repeat(before), "y".repeat(after));
                for encoded in [STANDARD_NO_PAD.encode(&text), URL_SAFE_NO_PAD.encode(&text)] {
                    let found = forms.iter().any(|form| encoded.contains(std::str::from_utf8(form).unwrap()));
                    assert!(found, "{before} {after} {encoded}");
                }
            }
        }
    }

    #[test]
    fn a_plain_key_has_few_forms() {
        assert_eq!(of("sk-0123456789abcdef").len(), 4);
    }
}
