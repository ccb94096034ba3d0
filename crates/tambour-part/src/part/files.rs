//! The files of a part: what is there, what `checksums.txt` says of them, and reading them with both compared.

use super::mend::{self, Mend, Mended};
use crate::manifest::CHECKSUMS_BYTES_MAX;
use crate::manifest::checksums::{CHECKSUMS_FILE, Checksums, FileSum};
use crate::manifest::columns::COLUMNS_FILE;
use crate::manifest::guard::{GUARD_BYTES_MAX, GUARD_FILE, Guard, files_hash};
use crate::manifest::substreams::SUBSTREAMS_FILE;
use crate::name::{hashed, hex, is_plain};
use crate::stream::blocks;
use crate::{PartError, Place};
use std::collections::{BTreeMap, HashMap};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tambour_kernel::hash::{FileHasher, Hash128};
use tambour_storage::{Entry, ReadAt, Storage};

/// Files that `checksums.txt` never lists.
const UNLISTED: [&str; 8] = [
    CHECKSUMS_FILE,
    COLUMNS_FILE,
    SUBSTREAMS_FILE,
    "default_compression_codec.txt",
    "metadata_version.txt",
    "txn_version.txt",
    "delete-on-destroy.txt",
    "invalidated_system_columns.txt",
];
/// How the names of files of blocks end.
const BLOCKS_SUFFIX: &str = ".bin";
/// Of fewer files, one that is cut short could be most of them.
const FEW_FILES: usize = 3;
/// Files up to this size tell whether checksums.txt is of this part.
const SMALL_BYTES: u64 = 1 << 20;
/// Files up to this size are read with as few calls as can be.
const AT_ONCE_BYTES: u64 = 1 << 16;
/// Files up to this size may have holes.
const HOLES_MIN: u64 = 1 << 30;
/// Most bytes of a longer file for each that is on disk: no block takes less of it.
const HOLES_RATIO: u64 = 4096;
/// Bytes that are hashed at a time.
const HASHED_BYTES: usize = 1 << 18;
/// Suffix of the directory of a projection.
pub(crate) const PROJECTION_SUFFIX: &str = ".proj";

/// The files of a part.
#[derive(Debug)]
pub(crate) struct PartFiles {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) path: PathBuf,
    /// Whether files may be other than checksums.txt says: [`super::OpenOptions::damaged`].
    pub(crate) damaged: bool,
    /// Where the directory may have gone meanwhile.
    pub(crate) renamed_to: Option<PathBuf>,
    /// Names and lengths.
    pub(crate) lengths: BTreeMap<String, u64>,
    pub(crate) directories: Vec<String>,
    pub(crate) sums: Option<Checksums>,
    /// Hash of `checksums.txt`'s bytes.
    sums_hash: Option<Hash128>,
    /// Files that some reader has open; others share them, so that readers of many columns need fewer.
    open: Mutex<HashMap<String, Weak<dyn ReadAt>>>,
    /// Bits that were put right, in files of a damaged part that were opened.
    mended: Arc<Mutex<BTreeMap<String, Arc<[Mend]>>>>,
    /// Bytes that may still be hashed to find such bits.
    mending: Arc<AtomicU64>,
}

impl PartFiles {
    /// The same files, of which none is open.
    pub(super) fn again(&self) -> Self {
        Self {
            storage: Arc::clone(&self.storage),
            path: self.path.clone(),
            damaged: self.damaged,
            renamed_to: self.renamed_to.clone(),
            lengths: self.lengths.clone(),
            directories: self.directories.clone(),
            sums: self.sums.clone(),
            sums_hash: self.sums_hash,
            open: Mutex::default(),
            mended: Arc::clone(&self.mended),
            mending: Arc::clone(&self.mending),
        }
    }
}

/// The hash that `checksums.txt` lists for these bytes.
pub(crate) fn file_hash(bytes: &[u8]) -> Hash128 {
    let mut hasher = FileHasher::default();
    hasher.update(bytes);
    hasher.finish()
}

