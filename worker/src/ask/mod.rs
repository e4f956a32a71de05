//! One question to a model: the request goes to the server, the answer's text becomes standard output.
//!
//! | module | what it is for |
//! | --- | --- |
//! | [`answer`] | what is written of an answer while it comes, and what its end means |
//!
//! What is said beside the answer goes to standard error.

mod answer;

use crate::link::{Mailbox, Orders, Reporter};
use crate::model::{self, Bounds};
use ouroboros_proto::kind::{Ending, ModelFailure};
use ouroboros_proto::wire::AskWork;

/// Asks, and reports the end. `orders` is what arrived together with the work.
pub fn run(mailbox: &Mailbox, reporter: Reporter, work: &AskWork, orders: Orders) {
    let AskWork { request, timeout, output_limit, output_base } = work;
    let bounds = Bounds { output_base, output_limit: *output_limit, timeout: *timeout };
    model::attempt(mailbox, reporter, orders, &bounds, |line, speech| {
        match line.call(request.clone(), speech, &mut answer::piece) {
            (why, Some(end)) => {
                let ending = answer::over(speech, &end);
                why.filter(|_| ending != Ending::Answered).unwrap_or(ending)
            }
            (Some(why), None) => why,
            (None, None) => Ending::ModelFailed { failure: ModelFailure::Malformed },
        }
    });
}
