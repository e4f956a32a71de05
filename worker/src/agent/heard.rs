//! What is said to the task while it works, and turns that are stopped.
//!
//! A message is taken between two turns, in the order of its number. Nothing is delivered while one waits; see
//! [`Agent::deliver`](super::Agent::deliver). A turn that was stopped to say something is waited on until something is said: the notice
//! of it is the last entry, so a later attempt waits on.

use super::Agent;
use ouroboros_proto::agent::Entry;

/// Said when somebody stopped a turn.
const STOPPED: &str = "[ouroboros] The person stopped this turn here. What was under way was called off, and may be done in part. Look at where things stand, and go on.";
/// Said when somebody stopped a turn to say something.
pub const HELD: &str = "[ouroboros] The person stopped this turn here, to say something. What was under way was called off, and may be done in part.";
/// Said when nothing was said after that.
const LET_GO: &str = "[ouroboros] Nothing was said. Go on.";

impl Agent<'_, '_> {
    /// Stops where somebody wants it; whether a message was waited for then, so that everything is to be looked at once more.
    pub fn waited(&mut self) -> bool {
        match self.line.interrupted() {
            Some(true) => self.note(HELD.to_owned()),
            Some(false) => {
                self.speech.say("this turn was stopped; it goes on with the next one");
                self.note(STOPPED.to_owned());
            }
            None => {}
        }
        if !self.transcript.is_held() || self.transcript.is_broken() {
            return false;
        }
        self.speech.say("this turn was stopped; it waits for a message");
        self.line.hold(self.speech);
        if self.line.message().is_some() {
            self.hear();
        } else if self.line.ended().is_none() {
            self.speech.say("it goes on");
            self.note(LET_GO.to_owned());
        }
        true
    }