/// Refuses a file that is hardly there: reading it would take time in proportion to its length.
pub(crate) fn refuse_holes(file: &dyn ReadAt, path: &Path) -> Result<(), PartError> {
    if file.len() <= HOLES_MIN {
        return Ok(());
    }
    let stored = file.stored().map_err(|cause| PartError::io(path, "look at", cause))?;
    let limit = stored.saturating_mul(HOLES_RATIO).max(HOLES_MIN);
    if file.len() <= limit {
        return Ok(());
    }
    Err(PartError::limit(Place::file(path), "size of a file with holes", limit, file.len()))
}

/// The entries of a directory that its `checksums.txt` says, and of the files that belong into none.
fn listed_by_itself(storage: &Arc<dyn Storage>, path: &Path) -> Result<Vec<Entry>, PartError> {
    let sums = path.join(CHECKSUMS_FILE);
    let bytes = storage.read(&sums, CHECKSUMS_BYTES_MAX);
    let bytes = bytes.map_err(|cause| PartError::io(&sums, "read", cause))?;
    let listed = Checksums::parse(&sums, &bytes)?.files;
    let entry = |name: &str, length, is_directory| {
        let name = name.to_owned();
        Entry { name, is_directory, is_file: !is_directory, length }
    };
    let entries = listed.iter().map(|(name, sum)| {
        let is_directory = name.ends_with(PROJECTION_SUFFIX);
        entry(name, if is_directory { 0 } else { sum.size }, is_directory)
    });
    let mut entries: Vec<Entry> = entries.collect();
    for name in UNLISTED.into_iter().chain([GUARD_FILE]).filter(|it| !listed.contains_key(*it)) {
        let file = path.join(name);
        match storage.open(&file) {
            Ok(opened) => entries.push(entry(name, opened.len(), false)),
            Err(cause) if cause.kind() == ErrorKind::NotFound => {}
            Err(cause) => return Err(PartError::io(&file, "open", cause)),
        }
    }
    Ok(entries)
}

impl PartFiles {
    /// Lists a directory. Anything but files and directories is refused.
    pub(crate) fn list(storage: &Arc<dyn Storage>, path: &Path) -> Result<Self, PartError> {
        let entries = match storage.list(path) {
            // A web server lists nothing; the part lists itself.
            Err(cause) if cause.kind() == ErrorKind::Unsupported => {
                listed_by_itself(storage, path)?
            }
            entries => entries.map_err(|cause| PartError::io(path, "list", cause))?,
        };
        let mut lengths = BTreeMap::new();
        let mut directories = Vec::new();
        for entry in entries {
            if entry.is_directory {
                directories.push(entry.name);
            } else if entry.is_file && is_plain(&entry.name) {
                lengths.insert(entry.name, entry.length);
            } else {
                let place = Place::file(path.join(&entry.name));
                let reason = "neither a file nor a directory (links are not followed)";
                return Err(PartError::malformed(place, reason));
            }
        }
        let (storage, path) = (Arc::clone(storage), path.to_owned());
        let open = Mutex::default();
        let renamed_to = None;
        Ok(Self {
            storage,
            path,
            damaged: false,
            renamed_to,
            lengths,
            directories,
            sums: None,
            sums_hash: None,
            open,
            mended: Arc::default(),
            mending: Arc::new(AtomicU64::new(mend::HASHED_BYTES_MAX)),
        })
    }

    /// Reads `checksums.txt`, if there is one.
    pub(crate) fn load_sums(&mut self) -> Result<(), PartError> {
        if self.has(CHECKSUMS_FILE) {
            let bytes = self.read(CHECKSUMS_FILE, CHECKSUMS_BYTES_MAX)?;
            self.sums = Some(Checksums::parse(&self.path_of(CHECKSUMS_FILE), &bytes)?);
            self.sums_hash = Some(file_hash(&bytes));
        }
        Ok(())
    }

