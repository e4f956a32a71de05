//! Whom to ask.

use super::{How, Key, Problem, Search};
use crate::providers::{KNOWN, Known, known};
use crate::route::Provider;
use crate::transport::without_password;

/// Somebody to ask.
#[derive(Debug)]
pub(super) struct Candidate<'a> {
    pub(super) provider: Provider,
    pub(super) how: How,
    pub(super) key: Option<&'a str>,
    /// Nobody said that it is there: when it is not, that is no problem.
    pub(super) silent: bool,
}

/// All of them, in the order of the sources.
#[derive(Debug, Default)]
pub(super) struct Candidates<'a> {
    pub(super) list: Vec<Candidate<'a>>,
    pub(super) problems: Vec<Problem>,
}

pub(super) fn all<'a>(search: &Search<'a>) -> Candidates<'a> {
    let mut candidates = Candidates::default();
    let key_of = |name: &str| search.keys.iter().find(|key| key.provider == name);
    for provider in search.providers {
        let key = key_of(known(&provider.name).map_or(provider.name.as_str(), |known| known.key));
        candidates.add(provider.clone(), How::Setting, key, false);
    }
    for known in KNOWN.iter().filter(|known| !known.local) {
        let Some(provider) = known.provider(search.variable) else { continue };
        match key_of(known.key) {
            // What stands in for OpenAI seldom speaks its second format; its owner knows, and names it.
            Some(_) if known.key != known.name && !known.is_genuine(&provider) && !search.names(known.name) => {}
            Some(key) => candidates.add(provider, How::Key(key.found.to_owned()), Some(key), false),
            None if !known.needs_key => candidates.named(known, provider),
            None => {}
        }
    }
    for known in KNOWN.iter().filter(|known| known.local && search.local) {
        let Some(provider) = known.provider(search.variable) else { continue };
        let how = How::Address(without_password(&provider.base_url));
        candidates.add(provider, how, key_of(known.key), true);
    }
    for key in search.keys {
        let used = |candidate: &Candidate<'_>| {
            known(&candidate.provider.name).is_some_and(|known| known.key == key.provider)
                || candidate.provider.name == key.provider
        };
        if !candidates.list.iter().any(used) {
            let what = format!("there is a key in {}, and nothing says where this provider is", key.found);
            candidates.problems.push(Problem { provider: key.provider.to_owned(), what });
        }
    }
    candidates
}

impl<'a> Candidates<'a> {
    /// The first of a name counts: the settings come before what is known.
    fn add(&mut self, provider: Provider, how: How, key: Option<&Key<'a>>, silent: bool) {
        if self.list.iter().all(|other| other.provider.name != provider.name) {
            self.list.push(Candidate { provider, how, key: key.map(|key| key.secret), silent });
        }
    }

    /// A provider whose address a variable says.
    fn named(&mut self, known: &Known, provider: Provider) {
        let from = known.variable.unwrap_or("the settings");
        let how = How::Address(format!("{}, from {from}", without_password(&provider.base_url)));
        self.add(provider, how, None, false);
    }
}
