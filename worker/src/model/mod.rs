//! Work that asks models, through the server.
//!
//! | module | what it is for |
//! | --- | --- |
//! | [`speech`] | the two streams that such work writes |
//!
//! There is no key and no connection here but the server's.

mod speech;

use crate::keep::{Place, place};
use crate::link::{Mailbox, Orders, Reporter};
use crate::wake;
use ouroboros_proto::kind::{AttemptReport, BootMicros, Ending, Millis, Usage, clock};
use ouroboros_proto::wire::{Credit, Report};
use rustix::event::{PollFd, PollFlags};
pub use speech::Speech;

/// How long the end of a call that was called off is waited for: its cost may become known by then.
const CALLED_OFF: Millis = Millis::seconds(2);

/// Where an attempt writes, and how long it may take.
pub struct Bounds<'a> {
    /// Its files are this path with what each is for.
    pub output_base: &'a str,
    /// Bytes kept of each stream.
    pub output_limit: u64,
    /// Time until it is given up.
    pub timeout: Option<Millis>,
}

/// Does an attempt, and reports its end. `orders` is what arrived together with the work.
pub fn attempt(
    mailbox: &Mailbox,
    reporter: Reporter,
    orders: Orders,
    bounds: &Bounds<'_>,
    work: impl FnOnce(&mut Line<'_>, &mut Speech) -> Ending,
) {
    let since = clock::boot();
    let place = Place::new(bounds.output_base);
    let mut speech = Speech::new(bounds.output_base, bounds.output_limit);
    let deadline = bounds.timeout.map(|timeout| since.plus(timeout));
    let mut line = Line::new(mailbox, reporter, orders, deadline);
    let ending = work(&mut line, &mut speech);
    let settling = mailbox.settle();
    let mut reporter = line.reporter;
    let (stdout, stderr) = speech.finish(&mut reporter);
    let usage = Usage { elapsed: clock::boot().since(since), ..Usage::default() };
    let report = AttemptReport { ending, usage, stdout, stderr };
    place.store(&report, &reporter);
    drop(settling);
    place::deliver(report, mailbox, &mut reporter);
}

/// The way to the server, for one attempt.
pub struct Line<'a> {
    mailbox: &'a Mailbox,
    reporter: Reporter,
    /// Orders that came before anybody asked for them.
    before: Option<Orders>,
    acknowledged: u64,
    stop: Option<Millis>,
    deadline: Option<BootMicros>,
    last_call: u32,
}

impl<'a> Line<'a> {
    /// For an attempt that is given up at `deadline`. `orders` is what arrived together with its work.
    fn new(mailbox: &'a Mailbox, reporter: Reporter, orders: Orders, deadline: Option<BootMicros>) -> Self {
        Self { mailbox, reporter, before: Some(orders), acknowledged: 0, stop: None, deadline, last_call: 0 }
    }

    /// Asks a model and hears the answer until its end, the JSON of a [`ModelEnd`](ouroboros_proto::agent::ModelEnd). The error is
    /// why it was called off; a call whose end comes all the same is over.
    pub fn call(
        &mut self,
        request: Vec<u8>,
        speech: &mut Speech,
        piece: &mut dyn FnMut(&mut Speech, &[u8]),
    ) -> (Option<Ending>, Option<Vec<u8>>) {
        self.last_call = self.last_call.saturating_add(1);
        let call = self.last_call;
        self.reporter.pass(Report::Call { call, request });
        let mut credit = Credit::default();
        let mut called_off: Option<(Ending, BootMicros)> = None;
        loop {
            let orders = self.orders();
            for (_, json) in orders.pieces.iter().filter(|(of, _)| *of == call) {
                piece(speech, json);
                if let Some(bytes) = credit.take(json.len()) {
                    self.reporter.pass(Report::Taken { call, bytes });
                }
            }
            speech.announce(clock::boot(), &mut self.reporter);
            if let Some((_, end)) = orders.over.into_iter().find(|(of, _)| *of == call) {
                return (called_off.map(|(why, _)| why), Some(end));
            }
            let now = clock::boot();
            if called_off.is_none()
                && let Some(why) = self.ended()
            {
                self.reporter.pass(Report::CallOff { call });
                called_off = Some((why, now.plus(self.stop.unwrap_or(CALLED_OFF).min(CALLED_OFF))));
            }
            if let Some((why, at)) = called_off
                && at <= now
            {
                return (Some(why), None);
            }
            self.wait(called_off.map(|(_, at)| at).or(self.deadline), speech);
        }
    }

