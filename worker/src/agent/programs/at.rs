//! Programs as the tools of one call see them.

use super::running::{Cause, GRACE, NotStarted, Running, Streams};
use super::window::KEPT;
use super::{Named, Programs, SERVICES, fault};
use crate::agent::policy::{Act, Gate};
use crate::exec::Request;
use crate::model::{Line, Speech};
use ouroboros_fetch::{Answer, Origin, Refusal, Url, Why};
use ouroboros_process::Signal;
use ouroboros_proto::agent::{Guarantee, Mode, Profile, Unconfined};
use ouroboros_proto::kind::{BootMicros, Millis, OutOfMemory, clock};
use ouroboros_sandbox::{Confinement, environment};
use ouroboros_tools::programs::{End, Programs as Interface, Ran, Ready, Rights, Service, Start, service};
use ouroboros_tools::{Code, Outcome};
use rustix::event::{PollFd, PollFlags};
use std::cell::RefCell;
use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

/// How long a process that fetches may take: longer than it gives itself.
const FETCH: Duration = Duration::from_secs(60);
/// Between two looks whether a port is listened on, and how long one look takes at most.
const LOOK: Millis = Millis::new(50);
const CONNECT: Duration = Duration::from_millis(200);

type Attempt<T> = Result<T, Outcome>;

/// For one call: with the way to the server, which is told of each process before anything of it runs.
pub struct At<'a, 'l> {
    programs: &'a Programs<'a>,
    gate: &'a Gate<'a>,
    /// Directories outside the folder that may be read.
    readable: Vec<PathBuf>,
    /// Why a page is not fetched that would have to be allowed.
    refused: RefCell<Option<Outcome>>,
    line: RefCell<&'a mut Line<'l>>,
    speech: RefCell<&'a mut Speech>,
}

impl<'a, 'l> At<'a, 'l> {
    pub fn new(
        programs: &'a Programs<'a>,
        gate: &'a Gate<'a>,
        readable: Vec<PathBuf>,
        line: &'a mut Line<'l>,
        speech: &'a mut Speech,
    ) -> Self {
        let refused = RefCell::default();
        Self { programs, gate, readable, refused, line: RefCell::new(line), speech: RefCell::new(speech) }
    }

    /// Whether it may run. Programs that only look are the tools' own.
    fn allowed(&self, start: &Start) -> Attempt<()> {
        if let (Rights::Unconfined, Some((code, why))) = (start.rights, self.programs.guarded) {
            let words = format!(
                "{why}, which a program outside any confinement could change: it is not run. Nothing was done. Run it confined, \
                 or ask the person for a task in mode pro."
            );
            return Err(Outcome::not_ok(code, words));
        }
        self.decide(start, |act, line, speech| self.gate.pass(act, line, speech))
    }

    /// The same once it is known what does not hold for it.
    fn allowed_without(&self, start: &Start, missing: &[Guarantee]) -> Attempt<()> {
        if missing.is_empty() {
            return Ok(());
        }
        self.decide(start, |act, line, speech| self.gate.lacks(act, line, speech))
    }

    fn decide(
        &self,
        start: &Start,
        pass: impl FnOnce(&Act<'_>, &mut Line<'_>, &mut Speech) -> Attempt<()>,
    ) -> Attempt<()> {
        let (network, unconfined) = match start.rights {
            Rights::Look => return Ok(()),
            Rights::Usual { network } => (network, false),
            Rights::Unconfined => (false, true),
        };
        let judged: Vec<String> = match &start.script {
            None => start.argv.clone(),
            Some(script) => start.argv.iter().take(1).chain([script]).cloned().collect(),
        };
        let cwd = start.cwd.display().to_string();
        let stdin = String::from_utf8_lossy(&start.stdin);
        let act = Act::Run { argv: &judged, cwd: &cwd, network, unconfined, stdin: &stdin };
        pass(&act, &mut self.line.borrow_mut(), &mut self.speech.borrow_mut())
    }

