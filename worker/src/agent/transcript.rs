//! What the agent did and heard: read when an attempt begins, recorded as it grows.

use super::deliver;
use super::heard::HELD;
use super::must_deliver;
use super::owner;
use super::steps::{self, Asked};
use crate::model::{Line, Speech};
use ouroboros_proto::agent::{Author, CallOutcome, CallResult, Entry, ModelAnswer, StopReason};
use ouroboros_proto::kind::Ending;
use ouroboros_proto::limits::FRAME_BYTES;
use ouroboros_proto::wire::Report;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader};

/// Said to the model when an attempt was lost.
const INTERRUPTED: &str = "[ouroboros] The work was interrupted here and goes on now. An answer of yours may be lost.";
/// Said to the model after a wait.
const GOES_ON: &str = "[ouroboros] The work waited here and goes on now. Others may have changed files meanwhile.";
/// Said to the model when the attempt before failed.
const AGAIN: &str = "[ouroboros] The work failed here and is tried again.";
/// What a call came to that was under way then.
const UNKNOWN: &str =
    "The work was interrupted while this ran. Whether it was done is not known: look before you do it again.";

/// What a call came to that had not begun then.
const NOT_BEGUN: &str =
    "The work was interrupted before this began. Nothing was done: call it again if it is still wanted.";

/// What a call came to whose safety check had to wait for money or for a model.
const NOT_CHECKED: &str = "The safety check of this could not be made then, and the work waited. Nothing was done: you may make the same call again.";

/// An entry that is longer fits no frame.
const LONGEST: u64 = FRAME_BYTES.max - (16 << 10);

/// The entries so far.
pub struct Transcript {
    entries: Vec<Entry>,
    /// How many of them, at the begin, another task did and heard.
    inherited: usize,
    /// Something could not be recorded: what follows from it must not happen.
    broken: bool,
    /// Whether the last turn is one that an attempt before began, and what of it waited is done now.
    taken_up: bool,
}

impl Transcript {
    /// What earlier attempts recorded in this file; nothing when the name is empty. The first `inherited` entries are another task's.
    ///
    /// # Errors
    /// The file cannot be read, or is no transcript.
    pub fn load(path: &str, inherited: u64) -> io::Result<Self> {
        let inherited = usize::try_from(inherited).unwrap_or(usize::MAX);
        if path.is_empty() {
            return Ok(Self { entries: Vec::new(), inherited, broken: false, taken_up: false });
        }
        let lines = BufReader::new(File::open(path)?).lines();
        let entry = |line: io::Result<String>| serde_json::from_str(&line?).map_err(io::Error::other);
        Ok(Self { entries: lines.map(entry).collect::<io::Result<_>>()?, inherited, broken: false, taken_up: false })
    }

    /// The entries, oldest first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// What another task did and heard.
    pub fn inherited(&self) -> &[Entry] {
        self.entries.get(..self.inherited).unwrap_or(&self.entries)
    }

    /// What this task did and heard itself.
    fn own(&self) -> &[Entry] {
        self.entries.get(self.inherited..).unwrap_or_default()
    }

    /// Whether this task has said what is wanted of it.
    pub fn is_begun(&self) -> bool {
        self.own().iter().any(|entry| matches!(entry, Entry::Asked { .. }))
    }

    /// The entries since somebody last said what is wanted: what came before belongs to work that is over.
    pub fn current(&self) -> &[Entry] {
        since(&self.entries, |entry| matches!(entry, Entry::Asked { .. }))
    }

    /// The last message to this task that stands here; 0 when there is none.
    pub fn last_said(&self) -> u32 {
        let number = |entry: &Entry| if let Entry::Said { number, .. } = entry { Some(*number) } else { None };
        self.own().iter().filter_map(number).max().unwrap_or(0)
    }

    /// Answers of the model since somebody last said what is wanted.
    pub fn rounds(&self) -> u32 {
        let rounds = self.current().iter().filter(|entry| matches!(entry, Entry::Answered { .. })).count();
        u32::try_from(rounds).unwrap_or(u32::MAX)
    }

