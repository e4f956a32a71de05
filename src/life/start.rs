//! Everything that a life opens and starts, in order: what can fail without harm first, the core last.

use super::configuration::{Configuration, attempt_settings, core_settings};
use super::ends::{Ends, listen, wishes};
use super::listening::serve;
use super::logging::Logging;
use super::models::ModelParts;
use super::place::{hold_reason, io_error, make_directories, open_store, take_lock, worker_program};
use super::ready::{self, Announcement};
use super::{StartError, build, critical, housekeeping, unproven};
use crate::custody::{Groups, Hatchery, Reaper, Table, hatchery::Recipe, panic::panic, worker_log};
use crate::link::{self, Link};
use crate::models::{Asked, Calls};
use crate::operations::ServerOperations;
use crate::supervisor::actor::Parts;
use crate::supervisor::committer::{Committer, Release};
use crate::supervisor::effects::Executor;
use crate::supervisor::inbox::Inbox;
use crate::supervisor::recent::Recent;
use crate::supervisor::work::WorkFactory;
use crate::supervisor::{Handle, Life, LiveRegistry, Supervisor, clockwatch};
use crate::view::StoreView;
use crossbeam_channel::bounded;
use ouroboros_domain::{Boot, KeptReport};
use ouroboros_process::probe::{Availability, probe};
use ouroboros_process::{Spawner, set_subreaper};
use ouroboros_proto::kind::{AttemptId, ExitCode, HoldReason, clock};
use ouroboros_proto::wire::{FromWorker, Report, codec};
use ouroboros_secrets::SharedMasker;
use ouroboros_settings::Paths;
use ouroboros_store::{Layout, LoadedRows, Opened, Writer};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{broadcast, watch};

/// How long clients wait for the begin of a life to be durable.
const BOOT_BOUND: Duration = Duration::from_secs(10);
/// Committed events that a slow follower may be behind before it reads them from the store.
const EVENT_BACKLOG: usize = 1_024;

/// How a life is to be lived.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Whether it leaves by itself when nobody needs it.
    pub auto: bool,
}