    /// Starts a process and lets it run once it is recorded.
    fn begin(&self, start: &Start) -> Attempt<Running> {
        self.allowed(start)?;
        self.begin_allowed(start)
    }

    /// The same for what is allowed already.
    fn begin_allowed(&self, start: &Start) -> Attempt<Running> {
        let (request, confinement) = self.request(start);
        self.behind_barrier(start, &request, &confinement, KEPT)
    }

    /// The same for a request that is made already; `kept` bytes are kept of what it writes, from both ends.
    fn behind_barrier(
        &self,
        start: &Start,
        request: &Request,
        confinement: &Confinement,
        kept: usize,
    ) -> Attempt<Running> {
        let streams = Streams { stdin: &start.stdin, apart: start.apart, kept };
        self.programs.make_scratch().map_err(|error| fault(&error))?;
        let mut running =
            Running::start(self.programs.tools, request, confinement, &streams).map_err(|error| fault(&error))?;
        let mut line = self.line.borrow_mut();
        line.process_started(running.process(), running.identity().clone(), &start.argv);
        while !line.take_release(running.process()) {
            if running.is_over() || line.ended().is_some() || line.is_cancelled(self.gate.number()) {
                running.signal(Signal::KILL);
                drop(line);
                return Err(self.never_ran(&mut running));
            }
            line.wait_for(&[running.poll_death()], None, &mut self.speech.borrow_mut());
        }
        drop(line);
        // Where everything must hold, what runs is held.
        if !confinement.accept.is_empty() {
            let missing = self.missing(&mut running);
            if let Err(refusal) = self.allowed_without(start, &missing) {
                running.signal(Signal::KILL);
                self.never_ran(&mut running);
                return Err(refusal);
            }
        }
        running.release();
        Ok(running)
    }

    /// What does not hold for a process behind its barrier, once it has said so or is dead.
    fn missing(&self, running: &mut Running) -> Vec<Guarantee> {
        loop {
            if let Some(confined) = running.confined() {
                return confined.missing;
            }
            if running.is_over() {
                return Vec::new();
            }
            let fds = [running.poll_death(), running.poll_words()];
            self.line.borrow_mut().wait_for(&fds, None, &mut self.speech.borrow_mut());
        }
    }

    /// The end of a process that was not let run.
    fn never_ran(&self, running: &mut Running) -> Outcome {
        self.programs.sweep();
        let end = running.end(None, &|| false);
        let is_over = self.line.borrow().ended().is_some() || self.line.borrow().is_cancelled(self.gate.number());
        self.line.borrow_mut().process_ended(running.process());
        match end {
            Some(Err(why)) if !is_over => not_started(&why),
            Some(Ok(_) | Err(_)) | None => Outcome::cancelled(),
        }
    }

    /// What exec mode is asked for, and what it reads its confinement from.
    fn request(&self, start: &Start) -> (Request, Confinement) {
        let profile = match start.rights {
            Rights::Unconfined => Profile::Full,
            Rights::Look => Profile::Readonly,
            Rights::Usual { .. } if self.gate.mode() == Mode::Observe => Profile::Readonly,
            Rights::Usual { .. } => Profile::Workspace,
        };
        let confinement = Confinement {
            profile,
            readable: self.programs.confinement.readable.iter().chain(&self.readable).cloned().collect(),
            network: matches!(start.rights, Rights::Usual { network: true } | Rights::Unconfined),
            ..self.programs.confinement.clone()
        };
        let mut env: Vec<(OsString, OsString)> = environment(&self.programs.environment, &confinement)
            .into_iter()
            .filter(|(name, _)| start.env.iter().all(|(own, _)| own != name))
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        env.extend(start.env.iter().map(|(name, value)| ((*name).into(), (*value).into())));
        let request = Request {
            parent: rustix::process::getpid().as_raw_nonzero().get(),
            terminal: false,
            no_new_privs: true,
            confined: true,
            ours: false,
            cwd: start.cwd.clone(),
            argv: start.argv.iter().map(Into::into).collect(),
            env,
        };
        (request, confinement)
    }

