//! One question to a model: the request goes to the server, the answer's text becomes standard output.
//!
//! | module | what it is for |
//! | --- | --- |
//! | [`answer`] | what is written of an answer while it comes, and what its end means |
//!
//! What is said beside the answer goes to standard error.

mod answer;

use crate::keep::{Place, place};
use crate::link::{Mailbox, Orders, Reporter};
use crate::model::{Line, Speech};
use ouroboros_proto::kind::{AttemptReport, Ending, ModelFailure, Usage, clock};
use ouroboros_proto::wire::AskWork;

/// Asks, and reports the end. `orders` is what arrived together with the work.
pub fn run(mailbox: &Mailbox, reporter: Reporter, work: &AskWork, orders: Orders) {
    let since = clock::boot();
    let place = Place::new(&work.output_base);
    let mut speech = Speech::new(&work.output_base, work.output_limit);
    let deadline = work.timeout.map(|timeout| since.plus(timeout));
    let mut line = Line::new(mailbox, reporter, orders, deadline);
    let ending = match line.call(work.request.clone(), &mut speech, &mut answer::piece) {
        (why, Some(end)) => {
            let ending = answer::over(&mut speech, &end);
            why.filter(|_| ending != Ending::Answered).unwrap_or(ending)
        }
        (Some(why), None) => why,
        (None, None) => Ending::ModelFailed { failure: ModelFailure::Malformed },
    };
    let settling = mailbox.settle();
    let mut reporter = line.into_reporter();
    let (stdout, stderr) = speech.finish(&mut reporter);
    let usage = Usage { elapsed: clock::boot().since(since), ..Usage::default() };
    let report = AttemptReport { ending, usage, stdout, stderr };
    place.store(&report, &reporter);
    drop(settling);
    place::deliver(report, mailbox, &mut reporter);
}
