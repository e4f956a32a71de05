//! Nothing secret comes out, nothing else changes, and it does not matter where a text is cut.

use super::planted::{Random, clean, contexts, named, private_key, shapes};
use super::*;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::io::Write as _;

/// Most bytes that a stream may carry.
const CARRY: usize = 5 << 10;

fn masker(secrets: &[(Name, Secret)]) -> Masker {
    Masker::new(secrets.iter().map(|(name, secret)| (name, secret))).unwrap()
}

fn shapes_only() -> Masker {
    masker(&[])
}

/// No piece of `core` that is long enough to be of use is in `text`.
fn assert_hidden(core: &str, text: &str, seed: u64) {
    let found = core.as_bytes().windows(8).find(|piece| text.as_bytes().windows(8).any(|part| part == *piece));
    assert!(found.is_none(), "seed {seed}: {core} shows in {text}");
}

fn in_chunks(masker: &Masker, text: &[u8], mut next: impl FnMut() -> usize) -> Vec<u8> {
    let (mut stream, mut out, mut rest) = (Stream::new(), Vec::new(), text);
    while !rest.is_empty() {
        let (chunk, others) = rest.split_at(next().clamp(1, rest.len()));
        out.extend(stream.push(masker, chunk));
        assert!(stream.carried() <= CARRY, "{} bytes are carried", stream.carried());
        rest = others;
    }
    out.extend(stream.finish(masker));
    out
}

#[test]
fn every_shape_is_hidden_wherever_it_stands() {
    let masker = shapes_only();
    for seed in 0..40 {
        let mut random = Random::new(seed);
        for planted in shapes(&mut random) {
            for text in contexts(&mut random, &planted.text) {
                let masked = masker.mask_str(&text);
                assert_hidden(&planted.core, &masked, seed);
                assert!(masked.contains("[secret:"), "seed {seed}: {masked}");
                assert_eq!(masker.mask_str(&masked), masked, "seed {seed}: a second time changes it");
            }
        }
    }
}

#[test]
fn it_does_not_matter_where_a_text_is_cut() {
    let secrets = [named("one", "k/n\"o\\w+n0123"), named("two", "k/n\"o\\w+n0123456")];
    let masker = masker(&secrets);
    for seed in 0..3 {
        let mut random = Random::new(seed);
        let mut planted: Vec<String> = shapes(&mut random).into_iter().map(|planted| planted.text).collect();
        planted.push(private_key(&mut random, "\n").text);
        planted.push(serde_json::to_string(secrets[1].1.expose()).unwrap());
        for planted in planted {
            let text = contexts(&mut random, &planted).swap_remove(3);
            let whole = masker.mask(text.as_bytes());
            for border in 0..=text.len() {
                let mut chunks = [border, text.len()].into_iter();
                let cut = in_chunks(&masker, text.as_bytes(), || chunks.next().unwrap());
                assert!(cut == *whole, "seed {seed}, cut at {border}: {}", String::from_utf8_lossy(&cut));
            }
            assert!(in_chunks(&masker, text.as_bytes(), || 1) == *whole, "seed {seed}, every byte: {text}");
            let cut = in_chunks(&masker, text.as_bytes(), || random.below(40));
            assert!(cut == *whole, "seed {seed}, random chunks: {text}");
        }
    }
}

#[test]
fn text_without_secrets_is_the_same_text() {
    let known = masker(&[named("one", "0123456789abcdef")]);
    for seed in 0..200 {
        let text = clean(&mut Random::new(seed), 120);
        assert!(matches!(known.mask_str(&text), Cow::Borrowed(same) if same == text), "seed {seed}: {text}");
        assert_eq!(in_chunks(&known, text.as_bytes(), || 7), text.as_bytes(), "seed {seed}");
    }
}

#[test]
fn bytes_that_are_no_text_are_the_same_bytes() {
    let masker = shapes_only();
    for seed in 0..50 {
        let mut random = Random::new(seed);
        let bytes: Vec<u8> = (0..4_000).map(|_| u8::try_from(random.below(256)).unwrap()).collect();
        assert!(*masker.mask(&bytes) == bytes, "seed {seed}");
    }
}

