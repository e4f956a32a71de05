//! Holding one call against the policy, and asking the owner where it says so.

use super::judge::Looks;
use super::look::{self, Look};
use super::subject::About;
use super::{Act, Verdict, decide};
use crate::model::{Line, Speech};
use ouroboros_proto::agent::{Confined, Coverage, Decided, Decider, Judgement, Mode, OwnerAnswer};
use ouroboros_proto::kind::Ending;
use ouroboros_tools::{Code, Outcome};
use std::cell::RefCell;

/// For one call.
pub struct Gate<'a> {
    mode: Mode,
    folder: &'a str,
    tool: &'a str,
    number: u32,
    judge: &'a dyn Looks,
    decided: RefCell<Option<Decided>>,
    confined: RefCell<Option<Confined>>,
    ended: RefCell<Option<Ending>>,
}

impl<'a> Gate<'a> {
    /// For a call of `tool`, the `number`-th of its task.
    pub fn new(mode: Mode, folder: &'a str, tool: &'a str, number: u32, judge: &'a dyn Looks) -> Self {
        Self {
            mode,
            folder,
            tool,
            number,
            judge,
            decided: RefCell::default(),
            confined: RefCell::default(),
            ended: RefCell::default(),
        }
    }

    /// Whether the act may be done. The error is what the call comes to instead; nothing was done.
    pub fn pass(&self, act: &Act<'_>, line: &mut Line<'_>, speech: &mut Speech) -> Result<(), Outcome> {
        let decided = match decide(self.mode, line.rules(), self.folder, self.tool, act) {
            Verdict::Decided(decided) => decided,
            Verdict::Ask { request, why } => {
                speech.say(&format!("? it asks its owner: {}", request.text()));
                match line.ask_owner(self.number, &request, speech) {
                    Ok(_) if line.is_cancelled(self.number) => return Err(Outcome::cancelled()),
                    Ok(answer) => answered(&answer, &why),
                    Err(ending) => {
                        self.ended.replace(Some(ending));
                        return Err(Outcome::cancelled());
                    }
                }
            }
        };
        let decided = self.looked_at(decided, act, false, line, speech)?;
        let refusal = refusal(&decided);
        self.decided.replace(Some(decided));
        if refusal.is_none() {
            self.judge.begins(self.number, line, speech);
        }
        refusal.map_or(Ok(()), Err)
    }

    /// The same for what turns out not to be held as it should be, before anything of it has run. The error is what the call comes to
    /// instead.
    pub fn lacks(&self, act: &Act<'_>, line: &mut Line<'_>, speech: &mut Speech) -> Result<(), Outcome> {
        let waved = Judgement::WavedThrough { coverage: Coverage::Light };
        let Some(decided) = self.decided().filter(|decided| decided.judged.as_ref() == Some(&waved)) else {
            return Ok(());
        };
        let decided = self.looked_at(decided, act, true, line, speech)?;
        // What is let run now must not be taken for something that was only looked at.
        line.until_durable(speech);
        let refusal = refusal(&decided);
        self.decided.replace(Some(decided));
        refusal.map_or(Ok(()), Err)
    }

    /// The decision after a second look, where there is to be one.
    fn looked_at(
        &self,
        decided: Decided,
        act: &Act<'_>,
        lacks: bool,
        line: &mut Line<'_>,
        speech: &mut Speech,
    ) -> Result<Decided, Outcome> {
        let coverage = self.judge.coverage();
        match look::wanted(coverage, &decided, act, lacks) {
            Look::Skip => Ok(decided),
            Look::Waved => Ok(Decided { judged: Some(Judgement::WavedThrough { coverage }), ..decided }),
            Look::Ask => {
                let about = About { mode: self.mode, folder: self.folder, tool: self.tool };
                match self.judge.ask(self.number, about, act, line, speech) {
                    Ok(judgement) => Ok(look::applied(self.mode, decided, judgement)),
                    Err(stopped) => {
                        self.ended.replace(stopped.ending());
                        Err(Outcome::cancelled())
                    }
                }
            }
        }
    }

    /// What the model is to be told beside the result.
    pub fn warning(&self) -> Option<String> {
        self.decided.borrow().as_ref().and_then(look::warning)
    }

    /// The place of the call among all calls of the task.
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// The mode of the task.
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// Notes what was in force for what ran.
    pub fn confined(&self, confined: Option<Confined>) {
        self.confined.replace(confined);
    }

    /// What was in force for what ran.
    pub fn confinement(&self) -> Option<Confined> {
        self.confined.borrow().clone()
    }

    /// What was decided, when something was.
    pub fn decided(&self) -> Option<Decided> {
        self.decided.borrow().clone()
    }

    /// Why the attempt ends while it waits for the owner, when it does.
    pub fn ended(&self) -> Option<Ending> {
        *self.ended.borrow()
    }
}

