//! A conversation in the shape that every provider accepts.
//!
//! What callers write may have ends: a call without its result because the task was interrupted, a result without its call, empty
//! texts, two turns of one side in a row, calls of two providers that share an id. Here they are put right once, for all formats:
//! turns alternate, the results come first in the turn after their calls, each call has exactly one, and ids are unique.

use super::EncodeError;
use ouroboros_proto::agent::{Instruction, Message, Native, Part, Role};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// The result of a call that has none.
pub(super) const INTERRUPTED: &str = "interrupted: the outcome is not known";

/// One turn; never empty.
#[derive(Debug)]
pub(super) enum Turn<'a> {
    /// Of the user's side.
    User {
        /// What the calls of the turn before gave, in their order.
        returns: Vec<Return<'a>>,
        /// What is said besides.
        given: Vec<Given<'a>>,
    },
    /// Of the model.
    Model(Vec<Said<'a>>),
}

/// Text or an image.
#[derive(Debug, Clone, Copy)]
pub(super) enum Given<'a> {
    Text { text: &'a str, cache: bool },
    Image { media_type: &'a str, data: &'a str },
}

/// What a tool gave.
#[derive(Debug)]
pub(super) struct Return<'a> {
    pub(super) id: Cow<'a, str>,
    pub(super) name: &'a str,
    pub(super) parts: Vec<Given<'a>>,
    pub(super) is_error: bool,
    pub(super) cache: bool,
}

impl Return<'_> {
    /// The text of all its parts.
    pub(super) fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            Given::Text { text, .. } => Some(*text),
            Given::Image { .. } => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    /// Its images.
    pub(super) fn images(&self) -> impl Iterator<Item = (&str, &str)> {
        self.parts.iter().filter_map(|part| match part {
            Given::Image { media_type, data } => Some((*media_type, *data)),
            Given::Text { .. } => None,
        })
    }
}

/// A piece of the model's turn. What is native is of this route.
#[derive(Debug)]
pub(super) enum Said<'a> {
    Text { text: &'a str, cache: bool },
    Reasoning(&'a RawValue),
    Call(Call<'a>),
    Refusal(&'a str),
    Native(&'a RawValue),
}

/// A call of a tool.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) id: Cow<'a, str>,
    pub(super) name: &'a str,
    pub(super) arguments: &'a str,
    pub(super) native: Option<&'a RawValue>,
}

impl Call<'_> {
    /// The arguments as text that is a JSON object: as written if it is one, else as a text in one, so that the model sees its slip.
    pub(super) fn object(&self) -> Cow<'_, str> {
        let text = self.arguments.trim();
        if text.is_empty() {
            return Cow::Borrowed("{}");
        }
        if text.starts_with('{') && serde_json::from_str::<&RawValue>(text).is_ok() {
            return Cow::Borrowed(text);
        }
        Cow::Owned(serde_json::json!({ "malformed_arguments": text }).to_string())
    }
}

/// The conversation's turns for this route. `id_fits` says which ids the provider accepts; others are replaced.
pub(super) fn turns<'a>(
    route: &str,
    messages: &'a [Message],
    id_fits: fn(&str) -> bool,
) -> Result<Vec<Turn<'a>>, EncodeError> {
    let mut turns: Vec<Turn<'a>> = Vec::new();
    for message in messages {
        let turn = match message.role {
            Role::User => user(&message.parts)?,
            Role::Assistant => model(route, &message.parts)?,
        };
        match (turns.last_mut(), turn) {
            (_, Turn::Model(said)) if said.is_empty() => {}
            (_, Turn::User { returns, given }) if returns.is_empty() && given.is_empty() => {}
            (Some(Turn::Model(before)), Turn::Model(mut said)) => before.append(&mut said),
            (Some(Turn::User { returns, given }), Turn::User { returns: mut more, given: mut rest }) => {
                returns.append(&mut more);
                given.append(&mut rest);
            }
            (_, turn) => turns.push(turn),
        }
    }
    let mut turns = settle(turns);
    rename(&mut turns, id_fits);
    if turns.is_empty() { Err(EncodeError::Empty) } else { Ok(turns) }
}

