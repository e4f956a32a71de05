//! What a task in words did and heard, for people.

use super::screen::Screen;
use super::{Look, Tone, clean, count, money};
use ouroboros_proto::agent::{Author, CallOutcome, CallResult, Entry, ModelAnswer, Part};

/// Lines that are shown of the begin and of the end of a result.
const HEAD: usize = 6;
const TAIL: usize = 3;
/// Lines that are shown of a call's arguments, and of what a folder says.
const ARGUMENT_LINES: usize = 4;
/// Characters that are shown of a line where not everything is.
const LINE: usize = 200;

/// Shows entries, one part after the other.
#[derive(Debug)]
pub struct Transcript {
    look: Look,
    full: bool,
    /// Answers of the model so far.
    round: u32,
    /// Results of calls so far.
    call: u32,
}

impl Transcript {
    /// With `full` nothing is folded.
    pub const fn new(look: Look, full: bool) -> Self {
        Self { look, full, round: 0, call: 0 }
    }

    /// The next entry.
    pub fn show(&mut self, entry: &Entry) -> String {
        match entry {
            Entry::Asked { text, guidance, images } => {
                let told =
                    guidance.as_deref().map(|text| self.block("the folder says", Tone::Faint, &self.folded(text)));
                let images = match images.len() {
                    0 => String::new(),
                    images => format!(", with {}", count(u64::try_from(images).unwrap_or(u64::MAX), "image")),
                };
                let asked = self.block(&format!("asked{images}"), Tone::Strong, &tame(text));
                format!("{}{asked}", told.unwrap_or_default())
            }
            Entry::Said { number, text } => self.block(&format!("message {number}"), Tone::Strong, &tame(text)),
            Entry::Notice { text } => self.block("notice", Tone::Warn, &tame(text)),
            Entry::Answered { answer } => self.answer(answer),
            Entry::Results { results } => results.iter().map(|result| self.result(result)).collect(),
            Entry::Parked { detail } => self.block("waits", Tone::Warn, &tame(detail)),
            Entry::Window { route, tokens, source } => {
                self.line(&format!("window {tokens} tokens on {}, {}", clean(route), source.words()))
            }
            Entry::Overflowed { route, .. } => self.line(&format!("the request did not fit {}", clean(route))),
            Entry::Trimmed { to, most } => {
                self.line(&format!("results up to entry {to} are shown with {most} bytes at most from here on"))
            }
            Entry::Compacting { from, to, .. } => {
                self.line(&format!("a summary of entries {from} to {to} is asked for"))
            }
            Entry::Compacted { from, to, text, .. } => {
                let heading = format!("entries {from} to {to} are shown to the model as");
                self.block(&heading, Tone::Faint, &self.folded(text))
            }
            Entry::PrefixBroken { sanctioned: true, .. } => String::new(),
            Entry::PrefixBroken { sanctioned: false, .. } => {
                self.line("the next request did not begin with the one before")
            }
            Entry::Begins { call } => self.line(&format!("call {call} is done now")),
            Entry::Judging { call, .. } => self.line(&format!("a model is asked whether call {call} is safe")),
            Entry::Judged { call, judgement, .. } => {
                self.line(&format!("call {call}: {}", super::why::judgement(judgement, false)))
            }
            Entry::Delivered { text: _, author, objective } => {
                let said = objective.map(|objective| format!("; objective {}", objective.words())).unwrap_or_default();
                self.block(&format!("delivered by {}{said}", author_words(*author)), Tone::Good, "")
            }
        }
    }

    fn answer(&mut self, answer: &ModelAnswer) -> String {
        self.round = self.round.saturating_add(1);
        let tokens = money::tokens(answer.usage.input, answer.usage.output);
        let cost = answer.cost.map_or_else(|| "? cost".to_owned(), |cost| cost.amount.to_string());
        let heading = format!("round {} · {} · {tokens} · {cost}", self.round, clean(&answer.route));
        let mut text = String::new();
        for part in &answer.message.parts {
            match part {
                Part::Text { text: words, .. } | Part::Refusal { text: words } => {
                    text.push_str(&tame(words));
                    text.push('\n');
                }
                Part::ToolCall { name, arguments, .. } => {
                    text.push_str(&format!("→ {} {}\n", clean(name), self.folded_to(arguments, ARGUMENT_LINES, 0)));
                }
                Part::Reasoning { text: words, .. } if self.full && !words.is_empty() => {
                    text.push_str(&format!("(thinking) {}\n", tame(words)));
                }
                Part::Image { .. } => text.push_str("(an image)\n"),
                Part::Reasoning { .. } | Part::Native { .. } | Part::ToolResult { .. } => {}
            }
        }
        self.block(&heading, Tone::Busy, text.trim_end())
    }

    fn result(&mut self, result: &CallResult) -> String {
        self.call = self.call.saturating_add(1);
        let code = result.code.as_deref().map(|code| format!(" ({})", clean(code))).unwrap_or_default();
        let heading =
            format!("← {} {} {}{code} · {} ms", self.call, clean(&result.name), outcome(result.outcome), result.millis);
        let tone = if result.outcome == CallOutcome::Ok { Tone::Faint } else { Tone::Warn };
        self.block(&heading, tone, &self.folded(&result.text))
    }

    fn line(&self, words: &str) -> String {
        self.block(words, Tone::Faint, "")
    }

    fn block(&self, heading: &str, tone: Tone, text: &str) -> String {
        let heading = self.look.paint(tone, &format!("── {heading}"));
        if text.is_empty() { format!("{heading}\n") } else { format!("{heading}\n{text}\n") }
    }

    fn folded(&self, text: &str) -> String {
        self.folded_to(text, HEAD, TAIL)
    }

    /// The text without what lies between its first and its last lines.
    fn folded_to(&self, text: &str, head: usize, tail: usize) -> String {
        let text = tame(text);
        if self.full {
            return text;
        }
        let lines: Vec<&str> = text.lines().collect();
        let left = lines.len().saturating_sub(head.saturating_add(tail));
        let mut shown: Vec<String> = lines.iter().take(head).map(|line| cut(line)).collect();
        match left {
            0 => shown.extend(lines.iter().skip(head).map(|line| cut(line))),
            left => {
                let more = count(u64::try_from(left).unwrap_or(u64::MAX), "line");
                shown.push(self.look.paint(Tone::Faint, &format!("… {more} more; --full shows them")));
                shown.extend(lines.iter().skip(head.saturating_add(left)).map(|line| cut(line)));
            }
        }
        shown.join("\n")
    }
}

/// Text that cannot steer the terminal, on its lines.
fn tame(text: &str) -> String {
    let mut screen = Screen::default();
    let shown = screen.show(text.trim_end().as_bytes());
    shown + screen.finish()
}

fn cut(line: &str) -> String {
    if line.chars().count() <= LINE { line.to_owned() } else { line.chars().take(LINE).chain(['…']).collect() }
}

const fn author_words(author: Author) -> &'static str {
    match author {
        Author::Model => "the model",
        Author::ModelAtLimit => "the model, its rounds used up",
        Author::ModelInCircles => "the model, stopped in circles",
        Author::Host => "nobody: these are its last words",
    }
}

const fn outcome(outcome: CallOutcome) -> &'static str {
    match outcome {
        CallOutcome::Ok => "ok",
        CallOutcome::Miss => "miss",
        CallOutcome::Refusal => "refused",
        CallOutcome::ArgumentError => "wrong arguments",
        CallOutcome::Failure => "failed",
        CallOutcome::Unknown => "not known",
    }
}
