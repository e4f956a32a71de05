use super::*;

fn rejected(class: RejectionClass) -> Class {
    Class::Rejected { class, retry_after: None, hint: None }
}

fn asks(class: RejectionClass, seconds: u64) -> Class {
    Class::Rejected { class, retry_after: Some(Millis::seconds(seconds)), hint: None }
}

fn hinted(class: RejectionClass, hint: Hint) -> Class {
    Class::Rejected { class, retry_after: None, hint: Some(hint) }
}

fn next(history: &History, class: &Class) -> Step {
    Policy::default().next(history, class, 0)
}

/// What follows, one after the other, until it is not tried again.
fn run(class: &Class) -> Vec<Step> {
    let mut history = History::default();
    let mut steps = Vec::new();
    for _ in 0..1_000 {
        let step = next(&history, class);
        history.add(class, &step);
        steps.push(step.clone());
        if !matches!(step, Step::Again { .. }) {
            return steps;
        }
    }
    panic!("it never ends");
}

#[test]
fn what_may_have_arrived_is_never_sent_again() {
    let used = History { unsent: 1, busy: 1, other_route: true, ..History::default() };
    for history in [History::default(), used] {
        assert_eq!(next(&history, &Class::Unknown), Step::Fail(ModelFailure::Unknown));
        for class in [
            RejectionClass::Auth,
            RejectionClass::Quota,
            RejectionClass::RateLimited,
            RejectionClass::Overloaded,
            RejectionClass::UnsupportedField("stop".to_owned()),
        ] {
            assert_eq!(next(&history, &Class::BrokenOff(class)), Step::Fail(ModelFailure::Unknown));
        }
        assert_eq!(next(&history, &Class::BrokenOff(RejectionClass::Refused)), Step::Fail(ModelFailure::Refused));
    }
}

#[test]
fn each_end_has_its_step() {
    use RejectionClass as R;
    let park = |reason| Step::Park { reason, after: None };
    for (class, alone, with_another) in [
        (Class::Answered, Step::Done, Step::Done),
        (rejected(R::Auth), park(WaitReason::Auth), Step::OtherRoute),
        (rejected(R::Quota), park(WaitReason::Quota), Step::OtherRoute),
        (hinted(R::RateLimited, Hint::NoRetry), park(WaitReason::RateLimit), Step::OtherRoute),
        (hinted(R::Overloaded, Hint::NoRetry), park(WaitReason::Unavailable), Step::OtherRoute),
    ] {
        assert_eq!(next(&History::default(), &class), alone, "{class:?}");
        let history = History { other_route: true, ..History::default() };
        assert_eq!(next(&history, &class), with_another, "{class:?}");
    }
    for (class, failure) in [
        (rejected(R::ContextOverflow { window: None }), ModelFailure::ContextOverflow),
        (rejected(R::BadRequest), ModelFailure::BadRequest),
        (rejected(R::Refused), ModelFailure::Refused),
        (rejected(R::UnknownModel), ModelFailure::NoRoute),
        (hinted(R::UnknownModel, Hint::Pull), ModelFailure::NoRoute),
        (Class::Unusable { too_large: false }, ModelFailure::Malformed),
        (Class::Unusable { too_large: true }, ModelFailure::TooLarge),
        (Class::Unsent(Unsent::Invalid), ModelFailure::Invalid),
        (Class::Unsent(Unsent::Held), ModelFailure::Cancelled),
    ] {
        let history = History { other_route: true, ..History::default() };
        assert_eq!(next(&history, &class), Step::Fail(failure), "{class:?}: no other route would do better");
    }
}

#[test]
fn nothing_sent_is_tried_four_times_with_doubled_pauses_and_then_waits_for_the_network() {
    let again = |millis| Step::Again { after: Millis::new(millis) };
    let park = Step::Park { reason: WaitReason::Network, after: None };
    assert_eq!(run(&Class::Unsent(Unsent::Network)), [again(250), again(500), again(1_000), park]);
}

#[test]
fn a_busy_provider_is_asked_as_often_as_allowed() {
    for (class, reason) in
        [(RejectionClass::RateLimited, WaitReason::RateLimit), (RejectionClass::Overloaded, WaitReason::Unavailable)]
    {
        let steps = run(&rejected(class));
        assert_eq!(steps.len(), 5, "four times after the first");
        assert_eq!(steps.last(), Some(&Step::Park { reason, after: None }));
    }
    let never = Policy { retries: 0, ..Policy::default() };
    let step = never.next(&History::default(), &rejected(RejectionClass::Overloaded), 0);
    assert_eq!(step, Step::Park { reason: WaitReason::Unavailable, after: None });
}

