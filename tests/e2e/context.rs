//! A task in words whose conversation outgrows its model: shortened, asked again once, and ended honestly when nothing helps.

use super::agent::{entries, folder, kinds, requests};
use super::rig::{PRICED, Rig, sends};
use serde_json::{Value, json};
use std::fs;
use support::until;

/// Said by who asks for a summary.
const ASKS: &str = "Write what stands in their place";

fn start(rules: &str, windows: &str) -> Rig {
    let rig = Rig::start(&format!("{PRICED}{rules}"), &[("models.windows", windows)], &[]);
    rig.price("openai/m");
    rig
}

/// A file of so many bytes, with lines that begin with its name.
fn file(rig: &Rig, name: &str, bytes: usize) {
    let line = |number: usize| format!("{name} has this on line {number:05}, and little more\n");
    let text: String = (1..)
        .map(line)
        .scan(0, |sum, line| {
            *sum += line.len();
            (*sum <= bytes).then_some(line)
        })
        .collect();
    fs::write(folder(rig).join(name), text).unwrap();
}

fn submit(rig: &Rig, prompt: &str) -> String {
    rig.submit(json!({ "agent": { "prompt": prompt, "folder": folder(rig) } }))
}

fn read(name: &str) -> String {
    format!("call = {{ tool = 'read_file', arguments = '{{\"path\":\"{name}\"}}' }}\n")
}

/// Reads eight files one after the other, then says that it is done.
fn reads_eight() -> String {
    let rule = |number: usize| {
        let seen = number - 1;
        format!(
            "[[rule]]\nmatch = {{ last = 'f{seen} has this' }}\nsay = 'I read f{seen}.'\n{}",
            read(&format!("f{number}"))
        )
    };
    let middle: String = (2..=8).map(rule).collect();
    format!(
        "{middle}[[rule]]\nmatch = {{ last = 'f8 has this' }}\nsay = 'Done.'\n[[rule]]\nmatch = {{ text = 'read them' }}\nsay = 'I begin.'\n{}",
        read("f1")
    )
}

fn eight_files(rig: &Rig) {
    for number in 1..=8 {
        file(rig, &format!("f{number}"), 3_600);
    }
}

fn bytes(request: &Value) -> usize {
    request["messages"].to_string().len()
}

fn of_type<'a>(entries: &'a [Value], kind: &str) -> Vec<&'a Value> {
    entries.iter().filter(|entry| entry["type"] == kind).collect()
}

#[test]
fn a_request_that_does_not_fit_is_made_smaller_once_and_the_work_goes_on() {
    let rules = format!(
        "[[rule]]\nmatch = {{ nth = 1 }}\n{}[[rule]]\ntimes = 1\noverflow = 9000\n[[rule]]\nsay = 'Done.'\n",
        read("big")
    );
    let rig = start(&rules, "''");
    file(&rig, "big", 29_000);
    let number = submit(&rig, "read it all");
    let ended = rig.reaches(&number, "completed");
    let entries = entries(&rig, &number);
    let overflow = of_type(&entries, "overflowed");
    assert_eq!((overflow.len(), &overflow[0]["window"]), (1, &9_000.into()), "{entries:#?}");
    let window = of_type(&entries, "window");
    assert_eq!((&window[0]["tokens"], &window[0]["source"]), (&9_000.into(), &"learned".into()), "{entries:#?}");
    assert_eq!(of_type(&entries, "prefix_broken").len(), 0, "what was refused was read by nobody");
    let shown = rig.home.run(&["show", &number]).out;
    assert!(shown.contains("9000 tokens on openai/m, learned from a request that did not fit"), "{shown}");
    let sent = rig.provider.chats();
    assert_eq!((sent.len(), sends(&ended).len()), (3, 3), "{ended:#}");
    let (refused, smaller) = (bytes(&sent[1]["body"]), bytes(&sent[2]["body"]));
    assert!(smaller < refused / 2, "{smaller} {refused}");
    assert!(sent[2]["body"]["messages"].to_string().contains("read on with recall"));
    let result = &of_type(&entries, "results")[0]["results"][0];
    assert!(result["text"].as_str().unwrap().len() > 25_000, "the transcript is as it was");
    assert!(rig.said(&number).1.contains("it is asked again with"), "{:?}", rig.said(&number));
    assert_eq!(rig.balance().unknown, 0);
}

