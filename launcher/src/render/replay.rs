//! What calls of tools came to once more, beside what they came to then.

use super::why::Made;
use super::{Look, Tone, clean, count};
use ouroboros_proto::agent::{CallOutcome, CallResult};
use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};

/// Lines that are shown of how a text differs.
const LINES: usize = 8;
/// Characters of each.
const LINE: usize = 160;

/// What is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It came to the same.
    Same,
    /// It did not.
    Differs,
    /// It was not allowed now, or nobody came to it.
    NotRun,
}

/// A call, then and now.
#[derive(Debug)]
pub struct Compared<'a> {
    then: &'a Made,
    now: Option<&'a CallResult>,
    verdict: Verdict,
    diff: Vec<String>,
}

/// How many calls came to what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sums {
    /// The same.
    pub same: u64,
    /// Something else.
    pub differs: u64,
    /// Not run.
    pub not_run: u64,
}

impl Sums {
    /// Adds one.
    pub fn count(&mut self, compared: &Compared<'_>) {
        let sum = match compared.verdict {
            Verdict::Same => &mut self.same,
            Verdict::Differs => &mut self.differs,
            Verdict::NotRun => &mut self.not_run,
        };
        *sum = sum.saturating_add(1);
    }

    /// All.
    pub const fn calls(self) -> u64 {
        self.same.saturating_add(self.differs).saturating_add(self.not_run)
    }

    /// In words.
    pub fn words(self) -> String {
        let Self { same, differs, not_run } = self;
        format!("{}: {same} same, {differs} differ, {not_run} not run", count(self.calls(), "call"))
    }
}

impl<'a> Compared<'a> {
    /// Compares a call with what it came to now.
    pub fn of(then: &'a Made, now: Option<&'a Made>) -> Self {
        let now = now.and_then(|made| made.result.as_ref());
        let before = then.result.as_ref();
        let refused = |result: &CallResult| result.outcome == CallOutcome::Refusal;
        let verdict = match (before, now) {
            (_, None) => Verdict::NotRun,
            (Some(before), Some(now)) if refused(now) && !refused(before) => Verdict::NotRun,
            (Some(before), Some(now)) if is_same(before, now) => Verdict::Same,
            (Some(_) | None, Some(_)) => Verdict::Differs,
        };
        let texts = before.zip(now).filter(|_| verdict == Verdict::Differs);
        let diff = texts.map(|(before, now)| diff(&steady(&before.text), &steady(&now.text))).unwrap_or_default();
        Self { then, now, verdict, diff }
    }

    /// For people: a line, and how the text differs.
    pub fn line(&self, look: Look) -> String {
        let was = self.then.result.as_ref().map_or_else(|| "nothing".to_owned(), class);
        let is = self.now.map_or_else(|| "nothing".to_owned(), class);
        let (tone, words) = match self.verdict {
            Verdict::Same => (Tone::Good, "same".to_owned()),
            Verdict::Differs if was == is => (Tone::Bad, "differs in its text".to_owned()),
            Verdict::Differs => (Tone::Bad, format!("differs: {was}, now {is}")),
            Verdict::NotRun => (Tone::Warn, format!("not run: {is}")),
        };
        let head =
            format!("{:>3}  {:<20} {}\n", self.then.number, clean(&self.then.tool), look.paint(tone, &clean(&words)));
        let diff = self.diff.iter().map(|line| format!("     {}\n", clean(line)));
        std::iter::once(head).chain(diff).collect()
    }

    /// As JSON.
    pub fn value(&self) -> Value {
        let verdict = match self.verdict {
            Verdict::Same => "same",
            Verdict::Differs => "differs",
            Verdict::NotRun => "not_run",
        };
        let end = |result: Option<&CallResult>| {
            result.map(|result| json!({ "outcome": result.outcome, "code": result.code }))
        };
        json!({
            "call": self.then.number,
            "tool": self.then.tool,
            "verdict": verdict,
            "recorded": end(self.then.result.as_ref()),
            "now": end(self.now),
            "diff": self.diff,
        })
    }
}

/// A refusal is one whatever mode it names.
fn is_same(before: &CallResult, now: &CallResult) -> bool {
    let refused = now.outcome == CallOutcome::Refusal;
    (before.outcome, &before.code) == (now.outcome, &now.code) && (refused || steady(&before.text) == steady(&now.text))
}

