use super::*;
use crate::discover::{Found, How};
use crate::price::PerMillion;
use crate::providers::known;
use crate::route::{Provider, Route};

const AT: UtcMicros = UtcMicros::new(1_000);

fn price(input: u64, output: u64) -> Price {
    Price { input: PerMillion(input), output: PerMillion(output), ..Price::free() }
}

fn listed(model: &str, price: Option<Price>) -> ModelFacts {
    ModelFacts { model: model.to_owned(), price, ..ModelFacts::default() }
}

fn provider(name: &str) -> Provider {
    known(name).and_then(|known| known.provider(&|_| None)).expect("a known provider")
}

/// Routes of these models, each with the price that its provider lists.
fn routes(models: impl IntoIterator<Item = (Provider, ModelFacts)>) -> Routes {
    let mut routes = Routes::default();
    for (provider, facts) in models {
        if routes.providers.iter().all(|found| found.provider != provider) {
            routes.providers.push(found(provider.clone()));
        }
        let id = RouteId::new(&provider.name, &facts.model);
        routes.routes.insert(id.clone(), Route { id, provider, model: facts.model.clone(), facts });
    }
    routes
}

fn found(provider: Provider) -> Found {
    Found { provider, how: How::Setting, slots: None, listed: true }
}

/// Of these providers, none of which could be asked.
fn unasked(providers: impl IntoIterator<Item = Provider>) -> Routes {
    let providers = providers.into_iter().map(|provider| Found { listed: false, ..found(provider) }).collect();
    Routes { providers, ..Routes::default() }
}

fn catalogue(models: impl IntoIterator<Item = (Provider, ModelFacts)>, public: &[ModelFacts]) -> Catalogue {
    Catalogue::of(&routes(models), Some(public), &BTreeMap::new(), AT)
}

fn fact(catalogue: &Catalogue, route: &str) -> Option<(Price, PriceSource)> {
    catalogue.price(&RouteId::from(route.to_owned())).map(|fact| (fact.price.clone(), fact.source))
}

#[test]
fn prices_of_others_are_found_by_the_exact_name_only() {
    let public = [
        listed("openai/gpt-5.1", Some(price(1, 2))),
        listed("openai/gpt-4o", Some(price(3, 4))),
        listed("anthropic/claude-sonnet-4.5", Some(price(5, 6))),
        listed("anthropic/claude-sonnet-4.5:beta", Some(price(50, 60))),
        listed("google/gemini-2.5-pro", Some(price(7, 8))),
        listed("openai/unpriced", None),
    ];
    let models = [
        ("openai", "gpt-5.1"),
        ("openai-responses", "gpt-5.1"),
        ("openai", "gpt-5.1-mini"),
        ("openai", "gpt-5"),
        ("openai", "gpt-4o-20240513"),
        ("openai", "unpriced"),
        ("anthropic", "claude-sonnet-4-5-20250929"),
        ("anthropic", "claude-sonnet-4-5"),
        ("anthropic", "claude-sonnet-4-5-beta"),
        ("gemini", "gemini-2.5-pro"),
        ("groq", "openai/gpt-5.1"),
        ("groq", "gpt-5.1"),
    ];
    let catalogue = catalogue(models.map(|(name, model)| (provider(name), listed(model, None))), &public);
    for (route, price) in [
        ("openai/gpt-5.1", Some(price(1, 2))),
        ("openai-responses/gpt-5.1", Some(price(1, 2))),
        ("openai/gpt-5.1-mini", None),
        ("openai/gpt-5", None),
        ("openai/gpt-4o-20240513", None),
        ("openai/unpriced", None),
        ("anthropic/claude-sonnet-4-5-20250929", Some(price(5, 6))),
        ("anthropic/claude-sonnet-4-5", Some(price(5, 6))),
        ("anthropic/claude-sonnet-4-5-beta", None),
        ("gemini/gemini-2.5-pro", Some(price(7, 8))),
        ("groq/openai/gpt-5.1", None),
        ("groq/gpt-5.1", None),
    ] {
        assert_eq!(fact(&catalogue, route), price.map(|price| (price, PriceSource::Openrouter)), "{route}");
    }
}

