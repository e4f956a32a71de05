//! One question to a model: the request goes to the server, the answer's text becomes standard output.
//!
//! | module | what it is for |
//! | --- | --- |
//! | [`answer`] | what is written of an answer while it comes, and what its end means |
//!
//! What is said beside the answer goes to standard error. There is no process, no key and no connection here but the server's.

mod answer;

use crate::keep::{Place, place};
use crate::link::{Mailbox, Orders, Reporter};
use crate::wake;
use answer::Answer;
use ouroboros_proto::kind::{AttemptReport, BootMicros, Ending, Millis, Usage, clock};
use ouroboros_proto::wire::{AskWork, Credit, Report};
use rustix::event::{PollFd, PollFlags};

/// The one call of an attempt.
const CALL: u32 = 1;
/// How long the end of a call that was called off is waited for: its cost may become known by then.
const CALLED_OFF: Millis = Millis::seconds(2);

/// Asks, and reports the end. `orders` is what arrived together with the work.
pub fn run(mailbox: &Mailbox, mut reporter: Reporter, work: &AskWork, orders: Orders) {
    let since = clock::boot();
    let place = Place::new(&work.output_base);
    let mut answer = Answer::new(&work.output_base, work.output_limit);
    reporter.pass(Report::Call { call: CALL, request: work.request.clone() });
    let deadline = work.timeout.map(|timeout| since.plus(timeout));
    let ending = Asking { mailbox, reporter: &mut reporter, answer: &mut answer, credit: Credit::default(), deadline }
        .until_over(orders);
    let settling = mailbox.settle();
    let (stdout, stderr) = answer.finish(&mut reporter);
    let usage = Usage { elapsed: clock::boot().since(since), ..Usage::default() };
    let report = AttemptReport { ending, usage, stdout, stderr };
    place.store(&report, &reporter);
    drop(settling);
    place::deliver(report, mailbox, &mut reporter);
}

struct Asking<'a> {
    mailbox: &'a Mailbox,
    reporter: &'a mut Reporter,
    answer: &'a mut Answer,
    credit: Credit,
    deadline: Option<BootMicros>,
}

impl Asking<'_> {
    /// Until the call is over, or its time is.
    fn until_over(&mut self, mut orders: Orders) -> Ending {
        let mut called_off: Option<(Ending, BootMicros)> = None;
        loop {
            self.reporter.answer(&orders);
            self.take_pieces(&orders);
            if let Some((_, end)) = orders.over.iter().find(|(call, _)| *call == CALL) {
                let ending = self.answer.over(end);
                return called_off.map_or(ending, |(why, _)| if ending == Ending::Answered { ending } else { why });
            }
            let now = clock::boot();
            if called_off.is_none() {
                let stopped = orders.stop.is_some().then_some(Ending::Stopped);
                let late = self.deadline.filter(|at| *at <= now).map(|_| Ending::TimedOut);
                if let Some(why) = stopped.or(late) {
                    self.reporter.pass(Report::CallOff { call: CALL });
                    called_off = Some((why, now.plus(orders.stop.unwrap_or(CALLED_OFF).min(CALLED_OFF))));
                }
            }
            if let Some((why, at)) = called_off
                && at <= now
            {
                return why;
            }
            self.wait(called_off.map(|(_, at)| at).or(self.deadline));
            orders = self.mailbox.take();
        }
    }

    fn take_pieces(&mut self, orders: &Orders) {
        for (_, piece) in orders.pieces.iter().filter(|(call, _)| *call == CALL) {
            self.answer.piece(piece);
            if let Some(bytes) = self.credit.take(piece.len()) {
                self.reporter.pass(Report::Taken { call: CALL, bytes });
            }
        }
        self.answer.announce(clock::boot(), self.reporter);
    }

    fn wait(&mut self, until: Option<BootMicros>) {
        let until = [until, self.answer.next_announcement()].into_iter().flatten().min();
        let mut fds = vec![PollFd::new(self.mailbox, PollFlags::IN)];
        if !self.reporter.is_idle() {
            fds.push(PollFd::new(&*self.reporter, PollFlags::OUT));
        }
        wake::until(&mut fds, until);
        drop(fds);
        self.reporter.flush();
        self.answer.announce(clock::boot(), self.reporter);
    }
}
