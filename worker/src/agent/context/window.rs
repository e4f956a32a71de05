//! How much fits, by route, and who says so.
//!
//! What the owner says is believed before what a provider's catalogue says; what a provider said when a request did not fit is believed
//! before its catalogue, and makes what the owner says smaller, never larger.

use super::measure::Measure;
use ouroboros_proto::agent::{Entry, Facts, Window, WindowSource};
use std::collections::BTreeMap;

/// Most tokens of an answer where nothing is known of it.
const MAX_OUTPUT: u64 = 8_192;
/// Hundredths of the window that a request may take up.
const SHARE: u64 = 80;

/// What is known of one route.
#[derive(Debug, Default, Clone, Copy)]
struct Known {
    stated: Option<Window>,
    learned: Option<Window>,
}

impl Known {
    fn holds(self) -> Option<Window> {
        match (self.stated, self.learned) {
            (Some(stated), Some(learned)) => {
                let lowers = learned.tokens < stated.tokens;
                let corrects = stated.source == WindowSource::Reported && learned.source == WindowSource::Learned;
                Some(if lowers || corrects { learned } else { stated })
            }
            (stated, learned) => stated.or(learned),
        }
    }
}

/// What is known of windows.
#[derive(Debug, Default)]
pub struct Windows {
    by_route: BTreeMap<String, Known>,
    /// The route that answers, as far as that is known.
    route: Option<String>,
    max_output: u64,
    /// What the transcript says last, by route.
    recorded: BTreeMap<String, Window>,
}

impl Windows {
    /// What was known beforehand, and what earlier attempts learned.
    pub fn new(facts: &Facts, entries: &[Entry]) -> Self {
        let mut windows = Self {
            route: facts.route.clone(),
            max_output: facts.max_output.unwrap_or(MAX_OUTPUT).max(1),
            ..Self::default()
        };
        for entry in entries {
            match entry {
                Entry::Answered { answer } => windows.answered(&answer.route, answer.window),
                Entry::Overflowed { route, window, tokens, .. } => windows.overflowed(route, *window, *tokens),
                Entry::Window { route, tokens, source } => {
                    windows.recorded.insert(route.clone(), Window { tokens: *tokens, source: *source });
                }
                Entry::Asked { .. }
                | Entry::Said { .. }
                | Entry::Notice { .. }
                | Entry::Results { .. }
                | Entry::Parked { .. }
                | Entry::Delivered { .. }
                | Entry::Trimmed { .. }
                | Entry::Compacting { .. }
                | Entry::Compacted { .. }
                | Entry::PrefixBroken { .. }
                | Entry::Begins { .. }
                | Entry::Judging { .. }
                | Entry::Judged { .. } => {}
            }
        }
        // What is known now is newer than what answers said.
        if let (Some(route), Some(window)) = (&facts.route, facts.window) {
            windows.by_route.entry(route.clone()).or_default().stated = Some(window);
        }
        windows
    }

    /// A route answered.
    pub fn answered(&mut self, route: &str, window: Option<Window>) {
        self.route = Some(route.to_owned());
        if let Some(window) = window {
            self.by_route.entry(route.to_owned()).or_default().stated = Some(window);
        }
    }

    /// A request that was believed to have so many tokens did not fit; `window` is what was said to.
    pub fn overflowed(&mut self, route: &str, window: Option<u64>, tokens: u64) {
        self.route = Some(route.to_owned());
        let learned = match window.filter(|window| *window > 0) {
            Some(tokens) => Window { tokens, source: WindowSource::Learned },
            None => Window { tokens: tokens.saturating_sub(1).max(1), source: WindowSource::Inferred },
        };
        let known = self.by_route.entry(route.to_owned()).or_default();
        let keeps = known.learned.is_some_and(|before| before.tokens <= learned.tokens);
        if !keeps {
            known.learned = Some(learned);
        }
    }

    /// The route that is asked, as far as that is known.
    pub fn route(&self) -> Option<&str> {
        self.route.as_deref()
    }

    /// The window that holds.
    pub fn holds(&self) -> Option<Window> {
        self.by_route.get(self.route.as_deref()?)?.holds()
    }

    /// What is to be recorded, when something else holds than is on record.
    pub fn news(&mut self) -> Option<Entry> {
        let (route, window) = (self.route.clone()?, self.holds()?);
        if self.recorded.insert(route.clone(), window) == Some(window) {
            return None;
        }
        Some(Entry::Window { route, tokens: window.tokens, source: window.source })
    }

    /// Most tokens of an answer, where the window leaves less than usual.
    pub fn answer_room(&self) -> Option<u32> {
        let room = self.holds()?.tokens / 4;
        (room < self.max_output).then(|| u32::try_from(room.max(1)).unwrap_or(u32::MAX))
    }

    /// Tokens that a request should not pass.
    pub fn most(&self) -> Option<u64> {
        let window = self.holds()?.tokens;
        let room = self.max_output.min(window / 4);
        let share = window.saturating_mul(SHARE) / 100;
        Some(share.min(window.saturating_sub(room)).max(1))
    }

    /// Bytes that a request should not pass.
    pub fn most_bytes(&self, measure: &Measure) -> Option<u64> {
        self.most().map(|tokens| measure.bytes(tokens))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(window: Option<Window>) -> Facts {
        Facts { route: Some("r".to_owned()), window, max_output: Some(1_000), ..Facts::default() }
    }

    const fn window(tokens: u64, source: WindowSource) -> Window {
        Window { tokens, source }
    }

    #[test]
    fn who_is_believed() {
        use WindowSource::{Inferred, Learned, Owner, Reported};
        let holds = |stated: Option<(u64, WindowSource)>, overflow: Option<(Option<u64>, u64)>| {
            let mut windows = Windows::new(&facts(stated.map(|(tokens, source)| window(tokens, source))), &[]);
            if let Some((named, tokens)) = overflow {
                windows.overflowed("r", named, tokens);
            }
            windows.holds().map(|window| (window.tokens, window.source))
        };
        assert_eq!(holds(None, None), None);
        assert_eq!(holds(Some((9, Reported)), None), Some((9, Reported)));
        assert_eq!(holds(Some((9, Reported)), Some((Some(5), 8))), Some((5, Learned)));
        assert_eq!(holds(Some((9, Reported)), Some((Some(20), 8))), Some((20, Learned)), "it was reported wrong");
        assert_eq!(holds(Some((9, Owner)), Some((Some(20), 8))), Some((9, Owner)), "the owner wants no more");
        assert_eq!(holds(Some((9, Owner)), Some((None, 8))), Some((7, Inferred)));
        assert_eq!(holds(None, Some((None, 8))), Some((7, Inferred)));
        assert_eq!(holds(Some((9, Reported)), Some((None, 30))), Some((9, Reported)));
    }

    #[test]
    fn what_holds_is_recorded_once_and_learned_again_from_the_record() {
        let overflow = Entry::Overflowed { route: "r".to_owned(), window: Some(400), bytes: 9, tokens: 9 };
        let mut windows = Windows::new(&facts(None), std::slice::from_ref(&overflow));
        let news = windows.news().expect("it is new");
        assert_eq!(windows.news(), None);
        let mut again = Windows::new(&facts(None), &[overflow, news]);
        assert_eq!((again.news(), again.holds()), (None, Some(window(400, WindowSource::Learned))));
        assert_eq!((again.most(), again.answer_room()), (Some(300), Some(100)), "the answer needs room");
        let large = Windows::new(&facts(Some(window(10_000, WindowSource::Owner))), &[]);
        assert_eq!((large.most(), large.answer_room()), (Some(8_000), None));
    }
}
