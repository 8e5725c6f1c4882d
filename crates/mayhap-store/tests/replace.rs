//! A file is replaced whole or not at all, by one writer at a time, whatever happens.
//!
//! Some of it happens in other processes: this program starts itself again, to run one test that
//! does nothing unless it is told a [`ROLE`].

use mayhap::format::{Metadata, verify};
use mayhap::{Blocked, Spec};
use mayhap_store::budget::Budget;
use mayhap_store::map::{self, MapError};
use mayhap_store::replace::{self, Lock, LockError, Overwrite, ReplaceError};
use mayhap_store::{ChangeError, Edit, Filter, OpenError, OpenOptions, Slice, Verify};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A filter's file that is a little larger than the number of keys says.
fn filter(keys: u64) -> Vec<u8> {
    let mut filter = Blocked::new(Spec::new(keys, 0.01).unwrap()).unwrap();
    filter.insert(keys);
    filter.encode(&Metadata::new())
}

fn write(path: &Path, over: Overwrite, bytes: &[u8]) -> Result<(), ReplaceError> {
    replace::file(path, over, |to| to.write_all(bytes))
}

fn names_in(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_file_is_made_and_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.may");
    write(&path, Overwrite::Nothing, &filter(10)).unwrap();
    assert!(matches!(write(&path, Overwrite::Nothing, b"x"), Err(ReplaceError::Exists { .. })));
    write(&path, Overwrite::Filters, &filter(20)).unwrap();
    assert_eq!(fs::read(&path).unwrap(), filter(20));
    assert_eq!(names_in(folder.path()), ["a.may"]);
}

#[test]
fn what_is_not_a_filter_is_replaced_on_demand_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("thesis.txt");
    fs::write(&path, "years of work").unwrap();
    let refused = |result| matches!(result, Err(ReplaceError::NotAFilter { .. }));
    assert!(refused(replace::check(&path, Overwrite::Filters)));
    assert!(refused(write(&path, Overwrite::Filters, &filter(10))));
    assert_eq!(fs::read(&path).unwrap(), b"years of work");
    write(&path, Overwrite::Anything, &filter(10)).unwrap();
    replace::check(&path, Overwrite::Filters).unwrap();
    let error = write(folder.path(), Overwrite::Anything, b"").unwrap_err();
    assert!(matches!(error, ReplaceError::Directory { .. }), "{error}");
    let error = replace::check(&folder.path().join("no/such"), Overwrite::Filters).unwrap_err();
    assert!(matches!(error, ReplaceError::Write { .. }), "{error}");
}

#[test]
fn a_failed_write_leaves_the_old_file_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.may");
    write(&path, Overwrite::Filters, &filter(10)).unwrap();
    let result = replace::file(&path, Overwrite::Filters, |to| {
        to.write_all(b"half")?;
        Err(io::ErrorKind::StorageFull.into())
    });
    assert!(matches!(result, Err(ReplaceError::Write { .. })));
    assert_eq!(fs::read(&path).unwrap(), filter(10));
    assert_eq!(names_in(folder.path()), ["a.may"]);
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::{PermissionsExt, symlink};

    /// What `/dev/stdout` and a shell's `>(…)` are: the link of an open pipe names no path.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_pipe_is_written_to_by_whatever_name() {
        use std::io::Read;
        use std::os::fd::AsRawFd;
        let (mut reader, writer) = io::pipe().unwrap();
        let path = format!("/proc/self/fd/{}", writer.as_raw_fd());
        let path = Path::new(&path);
        replace::check(path, Overwrite::Filters).unwrap();
        replace::file(path, Overwrite::Filters, |to| to.write_all(b"all of it")).unwrap();
        drop(writer);
        let mut read = String::new();
        reader.read_to_string(&mut read).unwrap();
        assert_eq!(read, "all of it");
    }

    /// Nothing happens before the commit, and nothing is left without it.
    #[test]
    fn a_pending_file_takes_the_name_when_it_is_committed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o604)).unwrap();
        symlink("file", &link).unwrap();
        let mut pending = replace::Pending::begin(&link, Overwrite::Anything).unwrap();
        pending.write_all(b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        drop(pending);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        let mut pending = replace::Pending::begin(&link, Overwrite::Anything).unwrap();
        pending.write_all(b"new").unwrap();
        let finished = pending.finish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        finished.commit().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o604);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(replace::Pending::begin(folder.path(), Overwrite::Anything).is_err());
    }

    #[test]
    fn links_are_followed_and_modes_kept() {
        let folder = tempfile::tempdir().unwrap();
        let within = folder.path().join("within");
        fs::create_dir(&within).unwrap();
        let (link, other, path) =
            (folder.path().join("link"), within.join("other"), within.join("a.may"));
        symlink("within/other", &link).unwrap();
        symlink("a.may", &other).unwrap();
        // The links point nowhere yet.
        write(&link, Overwrite::Nothing, &filter(10)).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        write(&link, Overwrite::Filters, &filter(20)).unwrap();
        assert!(link.is_symlink() && other.is_symlink() && !path.is_symlink());
        assert_eq!(fs::read(&path).unwrap(), filter(20));
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o7777, 0o640);
        assert_eq!(names_in(&within), ["a.may", "other"]);

        symlink("loop", folder.path().join("loop")).unwrap();
        let error = write(&folder.path().join("loop"), Overwrite::Filters, b"").unwrap_err();
        assert!(error.to_string().ends_with("too many symbolic links"), "{error}");
    }

    #[test]
    fn a_pipe_is_no_filter_and_keeps_nobody_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().is_ok_and(|made| made.success()));
        assert!(matches!(map::bytes(&pipe), Err(MapError::Open { .. })));
        let lock = Lock::acquire(&pipe, Duration::ZERO);
        assert!(matches!(lock, Err(LockError::Open { .. })));
        assert!(Lock::acquire(folder.path(), Duration::ZERO).is_err());
    }

    #[test]
    fn a_new_file_has_the_mode_of_new_files() {
        let folder = tempfile::tempdir().unwrap();
        let [ours, plain] = ["ours", "plain"].map(|name| folder.path().join(name));
        write(&ours, Overwrite::Nothing, b"").unwrap();
        fs::write(&plain, b"").unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode();
        assert_eq!(mode(&ours), mode(&plain));
    }

    #[test]
    fn devices_are_written_to_and_never_replaced() {
        use std::os::unix::fs::FileTypeExt;
        write(Path::new("/dev/null"), Overwrite::Filters, b"gone").unwrap();
        assert!(Path::new("/dev/null").metadata().unwrap().file_type().is_char_device());
        let error = write(Path::new("/dev/full"), Overwrite::Filters, &filter(10));
        // A device that is always full, where the system has one.
        if cfg!(target_os = "linux") {
            assert!(matches!(error, Err(ReplaceError::Write { .. })));
        }
    }
}

