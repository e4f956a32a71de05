//! A task in words: a model is asked, its calls of tools are done, their results are told to it, until it delivers.
//!
//! | module | what it is for |
//! | --- | --- |
//! | [`transcript`] | what was done and heard; the work goes on from it after any interruption |
//! | [`conversation`] | the request that follows from the transcript |
//! | [`context`] | what of it is shown, so that it fits |
//! | [`given`] | images that go with what is wanted |
//! | [`guidance`] | what the folder says to those who work in it |
//! | [`policy`] | what may be done, and who decides |
//! | [`programs`] | programs that tools run, under custody |
//! | [`replay`] | recorded answers, gone through again without a model |
//! | [`skills`] | folders that say how some kind of work is done |
//! | [`deliver`] | the end of the work by a call, or in words |
//! | [`heard`] | what is said to the task while it works, and turns that are stopped |
//! | [`steps`], [`desk`] | calls of tools: done, and told in words; what they work with |
//! | [`owner`] | questions to the owner |
//! | [`watch`], [`endless`] | rounds that lead nowhere, and answers that do not end |
//!
//! Invariants: the model's turn is durable before a call of it acts; every call has exactly one result before the model is asked
//! again; what is delivered is on record before it is written. A call that an interruption met is told to be unknown, never repeated;
//! one that still waited for the owner then is done by who goes on, once.
//! Only what stands behind the last entry that says what is wanted counts as work: before it may stand another task's.

mod context;
mod conversation;
mod deliver;
mod desk;
mod endless;
mod given;
mod guidance;
mod heard;
mod owner;
mod policy;
mod programs;
mod replay;
mod skills;
mod steps;
#[cfg(test)]
mod testing;
mod transcript;
mod watch;

use crate::command::Tools;
use crate::link::{Mailbox, Orders, Reporter};
use crate::model::{self, Bounds, Line, Speech};
use context::Context;
use deliver::Delivery;
use endless::Hearing;
use ouroboros_proto::agent::{Author, Entry, Job, ModelAnswer, ModelEnd, Parked, StopReason, ToolSpec};
use ouroboros_proto::kind::{AttemptId, Ending, ModelFailure};
use ouroboros_proto::wire::AgentWork;
use ouroboros_schema::Schema;
use std::collections::BTreeMap;
use std::path::Path;
use steps::Steps;
use transcript::Transcript;
use watch::{Verdict, Watch};

/// Said when the rounds are used up.
const LAST_ROUND: &str =
    "[ouroboros] No rounds are left. Deliver now: say what you found and did, and what is not done.";
/// Said when it did the same too often.
const IN_CIRCLES: &str = "[ouroboros] You go in circles: no further call is done. Deliver now: say what you found and did, and what is not done.";
/// What a call comes to that is made all the same.
const MUST_DELIVER: &str = "Not done: no further call is done, deliver what you have.";
/// Said when an answer was lost.
const LOST: &str = "[ouroboros] Your last answer was lost on its way here. Go on.";
/// Answers in a row that are lost, after which it is given up: each may have cost.
const MOST_LOST: u32 = 2;
/// Said when an answer is cut.
const CUT: &str = "[ouroboros] Your answer was cut: it reached the most tokens an answer may have. Go on where it stopped, in smaller steps.";
/// Said when an answer is empty.
const EMPTY: &str = "[ouroboros] Your answer was empty. Call a tool, or deliver what you have.";
/// Said when an answer repeated itself without end.
const REPEATED: &str =
    "[ouroboros] Your last answer repeated itself without end and was stopped. Go on in another way. It began: ";
/// Answers in a row that are cut or empty, after which it is given up.
const MOST_ODD: u32 = 3;

/// Works, and reports the end. `orders` is what arrived together with the work.
pub fn run(tools: &Tools, mailbox: &Mailbox, reporter: Reporter, attempt: AttemptId, work: &AgentWork, orders: Orders) {
    let AgentWork { timeout, output_limit, output_base, .. } = work;
    let bounds = Bounds { output_base, output_limit: *output_limit, timeout: *timeout };
    model::attempt(mailbox, reporter, orders, &bounds, |line, speech| {
        let job: Job = match serde_json::from_slice(&work.job) {
            Ok(job) => job,
            Err(error) => return unusable(speech, &format!("the task cannot be read: {error}")),
        };
        let steps = match Steps::ready(work, &job, tools, attempt) {
            Ok(steps) => steps,
            Err(error) => {
                speech.say(&format!("the folder {} cannot be worked in: {error}", work.folder));
                return Ending::BadDirectory { errno: error.raw_os_error().unwrap_or(0) };
            }
        };
        let ending = begin(work, job, &steps, line, speech);
        steps.close(mailbox);
        ending
    });
}

