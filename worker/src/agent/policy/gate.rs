//! Holding one call against the policy, and asking the owner where it says so.

use super::{Act, Verdict, decide};
use crate::model::{Line, Speech};
use ouroboros_proto::agent::{Confined, Decided, Decider, Mode, OwnerAnswer};
use ouroboros_proto::kind::Ending;
use ouroboros_tools::{Code, Outcome};
use std::cell::RefCell;

/// For one call.
pub struct Gate<'a> {
    mode: Mode,
    folder: &'a str,
    tool: &'a str,
    number: u32,
    decided: RefCell<Option<Decided>>,
    confined: RefCell<Option<Confined>>,
    ended: RefCell<Option<Ending>>,
}

impl<'a> Gate<'a> {
    /// For a call of `tool`, the `number`-th of its task.
    pub fn new(mode: Mode, folder: &'a str, tool: &'a str, number: u32) -> Self {
        Self {
            mode,
            folder,
            tool,
            number,
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
                    Ok(answer) => answered(&answer, &why),
                    Err(ending) => {
                        self.ended.replace(Some(ending));
                        return Err(Outcome::cancelled());
                    }
                }
            }
        };
        let refusal = refusal(&decided);
        self.decided.replace(Some(decided));
        refusal.map_or(Ok(()), Err)
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
    let decided = |allowed, by, words: &str| Decided { allowed, by, rule: format!("{words} ({why})") };
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
        Decider::Nobody => (Code::NotAnswered, "It is not done, since the owner did not allow it"),
        Decider::Mode | Decider::Rule | Decider::Owner => (Code::NotAllowed, "It is not allowed"),
    };
    let rule = &decided.rule;
    Some(Outcome::not_ok(code, format!("{words}: {rule}. Nothing was done. Go on without it, or in another way.")))
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
