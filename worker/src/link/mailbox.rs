//! Orders that arrived and were not yet looked at.
//!
//! Bounded by construction: repeated orders merge into the one that says the same, and the server sends no more of an answer than
//! was taken before; so the reading thread never waits and the lifeline is never late.

use crate::note::note;
use ouroboros_proto::kind::{AttemptId, Generation, Millis, ProcessId};
use ouroboros_proto::wire::{AgentWork, AskWork, CommandWork, Order, ToWorker};
use rustix::event::{EventfdFlags, eventfd};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The one attempt of a worker.
#[derive(Debug)]
pub struct Assignment {
    /// The attempt.
    pub attempt: AttemptId,
    /// What to do.
    pub work: Work,
}

/// What a worker is given to do.
#[derive(Debug)]
pub enum Work {
    /// Run a command.
    Command(Box<CommandWork>),
    /// Ask a model.
    Ask(Box<AskWork>),
    /// Work on a task in words.
    Agent(Box<AgentWork>),
}

/// What was ordered since the last look.
#[derive(Debug, Default)]
pub struct Orders {
    /// The work, once.
    pub run: Option<Assignment>,
    /// The process whose barrier may open.
    pub release: Option<ProcessId>,
    /// The shortest grace that was asked for.
    pub stop: Option<Millis>,
    /// The highest number that is durable.
    pub acknowledged: Option<u64>,
    /// The lowest number after which to send again.
    pub resend: Option<u64>,
    /// Of answers that are being written, in order: the call and the piece. The server stops at a window.
    pub pieces: Vec<(u32, Vec<u8>)>,
    /// Ends of calls.
    pub over: Vec<(u32, Vec<u8>)>,
    /// What is said of the owner, newest last, once a request: the request, the answer, and the rules as they stand.
    pub answered: Vec<(u32, Vec<u8>, Vec<u8>)>,
    /// What was said to the task, by number. The server accepts no more than fit a frame before they are taken.
    pub messages: BTreeMap<u32, String>,
    /// The turn is to be stopped: whether a message is to be waited for then.
    pub interrupt: Option<bool>,
}

/// Where the reading thread puts orders and the main thread takes them.
#[derive(Debug)]
pub struct Mailbox {
    generation: Generation,
    state: Mutex<State>,
    settled: Condvar,
    wake: OwnedFd,
}

#[derive(Debug, Default)]
struct State {
    attempt: Option<AttemptId>,
    orders: Orders,
    /// The attempt is to end. Stays when the order for it is taken out.
    to_stop: bool,
    /// The turn is to be stopped. Stays until the next one begins.
    turn_stopped: bool,
    /// Calls of tools that are cancelled. They stay: no number comes again.
    calls_off: BTreeSet<u32>,
    /// The server is gone: what dies from now on may die of the lifeline.
    closed: bool,
    /// The command is over and its report is not stored yet.
    settling: bool,
}

/// While it lives, the end of this process waits a moment for a report to be stored.
#[derive(Debug)]
pub struct Settling<'a>(&'a Mailbox);

impl Mailbox {
    /// An empty one that takes orders of this generation.
    ///
    /// # Errors
    /// When no descriptor is to be had.
    pub fn new(generation: Generation) -> io::Result<Self> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { generation, state: Mutex::new(State::default()), settled: Condvar::new(), wake })
    }

    /// Puts an order in. The first work binds the mailbox to its attempt; what is about another one, or of another generation,
    /// is noted and dropped.
    pub fn put(&self, frame: ToWorker) {
        let ToWorker { attempt, generation, order } = frame;
        let mut state = self.lock();
        let bound = state.attempt;
        let fits = match (&order, bound) {
            (Order::Run { .. } | Order::Ask { .. } | Order::Agent { .. }, bound) => bound.is_none(),
            (_, bound) => bound == Some(attempt),
        };
        if generation != self.generation || !fits {
            drop(state);
            note(format_args!("ignored an order for attempt {attempt} of generation {generation}: {}", name(&order)));
            return;
        }
        state.attempt = Some(attempt);
        state.to_stop |= matches!(order, Order::Stop { .. });
        state.turn_stopped |= matches!(order, Order::Interrupt { .. });
        if let Order::CancelCall { call } = order {
            state.calls_off.insert(call);
        }
        merge(&mut state.orders, attempt, order);
        drop(state);
        // The counter of an eventfd only fails to grow when it is already far from zero.
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }

    /// Takes everything out.
    pub fn take(&self) -> Orders {
        // Nothing to read means nobody wrote.
        let _ = rustix::io::read(&self.wake, &mut [0_u8; 8]);
        std::mem::take(&mut self.lock().orders)
    }

    /// Whether the attempt was ordered to end.
    pub fn is_to_stop(&self) -> bool {
        self.lock().to_stop
    }

    /// Whether the turn that is under way was ordered to stop.
    pub fn is_turn_stopped(&self) -> bool {
        self.lock().turn_stopped
    }

    /// Whether this call of a tool is cancelled.
    pub fn is_call_off(&self, call: u32) -> bool {
        self.lock().calls_off.contains(&call)
    }

    /// Another turn begins.
    pub fn begin_turn(&self) {
        self.lock().turn_stopped = false;
    }

    /// Says that the server is gone. Called before anything is killed for that reason.
    pub fn close(&self) {
        self.lock().closed = true;
    }

    /// Whether the server was gone at some moment before.
    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Says that the command is over; the guard's end says that its report is stored, or never will be.
    pub fn settle(&self) -> Settling<'_> {
        self.lock().settling = true;
        Settling(self)
    }

    /// Waits until no report is about to be stored, at most `bound`.
    pub fn await_settled(&self, bound: Duration) {
        // Whether it was stored or the bound has passed, what follows is the same.
        drop(self.settled.wait_timeout_while(self.lock(), bound, |state| state.settling));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Settling<'_> {
    fn drop(&mut self) {
        self.0.lock().settling = false;
        self.0.settled.notify_all();
    }
}

