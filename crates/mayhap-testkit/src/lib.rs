//! Redis and Valkey servers for tests and measurements: found, started on free ports of the loopback,
//! spoken to, and ended with the value that started them.
//!
//! - [`make`]: which servers are installed;
//! - [`server`]: one of them, running;
//! - [`resp`]: a client that hides nothing of the protocol;
//! - [`nodes`]: a cluster of six.

pub mod make;
pub mod nodes;
pub mod resp;
pub mod server;

pub use make::{Make, environment, makes, module, root};
pub use resp::{Client, Value};
pub use server::{Server, eventually, free_port};
