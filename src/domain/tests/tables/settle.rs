//! What the end of an attempt means for its task, in every combination.

use crate::rig::{PLAIN, Rig};
use ouroboros_domain::{Policy, TaskState, WorkerExit, WorkerReport};
use ouroboros_proto::kind::{CancelReason, Ending, Event, Failure, Millis, OutOfMemory, Outcome, Requeue, WorkKind};
use ouroboros_proto::limits;

const FAULT: WorkerExit = WorkerExit::Signal(6);
const KILLED: WorkerExit = WorkerExit::Signal(9);
const FAILS: Ending = Ending::Exited { code: 7 };

/// What became of the task.
#[derive(Debug, PartialEq, Eq)]
enum Fate {
    Over(Outcome),
    Again(Requeue),
}

fn cancelled() -> Fate {
    Fate::Over(Outcome::Cancelled(CancelReason::Requested))
}

fn failed(failure: Failure) -> Fate {
    Fate::Over(Outcome::Failed(failure))
}

/// How an attempt ends.
#[derive(Debug, Clone, Copy)]
enum End {
    /// Its worker reports this, then leaves.
    Reports(Ending),
    /// Its worker dies and had written this to disk.
    Keeps(Ending),
    /// Its worker dies without a word.
    Dies(WorkerExit),
}

fn fate(released: bool, policy: Policy, cancel: bool, end: End) -> Fate {
    let mut rig = Rig::new();
    let (task, place) = rig.start(policy);
    let mut sequence = 1;
    if released {
        rig.started(place, sequence);
        sequence += 1;
    }
    if cancel {
        rig.cancel(task, 1_000);
    }
    match end {
        End::Reports(ending) => {
            rig.terminal(place, sequence, ending);
            let waits = rig.core.task(task).is_some_and(|row| row.state != TaskState::Queued);
            assert!(waits || rig.outcome(task).is_some(), "queued again before its worker is gone");
            rig.gone(place, WorkerExit::Code(0));
        }
        End::Keeps(ending) => {
            rig.gone_keeping(place, FAULT, Some(ending));
        }
        End::Dies(exit) => {
            rig.gone(place, exit);
        }
    }
    assert!(rig.attempts[&place.attempt].ended_at.is_some(), "the attempt is closed");
    let why = rig.events.iter().rev().find_map(|event| match event {
        Event::AttemptEnded { why, .. } => Some(*why),
        _ => None,
    });
    match (rig.outcome(task), why) {
        (Some(outcome), _) => Fate::Over(outcome),
        (None, Some(why)) => Fate::Again(why),
        (None, None) => panic!("nothing was decided: {:?}", rig.core.task(task)),
    }
}

const RETRY: Policy = Policy { retries: 1, ..PLAIN };
const RERUN: Policy = Policy { rerun: true, ..PLAIN };

#[test]
fn a_natural_ending_wins_over_everything() {
    let natural = [
        Ending::Exited { code: 0 },
        FAILS,
        Ending::Signaled { signal: 9, out_of_memory: OutOfMemory::Yes },
        Ending::TimedOut,
    ];
    for ending in natural {
        let expected = match ending {
            Ending::Exited { code: 0 } => Outcome::Completed,
            ending => Outcome::Failed(Failure::Ended(ending)),
        };
        for policy in [PLAIN, RERUN] {
            for cancel in [false, true] {
                for end in [End::Reports(ending), End::Keeps(ending)] {
                    let fate = fate(true, policy, cancel, end);
                    assert_eq!(fate, Fate::Over(expected.clone()), "{policy:?} {cancel} {end:?}");
                }
            }
        }
    }
}

#[test]
fn retries_are_for_failures_that_nobody_cancelled() {
    let failures = [
        FAILS,
        Ending::TimedOut,
        Ending::Signaled { signal: 11, out_of_memory: OutOfMemory::No },
        Ending::NotFound,
        Ending::NotExecutable { errno: 13 },
        Ending::BadDirectory { errno: 2 },
    ];
    for ending in failures {
        for end in [End::Reports(ending), End::Keeps(ending)] {
            assert_eq!(fate(true, RETRY, false, end), Fate::Again(Requeue::Retry), "{end:?}");
            assert_eq!(fate(true, RETRY, true, end), failed(Failure::Ended(ending)), "{end:?}");
            assert_eq!(fate(true, PLAIN, false, end), failed(Failure::Ended(ending)), "{end:?}");
        }
    }
    let good = End::Reports(Ending::Exited { code: 0 });
    assert_eq!(fate(true, RETRY, false, good), Fate::Over(Outcome::Completed));
}