/// Lives one life.
///
/// # Errors
/// Why it did not begin.
pub fn run(paths: Paths, options: &Options) -> Result<ExitCode, StartError> {
    let (configuration, warnings) = Configuration::load(paths.clone())?;
    let configuration = Arc::new(configuration);
    let settings = configuration.settings();
    make_directories(&paths)?;
    let _lock = take_lock(&paths)?;
    let masker = SharedMasker::of_shapes().map_err(|error| io_error("hide keys", &io::Error::other(error)))?;
    let logging = Logging::start(&paths.server_log(), &settings, masker.clone())
        .map_err(|error| io_error("open the log", &error))?;
    for warning in &warnings {
        tracing::warn!("{warning}");
    }
    set_subreaper().map_err(|error| io_error("become the reaper of its descendants", &error))?;
    let (wish, wished) = wishes();
    listen(&wish).map_err(|error| io_error("listen for signals", &error))?;
    let spawner = Spawner::start().map_err(|error| io_error("start the spawning thread", &error))?;
    let program = worker_program()?;
    let opened = open_store(&paths, &settings)?;
    let Opened { store, loaded, installation, copied, .. } = opened;
    report_set_aside(&loaded);
    let found = probe(&spawner, program.clone());
    let namespaces = match found.namespaces {
        Availability::Yes => Ok(()),
        Availability::No { reason } => Err(reason),
    };
    let generation = loaded.live.generation.next();
    let life = Arc::new(Life {
        installation,
        generation,
        started_at: clock::wall(),
        launcher_pid: launcher_pid(),
        build: build(),
        namespaces: namespaces.clone(),
    });
    tracing::info!(
        installation = %installation, generation = generation.get(), build = life.build,
        namespaces = namespaces.is_ok(), "server starts"
    );
    if let Err(reason) = &namespaces {
        tracing::warn!(reason, "attempts get no namespace of their own");
    }

    let layout = Layout::new(paths.data_dir());
    let inbox = Arc::new(Inbox::default());
    let table = Arc::new(Table::new(Groups::detect(installation, generation)));
    let live = Arc::new(LiveRegistry::default());
    let recent = Arc::new(Recent::default());
    let attempts = Arc::new(Mutex::new(attempt_settings(&settings)));
    let kept = kept_reports(layout.clone());
    let threads = |error: io::Error| io_error("start its threads", &error);
    let link = Link::new().map_err(threads)?;
    let kill_bound = kill_bound(Arc::clone(&configuration));
    let reaper =
        Reaper::start(Arc::clone(&table), link.clone(), Arc::clone(&inbox), Arc::clone(&kept), Arc::clone(&kill_bound))
            .map_err(threads)?;
    for survivor in unproven::list() {
        reaper.unproven(survivor.identity, survivor.command);
    }
    let socket = paths.worker_socket();
    let listener = link::bind(&socket).map_err(|error| io_error(&format!("bind {}", socket.display()), &error))?;
    let ourselves = link::Ourselves { build: build(), generation, installation };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("async")
        .enable_all()
        .build()
        .map_err(threads)?;
    let asked = Asked::new(Arc::clone(&inbox));
    let models = ModelParts::new(&configuration, asked.clone(), masker);
    let context = models.context().map_err(threads)?;
    let calls =
        Arc::new(Calls::new(context, Arc::clone(&table), Arc::clone(&live), generation, runtime.handle().clone()));
    let link_options = link::Options {
        listener,
        ourselves,
        table: Arc::clone(&table),
        inbox: Arc::clone(&inbox),
        live: Arc::clone(&live),
        calls: Arc::clone(&calls),
        kept,
        kill_bound,
    };
    link.run(link_options, reaper.clone()).map_err(threads)?;
    let recipe =
        Recipe { spawner: spawner.clone(), program, socket, generation, log: worker_log::start().map_err(threads)? };
    let hatchery = Hatchery::start(recipe, Arc::clone(&table), link.clone(), Arc::clone(&inbox)).map_err(threads)?;

    let reader = store.reader();
    let (output, contents) = (store.output(), store.contents());
    let settled = reader.settled_count().unwrap_or(0);
    let (exit, exited) = bounded(1);
    let (occasion, occasions) = housekeeping::occasions();
    let (events, _) = broadcast::channel(EVENT_BACKLOG);
    let disk_low = Arc::new(AtomicU64::new(0));
    let left = Arc::new(AtomicBool::new(false));
    let hold = hold_reason(&paths, copied);
    let rows = loaded.live;
    let boot = Boot {
        generation,
        settings: core_settings(&settings),
        namespaces: namespaces.is_ok(),
        hold,
        disown: copied,
        living: Vec::new(),
    };

    let (status, watched) = watch::channel(Arc::new(crate::supervisor::Status::before_boot(core_settings(&settings))));
    let committer = Arc::new(Committer::new(Arc::clone(&inbox), events.clone(), status));
    let executor = Executor {
        generation,
        table: Arc::clone(&table),
        hatchery,
        reaper,
        link,
        live: Arc::clone(&live),
        work: WorkFactory {
            reader: store.reader(),
            layout: layout.clone(),
            output: output.clone(),
            recent: Arc::clone(&recent),
            settings: Arc::clone(&attempts),
            fenced: fenced(&paths, &layout),
            instructions: paths.config_file().with_file_name("AGENTS.md").display().to_string(),
            skills: skills(),
            facts: models.facts(),
        },
        calls,
        asked: asked.clone(),
        inbox: Arc::clone(&inbox),
        housekeeping: occasion,
        exit,
    };
    let view_reader = store.reader();
    let release = Release { committer: Arc::clone(&committer), executor, sweep_at: 0 };
    let writer = Writer::start(store, Box::new(release)).map_err(threads)?;
    let parts = Parts {
        inbox: Arc::clone(&inbox),
        committer,
        writer: writer.clone(),
        reader,
        recent,
        asked,
        table: Arc::clone(&table),
        life: Arc::clone(&life),
        disk_low: Arc::clone(&disk_low),
        settled,
        wishes: wish.clone(),
    };
    let supervisor = Supervisor::new(parts, rows, namespaces.is_ok(), Arc::clone(&left));
    let actor = critical::spawn("supervisor", move || supervisor.run(boot)).map_err(threads)?;
    clockwatch::start(Arc::clone(&inbox)).map_err(threads)?;

    let panic_table = Arc::clone(&table);
    let marker = paths.panic_marker();
    let handle = Handle::new(
        Arc::clone(&inbox),
        events,
        watched,
        Arc::clone(&live),
        Arc::clone(&life),
        Arc::new(move || panic(Arc::clone(&panic_table), marker.clone())),
    );
    let exchanges = models.exchanges.clone();
    let keeping = housekeeping::Parts {
        writer: writer.clone(),
        reader: view_reader.clone(),
        output: output.clone(),
        layout: layout.clone(),
        exchanges: exchanges.clone(),
        handle: handle.clone(),
        table: Arc::clone(&table),
        configuration: Arc::clone(&configuration),
        disk_low,
    };
    let keeper = housekeeping::Keeper::start(keeping, occasions).map_err(threads)?;

    let desk = models.desk(&handle, &view_reader, &runtime);
    let fenced = fenced(&paths, &layout);
    let operations = Arc::new(ServerOperations {
        configuration: Arc::clone(&configuration),
        logging: logging.clone(),
        attempts: Arc::clone(&attempts),
        inbox: Arc::clone(&inbox),
        writer: writer.clone(),
        reader: view_reader.clone(),
        contents,
        layout,
        table: Arc::clone(&table),
        handle: handle.clone(),
        keeper,
        fenced,
    });
    let view = StoreView {
        reader: view_reader,
        exchanges,
        output,
        live: Arc::clone(&live),
        configuration: Arc::clone(&configuration),
        tasks: Mutex::default(),
    };
    // Nobody is shown facts of before this life.
    wait_booted(&runtime, &handle);
    let _runtime = runtime.enter();
    let running = serve(&paths, &settings, handle.clone(), Arc::new(view), operations, desk)?;

    let socket = paths.api_socket();
    let announcement =
        Announcement { pid: std::process::id(), build: &life.build, url: running.url.as_deref(), socket: &socket };
    ready::write_port_file(&paths.port_file(), &announcement)
        .map_err(|error| io_error(&format!("write {}", paths.port_file().display()), &error))?;
    if hold == Some(HoldReason::Panic) {
        // The hold is durable: the marker has done its work.
        let _ = fs::remove_file(paths.panic_marker());
    }
    if let Err(error) = ready::announce(ready_pipe(), &announcement) {
        tracing::warn!(%error, "the one who started this server does not listen");
    }
    tracing::info!(url = running.url, "server is ready");
    if options.auto {
        super::idle::leave_when_idle(&runtime, handle.status(), running.clients(), Arc::clone(&configuration), wish);
    }

    let ends =
        Ends { inbox: Arc::clone(&inbox), wishes: wished, exit: exited, table, configuration, logging, attempts };
    let code = ends.wait();
    runtime.block_on(running.stop(Duration::from_millis(500)));
    left.store(true, std::sync::atomic::Ordering::Release);
    inbox.nudge();
    let _ = actor.join();
    writer.close();
    let _ = fs::remove_file(paths.port_file());
    tracing::info!(code = code.code(), "server leaves");
    Ok(code)
}

