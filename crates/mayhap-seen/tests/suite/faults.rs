//! Files that go, disks that are full, clocks that jump: what is acknowledged is there, and what
//! cannot be is an error.

use mayhap_seen::embedded::{Durability, Options};
use mayhap_seen::{Embedded, Seen, SeenError};
use std::path::Path;
use std::time::{Duration, Instant};

fn open(path: &Path) -> Seen<Embedded> {
    Seen::new(Embedded::open(path).unwrap())
}

/// A way to lose a file, and its error.
type Loss = (fn(&Path), &'static str);

#[test]
fn a_file_that_goes_while_it_is_open_is_noticed() {
    let ways: [Loss; 4] = [
        (|path| std::fs::remove_file(path).unwrap(), "was removed"),
        (|path| std::fs::rename(path, path.with_extension("old")).unwrap(), "was removed"),
        (
            |path| {
                let copy = path.with_extension("copy");
                std::fs::copy(path, &copy).unwrap();
                std::fs::rename(&copy, path).unwrap();
            },
            "was replaced by another file",
        ),
        (
            |path| {
                let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
                file.set_len(4096).unwrap();
            },
            "was cut off",
        ),
    ];
    for (lose, said) in ways {
        for durability in [Durability::EveryCall, Durability::Within(Duration::from_secs(60))] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("seen.redb");
            let options = Options::default().with_durability(durability);
            let seen = Seen::new(Embedded::open_with(&path, options).unwrap());
            seen.mark(b"user", &["a"]).unwrap();
            lose(&path);
            let errors = [
                seen.mark(b"user", &["b"]).unwrap_err(),
                seen.mark(b"user", &["c"]).unwrap_err(),
                seen.unseen(b"user", &["a"]).unwrap_err(),
                seen.flush().unwrap_err(),
            ];
            for error in errors {
                assert!(matches!(error, SeenError::Gone { .. }), "{said}: {error:?}");
                assert!(error.to_string().contains(said), "{error}");
            }
        }
    }
}

/// The process whose disk is full for a while: no file of its may grow beyond its first page. Run by
/// `a_disk_that_was_full_is_written_to_again` through this very program.
#[test]
#[ignore = "a part of a_disk_that_was_full_is_written_to_again"]
fn victim() {
    let Some(path) = std::env::var_os("MAYHAP_VICTIM") else { return };
    let path = Path::new(&path);
    let limit = |bytes: &str| {
        let pid = std::process::id().to_string();
        let limit = format!("--fsize={bytes}:unlimited");
        let set = std::process::Command::new("prlimit").args(["--pid", &pid, &limit]).status();
        assert!(set.unwrap().success());
    };
    let is_lazy = std::env::var_os("MAYHAP_LAZY").is_some();
    let durability = match is_lazy {
        true => Durability::Within(Duration::from_millis(20)),
        false => Durability::EveryCall,
    };
    let options = Options::default().with_durability(durability);
    let seen = Seen::new(Embedded::open_with(path, options).unwrap());
    seen.mark(b"user", &["before"]).unwrap();
    seen.flush().unwrap();
    limit("4096");
    let mut acknowledged = vec!["before".to_owned()];
    if is_lazy {
        seen.mark(b"user", &["not yet on disk"]).unwrap();
        acknowledged.push("not yet on disk".to_owned());
    }
    // Sooner or later, and then for as long as the disk is full, it is told.
    let patience = Instant::now() + Duration::from_secs(60);
    let mut at = 0;
    let error = loop {
        at += 1;
        let id = format!("full-{at}");
        match seen.mark(b"user", &[&id]) {
            Ok(_) => acknowledged.push(id),
            Err(error) => break error,
        }
        assert!(Instant::now() < patience, "a full disk goes unnoticed");
    };
    assert!(matches!(error, SeenError::Unreachable { .. }), "{error:?}");
    assert!(seen.mark(b"user", &["x"]).is_err());
    // No busy loop meanwhile: most of this second is slept.
    let before = cpu_ticks();
    std::thread::sleep(Duration::from_secs(1));
    assert!(cpu_ticks() - before < 50, "{} ticks of a hundred", cpu_ticks() - before);
    limit("unlimited");
    while seen.mark(b"user", &["after"]).is_err() {
        assert!(Instant::now() < patience, "the disk has room, and is not written to");
        std::thread::sleep(Duration::from_millis(10));
    }
    acknowledged.push("after".to_owned());
    assert!(seen.unseen(b"user", &acknowledged).unwrap().is_empty());
    drop(seen);
    assert!(open(path).unseen(b"user", &acknowledged).unwrap().is_empty());
    println!("all is well");
}

