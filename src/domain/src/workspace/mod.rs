//! Which folder belongs to whom, so that no two tasks change the same files at once.
//!
//! A task that acts in a folder holds it while an attempt of it is not proven gone, and two folders are in each other's way when they
//! are the same, or one lies beneath the other. Everything here is derived from rows: a folder is held because there is an attempt
//! in it, and for no other reason.
//!
//! Of the tasks that are ready in one folder only the first can start, and only while nothing holds a folder in its way. It also
//! lets that task pass which came before it and waits for a larger folder: otherwise those beneath could keep that one waiting for ever.
//! Nobody else waits, whatever folders are held.
//!
//! Paths are compared as text: whoever submits a task has made them canonical.

mod path;

use crate::queue::Place;
use crate::row::AttemptRow;
use ouroboros_proto::kind::{AttemptId, TaskId};
pub use path::{above as outer_folders, overlap};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A folder that a task acts in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FolderId(u64);

/// The folders of unsettled tasks and of attempts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Workspaces {
    by_path: BTreeMap<Arc<str>, FolderId>,
    folders: BTreeMap<FolderId, Folder>,
    next: u64,
    /// Who holds a folder: attempts that are not proven gone.
    holders: BTreeMap<AttemptId, (FolderId, TaskId)>,
    behind: u64,
}

#[derive(Debug, Clone)]
struct Folder {
    path: Arc<str>,
    /// Unsettled tasks and attempts that name it.
    users: u64,
    ready: BTreeSet<Place>,
    /// Which of them may start.
    first: Option<Place>,
    /// How many of them stand behind that one.
    behind: u64,
}

impl Workspaces {
    /// The one copy of this path.
    pub fn intern(&self, path: &Arc<str>) -> Arc<str> {
        self.by_path.get_key_value(path).map_or(path, |(known, _)| known).clone()
    }

    /// A task that acts in a folder has come.
    pub fn joined(&mut self, path: &Arc<str>) {
        self.enter(path);
    }

    /// It has settled.
    pub fn left(&mut self, path: &str) {
        if let Some(folder) = self.by_path.get(path).copied() {
            self.leave(folder);
        }
    }

    /// An attempt is under way, or proven gone.
    pub fn attempt(&mut self, row: &AttemptRow, startable: &mut BTreeSet<Place>) {
        let Some(path) = &row.workspace else { return };
        let known = self.holders.contains_key(&row.id);
        match (known, row.ended_at) {
            (false, None) => {
                let folder = self.enter(path);
                self.holders.insert(row.id, (folder, row.task));
                self.look_around(path, startable);
            }
            (true, Some(_)) => {
                if let Some((folder, _)) = self.holders.remove(&row.id) {
                    self.look_around(path, startable);
                    self.leave(folder);
                }
            }
            (true, None) | (false, Some(_)) => {}
        }
    }

    /// A task is ready to start; the folder that it waits in.
    pub fn ready(&mut self, path: &Arc<str>, place: Place, startable: &mut BTreeSet<Place>) -> Option<FolderId> {
        let id = self.by_path.get(path).copied()?;
        let folder = self.folders.get_mut(&id)?;
        folder.ready.insert(place);
        let is_first = folder.ready.first() == Some(&place);
        self.changed(id, is_first, startable);
        Some(id)
    }

    /// It is no longer.
    pub fn unready(&mut self, id: FolderId, place: Place, startable: &mut BTreeSet<Place>) {
        if let Some(folder) = self.folders.get_mut(&id) {
            let was_first = folder.ready.first() == Some(&place);
            folder.ready.remove(&place);
            self.changed(id, was_first, startable);
        }
    }

    /// How many ready tasks wait for nothing but the one before them in their folder.
    pub fn behind(&self) -> u64 {
        self.behind
    }

    /// The task that keeps one that is ready from its folder: it is at work there, or it came before and waits for more.
    pub fn obstacle(&self, path: &str, place: Place) -> Option<TaskId> {
        self.holder(path).or_else(|| self.ahead(path, place))
    }

    fn enter(&mut self, path: &Arc<str>) -> FolderId {
        let id = self.by_path.get(path).copied().unwrap_or_else(|| {
            let id = FolderId(self.next);
            self.next = self.next.wrapping_add(1);
            self.by_path.insert(path.clone(), id);
            let path = path.clone();
            self.folders.insert(id, Folder { path, users: 0, ready: BTreeSet::new(), first: None, behind: 0 });
            id
        });
        if let Some(folder) = self.folders.get_mut(&id) {
            folder.users = folder.users.saturating_add(1);
        }
        id
    }