#[test]
fn what_stands_in_for_a_provider_does_not_have_its_prices() {
    let stand_in = Provider { base_url: "https://proxy.example/v1".to_owned(), ..provider("openai") };
    let public = [listed("openai/gpt-5.1", Some(price(1, 2)))];
    assert_eq!(fact(&catalogue([(stand_in, listed("gpt-5.1", None))], &public), "openai/gpt-5.1"), None);
}

#[test]
fn two_models_of_one_name_have_no_price_unless_it_is_the_same() {
    let models = || [(provider("openai"), listed("gpt-5.1", None))];
    let twice = |second| [listed("openai/gpt-5.1", Some(price(1, 2))), listed("openai/GPT-5-1", Some(second))];
    assert_eq!(fact(&catalogue(models(), &twice(price(1, 3))), "openai/gpt-5.1"), None);
    assert!(fact(&catalogue(models(), &twice(price(1, 2))), "openai/gpt-5.1").is_some());
}

#[test]
fn the_owner_comes_first_then_the_provider() {
    let public = [listed("openai/gpt-5.1", Some(price(1, 2)))];
    let routes = routes([
        (provider("openrouter"), listed("openai/gpt-5.1", Some(price(10, 20)))),
        (provider("openrouter"), listed("x/y", Some(price(11, 21)))),
        (provider("openai"), listed("gpt-5.1", Some(price(12, 22)))),
        (provider("ollama"), listed("qwen3:8b", None)),
    ]);
    let owner = BTreeMap::from([(RouteId::new("openrouter", "x/y"), price(100, 200))]);
    let catalogue = Catalogue::of(&routes, Some(&public), &owner, AT);
    assert_eq!(fact(&catalogue, "openrouter/openai/gpt-5.1"), Some((price(10, 20), PriceSource::Provider)));
    assert_eq!(fact(&catalogue, "openrouter/x/y"), Some((price(100, 200), PriceSource::Owner)));
    assert_eq!(fact(&catalogue, "openai/gpt-5.1"), Some((price(12, 22), PriceSource::Provider)));
    assert_eq!(fact(&catalogue, "ollama/qwen3:8b"), Some((Price::free(), PriceSource::Local)));
    assert_eq!(catalogue.price(&RouteId::new("openrouter", "x/y")).map(|fact| fact.at), Some(AT));
}

#[test]
fn the_highest_price_bounds_every_known_one() {
    let dear = Price { cache_write: Some(PerMillion(90)), ..price(10, 20) };
    let catalogue = catalogue(
        [
            (provider("openrouter"), listed("a", Some(dear.clone()))),
            (provider("openrouter"), listed("b", Some(price(5, 75)))),
            (provider("openrouter"), listed("c", None)),
            (provider("ollama"), listed("d", None)),
        ],
        &[],
    );
    let highest = catalogue.highest().expect("prices");
    assert_eq!((highest.input, highest.output), (PerMillion(10), PerMillion(75)));
    for known in [dear, price(5, 75)] {
        assert!(highest.bound(1_000_000, 1_000_000, 1) >= known.bound(1_000_000, 1_000_000, 1));
    }
    let free = self::catalogue([(provider("ollama"), listed("d", None))], &[]);
    assert_eq!(free.highest(), None, "nothing is not the price of what is not known");
}

#[test]
fn it_travels_as_json_and_keeps_what_was_known_of_who_is_away() {
    let older = catalogue([(provider("openrouter"), listed("a", Some(price(1, 2))))], &[]);
    let text = serde_json::to_string(&older).expect("JSON");
    let read: Catalogue = serde_json::from_str(&text).expect("a catalogue");
    assert_eq!(read, older);
    let away = Routes::default();
    let kept = Catalogue::of(&away, None, &BTreeMap::new(), AT).with_older(read, &away, None);
    let mut routes =
        routes([(provider("openrouter"), listed("a", None)), (provider("openrouter"), listed("z", Some(price(9, 9))))]);
    kept.apply(&mut routes);
    let price_of =
        |id: &str| routes.routes.get(&RouteId::from(id.to_owned())).and_then(|route| route.facts.price.clone());
    assert_eq!((price_of("openrouter/a"), price_of("openrouter/z")), (Some(price(1, 2)), None));
}