#[test]
fn one_writer_at_a_time_and_the_second_is_told_who() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.may");
    assert!(matches!(Lock::acquire(&path, Duration::ZERO), Err(LockError::Open { .. })));
    let mut lock = Lock::create(&path, |to| to.write_all(&filter(10))).unwrap();
    let again = Lock::create(&path, |to| to.write_all(&filter(10)));
    assert!(matches!(again, Err(ReplaceError::Exists { .. })));
    // It holds for the file of that name, before and after the file is another one.
    for keys in [20, 30] {
        match Lock::acquire(&path, Duration::from_millis(30)).unwrap_err() {
            LockError::Held { holder, .. } if cfg!(target_os = "linux") => {
                assert_eq!(holder, Some(std::process::id()));
            }
            error => assert!(matches!(error, LockError::Held { .. }), "{error}"),
        }
        lock.replace(Overwrite::Filters, |to| to.write_all(&filter(keys))).unwrap();
    }
    drop(lock);
    // Not at once: a process that another test is just starting shares our files until it begins.
    let lock = Lock::acquire(&path, Duration::from_secs(30)).unwrap();
    let mut bytes = Vec::new();
    lock.file().read_to_end(&mut bytes).unwrap();
    assert_eq!(bytes, filter(30));
}

#[test]
fn mapped_files_answer_and_stay_what_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.may");
    // Larger than what is let go at once while it is checked.
    write(&path, Overwrite::Filters, &filter(8_000_000)).unwrap();
    let opened = open(&path, Verify::All).unwrap();
    write(&path, Overwrite::Filters, &filter(10)).unwrap();
    let native = opened.native().unwrap();
    assert!(native.contains(8_000_000u64) && !native.contains(1u64));
    let info = opened.info(0);
    assert_eq!((info.capacity, info.keys), (8_000_000, Some(1)));

    let mut edit = Edit::open(&path, Duration::from_secs(30), &OpenOptions::default()).unwrap();
    let need = edit.filter.info(0).bytes;
    let error = edit.filter.fill(&Slice(&["ada"]), Budget::of_bytes(need - 1)).unwrap_err();
    assert!(matches!(error, ChangeError::Copy { .. }), "{error}");
    edit.filter.fill(&Slice(&["ada"]), Budget::default()).unwrap();
    assert_eq!(open(&path, Verify::All).unwrap().info(0).keys, Some(1));
    edit.commit().unwrap();
    assert_eq!(open(&path, Verify::All).unwrap().info(0).keys, Some(2));
}

fn open(path: &Path, verify: Verify) -> Result<Filter, OpenError> {
    Filter::open(path, &OpenOptions { verify, ..OpenOptions::default() })
}

#[test]
fn damage_is_found_where_it_is_looked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.may");
    let mut bytes = filter(100_000);
    bytes[5_000] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let mut unverified = open(&path, Verify::Header).unwrap();
    let error = open(&path, Verify::All).unwrap_err();
    assert!(matches!(error, OpenError::Format { .. }), "{error}");
    assert!(matches!(Filter::verify(&path), Err(OpenError::Format { .. })));
    // What was not verified when it was opened is before it is changed.
    let error = unverified.fill(&Slice(&["ada"]), Budget::default()).unwrap_err();
    assert!(matches!(error, ChangeError::Format { .. }), "{error}");
    fs::write(&path, b"").unwrap();
    assert!(matches!(open(&path, Verify::Header), Err(OpenError::Format { .. })));
    let folder = open(folder.path(), Verify::Header);
    assert!(matches!(folder, Err(OpenError::Map(MapError::Directory { .. }))));
}

