//! Servers as the suite needs them: nothing where there is none, and with connections of the client.

use mayhap_redis::redis::{Client, Connection};
pub use mayhap_testkit::Make;
use std::ops::{Deref, DerefMut};

/// A server, without the module.
pub struct Server(mayhap_testkit::Server);

impl Server {
    /// A Redis; nothing if there is none to start.
    pub fn start(args: &[&str]) -> Option<Server> {
        Server::start_a(Make::Redis, args)
    }

    /// The same of any make.
    pub fn start_a(make: Make, args: &[&str]) -> Option<Server> {
        make.program_or_skip()?;
        let args: Vec<String> = args.iter().map(ToString::to_string).collect();
        Some(Server(mayhap_testkit::Server::launch(make, &args).unwrap()))
    }

    pub fn url(&self) -> String {
        self.0.url(0)
    }

    pub fn connection(&self) -> Connection {
        Client::open(self.url()).unwrap().get_connection().unwrap()
    }
}

impl Deref for Server {
    type Target = mayhap_testkit::Server;

    fn deref(&self) -> &mayhap_testkit::Server {
        &self.0
    }
}

impl DerefMut for Server {
    fn deref_mut(&mut self) -> &mut mayhap_testkit::Server {
        &mut self.0
    }
}
