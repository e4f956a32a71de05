//! A fake gateway: it asks the core before it sends, and tells what came of each send. It dies with its server.

use crate::provider::Fate;
use crate::server::Message;
use crate::worker::{Key, Life, Slip};
use crate::world::{Event, World};
use ouroboros_domain::{Input, MoneyInput, PriceBasis, Reservation, SendAnswer, SendEnd};
use ouroboros_proto::kind::{
    AttemptId, Ending, LimitScope, Millis, ModelFailure, NanoDollars, SendId, TaskId, WaitReason,
};
use std::collections::BTreeMap;

/// Sends of one call before it is given up.
const SENDS: u32 = 3;

#[derive(Default)]
pub struct Gateway {
    pub calls: BTreeMap<SendId, Call>,
    /// Who waits in the core, in order.
    pub line: Vec<SendId>,
    /// What was told and is not answered, in order.
    told: BTreeMap<u64, (SendId, MoneyInput)>,
    turn: u64,
    /// When the last thing told arrives: what is told keeps its order.
    arrival: u64,
}

/// A send of a call.
#[derive(Clone)]
pub struct Call {
    pub key: Key,
    pub attempt: AttemptId,
    pub task: TaskId,
    pub call: u32,
    pub ordinal: u32,
    pub bound: NanoDollars,
    pub asked_at: u64,
    pub phase: Phase,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// It wants its bound set aside.
    Asked,
    /// The provider has it.
    Sent,
    /// It is over, or was never sent, and the core is told so.
    Over(Fate),
    /// Its call waits for a better time, and the core is told so.
    Blocked,
    /// Nobody wants it any more.
    Dropped,
}

impl World {
    /// Whether the task of this attempt asks models.
    pub fn asks_models(&self, attempt: AttemptId) -> bool {
        let row = self.disk.written.attempts.get(&attempt);
        let task = row.and_then(|row| self.disk.written.tasks.get(&row.task));
        task.is_some_and(|task| task.kind.uses_models())
    }

    /// Whether the task of this attempt keeps a transcript.
    pub fn continues(&self, attempt: AttemptId) -> bool {
        let row = self.disk.written.attempts.get(&attempt);
        let task = row.and_then(|row| self.disk.written.tasks.get(&row.task));
        task.is_some_and(|task| task.kind.continues())
    }

    /// Whether something is still to come of a send. What a dead worker only wanted to send was taken back with it.
    pub fn calls_under_way(&self) -> bool {
        let lives = |call: &Call| self.workers.get(&call.key).is_some_and(|worker| worker.life == Life::Alive);
        self.gateway.calls.values().any(|call| call.phase != Phase::Asked || lives(call))
    }

    /// A worker calls a model.
    pub fn ask(&mut self, key: Key, attempt: AttemptId) {
        let after = self.rng.span(20, 2_000);
        if let Some(life) = self.life() {
            self.at(after, Event::Asks { life, key, attempt });
        }
    }

    /// In the calm: a worker whose call went nowhere calls again.
    pub fn ask_again(&mut self, key: Key, attempt: AttemptId) {
        let under_way = self.gateway.calls.values().any(|call| call.attempt == attempt);
        if !under_way && self.asks_models(attempt) {
            self.ask(key, attempt);
        }
    }

    /// The call has reached the gateway.
    pub fn asks(&mut self, key: Key, attempt: AttemptId) {
        let Some(task) = self.disk.written.attempts.get(&attempt).map(|row| row.task) else { return };
        let before = self.provider.sends.values().filter(|sent| sent.attempt == attempt).map(|sent| sent.call).max();
        let asked = self.gateway.calls.values().filter(|call| call.attempt == attempt).map(|call| call.call).max();
        let call = before.max(asked).unwrap_or(0) + 1;
        self.reserves(key, attempt, task, (call, 1));
        if !self.calm && self.rng.percent(50) {
            self.reserves(key, attempt, task, (call + 1, 1));
        }
    }

    fn reserves(&mut self, key: Key, attempt: AttemptId, task: TaskId, (call, ordinal): (u32, u32)) {
        let send = SendId::from_bytes(self.rng.bytes());
        let free = self.rng.percent(15);
        let bound = NanoDollars::new(if free { 0 } else { 1 + self.rng.below(400) });
        let (asked_at, phase) = (self.elapsed, Phase::Asked);
        self.gateway.calls.insert(send, Call { key, attempt, task, call, ordinal, bound, asked_at, phase });
        self.tell_money(
            send,
            MoneyInput::Reserve(Reservation {
                send,
                worker: key.1,
                attempt,
                call,
                ordinal,
                route: "r".into(),
                bound,
                basis: if free { PriceBasis::Free } else { PriceBasis::Known },
            }),
        );
    }