    /// Forgets a `checksums.txt` that most of the small files contradict, or most of those with blocks by their size, lost ones apart:
    /// it is another part's. One that Tambour's own
    /// note is about is this part's, whatever contradicts it. Files that are lost say nothing.
    pub(crate) fn doubt_sums(&mut self) {
        let Some(sums) = &self.sums else { return };
        let guard = self.read(GUARD_FILE, GUARD_BYTES_MAX);
        let guard = guard.and_then(|bytes| Guard::parse(&self.path_of(GUARD_FILE), &bytes));
        if guard.is_ok_and(|guard| guard.files == files_hash(sums)) {
            return;
        }
        // The small files of two parts of one table are alike for the most part, and those of blocks hardly ever.
        let blocks = sums.files.iter().filter(|(name, _)| name.ends_with(BLOCKS_SUFFIX));
        let blocks = blocks.filter_map(|(name, sum)| Some((*self.lengths.get(name)?, sum.size)));
        let blocks: Vec<(u64, u64)> = blocks.collect();
        let others = blocks.iter().filter(|(is, stated)| is != stated).count();
        if blocks.len() >= FEW_FILES && 2 * others > blocks.len() {
            self.sums = None;
            return;
        }
        let small = sums.files.iter().filter(|(_, sum)| sum.size <= SMALL_BYTES);
        let names: Vec<String> =
            small.map(|(name, _)| name.clone()).filter(|name| self.has(name)).collect();
        let agreeing = names.iter().filter(|name| self.read(name, SMALL_BYTES).is_ok()).count();
        if 2 * agreeing < names.len() || names.len() - agreeing > 1 && self.are_others_sound() {
            self.sums = None;
        }
    }

    /// True if most files of blocks are others than `checksums.txt` says, and yet each of their blocks is sound: one may be another part's,
    /// but hardly all of them.
    fn are_others_sound(&self) -> bool {
        let (mut same, mut others) = (0, 0);
        let names = self.sums.iter().flat_map(|sums| sums.files.keys());
        for name in names.filter(|name| name.ends_with(BLOCKS_SUFFIX) && self.has(name)) {
            if self.check_whole(name).is_ok() {
                same += 1;
            } else if self.check_same(name).is_err() {
                others += 1;
            }
        }
        others > 1 && others > same
    }

    /// Forgets a `checksums.txt` that is known to be another part's.
    pub(crate) fn forget_sums(&mut self) {
        self.sums = None;
    }

    /// Compares whole files with their hashes in `checksums.txt`.
    pub(crate) fn check_whole(&self, name: &str) -> Result<(), PartError> {
        let Some(sum) = self.sum(name) else { return Ok(()) };
        let file = self.open(name)?;
        let mut hasher = FileHasher::default();
        let mut bytes = vec![0; HASHED_BYTES];
        let mut at = 0;
        while at < file.len() {
            let count = usize::try_from(file.len() - at).unwrap_or(usize::MAX).min(bytes.len());
            let piece = &mut bytes[..count];
            let answer = file.read_exact_at(piece, at);
            answer.map_err(|cause| PartError::io(&self.path_of(name), "read", cause))?;
            hasher.update(piece);
            at += count as u64;
        }
        self.check_hash(name, "hash", sum.hash, hasher.finish())
    }

    /// An error if a file of blocks is another than `checksums.txt` says, though each of its blocks is sound.
    pub(crate) fn check_same(&self, name: &str) -> Result<(), PartError> {
        let Err(error) = self.check_whole(name) else { return Ok(()) };
        let mut damage = Vec::new();
        blocks::scan(self.open(name)?.as_ref(), &self.path_of(name), true, &mut damage)?;
        if damage.is_empty() { Err(error) } else { Ok(()) }
    }

    /// An error if there is no `checksums.txt`.
    pub(crate) fn require_sums(&self) -> Result<(), PartError> {
        if self.has(CHECKSUMS_FILE) {
            return Ok(());
        }
        Err(PartError::Missing { place: Box::new(self.place(CHECKSUMS_FILE)) })
    }

