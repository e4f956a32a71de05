//! How many requests a route carries at a time, when it rests, and how it has been.
//!
//! One gate for the whole process. Those who wait at a route go in the order in which they came; a rest after a rate
//! limit or an overload holds for all of them. What the gate knows of a route is for showing; nothing is decided by it,
//! so routes that nobody has used for the longest time are forgotten when there are many.

use crate::route::RouteId;
use ouroboros_proto::kind::{Millis, UtcMicros};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until};

/// Requests at a time on a route that says nothing else.
pub const REMOTE_REQUESTS: usize = 8;
/// The same on a server of this machine.
pub const LOCAL_REQUESTS: usize = 1;
/// No route carries more.
pub const MAX_REQUESTS: usize = 1_024;

/// Routes that are remembered; more only while more are in use.
const MAX_LANES: usize = 256;

/// All routes' gates.
#[derive(Debug, Default)]
pub struct Gate {
    lanes: Mutex<BTreeMap<RouteId, Lane>>,
}

#[derive(Debug)]
struct Lane {
    places: Arc<Semaphore>,
    limit: usize,
    /// Places that are to go as soon as they come back.
    owed: usize,
    rests_until: Option<Instant>,
    /// When it was last asked for.
    used: Instant,
    health: Health,
}

/// How a route has been.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Health {
    /// Requests that are on their way.
    pub in_flight: usize,
    /// Requests at a time.
    pub limit: usize,
    /// How much longer it rests.
    pub rests: Option<Millis>,
    /// When it last answered.
    pub last_answer: Option<UtcMicros>,
    /// When it last did not, and why.
    pub last_failure: Option<(UtcMicros, String)>,
}

/// A place on a route; it is free again when this is dropped.
#[derive(Debug)]
pub struct Permit {
    gate: Arc<Gate>,
    route: RouteId,
    place: Option<OwnedSemaphorePermit>,
}

impl Gate {
    /// Without routes: each begins with its first request.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Waits for a place on this route, and for the end of its rest. `limit` is how many requests it carries at a time. Dropping the future
    /// gives the place in the line up.
    pub async fn acquire(self: &Arc<Self>, route: &RouteId, limit: usize) -> Permit {
        let places = self.lane(route, limit, |lane| Arc::clone(&lane.places));
        // The semaphore is never closed; were it, the request goes without a place rather than not at all.
        let place = places.acquire_owned().await.ok();
        let permit = Permit { gate: Arc::clone(self), route: route.clone(), place };
        // A rest can be made longer while it is waited for.
        while let Some(until) = self.lane(route, limit, |lane| lane.rests_until.filter(|until| *until > Instant::now()))
        {
            sleep_until(until).await;
        }
        permit
    }

    /// Lets a route rest for at least this long from now.
    pub fn rest(&self, route: &RouteId, span: Millis) {
        let now = Instant::now();
        let until = now.checked_add(span.duration()).unwrap_or_else(|| now + Duration::from_secs(86_400));
        if let Some(lane) = self.lanes().get_mut(route) {
            lane.rests_until = lane.rests_until.max(Some(until));
        }
    }

    /// The route answered.
    pub fn answered(&self, route: &RouteId, at: UtcMicros) {
        if let Some(lane) = self.lanes().get_mut(route) {
            lane.health.last_answer = Some(at);
        }
    }

    /// The route did not answer.
    pub fn failed(&self, route: &RouteId, at: UtcMicros, reason: impl Into<String>) {
        if let Some(lane) = self.lanes().get_mut(route) {
            lane.health.last_failure = Some((at, reason.into()));
        }
    }

    /// How a route has been; `None` when it was never used.
    #[must_use]
    pub fn health(&self, route: &RouteId) -> Option<Health> {
        self.lanes().get(route).map(Lane::health)
    }

    fn lane<T>(&self, route: &RouteId, limit: usize, read: impl FnOnce(&mut Lane) -> T) -> T {
        let mut lanes = self.lanes();
        if lanes.len() >= MAX_LANES && !lanes.contains_key(route) {
            let idle = lanes.iter().filter(|(_, lane)| lane.is_idle());
            if let Some(oldest) = idle.min_by_key(|(_, lane)| lane.used).map(|(route, _)| route.clone()) {
                lanes.remove(&oldest);
            }
        }
        let lane = lanes.entry(route.clone()).or_insert_with(|| Lane::new(limit));
        lane.resize(limit);
        lane.used = Instant::now();
        read(lane)
    }

    fn lanes(&self) -> MutexGuard<'_, BTreeMap<RouteId, Lane>> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lane {
    fn new(limit: usize) -> Self {
        let limit = limit.clamp(1, MAX_REQUESTS);
        let places = Arc::new(Semaphore::new(limit));
        Self { places, limit, owed: 0, rests_until: None, used: Instant::now(), health: Health::default() }
    }

    /// Nobody has or waits for a place, and it does not rest.
    fn is_idle(&self) -> bool {
        Arc::strong_count(&self.places) == 1 && self.rests_until.is_none_or(|until| until <= Instant::now())
    }

    /// The limit follows what the server says. Places in use go when they come back.
    fn resize(&mut self, limit: usize) {
        let limit = limit.clamp(1, MAX_REQUESTS);
        if limit > self.limit {
            let more = limit.saturating_sub(self.limit);
            let kept = more.min(self.owed);
            self.owed = self.owed.saturating_sub(kept);
            self.places.add_permits(more.saturating_sub(kept));
        } else {
            let fewer = self.limit.saturating_sub(limit);
            let gone = self.places.forget_permits(fewer);
            self.owed = self.owed.saturating_add(fewer.saturating_sub(gone));
        }
        self.limit = limit;
    }

    fn health(&self) -> Health {
        let rests = self.rests_until.map(|until| until.saturating_duration_since(Instant::now()));
        let rests = rests.filter(|rest| !rest.is_zero());
        Health {
            in_flight: self.limit.saturating_add(self.owed).saturating_sub(self.places.available_permits()),
            limit: self.limit,
            rests: rests.map(|rest| Millis::new(u64::try_from(rest.as_millis()).unwrap_or(u64::MAX))),
            ..self.health.clone()
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut lanes = self.gate.lanes();
        let Some(lane) = lanes.get_mut(&self.route) else { return };
        if lane.owed > 0 {
            lane.owed = lane.owed.saturating_sub(1);
            if let Some(place) = self.place.take() {
                place.forget();
            }
        }
    }
}

#[cfg(test)]
mod tests;
