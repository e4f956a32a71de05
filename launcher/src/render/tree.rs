//! Our processes as a tree.

use super::{Column, Look, Table, Tone, size, time};
use ouroboros_proto::api::ProcessView;
use ouroboros_proto::kind::Millis;
use std::collections::{BTreeMap, BTreeSet};

/// One row a process, children below their parents. A process whose parent is none of ours is a root.
pub fn tree(processes: &[ProcessView], look: Look) -> String {
    let mut table = Table::new(&[
        Column::Right("PID"),
        Column::Left("ROLE"),
        Column::Right("TASK"),
        Column::Right("AGE"),
        Column::Right("CPU"),
        Column::Right("RSS"),
        Column::Left("COMMAND"),
    ]);
    for (process, branch) in order(processes) {
        let unknown = || "-".to_owned();
        let role = if process.recorded { process.role.to_string() } else { format!("{}*", process.role) };
        table.row([
            (Tone::Plain, process.pid.to_string()),
            (Tone::Plain, role),
            (Tone::Plain, process.task.map_or_else(unknown, |task| task.to_string())),
            (Tone::Plain, process.age_seconds.map_or_else(unknown, |age| time::age(Millis::seconds(age)))),
            (Tone::Plain, process.cpu_micros.map_or_else(unknown, |cpu| time::span(Millis::new(cpu / 1_000)))),
            (Tone::Plain, process.resident_bytes.map_or_else(unknown, size)),
            (Tone::Plain, format!("{branch}{}", process.command)),
        ]);
    }
    table.render(look)
}

/// The processes in the order of the tree, each with what is drawn before it. Each appears once, whatever the parents say.
fn order(processes: &[ProcessView]) -> Vec<(&ProcessView, String)> {
    let known: BTreeSet<i32> = processes.iter().map(|process| process.pid).collect();
    let mut children: BTreeMap<Option<i32>, Vec<&ProcessView>> = BTreeMap::new();
    for process in processes {
        let parent = process.parent.filter(|parent| known.contains(parent) && *parent != process.pid);
        children.entry(parent).or_default().push(process);
    }
    let mut placed = Vec::new();
    let mut seen = BTreeSet::new();
    let roots = children.get(&None).cloned().unwrap_or_default();
    // What only hangs on a circle has no root; it is listed all the same.
    for root in roots.into_iter().chain(processes) {
        place(root, "", "", &children, &mut seen, &mut placed);
    }
    placed
}

fn place<'a>(
    process: &'a ProcessView,
    branch: &str,
    below: &str,
    children: &BTreeMap<Option<i32>, Vec<&'a ProcessView>>,
    seen: &mut BTreeSet<i32>,
    placed: &mut Vec<(&'a ProcessView, String)>,
) {
    if !seen.insert(process.pid) {
        return;
    }
    placed.push((process, branch.to_owned()));
    let mine = children.get(&Some(process.pid)).map(Vec::as_slice).unwrap_or_default();
    for (index, child) in mine.iter().enumerate() {
        let last = index.saturating_add(1) == mine.len();
        let (tip, stem) = if last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        place(child, &format!("{below}{tip}"), &format!("{below}{stem}"), children, seen, placed);
    }
}

#[cfg(test)]
mod tests {
    use super::order;
    use ouroboros_proto::api::ProcessView;
    use ouroboros_proto::kind::Role;

    fn process(pid: i32, parent: i32) -> ProcessView {
        ProcessView {
            pid,
            parent: Some(parent),
            role: Role::Worker,
            task: None,
            command: String::new(),
            age_seconds: None,
            cpu_micros: None,
            resident_bytes: None,
            recorded: true,
        }
    }

    fn shape(processes: &[ProcessView]) -> Vec<(i32, String)> {
        order(processes).into_iter().map(|(process, branch)| (process.pid, branch)).collect()
    }

    #[test]
    fn children_stand_below_their_parents() {
        let processes = [process(10, 1), process(11, 10), process(12, 11), process(13, 10), process(99, 2)];
        let expected = [(10, ""), (11, "├─ "), (12, "│  └─ "), (13, "└─ "), (99, "")];
        assert_eq!(shape(&processes), expected.map(|(pid, branch)| (pid, branch.to_owned())));
    }

    #[test]
    fn a_circle_is_listed_and_ends() {
        let pids: Vec<i32> =
            shape(&[process(5, 6), process(6, 5), process(7, 7)]).into_iter().map(|row| row.0).collect();
        assert_eq!(pids, [7, 5, 6]);
    }
}
