//! Task rows.

use super::park::{self, ReadPark};
use super::{BadRow, Columns, integer, json};
use crate::code::{Coded, State};
use crate::error::CommitError;
use ouroboros_domain::row::{CancelIntent, Policy, TaskRow, TaskState};
use ouroboros_proto::kind::{Allowance, AttemptId, Millis, NanoDollars, Outcome, TaskId, TaskNumber};
use rusqlite::{CachedStatement, Connection, Row, params};

/// How no limit of a task's own is stored: no sum is larger.
const NO_LIMIT: NanoDollars = NanoDollars::MAX;

/// The columns that [`read`] takes, in order.
macro_rules! columns {
    () => {
        "number, id, state, kind, priority, attempt, outcome, settled_at, hold, not_before, comes_after, rerun, retries, \
         timeout, isolation, attempts, retried, crashes, cancel_at, cancel_grace, retry_of, submitted_at, root, park, max_cost, inherited, \
         workspace"
    };
}
pub(crate) use columns;

const INSERT: &str = concat!(
    "INSERT INTO tasks (",
    columns!(),
    ", live) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28)"
);

// What is settled is settled: such a row is not found by this statement.
const UPDATE: &str = "UPDATE tasks SET state = ?3, kind = ?4, priority = ?5, attempt = ?6, outcome = ?7, settled_at = ?8, \
    hold = ?9, not_before = ?10, comes_after = ?11, rerun = ?12, retries = ?13, timeout = ?14, isolation = ?15, attempts = ?16, \
    retried = ?17, crashes = ?18, cancel_at = ?19, cancel_grace = ?20, retry_of = ?21, submitted_at = ?22, root = ?23, park = ?24, max_cost = ?25, \
    inherited = ?26, workspace = ?27, live = ?28 \
    WHERE number = ?1 AND id = ?2 AND live = 1";

/// Writes a new row.
pub fn insert(conn: &Connection, row: &TaskRow) -> Result<(), CommitError> {
    write(conn.prepare_cached(INSERT), "task insert", row).map(drop)
}

/// Writes a live row's new image.
///
/// # Errors
/// A contradiction when no such row is live.
pub fn update(conn: &Connection, row: &TaskRow) -> Result<(), CommitError> {
    match write(conn.prepare_cached(UPDATE), "task update", row)? {
        1 => Ok(()),
        _ => Err(CommitError::contradiction("task update", format!("task {} is not live", row.number))),
    }
}

fn write(
    prepared: rusqlite::Result<CachedStatement<'_>>,
    statement: &'static str,
    row: &TaskRow,
) -> Result<usize, CommitError> {
    let number = integer(statement, row.number.get())?;
    let (state, attempt, outcome, settled_at) = match &row.state {
        TaskState::Queued => (State::Queued, None, None, None),
        TaskState::Running { attempt } => (State::Running, Some(attempt.as_bytes()), None, None),
        TaskState::Settled { outcome, at } => (settled(outcome), None, Some(json(statement, outcome)?), Some(at.get())),
    };
    let live = matches!(state, State::Queued | State::Running);
    let after =
        (!row.after.is_empty()).then(|| row.after.iter().flat_map(TaskId::as_bytes).copied().collect::<Vec<u8>>());
    let timeout = row.policy.timeout.map(|span| integer(statement, span.get())).transpose()?;
    let cancel_grace = row.cancel.map(|cancel| integer(statement, cancel.grace.get())).transpose()?;
    let park = row.park.as_ref().map(|park| park::write(statement, park)).transpose()?;
    let max_cost =
        row.policy.max_cost.map(|Allowance(own)| integer(statement, own.unwrap_or(NO_LIMIT).get())).transpose()?;
    prepared
        .and_then(|mut prepared| {
            prepared.execute(params![
                number,
                row.id.as_bytes(),
                state.code(),
                row.kind.code(),
                row.priority.code(),
                attempt,
                outcome,
                settled_at,
                row.hold.map(Coded::code),
                row.not_before.map(ouroboros_proto::kind::UtcMicros::get),
                after,
                row.policy.rerun,
                row.policy.retries,
                timeout,
                row.policy.isolation.code(),
                row.attempts,
                row.retried,
                row.crashes,
                row.cancel.map(|cancel| cancel.at.get()),
                cancel_grace,
                row.retry_of.as_ref().map(TaskId::as_bytes),
                row.submitted_at.get(),
                (row.root != row.id).then(|| row.root.as_bytes()),
                park,
                max_cost,
                row.inherited,
                row.workspace.as_deref(),
                live,
            ])
        })
        .map_err(|error| CommitError::from_sql(statement, &error))
}

