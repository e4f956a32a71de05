//! How a tool call ended. What a model reads is one text; what the host decides by is the class and the code, never the text.

pub use ouroboros_proto::agent::CallOutcome;
use serde::{Deserialize, Serialize};
use serde_json::Value;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $word:literal, $class:ident;)*) => {
        /// Why a call did not end well.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum Code {
            $($(#[$doc])* #[serde(rename = $word)] $name,)*
        }

        impl Code {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Its word; never changes.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word,)* }
            }

            /// The class that it belongs to.
            #[must_use]
            pub const fn class(self) -> CallOutcome {
                match self { $(Self::$name => CallOutcome::$class,)* }
            }
        }
    };
}

codes! {
    /// There is no such file or directory.
    NotFound = "not_found", Miss;
    /// The text to replace is not in the file.
    TextNotFound = "text_not_found", Miss;
    /// A part of a patch fits nowhere.
    HunkNotFound = "hunk_not_found", Miss;
    /// The file has fewer lines.
    PastEnd = "past_end", Miss;
    /// The file changed while it was worked on.
    ChangedMeanwhile = "changed_meanwhile", Miss;
    /// The file is not as it was when the agent last read or wrote it.
    ChangedSinceRead = "changed_since_read", Miss;
    /// There is no such tool.
    UnknownTool = "unknown_tool", Miss;
    /// The tool exists and may not be used here.
    HiddenByPolicy = "hidden_by_policy", Refusal;
    /// The path leads out of the folder.
    Outside = "outside", Refusal;
    /// The place is fenced off.
    Fenced = "fenced", Refusal;
    /// It may be read, not changed.
    ReadOnly = "read_only", Refusal;
    /// A symbolic link that leads in a circle, or any where the kernel is too old to follow one safely.
    LinkRefused = "link_refused", Refusal;
    /// A pipe, a socket or a device.
    NotARegularFile = "not_a_regular_file", Refusal;
    /// The file is not text.
    Binary = "binary", Refusal;
    /// Past a bound.
    TooLarge = "too_large", Refusal;
    /// It names a secret by the mark that hides it, or would put the mark in its place.
    HiddenValue = "hidden_value", Refusal;
    /// The route takes no images.
    ImagesNotTaken = "images_not_taken", Refusal;
    /// The file is no image that can be shown.
    NotAnImage = "not_an_image", Refusal;
    /// The address is one of this machine or a private network.
    PrivateAddress = "private_address", Refusal;
    /// The address leads to another origin, which was not asked for.
    LedElsewhere = "led_elsewhere", Refusal;
    /// What is there is no text.
    NotText = "not_text", Refusal;
    /// The network is off.
    NetworkOff = "network_off", Refusal;
    /// The attempt ends: its task was cancelled, or its time is over.
    Cancelled = "cancelled", Refusal;
    /// The owner, or a rule of the owner's, does not allow it.
    NotAllowed = "not_allowed", Refusal;
    /// The owner was asked and did not answer in time.
    NotAnswered = "not_answered", Refusal;
    /// It belongs to the source of this program, which mode light does not change.
    LightModeBlocked = "light_mode_blocked", Refusal;
    /// It belongs to what keeps this program safe, which mode advanced does not change.
    CoreProtectionBlocked = "core_protection_blocked", Refusal;
    /// A second look by a model found it dangerous.
    SafetyViolation = "safety_violation", Refusal;
    /// A second look by a model came to no judgement.
    SafetyFailed = "safety_failed", Refusal;
    /// A second look by a model cannot be had now.
    SafetyUnavailable = "safety_unavailable", Refusal;
    /// It is too long for a second look by a model.
    SafetySubjectTooLarge = "safety_subject_too_large", Refusal;
    /// It cannot be confined here as it must be.
    NotConfined = "not_confined", Refusal;
    /// As many services run as may.
    TooManyServices = "too_many_services", Refusal;
    /// There is no such program.
    NoProgram = "no_program", Miss;
    /// There is no such service.
    NoService = "no_service", Miss;
    /// The folder is in no repository.
    NoRepository = "no_repository", Miss;
    /// The arguments are not what the tool takes.
    BadArguments = "bad_arguments", ArgumentError;
    /// Not a path.
    BadPath = "bad_path", ArgumentError;
    /// A directory, where a file is needed.
    IsADirectory = "is_a_directory", ArgumentError;
    /// A file, where a directory is needed.
    NotADirectory = "not_a_directory", ArgumentError;
    /// Something is there already.
    AlreadyExists = "already_exists", ArgumentError;
    /// The text to replace is there several times.
    SeveralMatches = "several_matches", ArgumentError;
    /// It would change nothing.
    NoChange = "no_change", ArgumentError;
    /// The search pattern is not valid.
    BadPattern = "bad_pattern", ArgumentError;
    /// The glob is not valid.
    BadGlob = "bad_glob", ArgumentError;
    /// Not a URL that can be fetched.
    BadUrl = "bad_url", ArgumentError;
    /// The patch cannot be read.
    BadPatch = "bad_patch", ArgumentError;
    /// The system does not permit it.
    PermissionDenied = "permission_denied", Failure;
    /// The disk or a quota is full.
    NoSpace = "no_space", Failure;
    /// The prior version could not be kept, so nothing was changed.
    VersionNotKept = "version_not_kept", Failure;
    /// The program cannot be executed.
    NotExecutable = "not_executable", Failure;
    /// It took too long; what a program did until then stays.
    TimedOut = "timed_out", Failure;
    /// The call was stopped; what the program did until then stays.
    Stopped = "stopped", Failure;
    /// A signal ended the program.
    Signaled = "signaled", Failure;
    /// The check did not come out as expected.
    NotVerified = "not_verified", Failure;
    /// The service was over at once.
    ServiceEnded = "service_ended", Failure;
    /// The service was not ready in time.
    NotReady = "not_ready", Failure;
    /// The folder that the agent works in is gone.
    FolderGone = "folder_gone", Failure;
    /// The name of a host leads nowhere.
    Dns = "dns", Failure;
    /// A host could not be reached, or broke off.
    Unreachable = "unreachable", Failure;
    /// One address led to the next too often.
    RedirectedTooOften = "redirected_too_often", Failure;
    /// The host answered with a status that is no success.
    HttpStatus = "http_status", Failure;
    /// The process that fetches broke down.
    FetchFailed = "fetch_failed", Failure;
    /// The system failed otherwise.
    Io = "io", Failure;
    /// Some files were changed and could not be put back.
    PartlyDone = "partly_done", Unknown;
}

