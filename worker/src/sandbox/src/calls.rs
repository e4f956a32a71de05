//! Which system calls are refused, as data.
//!
//! What is listed is refused; what is newer than the list is answered as by a kernel that does not have it, so that nothing gets by
//! for being unknown. The death signal may be cleared, as any fork does: custody rests on the worker, its namespace and the census.

use crate::filter::{Answer, Arm, Test};
use libc::c_long;

/// The highest number that was looked at. Everything above, and with it the 32-bit numbers of x86_64, does not exist.
pub const NEWEST: u32 = 469;

/// Numbers that are the same everywhere and have no name in the library yet.
const LSM_SET_SELF_ATTR: c_long = 460;
const OPEN_TREE_ATTR: c_long = 467;

/// Refused as a matter of permission: what reaches into other processes, mounts and namespaces, keys, modules, clocks, the machine.
const REFUSED: &[c_long] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    libc::SYS_lookup_dcookie,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    OPEN_TREE_ATTR,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_nfsservctl,
    LSM_SET_SELF_ATTR,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_uselib,
    #[cfg(target_arch = "x86_64")]
    libc::SYS__sysctl,
];

/// Answered as by a kernel without them, for which libraries have another way: their effects cannot be judged from the arguments.
const ABSENT: &[c_long] =
    &[libc::SYS_clone3, libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register];

/// Objects that are shared by name across the machine, refused unless the command has a namespace of its own for them.
const SHARED_OBJECTS: &[c_long] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// `CLONE_NEWNS`, `NEWCGROUP`, `NEWUTS`, `NEWIPC`, `NEWUSER`, `NEWPID`, `NEWNET`.
const NEW_NAMESPACES: u32 = 0x7e02_0000;
/// `CLONE_NEWTIME`, which `clone` takes for a part of a signal.
const NEW_TIME: u32 = 0x80;
/// Of `personality`: what asks, the usual one, and the usual one without random addresses.
const PERSONALITIES: &[u32] = &[0xffff_ffff, 0, 0x0004_0000];
/// `TIOCSTI` and `TIOCLINUX`: typing for whoever sits at the terminal.
const TERMINAL_TRICKS: &[u32] = &[0x5412, 0x541c];

const AF_UNIX: u32 = 1;
const AF_INET: u32 = 2;
const AF_INET6: u32 = 10;
const AF_NETLINK: u32 = 16;
const NETLINK_ROUTE: u32 = 0;
/// Bits of a socket's type that are its type.
const TYPE_BITS: u32 = 0xf;
const STREAM: u32 = 1;
const SEQPACKET: u32 = 5;

/// What a filter is to leave open.
#[derive(Debug, Clone, Copy)]
pub struct Open {
    /// The network.
    pub network: bool,
    /// Sockets that are met by a path or a name.
    pub local_sockets: bool,
    /// Objects that are shared by name.
    pub shared_objects: bool,
}

/// The whole list.
pub fn arms(open: Open) -> Vec<Arm> {
    let mut arms = Vec::with_capacity(96);
    let refuse = |calls: &[c_long], answer: Answer| {
        calls.iter().map(|call| Arm { call: *call, tests: Vec::new(), otherwise: answer }).collect::<Vec<_>>()
    };
    arms.extend(refuse(REFUSED, Answer::NotPermitted));
    arms.extend(refuse(ABSENT, Answer::Absent));
    if !open.shared_objects {
        arms.extend(refuse(SHARED_OBJECTS, Answer::NotPermitted));
    }
    let namespaces = |bits| vec![Test::AnyBit { argument: 0, bits, answer: Answer::NotPermitted }];
    arms.push(Arm { call: libc::SYS_clone, tests: namespaces(NEW_NAMESPACES), otherwise: Answer::Allowed });
    arms.push(Arm {
        call: libc::SYS_unshare,
        tests: namespaces(NEW_NAMESPACES | NEW_TIME),
        otherwise: Answer::Allowed,
    });
    arms.push(Arm {
        call: libc::SYS_ioctl,
        tests: TERMINAL_TRICKS.iter().map(|trick| is(1, *trick, Answer::NotPermitted)).collect(),
        otherwise: Answer::Allowed,
    });
    arms.push(Arm {
        call: libc::SYS_personality,
        tests: PERSONALITIES.iter().map(|kind| is(0, *kind, Answer::Allowed)).collect(),
        otherwise: Answer::NotPermitted,
    });
    arms.extend(sockets(open));
    arms
}

/// A pair of datagram sockets is no pair for long: each can still send anywhere.
fn sockets(open: Open) -> [Arm; 2] {
    let mut families = Vec::new();
    if open.local_sockets {
        families.push(is(0, AF_UNIX, Answer::Allowed));
    }
    if open.network {
        families.push(is(0, AF_INET, Answer::Allowed));
        families.push(is(0, AF_INET6, Answer::Allowed));
        families.push(Test::Not { argument: 0, value: AF_NETLINK, answer: Answer::NotPermitted });
        families.push(is(2, NETLINK_ROUTE, Answer::Allowed));
    }
    let mut pairs = vec![Test::Not { argument: 0, value: AF_UNIX, answer: Answer::NotPermitted }];
    if open.local_sockets {
        pairs.push(Test::AnyBit { argument: 1, bits: TYPE_BITS, answer: Answer::Allowed });
    }
    for kind in [STREAM, SEQPACKET] {
        pairs.push(Test::Masked { argument: 1, mask: TYPE_BITS, value: kind, answer: Answer::Allowed });
    }
    [
        Arm { call: libc::SYS_socket, tests: families, otherwise: Answer::NotPermitted },
        Arm { call: libc::SYS_socketpair, tests: pairs, otherwise: Answer::NotPermitted },
    ]
}

fn is(argument: u8, value: u32, answer: Answer) -> Test {
    Test::Is { argument, value, answer }
}
