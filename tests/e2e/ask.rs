//! Questions to models: what comes out of an answer, and what of everything that is none.

use super::rig::{PRICED, Rig, cost, sends, states};
use serde_json::{Value, json};
use support::{Provider, until};

#[test]
fn every_dialect_answers_and_its_cost_is_the_providers() {
    let provider = Provider::start(&format!(
        "[models.free]\n[models.\"openai/m\"]\n{PRICED}[[rule]]\nmatch = {{ dialect = 'openrouter' }}\nsay = 'told'\ncost = '0.0123456789'"
    ));
    let (openai, compatible, ollama) = (provider.url("openai"), provider.url("compatible"), provider.url("ollama"));
    let variables = [
        ("OPENAI_BASE_URL", openai.as_str()),
        ("ANTHROPIC_API_KEY", "sk-ant-of-a-test-000001"),
        ("GEMINI_API_KEY", "gemini-key-of-a-test-01"),
        ("OPENROUTER_API_KEY", "sk-or-key-of-a-test-01"),
        ("OPENAI_COMPATIBLE_BASE_URL", compatible.as_str()),
        ("OLLAMA_HOST", ollama.as_str()),
    ];
    let mut rig = Rig::idle(provider, &[], &variables);
    rig.up();
    for provider in ["openai", "anthropic", "gemini", "openai-compatible"] {
        rig.price(&format!("{provider}/m"));
    }
    for (route, dialect) in [
        ("openai/m", "openai"),
        ("anthropic/m", "anthropic"),
        ("gemini/m", "gemini"),
        ("openrouter/m", "openrouter"),
        ("openai-compatible/m", "compatible"),
        ("ollama/free", "ollama"),
    ] {
        let prompt = format!("the question on {route}");
        let task = rig.ask_on(route, &prompt);
        let ended = rig.ends(&task);
        assert_eq!((&ended["status"], states(&ended)), (&"completed".into(), vec!["settled"]), "{route}: {ended:#}");
        let expected = if dialect == "openrouter" { "told".to_owned() } else { prompt };
        assert_eq!(rig.said(&task), (expected, String::new()), "{route}");
        let record = rig.provider.chats().pop().unwrap();
        assert_eq!(record["dialect"], dialect);
        let source = match dialect {
            "openrouter" => "provider",
            "ollama" => "local",
            _ => "catalogue",
        };
        assert_eq!(sends(&ended)[0]["cost"]["source"], source, "{ended:#}");
        assert_eq!(cost(&sends(&ended)[0]), record["cost_nanos"].as_u64(), "{route}");
        assert_eq!(sends(&ended)[0]["usage"]["output"], record["usage"]["output"], "{route}");
    }
    let task = rig.ask_on("m", "a name of many");
    assert_eq!(sends(&rig.ends(&task))[0]["route"], "openai/m");
    let said = rig.said(&task).1;
    assert!(said.starts_with("m is taken to be openai/m; there is also anthropic/m, openrouter/m"), "{said}");
    assert_eq!(rig.balance().unknown, 0);
}

#[test]
fn the_second_format_of_a_stand_in_is_spoken_when_its_owner_names_it() {
    let settings = [("models.default", "'openai-responses/m'")];
    let rig = Rig::start(PRICED, &settings, &[]);
    rig.price("openai-responses/m");
    let task = rig.ask("asked in the second format");
    assert_eq!(rig.ends(&task)["status"], "completed");
    assert_eq!(rig.said(&task).0, "asked in the second format");
    assert_eq!(rig.provider.chats().pop().unwrap()["dialect"], "responses");
    rig.balance();
}

#[test]
fn an_answer_is_shown_while_it_is_written_and_is_cut_by_a_cancel() {
    let rig =
        Rig::start(&format!("{PRICED}[[rule]]\nsay = '{}'\nstall_after_bytes = 2000", "word ".repeat(400)), &[], &[]);
    rig.price("openai/m");
    let task = rig.ask("tell me much");
    until("a part of the answer is written", || rig.said(&task).0.starts_with("word word ").then_some(()));
    assert_eq!(rig.task(&task)["status"], "running");
    rig.post(&format!("/api/tasks/{task}/cancel"), &Value::Null);
    let ended = rig.reaches(&task, "cancelled");
    assert_eq!(states(&ended), ["unresolved"], "{ended:#}");
    let text = rig.said(&task).0;
    assert!(text.starts_with("word word ") && text.len() < 2_000, "{text:?}");
    assert_eq!(rig.balance().unknown, 1);
}

