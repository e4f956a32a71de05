//! Work that asks models, through the server.
//!
//! | module | what it is for |
//! | --- | --- |
//! | [`speech`] | the two streams that such work writes |
//!
//! There is no key and no connection here but the server's.

mod speech;

use crate::command::{self, shown};
use crate::keep::{Place, place};
use crate::link::{Mailbox, Orders, Reporter};
use crate::wake;
use ouroboros_proto::agent::{OwnerAnswer, OwnerRequest, Rule};
use ouroboros_proto::kind::{AttemptReport, BootMicros, Ending, Identity, Millis, ProcessId, clock};
use ouroboros_proto::wire::{Credit, Report};
use rustix::event::{PollFd, PollFlags};
pub use speech::Speech;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

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
    let usage = command::usage(clock::boot().since(since));
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
    /// The last report that is to be durable.
    reported: u64,
    stop: Option<Millis>,
    /// The process that may run, until somebody asks.
    released: Option<ProcessId>,
    deadline: Option<BootMicros>,
    last_call: u32,
    /// What was said of the owner and nobody has looked at: the request and the answer.
    answered: Vec<(u32, Vec<u8>)>,
    /// What the owner answers, by number, where nobody is asked.
    recorded: Option<BTreeMap<u32, OwnerAnswer>>,
    /// What the owner allowed or forbade for longer than once, as it was said last.
    rules: Vec<Rule>,
    /// What was said to the task and was not taken out, by number.
    messages: BTreeMap<u32, String>,
    /// The turn is to be stopped: whether a message is to be waited for then.
    interrupt: Option<bool>,
    /// The call of a tool that models are asked for; it may be cancelled.
    on_behalf: Option<u32>,
}

impl<'a> Line<'a> {
    /// For an attempt that is given up at `deadline`. `orders` is what arrived together with its work.
    pub(crate) fn new(mailbox: &'a Mailbox, reporter: Reporter, orders: Orders, deadline: Option<BootMicros>) -> Self {
        Self {
            mailbox,
            reporter,
            before: Some(orders),
            acknowledged: 0,
            reported: 0,
            stop: None,
            released: None,
            deadline,
            last_call: 0,
            answered: Vec::new(),
            recorded: None,
            rules: Vec::new(),
            messages: BTreeMap::new(),
            interrupt: None,
            on_behalf: None,
        }
    }

    /// Asks a model and hears the answer until its end, the JSON of a [`ModelEnd`](ouroboros_proto::agent::ModelEnd). Beside it stands why
    /// the attempt is to end, when that is why it was called off; a call whose end comes all the same is over. Without both the turn was
    /// stopped, and what came of the call is not known yet. When `piece` breaks, nobody wants the rest: the call is called off, and its
    /// end is there if it came soon.
    pub fn call(
        &mut self,
        request: Vec<u8>,
        speech: &mut Speech,
        piece: &mut dyn FnMut(&mut Speech, &[u8]) -> ControlFlow<()>,
    ) -> (Option<Ending>, Option<Vec<u8>>) {
        self.last_call = self.last_call.saturating_add(1);
        let call = self.last_call;
        self.reporter.pass(Report::Call { call, request });
        let mut credit = Credit::default();
        let mut called_off: Option<(Option<Ending>, BootMicros)> = None;
        let mut enough = false;
        loop {
            let orders = self.orders();
            for (_, json) in orders.pieces.iter().filter(|(of, _)| *of == call) {
                enough = enough || piece(speech, json).is_break();
                if let Some(bytes) = credit.take(json.len()) {
                    self.reporter.pass(Report::Taken { call, bytes });
                }
            }
            speech.announce(clock::boot(), &mut self.reporter);
            if let Some((_, end)) = orders.over.into_iter().find(|(of, _)| *of == call) {
                return (called_off.and_then(|(why, _)| why), Some(end));
            }
            enough = enough || self.on_behalf.is_some_and(|call| self.mailbox.is_call_off(call));
            let now = clock::boot();
            let ended = self.ended();
            if called_off.is_none() && (ended.is_some() || self.interrupt.is_some() || enough) {
                self.reporter.pass(Report::CallOff { call });
                called_off = Some((ended, now.plus(self.stop.unwrap_or(CALLED_OFF).min(CALLED_OFF))));
            }
            if let Some((why, at)) = called_off
                && at <= now
            {
                return (why.or(ended), None);
            }
            self.wait(called_off.map(|(_, at)| at).or(self.deadline), speech);
        }
    }

