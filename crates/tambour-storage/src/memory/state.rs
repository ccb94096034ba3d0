//! The two images of the file system, and what is between them.

use super::{Calls, Fate};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

pub(super) type NodeId = usize;

#[derive(Clone, Debug)]
pub(super) enum Node {
    File { live: Arc<Vec<u8>>, durable: Arc<Vec<u8>> },
    Directory { live: BTreeMap<String, NodeId>, durable: BTreeMap<String, NodeId> },
}

/// Entries that change together: directory, name, what the name is from then on.
pub(super) type Change = Vec<(NodeId, String, Option<NodeId>)>;

#[derive(Debug)]
pub(super) struct Injection {
    pub(super) calls: Calls,
    pub(super) at: u64,
    pub(super) error: i32,
    pub(super) sticky: bool,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) nodes: Vec<Node>,
    /// Changes of directories that no sync has made durable yet, oldest first.
    pub(super) pending: Vec<Change>,
    pub(super) writes: u64,
    pub(super) reads: u64,
    pub(super) injections: Vec<Injection>,
    /// Files whose lock is taken; a crash gives all of them back.
    pub(super) locks: BTreeSet<PathBuf>,
}

pub(super) const ROOT: NodeId = 0;

impl Default for State {
    fn default() -> Self {
        let root = Node::Directory { live: BTreeMap::new(), durable: BTreeMap::new() };
        Self {
            nodes: vec![root],
            pending: Vec::new(),
            writes: 0,
            reads: 0,
            injections: Vec::new(),
            locks: BTreeSet::new(),
        }
    }
}

pub(super) fn not_found(path: &Path) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("{}: no such file", path.display()))
}

pub(super) fn exists_already(path: &Path) -> io::Error {
    io::Error::new(io::ErrorKind::AlreadyExists, format!("{}: exists already", path.display()))
}

impl State {
    /// Counts a call; an error if one was injected for it.
    pub(super) fn count(&mut self, calls: Calls) -> io::Result<()> {
        let counter = match calls {
            Calls::Writes => &mut self.writes,
            Calls::Reads => &mut self.reads,
        };
        let number = *counter;
        *counter += 1;
        let hit = self.injections.iter().find(|injection| {
            injection.calls == calls
                && (injection.at == number || injection.sticky && number > injection.at)
        });
        hit.map_or(Ok(()), |injection| Err(io::Error::from_raw_os_error(injection.error)))
    }

    /// Adds or replaces an entry in both images.
    pub(super) fn add(&mut self, directory: NodeId, name: &str, node: Node) -> NodeId {
        let id = self.nodes.len();
        self.nodes.push(node);
        let change = vec![(directory, name.to_owned(), Some(id))];
        self.settle(&change);
        if let Some(Node::Directory { live, .. }) = self.nodes.get_mut(directory) {
            live.insert(name.to_owned(), id);
        }
        id
    }

    pub(super) fn children(&self, node: NodeId) -> Option<&BTreeMap<String, NodeId>> {
        match self.nodes.get(node) {
            Some(Node::Directory { live, .. }) => Some(live),
            _ => None,
        }
    }

    pub(super) fn find(&self, path: &Path) -> Option<NodeId> {
        let mut node = ROOT;
        for component in path.components() {
            if let Component::Normal(name) = component {
                node = *self.children(node)?.get(name.to_str()?)?;
            }
        }
        Some(node)
    }

    /// The directory that holds `path`, and the name in it.
    pub(super) fn parent(&self, path: &Path) -> io::Result<(NodeId, String)> {
        let name = path.file_name().and_then(OsStr::to_str).ok_or_else(|| not_found(path))?;
        let parent = path.parent().unwrap_or(Path::new(""));
        let node = self.find(parent).ok_or_else(|| not_found(parent))?;
        if self.children(node).is_none() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok((node, name.to_owned()))
    }

    /// Applies a change to the live image and remembers it for the durable one.
    pub(super) fn change(&mut self, change: Change) {
        for (directory, name, node) in &change {
            if let Some(Node::Directory { live, .. }) = self.nodes.get_mut(*directory) {
                set(live, name, *node);
            }
        }
        self.pending.push(change);
    }

    pub(super) fn settle(&mut self, change: &Change) {
        for (directory, name, node) in change {
            if let Some(Node::Directory { durable, .. }) = self.nodes.get_mut(*directory) {
                set(durable, name, *node);
            }
        }
    }

    pub(super) fn remove_tree(&mut self, directory: NodeId) -> io::Result<()> {
        let children = self.children(directory).cloned().unwrap_or_default();
        for (name, node) in children {
            if self.children(node).is_some() {
                self.remove_tree(node)?;
            }
            self.count(Calls::Writes)?;
            self.change(vec![(directory, name, None)]);
        }
        Ok(())
    }
}

pub(super) fn set(entries: &mut BTreeMap<String, NodeId>, name: &str, node: Option<NodeId>) {
    match node {
        Some(node) => entries.insert(name.to_owned(), node),
        None => entries.remove(name),
    };
}

/// `SplitMix64`: enough to draw fates from.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % sides.max(1)
    }
}

/// Contents of a file after a power cut.
pub(super) fn survive(live: &[u8], durable: &[u8], fate: Fate, dice: &mut Dice) -> Vec<u8> {
    match fate {
        Fate::Lost => durable.to_vec(),
        Fate::Kept => live.to_vec(),
        Fate::Drawn(_) => {
            let unsynced = (live.len().saturating_sub(durable.len()) as u64).saturating_add(1);
            let kept = durable.len() + usize::try_from(dice.roll(unsynced)).unwrap_or(0);
            let mut bytes = live.get(..kept).unwrap_or(live).to_vec();
            if dice.roll(4) == 0 {
                bytes.resize(live.len(), 0);
            }
            bytes
        }
        Fate::Reordered { page_bytes, .. } => reorder(live, durable, page_bytes, dice),
    }
}

/// Pages that were written in any order: what was durable, and after it some of the pages, with zeros for the others.
fn reorder(live: &[u8], durable: &[u8], page_bytes: usize, dice: &mut Dice) -> Vec<u8> {
    let mut bytes = durable.to_vec();
    // From nearly none to nearly all.
    let odds = dice.roll(8);
    let first = durable.len() / page_bytes.max(1);
    for page in first..live.len().div_ceil(page_bytes.max(1)) {
        let start = (page * page_bytes).max(durable.len());
        let end = live.len().min((page + 1) * page_bytes);
        if dice.roll(8) <= odds {
            bytes.resize(start, 0);
            bytes.extend_from_slice(live.get(start..end).unwrap_or_default());
        }
    }
    if dice.roll(2) == 0 {
        bytes.resize(live.len().max(bytes.len()), 0);
    }
    bytes
}