#[test]
fn a_question_that_is_called_off_before_its_first_byte_may_have_cost() {
    let rig = Rig::start(&format!("{PRICED}[[rule]]\nhalf_open = true\nbill = 'whole'"), &[], &[]);
    rig.price("openai/m");
    let (cancelled, late) = (rig.ask("never answered"), "answered too late");
    rig.asked(1);
    rig.post(&format!("/api/tasks/{cancelled}/cancel"), &Value::Null);
    assert_eq!(states(&rig.reaches(&cancelled, "cancelled")), ["unresolved"]);
    let late = rig.submit(json!({ "ask": { "prompt": late }, "timeout_ms": 300 }));
    assert_eq!(rig.code(&late), 124);
    assert_eq!(states(&rig.ends(&late)), ["unresolved"]);
    let balance = rig.balance();
    assert_eq!((balance.received, balance.unknown, balance.settled), (2, 2, 0));
}

#[test]
fn an_answer_that_is_none_says_what_it_is() {
    let rig = Rig::start(
        &format!(
            "{PRICED}
            [[rule]]\nmatch = {{ text = 'cut' }}\nsay = '{}'
            [[rule]]\nmatch = {{ text = 'decline' }}\nrefuse = 'I would rather not.'
            [[rule]]\nmatch = {{ text = 'long' }}\noverflow = 1000
            [[rule]]\nmatch = {{ text = 'broken' }}\nparts = [{{ raw = \"data: {{nonsense\\n\\n\" }}]",
            "x".repeat(100)
        ),
        &[],
        &[],
    );
    rig.price("openai/m");
    let cut = rig.submit(json!({ "ask": { "prompt": "cut", "max_output_tokens": 5 } }));
    assert_eq!(rig.code(&cut), 0);
    let (text, said) = rig.said(&cut);
    assert_eq!(text, "x".repeat(20));
    assert!(said.contains("the answer is cut: it reached the most tokens"), "{said}");
    for (prompt, code, failure, words) in [
        ("decline", 3, "refused", "declined to answer"),
        ("long", 1, "context_overflow", "maximum context length"),
        ("broken", 1, "malformed", "not usable"),
    ] {
        let task = rig.ask(prompt);
        assert_eq!(rig.code(&task), code, "{prompt}");
        let ended = rig.task(&task);
        let ending = &ended["outcome"]["failed"]["ended"]["model_failed"]["failure"];
        assert_eq!((&ended["status"], ending), (&"failed".into(), &failure.into()), "{ended:#}");
        let said = rig.said(&task).1;
        assert!(said.contains(words), "{prompt}: {said}");
        assert_eq!(states(&ended), ["settled"], "{ended:#}");
    }
    assert_eq!(rig.balance().unknown, 0);
}

#[test]
fn what_is_turned_away_for_a_moment_is_asked_again_in_a_row_of_its_own() {
    let script = format!(
        "{PRICED}[[rule]]\nmatch = {{ text = 'limited', nth = 1 }}\nstatus = 429\nretry_after = 1
        [[rule]]\nmatch = {{ text = 'storm', nth = [1, 2, 3] }}\nstatus = 503"
    );
    let rig = Rig::start(&script, &[], &[]);
    rig.price("openai/m");
    let limited = rig.ask("limited");
    let ended = rig.ends(&limited);
    assert_eq!((&ended["status"], states(&ended)), (&"completed".into(), vec!["settled"; 2]), "{ended:#}");
    let at = |send: &Value, name: &str| send[name].as_str().unwrap().to_owned();
    let rows = sends(&ended);
    assert_eq!((cost(&rows[0]), &rows[0]["ordinal"], &rows[1]["ordinal"]), (Some(0), &1.into(), &2.into()));
    // Times are written in a form that sorts; a second lies between the refusal and the next try.
    assert!(second_later(&at(&rows[0], "ended_at")) <= at(&rows[1], "reserved_at"), "{ended:#}");
    assert!(rig.said(&limited).1.contains("next try in"), "{:?}", rig.said(&limited));
    let storm = rig.ask("storm");
    let ended = rig.ends(&storm);
    assert_eq!((&ended["status"], states(&ended)), (&"completed".into(), vec!["settled"; 4]), "{ended:#}");
    assert_eq!(rig.balance().received, 6);
}

/// A time a second after this one, as it is written.
fn second_later(at: &str) -> String {
    use ouroboros_proto::api::Timestamp;
    use ouroboros_proto::kind::Millis;
    let at: Timestamp = serde_json::from_value(at.into()).unwrap();
    Timestamp(at.0.plus(Millis::seconds(1))).to_string()
}

#[test]
fn a_wait_of_days_is_shown_holds_no_slot_and_can_be_cancelled() {
    let script = format!("{PRICED}[[rule]]\nmatch = {{ text = 'later' }}\nstatus = 429\nretry_after = 259200");
    let rig = Rig::start(&script, &[("queue.slots", "1")], &[]);
    rig.price("openai/m");
    let later = rig.ask("later");
    let task = rig.waits(&later, "rate_limit");
    let (begun, due) = (&task["wait"]["since"], &task["wait"]["until"]);
    let days = |text: &Value| {
        let at: ouroboros_proto::api::Timestamp = serde_json::from_value(text.clone()).unwrap();
        at.0.get() / 86_400_000_000
    };
    assert!((3..=4).contains(&(days(due) - days(begun))), "{task:#}");
    assert!(task["reason"].as_str().unwrap().contains("It looks again at"), "{task:#}");
    until("its slot is free", || (rig.get("/api/state")["slots"]["busy"] == 0).then_some(()));
    let other = rig.home.run(&["run", "--", "echo", "the slot is free"]);
    assert_eq!(other.out, "the slot is free\n", "{other:?}");
    let same_route = rig.ask("now");
    rig.reaches(&same_route, "completed");
    rig.post(&format!("/api/tasks/{later}/cancel"), &Value::Null);
    rig.reaches(&later, "cancelled");
    assert_eq!(rig.balance().received, 2);
}

#[test]
fn a_key_that_is_not_accepted_is_waited_for() {
    let good = "sk-the-good-one-of-openai-01";
    let rig = Rig::start(&format!("keys = ['{good}']\n{PRICED}"), &[], &[]);
    rig.price("openai/m");
    let task = rig.ask("may I?");
    rig.waits(&task, "auth");
    let other = rig.home.run(&["ask", "and I?"]);
    assert!(other.code == 5 && other.err.contains("key"), "{other:?}");
    let chats = rig.provider.chats().len() - 1;
    rig.post("/api/keys", &json!({ "provider": "openai", "key": good }));
    let ended = rig.reaches(&task, "completed");
    assert_eq!(states(&ended).len(), chats + 1, "{ended:#}");
    assert_eq!(rig.said(&task).0, "may I?");
    rig.balance();
}

#[test]
fn who_cannot_be_reached_is_waited_for() {
    // An address that no other test listens at, so that it is free until the provider comes back.
    let mut provider = Provider::start_at("127.0.0.77:0", PRICED);
    let address = provider.address().to_owned();
    let mut rig = Rig::idle(provider, &[], &[]);
    rig.up();
    rig.price("openai/m");
    rig.get("/api/models");
    rig.provider.kill();
    let task = rig.ask("anybody there?");
    let waiting = rig.waits(&task, "network");
    assert!(states(&waiting).iter().all(|state| *state == "released"), "{waiting:#}");
    assert_eq!(waiting["cost"]["accounted_nanos"], 0, "{waiting:#}");
    provider = Provider::start_at(&address, PRICED);
    rig.provider = provider;
    rig.post(&format!("/api/tasks/{task}/resume"), &Value::Null);
    rig.reaches(&task, "completed");
    assert_eq!(rig.said(&task).0, "anybody there?");
    assert_eq!(rig.balance().received, 1);
}

#[test]
fn another_route_answers_where_the_first_does_not() {
    let settings = [("models.fallbacks", "'anthropic/m, openrouter/m'"), ("models.retries", "0")];
    let script = format!(
        "{PRICED}[[rule]]\nmatch = {{ dialect = 'openai' }}\nstatus = 401
        [[rule]]\nmatch = {{ dialect = 'anthropic' }}\nstatus = 529"
    );
    let keys = [("ANTHROPIC_API_KEY", "sk-ant-of-a-test-000001"), ("OPENROUTER_API_KEY", "sk-or-key-of-a-test-01")];
    let rig = Rig::start(&script, &settings, &keys);
    let task = rig.ask("whoever can");
    let ended = rig.ends(&task);
    let routes: Vec<&str> = sends(&ended).iter().map(|send| send["route"].as_str().unwrap()).collect();
    assert_eq!(routes, ["openai/m", "anthropic/m", "openrouter/m"], "{ended:#}");
    assert_eq!(ended["status"], "completed");
    let said = rig.said(&task).1;
    assert!(said.contains("asking anthropic/m instead") && said.contains("asking openrouter/m instead"), "{said}");
    rig.balance();
}
