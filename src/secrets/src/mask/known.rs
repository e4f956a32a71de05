//! Replacing the secrets that are known, in all their forms, in one pass.
//!
//! An automaton finds the first bytes of each form; what follows them is compared byte by byte. So the automaton stays small
//! with long secrets, and one that is cut short after its first bytes is hidden as far as it goes.

use super::forms;
use crate::secret::{Name, Secret};
use aho_corasick::{AhoCorasick, BuildError, Input};
use ouroboros_shapes::automaton;
use ouroboros_shapes::output::{Output, unfinished};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Bytes of a form that the automaton knows.
const HEAD: usize = 256;

/// The known secrets, compiled.
pub struct Known {
    automaton: Option<AhoCorasick>,
    /// What may follow the head with this number.
    tails: Vec<Vec<Tail>>,
    longest: usize,
}

/// What follows a head.
#[derive(Clone)]
struct Tail {
    rest: Arc<[u8]>,
    label: Arc<str>,
}

/// A head was found, and what follows it is compared.
pub struct Following {
    tails: Vec<Tail>,
    at: usize,
}

impl Following {
    /// Compares the text from `from` on; says where it ends to be a secret, or nothing when it may go on behind the text.
    fn advance(&mut self, text: &[u8], from: usize) -> Option<usize> {
        let mut at = from;
        loop {
            if self.tails.iter().all(|tail| tail.rest.len() <= self.at) {
                return Some(at);
            }
            let byte = text.get(at)?;
            let goes_on = |tail: &&Tail| tail.rest.get(self.at) == Some(byte);
            let left: Vec<Tail> = self.tails.iter().filter(goes_on).cloned().collect();
            if left.is_empty() {
                return Some(at);
            }
            self.tails = left;
            self.at = self.at.saturating_add(1);
            at = at.saturating_add(1);
        }
    }

    fn label(&self) -> &[u8] {
        let whole = self.tails.iter().find(|tail| tail.rest.len() == self.at);
        whole.or(self.tails.first()).map(|tail| tail.label.as_bytes()).unwrap_or_default()
    }
}

impl Known {
    /// Compiles the secrets.
    pub fn new<'a>(secrets: impl Iterator<Item = (&'a Name, &'a Secret)>) -> Result<Self, BuildError> {
        let mut heads: BTreeMap<Vec<u8>, Vec<Tail>> = BTreeMap::new();
        for (name, secret) in secrets {
            let label: Arc<str> = format!("[secret:{name}]").into();
            for form in forms::of(secret.expose()) {
                let (head, rest) = form.split_at_checked(HEAD).unwrap_or((&form, &[]));
                heads.entry(head.to_vec()).or_default().push(Tail { rest: rest.into(), label: Arc::clone(&label) });
            }
        }
        let longest = heads.keys().map(Vec::len).max().unwrap_or(0);
        let automaton = if heads.is_empty() { None } else { Some(automaton(heads.keys())?) };
        Ok(Self { automaton, tails: heads.into_values().collect(), longest })
    }

    /// Scans the text, whose beginning continues what `following` says, and says up to where it is decided. With `last`, all is.
    pub fn scan<'a>(&self, following: &mut Option<Following>, text: &'a [u8], last: bool) -> (Cow<'a, [u8]>, usize) {
        let mut out = Output::new(text, 0);
        let limit = if last { text.len() } else { unfinished(text, self.longest) };
        let mut at = 0;
        loop {
            if let Some(mut open) = following.take() {
                match open.advance(text, at) {
                    Some(end) => {
                        out.replace(at..end, open.label());
                        at = end;
                    }
                    None if last => {
                        out.replace(at..text.len(), open.label());
                        at = text.len();
                    }
                    None => {
                        out.replace(at..text.len(), &[]);
                        *following = Some(open);
                        return (out.finish(text.len()), text.len());
                    }
                }
            }
            let search = |automaton: &AhoCorasick| automaton.find(Input::new(text).range(at..));
            let found = self.automaton.as_ref().and_then(search).filter(|found| found.start() < limit);
            let Some(found) = found else {
                let end = limit.max(at);
                return (out.finish(end), end);
            };
            out.replace(found.range(), &[]);
            at = found.end();
            let tails = self.tails.get(found.pattern().as_usize()).cloned().unwrap_or_default();
            *following = Some(Following { tails, at: 0 });
        }
    }
}
