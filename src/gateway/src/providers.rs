//! The known providers: where they are, which format they speak. Names of keys are elsewhere; a provider's key is kept under the
//! provider's name, or under that of [`Known::key`].
//!
//! OpenAI stands here twice. `openai` speaks chat completions, which everything that stands in for OpenAI behind `OPENAI_BASE_URL` also
//! speaks. `openai-responses` speaks Responses at the same address with the same key: there the model's thinking is handed back between
//! calls, and some models answer nowhere else; most stand-ins do not have it, so it has to be asked for by name.

use crate::dialect::Dialect;
use crate::route::Provider;

/// A known provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// Its name.
    pub name: &'static str,
    /// The format it speaks.
    pub dialect: Dialect,
    /// Where its API begins; `None` when only the owner knows.
    pub base_url: Option<&'static str>,
    /// Whether it runs on this machine and costs nothing.
    pub local: bool,
    /// Whether it answers only with a key.
    pub needs_key: bool,
    /// The name under which its key is kept.
    pub key: &'static str,
    /// The variable that says that it is elsewhere.
    pub variable: Option<&'static str>,
    /// What is added to the variable's value where it belongs to the base URL: by custom some variables leave the version out.
    pub root: &'static str,
}

const fn remote(name: &'static str, dialect: Dialect, base_url: &'static str) -> Known {
    Known {
        name,
        dialect,
        base_url: Some(base_url),
        local: false,
        needs_key: true,
        key: name,
        variable: None,
        root: "",
    }
}

const fn here(name: &'static str, base_url: &'static str, variable: &'static str) -> Known {
    Known {
        name,
        dialect: Dialect::OpenaiChat,
        base_url: Some(base_url),
        local: true,
        needs_key: false,
        key: name,
        variable: Some(variable),
        root: "/v1",
    }
}

/// Where OpenRouter's API begins. Its catalogue is public.
pub const OPENROUTER: &str = "https://openrouter.ai/api/v1";

/// All, in the order in which a default is looked for.
pub const KNOWN: &[Known] = &[
    Known { variable: Some("OPENAI_BASE_URL"), ..remote("openai", Dialect::OpenaiChat, "https://api.openai.com/v1") },
    Known {
        key: "openai",
        variable: Some("OPENAI_BASE_URL"),
        ..remote("openai-responses", Dialect::OpenaiResponses, "https://api.openai.com/v1")
    },
    Known {
        variable: Some("ANTHROPIC_BASE_URL"),
        root: "/v1",
        ..remote("anthropic", Dialect::AnthropicMessages, "https://api.anthropic.com/v1")
    },
    Known { variable: Some("OPENROUTER_BASE_URL"), ..remote("openrouter", Dialect::OpenaiChat, OPENROUTER) },
    Known {
        variable: Some("GOOGLE_GEMINI_BASE_URL"),
        root: "/v1beta",
        ..remote("gemini", Dialect::Gemini, "https://generativelanguage.googleapis.com/v1beta")
    },
    remote("groq", Dialect::OpenaiChat, "https://api.groq.com/openai/v1"),
    remote("mistral", Dialect::OpenaiChat, "https://api.mistral.ai/v1"),
    remote("deepseek", Dialect::OpenaiChat, "https://api.deepseek.com/v1"),
    remote("xai", Dialect::OpenaiChat, "https://api.x.ai/v1"),
    remote("together", Dialect::OpenaiChat, "https://api.together.xyz/v1"),
    remote("fireworks", Dialect::OpenaiChat, "https://api.fireworks.ai/inference/v1"),
    remote("cerebras", Dialect::OpenaiChat, "https://api.cerebras.ai/v1"),
    Known {
        base_url: None,
        needs_key: false,
        variable: Some("OPENAI_COMPATIBLE_BASE_URL"),
        ..remote("openai-compatible", Dialect::OpenaiChat, "")
    },
    Known { dialect: Dialect::Ollama, root: "", ..here("ollama", "http://127.0.0.1:11434", "OLLAMA_HOST") },
    here("llamacpp", "http://127.0.0.1:8080/v1", "LLAMACPP_BASE_URL"),
    here("lmstudio", "http://127.0.0.1:1234/v1", "LMSTUDIO_BASE_URL"),
    here("vllm", "http://127.0.0.1:8000/v1", "VLLM_BASE_URL"),
    Known { base_url: None, variable: None, ..here("local", "", "") },
];

/// The known provider of this name.
#[must_use]
pub fn known(name: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.name == name)
}

/// What answers only with a key that is accepted, appended to the base URL. A catalogue does, but for OpenRouter's, which is public:
/// <https://openrouter.ai/docs/api-reference/limits>.
#[must_use]
pub fn key_path(provider: &Provider) -> &'static str {
    if provider.name == "openrouter" { "/key" } else { provider.dialect.models_path() }
}

