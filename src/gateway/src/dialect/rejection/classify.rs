//! The class of a rejection: first by what it says, then by its status.
//!
//! Sources: the error pages of OpenAI (`platform.openai.com/docs/guides/error-codes`), Anthropic (`docs.claude.com/en/api/errors`),
//! Gemini (`ai.google.dev/gemini-api/docs/troubleshooting`), OpenRouter (`openrouter.ai/docs/api-reference/errors`), Ollama
//! (`docs.ollama.com/api/errors`), and the messages of llama.cpp, vLLM and LM Studio.

use super::complaint::Complaint;
use super::{Hint, RejectionClass};
use crate::dialect::{Dialect, anthropic, gemini, ollama, openai_chat, openai_responses};

/// What a rejection means, and what would help.
pub(super) fn classify(dialect: Dialect, status: Option<u16>, complaint: &Complaint) -> (RejectionClass, Option<Hint>) {
    let message = complaint.message.to_lowercase();
    if let Some(hint) = model_is_not_ready(status, &message) {
        let class = if hint == Hint::Pull { RejectionClass::UnknownModel } else { RejectionClass::Overloaded };
        return (class, Some(hint));
    }
    let class = overflow(status, complaint, &message)
        .or_else(|| by_word(complaint))
        .or_else(|| by_sentence(status, &message))
        .or_else(|| unsupported(dialect, status, complaint, &message))
        .unwrap_or_else(|| by_status(status, &message));
    (class, None)
}

fn has(message: &str, marks: &[&str]) -> bool {
    marks.iter().any(|mark| message.contains(mark))
}

/// Local servers: the model is on its way, or has to be fetched.
fn model_is_not_ready(status: Option<u16>, message: &str) -> Option<Hint> {
    if status == Some(503) && has(message, &["loading model", "model is loading", "currently loading"]) {
        return Some(Hint::Loading);
    }
    has(message, &["try pulling it first", "not found, try pulling"]).then_some(Hint::Pull)
}

/// The prompt does not fit. Each server has its own sentence.
fn overflow(status: Option<u16>, complaint: &Complaint, message: &str) -> Option<RejectionClass> {
    const WORDS: [&str; 4] =
        ["context_length_exceeded", "exceed_context_size_error", "model_context_window_exceeded", "request_too_large"];
    const MARKS: [&str; 15] = [
        "maximum context length",
        "prompt is too long",
        "prompt too long",
        "input is too long",
        "exceeds the context window",
        "exceed context limit",
        "exceeds the available context size",
        "exceeds the maximum number of tokens",
        "exceeds the model's maximum context",
        "longer than the model's context length",
        "greater than the context length",
        "reduce the length of the messages",
        "context size has been exceeded",
        "exceeds the context length",
        "exceed the context length",
    ];
    let worded = [&complaint.code, &complaint.kind].into_iter().flatten().any(|word| WORDS.contains(&word.as_str()));
    // A single request above the tokens of a minute never passes, however long one waits.
    let never_passes = status == Some(429) && message.starts_with("request too large");
    if worded || never_passes || status == Some(413) || (status != Some(429) && has(message, &MARKS)) {
        return Some(RejectionClass::ContextOverflow { window: complaint.window.or_else(|| window(message)) });
    }
    None
}

/// The window that a sentence about an overflow names.
fn window(message: &str) -> Option<u64> {
    const BEFORE: [&str; 7] = [
        "maximum context length is ",
        "maximum context length of ",
        "number of tokens allowed (",
        "available context size (",
        "context window of ",
        "context length of only ",
        " > ",
    ];
    BEFORE.into_iter().find_map(|mark| {
        let (_, after) = message.split_once(mark)?;
        let digits = after.chars().take_while(|c| c.is_ascii_digit() || *c == ',').filter(char::is_ascii_digit);
        digits.collect::<String>().parse().ok()
    })
}

/// By the provider's word, which is the most exact thing it says.
fn by_word(complaint: &Complaint) -> Option<RejectionClass> {
    [&complaint.code, &complaint.kind].into_iter().flatten().find_map(|word| {
        Some(match word.as_str() {
            "invalid_api_key"
            | "authentication_error"
            | "permission_error"
            | "API_KEY_INVALID"
            | "UNAUTHENTICATED"
            | "PERMISSION_DENIED"
            | "API_KEY_SERVICE_BLOCKED" => RejectionClass::Auth,
            "exceeded_current_quota_error"
            | "insufficient_quota"
            | "billing_hard_limit_reached"
            | "billing_error"
            | "billing_not_active"
            | "insufficient_balance"
            | "access_terminated" => RejectionClass::Quota,
            "content_policy_violation"
            | "content_filter"
            | "invalid_prompt"
            | "refusal"
            | "moderation_blocked"
            | "cyber_policy_violation"
            | "cyber_policy"
            | "bio_policy" => RejectionClass::Refused,
            "model_not_found" => RejectionClass::UnknownModel,
            "rate_limit_error" | "rate_limit_exceeded" | "rate_limit_reached_error" => RejectionClass::RateLimited,
            "overloaded_error"
            | "api_error"
            | "timeout_error"
            | "server_error"
            | "server_is_overloaded"
            | "UNAVAILABLE"
            | "INTERNAL"
            | "DEADLINE_EXCEEDED"
            | "slow_down" => RejectionClass::Overloaded,
            _ => return None,
        })
    })
}