/// Hundredths of a second that this process has used.
fn cpu_ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

#[test]
#[cfg(target_os = "linux")]
fn a_disk_that_was_full_is_written_to_again() {
    for lazy in [None, Some("yes")] {
        let dir = tempfile::tempdir().unwrap();
        // Whoever ignores the signal gets an error from the write, as on a full disk.
        let mut sh = std::process::Command::new("sh");
        sh.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""]).arg(std::env::current_exe().unwrap());
        sh.args(["--exact", "faults::victim", "--ignored", "--nocapture", "--test-threads=1"]);
        sh.env("MAYHAP_VICTIM", dir.path().join("seen.redb"));
        lazy.into_iter().for_each(|lazy| _ = sh.env("MAYHAP_LAZY", lazy));
        let output = sh.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains("all is well"), "{said}{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn a_store_that_cannot_be_made_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let zeroed = dir.path().join("zeroed.redb");
    std::fs::write(&zeroed, vec![0; 20_000]).unwrap();
    let error = Embedded::open(&zeroed).err().unwrap().to_string();
    assert!(error.contains("zeros") && error.contains("remove it"), "{error}");
    // An empty file is as good as none.
    let empty = dir.path().join("empty.redb");
    std::fs::write(&empty, "").unwrap();
    open(&empty).mark(b"user", &["a"]).unwrap();
    let names = |dir: &Path| std::fs::read_dir(dir).unwrap().count();
    assert_eq!(names(dir.path()), 2, "nothing lies about");
    assert!(Embedded::open(dir.path().join("no folder/seen.redb")).is_err());
}

#[test]
fn who_waits_gets_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("seen.redb");
    let names: Vec<String> = (0..12).map(|n| format!("id-{n}")).collect();
    std::thread::scope(|scope| {
        for name in &names {
            let path = &path;
            scope.spawn(move || {
                let options = Options::default().with_patience(Duration::from_secs(60));
                let seen = Seen::new(Embedded::open_with(path, options).unwrap());
                seen.mark(b"user", &[name]).unwrap();
            });
        }
    });
    assert!(open(&path).unseen(b"user", &names).unwrap().is_empty());
}

/// Large records are stored in chunks: they grow, shrink and are deleted, and no chunk is left behind.
#[test]
fn records_of_any_size_come_and_go() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("seen.redb");
    let policy = "slices=3,ids=4000,rate=1e-6,idle=never".parse().unwrap();
    let options = || Options::default().with_policy(policy);
    let ids: Vec<String> = (0..12_000).map(|n| format!("id-{n}")).collect();
    let owners: [&[u8]; 4] = [b"a", b"a\0", b"a\0\0\0\0\0", &[7; 5000]];
    for owner in owners {
        let seen = Seen::new(Embedded::open_with(&path, options()).unwrap());
        for count in [1, 500, 2000, 12_000] {
            seen.mark(owner, &ids[..count]).unwrap();
        }
        assert!(seen.stats_of(owner).unwrap().unwrap().bytes > 30_000);
    }
    let seen = Seen::new(Embedded::open_with(&path, options()).unwrap());
    for owner in owners {
        assert!(seen.unseen(owner, &ids).unwrap().is_empty());
        let exported = seen.export(owner).unwrap().unwrap();
        assert!(seen.forget(owner).unwrap() && !seen.forget(owner).unwrap());
        assert_eq!(seen.unseen(owner, &ids[..9]).unwrap().len(), 9);
        seen.mark(owner, &["small"]).unwrap();
        seen.import(owner, &exported).unwrap();
        assert!(seen.unseen(owner, &ids).unwrap().is_empty());
    }
    assert_eq!(seen.stats().unwrap().owners, 4);
}