impl Known {
    /// The provider as it is here. `variable` looks a variable up; the environment is not read. `None` when nothing says where it is.
    #[must_use]
    pub fn provider(&self, variable: &dyn Fn(&str) -> Option<String>) -> Option<Provider> {
        let said = self.variable.and_then(variable).map(|said| said.trim().to_owned()).filter(|said| !said.is_empty());
        let base_url = said.map(|said| self.address(&said)).or_else(|| self.base_url.map(str::to_owned))?;
        Some(self.at(base_url))
    }

    /// The provider at this base URL.
    #[must_use]
    pub fn at(&self, base_url: impl Into<String>) -> Provider {
        Provider {
            name: self.name.to_owned(),
            dialect: self.dialect,
            base_url: base_url.into().trim_end_matches('/').to_owned(),
            local: self.local,
        }
    }

    /// Whether a provider is at this one's own address, and not at something that stands in for it.
    #[must_use]
    pub fn is_genuine(&self, provider: &Provider) -> bool {
        self.base_url == Some(provider.base_url.as_str())
    }

    /// The address that a variable names. `OLLAMA_HOST` in particular is often a bare host, and 0.0.0.0 where the server listens.
    fn address(&self, said: &str) -> String {
        if !self.local {
            let said = said.trim_end_matches('/');
            return if said.ends_with(self.root) { said.to_owned() } else { format!("{said}{}", self.root) };
        }
        let (scheme, rest) = said.split_once("://").unwrap_or(("http", said));
        let (host, path) = rest.split_once('/').map_or((rest, ""), |(host, path)| (host, path));
        let host = match host.strip_prefix("0.0.0.0") {
            Some(port) => format!("127.0.0.1{port}"),
            None => host.to_owned(),
        };
        let named = host.strip_prefix('[').is_some_and(|host| host.contains("]:"))
            || (!host.starts_with('[') && host.contains(':'));
        let port = match self.base_url.and_then(|url| url.rsplit_once(':')).and_then(|(_, rest)| rest.split('/').next())
        {
            // A URL with a scheme says its port or means the scheme's.
            Some(port) if !named && !said.contains("://") => format!(":{port}"),
            Some(_) | None => String::new(),
        };
        let path = if path.is_empty() { self.root.to_owned() } else { format!("/{path}") };
        format!("{scheme}://{host}{port}{path}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn at(name: &str, said: &str) -> Option<String> {
        let lookup = |_: &str| Some(said.to_owned());
        known(name).and_then(|known| known.provider(&lookup)).map(|provider| provider.base_url)
    }

    #[test]
    fn names_are_unique_and_can_stand_before_a_slash() {
        let names: BTreeSet<_> = KNOWN.iter().map(|known| known.name).collect();
        assert_eq!(names.len(), KNOWN.len());
        for known in KNOWN {
            assert!(known.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'));
            assert!(known.base_url.is_none_or(|url| !url.ends_with('/')), "{}", known.name);
            assert!(known.local || known.base_url.is_none_or(|url| url.starts_with("https://")), "{}", known.name);
        }
    }

    #[test]
    fn a_variable_says_where_a_provider_is() {
        for (name, said, base) in [
            ("openai", "http://127.0.0.1:9/v1/", "http://127.0.0.1:9/v1"),
            ("openai", "", "https://api.openai.com/v1"),
            ("openai-responses", "https://proxy.example/v1", "https://proxy.example/v1"),
            ("anthropic", "https://proxy.example/a/", "https://proxy.example/a/v1"),
            ("anthropic", "https://proxy.example/v1", "https://proxy.example/v1"),
            ("gemini", "https://proxy.example", "https://proxy.example/v1beta"),
            ("ollama", "0.0.0.0", "http://127.0.0.1:11434"),
            ("ollama", "0.0.0.0:5000", "http://127.0.0.1:5000"),
            ("ollama", "box.lan", "http://box.lan:11434"),
            ("ollama", "https://box.lan", "https://box.lan"),
            ("ollama", "[::1]", "http://[::1]:11434"),
            ("ollama", "[::1]:5000", "http://[::1]:5000"),
            ("llamacpp", "127.0.0.1:5000", "http://127.0.0.1:5000/v1"),
            ("llamacpp", "http://127.0.0.1:5000/api", "http://127.0.0.1:5000/api"),
            ("vllm", "127.0.0.1", "http://127.0.0.1:8000/v1"),
        ] {
            assert_eq!(at(name, said).as_deref(), Some(base), "{name} {said}");
        }
    }

    #[test]
    fn what_only_the_owner_knows_is_not_guessed() {
        assert_eq!(known("local").and_then(|known| known.provider(&|_| None)), None);
        assert_eq!(known("openai-compatible").and_then(|known| known.provider(&|_| None)), None);
    }
}