    /// Tells the core, and again when the state was loaded again before it answered.
    fn tell_money(&mut self, send: SendId, input: MoneyInput) {
        self.gateway.turn += 1;
        self.gateway.told.insert(self.gateway.turn, (send, input.clone()));
        let times = 1 + u32::from(self.rng.percent(self.profile.repeats));
        for _ in 0..times {
            self.tell_once(input.clone());
        }
    }

    fn tell_once(&mut self, input: MoneyInput) {
        let arrival = (self.now + self.rng.span(20, 1_000)).max(self.gateway.arrival + 1);
        self.gateway.arrival = arrival;
        self.send(arrival - self.now, Message::Input(Input::Money(input)));
    }

    /// The state was loaded again: what is not answered is told once more.
    pub fn tell_again(&mut self) {
        let told: Vec<MoneyInput> = self.gateway.told.values().map(|(_, input)| input.clone()).collect();
        for input in told {
            self.mark("told again");
            self.tell_once(input);
        }
    }

    /// The worker is dead: what it only waited for may be taken back at once.
    pub fn calls_dropped(&mut self, key: Key) {
        let waiting = |call: &Call| call.key == key && call.phase == Phase::Asked;
        let sends: Vec<SendId> =
            self.gateway.calls.iter().filter(|(_, call)| waiting(call)).map(|(send, _)| *send).collect();
        for send in sends {
            if self.rng.percent(50) {
                self.drop_call(send);
            }
        }
    }

    fn drop_call(&mut self, send: SendId) {
        self.mark("withdrawn");
        self.set_phase(send, Phase::Dropped);
        self.gateway.told.retain(|_, (about, _)| *about != send);
        self.tell_money(send, MoneyInput::Withdraw { send });
    }

    fn set_phase(&mut self, send: SendId, phase: Phase) {
        if let Some(call) = self.gateway.calls.get_mut(&send) {
            call.phase = phase;
        }
    }

    /// The core's answer is durable.
    pub fn send_answered(&mut self, send: SendId, answer: SendAnswer) {
        let Some(call) = self.gateway.calls.get(&send).cloned() else { return };
        let recorded = answer == SendAnswer::Recorded;
        let expected = match call.phase {
            Phase::Asked | Phase::Blocked => !recorded,
            Phase::Sent => answer == SendAnswer::Admitted,
            Phase::Over(_) | Phase::Dropped => recorded,
        };
        if !expected {
            // What was asked before it was dropped, or asked twice.
            return;
        }
        if call.phase != Phase::Sent {
            self.gateway.told.retain(|_, (about, _)| *about != send);
        }
        match call.phase {
            Phase::Asked | Phase::Blocked => self.asked_answered(send, &call, answer),
            Phase::Sent => {}
            Phase::Over(fate) => {
                self.gateway.calls.remove(&send);
                self.fate_recorded(&call, fate);
            }
            Phase::Dropped => {
                self.gateway.calls.remove(&send);
            }
        }
    }

    fn asked_answered(&mut self, send: SendId, call: &Call, answer: SendAnswer) {
        self.mark(match answer {
            SendAnswer::Admitted => "admission: admitted",
            SendAnswer::Paused(LimitScope::Total) => "admission: paused, total",
            SendAnswer::Paused(LimitScope::Hour) => "admission: paused, hour",
            SendAnswer::Paused(LimitScope::Tree) => "admission: paused, tree",
            SendAnswer::Paused(LimitScope::Task) => "admission: paused, task",
            SendAnswer::Waiting { reason: WaitReason::HourLimit, .. } => "admission: waits for the hour",
            SendAnswer::Waiting { .. } => "admission: waits for a model",
            SendAnswer::Ending => "admission: ending",
            SendAnswer::Recorded => "admission: recorded",
        });
        match answer {
            SendAnswer::Admitted => self.admitted(send, call),
            SendAnswer::Paused(_) | SendAnswer::Waiting { .. } => {
                self.gateway.calls.remove(&send);
                self.check_parked(call.task, send);
                self.model_ends(call.key, call.attempt, Ending::Parked);
            }
            SendAnswer::Ending | SendAnswer::Recorded => {
                self.gateway.calls.remove(&send);
            }
        }
    }

