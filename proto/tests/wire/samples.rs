//! One frame of every variant, with values that can be recognised in a dump.

use super::frame::Frame;
use ouroboros_proto::kind::{
    AttemptId, AttemptReport, Captured, Ending, Generation, Identity, InstallationId, Millis, ModelFailure,
    OutOfMemory, ProcessId, Stream, TaskId, Usage, WorkerId,
};
use ouroboros_proto::wire::{
    AgentWork, AskWork, CommandWork, FromWorker, Order, PROTOCOL, PtySize, Report, ServerHello, Stdin, ToWorker, Token,
    WorkerHello,
};

const GENERATION: Generation = Generation::new(7);
const PROCESS: ProcessId = ProcessId::from_bytes([0xcc; 16]);

/// Every variant by name.
pub fn all() -> Vec<(&'static str, Frame)> {
    let mut samples = vec![
        ("worker_hello", worker_hello()),
        ("server_hello.welcome", server_hello(None)),
        ("server_hello.refused", server_hello(Some("protocol 2"))),
    ];
    samples.extend(orders().into_iter().map(|(name, order)| (name, to_worker(order))));
    samples.extend(reports().into_iter().map(|(name, report)| (name, from_worker(report))));
    samples.extend(endings().into_iter().map(|(name, ending)| (name, from_worker(terminal(ending)))));
    samples
}

fn worker_hello() -> Frame {
    Frame::WorkerHello(WorkerHello {
        protocol: PROTOCOL,
        build: "0.1.0".to_owned(),
        worker: WorkerId::new(3),
        token: Token([0x77; 32]),
        generation: GENERATION,
        namespace: 0xf000_0001,
    })
}

fn server_hello(refused: Option<&str>) -> Frame {
    Frame::ServerHello(ServerHello {
        protocol: PROTOCOL,
        build: "0.1.0".to_owned(),
        generation: GENERATION,
        installation: InstallationId::from_bytes([0xee; 16]),
        refused: refused.map(str::to_owned),
    })
}

fn to_worker(order: Order) -> Frame {
    Frame::ToWorker(ToWorker { attempt: AttemptId::from_bytes([0xaa; 16]), generation: GENERATION, order })
}

fn from_worker(report: Report) -> Frame {
    let attempt = AttemptId::from_bytes([0xaa; 16]);
    Frame::FromWorker(FromWorker { attempt, generation: GENERATION, sequence: 5, report })
}

fn run(work: CommandWork) -> Order {
    Order::Run { task: TaskId::from_bytes([0xbb; 16]), work: Box::new(work) }
}

fn plain() -> CommandWork {
    CommandWork {
        argv: vec!["true".to_owned()],
        env: Vec::new(),
        cwd: "/".to_owned(),
        umask: None,
        stdin: Stdin::Null,
        pty: None,
        timeout: None,
        no_new_privs: false,
        output_limit: 0,
        output_base: "/o".to_owned(),
    }
}

fn full() -> CommandWork {
    CommandWork {
        argv: vec!["printf".to_owned(), String::new(), "é\n".to_owned()],
        env: vec![("HOME".to_owned(), "/home".to_owned()), ("EMPTY".to_owned(), String::new())],
        cwd: "/tmp".to_owned(),
        umask: Some(0o077),
        stdin: Stdin::File { path: "/in".to_owned() },
        pty: Some(PtySize { columns: 80, rows: 24 }),
        timeout: Some(Millis::new(60_000)),
        no_new_privs: true,
        output_limit: 1 << 20,
        output_base: "/out/1".to_owned(),
    }
}

fn ask() -> AskWork {
    AskWork {
        request: br#"{"messages":[]}"#.to_vec(),
        timeout: Some(Millis::new(1)),
        output_limit: 2,
        output_base: "/o".to_owned(),
    }
}

fn agent() -> AgentWork {
    AgentWork {
        job: br#"{"prompt":"p","max_rounds":1}"#.to_vec(),
        session: "s".to_owned(),
        folder: "/f".to_owned(),
        transcript: "/t".to_owned(),
        versions: "/v".to_owned(),
        fenced: vec!["/a".to_owned(), "/b".to_owned()],
        timeout: Some(Millis::new(1)),
        output_limit: 2,
        output_base: "/o".to_owned(),
        scratch: "/s".to_owned(),
        instructions: "/i".to_owned(),
        may_lack_confinement: true,
        private_origins: vec!["http://p".to_owned()],
        skills: vec!["/k".to_owned()],
        inherited: 3,
        messages: vec![(1, "m".to_owned())],
        rules: b"[]".to_vec(),
        facts: b"{}".to_vec(),
        unheard: vec![2],
    }
}

