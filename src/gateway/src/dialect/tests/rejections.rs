//! What providers say when they refuse, in their own shapes.

use crate::dialect::{Dialect, Hint, RejectionClass};
use ouroboros_proto::kind::Millis;

fn class(dialect: Dialect, status: u16, body: &str) -> RejectionClass {
    dialect.rejection(status, &|_| None, body.as_bytes()).class
}

#[test]
fn each_provider_is_understood() {
    use RejectionClass::{Auth, BadRequest, ContextOverflow, Overloaded, Quota, RateLimited, Refused, UnknownModel};
    let overflow = |window| ContextOverflow { window };
    let field = |name: &str| RejectionClass::UnsupportedField(name.to_owned());
    let (chat, responses) = (Dialect::OpenaiChat, Dialect::OpenaiResponses);
    let (anthropic, gemini, ollama) = (Dialect::AnthropicMessages, Dialect::Gemini, Dialect::Ollama);
    for (dialect, status, body, expected) in [
        (
            chat,
            401,
            r#"{"error":{"message":"Incorrect API key provided: sk-a***z","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}"#,
            Auth,
        ),
        (
            chat,
            429,
            r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#,
            Quota,
        ),
        (
            chat,
            429,
            r#"{"error":{"message":"Rate limit reached for gpt-5 on requests per min","type":"requests","code":"rate_limit_exceeded"}}"#,
            RateLimited,
        ),
        (
            chat,
            429,
            r#"{"error":{"message":"Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 41000","type":"tokens","code":"rate_limit_exceeded"}}"#,
            overflow(None),
        ),
        (
            chat,
            400,
            r#"{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 130012 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
            overflow(Some(128_000)),
        ),
        (
            chat,
            400,
            r#"{"error":{"code":400,"message":"the request exceeds the available context size (4096 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":5000,"n_ctx":4096}}"#,
            overflow(Some(4_096)),
        ),
        (
            chat,
            400,
            r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}"#,
            field("max_tokens"),
        ),
        (
            chat,
            400,
            r#"{"error":{"message":"Unsupported value: 'temperature' does not support 0.7 with this model. Only the default (1) value is supported.","type":"invalid_request_error","param":"temperature","code":"unsupported_value"}}"#,
            field("temperature"),
        ),
        (
            chat,
            400,
            r#"{"error":{"message":"Unsupported value: 'reasoning_effort' does not support 'xhigh' with this model. Supported values are: 'low', 'medium', and 'high'.","param":"reasoning_effort","code":"unsupported_value"}}"#,
            field("reasoning_effort=extreme"),
        ),
        (
            chat,
            400,
            r#"{"error":{"message":"Unsupported parameter: 'tools' is not supported with this model.","param":"tools","code":"unsupported_parameter"}}"#,
            BadRequest,
        ),
        (
            chat,
            404,
            r#"{"error":{"message":"The model `gpt-9` does not exist or you do not have access to it.","type":"invalid_request_error","param":null,"code":"model_not_found"}}"#,
            UnknownModel,
        ),
        (
            chat,
            402,
            r#"{"error":{"code":402,"message":"This request requires more credits, or fewer max_tokens."}}"#,
            Quota,
        ),
        (
            chat,
            403,
            r#"{"error":{"code":403,"message":"Input was flagged","metadata":{"reasons":["violence"],"flagged_input":"…","provider_name":"X"}}}"#,
            Refused,
        ),
        (
            chat,
            502,
            r#"{"error":{"code":502,"message":"Provider returned error","metadata":{"raw":"upstream timed out","provider_name":"X"}}}"#,
            Overloaded,
        ),
        (chat, 400, r#"{"error":{"message":"x is not a valid model ID","code":400}}"#, UnknownModel),
        (chat, 503, r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#, Overloaded),
        (
            chat,
            422,
            r#"{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"stream_options: Extra inputs are not permitted"}]}"#,
            field("stream_options"),
        ),
        (
            responses,
            400,
            r#"{"error":{"message":"Encrypted content is not supported with this model.","type":"invalid_request_error","param":"include","code":null}}"#,
            field("include"),
        ),
        (
            responses,
            400,
            r#"{"error":{"message":"Invalid prompt: your prompt was flagged as potentially violating our usage policy.","type":"invalid_request_error","code":"invalid_prompt"}}"#,
            Refused,
        ),
        (
            anthropic,
            401,
            r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"},"request_id":"req_1"}"#,
            Auth,
        ),
        (
            anthropic,
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210012 tokens > 200000 maximum"}}"#,
            overflow(Some(200_000)),
        ),
        (
            anthropic,
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens`"}}"#,
            overflow(Some(200_000)),
        ),
        (
            anthropic,
            413,
            r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
            overflow(None),
        ),
        (
            anthropic,
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}"#,
            Quota,
        ),
        (
            anthropic,
            404,
            r#"{"type":"error","error":{"type":"not_found_error","message":"model: claude-9"}}"#,
            UnknownModel,
        ),
        (anthropic, 529, r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, Overloaded),
        (
            anthropic,
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\"."}}"#,
            field("thinking.type.enabled"),
        ),
        (
            anthropic,
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"adaptive thinking is not supported on this model"}}"#,
            field("adaptive"),
        ),
        (
            anthropic,
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.0: all messages must have non-empty content"}}"#,
            BadRequest,
        ),
        (
            gemini,
            400,
            r#"{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}"#,
            Auth,
        ),
        (
            gemini,
            429,
            r#"[{"error":{"code":429,"message":"You exceeded your current quota.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"17.5s"}]}}]"#,
            RateLimited,
        ),
        (
            gemini,
            400,
            r#"{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}"#,
            overflow(Some(1_048_576)),
        ),
        (
            gemini,
            404,
            r#"{"error":{"code":404,"message":"models/gemini-9 is not found for API version v1beta, or is not supported for generateContent.","status":"NOT_FOUND"}}"#,
            UnknownModel,
        ),
        (
            gemini,
            503,
            r#"{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}"#,
            Overloaded,
        ),
        (
            gemini,
            400,
            r#"{"error":{"code":400,"message":"Thinking level is not supported for this model.","status":"INVALID_ARGUMENT"}}"#,
            field("thinking"),
        ),
        (ollama, 404, r#"{"error":"model 'qwen9' not found"}"#, UnknownModel),
        (ollama, 400, r#"{"error":"\"llama3.2:1b\" does not support thinking"}"#, field("thinking")),
        (ollama, 400, r#"{"error":"registry.ollama.ai/library/gemma:2b does not support tools"}"#, BadRequest),
        (ollama, 400, r#"{"error":"the input length exceeds the context length"}"#, overflow(None)),
        (chat, 500, "<html>Bad gateway</html>", Overloaded),
        (chat, 400, "", BadRequest),
    ] {
        assert_eq!(class(dialect, status, body), expected, "{dialect:?} {status} {body}");
    }
}

#[test]
fn what_would_help_is_told() {
    let hint = |dialect: Dialect, status, body: &str| dialect.rejection(status, &|_| None, body.as_bytes()).hint;
    assert_eq!(hint(Dialect::OpenaiChat, 503, r#"{"error":{"message":"Loading model"}}"#), Some(Hint::Loading));
    let pull = r#"{"error":"model \"qwen9\" not found, try pulling it first"}"#;
    assert_eq!(hint(Dialect::Ollama, 404, pull), Some(Hint::Pull));
    let header = |name: &str| (name == "x-should-retry").then(|| "false".to_owned());
    assert_eq!(Dialect::AnthropicMessages.rejection(500, &header, b"{}").hint, Some(Hint::NoRetry));
}

#[test]
fn the_wait_is_read_in_all_its_forms() {
    let wait = |headers: &[(&str, &str)]| {
        let find = |name: &str| headers.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned());
        Dialect::OpenaiChat.rejection(429, &find, b"{}").retry_after
    };
    assert_eq!(wait(&[("retry-after", "20")]), Some(Millis::new(20_000)));
    assert_eq!(wait(&[("retry-after", "0.25")]), Some(Millis::new(250)));
    assert_eq!(wait(&[("retry-after-ms", "1500"), ("retry-after", "2")]), Some(Millis::new(1_500)));
    let date = ("date", "Sun, 30 Nov 2025 10:00:00 GMT");
    assert_eq!(wait(&[("retry-after", "Sun, 30 Nov 2025 10:01:30 GMT"), date]), Some(Millis::new(90_000)));
    assert_eq!(wait(&[("retry-after", "Sun, 30 Nov 2025 09:00:00 GMT"), date]), Some(Millis::new(0)));
    assert_eq!(wait(&[("retry-after", "soon")]), None);
    let delay = r#"{"error":{"code":429,"message":"x","details":[{"retryDelay":"17.5s"}]}}"#;
    let rejection = Dialect::Gemini.rejection(429, &|_| None, delay.as_bytes());
    assert_eq!(rejection.retry_after, Some(Millis::new(17_500)));
}

#[test]
fn ids_and_words_of_the_provider_are_kept_and_bounded() {
    let body = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}"#;
    let rejection = Dialect::AnthropicMessages.rejection(529, &|_| None, body.as_bytes());
    assert_eq!(rejection.request_id.as_deref(), Some("req_1"));
    assert_eq!(rejection.code.as_deref(), Some("overloaded_error"));
    let long = "é".repeat(10_000);
    assert_eq!(Dialect::OpenaiChat.rejection(400, &|_| None, long.as_bytes()).message.chars().count(), 2_000);
}