fn begin(work: &AgentWork, job: Job, steps: &Steps<'_>, line: &mut Line<'_>, speech: &mut Speech) -> Ending {
    let schema = match job.output_schema.as_ref().map(Schema::read).transpose() {
        Ok(schema) => schema,
        Err(error) => {
            return unusable(speech, &format!("the schema of what is to be delivered cannot be used: {error}"));
        }
    };
    line.learn(&work.rules);
    let mut transcript = match Transcript::load(&work.transcript, work.inherited) {
        Ok(transcript) => transcript,
        Err(error) => return unusable(speech, &format!("what was done before cannot be read: {error}")),
    };
    if job.replay {
        line.answer_as(BTreeMap::new());
    }
    if transcript.is_begun() {
        if let Err(ending) = transcript.mend(&work.unheard, line, speech) {
            return ending;
        }
    } else {
        let guidance = guidance::of(Path::new(&work.folder), Path::new(&work.instructions));
        let wanted = schema.as_ref().map(|_| deliver::WANTED.to_owned());
        let guidance: Vec<String> = guidance.into_iter().chain(steps.skills()).chain(wanted).collect();
        let guidance = (!guidance.is_empty() && !job.replay).then(|| guidance.join("\n\n"));
        if !job.images.is_empty() && !steps.takes_images() {
            return unusable(speech, "there are images with it, and its route takes none; nothing was asked");
        }
        let images = match given::fitted(&job.images) {
            Ok(images) => images,
            Err(why) => return unusable(speech, &why),
        };
        transcript.begin(Entry::Asked { text: job.prompt.clone(), guidance, images }, line, speech);
    }
    line.remember(&work.messages);
    let context = Context::new(work, transcript.entries());
    let own = Context::specs().into_iter().chain([deliver::spec(schema.as_ref())]);
    let specs = steps.specs().iter().cloned().chain(own).collect();
    let (session, unheard) = (work.session.clone(), work.unheard.clone());
    let replay = job.replay;
    let agent =
        Agent { job, session, steps, specs, schema, context, transcript, line, speech, unheard, odd: 0, lost: 0 };
    if replay { agent.replay() } else { agent.work() }
}

fn unusable(speech: &mut Speech, words: &str) -> Ending {
    speech.say(words);
    Ending::ModelFailed { failure: ModelFailure::Invalid }
}

struct Agent<'a, 'b> {
    job: Job,
    /// What belongs together for providers that keep caches by a name.
    session: String,
    steps: &'a Steps<'a>,
    /// All tools as the model is told of them.
    specs: Vec<ToolSpec>,
    /// What is delivered must satisfy it.
    schema: Option<Schema>,
    context: Context,
    transcript: Transcript,
    line: &'a mut Line<'b>,
    speech: &'a mut Speech,
    /// Requests to the owner that no attempt has heard the end of.
    unheard: Vec<u32>,
    /// Answers in a row that were cut, empty or paused.
    odd: u32,
    /// Answers in a row of which it is not known what came of them.
    lost: u32,
}

impl Agent<'_, '_> {
    fn work(mut self) -> Ending {
        self.line.heard(self.transcript.last_said());
        if let Some(ending) = self.ended_before() {
            return ending;
        }
        if let Some(ending) = self.take_up() {
            return ending;
        }
        loop {
            if self.transcript.is_broken() {
                return Ending::ModelFailed { failure: ModelFailure::TooLarge };
            }
            if let Some(why) = self.line.ended() {
                return why;
            }
            if self.waited() {
                continue;
            }
            self.hear();
            self.pace();
            let may_call = self.may_call();
            let answer = match self.ask(may_call) {
                Ok(Some(answer)) => answer,
                Ok(None) => continue,
                Err(ending) => return ending,
            };
            self.transcript.record(Entry::Answered { answer: answer.clone() }, self.line, self.speech);
            if self.transcript.is_broken() {
                continue;
            }
            if let Some(ending) = self.answered(&answer, may_call) {
                return ending;
            }
        }
    }

    /// The end, when the attempt before ended between record and report and nothing was said since. It is recorded once more: from then on
    /// nothing is accepted that this attempt would not hear.
    fn ended_before(&mut self) -> Option<Ending> {
        let Some(Entry::Delivered { text, author, objective }) = self.transcript.entries().last() else { return None };
        let (delivery, author) = (Delivery { text: text.clone(), objective: *objective }, *author);
        self.transcript.delivered()?;
        self.deliver(delivery, author)
    }

    /// Whether the next answer may call tools. Where it may not, the model is told so once.
    fn may_call(&mut self) -> bool {
        if must_deliver(self.transcript.entries()) {
            return false;
        }
        let left = self.job.max_rounds.saturating_sub(self.transcript.rounds());
        match Watch::over(self.transcript.entries()).verdict() {
            Verdict::Stop => self.must_deliver(IN_CIRCLES),
            _ if left <= 1 => self.must_deliver(LAST_ROUND),
            Verdict::Warn(words) => {
                self.note(words);
                return true;
            }
            Verdict::Fine => return true,
        }
        false
    }