    /// Takes what was said meanwhile into the conversation.
    pub fn hear(&mut self) {
        while let Some((number, text)) = self.line.message()
            && !self.transcript.is_broken()
        {
            self.transcript.record(Entry::Said { number, text }, self.line, self.speech);
            self.line.heard(number);
            self.speech.say(&format!("it was told message {number}"));
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::deliver::Delivery;
    use super::super::steps::Steps;
    use super::super::testing::{answered, asked};
    use super::super::transcript::Transcript;
    use super::*;
    use crate::agent::Context;
    use crate::command::Tools;
    use crate::link::{Mailbox, Orders, Reporter};
    use crate::model::{Line, Speech};
    use ouroboros_process::Spawner;
    use ouroboros_proto::agent::{Author, Job, Mode};
    use ouroboros_proto::kind::{AttemptId, Ending, Generation, TaskId};
    use ouroboros_proto::wire::{AgentWork, Order, ToWorker};
    use std::os::unix::net::UnixStream;
    use std::sync::Arc;

    /// An agent that has these entries, to whom the server says this before it says that everything is recorded.
    pub(in crate::agent) fn with<T>(
        entries: Vec<Entry>,
        said: Vec<Order>,
        act: impl FnOnce(&mut Agent<'_, '_>) -> T,
    ) -> (T, Vec<Entry>, bool) {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name).display().to_string();
        std::fs::create_dir(dir.path().join("folder")).unwrap();
        let lines: String = entries.iter().map(|entry| serde_json::to_string(entry).unwrap() + "\n").collect();
        std::fs::write(dir.path().join("transcript"), lines).unwrap();
        let work = AgentWork {
            job: Vec::new(),
            session: String::new(),
            folder: path("folder"),
            transcript: path("transcript"),
            versions: path("versions"),
            fenced: Vec::new(),
            timeout: None,
            output_limit: 1 << 10,
            output_base: path("out"),
            scratch: path("scratch"),
            instructions: String::new(),
            may_lack_confinement: true,
            private_origins: Vec::new(),
            skills: Vec::new(),
            rules: Vec::new(),
            inherited: 0,
            messages: Vec::new(),
            facts: Vec::new(),
            unheard: Vec::new(),
        };
        let (attempt, generation) = (AttemptId::from_bytes([1; 16]), Generation::new(1));
        let mailbox = Mailbox::new(generation).unwrap();
        let begins = Order::Agent { task: TaskId::from_bytes([2; 16]), work: Box::new(work.clone()) };
        let first = [begins].into_iter().chain(said).chain([Order::Acknowledge { sequence: 9 }]);
        first.for_each(|order| mailbox.put(ToWorker { attempt, generation, order }));
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let mut speech = Speech::new(&path("out"), 1 << 10);
        let mut line = Line::new(&mailbox, Reporter::new(Arc::new(ours), attempt, generation), Orders::default(), None);
        // What came with the work is taken first.
        assert!(line.message().is_none());
        let job = Job {
            prompt: "do it".to_owned(),
            route: None,
            effort: None,
            max_rounds: 9,
            mode: Mode::default(),
            path: None,
            output_schema: None,
            replay: false,
            images: Vec::new(),
        };
        let tools = Tools::ready(Spawner::start().unwrap()).unwrap();
        let steps = Steps::ready(&work, &job, &tools, attempt).unwrap();
        let mut agent = Agent {
            job,
            session: String::new(),
            specs: Vec::new(),
            schema: None,
            context: Context::new(&work, &entries),
            steps: &steps,
            transcript: Transcript::load(&work.transcript, 0).unwrap(),
            line: &mut line,
            speech: &mut speech,
            unheard: Vec::new(),
            odd: 0,
            lost: 0,
        };
        let done = act(&mut agent);
        let entries = agent.transcript.entries().to_vec();
        (done, entries, speech.has_written())
    }

    fn done() -> Delivery {
        Delivery { text: "done".to_owned(), objective: None }
    }

    fn message(number: u32) -> Order {
        Order::Message { number, text: "More.".to_owned() }
    }

    #[test]
    fn nothing_is_delivered_past_a_message() {
        let before = vec![asked(), answered("done", &[])];
        let (ending, entries, written) = with(before.clone(), Vec::new(), |agent| agent.deliver(done(), Author::Model));
        assert!(ending == Some(Ending::Answered) && written && entries.len() == 3, "{entries:?}");
        let (ending, entries, written) =
            with(before.clone(), vec![message(1)], |agent| agent.deliver(done(), Author::Model));
        assert!(ending.is_none() && !written && entries.len() == 2, "{entries:?}");
        let (_, entries, _) = with(before, vec![message(2), message(1), message(1)], |agent| agent.hear());
        let said: Vec<u32> = entries
            .iter()
            .filter_map(|entry| if let Entry::Said { number, .. } = entry { Some(*number) } else { None })
            .collect();
        assert_eq!(said, [1, 2], "each once, in their order");
    }

    #[test]
    fn a_message_that_came_while_the_delivery_was_recorded_is_heard_by_the_next_attempt_too() {
        let over = Entry::Delivered { text: "done".to_owned(), author: Author::Model, objective: None };
        let entries = vec![asked(), answered("done", &[]), over];
        let (ending, recorded, _) = with(entries.clone(), Vec::new(), |agent| agent.ended_before());
        assert_eq!((ending, recorded.len()), (Some(Ending::Answered), 4), "its end is recorded once more");
        let (ending, ..) = with(entries, vec![message(1)], |agent| agent.ended_before());
        assert_eq!(ending, None);
    }

    #[test]
    fn who_is_held_waits_for_words_and_goes_on_without_them_when_let_go() {
        let before = || vec![asked()];
        let hold = |hold| Order::Interrupt { hold };
        let (waited, entries, _) = with(before(), vec![hold(false)], |agent| agent.waited());
        assert!(!waited && matches!(entries.last(), Some(Entry::Notice { text }) if text == STOPPED));
        let (waited, entries, _) = with(before(), vec![hold(true), message(1)], |agent| agent.waited());
        assert!(waited && matches!(entries.last(), Some(Entry::Said { number: 1, .. })), "{entries:?}");
        let held = vec![asked(), Entry::Notice { text: HELD.to_owned() }];
        let (waited, entries, _) = with(held.clone(), vec![message(1)], |agent| agent.waited());
        assert!(waited && entries.len() == 3, "a later attempt waits on: {entries:?}");
        let (waited, entries, _) = with(held.clone(), vec![hold(false)], |agent| agent.waited());
        assert!(!waited && entries.len() == 3 && matches!(&entries[2], Entry::Notice { text } if text == STOPPED));
        let (_, entries, _) =
            with(held, vec![Order::Stop { grace: ouroboros_proto::kind::Millis::ZERO }], |agent| agent.waited());
        assert_eq!(entries.len(), 2, "an attempt that ends says nothing");
    }
}
