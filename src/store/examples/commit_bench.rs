//! How fast the store is here: `cargo run --release -p ouroboros-store --example commit_bench [DIRECTORY]`.
//!
//! Every figure stands beside the disk's own floor of the same run: `S`, one small write with `fdatasync`.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "a measurement that meets what it did not expect ends there"
)]

use crossbeam_channel::{Receiver, Sender, bounded};
use ouroboros_domain::Tally;
use ouroboros_domain::change::{Change, Content, Spec};
use ouroboros_domain::row::{EventRow, Policy, TaskRow, TaskState};
use ouroboros_proto::kind::{
    Event, EventSeq, Isolation, Outcome, Priority, TaskId, TaskNumber, UtcMicros, WorkKind, clock,
};
use ouroboros_store::{Batch, CommitError, Contents, Options, Sink, Writer, WriterHandle, open};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

struct Hear(Sender<u64>);

impl Sink for Hear {
    fn committed(&mut self, up_to: u64) {
        let _ = self.0.send(up_to);
    }

    fn failed(&mut self, from: u64, error: CommitError) {
        eprintln!("decision {from}: {error}");
    }
}

struct Bench {
    writer: WriterHandle,
    heard: Receiver<u64>,
    decision: u64,
    number: u64,
    seq: u64,
    env: Content,
}

impl Bench {
    fn start(dir: &Path) -> Self {
        let opened = open(&Options::new(dir)).unwrap();
        let env = opened.store.contents().put(&vec![b'e'; 2_000]).unwrap();
        let (number, seq) = (opened.loaded.live.next_number.get(), opened.loaded.live.next_event.get());
        let (say, heard) = bounded(1_024);
        let writer = Writer::start(opened.store, Box::new(Hear(say))).unwrap();
        Self { writer, heard, decision: 0, number, seq, env }
    }

    /// What accepting one task writes.
    fn accept(&mut self) -> Vec<Change> {
        let (id, number) = (TaskId::mint(), TaskNumber::new(self.number));
        self.number += 1;
        let at = UtcMicros::new(1);
        let env = Contents::name(&self.env.hash);
        let spec = format!(
            r#"{{"argv":["sh","-c","echo hi; sleep 1"],"cwd":"/home/somebody/project","umask":18,"env":"{env}"}}"#
        );
        let row = TaskRow {
            id,
            number,
            kind: WorkKind::Command,
            priority: Priority::Normal,
            state: TaskState::Queued,
            hold: None,
            not_before: None,
            after: Box::default(),
            policy: Policy { rerun: false, retries: 0, timeout: None, isolation: Isolation::Namespace, max_cost: None },
            attempts: 0,
            retried: 0,
            crashes: 0,
            cancel: None,
            retry_of: None,
            submitted_at: at,
            inherited: 0,
            root: id,
            park: None,
            workspace: None,
        };
        let added = Change::TaskAdded {
            row: Box::new(row),
            spec: Spec::New(Arc::from(spec.as_bytes())),
            contents: vec![self.env.clone()],
            spent: Tally::default(),
        };
        vec![added, self.event(id, number)]
    }

    fn event(&mut self, id: TaskId, number: TaskNumber) -> Change {
        self.seq += 1;
        Change::Event(Box::new(EventRow {
            seq: EventSeq::new(self.seq - 1),
            at: UtcMicros::new(1),
            task: Some((id, number)),
            event: Event::Submitted { retry_of: None },
        }))
    }

    fn send(&mut self, changes: Vec<Change>, sync: bool) -> u64 {
        self.decision += 1;
        self.writer.send(Batch { decision: self.decision, changes, sync }).unwrap();
        self.decision
    }

    fn wait(&self, decision: u64) {
        while self.heard.recv().unwrap() < decision {}
    }

    /// Accepts `count` tasks, `each` to a decision, with at most 512 decisions on their way.
    fn bulk(&mut self, count: u64, each: u64, settled: bool) {
        let mut waited = 0;
        for _ in 0..count / each {
            let mut changes = Vec::new();
            for _ in 0..each {
                changes.extend(self.accept());
                if settled && let Some(Change::TaskAdded { row, .. }) = changes.iter().rev().nth(1) {
                    let state = TaskState::Settled { outcome: Outcome::Completed, at: UtcMicros::new(2) };
                    let row = TaskRow { state, ..(**row).clone() };
                    changes.push(Change::Task(Box::new(row)));
                }
            }
            let sent = self.send(changes, true);
            while waited + 512 < sent {
                waited = self.heard.recv().unwrap();
            }
        }
        if waited < self.decision {
            self.wait(self.decision);
        }
    }
}

