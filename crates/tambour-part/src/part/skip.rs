//! Skip indexes of ClickHouse's: the files of one index, its entries as bytes (`docs/format/part.md`, "Skip indexes").
//!
//! An index is a run of entries, one for as many granules as the table says. What an entry means is nothing that the part
//! says; here it is a piece of a file between two marks. Small indexes lie together in `skp_idx.packed`.

use super::{Part, PartFiles};
use crate::column::Source;
use crate::manifest::{Cursor, MARKS_BYTES_MAX};
use crate::mark::{FORMATS, Mark, MarkFormat, MarkShape, Marks};
use crate::name::{escape, hashed, unescape};
use crate::stream::read::{Shared, StreamReader, window_bytes};
use crate::stream::whole;
use crate::{PartError, Place};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use tambour_storage::ReadAt;

/// Start of the file names of skip indexes.
pub(crate) const SKIP_INDEX_PREFIX: &str = "skp_idx";
/// The file of small indexes.
const PACKED_FILE: &str = "skp_idx.packed";
/// Its version.
const PACKED_VERSION: u8 = 1;
/// Its largest size in bytes. ClickHouse packs an index of at most 1 MiB unless it is told otherwise.
const PACKED_BYTES_MAX: u64 = 128 << 20;
/// Largest entry in bytes, and most bytes of the blocks that it lies in, after decompression.
const ENTRY_BYTES_MAX: u64 = 256 << 20;
/// What blocks of any file may decode to, and how much more for each byte that the file has.
const ENTRY_BYTES_UNBACKED: u64 = 16 << 20;
const ENTRY_BYTES_RATIO: u64 = 255;
/// Extensions of the files with entries, the newer first.
const EXTENSIONS: [&str; 2] = ["idx2", "idx"];

/// Where a file of an index lies.
#[derive(Clone, Debug)]
struct Lies {
    /// The file that it is or lies in.
    file: String,
    /// Its place there, if it lies in another.
    piece: Option<(u64, u64)>,
    /// Its bytes.
    length: u64,
    /// Bytes of its contents after decompression, if that is known.
    contents: Option<u64>,
}

/// What is found of the files of all indexes, by name.
type Found = BTreeMap<String, Lies>;

/// Sizes of an index in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SkipSizes {
    /// Its entries as they lie in the file.
    pub compressed: u64,
    /// The same after decompression; 0 if that is written nowhere.
    pub uncompressed: u64,
    /// Its marks.
    pub marks: u64,
}

/// The files of one skip index, opened.
#[derive(Debug)]
pub struct SkipFile {
    extension: &'static str,
    sizes: SkipSizes,
    marks: Vec<Mark>,
    reader: StreamReader,
    shared: Shared,
}

impl SkipFile {
    /// `idx`, or `idx2` for the second form of some kinds.
    pub fn extension(&self) -> &'static str {
        self.extension
    }
    /// Its sizes.
    pub fn sizes(&self) -> SkipSizes {
        self.sizes
    }
    /// Number of entries.
    pub fn entries(&self) -> usize {
        self.marks.len()
    }

    /// The bytes of one entry: from its mark to the next one. An error past the last entry, if a block is damaged, if marks do not
    /// lead forward, or if the entry is larger than any index needs.
    pub fn entry(&mut self, index: usize) -> Result<Vec<u8>, PartError> {
        let Some(&mark) = self.marks.get(index) else {
            return Err(PartError::argument(format!("entry {index} of {}", self.marks.len())));
        };
        let next = self.marks.get(index + 1).copied();
        self.between(mark, next, index)
    }

    /// The contents of the blocks from one place in the file to another, or to its end: what some kinds of indexes have places of
    /// beside their marks. An error if no block ends there, or if one is damaged.
    pub fn blocks(&mut self, start: u64, end: Option<u64>) -> Result<Vec<u8>, PartError> {
        let mark = |block| Mark { block, offset: 0 };
        self.between(mark(start), end.map(mark), 0)
    }

    fn between(
        &mut self,
        mark: Mark,
        next: Option<Mark>,
        index: usize,
    ) -> Result<Vec<u8>, PartError> {
        let mut bytes = Vec::new();
        self.shared.budget.begin();
        if !self.reader.is_at(mark) {
            self.reader.seek(mark)?;
        }
        while next.is_none_or(|next| !self.reader.is_at(next)) {
            let Some((block, at)) = self.reader.block()? else { break };
            let (mut end, rest) = (block.len(), block.clone());
            let start = self.reader.position().block;
            if let Some(next) = next.filter(|next| next.block <= start) {
                let inside = usize::try_from(next.offset).unwrap_or(usize::MAX);
                if next.block < start || inside < at || inside > end {
                    let reason = format!("mark {} is not where entry {index} ends", index + 1);
                    return Err(self.reader.corrupt(&reason));
                }
                end = inside;
            }
            bytes.extend_from_slice(&rest.as_slice()[at..end]);
            self.reader.consume(end - at);
        }
        Ok(bytes)
    }
}

