//! Files that people work on: tokens of known formats and private keys are hidden, everything else passes.
//!
//! What a log is held against beyond that (passwords in URLs, parameters, `Bearer`) is what programs are made of, so it is not
//! looked for here. A mark has as many line ends as what it stands for, so lines keep their numbers.

use super::table::{Shape, formats};
use super::unknown::Unknown;
use aho_corasick::BuildError;
use std::borrow::Cow;

/// Hides secrets in the text of files.
pub struct Source(Unknown);

impl Source {
    /// Compiles the formats.
    ///
    /// # Errors
    /// They do not fit the automaton, which they do.
    pub fn new() -> Result<Self, BuildError> {
        Ok(Self(Unknown::of(&formats(Shape::KeyInSource), true)?))
    }

    /// The text without secrets; nothing is copied when there are none.
    #[must_use]
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.0.scan(&mut None, text.as_bytes(), 0, true).masked {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            // What is replaced is ASCII, so the rest is text as before.
            Cow::Owned(bytes) => Cow::Owned(match String::from_utf8(bytes) {
                Ok(text) => text,
                Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mask(text: &str) -> String {
        Source::new().unwrap().mask(text).into_owned()
    }

    fn key(line: &str, lines: usize) -> String {
        format!("-----BEGIN RSA PRIVATE KEY-----\n{}-----END RSA PRIVATE KEY-----", format!("{line}\n").repeat(lines))
    }

    const LINE: &str = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";

    #[test]
    fn tokens_of_known_formats_are_hidden() {
        for (token, mark) in [
            ("sk-ant-api03-Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MA-x_y", "[secret:anthropic-key]"),
            ("sk-proj-Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MA", "[secret:openai-key]"),
            ("sk-0123456789abcdef0123456789abcdef", "[secret:sk-key]"),
            ("ghp_0123456789abcdefABCDEF0123456789abcd", "[secret:github-token]"),
            ("github_pat_11ABCDEFG0aBcDeFgHiJkL_mNoPqRsTuVwXyZ", "[secret:github-token]"),
            ("AKIAIOSFODNN7EXAMPLE", "[secret:aws-key-id]"),
            ("xoxb-123456789012-AbCdEfGhIjKl", "[secret:slack-token]"),
            ("AIzaSyA1234567890abcdefghijklmnopqrstuv", "[secret:google-key]"),
            ("glpat-AbCdEfGhIjKlMnOpQrSt", "[secret:gitlab-token]"),
            ("npm_0123456789abcdefABCDEF0123456789abcd", "[secret:npm-token]"),
            ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P", "[secret:web-token]"),
        ] {
            assert_eq!(mask(&format!("let key = \"{token}\"; // é\n")), format!("let key = \"{mark}\"; // é\n"));
            assert_eq!(mask(&format!("KEY={token}")), format!("KEY={mark}"));
        }
    }

    #[test]
    fn hashes_identifiers_images_and_words_of_programs_pass() {
        let image =
            format!("data:image/png;base64,iVBORw0KGgo{}==", "AIzask-eyJAKIA0123456789abcdefghij".replace('-', "+"));
        for text in [
            "da39a3ee5e6b4b0d3255bfef95601890afd80709",
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            "integrity sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==",
            "018f4e2a-7b3c-7c1d-9e2f-0123456789ab",
            "disk-usage-of-the-whole-machine task-0123456789abcdef0 risk-based-authentication-2024",
            "sk-learn-is-not-a-key-but-a-library-of-2011 const sk_live = 1; npm_config_registry hf_hub_download",
            "Authorization: Bearer ${token} https://user:pass@example.org/?token=abc&password=def",
            "eyJ2ZXJzaW9uIjozLCJzb3VyY2VzIjpbImEuanMiXX0",
            "const BEGIN: &str = \"-----BEGIN PRIVATE KEY-----\";\nconst END: &str = \"-----END PRIVATE KEY-----\";",
            "if line == '-----BEGIN RSA PRIVATE KEY-----' or line == '-----END RSA PRIVATE KEY-----':",
            "A key begins with -----BEGIN PRIVATE KEY----- and nothing else, says the manual of it.",
            "-----BEGIN CERTIFICATE-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ\n-----END CERTIFICATE-----",
            image.as_str(),
        ] {
            assert_eq!(mask(text), text);
        }
    }

    #[test]
    fn keys_are_hidden_as_a_whole_and_lines_keep_their_numbers() {
        let text = format!("a\n{}\nb\n", key(LINE, 20));
        assert_eq!(mask(&text), format!("a\n[secret:private-key]{}\nb\n", "\n".repeat(21)));
        let quoted = format!("k = \"\"\"{}\"\"\";\nb", key(LINE, 2));
        assert_eq!(mask(&quoted), "k = \"\"\"[secret:private-key]\n\n\n\"\"\";\nb");
        let json = format!("{{\"key\":\"{}\",\"a\":1}}", key(LINE, 3).replace('\n', "\\n"));
        assert_eq!(mask(&json), "{\"key\":\"[secret:private-key]\",\"a\":1}");
        let headed = format!(
            "-----BEGIN EC PRIVATE KEY-----\r\nProc-Type: 4,ENCRYPTED\r\nDEK-Info: AES-128-CBC,00\r\n\r\n{LINE}\r\n-----END EC PRIVATE KEY-----\r\n"
        );
        assert_eq!(mask(&headed), "[secret:private-key]\n\n\n\n\n\r\n");
    }

    #[test]
    fn keys_in_strings_that_are_put_together_and_keys_without_an_end_are_hidden() {
        let put: String = key(LINE, 20).split('\n').map(|line| format!("\"{line}\\n\" +\n")).collect();
        let masked = mask(&format!("x =\n{put}\"\";\n"));
        assert!(!masked.contains("MIIEv") && masked.contains("[secret:private-key]"), "{masked}");
        assert_eq!(masked.lines().count(), 24);
        let cut = format!("-----BEGIN PRIVATE KEY-----\n{LINE}\n{LINE}\n");
        assert!(!mask(&cut).contains("MIIEv"));
    }

    #[test]
    fn masking_again_changes_nothing() {
        let once = mask(&format!("t=ghp_0123456789abcdefABCDEF0123456789abcd\n{}\nrest\n", key(LINE, 3)));
        assert_eq!(mask(&once), once);
    }
}
