//! Chat completions as OpenAI, servers on one's own machine, and OpenRouter speak them.
//!
//! <https://platform.openai.com/docs/api-reference/chat>, its errors at <https://platform.openai.com/docs/guides/error-codes>;
//! llama.cpp's at <https://github.com/ggml-org/llama.cpp/tree/master/tools/server>. What OpenRouter adds is in
//! [`openrouter`](crate::openrouter).

use crate::answer::{Answer, Part, Pieces, Stop};
use crate::fault::{Fault, Kind};
use crate::frames::Frames;
use crate::money::Tokens;
use crate::openrouter;
use crate::script::Script;
use crate::wire::{Asked, Dialect, Route, Speaks, ask, with};
use serde_json::{Value, json};

/// The three that share this format.
pub struct Chat(Dialect);

/// How one of them speaks. Any other dialect would be a mistake, and speaks like OpenAI.
pub fn of(dialect: Dialect) -> &'static Chat {
    match dialect {
        Dialect::Openrouter => &Chat(Dialect::Openrouter),
        Dialect::Compatible => &Chat(Dialect::Compatible),
        Dialect::Openai | Dialect::Responses | Dialect::Anthropic | Dialect::Gemini | Dialect::Ollama => {
            &Chat(Dialect::Openai)
        }
    }
}

impl Speaks for Chat {
    fn ask(&self, route: &Route, body: &Value) -> Asked {
        let bound = ["max_completion_tokens", "max_tokens"].iter().find_map(|name| body.get(*name)?.as_u64());
        let wanted = body.pointer("/stream_options/include_usage").and_then(Value::as_bool).unwrap_or(false);
        Asked {
            max_output: bound,
            include_usage: wanted || self.0 == Dialect::Openrouter,
            ..ask(route, body, "messages", "content", &["messages", "tools"])
        }
    }

    fn id(&self, tail: &str) -> String {
        let prefix = if self.0 == Dialect::Openrouter { "gen" } else { "chatcmpl" };
        format!("{prefix}-{tail}")
    }

    fn header(&self, tail: &str) -> Option<(&'static str, String)> {
        match self.0 {
            Dialect::Openrouter => Some(("x-generation-id", self.id(tail))),
            Dialect::Compatible => None,
            Dialect::Openai | Dialect::Responses | Dialect::Anthropic | Dialect::Gemini | Dialect::Ollama => {
                Some(("x-request-id", format!("req_{tail}")))
            }
        }
    }

    fn stream(&self, answer: &Answer, out: &mut Frames) {
        if self.0 == Dialect::Openrouter {
            out.raw(": OPENROUTER PROCESSING\n\n");
        }
        out.data(&self.chunk(answer, json!({ "role": "assistant", "content": "" }), Value::Null));
        let mut calls = 0_u32;
        for part in &answer.parts {
            self.part(answer, part, &mut calls, out);
            if out.endless {
                return;
            }
        }
        out.ending();
        if let Some(fault) = &answer.fault {
            out.data(&self.error_frame(answer, fault));
            return;
        }
        out.data(&self.chunk(answer, json!({}), json!(self.stop(&answer.stop))));
        for tokens in answer.told.iter().filter(|_| answer.include_usage) {
            let mut last = self.chunk(answer, json!({ "role": "assistant", "content": "" }), Value::Null);
            if let Some(fields) = last.as_object_mut() {
                fields.remove("usage");
                if self.0 != Dialect::Openrouter {
                    fields.insert("choices".to_owned(), json!([]));
                }
            }
            out.raw(format!("data: {}\n\n", with(&last, "usage", &self.usage(tokens, &answer.cost))));
        }
        out.raw("data: [DONE]\n\n");
    }

    fn whole(&self, answer: &Answer) -> String {
        let mut message = json!({ "role": "assistant", "content": null, "refusal": null });
        let mut calls = vec![];
        for part in &answer.parts {
            match part {
                Part::Text(pieces) => append(&mut message, "content", &pieces.text()),
                Part::Refusal(pieces) => append(&mut message, self.refusal(), &pieces.text()),
                Part::Reasoning(pieces) => {
                    if let Some(name) = self.reasoning() {
                        append(&mut message, name, &pieces.text());
                    }
                }
                Part::Call { id, tool, arguments } => calls.push(json!({
                    "id": id, "type": "function", "function": { "name": tool, "arguments": arguments.text() },
                })),
                Part::Raw(_) => {}
            }
        }
        if let Some(fields) = message.as_object_mut().filter(|_| !calls.is_empty()) {
            fields.insert("tool_calls".to_owned(), json!(calls));
        }
        let choice = json!({
            "index": 0, "message": message, "logprobs": null, "finish_reason": self.stop(&answer.stop),
        });
        let body = self.frame(answer, "chat.completion", &json!([choice]));
        match answer.told.first() {
            Some(tokens) => with(&body, "usage", &self.usage(tokens, &answer.cost)),
            None => body.to_string(),
        }
    }