/// A file of a skip index that is not of blocks: nothing in it is checked when it is read.
#[derive(Debug)]
pub struct SkipBytes {
    file: Arc<dyn ReadAt>,
    path: PathBuf,
}

impl SkipBytes {
    /// Its size in bytes.
    pub fn length(&self) -> u64 {
        self.file.len()
    }
    /// Some bytes of it. An error if it has not as many.
    pub fn read(&self, offset: u64, length: usize) -> Result<Vec<u8>, PartError> {
        let left = self.length().saturating_sub(offset);
        if length as u64 > left {
            let reason = format!("it ends {left} bytes later, {length} are wanted");
            return Err(PartError::malformed(Place::file(&self.path).at(offset), reason));
        }
        let mut bytes = vec![0; length];
        let answer = self.file.read_exact_at(&mut bytes, offset);
        answer.map_err(|cause| PartError::io(&self.path, "read", cause))?;
        Ok(bytes)
    }
}

/// Some bytes of a file, as a file.
#[derive(Debug)]
struct Piece {
    file: Arc<dyn ReadAt>,
    start: u64,
    length: u64,
}

impl ReadAt for Piece {
    fn len(&self) -> u64 {
        self.length
    }
    fn read_exact_at(&self, target: &mut [u8], offset: u64) -> io::Result<()> {
        let end = offset.checked_add(target.len() as u64).filter(|end| *end <= self.length);
        end.ok_or(io::ErrorKind::UnexpectedEof)?;
        self.file.read_exact_at(target, self.start + offset)
    }
    fn will_need(&self, offset: u64, length: usize) {
        self.file.will_need(self.start.saturating_add(offset), length);
    }
}

/// The contents of `skp_idx.packed`: for each file its name, place, size, and size after decompression.
fn read_packed(files: &PartFiles, found: &mut Found) -> Result<(), PartError> {
    let (bytes, path) = (files.read(PACKED_FILE, PACKED_BYTES_MAX)?, files.path_of(PACKED_FILE));
    let mut cursor = Cursor::new(&path, &bytes);
    let [version] = cursor.array()?;
    if version != PACKED_VERSION {
        let what = format!("version {version} of it");
        return Err(PartError::unsupported(files.place(PACKED_FILE), what));
    }
    let count = u64::from_le_bytes(cursor.array()?);
    for _ in 0..count {
        let length = usize::try_from(cursor.var_uint()?).unwrap_or(usize::MAX);
        let name = std::str::from_utf8(cursor.take(length)?);
        let name = name.map_err(|_| cursor.malformed("a name is not UTF-8"))?.to_owned();
        let [start, size, contents] =
            [cursor.array()?, cursor.array()?, cursor.array()?].map(u64::from_le_bytes);
        if start.checked_add(size).is_none_or(|end| end > bytes.len() as u64) {
            return Err(cursor.malformed(format!("{name:?} extends past the end of the file")));
        }
        let file = PACKED_FILE.to_owned();
        let lies =
            Lies { file, piece: Some((start, size)), length: size, contents: Some(contents) };
        if found.insert(name.clone(), lies).is_some() {
            return Err(cursor.malformed(format!("{name:?} is there twice")));
        }
    }
    Ok(())
}