    /// What was delivered, when the work is over. Last words that were no answer end an attempt, and not the work.
    pub fn delivered(&self) -> Option<&str> {
        match self.entries.last()? {
            Entry::Delivered {
                text, author: Author::Model | Author::ModelAtLimit | Author::ModelInCircles, ..
            } => Some(text),
            Entry::Delivered { author: Author::Host, .. }
            | Entry::Asked { .. }
            | Entry::Notice { .. }
            | Entry::Answered { .. }
            | Entry::Results { .. }
            | Entry::Said { .. }
            | Entry::Parked { .. }
            | Entry::Window { .. }
            | Entry::Overflowed { .. }
            | Entry::Trimmed { .. }
            | Entry::Compacting { .. }
            | Entry::Compacted { .. }
            | Entry::PrefixBroken { .. }
            | Entry::Begins { .. }
            | Entry::Judging { .. }
            | Entry::Judged { .. } => None,
        }
    }

    /// Whether somebody stopped the turn and has not said yet how to go on.
    pub fn is_held(&self) -> bool {
        matches!(self.entries.last(), Some(Entry::Notice { text }) if text == HELD)
    }

    /// Whether something could not be recorded.
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    /// Adds an entry. It is durable before a model is asked what follows from it; before anything else follows,
    /// [`Line::until_durable`] is to be called. The transcript may be broken then.
    pub fn record(&mut self, entry: Entry, line: &mut Line<'_>, speech: &mut Speech) {
        let json = serde_json::to_vec(&entry).unwrap_or_default();
        let fits = !json.is_empty() && u64::try_from(json.len()).is_ok_and(|bytes| bytes <= LONGEST);
        if fits {
            line.record(Report::Entry { entry: json });
        } else {
            speech.say("what happened is too long to be recorded; the work ends here");
            self.broken = true;
        }
        self.entries.push(entry);
    }

    /// Says what is wanted, behind what another task did and heard. A call that was under way there is told to be unknown.
    pub fn begin(&mut self, mut asked: Entry, line: &mut Line<'_>, speech: &mut Speech) {
        if let Some(results) = left_open(&self.entries) {
            self.record(Entry::Results { results }, line, speech);
        }
        let told = self.entries.iter().rev().find_map(|entry| match entry {
            Entry::Asked { guidance, .. } => Some(guidance),
            _ => None,
        });
        // What was read before need not be read twice.
        if let Entry::Asked { guidance, .. } = &mut asked {
            guidance.take_if(|guidance| told.and_then(Option::as_ref) == Some(guidance));
        }
        self.record(asked, line, speech);
    }

    /// Brings what an attempt before left into an order that a model can be sent. To be called once, at the begin of an attempt.
    /// The error is why the attempt ends while it asks its owner again what the attempt before asked. A turn that waits for its owner is
    /// left as it is: see [`Transcript::waiting`].
    pub fn mend(&mut self, unheard: &[u32], line: &mut Line<'_>, speech: &mut Speech) -> Result<(), Ending> {
        let Some(mut entry) = mended(&self.entries) else { return Ok(()) };
        speech.say("it goes on from what was done before");
        if self.waiting(unheard).is_some() {
            return Ok(());
        }
        if let (Entry::Results { results }, Some(Turn { answer, .. })) = (&mut entry, open_turn(&self.entries)) {
            owner::ask_again(&steps::calls(&answer.message), results, self.first_number(), line, speech)?;
        }
        self.record(entry, line, speech);
        Ok(())
    }

    /// From now on the last turn is gone on with: each of its calls is noted before it is done.
    pub fn take_up(&mut self) {
        self.taken_up = true;
    }

    /// A call is about to be done. Of a turn that is gone on with this is durable first, so that nobody does it again.
    pub fn begins(&mut self, call: u32, line: &mut Line<'_>, speech: &mut Speech) {
        if self.taken_up && open_turn(&self.entries).is_some_and(|turn| turn.begun < Some(call)) {
            self.record(Entry::Begins { call }, line, speech);
            line.until_durable(speech);
        }
    }

