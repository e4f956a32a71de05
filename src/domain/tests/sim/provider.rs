//! A fake provider: it remembers every send and what it really cost, whatever anybody recorded.

use crate::gateway::Call;
use crate::server::Message;
use crate::world::{Event, World};
use ouroboros_domain::{AnswerKind, Input, MoneyInput, Receipt, SendEnd, SendRow};
use ouroboros_proto::kind::{AttemptId, Cost, CostSource, NanoDollars, Requeue, SendId, SendState, TaskId, TokenUsage};
use std::collections::BTreeMap;

#[derive(Default)]
pub struct Provider {
    pub sends: BTreeMap<SendId, Sent>,
}

/// A send that reached the provider.
pub struct Sent {
    pub attempt: AttemptId,
    pub task: TaskId,
    pub call: u32,
    /// What it really cost.
    pub cost: NanoDollars,
    /// Whether the provider says so when asked.
    pub says: bool,
    /// Whether the gateway lost the answer.
    pub lost: bool,
}

/// What came of a send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Answered,
    Failed,
    Unresolved,
    /// Not a byte was sent.
    Released,
}

impl World {
    /// A send leaves the machine: the moment that costs money.
    pub fn provider_gets(&mut self, send: SendId, call: &Call) {
        let earlier: Vec<AttemptId> = self
            .provider
            .sends
            .values()
            .filter(|sent| sent.task == call.task && sent.attempt != call.attempt)
            .map(|sent| sent.attempt)
            .collect();
        let task = self.disk.written.tasks.get(&call.task);
        // What keeps a transcript asks something else after an interruption.
        let rerun = task.is_some_and(|row| row.policy.rerun || row.kind.continues());
        let allowed = |attempt: &AttemptId| match self.requeued.get(attempt) {
            _ if rerun => true,
            Some(Requeue::Parked) => true,
            Some(Requeue::Retry) => !self.disk.written.is_unknown(*attempt),
            Some(Requeue::NeverRan | Requeue::Rerun | Requeue::WorkerCrashed | Requeue::Continued) | None => false,
        };
        let bad = earlier.iter().find(|attempt| !allowed(attempt)).copied();
        self.check(bad.is_none(), || format!("{} sends again after {bad:?} was interrupted", call.task));
        let mut same = self.provider.sends.iter().filter(|(_, sent)| sent.attempt == call.attempt);
        let unknown = same.find(|(_, sent)| sent.call == call.call && sent.lost).map(|(send, _)| *send);
        self.check(unknown.is_none(), || format!("a call is sent again, though what came of {unknown:?} is not known"));
        let cost = NanoDollars::new(self.rng.below(call.bound.get() + 1));
        let says = self.rng.percent(85);
        let sent = Sent { attempt: call.attempt, task: call.task, call: call.call, cost, says, lost: false };
        let twice = self.provider.sends.insert(send, sent).is_some();
        self.check(!twice, || format!("{send} is sent twice"));
    }

    pub fn some_fate(&mut self, send: SendId) -> Fate {
        let fails = self.rng.percent(self.profile.sends_fail);
        let fate = match self.rng.below(3) {
            _ if !fails => Fate::Answered,
            0 => Fate::Unresolved,
            _ => Fate::Failed,
        };
        if let Some(sent) = self.provider.sends.get_mut(&send) {
            sent.lost = fate == Fate::Unresolved;
        }
        fate
    }

    pub fn receipt(&self, send: SendId, fate: Fate) -> Receipt {
        let sent = self.provider.sends.get(&send).filter(|sent| sent.says);
        Receipt {
            answer: if fate == Fate::Answered { AnswerKind::Answer } else { AnswerKind::Error },
            cost: sent.map(|sent| Cost { amount: sent.cost, source: CostSource::Provider }),
            usage: TokenUsage::default(),
            model: "m".into(),
            provider_request: "".into(),
        }
    }

    /// What the gateway tells of an answer: where no cost is said, at times what it was at most.
    pub fn settled(&mut self, send: SendId, fate: Fate) -> SendEnd {
        let receipt = self.receipt(send, fate);
        let cost = self.provider.sends.get(&send).map(|sent| sent.cost);
        match cost.filter(|_| receipt.cost.is_none() && self.rng.percent(50)) {
            Some(cost) => {
                self.mark("bounded by tokens");
                SendEnd::Within(receipt, cost.saturating_add(NanoDollars::new(self.rng.below(500))))
            }
            None => SendEnd::Settled(receipt),
        }
    }

    /// What a send cost is known after all, perhaps in another life; told twice at times.
    pub fn receipt_comes(&mut self, send: SendId) {
        // Of what is under way nobody tells anything but the call itself.
        if self.gateway.calls.contains_key(&send) {
            let after = self.rng.span(1_000, 1_000_000);
            return self.at(after, Event::Receipt { send });
        }
        self.mark("late receipt");
        let mut receipt = self.receipt(send, Fate::Answered);
        if receipt.cost.is_none() && self.rng.percent(70) {
            let sent = self.provider.sends.get(&send);
            receipt.cost = sent.map(|sent| Cost { amount: sent.cost, source: CostSource::Owner });
        }
        for _ in 0..=self.rng.below(2) {
            let input = MoneyInput::Late { send, receipt: receipt.clone() };
            self.send(50, Message::Input(Input::Money(input)));
        }
    }

    /// At the end: the ledger and the provider tell the same story.
    pub fn check_sends(&mut self) {
        let rows = &self.disk.written.sends;
        let mut wrong = Vec::new();
        for (send, sent) in &self.provider.sends {
            match rows.get(send) {
                None => wrong.push(format!("{send} was sent, and there is no row of it")),
                Some(row) if !tells(row, sent) => {
                    wrong.push(format!("{send} cost {} really, and its row says {row:?}", sent.cost));
                }
                Some(_) => {}
            }
        }
        let open = |row: &&SendRow| row.state.is_open();
        wrong.extend(rows.values().filter(open).map(|row| format!("{} is open for ever", row.id)));
        let settled = |row: &&SendRow| row.state == SendState::Settled && !self.provider.sends.contains_key(&row.id);
        wrong.extend(rows.values().filter(settled).map(|row| format!("{} is settled and was never sent", row.id)));
        if let Some(what) = wrong.pop() {
            self.fail(what);
        }
    }
}

/// Whether a row says the truth about a send, or that it does not know, within its bound.
fn tells(row: &SendRow, sent: &Sent) -> bool {
    let cost = row.receipt.as_ref().and_then(|receipt| receipt.cost);
    match (row.state, cost) {
        (SendState::Settled, Some(cost)) => cost.amount == sent.cost,
        (SendState::Settled, None) | (SendState::Unresolved, _) => row.bound >= sent.cost,
        (SendState::Reserved | SendState::Dispatched, _) => row.bound >= sent.cost,
        (SendState::Released, _) => false,
    }
}
