//! What each column takes, from the headers of its blocks.

use super::{COMPACT_FILE, ColumnSize, Part, PartFiles, StoredColumn};
use crate::PartError;
use crate::stream::headers::{BlockInfo, Headers};
use std::collections::{BTreeMap, HashSet};
use tambour_codec::codec::method_name;

/// The method of a chain; its payload starts with the number of codecs and their methods.
const METHOD_MULTIPLE: u8 = 0x91;

/// Sums over blocks.
#[derive(Debug, Default)]
struct Tally {
    compressed: u64,
    uncompressed: u64,
    /// Blocks per codec.
    codecs: BTreeMap<String, u64>,
}

impl Tally {
    fn add(&mut self, block: &BlockInfo) {
        self.compressed += block.header.block_bytes() as u64;
        self.uncompressed += u64::from(block.header.uncompressed_size);
        *self.codecs.entry(codec_text(block)).or_default() += 1;
    }

    fn merge(&mut self, other: Self) {
        self.compressed += other.compressed;
        self.uncompressed += other.uncompressed;
        for (codec, blocks) in other.codecs {
            *self.codecs.entry(codec).or_default() += blocks;
        }
    }

    fn finish(self, marks: u64) -> ColumnSize {
        let mut codecs: Vec<(String, u64)> = self.codecs.into_iter().collect();
        codecs.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        ColumnSize {
            compressed: self.compressed,
            uncompressed: self.uncompressed,
            marks,
            codecs: codecs.into_iter().map(|(codec, _)| codec).collect(),
        }
    }
}

/// `CODEC(Delta, LZ4)` of a block.
fn codec_text(block: &BlockInfo) -> String {
    let name = |method: u8| match method_name(method) {
        "unknown" => format!("0x{method:02x}"),
        name => name.to_owned(),
    };
    let mut names = vec![name(block.header.method)];
    let chain = block.payload.split_first().filter(|_| block.header.method == METHOD_MULTIPLE);
    if let Some((count, methods)) = chain {
        names = methods.iter().take(usize::from(*count)).map(|method| name(*method)).collect();
    }
    format!("CODEC({})", names.join(", "))
}

pub(super) fn column_sizes(part: &Part) -> Result<Vec<ColumnSize>, PartError> {
    if part.compact.is_some() {
        return compact_sizes(part);
    }
    let mut seen = HashSet::new();
    part.stored.iter().map(|column| wide_size(part, column, &mut seen)).collect()
}

fn wide_size(
    part: &Part,
    column: &StoredColumn,
    seen: &mut HashSet<String>,
) -> Result<ColumnSize, PartError> {
    let mut total = Tally::default();
    let mut marks = 0;
    for stream in &column.streams {
        let stem = part.files.stem(&stream.name.0);
        if !seen.insert(stem.clone()) {
            continue;
        }
        marks += part.files.length(&part.marks_name(&stem));
        total.merge(tally_file(&part.files, &format!("{stem}.bin"))?);
    }
    Ok(total.finish(marks))
}

fn tally_file(files: &PartFiles, name: &str) -> Result<Tally, PartError> {
    let mut tally = Tally::default();
    let path = files.path_of(name);
    let file = files.open(name)?;
    for block in Headers::new(file.as_ref(), &path, 0) {
        tally.add(&block?);
    }
    Ok(tally)
}

/// A block belongs to the column whose mark is the last one at or before its start.
fn compact_sizes(part: &Part) -> Result<Vec<ColumnSize>, PartError> {
    let Some(compact) = &part.compact else { return Ok(Vec::new()) };
    let mut owners: BTreeMap<u64, usize> = BTreeMap::new();
    for granule in 0..part.granules().len() {
        for (column, base) in compact.bases.iter().enumerate() {
            if let Some(mark) = compact.marks.mark(granule, *base) {
                // Of several columns that start in one block the first one gets it.
                owners.entry(mark.block).or_insert(column);
            }
        }
    }
    let mut tallies: Vec<Tally> = compact.bases.iter().map(|_| Tally::default()).collect();
    let path = part.files.path_of(COMPACT_FILE);
    let file = part.files.open(COMPACT_FILE)?;
    for block in Headers::new(file.as_ref(), &path, 0) {
        let block = block?;
        let owner = owners.range(..=block.start).next_back().map(|(_, column)| *column);
        if let Some(tally) = owner.and_then(|column| tallies.get_mut(column)) {
            tally.add(&block);
        }
    }
    let marks = part.files.length(&format!("data.{}", part.format.extension));
    let share = marks / (tallies.len() as u64).max(1);
    let sizes: Vec<ColumnSize> = tallies.into_iter().map(|tally| tally.finish(share)).collect();
    let stored = part.stored.iter();
    Ok(stored.map(|column| sizes.get(column.position).cloned().unwrap_or_default()).collect())
}