fn user(parts: &[Part]) -> Result<Turn<'_>, EncodeError> {
    let (mut returns, mut given) = (Vec::new(), Vec::new());
    for part in parts {
        match part {
            Part::ToolResult { call, name, parts, is_error, cache } => returns.push(Return {
                id: Cow::Borrowed(call),
                name,
                parts: parts.iter().map(plain).filter_map(Result::transpose).collect::<Result<_, _>>()?,
                is_error: *is_error,
                cache: *cache,
            }),
            Part::Text { .. } | Part::Image { .. } => given.extend(plain(part)?),
            Part::Reasoning { .. } | Part::ToolCall { .. } | Part::Refusal { .. } | Part::Native { .. } => {
                return Err(EncodeError::Misplaced("thinking, calls and refusals belong into turns of the model"));
            }
        }
    }
    Ok(Turn::User { returns, given })
}

/// Text or an image; nothing for an empty text.
fn plain(part: &Part) -> Result<Option<Given<'_>>, EncodeError> {
    match part {
        Part::Text { text, .. } if text.trim().is_empty() => Ok(None),
        Part::Text { text, cache } => Ok(Some(Given::Text { text, cache: *cache })),
        Part::Image { media_type, data } => Ok(Some(Given::Image { media_type, data })),
        Part::Reasoning { .. }
        | Part::ToolCall { .. }
        | Part::ToolResult { .. }
        | Part::Refusal { .. }
        | Part::Native { .. } => Err(EncodeError::Misplaced("the result of a tool has texts and images only")),
    }
}

fn model<'a>(route: &str, parts: &'a [Part]) -> Result<Turn<'a>, EncodeError> {
    let mut said = Vec::new();
    for part in parts {
        match part {
            // A text of white space is refused by some and says nothing to any.
            Part::Text { text, .. } if text.trim().is_empty() => {}
            Part::Text { text, cache } => said.push(Said::Text { text, cache: *cache }),
            Part::Reasoning { native, .. } => said.extend(of(route, native.as_ref()).map(Said::Reasoning)),
            Part::Native { native } => said.extend(of(route, Some(native)).map(Said::Native)),
            Part::Refusal { text } if text.trim().is_empty() => {}
            Part::Refusal { text } => said.push(Said::Refusal(text)),
            Part::ToolCall { id, name, arguments, native } => said.push(Said::Call(Call {
                id: Cow::Borrowed(id),
                name,
                arguments,
                native: of(route, native.as_ref()),
            })),
            Part::Image { .. } | Part::ToolResult { .. } => {
                return Err(EncodeError::Misplaced("images and results of tools belong into turns of the user"));
            }
        }
    }
    Ok(Turn::Model(said))
}

/// The native JSON, if it is of this route.
fn of<'a>(route: &str, native: Option<&'a Native>) -> Option<&'a RawValue> {
    let native = native.filter(|native| native.route == route)?;
    serde_json::from_str(&native.json).ok()
}

/// What the model said without thinking at its end: that was cut before it led to anything, and no provider takes it
/// back alone.
pub(super) fn uncut<'s, 'a>(said: &'s [Said<'a>]) -> &'s [Said<'a>] {
    let last = said.iter().rposition(|said| !matches!(said, Said::Reasoning(_)));
    said.get(..last.map_or(0, |at| at.saturating_add(1))).unwrap_or_default()
}

/// Gives every call its one result in the turn after it, and drops results without a call.
fn settle(turns: Vec<Turn<'_>>) -> Vec<Turn<'_>> {
    let mut settled = Vec::with_capacity(turns.len());
    // Ids and names of the calls that wait for results.
    let mut open: Vec<(Cow<'_, str>, &str)> = Vec::new();
    for turn in turns {
        match turn {
            Turn::Model(said) => {
                let calls = said.iter().filter_map(|said| match said {
                    Said::Call(call) => Some((call.id.clone(), call.name)),
                    Said::Text { .. } | Said::Reasoning(_) | Said::Refusal(_) | Said::Native(_) => None,
                });
                open = calls.collect();
                push_model(&mut settled, said);
            }
            Turn::User { returns, given } => {
                let returns = results(std::mem::take(&mut open), returns);
                if !(returns.is_empty() && given.is_empty()) {
                    settled.push(Turn::User { returns, given });
                }
            }
        }
    }
    if !open.is_empty() {
        settled.push(Turn::User { returns: results(open, Vec::new()), given: Vec::new() });
    }
    settled
}

/// Two turns of the model meet when what stood between them were orphans only.
fn push_model<'a>(settled: &mut Vec<Turn<'a>>, mut said: Vec<Said<'a>>) {
    match settled.last_mut() {
        Some(Turn::Model(before)) => before.append(&mut said),
        Some(Turn::User { .. }) | None => settled.push(Turn::Model(said)),
    }
}

fn results<'a>(calls: Vec<(Cow<'a, str>, &'a str)>, mut returns: Vec<Return<'a>>) -> Vec<Return<'a>> {
    let interrupted = |id, name| Return {
        id,
        name,
        parts: vec![Given::Text { text: INTERRUPTED, cache: false }],
        is_error: true,
        cache: false,
    };
    let mut result = |(id, name): (Cow<'a, str>, &'a str)| match returns.iter().position(|given| given.id == id) {
        Some(at) => Return { name, ..returns.remove(at) },
        None => interrupted(id, name),
    };
    calls.into_iter().map(&mut result).collect()
}