    pub(crate) fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
    pub(crate) fn place(&self, name: &str) -> Place {
        Place::file(self.path_of(name))
    }
    pub(crate) fn has(&self, name: &str) -> bool {
        self.lengths.contains_key(name)
    }
    pub(crate) fn length(&self, name: &str) -> u64 {
        self.lengths.get(name).copied().unwrap_or(0)
    }
    /// The length into which marks may point. A file of a damaged part may have lost its end, which concerns the marks
    /// that point there and no others; reading finds that out.
    pub(crate) fn reachable_length(&self, name: &str) -> u64 {
        if self.damaged { u64::MAX } else { self.length(name) }
    }
    /// What `checksums.txt` lists for a file.
    pub(crate) fn sum(&self, name: &str) -> Option<&FileSum> {
        self.sums.as_ref().and_then(|sums| sums.files.get(name))
    }
    /// True for a file that belongs into no `checksums.txt`.
    pub(crate) fn is_never_listed(name: &str) -> bool {
        UNLISTED.contains(&name)
    }

    /// All listed files, with what is wrong with their presence or size.
    pub(crate) fn listed(&self) -> impl Iterator<Item = (&str, &FileSum, Result<(), PartError>)> {
        let files = self.sums.iter().flat_map(|sums| &sums.files);
        files.map(|(name, sum)| (name.as_str(), sum, self.check_presence(name, sum)))
    }

    /// Compares the size of a file with what `checksums.txt` says.
    pub(crate) fn check_size(&self, name: &str) -> Result<(), PartError> {
        self.sum(name).map_or(Ok(()), |sum| self.check_presence(name, sum))
    }

    fn check_presence(&self, name: &str, sum: &FileSum) -> Result<(), PartError> {
        let missing = || PartError::Missing { place: Box::new(self.place(name)) };
        if name.ends_with(PROJECTION_SUFFIX) {
            let there = self.directories.iter().any(|directory| directory == name);
            return if there { Ok(()) } else { Err(missing()) };
        }
        let length = *self.lengths.get(name).ok_or_else(missing)?;
        if length == sum.size {
            return Ok(());
        }
        Err(PartError::mismatch(self.place(name), "size", sum.size, length))
    }

    /// Checks that a file is there and, where there is a list, in it.
    pub(crate) fn require(&self, name: &str) -> Result<(), PartError> {
        let place = || Box::new(self.place(name));
        if !self.has(name) {
            return Err(PartError::Missing { place: place() });
        }
        let listed = self.damaged
            || self.sums.is_none()
            || self.sum(name).is_some()
            || Self::is_never_listed(name);
        if listed { Ok(()) } else { Err(PartError::Unlisted { place: place() }) }
    }

    pub(crate) fn open(&self, name: &str) -> Result<Arc<dyn ReadAt>, PartError> {
        self.require(name)?;
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = open.get(name).and_then(Weak::upgrade) {
            return Ok(file);
        }
        let path = self.path_of(name);
        let file = self.at_either(name, |path| self.storage.open(path));
        let file = file.map_err(|cause| PartError::io(&path, "open", cause))?;
        refuse_holes(file.as_ref(), &path)?;
        // The part is immutable: a file that has another length by now is not the one that was listed.
        let expected = self.length(name);
        if file.len() == expected {
            let file = if self.damaged {
                // Others may open theirs meanwhile.
                drop(open);
                let file = self.mended(name, file)?;
                open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
                file
            } else {
                file
            };
            open.insert(name.to_owned(), Arc::downgrade(&file));
            return Ok(file);
        }
        Err(PartError::mismatch(self.place(name), "size", expected, file.len()))
    }

    /// A file of blocks of a damaged part, with the bits put right that its checksums tell.
    fn mended(&self, name: &str, file: Arc<dyn ReadAt>) -> Result<Arc<dyn ReadAt>, PartError> {
        if !name.ends_with(BLOCKS_SUFFIX) {
            return Ok(file);
        }
        let mended = || self.mended.lock().unwrap_or_else(PoisonError::into_inner);
        let known = mended().get(name).map(Arc::clone);
        let bits = match known {
            Some(bits) => bits,
            None => mend::bits(file.as_ref(), &self.path_of(name), &self.mending)?.into(),
        };
        mended().insert(name.to_owned(), Arc::clone(&bits));
        Ok(if bits.is_empty() { file } else { Arc::new(Mended { file, bits }) })
    }

