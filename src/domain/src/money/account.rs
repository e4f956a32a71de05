//! What came of a send.

use super::row::{AnswerKind, Receipt, SendRow};
use super::{SendAnswer, SendEnd};
use crate::change::Change;
use crate::draft::Draft;
use ouroboros_proto::kind::{Event, SendId, SendState, TokenUsage};

impl Draft<'_> {
    /// Nobody is left to send it.
    pub(super) fn withdraw(&mut self, send: SendId) {
        self.core.ledger.withdraw(send);
        if let Some(row) = self.core.ledger.open.get(&send).filter(|row| row.state == SendState::Reserved).cloned() {
            self.end_send(row, SendState::Released, None);
        }
        self.answer(send, SendAnswer::Recorded);
    }

    pub(super) fn dispatched(&mut self, send: SendId) {
        if let Some(row) = self.core.ledger.open.get(&send).filter(|row| row.state == SendState::Reserved).cloned() {
            self.put(Change::Send(Box::new(SendRow { state: SendState::Dispatched, ..row })));
        }
    }

    /// A send is over. Told twice it is recorded once.
    pub(super) fn send_over(&mut self, send: SendId, end: SendEnd) {
        if let Some(row) = self.core.ledger.open.get(&send).cloned() {
            match end {
                SendEnd::Settled(receipt) => self.settle_send(row, receipt),
                SendEnd::Within(receipt, most) => {
                    let bound = row.bound.min(most);
                    self.settle_send(SendRow { bound, ..row }, receipt);
                }
                SendEnd::Unresolved => self.end_send(row, SendState::Unresolved, None),
                SendEnd::Released => self.end_send(row, SendState::Released, None),
            }
        }
        self.answer(send, SendAnswer::Recorded);
    }

    fn settle_send(&mut self, row: SendRow, receipt: Receipt) {
        if receipt.answer == AnswerKind::Answer {
            self.ends_waits(row.task);
        }
        self.end_send(row, SendState::Settled, Some(receipt));
    }

    /// Sends of dead lives: nobody is left who knows what came of them.
    pub(crate) fn give_up_lost_sends(&mut self) {
        let generation = self.core.generation;
        let lost: Vec<SendRow> =
            self.core.ledger.open.values().filter(|row| row.generation < generation).cloned().collect();
        for row in lost {
            self.end_send(row, SendState::Unresolved, None);
        }
    }

    fn end_send(&mut self, row: SendRow, state: SendState, receipt: Option<Receipt>) {
        let row = SendRow { state, receipt: receipt.map(Box::new), ended_at: Some(self.stamp.wall), ..row };
        self.told(&row);
        self.put(Change::Send(Box::new(row)));
    }

    /// What a send cost is known after all: it was given up, or its answer did not say. `stored` is what the store told when memory does
    /// not know it. The first cost counts.
    pub(super) fn late(&mut self, send: SendId, receipt: Receipt, stored: Option<&SendRow>) {
        let known = self.core.send(send).or(stored);
        if let Some(was) = known.cloned()
            && let Some(row) = was.corrected(receipt)
        {
            self.told(&row);
            self.put(Change::SendCorrected { row: Box::new(row), was: Box::new(was) });
        }
        self.answer(send, SendAnswer::Recorded);
    }

    fn told(&mut self, row: &SendRow) {
        let receipt = row.receipt.as_ref();
        let event = Event::Sent {
            send: row.id,
            route: row.route.to_string(),
            state: row.state,
            cost: receipt.and_then(|receipt| receipt.cost),
            usage: receipt.map_or_else(TokenUsage::default, |receipt| receipt.usage),
        };
        self.event(Some((row.task, row.number)), event);
    }
}
