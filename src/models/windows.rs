//! How much prompt and answer may have together: what the owner says in `models.windows`, else what the provider reports.

use ouroboros_gateway::route::Route;
use ouroboros_proto::agent::{Window, WindowSource};

/// The window of a route.
#[must_use]
pub fn of(setting: &str, route: &Route) -> Option<Window> {
    let set = pairs(setting).filter_map(pair).find(|(name, _)| *name == route.id.as_str() || *name == route.model);
    set.map(|(_, tokens)| Window { tokens, source: WindowSource::Owner })
        .or_else(|| Some(Window { tokens: route.facts.window?, source: WindowSource::Reported }))
}

/// What in the setting means nothing, a sentence each.
pub fn problems(setting: &str) -> impl Iterator<Item = String> {
    let odd = pairs(setting).filter(|text| pair(text).is_none());
    odd.map(|text| {
        format!("models.windows: {text:?} is no route with its tokens, such as openai/gpt-5.1=128000; it is left out")
    })
}

fn pairs(setting: &str) -> impl Iterator<Item = &str> {
    setting.split(',').map(str::trim).filter(|pair| !pair.is_empty())
}

/// A route or model, and its tokens. Names of models may have an equals sign in them, numbers have none.
fn pair(text: &str) -> Option<(&str, u64)> {
    let (name, tokens) = text.rsplit_once('=')?;
    let (name, tokens) = (name.trim_end(), tokens.trim().parse().ok()?);
    (!name.is_empty() && tokens > 0).then_some((name, tokens))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouroboros_gateway::providers;
    use ouroboros_gateway::route::{ModelFacts, RouteId};

    #[test]
    fn the_owner_is_believed_before_the_provider() {
        let provider = providers::known("openai").expect("known").at("http://x");
        let facts = ModelFacts { model: "m".to_owned(), window: Some(7), ..ModelFacts::default() };
        let route = Route { id: RouteId::new("openai", "m"), provider, model: "m".to_owned(), facts };
        let tokens = |setting| of(setting, &route).map(|window| (window.tokens, window.source));
        assert_eq!(tokens(""), Some((7, WindowSource::Reported)));
        assert_eq!(tokens("other=1, openai/m = 5"), Some((5, WindowSource::Owner)));
        assert_eq!(tokens("m=9"), Some((9, WindowSource::Owner)));
        assert_eq!(tokens("openai/m=0"), Some((7, WindowSource::Reported)));
        let odd: Vec<String> = problems("a=1, b, c=x,").collect();
        assert_eq!(odd.len(), 2, "{odd:?}");
    }
}
