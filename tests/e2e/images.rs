//! Images that go with a task in words.

use super::agent::{entries, folder, requests, start};
use super::rig::{PRICED, Rig};
use serde_json::json;
use std::fs;

/// A grey image of one pixel.
const DOT: &[u8] = b"\x89PNG\x0d\x0a\x1a\x0a\x00\x00\x00\x0dIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00:~\x9bU\x00\x00\x00\x0aIDATx\x9cc`\x00\x00\x00\x02\x00\x01H\xaf\xa4q\x00\x00\x00\x00IEND\xaeB`\x82";
const DOT_TEXT: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==";

#[test]
fn they_are_sent_before_the_words_and_stay_with_the_conversation() {
    let rig = start(&format!(
        "{PRICED}[[rule]]\nmatch = {{ text = 'darker' }}\nsay = 'No.'\n[[rule]]\nmatch = {{ body = '{DOT_TEXT}' }}\nsay = 'A grey dot.'\n"
    ));
    let (folder, file) = (folder(&rig), rig.home.work().join("dot.png"));
    fs::write(&file, DOT).unwrap();
    let file = file.to_str().unwrap();
    let ran =
        rig.home.run(&["run", "-C", folder.to_str().unwrap(), "--image", file, "--image", file, "what is", "it?"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "A grey dot."), "{ran:?}");
    let images = &entries(&rig, "last")[0]["images"];
    assert_eq!(images[1], json!({ "media_type": "image/png", "data": DOT_TEXT }), "{images:#}");
    let sent = requests(&rig, &rig.task("last"));
    let kinds: Vec<&str> = sent[0]["messages"][1]["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["image_url", "image_url", "text"]);
    assert!(rig.home.run(&["show", "last", "--transcript"]).out.contains("asked, with 2 images"));
    let ran = rig.home.run(&["run", "--continue", "last", "is it", "darker?"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let sent = requests(&rig, &rig.task("last"));
    assert_eq!(sent[0]["messages"][1]["content"][0]["type"], "image_url", "it is still seen");
}

#[test]
fn what_is_no_image_and_what_is_too_much_is_refused() {
    let rig = start(&format!("{PRICED}[[rule]]\nsay = 'x'\n"));
    let folder = folder(&rig);
    let (text, damaged) = (rig.home.work().join("a.txt"), rig.home.work().join("damaged.png"));
    fs::write(&text, "no image").unwrap();
    fs::write(&damaged, &DOT[..40]).unwrap();
    let ran = rig.home.run(&["run", "-C", folder.to_str().unwrap(), "--image", text.to_str().unwrap(), "what is it?"]);
    assert!(ran.code == 2 && ran.err.contains("not a PNG, JPEG, GIF or WebP image"), "{ran:?}");
    let image = json!({ "media_type": "image/png", "data": DOT_TEXT });
    for (images, code) in [
        (vec![image.clone(); 17], "bad_field"),
        (vec![json!({ "media_type": "image/tiff", "data": "" })], "bad_field"),
        (vec![json!({ "media_type": "image/png", "data": "?" })], "bad_field"),
    ] {
        let body = json!({ "agent": { "prompt": "x y", "folder": folder, "images": images } });
        let (status, answer) = rig.call("POST", "/api/tasks", &body);
        assert_eq!((status, &answer["code"]), (400, &code.into()), "{answer}");
    }
    let damaged = ["run", "-C", folder.to_str().unwrap(), "--image", damaged.to_str().unwrap(), "what is it?"];
    let ran = rig.home.run(&damaged);
    assert!(ran.code == 1 && ran.err.contains("image 1 cannot be shown"), "{ran:?}");
    assert!(rig.provider.chats().is_empty(), "nothing is spent");
}

#[test]
fn a_route_that_is_known_to_take_none_refuses_them() {
    let script = "[models.m]\nimages = false\n[models.n]\n[[rule]]\nsay = 'A grey dot.'\n";
    let rig = Rig::start(script, &[], &[("OPENROUTER_API_KEY", "sk-or-usual-key-0001")]);
    let folder = folder(&rig);
    let image = json!({ "media_type": "image/png", "data": DOT_TEXT });
    // By then it was looked for what there is.
    rig.get("/api/models");
    rig.price("openrouter/n");
    let body =
        |route: &str| json!({ "agent": { "prompt": "x y", "folder": folder, "images": [image], "route": route } });
    let (status, answer) = rig.call("POST", "/api/tasks", &body("openrouter/m"));
    assert_eq!((status, &answer["code"]), (409, &"no_images".into()), "{answer}");
    let number = rig.submit(body("openrouter/n"));
    rig.reaches(&number, "completed");
}