/// An image that a tool gives beside its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
    pub media_type: &'static str,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// What kind of end.
    pub class: CallOutcome,
    /// Why, where it did not end well.
    pub code: Option<Code>,
    /// What the model reads.
    pub text: String,
    /// Images beside the text.
    pub images: Vec<Image>,
    /// What the host may count and show: an object.
    pub facts: Value,
}

impl Outcome {
    /// It did what it should.
    #[must_use]
    pub fn ok(text: impl Into<String>, facts: Value) -> Self {
        Self { class: CallOutcome::Ok, code: None, text: text.into(), images: Vec::new(), facts }
    }

    /// It did not.
    #[must_use]
    pub fn not_ok(code: Code, text: impl Into<String>) -> Self {
        let facts = Value::Object(serde_json::Map::new());
        Self { class: code.class(), code: Some(code), text: text.into(), images: Vec::new(), facts }
    }

    /// The same with these facts.
    #[must_use]
    pub fn with(mut self, facts: Value) -> Self {
        self.facts = facts;
        self
    }

    /// It was called off before it changed anything.
    #[must_use]
    pub fn cancelled() -> Self {
        Self::not_ok(
            Code::Cancelled,
            "Stopped, because the attempt ends or the person stopped this turn or call. Nothing was changed.",
        )
    }

    /// The system failed at what `doing` says.
    #[must_use]
    pub fn io(doing: &str, error: &std::io::Error) -> Self {
        use std::io::ErrorKind;
        let (code, remedy) = match error.kind() {
            ErrorKind::PermissionDenied => (Code::PermissionDenied, "Its mode or owner does not allow it."),
            ErrorKind::ReadOnlyFilesystem => (Code::PermissionDenied, "The file system is read-only."),
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => (Code::NoSpace, "The disk or a quota is full."),
            ErrorKind::InvalidFilename => (Code::BadPath, "The name is too long or not allowed. Use a shorter one."),
            _ => return Self::not_ok(Code::Io, format!("{doing}: {error}.")),
        };
        Self::not_ok(code, format!("{doing}: {error}. {remedy}"))
    }
}

/// How a call ended whose parts may fail.
pub type Attempt<T> = Result<T, Outcome>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_snake_case_and_no_two_codes_share_one() {
        let mut words: Vec<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
        for (code, word) in Code::ALL.iter().zip(&words) {
            assert!(word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{word}");
            assert_eq!(serde_json::to_value(code).unwrap(), *word);
            assert_ne!(code.class(), CallOutcome::Ok);
        }
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), Code::ALL.len());
    }
}
