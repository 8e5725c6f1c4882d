//! Generated URLs: the text of URL number `i`, about 60 bytes, different for every `i`.
//!
//! Two billion of them are made in one run, so nothing here formats or allocates: a URL is
//! written into a fixed buffer.

use crate::splitmix::splitmix;

/// The longest URL, with space for whole-word copies past the end.
const ROOM: usize = 160;
const SECTIONS: [&str; 16] = [
    "articles",
    "product",
    "category/view",
    "img/large",
    "user/profile",
    "blog/2026",
    "search",
    "archive/item",
    "forum/topic",
    "wiki",
    "p",
    "docs/en",
    "video/watch",
    "download",
    "tag/list",
    "api/v2/item",
];
const HEX: &[u8; 16] = b"0123456789abcdef";

/// The default seed.
pub const SEED: u64 = 20_261_115;

/// A short text, copied as 32 bytes whatever its length.
#[derive(Clone, Copy)]
struct Piece {
    text: [u8; 32],
    bytes: usize,
}

impl Piece {
    fn new(text: &str) -> Piece {
        let mut piece = Piece { text: [0; 32], bytes: text.len() };
        piece.text[..text.len()].copy_from_slice(text.as_bytes());
        piece
    }
}

/// Writes URLs, each over the last.
#[derive(Clone)]
pub struct Urls {
    seed: u64,
    hosts: Vec<Piece>,
    sections: [Piece; 16],
    buffer: [u8; ROOM],
}

impl Urls {
    /// The URLs of this seed.
    pub fn new(seed: u64) -> Urls {
        let groups: [(u32, &str, &str); 4] = [
            (400, "www.example", ".com"),
            (200, "shop.site", ".co.uk"),
            (200, "news.portal", ".org"),
            (224, "cdn", ".images.net"),
        ];
        let hosts = groups.iter().flat_map(|(count, before, after)| {
            (0..*count).map(move |i| Piece::new(&format!("https://{before}{i}{after}/")))
        });
        Urls {
            seed,
            hosts: hosts.collect(),
            sections: SECTIONS.map(|section| Piece::new(&format!("{section}/"))),
            buffer: [0; ROOM],
        }
    }

    /// URL number `i`, without a line end.
    #[inline]
    pub fn url(&mut self, i: u64) -> &[u8] {
        let x = splitmix(i.wrapping_add(self.seed));
        let mut at = self.put(0, self.hosts[x as usize & 1023]);
        at = self.put(at, self.sections[(x >> 10) as usize & 15]);
        let high = (x >> 32) as u32;
        for (i, byte) in self.buffer[at..at + 8].iter_mut().enumerate() {
            *byte = HEX[(high >> (28 - 4 * i)) as usize & 15];
        }
        self.buffer[at + 8] = b'-';
        at = self.put_decimal(at + 9, i);
        self.buffer[at..at + 4].copy_from_slice(b"?id=");
        at = self.put_hex(at + 4, (x >> 14) as u16);
        &self.buffer[..at]
    }

    #[inline]
    fn put(&mut self, at: usize, piece: Piece) -> usize {
        self.buffer[at..at + 32].copy_from_slice(&piece.text);
        at + piece.bytes
    }

    #[inline]
    fn put_decimal(&mut self, at: usize, mut value: u64) -> usize {
        let digits = value.checked_ilog10().unwrap_or(0) as usize + 1;
        for place in self.buffer[at..at + digits].iter_mut().rev() {
            *place = b'0' + (value % 10) as u8;
            value /= 10;
        }
        at + digits
    }

    #[inline]
    fn put_hex(&mut self, at: usize, value: u16) -> usize {
        let digits = value.checked_ilog2().unwrap_or(0) as usize / 4 + 1;
        for (i, place) in self.buffer[at..at + digits].iter_mut().rev().enumerate() {
            *place = HEX[(value >> (4 * i)) as usize & 15];
        }
        at + digits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_urls() {
        let mut urls = Urls::new(SEED);
        let mut url = |i| String::from_utf8(urls.url(i).to_vec()).unwrap();
        assert_eq!(url(0), "https://shop.site12.co.uk/tag/list/c070fef2-0?id=17b2");
        assert_eq!(url(7), "https://shop.site98.co.uk/download/08fa96a3-7?id=d861");
        assert_eq!(
            url(1_999_999_999),
            "https://shop.site172.co.uk/blog/2026/2306bbcc-1999999999?id=5d6f"
        );
        assert_eq!(
            url(1_099_511_627_781),
            "https://www.example309.com/articles/f5524179-1099511627781?id=c732"
        );
    }
}
