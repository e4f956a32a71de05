//! A copy of the database while commits go on: it is taken through the writer's own connection, a few pages at a time, so
//! that commits in between are carried over instead of making it start again.

use super::thread::Thread;
use crate::backup::{BackupError, Draft};
use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};
use std::path::Path;

/// Pages copied between two commits: about a millisecond.
const PAGES: i32 = 128;

impl Thread {
    /// Copies the database to `path`, which must not exist, serving batches in between.
    pub(super) fn back_up(&mut self, conn: &Connection, path: &Path) -> Result<(), BackupError> {
        let mut draft = Draft::create(path)?;
        {
            let backup = Backup::new(conn, draft.connection()).map_err(BackupError::Sql)?;
            loop {
                match backup.step(PAGES).map_err(BackupError::Sql)? {
                    StepResult::Done => break,
                    StepResult::More | StepResult::Busy | StepResult::Locked => {}
                    other => return Err(BackupError::Unexpected(format!("{other:?}"))),
                }
                if let Some(first) = self.waiting() {
                    let group = self.gather(first);
                    self.commit_group(Some(conn), &group);
                    if self.is_poisoned() {
                        return Err(BackupError::Interrupted);
                    }
                }
            }
        }
        draft.finish()
    }
}
