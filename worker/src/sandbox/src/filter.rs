//! A filter of system calls (seccomp(2)) from a list of arms.
//!
//! The program is written here rather than by a library: one filter has to give several answers, must refuse the 32-bit calling
//! conventions and numbers nobody has looked at, and is made anew for every command, so it has to be cheap.

use libc::{c_long, sock_filter, sock_fprog};
use ouroboros_proto::agent::{ConfineStep, Unconfined};
use std::io;

/// What a call gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Its way.
    Allowed,
    /// `EPERM`.
    NotPermitted,
    /// `ENOSYS`.
    Absent,
}

/// One call.
#[derive(Debug)]
pub struct Arm {
    /// Its number.
    pub call: c_long,
    /// The first that applies answers.
    pub tests: Vec<Test>,
    /// When none applies.
    pub otherwise: Answer,
}

/// A test of the lower half of an argument: what the kernel reads of flags, families, kinds and `ioctl` numbers.
#[derive(Debug, Clone, Copy)]
pub enum Test {
    /// It is this value.
    Is {
        /// Which argument.
        argument: u8,
        /// The value.
        value: u32,
        /// The answer.
        answer: Answer,
    },
    /// It is another value.
    Not {
        /// Which argument.
        argument: u8,
        /// The value.
        value: u32,
        /// The answer.
        answer: Answer,
    },
    /// Any of these bits is set.
    AnyBit {
        /// Which argument.
        argument: u8,
        /// The bits.
        bits: u32,
        /// The answer.
        answer: Answer,
    },
    /// Under a mask it is this value.
    Masked {
        /// Which argument.
        argument: u8,
        /// The mask.
        mask: u32,
        /// The value.
        value: u32,
        /// The answer.
        answer: Answer,
    },
}

// Instructions of the packet filter (linux/bpf_common.h).
const LOAD: u16 = 0x20;
const AND: u16 = 0x54;
const IF_EQUAL: u16 = 0x15;
const IF_ABOVE: u16 = 0x25;
const IF_ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;

/// Offsets in `struct seccomp_data`; arguments are 64 bits wide, lower half first on the machines we know.
const NUMBER: u32 = 0;
const MACHINE: u32 = 4;
const ARGUMENTS: u32 = 16;

/// `AUDIT_ARCH_X86_64`, `AUDIT_ARCH_AARCH64` (linux/audit.h).
#[cfg(target_arch = "x86_64")]
const OURS: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const OURS: u32 = 0xc000_00b7;

/// `SECCOMP_RET_ALLOW` and `SECCOMP_RET_ERRNO`.
const ALLOW: u32 = 0x7fff_0000;
const ERRNO: u32 = 0x0005_0000;
/// `EPERM` and `ENOSYS`.
const NOT_PERMITTED: u32 = 1;
const NO_SUCH_CALL: u32 = 38;

impl Answer {
    const fn value(self) -> u32 {
        match self {
            Self::Allowed => ALLOW,
            Self::NotPermitted => ERRNO | NOT_PERMITTED,
            Self::Absent => ERRNO | NO_SUCH_CALL,
        }
    }
}