    /// What the calls came to of a turn that has no results yet; the first ones came to these.
    pub fn left(&self, known: Vec<CallResult>) -> Option<Vec<CallResult>> {
        let mut results = left_open(&self.entries)?;
        for (left, known) in results.iter_mut().zip(known) {
            *left = known;
        }
        Some(results)
    }

    /// A turn of which one call asked its owner, and nobody has heard the answer: with the first such call, counted from 0, which has
    /// not begun, nor has what comes after it.
    pub fn waiting(&self, unheard: &[u32]) -> Option<(ModelAnswer, usize)> {
        let Turn { before, answer, begun, .. } = open_turn(&self.entries)?;
        let first = first_number(&self.entries);
        let calls = steps::calls(&answer.message).len();
        // What has begun since waits no more.
        let unheard = unheard.iter().filter(|number| Some(**number) > begun);
        let places = unheard.filter_map(|number| usize::try_from(number.checked_sub(first)?).ok());
        let from = places.filter(|place| *place < calls).min()?;
        (!must_deliver(before)).then(|| (answer.clone(), from))
    }

    /// The place of the first call of the last turn among all calls, counted from 1.
    pub fn first_number(&self) -> u32 {
        first_number(&self.entries)
    }
}

/// The place of the first call of the last turn among all calls, counted from 1.
fn first_number(entries: &[Entry]) -> u32 {
    let turns = entries.iter().filter_map(|entry| match entry {
        Entry::Answered { answer } => Some(steps::calls(&answer.message).len()),
        Entry::Asked { .. }
        | Entry::Said { .. }
        | Entry::Notice { .. }
        | Entry::Results { .. }
        | Entry::Parked { .. }
        | Entry::Window { .. }
        | Entry::Overflowed { .. }
        | Entry::Trimmed { .. }
        | Entry::Compacting { .. }
        | Entry::Compacted { .. }
        | Entry::PrefixBroken { .. }
        | Entry::Begins { .. }
        | Entry::Judging { .. }
        | Entry::Judged { .. }
        | Entry::Delivered { .. } => None,
    });
    let (all, last) = turns.fold((0_usize, 0_usize), |(all, _), calls| (all.saturating_add(calls), calls));
    u32::try_from(all.saturating_sub(last).saturating_add(1)).unwrap_or(u32::MAX)
}

/// A turn of the model behind which nothing stands but looks at its calls, and a wait.
struct Turn<'a> {
    before: &'a [Entry],
    answer: &'a ModelAnswer,
    /// The call that was being looked at: it and what comes after it has not begun.
    looked_at: Option<u32>,
    /// The last call that is known to have begun since the turn was gone on with.
    begun: Option<u32>,
    /// Whether the attempt left in order then.
    parked: bool,
}

fn open_turn(entries: &[Entry]) -> Option<Turn<'_>> {
    let beside = |entry: &Entry| {
        matches!(entry, Entry::Judging { .. } | Entry::Judged { .. } | Entry::Parked { .. } | Entry::Begins { .. })
    };
    let at = entries.iter().rposition(|entry| !beside(entry))?;
    let Entry::Answered { answer } = entries.get(at)? else { return None };
    let since = entries.get(at..)?;
    let looks = since.iter().rfind(|entry| !matches!(entry, Entry::Parked { .. }));
    let looked_at = if let Some(Entry::Judging { call, .. }) = looks { Some(*call) } else { None };
    let begun =
        since.iter().rev().find_map(|entry| if let Entry::Begins { call } = entry { Some(*call) } else { None });
    let parked = matches!(entries.last(), Some(Entry::Parked { .. }));
    Some(Turn { before: entries.get(..at)?, answer, looked_at, begun, parked })
}

