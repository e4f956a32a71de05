//! A control group for each attempt, where the host lets us make one and it tells or holds more than a namespace does: on the
//! host, where it ends what left its session, and wherever the kernel counts memory, where it tells an out-of-memory kill.

use ouroboros_process::cgroup::{Base, Group};
use ouroboros_proto::kind::{AttemptId, Generation, InstallationId, Isolation};
use std::sync::Arc;
use std::time::Duration;

/// Time for the groups of an earlier life to become empty.
const BOUND: Duration = Duration::from_secs(2);

/// Makes groups, or none.
#[derive(Debug)]
pub struct Groups {
    base: Option<Base>,
    owner: InstallationId,
    generation: Generation,
}

impl Groups {
    /// Finds out whether groups can be made; ends what is left in those of earlier lives of this installation.
    #[must_use]
    pub fn detect(owner: InstallationId, generation: Generation) -> Self {
        let base = Base::detect().inspect_err(|reason| tracing::info!(%reason, "attempts get no control group")).ok();
        let groups = Self { base, owner, generation };
        groups.end_leftovers();
        groups
    }

    /// The group of an attempt, with its worker in it. `None` when there is none: the other layers carry.
    #[must_use]
    pub fn enter(&self, attempt: AttemptId, isolation: Isolation, worker: i32) -> Option<Arc<Group>> {
        let base = self.base.as_ref().filter(|base| isolation == Isolation::Host || base.counts_memory())?;
        let made = base.create(self.owner, self.generation, attempt).and_then(|group| {
            group.add(worker)?;
            Ok(Arc::new(group))
        });
        made.inspect_err(|error| tracing::warn!(attempt = %attempt, %error, "no control group for an attempt")).ok()
    }

    fn end_leftovers(&self) {
        let Some(base) = &self.base else { return };
        let left = base.leftovers(self.owner, self.generation).unwrap_or_default();
        for group in left {
            let ended = group.kill().and_then(|()| group.wait_empty(BOUND)).and_then(|_| group.remove());
            if let Err(error) = ended {
                tracing::warn!(group = %group.path().display(), %error, "a control group of an earlier life stays");
            }
        }
    }
}
