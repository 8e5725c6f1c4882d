//! Connections for async programs: one that many tasks share, and that comes back by itself.

use crate::request::{Reply, Request, reply, unknown_scripts};
use crate::{Address, LinkError};
use futures_util::future::join_all;
use redis::aio::{ConnectionLike, ConnectionManager, ConnectionManagerConfig};
use redis::cluster::ClusterClient;
use redis::cluster_async::ClusterConnection;
use redis::{Client, Cmd, RedisError, Value};

/// A connection to one server or cluster that any number of tasks share.
#[derive(Clone)]
pub struct AsyncPool {
    name: String,
    link: Link,
}

#[derive(Clone)]
enum Link {
    Single(ConnectionManager),
    Cluster(ClusterConnection),
}

impl AsyncPool {
    /// Connect. Must be called inside of a Tokio runtime.
    pub async fn new(address: Address) -> Result<AsyncPool, LinkError> {
        let name = address.to_string();
        let link = connect(&address).await.map_err(|error| LinkError::new(&name, &error))?;
        Ok(AsyncPool { name, link })
    }

    /// Ask all of this in one round trip; the answers come in the same order.
    ///
    /// After [`LinkError::Away`] it is not known what was done.
    pub async fn ask(&self, requests: &[Request]) -> Result<Vec<Reply>, LinkError> {
        if requests.is_empty() {
            return Ok(vec![]);
        }
        let commands = requests.iter().map(Request::by_digest).collect();
        let mut replies = self.send(commands).await?;
        let unknown = unknown_scripts(&replies);
        if !unknown.is_empty() {
            let again = unknown.iter().map(|at| requests[*at].in_full()).collect();
            for (at, reply) in unknown.iter().zip(self.send(again).await?) {
                replies[*at] = reply;
            }
        }
        Ok(replies)
    }

    async fn send(&self, commands: Vec<Cmd>) -> Result<Vec<Reply>, LinkError> {
        let sent = match self.link.clone() {
            Link::Single(mut connection) => {
                let mut pipe = redis::pipe();
                let count = commands.len();
                commands.into_iter().for_each(|command| _ = pipe.add_command(command));
                let values = connection.req_packed_commands(pipe.ignore_errors(), 0, count).await;
                values.map(|values| values.into_iter().map(reply).collect())
            }
            Link::Cluster(connection) => {
                let all = commands.into_iter().map(|command| one(connection.clone(), command));
                join_all(all).await.into_iter().collect()
            }
        };
        sent.map_err(|error: RedisError| LinkError::new(&self.name, &error))
    }
}

async fn connect(address: &Address) -> Result<Link, RedisError> {
    if address.is_cluster() {
        let nodes = address.nodes().iter().map(String::as_str);
        let builder = ClusterClient::builder(nodes)
            .connection_timeout(address.connect_within())
            .response_timeout(address.answer_within());
        return Ok(Link::Cluster(builder.build()?.get_async_connection().await?));
    }
    let config = ConnectionManagerConfig::new()
        .set_connection_timeout(Some(address.connect_within()))
        .set_response_timeout(Some(address.answer_within()))
        .set_number_of_retries(1);
    let client = Client::open(address.nodes()[0].as_str())?;
    Ok(Link::Single(client.get_connection_manager_with_config(config).await?))
}

/// One command; what the server has against it is an answer, not an end of the connection.
async fn one(mut connection: ClusterConnection, command: Cmd) -> Result<Reply, RedisError> {
    let answer: Result<Value, RedisError> = connection.req_packed_command(&command).await;
    match answer {
        Ok(value) => Ok(reply(value)),
        Err(error)
            if matches!(error.kind(), redis::ErrorKind::Server(_)) && !error.is_cluster_error() =>
        {
            Ok(Err(error.to_string()))
        }
        Err(error) => Err(error),
    }
}