#[test]
fn what_only_resembles_a_secret_stays() {
    let masker = shapes_only();
    for text in [
        "a task-force-for-sk-learn-models-version-2-with-many-words",
        "class=\"sk-folding-cube-loader-small sk-circle12 sk-child\"",
        "risk-or-reward-calculations-page-12345678901234567890",
        "Bearer authentication is required; bearer tokens, see RFC 6750",
        "WWW-Authenticate: Bearer realm=\"example\", error=\"invalid_token\"",
        "npm_config_registry npm_package_name hf_hub_download_all_the_files",
        "AKIA AKIASHORT fooAKIAABCDEFGHIJKLMNOP1",
        "xai-studio-frontend-components-are-here gsk_something_else",
        "max_tokens=4096 let token=next(); password=os.environ (no URL)",
        "https://example.org/?page_tokens=1&x=2 http://host:8080/a@b ssh://git@host:22/x",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE----- -----BEGIN PUBLIC KEY-----",
        "data:application/json;base64,eyJ2ZXJzaW9uIjozLCJzb3VyY2VzIjpbXX0=",
        "?token=&password=",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "[secret:openai] Bearer [secret:bearer-token] ?token=[secret:one] http://u:[secret:two]@h/",
    ] {
        assert_eq!(masker.mask_str(text), text);
    }
}

#[test]
fn a_private_key_is_hidden_to_its_end_and_not_further() {
    let masker = shapes_only();
    for (seed, end) in ["\n", "\r\n", "\\n", "\\r\\n", "\n    ", " "].iter().enumerate() {
        let mut random = Random::new(7);
        let planted = private_key(&mut random, end);
        let masked = masker.mask_str(&planted.text).into_owned();
        assert_eq!(masked, "[secret:private-key]", "{seed}");
        let text = format!("before {}\nafter it", planted.text);
        assert_eq!(masker.mask_str(&text), "before [secret:private-key]\nafter it");
        let (cut, _) = planted.text.split_at(planted.text.len() - 40);
        assert_eq!(masker.mask_str(&format!("{{\"key\":\"{cut}\"}}")), "{\"key\":\"[secret:private-key]\"}");
    }
    let header = "if line == \"-----BEGIN PRIVATE KEY-----\" { key = true }";
    assert_eq!(masker.mask_str(header), header);
    let prose =
        "It begins with -----BEGIN PRIVATE KEY----- and then comes a good deal of text that is in no way a key at all.";
    assert!(masker.mask_str(prose).ends_with("in no way a key at all."));
}

#[test]
fn what_stands_around_a_secret_stays() {
    let masker = masker(&[named("mine", "0123456789abcdef")]);
    for (text, masked) in [
        ("key 0123456789abcdef.", "key [secret:mine]."),
        ("Authorization: Bearer abcDEF1234567890\r\n", "Authorization: Bearer [secret:bearer-token]\r\n"),
        ("https://u:p4ss@h/p?token=x1#f", "https://u:[secret:url-password]@h/p?token=[secret:token]#f"),
        ("https://u:p@ss@h/", "https://u:[secret:url-password]@h/"),
        ("?token=0123456789abcdef&a", "?token=[secret:mine]&a"),
        ("a, ghp_ABCDEFGHIJ012345abcdefghij0123456789, b", "a, [secret:github-token], b"),
    ] {
        assert_eq!(masker.mask_str(text), masked);
    }
}

#[test]
fn a_known_secret_is_hidden_in_every_form() {
    let text = "p&ss w/\"quote\"\\+=?%".replace(' ', "_");
    let masker = masker(&[named("mine", &text)]);
    let json = serde_json::to_string(&serde_json::json!({ "k": format!("x{text}y") })).unwrap();
    let twice = serde_json::to_string(&json).unwrap();
    assert_eq!(masker.mask_str(&json), "{\"k\":\"x[secret:mine]y\"}");
    assert!(masker.mask_str(&twice).contains("x[secret:mine]y"));
    assert_eq!(masker.mask_str(&format!("https://h/?q={text}&r")), "https://h/?q=[secret:mine]&r");
    let url: String = text.bytes().map(|byte| format!("%{byte:02X}")).collect();
    assert!(!masker.mask_str("p%26ss_w%2F%22quote%22%5C%2B%3D%3F%25").contains("quote"), "{url}");
    for before in 0..5 {
        let encoded = STANDARD.encode(format!("{}{text}{}", "u".repeat(before), "v".repeat(5)));
        let masked = masker.mask_str(&encoded).into_owned();
        assert!(masked.contains("[secret:mine]"), "{before} {masked}");
        assert!(masked.len() < encoded.len() - 8, "{before} {masked}");
    }
}

