//! Secrets of every shape, and texts to plant them in.

use crate::secret::{Name, Secret};

/// A generator of numbers that gives the same ones for the same seed.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % bound
    }

    pub fn text(&mut self, alphabet: &[u8], length: usize) -> String {
        (0..length).map(|_| char::from(alphabet[self.below(alphabet.len())])).collect()
    }

    pub fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

const UPPER: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const ALNUM: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const TOKEN: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-";
const HEX: &[u8] = b"0123456789abcdef";

/// A planted secret.
pub struct Planted {
    /// What is planted, with what must stand around it.
    pub text: String,
    /// What must not be found afterwards.
    pub core: String,
}

impl Planted {
    fn around(before: &str, core: String, after: &str) -> Self {
        Self { text: format!("{before}{core}{after}"), core }
    }
}

/// One secret of every shape.
pub fn shapes(random: &mut Random) -> Vec<Planted> {
    let mut prefixed = Vec::new();
    for (prefix, alphabet, length) in [
        ("sk-", HEX, 32),
        ("sk-", ALNUM, 48),
        ("sk-proj-", TOKEN, 156),
        ("sk-svcacct-", TOKEN, 120),
        ("sk-ant-api03-", TOKEN, 95),
        ("sk-or-v1-", HEX, 64),
        ("csk-", ALNUM, 48),
        ("gsk_", ALNUM, 52),
        ("xai-", ALNUM, 80),
        ("AIzaSy", TOKEN, 33),
        ("ghp_", ALNUM, 36),
        ("gho_", ALNUM, 36),
        ("ghs_", ALNUM, 36),
        ("glpat-", TOKEN, 20),
        ("AKIA", UPPER, 16),
        ("npm_", ALNUM, 36),
        ("hf_", ALNUM, 34),
        ("sk_live_", ALNUM, 24),
    ] {
        prefixed.push(format!("{prefix}{}", random.text(alphabet, length)));
    }
    prefixed.push(format!("github_pat_{}_{}", random.text(ALNUM, 22), random.text(ALNUM, 59)));
    for kind in ["xoxb", "xoxp"] {
        prefixed.push(format!("{kind}-{}-{}", random.text(b"0123456789", 12), random.text(ALNUM, 24)));
    }
    let header = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9";
    prefixed.push(format!("{header}.eyJ{}.{}", random.text(TOKEN, 80), random.text(TOKEN, 43)));

    let mut all: Vec<Planted> = prefixed.into_iter().map(|core| Planted::around("", core, "")).collect();
    all.push(Planted::around("Bearer ", random.text(TOKEN, 40), ""));
    all.push(Planted::around("authorization: bearer ", random.text(HEX, 24), ""));
    all.push(Planted::around("postgres://user:", random.text(ALNUM, 14), "@db.internal:5432/x"));
    all.push(Planted::around("https://h/p?a=1&password=", random.text(ALNUM, 9), "&b=2"));
    all.push(Planted::around("https://h/p?access_token=", random.text(ALNUM, 30), ""));
    all
}

/// A private key with these line ends.
pub fn private_key(random: &mut Random, end: &str) -> Planted {
    let lines: Vec<String> = (0..12).map(|_| random.text(b"0123456789ABCabc+/", 64)).collect();
    let core = lines.join(end);
    let (first, last) = ("-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----");
    Planted { text: format!("{first}{end}{core}{end}abcd=={end}{last}"), core }
}

/// Text without secrets.
pub fn clean(random: &mut Random, words: usize) -> String {
    const WORDS: [&str; 24] = [
        "the",
        "task-force",
        "risk-based",
        "desk",
        "sk",
        "token",
        "bearer",
        "Bearer",
        "password",
        "eyJ",
        "naïve",
        "日本語",
        "https://example.org/a?b=c#d",
        "0x1f",
        "{\"a\":1}",
        "C:\\new\\table",
        "AKI",
        "100%",
        "gh",
        "---",
        "-----BEGIN",
        "max_tokens=4096",
        "half_life",
        "a:b@c",
    ];
    let mut text = String::new();
    for _ in 0..words {
        text.push_str(random.one(&WORDS));
        text.push_str(random.one(&[" ", " ", ", ", "\n", "\t", " = "]));
    }
    text
}

/// The text around a planted secret, in the ways in which text travels; each keeps the secret readable.
pub fn contexts(random: &mut Random, planted: &str) -> Vec<String> {
    let (before, after) = (clean(random, 6), clean(random, 6));
    vec![
        format!("{before}{planted}\n{after}"),
        format!("{before}\"{planted}\"{after}"),
        format!("{before}KEY={planted}; {after}"),
        serde_json::json!({ "text": format!("{before}\n{planted}\n{after}"), "n": 1 }).to_string(),
        serde_json::json!({ "inner": serde_json::json!({ "key": planted }).to_string() }).to_string(),
        format!("{before}https://api.example.org/v1?x=%3D{planted}&y=1 {after}"),
        format!("{before}\u{1b}[31m{planted}\u{1b}[0m{after}"),
        format!("{planted}"),
    ]
}

/// A named secret.
pub fn named(name: &str, text: &str) -> (Name, Secret) {
    (Name::new(name).unwrap(), Secret::new(text.to_owned()).ok().unwrap())
}