/// The stored state of a task with this outcome.
pub const fn settled(outcome: &Outcome) -> State {
    match outcome {
        Outcome::Completed => State::Completed,
        Outcome::Failed(_) => State::Failed,
        Outcome::Cancelled(_) => State::Cancelled,
    }
}

/// Reads a row whose [`columns!`] begin at column `first`.
pub fn read(row: &Row<'_>, first: usize) -> Result<TaskRow, BadRow> {
    let mut columns = Columns::new("tasks", row, first);
    let number = TaskNumber::new(columns.unsigned("number")?);
    let id = TaskId::from_bytes(columns.get("id")?);
    let state: State = columns.coded("state")?;
    let kind = columns.coded("kind")?;
    let priority = columns.coded("priority")?;
    let attempt: Option<[u8; 16]> = columns.get("attempt")?;
    let outcome: Option<Outcome> = columns.opt_json("outcome")?;
    let settled_at = columns.opt_time("settled_at")?;
    let state = match (state, attempt, outcome, settled_at) {
        (State::Queued, None, None, None) => TaskState::Queued,
        (State::Running, Some(attempt), None, None) => TaskState::Running { attempt: AttemptId::from_bytes(attempt) },
        (state, None, Some(outcome), Some(at)) if settled(&outcome) == state => TaskState::Settled { outcome, at },
        _ => return Err(columns.bad("state", "does not go with attempt, outcome and settled_at")),
    };
    let mut row = TaskRow {
        id,
        number,
        kind,
        priority,
        state,
        hold: columns.opt_coded("hold")?,
        not_before: columns.opt_time("not_before")?,
        after: after(&mut columns)?,
        policy: Policy {
            rerun: columns.flag("rerun")?,
            retries: columns.unsigned("retries")?,
            timeout: columns.opt_millis("timeout")?,
            isolation: columns.coded("isolation")?,
            max_cost: None,
        },
        attempts: columns.unsigned("attempts")?,
        retried: columns.unsigned("retried")?,
        crashes: columns.unsigned("crashes")?,
        cancel: cancel(&mut columns)?,
        retry_of: columns.get::<Option<[u8; 16]>>("retry_of")?.map(TaskId::from_bytes),
        submitted_at: columns.time("submitted_at")?,
        inherited: 0,
        root: id,
        park: None,
        workspace: None,
    };
    row.root = columns.get::<Option<[u8; 16]>>("root")?.map_or(id, TaskId::from_bytes);
    row.park = columns.opt_json::<ReadPark>("park")?.map(|park| Box::new(park.0));
    let max_cost = columns.opt_unsigned("max_cost")?.map(NanoDollars::new);
    row.policy.max_cost = max_cost.map(|amount| Allowance(Some(amount).filter(|amount| *amount != NO_LIMIT)));
    row.inherited = columns.unsigned("inherited")?;
    row.workspace = columns.get::<Option<String>>("workspace")?.map(Into::into);
    Ok(row)
}

fn after(columns: &mut Columns<'_>) -> Result<Box<[TaskId]>, BadRow> {
    let Some(bytes) = columns.get::<Option<Vec<u8>>>("comes_after")? else { return Ok(Box::default()) };
    let (ids, rest) = bytes.as_chunks::<16>();
    if rest.is_empty() {
        Ok(ids.iter().copied().map(TaskId::from_bytes).collect())
    } else {
        Err(columns.bad("comes_after", "is not a list of ids"))
    }
}

fn cancel(columns: &mut Columns<'_>) -> Result<Option<CancelIntent>, BadRow> {
    let at = columns.opt_time("cancel_at")?;
    let grace: Option<Millis> = columns.opt_millis("cancel_grace")?;
    match (at, grace) {
        (None, None) => Ok(None),
        (Some(at), Some(grace)) => Ok(Some(CancelIntent { at, grace })),
        _ => Err(columns.bad("cancel_at", "does not go with cancel_grace")),
    }
}
