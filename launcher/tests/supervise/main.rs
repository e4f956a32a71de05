//! The launcher with servers that do what a test tells them: real processes, real signals, a real terminal.

mod endings;
mod handing;
mod signals;
mod stops;
mod support;
mod sweeps;