/// Replaces ids that were used before or do not fit. The new one is the call's number, so that it stays the same while the
/// conversation grows.
fn rename(turns: &mut [Turn<'_>], id_fits: fn(&str) -> bool) {
    let mut used = HashSet::new();
    let mut number = 0_u64;
    let mut renamed: HashMap<String, Vec<String>> = HashMap::new();
    for turn in turns {
        match turn {
            Turn::Model(said) => {
                renamed.clear();
                for said in said {
                    let Said::Call(call) = said else { continue };
                    let old = call.id.to_string();
                    number = number.saturating_add(1);
                    if !id_fits(&old) || used.contains(&old) {
                        let mut id = format!("call_n{number}");
                        while used.contains(&id) {
                            id.push('x');
                        }
                        call.id = Cow::Owned(id);
                    }
                    used.insert(call.id.to_string());
                    renamed.entry(old).or_default().push(call.id.to_string());
                }
            }
            Turn::User { returns, .. } => {
                for result in returns {
                    let new = renamed.get_mut(result.id.as_ref()).filter(|ids| !ids.is_empty());
                    if let Some(ids) = new {
                        result.id = Cow::Owned(ids.remove(0));
                    }
                }
            }
        }
    }
}

/// Which of the hints for caches become marks: providers allow four, and the last ones reach furthest.
#[derive(Debug)]
pub(super) struct Marks {
    skip: usize,
}

impl Marks {
    const MOST: usize = 4;

    /// For these instructions and turns.
    pub(super) fn new(instructions: &[Instruction], turns: &[Turn<'_>]) -> Self {
        let flags = instructions.iter().filter(|instruction| marks(instruction)).count();
        let inside = turns.iter().map(|turn| match turn {
            Turn::User { returns, given } => {
                let texts = given.iter().filter(|given| matches!(given, Given::Text { cache: true, .. })).count();
                returns.iter().filter(|given| given.cache).count().saturating_add(texts)
            }
            Turn::Model(said) => said.iter().filter(|said| matches!(said, Said::Text { cache: true, .. })).count(),
        });
        Self { skip: flags.saturating_add(inside.sum()).saturating_sub(Self::MOST) }
    }

    /// Whether this hint, the next in order, becomes a mark.
    pub(super) const fn take(&mut self, cache: bool) -> bool {
        if cache && self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        cache
    }
}

/// Whether an instruction is a place for a mark: an empty one is not sent.
fn marks(instruction: &Instruction) -> bool {
    instruction.cache && !instruction.text.trim().is_empty()
}

/// The instructions as one text.
pub(super) fn instructions(all: &[Instruction]) -> Option<String> {
    let texts = all.iter().map(|instruction| instruction.text.as_str()).filter(|text| !text.trim().is_empty());
    let joined = texts.collect::<Vec<_>>().join("\n\n");
    (!joined.is_empty()).then_some(joined)
}

/// What a tool gave, for formats that have no word for failure: the text says it.
pub(super) fn result_text(result: &Return<'_>) -> String {
    let text = result.text();
    match (result.is_error, text.is_empty()) {
        (true, true) => "error".to_owned(),
        (true, false) => format!("error: {text}"),
        (false, true) => "(no output)".to_owned(),
        (false, false) => text,
    }
}