#[test]
fn a_loss_is_judged_by_whether_it_may_have_run() {
    let exits = [(FAULT, true), (WorkerExit::Code(101), true), (KILLED, false), (WorkerExit::Signal(15), false)];
    for (exit, own_fault) in exits {
        let end = End::Dies(exit);
        let unreleased = Fate::Again(if own_fault { Requeue::WorkerCrashed } else { Requeue::NeverRan });
        for policy in [PLAIN, RETRY, RERUN] {
            assert_eq!(fate(false, policy, false, end), unreleased, "{policy:?} {exit:?}");
            assert_eq!(fate(false, policy, true, end), cancelled(), "{policy:?} {exit:?}");
            assert_eq!(fate(true, policy, true, end), cancelled(), "{policy:?} {exit:?}");
        }
        assert_eq!(fate(true, PLAIN, false, end), failed(Failure::Interrupted), "{exit:?}");
        assert_eq!(fate(true, RETRY, false, end), failed(Failure::Interrupted), "{exit:?}");
        assert_eq!(fate(true, RERUN, false, end), Fate::Again(Requeue::WorkerCrashed), "{exit:?}");
    }
}

#[test]
fn what_keeps_a_transcript_goes_on_from_it() {
    for (exit, again) in
        [(None, Requeue::Continued), (Some(FAULT), Requeue::WorkerCrashed), (Some(KILLED), Requeue::WorkerCrashed)]
    {
        let mut rig = Rig::new();
        let (task, place) = rig.start_of(WorkKind::Agent, PLAIN);
        rig.started(place, 1);
        rig.report(place, 2, WorkerReport::Entry([b'{'][..].into()));
        match exit {
            Some(exit) => rig.gone(place, exit),
            None => {
                rig.terminal(place, 3, Ending::Stopped);
                rig.gone(place, WorkerExit::Code(0))
            }
        };
        assert_eq!(rig.outcome(task), None);
        assert!(
            rig.events.iter().any(|event| matches!(event, Event::AttemptEnded { why, .. } if *why == again)),
            "{exit:?}"
        );
    }
}

#[test]
fn stopped_is_an_interruption() {
    for end in [End::Reports(Ending::Stopped), End::Keeps(Ending::Stopped)] {
        assert_eq!(fate(false, PLAIN, false, end), Fate::Again(Requeue::NeverRan));
        assert_eq!(fate(true, PLAIN, false, end), failed(Failure::Interrupted));
        assert_eq!(fate(true, RERUN, false, end), Fate::Again(Requeue::Rerun));
        assert_eq!(fate(true, RETRY, false, end), failed(Failure::Interrupted));
        for released in [false, true] {
            assert_eq!(fate(released, RERUN, true, end), cancelled());
        }
    }
}

#[test]
fn a_failed_set_up_counts_as_a_crash_until_it_runs_alone() {
    let end = End::Reports(Ending::SetUpFailed { errno: 24 });
    assert_eq!(fate(false, PLAIN, false, end), Fate::Again(Requeue::WorkerCrashed));
    let how = Failure::Ended(Ending::SetUpFailed { errno: 24 });
    assert_eq!(fate(false, PLAIN, true, end), failed(how.clone()));
    assert_eq!(fate(true, PLAIN, false, end), failed(how.clone()));
    let mut rig = Rig::new();
    let (task, mut place) = rig.start(PLAIN);
    for _ in 0..3 {
        rig.terminal(place, 1, Ending::SetUpFailed { errno: 24 });
        rig.gone(place, WorkerExit::Code(0));
        rig.workers();
        place = rig.place(task).unwrap_or(place);
    }
    assert_eq!(rig.outcome(task), Some(Outcome::Failed(how)));
}

