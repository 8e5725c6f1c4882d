//! One suite over every backend and layout, against real servers and real files.

mod attack;
mod behaviour;
mod cluster;
mod crash;
mod crowd;
mod lists;
mod model;
mod outages;
mod proxy;
mod refusals;
mod replicas;
mod seed;
mod server;
mod sizes;
mod stores;
mod tasks;
mod trips;