    /// Records something. It is durable before anything leaves that is asked for after it; see [`Line::until_durable`].
    pub fn record(&mut self, report: Report) {
        self.reported = self.reporter.report(report);
    }

    /// Returns when everything that was recorded is durable: what it stands for may happen then.
    pub fn until_durable(&mut self, speech: &mut Speech) {
        let sequence = self.reported;
        while self.acknowledged < sequence {
            // What else was ordered meanwhile is only of interest to a call, and there is none.
            self.orders();
            if self.acknowledged < sequence {
                self.wait(None, speech);
            }
        }
    }

    /// Says that a process stands behind its barrier. It may run once [`Line::take_release`] says so.
    pub fn process_started(&mut self, process: ProcessId, identity: Identity, argv: &[String]) {
        self.reporter.report(Report::ProcessStarted { process, identity, command: shown(argv) });
    }

    /// Whether that process may run now: true once.
    pub fn take_release(&mut self, process: ProcessId) -> bool {
        self.look();
        self.released.take_if(|released| *released == process).is_some()
    }

    /// Says that a process is reaped and its group is empty.
    pub fn process_ended(&mut self, process: ProcessId) {
        self.reporter.report(Report::ProcessEnded { process });
    }

    /// Whether what is under way is to end: the attempt, or only this.
    pub fn is_called_off(&mut self) -> bool {
        self.look();
        self.ended().is_some() || self.is_interrupted()
    }

    /// The same for one call of a tool, which may be cancelled alone.
    pub fn is_off(&mut self, call: u32) -> bool {
        self.is_called_off() || self.is_cancelled(call)
    }

    /// Whether this call of a tool is cancelled.
    pub fn is_cancelled(&self, call: u32) -> bool {
        self.mailbox.is_call_off(call)
    }

    /// Models are asked for a call of a tool from now on, or for none.
    pub fn on_behalf(&mut self, call: Option<u32>) {
        self.on_behalf = call;
    }

    /// How long what runs may take to end by itself, when it was told.
    pub fn grace(&self) -> Option<Millis> {
        self.stop
    }

    /// Until one of these is ready, something was ordered, or `until`; moves reports along.
    pub fn wait_for(&mut self, fds: &[PollFd<'_>], until: Option<BootMicros>, speech: &mut Speech) {
        let until = [until, self.deadline, speech.next_announcement()].into_iter().flatten().min();
        self.wait_with(fds, until, speech);
    }

    /// Asks the owner and waits for the answer; the time that it takes counts for nobody. `number` is the place of the call among
    /// all calls of the task: what was asked under it before, in the same words, is asked once and answered once.
    ///
    /// What is over its bounds is not asked, which counts as withdrawn. The error is why the attempt ends while it waits: nothing
    /// is known of the answer then, and a later attempt is to ask the same again.
    pub fn ask_owner(
        &mut self,
        number: u32,
        request: &OwnerRequest,
        speech: &mut Speech,
    ) -> Result<OwnerAnswer, Ending> {
        if let Some(why) = self.ended() {
            return Err(why);
        }
        if let Some(recorded) = &self.recorded {
            return Ok(recorded.get(&number).cloned().unwrap_or(OwnerAnswer::Withdrawn));
        }
        if self.is_cancelled(number) {
            return Ok(OwnerAnswer::Withdrawn);
        }
        let json = match (request.fault(), serde_json::to_vec(request)) {
            (None, Ok(json)) => json,
            (Some(_), _) | (_, Err(_)) => return Ok(OwnerAnswer::Withdrawn),
        };
        let since = clock::boot();
        self.answered.clear();
        self.reporter.report(Report::Request { number, request: json });
        loop {
            self.orders();
            if let Some((_, answer)) = self.answered.iter().find(|(of, _)| *of == number) {
                let answer = serde_json::from_slice(answer);
                self.deadline = self.deadline.map(|at| at.plus(clock::boot().since(since)));
                return Ok(answer.unwrap_or(OwnerAnswer::Withdrawn));
            }
            if self.stop.is_some() || self.mailbox.is_to_stop() {
                return Err(Ending::Stopped);
            }
            // Called off before it was known to be asked.
            if self.is_cancelled(number) || self.interrupt.is_some() {
                return Ok(OwnerAnswer::Withdrawn);
            }
            self.wait(None, speech);
        }
    }

    /// From now on nobody is asked: these are the answers, by number, and what has none is withdrawn.
    pub fn answer_as(&mut self, recorded: BTreeMap<u32, OwnerAnswer>) {
        self.recorded = Some(recorded);
    }

    /// Takes over the owner's rules, the JSON of a list of them. What is none changes nothing.
    pub fn learn(&mut self, rules: &[u8]) {
        if let Ok(rules) = serde_json::from_slice(rules) {
            self.rules = rules;
        }
    }

    /// The owner's rules as they were said last.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Why the attempt is to end, when it is.
    pub fn ended(&self) -> Option<Ending> {
        let stopped = self.stop.is_some() || self.mailbox.is_to_stop();
        let late = || self.deadline.is_some_and(|at| at <= clock::boot());
        if stopped { Some(Ending::Stopped) } else { late().then_some(Ending::TimedOut) }
    }

    /// Whether the attempt is to end, the turn to stop, or a call is cancelled, for other threads to ask.
    pub fn watch(&self) -> impl Fn(u32) -> bool + Sync + use<'a> {
        let (mailbox, deadline) = (self.mailbox, self.deadline);
        move |call| {
            let late = deadline.is_some_and(|at| at <= clock::boot());
            late || mailbox.is_to_stop() || mailbox.is_turn_stopped() || mailbox.is_call_off(call)
        }
    }