#[test]
fn an_unreadable_task_fails_and_its_worker_is_ended() {
    let mut rig = Rig::new();
    let (task, place) = rig.start(RETRY);
    let event = ouroboros_domain::WorkerEvent::Unreadable { attempt: place.attempt };
    let decision = rig.worker(place.worker, event);
    assert_eq!(rig.outcome(task), Some(Outcome::Failed(Failure::Unreadable)));
    assert!(decision.effects.contains(&ouroboros_domain::Effect::EndWorker { worker: place.worker }));
    rig.gone(place, KILLED);
    assert_eq!(rig.core.rows().attempts, []);
}

#[test]
fn pauses_before_retries_double_up_to_their_bound() {
    let retries = 14;
    for entropy in [0, 1, 249, u64::MAX] {
        let mut rig = Rig::new();
        rig.entropy = entropy;
        let (task, mut place) = rig.run(Policy { retries, ..PLAIN });
        for round in 0..retries {
            rig.terminal(place, 2, FAILS);
            rig.gone(place, WorkerExit::Code(0));
            let due = rig.core.task(task).and_then(|row| row.not_before).expect("it waits").get();
            let pause = u64::try_from(due - rig.wall).unwrap() / 1_000;
            let plain = (1_000 << round).min(limits::RETRY_PAUSE_MILLIS.max);
            assert!((plain..plain + plain / 4 + 1).contains(&pause), "retry {round}: {pause} ms");
            rig.pass(Millis::new(pause - 1));
            rig.workers();
            assert_eq!(rig.place(task), None, "too soon");
            rig.pass(Millis::new(1));
            rig.workers();
            place = rig.place(task).expect("it runs again");
            rig.started(place, 1);
        }
        rig.terminal(place, 2, FAILS);
        assert_eq!(rig.outcome(task), Some(Outcome::Failed(Failure::Ended(FAILS))));
        assert_eq!(rig.settled[&task].attempts, retries + 1);
    }
}

#[test]
fn only_the_next_frame_of_the_right_attempt_and_generation_is_taken() {
    use ouroboros_domain::{Effect, WorkerEvent, WorkerReport};
    use ouroboros_proto::kind::{AttemptId, Generation, WorkerId};
    let mut rig = Rig::new();
    let (task, place) = rig.run(PLAIN);
    let (_, other) = rig.run(PLAIN);
    let generation = rig.core.generation();
    let done = WorkerReport::Terminal(crate::rig::report(Ending::Exited { code: 0 }));
    let frame =
        |attempt, generation, sequence| WorkerEvent::Report { attempt, generation, sequence, report: done.clone() };
    for (worker, event) in [
        (place.worker, frame(place.attempt, Generation::new(0), 2)),
        (place.worker, frame(place.attempt, generation.next(), 2)),
        (place.worker, frame(AttemptId::from_bytes([9; 16]), generation, 2)),
        (place.worker, frame(other.attempt, generation, 2)),
        (other.worker, frame(place.attempt, generation, 2)),
        (WorkerId::new(99), frame(place.attempt, generation, 2)),
    ] {
        let decision = rig.worker(worker, event);
        assert_eq!((decision.changes, decision.effects), (vec![], vec![]));
    }
    let (worker, attempt) = (place.worker, place.attempt);
    let early = rig.terminal(place, 4, Ending::Exited { code: 0 });
    assert_eq!(early.changes, []);
    assert_eq!(early.effects, [Effect::Resend { worker, attempt, after: 1 }]);
    let late = rig.terminal(place, 1, Ending::Exited { code: 0 });
    assert_eq!(late.changes, []);
    assert_eq!(late.effects, [Effect::Acknowledge { worker, attempt, sequence: 1 }]);
    assert_eq!(rig.outcome(task), None);
    rig.terminal(place, 2, Ending::Exited { code: 0 });
    let after = rig.terminal(place, 3, FAILS);
    assert_eq!(after.changes, [], "nothing is recorded after the end");
    assert_eq!(after.effects, [Effect::Acknowledge { worker, attempt, sequence: 2 }]);
    assert_eq!(rig.outcome(task), Some(Outcome::Completed));
}
