//! Power cuts: an ext4 file system on a loop device is shut down without flushing its journal
//! (`FS_IOC_SHUTDOWN`) while files change, mounted again, and asked for what was acknowledged. Needs root.

use super::command::{Mayhap, Subject};
use super::trial::Outcome;
use crate::sample::SplitMix;
use crate::steps::{StepResult, read, works};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

/// Cuts for each of the three; `MAYHAP_CUTS` changes it.
const CUTS: usize = 100;
const FOLDER: &str = "target/soak/power";

/// `FS_IOC_SHUTDOWN` with `NOLOGFLUSH`, after a while: what a power cut does to a file system. Prints when.
const SHUT_DOWN: &str = "
import fcntl, os, struct, sys, time
folder = os.open(sys.argv[1], os.O_RDONLY)
time.sleep(float(sys.argv[2]))
print(time.time())
fcntl.ioctl(folder, 0x8004587d, struct.pack('I', 2))
";

pub fn cuts() -> Outcome {
    let cuts = std::env::var("MAYHAP_CUTS").ok().and_then(|cuts| cuts.parse().ok());
    let mut saw = vec![];
    let result = match Disk::make() {
        Ok(disk) => all(&disk, cuts.unwrap_or(CUTS), &mut saw)
            .map_or_else(StepResult::Failed, |()| StepResult::Passed),
        Err(why) => StepResult::Skipped(format!("no ext4 on a loop device: {why}")),
    };
    Outcome { result, saw }
}

fn all(disk: &Disk, cuts: usize, saw: &mut Vec<String>) -> Result<(), String> {
    let mayhap = Mayhap::built(Path::new(FOLDER).join("disk/it").as_path())?;
    for (subject, name) in [
        (Subject::Filter, "add to a filter"),
        (Subject::State, "dedup with a state"),
        (Subject::Store, "seen mark"),
    ] {
        saw.push(cut(disk, &mayhap, subject, cuts).map(|told| format!("{name}: {told}"))?);
    }
    saw.push(careless(disk, &mayhap, cuts / 5 + 2)?);
    Ok(())
}

fn cut(disk: &Disk, mayhap: &Mayhap, subject: Subject, cuts: usize) -> Result<String, String> {
    subject.begin(mayhap)?;
    disk.sync()?;
    let mut random = SplitMix(13);
    let mut acknowledged: Vec<String> = vec![];
    for round in 1..=cuts {
        let wait = 0.02 + random.below(200_000) as f64 / 1e6;
        let mut changes = vec![];
        let cut_at = std::thread::scope(|scope| {
            let cutting = scope.spawn(|| disk.shut_down(wait));
            for n in 0.. {
                let keys = [format!("key-{round}-{n}")];
                let done = subject
                    .start(mayhap, &keys)
                    .and_then(|mut child| child.wait().map_err(|error| error.to_string()));
                if !done.is_ok_and(|status| status.success()) {
                    break;
                }
                changes.push((now(), keys));
            }
            cutting.join().map_err(|_| "the cutter failed".to_owned())?
        })?;
        // In a power cut nobody hears what is said after it.
        let heard = changes.into_iter().take_while(|(at, _)| *at < cut_at);
        acknowledged.extend(heard.flat_map(|(_, keys)| keys));
        disk.power_on()?;
        let latest = &acknowledged[acknowledged.len().saturating_sub(3000)..];
        match subject.missing(mayhap, latest) {
            Ok(0) => {}
            Ok(lost) => return Err(format!("cut {round}: {lost} acknowledged keys are missing")),
            Err(why) => return Err(format!("cut {round}: {why}")),
        }
    }
    Ok(format!(
        "{cuts} cuts, {} changes acknowledged; every file verified after each, 0 keys missing",
        acknowledged.len()
    ))
}

/// The control: lines that are appended and never synced.
fn careless(disk: &Disk, mayhap: &Mayhap, cuts: usize) -> Result<String, String> {
    let path = mayhap.folder.join("lines");
    let (mut written, mut lost) = (0u64, 0);
    for _ in 0..cuts {
        fs::write(&path, "").map_err(|error| format!("lines: {error}"))?;
        disk.sync()?;
        let mut lines = 0;
        std::thread::scope(|scope| {
            let cutting = scope.spawn(|| disk.shut_down(0.05));
            let mut file =
                fs::OpenOptions::new().append(true).open(&path).map_err(|e| e.to_string())?;
            while !cutting.is_finished()
                && lines < 100_000
                && writeln!(file, "line {lines}").is_ok()
            {
                lines += 1;
            }
            cutting.join().map_err(|_| "the cutter failed".to_owned())?
        })?;
        disk.power_on()?;
        let left = fs::read_to_string(&path).unwrap_or_default().lines().count();
        written += lines as u64;
        lost += (lines as usize).saturating_sub(left);
    }
    if lost == 0 {
        return Err("the control found nothing: no line that was not synced was lost".into());
    }
    Ok(format!("control: lines appended without fsync: {lost} of {written} lost in {cuts} cuts"))
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(f64::MAX, |since| since.as_secs_f64())
}

/// A file system in a file.
struct Disk {
    image: String,
    folder: String,
}

impl Disk {
    fn make() -> Result<Disk, String> {
        fs::create_dir_all(FOLDER).map_err(|error| format!("{FOLDER}: {error}"))?;
        let disk = Disk { image: format!("{FOLDER}/image"), folder: format!("{FOLDER}/disk") };
        if works(Command::new("mountpoint").args(["-q", &disk.folder])) {
            read(Command::new("umount").arg(&disk.folder))?;
        }
        fs::create_dir_all(&disk.folder).map_err(|error| error.to_string())?;
        read(Command::new("truncate").args(["-s", "256M", &disk.image]))?;
        read(Command::new("mkfs.ext4").args(["-q", "-F", &disk.image]))?;
        disk.mount()?;
        Ok(disk)
    }

    fn mount(&self) -> Result<(), String> {
        read(Command::new("mount").args(["-o", "loop", &self.image, &self.folder])).map(drop)
    }

    fn sync(&self) -> Result<(), String> {
        read(Command::new("sync").args(["-f", &self.folder])).map(drop)
    }

    /// When it was cut, in seconds since 1970.
    fn shut_down(&self, seconds: f64) -> Result<f64, String> {
        let mut python = Command::new("python3");
        let at = read(python.args(["-c", SHUT_DOWN, &self.folder, &seconds.to_string()]))?;
        at.trim().parse().map_err(|error| format!("{at}: {error}"))
    }

    /// Unmounted and mounted again: the journal is replayed.
    fn power_on(&self) -> Result<(), String> {
        read(Command::new("umount").arg(&self.folder))?;
        self.mount()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        _ = Command::new("umount").arg(&self.folder).status();
        _ = fs::remove_dir_all(FOLDER);
    }
}