    /// Puts messages to those that came: what the work brought along.
    pub fn remember(&mut self, messages: &[(u32, String)]) {
        self.messages.extend(messages.iter().cloned());
    }

    /// Forgets messages up to this number: they are in the transcript.
    pub fn heard(&mut self, number: u32) {
        self.messages.retain(|other, _| *other > number);
    }

    /// The oldest message that came and is not in the transcript.
    pub fn message(&mut self) -> Option<(u32, String)> {
        self.look();
        self.messages.first_key_value().map(|(number, text)| (*number, text.clone()))
    }

    /// Whether the turn is to be stopped, and then whether a message is to be waited for. Asking is the end of it: another turn begins.
    pub fn interrupted(&mut self) -> Option<bool> {
        self.look();
        let interrupt = self.interrupt.take();
        if interrupt.is_some() {
            self.mailbox.begin_turn();
        }
        interrupt
    }

    /// Whether the turn is to be stopped.
    pub fn is_interrupted(&self) -> bool {
        self.interrupt.is_some()
    }

    /// Whether the turn is to be stopped, and a message to be waited for.
    pub fn is_held(&self) -> bool {
        self.interrupt == Some(true)
    }

    /// Waits for a message, for somebody who says not to wait longer, or for the end of the attempt.
    pub fn hold(&mut self, speech: &mut Speech) {
        loop {
            self.look();
            if !self.messages.is_empty() || self.interrupt == Some(false) || self.ended().is_some() {
                self.interrupt = None;
                self.mailbox.begin_turn();
                return;
            }
            self.wait(self.deadline, speech);
        }
    }

    /// Takes in what arrived, when no call is under way.
    fn look(&mut self) {
        self.orders();
    }

    fn orders(&mut self) -> Orders {
        let mut orders = self.before.take().unwrap_or_else(|| self.mailbox.take());
        self.messages.append(&mut orders.messages);
        self.interrupt = orders.interrupt.or(self.interrupt);
        self.reporter.answer(&orders);
        // What is asked for again is what comes after the last that is durable.
        let durable = orders.acknowledged.max(orders.resend).unwrap_or(0);
        self.acknowledged = self.acknowledged.max(durable);
        self.released = orders.release.or(self.released);
        self.stop = [self.stop, orders.stop].into_iter().flatten().min();
        for (number, answer, rules) in &orders.answered {
            self.answered.push((*number, answer.clone()));
            self.learn(rules);
        }
        orders
    }

    fn wait(&mut self, until: Option<BootMicros>, speech: &mut Speech) {
        let until = [until, speech.next_announcement()].into_iter().flatten().min();
        self.wait_with(&[], until, speech);
    }

    fn wait_with(&mut self, more: &[PollFd<'_>], until: Option<BootMicros>, speech: &mut Speech) {
        let mut fds = vec![PollFd::new(self.mailbox, PollFlags::IN)];
        fds.extend(more.iter().cloned());
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
mod tests;