fn orders() -> Vec<(&'static str, Order)> {
    vec![
        ("to_worker.run.plain", run(plain())),
        ("to_worker.run.full", run(full())),
        ("to_worker.release", Order::Release { process: PROCESS }),
        ("to_worker.stop", Order::Stop { grace: Millis::new(10_000) }),
        ("to_worker.acknowledge", Order::Acknowledge { sequence: 9 }),
        ("to_worker.resend", Order::Resend { after: 4 }),
        ("to_worker.ask", Order::Ask { task: TaskId::from_bytes([0x22; 16]), work: Box::new(ask()) }),
        ("to_worker.piece", Order::Piece { call: 1, piece: b"{}".to_vec() }),
        ("to_worker.call_over", Order::CallOver { call: 1, end: Vec::new() }),
        ("to_worker.agent", Order::Agent { task: TaskId::from_bytes([0x22; 16]), work: Box::new(agent()) }),
        ("to_worker.message", Order::Message { number: 1, text: "m".to_owned() }),
        ("to_worker.interrupt", Order::Interrupt { hold: true }),
        ("to_worker.cancel_call", Order::CancelCall { call: 3 }),
        ("to_worker.answered", Order::Answered { number: 7, answer: b"{}".to_vec(), rules: b"[]".to_vec() }),
    ]
}

fn reports() -> Vec<(&'static str, Report)> {
    let identity = |pidfd_inode| Identity {
        boot_id: [0xb0; 16],
        namespace: 0xf000_0001,
        pid: 4_242,
        start_ticks: 1_000_000,
        pidfd_inode,
    };
    let started = |pidfd_inode| Report::ProcessStarted {
        process: PROCESS,
        identity: identity(pidfd_inode),
        command: "sleep 1".to_owned(),
    };
    vec![
        ("from_worker.process_started.inode", started(Some(99))),
        ("from_worker.process_started.no_inode", started(None)),
        ("from_worker.process_ended", Report::ProcessEnded { process: PROCESS }),
        ("from_worker.output.stdout", Report::Output { stream: Stream::Stdout, written: 4_096 }),
        ("from_worker.output.stderr", Report::Output { stream: Stream::Stderr, written: 1 }),
        ("from_worker.call", Report::Call { call: 1, request: b"{}".to_vec() }),
        ("from_worker.call_off", Report::CallOff { call: 2 }),
        ("from_worker.taken", Report::Taken { call: 3, bytes: 4 }),
        ("from_worker.entry", Report::Entry { entry: b"{}".to_vec() }),
        ("from_worker.request", Report::Request { number: 7, request: b"{}".to_vec() }),
    ]
}

fn terminal(ending: Ending) -> Report {
    Report::Terminal(AttemptReport {
        ending,
        usage: Usage { user_micros: 1, system_micros: 2, max_resident_bytes: 3, elapsed: Millis::new(4) },
        stdout: Captured { written: 5, head: 6, tail: 7 },
        stderr: Captured { written: 8, head: 9, tail: 10 },
    })
}

fn endings() -> Vec<(&'static str, Ending)> {
    let killed = |out_of_memory| Ending::Signaled { signal: 9, out_of_memory };
    vec![
        ("from_worker.terminal.exited", Ending::Exited { code: 3 }),
        ("from_worker.terminal.signaled.out_of_memory", killed(OutOfMemory::Yes)),
        ("from_worker.terminal.signaled.not_out_of_memory", killed(OutOfMemory::No)),
        ("from_worker.terminal.signaled.unknown", killed(OutOfMemory::Unknown)),
        ("from_worker.terminal.timed_out", Ending::TimedOut),
        ("from_worker.terminal.stopped", Ending::Stopped),
        ("from_worker.terminal.not_found", Ending::NotFound),
        ("from_worker.terminal.not_executable", Ending::NotExecutable { errno: 13 }),
        ("from_worker.terminal.bad_directory", Ending::BadDirectory { errno: 20 }),
        ("from_worker.terminal.set_up_failed", Ending::SetUpFailed { errno: -1 }),
        ("from_worker.terminal.answered", Ending::Answered),
        ("from_worker.terminal.model_failed", Ending::ModelFailed { failure: ModelFailure::Unknown }),
        ("from_worker.terminal.parked", Ending::Parked),
    ]
}
