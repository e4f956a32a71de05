//! The shapes of secrets that nobody told us.
//!
//! Each shape has an anchor, a few fixed bytes that are rare in other text; where one is found, the bytes around it are judged. A
//! judgement looks at a bounded number of bytes and depends on the text alone, not on how it is cut into chunks.
//!
//! The prefixes are those that the providers document or that scanners of repositories look for.

use super::class::{self, Class};

/// What an anchor begins.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// A prefix, and then a run of characters.
    Prefixed(&'static Prefixed),
    /// A JSON web token (RFC 7519): its header is base64 of `{"`.
    WebToken,
    /// The word of RFC 6750, and a token behind it.
    Bearer,
    /// The first line of a private key (RFC 7468).
    KeyBlock,
    /// The same in a program's text, which may name that line without having a key, or have one in quotes.
    KeyInSource,
    /// The name of a parameter in a URL, whose value is the secret.
    Parameter {
        /// What is written instead of the value.
        label: &'static str,
    },
    /// The end of a URL's scheme; a password may follow.
    Authority,
}

/// A key that is told by how it begins.
#[derive(Debug)]
pub struct Prefixed {
    /// How it begins.
    pub prefix: &'static str,
    /// What is written instead.
    pub label: &'static str,
    /// What it consists of behind the prefix.
    pub class: Class,
    /// Fewest characters behind the prefix.
    pub min: usize,
    /// What tells it from words that happen to begin so.
    pub doubt: Doubt,
}

/// How sure a prefix is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// Nothing else is written so.
    None,
    /// It may be inside a word or an encoding, so it counts only where a word begins.
    Inside,
    /// It may also begin words, so what follows must have digits or mixed case.
    Words,
    /// It may also begin words with hyphens, so there must be a long piece without any.
    Hyphens,
}

const fn prefixed(prefix: &'static str, label: &'static str, class: Class, min: usize, doubt: Doubt) -> Prefixed {
    Prefixed { prefix, label, class, min, doubt }
}

static PREFIXED: [Prefixed; 32] = [
    prefixed("sk-ant-", "[secret:anthropic-key]", class::TOKEN, 16, Doubt::Words),
    prefixed("sk-or-", "[secret:openrouter-key]", class::TOKEN, 16, Doubt::Words),
    prefixed("sk-proj-", "[secret:openai-key]", class::TOKEN, 16, Doubt::Words),
    prefixed("sk-svcacct-", "[secret:openai-key]", class::TOKEN, 16, Doubt::Words),
    prefixed("sk-admin-", "[secret:openai-key]", class::TOKEN, 16, Doubt::Words),
    prefixed("sk-", "[secret:sk-key]", class::TOKEN, 16, Doubt::Hyphens),
    prefixed("csk-", "[secret:cerebras-key]", class::ALNUM, 20, Doubt::Words),
    prefixed("gsk_", "[secret:groq-key]", class::ALNUM, 20, Doubt::Words),
    prefixed("xai-", "[secret:xai-key]", class::ALNUM, 20, Doubt::Words),
    prefixed("AIza", "[secret:google-key]", class::TOKEN, 30, Doubt::Inside),
    prefixed("ya29.", "[secret:google-token]", class::TOKEN, 20, Doubt::Inside),
    prefixed("ghp_", "[secret:github-token]", class::ALNUM, 20, Doubt::None),
    prefixed("gho_", "[secret:github-token]", class::ALNUM, 20, Doubt::None),
    prefixed("ghu_", "[secret:github-token]", class::ALNUM, 20, Doubt::None),
    prefixed("ghs_", "[secret:github-token]", class::ALNUM, 20, Doubt::None),
    prefixed("ghr_", "[secret:github-token]", class::ALNUM, 20, Doubt::None),
    prefixed("github_pat_", "[secret:github-token]", class::WORD, 20, Doubt::None),
    prefixed("glpat-", "[secret:gitlab-token]", class::TOKEN, 16, Doubt::None),
    prefixed("xoxb-", "[secret:slack-token]", class::TOKEN, 10, Doubt::None),
    prefixed("xoxp-", "[secret:slack-token]", class::TOKEN, 10, Doubt::None),
    prefixed("xoxa-", "[secret:slack-token]", class::TOKEN, 10, Doubt::None),
    prefixed("xoxr-", "[secret:slack-token]", class::TOKEN, 10, Doubt::None),
    prefixed("xoxs-", "[secret:slack-token]", class::TOKEN, 10, Doubt::None),
    prefixed("xoxe-", "[secret:slack-token]", class::TOKEN, 10, Doubt::None),
    prefixed("xapp-", "[secret:slack-token]", class::TOKEN, 20, Doubt::Words),
    prefixed("AKIA", "[secret:aws-key-id]", class::UPPER, 16, Doubt::Inside),
    prefixed("npm_", "[secret:npm-token]", class::ALNUM, 30, Doubt::Inside),
    prefixed("hf_", "[secret:huggingface-token]", class::ALNUM, 20, Doubt::Words),
    prefixed("pypi-", "[secret:pypi-token]", class::TOKEN, 50, Doubt::Words),
    prefixed("sk_live_", "[secret:stripe-key]", class::ALNUM, 16, Doubt::None),
    prefixed("rk_live_", "[secret:stripe-key]", class::ALNUM, 16, Doubt::None),
    prefixed("dop_v1_", "[secret:digitalocean-token]", class::ALNUM, 30, Doubt::None),
];

/// Names of parameters whose values are secrets; a longer name may end so, as `access_token` does.
const PARAMETERS: [(&str, &str); 6] = [
    ("password=", "[secret:password]"),
    ("passwd=", "[secret:password]"),
    ("token=", "[secret:token]"),
    ("secret=", "[secret:secret]"),
    ("api_key=", "[secret:api-key]"),
    ("apikey=", "[secret:api-key]"),
];

/// Every anchor and what it begins. Words of no fixed case are there in three.
pub fn anchors() -> Vec<(String, Shape)> {
    let mut anchors = formats(Shape::KeyBlock);
    anchors.push(("://".to_owned(), Shape::Authority));
    let parameters = PARAMETERS.iter().map(|(name, label)| (*name, Shape::Parameter { label }));
    for (word, shape) in parameters.chain([("bearer", Shape::Bearer)]) {
        let (first, rest) = word.split_at(1);
        let capital = format!("{}{rest}", first.to_ascii_uppercase());
        anchors.extend([word.to_owned(), capital, word.to_ascii_uppercase()].map(|text| (text, shape)));
    }
    anchors
}

/// Those that have a format of their own, wherever they stand: no words, which programs have for other things.
pub fn formats(key: Shape) -> Vec<(String, Shape)> {
    let mut anchors: Vec<(String, Shape)> =
        PREFIXED.iter().map(|row| (row.prefix.to_owned(), Shape::Prefixed(row))).collect();
    anchors.push(("eyJ".to_owned(), Shape::WebToken));
    anchors.push(("-----BEGIN".to_owned(), key));
    anchors
}
