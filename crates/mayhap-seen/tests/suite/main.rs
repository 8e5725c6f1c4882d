//! One suite over every backend and layout, against real servers and real files.

mod attack;
mod behaviour;
mod cluster;
mod crash;
mod crowd;
mod damage;
mod faults;
mod golden;
mod lists;
mod model;
mod outages;
mod policy;
mod proxy;
mod refusals;
mod replicas;
mod seed;
mod server;
mod sizes;
mod stores;
mod tasks;
mod trips;
mod union;