    fn fault(&self, fault: &Fault) -> String {
        match self.0 {
            Dialect::Openrouter => openrouter::fault(fault),
            Dialect::Compatible => compatible_fault(fault).to_string(),
            Dialect::Openai | Dialect::Responses | Dialect::Anthropic | Dialect::Gemini | Dialect::Ollama => {
                openai_fault(fault).to_string()
            }
        }
    }

    fn models(&self, script: &Script) -> String {
        if self.0 == Dialect::Openrouter {
            return openrouter::models(script);
        }
        let entry = |(id, model): (&String, &crate::script::Model)| {
            let mut entry = json!({ "id": id, "object": "model", "created": 1_700_000_000, "owned_by": "scripted" });
            // vLLM and llama.cpp say how much fits; OpenAI does not.
            if let Some(fields) = entry.as_object_mut().filter(|_| self.0 == Dialect::Compatible) {
                fields.insert("max_model_len".to_owned(), json!(model.window));
                fields.insert("meta".to_owned(), json!({ "n_ctx_train": model.window }));
            }
            entry
        };
        json!({ "object": "list", "data": script.models.iter().map(entry).collect::<Vec<_>>() }).to_string()
    }
}

impl Chat {
    fn part(&self, answer: &Answer, part: &Part, calls: &mut u32, out: &mut Frames) {
        let mut say = |name: &str, pieces: &Pieces| {
            for piece in &pieces.list {
                let mut delta = json!({ name: piece });
                if let Some(fields) = delta.as_object_mut().filter(|_| name == "reasoning") {
                    let detail = json!([{ "type": "reasoning.text", "text": piece, "format": "unknown", "index": 0 }]);
                    fields.insert("reasoning_details".to_owned(), detail);
                }
                out.data_piece(&self.chunk(answer, delta, Value::Null));
            }
            out.endless |= pieces.endless;
        };
        match part {
            Part::Text(pieces) => say("content", pieces),
            Part::Refusal(pieces) => say(self.refusal(), pieces),
            Part::Reasoning(pieces) => {
                if let Some(name) = self.reasoning() {
                    say(name, pieces);
                }
            }
            Part::Call { id, tool, arguments } => {
                let function = json!({ "name": tool, "arguments": "" });
                let call = json!([{ "index": *calls, "id": id, "type": "function", "function": function }]);
                out.data_piece(&self.chunk(answer, json!({ "tool_calls": call }), Value::Null));
                for piece in &arguments.list {
                    let call = json!([{ "index": *calls, "function": { "arguments": piece } }]);
                    out.data_piece(&self.chunk(answer, json!({ "tool_calls": call }), Value::Null));
                }
                *calls = calls.saturating_add(1);
            }
            Part::Raw(text) => out.raw_piece(text.clone()),
        }
    }

    fn frame(&self, answer: &Answer, object: &str, choices: &Value) -> Value {
        let mut frame = json!({
            "id": self.id(&answer.tail), "object": object, "created": answer.created / 1_000_000, "model": answer.model,
            "choices": choices,
        });
        if let Some(fields) = frame.as_object_mut() {
            match self.0 {
                Dialect::Openrouter => fields.insert("provider".to_owned(), json!("Scripted")),
                Dialect::Openai => fields.insert("service_tier".to_owned(), json!("default")),
                Dialect::Compatible | Dialect::Responses | Dialect::Anthropic | Dialect::Gemini | Dialect::Ollama => {
                    None
                }
            };
        }
        frame
    }

    fn chunk(&self, answer: &Answer, delta: Value, finish: Value) -> Value {
        let mut choice = json!({ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish });
        if let Some(fields) = choice.as_object_mut().filter(|_| self.0 == Dialect::Openrouter) {
            fields.insert("native_finish_reason".to_owned(), finish);
        }
        let mut chunk = self.frame(answer, "chat.completion.chunk", &json!([choice]));
        // OpenAI says null in every chunk but the last when usage was asked for.
        let says_null = self.0 == Dialect::Openai && answer.include_usage;
        if let Some(fields) = chunk.as_object_mut().filter(|_| says_null) {
            fields.insert("usage".to_owned(), Value::Null);
        }
        chunk
    }

    fn error_frame(&self, answer: &Answer, fault: &Fault) -> Value {
        let error = |text: String| serde_json::from_str::<Value>(&text).unwrap_or_default();
        let mut frame = error(self.fault(fault));
        if self.0 == Dialect::Openrouter {
            let choice = json!([{ "index": 0, "delta": { "content": "" }, "finish_reason": "error" }]);
            let inner = frame.get("error").cloned().unwrap_or_default();
            frame = self.frame(answer, "chat.completion.chunk", &choice);
            if let Some(fields) = frame.as_object_mut() {
                fields.insert("error".to_owned(), inner);
            }
        }
        frame
    }

