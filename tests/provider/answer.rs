//! An answer before a dialect gives it its shape: what is said, in pieces, why it ends, and what is told of its tokens.

use crate::fault::Fault;
use crate::money::{Tokens, tokens_of};
use crate::rule::{Call, Calls, Rule, Said};
use crate::wire::Asked;

/// Bytes of text in a piece, unless the script says otherwise.
const PIECE: usize = 24;

/// An answer.
#[derive(Debug)]
pub struct Answer {
    /// The part of all ids that tells it from others.
    pub tail: String,
    /// The model that claims to have answered.
    pub model: String,
    /// Microseconds since the epoch.
    pub created: i64,
    /// What is said.
    pub parts: Vec<Part>,
    /// Why it ends.
    pub stop: Stop,
    /// The stream ends with this error instead.
    pub fault: Option<Fault>,
    /// What is told of tokens, one after the other; empty when nothing is.
    pub told: Vec<Tokens>,
    /// Dollars, as decimal text.
    pub cost: String,
    /// Whether usage was asked for, where that must be.
    pub include_usage: bool,
}

/// A part of it.
#[derive(Debug, Clone)]
pub enum Part {
    /// Text.
    Text(Pieces),
    /// Thinking.
    Reasoning(Pieces),
    /// A tool call.
    Call {
        /// Its id.
        id: String,
        /// The tool.
        tool: String,
        /// The arguments.
        arguments: Pieces,
    },
    /// The model declines.
    Refusal(Pieces),
    /// Bytes of the stream.
    Raw(String),
}

/// A text in pieces.
#[derive(Debug, Clone, Default)]
pub struct Pieces {
    /// They.
    pub list: Vec<String>,
    /// Whether the last one comes again for ever.
    pub endless: bool,
}

/// Why an answer ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// It is done.
    End,
    /// Its bound is reached.
    Length,
    /// It calls tools.
    Calls,
    /// A filter cut it.
    Filter,
    /// The model declined.
    Refusal,
    /// A long turn is paused.
    Pause,
    /// A text of the request came that ends it.
    Text,
    /// In the provider's word.
    Word(String),
}

impl Pieces {
    /// All of the text.
    pub fn text(&self) -> String {
        self.list.concat()
    }

    fn of(text: &str, size: usize) -> Self {
        let mut list = vec![];
        let mut piece = String::new();
        for letter in text.chars() {
            piece.push(letter);
            if piece.len() >= size {
                list.push(std::mem::take(&mut piece));
            }
        }
        if !piece.is_empty() {
            list.push(piece);
        }
        Self { list, endless: false }
    }
}

impl Stop {
    fn of(word: &str) -> Self {
        match word {
            "end" => Self::End,
            "length" => Self::Length,
            "calls" => Self::Calls,
            "filter" => Self::Filter,
            "refusal" => Self::Refusal,
            "pause" => Self::Pause,
            "stop_text" => Self::Text,
            other => Self::Word(other.to_owned()),
        }
    }
}