#[test]
fn what_does_not_fit_after_that_ends_with_what_was_done() {
    let rules =
        format!("[[rule]]\nmatch = {{ nth = 1 }}\nsay = 'I will look.'\n{}[[rule]]\noverflow = 2000\n", read("big"));
    let rig = start(&rules, "''");
    file(&rig, "big", 29_000);
    let number = submit(&rig, "read it all");
    let ended = rig.reaches(&number, "failed");
    assert_eq!(ended["outcome"]["failed"]["ended"]["model_failed"]["failure"], "context_overflow", "{ended:#}");
    assert_eq!(rig.provider.chats().len(), 3, "one try more, and no other");
    let said = rig.said(&number);
    assert!(said.0 == "I will look." && said.1.contains("shortened and does not fit"), "{said:?}");
    assert_eq!(of_type(&entries(&rig, &number), "overflowed").len(), 2);
}

#[test]
fn a_task_that_cannot_fit_is_refused_before_it_costs_anything() {
    let rig = start("[[rule]]\nsay = 'Done.'\n", "'openai/m=1000'");
    let number = submit(&rig, &"say something long ".repeat(2_000));
    let ended = rig.reaches(&number, "failed");
    assert!(sends(&ended).is_empty() && rig.provider.chats().is_empty(), "{ended:#}");
    let said = rig.said(&number).1;
    assert!(said.contains("does not fit") && said.contains("openai/m takes 1000 (set in models.windows)"), "{said}");
}

#[test]
fn old_rounds_make_room_by_themselves_and_the_work_is_done() {
    let rules = format!(
        "[[rule]]\nmatch = {{ text = '{ASKS}' }}\nsay = 'SUMMARY: the first files were read.'\n{}",
        reads_eight()
    );
    let rig = start(&rules, "'m=6400'");
    eight_files(&rig);
    let number = submit(&rig, "read them");
    let ended = rig.reaches(&number, "completed");
    assert_eq!(rig.said(&number).0, "Done.");
    let entries = entries(&rig, &number);
    let compacted = of_type(&entries, "compacted");
    assert!(!compacted.is_empty(), "{:?}", kinds(&entries));
    assert!(
        compacted.iter().all(|entry| entry["author"] == "summary" && entry["digest"].as_str().unwrap().len() == 64)
    );
    let asked = rig.provider.chats().iter().filter(|chat| chat["body"].to_string().contains(ASKS)).count();
    assert_eq!(asked, compacted.len(), "each is paid for once");
    let last = requests(&rig, &ended).pop().unwrap()["messages"].to_string();
    assert!(last.contains("SUMMARY: the first files") && last.contains("read them"), "{last}");
    assert!(!last.contains("f1 has this on line 00030"), "{last}");
    let broken = of_type(&entries, "prefix_broken");
    assert!(!broken.is_empty() && broken.iter().all(|entry| entry["sanctioned"] == true), "{broken:#?}");
    // A token of this provider is four bytes.
    let most = rig.provider.chats().iter().map(|chat| bytes(&chat["body"])).max().unwrap();
    assert!(most / 4 < 6_400, "{most}");
    assert_eq!(rig.balance().unknown, 0);
}

#[test]
fn a_summary_that_was_lost_with_the_server_is_not_asked_for_again() {
    let rules = format!(
        "[[rule]]\nmatch = {{ text = '{ASKS}' }}\nstall_before_ms = 'forever'\n{}[[rule]]\nmatch = {{ last = 'interrupted here' }}\n{}",
        reads_eight(),
        read("f8")
    );
    let rig = start(&rules, "'m=6400'");
    eight_files(&rig);
    let number = submit(&rig, "read them");
    let asks = |rig: &Rig| rig.provider.chats().iter().filter(|chat| chat["body"].to_string().contains(ASKS)).count();
    until("a summary is asked for", || (asks(&rig) == 1).then_some(()));
    rig.provider.script(&format!(
        "{PRICED}[[rule]]\nmatch = {{ text = '{ASKS}' }}\nsay = 'SUMMARY: later.'\n{}[[rule]]\nmatch = {{ last = 'interrupted here' }}\n{}",
        reads_eight(), read("f8")
    ));
    rig.kill_server();
    rig.reaches(&number, "completed");
    assert_eq!(rig.said(&number).0, "Done.");
    let entries = entries(&rig, &number);
    let compacted = of_type(&entries, "compacted");
    assert_eq!(compacted[0]["author"], "host", "{compacted:#?}");
    let claimed = of_type(&entries, "compacting");
    let first = (&claimed[0]["from"], &claimed[0]["to"]);
    let again = claimed.iter().filter(|claim| (&claim["from"], &claim["to"]) == first).count();
    assert_eq!(again, 1, "{claimed:#?}");
}

