//! A router without an operating system: a filter in a packet's header, and nothing else.
#![no_std]

use mayhap::packet::{Packet, PacketError};

/// The nodes a packet has passed: 32 bytes in its header.
pub type Passed = Packet<32, 5>;

/// Whether this node has certainly not seen the packet: then it is marked and goes on.
pub fn pass(header: [u8; 32], node: core::net::Ipv4Addr) -> Result<Option<[u8; 32]>, PacketError> {
    let mut passed = Passed::from_bytes(header).with_limit(128).within_limit()?;
    Ok(passed.insert(node)?.then(|| passed.to_bytes()))
}

/// With a heap there are strings and pairs of keys, still without the standard library.
#[cfg(feature = "alloc")]
pub fn pass_named(
    header: [u8; 32],
    node: (alloc::string::String, u16),
) -> Result<bool, PacketError> {
    Passed::from_bytes(header).insert(node)
}

#[cfg(feature = "alloc")]
extern crate alloc;