    fn usage(&self, tokens: &Tokens, cost: &str) -> String {
        let mut prompt = json!({ "cached_tokens": tokens.cached, "audio_tokens": 0 });
        if let Some(fields) = prompt.as_object_mut().filter(|_| self.0 == Dialect::Openrouter) {
            fields.insert("cache_write_tokens".to_owned(), json!(tokens.cache_write));
        }
        let usage = json!({
            "prompt_tokens": tokens.input,
            "completion_tokens": tokens.output,
            "total_tokens": tokens.total(),
            "prompt_tokens_details": prompt,
            "completion_tokens_details": { "reasoning_tokens": tokens.reasoning, "audio_tokens": 0 },
        });
        if self.0 == Dialect::Openrouter { openrouter::usage(usage, cost) } else { usage.to_string() }
    }

    fn stop<'a>(&self, stop: &'a Stop) -> &'a str {
        match stop {
            Stop::End | Stop::Refusal | Stop::Pause | Stop::Text => "stop",
            Stop::Length => "length",
            Stop::Calls => "tool_calls",
            Stop::Filter => "content_filter",
            Stop::Word(word) => word,
        }
    }

    /// The field that thinking is shown in; OpenAI shows none.
    fn reasoning(&self) -> Option<&'static str> {
        match self.0 {
            Dialect::Openrouter => Some("reasoning"),
            Dialect::Compatible => Some("reasoning_content"),
            Dialect::Openai | Dialect::Responses | Dialect::Anthropic | Dialect::Gemini | Dialect::Ollama => None,
        }
    }

    fn refusal(&self) -> &'static str {
        if self.0 == Dialect::Compatible { "content" } else { "refusal" }
    }
}

fn append(message: &mut Value, name: &str, text: &str) {
    if let Some(fields) = message.as_object_mut() {
        let old = fields.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        fields.insert(name.to_owned(), json!(old + text));
    }
}

/// OpenAI's errors, also those of responses.
pub fn openai_fault(fault: &Fault) -> Value {
    let model = &fault.model;
    let (kind, code, param, message) = match (fault.kind, fault.status) {
        (Kind::Overflow { window, prompt }, _) => (
            "invalid_request_error",
            Some("context_length_exceeded"),
            Some("messages"),
            format!(
                "This model's maximum context length is {window} tokens. However, your messages resulted in {prompt} tokens. \
                 Please reduce the length of the messages."
            ),
        ),
        (Kind::Key, _) | (Kind::Status, 401) => {
            ("invalid_request_error", Some("invalid_api_key"), None, "Incorrect API key provided.".to_owned())
        }
        (Kind::Status, 404) => (
            "invalid_request_error",
            Some("model_not_found"),
            None,
            format!("The model `{model}` does not exist or you do not have access to it."),
        ),
        (Kind::Status, 429) if fault.code.as_deref() == Some("insufficient_quota") => {
            let message = "You exceeded your current quota, please check your plan and billing details.";
            ("insufficient_quota", None, None, message.to_owned())
        }
        (Kind::Status, 429) => (
            "requests",
            Some("rate_limit_exceeded"),
            None,
            format!("Rate limit reached for {model} on requests per min."),
        ),
        (Kind::Status, 400..500) => ("invalid_request_error", None, None, "The request is not valid.".to_owned()),
        (Kind::Status, _) => {
            ("server_error", None, None, "The server had an error while processing your request.".to_owned())
        }
    };
    let (code, param) = (fault.code.as_deref().or(code), fault.param.as_deref().or(param));
    json!({ "error": { "message": fault.message(|| message), "type": kind, "param": param, "code": code } })
}

fn compatible_fault(fault: &Fault) -> Value {
    let status = fault.status;
    match fault.kind {
        Kind::Overflow { window, prompt } => {
            let message = fault.message(|| {
                format!(
                    "request ({prompt} tokens) exceeds the available context size ({window} tokens), try increasing it"
                )
            });
            let kind = fault.code("exceed_context_size_error");
            json!({ "error": {
                "code": status, "message": message, "type": kind, "n_prompt_tokens": prompt, "n_ctx": window,
            } })
        }
        Kind::Status | Kind::Key => {
            let kind = match status {
                401 => "authentication_error",
                404 => "not_found_error",
                503 => "unavailable_error",
                400..500 => "invalid_request_error",
                _ => "server_error",
            };
            json!({ "error": { "code": status, "message": fault.message(|| kind.to_owned()), "type": fault.code(kind) } })
        }
    }
}
