//! One writer at a time: the lock that every writer of a store holds. Readers take none.

use crate::StorageError;
use crate::sign::{self, WAIT};
use crate::{Lock, Storage};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The file that is locked.
pub const LOCK: &str = ".tambour.lock";

/// Most bytes of the note in the lock file that are looked at.
const NOTE_MAX: u64 = 512;

/// How long this process waits for a lock, in milliseconds.
static PATIENCE: AtomicU64 = AtomicU64::new(0);

/// How long a lock is looked at again, at first and at most.
const PAUSES: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(250)];

/// The word of the note of a holder that gives way when another writer waits.
const YIELDS: &str = "yields";
/// How long a writer without patience waits for a holder that gives way: for the end of what it writes at that moment.
const YIELDED: Duration = Duration::from_mins(1);
/// How long anybody waits: a holder that has just begun may not have written yet that it gives way.
const GRACE: Duration = Duration::from_millis(50);

/// Lets [`lock`] wait this long for another writer, in all of this process; at first it does not wait.
pub fn set_patience(patience: Duration) {
    let milliseconds = u64::try_from(patience.as_millis()).unwrap_or(u64::MAX);
    PATIENCE.store(milliseconds, Ordering::Relaxed);
}

/// Takes the lock of a directory, or says who has it: almost at once, or when the patience is over that [`set_patience`] has set. A
/// holder that gives way ([`try_lock_yielding`]) is waited for in any case, up to a minute. `None` if the directory is not there (any
/// more). While it waits, a [sign](crate::sign::WAIT) says what for, if `intent` is not empty.
#[expect(clippy::disallowed_methods, reason = "a deadline for another process")]
pub fn lock(
    storage: &dyn Storage,
    directory: &Path,
    intent: &str,
) -> Result<Option<Box<dyn Lock>>, StorageError> {
    let patience = Duration::from_millis(PATIENCE.load(Ordering::Relaxed));
    let start = Instant::now();
    let [mut pause, pause_max] = PAUSES;
    let mut sign = None;
    loop {
        let error = match try_lock(storage, directory) {
            Err(error @ StorageError::Locked { .. }) => error,
            answer => return answer,
        };
        let least = if yields(storage, directory) { YIELDED } else { GRACE };
        let patience = patience.max(least);
        let left = patience.saturating_sub(start.elapsed());
        // Of several who wait, the first has it.
        if sign.is_none() && patience > GRACE && !intent.is_empty() {
            sign = storage.put_up(&directory.join(WAIT)).ok().flatten();
            if let Some(sign) = &sign {
                sign.say(intent);
            }
        }
        if left.is_zero() {
            return Err(error);
        }
        std::thread::sleep(pause.min(left));
        pause = (2 * pause).min(pause_max);
    }
}

/// Takes the lock of a directory, or says at once who has it. `None` if the directory is not there (any more).
///
/// ```
/// use std::path::Path;
/// use tambour_storage::{Storage, lock::try_lock, memory::Memory};
/// let storage = Memory::new();
/// storage.create_directory(Path::new("hits"))?;
/// let held = try_lock(&storage, Path::new("hits"))?;
/// assert!(try_lock(&storage, Path::new("hits")).is_err(), "taken");
/// drop(held);
/// assert!(try_lock(&storage, Path::new("hits"))?.is_some());
/// assert!(try_lock(&storage, Path::new("nowhere"))?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn try_lock(
    storage: &dyn Storage,
    directory: &Path,
) -> Result<Option<Box<dyn Lock>>, StorageError> {
    try_lock_as(storage, directory, &note())
}

/// As [`try_lock`], for work that nobody waits for: its holder looks again and again whether another writer waits
/// ([`is_awaited`]), and gives the lock back then.
pub fn try_lock_yielding(
    storage: &dyn Storage,
    directory: &Path,
) -> Result<Option<Box<dyn Lock>>, StorageError> {
    try_lock_as(storage, directory, &format!("{} {YIELDS}", note()))
}

/// Whether a writer waits for the lock of a directory.
pub fn is_awaited(storage: &dyn Storage, directory: &Path) -> bool {
    sign::read(storage, directory, WAIT).is_some()
}

/// Whether the holder gives way, as its note says.
fn yields(storage: &dyn Storage, directory: &Path) -> bool {
    let note = storage.read(&directory.join(LOCK), NOTE_MAX).unwrap_or_default();
    note.split(|byte| *byte == b' ').nth(3) == Some(YIELDS.as_bytes())
}

