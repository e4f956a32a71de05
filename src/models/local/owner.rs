//! The one that starts the inference server, waits until it answers, hands it out, and ends it.

use super::plan::Plan;
use super::rest::Rest;
use super::{InUse, LocalError, probe};
use futures_util::future::BoxFuture;
use ouroboros_proto::kind::{Millis, TaskNumber, clock};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{sleep, timeout};

/// How long a model may take to be loaded.
const READY_BOUND: Millis = Millis::seconds(600);
/// How long the end of what was told to end is waited for, before another one is started.
const END_BOUND: Millis = Millis::seconds(30);

/// Somebody wants it: its port, and the guard that keeps it.
pub type Wish = oneshot::Sender<Result<(u16, InUse), LocalError>>;

/// Runs a command; one at a time.
pub trait Runner: Send + 'static {
    /// Starts it.
    fn start(&mut self, argv: Vec<String>) -> BoxFuture<'_, Result<TaskNumber, String>>;
    /// Waits until it has ended; at once when none runs. The future may be dropped and asked for again.
    fn ended(&mut self) -> BoxFuture<'_, ()>;
    /// Tells it to end.
    fn end(&mut self) -> BoxFuture<'_, ()>;
}

/// The owner.
pub struct Owner<R, P> {
    runner: R,
    plan: P,
    wishes: mpsc::Receiver<Wish>,
    waiting: Vec<Wish>,
    up: Arc<AtomicBool>,
}

/// One that was started.
struct Run {
    plan: Plan,
    port: u16,
    number: TaskNumber,
}

/// Nobody can ask for anything any more.
struct Leaving;

impl<R: Runner, P: Fn() -> Plan + Send + 'static> Owner<R, P> {
    /// With nothing running. `plan` tells what is set at the moment, `up` is kept true while it answers.
    pub fn new(runner: R, plan: P, wishes: mpsc::Receiver<Wish>, up: Arc<AtomicBool>) -> Self {
        Self { runner, plan, wishes, waiting: Vec::new(), up }
    }

    /// Serves wishes until nobody can have one.
    pub async fn run(mut self) {
        let mut rest = Rest::default();
        while let Ok(()) = self.wanted().await {
            if let Some(seconds) = rest.left(clock::boot()) {
                self.refuse(&LocalError::Resting(seconds));
                continue;
            }
            let run = match self.start().await {
                Ok(run) => run,
                Err(error) => {
                    self.refuse(&error);
                    continue;
                }
            };
            match self.load(&run).await {
                Ok(Ok(())) => {
                    rest.over();
                    self.up.store(true, Ordering::Release);
                    let left = self.serve(&run).await;
                    self.up.store(false, Ordering::Release);
                    if left.is_err() {
                        return;
                    }
                }
                Ok(Err(error)) => {
                    tracing::warn!(task = run.number.get(), %error, "the local model did not come up");
                    rest.failed(clock::boot());
                    self.refuse(&error);
                }
                Err(Leaving) => return,
            }
        }
    }

    /// Waits until somebody wants it.
    async fn wanted(&mut self) -> Result<(), Leaving> {
        self.waiting.retain(|wish| !wish.is_closed());
        while self.waiting.is_empty() {
            let wish = self.wishes.recv().await.ok_or(Leaving)?;
            self.waiting.extend((!wish.is_closed()).then_some(wish));
        }
        Ok(())
    }

    fn refuse(&mut self, error: &LocalError) {
        for wish in self.waiting.drain(..) {
            // Whoever asked may not be interested any more.
            let _ = wish.send(Err(error.clone()));
        }
    }

    async fn start(&mut self) -> Result<Run, LocalError> {
        let plan = (self.plan)();
        let port = plan.free_port()?;
        let argv = plan.argv(port)?;
        let number = self.runner.start(argv).await.map_err(LocalError::NotStarted)?;
        tracing::info!(task = number.get(), port, "the local model is started");
        Ok(Run { plan, port, number })
    }

    /// Waits until it answers; the inner error is why it never will.
    async fn load(&mut self, run: &Run) -> Result<Result<(), LocalError>, Leaving> {
        let begun = clock::boot();
        let (answers, late) = (probe::answers(run.port), sleep(READY_BOUND.duration()));
        tokio::pin!(answers, late);
        loop {
            tokio::select! {
                // What has ended does not answer: somebody else does.
                biased;
                () = self.runner.ended() => return Ok(Err(LocalError::Ended(run.number))),
                () = &mut answers => break,
                () = &mut late => {
                    self.end().await;
                    return Ok(Err(LocalError::Silent(run.number)));
                }
                wish = self.wishes.recv() => self.waiting.push(wish.ok_or(Leaving)?),
            }
        }
        let elapsed = clock::boot().since(begun).get();
        tracing::info!(task = run.number.get(), elapsed, "the local model answers");
        Ok(Ok(()))
    }

    /// Hands it out until it has ended: by itself, for idleness, or because something else is to run.
    async fn serve(&mut self, run: &Run) -> Result<(), Leaving> {
        let users = watch::Sender::new(0_usize);
        let mut used = users.subscribe();
        loop {
            let plan = (self.plan)();
            let same = plan.runs_the_same(&run.plan);
            if same {
                for wish in self.waiting.drain(..) {
                    // Whoever asked may not be interested any more; the guard is dropped then.
                    let _ = wish.send(Ok((run.port, InUse::new(&users))));
                }
            }
            let in_use = *used.borrow_and_update() > 0;
            if !same && !in_use {
                tracing::info!(task = run.number.get(), "the local model is ended: its settings changed");
                self.end().await;
                return Ok(());
            }
            tokio::select! {
                biased;
                () = self.runner.ended() => {
                    tracing::warn!(task = run.number.get(), "the local model ended");
                    return Ok(());
                }
                wish = self.wishes.recv() => self.waiting.push(wish.ok_or(Leaving)?),
                _ = used.changed() => {}
                () = sleep(plan.idle.duration()), if !in_use && plan.idle > Millis::ZERO => {
                    tracing::info!(task = run.number.get(), "the local model is idle and is ended");
                    self.end().await;
                    return Ok(());
                }
            }
        }
    }

    /// Ends it, and waits until it has ended: the next one may need its port and its memory.
    async fn end(&mut self) {
        self.up.store(false, Ordering::Release);
        self.runner.end().await;
        if timeout(END_BOUND.duration(), self.runner.ended()).await.is_err() {
            tracing::warn!("the local model was told to end and has not ended");
        }
    }
}
