//! One suite over every backend and layout, against real servers and real files.

mod behaviour;
mod cluster;
mod crash;
mod crowd;
mod faults;
mod golden;
mod lists;
mod model;
mod policy;
mod seed;
mod server;
mod sizes;
mod stores;
mod tasks;
mod trips;
mod union;
