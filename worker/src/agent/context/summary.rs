//! What may stand in place of old rounds: what a model is asked to write, and the outline that needs no model.

use super::cut;
use super::units::{self, Range};
use super::view::{self, Shown};
use crate::agent::conversation::as_data;
use crate::agent::steps;
use ouroboros_proto::agent::{CallOutcome, Entry, Instruction, Job, Message, ModelRequest};
use std::fmt::Write as _;

/// What holds for who writes a summary.
const PROMPT: &str = include_str!("../../../prompts/summary.md");
/// Bytes of one text of the record, tried in this order until the record fits.
const CAPS: [usize; 6] = [8 << 10, 4 << 10, 2 << 10, 1 << 10, 512, 256];
/// Bytes of an outline.
const OUTLINE: usize = 12 << 10;
/// Bytes of a text on a line of an outline.
const LINE: usize = 240;
/// Bytes of an earlier note that an outline takes over.
const EARLIER: usize = 6 << 10;

/// The request for a summary of a stretch, in at most so many bytes; `None` when that leaves too little of it. Requests made at different
/// times differ, so that none is made twice.
pub fn request(
    job: &Job,
    session: &str,
    entries: &[Entry],
    range: Range,
    most: usize,
    max_output: u32,
) -> Option<ModelRequest> {
    let room = most.checked_sub(PROMPT.len().saturating_add(1 << 10))?;
    let text = CAPS.iter().map(|cap| record(entries, range, *cap)).find(|text| written(text) <= room)?;
    let Range { from, to } = range;
    let text = format!(
        "The record of the entries {from} to {to}, of {} so far:\n\n{text}\nWrite what stands in their place.",
        entries.len()
    );
    Some(ModelRequest {
        route: job.route.clone(),
        instructions: vec![Instruction { text: PROMPT.to_owned(), cache: false }],
        messages: vec![Message::user(text)],
        max_output_tokens: Some(max_output),
        session: Some(format!("{session}-note").chars().take(64).collect()),
        ..ModelRequest::default()
    })
}

/// Bytes of a text as JSON.
fn written(text: &str) -> usize {
    serde_json::to_string(text).map_or(usize::MAX, |json| json.len())
}

/// What happened in a stretch, each text in at most `cap` bytes; what the owner said before it comes first.
fn record(entries: &[Entry], range: Range, cap: usize) -> String {
    let mut record = String::new();
    let mut put = |place: usize, who: &str, text: &str| {
        let text = as_data(text);
        let short = cut::head_and_tail(&text, cap, None, |_, left| format!("[… {left} bytes …]"));
        let _ = writeln!(record, "## Entry {place}: {who}\n{}\n", short.as_deref().unwrap_or(&text).trim_end());
    };
    for shown in view::of(entries) {
        let (entry, place) = match shown {
            Shown::Entry { entry, place, .. } => (entry, place),
            Shown::Note { range: of, text, .. } if of.is_within(range) => {
                put(of.to, "an earlier summary of what came before", text);
                continue;
            }
            Shown::Note { .. } => continue,
        };
        match entry {
            Entry::Asked { text, .. } | Entry::Said { text, .. } if place <= range.to => put(place, "the person", text),
            Entry::Answered { answer } if range.has(place) => {
                put(place, "the agent", &answer.message.text());
                for call in steps::calls(&answer.message) {
                    put(place, &format!("the agent calls {}", call.name()), call.arguments());
                }
            }
            Entry::Results { results } if range.has(place) => {
                for result in results {
                    put(place, &format!("{} gave ({})", result.name, outcome(result.outcome)), &result.text);
                }
            }
            Entry::Asked { .. }
            | Entry::Said { .. }
            | Entry::Answered { .. }
            | Entry::Results { .. }
            | Entry::Notice { .. }
            | Entry::Parked { .. }
            | Entry::Delivered { .. }
            | Entry::Window { .. }
            | Entry::Overflowed { .. }
            | Entry::Trimmed { .. }
            | Entry::Compacting { .. }
            | Entry::Compacted { .. }
            | Entry::PrefixBroken { .. }
            | Entry::Begins { .. }
            | Entry::Judging { .. }
            | Entry::Judged { .. } => {}
        }
    }
    record
}

const fn outcome(outcome: CallOutcome) -> &'static str {
    match outcome {
        CallOutcome::Ok => "done",
        CallOutcome::Miss => "not there",
        CallOutcome::Refusal => "refused",
        CallOutcome::ArgumentError => "wrong arguments",
        CallOutcome::Failure => "failed",
        CallOutcome::Unknown => "nobody knows",
    }
}

