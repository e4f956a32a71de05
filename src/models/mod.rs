//! Calls of models: from a worker's request to a settled answer.
//!
//! | module | what it is for |
//! |---|---|
//! | [`calls`], [`window`] | calls under way, and how much of an answer is on its way to a worker |
//! | [`call`] | one call: routes, tries, money, and what the worker is told |
//! | [`tap`], [`receipt`] | what stands between a send and its worker; what it came to |
//! | [`late`] | what a send cost, when that becomes known after it was given up |
//! | [`recorder`] | what was sent and what came back, for later |
//! | [`book`], [`shelf`] | routes and prices; what is kept of them between lives |
//! | [`windows`] | how much prompt and answer may have together on a route |
//! | [`keys`] | the keys of providers |
//! | [`local`] | the inference server that this server runs itself |
//! | [`desk`], [`view`], [`trial`] | what the HTTP side is told, and a real call that tries a route |
//! | [`followed`] | what happens to a task that this server submitted itself |
//! | [`asked`] | what was told to the core about money and is not answered yet |

pub mod asked;
pub mod book;
pub mod call;
pub mod calls;
pub mod desk;
pub mod followed;
pub mod keys;
pub mod late;
pub mod local;
pub mod receipt;
pub mod recorder;
pub mod shelf;
pub mod tap;
pub mod trial;
pub mod view;
pub mod window;
pub mod windows;

pub use asked::Asked;
pub use book::Book;
pub use calls::Calls;
pub use desk::Desk;
pub use keys::KeyBook;
pub use local::Local;
