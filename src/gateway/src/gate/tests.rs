use super::*;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};

fn route() -> RouteId {
    RouteId::new("p", "m")
}

/// Whether a place is free at once.
fn is_free(gate: &Arc<Gate>, limit: usize) -> bool {
    let route = route();
    let mut acquire = pin!(gate.acquire(&route, limit));
    acquire.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready()
}

#[tokio::test]
async fn a_route_carries_as_many_as_its_limit_and_others_are_not_held() {
    let gate = Gate::new();
    let first = gate.acquire(&route(), 2).await;
    let second = gate.acquire(&route(), 2).await;
    assert!(!is_free(&gate, 2));
    drop(gate.acquire(&RouteId::new("p", "other"), 1).await);
    assert_eq!(gate.health(&route()).map(|health| (health.in_flight, health.limit)), Some((2, 2)));
    drop(first);
    assert!(is_free(&gate, 2));
    drop(second);
    assert_eq!(gate.health(&route()).map(|health| health.in_flight), Some(0));
}

#[tokio::test]
async fn those_who_wait_go_in_the_order_in_which_they_came() {
    let gate = Gate::new();
    let held = gate.acquire(&route(), 1).await;
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = Vec::new();
    for number in 0..8 {
        let (gate, order) = (Arc::clone(&gate), Arc::clone(&order));
        tasks.push(tokio::spawn(async move {
            let permit = gate.acquire(&route(), 1).await;
            order.lock().expect("an order").push(number);
            drop(permit);
        }));
        tokio::task::yield_now().await;
    }
    // Who gives up is passed over.
    tasks[3].abort();
    drop(held);
    for (number, task) in tasks.into_iter().enumerate() {
        assert_eq!(task.await.is_err(), number == 3);
    }
    assert_eq!(*order.lock().expect("an order"), [0, 1, 2, 4, 5, 6, 7]);
}

#[tokio::test(start_paused = true)]
async fn a_rest_holds_for_all_and_can_only_get_longer() {
    let gate = Gate::new();
    drop(gate.acquire(&route(), 8).await);
    gate.rest(&route(), Millis::seconds(20));
    gate.rest(&route(), Millis::seconds(5));
    assert_eq!(gate.health(&route()).and_then(|health| health.rests), Some(Millis::seconds(20)));
    let start = Instant::now();
    let longer = Arc::clone(&gate);
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(10)).await;
        longer.rest(&route(), Millis::seconds(30));
    });
    let (a, b) = (route(), route());
    let (first, second) = tokio::join!(gate.acquire(&a, 8), gate.acquire(&b, 8));
    assert_eq!(start.elapsed().as_secs(), 40);
    drop((first, second));
    assert_eq!(gate.health(&route()).and_then(|health| health.rests), None);
}

#[tokio::test(start_paused = true)]
async fn who_gives_up_while_a_route_rests_leaves_no_place_taken() {
    let gate = Gate::new();
    drop(gate.acquire(&route(), 1).await);
    gate.rest(&route(), Millis::seconds(20));
    let route = route();
    let waiting = tokio::time::timeout(Duration::from_secs(1), gate.acquire(&route, 1)).await;
    assert!(waiting.is_err());
    assert_eq!(gate.health(&route).map(|health| health.in_flight), Some(0));
}

#[tokio::test]
async fn a_limit_follows_what_the_server_says() {
    let gate = Gate::new();
    let permits = [gate.acquire(&route(), 3).await, gate.acquire(&route(), 3).await, gate.acquire(&route(), 3).await];
    // Fewer: what is on its way stays, and its place goes with it.
    assert!(!is_free(&gate, 1));
    assert_eq!(gate.health(&route()).map(|health| (health.in_flight, health.limit)), Some((3, 1)));
    let [first, second, third] = permits;
    drop(first);
    assert!(!is_free(&gate, 1));
    // More again, before all of them came back.
    assert!(is_free(&gate, 3));
    drop(second);
    drop(third);
    let again = [gate.acquire(&route(), 3).await, gate.acquire(&route(), 3).await, gate.acquire(&route(), 3).await];
    assert!(!is_free(&gate, 3));
    assert_eq!(gate.health(&route()).map(|health| (health.in_flight, health.limit)), Some((3, 3)));
    drop(again);
}

#[tokio::test]
async fn how_a_route_has_been_is_remembered() {
    let gate = Gate::new();
    assert_eq!(gate.health(&route()), None);
    drop(gate.acquire(&route(), 0).await);
    gate.answered(&route(), UtcMicros::new(5));
    gate.failed(&route(), UtcMicros::new(7), "busy");
    let health = gate.health(&route()).expect("a route");
    assert_eq!(health.last_answer, Some(UtcMicros::new(5)));
    assert_eq!(health.last_failure, Some((UtcMicros::new(7), "busy".to_owned())));
    assert_eq!(health.limit, 1, "a route carries at least one");
}

#[tokio::test(start_paused = true)]
async fn routes_without_use_are_forgotten_when_there_are_many() {
    let gate = Gate::new();
    let named = |number: usize| RouteId::new("p", &number.to_string());
    let held = gate.acquire(&named(0), 1).await;
    drop(gate.acquire(&named(1), 1).await);
    gate.rest(&named(1), Millis::seconds(3_600));
    for number in 2..1_000 {
        tokio::time::advance(Duration::from_millis(1)).await;
        drop(gate.acquire(&named(number), 1).await);
    }
    assert_eq!(gate.lanes().len(), MAX_LANES);
    assert_eq!(gate.health(&named(0)).map(|health| health.in_flight), Some(1), "in use");
    assert!(gate.health(&named(1)).is_some_and(|health| health.rests.is_some()), "a rest is kept");
    assert!(gate.health(&named(2)).is_none() && gate.health(&named(999)).is_some(), "the oldest go");
    drop(held);
}
