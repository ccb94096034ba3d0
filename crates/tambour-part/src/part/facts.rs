//! What ClickHouse's system tables say of a part besides its columns: what `checksums.txt` adds up to, projections, marks.

use super::{PROJECTION_SUFFIX, Part, SKIP_INDEX_PREFIX, StoredColumn, sizes};
use crate::manifest::TEXT_BYTES_MAX;
use crate::mark::{FORMATS, Mark};
use crate::name::{hex, unescape};
use crate::part::ColumnSize;
use crate::types::DataType;
use crate::{PartError, Place};
use arrow_array::{Array, ArrayRef, cast::AsArray};
use tambour_kernel::hash::sip_hash_128;

/// The codec of columns that name none.
const DEFAULT_CODEC_FILE: &str = "default_compression_codec.txt";
/// End of the names of streams that only compact parts have: what stands in front of a dictionary.
const PREFIX: &str = ".dict_prefix";
/// Bytes that ClickHouse keeps of each text besides its own.
const OFFSET_BYTES: u64 = 8;

/// What the files of a part add up to, as ClickHouse counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Files that `checksums.txt` lists, each projection as one; all files where there is no list.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes of the files that are compressed, after decompression; of columns where there is no list.
    pub contents: u64,
    /// Bytes of columns.
    pub compressed: u64,
    /// The same after decoding.
    pub uncompressed: u64,
    /// Bytes of their marks.
    pub marks: u64,
}

/// A stream of a column, and where its granules start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamMarks {
    /// Its name, escaped (`v.null`).
    pub name: String,
    /// The file that it is in, without an ending; nothing in a compact part, where all are in one.
    pub file: String,
    /// Offset of the block and offset in it, for each mark of the part.
    pub places: Vec<(u64, u64)>,
}

impl Part {
    /// What its files add up to. Without a `checksums.txt`, the headers of all blocks are read.
    pub fn totals(&self) -> Result<Totals, PartError> {
        let mut totals = Totals::default();
        let Some(sums) = &self.files.sums else {
            totals.files = self.files.lengths.len() as u64;
            totals.bytes = self.bytes_on_disk();
            for size in self.stored_sizes()? {
                totals.compressed += size.compressed;
                totals.uncompressed += size.uncompressed;
                totals.marks += size.marks;
            }
            totals.contents = totals.uncompressed;
            return Ok(totals);
        };
        for (name, sum) in &sums.files {
            totals.files += 1;
            totals.bytes += sum.size;
            totals.contents += sum.contents.map_or(0, |(size, _)| size);
            let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
            if name.starts_with(SKIP_INDEX_PREFIX) {
                continue;
            }
            if ending == "bin" {
                totals.compressed += sum.size;
                totals.uncompressed += sum.contents.map_or(0, |(size, _)| size);
            } else if FORMATS.iter().any(|format| format.extension == ending) {
                totals.marks += sum.size;
            }
        }
        Ok(totals)
    }

    /// ClickHouse's `hash_of_all_files` (hex); `None` without a `checksums.txt`.
    pub fn hash_of_all_files(&self) -> Option<String> {
        // It is shown as the number that it is.
        let mut hash = self.hash_of_sums()?;
        hash.reverse();
        Some(hex(&hash))
    }

    /// The hash of `checksums.txt` by which a part lists its projection; `None` without one.
    pub(crate) fn hash_of_sums(&self) -> Option<[u8; 16]> {
        let mut listed = Vec::new();
        for (name, sum) in &self.files.sums.as_ref()?.files {
            listed.extend((name.len() as u64).to_le_bytes());
            listed.extend(name.as_bytes());
            listed.extend(sum.hash.to_bytes());
        }
        Some(sip_hash_128(&listed))
    }

    /// The codec of columns whose statement names none, as ClickHouse has written it: `LZ4`, `ZSTD(1)`. `None` where it has not.
    pub fn default_codec(&self) -> Result<Option<String>, PartError> {
        if !self.files.has(DEFAULT_CODEC_FILE) {
            return Ok(None);
        }
        let bytes = self.files.read(DEFAULT_CODEC_FILE, TEXT_BYTES_MAX)?;
        let text = String::from_utf8_lossy(&bytes);
        let codec = text.trim().strip_prefix("CODEC(").and_then(|it| it.strip_suffix(')'));
        Ok(Some(codec.unwrap_or(text.trim()).to_owned()))
    }

