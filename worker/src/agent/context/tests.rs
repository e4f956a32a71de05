//! Random transcripts, shortened at random: what is shown is always a conversation.

use super::prefix::Sent;
use super::units::{self, Range};
use super::{room, summary, view};
use crate::agent::conversation;
use crate::agent::testing::{answered, call};
use ouroboros_proto::agent::{CallOutcome, CallResult, Entry, Job, Mode, ModelRequest, NoteAuthor, Part, Role};

struct Dice(u64);

impl Dice {
    /// Below `bound`: xorshift, 64 bits.
    fn roll(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % bound
    }
}

fn request(entries: &[Entry]) -> ModelRequest {
    let job = Job {
        prompt: String::new(),
        route: None,
        effort: None,
        max_rounds: 9,
        mode: Mode::default(),
        path: None,
        output_schema: None,
        images: Vec::new(),
        replay: false,
    };
    conversation::request(&job, "s", &[], entries, true)
}

fn bytes(entries: &[Entry]) -> usize {
    serde_json::to_string(&request(entries)).unwrap().len()
}

/// A round of up to three calls, or words.
fn round(dice: &mut Dice, number: usize) -> Vec<Entry> {
    let ids: Vec<String> = (0..dice.roll(4)).map(|at| format!("c{number}-{at}")).collect();
    let calls: Vec<Part> = ids.iter().map(|id| call(id, "{}")).collect();
    let turn = answered(&format!("turn {number} {}", "w".repeat(dice.roll(400))), &calls);
    if ids.is_empty() {
        return vec![turn, Entry::Notice { text: format!("[ouroboros] Go on {number}.") }];
    }
    let result = |id: &String| CallResult {
        call: id.clone(),
        name: "look".to_owned(),
        outcome: if dice.roll(12) == 0 { CallOutcome::Unknown } else { CallOutcome::Ok },
        code: None,
        text: format!("line of {id}\n").repeat(dice.roll(400)),
        millis: 0,
        images: Vec::new(),
        decided: None,
        confined: None,
        receipt: None,
        whole: None,
    };
    vec![turn, Entry::Results { results: ids.iter().map(result).collect() }]
}

/// What shortens it next, at random.
fn shortened(dice: &mut Dice, entries: &[Entry]) -> Option<Entry> {
    if dice.roll(2) == 0 {
        let to = 1 + dice.roll(entries.len());
        return Some(Entry::Trimmed { to: view::number(to), most: view::number(200 + dice.roll(3_000)) });
    }
    let keep = dice.roll(4);
    let units = units::of(entries);
    let by_agent = dice.roll(4) == 0;
    let after = if by_agent { 0 } else { view::authored(entries) };
    let range = units::prefix(&units, after, keep)?;
    let text = if by_agent { format!("my note of {keep}") } else { summary::outline(entries, range) };
    let author = if by_agent { NoteAuthor::Agent } else { NoteAuthor::Host };
    let entry = room::compacted(entries, range, text, author, None);
    let with: Vec<Entry> = entries.iter().cloned().chain([entry.clone()]).collect();
    (bytes(&with) < bytes(entries)).then_some(entry)
}