    /// A page from the network, fetched by a process of its own that may look at nothing but the system.
    pub fn fetch(&self, request: &ouroboros_fetch::Request) -> Answer {
        let broken = |words: &str| Answer::Refused(Refusal::new(Why::Died, words));
        // The owner is asked about origins of the web only.
        let url = Url::parse(&request.url).ok().filter(|url| ["http", "https"].contains(&url.scheme()));
        let Some(url) = url else {
            return Answer::Refused(Refusal::new(Why::BadUrl, "it is no address that begins with http:// or https://"));
        };
        let origin = Origin::of(&url).as_str().to_owned();
        let act = Act::Fetch { origin: &origin, url: url.as_str() };
        let passed = self.gate.pass(&act, &mut self.line.borrow_mut(), &mut self.speech.borrow_mut());
        if let Err(refusal) = passed {
            self.refused.replace(Some(refusal));
            return Self::no_fetch();
        }
        let request =
            ouroboros_fetch::Request { private_origins: self.programs.private_origins.clone(), ..request.clone() };
        let Ok(stdin) = serde_json::to_vec(&request) else { return broken("the request cannot be written") };
        let start = Start {
            argv: vec!["fetch".to_owned(), request.url],
            script: None,
            cwd: self.programs.scratch.clone(),
            stdin,
            env: Vec::new(),
            timeout: FETCH,
            rights: Rights::Look,
            apart: true,
        };
        match self.fetched(&start) {
            Ok(ran) if ran.end == End::Exited(0) && ran.stdout.lost == 0 => {
                let bytes = [ran.stdout.head, ran.stdout.tail].concat();
                serde_json::from_slice(&bytes).unwrap_or_else(|_| broken("its answer cannot be read"))
            }
            Ok(ran) if ran.end == End::Stopped => Self::no_fetch(),
            Ok(_) => broken("it ended without an answer"),
            Err(outcome) => broken(&outcome.text),
        }
    }

    /// What is said when a fetch was called off.
    pub fn no_fetch() -> Answer {
        Answer::Refused(Refusal::new(Why::Cancelled, "it was called off"))
    }

    /// Why the call is refused, where a page would have had to be allowed.
    pub fn refusal(&self) -> Option<Outcome> {
        self.refused.borrow_mut().take()
    }

    fn fetched(&self, start: &Start) -> Attempt<Ran> {
        let (request, confinement) = self.request(start);
        // The network is what it is for; the folder is not.
        let folder = self.programs.scratch.join("tmp");
        let confinement = Confinement { network: true, folder, readable: Vec::new(), ..confinement };
        let request = Request { ours: true, env: Vec::new(), ..request };
        let mut running = self.behind_barrier(start, &request, &confinement, ouroboros_fetch::message::ANSWER_BYTES)?;
        let (cause, left) = self.to_its_end(&mut running, start.timeout);
        self.over(running, cause, left)
    }

    /// Waits until the process is over, its time is, or the call is stopped; then ends what is left of its tree.
    fn to_its_end(&self, running: &mut Running, timeout: Duration) -> (Option<Cause>, usize) {
        let at = after(timeout);
        let mut stopping: Option<(Cause, BootMicros)> = None;
        while !running.is_over() {
            let now = clock::boot();
            let mut line = self.line.borrow_mut();
            if stopping.is_none() {
                let cause = if line.is_off(self.gate.number()) {
                    Some(Cause::Stopped)
                } else {
                    at.is_some_and(|at| at <= now).then_some(Cause::TimedOut)
                };
                if let Some(cause) = cause {
                    running.ask_to_end();
                    stopping = Some((cause, now.plus(line.grace().unwrap_or(GRACE).min(GRACE))));
                }
            }
            if let Some((_, kill_at)) = stopping
                && kill_at <= now
            {
                break;
            }
            let until = stopping.map(|(_, kill_at)| kill_at).or(at);
            let deaths = self.programs.deaths.borrow();
            let mut fds = running.poll_fds();
            fds.push(PollFd::new(&*deaths, PollFlags::IN));
            line.wait_for(&fds, until, &mut self.speech.borrow_mut());
            drop(fds);
            drop(deaths);
            running.read();
            if !running.is_over() {
                self.programs.deaths.borrow_mut().reap();
            }
        }
        running.read();
        // The group goes first, while its leader still holds its number.
        running.signal(Signal::KILL);
        let ended = self.programs.sweep();
        running.drain();
        (stopping.map(|(cause, _)| cause), ended.saturating_sub(1))
    }

