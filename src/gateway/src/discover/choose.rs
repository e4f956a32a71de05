//! Which route a request takes that names none.

use super::{Choice, Found, How, Routes};
use crate::providers::known;
use crate::route::Route;
use serde::Deserialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The data file. Which models a provider has changes faster than this program; what it prefers is not a fact about them.
static PREFERENCES: LazyLock<Preferences> =
    LazyLock::new(|| serde_json::from_str(include_str!("default-models.json")).unwrap_or_default());

#[derive(Debug, Default, Deserialize)]
struct Preferences {
    #[serde(default)]
    never: Vec<String>,
    #[serde(default)]
    prefer: BTreeMap<String, Vec<String>>,
}

/// Sets the default. When the settings name one that is not among these routes there is none: nothing else is taken in its place.
pub(super) fn default(routes: &mut Routes, setting: Option<&str>) {
    if let Some(name) = setting.map(str::trim).filter(|name| !name.is_empty()) {
        routes.default = named(routes, name);
        return;
    }
    let found = routes.providers.iter().filter(|found| is_candidate(found));
    routes.default = found.into_iter().find_map(|found| pick(routes, found));
}

/// A second format of a provider is used when it is named.
fn is_candidate(found: &Found) -> bool {
    known(&found.provider.name).is_none_or(|known| known.key == known.name)
}

fn named(routes: &Routes, name: &str) -> Option<Choice> {
    if let Some(found) = routes.providers.iter().find(|found| found.provider.name == name) {
        let choice = pick(routes, found)?;
        return Some(Choice { why: format!("the settings name the provider; {}", choice.why), ..choice });
    }
    let route = routes.find(Some(name))?;
    Some(Choice { route: route.id, why: "the settings name it".to_owned() })
}

/// The best of a provider's models.
fn pick(routes: &Routes, found: &Found) -> Option<Choice> {
    let name = &found.provider.name;
    let listed: Vec<&Route> = routes.routes.values().filter(|route| route.provider.name == *name).collect();
    let usable: Vec<&Route> = listed.into_iter().filter(|route| is_usable(route)).collect();
    let how = match &found.how {
        How::Setting => format!("{name} is named in the settings"),
        How::Key(place) => format!("{name} is the first provider with a key (in {place})"),
        How::Address(url) => format!("{name} answers at {url}, and no provider has a key"),
    };
    let patterns = PREFERENCES.prefer.get(name).map(Vec::as_slice).unwrap_or_default();
    let preferred = patterns.iter().find_map(|pattern| {
        let fitting = usable.iter().filter_map(|route| Some((version(pattern, &route.model)?, route)));
        fitting.max_by(|(a, _), (b, _)| a.cmp(b)).map(|(_, route)| route)
    });
    if let Some(route) = preferred {
        return Some(Choice { route: route.id.clone(), why: format!("{how}; the first of its preferred models") });
    }
    // A model that is known to call tools comes before one of which it is not known.
    let first = usable.iter().min_by_key(|route| (route.facts.tools != Some(true), route.id.clone()))?;
    Some(Choice { route: first.id.clone(), why: format!("{how}; it lists none of the preferred models, so its first") })
}

fn is_usable(route: &Route) -> bool {
    let model = route.model.to_lowercase();
    route.facts.tools != Some(false) && !PREFERENCES.never.iter().any(|word| model.contains(word.as_str()))
}

/// A version in a model's name. The highest is best; of equals the one without a date, which the provider keeps current; else the latest.
type Version = (Vec<u64>, Reverse<bool>, Vec<u64>);

/// The version of a model whose name fits the pattern.
fn version(pattern: &str, model: &str) -> Option<Version> {
    let mut numbers = Vec::new();
    let mut rest = model;
    let mut parts = pattern.split('#');
    rest = match parts.next()? {
        first if parts.clone().next().is_none() => return literal_end(first, rest).then(|| split_date(&numbers)),
        first => rest.strip_prefix(first)?,
    };
    while let Some(part) = parts.next() {
        let (found, after) = leading_number(rest)?;
        numbers.extend(found);
        rest = after;
        if parts.clone().next().is_none() {
            return literal_end(part, rest).then(|| split_date(&numbers));
        }
        rest = rest.strip_prefix(part)?;
    }
    None
}

/// Whether a text is what the end of a pattern says.
fn literal_end(pattern: &str, text: &str) -> bool {
    pattern.strip_suffix('*').map_or(text == pattern, |start| text.starts_with(start))
}

/// Digits, with dots and hyphens between them.
fn leading_number(text: &str) -> Option<(Vec<u64>, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '-').unwrap_or(text.len());
    let number = text.get(..end)?.trim_end_matches(['.', '-']);
    let found: Option<Vec<u64>> = number.split(['.', '-']).map(|digits| digits.parse().ok()).collect();
    Some((found?, text.get(number.len()..)?))
}

/// A number of four digits or more begins a date.
fn split_date(numbers: &[u64]) -> Version {
    let at = numbers.iter().position(|number| *number >= 1_000).unwrap_or(numbers.len());
    let (version, date) = numbers.split_at_checked(at).unwrap_or((numbers, &[]));
    (version.to_vec(), Reverse(!date.is_empty()), date.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best<'a>(pattern: &str, models: &[&'a str]) -> Option<&'a str> {
        let fitting = models.iter().filter_map(|model| Some((version(pattern, model)?, *model)));
        fitting.max().map(|(_, model)| model)
    }

    #[test]
    fn the_data_file_can_be_read_and_names_known_providers_only() {
        assert!(PREFERENCES.prefer.len() > 5 && !PREFERENCES.never.is_empty());
        for (name, patterns) in &PREFERENCES.prefer {
            assert!(known(name).is_some(), "{name}");
            for pattern in patterns {
                let starred = pattern.strip_suffix('*').unwrap_or(pattern);
                assert!(!starred.is_empty() && !starred.contains('*'), "{pattern}: a star stands at the end only");
            }
        }
    }

    #[test]
    fn the_highest_version_fits_best() {
        let models =
            ["gpt-4", "gpt-5", "gpt-5-2025-08-07", "gpt-5.1", "gpt-5.10", "gpt-5.9", "gpt-5.10-mini", "gpt-6o"];
        assert_eq!(best("gpt-#", &models), Some("gpt-5.10"));
        assert_eq!(best("gpt-#-mini", &models), Some("gpt-5.10-mini"));
        let claude = ["claude-sonnet-4-20250514", "claude-sonnet-4-5-20250929", "claude-opus-4-1-20250805"];
        assert_eq!(best("claude-sonnet-#", &claude), Some("claude-sonnet-4-5-20250929"));
        assert_eq!(best("gpt-#", &["gpt-5-2025-08-07", "gpt-5"]), Some("gpt-5"), "the one that is kept current");
        assert_eq!(best("gemini-#-flash", &["gemini-2.5-flash", "gemini-2.5-flash-lite"]), Some("gemini-2.5-flash"));
        assert_eq!(best("qwen#*", &["qwen2.5:7b", "qwen3:8b"]), Some("qwen3:8b"));
        assert_eq!(best("grok-*", &["grok-code"]), Some("grok-code"));
        assert_eq!(best("gpt-#", &["gpt-", "gpt", "gpt-x"]), None);
    }
}
