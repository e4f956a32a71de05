//! `keys`: the keys of providers. They are sent to the server and never read back.

mod hidden;

use super::args::model::{KeyVerb, Keys};
use super::{Context, Failure, Outcome};
use crate::client::segment;
use crate::render;
use ouroboros_proto::api::{KeyProvider, KeySet, KeyTest, KeyView, KeysView};
use serde_json::json;
use std::io::{self, IsTerminal, Read};

/// Longest key that is taken.
const KEY_BYTES: u64 = 16 << 10;

/// Does what was asked with keys.
pub fn keys(context: &Context, keys: Keys) -> Outcome {
    match keys.verb.unwrap_or(KeyVerb::List) {
        KeyVerb::List => list(context),
        KeyVerb::Set { provider, from_env } => set(context, provider, from_env),
        KeyVerb::Test { provider } => test(context, &provider),
        KeyVerb::Rm { provider } => remove(context, &provider),
    }
}

fn list(context: &Context) -> Outcome {
    let answer = context.client().get("/api/keys")?;
    if context.json() {
        context.print_json(&answer.value()?)?;
        return Ok(0);
    }
    let keys: KeysView = answer.read()?;
    context.print(&render::model::keys(&keys, context.out()))?;
    for problem in &keys.problems {
        context.note(&render::clean(problem));
    }
    Ok(0)
}

#[expect(clippy::option_option, reason = "given without a name, with one, or not at all")]
fn set(context: &Context, provider: String, from_env: Option<Option<String>>) -> Outcome {
    let key = match from_env {
        Some(Some(name)) => variable(&name)?,
        Some(None) => of_provider(context, &provider)?,
        None if io::stdin().is_terminal() => hidden::ask(&format!("Key for {}: ", render::clean(&provider)))?,
        None => piped(io::stdin().lock())?,
    };
    let kept = keep(context, &KeySet { provider, key })?;
    if context.json() {
        context.print_json(&kept)?;
    }
    Ok(0)
}

/// Has a key kept, and says how it is protected.
pub fn keep(context: &Context, key: &KeySet) -> Result<KeyView, Failure> {
    if key.key.is_empty() {
        return Err(Failure::usage("the key is empty; nothing was kept"));
    }
    let kept: KeyView = context.acting(|client| client.post("/api/keys", key)?.read())?;
    let protection = context.client().get("/api/keys").and_then(|answer| answer.read::<KeysView>());
    let protection = protection.map(|keys| format!(" {}", render::clean(&keys.protection))).unwrap_or_default();
    let (provider, ending) = (render::clean(&kept.provider), render::clean(&kept.ending));
    context.note(&format!("the key for {provider} that ends in {ending} is kept.{protection}"));
    Ok(kept)
}

fn test(context: &Context, provider: &str) -> Outcome {
    let target = format!("/api/keys/{}/test", segment(provider));
    let answer = context.acting(|client| client.act(&target))?;
    let tried: KeyTest = answer.read()?;
    if context.json() {
        context.print_json(&answer.value()?)?;
    } else {
        let word = match tried.accepted {
            Some(true) => "accepted",
            Some(false) => "not accepted",
            None => "not known",
        };
        context.print(&format!("{}: {word}: {}\n", render::clean(&tried.provider), render::clean(&tried.detail)))?;
    }
    Ok(u8::from(tried.accepted != Some(true)))
}

fn remove(context: &Context, provider: &str) -> Outcome {
    let target = format!("/api/keys/{}", segment(provider));
    context.acting(|client| client.delete(&target))?;
    if context.json() {
        context.print_json(&json!({ "provider": provider }))?;
    } else {
        context.note(&format!("the key for {} is forgotten", render::clean(provider)));
    }
    Ok(0)
}

/// The first variable of a provider that is set in this shell.
pub fn set_here(provider: &KeyProvider) -> Option<(&str, String)> {
    provider.variables.iter().find_map(|name| {
        let value = std::env::var(name).ok().filter(|value| !value.trim().is_empty())?;
        Some((name.as_str(), value))
    })
}

fn of_provider(context: &Context, provider: &str) -> Result<String, Failure> {
    let keys: KeysView = context.acting(|client| client.get("/api/keys")?.read())?;
    let known = keys.providers.iter().find(|known| known.name == provider).ok_or_else(|| {
        let names: Vec<&str> = keys.providers.iter().map(|known| known.name.as_str()).collect();
        Failure::usage(format!("no provider is called {provider:?}; there are {}", names.join(", ")))
    })?;
    set_here(known).map(|(_, value)| value.trim().to_owned()).ok_or_else(|| {
        Failure::usage(format!("{} is not set here; nothing was kept", known.variables.join(" or ")))
            .remedy(format!("Set it, name another with --from-env NAME, or run `ouroboros keys set {provider}`."))
    })
}

fn variable(name: &str) -> Result<String, Failure> {
    match std::env::var(name) {
        Ok(value) if !value.trim().is_empty() => Ok(value.trim().to_owned()),
        _ => Err(Failure::usage(format!("{name} is not set here; nothing was kept"))),
    }
}

/// Standard input to its end, without the white space around.
fn piped(input: impl Read) -> Result<String, Failure> {
    let mut text = String::new();
    let read = input.take(KEY_BYTES.saturating_add(1)).read_to_string(&mut text);
    read.map_err(|error| Failure::io("standard input cannot be read; nothing was kept", &error))?;
    if u64::try_from(text.len()).unwrap_or(u64::MAX) > KEY_BYTES {
        return Err(Failure::usage(format!("a key of over {KEY_BYTES} bytes is none; nothing was kept")));
    }
    Ok(text.trim().to_owned())
}
