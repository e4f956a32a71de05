//! Commands that run confined through the real exec mode: what they can do, and that they do not get out.

// The exception for tests reaches only functions that are tests; what they share is in modules of its own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::cast_possible_wrap)]
// What tries to get out uses what any program would.
#![allow(unsafe_code, clippy::disallowed_methods)]

mod desk;
mod escape;
mod inside;
mod measure;
mod refusals;
mod work;