#[test]
fn the_longer_of_two_known_secrets_wins() {
    let masker = masker(&[named("short", "abcdef-123"), named("long", "abcdef-123456")]);
    assert_eq!(masker.mask_str("abcdef-123456 abcdef-123"), "[secret:long] [secret:short]");
    assert_eq!(in_chunks(&masker, b"abcdef-123456 abcdef-123", || 10), b"[secret:long] [secret:short]");
}

#[test]
fn long_secrets_with_one_beginning_are_told_apart_and_hidden_when_cut_short() {
    let mut random = Random::new(3);
    let begin = random.text(b"abcdefghij0123", 300);
    let (one, two) = (random.text(b"abcd", 9_000), random.text(b"efgh", 16_000));
    let masker = masker(&[named("one", &format!("{begin}{one}")), named("two", &format!("{begin}{two}"))]);
    let text = format!("<{begin}{one}> <{begin}{two}> <{begin}{}>", two.split_at(700).0);
    let expected = "<[secret:one]> <[secret:two]> <[secret:two]>";
    assert_eq!(masker.mask_str(&text), expected);
    assert_eq!(in_chunks(&masker, text.as_bytes(), || 1_000), expected.as_bytes());
    assert_eq!(in_chunks(&masker, text.as_bytes(), || 1), expected.as_bytes());
}

#[test]
fn a_short_known_secret_is_not_looked_for() {
    assert_eq!(masker(&[named("pin", "12345")]).mask_str("12345"), "12345");
    assert_eq!(masker(&[named("pin", "123456")]).mask_str("123456"), "[secret:pin]");
}

#[test]
fn lines_are_not_held_back_and_what_is_held_back_is_bounded() {
    let masker = masker(&[named("mine", "0123456789abcdef")]);
    let mut stream = Stream::new();
    assert_eq!(stream.push(&masker, b"a whole line 012345\n"), b"a whole line 012345\n");
    assert_eq!(stream.push(&masker, b"text 012345"), b"text ");
    assert_eq!(stream.push(&masker, b"6789abcdef "), b"[secret:mine] ");
    for text in ["eyJ", "x://a:", "?token=", "Bearer ", "-----BEGIN PRIVATE KEY", "sk-a", "x", "a:b@"] {
        in_chunks(&masker, text.repeat(4_000).as_bytes(), || 97);
    }
    in_chunks(&masker, format!("eyJ{}", "a".repeat(40_000)).as_bytes(), || 1_000);
}

#[test]
fn a_new_key_is_hidden_at_once_even_in_a_text_that_has_begun() {
    let shared = SharedMasker::new(shapes_only());
    let (mut stream, other) = (Stream::new(), shared.clone());
    assert_eq!(shared.push(&mut stream, b"fresh-key-1 fresh-"), b"fresh-key-1 ");
    let key = named("fresh", "fresh-key-1");
    other.replace(masker(std::slice::from_ref(&key)));
    assert_eq!(shared.push(&mut stream, b" fresh-key-1 fresh-key"), b"fresh- [secret:fresh] ");
    assert_eq!(shared.finish(&mut stream), b"fresh-key");
    assert_eq!(shared.mask_str("fresh-key-1"), "[secret:fresh]");
}

#[test]
fn a_writer_masks_and_gives_an_unfinished_word_at_its_end() {
    let shared = SharedMasker::new(masker(&[named("mine", "0123456789abcdef")]));
    let mut written = Vec::new();
    let mut writer = shared.writer(&mut written);
    writer.write_all(b"one 01234567").unwrap();
    writer.flush().unwrap();
    writer.write_all(b"89abcdef two\nthree 0123").unwrap();
    drop(writer);
    assert_eq!(String::from_utf8(written).unwrap(), "one [secret:mine] two\nthree 0123");
}

#[test]
fn a_log_has_no_secret_in_it() {
    use std::sync::{Arc, Mutex};
    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<Vec<u8>>>);
    impl std::io::Write for Sink {
        fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(text)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let (sink, shared) = (Sink::default(), SharedMasker::new(masker(&[named("mine", "pa\"ss\\word")])));
    let inner = sink.clone();
    let log = tracing_subscriber::fmt().with_writer(move || shared.writer(inner.clone())).with_ansi(false).finish();
    tracing::subscriber::with_default(log, || {
        tracing::info!(key = "pa\"ss\\word", header = "Bearer abcdefgh12345678", "sent");
    });
    let text = String::from_utf8(sink.0.lock().unwrap().clone()).unwrap();
    assert!(text.contains("[secret:mine]") && text.contains("[secret:bearer-token]"), "{text}");
    assert!(text.ends_with('\n') && !text.contains("word\"") && !text.contains("12345678"), "{text}");
}