    /// Does what an answer asks for that ends the work, when the attempt before ended between the two.
    fn take_up(&mut self) -> Option<Ending> {
        if deliver::is_taken(self.transcript.entries()) {
            return self.take_up_delivery();
        }
        if let Some((answer, from)) = self.transcript.waiting(&self.unheard) {
            return self.take_up_from(&answer, from).err();
        }
        let (Entry::Answered { answer }, before) = self.transcript.entries().split_last()? else { return None };
        let may_call = !must_deliver(before);
        let answer = answer.clone();
        self.answered(&answer, may_call)
    }

    /// Does the calls of an interrupted turn from the one on that waited for the owner: none of these has begun.
    fn take_up_from(&mut self, answer: &ModelAnswer, from: usize) -> Result<(), Ending> {
        let calls = steps::calls(&answer.message);
        let (before, rest) = calls.split_at(from.min(calls.len()));
        let first = self.transcript.first_number();
        let mut results = transcript::interrupted(before, first, None);
        owner::ask_again(before, &mut results, first, self.line, self.speech)?;
        self.transcript.take_up();
        let results = self.take_after(results, rest, &[])?;
        self.transcript.record(Entry::Results { results }, self.line, self.speech);
        self.publish();
        Ok(())
    }

    /// Asks the model; `None` when the answer was lost. The error is how the attempt ends instead.
    fn ask(&mut self, may_call: bool) -> Result<Option<Box<ModelAnswer>>, Ending> {
        let request = self.fitting(may_call)?;
        let mut hearing = Hearing::default();
        let (why, end) = self.line.call(request, self.speech, &mut |speech, json| hearing.take(speech, json));
        if let Some(began) = hearing.endless().filter(|_| why.is_none()) {
            return self.endless(&began);
        }
        let Some(end) = end else { return why.map_or(Ok(None), Err) };
        match serde_json::from_slice(&end) {
            Ok(ModelEnd::Answer(answer)) => {
                self.lost = 0;
                self.heard(&answer);
                Ok(Some(answer))
            }
            Ok(ModelEnd::Failed { failure, detail, window, route }) => match why {
                // Who ends it knows.
                Some(why) => Err(why),
                // Who stopped the turn wants no answer to it.
                None if self.line.is_interrupted() => Ok(None),
                None if failure == ModelFailure::ContextOverflow => {
                    self.overflowed(route, window, &detail, may_call).map(|()| None)
                }
                None => self.failed(failure, &detail),
            },
            Ok(ModelEnd::Parked { park: Parked::Paused { .. } | Parked::Waiting { .. }, detail }) => {
                self.transcript.record(Entry::Parked { detail }, self.line, self.speech);
                Err(Ending::Parked)
            }
            Err(error) => Err(unusable(self.speech, &format!("the end of the call cannot be read: {error}"))),
        }
    }

    /// There is no answer, and asking the same again would not change that. What was lost on its way is asked for with another request.
    fn failed(&mut self, failure: ModelFailure, detail: &str) -> Result<Option<Box<ModelAnswer>>, Ending> {
        self.speech.say(detail);
        self.lost = self.lost.saturating_add(1);
        if failure == ModelFailure::Unknown && self.lost <= MOST_LOST {
            self.speech.say("it goes on with another request");
            self.note(LOST.to_owned());
            return Ok(None);
        }
        self.salvage();
        Err(Ending::ModelFailed { failure })
    }

    /// An answer that said the same again and again was called off.
    fn endless(&mut self, began: &str) -> Result<Option<Box<ModelAnswer>>, Ending> {
        self.speech.say("its answer repeated itself without end and was called off");
        self.lost = self.lost.saturating_add(1);
        if self.lost > MOST_LOST {
            self.salvage();
            return Err(Ending::ModelFailed { failure: ModelFailure::NotDelivered });
        }
        self.note(format!("{REPEATED}{}", conversation::as_data(began)));
        Ok(None)
    }

