//! Landlock: files by place, no TCP while the network is off, and no signal or abstract socket across.
//!
//! Rules cannot subtract. Where something hidden lies in a place that is given and there is no view to cover it, the entries of the
//! place are given one by one, without the hidden one, and so where something in a written place is only read: then nothing new can be made beside it, and what is hidden cannot come to be.

use crate::places::{Give, Layout, Place, hold};
use crate::view::View;
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, PathBeneath, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use ouroboros_proto::agent::{ConfineStep, Unconfined};
use std::path::Path;

/// What is asked for; what a kernel does not know is left out, and seen in its version.
const VERSION: ABI = ABI::V6;
/// Entries that are given one by one at most.
const MOST_ENTRIES: usize = 8192;

/// Restricts this process and what it starts. The version that is in force, 0 when there is none.
///
/// # Errors
/// A step of it failed.
pub fn restrict(layout: &Layout, view: View, network: bool) -> Result<u32, Unconfined> {
    let failed = |_: RulesetError| Unconfined::Failed { step: ConfineStep::Landlock, errno: last_errno() };
    let mut rules = ruleset(network).map_err(failed)?;
    let mut left = MOST_ENTRIES;
    for place in &layout.places {
        rules = match view {
            View::Entered => add(rules, &place.path, place.give, place.directory).map_err(failed)?,
            View::None => spread(rules, layout, place, &mut left)?,
        };
    }
    if view == View::Entered {
        for path in ["/tmp", "/var/tmp", "/dev/shm"] {
            rules = add(rules, Path::new(path), Give::Write, true).map_err(failed)?;
        }
        rules = add(rules, Path::new("/dev/pts"), Give::Device, true).map_err(failed)?;
        rules = add_access(rules, Path::new("/"), AccessFs::ReadDir.into()).map_err(failed)?;
    }
    let status = rules.restrict_self().map_err(failed)?;
    Ok(match (status.ruleset, status.landlock) {
        (RulesetStatus::NotEnforced, _) | (_, LandlockStatus::NotEnabled | LandlockStatus::NotImplemented) => 0,
        (_, LandlockStatus::Available { effective_abi, kernel_abi }) => {
            kernel_abi.and_then(|version| u32::try_from(version).ok()).unwrap_or_else(|| number(effective_abi))
        }
    })
}

fn ruleset(network: bool) -> Result<RulesetCreated, RulesetError> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(VERSION))?
        .scope(Scope::from_all(VERSION))?;
    if !network {
        rules = rules.handle_access(AccessNet::from_all(VERSION))?;
    }
    rules.create()
}

/// One place, or its entries when something hidden lies in it.
fn spread(
    mut rules: RulesetCreated,
    layout: &Layout,
    place: &Place,
    left: &mut usize,
) -> Result<RulesetCreated, Unconfined> {
    let failed = |_: RulesetError| Unconfined::Failed { step: ConfineStep::Landlock, errno: last_errno() };
    // What is only read inside of what is written is a place of its own.
    let lesser = layout.places.iter().filter(|inner| place.give == Give::Write && inner.give != Give::Write);
    let lesser = lesser.map(|inner| inner.path.as_path()).filter(|path| path.starts_with(&place.path));
    let holes: Vec<&Path> = layout.hidden.iter().map(|(hidden, _)| hidden.as_path()).chain(lesser).collect();
    let mut waiting = vec![place.path.clone()];
    while let Some(path) = waiting.pop() {
        if holes.contains(&path.as_path()) {
            continue;
        }
        if !holes.iter().any(|hole| hole.starts_with(&path)) {
            let directory = path.is_dir();
            rules = add(rules, &path, place.give, directory).map_err(failed)?;
            continue;
        }
        let Ok(entries) = std::fs::read_dir(&path) else { continue };
        for entry in entries.flatten() {
            *left = left.checked_sub(1).ok_or(Unconfined::TooManyEntries)?;
            // A link is followed to a place of its own.
            if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
                waiting.push(entry.path());
            }
        }
    }
    Ok(rules)
}

fn add(rules: RulesetCreated, path: &Path, give: Give, directory: bool) -> Result<RulesetCreated, RulesetError> {
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let access = match give {
        Give::Execute => read | AccessFs::Execute,
        Give::Read => read,
        // Devices cannot be made: whoever may do that would have the disks.
        Give::Write => AccessFs::from_all(ABI::V3) & !(AccessFs::MakeChar | AccessFs::MakeBlock),
        Give::Device => read | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev,
    };
    let access = if directory { access } else { access & AccessFs::from_file(VERSION) };
    add_access(rules, path, access)
}

fn add_access(rules: RulesetCreated, path: &Path, access: BitFlags<AccessFs>) -> Result<RulesetCreated, RulesetError> {
    // What went away meanwhile gives nothing.
    let Ok(place) = hold(path) else { return Ok(rules) };
    rules.add_rule(PathBeneath::new(place, access))
}

fn last_errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

fn number(version: ABI) -> u32 {
    // The crate gives them the kernel's numbers, and no way to ask for them.
    version.to_string().parse().unwrap_or(0)
}
