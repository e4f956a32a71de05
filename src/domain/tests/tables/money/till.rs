//! What a gateway does, at once and by hand.

use crate::rig::{NO_LIMITS, PLAIN, Place, Rig, SETTINGS};
use ouroboros_domain::{
    AnswerKind, Decision, Effect, Input, Limits, MoneyInput, Park, Policy, PriceBasis, Receipt, Reply, Reservation,
    SendAnswer, SendEnd, SendRow, Settings, Tally, TaskCommand, WorkerExit,
};
use ouroboros_proto::kind::{
    Allowance, Cost, CostSource, Ending, LimitScope, Millis, NanoDollars, PauseId, SendId, SendState, TaskId,
    TokenUsage, WaitReason, WorkKind,
};

pub const ADMITTED: Option<SendAnswer> = Some(SendAnswer::Admitted);
/// No answer yet.
pub const WAITS: Option<SendAnswer> = None;

pub const fn nano(amount: u64) -> NanoDollars {
    NanoDollars::new(amount)
}

pub fn send_id(n: u8) -> SendId {
    SendId::from_bytes([n; 16])
}

pub fn paused(limit: LimitScope) -> Option<SendAnswer> {
    Some(SendAnswer::Paused(limit))
}

/// The usual settings with room for 80 attempts and these limits.
pub fn limited(set: impl FnOnce(&mut Limits)) -> Settings {
    let mut limits = NO_LIMITS;
    set(&mut limits);
    Settings { slots: 80, limits, ..SETTINGS }
}

pub fn total(limit: u64) -> Settings {
    limited(|limits| limits.total = Some(nano(limit)))
}

/// An answer that cost this much; `None` is not known.
pub fn receipt(cost: Option<u64>) -> Receipt {
    Receipt {
        answer: AnswerKind::Answer,
        cost: cost.map(|amount| Cost { amount: nano(amount), source: CostSource::Provider }),
        usage: TokenUsage::default(),
        model: "m".into(),
        provider_request: "".into(),
    }
}

/// The answers of a decision, in order.
pub fn answers(decision: &Decision) -> Vec<(SendId, SendAnswer)> {
    let answer = |effect: &Effect| match effect {
        Effect::Answer { send, answer } => Some((*send, *answer)),
        _ => None,
    };
    decision.effects.iter().filter_map(answer).collect()
}

/// The one answer about this send, when there is one.
pub fn answer(decision: &Decision, send: u8) -> Option<SendAnswer> {
    let all: Vec<_> = answers(decision).into_iter().filter(|(id, _)| *id == send_id(send)).collect();
    assert!(all.len() <= 1, "answered once: {all:?}");
    all.first().map(|(_, answer)| *answer)
}

impl Rig {
    /// A task that asks a model, under way.
    pub fn asking(&mut self, policy: Policy) -> (TaskId, Place) {
        let task = self.submit_ask(policy);
        self.workers();
        (task, self.place(task).expect("it runs"))
    }

    pub fn submit_ask(&mut self, policy: Policy) -> TaskId {
        self.submit(|task| {
            task.kind = WorkKind::Ask;
            task.policy = policy;
        })
    }

    /// The child of a task.
    pub fn child(&mut self, parent: TaskId) -> (TaskId, Place) {
        let task = self.submit(|task| {
            task.kind = WorkKind::Ask;
            task.parent = Some(parent);
        });
        self.workers();
        (task, self.place(task).expect("it runs"))
    }

    pub fn money(&mut self, input: MoneyInput) -> Decision {
        self.step(Input::Money(input))
    }

    /// Wants `bound` set aside; the decision.
    pub fn reserves(&mut self, place: Place, send: u8, bound: u64) -> Decision {
        self.money(MoneyInput::Reserve(Reservation {
            send: send_id(send),
            worker: place.worker,
            attempt: place.attempt,
            call: 1,
            ordinal: 1,
            route: "r".into(),
            bound: nano(bound),
            basis: PriceBasis::Known,
        }))
    }

    /// The same; the answer.
    pub fn reserve(&mut self, place: Place, send: u8, bound: u64) -> Option<SendAnswer> {
        answer(&self.reserves(place, send, bound), send)
    }

    pub fn over(&mut self, send: u8, end: SendEnd) -> Decision {
        self.money(MoneyInput::Over { send: send_id(send), end })
    }

    pub fn settle(&mut self, send: u8, cost: u64) -> Decision {
        self.over(send, SendEnd::Settled(receipt(Some(cost))))
    }

    pub fn dispatch(&mut self, send: u8) {
        assert_eq!(answers(&self.money(MoneyInput::Dispatched { send: send_id(send) })), []);
    }

    pub fn withdraw(&mut self, send: u8) -> Decision {
        self.money(MoneyInput::Withdraw { send: send_id(send) })
    }

    pub fn late(&mut self, send: u8, cost: u64) -> Decision {
        self.money(MoneyInput::Late { send: send_id(send), receipt: receipt(Some(cost)) })
    }

    pub fn blocked(&mut self, place: Place, reason: WaitReason, after: Option<Millis>) -> Option<SendAnswer> {
        let (worker, attempt) = (place.worker, place.attempt);
        answer(&self.money(MoneyInput::Blocked { send: send_id(99), worker, attempt, reason, after }), 99)
    }

    /// Its worker has saved itself and left.
    pub fn parks(&mut self, place: Place) {
        self.terminal(place, 1, Ending::Parked);
        self.gone(place, WorkerExit::Code(0));
        self.workers();
    }

    /// A task that spent all it may and has left; the pause it is in.
    pub fn paused_task(&mut self, policy: Policy) -> (TaskId, PauseId) {
        let (task, place) = self.asking(policy);
        assert!(matches!(self.reserve(place, 90, 1_000), Some(SendAnswer::Paused(_))));
        self.parks(place);
        let Some(Park::Paused(pause)) = self.park(task) else { panic!("{:?}", self.park(task)) };
        (task, pause.id)
    }

    pub fn park(&self, task: TaskId) -> Option<Park> {
        self.core.task(task)?.park.as_deref().copied()
    }

    pub fn state(&self, send: u8) -> Option<SendState> {
        self.sends.get(&send_id(send)).map(|row| row.state)
    }

    pub fn row(&self, send: u8) -> &SendRow {
        &self.sends[&send_id(send)]
    }

    pub fn resume(&mut self, task: TaskId, pause: Option<PauseId>, max_cost: Option<u64>) -> (Reply, Decision) {
        let max_cost = max_cost.map(|amount| Allowance(Some(nano(amount))));
        self.order(task, TaskCommand::Resume { pause, max_cost, free: false })
    }

    pub fn sums(&self) -> Tally {
        self.core.spent().total
    }

    pub fn configure(&mut self, settings: Settings) -> Decision {
        self.step(Input::Configure(settings))
    }

    /// An asking task that may spend this much.
    pub fn capped(&mut self, max_cost: u64) -> (TaskId, Place) {
        self.asking(Policy { max_cost: Some(Allowance(Some(nano(max_cost)))), ..PLAIN })
    }
}

pub fn tally(settled: u64, open: u64, unresolved: u64) -> Tally {
    Tally { settled: nano(settled), open: nano(open), unresolved: nano(unresolved) }
}
