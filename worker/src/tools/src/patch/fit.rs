//! Finding the place of a hunk in a file, and making its change.

use super::parse::{Hunk, Mark};
use crate::replace::has_only_crlf;
use memchr::{memchr, memchr_iter};

/// A hunk that has no place, or several.
#[derive(Debug)]
pub struct Misfit {
    /// Which hunk of the file, from 1.
    pub number: usize,
    /// Its `@@` line.
    pub header: String,
    /// Its old lines.
    pub wanted: String,
    /// At how many places it fits.
    pub places: usize,
}

/// Why the changes were not made.
#[derive(Debug)]
pub enum Unfit {
    /// A hunk does not fit.
    Misfit(Misfit),
    /// The task was cancelled.
    Cancelled,
}

/// Makes the changes of all hunks; gives the new bytes, and how many hunks fitted elsewhere than they said.
pub fn apply(bytes: &[u8], hunks: &[Hunk], cancelled: &dyn Fn() -> bool) -> Result<(Vec<u8>, usize), Unfit> {
    let lines = split(bytes);
    let end: &[u8] = if has_only_crlf(bytes) { b"\r\n" } else { b"\n" };
    // A file without ends of lines gets those of the patch.
    let has_ends = memchr(b'\n', bytes).is_some();
    let mut out: Vec<(&[u8], bool)> = Vec::with_capacity(lines.len());
    let (mut done, mut shift, mut moved) = (0_usize, 0_isize, 0_usize);
    let mut open_end = false;
    for (index, hunk) in hunks.iter().enumerate() {
        if cancelled() {
            return Err(Unfit::Cancelled);
        }
        let old: Vec<&[u8]> =
            hunk.lines.iter().filter(|(mark, _)| *mark != Mark::Add).map(|(_, line)| line.as_bytes()).collect();
        let misfit = |places| {
            Unfit::Misfit(Misfit {
                number: index.saturating_add(1),
                header: hunk.header.clone(),
                wanted: hunk
                    .lines
                    .iter()
                    .filter(|(mark, _)| *mark != Mark::Add)
                    .map(|(_, line)| format!("{line}\n"))
                    .collect(),
                places,
            })
        };
        let (place, said) = place(&lines, &old, hunk.at, shift, done).map_err(misfit)?;
        if let Some(said) = said {
            let off = place.cast_signed().wrapping_sub(said.cast_signed());
            moved = moved.saturating_add(usize::from(off != 0));
            shift = shift.saturating_add(off);
        }
        out.extend(lines.get(done..place).unwrap_or_default().iter().map(|line| (*line, false)));
        done = place;
        for (mark, text) in &hunk.lines {
            match mark {
                Mark::Keep => out.extend(lines.get(done).map(|line| (*line, false))),
                Mark::Remove => {}
                Mark::Add if !has_ends => out.push((text.as_bytes(), true)),
                Mark::Add => out.push((bare(text.as_bytes()), true)),
            }
            if *mark != Mark::Add {
                done = done.saturating_add(1);
            }
        }
        open_end = hunk.open_end;
    }
    let rest = lines.get(done..).unwrap_or_default();
    open_end &= rest.is_empty();
    out.extend(rest.iter().map(|line| (*line, false)));
    Ok((join(&out, end, open_end), moved))
}

/// Where a hunk goes, and where it said that it goes.
fn place(
    lines: &[&[u8]],
    old: &[&[u8]],
    at: Option<usize>,
    shift: isize,
    from: usize,
) -> Result<(usize, Option<usize>), usize> {
    let last = lines.len().checked_sub(old.len()).filter(|last| *last >= from).ok_or(0_usize)?;
    let said = at.map(|at| {
        // A hunk without old lines stands after the line that it names.
        let at = if old.is_empty() { at } else { at.saturating_sub(1) };
        at.saturating_add_signed(shift)
    });
    if old.is_empty() {
        let place = said.unwrap_or(last).clamp(from, last);
        return Ok((place, said.map(|_| place)));
    }
    let fits = |place: &usize| {
        let there = lines.get(*place..).unwrap_or_default();
        old.iter().zip(there).all(|(old, line)| *old == bare(line))
    };
    if let Some(said) = said.filter(|said| (from..=last).contains(said) && fits(said)) {
        return Ok((said, Some(said)));
    }
    let mut places = (from..=last).filter(fits);
    match said {
        None => {
            let place = places.next().ok_or(0_usize)?;
            match places.count() {
                0 => Ok((place, None)),
                more => Err(more.saturating_add(1)),
            }
        }
        Some(said) => {
            let place = places.min_by_key(|place| place.abs_diff(said)).ok_or(0_usize)?;
            Ok((place, Some(said)))
        }
    }
}

fn split(bytes: &[u8]) -> Vec<&[u8]> {
    let mut from = 0;
    let mut lines = Vec::new();
    for newline in memchr_iter(b'\n', bytes) {
        let end = newline.saturating_add(1);
        lines.push(bytes.get(from..end).unwrap_or_default());
        from = end;
    }
    match bytes.get(from..) {
        Some(rest) if !rest.is_empty() => lines.push(rest),
        Some(_) | None => {}
    }
    lines
}

fn bare(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Lines of the file with the ends that they have, new ones with the file's; only the last may have none.
fn join(lines: &[(&[u8], bool)], end: &[u8], open_end: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    let last = lines.len().saturating_sub(1);
    for (index, (line, added)) in lines.iter().enumerate() {
        if index == last && open_end {
            bytes.extend_from_slice(bare(line));
            continue;
        }
        bytes.extend_from_slice(line);
        if !line.ends_with(b"\n") && (*added || index != last) {
            bytes.extend_from_slice(end);
        }
    }
    bytes
}