fn try_lock_as(
    storage: &dyn Storage,
    directory: &Path,
    note: &str,
) -> Result<Option<Box<dyn Lock>>, StorageError> {
    let path = directory.join(LOCK);
    match storage.lock(&path, note) {
        Ok(lock) => Ok(Some(lock)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == ErrorKind::WouldBlock => {
            let holder = holder(storage, &path);
            Err(StorageError::Locked { path: directory.to_owned(), holder })
        }
        Err(error) => Err(StorageError::file("lock", &path)(error)),
    }
}

/// What a holder leaves in the file: the number of its process, the second at which it began, and the name of its machine.
fn note() -> String {
    format!("{} {} {}", std::process::id(), now(), host())
}

fn now() -> u64 {
    milliseconds() / 1000
}

/// Milliseconds since 1970.
pub(crate) fn milliseconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The name of this machine; empty where it is not to be had.
fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.split_whitespace().next().unwrap_or_default().to_owned()
}

/// Who holds the lock, as far as the note says. It is for people only, and may be empty when the holder has just begun.
fn holder(storage: &dyn Storage, path: &Path) -> String {
    let note = storage.read(path, NOTE_MAX).ok().and_then(|note| String::from_utf8(note).ok());
    note.as_deref().and_then(described).unwrap_or_else(|| "another process".to_owned())
}

fn described(note: &str) -> Option<String> {
    let mut words = note.split(' ');
    let process: u32 = words.next()?.parse().ok()?;
    let mut told = format!("process {process}");
    let Some(start) = words.next() else { return Some(told) };
    let seconds = now().saturating_sub(start.parse().ok()?);
    let is_name = |it: &&str| it.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b));
    if let Some(host) = words.next().filter(|it| !it.is_empty()).filter(is_name) {
        told.push_str(&format!(" on {host}"));
    }
    told.push_str(&format!(", for {seconds} s,"));
    Some(told)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Memory;

    #[test]
    fn notes_say_who_it_is_and_what_is_none_says_nothing() {
        let told = described(&note()).unwrap();
        assert!(told.starts_with(&format!("process {}", std::process::id())), "{told}");
        assert!(told.ends_with(", for 0 s,") || told.ends_with(", for 1 s,"), "{told}");
        assert_eq!(described("17").as_deref(), Some("process 17"));
        assert_eq!(described("17 99999999999 a b").as_deref(), Some("process 17 on a, for 0 s,"));
        assert_eq!(described("17 99999999999 \u{1b}x").as_deref(), Some("process 17, for 0 s,"));
        for bad in ["", "x", "-1", "17 x"] {
            assert_eq!(described(bad), None, "{bad}");
        }
    }

    /// The only test that sets the patience of this process.
    #[test]
    fn whoever_has_patience_gets_the_lock_after_another() {
        let storage = Memory::new();
        let held = try_lock(&storage, Path::new("")).unwrap();
        assert!(held.is_some());
        set_patience(Duration::from_millis(30));
        assert!(matches!(lock(&storage, Path::new(""), ""), Err(StorageError::Locked { .. })));
        set_patience(Duration::from_hours(1));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| lock(&storage, Path::new(""), "").map(|it| it.is_some()));
            std::thread::sleep(Duration::from_millis(20));
            assert!(!waiting.is_finished());
            drop(held);
            assert!(waiting.join().unwrap().unwrap());
        });
        set_patience(Duration::ZERO);
    }

    #[test]
    fn whoever_gives_way_is_waited_for_and_sees_it() {
        let directory = tempfile::tempdir().unwrap();
        let (storage, path) = (crate::disk(), directory.path());
        let held = try_lock_yielding(storage.as_ref(), path).unwrap().unwrap();
        assert!(!is_awaited(storage.as_ref(), path));
        std::thread::scope(|scope| {
            // Without patience.
            let waiting =
                scope.spawn(|| lock(storage.as_ref(), path, "INSERT").map(|it| it.is_some()));
            // It is there before its words are.
            while sign::read(storage.as_ref(), path, WAIT).is_none_or(|it| it.text.is_empty()) {
                std::thread::yield_now();
            }
            assert_eq!(sign::read(storage.as_ref(), path, WAIT).unwrap().text, "INSERT");
            drop(held);
            assert!(waiting.join().unwrap().unwrap());
        });
        assert!(!is_awaited(storage.as_ref(), path));
        let held = try_lock(storage.as_ref(), path).unwrap();
        assert!(held.is_some() && !yields(storage.as_ref(), path), "others do not give way");
    }
}