fn report_set_aside(loaded: &LoadedRows) {
    for bad in &loaded.bad {
        tracing::error!(?bad, "a stored row cannot be read; it is set aside and the rest goes on");
    }
}

/// Reads the terminal report that a worker kept because nobody had acknowledged it.
fn kept_reports(layout: Layout) -> crate::custody::reaper::Kept {
    Arc::new(move |attempt: AttemptId| {
        let mut path = layout.output_base(&attempt).into_os_string();
        path.push(".ending");
        let bytes = fs::read(PathBuf::from(path)).ok()?;
        let (prefix, body) = bytes.split_first_chunk::<{ codec::PREFIX }>()?;
        let body = body.get(..codec::body_length(*prefix).ok()?)?;
        match codec::decode::<FromWorker>(body) {
            Ok(FromWorker { attempt: about, sequence, report: Report::Terminal(report), .. }) if about == attempt => {
                Some(KeptReport { attempt, sequence, report })
            }
            _ => None,
        }
    })
}

/// The setting, as it is when it is needed.
fn kill_bound(configuration: Arc<Configuration>) -> crate::custody::reaper::KillBound {
    Arc::new(move || configuration.settings().task_kill_timeout)
}

/// The launcher's process number, when one started us.
pub(super) fn launcher_pid() -> Option<u32> {
    std::env::var("OUROBOROS_LAUNCHER_PID").ok()?.parse().ok()
}