fn micros<T>(act: impl FnOnce() -> T) -> (f64, T) {
    let start = clock::boot();
    let value = act();
    ((clock::boot().get() - start.get()) as f64, value)
}

fn percentiles(mut samples: Vec<f64>) -> (f64, f64) {
    samples.sort_by(f64::total_cmp);
    (samples[samples.len() / 2], samples[samples.len() * 99 / 100])
}

/// One small write with `fdatasync`, in place, as a log that is used again.
fn floor(dir: &Path) -> (f64, f64) {
    let mut file = File::create(dir.join("floor")).unwrap();
    file.write_all(&vec![0; 8 << 20]).unwrap();
    file.sync_all().unwrap();
    let samples = (0..1_000_u64).map(|n| {
        let at = n * 4_096;
        micros(|| {
            std::os::unix::fs::FileExt::write_all_at(&file, &[7; 4_096], at).unwrap();
            file.sync_data().unwrap();
        })
        .0
    });
    let result = percentiles(samples.collect());
    fs::remove_file(dir.join("floor")).unwrap();
    result
}

fn written() -> u64 {
    let text = fs::read_to_string("/proc/self/io").unwrap();
    text.lines().find_map(|line| line.strip_prefix("wchar: ")).unwrap().parse().unwrap()
}

fn main() {
    let parent = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("."), PathBuf::from);
    let dir = parent.join(format!("commit-bench-{}", std::process::id()));
    fs::create_dir_all(&dir).unwrap();
    let (s, s99) = floor(&dir);
    println!("S: one fdatasync                       p50 {s:7.0} us   p99 {s99:7.0} us");

    let (first, _) = micros(|| Bench::start(&dir.join("first")).writer.close());
    println!("first creation, opened and closed      {first:11.0} us   {:.1} S", first / s);
    let (again, _) = micros(|| drop(open(&Options::new(dir.join("first"))).unwrap()));
    println!("existing store, opened and closed      {again:11.0} us");

    let home = dir.join("home");
    let mut bench = Bench::start(&home);
    for (name, sync) in [("accept, durable, one at a time", true), ("accept without sync", false)] {
        let before = written();
        let samples = (0..2_000).map(|_| {
            let changes = bench.accept();
            micros(|| {
                let decision = bench.send(changes, sync);
                bench.wait(decision);
            })
            .0
        });
        let (p50, p99) = percentiles(samples.collect());
        let bytes = (written() - before) as f64 / 2_000.0 / 1_024.0;
        println!("{name:38} p50 {p50:7.0} us   p99 {p99:7.0} us   {:.2} S   {bytes:.1} KiB each", p50 / s);
    }
    let samples = (0..2_000_u32).map(|n| {
        let changes = bench.accept();
        micros(|| {
            let decision = bench.send(changes, n % 2 == 0);
            bench.wait(decision);
        })
        .0
    });
    let (p50, _) = percentiles(samples.filter(|sample| *sample < s / 2.0).collect());
    println!("the same, every other one durable      p50 {p50:7.0} us of those without sync");

    for (name, each, settled) in
        [("1 a decision", 1, false), ("500 a decision", 500, false), ("500 a decision, settled at once", 500, true)]
    {
        let before = written();
        let (time, ()) = micros(|| bench.bulk(50_000, each, settled));
        let bytes = (written() - before) as f64 / 50_000.0 / 1_024.0;
        let changes = if settled { 3.0 } else { 2.0 };
        println!(
            "bulk, {name:32} {:9.0} tasks/s   {:9.0} changes/s   {bytes:.1} KiB a task",
            50_000.0 / time * 1e6,
            50_000.0 * changes / time * 1e6
        );
    }
    bench.bulk(50_000, 500, true);
    bench.writer.close();
    drop(bench);
    let (time, opened) = micros(|| open(&Options::new(&home)).unwrap());
    println!("open with {} queued and 100000 settled {time:11.0} us", opened.loaded.live.tasks.len());
    let (time, loaded) = micros(|| open(&Options::new(&home)).unwrap().loaded.live.tasks.len());
    println!("and again, {loaded} queued               {time:11.0} us");
    drop(opened);
    fs::remove_dir_all(&dir).unwrap();
}
