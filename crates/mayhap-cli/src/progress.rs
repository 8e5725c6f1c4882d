//! How far long work is: on standard error, where that is a terminal, and only once it is long;
//! and whenever a signal asks.

use crate::globals::Globals;
use crate::numbers;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use mayhap_store::text::ProgressAndCancel;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Nothing is drawn for work that is done before anybody wonders.
const SHOW_AFTER: Duration = Duration::from_millis(500);
const STEP: Duration = Duration::from_millis(100);

/// A bar that is there for as long as this value, and the answer to whoever asks by a signal.
pub struct Progress {
    thread: Option<(Sender<()>, JoinHandle<()>)>,
    /// What a signal was answered with before.
    before: Option<Telling>,
}

/// Says how far something is.
type Telling = Box<dyn Fn() -> String + Send>;

/// What is under way now.
static TELLING: Mutex<Option<Telling>> = Mutex::new(None);

/// How far what is under way is, in one line.
pub fn now() -> String {
    let telling = TELLING.lock().unwrap_or_else(PoisonError::into_inner);
    telling.as_ref().map_or_else(|| "nothing is being read now".to_owned(), |telling| telling())
}

fn tell(telling: Option<Telling>) -> Option<Telling> {
    std::mem::replace(&mut *TELLING.lock().unwrap_or_else(PoisonError::into_inner), telling)
}

impl Progress {
    /// Show how far reading is, unless nobody looks. `prints` says that lines go to standard
    /// output meanwhile: if that is a terminal too, they are progress enough.
    pub fn of(
        watch: &Arc<ProgressAndCancel>,
        what: &'static str,
        prints: bool,
        globals: &Globals,
    ) -> Progress {
        let (watch, told) = (Arc::clone(watch), Arc::clone(watch));
        let start = Instant::now();
        let telling = Box::new(move || {
            let lines = numbers::plural(told.records(), "line");
            let far = share(told.read_bytes(), told.total_bytes(), start);
            let what = if told.is_counting() { "count" } else { what };
            format!("{what}: {lines}, {far}")
        });
        Progress::drawn(prints, globals, telling, move |bar: &mut Option<ProgressBar>| {
            let bar = bar.get_or_insert_with(|| new_bar(watch.total_bytes(), what));
            bar.set_prefix(if watch.is_counting() { "count" } else { what });
            draw(bar, &watch);
        })
    }

    /// Show how many bytes have gone over a wire, unless nobody looks; `total` of them if that is
    /// known.
    pub fn of_bytes(
        moved: &Arc<AtomicU64>,
        total: Option<u64>,
        what: &'static str,
        globals: &Globals,
    ) -> Progress {
        let (moved, told) = (Arc::clone(moved), Arc::clone(moved));
        let start = Instant::now();
        let telling =
            Box::new(move || format!("{what}: {}", share(told.load(Relaxed), total, start)));
        Progress::drawn(false, globals, telling, move |bar: &mut Option<ProgressBar>| {
            let bar = bar.get_or_insert_with(|| new_bar(total, what));
            bar.set_position(moved.load(Relaxed));
            bar.set_message(numbers::bytes(moved.load(Relaxed)));
            bar.tick();
        })
    }

    fn drawn(
        prints: bool,
        globals: &Globals,
        telling: Telling,
        draw: impl Fn(&mut Option<ProgressBar>) + Send + 'static,
    ) -> Progress {
        crate::signals::tell_on_signal();
        let before = tell(Some(telling));
        let unwanted = globals.no_progress || globals.quiet;
        let lines_show = prints && std::io::stdout().is_terminal();
        let shown = std::io::stderr().is_terminal() && !unwanted && !lines_show;
        if !shown {
            return Progress { thread: None, before };
        }
        let (end, ended) = channel::<()>();
        let thread = std::thread::spawn(move || {
            let start = Instant::now();
            let mut bar = None;
            while ended.recv_timeout(STEP) == Err(RecvTimeoutError::Timeout) {
                if start.elapsed() >= SHOW_AFTER {
                    draw(&mut bar);
                }
            }
            if let Some(bar) = bar {
                bar.finish_and_clear();
            }
        });
        Progress { thread: Some((end, thread)), before }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((end, thread)) = self.thread.take() {
            drop(end);
            _ = thread.join();
        }
        tell(self.before.take());
    }
}

/// `1.20 GB of 4.80 GB (25%) in 3.1 s`.
fn share(done: u64, total: Option<u64>, start: Instant) -> String {
    let took = numbers::human_duration(start.elapsed());
    match total {
        Some(total) => {
            let percent = 100.0 * done as f64 / total as f64;
            let (done, total) = (numbers::bytes(done), numbers::bytes(total));
            format!("{done} of {total} ({percent:.0}%) in {took}")
        }
        None => format!("{} in {took}", numbers::bytes(done)),
    }
}

fn new_bar(total: Option<u64>, what: &'static str) -> ProgressBar {
    let (bar, template) = match total {
        Some(bytes) => (
            ProgressBar::new(bytes),
            "{prefix} {wide_bar} {percent:>3}%  {decimal_bytes_per_sec}, {msg}, {eta} left",
        ),
        None => (
            ProgressBar::new_spinner(),
            "{prefix} {spinner} {decimal_bytes} read, {decimal_bytes_per_sec}, {msg}",
        ),
    };
    bar.set_draw_target(ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.set_prefix(what);
    bar
}

fn draw(bar: &ProgressBar, watch: &ProgressAndCancel) {
    bar.set_position(watch.read_bytes());
    bar.set_message(format!("{} lines", numbers::rounded(watch.records())));
    bar.tick();
}
