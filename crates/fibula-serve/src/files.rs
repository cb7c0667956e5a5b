//! [`Followed`]: what is read from a file, and read again when the file is replaced.
//!
//! ```text
//!              ┌── reads, and holds enough ──▶ the new one answers: ok
//!  a newer file┼── is refused ───────────────▶ the old one answers: stale
//!              └── takes too long ───────────▶ the old one answers: stale, until it is read
//! ```
//!
//! Where the first file holds nothing there is no old one: unread, and nothing answers.

use crate::Tell;
use arc_swap::ArcSwap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// What tells that a file is another one, or was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    /// Also moves where the bytes or the mode change and `modified` is set back.
    changed: (i64, i64),
}

/// What tells of several files that one is another one; of one that is not there, `None`.
type Marks = Vec<Option<Mark>>;

impl Mark {
    fn of(path: &Path) -> io::Result<Self> {
        let about = fs::metadata(path)?;
        Ok(Self {
            device: about.dev(),
            inode: about.ino(),
            bytes: about.len(),
            modified: (about.mtime(), about.mtime_nsec()),
            changed: (about.ctime(), about.ctime_nsec()),
        })
    }
}

/// Why what is served is not what its source has.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) what: String,
    /// When the first thing went wrong after which nothing went well.
    pub(crate) since: SystemTime,
    pub(crate) state: Condition,
    /// How much the source had when it was refused, and how much is served, where that is known.
    pub(crate) counts: Option<(Counts, Counts)>,
}

/// What is wrong with what is served, the worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Condition {
    /// The source has not told all that it has.
    Loading,
    /// It is older than its source.
    Stale,
    /// There was nothing yet that could answer.
    Unread,
}

impl Failure {
    /// Returns the name of the state of what is served, by its failure if there is one.
    pub(crate) fn state(failure: Option<&Self>) -> &'static str {
        match failure.map(|failure| failure.state) {
            None => "ok",
            Some(Condition::Loading) => "loading",
            Some(Condition::Stale) => "stale",
            Some(Condition::Unread) => "unread",
        }
    }

    /// Returns whether nothing answers.
    pub(crate) fn is_unread(&self) -> bool {
        self.state == Condition::Unread
    }
}

/// How much a file holds, by what it holds: `("IPv4 routes", 12)`.
pub(crate) type Counts = Vec<(&'static str, usize)>;

/// What is taken from a file, and how long it may take.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    /// The percentage that may be lost. With 100, a file that holds nothing is taken too.
    pub(crate) shrink: u8,
    /// How long a newer file may be there until what answers is called stale.
    pub(crate) time: Duration,
    pub(crate) turns: Arc<Turns>,
}

impl Rules {
    /// Returns the rules for what has nothing that is counted.
    pub(crate) fn uncounted(&self) -> Self {
        Self { shrink: 100, ..self.clone() }
    }

    /// Refuses what lacks too much of what was there before.
    fn check(&self, path: &Path, before: &Counts, now: &Counts) -> Result<(), String> {
        let (path, shrink) = (path.display(), self.shrink);
        if shrink < 100 && now.iter().all(|&(_, count)| count == 0) {
            let nothing: Vec<String> = now.iter().map(|(what, _)| format!("no {what}")).collect();
            let nothing = nothing.join(" and ");
            return Err(format!("{path}: holds {nothing}; --shrink 100% takes such a file"));
        }
        for (&(what, before), &(_, now)) in before.iter().zip(now) {
            let lost = before.saturating_sub(now);
            if lost as u128 * 100 > before as u128 * u128::from(shrink) {
                return Err(format!(
                    "{path}: holds {now} {what} where {before} are served: a reload may lose {shrink}% \
                     (--shrink)"
                ));
            }
        }
        Ok(())
    }
}

/// Lets one file be read at a time: each takes memory beside what still answers. Whoever has waited
/// for the patience reads beside the file that takes so long.
#[derive(Debug)]
pub(crate) struct Turns {
    patience: Duration,
    is_taken: Mutex<bool>,
    freed: Condvar,
}

/// A turn, unless patience has ended.
struct Turn<'t>(Option<&'t Turns>);

impl Turns {
    pub(crate) fn new(patience: Duration) -> Self {
        Self { patience, is_taken: Mutex::new(false), freed: Condvar::new() }
    }

    fn wait(&self) -> Turn<'_> {
        let is_taken = self.is_taken.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.freed.wait_timeout_while(is_taken, self.patience, |is_taken| *is_taken);
        let (mut is_taken, _) = waited.unwrap_or_else(PoisonError::into_inner);
        Turn((!std::mem::replace(&mut *is_taken, true)).then_some(self))
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Some(turns) = self.0 {
            *turns.is_taken.lock().unwrap_or_else(PoisonError::into_inner) = false;
            turns.freed.notify_one();
        }
    }
}

/// How a file becomes a `T`: from its path and the generation that it would be.
type Read<T> = dyn Fn(&Path, u64) -> Result<(T, Counts), String> + Send + Sync;