    /// The bits that were put right, by files.
    pub(super) fn mends(&self) -> Vec<(String, Mend)> {
        let mended = self.mended.lock().unwrap_or_else(PoisonError::into_inner);
        let of_file = |(name, bits): (&String, &Arc<[Mend]>)| {
            bits.iter().map(|bit| (name.clone(), *bit)).collect::<Vec<_>>()
        };
        mended.iter().flat_map(of_file).collect()
    }

    /// What a file gives where the part was when it was listed, or where it has been renamed to.
    fn at_either<T>(&self, name: &str, get: impl Fn(&Path) -> io::Result<T>) -> io::Result<T> {
        match (get(&self.path_of(name)), &self.renamed_to) {
            (Err(cause), Some(other)) if cause.kind() == ErrorKind::NotFound => {
                get(&other.join(name))
            }
            (got, _) => got,
        }
    }

    /// Reads a file of at most `limit` bytes and checks its hash where one is listed.
    pub(crate) fn read(&self, name: &str, limit: u64) -> Result<Vec<u8>, PartError> {
        self.require(name)?;
        let length = self.length(name);
        if length > limit {
            return Err(PartError::limit(self.place(name), "size", limit, length));
        }
        let bytes = if length <= AT_ONCE_BYTES {
            self.read_small(name, usize::try_from(length).unwrap_or(0))?
        } else {
            let file = self.open(name)?;
            let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
            let answer = file.read_exact_at(&mut bytes, 0);
            answer.map_err(|cause| PartError::io(&self.path_of(name), "read", cause))?;
            bytes
        };
        if let Some(sum) = self.sum(name) {
            self.check_hash(name, "hash", sum.hash, file_hash(&bytes))?;
        }
        Ok(bytes)
    }

    /// Opening a table of many parts is little else than this.
    fn read_small(&self, name: &str, length: usize) -> Result<Vec<u8>, PartError> {
        let bytes = self.at_either(name, |path| self.storage.read_known(path, length));
        bytes.map_err(|cause| match cause.kind() {
            // Says both lengths, with the words for a file of another length.
            ErrorKind::InvalidData => match self.open(name) {
                Err(error) => error,
                Ok(_) => PartError::io(&self.path_of(name), "read", cause),
            },
            ErrorKind::NotFound | ErrorKind::PermissionDenied => {
                PartError::io(&self.path_of(name), "open", cause)
            }
            _ => PartError::io(&self.path_of(name), "read", cause),
        })
    }

    pub(crate) fn check_hash(
        &self,
        name: &str,
        what: &'static str,
        expected: Hash128,
        got: Hash128,
    ) -> Result<(), PartError> {
        if expected == got {
            return Ok(());
        }
        let place = Box::new(self.place(name));
        Err(PartError::Checksum { place, what, expected, got })
    }

    /// The stem of a stream's files: its name, or the hash of it if that is how the part has it.
    pub(crate) fn stem(&self, stream: &str) -> String {
        if !self.has(&format!("{stream}.bin")) {
            let hashed = hashed(stream);
            if self.has(&format!("{hashed}.bin")) {
                return hashed;
            }
        }
        stream.to_owned()
    }

    /// A hash of the contents: `checksums.txt` and `columns.txt` where there is a list, else names and lengths.
    pub(crate) fn content_hash(&self, columns_file: &[u8]) -> String {
        let mut hasher = FileHasher::default();
        match self.sums_hash {
            Some(hash) => hasher.update(&hash.to_bytes()),
            None => {
                for (name, length) in &self.lengths {
                    hasher.update(&(name.len() as u64).to_le_bytes());
                    hasher.update(name.as_bytes());
                    hasher.update(&length.to_le_bytes());
                }
            }
        }
        hasher.update(columns_file);
        hex(&hasher.finish().to_bytes())
    }
}
