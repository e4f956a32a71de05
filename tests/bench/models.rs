//! An installation whose only models are those of a scripted provider.

use crate::caller::Callers;
use crate::run::Bench;
use crate::site::Site;
use serde_json::{Value, json};
use support::Provider;

/// The route that everything takes.
pub const ROUTE: &str = "openai/m";

/// Nobody listens there.
const NOWHERE: &str = "http://127.0.0.1:1/v1";

/// Of every script: a model, and what it costs.
const PRICED: &str = "[models.m]\n[prices.m]\ninput = 1000\noutput = 2000\n";

/// Settings under which no limit and no queue in front of a route is met.
pub const UNBOUND: &str =
    "limits.total = 'none'\nlimits.task = 'none'\nmodels.concurrency = 1024\nmodels.default = 'openai/m'\n";

/// Starts a provider with these rules.
pub fn provider(rules: &str) -> Provider {
    Provider::start_quick(&script(rules))
}

/// A whole script with these rules.
pub fn script(rules: &str) -> String {
    format!("{PRICED}{rules}")
}

/// An installation that knows this provider and nobody else, before its start.
///
/// # Errors
/// There is no room for it.
pub fn site<'a>(bench: &'a Bench, provider: &Provider, slots: u32, settings: &str) -> anyhow::Result<Site<'a>> {
    let mut variables = vec![("OPENAI_API_KEY", "sk-key-of-the-bench-0001".to_owned())];
    let dialects =
        [("OPENAI", "openai"), ("ANTHROPIC", "anthropic"), ("OPENROUTER", "openrouter"), ("GOOGLE_GEMINI", "gemini")];
    let urls: Vec<(String, String)> =
        dialects.iter().map(|(name, dialect)| (format!("{name}_BASE_URL"), provider.url(dialect))).collect();
    variables.extend(urls.iter().map(|(name, url)| (name.as_str(), url.clone())));
    let elsewhere = ["OLLAMA_HOST", "LLAMACPP_BASE_URL", "LMSTUDIO_BASE_URL", "VLLM_BASE_URL"];
    variables.extend(elsewhere.map(|name| (name, NOWHERE.to_owned())));
    Ok(Site::new(bench, slots, 1)?.with_settings(settings)?.with_variables(&variables))
}

/// Says what the route costs: what the provider bills.
///
/// # Errors
/// The server does not take it.
pub fn price(site: &Site<'_>) -> anyhow::Result<()> {
    let price = json!({ "route": ROUTE, "input": "1", "output": "2" });
    site.api()?.post("/api/model-catalog", price.to_string()).map(drop)
}

/// The body that submits a question.
pub fn question() -> Value {
    json!({ "ask": { "prompt": "How long does it take?", "max_output_tokens": 10_000 } })
}

/// An installation whose workers are callers, started, each of them with this question.
///
/// # Errors
/// It does not come up.
pub fn callers<'a>(
    bench: &'a Bench,
    provider: &Provider,
    count: u32,
    settings: &str,
    question: &Value,
) -> anyhow::Result<(Site<'a>, Callers)> {
    let site = site(bench, provider, count, settings)?;
    let mut callers = Callers::new(&site.path().join("programs"))?;
    let mut site = site.with_launcher(callers.launcher());
    site.up()?;
    price(&site)?;
    let mut api = site.api()?;
    for _ in 0..count {
        api.submit(question)?;
    }
    callers.gather(count as usize)?;
    Ok((site, callers))
}