/// The parts of a rule's answer; of the user's last text when the rule says nothing. The second is whether they were cut to what the
/// request allows: only text and only when the script does not count tokens itself.
pub fn parts(rule: &Rule, asked: &Asked, tail: &str) -> (Vec<Part>, bool) {
    let size = rule.chunk.unwrap_or(PIECE).max(1);
    let mut said: Vec<Said> = vec![];
    said.extend(rule.reasoning.clone().map(Said::Reasoning));
    said.extend(rule.say.clone().map(Said::Say));
    said.extend(calls(rule).into_iter().map(Said::Call));
    said.extend(rule.parts.iter().cloned());
    if said.is_empty() && rule.repeat.is_none() && rule.refuse.is_none() {
        said.push(Said::Say(asked.text.clone()));
    }
    let bound = asked.max_output.filter(|_| rule.usage.output.is_none());
    let mut room = bound.map_or(usize::MAX, |tokens| usize::try_from(tokens.saturating_mul(4)).unwrap_or(usize::MAX));
    let mut cut = false;
    let mut parts: Vec<Part> = vec![];
    for (place, said) in said.into_iter().enumerate() {
        parts.push(match said {
            Said::Say(text) => Part::Text(Pieces::of(fit(&text, &mut room, &mut cut), size)),
            Said::Reasoning(text) => Part::Reasoning(Pieces::of(fit(&text, &mut room, &mut cut), size)),
            Said::Call(Call { tool, arguments, id }) => Part::Call {
                id: id.unwrap_or_else(|| format!("call_{tail}{place:02}")),
                tool,
                arguments: Pieces::of(&arguments, size),
            },
            Said::Raw(text) => Part::Raw(text),
        });
    }
    parts.extend(rule.refuse.as_ref().map(|text| Part::Refusal(Pieces::of(text, size))));
    parts.extend(rule.repeat.as_ref().map(|word| Part::Text(repeated(word, rule.repeat_times))));
    (parts, cut)
}

fn calls(rule: &Rule) -> Vec<Call> {
    match &rule.call {
        None => vec![],
        Some(Calls::One(call)) => vec![call.clone()],
        Some(Calls::Many(calls)) => calls.clone(),
    }
}

fn repeated(word: &str, times: Option<u64>) -> Pieces {
    let count = times.map_or(1, |times| usize::try_from(times).unwrap_or(usize::MAX));
    Pieces { list: vec![word.to_owned(); count], endless: times.is_none() }
}

/// As much of the text as there is room for.
fn fit<'a>(text: &'a str, room: &mut usize, cut: &mut bool) -> &'a str {
    let end = text.floor_char_boundary(*room);
    *cut |= end < text.len();
    *room = room.saturating_sub(end);
    text.get(..end).unwrap_or_default()
}

/// Why these parts end.
pub fn stop(rule: &Rule, parts: &[Part], cut: bool) -> Stop {
    let any = |wanted: fn(&Part) -> bool| parts.iter().any(wanted);
    match &rule.stop {
        Some(word) => Stop::of(word),
        None if cut => Stop::Length,
        None if any(|part| matches!(part, Part::Refusal(_))) => Stop::Refusal,
        None if any(|part| matches!(part, Part::Call { .. })) => Stop::Calls,
        None => Stop::End,
    }
}

/// The tokens of prompt and answer, counted as the module on money says.
pub fn count(parts: &[Part], asked: &Asked) -> Tokens {
    let bytes = |pieces: &Pieces| pieces.list.iter().map(String::len).sum::<usize>();
    let mut tokens = Tokens { input: tokens_of(asked.prompt).max(1), ..Tokens::default() };
    for part in parts {
        let (said, thought) = match part {
            Part::Text(pieces) if pieces.endless => (0, 0),
            Part::Text(pieces) | Part::Refusal(pieces) => (bytes(pieces), 0),
            Part::Reasoning(pieces) => (0, bytes(pieces)),
            Part::Call { tool, arguments, .. } => (tool.len().saturating_add(bytes(arguments)), 0),
            Part::Raw(_) => (0, 0),
        };
        let thought = tokens_of(thought);
        tokens.output = tokens.output.saturating_add(tokens_of(said)).saturating_add(thought);
        tokens.reasoning = tokens.reasoning.saturating_add(thought);
    }
    tokens
}

/// What is told of tokens, in order.
pub fn told(rule: &Rule, truth: Tokens) -> Vec<Tokens> {
    let wrong = rule.wrong_usage.map(|wrong| wrong.or(truth));
    match (rule.no_usage, rule.duplicate_usage, wrong) {
        (true, _, _) => vec![],
        (false, true, wrong) => vec![wrong.unwrap_or(truth), truth],
        (false, false, wrong) => vec![wrong.unwrap_or(truth)],
    }
}