/// `ok`, `failure (exit_code)`.
fn class(result: &CallResult) -> String {
    let outcome = match result.outcome {
        CallOutcome::Ok => "ok",
        CallOutcome::Miss => "miss",
        CallOutcome::Refusal => "refusal",
        CallOutcome::ArgumentError => "argument error",
        CallOutcome::Failure => "failure",
        CallOutcome::Unknown => "unknown",
    };
    result.code.as_ref().map_or_else(|| outcome.to_owned(), |code| format!("{outcome} ({code})"))
}

/// The text without how long something took.
fn steady(text: &str) -> String {
    let is_number =
        |word: &str| word.starts_with(|letter: char| letter.is_ascii_digit()) && word.parse::<f64>().is_ok();
    let is_unit = |word: &str| ["s", "ms"].contains(&word.trim_end_matches(['.', ',', ':', ';', ')']));
    let line = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let next = words.iter().skip(1).map(|word| is_unit(word)).chain([false]);
        let steady = words.iter().zip(next).map(|(word, timed)| if timed && is_number(word) { "…" } else { word });
        steady.collect::<Vec<&str>>().join(" ")
    };
    text.split('\n').map(line).collect::<Vec<String>>().join("\n")
}

fn diff(before: &str, now: &str) -> Vec<String> {
    let diff = TextDiff::from_lines(before, now);
    let changed = diff.iter_all_changes().filter_map(|change| {
        let sign = match change.tag() {
            ChangeTag::Equal => return None,
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
        };
        Some(format!("{sign} {}", change.value().trim_end()).chars().take(LINE).collect())
    });
    let mut lines: Vec<String> = changed.take(LINES.saturating_add(1)).collect();
    if lines.len() > LINES {
        lines.truncate(LINES);
        lines.push("…".to_owned());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(outcome: CallOutcome, text: &str) -> Made {
        let json = json!({ "call": "a", "name": "look", "outcome": outcome, "text": text, "millis": 7 });
        let result = serde_json::from_value(json).unwrap();
        Made { number: 1, id: "a".into(), tool: "look".into(), arguments: "{}".into(), result: Some(result) }
    }

    #[test]
    fn how_long_it_took_is_no_difference_and_anything_else_is() {
        let verdict = |then: &Made, now: &Made| Compared::of(then, Some(now)).verdict;
        let ok = |text: &str| made(CallOutcome::Ok, text);
        assert_eq!(verdict(&ok("Exit 0 after 0.3 s.\nx"), &ok("Exit 0 after 12.0 s.\nx")), Verdict::Same);
        assert_eq!(verdict(&ok("Exit 0 after 0.3 s."), &ok("Exit 1 after 0.3 s.")), Verdict::Differs);
        assert_eq!(verdict(&ok("x"), &made(CallOutcome::Miss, "x")), Verdict::Differs);
        assert_eq!(verdict(&ok("x"), &made(CallOutcome::Refusal, "no")), Verdict::NotRun);
        let refused = made(CallOutcome::Refusal, "no");
        assert_eq!(verdict(&refused, &made(CallOutcome::Refusal, "no, in this mode")), Verdict::Same);
        assert_eq!(verdict(&refused, &ok("no")), Verdict::Differs);
        let open = Made { result: None, ..ok("x") };
        assert_eq!(Compared::of(&ok("x"), Some(&open)).verdict, Verdict::NotRun);
        assert_eq!(Compared::of(&ok("x"), None).verdict, Verdict::NotRun);
        assert_eq!(verdict(&open, &ok("x")), Verdict::Differs);
    }

    #[test]
    fn a_difference_is_shown_by_lines() {
        let (then, now) = (made(CallOutcome::Ok, "a\nb\nc"), made(CallOutcome::Ok, "a\nx\u{1b}[31m\nc"));
        let compared = Compared::of(&then, Some(&now));
        assert_eq!(
            compared.line(Look::PLAIN),
            "  1  look                 differs in its text\n     - b\n     + x\\u{1b}[31m\n"
        );
        let many: String = (0..50).map(|line| format!("{line}\n")).collect();
        assert_eq!(diff("", &many).len(), LINES + 1);
        let sums = Sums { same: 1, differs: 0, not_run: 2 };
        assert_eq!(sums.words(), "3 calls: 1 same, 0 differ, 2 not run");
    }
}