#[test]
fn what_the_provider_asks_for_is_the_least() {
    for dice in [0, 1, u64::MAX] {
        let class = asks(RejectionClass::RateLimited, 7);
        let Step::Again { after } = Policy::default().next(&History::default(), &class, dice) else { panic!("again") };
        assert!(after >= Millis::seconds(7) && after <= Millis::seconds(8), "{after:?}");
    }
    let class = asks(RejectionClass::Overloaded, 0);
    assert_eq!(next(&History::default(), &class), Step::Again { after: Millis::new(250) });
}

#[test]
fn a_long_wait_is_not_sat_out() {
    for (class, reason) in
        [(RejectionClass::RateLimited, WaitReason::RateLimit), (RejectionClass::Overloaded, WaitReason::Unavailable)]
    {
        assert!(matches!(next(&History::default(), &asks(class.clone(), 60)), Step::Again { .. }));
        let long = asks(class, 61);
        let park = Step::Park { reason, after: Some(Millis::seconds(61)) };
        assert_eq!(next(&History::default(), &long), park);
        assert_eq!(next(&History { other_route: true, ..History::default() }, &long), Step::OtherRoute);
    }
}

#[test]
fn a_field_is_left_out_once_and_three_fields_at_most() {
    let field = |name: &str| rejected(RejectionClass::UnsupportedField(name.to_owned()));
    let mut history = History::default();
    for name in ["temperature", "stop", "reasoning"] {
        let step = next(&history, &field(name));
        assert_eq!(step, Step::Reshape { omit: name.to_owned() });
        history.add(&field(name), &step);
    }
    assert_eq!(history.omitted, ["temperature", "stop", "reasoning"]);
    let failed = Step::Fail(ModelFailure::BadRequest);
    assert_eq!(next(&history, &field("session_id")), failed);
    let once = History { omitted: vec!["stop".to_owned()], ..History::default() };
    assert_eq!(next(&once, &field("stop")), failed, "leaving it out did not help");
}

#[test]
fn a_model_that_loads_is_waited_for_without_using_up_the_retries() {
    let loading = hinted(RejectionClass::Overloaded, Hint::Loading);
    let steps = run(&loading);
    assert_eq!(steps.len(), 301);
    assert_eq!(steps.first(), Some(&Step::Again { after: Millis::seconds(2) }));
    let mut history = History::default();
    history.add(&loading, &Step::Again { after: Millis::seconds(2) });
    assert_eq!((history.loading, history.busy), (1, 0));
}

#[test]
fn pauses_are_spread_between_half_and_all_and_have_a_bound() {
    let policy = Policy::default();
    for before in [0, 1, 5, 31, 32, 33, u32::MAX] {
        let most = 500_u64.saturating_mul(1 << before.min(32)).min(30_000);
        for dice in (0..2_000).chain([u64::MAX, u64::MAX / 2]) {
            let pause = policy.pause(before, dice).get();
            assert!(pause >= most / 2 && pause <= most, "{before} {dice}: {pause}");
        }
    }
    let different: std::collections::BTreeSet<_> = (0..100).map(|dice| policy.pause(0, dice)).collect();
    assert!(different.len() > 90);
    assert_eq!(Policy { pause: Millis::ZERO, ..policy }.pause(3, 7).get(), 0);
}

#[test]
fn a_send_has_the_class_of_its_end() {
    use crate::dialect::{Rejection, StreamFault};
    let rejection = Rejection {
        class: RejectionClass::RateLimited,
        code: None,
        message: String::new(),
        request_id: None,
        retry_after: Some(Millis::seconds(3)),
        usage: None,
        hint: None,
    };
    assert_eq!(Class::from(&Sent::Rejected(Box::new(rejection))), asks(RejectionClass::RateLimited, 3));
    let unusable = |fault| Class::from(&Sent::Unusable { fault, usage: None });
    assert_eq!(unusable(StreamFault::TooLarge), Class::Unusable { too_large: true });
    assert_eq!(unusable(StreamFault::Malformed(String::new())), Class::Unusable { too_large: false });
    assert_eq!(Class::from(&Sent::Unknown { reason: String::new() }), Class::Unknown);
}
