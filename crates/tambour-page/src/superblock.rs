//! The superblock: what the file is, and where its last checkpoint lies. It stands twice, each copy in a block of its own.

use super::PageError;
use super::header::{read_u16, read_u32, read_u64};
use super::options::{
    GENERATION_MAX, Generation, Layout, Method, Options, PAGE_BYTES_MAX, PAGE_BYTES_MIN, PAGES_MAX,
    PageCodec,
};
use std::path::Path;
use tambour_kernel::hash::xxh3_64;
use tambour_storage::place::File;

/// The first bytes of a store.
pub(crate) const MAGIC: [u8; 8] = *b"TAMBPAGE";
/// The version that is written, and the newest that is read.
pub(crate) const VERSION: u16 = 1;
/// Bytes of a superblock: one sector, so that it is written whole or not at all.
pub(crate) const SUPERBLOCK_BYTES: usize = 512;
/// What whoever looks into the file with another program finds there, and where. Nobody reads it back.
const NOTE: &[u8] = b"\nThis is a Tambour page store. `tambour pages stat FILE` tells what is in it. If that is an \
SQLite database, SQLite opens it with the extension tambour_sqlite as file:FILE?vfs=tambour, and `tambour pages sqlite \
export FILE --to DB` makes a plain one of it.\n";
const NOTE_AT: usize = 128;
const _: () = assert!(NOTE_AT + NOTE.len() <= SUPERBLOCK_BYTES - 8);
/// Where the two copies are.
pub(crate) const PLACES: [u64; 2] = [0, 4096];
/// Where images and commits may begin.
pub(crate) const DATA_START: u64 = 8192;

/// A stretch of the file with a checksum over its content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    pub(crate) checksum: u64,
}

/// A checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Superblock {
    pub(crate) layout: Layout,
    pub(crate) page_shift: u8,
    pub(crate) granule: u64,
    pub(crate) file_id: u64,
    /// Counts checkpoints.
    pub(crate) epoch: u64,
    pub(crate) generation: Generation,
    /// One more than the highest page ever written.
    pub(crate) page_count: u64,
    /// The map as of the checkpoint; empty for an empty store.
    pub(crate) snapshot: Stretch,
    /// Where the first commit after the checkpoint begins.
    pub(crate) log_start: u64,
    pub(crate) codec: PageCodec,
    /// Dictionary for new images; 0 for none.
    pub(crate) dictionary: u16,
    /// Commits write this many bytes before a checkpoint; 0 for the default.
    pub(crate) checkpoint_bytes: u64,
}

impl Superblock {
    /// Of a new store.
    pub(crate) fn new(options: &Options, file_id: u64) -> Self {
        Self {
            layout: options.layout,
            page_shift: u8::try_from(options.page_bytes.trailing_zeros()).unwrap_or(0),
            granule: options.granule,
            file_id,
            epoch: 1,
            generation: 0,
            page_count: 0,
            snapshot: Stretch::default(),
            log_start: DATA_START,
            codec: options.codec,
            dictionary: 0,
            checkpoint_bytes: options.checkpoint_bytes.unwrap_or(0),
        }
    }