/// A value that is read from a file.
pub(crate) struct Followed<T> {
    pub(crate) path: PathBuf,
    /// Another file that is read with it, if there is one.
    beside: Option<PathBuf>,
    rules: Rules,
    read: Box<Read<T>>,
    current: ArcSwap<T>,
    generation: AtomicU64,
    failures: AtomicU64,
    is_unread: AtomicBool,
    status: Mutex<Status>,
}

fn marks(path: &Path, beside: Option<&Path>) -> Marks {
    [path].into_iter().chain(beside).map(|path| Mark::of(path).ok()).collect()
}

/// What became of the file.
struct Status {
    /// The file as it was when it was read last, even if in vain.
    marks: Marks,
    /// What the value that answers holds.
    counts: Counts,
    /// What the value before it held.
    before: Option<Counts>,
    failure: Option<Failure>,
    /// Since when there is a file that is neither taken nor refused.
    newer: Option<(Instant, SystemTime)>,
}

impl<T> Followed<T> {
    /// Reads the file for the first time. One that holds nothing is told, and is unread.
    pub(crate) fn open(
        path: PathBuf,
        rules: Rules,
        tell: Tell,
        read: impl Fn(&Path, u64) -> Result<(T, Counts), String> + Send + Sync + 'static,
    ) -> Result<Self, String> {
        Self::open_both(path, None, rules, tell, read)
    }

    /// Does the same of what is read from two files: it is read again when one of them is replaced.
    pub(crate) fn open_both(
        path: PathBuf,
        beside: Option<PathBuf>,
        rules: Rules,
        tell: Tell,
        read: impl Fn(&Path, u64) -> Result<(T, Counts), String> + Send + Sync + 'static,
    ) -> Result<Self, String> {
        let marks = marks(&path, beside.as_deref());
        let (first, counts) = read(&path, 1)?;
        let refused = rules.check(&path, &Counts::new(), &counts).err();
        let failure = refused.map(|what| {
            tell(format_args!("{what}; nothing answers until it does"));
            Failure { what, since: SystemTime::now(), state: Condition::Unread, counts: None }
        });
        Ok(Self {
            path,
            beside,
            rules,
            read: Box::new(read),
            current: ArcSwap::from_pointee(first),
            generation: AtomicU64::new(1),
            failures: AtomicU64::new(failure.is_some().into()),
            is_unread: AtomicBool::new(failure.is_some()),
            status: Mutex::new(Status { marks, counts, before: None, failure, newer: None }),
        })
    }

    fn marks(&self) -> Marks {
        marks(&self.path, self.beside.as_deref())
    }

    fn status(&self) -> MutexGuard<'_, Status> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what was read last. Whoever holds it keeps it, whatever happens to the file. Before
    /// that, whoever answers from it asks whether it [is unread](Self::is_unread).
    pub(crate) fn get(&self) -> Arc<T> {
        self.current.load_full()
    }

    /// Returns whether the file has held nothing so far. What is read is there before this says so.
    pub(crate) fn is_unread(&self) -> bool {
        self.is_unread.load(Ordering::Acquire)
    }

    /// Returns how much the value before this one held.
    pub(crate) fn before(&self) -> Option<Counts> {
        self.status().before.clone()
    }