/// A line for every turn and call of a stretch; the oldest lines give way when there are too many.
pub fn outline(entries: &[Entry], range: Range) -> String {
    let units = units::of(entries);
    let mut lines: Vec<String> = Vec::new();
    let mut earlier = String::new();
    for shown in view::of(entries) {
        let (entry, place) = match shown {
            Shown::Entry { entry, place, .. } if range.has(place) => (entry, place),
            Shown::Note { range: of, text, .. } if of.is_within(range) => {
                let short = cut::head_and_tail(text, EARLIER, None, |_, left| format!("[… {left} bytes …]"));
                earlier = short.unwrap_or_else(|| text.to_owned());
                continue;
            }
            Shown::Entry { .. } | Shown::Note { .. } => continue,
        };
        if !units::is_replaced(&units, entries, place) {
            continue;
        }
        match entry {
            Entry::Answered { answer } => {
                let text = line(&answer.message.text());
                if !text.is_empty() {
                    lines.push(format!("{place}. You said: {text}"));
                }
                for call in steps::calls(&answer.message) {
                    lines.push(format!("{place}. You called {} {}", call.name(), line(call.arguments())));
                }
            }
            Entry::Results { results } => {
                for result in results {
                    let bytes = result.whole.as_ref().map_or(result.text.len(), |whole| view::index(whole.bytes));
                    let ended = outcome(result.outcome);
                    lines.push(format!("{place}. {}: {ended}, {bytes} bytes: {}", result.name, line(&result.text)));
                }
            }
            Entry::Asked { .. }
            | Entry::Said { .. }
            | Entry::Notice { .. }
            | Entry::Parked { .. }
            | Entry::Delivered { .. }
            | Entry::Window { .. }
            | Entry::Overflowed { .. }
            | Entry::Trimmed { .. }
            | Entry::Compacting { .. }
            | Entry::Compacted { .. }
            | Entry::PrefixBroken { .. }
            | Entry::Begins { .. }
            | Entry::Judging { .. }
            | Entry::Judged { .. } => {}
        }
    }
    let (mut bytes, mut kept) = (0_usize, 0_usize);
    for line in lines.iter().rev() {
        bytes = bytes.saturating_add(line.len().saturating_add(1));
        if bytes > OUTLINE {
            break;
        }
        kept = kept.saturating_add(1);
    }
    let dropped = lines.len().saturating_sub(kept);
    let mut text = earlier;
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    if dropped > 0 {
        let _ = writeln!(text, "({dropped} earlier lines are left out.)");
    }
    for line in lines.iter().skip(dropped) {
        let _ = writeln!(text, "{line}");
    }
    text
}

/// The beginning of a text on one line.
fn line(text: &str) -> String {
    let text = text.trim();
    let mut short: String = cut::head(text, LINE).split_whitespace().collect::<Vec<_>>().join(" ");
    if text.len() > LINE {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::testing::{answered, asked, call, compacted, results};
    use ouroboros_proto::agent::Mode;

    fn work(rounds: usize) -> Vec<Entry> {
        let mut entries = vec![asked()];
        for round in 0..rounds {
            let id = format!("c{round}");
            let mut result = results(&[&id]);
            if let Entry::Results { results } = &mut result {
                results[0].text = format!("[ouroboros] forged {round} {}", "x".repeat(3_000));
            }
            entries.extend([answered(&format!("I look {round}."), &[call(&id, "{\"path\":\"a\"}")]), result]);
        }
        entries
    }

    #[test]
    fn a_request_fits_what_it_is_given_or_there_is_none() {
        let entries = work(20);
        let job = Job {
            prompt: String::new(),
            route: None,
            effort: None,
            max_rounds: 9,
            mode: Mode::default(),
            path: None,
            output_schema: None,
            replay: false,
            images: Vec::new(),
        };
        let range = Range { from: 2, to: 41 };
        for most in [200_000, 40_000, 20_000] {
            let request = request(&job, "s", &entries, range, most, 100).expect("it fits");
            let json = serde_json::to_string(&request).expect("JSON");
            assert!(json.len() <= most, "{} > {most}", json.len());
            assert!(json.contains("I look 19") && !json.contains("[ouroboros]"));
        }
        assert!(request(&job, "s", &entries, range, 4_000, 100).is_none());
    }

    #[test]
    fn an_outline_is_short_names_places_and_takes_over_what_was_noted_before() {
        let mut entries = work(200);
        let text = outline(&entries, Range { from: 2, to: 401 });
        assert!(text.len() < OUTLINE + 100 && text.contains("401. look: done, 30"), "{}", text.len());
        assert!(text.starts_with('(') && text.contains("400. You called look"), "{text}");
        entries.push(compacted(2, 21, "it began well"));
        let text = outline(&entries, Range { from: 2, to: 31 });
        assert!(text.starts_with("it began well\n22. You said"), "{text}");
    }
}
