//! The system's clock, limited to plausible steps.
//!
//! A clock that jumps six days ahead would make every list six days older, and most of them expire.
//! So time in a store advances at most twice as fast as the machine's uptime, plus a minute: a jump
//! expires nothing at once, and a clock that was right is caught up with in as many days as it
//! jumped. The last known time is kept in the file with the machine's boot id and uptime, so that
//! this holds across processes too. After a reboot, and where no uptime is available, the clock is
//! trusted.

use crate::backend::Clock;
use crate::policy::Seconds;
use std::fmt;
use std::str::FromStr;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;

/// Steps up to this are followed at once.
const LEEWAY: Seconds = 60;
/// Maximum age of a sample before another is taken.
const SAMPLE_EVERY: Seconds = 600;

/// The store's time and the machine's uptime, at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sample {
    pub time: Seconds,
    pub boot: String,
    pub uptime: Seconds,
}

impl Sample {
    /// Uptime now; `None` where it is not available.
    pub fn take(time: Seconds) -> Option<Sample> {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let uptime = std::fs::read_to_string("/proc/uptime").ok()?;
        let uptime = uptime.split('.').next()?.parse().ok()?;
        Some(Sample { time, boot: boot.trim().to_owned(), uptime })
    }

    /// The latest possible time, according to this sample.
    fn latest(&self, now: &Sample) -> Option<Seconds> {
        let elapsed = now.uptime.checked_sub(self.uptime).filter(|_| now.boot == self.boot)?;
        Some(self.time.saturating_add(elapsed.saturating_mul(2)).saturating_add(LEEWAY))
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.time, self.uptime, self.boot)
    }
}

impl FromStr for Sample {
    type Err = ();

    fn from_str(text: &str) -> Result<Sample, ()> {
        let mut words = text.split(' ');
        let mut next = || words.next().ok_or(());
        let (time, uptime, boot) = (next()?, next()?, next()?);
        let number = |text: &str| text.parse().map_err(|_| ());
        Ok(Sample { time: number(time)?, uptime: number(uptime)?, boot: boot.to_owned() })
    }
}

pub(super) struct SteadyClock {
    wall: Clock,
    opened: Instant,
    /// The latest possible time is this plus two seconds for each second since `opened`.
    limit: AtomicI64,
    last: Mutex<Last>,
}

/// The last sample, and when this process took it, if it did.
struct Last {
    sample: Option<Sample>,
    taken: Option<Instant>,
}

impl SteadyClock {
    /// A clock that continues from the sample in a file, if it is of this boot of this machine.
    pub fn new(wall: Clock, stored: Option<Sample>) -> SteadyClock {
        let now = Sample::take(wall());
        let latest = stored.as_ref().zip(now.as_ref()).and_then(|(stored, now)| stored.latest(now));
        let limit = latest.unwrap_or_else(|| wall().saturating_add(LEEWAY));
        let limit = AtomicI64::new(i64::try_from(limit).unwrap_or(i64::MAX));
        let last = Last { sample: latest.and(stored), taken: None };
        SteadyClock { wall, opened: Instant::now(), limit, last: Mutex::new(last) }
    }

    pub fn now(&self) -> Seconds {
        let limit = self.limit.load(Ordering::Relaxed).saturating_add(self.granted());
        (self.wall)().min(limit.max(0) as Seconds)
    }

    fn granted(&self) -> i64 {
        self.opened.elapsed().as_secs() as i64 * 2
    }

    /// A sample to be stored in the file, when one is due.
    pub fn sample(&self) -> Option<Sample> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.taken.is_some_and(|taken| taken.elapsed().as_secs() < SAMPLE_EVERY) {
            return None;
        }
        last.taken = Some(Instant::now());
        let now = Sample::take(self.now())?;
        let is_young = |last: &Sample| {
            last.boot == now.boot && now.uptime.saturating_sub(last.uptime) < SAMPLE_EVERY
        };
        if last.sample.as_ref().is_some_and(is_young) {
            return None;
        }
        // Uptime also counts while the machine sleeps, which `Instant` may not.
        let latest = last.sample.as_ref().and_then(|last| last.latest(&now));
        let time = (self.wall)().min(latest.unwrap_or(now.time.saturating_add(LEEWAY)));
        let limit = i64::try_from(time.saturating_add(LEEWAY)).unwrap_or(i64::MAX);
        self.limit.store(limit.saturating_sub(self.granted()), Ordering::Relaxed);
        last.sample = Some(Sample { time, ..now });
        last.sample.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;

