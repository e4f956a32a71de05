//! What is asked for, and what comes of it.

use crate::origin::Origin;
use serde::{Deserialize, Serialize};

/// Bytes of an answer as JSON, at most: whoever reads one may stop there.
pub const ANSWER_BYTES: usize = 64 << 20;

/// Bytes of a page that are read when nothing else is said, and at most; as they come, and unpacked.
pub const PAGE_BYTES: u64 = 5 << 20;

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The address, as the model wrote it.
    pub url: String,
    /// Bytes to read at most; never more than [`PAGE_BYTES`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    /// Whether a page in HTML is given as it is written, and not as one reads it.
    #[serde(default)]
    pub raw: bool,
    /// Origins at private addresses that may be spoken to. Set by the host; a model has no say in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub private_origins: Vec<Origin>,
}

impl Request {
    /// For this address, with nothing else said.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), max_bytes: None, raw: false, private_origins: Vec::new() }
    }
}

/// What comes of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The page.
    Page(Page),
    /// There is none.
    Refused(Refusal),
}

/// A page as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    /// Where it was in the end.
    pub url: String,
    /// What the host says it is; empty when it does not say.
    pub media_type: String,
    /// Its title, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Bytes that were read, unpacked.
    pub bytes: u64,
    /// How often one address led to the next.
    pub redirects: u32,
    /// What it says.
    pub text: String,
    /// Some bytes were not in the page's encoding and are shown as `�`.
    #[serde(default)]
    pub lossy: bool,
    /// The text is longer than it may be, and cut.
    #[serde(default)]
    pub cut: bool,
}

/// Why there is no page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// In a word.
    pub why: Why,
    /// In a sentence, without a full stop.
    pub detail: String,
    /// What the host answered with, where it answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The beginning of the text that came with such an answer: data from there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<String>,
}

impl Refusal {
    /// For this reason.
    #[must_use]
    pub fn new(why: Why, detail: impl Into<String>) -> Self {
        Self { why, detail: detail.into(), status: None, excerpt: None }
    }
}

/// Why there is no page, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// An address of this machine, of a private network, or one that is none of the internet's.
    PrivateAddress,
    /// Not an address of the web, or one with credentials in it.
    BadUrl,
    /// More bytes than may be read.
    TooLarge,
    /// It took too long.
    TimedOut,
    /// One address led to the next too often.
    RedirectedTooOften,
    /// What is there is no text.
    NotText,
    /// The host answered with a status that is no success.
    HttpStatus,
    /// The name of the host leads nowhere.
    Dns,
    /// The host could not be reached, is not who it says, or broke off.
    Unreachable,
    /// The attempt ends.
    Cancelled,
    /// The process that fetches broke down, or could not be started.
    Died,
    /// It leads to another origin, which was not asked for.
    LedElsewhere,
}
