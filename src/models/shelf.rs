//! What is kept of routes between lives: the catalogue as it was last read, the owner's own prices, and fields that a route did not
//! accept. One small file, replaced as a whole; without it the next look fills it again, but for the owner's prices. One that cannot be
//! read is therefore never replaced: it is moved aside and told of until somebody takes it away.

use ouroboros_gateway::catalogue::Catalogue;
use ouroboros_gateway::price::Price;
use ouroboros_gateway::route::RouteId;
use ouroboros_process::durable;
use ouroboros_proto::kind::{Millis, UtcMicros};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Its name in the data directory.
const FILE: &str = "catalogue.json";
/// A file that is larger is none of ours.
const MOST: u64 = 64 << 20;
/// How long it is believed that a route does not accept a field: providers change.
const BELIEVED: Millis = Millis::seconds(14 * 86_400);

/// It cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum ShelfError {
    /// The file cannot be written.
    #[error("{}: {source}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// What is there cannot be read, and could not be moved aside.
    #[error("{} cannot be read and could not be moved aside, so it is not replaced", .0.display())]
    Stuck(PathBuf),
    /// It cannot be said in JSON.
    #[error("prices cannot be written: {0}")]
    Json(#[from] serde_json::Error),
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Content {
    #[serde(default)]
    catalogue: Catalogue,
    #[serde(default)]
    owner: BTreeMap<RouteId, Price>,
    #[serde(default)]
    learned: BTreeMap<RouteId, Learned>,
}

/// Fields that a route did not accept.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Learned {
    omitted: Vec<String>,
    at: UtcMicros,
}

/// The shelf.
#[derive(Debug)]
pub struct Shelf {
    path: PathBuf,
    /// Why what is there may not be replaced.
    stuck: Option<String>,
    content: Mutex<Content>,
}

impl Shelf {
    /// What is kept in this data directory. What cannot be read is moved aside, not overwritten.
    #[must_use]
    pub fn open(data_dir: &Path) -> Self {
        let path = data_dir.join(FILE);
        let (content, stuck) = match read(&path) {
            Ok(content) => (content, None),
            Err(error) => {
                tracing::error!(path = %path.display(), %error, "kept prices cannot be read; the file is moved aside");
                let stuck = durable::move_aside(&path).err().map(|moving| {
                    tracing::error!(path = %path.display(), error = %moving, "it cannot be moved aside");
                    format!("{error}; {moving}")
                });
                (Content::default(), stuck)
            }
        };
        Self { path, stuck, content: Mutex::new(content) }
    }

