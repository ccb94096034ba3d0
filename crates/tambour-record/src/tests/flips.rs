//! Every bit of a store of a megabyte, one at a time: `cargo xtask flips`, the slow tier.
//!
//! Reading all of the store for each of nine million flips would take days. So each flip is looked at where it can do harm:
//! the whole view is opened, the group that holds the bit and those beside it are read every way, and what `verify` does beside
//! reading is done. Flips in headers, indexes and dictionaries are followed by reads all over the segment. One flip in ten
//! thousand is followed by everything: all reads, `verify` and `salvage`.
//!
//! What opening yields depends on the bytes that it reads, and on no others. Those are noted once per file; a flip elsewhere
//! is looked at in a view that was opened before it. Some of them are opened anew all the same.

use super::super::layout::{MARKER, NEXT_DICTIONARY};
use super::super::verify::{Verified, check_dictionary, check_files, check_marker};
use super::super::view::{Segment, View};
use super::super::{RecordStore, Settings, ViewOptions};
use super::damage::{check, files};
use super::{PATH, dynamic, options, record, records};
use std::collections::BTreeMap;
use std::io;
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tambour_storage::memory::{Fate, Memory};
use tambour_storage::{Barrier, Entry, Lock, ReadAt, Storage, WriteFile};

/// Of this many flips, one is followed by everything.
const WHOLE_EVERY: usize = 9973;
/// Of this many flips in groups, one is followed by opening the view.
const OPEN_EVERY: usize = 61;
/// Reads all over a segment.
const SPREAD: u64 = 48;

/// Files that can only be read, one of them with a bit that is flipped.
#[derive(Debug)]
struct Flipped {
    files: Arc<BTreeMap<PathBuf, Arc<Vec<u8>>>>,
    entries: Vec<Entry>,
    path: PathBuf,
    flip: Arc<Flip>,
}

/// Which bit is flipped, and what is read of its file while that is noted.
#[derive(Debug)]
struct Flip {
    bit: AtomicUsize,
    noting: AtomicBool,
    reads: Mutex<Vec<Range<usize>>>,
}

#[derive(Debug)]
struct File {
    bytes: Arc<Vec<u8>>,
    /// Of the file with the bit.
    flip: Option<Arc<Flip>>,
}

impl ReadAt for File {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_exact_at(&self, target: &mut [u8], offset: u64) -> io::Result<()> {
        let start = usize::try_from(offset).unwrap();
        let source = self.bytes.get(start..).and_then(|rest| rest.get(..target.len()));
        target.copy_from_slice(source.ok_or(io::ErrorKind::UnexpectedEof)?);
        let Some(flip) = &self.flip else { return Ok(()) };
        if flip.noting.load(Ordering::Relaxed) {
            flip.reads.lock().unwrap().push(start..start + target.len());
        }
        let bit = flip.bit.load(Ordering::Relaxed);
        if let Some(byte) = (bit / 8).checked_sub(start).and_then(|at| target.get_mut(at)) {
            *byte ^= 1 << (bit % 8);
        }
        Ok(())
    }
}

fn read_only<T>() -> io::Result<T> {
    Err(io::ErrorKind::ReadOnlyFilesystem.into())
}

impl Storage for Flipped {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadAt>> {
        let bytes = Arc::clone(self.files.get(path).ok_or(io::ErrorKind::NotFound)?);
        let flip = (path == self.path).then(|| Arc::clone(&self.flip));
        Ok(Arc::new(File { bytes, flip }))
    }
    fn list(&self, path: &Path) -> io::Result<Vec<Entry>> {
        if path == Path::new(PATH) {
            let name = "default".to_owned();
            return Ok(vec![Entry { name, is_directory: true, is_file: false, length: 0 }]);
        }
        Ok(self.entries.clone())
    }
    fn exists(&self, path: &Path) -> io::Result<bool> {
        Ok(path == Path::new(PATH).join("default") || self.files.contains_key(path))
    }
    fn create(&self, _: &Path) -> io::Result<Box<dyn WriteFile>> {
        read_only()
    }
    fn create_directory(&self, _: &Path) -> io::Result<()> {
        read_only()
    }
    fn rename(&self, _: &Path, _: &Path) -> io::Result<()> {
        read_only()
    }
    fn sync_file(&self, _: &Path) -> io::Result<()> {
        read_only()
    }
    fn sync_directory(&self, _: &Path) -> io::Result<()> {
        read_only()
    }
    fn remove_file(&self, _: &Path) -> io::Result<()> {
        read_only()
    }
    fn remove_directory(&self, _: &Path) -> io::Result<()> {
        read_only()
    }
    fn lock(&self, _: &Path, _: &str) -> io::Result<Box<dyn Lock>> {
        read_only()
    }
    fn barrier(&self, _: &Path) -> io::Result<Box<dyn Barrier>> {
        read_only()
    }
}