fn answered(answer: &OwnerAnswer, why: &str) -> Decided {
    let decided = |allowed, by, words: &str| Decided { allowed, by, rule: format!("{words} ({why})"), judged: None };
    match answer {
        OwnerAnswer::Once => decided(true, Decider::Owner, "the owner allowed it once"),
        OwnerAnswer::Task => decided(true, Decider::Owner, "the owner allowed it for this task"),
        OwnerAnswer::Always => decided(true, Decider::Owner, "the owner allowed it from now on"),
        OwnerAnswer::Deny { reason: Some(reason) } => {
            decided(false, Decider::Owner, &format!("the owner said no: {reason}"))
        }
        OwnerAnswer::Deny { reason: None } => decided(false, Decider::Owner, "the owner said no"),
        // Words are no permission.
        OwnerAnswer::Option { text, .. } | OwnerAnswer::Text { text } => {
            decided(false, Decider::Owner, &format!("the owner did not allow it, and said: {text}"))
        }
        OwnerAnswer::Expired => decided(false, Decider::Nobody, "nobody answered in time"),
        OwnerAnswer::Withdrawn => decided(false, Decider::Nobody, "the owner could not be asked"),
    }
}

fn refusal(decided: &Decided) -> Option<Outcome> {
    let (code, words) = match decided.by {
        _ if decided.allowed => return None,
        Decider::Safety => return Some(look::refusal(decided.judged.as_ref())),
        Decider::Nobody => (Code::NotAnswered, "It is not done, since the owner did not allow it"),
        Decider::Mode | Decider::Rule | Decider::Owner => (Code::NotAllowed, "It is not allowed"),
    };
    let rule = &decided.rule;
    Some(Outcome::not_ok(code, format!("{words}: {rule}. Nothing was done. Go on without it, or in another way.")))
}

#[cfg(test)]
mod tests {
    use super::super::judge::Stopped;
    use super::*;
    use crate::link::{Mailbox, Orders, Reporter};
    use ouroboros_proto::kind::{AttemptId, Generation};
    use std::os::unix::net::UnixStream;
    use std::sync::Arc;

    #[test]
    fn only_a_yes_of_the_owner_allows() {
        for (answer, allowed, by) in [
            (OwnerAnswer::Once, true, Decider::Owner),
            (OwnerAnswer::Task, true, Decider::Owner),
            (OwnerAnswer::Always, true, Decider::Owner),
            (OwnerAnswer::Deny { reason: Some("too risky".to_owned()) }, false, Decider::Owner),
            (OwnerAnswer::Text { text: "yes".to_owned() }, false, Decider::Owner),
            (OwnerAnswer::Expired, false, Decider::Nobody),
            (OwnerAnswer::Withdrawn, false, Decider::Nobody),
        ] {
            let decided = answered(&answer, "mode advanced: x");
            assert_eq!((decided.allowed, decided.by), (allowed, by), "{answer:?}");
            assert_eq!(refusal(&decided).is_none(), allowed);
            assert_eq!(answer.allows(), allowed, "{answer:?}");
        }
        let denied = answered(&OwnerAnswer::Deny { reason: Some("too risky".to_owned()) }, "mode");
        assert!(refusal(&denied).is_some_and(|outcome| outcome.text.contains("too risky")));
    }

    /// Finds everything dangerous, and counts.
    struct Strict(Coverage, std::cell::Cell<u32>);

    impl Looks for Strict {
        fn coverage(&self) -> Coverage {
            self.0
        }

        fn ask(
            &self,
            _: u32,
            _: About<'_>,
            _: &Act<'_>,
            _: &mut Line<'_>,
            _: &mut Speech,
        ) -> Result<Judgement, Stopped> {
            self.1.set(self.1.get() + 1);
            Ok(Judgement::Dangerous { reason: "no".to_owned() })
        }

        fn begins(&self, _: u32, _: &mut Line<'_>, _: &mut Speech) {}
    }

    #[test]
    fn what_turns_out_not_to_be_held_is_looked_at_once_and_before_it_runs() {
        let generation = Generation::new(1);
        let mailbox = Mailbox::new(generation).unwrap();
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let reporter = Reporter::new(Arc::new(ours), AttemptId::from_bytes([1; 16]), generation);
        let dir = tempfile::tempdir().unwrap();
        let mut speech = Speech::new(&dir.path().join("out").display().to_string(), 1 << 10);
        let mut line = Line::new(&mailbox, reporter, Orders::default(), None);
        let argv = ["true".to_owned()];
        let act = Act::Run { argv: &argv, cwd: "/f", network: false, unconfined: false, stdin: "" };
        for (coverage, at_first, later, asked) in [
            (Coverage::Light, None, Some(Code::SafetyViolation), 1),
            (Coverage::Off, None, None, 0),
            (Coverage::Full, Some(Code::SafetyViolation), None, 1),
        ] {
            let looks = Strict(coverage, std::cell::Cell::new(0));
            let gate = Gate::new(Mode::Advanced, "/f", "run_command", 1, &looks);
            let code = |passed: Result<(), Outcome>| passed.err().and_then(|outcome| outcome.code);
            assert_eq!(code(gate.pass(&act, &mut line, &mut speech)), at_first, "{coverage}");
            assert_eq!(code(gate.lacks(&act, &mut line, &mut speech)), later, "{coverage}");
            assert_eq!(looks.1.get(), asked, "{coverage}: one act is looked at once");
            let by = gate.decided().map(|decided| (decided.allowed, decided.by));
            let stopped = (false, Decider::Safety);
            assert_eq!(by, Some(if asked > 0 { stopped } else { (true, Decider::Mode) }));
        }
    }
}
