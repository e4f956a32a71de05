//! The text of a patch as changes of files.

use super::name;

/// What a patch does to one file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FilePatch {
    /// The path before; `None` when it is created.
    pub old: Option<String>,
    /// The path after; `None` when it is deleted.
    pub new: Option<String>,
    /// The mode after, where it is said.
    pub mode: Option<u32>,
    /// Its hunks, in order.
    pub hunks: Vec<Hunk>,
}

/// What happens to a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// It stays.
    Keep,
    /// It goes.
    Remove,
    /// It comes.
    Add,
}

/// One place of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Hunk {
    /// Its `@@` line.
    pub header: String,
    /// The line in the old file where it says that it begins, from 1.
    pub at: Option<usize>,
    /// Its lines, without their ends; those that come may still have the first half of a CRLF.
    pub lines: Vec<(Mark, String)>,
    /// The new file ends with this hunk, without a newline.
    pub open_end: bool,
}

/// A patch that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct BadPatch {
    /// The line of the patch, from 1.
    pub line: usize,
    why: &'static str,
}

#[derive(Default)]
struct Open {
    file: FilePatch,
    /// Paths of a `diff --git` line, for what has no other.
    pair: Option<(String, String)>,
    created: bool,
    deleted: bool,
    named: bool,
    renamed: bool,
}

/// Reads a patch.
///
/// # Errors
/// It is no unified diff, or does what cannot be done here.
pub fn parse(text: &str) -> Result<Vec<FilePatch>, BadPatch> {
    let lines: Vec<&str> = text.strip_suffix('\n').unwrap_or(text).split('\n').collect();
    let mut files = Vec::new();
    let mut open: Option<Open> = None;
    let mut at = 0_usize;
    while let Some(line) = lines.get(at) {
        let bad = |why| BadPatch { line: at.saturating_add(1), why };
        let mut next = at.saturating_add(1);
        if let Some(rest) = line.strip_prefix("diff --git ") {
            close(open.take(), &mut files).map_err(bad)?;
            open = Some(Open { pair: name::pair(rest), ..Open::default() });
        } else if let (Some(old), Some(new)) = (line.strip_prefix("--- "), plus(&lines, next)) {
            if open.as_ref().is_none_or(|open| open.named || !open.file.hunks.is_empty()) {
                close(open.take(), &mut files).map_err(bad)?;
            }
            let open = open.get_or_insert_default();
            if !open.renamed {
                let (old, new) = name::without_prefixes(name::header(old), name::header(new));
                (open.file.old, open.file.new) = (old, new);
            }
            open.named = true;
            next = next.saturating_add(1);
        } else if line.starts_with("@@") {
            let Some(open) = open.as_mut().filter(|open| open.named) else {
                return Err(bad("a hunk before the --- and +++ lines that say which file it is for"));
            };
            let (hunk, end) = hunk(&lines, at).map_err(bad)?;
            open.file.hunks.push(hunk);
            next = end;
        } else if let Some(open) = open.as_mut() {
            extended(open, line.trim_end()).map_err(bad)?;
        }
        at = next;
    }
    let last = BadPatch { line: lines.len(), why: "" };
    close(open, &mut files).map_err(|why| BadPatch { why, ..last })?;
    if files.is_empty() {
        return Err(BadPatch { line: 1, why: "no --- and +++ lines, so it is no unified diff" });
    }
    Ok(files)
}

fn plus<'a>(lines: &[&'a str], at: usize) -> Option<&'a str> {
    lines.get(at).and_then(|line| line.strip_prefix("+++ "))
}

/// Lines that git adds between `diff --git` and the first hunk.
fn extended(open: &mut Open, line: &str) -> Result<(), &'static str> {
    let mode = |text: &str| u32::from_str_radix(text, 8).ok().map(|mode| mode & 0o777);
    if let Some(path) = line.strip_prefix("rename from ") {
        (open.file.old, open.renamed) = (Some(name::path(path)), true);
    } else if let Some(path) = line.strip_prefix("rename to ") {
        (open.file.new, open.renamed) = (Some(name::path(path)), true);
    } else if let Some(text) = line.strip_prefix("new file mode ") {
        (open.file.mode, open.created) = (mode(text), true);
        if text.starts_with("12") {
            return Err("it creates a symbolic link, which cannot be done here");
        }
    } else if let Some(text) = line.strip_prefix("new mode ") {
        open.file.mode = mode(text);
    } else if line.starts_with("deleted file mode ") {
        open.deleted = true;
    } else if line.starts_with("copy from ") || line.starts_with("copy to ") {
        return Err("it copies a file. Create the copy with /dev/null as the old name");
    } else if line.starts_with("GIT binary patch") || line.starts_with("Binary files ") {
        return Err("it changes a binary file, which cannot be done here");
    } else if !open.file.hunks.is_empty() && !ends_quietly(line) {
        return Err("expected a line that begins with a space, +, - or @@");
    }
    Ok(())
}