/// What is known after a look that found this, and another before it.
fn after(older: &Catalogue, routes: &Routes, public: Option<&[ModelFacts]>) -> Catalogue {
    Catalogue::of(routes, public, &BTreeMap::new(), AT).with_older(older.clone(), routes, public)
}

#[test]
fn a_price_outlives_a_look_that_could_not_ask_for_it() {
    let public = [listed("openai/m", Some(price(1, 2)))];
    let now = routes([(provider("openai"), listed("m", None))]);
    let older = Catalogue::of(&now, Some(&public), &BTreeMap::new(), UtcMicros::new(7));
    let kept = after(&older, &now, None);
    assert_eq!(fact(&kept, "openai/m"), Some((price(1, 2), PriceSource::Openrouter)));
    assert_eq!(
        kept.price(&RouteId::new("openai", "m")).map(|fact| fact.at),
        Some(UtcMicros::new(7)),
        "as old as it is"
    );
    assert_eq!(fact(&after(&older, &now, Some(&[])), "openai/m"), None, "it was asked for and is gone");

    let own = catalogue([(provider("openrouter"), listed("m", Some(price(3, 4))))], &[]);
    let mut silent = unasked([provider("openrouter")]);
    let facts = own.models(&provider("openrouter"));
    silent.routes = routes(facts.into_iter().map(|facts| (provider("openrouter"), facts))).routes;
    assert_eq!(fact(&after(&own, &silent, Some(&[])), "openrouter/m"), Some((price(3, 4), PriceSource::Provider)));
    let unpriced = routes([(provider("openrouter"), listed("m", None))]);
    assert_eq!(fact(&after(&own, &unpriced, None), "openrouter/m"), None, "its provider does not say it any more");
}

#[test]
fn what_is_known_of_one_address_is_not_believed_at_another() {
    let stand_in = || Provider { base_url: "https://proxy.example/v1".to_owned(), ..provider("openai") };
    let public = [listed("openai/m", Some(price(1, 2)))];
    let older = catalogue([(provider("openai"), listed("m", None))], &public);
    assert_eq!(older.models(&stand_in()), []);
    for now in [unasked([stand_in()]), routes([(stand_in(), listed("m", None))])] {
        assert_eq!(fact(&after(&older, &now, None), "openai/m"), None);
    }
}

#[test]
fn a_route_that_its_provider_does_not_list_any_more_is_forgotten() {
    let older = catalogue(
        [(provider("openrouter"), listed("dear", Some(price(90, 90)))), (provider("groq"), listed("g", None))],
        &[],
    );
    let now = routes([(provider("openrouter"), listed("cheap", Some(price(1, 1))))]);
    let newer = after(&older, &now, Some(&[]));
    let names: Vec<_> = newer.routes.keys().map(RouteId::as_str).collect();
    assert_eq!(names, ["groq/g", "openrouter/cheap"], "who was not asked has lost nothing");
    assert_eq!(newer.highest().map(|price| price.input), Some(PerMillion(1)));
    assert_eq!(newer.models(&provider("openrouter")).len(), 1);
}

#[test]
fn an_owners_price_of_a_route_that_nobody_lists_holds_until_it_is_taken_away() {
    let route = RouteId::new("openai", "unlisted");
    let owner = BTreeMap::from([(route.clone(), price(1, 2))]);
    let none = routes([]);
    let first = Catalogue::of(&none, None, &owner, AT);
    assert_eq!(fact(&first, "openai/unlisted"), Some((price(1, 2), PriceSource::Owner)));
    let again = Catalogue::of(&none, None, &owner, AT).with_older(first.clone(), &none, None);
    assert_eq!(fact(&again, "openai/unlisted"), Some((price(1, 2), PriceSource::Owner)));
    let without = Catalogue::of(&none, None, &BTreeMap::new(), AT).with_older(first.clone(), &none, None);
    assert_eq!(fact(&without, "openai/unlisted"), None);
    assert_eq!(first.models(&provider("openai")), [], "the owner's word lists no model");
}