    /// Names of its projections, sorted. A directory of one that `checksums.txt` does not list is none.
    pub fn projections(&self) -> Vec<String> {
        let is_listed =
            |name: &&String| self.files.sums.is_none() || self.files.sum(name).is_some();
        let stems = self.files.directories.iter().filter(is_listed);
        let mut names: Vec<String> = stems
            .filter_map(|name| name.strip_suffix(PROJECTION_SUFFIX))
            .map(|stem| unescape(stem).unwrap_or_else(|| stem.to_owned()))
            .collect();
        names.sort_unstable();
        names
    }

    /// A projection as the part that it is.
    pub fn projection(&self, name: &str) -> Result<Self, PartError> {
        let found = self.files.directories.iter().find(|directory| {
            let stem = directory.strip_suffix(PROJECTION_SUFFIX);
            stem.is_some_and(|stem| stem == name || unescape(stem).as_deref() == Some(name))
        });
        let Some(directory) = found else {
            let place =
                Box::new(Place::file(self.path().join(format!("{name}{PROJECTION_SUFFIX}"))));
            return Err(PartError::Missing { place });
        };
        Self::open(&self.files.storage, &self.path().join(directory))
    }

    /// Bytes of the file of the primary index.
    pub fn primary_key_size(&self) -> u64 {
        self.files.length("primary.idx") + self.files.length("primary.cidx")
    }

    /// Bytes that ClickHouse needs for the primary index in memory, given the types of its columns.
    pub fn primary_key_bytes(&self, types: &[DataType]) -> Result<u64, PartError> {
        let columns = self.primary_index(types)?;
        Ok(columns.iter().zip(types).map(|(values, kind)| bytes_of(values, kind)).sum())
    }

    /// Sizes of the columns that are stored, in the order of [`Part::stored_columns`].
    pub fn stored_sizes(&self) -> Result<Vec<ColumnSize>, PartError> {
        if self.view.is_none() { self.column_sizes() } else { sizes::column_sizes(self) }
    }

    /// The marks of all streams of the columns that are stored, in the order of [`Part::stored_columns`]. A compact part that has
    /// one mark for all streams of a column has one stream with its name.
    pub fn column_marks(&self) -> Result<Vec<Vec<StreamMarks>>, PartError> {
        self.stored.iter().map(|column| self.marks_of(column)).collect()
    }

    fn marks_of(&self, column: &StoredColumn) -> Result<Vec<StreamMarks>, PartError> {
        let place = |mark: Mark| (mark.block, mark.offset);
        let Some(compact) = &self.compact else {
            let streams = column.streams.iter().map(|stream| {
                let file = self.files.stem(&stream.name.0);
                let places = self.stream_marks(&file)?.of_stream(0).map(place).collect();
                Ok(StreamMarks { name: stream.name.0.clone(), file, places })
            });
            return streams.collect();
        };
        let base = compact.bases.get(column.position).copied().unwrap_or(usize::MAX);
        let names = match compact.substreams.as_ref().and_then(|all| all.get(column.position)) {
            Some(names) => names.clone(),
            None => vec![crate::name::escape(&column.column.name)],
        };
        let names = names.into_iter().enumerate().filter(|(_, name)| !name.ends_with(PREFIX));
        let streams = names.map(|(index, name)| {
            let stream = base.saturating_add(index);
            let places = if stream < compact.marks.width() {
                compact.marks.of_stream(stream).map(place).collect()
            } else {
                Vec::new()
            };
            StreamMarks { name, file: String::new(), places }
        });
        Ok(streams.collect())
    }
}

/// Bytes of the values of a key column in ClickHouse's memory.
fn bytes_of(values: &ArrayRef, data_type: &DataType) -> u64 {
    let rows = values.len() as u64;
    let nulls = if matches!(data_type, DataType::Nullable(_)) { rows } else { 0 };
    let own = match data_type.unwrapped().fixed_width() {
        Some(width) => rows * width as u64,
        None => match values.as_binary_view_opt() {
            Some(texts) => texts.iter().flatten().map(|it| it.len() as u64 + OFFSET_BYTES).sum(),
            None => values.get_array_memory_size() as u64,
        },
    };
    own + nulls
}