    /// Waits until a service is ready, over, or out of time; whether it is ready.
    fn wait_until_ready(&self, running: &mut Running, ready: &Ready) -> bool {
        let until = after(ready.within);
        let waits = ready.says.is_some() || ready.port.is_some();
        while !running.is_over() {
            let says = ready.says.as_ref().is_none_or(|text| running.wrote(text));
            if waits && says && ready.port.is_none_or(listens) {
                return true;
            }
            let mut line = self.line.borrow_mut();
            let now = clock::boot();
            if line.is_off(self.gate.number()) {
                return false;
            }
            if until.is_some_and(|until| until <= now) {
                return !waits;
            }
            // Nobody tells that a port is listened on.
            let look = ready.port.map(|_| now.plus(LOOK));
            let until = [until, look].into_iter().flatten().min();
            line.wait_for(&running.poll_fds(), until, &mut self.speech.borrow_mut());
            drop(line);
            running.read();
        }
        false
    }

    /// What came of a program whose tree is gone.
    fn over(&self, mut running: Running, cause: Option<Cause>, left: usize) -> Attempt<Ran> {
        let end = running.end(cause, &|| self.out_of_memory());
        self.gate.confined(running.confined());
        self.line.borrow_mut().process_ended(running.process());
        match end {
            Some(Ok(end)) => Ok(running.ran(end, left)),
            Some(Err(why)) => Err(not_started(&why)),
            // It was killed and swept, so the kernel has told of its end.
            None => Err(fault(&rustix::io::Errno::CHILD.into())),
        }
    }

    fn out_of_memory(&self) -> bool {
        self.programs.tools.memory().verdict(self.programs.attempt) == OutOfMemory::Yes
    }

    fn shown(&self, named: &mut Named) -> Service {
        named.running.read();
        let end = if named.running.is_over() {
            named.running.end(None, &|| self.out_of_memory()).and_then(Result::ok)
        } else {
            None
        };
        if end.is_some() && !std::mem::replace(&mut named.told, true) {
            self.line.borrow_mut().process_ended(named.running.process());
        }
        Service {
            name: named.name.clone(),
            pid: named.running.pid(),
            end,
            took: named.running.took(),
            output: named.running.seen(0),
        }
    }
}

impl Interface for At<'_, '_> {
    fn run(&self, start: Start) -> Attempt<Ran> {
        let mut running = self.begin(&start)?;
        let (cause, left) = self.to_its_end(&mut running, start.timeout);
        self.over(running, cause, left)
    }

