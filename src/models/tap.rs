//! What stands between a send and its worker: the money before it leaves, the pieces while it comes.

use super::call::Context;
use super::calls::Asker;
use futures_util::future::BoxFuture;
use ouroboros_domain::{MoneyInput, Reservation, SendAnswer};
use ouroboros_gateway::transport::{Leave, Listener};
use ouroboros_proto::agent::Piece;
use std::sync::Arc;
use tokio::sync::Notify;

/// Hears of one send.
pub struct Tap<'a> {
    context: &'a Context,
    asker: &'a Asker,
    reservation: Reservation,
    /// Whether text is shown to those who follow the task.
    shown: bool,
    held: Held,
    left: Arc<Notify>,
}

/// What was said when its money was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// Nobody asked yet, or took the question back.
    NotAsked,
    /// It is set aside.
    Admitted,
    /// It is not.
    Answered(SendAnswer),
    /// Nobody will answer any more.
    ServerLeaves,
}

impl<'a> Tap<'a> {
    /// For a send that wants this set aside. What is asked without tools is no turn of an agent, and is not `shown`.
    pub fn new(context: &'a Context, asker: &'a Asker, reservation: Reservation, shown: bool) -> Self {
        Self { context, asker, reservation, shown, held: Held::NotAsked, left: Arc::default() }
    }

    /// Notified when it leaves.
    pub fn left(&self) -> Arc<Notify> {
        Arc::clone(&self.left)
    }

    /// What was said.
    pub fn held(&self) -> Held {
        self.held
    }
}

impl Listener for Tap<'_> {
    fn leaving(&mut self) -> BoxFuture<'_, Leave> {
        Box::pin(async {
            // What the request follows from is durable first.
            if !self.asker.is_recorded().await {
                self.held = Held::ServerLeaves;
                return Leave::Stay;
            }
            let send = self.reservation.send;
            let answer = self.context.asked.ask(send, MoneyInput::Reserve(self.reservation.clone())).await;
            self.held = match answer {
                Some(SendAnswer::Admitted) => Held::Admitted,
                Some(answer) => Held::Answered(answer),
                None => Held::ServerLeaves,
            };
            if self.held == Held::Admitted {
                self.left.notify_one();
                Leave::Go
            } else {
                Leave::Stay
            }
        })
    }

    fn piece(&mut self, piece: Piece) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if let Piece::Text(text) = &piece
                && self.shown
            {
                self.asker.show(text);
            }
            self.asker.piece(&piece).await;
        })
    }
}
