//! Discovery with servers of the tests at every address that is asked.

use super::*;
use crate::dialect::Dialect;
use crate::testing::{Received, Server, json, nowhere, response};
use crate::transport::TransportOptions;

/// The variables of servers of this machine.
const LOCAL: [&str; 4] = ["OLLAMA_HOST", "LLAMACPP_BASE_URL", "LMSTUDIO_BASE_URL", "VLLM_BASE_URL"];

/// Variables by name. Servers of this machine that have none are nowhere, so that what really runs here is not asked.
fn variables(list: &[(&str, &str)]) -> impl Fn(&str) -> Option<String> + Sync + use<> {
    let list: Vec<_> = list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    move |name| {
        let said = list.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        said.or_else(|| LOCAL.contains(&name).then(nowhere))
    }
}

const fn key<'a>(provider: &'a str, found: &'a str, secret: &'a str) -> Key<'a> {
    Key { provider, found, secret }
}

async fn run(
    keys: &[Key<'_>],
    providers: &[Provider],
    default: Option<&str>,
    variable: &(dyn Fn(&str) -> Option<String> + Sync),
) -> Routes {
    let transport = Transport::new(TransportOptions::default());
    let listed_before = |_: &Provider| Vec::new();
    let search = Search { keys, providers, default, local: true, variable, listed_before: &listed_before };
    discover(&transport, &search).await
}

#[tokio::test]
async fn a_provider_that_cannot_be_asked_keeps_the_models_it_had() {
    let gone = nowhere();
    let list = [("OPENAI_BASE_URL", gone.as_str()), ("ANTHROPIC_BASE_URL", gone.as_str())];
    let listed_before = |provider: &Provider| {
        let models: &[&str] = if provider.name == "openai" { &["gpt-5"] } else { &[] };
        models.iter().map(|model| ModelFacts { model: (*model).to_owned(), ..ModelFacts::default() }).collect()
    };
    let keys = [key("openai", "a file", "k1"), key("anthropic", "a file", "k2")];
    let search = Search {
        keys: &keys,
        providers: &[],
        default: None,
        local: true,
        variable: &variables(&list),
        listed_before: &listed_before,
    };
    let routes = discover(&Transport::new(TransportOptions::default()), &search).await;
    assert_eq!(choice(&routes).map(|(route, _)| route), Some("openai/gpt-5"));
    assert_eq!(routes.routes.len(), 1);
    for name in ["openai", "anthropic"] {
        assert!(routes.problems.iter().any(|problem| problem.provider == name), "it is told all the same");
    }
    assert!(routes.providers.iter().all(|found| !found.listed));
}

fn models(ids: &[&str]) -> String {
    let data: Vec<_> = ids.iter().map(|id| serde_json::json!({ "id": id })).collect();
    serde_json::json!({ "data": data }).to_string()
}

async fn catalogue(ids: &[&str]) -> Server {
    let body = models(ids);
    Server::answering(move |_| vec![json(&body)]).await
}

fn choice(routes: &Routes) -> Option<(&str, &str)> {
    routes.default.as_ref().map(|choice| (choice.route.as_str(), choice.why.as_str()))
}

fn names(routes: &Routes) -> Vec<&str> {
    routes.providers.iter().map(|found| found.provider.name.as_str()).collect()
}

fn at(name: &str, base_url: &str) -> Provider {
    Provider { name: name.to_owned(), dialect: Dialect::OpenaiChat, base_url: base_url.to_owned(), local: false }
}

#[tokio::test]
async fn a_key_leads_to_a_default_and_goes_to_its_own_provider_only() {
    let openai = catalogue(&["gpt-5.1", "gpt-5-2025-08-07", "text-embedding-3-large", "gpt-5.1-audio"]).await;
    let anthropic = catalogue(&["claude-sonnet-4-5-20250929"]).await;
    let ollama = Server::answering(|_| vec![response("404 Not Found", "", "")]).await;
    let variable = variables(&[
        ("OPENAI_BASE_URL", &format!("{}/v1", openai.url)),
        ("ANTHROPIC_BASE_URL", &anthropic.url),
        ("OLLAMA_HOST", &ollama.url),
    ]);
    let keys = [key("anthropic", "the store", "sk-ant-1"), key("openai", "the variable OPENAI_API_KEY", "sk-oai-2")];
    let routes = run(&keys, &[], None, &variable).await;

    assert_eq!(names(&routes), ["openai", "anthropic"], "in the order of the table: {:?}", routes.problems);
    let (route, why) = choice(&routes).expect("a default");
    assert_eq!(route, "openai/gpt-5.1");
    assert!(why.contains("OPENAI_API_KEY"), "{why}");
    assert_eq!(routes.routes.len(), 5);
    let told = format!("{routes:?} {keys:?}");
    assert!(!told.contains("sk-ant-1") && !told.contains("sk-oai-2"), "no key is told");

    for (server, own) in [(&openai, Some("sk-oai-2")), (&anthropic, Some("sk-ant-1")), (&ollama, None)] {
        let requests = server.requests();
        assert!(!requests.is_empty());
        for Received { head, .. } in requests {
            for secret in ["sk-oai-2", "sk-ant-1"] {
                assert_eq!(head.contains(secret), own == Some(secret), "{head}");
            }
        }
    }
}

#[tokio::test]
async fn a_catalogue_cannot_lead_a_key_away() {
    let elsewhere = catalogue(&["x"]).await;
    let location = format!("location: {}/v1/models\r\n", elsewhere.url);
    let redirecting = Server::answering(move |_| vec![response("302 Found", &location, "")]).await;
    let variable = variables(&[("OPENAI_BASE_URL", &redirecting.url)]);
    let routes = run(&[key("openai", "the store", "sk-1")], &[], None, &variable).await;
    assert_eq!((names(&routes), elsewhere.connections()), (vec!["openai"], 0));
    assert_eq!(routes.default, None);
    assert_eq!(routes.problems.len(), 1, "{:?}", routes.problems);
}

#[tokio::test]
async fn pages_are_read_to_the_end() {
    let server = Server::answering(|request| {
        let (ids, more) = if request.target().contains("after_id=b") { (["c"], false) } else { (["b"], true) };
        let data: Vec<_> = ids.iter().map(|id| serde_json::json!({ "id": id })).collect();
        vec![json(&serde_json::json!({ "data": data, "has_more": more, "last_id": ids[0] }).to_string())]
    })
    .await;
    let variable = variables(&[("ANTHROPIC_BASE_URL", &server.url)]);
    let routes = run(&[key("anthropic", "the store", "sk-1")], &[], None, &variable).await;
    let found: Vec<_> = routes.routes.keys().map(RouteId::as_str).collect();
    assert_eq!(found, ["anthropic/b", "anthropic/c"]);
    assert!(server.requests().iter().all(|request| request.header("x-api-key").as_deref() == Some("sk-1")));
}

#[tokio::test]
async fn pages_without_end_are_bounded() {
    let endless = r#"{"data":[{"id":"a"}],"has_more":true,"last_id":"a"}"#;
    let server = Server::answering(move |_| vec![json(endless)]).await;
    let variable = variables(&[("ANTHROPIC_BASE_URL", &server.url)]);
    let routes = run(&[key("anthropic", "the store", "sk-1")], &[], None, &variable).await;
    assert_eq!((routes.routes.len(), server.requests().len()), (1, 20));
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_does_not_answer_is_told_and_can_be_named_all_the_same() {
    let server = Server::answering(|_| vec![crate::testing::Act::Stall]).await;
    let variable = variables(&[("OPENAI_BASE_URL", &server.url)]);
    let routes = run(&[key("openai", "the store", "sk-1")], &[], None, &variable).await;
    assert_eq!(routes.default, None);
    assert!(routes.problems[0].what.contains("10"), "{:?}", routes.problems);
    assert!(!routes.providers[0].listed);
    assert_eq!(routes.find(Some("openai/gpt-5.1")).map(|route| route.model), Some("gpt-5.1".to_owned()));
    assert_eq!(routes.find(Some("nobody/gpt-5.1")), None);
    assert_eq!(routes.find(Some("openai/")), None);
    assert_eq!(routes.find(None), None);
}

#[tokio::test]
async fn the_settings_come_first() {
    let openai = catalogue(&["gpt-5.1"]).await;
    let own = catalogue(&["special", "usual"]).await;
    let variable = variables(&[("OPENAI_BASE_URL", &openai.url)]);
    let keys = [key("openai", "the store", "sk-1"), key("mine", "the store", "sk-2")];
    let providers = [at("mine", &own.url)];

    let routes = run(&keys, &providers, Some("mine/special"), &variable).await;
    assert_eq!(choice(&routes), Some(("mine/special", "the settings name it")));
    assert_eq!(own.requests()[0].header("authorization").as_deref(), Some("Bearer sk-2"));
    assert_eq!(routes.find(Some("usual")).map(|route| route.id), Some(RouteId::new("mine", "usual")));
    let twice = [at("yours", &own.url), at("mine", &own.url)];
    let both = run(&keys, &twice, None, &variable).await;
    let named = ["yours", "mine"].map(|provider| RouteId::new(provider, "usual"));
    assert_eq!(both.named("usual"), named, "in the order of the providers, not of their names");
    assert_eq!(both.find(Some("usual")).map(|route| route.id), Some(RouteId::new("yours", "usual")));

    let routes = run(&keys, &providers, Some("openai"), &variable).await;
    assert_eq!(choice(&routes).map(|(route, _)| route), Some("openai/gpt-5.1"), "a provider's name is enough");

    let routes = run(&keys, &providers, None, &variable).await;
    assert_eq!(choice(&routes).map(|(route, _)| route), Some("mine/special"), "what is named comes before keys");

    let routes = run(&keys, &providers, Some("anthropic/claude"), &variable).await;
    assert_eq!(routes.default, None, "nothing else is taken in its place");
}

#[tokio::test]
async fn a_setting_stands_in_for_a_known_provider_and_gets_its_key() {
    let usual = catalogue(&["gpt-5.1"]).await;
    let own = catalogue(&["gpt-5.1"]).await;
    let variable = variables(&[("OPENAI_BASE_URL", &usual.url)]);
    let routes = run(&[key("openai", "the store", "sk-1")], &[at("openai", &own.url)], None, &variable).await;
    assert_eq!(names(&routes), ["openai"]);
    assert_eq!((usual.requests().len(), own.requests().len()), (0, 1));
}

#[tokio::test]
async fn a_key_of_nobody_is_told() {
    let routes = run(&[key("nobody", "the variable X", "sk-1")], &[], None, &variables(&[])).await;
    assert_eq!(routes.problems.len(), 1);
    assert!(routes.problems[0].what.contains("the variable X"));
}

#[tokio::test]
async fn a_search_can_be_left_to_any_thread() {
    let found = tokio::spawn(async { run(&[], &[], None, &variables(&[])).await }).await;
    assert_eq!(found.ok(), Some(Routes::default()));
}

#[tokio::test]
async fn a_key_that_travels_in_the_clear_is_told() {
    let routes = run(&[key("mine", "the store", "sk-1")], &[at("mine", &nowhere())], None, &variables(&[])).await;
    assert!(routes.problems[0].what.contains("read on the way"), "{:?}", routes.problems);
}

/// A server that has an answer for some paths.
async fn serving(paths: &'static [(&'static str, &'static str)]) -> Server {
    Server::answering(move |request| {
        let target = request.target();
        let known = paths.iter().find(|(path, _)| target.ends_with(path));
        vec![known.map_or_else(|| response("404 Not Found", "", ""), |(_, body)| json(body))]
    })
    .await
}

#[tokio::test]
async fn servers_of_this_machine_say_what_they_have() {
    let ollama = serving(&[
        ("GET /api/version", r#"{"version":"0.12"}"#),
        ("GET /api/tags", r#"{"models":[{"model":"qwen3:8b"},{"model":"nomic-embed-text"}]}"#),
        ("POST /api/show", r#"{"model_info":{"qwen3.context_length":40960},"capabilities":["completion","tools"]}"#),
    ])
    .await;
    let llama = serving(&[
        ("GET /health", r#"{"status":"ok"}"#),
        ("GET /v1/models", r#"{"data":[{"id":"some.gguf","meta":{"n_ctx_train":131072}}]}"#),
        (
            "GET /props",
            r#"{"total_slots":4,"default_generation_settings":{"n_ctx":8192},"modalities":{"vision":true}}"#,
        ),
    ])
    .await;
    let studio = serving(&[(
        "GET /api/v0/models",
        r#"{"data":[{"id":"a","type":"llm","max_context_length":9,"loaded_context_length":7,"capabilities":["tool_use"]},
            {"id":"b","type":"embeddings"},{"id":"c","type":"vlm","max_context_length":5}]}"#,
    )])
    .await;
    let vllm = serving(&[("GET /v1/models", r#"{"data":[{"id":"v","max_model_len":32768}]}"#)]).await;
    let variable = variables(&[
        ("OLLAMA_HOST", &ollama.url),
        ("LLAMACPP_BASE_URL", &llama.url),
        ("LMSTUDIO_BASE_URL", &studio.url),
        ("VLLM_BASE_URL", &vllm.url),
    ]);
    let routes = run(&[], &[], None, &variable).await;
    assert_eq!(names(&routes), ["ollama", "llamacpp", "lmstudio", "vllm"], "{:?}", routes.problems);
    let facts = |id: &str| routes.routes.get(&RouteId::from(id.to_owned())).map(|route| route.facts.clone()).expect(id);
    assert_eq!((facts("ollama/qwen3:8b").window, facts("ollama/qwen3:8b").tools), (Some(40_960), Some(true)));
    assert_eq!((facts("llamacpp/some.gguf").window, facts("llamacpp/some.gguf").images), (Some(8_192), Some(true)));
    assert_eq!((facts("lmstudio/a").window, facts("lmstudio/a").tools), (Some(7), Some(true)));
    assert_eq!((facts("lmstudio/c").window, facts("lmstudio/c").images), (Some(5), Some(true)));
    assert_eq!(facts("vllm/v").window, Some(32_768));
    assert!(!routes.routes.contains_key(&RouteId::new("lmstudio", "b")), "what only embeds is no route");
    assert_eq!(routes.providers.iter().map(|found| found.slots).collect::<Vec<_>>(), [None, Some(4), None, None]);
    let (route, why) = choice(&routes).expect("a default");
    assert_eq!(route, "ollama/qwen3:8b");
    assert!(why.contains("no provider has a key"), "{why}");
    assert!(routes.routes.values().all(|route| route.provider.local));
}

#[tokio::test]
async fn something_else_at_a_usual_address_is_no_server_of_models() {
    let page =
        Server::answering(|_| vec![response("200 OK", "content-type: text/html\r\n", "<html>hello</html>")]).await;
    let url = page.url.as_str();
    let variable = variables(&[
        ("OLLAMA_HOST", url),
        ("LLAMACPP_BASE_URL", url),
        ("LMSTUDIO_BASE_URL", url),
        ("VLLM_BASE_URL", url),
    ]);
    let routes = run(&[], &[], None, &variable).await;
    assert_eq!(routes, Routes::default());
}

#[tokio::test]
async fn a_server_that_loads_its_model_is_there() {
    let body = r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#;
    let llama = Server::answering(move |_| vec![response("503 Service Unavailable", "", body)]).await;
    let routes = run(&[], &[], None, &variables(&[("LLAMACPP_BASE_URL", &llama.url)])).await;
    assert_eq!(names(&routes), ["llamacpp"]);
    assert_eq!((routes.providers[0].listed, routes.problems.len()), (false, 1));
}

#[tokio::test]
async fn the_public_catalogue_is_asked_for_without_a_key() {
    let body = r#"{"data":[{"id":"openai/gpt-5.1","pricing":{"prompt":"0.00000125","completion":"0.00001"}}]}"#;
    let server = Server::answering(move |_| vec![json(body)]).await;
    let transport = Transport::new(TransportOptions::default());
    let models = public_catalogue(&transport, &variables(&[("OPENROUTER_BASE_URL", &server.url)])).await;
    let models = models.expect("a catalogue");
    assert!(models[0].price.is_some());
    assert_eq!(server.requests()[0].header("authorization"), None);
}