    /// It may be sent.
    fn admitted(&mut self, send: SendId, call: &Call) {
        self.check_set_aside(send, call);
        let alive = self.workers.get(&call.key).is_some_and(|worker| worker.life == Life::Alive);
        if !alive || self.rng.percent(self.profile.drops_calls) {
            return self.drop_call(send);
        }
        if self.rng.percent(self.profile.sends_fail / 3) {
            return self.over(send, Fate::Released);
        }
        self.provider_gets(send, call);
        self.set_phase(send, Phase::Sent);
        if self.rng.percent(80) {
            self.mark("send dispatched");
            self.tell_once(MoneyInput::Dispatched { send });
        }
        let after = self.rng.span(500, 20_000_000);
        if let Some(life) = self.life() {
            self.at(after, Event::Outcome { life, send });
        }
        let slip = self.alive(call.key, |worker| worker.work.as_ref().map(|work| work.slip));
        if slip == Some(Some(Slip::DiesRunning)) {
            let exit = self.some_exit();
            self.die(call.key, exit);
        }
    }

    /// Something came of a send.
    pub fn outcome(&mut self, send: SendId) {
        if self.gateway.calls.get(&send).is_some_and(|call| call.phase == Phase::Sent) {
            let fate = self.some_fate(send);
            self.over(send, fate);
        }
    }

    fn over(&mut self, send: SendId, fate: Fate) {
        self.set_phase(send, Phase::Over(fate));
        let end = match fate {
            Fate::Released => SendEnd::Released,
            Fate::Unresolved => SendEnd::Unresolved,
            Fate::Answered | Fate::Failed => self.settled(send, fate),
        };
        self.mark(match fate {
            Fate::Released => "send released",
            Fate::Unresolved => "send unresolved",
            Fate::Answered | Fate::Failed => "send settled",
        });
        self.tell_money(send, MoneyInput::Over { send, end });
        let silent = match fate {
            Fate::Answered | Fate::Failed => !self.provider.sends.get(&send).is_some_and(|sent| sent.says),
            Fate::Unresolved => true,
            Fate::Released => false,
        };
        if silent && self.rng.percent(70) {
            let after = self.rng.span(100, 60_000_000);
            self.at(after, Event::Receipt { send });
        }
    }

    /// What came of it is durable: the call goes on.
    fn fate_recorded(&mut self, call: &Call, fate: Fate) {
        if self.alive(call.key, |_| ()).is_none() {
            return self.mark("settled after its attempt");
        }
        let again = call.ordinal < SENDS;
        match fate {
            Fate::Answered if self.rng.percent(30) => self.ask(call.key, call.attempt),
            Fate::Answered => self.model_ends(call.key, call.attempt, Ending::Answered),
            Fate::Unresolved => self.model_failed(call, ModelFailure::Unknown),
            Fate::Failed if !self.calm && self.rng.percent(30) => self.block(call),
            Fate::Released | Fate::Failed if again => {
                self.reserves(call.key, call.attempt, call.task, (call.call, call.ordinal + 1));
            }
            Fate::Released | Fate::Failed => self.model_failed(call, ModelFailure::Unavailable),
        }
    }

    /// The call is to wait for a better time.
    fn block(&mut self, call: &Call) {
        let send = SendId::from_bytes(self.rng.bytes());
        let reasons = [WaitReason::NoRoute, WaitReason::Auth, WaitReason::Quota, WaitReason::Network];
        let reason = self.rng.pick(&reasons).copied().unwrap_or(WaitReason::Network);
        let after = self.rng.percent(40).then(|| Millis::new(self.rng.span(100, 100_000)));
        self.gateway.calls.insert(send, Call { phase: Phase::Blocked, ..call.clone() });
        let (worker, attempt) = (call.key.1, call.attempt);
        self.tell_money(send, MoneyInput::Blocked { send, worker, attempt, reason, after });
    }

    fn model_failed(&mut self, call: &Call, failure: ModelFailure) {
        self.model_ends(call.key, call.attempt, Ending::ModelFailed { failure });
    }

    /// A worker hears how its calls came out.
    fn model_ends(&mut self, key: Key, attempt: AttemptId, ending: Ending) {
        let slip = self.alive(key, |worker| {
            let work = worker.work.as_ref().filter(|work| work.attempt == attempt && work.ending.is_none())?;
            Some(work.slip)
        });
        let Some(Some(slip)) = slip else { return };
        self.set_ending(key, ending);
        if let Some(truth) = self.truth.get_mut(&attempt).filter(|_| ending != Ending::Parked) {
            truth.natural = Some(ending);
        }
        self.ended(key, slip);
    }
}
