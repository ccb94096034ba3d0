//! Files in memory that model a power cut, for the tests of what is written in place.
//!
//! Each file has two images: the *live* one, which the process sees, and the *durable* one as of its last sync. Between them
//! stand the changes since then, and a [`Fate`] says what a power cut makes of those: lost, kept, or each sector of each write
//! on its own. Every change (write, length, punch, sync, creation, rename) has a number; a test lets one fail, or cuts the
//! power at it.

#![expect(
    clippy::cast_possible_truncation,
    reason = "offsets in files that are in memory fit into a usize"
)]

use super::{Access, File, Space, Storage};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Error number of a full disk.
pub const ENOSPC: i32 = 28;
/// Error number of a device that fails.
pub const EIO: i32 = 5;

/// What a power cut does to that which was not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// All of it is gone.
    Lost,
    /// All of it reached the disk.
    Kept,
    /// Each sector of each change is kept or lost, and changes arrive in any order, by a generator of this seed.
    Drawn {
        /// Bytes of a sector: what is written whole or not at all.
        sector: u64,
        /// Of the generator.
        seed: u64,
    },
}

/// A change that no sync covers yet.
#[derive(Clone, Debug)]
enum Change {
    Write { offset: u64, bytes: Vec<u8> },
    Length(u64),
    Punch { offset: u64, length: u64 },
}

#[derive(Clone, Debug, Default)]
struct Node {
    live: Vec<u8>,
    durable: Vec<u8>,
    pending: Vec<Change>,
    /// Blocks that hold something: for the count of allocated bytes.
    blocks: BTreeSet<u64>,
}

#[derive(Debug, Default)]
struct State {
    nodes: Vec<Node>,
    names: BTreeMap<PathBuf, usize>,
    /// Names as of the last sync of a directory; all of them lie in one.
    durable_names: BTreeMap<PathBuf, usize>,
    locks: BTreeMap<usize, i64>,
    changes: u64,
    /// Change that fails, with its error.
    fault: Option<(u64, i32)>,
    /// Change at which the power goes: it may still reach the disk, and nothing works afterwards.
    cut: Option<u64>,
    /// Bytes that all files together may take.
    capacity: Option<u64>,
    punches: bool,
}

/// A file system in memory. Clones share the same state.
#[derive(Clone, Debug)]
pub struct Memory {
    state: Arc<Mutex<State>>,
}

const BLOCK: u64 = 4096;

impl Default for Memory {
    fn default() -> Self {
        let state = State { punches: true, ..State::default() };
        Self { state: Arc::new(Mutex::new(state)) }
    }
}

impl State {
    /// Counts a change. `Ok(true)` if the power goes while it is under way.
    fn count(&mut self) -> io::Result<bool> {
        let number = self.changes;
        self.changes += 1;
        if let Some((at, error)) = self.fault
            && at == number
        {
            return Err(io::Error::from_raw_os_error(error));
        }
        match self.cut {
            Some(cut) if number == cut => Ok(true),
            Some(cut) if number > cut => Err(io::Error::from_raw_os_error(EIO)),
            _ => Ok(false),
        }
    }

    fn used(&self) -> u64 {
        self.nodes.iter().map(|node| node.blocks.len() as u64 * BLOCK).sum()
    }
}

impl Memory {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of changes so far.
    pub fn changes(&self) -> u64 {
        self.lock().changes
    }

    /// Lets the change with this number fail.
    pub fn fail_at(&self, number: u64, error: i32) {
        self.lock().fault = Some((number, error));
    }

    /// No more injected faults.
    pub fn heal(&self) {
        let mut state = self.lock();
        (state.fault, state.cut) = (None, None);
    }

    /// Cuts the power at the change with this number.
    pub fn cut_at(&self, number: u64) {
        self.lock().cut = Some(number);
    }

