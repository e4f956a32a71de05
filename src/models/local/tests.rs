//! The owner, with a runner that serves in this process.

use super::owner::{Owner, Runner, Wish};
use super::plan::Plan;
use super::{InUse, LocalError};
use futures_util::future::BoxFuture;
use ouroboros_proto::kind::{Millis, TaskNumber};
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot, watch};

type Answer = Result<(u16, InUse), LocalError>;

/// What happened to what was run, oldest first: `start WORD`, `end`.
type Story = watch::Sender<Vec<String>>;

/// Serves on the port that it is given; with the word `dies` it ends at once, with `loads` it is not ready yet.
struct Here {
    story: Story,
    ends: watch::Sender<bool>,
}

impl Runner for Here {
    fn start(&mut self, argv: Vec<String>) -> BoxFuture<'_, Result<TaskNumber, String>> {
        Box::pin(async move {
            let (word, port) = (argv[0].clone(), argv[1].parse::<u16>().unwrap());
            if word == "refused" {
                return Err("no room".to_owned());
            }
            self.ends.send_replace(word == "dies");
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map_err(|error| error.to_string())?;
            let mut ends = self.ends.subscribe();
            let over = async move { ends.wait_for(|over| *over).await.map(drop) };
            let status = if word == "loads" { "503 Loading" } else { "200 OK" };
            let serve = async move {
                loop {
                    let (mut stream, _) = listener.accept().await.unwrap();
                    let head = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
                    stream.write_all(head.as_bytes()).await.unwrap();
                }
            };
            tokio::spawn(async move {
                tokio::select! {
                    _ = over => {}
                    () = serve => {}
                }
            });
            self.story.send_modify(|story| story.push(format!("start {word}")));
            Ok(TaskNumber::default())
        })
    }

    fn ended(&mut self) -> BoxFuture<'_, ()> {
        let mut over = self.ends.subscribe();
        Box::pin(async move {
            over.wait_for(|over| *over).await.unwrap();
        })
    }

    fn end(&mut self) -> BoxFuture<'_, ()> {
        self.story.send_modify(|story| story.push("end".to_owned()));
        self.ends.send_replace(true);
        Box::pin(async {})
    }
}

struct Scene {
    wishes: mpsc::Sender<Wish>,
    plan: Arc<Mutex<Plan>>,
    story: Story,
    ends: watch::Sender<bool>,
    up: Arc<AtomicBool>,
}

impl Scene {
    fn new(command: &str, idle: Millis) -> Self {
        let (wishes, heard) = mpsc::channel(8);
        let (story, ends) = (watch::Sender::default(), watch::Sender::new(true));
        let up = Arc::new(AtomicBool::new(false));
        let plan = Plan { command: format!("{command} {{port}}"), file: String::new(), port: None, idle };
        let plan = Arc::new(Mutex::new(plan));
        let settings = Arc::clone(&plan);
        let runner = Here { story: story.clone(), ends: ends.clone() };
        tokio::spawn(Owner::new(runner, move || settings.lock().unwrap().clone(), heard, Arc::clone(&up)).run());
        Self { wishes, plan, story, ends, up }
    }

    fn set(&self, command: &str) {
        self.plan.lock().unwrap().command = format!("{command} {{port}}");
    }

    async fn wish(&self) -> oneshot::Receiver<Answer> {
        let (wish, answer) = oneshot::channel();
        self.wishes.send(wish).await.unwrap();
        // Until the owner has it.
        while self.wishes.capacity() < self.wishes.max_capacity() {
            tokio::task::yield_now().await;
        }
        answer
    }

    async fn ready(&self) -> Answer {
        self.wish().await.await.unwrap()
    }

    /// Waits until this has happened, and nothing else.
    async fn comes_to(&self, expected: &[&str]) {
        let mut story = self.story.subscribe();
        let told = story.wait_for(|story| story.len() >= expected.len()).await.unwrap().clone();
        assert_eq!(told, expected);
    }

    fn is_up(&self) -> bool {
        self.up.load(Ordering::Acquire)
    }
}

#[tokio::test]
async fn one_serves_all_who_want_it_and_is_ended_once_nobody_does() {
    let scene = Scene::new("a", Millis::new(1));
    let (one, two) = (scene.wish().await, scene.wish().await);
    let (one, two) = (one.await.unwrap().unwrap(), two.await.unwrap().unwrap());
    assert_eq!(one.0, two.0);
    assert!(scene.is_up());
    drop(one);
    let three = scene.ready().await.unwrap();
    scene.comes_to(&["start a"]).await;
    drop((two, three));
    scene.comes_to(&["start a", "end"]).await;
    assert!(!scene.is_up());
    let _again = scene.ready().await.unwrap();
    scene.comes_to(&["start a", "end", "start a"]).await;
}

#[tokio::test]
async fn a_caller_who_leaves_while_it_is_loaded_does_not_lose_it() {
    let scene = Scene::new("loads", Millis::new(1));
    let left = scene.wish().await;
    scene.comes_to(&["start loads"]).await;
    drop(left);
    let mut waits = scene.wish().await;
    assert!(waits.try_recv().is_err(), "503 is no answer");
    scene.ends.send_replace(true);
    assert_eq!(waits.await.unwrap().unwrap_err(), LocalError::Ended(TaskNumber::default()));
    scene.comes_to(&["start loads"]).await;
}

#[tokio::test]
async fn after_an_end_without_an_answer_it_rests() {
    let scene = Scene::new("dies", Millis::ZERO);
    assert_eq!(scene.ready().await.unwrap_err(), LocalError::Ended(TaskNumber::default()));
    assert_eq!(scene.ready().await.unwrap_err(), LocalError::Resting(1));
    assert!(!scene.is_up());
    scene.comes_to(&["start dies"]).await;
}

#[tokio::test]
async fn what_was_never_started_is_tried_again_at_once() {
    let scene = Scene::new("refused", Millis::ZERO);
    assert_eq!(scene.ready().await.unwrap_err(), LocalError::NotStarted("no room".to_owned()));
    scene.set("'open");
    assert!(matches!(scene.ready().await, Err(LocalError::BadCommand(_))));
    scene.set("a");
    assert!(scene.ready().await.is_ok());
}

#[tokio::test]
async fn one_that_ended_after_it_answered_is_started_again_at_once() {
    let scene = Scene::new("a", Millis::ZERO);
    let _used = scene.ready().await.unwrap();
    scene.ends.send_replace(true);
    let _again = scene.ready().await.unwrap();
    scene.comes_to(&["start a", "start a"]).await;
    assert!(scene.is_up());
}

#[tokio::test]
async fn another_command_takes_over_when_the_last_user_of_the_first_has_gone() {
    let scene = Scene::new("a", Millis::ZERO);
    let used = scene.ready().await.unwrap();
    scene.set("b");
    let mut next = scene.wish().await;
    let last = scene.wish().await;
    assert!(next.try_recv().is_err());
    scene.comes_to(&["start a"]).await;
    drop(used);
    let (_next, _last) = (next.await.unwrap().unwrap(), last.await.unwrap().unwrap());
    scene.comes_to(&["start a", "end", "start b"]).await;
}
