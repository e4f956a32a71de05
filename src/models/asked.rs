//! What was told to the core about money and is not answered yet.
//!
//! An answer comes when what it says is durable. After a failed commit the state is loaded again and what was not recorded is lost:
//! then everything that is not answered is told once more, in the order in which it was told.

use crate::supervisor::inbox::{Inbox, Message};
use ouroboros_domain::{Input, MoneyInput, SendAnswer};
use ouroboros_proto::kind::SendId;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

struct Open {
    turn: u64,
    input: MoneyInput,
    answer: oneshot::Sender<SendAnswer>,
}

#[derive(Default)]
struct Book {
    turn: u64,
    open: BTreeMap<SendId, Open>,
}

/// The handle; clones share the book.
#[derive(Clone)]
pub struct Asked {
    inbox: Arc<Inbox>,
    book: Arc<Mutex<Book>>,
}

impl Asked {
    /// With nothing asked.
    #[must_use]
    pub fn new(inbox: Arc<Inbox>) -> Self {
        Self { inbox, book: Arc::default() }
    }

    /// Tells `input` about `send` and waits until what is answered is durable. `None` when the server leaves before that, and for a late
    /// receipt also when something else is told of its send, or what is stored of it cannot be read. Dropping the future takes a
    /// reservation back that is not set aside yet.
    pub async fn ask(&self, send: SendId, input: MoneyInput) -> Option<SendAnswer> {
        if matches!(input, MoneyInput::Late { .. }) && self.lock().open.contains_key(&send) {
            return None;
        }
        let (answer, answered) = oneshot::channel();
        self.note(send, input.clone(), answer);
        let mut withdrawal = Withdrawal { asked: self, send: matches!(input, MoneyInput::Reserve(_)).then_some(send) };
        self.tell(input);
        let answer = answered.await.ok();
        withdrawal.send = None;
        answer
    }

    fn note(&self, send: SendId, input: MoneyInput, answer: oneshot::Sender<SendAnswer>) {
        let mut book = self.lock();
        let turn = book.turn;
        book.turn = turn.saturating_add(1);
        book.open.insert(send, Open { turn, input, answer });
    }

    /// Tells what is not answered.
    pub fn tell(&self, input: MoneyInput) {
        self.inbox.push_worker(Message::quiet(Input::Money(input)));
    }

    /// The core's answer.
    pub fn answer(&self, send: SendId, answer: SendAnswer) {
        let open = {
            let mut book = self.lock();
            // What a reservation is answered that was taken back meanwhile says nothing about the taking back.
            let other = book.open.get(&send).is_some_and(|open| {
                matches!(open.input, MoneyInput::Withdraw { .. }) && answer != SendAnswer::Recorded
            });
            if other { None } else { book.open.remove(&send) }
        };
        if let Some(open) = open {
            // Nobody waits any more when the call was dropped.
            let _ = open.answer.send(answer);
        }
    }

    /// What was told about this send cannot be decided: who waits hears that there is no answer.
    pub fn give_up(&self, send: SendId) {
        self.lock().open.remove(&send);
    }

    /// Everything that is not answered, oldest first.
    pub fn told(&self) -> Vec<MoneyInput> {
        let book = self.lock();
        let mut open: Vec<&Open> = book.open.values().collect();
        open.sort_unstable_by_key(|open| open.turn);
        open.into_iter().map(|open| open.input.clone()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes a reservation back when the one that waits for it goes away.
struct Withdrawal<'a> {
    asked: &'a Asked,
    send: Option<SendId>,
}

impl Drop for Withdrawal<'_> {
    fn drop(&mut self) {
        if let Some(send) = self.send {
            // Told again like everything else until it is recorded, though nobody waits for the answer.
            self.asked.note(send, MoneyInput::Withdraw { send }, oneshot::channel().0);
            self.asked.tell(MoneyInput::Withdraw { send });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouroboros_domain::{PriceBasis, Reservation};
    use ouroboros_proto::kind::{AttemptId, NanoDollars, WorkerId};
    use std::future::Future as _;
    use std::task::{Context, Poll, Waker};

    #[test]
    fn a_withdrawal_is_told_again_until_it_is_recorded() {
        let asked = Asked::new(Arc::default());
        let send = SendId::from_bytes([1; 16]);
        let reserve = MoneyInput::Reserve(Reservation {
            send,
            worker: WorkerId::new(1),
            attempt: AttemptId::from_bytes([2; 16]),
            call: 1,
            ordinal: 1,
            route: "r".into(),
            bound: NanoDollars::new(1),
            basis: PriceBasis::Known,
        });
        let mut waiting = Box::pin(asked.ask(send, reserve.clone()));
        let mut context = Context::from_waker(Waker::noop());
        assert_eq!(waiting.as_mut().poll(&mut context), Poll::Pending);
        assert_eq!(asked.told(), [reserve]);
        drop(waiting);
        asked.answer(send, SendAnswer::Admitted);
        assert_eq!(asked.told(), [MoneyInput::Withdraw { send }], "it was set aside before it was taken back");
        asked.answer(send, SendAnswer::Recorded);
        assert_eq!(asked.told(), []);
    }

    #[test]
    fn a_receipt_that_cannot_be_decided_is_not_waited_for() {
        let asked = Asked::new(Arc::default());
        let send = SendId::from_bytes([1; 16]);
        let mut waiting = Box::pin(asked.ask(send, crate::models::late::by_owner(send, NanoDollars::new(1))));
        let mut context = Context::from_waker(Waker::noop());
        assert_eq!(waiting.as_mut().poll(&mut context), Poll::Pending);
        asked.give_up(send);
        assert_eq!(waiting.as_mut().poll(&mut context), Poll::Ready(None));
        assert_eq!(asked.told(), [], "nor told again");
    }
}