    /// Limits the bytes of all files; a write that needs more fails with `ENOSPC`.
    ///
    /// ```
    /// use std::path::Path;
    /// use tambour_storage::place::{Storage, memory::{ENOSPC, Memory}};
    /// let storage = Memory::default();
    /// storage.limit(Some(4096));
    /// let file = storage.create(Path::new("pages"))?;
    /// file.write_at(&[&[7; 4096]], 0)?;
    /// assert_eq!(file.write_at(&[b"more"], 4096).unwrap_err().raw_os_error(), Some(ENOSPC));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn limit(&self, bytes: Option<u64>) {
        self.lock().capacity = bytes;
    }

    /// A file system without holes.
    pub fn without_punches(&self) {
        self.lock().punches = false;
    }

    /// Bytes of a file, as the process sees them.
    pub fn bytes(&self, path: &Path) -> Option<Vec<u8>> {
        let state = self.lock();
        let node = *state.names.get(path)?;
        Some(state.nodes[node].live.clone())
    }

    /// Replaces the bytes of a file, as a fault of the disk would.
    pub fn set_bytes(&self, path: &Path, bytes: Vec<u8>) {
        let mut state = self.lock();
        if let Some(&node) = state.names.get(path) {
            let node = &mut state.nodes[node];
            node.blocks.clear();
            note_blocks(&mut node.blocks, 0, bytes.len() as u64);
            node.durable.clone_from(&bytes);
            node.live = bytes;
            node.pending.clear();
        }
    }

    /// What is on the disk after the power went.
    ///
    /// ```
    /// use std::path::Path;
    /// use tambour_storage::place::{Storage, memory::{Fate, Memory}};
    /// let (storage, path) = (Memory::default(), Path::new("pages"));
    /// let file = storage.create(path)?;
    /// file.write_at(&[b"one"], 0)?;
    /// file.sync()?;
    /// storage.sync_directory_of(path)?;
    /// file.write_at(&[b"two"], 0)?;
    /// assert_eq!(storage.crash(Fate::Lost).bytes(path).as_deref(), Some(&b"one"[..]));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn crash(&self, fate: Fate) -> Self {
        let state = self.lock();
        let names = if fate == Fate::Lost { &state.durable_names } else { &state.names };
        let mut random = match fate {
            Fate::Drawn { seed, .. } => seed.wrapping_mul(2).wrapping_add(1),
            _ => 1,
        };
        let survive = |node: &Node| {
            let bytes = match fate {
                Fate::Lost => node.durable.clone(),
                Fate::Kept => node.live.clone(),
                Fate::Drawn { sector, .. } => drawn(node, sector, &mut random),
            };
            let mut blocks = BTreeSet::new();
            note_blocks(&mut blocks, 0, bytes.len() as u64);
            Node { live: bytes.clone(), durable: bytes, pending: Vec::new(), blocks }
        };
        let nodes = state.nodes.iter().map(survive).collect();
        let state = State {
            nodes,
            names: names.clone(),
            durable_names: names.clone(),
            capacity: state.capacity,
            punches: state.punches,
            ..State::default()
        };
        Self { state: Arc::new(Mutex::new(state)) }
    }
}

fn next(random: &mut u64) -> u64 {
    *random = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *random;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// The durable image with some sectors of some changes, in some order.
fn drawn(node: &Node, sector: u64, random: &mut u64) -> Vec<u8> {
    let mut bytes = node.durable.clone();
    let mut changes = node.pending.clone();
    for end in (2..=changes.len()).rev() {
        let other = next(random) as usize % end;
        changes.swap(end - 1, other);
    }
    // Some draws keep nearly all, some nearly nothing.
    let chance = [1, 4, 7, 8][next(random) as usize % 4];
    for change in changes {
        if let Change::Write { offset, bytes: source } = &change {
            let end = offset + source.len() as u64;
            let mut at = *offset;
            while at < end {
                let stop = (at / sector * sector + sector).min(end);
                if next(random) % 8 < chance {
                    let piece = &source[(at - offset) as usize..(stop - offset) as usize];
                    write(&mut bytes, at, piece);
                }
                at = stop;
            }
        } else if next(random) % 8 < chance {
            apply(&mut bytes, &change);
        }
    }
    bytes
}

fn write(target: &mut Vec<u8>, offset: u64, source: &[u8]) {
    let start = offset as usize;
    if target.len() < start + source.len() {
        target.resize(start + source.len(), 0);
    }
    target[start..start + source.len()].copy_from_slice(source);
}

fn apply(target: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Write { offset, bytes } => write(target, *offset, bytes),
        Change::Length(length) => target.resize(*length as usize, 0),
        Change::Punch { offset, length } => {
            let end = (offset + length).min(target.len() as u64) as usize;
            let start = (*offset as usize).min(end);
            target[start..end].fill(0);
        }
    }
}

fn note_blocks(blocks: &mut BTreeSet<u64>, offset: u64, length: u64) {
    for block in offset / BLOCK..(offset + length).div_ceil(BLOCK) {
        blocks.insert(block);
    }
}

#[derive(Debug)]
struct Handle {
    memory: Memory,
    node: usize,
}

impl Drop for Handle {
    fn drop(&mut self) {
        let mut state = self.memory.lock();
        if let Some(count) = state.locks.get_mut(&self.node) {
            *count = if *count < 0 { 0 } else { *count - 1 };
        }
    }
}