/// The program. Calls that no arm names are allowed up to `newest`.
///
/// # Errors
/// An arm is too long for one jump, or has a number that is none.
pub fn program(arms: &[Arm], newest: u32) -> io::Result<Vec<sock_filter>> {
    let mut program = vec![
        plain(LOAD, MACHINE),
        jump(IF_EQUAL, OURS, 1, 0),
        answer(Answer::Absent),
        plain(LOAD, NUMBER),
        jump(IF_ABOVE, newest, 0, 1),
        answer(Answer::Absent),
    ];
    for arm in arms {
        let mut body: Vec<sock_filter> = arm.tests.iter().flat_map(|test| test.program()).collect();
        body.push(answer(arm.otherwise));
        let number = u32::try_from(arm.call).map_err(|_| io::ErrorKind::InvalidInput)?;
        let over = u8::try_from(body.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
        program.push(jump(IF_EQUAL, number, 0, over));
        program.append(&mut body);
    }
    program.push(answer(Answer::Allowed));
    Ok(program)
}

impl Test {
    fn program(self) -> Vec<sock_filter> {
        let load = |argument: u8| plain(LOAD, ARGUMENTS + 8 * u32::from(argument));
        match self {
            Self::Is { argument, value, answer: then } => {
                vec![load(argument), jump(IF_EQUAL, value, 0, 1), answer(then)]
            }
            Self::Not { argument, value, answer: then } => {
                vec![load(argument), jump(IF_EQUAL, value, 1, 0), answer(then)]
            }
            Self::AnyBit { argument, bits, answer: then } => {
                vec![load(argument), jump(IF_ANY_BIT, bits, 0, 1), answer(then)]
            }
            Self::Masked { argument, mask, value, answer: then } => {
                vec![load(argument), plain(AND, mask), jump(IF_EQUAL, value, 0, 1), answer(then)]
            }
        }
    }
}

const fn plain(code: u16, k: u32) -> sock_filter {
    sock_filter { code, jt: 0, jf: 0, k }
}

const fn jump(code: u16, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

const fn answer(answer: Answer) -> sock_filter {
    plain(RETURN, answer.value())
}

/// Puts it in force for this thread and what it starts. `no_new_privs` is set.
///
/// # Errors
/// The kernel refuses it.
pub fn install(mut program: Vec<sock_filter>) -> Result<(), Unconfined> {
    let failed = |errno: i32| Unconfined::Failed { step: ConfineStep::Seccomp, errno };
    let length = u16::try_from(program.len()).map_err(|_| failed(libc::E2BIG))?;
    let filter = sock_fprog { len: length, filter: program.as_mut_ptr() };
    // SAFETY: the pointer leads to as many instructions as `len` says, all of which live over the call. Branches that speculate are
    // no concern of this filter: without the flag, older kernels slow the command down.
    let result = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW,
            &raw const filter,
        )
    };
    if result == 0 { Ok(()) } else { Err(failed(io::Error::last_os_error().raw_os_error().unwrap_or(0))) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::{self, Open};

    /// Runs a program as the kernel would.
    fn run(program: &[sock_filter], machine: u32, number: u32, arguments: [u64; 6]) -> u32 {
        let mut data = Vec::new();
        data.extend(number.to_le_bytes());
        data.extend(machine.to_le_bytes());
        data.extend([0; 8]);
        data.extend(arguments.iter().flat_map(|argument| argument.to_le_bytes()));
        let (mut at, mut held) = (0, 0_u32);
        loop {
            let one = program[at];
            at += 1;
            let choose = |yes: bool| usize::from(if yes { one.jt } else { one.jf });
            match one.code {
                LOAD => {
                    let from = one.k as usize;
                    held = u32::from_le_bytes(data[from..from + 4].try_into().unwrap());
                }
                AND => held &= one.k,
                IF_EQUAL => at += choose(held == one.k),
                IF_ABOVE => at += choose(held > one.k),
                IF_ANY_BIT => at += choose(held & one.k != 0),
                RETURN => return one.k,
                code => panic!("{code}"),
            }
        }
    }

    fn with(open: Open) -> impl Fn(c_long, [u64; 3]) -> Answer {
        let program = program(&calls::arms(open), calls::NEWEST).unwrap();
        move |call, [a, b, c]| {
            let answer = run(&program, OURS, call.try_into().unwrap(), [a, b, c, 0, 0, 0]);
            [Answer::Allowed, Answer::NotPermitted, Answer::Absent].into_iter().find(|it| it.value() == answer).unwrap()
        }
    }

    const CLOSED: Open = Open { network: false, local_sockets: false, shared_objects: false };

    #[test]
    fn calls_get_their_answers() {
        let ask = with(CLOSED);
        for (call, arguments, answer) in [
            (libc::SYS_read, [0; 3], Answer::Allowed),
            (libc::SYS_ptrace, [0; 3], Answer::NotPermitted),
            (libc::SYS_clone3, [0; 3], Answer::Absent),
            (libc::SYS_clone, [0x11, 0, 0], Answer::Allowed),
            (libc::SYS_clone, [0x1000_0011, 0, 0], Answer::NotPermitted),
            (libc::SYS_unshare, [0x200, 0, 0], Answer::Allowed),
            (libc::SYS_unshare, [0x80, 0, 0], Answer::NotPermitted),
            (libc::SYS_ioctl, [0, 0x5401, 0], Answer::Allowed),
            (libc::SYS_ioctl, [0, 0x5412, 0], Answer::NotPermitted),
            // The kernel reads the lower half only.
            (libc::SYS_ioctl, [0, 0x1_0000_5412, 0], Answer::NotPermitted),
            (libc::SYS_personality, [0xffff_ffff, 0, 0], Answer::Allowed),
            (libc::SYS_personality, [0x0040_0000, 0, 0], Answer::NotPermitted),
            (libc::SYS_shmget, [0; 3], Answer::NotPermitted),
        ] {
            assert_eq!(ask(call, arguments), answer, "{call} {arguments:?}");
        }
    }

    #[test]
    fn sockets_follow_what_is_open() {
        let (inet, unix, netlink) = (2, 1, 16);
        let ask = with(CLOSED);
        for family in [unix, inet, 10, netlink, 17, 40] {
            assert_eq!(ask(libc::SYS_socket, [family, 1, 0]), Answer::NotPermitted, "{family}");
        }
        assert_eq!(ask(libc::SYS_socketpair, [unix, 0x8_0001, 0]), Answer::Allowed);
        assert_eq!(ask(libc::SYS_socketpair, [unix, 2, 0]), Answer::NotPermitted);
        assert_eq!(ask(libc::SYS_socketpair, [unix, 3, 0]), Answer::NotPermitted);

        let ask = with(Open { network: true, ..CLOSED });
        assert_eq!(ask(libc::SYS_socket, [inet, 2, 0]), Answer::Allowed);
        assert_eq!(ask(libc::SYS_socket, [netlink, 3, 0]), Answer::Allowed);
        assert_eq!(ask(libc::SYS_socket, [netlink, 3, 9]), Answer::NotPermitted);
        assert_eq!(ask(libc::SYS_socket, [unix, 1, 0]), Answer::NotPermitted);
        assert_eq!(ask(libc::SYS_socket, [17, 3, 0]), Answer::NotPermitted);

        let ask = with(Open { local_sockets: true, ..CLOSED });
        assert_eq!(ask(libc::SYS_socket, [unix, 1, 0]), Answer::Allowed);
        assert_eq!(ask(libc::SYS_socketpair, [unix, 2, 0]), Answer::Allowed);
        assert_eq!(ask(libc::SYS_socket, [inet, 1, 0]), Answer::NotPermitted);
    }

    #[test]
    fn other_conventions_and_unknown_numbers_do_not_exist() {
        let program = program(&calls::arms(CLOSED), calls::NEWEST).unwrap();
        let absent = Answer::Absent.value();
        assert_eq!(run(&program, 0x4000_0003, 3, [0; 6]), absent);
        assert_eq!(run(&program, OURS, 0x4000_0000, [0; 6]), absent);
        assert_eq!(run(&program, OURS, calls::NEWEST + 1, [0; 6]), absent);
        assert!(program.len() < 4096);
    }
}