    fn leave(&mut self, id: FolderId) {
        let Some(folder) = self.folders.get_mut(&id) else { return };
        folder.users = folder.users.saturating_sub(1);
        if folder.users == 0
            && let Some(folder) = self.folders.remove(&id)
        {
            self.by_path.remove(&folder.path);
        }
    }

    /// The task of an attempt that holds a folder in the way of this one.
    fn holder(&self, path: &str) -> Option<TaskId> {
        let in_the_way = |folder: &FolderId| self.folders.get(folder).is_some_and(|it| overlap(&it.path, path));
        self.holders.values().find(|(folder, _)| in_the_way(folder)).map(|(_, task)| *task)
    }

    /// The first task that came before `place`, and waits for a folder that this one lies in.
    ///
    /// Only who waits for a larger folder can be overtaken: who waits for the same one, or for one beneath, waits for what this one
    /// waits for too.
    fn ahead(&self, path: &str, place: Place) -> Option<TaskId> {
        path::above(path)
            .filter_map(|outer| self.folders.get(self.by_path.get(outer)?))
            .filter_map(|outer| Some((*outer.ready.first()?, outer)))
            .filter(|(head, outer)| *head < place && self.holder(&outer.path).is_some())
            .map(|(head, _)| head)
            .min()
            .map(Place::task)
    }

    /// The ready tasks of a folder have changed, perhaps the first of them, which those beneath let pass while it waits.
    fn changed(&mut self, id: FolderId, first: bool, startable: &mut BTreeSet<Place>) {
        self.look(id, startable);
        let path = self.folders.get(&id).map(|folder| folder.path.clone());
        if let Some(path) = path.filter(|path| first && self.holder(path).is_some()) {
            self.look_beneath(&path, startable);
        }
    }

    /// A folder has become held, or free: so have those beneath it and above, and who lets one of these pass looks too.
    fn look_around(&mut self, path: &str, startable: &mut BTreeSet<Place>) {
        let above: Vec<Arc<str>> = path::above(path).filter_map(|outer| self.known(outer)).collect();
        let top = above.iter().rfind(|outer| self.has_ready(outer)).cloned();
        let top = top.or_else(|| self.known(path));
        if let Some(top) = top {
            if let Some(id) = self.by_path.get(&top).copied() {
                self.look(id, startable);
            }
            self.look_beneath(&top, startable);
        }
    }

    fn known(&self, path: &str) -> Option<Arc<str>> {
        self.by_path.get_key_value(path).map(|(known, _)| known.clone())
    }

    fn has_ready(&self, path: &str) -> bool {
        self.by_path.get(path).and_then(|id| self.folders.get(id)).is_some_and(|folder| !folder.ready.is_empty())
    }

    fn look_beneath(&mut self, path: &str, startable: &mut BTreeSet<Place>) {
        let prefix = path::inside(path);
        let beneath =
            self.by_path.range::<str, _>((std::ops::Bound::Excluded(prefix.as_str()), std::ops::Bound::Unbounded));
        let beneath = beneath.take_while(|(path, _)| path.starts_with(&prefix)).map(|(_, id)| *id);
        for id in beneath.collect::<Vec<FolderId>>() {
            self.look(id, startable);
        }
    }

    /// Says anew which task of a folder may start.
    fn look(&mut self, id: FolderId, startable: &mut BTreeSet<Place>) {
        let Some(folder) = self.folders.get(&id) else { return };
        let head = folder.ready.first().copied();
        let first = head.filter(|head| self.obstacle(&folder.path, *head).is_none());
        let Some(folder) = self.folders.get_mut(&id) else { return };
        if folder.first != first {
            if let Some(before) = folder.first {
                startable.remove(&before);
            }
            startable.extend(first);
            folder.first = first;
        }
        let size = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        let behind = first.map_or(0, |_| size(folder.ready.len()).saturating_sub(1));
        self.behind = self.behind.saturating_sub(folder.behind).saturating_add(behind);
        folder.behind = behind;
    }
}

impl crate::Core {
    /// The task that keeps `task` from its folder; `None` when none does, or when it waits for something else.
    #[must_use]
    pub fn waits_for_workspace(&self, task: TaskId) -> Option<TaskId> {
        let row = self.unsettled(task)?;
        self.queue.workspace_obstacle(row)
    }
}