/// The pipe that whoever started us reads. Opened again by its number, because it is theirs to name and ours to close.
fn ready_pipe() -> Option<File> {
    let number: u32 = std::env::var("OUROBOROS_READY_FD").ok()?.parse().ok()?;
    OpenOptions::new().write(true).open(Path::new("/proc/self/fd").join(number.to_string())).ok()
}

/// Until the begin of this life is durable. When storage does not come around in time, clients are served what is known: that
/// it fails.
fn wait_booted(runtime: &tokio::runtime::Runtime, handle: &Handle) {
    let mut status = handle.status();
    let booted = async { tokio::time::timeout(BOOT_BOUND, status.wait_for(|status| status.booted)).await.is_ok() };
    if !runtime.block_on(booted) {
        tracing::error!("the begin of this life cannot be recorded yet");
    }
}

/// Replaces the data directory's database by a backup; the queue is held at the next start.
///
/// # Errors
/// Somebody serves the directory, or the backup cannot be used; the old database stays then.
pub fn restore(paths: &Paths, file: &Path) -> Result<ExitCode, StartError> {
    make_directories(paths)?;
    let _lock = take_lock(paths)?;
    let file = std::path::absolute(file).map_err(|error| io_error("find the backup", &error))?;
    let restored = ouroboros_store::restore(&file, paths.data_dir())
        .map_err(|error| StartError::new(error.exit_code(), error.to_string(), error.remedy()))?;
    println!("Restored {}.", file.display());
    if let Some(replaced) = restored.replaced {
        println!("The database before it is kept in {}.", replaced.display());
    }
    if let Some(bytes) = restored.output_bytes {
        println!("{bytes} bytes of output were put back.");
    }
    if restored.missing_bodies > 0 {
        let missing = restored.missing_bodies;
        println!(
            "{missing} large bodies are in neither the copy nor the data directory: tasks that need them cannot run."
        );
    }
    println!("The queue is held at the next start; let it go on with `ouroboros release --all`.");
    Ok(ExitCode::Stopped)
}

/// Where skills lie in a home; as in folders.
const SKILL_PLACES: &[&str] = &[".agents/skills", ".claude/skills"];

/// Where keys usually lie in a home.
const KEY_PLACES: &[&str] = &[
    ".local/share/ouroboros",
    ".config/ouroboros",
    ".ssh",
    ".gnupg",
    ".aws",
    ".netrc",
    ".config/gcloud",
    ".docker/config.json",
    ".kube",
];

/// Where people keep skills that are for all their folders.
fn skills() -> Vec<String> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let places = SKILL_PLACES.iter().filter_map(|place| Some(home.as_ref()?.join(place)));
    places.map(|path| path.display().to_string()).collect()
}

/// Our own places and those of the owner's keys: no tool of an agent looks into them, whatever its folder is.
fn fenced(paths: &Paths, layout: &Layout) -> Vec<String> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let keys = KEY_PLACES.iter().filter_map(|place| Some(home.as_ref()?.join(place)));
    let ours = [layout.root().to_owned(), paths.config_file().to_owned(), paths.worker_socket()];
    ours.into_iter().chain(keys).map(|path| path.display().to_string()).collect()
}
