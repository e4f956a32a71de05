//! Capabilities. The administrator's commands keep those that work on files they are given; nobody else has any.

use ouroboros_proto::agent::{ConfineStep, Unconfined};
use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set, remove_capability_from_bounding_set,
    set_capabilities,
};

/// Package managers and archives give files away and become other users; all within what is given.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID);

/// Gives up the others for good; those that are left.
///
/// # Errors
/// The kernel refuses.
pub fn give_up() -> Result<u64, Unconfined> {
    let failed = |errno: Errno| Unconfined::Failed { step: ConfineStep::Privileges, errno: errno.raw_os_error() };
    let now = capabilities(None).map_err(failed)?;
    if now.permitted.is_empty() {
        return Ok(0);
    }
    // Before the others, since it is one of them that allows it. The administrator gets the whole set at `execve`.
    for one in 0..u64::BITS {
        let Some(one) = 1_u64.checked_shl(one).map(CapabilitySet::from_bits_retain) else { break };
        if KEPT.contains(one) {
            continue;
        }
        match remove_capability_from_bounding_set(one) {
            Ok(()) => {}
            Err(Errno::INVAL) => break,
            Err(errno) => return Err(failed(errno)),
        }
    }
    clear_ambient_capability_set().map_err(failed)?;
    let kept = now.permitted.intersection(KEPT);
    let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() };
    set_capabilities(None, sets).map_err(failed)?;
    Ok(capabilities(None).map_err(failed)?.permitted.bits())
}