/// What the calls of an interrupted turn came to.
pub fn interrupted(calls: &[Asked<'_>], first: u32, not_begun: Option<u32>) -> Vec<CallResult> {
    let begun = |number| not_begun.is_none_or(|from| number < from);
    (first..)
        .zip(calls)
        .map(|(number, call)| match begun(number) {
            true => steps::not_done(call, CallOutcome::Unknown, "interrupted", UNKNOWN),
            false => steps::not_done(call, CallOutcome::Refusal, "not_begun", NOT_BEGUN),
        })
        .collect()
}

/// The entries from the last one on that is such; all of them when none is.
pub fn since(entries: &[Entry], is_such: impl Fn(&Entry) -> bool) -> &[Entry] {
    let from = entries.iter().rposition(is_such).unwrap_or(0);
    entries.get(from..).unwrap_or_default()
}

/// What the calls came to of a turn that was left before they had results.
fn left_open(entries: &[Entry]) -> Option<Vec<CallResult>> {
    let Turn { before, answer, looked_at, begun, parked } = open_turn(entries)?;
    let calls = steps::calls(&answer.message);
    if calls.is_empty() {
        return None;
    }
    if let Some(refused) = deliver::left(&calls, before) {
        return Some(refused);
    }
    // What is gone on with begins call by call.
    let not_begun = looked_at.or_else(|| begun.map(|begun| begun.saturating_add(1)));
    let mut results = interrupted(&calls, first_number(entries), not_begun);
    let first = results.iter_mut().find(|result| result.outcome == CallOutcome::Refusal);
    if let Some(result) = first.filter(|_| parked) {
        result.code = Some("safety_unavailable".to_owned());
        NOT_CHECKED.clone_into(&mut result.text);
    }
    Some(results)
}

/// The entry with which a conversation that was left like this goes on. There is one wherever a request may be under way: the next
/// request is another one then.
fn mended(entries: &[Entry]) -> Option<Entry> {
    let notice = |text: &str| Some(Entry::Notice { text: text.to_owned() });
    if let Some(Turn { answer, .. }) = open_turn(entries) {
        let calls = steps::calls(&answer.message);
        if deliver::is_alone(&calls) {
            // It is done what the answer asks for.
            return None;
        }
        if let Some(results) = left_open(entries) {
            return Some(Entry::Results { results });
        }
    }
    match entries.last()? {
        Entry::Results { .. } if deliver::is_taken(entries) => None,
        // It left in order within a turn.
        Entry::Results { .. } if matches!(entries, [.., Entry::Parked { .. }, _]) => notice(GOES_ON),
        Entry::Answered { answer } if answer.stop == StopReason::Paused => notice(INTERRUPTED),
        // It is done what the answer asks for.
        Entry::Answered { .. } => None,
        // It is waited on, and nothing was asked.
        Entry::Notice { text } if text == HELD => None,
        Entry::Asked { .. }
        | Entry::Said { .. }
        | Entry::Notice { .. }
        | Entry::Results { .. }
        | Entry::Window { .. }
        | Entry::Overflowed { .. }
        | Entry::Trimmed { .. }
        | Entry::Compacting { .. }
        | Entry::Compacted { .. }
        | Entry::PrefixBroken { .. }
        | Entry::Begins { .. }
        | Entry::Judging { .. }
        | Entry::Judged { .. } => notice(INTERRUPTED),
        Entry::Delivered { author: Author::Host, .. } => notice(AGAIN),
        Entry::Parked { .. } => notice(GOES_ON),
        Entry::Delivered { author: Author::Model | Author::ModelAtLimit | Author::ModelInCircles, .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::testing::{answered, asked, call, delivers, results};
    use ouroboros_proto::agent::{Judgement, Part};

    #[test]
    fn every_call_of_an_interrupted_turn_is_told_to_be_unknown() {
        let entries = [asked(), answered("I look.", &[call("a", "{}"), call("b", "{}")])];
        let Some(Entry::Results { results }) = mended(&entries) else { panic!("no results") };
        let told: Vec<_> = results.iter().map(|result| (result.call.as_str(), result.outcome)).collect();
        assert_eq!(told, [("a", CallOutcome::Unknown), ("b", CallOutcome::Unknown)]);
    }

    #[test]
    fn a_call_that_was_being_looked_at_had_not_begun() {
        let judging = |call| Entry::Judging { call, digest: String::new() };
        let safe = Judgement::Safe { reason: String::new() };
        let judged = Entry::Judged { call: 2, judgement: safe, route: None, cost: None };
        let parked = Entry::Parked { detail: String::new() };
        let turn = [asked(), answered("", &[call("a", "{}"), call("b", "{}"), call("c", "{}")])];
        let told = |more: &[Entry]| {
            let Some(Entry::Results { results }) = mended(&[&turn[..], more].concat()) else { panic!("no results") };
            results.iter().map(|result| result.outcome).collect::<Vec<_>>()
        };
        let (unknown, refusal) = (CallOutcome::Unknown, CallOutcome::Refusal);
        assert_eq!(told(&[judging(2)]), [unknown, refusal, refusal]);
        assert_eq!(told(&[judging(2), parked.clone()]), [unknown, refusal, refusal]);
        let Some(Entry::Results { results }) = mended(&[&turn[..], &[judging(2), parked]].concat()) else { panic!() };
        let codes: Vec<_> = results.iter().filter_map(|result| result.code.as_deref()).collect();
        assert_eq!(codes, ["interrupted", "safety_unavailable", "not_begun"]);
        assert_eq!(told(&[judging(2), judged]), [unknown, unknown, unknown], "from then on it may have begun");
        let entries = [&turn[..], &[judging(2), Entry::Parked { detail: String::new() }]].concat();
        let done = steps::not_done(&Asked { id: "a", name: "look", arguments: "{}" }, CallOutcome::Ok, "", "seen");
        let transcript = Transcript { entries, inherited: 0, broken: false, taken_up: false };
        let outcomes: Vec<_> = transcript.left(vec![done]).unwrap().iter().map(|result| result.outcome).collect();
        assert_eq!(outcomes, [CallOutcome::Ok, refusal, refusal], "who leaves in order knows what was done");
    }

    #[test]
    fn a_call_whose_answer_nobody_heard_waits_to_be_done() {
        let turn = |calls: &[Part]| answered("", calls);
        let two = [call("a", "{}"), call("b", "{}")];
        let entries = vec![asked(), turn(&two), results(&["a", "b"]), turn(&two)];
        let transcript =
            |entries: &[Entry]| Transcript { entries: entries.to_vec(), inherited: 0, broken: false, taken_up: false };
        let from = |unheard: &[u32]| transcript(&entries).waiting(unheard).map(|(_, from)| from);
        assert_eq!((from(&[]), from(&[2]), from(&[4]), from(&[1, 3, 4])), (None, None, Some(1), Some(0)));
        let over = [&entries[..], &[results(&["a", "b"])]].concat();
        assert!(transcript(&over).waiting(&[3]).is_none(), "it has its results");
        let begun = [&entries[..], &[Entry::Begins { call: 3 }]].concat();
        let from = |unheard: &[u32]| transcript(&begun).waiting(unheard).map(|(_, from)| from);
        assert_eq!((from(&[3]), from(&[3, 4])), (None, Some(1)), "what has begun since is not done again");
        let Some(Entry::Results { results }) = mended(&begun) else { panic!("no results") };
        let told: Vec<_> = results.iter().map(|result| result.outcome).collect();
        assert_eq!(told, [CallOutcome::Unknown, CallOutcome::Refusal], "what comes after it has not");
        let last = Entry::Notice { text: crate::agent::LAST_ROUND.to_owned() };
        assert!(transcript(&[asked(), last, turn(&two)]).waiting(&[1]).is_none(), "no call was to be done");
    }

    #[test]
    fn a_call_that_was_not_to_be_done_is_told_to_be_refused() {
        let notice = |text: &str| Entry::Notice { text: text.to_owned() };
        // An interruption between the two adds words and changes nothing.
        for between in [None, Some(notice(INTERRUPTED))] {
            let mut entries = vec![asked(), notice(crate::agent::LAST_ROUND)];
            entries.extend(between);
            entries.push(answered("", &[call("a", "{}")]));
            let Some(Entry::Results { results }) = mended(&entries) else { panic!("no results") };
            assert_eq!(results[0].outcome, CallOutcome::Refusal);
        }
    }

    #[test]
    fn a_call_that_delivers_is_left_to_who_takes_it_up() {
        let call = [delivers("a", r#"{"text":"done","objective":"met"}"#)];
        let mut entries = vec![asked(), answered("", &call)];
        assert_eq!(mended(&entries), None);
        entries.push(results(&["a"]));
        assert_eq!(mended(&entries), None, "it was taken");
        if let Some(Entry::Results { results }) = entries.last_mut() {
            results[0].outcome = CallOutcome::Refusal;
        }
        assert!(matches!(mended(&entries), Some(Entry::Notice { .. })));
    }

    #[test]
    fn calls_are_numbered_over_all_turns() {
        let turn = |calls: &[Part]| answered("", calls);
        let two = [call("a", "{}"), call("b", "{}")];
        let entries = vec![asked(), turn(&two), results(&["a", "b"]), turn(&two[..1])];
        let number = |entries: &[Entry]| {
            Transcript { entries: entries.to_vec(), inherited: 0, broken: false, taken_up: false }.first_number()
        };
        assert_eq!((number(&entries[..1]), number(&entries[..2]), number(&entries)), (1, 1, 3));
    }

    #[test]
    fn what_was_asked_is_never_asked_again_as_it_was() {
        let told = answered("I look.", &[call("a", "{}")]);
        let mut paused = answered("", &[]);
        if let Entry::Answered { answer } = &mut paused {
            answer.stop = StopReason::Paused;
        }
        let parked = Entry::Parked { detail: String::new() };
        for entries in
            [vec![asked()], vec![asked(), told, results(&["a"])], vec![asked(), parked], vec![asked(), paused]]
        {
            assert!(matches!(mended(&entries), Some(Entry::Notice { .. })), "{entries:?}");
        }
        let host = Entry::Delivered { text: String::new(), author: Author::Host, objective: None };
        assert!(matches!(mended(&[asked(), host]), Some(Entry::Notice { .. })));
    }

    #[test]
    fn what_is_over_or_about_to_be_is_left_as_it_is() {
        let over = Entry::Delivered { text: "done".to_owned(), author: Author::Model, objective: None };
        for last in [over.clone(), answered("done", &[])] {
            assert_eq!(mended(&[asked(), last]), None);
        }
        let transcript = Transcript { entries: vec![asked(), over], inherited: 0, broken: false, taken_up: false };
        assert_eq!(transcript.delivered(), Some("done"));
        assert!(Transcript::load("", 0).expect("nothing to read").entries().is_empty());
        let held = Entry::Notice { text: HELD.to_owned() };
        assert_eq!(mended(&[asked(), held]), None, "it waits for a message, and goes on waiting");
    }

    #[test]
    fn what_another_task_did_counts_for_nothing_but_the_conversation() {
        let over = Entry::Delivered { text: "done".to_owned(), author: Author::Model, objective: None };
        let said = |number| Entry::Said { number, text: "and this".to_owned() };
        let theirs =
            vec![asked(), said(4), answered("", &[call("a", "{}")]), results(&["a"]), answered("done", &[]), over];
        let inherited = theirs.len();
        let mut transcript = Transcript { entries: theirs, inherited, broken: false, taken_up: false };
        assert!(!transcript.is_begun() && transcript.last_said() == 0);
        transcript.entries.extend([asked(), answered("", &[call("b", "{}")]), said(1)]);
        assert!(transcript.is_begun() && transcript.delivered().is_none());
        assert_eq!((transcript.rounds(), transcript.last_said(), transcript.current().len()), (1, 1, 3));
    }
}