/// A store, and all that is needed to flip its bits.
struct Subject {
    memory: Memory,
    count: u64,
    files: Arc<BTreeMap<PathBuf, Arc<Vec<u8>>>>,
    entries: Vec<Entry>,
}

impl Subject {
    fn new(memory: Memory, count: u64) -> Self {
        let storage = dynamic(&memory);
        let read = |path: PathBuf| {
            let bytes = storage.read(&path, u64::MAX).unwrap();
            (path, Arc::new(bytes))
        };
        let files = files(&*storage).into_iter().map(read).collect();
        let entries = storage.list(&Path::new(PATH).join("default")).unwrap();
        Self { memory, count, files: Arc::new(files), entries }
    }

    fn flipped(&self, path: &Path) -> Arc<Flipped> {
        let (files, entries) = (Arc::clone(&self.files), self.entries.clone());
        let flip = Flip {
            bit: AtomicUsize::new(usize::MAX),
            noting: AtomicBool::new(false),
            reads: Mutex::default(),
        };
        Arc::new(Flipped { files, entries, path: path.to_owned(), flip: Arc::new(flip) })
    }

    /// Flips every `step`th bit of a file, from the `first` on.
    fn flip(&self, path: &Path, first: usize, step: usize, done: &AtomicU64) {
        let flipped = self.flipped(path);
        let storage: Arc<dyn Storage> = Arc::clone(&flipped) as _;
        let places = Self::places(&storage, path);
        let opened = places.is_some().then(|| Opened::new(&flipped));
        for bit in (first..self.files[path].len() * 8).step_by(step) {
            flipped.flip.bit.store(bit, Ordering::Relaxed);
            let what = || format!("{}, bit {bit}", path.display());
            if bit % WHOLE_EVERY == 0 {
                let other = self.memory.crash(Fate::Kept);
                let mut damaged = self.files[path].to_vec();
                damaged[bit / 8] ^= 1 << (bit % 8);
                other.put(path, &damaged);
                check(&other, self.count, 16, &what());
            }
            let near = places.as_ref().and_then(|places| places.near(bit / 8));
            match (near, &opened) {
                (Some(near), Some(opened))
                    if bit % OPEN_EVERY != 0 && !opened.depends_on(bit / 8) =>
                {
                    near.look(&opened.view, &what);
                }
                (near, _) => self.look(&storage, path, near, &what),
            }
            done.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Where the groups of a sealed segment are.
    fn places(storage: &Arc<dyn Storage>, path: &Path) -> Option<Places> {
        let store = RecordStore::open(storage, Path::new(PATH)).ok()?;
        let view = store.view("default", &ViewOptions { memory_bytes: 0 }).unwrap();
        view.slots.iter().find_map(|slot| match &slot.segment {
            Segment::Sealed(sealed) if sealed.path == path => {
                let size = sealed.header.group;
                let groups = (slot.ids.end - slot.ids.start).div_ceil(size as u64);
                let end = |group| 96 + sealed.group(group).unwrap().end;
                let ends = (0..usize::try_from(groups).unwrap()).map(end).collect();
                Some(Places { ids: slot.ids.clone(), size, ends })
            }
            _ => None,
        })
    }

    /// What one flip does where it can do harm.
    fn look(
        &self,
        storage: &Arc<dyn Storage>,
        path: &Path,
        near: Option<Near>,
        what: &dyn Fn() -> String,
    ) {
        let store = RecordStore::open(storage, Path::new(PATH));
        if path.ends_with(MARKER) {
            let mut verified = Verified::default();
            let refused = store.map(|store| check_marker(&store, &mut verified)).is_err();
            assert!(refused || !verified.damage.is_empty(), "{}: not found", what());
            return;
        }
        let store = store.unwrap();
        if path.ends_with(NEXT_DICTIONARY) {
            assert!(check_dictionary(&store, path).is_err(), "{}: not found", what());
            return;
        }
        let view = Arc::new(store.view("default", &ViewOptions { memory_bytes: 0 }).unwrap());
        let mut damage = Vec::new();
        check_files(&view, &mut damage);
        if let Some(near) = near {
            assert!(damage.is_empty(), "{}: a group is not an index", what());
            near.look(&view, what);
            return;
        }
        let ids = view.ids();
        // An open segment is short and read as a whole; of a sealed one everything must still be there.
        if path.extension().is_some_and(|extension| extension == "open") {
            let bad = read(&view, 0..self.count.max(ids.end), what);
            assert!(!damage.is_empty() || !bad.is_empty(), "{}: not found", what());
            assert!(bad.end - bad.start <= 16, "{}: {bad:?} lost", what());
        } else {
            assert!(!damage.is_empty(), "{}: not found", what());
            let step = (self.count / SPREAD).max(1);
            for first in (0..self.count).step_by(usize::try_from(step).unwrap()) {
                let bad = read(&view, first..(first + 2).min(self.count), what);
                assert!(bad.is_empty(), "{}: {bad:?} lost", what());
            }
        }
    }
}

/// A view that was opened without a flip, and what of the file it was made from.
struct Opened {
    view: Arc<View>,
    reads: Vec<Range<usize>>,
}

impl Opened {
    fn new(flipped: &Arc<Flipped>) -> Self {
        flipped.flip.noting.store(true, Ordering::Relaxed);
        let storage: Arc<dyn Storage> = Arc::clone(flipped) as _;
        let store = RecordStore::open(&storage, Path::new(PATH)).unwrap();
        let view = Arc::new(store.view("default", &ViewOptions { memory_bytes: 0 }).unwrap());
        let mut damage = Vec::new();
        check_files(&view, &mut damage);
        assert!(damage.is_empty(), "{damage:?}");
        flipped.flip.noting.store(false, Ordering::Relaxed);
        let reads = std::mem::take(&mut *flipped.flip.reads.lock().unwrap());
        assert!(!reads.is_empty());
        Self { view, reads }
    }

    fn depends_on(&self, byte: usize) -> bool {
        self.reads.iter().any(|read| read.contains(&byte))
    }
}

struct Places {
    ids: Range<u64>,
    size: usize,
    ends: Vec<usize>,
}

/// What a damaged group concerns.
struct Near {
    ids: Range<u64>,
    damaged: Range<u64>,
}

impl Near {
    /// The damaged group cannot be read, those beside it can.
    fn look(self, view: &Arc<View>, what: &dyn Fn() -> String) {
        let bad = read(view, self.ids, what);
        assert_eq!(bad, self.damaged, "{}", what());
    }
}

impl Places {
    /// The group that a byte belongs to, and those beside it.
    fn near(&self, at: usize) -> Option<Near> {
        let group = self.ends.partition_point(|end| *end <= at);
        if at < 96 || group == self.ends.len() {
            return None;
        }
        let ids = |groups: Range<usize>| {
            let id = |group: usize| (self.ids.start + (group * self.size) as u64).min(self.ids.end);
            id(groups.start)..id(groups.end)
        };
        Some(Near { ids: ids(group.saturating_sub(1)..group + 2), damaged: ids(group..group + 1) })
    }
}

/// Reads a range every way: right records only. From the first to the last that cannot be read.
fn read(view: &Arc<View>, ids: Range<u64>, what: &dyn Fn() -> String) -> Range<u64> {
    let mut reader = view.reader();
    let mut bad: Option<Range<u64>> = None;
    for id in ids.clone() {
        match reader.get(id) {
            Ok(got) => assert_eq!(got, record(id), "{}: record {id}", what()),
            Err(_) => bad = Some(bad.map_or(id, |bad| bad.start)..id + 1),
        }
    }
    let (mut seen, mut errors) = (0, 0);
    let stopped = reader.scan_each::<()>(ids.clone(), |scanned| {
        match scanned {
            Ok(scanned) => {
                assert_eq!(scanned.record, record(scanned.id), "{}: record {}", what(), scanned.id);
                assert_eq!(scanned.time, Some(scanned.id as i64 * 10), "{}", what());
                seen += 1;
            }
            Err(_) => errors += 1,
        }
        ControlFlow::Continue(())
    });
    assert!(stopped.is_none());
    let lost = bad.as_ref().map_or(0, |bad| bad.end - bad.start);
    assert_eq!((seen + lost, errors > 0), (ids.end - ids.start, lost > 0), "{}", what());
    bad.unwrap_or(0..0)
}

/// One sealed segment of more than a megabyte; and a small store with all sorts of files.
fn subjects() -> [Subject; 2] {
    let memory = super::disk();
    let storage = dynamic(&memory);
    let store = RecordStore::create(&storage, Path::new(PATH), &Settings::default()).unwrap();
    let writer = store.writer("default").unwrap();
    let count = 27_000;
    writer.append_batch(&records(0..count)).unwrap();
    writer.seal(&options(1), true).unwrap();
    drop(writer);
    let small = super::sealed_and_open(250, 120, 4).crash(Fate::Kept);
    [Subject::new(memory.crash(Fate::Kept), count), Subject::new(small, 370)]
}

#[test]
#[ignore = "slow: cargo xtask flips runs it"]
fn every_bit_of_a_megabyte() {
    let number = |name: &str| -> Option<usize> { std::env::var(name).ok()?.parse().ok() };
    let step = number("TAMBOUR_FLIP_STEP").unwrap_or(1).max(1);
    // The runs from 0 to the step less one are all flips together.
    let from = number("TAMBOUR_FLIP_FIRST").unwrap_or(0);
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let done = AtomicU64::new(0);
    for subject in &subjects() {
        let bytes: usize = subject.files.values().map(|file| file.len()).sum();
        eprintln!("{bytes} bytes in {} files", subject.files.len());
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let done = &done;
                scope.spawn(move || {
                    for path in subject.files.keys() {
                        subject.flip(path, from + thread * step, threads * step, done);
                    }
                });
            }
        });
    }
    eprintln!("{} flips, every one found", done.into_inner());
}
