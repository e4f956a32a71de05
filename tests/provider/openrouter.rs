//! What OpenRouter adds to chat completions: costs, prices as decimal text, receipts, errors of its own.
//!
//! <https://openrouter.ai/docs/api/reference/overview>, <https://openrouter.ai/docs/models>,
//! <https://openrouter.ai/docs/api/reference/errors-and-debugging>.

use crate::fault::{Fault, Kind};
use crate::money::dollars;
use crate::script::{Model, Script};
use crate::wire::{text_at, with};
use serde_json::{Value, json};

/// Usage with its cost. The cost is written digit for digit.
pub fn usage(mut usage: Value, cost: &str) -> String {
    if let Some(fields) = usage.as_object_mut() {
        fields.insert("is_byok".to_owned(), json!(false));
        fields.insert("cost_details".to_owned(), json!({ "upstream_inference_cost": null }));
    }
    with(&usage, "cost", cost)
}

/// The body of an error.
pub fn fault(fault: &Fault) -> String {
    let status = fault.status;
    let usual = match (fault.kind, status) {
        (Kind::Overflow { window, prompt }, _) => format!(
            "This endpoint's maximum context length is {window} tokens. However, you requested about {prompt} tokens. Please reduce \
             the length of either one, or use the \"middle-out\" transform to compress your prompt automatically."
        ),
        (Kind::Key, _) | (Kind::Status, 401) => "No auth credentials found".to_owned(),
        (Kind::Status, 402) => "Insufficient credits. Add more using https://openrouter.ai/settings/credits".to_owned(),
        (Kind::Status, 404) => format!("No endpoints found for {}.", fault.model),
        (Kind::Status, 429) => format!("{} is temporarily rate-limited upstream.", fault.model),
        (Kind::Status, _) => "Provider returned error".to_owned(),
    };
    let code = fault.code.as_ref().map_or_else(|| json!(status), |code| json!(code));
    let metadata = json!({ "provider_name": "Scripted", "raw": usual });
    json!({ "error": { "message": fault.message(|| usual), "code": code, "metadata": metadata }, "user_id": "user_scripted" })
        .to_string()
}

/// The catalogue. A model without a price has the price `-1`: not known.
pub fn models(script: &Script) -> String {
    let entry = |(id, model): (&String, &Model)| {
        let mut modalities = vec!["text"];
        modalities.extend(model.images.then_some("image"));
        let mut parameters = vec!["max_tokens", "temperature", "stop"];
        parameters.extend(model.tools.then_some("tools"));
        parameters.extend(model.tools.then_some("tool_choice"));
        parameters.extend(model.reasoning.then_some("reasoning"));
        parameters.extend(model.reasoning.then_some("include_reasoning"));
        json!({
            "id": id, "canonical_slug": id, "name": id, "created": 1_700_000_000, "description": "A scripted model.",
            "context_length": model.window,
            "architecture": { "input_modalities": modalities, "output_modalities": ["text"], "tokenizer": "Other",
                              "instruct_type": null, "modality": "text->text" },
            "pricing": pricing(script, id),
            "top_provider": { "context_length": model.window, "max_completion_tokens": model.max_output,
                              "is_moderated": false },
            "per_request_limits": null, "supported_parameters": parameters,
        })
    };
    json!({ "data": script.models.iter().map(entry).collect::<Vec<_>>() }).to_string()
}

fn pricing(script: &Script, id: &str) -> Value {
    let Some(price) = script.prices.get(id) else { return json!({ "prompt": "-1", "completion": "-1" }) };
    let mut pricing = json!({
        "prompt": dollars(price.input), "completion": dollars(price.output), "request": dollars(price.request), "image": "0",
        "web_search": "0", "internal_reasoning": "0",
    });
    if let Some(fields) = pricing.as_object_mut() {
        fields.extend(price.cached.map(|nanos| ("input_cache_read".to_owned(), json!(dollars(nanos)))));
        fields.extend(price.cache_write.map(|nanos| ("input_cache_write".to_owned(), json!(dollars(nanos)))));
    }
    pricing
}

/// The receipt of an earlier answer: status and body.
pub fn generation(id: &str, record: Option<Value>) -> (u16, String) {
    let answered = record.filter(|record| record.get("dialect").is_some_and(|dialect| dialect == "openrouter"));
    let Some(record) = answered else {
        return (404, json!({ "error": { "code": 404, "message": format!("Generation {id} not found") } }).to_string());
    };
    let tokens = |name: &str| record.pointer(&format!("/usage/{name}")).cloned().unwrap_or_default();
    let data = json!({
        "id": id, "model": text_at(&record, "model"), "provider_name": "Scripted", "streamed": true, "is_byok": false,
        "cancelled": text_at(&record, "ended") == "client_gone", "origin": "", "finish_reason": "stop",
        "native_finish_reason": "stop",
        "tokens_prompt": tokens("input"), "tokens_completion": tokens("output"),
        "native_tokens_prompt": tokens("input"), "native_tokens_completion": tokens("output"),
        "native_tokens_reasoning": tokens("reasoning"), "native_tokens_cached": tokens("cached"),
    });
    let nanos = record.get("cost_nanos").and_then(Value::as_u64).unwrap_or(0);
    let data = with(&data, "total_cost", &dollars(nanos));
    (200, with(&json!({}), "data", &with_usage(&data, nanos)))
}

/// `usage` of a receipt is the same amount once more.
fn with_usage(data: &str, nanos: u64) -> String {
    let open = data.strip_suffix('}').unwrap_or(data);
    format!("{open},\"usage\":{}}}", dollars(nanos))
}
