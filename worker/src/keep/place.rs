//! Keeping the last report and delivering it.

use super::capture;
use crate::link::{Mailbox, Reporter};
use crate::note::note;
use crate::wake;
use ouroboros_proto::kind::AttemptReport;
use ouroboros_proto::wire::Report;
use rustix::event::{PollFd, PollFlags};
use std::io::{self, Write};
use std::path::PathBuf;

/// Where the report is kept until the server has it: for a server that dies in between.
pub struct Place(PathBuf);

impl Place {
    /// Beside the output.
    pub fn new(output_base: &str) -> Self {
        Self(format!("{output_base}.ending").into())
    }

    /// Stores the frame with which the report will be sent. Not synced: it has to survive us, not the machine.
    pub fn store(&self, report: &AttemptReport, reporter: &Reporter) {
        if let Err(error) = self.write(report, reporter) {
            note(format_args!("cannot keep the report in {}: {error}", self.0.display()));
        }
    }

    fn write(&self, report: &AttemptReport, reporter: &Reporter) -> io::Result<()> {
        let frame = reporter.preview(&Report::Terminal(*report)).map_err(io::Error::other)?;
        capture::create(&self.0)?.write_all(&frame)
    }
}

/// Sends the report and returns when it is durable. Without a bound: the lifeline ends this process when the server goes.
pub fn deliver(report: AttemptReport, mailbox: &Mailbox, reporter: &mut Reporter) {
    let last = reporter.report(Report::Terminal(report));
    loop {
        let orders = mailbox.take();
        reporter.answer(&orders);
        if orders.acknowledged.is_some_and(|sequence| sequence >= last) {
            return;
        }
        let mut fds = vec![PollFd::new(mailbox, PollFlags::IN)];
        if !reporter.is_idle() {
            fds.push(PollFd::new(&*reporter, PollFlags::OUT));
        }
        wake::until(&mut fds, None);
        drop(fds);
        reporter.flush();
    }
}