    /// Records something and returns when it is durable.
    pub fn record(&mut self, report: Report, speech: &mut Speech) {
        let sequence = self.reporter.report(report);
        while self.acknowledged < sequence {
            // What else was ordered meanwhile is only of interest to a call, and there is none.
            self.orders();
            if self.acknowledged < sequence {
                self.wait(None, speech);
            }
        }
    }

    /// Why the attempt is to end, when it is.
    pub fn ended(&self) -> Option<Ending> {
        let stopped = self.stop.is_some() || self.mailbox.is_to_stop();
        let late = || self.deadline.is_some_and(|at| at <= clock::boot());
        if stopped { Some(Ending::Stopped) } else { late().then_some(Ending::TimedOut) }
    }

    /// Whether the attempt is to end, for other threads to ask.
    pub fn watch(&self) -> impl Fn() -> bool + Sync + use<'a> {
        let (mailbox, deadline) = (self.mailbox, self.deadline);
        move || mailbox.is_to_stop() || deadline.is_some_and(|at| at <= clock::boot())
    }

    fn orders(&mut self) -> Orders {
        let orders = self.before.take().unwrap_or_else(|| self.mailbox.take());
        self.reporter.answer(&orders);
        // What is asked for again is what comes after the last that is durable.
        let durable = orders.acknowledged.max(orders.resend).unwrap_or(0);
        self.acknowledged = self.acknowledged.max(durable);
        self.stop = [self.stop, orders.stop].into_iter().flatten().min();
        orders
    }

    fn wait(&mut self, until: Option<BootMicros>, speech: &mut Speech) {
        let until = [until, speech.next_announcement()].into_iter().flatten().min();
        let mut fds = vec![PollFd::new(self.mailbox, PollFlags::IN)];
        if !self.reporter.is_idle() {
            fds.push(PollFd::new(&self.reporter, PollFlags::OUT));
        }
        wake::until(&mut fds, until);
        drop(fds);
        self.reporter.flush();
        speech.announce(clock::boot(), &mut self.reporter);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouroboros_proto::kind::{AttemptId, Generation, TaskId};
    use ouroboros_proto::wire::{AskWork, Order, ToWorker};
    use std::os::unix::net::UnixStream;
    use std::sync::Arc;

    /// Returns once an entry counts as recorded, when this is all that the server says.
    fn recorded(order: Order) {
        let (attempt, generation) = (AttemptId::from_bytes([1; 16]), Generation::new(1));
        let mailbox = Mailbox::new(generation).unwrap();
        let work = AskWork { request: Vec::new(), timeout: None, output_limit: 1, output_base: String::new() };
        for order in [Order::Ask { task: TaskId::from_bytes([2; 16]), work: Box::new(work) }, order] {
            mailbox.put(ToWorker { attempt, generation, order });
        }
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let mut speech = Speech::new(dir.path().join("out").to_str().unwrap(), 1 << 10);
        let reporter = Reporter::new(Arc::new(ours), attempt, generation);
        let mut line = Line::new(&mailbox, reporter, Orders::default(), None);
        line.record(Report::Entry { entry: b"{}".to_vec() }, &mut speech);
    }

    #[test]
    fn what_is_asked_for_again_from_the_next_on_is_recorded() {
        recorded(Order::Acknowledge { sequence: 1 });
        // After the state was loaded again nobody remembers that an acknowledgement is owed.
        recorded(Order::Resend { after: 1 });
    }
}
