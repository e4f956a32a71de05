//! Frames at random, with values at the edges of their types more often than chance has it.

use super::frame::Frame;
use ouroboros_proto::kind::{
    AttemptId, AttemptReport, Captured, Ending, Generation, Identity, InstallationId, Millis, ModelFailure,
    OutOfMemory, ProcessId, Stream, TaskId, Usage, WorkerId,
};
use ouroboros_proto::wire::{
    AgentWork, AskWork, CommandWork, FromWorker, Order, PtySize, Report, ServerHello, Stdin, ToWorker, Token,
    WorkerHello,
};

/// A stream of numbers that a seed decides (splitmix64).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is not zero.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(bound).unwrap()).unwrap()
    }

    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    pub fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[0]
    }

    pub fn flip(&mut self) -> bool {
        self.next() & 1 == 1
    }

    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let edge = self.pick(&[Some(0), Some(0xff), None, None]);
        std::array::from_fn(|_| edge.unwrap_or_else(|| self.byte()))
    }

    fn u64(&mut self) -> u64 {
        let any = self.next();
        self.pick(&[0, 1, 255, 256, 65_535, u64::from(u32::MAX), 1 << 32, 1 << 63, u64::MAX, any, any, any])
    }

    fn u32(&mut self) -> u32 {
        let any = u32::try_from(self.next() >> 32).unwrap();
        self.pick(&[0, 1, 0o777, 1 << 31, u32::MAX, any])
    }

    fn u16(&mut self) -> u16 {
        let any = u16::try_from(self.next() >> 48).unwrap();
        self.pick(&[0, 1, 80, u16::MAX, any])
    }

    fn u8(&mut self) -> u8 {
        let any = self.byte();
        self.pick(&[0, 1, 127, 128, 255, any])
    }

    fn i32(&mut self) -> i32 {
        let any = self.u32().cast_signed();
        self.pick(&[i32::MIN, -1, 0, 1, i32::MAX, any])
    }

    fn text(&mut self) -> String {
        let unit = self.pick(&["a", "/", "é", "\0", "\n", "🐍", "\u{10ffff}", "\u{feff}"]);
        let times = self.pick(&[0, 1, 2, 7, 8, 31, 255]);
        unit.repeat(times)
    }

    fn some<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.flip().then(|| make(self))
    }

    fn list<T>(&mut self, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let length = self.pick(&[0, 1, 2, 5, 17]);
        (0..length).map(|_| make(self)).collect()
    }

    /// A frame of any kind and variant.
    pub fn frame(&mut self) -> Frame {
        match self.below(4) {
            0 => Frame::WorkerHello(WorkerHello {
                protocol: self.u32(),
                build: self.text(),
                worker: WorkerId::new(self.u64()),
                token: Token(self.bytes()),
                generation: Generation::new(self.u64()),
                namespace: self.u64(),
            }),
            1 => Frame::ServerHello(ServerHello {
                protocol: self.u32(),
                build: self.text(),
                generation: Generation::new(self.u64()),
                installation: InstallationId::from_bytes(self.bytes()),
                refused: self.some(Self::text),
            }),
            2 => Frame::ToWorker(ToWorker {
                attempt: AttemptId::from_bytes(self.bytes()),
                generation: Generation::new(self.u64()),
                order: self.order(),
            }),
            _ => Frame::FromWorker(FromWorker {
                attempt: AttemptId::from_bytes(self.bytes()),
                generation: Generation::new(self.u64()),
                sequence: self.u64(),
                report: self.report(),
            }),
        }
    }

    fn order(&mut self) -> Order {
        match self.below(13) {
            0 => Order::Run { task: TaskId::from_bytes(self.bytes()), work: Box::new(self.work()) },
            1 => Order::Release { process: ProcessId::from_bytes(self.bytes()) },
            2 => Order::Stop { grace: Millis::new(self.u64()) },
            3 => Order::Acknowledge { sequence: self.u64() },
            4 => Order::Resend { after: self.u64() },
            5 => Order::Ask { task: TaskId::from_bytes(self.bytes()), work: Box::new(self.ask()) },
            6 => Order::Piece { call: self.u32(), piece: self.blob() },
            7 => Order::CallOver { call: self.u32(), end: self.blob() },
            8 => Order::Agent { task: TaskId::from_bytes(self.bytes()), work: Box::new(self.agent()) },
            9 => Order::Message { number: self.u32(), text: self.text() },
            10 => Order::Interrupt { hold: self.u8().is_multiple_of(2) },
            11 => Order::CancelCall { call: self.u32() },
            _ => Order::Answered { number: self.u32(), answer: self.blob(), rules: self.blob() },
        }
    }

    fn ask(&mut self) -> AskWork {
        AskWork {
            request: self.blob(),
            timeout: self.some(|random| Millis::new(random.u64())),
            output_limit: self.u64(),
            output_base: self.text(),
        }
    }

    fn agent(&mut self) -> AgentWork {
        AgentWork {
            job: self.blob(),
            session: self.text(),
            folder: self.text(),
            transcript: self.text(),
            versions: self.text(),
            fenced: self.list(Self::text),
            timeout: self.some(|random| Millis::new(random.u64())),
            output_limit: self.u64(),
            output_base: self.text(),
            scratch: self.text(),
            instructions: self.text(),
            may_lack_confinement: self.u8().is_multiple_of(2),
            private_origins: self.list(Self::text),
            skills: self.list(Self::text),
            inherited: self.u64(),
            messages: self.list(|random| (random.u32(), random.text())),
            rules: self.blob(),
            facts: self.blob(),
            unheard: self.list(Self::u32),
        }
    }

    fn blob(&mut self) -> Vec<u8> {
        self.list(Self::u8)
    }

    fn work(&mut self) -> CommandWork {
        CommandWork {
            argv: self.list(Self::text),
            env: self.list(|random| (random.text(), random.text())),
            cwd: self.text(),
            umask: self.some(Self::u32),
            stdin: if self.flip() { Stdin::Null } else { Stdin::File { path: self.text() } },
            pty: self.some(|random| PtySize { columns: random.u16(), rows: random.u16() }),
            timeout: self.some(|random| Millis::new(random.u64())),
            no_new_privs: self.flip(),
            output_limit: self.u64(),
            output_base: self.text(),
        }
    }

    fn report(&mut self) -> Report {
        match self.below(9) {
            0 => Report::ProcessStarted {
                process: ProcessId::from_bytes(self.bytes()),
                identity: self.identity(),
                command: self.text(),
            },
            1 => Report::ProcessEnded { process: ProcessId::from_bytes(self.bytes()) },
            2 => Report::Output { stream: self.pick(&Stream::ALL), written: self.u64() },
            3 => Report::Call { call: self.u32(), request: self.blob() },
            4 => Report::CallOff { call: self.u32() },
            5 => Report::Taken { call: self.u32(), bytes: self.u64() },
            6 => Report::Entry { entry: self.blob() },
            7 => Report::Request { number: self.u32(), request: self.blob() },
            _ => Report::Terminal(AttemptReport {
                ending: self.ending(),
                usage: self.usage(),
                stdout: self.captured(),
                stderr: self.captured(),
            }),
        }
    }

    fn identity(&mut self) -> Identity {
        Identity {
            boot_id: self.bytes(),
            namespace: self.u64(),
            pid: self.i32(),
            start_ticks: self.u64(),
            pidfd_inode: self.some(Self::u64),
        }
    }

    fn ending(&mut self) -> Ending {
        match self.below(11) {
            0 => Ending::Exited { code: self.u8() },
            1 => Ending::Signaled {
                signal: self.u8(),
                out_of_memory: self.pick(&[OutOfMemory::Yes, OutOfMemory::No, OutOfMemory::Unknown]),
            },
            2 => Ending::TimedOut,
            3 => Ending::Stopped,
            4 => Ending::NotFound,
            5 => Ending::NotExecutable { errno: self.i32() },
            6 => Ending::BadDirectory { errno: self.i32() },
            7 => Ending::SetUpFailed { errno: self.i32() },
            8 => Ending::Answered,
            9 => Ending::ModelFailed { failure: self.pick(&[ModelFailure::NoRoute, ModelFailure::Invalid]) },
            _ => Ending::Parked,
        }
    }

    fn usage(&mut self) -> Usage {
        Usage {
            user_micros: self.u64(),
            system_micros: self.u64(),
            max_resident_bytes: self.u64(),
            elapsed: Millis::new(self.u64()),
        }
    }

    fn captured(&mut self) -> Captured {
        Captured { written: self.u64(), head: self.u64(), tail: self.u64() }
    }
}