impl AsFd for Mailbox {
    /// Readable when there is something to take.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}

fn merge(orders: &mut Orders, attempt: AttemptId, order: Order) {
    match order {
        Order::Run { task: _, work } => orders.run = Some(Assignment { attempt, work: Work::Command(work) }),
        Order::Ask { task: _, work } => orders.run = Some(Assignment { attempt, work: Work::Ask(work) }),
        Order::Agent { task: _, work } => orders.run = Some(Assignment { attempt, work: Work::Agent(work) }),
        Order::Piece { call, piece } => orders.pieces.push((call, piece)),
        Order::CallOver { call, end } => orders.over.push((call, end)),
        Order::Answered { number, answer, rules } => {
            orders.answered.retain(|(other, ..)| *other != number);
            orders.answered.push((number, answer, rules));
        }
        Order::Release { process } => orders.release = Some(process),
        Order::Stop { grace } => orders.stop = Some(orders.stop.map_or(grace, |before| before.min(grace))),
        Order::Acknowledge { sequence } => {
            orders.acknowledged = Some(orders.acknowledged.map_or(sequence, |before| before.max(sequence)));
        }
        Order::Resend { after } => orders.resend = Some(orders.resend.map_or(after, |before| before.min(after))),
        Order::Message { number, text } => {
            orders.messages.insert(number, text);
        }
        // The last word counts: who holds it may let it go again.
        Order::Interrupt { hold } => orders.interrupt = Some(hold),
        // It is asked for by its number.
        Order::CancelCall { call: _ } => {}
    }
}

fn name(order: &Order) -> &'static str {
    match order {
        Order::Run { .. } => "run",
        Order::Release { .. } => "release",
        Order::Stop { .. } => "stop",
        Order::Acknowledge { .. } => "acknowledge",
        Order::Resend { .. } => "resend",
        Order::Ask { .. } => "ask",
        Order::Agent { .. } => "agent",
        Order::Piece { .. } => "piece",
        Order::CallOver { .. } => "call over",
        Order::Answered { .. } => "answered",
        Order::Message { .. } => "message",
        Order::Interrupt { .. } => "interrupt",
        Order::CancelCall { .. } => "cancel call",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(attempt: AttemptId, generation: u64, order: Order) -> ToWorker {
        ToWorker { attempt, generation: Generation::new(generation), order }
    }

    fn run() -> Order {
        let work = CommandWork {
            argv: vec!["true".to_owned()],
            env: Vec::new(),
            cwd: "/".to_owned(),
            umask: None,
            stdin: ouroboros_proto::wire::Stdin::Null,
            pty: None,
            timeout: None,
            no_new_privs: true,
            output_limit: 1,
            output_base: "/".to_owned(),
        };
        Order::Run { task: ouroboros_proto::kind::TaskId::mint(), work: Box::new(work) }
    }

    #[test]
    fn repeated_orders_merge_into_the_strictest() {
        let (mailbox, attempt) = (Mailbox::new(Generation::new(1)).unwrap(), AttemptId::mint());
        mailbox.put(frame(attempt, 1, run()));
        for order in [
            Order::Stop { grace: Millis::new(5) },
            Order::Stop { grace: Millis::new(9) },
            Order::Acknowledge { sequence: 2 },
            Order::Acknowledge { sequence: 1 },
            Order::Resend { after: 1 },
            Order::Resend { after: 0 },
            Order::Message { number: 1, text: "a".to_owned() },
            Order::Message { number: 1, text: "a".to_owned() },
            Order::Interrupt { hold: true },
            Order::Interrupt { hold: false },
            Order::CancelCall { call: 2 },
        ] {
            mailbox.put(frame(attempt, 1, order));
        }
        let orders = mailbox.take();
        assert_eq!(orders.run.unwrap().attempt, attempt);
        assert_eq!((orders.stop, orders.acknowledged, orders.resend), (Some(Millis::new(5)), Some(2), Some(0)));
        assert_eq!((orders.messages.len(), orders.interrupt), (1, Some(false)));
        assert!(mailbox.take().stop.is_none() && mailbox.is_turn_stopped());
        mailbox.begin_turn();
        assert!(!mailbox.is_turn_stopped());
        assert!(mailbox.is_call_off(2) && !mailbox.is_call_off(1));
    }

    #[test]
    fn orders_of_others_are_dropped() {
        let (mailbox, attempt) = (Mailbox::new(Generation::new(2)).unwrap(), AttemptId::mint());
        mailbox.put(frame(attempt, 2, Order::Stop { grace: Millis::ZERO }));
        mailbox.put(frame(attempt, 1, run()));
        assert!(mailbox.take().run.is_none());
        mailbox.put(frame(attempt, 2, run()));
        assert!(mailbox.take().run.is_some());
        mailbox.put(frame(attempt, 2, run()));
        mailbox.put(frame(AttemptId::mint(), 2, Order::Stop { grace: Millis::ZERO }));
        let orders = mailbox.take();
        assert!(orders.run.is_none() && orders.stop.is_none());
    }
}