/// By what the sentence says, where the word and the status say less.
fn by_sentence(status: Option<u16>, message: &str) -> Option<RejectionClass> {
    if has(message, &["credit balance is too low", "insufficient credits", "insufficient balance", "out of credits"]) {
        return Some(RejectionClass::Quota);
    }
    // A quota of zero does not fill up again by waiting.
    if status == Some(429) && has(message, &["limit: 0,", "limit: 0\n"]) {
        return Some(RejectionClass::Quota);
    }
    if has(message, &["api key not valid", "invalid api key", "incorrect api key"]) {
        return Some(RejectionClass::Auth);
    }
    const POLICY: [&str; 5] =
        ["content policy", "usage policies", "usage policy", "content management policy", "flagged as potentially"];
    if has(message, &POLICY) {
        return Some(RejectionClass::Refused);
    }
    let named = has(message, &["is not a valid model", "model not found", "no such model", "unknown model"]);
    let missing = status == Some(404)
        && message.contains("model")
        && has(message, &["not found", "does not exist", "model: ", "not exist", "not supported for"]);
    let no_endpoint = status == Some(404) && message.starts_with("no endpoints found for ");
    (named || missing || no_endpoint).then_some(RejectionClass::UnknownModel)
}

/// A field that the model does not take and we can do without.
fn unsupported(dialect: Dialect, status: Option<u16>, complaint: &Complaint, message: &str) -> Option<RejectionClass> {
    const MARKS: [&str; 14] = [
        "unsupported",
        "not support",
        "n't support",
        "unrecognized",
        "unknown parameter",
        "unknown name",
        "unknown field",
        "not permitted",
        "not allowed",
        "deprecated",
        "not available",
        "not compatible",
        "no longer",
        "unexpected keyword",
    ];
    if !matches!(status, Some(400 | 404 | 422) | None) || !has(message, &MARKS) {
        return None;
    }
    let fields = match dialect {
        Dialect::OpenaiChat => openai_chat::OMITTABLE,
        Dialect::OpenaiResponses => openai_responses::OMITTABLE,
        Dialect::AnthropicMessages => anthropic::OMITTABLE,
        Dialect::Gemini => gemini::OMITTABLE,
        Dialect::Ollama => ollama::OMITTABLE,
    };
    let param = complaint.param.as_deref().unwrap_or_default();
    let named = fields.iter().find(|field| param == **field || param.starts_with(&format!("{field}.")));
    let said = || first_named(fields, message);
    let field = named.copied().or_else(said)?;
    // The field is fine and the word in it is not: there are tamer words.
    let word = field.starts_with("reasoning") && (complaint.code.as_deref() == Some("unsupported_value"));
    Some(RejectionClass::UnsupportedField(if word { format!("{field}=extreme") } else { field.to_owned() }))
}

/// The field that the sentence names first, as a word of its own; the longest of those that begin at one place.
fn first_named<'a>(fields: &[&'a str], message: &str) -> Option<&'a str> {
    let inside = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let found = |field: &&'a str| {
        let lower = field.to_lowercase();
        message.match_indices(&lower).find_map(|(at, word)| {
            let before = message.get(..at).and_then(|text| text.chars().next_back());
            let after = message.get(at.saturating_add(word.len())..).and_then(|text| text.chars().next());
            (!before.is_some_and(inside) && !after.is_some_and(inside)).then_some(at)
        })
    };
    let hits = fields.iter().filter_map(|field| Some((found(field)?, std::cmp::Reverse(field.len()), *field)));
    hits.min().map(|(_, _, field)| field)
}

fn by_status(status: Option<u16>, message: &str) -> RejectionClass {
    match status {
        Some(401 | 403) => RejectionClass::Auth,
        Some(402) => RejectionClass::Quota,
        Some(404) if message.contains("model") => RejectionClass::UnknownModel,
        Some(429) => RejectionClass::RateLimited,
        Some(501 | 505) => RejectionClass::BadRequest,
        Some(408 | 409 | 425 | 500..) => RejectionClass::Overloaded,
        Some(_) => RejectionClass::BadRequest,
        // An error inside a stream that does not say what it is: the provider had taken the request.
        None => RejectionClass::Overloaded,
    }
}
