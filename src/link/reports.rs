//! Reports that are recorded, checked before they are handed on.

use super::entry::entry_report;
use ouroboros_domain::{NewRequest, WorkerReport};
use ouroboros_proto::agent::OwnerRequest;
use ouroboros_proto::kind::WorkerId;
use ouroboros_proto::limits;
use ouroboros_proto::wire::Report;
use sha2::{Digest as _, Sha256};

/// What follows from a report that no worker of ours sends: it is not listened to any more.
pub fn turned_down(worker: WorkerId, why: &str) -> bool {
    tracing::warn!(worker = worker.get(), why, "a worker's report is not accepted");
    false
}

/// A report as the core takes it.
///
/// # Errors
/// It says what no worker of ours says, or nothing of it is recorded.
pub fn recorded(report: Report) -> Result<WorkerReport, String> {
    match report {
        Report::ProcessStarted { process, identity, command } => {
            Ok(WorkerReport::ProcessStarted { process, identity, command: command.into_boxed_str() })
        }
        Report::ProcessEnded { process } => Ok(WorkerReport::ProcessEnded { process }),
        Report::Terminal(report) => Ok(WorkerReport::Terminal(report)),
        Report::Entry { entry } => self::entry(entry),
        Report::Request { number, request } => self::request(number, request),
        Report::Output { .. } | Report::Call { .. } | Report::CallOff { .. } | Report::Taken { .. } => {
            Err("a report that is not recorded came where recorded ones do".to_owned())
        }
    }
}

/// An entry of a transcript.
///
/// # Errors
/// It is none.
fn entry(entry: Vec<u8>) -> Result<WorkerReport, String> {
    entry_report(entry).map_err(|error| format!("an entry of a transcript cannot be read: {error}"))
}

/// Something that an attempt asks its owner.
///
/// # Errors
/// It is none, or over its bounds.
fn request(number: u32, request: Vec<u8>) -> Result<WorkerReport, String> {
    if u64::try_from(request.len()).unwrap_or(u64::MAX) > limits::REQUEST_BYTES.max {
        return Err("a request to the owner is too long".to_owned());
    }
    let asked: OwnerRequest =
        serde_json::from_slice(&request).map_err(|error| format!("a request to the owner cannot be read: {error}"))?;
    if let Some(fault) = asked.fault() {
        return Err(format!("a request to the owner is not accepted: {fault}"));
    }
    let whole: [u8; 32] = Sha256::digest(&request).into();
    let digest = whole.first_chunk::<16>().copied().unwrap_or_default();
    Ok(WorkerReport::Request(NewRequest { number, kind: asked.kind(), digest, content: request.into() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_a_request_is_handed_on_and_its_digest_is_of_all_of_it() {
        let digest = |text: &str| match request(3, text.as_bytes().to_vec()) {
            Ok(WorkerReport::Request(new)) => Some((new.number, new.digest)),
            _ => None,
        };
        let asked = digest(r#"{"type":"question","text":"Which?"}"#).unwrap();
        assert_eq!(asked.0, 3);
        assert_ne!(asked, digest(r#"{"type":"question","text":"Which? "}"#).unwrap());
        for bad in [
            "",
            "{}",
            r#"{"type":"question","text":""}"#,
            &format!("{{\"type\":\"question\",\"text\":\"{}\"}}", "x".repeat(70_000)),
        ] {
            assert_eq!(digest(bad), None);
        }
    }
}
