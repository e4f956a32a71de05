//! A task in words in folders of real projects, which uses every tool there is.

use super::agent::entries;
use super::rig::{PRICED, Rig};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::until;

/// Projects of others whose sources are on every machine that builds this.
const PROJECTS: [&str; 3] = ["globset", "memchr", "serde_json"];

/// An image of one dot.
const DOT: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

/// Every tool, in an order in which each finds what it needs.
fn calls(page: &str) -> Vec<(&'static str, Value)> {
    let made = "--- /dev/null\n+++ b/NOTES.md\n@@ -0,0 +1 @@\n+It was seen.\n";
    let service = "echo up; while :; do sleep 1000; done";
    vec![
        ("note", json!({ "text": "It begins." })),
        ("list_available_tools", json!({})),
        ("list_files", json!({ "depth": 2 })),
        ("read_file", json!({ "path": "Cargo.toml", "limit": 40 })),
        ("search_code", json!({ "pattern": "^pub (fn|struct|mod) ", "path": "src", "glob": "*.rs" })),
        ("write_file", json!({ "path": "made.txt", "content": "made\n" })),
        ("edit_text", json!({ "path": "Cargo.toml", "old": "[package]", "new": "# It was seen.\n[package]" })),
        ("apply_patch", json!({ "patch": made })),
        (
            "edit_batch",
            json!({ "edits": [
            { "path": "NOTES.md", "old": "seen", "new": "looked at" },
            { "path": "made.txt", "old": "made", "new": "made twice" },
        ] }),
        ),
        ("view_image", json!({ "path": "dot.png" })),
        ("run_command", json!({ "argv": ["ls", "src"] })),
        ("run_script", json!({ "script": "wc -l src/lib.rs\ncat NOTES.md\n" })),
        ("start_service", json!({ "name": "web", "argv": ["sh", "-c", service], "ready_text": "up" })),
        ("service_status", json!({})),
        ("stop_service", json!({ "name": "web" })),
        (
            "verify_and_record",
            json!({ "claim": "it has a manifest", "argv": ["grep", "-c", "^.package", "Cargo.toml"] }),
        ),
        ("vcs_status", json!({})),
        ("vcs_diff", json!({})),
        ("vcs_log", json!({})),
        ("vcs_show", json!({ "rev": "HEAD", "path": "Cargo.toml" })),
        ("web_fetch", json!({ "url": page })),
        ("ask_owner", json!({ "question": "Shall it go on?" })),
        ("use_skill", json!({ "name": "looking" })),
        ("recall", json!({ "entry": 2 })),
        ("compact_context", json!({ "note": "Everything was tried out." })),
        ("deliver", json!({ "text": "All was tried.", "objective": "met" })),
    ]
}

/// A copy of a project, with a repository, a skill and an image.
fn project(rig: &Rig, name: &str) -> PathBuf {
    let folder = rig.home.work().join(name);
    copy(&sources(name), &folder);
    fs::create_dir_all(folder.join(".agents/skills/looking")).unwrap();
    let skill = "---\nname: looking\ndescription: How to look\n---\nLook twice.\n";
    fs::write(folder.join(".agents/skills/looking/SKILL.md"), skill).unwrap();
    for arguments in [&["init", "-q"][..], &["add", "-A"], &["commit", "-q", "-m", "As it was found"]] {
        let ran = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@example.org", "-C"])
            .arg(&folder)
            .args(arguments)
            .output()
            .unwrap();
        assert!(ran.status.success(), "{ran:?}");
    }
    use base64::Engine as _;
    fs::write(folder.join("dot.png"), base64::engine::general_purpose::STANDARD.decode(DOT).unwrap()).unwrap();
    folder
}

/// Where the sources of a crate lie that this is built with.
fn sources(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let ran = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--offline", "--locked", "--manifest-path"])
        .arg(root.join("Cargo.toml"))
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let metadata: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let manifest = packages.iter().find(|package| package["name"] == name).map(|package| &package["manifest_path"]);
    let manifest = manifest.and_then(Value::as_str).unwrap_or_else(|| panic!("{name} is not among the dependencies"));
    Path::new(manifest).parent().unwrap().to_owned()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::write(target, fs::read(entry.path()).unwrap()).unwrap();
        }
    }
}