/// What the second process is to do, and with which file.
const ROLE: &str = "MAYHAP_TEST_ROLE";
const FILE: &str = "MAYHAP_TEST_FILE";

/// Start this program again, to do its part in [`second_process`].
fn start(role: &str, path: &Path, command: &mut Command) -> Child {
    command
        .args(["second_process", "--exact", "--nocapture"])
        .env(ROLE, role)
        .env(FILE, path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn this_program() -> PathBuf {
    std::env::current_exe().unwrap()
}

/// Not a test by itself: the other end of those below.
#[test]
fn second_process() {
    let (Ok(role), Some(path)) = (std::env::var(ROLE), std::env::var_os(FILE)) else { return };
    let path = PathBuf::from(path);
    match role.as_str() {
        // Replace a file until killed.
        "replace" => {
            for keys in (1_000_000..).step_by(1_000) {
                write(&path, Overwrite::Filters, &filter(keys)).unwrap();
                println!("again");
            }
        }
        // The same without any care, to see that the test sees.
        "overwrite" => {
            for keys in (1_000_000..).step_by(1_000) {
                fs::write(&path, filter(keys)).unwrap();
                println!("again");
            }
        }
        "fill the disk" => {
            let error = write(&path, Overwrite::Filters, &filter(1_000_000)).unwrap_err();
            println!("refused: {error}");
        }
        // Add one to a number, many times, each time under the lock.
        "count" => {
            for _ in 0..COUNTS {
                let mut lock = Lock::acquire(&path, Duration::from_secs(60)).unwrap();
                let mut bytes = Vec::new();
                lock.file().read_to_end(&mut bytes).unwrap();
                let options = OpenOptions::default();
                let opened = Filter::from_mapped(&path, lock.map().unwrap(), &options).unwrap();
                let keys = opened.info(0).capacity;
                drop(opened);
                lock.replace(Overwrite::Filters, |to| to.write_all(&filter(keys + 1))).unwrap();
            }
        }
        other => panic!("no such role: {other}"),
    }
}

const COUNTS: u64 = 60;

/// Kill a writer in the middle, again and again; how often the file was broken afterwards.
fn broken_after_kills(role: &str) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.may");
    fs::write(&path, filter(1_000_000)).unwrap();
    let kill = |round: u64| {
        let mut child = start(role, &path, &mut Command::new(this_program()));
        // Once it has begun to write; the rest is left to chance.
        let mut word = [0; 1];
        while child.stdout.as_mut().unwrap().read(&mut word).unwrap() > 0 && word != *b"g" {}
        std::thread::sleep(Duration::from_micros(300 * (round % 40)));
        child.kill().unwrap();
        child.wait().unwrap();
        verify(&fs::read(&path).unwrap()).is_err()
    };
    let rounds = if std::env::var_os("MAYHAP_SOAK").is_some() { 500 } else { 12 };
    let broken = (0..rounds).filter(|round| kill(*round)).count();
    let mark = if role == "replace" { "soak" } else { "control" };
    println!("{mark}: {rounds} kills of a writer that {role}s a file: {broken} broken");
    broken
}

#[test]
fn killed_in_the_middle_the_file_is_old_or_new() {
    assert_eq!(broken_after_kills("replace"), 0);
}

#[test]
fn the_kill_test_sees_a_careless_writer() {
    assert!((0..5).any(|_| broken_after_kills("overwrite") > 0));
}

/// A limit on the size of files is as good as a full disk, and can be had everywhere.
#[test]
#[cfg(unix)]
fn a_full_disk_leaves_the_old_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.may");
    fs::write(&path, filter(10)).unwrap();
    let mut shell = Command::new("sh");
    // Without the signal a write past the limit fails as any other.
    shell.args(["-c", "trap '' XFSZ; ulimit -f 64; exec \"$0\" \"$@\""]).arg(this_program());
    let output = start("fill the disk", &path, &mut shell).wait_with_output().unwrap();
    let output = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.contains("refused: cannot write"), "{output}");
    assert_eq!(fs::read(&path).unwrap(), filter(10));
    assert_eq!(names_in(folder.path()), ["a.may"]);
}

#[test]
fn two_processes_lose_no_update() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.may");
    fs::write(&path, filter(10)).unwrap();
    let children: Vec<Child> =
        (0..2).map(|_| start("count", &path, &mut Command::new(this_program()))).collect();
    for child in children {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    let opened = open(&path, Verify::All).unwrap();
    assert_eq!(opened.info(0).capacity, 10 + 2 * COUNTS);
    assert_eq!(names_in(folder.path()), ["a.may"]);
}
