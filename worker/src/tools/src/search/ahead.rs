//! Looking at many files beside each other for whether anything in them can match.
//!
//! Nearly no file has what is searched for, and hiding secrets in a file takes longer than searching it. So the bytes of each file are
//! looked at as they are first, by a few threads, and only where something may match is the file searched as it is shown. Nothing of
//! what is found here is told. Files come back in the order in which they were given.

use crate::folder::Opened;
use crate::limits::Limits;
use crate::text::{self, Content};
use grep_matcher::LineTerminator;
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Seek as _};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Scope};

/// Threads at most.
const THREADS: usize = 8;
/// Files that are open at once at most.
const AHEAD: usize = 128;

/// A file to be searched.
pub struct File {
    /// Its path as it is shown.
    pub shown: String,
    /// It, at its start.
    pub opened: Opened,
}

/// What was seen of a file.
pub enum Seen {
    /// It is no text.
    Binary,
    /// Nothing in it matches. It is longer than is searched if so.
    Nothing {
        /// Whether its end was not looked at.
        in_part: bool,
    },
    /// Something may match.
    Candidate(Opened),
    /// It cannot be read.
    Unreadable(io::Error),
    /// The search was called off.
    CalledOff,
}

/// What was given in, in order.
pub struct Ahead {
    files: Option<SyncSender<(usize, File)>>,
    seen: Receiver<(usize, String, Seen)>,
    /// Came back before those given before them.
    early: BTreeMap<usize, (String, Seen)>,
    given: usize,
    taken: usize,
}

/// Starts the threads; `stop` ends them early.
///
/// # Errors
/// No thread can be started.
pub fn start<'scope>(
    scope: &'scope Scope<'scope, '_>,
    matcher: &'scope RegexMatcher,
    limits: &'scope Limits,
    shared: &'scope Shared,
) -> io::Result<Ahead> {
    let (files, queue) = sync_channel(AHEAD);
    // There is room for everything that is under way.
    let (told, seen) = sync_channel(AHEAD);
    shared.queue.lock().unwrap_or_else(PoisonError::into_inner).replace(queue);
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get).min(THREADS);
    for thread in 0..threads {
        let told = told.clone();
        let begun = thread::Builder::new().spawn_scoped(scope, move || look(matcher, limits, shared, &told));
        match begun {
            Ok(_) => {}
            Err(error) if thread == 0 => return Err(error),
            Err(_) => break,
        }
    }
    Ok(Ahead { files: Some(files), seen, early: BTreeMap::new(), given: 0, taken: 0 })
}

/// What the threads share.
#[derive(Default)]
pub struct Shared {
    queue: Mutex<Option<Receiver<(usize, File)>>>,
    /// Nothing more is to be looked at.
    pub stop: AtomicBool,
}

impl Ahead {
    /// Gives a file in. It waits while too many are under way; [`Ahead::next`] is to be called until it gives nothing first.
    pub fn give(&mut self, file: File) {
        if let Some(files) = &self.files {
            // Threads end only when there is nothing more to be given.
            let _ = files.send((self.given, file));
            self.given = self.given.saturating_add(1);
        }
    }

    /// No more files come.
    pub fn end(&mut self) {
        self.files = None;
    }

    /// The next file in order, when it is known. It waits for it when no more are to be given or too many are under way.
    pub fn next(&mut self) -> Option<(String, Seen)> {
        loop {
            if let Some(seen) = self.early.remove(&self.taken) {
                self.taken = self.taken.saturating_add(1);
                return Some(seen);
            }
            let under_way = self.given.saturating_sub(self.taken);
            let waits = under_way >= AHEAD || (self.files.is_none() && under_way > 0);
            let (index, shown, seen) = if waits { self.seen.recv().ok()? } else { self.seen.try_recv().ok()? };
            self.early.insert(index, (shown, seen));
        }
    }
}

fn look(matcher: &RegexMatcher, limits: &Limits, shared: &Shared, told: &SyncSender<(usize, String, Seen)>) {
    let mut searcher = SearcherBuilder::new()
        .line_terminator(LineTerminator::crlf())
        .line_number(false)
        .binary_detection(BinaryDetection::none())
        .build();
    loop {
        let next = {
            let queue = shared.queue.lock().unwrap_or_else(PoisonError::into_inner);
            queue.as_ref().and_then(|queue| queue.recv().ok())
        };
        let Some((index, File { shown, opened })) = next else { return };
        let seen = if shared.stop.load(Ordering::Relaxed) {
            Seen::CalledOff
        } else {
            look_at(opened, matcher, &mut searcher, limits, &shared.stop).unwrap_or_else(Seen::Unreadable)
        };
        if told.send((index, shown, seen)).is_err() {
            return;
        }
    }
}

fn look_at(
    opened: Opened,
    matcher: &RegexMatcher,
    searcher: &mut Searcher,
    limits: &Limits,
    stop: &AtomicBool,
) -> io::Result<Seen> {
    let length = opened.size();
    let Opened { file, stat } = opened;
    let mut windows = match text::open(file, length, &as_it_is, limits.window_bytes)? {
        Content::Text(windows) => windows,
        Content::Binary(_) => return Ok(Seen::Binary),
    };
    let mut scanned = 0_u64;
    while let Some(raw) = windows.raw()? {
        if stop.load(Ordering::Relaxed) {
            return Ok(Seen::CalledOff);
        }
        if scanned >= limits.scan_bytes {
            return Ok(Seen::Nothing { in_part: true });
        }
        let mut any = Any(false);
        // What is no UTF-8 is shown otherwise than it is.
        if std::str::from_utf8(raw.bytes()).is_ok() {
            searcher.search_slice(matcher, raw.bytes(), &mut any)?;
        } else {
            any = Any(true);
        }
        if any.0 {
            let mut file = windows.into_file();
            file.rewind()?;
            return Ok(Seen::Candidate(Opened { file, stat }));
        }
        scanned = scanned.saturating_add(u64::try_from(raw.bytes().len()).unwrap_or(u64::MAX));
    }
    Ok(Seen::Nothing { in_part: false })
}

/// Nothing of it is shown.
fn as_it_is(text: &str) -> Cow<'_, str> {
    Cow::Borrowed(text)
}

/// Whether anything matches.
struct Any(bool);

impl Sink for Any {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, _: &SinkMatch<'_>) -> io::Result<bool> {
        self.0 = true;
        Ok(false)
    }
}
