//! Which neighbour might know? Routing queries by what each link advertises.
//!
//! Why it is built so: flooding finds everything and costs a message on every link. Here each node
//! tells each neighbour, in one filter per link, what can be found behind it: its own files and,
//! united with them, what its other neighbours advertised (`Blocked`, since `union` of equal shapes
//! is an OR of their bits; all nodes agree on one shape beforehand). A query follows only links
//! whose filter says "maybe". A false positive costs a few messages that lead nowhere; a "no" is
//! certain, so nothing that flooding finds is missed. Adverts are limited in distance, since a
//! filter of everything says yes to everything: they carry what is within `REACH` hops.
//!
//! ```sh
//! cargo run --release -p mayhap-examples --example p2p_routing
//! ```

use mayhap::{Blocked, Spec, SpecError};
use std::collections::{HashSet, VecDeque};

const FILES_PER_NODE: u64 = 50;
/// How far adverts carry, and queries go, in hops.
const REACH: u32 = 4;

/// Nodes in a ring, each also linked to some further away.
struct Network {
    links: Vec<Vec<usize>>,
    /// `adverts[node][i]`: what the node's link `i` leads to within `REACH` hops.
    adverts: Vec<Vec<Blocked>>,
}

/// Every node's files; `n` is its first.
fn files(node: usize) -> impl Iterator<Item = u64> {
    (0..FILES_PER_NODE).map(move |file| node as u64 * FILES_PER_NODE + file)
}

impl Network {
    fn new(nodes: usize) -> Result<Network, SpecError> {
        let links: Vec<Vec<usize>> = (0..nodes)
            .map(|node| {
                // Every fifth node has a chord across the ring.
                let mut links = vec![(node + 1) % nodes, (node + nodes - 1) % nodes];
                links.extend((node % 5 == 0).then_some((node + nodes / 2) % nodes / 5 * 5));
                links.sort_unstable();
                links.dedup();
                links.retain(|other| *other != node);
                links
            })
            .collect();
        let spec = Spec::new(FILES_PER_NODE * 16, 0.01)?; // as many as are within reach
        let blank = |links: &Vec<usize>| links.iter().map(|_| Blocked::new(spec)).collect();
        let adverts = links.iter().map(blank).collect::<Result<_, _>>()?;
        let mut network = Network { links, adverts };
        for _ in 0..REACH {
            network.advertise(spec)?;
        }
        Ok(network)
    }

    /// One round: each node tells every neighbour what it has and has received from the others.
    fn advertise(&mut self, spec: Spec) -> Result<(), SpecError> {
        let mut heard = self.adverts.clone();
        for (node, links) in self.links.iter().enumerate() {
            for (i, neighbour) in links.iter().enumerate() {
                let mut advert = Blocked::new(spec)?;
                files(*neighbour).for_each(|file| _ = advert.insert(file));
                for (j, beyond) in self.links[*neighbour].iter().enumerate() {
                    if *beyond != node {
                        // Equal shapes and seeds can always be united.
                        _ = advert.union(&self.adverts[*neighbour][j]);
                    }
                }
                heard[node][i] = advert;
            }
        }
        self.adverts = heard;
        Ok(())
    }

    /// Query for a file from a node: whether it was found within reach, and messages sent.
    fn query(&self, from: usize, file: u64, follow: impl Fn(&Blocked) -> bool) -> (bool, u64) {
        let (mut messages, mut asked) = (0, HashSet::from([from]));
        let mut queue = VecDeque::from([(from, 0)]);
        let mut found = false;
        while let Some((node, hops)) = queue.pop_front() {
            found |= files(node).any(|own| own == file);
            if hops == REACH {
                continue;
            }
            for (link, advert) in self.links[node].iter().zip(&self.adverts[node]) {
                if follow(advert) {
                    messages += 1;
                    if asked.insert(*link) {
                        queue.push_back((*link, hops + 1));
                    }
                }
            }
        }
        (found, messages)
    }
}

/// Found and messages, by flooding and by adverts, over many queries for files near and far.
fn compare(nodes: usize, queries: u64) -> Result<[(u64, u64); 2], SpecError> {
    let network = Network::new(nodes)?;
    let mut totals = [(0, 0); 2];
    for i in 0..queries {
        let from = (i as usize * 31) % nodes;
        let owner = (from + (i as usize * 7) % 12) % nodes;
        let file = owner as u64 * FILES_PER_NODE + i % FILES_PER_NODE;
        let flooded = network.query(from, file, |_| true);
        let routed = network.query(from, file, |advert| advert.contains(file));
        assert_eq!(flooded.0, routed.0, "a no is certain, so nothing is missed");
        for (total, (found, messages)) in totals.iter_mut().zip([flooded, routed]) {
            *total = (total.0 + u64::from(found), total.1 + messages);
        }
    }
    Ok(totals)
}

fn main() -> Result<(), SpecError> {
    let queries = 10_000;
    let [(found, flooding), (_, routed)] = compare(1000, queries)?;
    println!("{queries} queries, {found} found within {REACH} hops");
    println!(
        "flooding: {flooding} messages; by adverts: {routed}, {:.1}%",
        100.0 * routed as f64 / flooding as f64
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adverts_find_what_flooding_finds_for_a_fraction_of_the_messages() -> Result<(), SpecError> {
        let [(found, flooding), (also_found, routed)] = compare(200, 2_000)?;
        assert_eq!(found, also_found);
        assert!(found > 500 && found < 2_000, "{found} found: some near, some too far");
        assert!(4 * routed < flooding, "{routed} messages instead of {flooding}");
        Ok(())
    }
}