    /// What follows from an answer; `None` when the work goes on.
    fn answered(&mut self, answer: &ModelAnswer, may_call: bool) -> Option<Ending> {
        let calls = steps::calls(&answer.message);
        let text = answer.message.text();
        if answer.stop == StopReason::Refusal {
            self.speech.retell(text.trim());
            self.speech.say("the model declined");
            return Some(Ending::ModelFailed { failure: ModelFailure::Refused });
        }
        if !calls.is_empty() {
            if may_call {
                self.odd = 0;
            }
            if !text.trim().is_empty() {
                self.speech.retell(text.trim());
            }
            if let [call] = calls.as_slice()
                && deliver::is_alone(&calls)
            {
                return self.delivers(call, may_call);
            }
            let results = if may_call {
                match self.take(&calls) {
                    Ok(results) => results,
                    Err(ending) => return Some(ending),
                }
            } else {
                steps::refused(&calls, "must_deliver", MUST_DELIVER)
            };
            self.transcript.record(Entry::Results { results }, self.line, self.speech);
            self.publish();
            if may_call {
                return None;
            }
            return self.odd_at_end("it was told to deliver, and called tools instead");
        }
        match &answer.stop {
            StopReason::Paused => self.odd(None, "it paused", may_call),
            StopReason::Length => {
                self.odd(Some(CUT), "its answer was cut at the most tokens an answer may have", may_call)
            }
            StopReason::End
            | StopReason::StopText
            | StopReason::ToolCalls
            | StopReason::Filtered
            | StopReason::Refusal
            | StopReason::Other(_) => {
                if text.trim().is_empty() {
                    return self.odd(Some(EMPTY), "its answer was empty", may_call);
                }
                if answer.stop == StopReason::Filtered {
                    self.speech.say("the answer is cut: the provider's filter stopped it");
                }
                self.delivers_words(&text, may_call)
            }
        }
    }

    /// An answer that is none. `notice` is what the model is told, `words` what anybody else.
    fn odd(&mut self, notice: Option<&str>, words: &str, may_call: bool) -> Option<Ending> {
        self.odd = self.odd.saturating_add(1);
        self.speech.say(words);
        if self.odd >= MOST_ODD || !may_call {
            return Some(self.salvage());
        }
        if let Some(notice) = notice {
            self.note(notice.to_owned());
        }
        None
    }

    /// Whose words a delivery is that was told for.
    fn author_at_end(&self) -> Author {
        let circles = |entry: &Entry| matches!(entry, Entry::Notice { text } if text == IN_CIRCLES);
        let told = self.transcript.current().iter().rev().find(|entry| tells_to_deliver(entry));
        if told.is_some_and(circles) { Author::ModelInCircles } else { Author::ModelAtLimit }
    }

    /// Ends the work, unless somebody has said something that it has not heard, or wants to: then it goes on with that.
    fn deliver(&mut self, delivery: Delivery, author: Author) -> Option<Ending> {
        if self.line.message().is_some() || self.line.is_held() {
            return None;
        }
        self.last_words(delivery, author);
        // What was accepted before the delivery was recorded is here by now.
        (self.transcript.is_broken() || self.line.message().is_none()).then(|| self.over())
    }

    /// What is delivered becomes the output.
    fn over(&mut self) -> Ending {
        if let Some(text) = self.transcript.delivered() {
            self.speech.write(text);
        }
        Ending::Answered
    }

    /// Records what is delivered.
    fn last_words(&mut self, Delivery { text, objective }: Delivery, author: Author) {
        match author {
            Author::Model => {}
            Author::ModelAtLimit => self.speech.say("its rounds were used up: this is what it had by then"),
            Author::ModelInCircles => {
                self.speech.say("it went in circles and was stopped: this is what it had by then")
            }
            Author::Host => self.speech.say("it did not deliver: these are its last words"),
        }
        self.transcript.record(Entry::Delivered { text, author, objective }, self.line, self.speech);
        self.line.until_durable(self.speech);
    }

    /// The end without a delivery: what the model said last is kept, and it is no success.
    fn salvage(&mut self) -> Ending {
        let last = self.transcript.current().iter().rev().find_map(|entry| match entry {
            Entry::Answered { answer } => Some(answer.message.text()).filter(|text| !text.trim().is_empty()),
            Entry::Asked { .. }
            | Entry::Notice { .. }
            | Entry::Results { .. }
            | Entry::Said { .. }
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
            | Entry::Judged { .. } => None,
        });
        if let Some(text) = last {
            self.last_words(Delivery { text: text.clone(), objective: None }, Author::Host);
            self.speech.write(&text);
        }
        Ending::ModelFailed { failure: ModelFailure::NotDelivered }
    }

    fn note(&mut self, text: String) {
        self.transcript.record(Entry::Notice { text }, self.line, self.speech);
    }
}

/// Whether the answer to this conversation may call no tools: the model was told so since its last one.
fn must_deliver(entries: &[Entry]) -> bool {
    let over = |entry: &&Entry| matches!(entry, Entry::Answered { .. } | Entry::Asked { .. });
    let since = entries.iter().rev().take_while(|entry| !over(entry));
    since.into_iter().any(tells_to_deliver)
}

/// Whether the model is told here that no further call is done.
fn tells_to_deliver(entry: &Entry) -> bool {
    matches!(entry, Entry::Notice { text } if text == LAST_ROUND || text == IN_CIRCLES)
}