/// What may follow a hunk and means nothing: nothing, or the signature of a mailed patch.
fn ends_quietly(line: &str) -> bool {
    line.is_empty()
        || line == "--"
        || line.starts_with("index ")
        || line.bytes().next().is_some_and(|byte| byte.is_ascii_digit())
}

fn close(open: Option<Open>, files: &mut Vec<FilePatch>) -> Result<(), &'static str> {
    let Some(Open { mut file, pair, created, deleted, named, renamed }) = open else { return Ok(()) };
    if !named && !renamed {
        let Some((old, new)) = pair else { return Err("it does not say which file it is for") };
        file.old = (!created).then_some(old);
        file.new = (!deleted).then_some(new);
    }
    match (&file.old, &file.new) {
        (None, None) => return Err("both names are /dev/null"),
        (Some(old), Some(new)) if old == new && file.hunks.is_empty() && file.mode.is_none() => {
            return Err("it has no hunks");
        }
        (Some(_) | None, Some(_) | None) => files.push(file),
    }
    Ok(())
}

/// Reads the hunk whose `@@` line is at `at`; gives the line after it.
fn hunk(lines: &[&str], at: usize) -> Result<(Hunk, usize), &'static str> {
    let header = lines.get(at).copied().unwrap_or_default().trim_end();
    let numbers = ranges(header);
    let mut hunk = Hunk { header: header.chars().take(120).collect(), ..Hunk::default() };
    hunk.at = numbers.map(|(old, _)| old.0);
    let (mut old_left, mut new_left) = numbers.map_or((0, 0), |(old, new)| (old.1, new.1));
    let mut at = at.saturating_add(1);
    while let Some(raw) = lines.get(at).copied() {
        let line = raw.trim_end_matches('\r');
        let whole = old_left == 0 && new_left == 0;
        let begins = line.starts_with("@@")
            || line.starts_with("diff --git ")
            || (whole || numbers.is_none()) && line.starts_with("--- ") && plus(lines, at.saturating_add(1)).is_some();
        if begins {
            break;
        }
        let (mark, text) = match line.split_at_checked(1) {
            Some((" ", text)) => (Mark::Keep, text),
            Some(("-", "- ")) if whole => break,
            Some(("-", text)) => (Mark::Remove, text),
            Some(("+", _)) => (Mark::Add, raw.get(1..).unwrap_or_default()),
            Some(("\\", _)) => {
                let last = hunk.lines.last().map(|(mark, _)| *mark);
                hunk.open_end |= last.is_some_and(|mark| mark != Mark::Remove);
                at = at.saturating_add(1);
                continue;
            }
            // The space of an empty line is easily lost.
            None if line.is_empty() && !whole => (Mark::Keep, ""),
            None if line.is_empty() && numbers.is_none() && goes_on(lines, at) => (Mark::Keep, ""),
            Some(_) | None => break,
        };
        if mark != Mark::Add {
            old_left = old_left.saturating_sub(1);
        }
        if mark != Mark::Remove {
            new_left = new_left.saturating_sub(1);
        }
        hunk.lines.push((mark, text.to_owned()));
        at = at.saturating_add(1);
    }
    if old_left > 0 || new_left > 0 {
        // The numbers were wrong, so empty lines at the end are the patch's own.
        while hunk.lines.last().is_some_and(|(mark, text)| *mark == Mark::Keep && text.is_empty()) {
            hunk.lines.pop();
        }
    }
    if hunk.lines.iter().all(|(mark, _)| *mark == Mark::Keep) {
        return Err("the hunk changes nothing");
    }
    Ok((hunk, at))
}

/// Whether a line of a hunk follows after empty ones.
fn goes_on(lines: &[&str], at: usize) -> bool {
    let next = lines.iter().skip(at).map(|line| line.trim_end()).find(|line| !line.is_empty());
    next.is_some_and(|line| line.starts_with([' ', '+', '-']) && !line.starts_with("--- "))
}

type Range = (usize, usize);

/// The numbers of `@@ -1,2 +3,4 @@`.
fn ranges(header: &str) -> Option<(Range, Range)> {
    let mut words = header.split_ascii_whitespace().skip(1);
    let mut range = |sign| {
        let text = words.next()?.strip_prefix(sign)?;
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((start.parse().ok()?, count.parse().ok()?))
    };
    Some((range('-')?, range('+')?))
}