#[test]
fn a_failed_summary_leaves_an_outline_and_the_work_goes_on() {
    let rules = format!("[[rule]]\nmatch = {{ text = '{ASKS}' }}\nrefuse = 'No.'\n{}", reads_eight());
    let rig = start(&rules, "'m=6400'");
    eight_files(&rig);
    let number = submit(&rig, "read them");
    rig.reaches(&number, "completed");
    let entries = entries(&rig, &number);
    let compacted = of_type(&entries, "compacted");
    assert!(!compacted.is_empty() && compacted.iter().all(|entry| entry["author"] == "host"), "{compacted:#?}");
    assert!(compacted[0]["text"].as_str().unwrap().contains("You called read_file"), "{compacted:#?}");
}

#[test]
fn a_long_result_is_kept_whole_and_read_on() {
    let rules = format!(
        "[[rule]]\nmatch = {{ nth = 1 }}\n{}[[rule]]\nmatch = {{ last = 'big, lines' }}\n\
        call = {{ tool = 'recall', arguments = '{{\"entry\":3,\"result\":1,\"from_line\":900,\"lines\":2}}' }}\n[[rule]]\nsay = 'Done.'\n",
        read("big")
    );
    let rig = start(&rules, "''");
    file(&rig, "big", 90_000);
    let number = submit(&rig, "read it all");
    rig.reaches(&number, "completed");
    let entries = entries(&rig, &number);
    let results = of_type(&entries, "results");
    let (cut, recalled) = (&results[0]["results"][0], &results[1]["results"][0]);
    assert!(cut["text"].as_str().unwrap().len() < 40_000 && cut["whole"]["bytes"].as_u64().unwrap() > 90_000, "{cut}");
    assert!(!cut["text"].to_string().contains("line 00899"), "it is left out");
    assert!(recalled["outcome"] == "ok" && recalled["text"].to_string().contains("line 00899"), "{recalled}");
}

#[test]
fn an_agent_puts_a_note_of_its_own_in_place_of_its_rounds() {
    let note = "call = { tool = 'compact_context', arguments = '{\"note\":\"NOTE: f1 is dull.\",\"keep_last\":1}' }\n";
    let rules = format!(
        "[[rule]]\nmatch = {{ nth = 1 }}\n{}[[rule]]\nmatch = {{ last = 'f1 has this' }}\n{note}[[rule]]\nsay = 'Done.'\n",
        read("f1")
    );
    let rig = start(&rules, "''");
    eight_files(&rig);
    let number = submit(&rig, "read one");
    rig.reaches(&number, "completed");
    let entries = entries(&rig, &number);
    assert_eq!(
        kinds(&entries),
        ["asked", "answered", "results", "answered", "results", "compacted", "prefix_broken", "answered", "delivered"]
    );
    assert_eq!((&entries[5]["author"], &entries[6]["sanctioned"]), (&"agent".into(), &true.into()));
    let last = rig.provider.chats().pop().unwrap()["body"]["messages"].to_string();
    assert!(last.contains("NOTE: f1 is dull.") && last.contains("read one") && !last.contains("f1 has this"), "{last}");
}

#[test]
fn an_answer_without_end_is_called_off_and_the_work_goes_on() {
    let rules = "[[rule]]\nmatch = { nth = 1 }\nrepeat = 'and again the same words '\n\
        [[rule]]\nmatch = { last = 'repeated itself' }\nsay = 'Now it ends.'\n";
    let rig = start(rules, "''");
    let number = submit(&rig, "say it");
    rig.reaches(&number, "completed");
    let said = rig.said(&number);
    assert!(said.0 == "Now it ends." && said.1.contains("repeated itself without end"), "{said:?}");
    let entries = entries(&rig, &number);
    assert_eq!(kinds(&entries), ["asked", "notice", "answered", "delivered"]);
    assert!(entries[1]["text"].as_str().unwrap().contains("and again the same words"), "{entries:#?}");
}