    /// The bytes on disk.
    pub(crate) fn encode(&self) -> [u8; SUPERBLOCK_BYTES] {
        let mut bytes = [0; SUPERBLOCK_BYTES];
        let mut put = |at: usize, source: &[u8]| {
            bytes[at..at + source.len()].copy_from_slice(source);
        };
        put(0, &MAGIC);
        put(8, &VERSION.to_le_bytes());
        put(10, &[u8::from(self.layout == Layout::Holes), self.page_shift]);
        put(12, &u32::try_from(self.granule).expect("a granule is a few bytes").to_le_bytes());
        put(16, &self.file_id.to_le_bytes());
        put(24, &self.epoch.to_le_bytes());
        put(32, &self.generation.to_le_bytes());
        put(40, &self.page_count.to_le_bytes());
        put(48, &self.snapshot.offset.to_le_bytes());
        put(56, &self.snapshot.bytes.to_le_bytes());
        put(64, &self.snapshot.checksum.to_le_bytes());
        put(72, &self.log_start.to_le_bytes());
        put(80, &[self.codec.method.byte(), self.codec.level.to_le_bytes()[0]]);
        put(82, &self.dictionary.to_le_bytes());
        put(88, &self.checkpoint_bytes.to_le_bytes());
        put(NOTE_AT, NOTE);
        let checksum = xxh3_64(&bytes[..SUPERBLOCK_BYTES - 8], 0);
        bytes[SUPERBLOCK_BYTES - 8..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Reads one copy. `Err` with the version if it is newer than what is known here.
    fn decode(bytes: &[u8]) -> Result<Self, Fault> {
        if bytes.len() != SUPERBLOCK_BYTES || bytes[..8] != MAGIC {
            return Err(Fault::Damaged("it does not begin with TAMBPAGE".to_owned()));
        }
        let (wanted, got) =
            (read_u64(bytes, SUPERBLOCK_BYTES - 8), xxh3_64(&bytes[..SUPERBLOCK_BYTES - 8], 0));
        if wanted != got {
            let text = format!("checksum mismatch: expected {wanted:016x}, got {got:016x}");
            return Err(Fault::Damaged(text));
        }
        let version = read_u16(bytes, 8);
        if version > VERSION {
            return Err(Fault::Newer(version));
        }
        let shift = bytes[11];
        let method = Method::of(bytes[80]);
        let sizes = PAGE_BYTES_MIN.trailing_zeros()..=PAGE_BYTES_MAX.trailing_zeros();
        let granule = u64::from(read_u32(bytes, 12));
        let page_count = read_u64(bytes, 40);
        let good = version > 0
            && bytes[10] <= 1
            && sizes.contains(&u32::from(shift))
            && granule.is_power_of_two()
            && (16..=4096).contains(&granule)
            && page_count <= PAGES_MAX
            && read_u64(bytes, 24).max(read_u64(bytes, 32)) <= GENERATION_MAX;
        let Some(method) = method.filter(|_| good) else {
            return Err(Fault::Damaged("a field is out of its range".to_owned()));
        };
        Ok(Self {
            layout: if bytes[10] == 1 { Layout::Holes } else { Layout::Packed },
            page_shift: shift,
            granule,
            file_id: read_u64(bytes, 16),
            epoch: read_u64(bytes, 24),
            generation: read_u64(bytes, 32),
            page_count,
            snapshot: Stretch {
                offset: read_u64(bytes, 48),
                bytes: read_u64(bytes, 56),
                checksum: read_u64(bytes, 64),
            },
            log_start: read_u64(bytes, 72),
            codec: PageCodec { method, level: i32::from(i8::from_le_bytes([bytes[81]])) },
            dictionary: read_u16(bytes, 82),
            checkpoint_bytes: read_u64(bytes, 88),
        })
    }
}

/// Why a copy cannot be used.
#[derive(Debug)]
enum Fault {
    Damaged(String),
    Newer(u16),
}

/// The superblock in force, and what is wrong with a copy, if something is.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) superblock: Superblock,
    pub(crate) damage: Option<PageError>,
    /// The copies differ: a checkpoint was cut short, or one is damaged.
    pub(crate) differ: bool,
}

/// Reads both copies and takes the later one.
///
/// Both are written by every checkpoint, one after the other, and no space is reused before both are durable. So whichever
/// is whole describes a file that is whole, and a damaged copy costs nothing.
pub(crate) fn read(file: &dyn File, path: &Path) -> Result<Found, PageError> {
    let mut copies = Vec::new();
    let mut damage = None;
    let mut newer = None;
    for place in PLACES {
        let mut bytes = [0; SUPERBLOCK_BYTES];
        let decoded = match file.read_at(&mut bytes, place) {
            Ok(()) => Superblock::decode(&bytes),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                Err(Fault::Damaged("the file ends before it".to_owned()))
            }
            Err(error) => return Err(PageError::file("read", path)(error)),
        };
        match decoded {
            Ok(superblock) => copies.push(superblock),
            Err(Fault::Newer(version)) => newer = Some(version),
            Err(Fault::Damaged(problem)) => {
                damage = Some(PageError::structure(path, "superblock", place, problem));
            }
        }
    }
    if let Some(version) = newer {
        return Err(PageError::Newer { path: path.to_owned(), version, known: VERSION });
    }
    copies.sort_by_key(|copy| copy.epoch);
    match (copies.pop(), damage) {
        (Some(superblock), damage) => {
            let differ = damage.is_some() || copies.iter().any(|other| *other != superblock);
            Ok(Found { superblock, damage, differ })
        }
        (None, Some(damage)) => Err(damage),
        (None, None) => {
            Err(PageError::NotAStore { path: path.to_owned(), problem: "it has no superblock" })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comes_back_and_every_bit_counts() {
        let mut superblock = Superblock::new(&Options::default(), 77);
        superblock.snapshot = Stretch { offset: 8192, bytes: 100, checksum: 5 };
        let bytes = superblock.encode();
        assert_eq!(Superblock::decode(&bytes).unwrap(), superblock);
        for bit in 0..bytes.len() * 8 {
            let mut wrong = bytes;
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert!(Superblock::decode(&wrong).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn generations_and_epochs_have_a_next_one() {
        let good = Superblock::new(&Options::default(), 77);
        let last = Superblock { epoch: GENERATION_MAX, generation: GENERATION_MAX, ..good };
        assert_eq!(Superblock::decode(&last.encode()).unwrap(), last);
        for wrong in [
            Superblock { epoch: GENERATION_MAX + 1, ..good },
            Superblock { generation: u64::MAX, ..good },
        ] {
            assert!(Superblock::decode(&wrong.encode()).is_err());
        }
    }
}
