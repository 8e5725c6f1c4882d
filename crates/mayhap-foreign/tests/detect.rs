//! What bytes are taken for is behaviour: every file of the test data, and ten thousand damaged ones, are
//! detected as they were before. `tests/detected.txt` has what each file was.

use mayhap_foreign::{Detection, detect};
use std::path::Path;

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata");
const DETECTED: &str = include_str!("detected.txt");
const MUTATIONS: u64 = 10_000;
/// Files that are damaged are no longer than this.
const MAX_BYTES: usize = 64 << 10;

fn shown(detection: &Detection) -> String {
    match detection {
        Detection::Certain(format) => format.name().to_owned(),
        Detection::OneOf(formats) => {
            let names: Vec<_> = formats.iter().map(|format| format.name()).collect();
            format!("? {}", names.join(" ")).trim_end().to_owned()
        }
    }
}

/// A name and what the file was taken for.
fn files() -> impl Iterator<Item = (&'static str, &'static str)> {
    DETECTED.lines().filter_map(|line| line.split_once(": "))
}

fn read(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(DATA).join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn files_are_what_they_were() {
    for (name, was) in files() {
        assert_eq!(shown(&detect(&read(name))), was, "{name}");
    }
    assert!(files().count() > 100);
}

#[test]
fn damaged_files_are_what_they_were() {
    let files: Vec<Vec<u8>> =
        files().map(|(name, _)| read(name)).filter(|file| file.len() <= MAX_BYTES).collect();
    let (mut state, mut certain) = (0, 0);
    let mut digest = 0xcbf2_9ce4_8422_2325_u64;
    for _ in 0..MUTATIONS {
        let mut random = |below: usize| (splitmix(&mut state) % below.max(1) as u64) as usize;
        let mut file = files[random(files.len())].clone();
        match random(6) {
            0 => file.truncate(random(file.len())),
            1 => file.extend((0..1 + random(9)).map(|byte| byte as u8)),
            2 => file.extend_from_within(..file.len().min(64)),
            // Headers are short, and what is in them decides.
            3 | 4 if !file.is_empty() => {
                let at = random(file.len().min(24));
                file[at] = random(256) as u8;
            }
            _ if !file.is_empty() => {
                let at = random(file.len());
                file[at] ^= 1 << random(8);
            }
            _ => {}
        }
        let detection = detect(&file);
        certain += u64::from(matches!(detection, Detection::Certain(_)));
        // FNV-1a.
        for byte in shown(&detection).bytes().chain([b'\n']) {
            digest = (digest ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
    let was = DETECTED.lines().find_map(|line| line.strip_prefix("damaged ")).unwrap();
    assert_eq!(format!("{certain} certain, digest {digest:016x}"), was);
}

fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}
