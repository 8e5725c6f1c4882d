//! The algorithm of Go programs on lists of filters: read, change, write back. It is the reference
//! for byte-compatibility, and a control: it must lose ids under concurrent writes, or our tests
//! have no contention.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mayhap_foreign::kevburnsjr;
use mayhap_redis::redis::{Connection, cmd};
use mayhap_seen::Policy;

/// A program with these numbers in its code.
pub struct Seed(pub Policy);

impl Seed {
    fn probes(&self) -> u32 {
        kevburnsjr::estimate_parameters(self.0.ids().into(), self.0.rate()).unwrap().1
    }

    pub fn set_exposed(&self, server: &mut Connection, owner: &str, ids: &[String]) {
        let room = u64::from(self.0.ids());
        let exposed: Option<String> = cmd("LINDEX").arg(owner).arg(0).query(server).unwrap();
        let mut filter = kevburnsjr::create(room, self.0.rate()).unwrap();
        let (mut count, mut is_new) = (0, true);
        if let Some((had, code)) = exposed.as_deref().and_then(|text| text.split_once("::")) {
            count = had.parse().unwrap();
            if count + (ids.len() as u64) < room + 10 {
                let bytes = STANDARD.decode(code).unwrap();
                filter = kevburnsjr::decode(&bytes, self.probes()).unwrap();
                is_new = false;
            } else {
                count = 0;
            }
        }
        for id in ids {
            if !filter.contains(id) {
                filter.insert(id);
                count += 1;
            }
        }
        let element = format!("{count}::{}", STANDARD.encode(filter.encode().unwrap()));
        if Some(&element) != exposed.as_ref() {
            match is_new {
                true => cmd("LPUSH").arg(owner).arg(element).exec(server).unwrap(),
                false => cmd("LSET").arg(owner).arg(0).arg(element).exec(server).unwrap(),
            }
            cmd("LTRIM").arg(owner).arg(0).arg(self.0.slices() - 1).exec(server).unwrap();
            cmd("EXPIRE").arg(owner).arg(5 * 86_400).exec(server).unwrap();
        }
    }

    /// `GetExposed` and `Exists`.
    pub fn exists(&self, server: &mut Connection, owner: &str, id: &str) -> bool {
        let elements: Vec<String> =
            cmd("LRANGE").arg(owner).arg(0).arg(self.0.slices() - 1).query(server).unwrap();
        elements.iter().any(|element| {
            let (_, code) = element.split_once("::").unwrap();
            let bytes = STANDARD.decode(code).unwrap();
            kevburnsjr::decode(&bytes, self.probes()).unwrap().contains(id)
        })
    }
}