impl Part {
    /// Names of the skip indexes that the part has files of, sorted; a name too long for a file is its hash.
    pub fn skip_names(&self) -> Result<Vec<String>, PartError> {
        let found = self.skip_files()?;
        let stem = |name: &String| {
            let (stem, extension) = name.split_once('.')?;
            let stem = EXTENSIONS.contains(&extension).then_some(stem)?;
            Some(match stem.strip_prefix("skp_idx_") {
                Some(escaped) => unescape(escaped).unwrap_or_else(|| escaped.to_owned()),
                None => stem.to_owned(),
            })
        };
        Ok(found.keys().filter_map(stem).collect::<BTreeSet<_>>().into_iter().collect())
    }

    /// The files of a skip index; `None` if the part has none, as one that was written before the index was added. An error if
    /// they are damaged or do not belong together. Its sizes are those of all files of the index.
    pub fn skip_file(&self, name: &str) -> Result<Option<SkipFile>, PartError> {
        let found = self.skip_files()?;
        let Some((stem, extension, lies)) = entries_of(&found, name, "") else { return Ok(None) };
        let file = self.open_skip(&found, &stem, extension, lies)?;
        Ok(Some(SkipFile { sizes: sizes_of(&found, &stem), ..file }))
    }

    /// The same of another file of blocks of the index, with its marks: `dct` of `skp_idx_name.dct.idx`.
    pub fn skip_file_of(&self, name: &str, which: &str) -> Result<Option<SkipFile>, PartError> {
        let found = self.skip_files()?;
        let Some((stem, extension, lies)) = entries_of(&found, name, which) else {
            return Ok(None);
        };
        self.open_skip(&found, &stem, extension, lies).map(Some)
    }

    /// A file of the index that is not of blocks: `pst` of `skp_idx_name.pst.idx`.
    pub fn skip_bytes(&self, name: &str, which: &str) -> Result<Option<SkipBytes>, PartError> {
        let found = self.skip_files()?;
        let Some((_, _, lies)) = entries_of(&found, name, which) else { return Ok(None) };
        let (file, path) = self.open_piece(lies)?;
        Ok(Some(SkipBytes { file, path }))
    }

    fn open_skip(
        &self,
        found: &Found,
        stem: &str,
        extension: &'static str,
        lies: &Lies,
    ) -> Result<SkipFile, PartError> {
        let (marks, _) = self.skip_marks(found, stem)?;
        let (file, path) = self.open_piece(lies)?;
        let length = file.len();
        marks.check(&path, length, marks.records())?;
        let shared = Shared::default();
        let backed = ENTRY_BYTES_RATIO.saturating_mul(length).saturating_add(ENTRY_BYTES_UNBACKED);
        shared.budget.limit(self, &[], backed.min(ENTRY_BYTES_MAX));
        let reader = StreamReader::new(file, path, "", &shared, window_bytes(1));
        let marks = marks.of_stream(0).collect();
        Ok(SkipFile { extension, sizes: SkipSizes::default(), marks, reader, shared })
    }

    /// Compares the files of a skip index with their hashes in checksums.txt.
    pub fn check_skip_file(&self, name: &str) -> Result<(), PartError> {
        let found = self.skip_files()?;
        let stem = format!("{SKIP_INDEX_PREFIX}_{}.", escape(name));
        let mut own =
            found.iter().filter(|(it, lies)| it.starts_with(&stem) && lies.piece.is_none());
        // One that is packed was hashed when the list in front was read.
        own.try_for_each(|(_, lies)| self.files.check_whole(&lies.file))
    }

    fn skip_files(&self) -> Result<Found, PartError> {
        let files = &self.files;
        let mut found = Found::new();
        if files.has(PACKED_FILE) {
            read_packed(files, &mut found)?;
        }
        let own = |(name, _): &(&String, &u64)| name.starts_with(SKIP_INDEX_PREFIX);
        for (name, length) in files.lengths.iter().filter(own) {
            let contents = files.sum(name).and_then(|sum| sum.contents).map(|(size, _)| size);
            let lies = Lies { file: name.clone(), piece: None, length: *length, contents };
            if name != PACKED_FILE {
                found.insert(name.clone(), lies);
            }
        }
        Ok(found)
    }