impl Handle {
    fn change(&self, change: Change) -> io::Result<()> {
        let mut state = self.memory.lock();
        let cut = state.count()?;
        let mut blocks = state.nodes[self.node].blocks.clone();
        match &change {
            Change::Write { offset, bytes } => {
                note_blocks(&mut blocks, *offset, bytes.len() as u64);
            }
            Change::Length(length) => blocks.retain(|block| block * BLOCK < *length),
            Change::Punch { offset, length } => {
                let holes = offset.div_ceil(BLOCK)..(offset + length) / BLOCK;
                blocks.retain(|block| !holes.contains(block));
            }
        }
        let more = blocks.len().saturating_sub(state.nodes[self.node].blocks.len()) as u64 * BLOCK;
        if more > 0 && state.capacity.is_some_and(|capacity| state.used() + more > capacity) {
            return Err(io::Error::from_raw_os_error(ENOSPC));
        }
        let node = &mut state.nodes[self.node];
        node.blocks = blocks;
        apply(&mut node.live, &change);
        node.pending.push(change);
        if cut { Err(io::Error::from_raw_os_error(EIO)) } else { Ok(()) }
    }
}

impl File for Handle {
    fn length(&self) -> io::Result<u64> {
        Ok(self.memory.lock().nodes[self.node].live.len() as u64)
    }

    fn read_at(&self, target: &mut [u8], offset: u64) -> io::Result<()> {
        let state = self.memory.lock();
        let live = &state.nodes[self.node].live;
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let source = live.get(start..).and_then(|rest| rest.get(..target.len()));
        target.copy_from_slice(source.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_at(&self, pieces: &[&[u8]], offset: u64) -> io::Result<()> {
        self.change(Change::Write { offset, bytes: pieces.concat() })
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        self.change(Change::Length(length))
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.memory.lock();
        let cut = state.count()?;
        if cut {
            return Err(io::Error::from_raw_os_error(EIO));
        }
        let node = &mut state.nodes[self.node];
        node.durable.clone_from(&node.live);
        node.pending.clear();
        Ok(())
    }

    fn punch(&self, offset: u64, length: u64) -> io::Result<()> {
        if !self.memory.lock().punches {
            return Err(io::ErrorKind::Unsupported.into());
        }
        self.change(Change::Punch { offset, length })
    }

    fn reserve(&self, offset: u64, length: u64) -> io::Result<()> {
        let mut state = self.memory.lock();
        if state.count()? {
            return Err(io::Error::from_raw_os_error(EIO));
        }
        let mut blocks = state.nodes[self.node].blocks.clone();
        note_blocks(&mut blocks, offset, length);
        let more = (blocks.len() - state.nodes[self.node].blocks.len()) as u64 * BLOCK;
        if state.capacity.is_some_and(|capacity| state.used() + more > capacity) {
            return Err(io::Error::from_raw_os_error(ENOSPC));
        }
        state.nodes[self.node].blocks = blocks;
        Ok(())
    }

    fn space(&self) -> io::Result<Space> {
        let state = self.memory.lock();
        let node = &state.nodes[self.node];
        let allocated = node.blocks.len() as u64 * BLOCK;
        Ok(Space {
            length: node.live.len() as u64,
            allocated,
            block_bytes: BLOCK,
            free_bytes: None,
        })
    }
}

impl Storage for Memory {
    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn File>> {
        let mut state = self.lock();
        let node = *state.names.get(path).ok_or(io::ErrorKind::NotFound)?;
        let count = state.locks.entry(node).or_insert(0);
        match access {
            Access::Write if *count != 0 => return Err(io::ErrorKind::WouldBlock.into()),
            Access::Read if *count < 0 => return Err(io::ErrorKind::WouldBlock.into()),
            Access::Write => *count = -1,
            Access::Read => *count += 1,
        }
        drop(state);
        Ok(Arc::new(Handle { memory: self.clone(), node }))
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        let mut state = self.lock();
        if state.count()? {
            return Err(io::Error::from_raw_os_error(EIO));
        }
        if state.names.contains_key(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let node = state.nodes.len();
        state.nodes.push(Node::default());
        state.names.insert(path.to_owned(), node);
        state.locks.insert(node, -1);
        drop(state);
        Ok(Arc::new(Handle { memory: self.clone(), node }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.lock();
        if state.count()? {
            return Err(io::Error::from_raw_os_error(EIO));
        }
        let node = state.names.remove(from).ok_or(io::ErrorKind::NotFound)?;
        state.names.insert(to.to_owned(), node);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.lock();
        if state.count()? {
            return Err(io::Error::from_raw_os_error(EIO));
        }
        state.names.remove(path).map(drop).ok_or(io::ErrorKind::NotFound.into())
    }

    fn beside(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        let state = self.lock();
        let inside = |name: &&PathBuf| name.parent() == path.parent();
        Ok(state.names.keys().filter(inside).cloned().collect())
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        Ok(self.lock().names.contains_key(path))
    }

    fn sync_directory_of(&self, _path: &Path) -> io::Result<()> {
        let mut state = self.lock();
        if state.count()? {
            return Err(io::Error::from_raw_os_error(EIO));
        }
        state.durable_names = state.names.clone();
        Ok(())
    }
}
