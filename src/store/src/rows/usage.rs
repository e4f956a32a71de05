//! Rows of the usage ledger. A row is never removed, and one that is over changes only while nobody knows what it cost.

use super::{BadRow, Columns, integer};
use crate::code::Coded;
use crate::error::CommitError;
use ouroboros_domain::row::{Receipt, SendRow};
use ouroboros_proto::kind::{
    AttemptId, Cost, Generation, NanoDollars, SendId, SendState, TaskId, TaskNumber, TokenUsage, UtcMicros,
};
use rusqlite::{Connection, Row, params};

/// The columns that [`read`] takes, in order.
macro_rules! columns {
    () => {
        "id, task, number, root, attempt, call, ordinal, route, generation, state, bound, basis, total_limit, reserved_at, \
         ended_at, answer, cost, cost_source, input, cached, cache_write, cache_write_long, output, reasoning, model, \
         provider_request, late"
    };
}
pub(crate) use columns;

const INSERT: &str = concat!(
    "INSERT INTO usage_attempts (",
    columns!(),
    ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, \
     ?25, ?26, ?27)"
);

/// What may change of a row: how it stands, and what was said about it. An open row goes forward only; with `?28`, an unresolved one
/// and one whose answer did not say what it cost are corrected, and nothing else.
const UPDATE: &str = "UPDATE usage_attempts SET state = ?10, bound = ?11, ended_at = ?15, answer = ?16, cost = ?17, cost_source = ?18, \
    input = ?19, cached = ?20, cache_write = ?21, cache_write_long = ?22, output = ?23, reasoning = ?24, model = ?25, \
    provider_request = ?26, late = ?27 \
    WHERE id = ?1 AND ((?28 = 0 AND state < min(?10, 2)) OR (?28 = 1 AND ?10 = 2 AND \
    ((state = 3 AND ?27 = 1) OR (state = 2 AND cost IS NULL AND ?17 IS NOT NULL))))";

const STATEMENT: &str = "usage";

/// Writes a row's image: a new row when it is reserved, otherwise what came of an open one.
///
/// # Errors
/// A contradiction when the row is there and should not be, or the other way round, or is over or further on.
pub fn put(conn: &Connection, row: &SendRow) -> Result<(), CommitError> {
    if row.state == SendState::Reserved {
        return write(conn, INSERT, row, None).map(drop);
    }
    one(write(conn, UPDATE, row, Some(false))?, row)
}

/// Writes what was learned later about a row of unknown cost.
///
/// # Errors
/// A contradiction when its cost is known, or it is not over.
pub fn correct(conn: &Connection, row: &SendRow) -> Result<(), CommitError> {
    one(write(conn, UPDATE, row, Some(true))?, row)
}

fn one(written: usize, row: &SendRow) -> Result<(), CommitError> {
    match written {
        1 => Ok(()),
        _ => Err(CommitError::contradiction(STATEMENT, format!("send {} cannot become {:?}", row.id, row.state))),
    }
}

fn write(conn: &Connection, sql: &str, row: &SendRow, late: Option<bool>) -> Result<usize, CommitError> {
    let number = |value: u64| integer(STATEMENT, value);
    let count = |pick: fn(&TokenUsage) -> Option<u64>| {
        row.receipt.as_ref().and_then(|receipt| pick(&receipt.usage)).map(number).transpose()
    };
    let cost = row.receipt.as_ref().and_then(|receipt| receipt.cost);
    let values = params![
        row.id.as_bytes(),
        row.task.as_bytes(),
        number(row.number.get())?,
        row.root.as_bytes(),
        row.attempt.as_bytes(),
        row.call,
        row.ordinal,
        &*row.route,
        number(row.generation.get())?,
        row.state.code(),
        number(row.bound.get())?,
        row.basis.code(),
        row.limit.map(|limit| number(limit.get())).transpose()?,
        row.reserved_at.get(),
        row.ended_at.map(UtcMicros::get),
        row.receipt.as_ref().map(|receipt| receipt.answer.code()),
        cost.map(|cost| number(cost.amount.get())).transpose()?,
        cost.map(|cost| cost.source.code()),
        count(|usage| usage.input)?,
        count(|usage| usage.cached)?,
        count(|usage| usage.cache_write)?,
        count(|usage| usage.cache_write_long)?,
        count(|usage| usage.output)?,
        count(|usage| usage.reasoning)?,
        row.receipt.as_ref().map(|receipt| &*receipt.model),
        row.receipt.as_ref().map(|receipt| &*receipt.provider_request),
        row.late,
    ];
    let written = conn.prepare_cached(sql).and_then(|mut prepared| match late {
        None => prepared.execute(values),
        Some(late) => {
            for (index, value) in values.iter().enumerate() {
                prepared.raw_bind_parameter(index.saturating_add(1), value)?;
            }
            prepared.raw_bind_parameter(28, late)?;
            prepared.raw_execute()
        }
    });
    written.map_err(|error| CommitError::from_sql(STATEMENT, &error))
}

/// Reads a row whose [`columns!`] begin at column `first`.
pub fn read(row: &Row<'_>, first: usize) -> Result<SendRow, BadRow> {
    let mut columns = Columns::new("usage_attempts", row, first);
    Ok(SendRow {
        id: SendId::from_bytes(columns.get("id")?),
        task: TaskId::from_bytes(columns.get("task")?),
        number: TaskNumber::new(columns.unsigned("number")?),
        root: TaskId::from_bytes(columns.get("root")?),
        attempt: AttemptId::from_bytes(columns.get("attempt")?),
        call: columns.unsigned("call")?,
        ordinal: columns.unsigned("ordinal")?,
        route: columns.get::<String>("route")?.into(),
        generation: Generation::new(columns.unsigned("generation")?),
        state: columns.coded("state")?,
        bound: NanoDollars::new(columns.unsigned("bound")?),
        basis: columns.coded("basis")?,
        limit: columns.opt_unsigned("total_limit")?.map(NanoDollars::new),
        reserved_at: columns.time("reserved_at")?,
        ended_at: columns.opt_time("ended_at")?,
        receipt: receipt(&mut columns)?.map(Box::new),
        late: columns.flag("late")?,
    })
}

fn receipt(columns: &mut Columns<'_>) -> Result<Option<Receipt>, BadRow> {
    let answer = columns.opt_coded("answer")?;
    let amount: Option<u64> = columns.opt_unsigned("cost")?;
    let source = columns.opt_coded("cost_source")?;
    let usage = TokenUsage {
        input: columns.opt_unsigned("input")?,
        cached: columns.opt_unsigned("cached")?,
        cache_write: columns.opt_unsigned("cache_write")?,
        cache_write_long: columns.opt_unsigned("cache_write_long")?,
        output: columns.opt_unsigned("output")?,
        reasoning: columns.opt_unsigned("reasoning")?,
    };
    let model: Option<String> = columns.get("model")?;
    let provider_request: Option<String> = columns.get("provider_request")?;
    let cost = match (amount, source) {
        (None, None) => None,
        (Some(amount), Some(source)) => Some(Cost { amount: NanoDollars::new(amount), source }),
        _ => return Err(columns.bad("cost", "does not go with cost_source")),
    };
    Ok(answer.map(|answer| Receipt {
        answer,
        cost,
        usage,
        model: model.unwrap_or_default().into(),
        provider_request: provider_request.unwrap_or_default().into(),
    }))
}