    /// The marks of an index, one for each entry, and the bytes of their file.
    fn skip_marks(&self, found: &Found, stem: &str) -> Result<(Marks, u64), PartError> {
        let of = |format: &MarkFormat| found.get(&join(stem, format.extension));
        let known = FORMATS.iter().find_map(|format| Some((*format, of(format)?)));
        let Some((format, lies)) = known else {
            let place = self.files.place(&join(stem, self.mark_extension()));
            return Err(PartError::Missing { place: Box::new(place) });
        };
        let (bytes, path) = self.read_piece(lies)?;
        // Entries have one mark each, in compact parts too.
        let is_fixed = format.shape == MarkShape::Fixed;
        let shape = if is_fixed { MarkShape::Fixed } else { MarkShape::Adaptive };
        let format = MarkFormat { shape, ..format };
        let records = if format.compressed {
            whole::decode(&path, &bytes, 0, MARKS_BYTES_MAX)?
        } else {
            bytes.clone()
        };
        Ok((Marks::parse(&path, &records, format, 1)?, bytes.len() as u64))
    }

    fn open_piece(&self, lies: &Lies) -> Result<(Arc<dyn ReadAt>, PathBuf), PartError> {
        let (file, path) = (self.files.open(&lies.file)?, self.files.path_of(&lies.file));
        self.files.check_size(&lies.file)?;
        match lies.piece {
            None => Ok((file, path)),
            Some((start, length)) => Ok((Arc::new(Piece { file, start, length }), path)),
        }
    }

    /// A small file of an index. One of its own is compared with its hash; that of the packed ones was.
    fn read_piece(&self, lies: &Lies) -> Result<(Vec<u8>, PathBuf), PartError> {
        let path = self.files.path_of(&lies.file);
        let Some((start, length)) = lies.piece else {
            return Ok((self.files.read(&lies.file, MARKS_BYTES_MAX)?, path));
        };
        if length > MARKS_BYTES_MAX {
            return Err(PartError::limit(Place::file(&path), "size", MARKS_BYTES_MAX, length));
        }
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
        let file = self.files.open(&lies.file)?;
        let answer = file.read_exact_at(&mut bytes, start);
        answer.map_err(|cause| PartError::io(&path, "read", cause))?;
        Ok((bytes, path))
    }
}

/// Where the entries of an index lie: the start of the names of its files, the extension, and the place. `which` is of the file of an
/// index of several.
fn entries_of<'a>(
    found: &'a Found,
    name: &str,
    which: &str,
) -> Option<(String, &'static str, &'a Lies)> {
    let escaped = format!("{SKIP_INDEX_PREFIX}_{}", escape(name));
    // Names were not always escaped.
    let stems = [escaped.clone(), format!("{SKIP_INDEX_PREFIX}_{name}"), hashed(&escaped)];
    stems.into_iter().find_map(|stem| {
        let stem = if which.is_empty() { stem } else { join(&stem, which) };
        let of = |extension| Some((extension, found.get(&join(&stem, extension))?));
        let (extension, lies) = EXTENSIONS.into_iter().find_map(of)?;
        Some((stem, extension, lies))
    })
}

/// The sizes of all files whose names start so. What is not in blocks is as large after decompression.
fn sizes_of(found: &Found, stem: &str) -> SkipSizes {
    let mut sizes = SkipSizes::default();
    for (name, lies) in found {
        let Some(rest) = name.strip_prefix(stem).and_then(|it| it.strip_prefix('.')) else {
            continue;
        };
        let extension = rest.rsplit('.').next().unwrap_or(rest);
        if EXTENSIONS.contains(&extension) {
            sizes.compressed += lies.length;
            sizes.uncompressed += lies.contents.unwrap_or(lies.length);
        } else if FORMATS.iter().any(|format| format.extension == extension) {
            sizes.marks += lies.length;
        }
    }
    sizes
}

fn join(stem: &str, extension: &str) -> String {
    format!("{stem}.{extension}")
}