    fn clock(at: u64) -> (Arc<AtomicU64>, Clock) {
        let hands = Arc::new(AtomicU64::new(at));
        let wall = hands.clone();
        (hands, Arc::new(move || wall.load(Ordering::Relaxed)))
    }

    #[test]
    fn a_jump_ahead_is_not_followed_and_a_correction_is() {
        let (hands, wall) = clock(1_800_000_000);
        let steady_clock = SteadyClock::new(wall, None);
        assert_eq!(steady_clock.now(), 1_800_000_000);
        hands.fetch_add(30, Ordering::Relaxed);
        assert_eq!(steady_clock.now(), 1_800_000_030);
        hands.fetch_add(6 * 86_400, Ordering::Relaxed);
        assert!(
            (1_800_000_060..1_800_000_600).contains(&steady_clock.now()),
            "{}",
            steady_clock.now()
        );
        hands.store(1_799_999_000, Ordering::Relaxed);
        assert_eq!(steady_clock.now(), 1_799_999_000, "a clock may be set back");
    }

    #[test]
    fn a_sample_holds_the_next_process_to_it() {
        let Some(now) = Sample::take(0) else { return };
        let week_ago = |uptime| Sample { time: 1_800_000_000, uptime, ..now.clone() };
        let opened = |stored| SteadyClock::new(clock(1_800_600_000).1, Some(stored)).now();
        // By its uptime the machine ran for a second since then, not for a week.
        let jumped = opened(week_ago(now.uptime - 1));
        assert!((1_800_000_062..1_800_000_600).contains(&jumped), "{jumped}");
        // Another boot, or another machine: nothing is known.
        let other = Sample { boot: "other".to_owned(), ..week_ago(now.uptime - 1) };
        assert_eq!(opened(other), 1_800_600_000);
        assert_eq!(opened(week_ago(now.uptime + 1)), 1_800_600_000);
    }

    /// A list is marked, the clock jumps six days ahead, and another process opens the store.
    #[test]
    fn a_clock_that_jumps_ahead_forgets_no_list() {
        use crate::embedded::{ABOUT, Embedded, Options};
        use crate::{Seen, system_clock};
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("seen.redb");
        let then = system_clock()() - 6 * 86_400;
        let options = Options::default().with_clock(Arc::new(move || then));
        Seen::new(Embedded::open_with(&path, options).unwrap()).mark(b"user", &["a"]).unwrap();
        // Five idle days have passed by the clock alone.
        let lists = || Seen::new(Embedded::open(&path).unwrap());
        assert_eq!(lists().unseen(b"user", &["a"]).unwrap().len(), 1);
        let Some(now) = Sample::take(then) else { return };
        let sample = Sample { uptime: now.uptime - 1, ..now };
        let db = redb::Database::open(&path).unwrap();
        let txn = db.begin_write().unwrap();
        let text = sample.to_string();
        txn.open_table(ABOUT).unwrap().insert("clock", text.as_str()).unwrap();
        txn.commit().unwrap();
        drop(db);
        // By the machine's uptime only a second has passed.
        for _ in 0..3 {
            assert!(lists().unseen(b"user", &["a"]).unwrap().is_empty());
            lists().mark(b"user", &["b"]).unwrap();
            assert!(lists().unseen(b"user", &["a", "b"]).unwrap().is_empty());
        }
    }

    #[test]
    fn a_sample_is_what_it_prints() {
        let sample = Sample { time: 7, boot: "a-b".to_owned(), uptime: 9 };
        assert_eq!(sample.to_string().parse(), Ok(sample));
        assert_eq!("7 x a".parse::<Sample>(), Err(()));
    }
}