#[track_caller]
fn is_a_conversation(entries: &[Entry], seed: u64) {
    let request = request(entries);
    let mut open: Vec<&str> = Vec::new();
    let mut before = None;
    for message in &request.messages {
        match message.role {
            Role::Assistant => {
                assert!(open.is_empty(), "seed {seed}: a call has no result");
                open = message.parts.iter().filter_map(id_of_call).collect();
            }
            Role::User => {
                assert_ne!(before, Some(Role::User), "seed {seed}: turns alternate");
                let given: Vec<&str> = message.parts.iter().filter_map(id_of_result).collect();
                assert_eq!(given, open, "seed {seed}: each call has its result");
                let first = message.parts.iter().take(given.len()).all(|part| id_of_result(part).is_some());
                assert!(first, "seed {seed}: results come first");
                open.clear();
            }
        }
        before = Some(message.role);
    }
    let said: String = request.messages.iter().map(|message| message.text()).collect();
    let json = serde_json::to_string(&request.messages).unwrap();
    for (index, entry) in entries.iter().enumerate() {
        match entry {
            Entry::Asked { text, .. } => assert!(said.contains(text), "seed {seed}: what the owner said stays"),
            Entry::Results { results } => {
                for unsure in results.iter().filter(|result| result.outcome == CallOutcome::Unknown) {
                    assert!(json.contains(&format!("\"call\":\"{}\"", unsure.call)), "seed {seed}: it stays");
                }
            }
            Entry::Compacted { from, to, digest, text, author, .. } => {
                let range = Range { from: view::index(*from), to: view::index(*to) };
                assert!(range.to <= index, "seed {seed}");
                assert_eq!(*digest, units::digest(entries, range), "seed {seed}: the source is as it was");
                let later = entries.iter().skip(index + 1).any(|later| {
                    matches!(later,
                    Entry::Compacted { from: f, to: t, .. } if f <= from && to <= t)
                });
                if *author == NoteAuthor::Agent && !later {
                    assert!(said.contains(text), "seed {seed}: nobody rewrites a note");
                }
            }
            _ => {}
        }
    }
}

fn id_of_call(part: &Part) -> Option<&str> {
    match part {
        Part::ToolCall { id, .. } => Some(id),
        _ => None,
    }
}

fn id_of_result(part: &Part) -> Option<&str> {
    match part {
        Part::ToolResult { call, .. } => Some(call),
        _ => None,
    }
}

#[test]
fn whatever_is_shortened_what_is_shown_is_a_conversation_and_grows_at_its_end() {
    for seed in 1..=200 {
        let mut dice = Dice(0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(seed));
        let mut entries = vec![Entry::Asked { text: "the first wish".to_owned(), guidance: None, images: Vec::new() }];
        let mut sent = Sent::of(&request(&entries));
        for number in 0..12 {
            let before = bytes(&entries);
            let short = (dice.roll(4) == 0).then(|| shortened(&mut dice, &entries)).flatten();
            let is_short = short.is_some();
            if let Some(entry) = short {
                entries.push(entry);
                assert!(bytes(&entries) <= before, "seed {seed}: it only shrinks");
            } else if dice.roll(6) == 0 {
                entries.push(Entry::Asked {
                    text: format!("another wish {number}"),
                    guidance: None,
                    images: Vec::new(),
                });
            } else {
                entries.extend(round(&mut dice, number));
            }
            is_a_conversation(&entries, seed);
            let now = Sent::of(&request(&entries));
            assert!(is_short || sent.break_in(&now).is_none(), "seed {seed}: it begins with what was sent");
            // As it is read again by the next attempt.
            let again: Vec<Entry> = entries
                .iter()
                .map(|entry| serde_json::from_str(&serde_json::to_string(entry).unwrap()).unwrap())
                .collect();
            assert_eq!(Sent::of(&request(&again)), now, "seed {seed}");
            sent = now;
        }
    }
}

#[test]
fn a_request_that_did_not_fit_counts_for_its_round_alone() {
    let over = || Entry::Overflowed { route: "r".to_owned(), window: None, bytes: 1, tokens: 1 };
    let asked = || Entry::Asked { text: "x".to_owned(), guidance: None, images: Vec::new() };
    let mut entries = vec![asked(), over()];
    assert_eq!(room::overflows(&entries), 1);
    entries.extend([Entry::Trimmed { to: 1, most: 1 }, over()]);
    assert_eq!(room::overflows(&entries), 2);
    entries.push(answered("x", &[]));
    assert_eq!(room::overflows(&entries), 0);
    entries.extend([over(), asked(), over()]);
    assert_eq!(room::overflows(&entries), 1);
}
