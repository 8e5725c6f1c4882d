//! A guard in front of a cache, asked by keys of the usual types, mapped or embedded.
#![cfg(feature = "std")]

use mayhap::format::{ArcBytes, Metadata, Opened};
use mayhap::{AnyFilter, Blocked, Contains, Fuse};
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::sync::Arc;

#[test]
fn usual_keys() -> Result<(), Box<dyn std::error::Error>> {
    let mut guard = Blocked::with_rate(1_000, 0.0001)?;
    let address: SocketAddr = "[2001:db8::7]:443".parse()?;
    let host: IpAddr = "192.0.2.7".parse()?;
    guard.insert(address);
    guard.insert(host);
    guard.insert(Arc::<str>::from("session"));
    guard.insert(std::borrow::Cow::Borrowed("cow"));
    guard.insert(NonZeroU32::MIN);
    guard.insert(7u128);
    guard.insert('ï');
    guard.insert(("tenant", 42u64, host));
    #[cfg(unix)]
    guard.insert(std::path::Path::new("/etc/hosts"));
    #[cfg(feature = "uuid")]
    guard.insert(uuid::Uuid::from_u128(7));
    #[cfg(feature = "bytes")]
    guard.insert(bytes::Bytes::from_static(b"body"));
    assert!(guard.contains(address) && guard.contains(1u8) && guard.contains("ï"));
    assert!(guard.contains(("tenant", 42i32, host)) && !guard.contains(("tenant4", "2", host)));

    let file = guard.encode(&Metadata::new());
    let mapped: Opened<ArcBytes<Vec<u8>>> = AnyFilter::open(ArcBytes::new(file), None)?;
    assert!(mapped.contains(address));
    Ok(())
}

#[test]
fn filters_of_several_kinds() -> Result<(), Box<dyn std::error::Error>> {
    let mut seen = Blocked::with_rate(0, 0.001)?; // an empty list is not an error
    assert!(seen.is_empty());
    seen.extend(["ada"]);
    let guards: Vec<Box<dyn Contains + Send + Sync>> =
        vec![Box::new(seen), Box::new(Fuse::from_keys(0.001, ["bob"])?)];
    assert!(guards.iter().any(|guard| guard.contains("bob")));
    Ok(())
}

#[cfg(feature = "bitmap")]
#[test]
fn ids_that_are_close_together() {
    let ids: mayhap::Bitmap = (1_000..2_000).collect();
    assert!(ids.contains(1_500) && !ids.contains(2_000));
}