/// Serves a page to whoever asks, as long as the test runs.
fn page() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4_096]);
            let body = "<html><body><h1>A page</h1><p>Some words.</p></body></html>";
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close";
            let _ = write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        }
    });
    format!("http://{address}")
}

fn script(calls: &[(&str, Value)]) -> String {
    let rule = |(tool, arguments): &(&str, Value)| {
        format!("[[rule]]\ntimes = 1\ncall = [{{ tool = '{tool}', arguments = '''{arguments}''' }}]\n")
    };
    calls.iter().map(rule).fold(PRICED.to_owned(), |script, rule| script + &rule)
}

#[test]
fn every_tool_does_its_work_in_projects_of_others() {
    let origin = page();
    let calls = calls(&format!("{origin}/page.html"));
    let script = script(&calls);
    let rig = Rig::start(&script, &[("tools.private_origins", &format!("'{origin}'"))], &[]);
    rig.price("openai/m");
    for name in PROJECTS {
        rig.provider.script(&script);
        rig.provider.forget();
        let folder = project(&rig, name);
        let number =
            rig.submit(json!({ "agent": { "prompt": format!("try {name}"), "folder": folder, "mode": "pro" } }));
        until("it asks", || Some(()).filter(|()| !rig.task(&number)["request"].is_null()));
        assert_eq!(rig.home.run(&["answer", &number, "yes"]).code, 0);
        let ended = rig.reaches(&number, "completed");
        assert_eq!((&ended["objective"], rig.said(&number).0.as_str()), (&json!("met"), "All was tried."));
        let entries = entries(&rig, &number);
        let results = entries.iter().filter(|entry| entry["type"] == "results");
        let results: Vec<Value> = results.flat_map(|entry| entry["results"].as_array().unwrap().clone()).collect();
        let done: Vec<&str> = results.iter().map(|result| result["name"].as_str().unwrap()).collect();
        assert_eq!(done, calls.iter().map(|(name, _)| *name).collect::<Vec<_>>());
        for result in &results {
            assert_eq!(result["outcome"], "ok", "{name}: {result:#}");
        }
        tried(name, &results);
        let offered = rig.provider.chats()[0]["body"]["tools"].clone();
        let offered: BTreeSet<String> = offered
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["function"]["name"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(offered, done.iter().map(|name| (*name).to_owned()).collect(), "a tool is not tried here");
        assert_eq!(rig.home.run(&["undo", &number]).code, 0);
        let manifest = fs::read(sources(name).join("Cargo.toml")).unwrap();
        assert_eq!(fs::read(folder.join("Cargo.toml")).unwrap(), manifest, "{name} is as it was");
        assert!(!folder.join("NOTES.md").exists() && !folder.join("made.txt").exists());
    }
}

/// What was found is of this project.
fn tried(name: &str, results: &[Value]) {
    let text = |tool: &str| {
        let result = results.iter().find(|result| result["name"] == tool).unwrap();
        result["text"].as_str().unwrap()
    };
    for (tool, words) in [
        ("list_files", "src/lib.rs"),
        ("read_file", "[package]"),
        ("search_code", "src/"),
        ("run_command", "lib.rs"),
        ("run_script", "It was looked at."),
        ("vcs_status", "NOTES.md"),
        ("vcs_diff", "+# It was seen."),
        ("vcs_log", "As it was found"),
        ("web_fetch", "Some words."),
        ("ask_owner", "yes"),
        ("use_skill", "Look twice."),
    ] {
        assert!(text(tool).contains(words), "{tool}: {}", text(tool));
    }
    assert!(text("vcs_show").contains(&format!("name = \"{name}\"")), "{}", text("vcs_show"));
    let find = |tool: &str| results.iter().find(|result| result["name"] == tool).unwrap();
    assert_eq!(find("verify_and_record")["receipt"]["holds"], true);
    assert_eq!(find("view_image")["images"].as_array().map(Vec::len), Some(1));
}