    fn start(&self, name: &str, start: Start, ready: &Ready) -> Attempt<(Service, bool)> {
        self.services();
        let mut services = self.programs.services.borrow_mut();
        services.retain(|service| service.name != name || !service.running.is_over());
        if services.iter().any(|service| service.name == name) {
            let words =
                format!("A service {name:?} runs already. Stop it first, or take another name. Nothing was done.");
            return Err(Outcome::not_ok(Code::AlreadyExists, words));
        }
        if services.iter().filter(|service| !service.running.is_over()).count() >= SERVICES {
            let words = format!("{SERVICES} services run, which is the most. Stop one first. Nothing was done.");
            return Err(Outcome::not_ok(Code::TooManyServices, words));
        }
        drop(services);
        self.allowed(&start)?;
        // What is not allowed does not learn what listens here.
        if let Some(port) = ready.port.filter(|port| listens(*port)) {
            let words = format!("Something else listens on port {port} already. Take another port. Nothing was done.");
            return Err(Outcome::not_ok(Code::AlreadyExists, words));
        }
        let running = self.begin_allowed(&start)?;
        let mut named = Named { name: name.to_owned(), running, told: false };
        let is_ready = self.wait_until_ready(&mut named.running, ready);
        if self.line.borrow().is_cancelled(self.gate.number()) {
            self.to_its_end(&mut named.running, Duration::from_millis(GRACE.get()));
            return Ok((self.shown(&mut named), false));
        }
        if let Err(error) = named.running.read_beside() {
            named.running.signal(Signal::KILL);
            self.to_its_end(&mut named.running, Duration::ZERO);
            self.line.borrow_mut().process_ended(named.running.process());
            return Err(fault(&error));
        }
        let service = self.shown(&mut named);
        self.gate.confined(named.running.confined());
        self.programs.services.borrow_mut().push(named);
        if service.end.is_some() {
            self.programs.sweep();
        }
        Ok((service, is_ready))
    }

    fn services(&self) -> Vec<Service> {
        let services: Vec<Service> =
            self.programs.services.borrow_mut().iter_mut().map(|named| self.shown(named)).collect();
        if services.iter().any(|service| service.end.is_some()) {
            self.programs.sweep();
        }
        services
    }

    fn stop(&self, name: &str) -> Attempt<Service> {
        let mut services = self.programs.services.borrow_mut();
        let Some(at) = services.iter().position(|service| service.name == name) else {
            let names: Vec<String> = services.iter().map(|service| service.name.clone()).collect();
            return Err(service::missing(name, &names));
        };
        let mut named = services.remove(at);
        drop(services);
        named.running.ask_to_end();
        self.to_its_end(&mut named.running, Duration::from_millis(GRACE.get()));
        Ok(self.shown(&mut named))
    }

    fn scratch(&self, name: &str, bytes: &[u8]) -> Attempt<PathBuf> {
        let failed = |error: std::io::Error| Outcome::io("A file for it could not be written", &error);
        self.programs.file(name, bytes).map_err(failed)
    }
}

/// A program that never began, and is not to blame.
fn not_started(why: &NotStarted) -> Outcome {
    let words = match why {
        NotStarted::Failed(error) => return fault(error),
        NotStarted::Unconfined(Unconfined::Missing { guarantees }) => {
            let named: Vec<String> =
                guarantees.iter().map(|guarantee| format!("{guarantee:?}").to_lowercase()).collect();
            format!(
                "this machine cannot keep it from {}; the person may accept that by setting tools.require_confinement to false",
                named.join(", ")
            )
        }
        NotStarted::Unconfined(Unconfined::Hidden) => "the folder lies in a place that is closed to agents".to_owned(),
        NotStarted::Unconfined(Unconfined::TooManyEntries) => {
            "too much would have to be hidden in the folder".to_owned()
        }
        NotStarted::Unconfined(Unconfined::Failed { step, errno }) => {
            let error = std::io::Error::from_raw_os_error(*errno);
            format!("the step {step:?} failed: {error}").to_lowercase()
        }
    };
    Outcome::not_ok(Code::NotConfined, format!("It was not run, since it could not be confined: {words}."))
}

/// Whether something on this machine accepts connections on a port.
fn listens(port: u16) -> bool {
    let loopback: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    loopback.into_iter().any(|address| TcpStream::connect_timeout(&SocketAddr::new(address, port), CONNECT).is_ok())
}

/// `None` is so far away that it never comes.
fn after(time: Duration) -> Option<BootMicros> {
    let millis = u64::try_from(time.as_millis()).ok()?;
    (millis < u64::MAX / 1_000_000).then(|| clock::boot().plus(Millis::new(millis)))
}