    /// Returns the number of times the file was read.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Relaxed)
    }

    /// Returns the number of times the file could not be taken.
    pub(crate) fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    /// Returns why what is served is older than the file.
    pub(crate) fn failure(&self) -> Option<Failure> {
        let status = self.status();
        let overdue = status.newer.filter(|(begin, _)| begin.elapsed() >= self.rules.time);
        let Some((_, since)) = overdue else { return status.failure.clone() };
        let (path, time) = (self.path.display(), humantime::format_duration(self.rules.time));
        Some(Failure {
            what: format!("{path}: a newer file was not read within {time}"),
            since: status.failure.as_ref().map_or(since, |failure| failure.since),
            state: if self.is_unread() { Condition::Unread } else { Condition::Stale },
            counts: None,
        })
    }

    /// Reads the file again if it is another one than last time, or if `asked`. Returns what was
    /// there before, if it was replaced. Only one thread calls this.
    pub(crate) fn follow(&self, asked: bool, tell: Tell) -> Option<Arc<T>> {
        if self.status().marks == self.marks() && !asked {
            return None;
        }
        let (_, since) = *self.status().newer.get_or_insert_with(|| (Instant::now(), SystemTime::now()));
        let _turn = self.rules.turns.wait();
        let before = self.marks();
        self.status().marks.clone_from(&before);
        let generation = self.generation() + 1;
        let read = (self.read)(&self.path, generation);
        // Written meanwhile, so maybe in parts: the next look finds another mark.
        if read.is_ok() && self.marks() != before {
            return None;
        }
        let mut status = self.status();
        status.newer = None;
        let mut refused = None;
        let taken = read.and_then(|(next, counts)| {
            let checked = self.rules.check(&self.path, &status.counts, &counts);
            checked.inspect_err(|_| refused = Some((counts.clone(), status.counts.clone())))?;
            Ok((next, counts))
        });
        match taken {
            Ok((next, counts)) => {
                let old = self.current.swap(Arc::new(next));
                self.generation.store(generation, Ordering::Relaxed);
                self.is_unread.store(false, Ordering::Release);
                status.before = Some(std::mem::replace(&mut status.counts, counts));
                status.failure = None;
                tell(format_args!("{}: read again, generation {generation}", self.path.display()));
                Some(old)
            }
            Err(what) => {
                self.failures.fetch_add(1, Ordering::Relaxed);
                let is_unread = self.is_unread();
                if is_unread {
                    tell(format_args!("{what}; nothing answers until it does"));
                } else {
                    tell(format_args!("{what}; generation {} still answers", self.generation()));
                }
                let since = status.failure.as_ref().map_or(since, |failure| failure.since);
                let state = if is_unread { Condition::Unread } else { Condition::Stale };
                status.failure = Some(Failure { what, since, state, counts: refused });
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, channel};
    use std::thread;

    /// Follows a file that is read once `go` says so.
    fn followed(path: &Path, turns: &Arc<Turns>, go: Receiver<()>) -> Followed<String> {
        let rules = Rules { shrink: 50, time: Duration::from_millis(20), turns: Arc::clone(turns) };
        let go = Mutex::new(go);
        let read = move |path: &Path, _| {
            go.lock().unwrap().recv().unwrap();
            let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
            let counts = vec![("letters", text.len())];
            Ok((text, counts))
        };
        Followed::open(path.to_owned(), rules, |_| (), read).unwrap()
    }

    #[test]
    fn a_file_that_takes_long_is_told_and_holds_up_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let turns = Arc::new(Turns::new(Duration::from_millis(10)));
        let [slow, other] = ["slow", "other"].map(|name| {
            let path = folder.path().join(name);
            fs::write(&path, "one").unwrap();
            let (go, gone) = channel();
            go.send(()).unwrap();
            (followed(&path, &turns, gone), go)
        });
        let replace = |path: &Path| {
            fs::write(folder.path().join("beside"), "four").unwrap();
            fs::rename(folder.path().join("beside"), path).unwrap();
        };
        thread::scope(|scope| {
            replace(&slow.0.path);
            let reading = scope.spawn(|| slow.0.follow(false, |_| ()).is_some());
            while slow.0.failure().is_none() {
                thread::sleep(Duration::from_millis(1));
            }
            let failure = slow.0.failure().unwrap();
            assert!(failure.what.ends_with("a newer file was not read within 20ms"), "{}", failure.what);
            assert_eq!((Failure::state(Some(&failure)), &**slow.0.get()), ("stale", "one"));
            // The other is read meanwhile.
            replace(&other.0.path);
            other.1.send(()).unwrap();
            assert!(other.0.follow(false, |_| ()).is_some());
            assert_eq!((other.0.get().as_str(), other.0.failure().is_none()), ("four", true));
            // What comes late is taken.
            slow.1.send(()).unwrap();
            assert!(reading.join().unwrap());
            assert_eq!((slow.0.get().as_str(), slow.0.failure().is_none()), ("four", true));
        });
    }

    #[test]
    fn turns_are_taken_one_after_the_other() {
        let turns = Turns::new(Duration::from_millis(5));
        let first = turns.wait();
        assert!(first.0.is_some() && turns.wait().0.is_none());
        drop(first);
        assert!(turns.wait().0.is_some());
    }

    #[test]
    fn what_is_lost_is_counted_for_each_family() {
        let rules =
            |shrink| Rules { shrink, time: Duration::MAX, turns: Arc::new(Turns::new(Duration::ZERO)) };
        let counts = |ipv4, ipv6| vec![("IPv4 routes", ipv4), ("IPv6 routes", ipv6)];
        let check = |shrink, before, now| rules(shrink).check(Path::new("t"), &before, &now);
        assert_eq!(check(50, counts(10, 2), counts(5, 1)), Ok(()));
        let what = "t: holds 0 IPv6 routes where 2 are served: a reload may lose 50% (--shrink)";
        assert_eq!(check(50, counts(10, 2), counts(10, 0)), Err(what.into()));
        assert!(check(50, counts(10, 2), counts(4, 2)).is_err());
        assert!(check(0, counts(10, 2), counts(9, 2)).is_err());
        assert_eq!(check(0, counts(10, 2), counts(10, 3)), Ok(()));
        let what = "t: holds no IPv4 routes and no IPv6 routes; --shrink 100% takes such a file";
        assert_eq!(check(99, Counts::new(), counts(0, 0)), Err(what.into()));
        assert_eq!(check(100, counts(10, 2), counts(0, 0)), Ok(()));
    }
}
