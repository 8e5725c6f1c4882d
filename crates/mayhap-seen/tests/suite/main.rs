//! One suite over every backend and layout, against real servers and real files.

mod behaviour;
mod crash;
mod crowd;
mod model;
mod server;
mod sizes;
mod stores;