    /// What its owner should know, a sentence each.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let stuck = self.stuck.as_ref().map(|why| {
            format!(
                "{} cannot be read and could not be moved aside ({why}): your own prices do not count, and none is kept. Repair or move \
                 the file, then run `ouroboros restart`.",
                self.path.display()
            )
        });
        let aside = durable::moved_aside(&self.path).unwrap_or_default().into_iter().map(|aside| {
            format!(
                "Kept prices could not be read; your own among them do not count. They are in {}: set them again with \
                 `ouroboros models price`, then remove that file.",
                aside.display()
            )
        });
        stuck.into_iter().chain(aside).collect()
    }

    /// The catalogue as it was last read.
    #[must_use]
    pub fn catalogue(&self) -> Catalogue {
        self.lock().catalogue.clone()
    }

    /// The owner's own prices.
    #[must_use]
    pub fn owner(&self) -> BTreeMap<RouteId, Price> {
        self.lock().owner.clone()
    }

    /// Keeps a catalogue. Durable when this returns.
    ///
    /// # Errors
    /// [`ShelfError`]; what was kept stays.
    pub fn keep(&self, catalogue: &Catalogue) -> Result<(), ShelfError> {
        self.change(|content| content.catalogue = catalogue.clone())
    }

    /// Sets or removes the owner's price of a route. Durable when this returns.
    ///
    /// # Errors
    /// [`ShelfError`]; what was kept stays.
    pub fn set_owner(&self, route: RouteId, price: Option<Price>) -> Result<(), ShelfError> {
        self.change(|content| {
            match price {
                Some(price) => content.owner.insert(route, price),
                None => content.owner.remove(&route),
            };
        })
    }

    /// Fields that a route did not accept lately.
    #[must_use]
    pub fn learned(&self, route: &RouteId, now: UtcMicros) -> Vec<String> {
        let content = self.lock();
        let fresh = content.learned.get(route).filter(|learned| now.since(learned.at) < BELIEVED);
        fresh.map(|learned| learned.omitted.clone()).unwrap_or_default()
    }

    /// A route answered without these fields.
    ///
    /// # Errors
    /// [`ShelfError`]; what was kept stays.
    pub fn learn(&self, route: RouteId, omitted: Vec<String>, at: UtcMicros) -> Result<(), ShelfError> {
        self.change(|content| {
            content.learned.retain(|_, learned| at.since(learned.at) < BELIEVED);
            content.learned.insert(route, Learned { omitted, at });
        })
    }

    fn change(&self, change: impl FnOnce(&mut Content)) -> Result<(), ShelfError> {
        if self.stuck.is_some() {
            return Err(ShelfError::Stuck(self.path.clone()));
        }
        let mut content = self.lock();
        let mut changed = content.clone();
        change(&mut changed);
        let bytes = serde_json::to_vec(&changed)?;
        durable::replace(&self.path, &bytes).map_err(|source| ShelfError::Io { path: self.path.clone(), source })?;
        *content = changed;
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read(path: &Path) -> io::Result<Content> {
    match std::fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Content::default()),
        Err(error) => return Err(error),
        Ok(meta) if meta.len() > MOST => return Err(io::Error::other("it is too large")),
        Ok(_) => {}
    }
    serde_json::from_slice(&std::fs::read(path)?).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouroboros_gateway::price::PerMillion;

    #[test]
    fn prices_of_the_owner_outlive_a_life() {
        let dir = tempfile::tempdir().unwrap();
        let route = RouteId::new("openai", "x");
        let price = Price { input: PerMillion(5), ..Price::free() };
        Shelf::open(dir.path()).set_owner(route.clone(), Some(price.clone())).unwrap();
        let again = Shelf::open(dir.path());
        assert_eq!(again.owner().get(&route), Some(&price));
        again.set_owner(route, None).unwrap();
        assert!(Shelf::open(dir.path()).owner().is_empty());

        let now = UtcMicros::new(1_000_000_000_000_000);
        let (route, shelf) = (RouteId::new("openai", "x"), Shelf::open(dir.path()));
        shelf.learn(route.clone(), vec!["temperature".to_owned()], now).unwrap();
        assert_eq!(Shelf::open(dir.path()).learned(&route, now), ["temperature"]);
        assert!(shelf.learned(&route, now.plus(BELIEVED)).is_empty());

        assert_eq!(shelf.problems(), [""; 0]);
    }

    #[test]
    fn a_file_that_cannot_be_read_is_kept_and_told_of_until_it_is_taken_away() {
        let dir = tempfile::tempdir().unwrap();
        for damaged in ["{", "7"] {
            std::fs::write(dir.path().join(FILE), damaged).unwrap();
            let shelf = Shelf::open(dir.path());
            assert!(shelf.owner().is_empty());
            shelf.keep(&Catalogue::default()).unwrap();
        }
        let aside = [1, 2].map(|number| dir.path().join(format!("{FILE}.unreadable-{number}")));
        assert_eq!(aside.each_ref().map(|aside| std::fs::read_to_string(aside).unwrap()), ["{", "7"]);
        let next = Shelf::open(dir.path());
        assert_eq!(next.problems().len(), 2, "the next life tells of it too");
        assert!(next.problems()[0].contains("unreadable-1") && next.problems()[0].contains("ouroboros models price"));
        aside.iter().for_each(|aside| std::fs::remove_file(aside).unwrap());
        assert_eq!(next.problems(), [""; 0]);
    }

    #[test]
    fn a_file_that_cannot_be_moved_aside_is_not_replaced() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(FILE), b"{").unwrap();
        // Every name beside it is taken.
        (1..=1_000)
            .for_each(|number| std::fs::write(dir.path().join(format!("{FILE}.unreadable-{number}")), b"").unwrap());
        let shelf = Shelf::open(dir.path());
        assert!(matches!(shelf.keep(&Catalogue::default()), Err(ShelfError::Stuck(_))));
        assert_eq!(std::fs::read(dir.path().join(FILE)).unwrap(), b"{");
        assert!(shelf.problems()[0].contains("could not be moved aside"));
    }
}
