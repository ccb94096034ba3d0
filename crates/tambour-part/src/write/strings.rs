//! Which layout the strings of a part get: inline, or with their lengths in a stream of their own. `serialization.json` says
//! it of all strings together, so it is one choice for the part, by what both layouts make of its first rows.

use super::PartSpec;
use super::recode::encoder;
use crate::PartError;
use crate::column::{ColumnWriter, Layout, Sinks, StreamName, streams};
use crate::stream::write::{BLOCK_BYTES_MAX, BLOCK_BYTES_MIN};
use crate::types::Column;
use arrow_array::{Array, ArrayRef, RecordBatch};
use std::sync::Arc;
use tambour_codec::choose::{Choice, Objective};
use tambour_codec::spec::CodecSpec;

/// How the strings of a part are laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum StringLayout {
    /// A length before each, in one stream: what every ClickHouse reads.
    #[default]
    Inline,
    /// Lengths in a stream of their own, but for strings inside Nullable, Array and Map: read by ClickHouse 25.10 and later.
    Sized,
    /// Lengths in a stream of their own wherever strings are: read by ClickHouse 26.3 and later.
    SizedInside,
    /// Whichever of these is smallest, where the codecs of all columns with strings are chosen as well, for servers that
    /// read it.
    Smaller,
}

/// Rows on which the choice is made, at most ...
const ROWS_MAX: usize = 1 << 17;
/// ... and memory that they may take.
const BYTES_MAX: usize = 32 << 20;
/// Sizes have to save this much of the bytes, since inline is what more servers read ...
const GAIN_MIN: f64 = 0.005;
/// ... and where time counts, they may cost this much: texts are read in one piece then, and lengths without them.
const LOSS_MAX: f64 = 0.03;
/// Rows of a granule of the measurement.
const GRANULE_ROWS: usize = 8192;

impl StringLayout {
    /// What strings with sizes may look like.
    const SIZED: [Self; 2] = [Self::Sized, Self::SizedInside];

    /// The layout of all columns.
    pub(crate) fn layout(self) -> Layout {
        Layout {
            string_sizes: Self::SIZED.contains(&self),
            string_sizes_nested: self == Self::SizedInside,
            ..Layout::default()
        }
    }

    /// The first release that reads it, and writes it by default.
    pub const fn since(self) -> (u16, u16) {
        match self {
            Self::Inline | Self::Smaller => (0, 0),
            Self::Sized => (25, 10),
            Self::SizedInside => (26, 3),
        }
    }

    /// Whether a codec is chosen for servers of which some do not read it.
    pub(super) fn is_beyond(self, codec: &CodecSpec) -> bool {
        codec.is_auto() && !leaves_choice(codec, self.since())
    }

    /// Whether it makes a difference for a column.
    fn changes(self, column: &Column) -> bool {
        let of = |layout: Self| streams(&column.name, &column.data_type, &layout.layout());
        of(self).len() != of(Self::Inline).len()
    }

    /// Whether the codecs of all columns that it changes leave the choice, and their servers read it.
    fn is_free(self, spec: &PartSpec) -> bool {
        let mut changed = spec.columns.iter().filter(|(column, _)| self.changes(column)).peekable();
        changed.peek().is_some() && changed.all(|(_, codec)| leaves_choice(codec, self.since()))
    }
}

/// Whether a codec leaves the choice, for servers of a release and later.
pub(super) fn leaves_choice(codec: &CodecSpec, release: (u16, u16)) -> bool {
    codec.calls.iter().any(|call| {
        matches!(Choice::of(call), Some(Ok(choice)) if !choice.plain && choice.since >= release)
    })
}

/// What may be chosen instead of inline; none if there is nothing to choose.
pub(super) fn candidates(spec: &PartSpec) -> Vec<StringLayout> {
    if spec.strings != StringLayout::Smaller || spec.dialect == super::Dialect::Old {
        return Vec::new();
    }
    StringLayout::SIZED.into_iter().filter(|layout| layout.is_free(spec)).collect()
}

/// The first rows of a part, kept until there are enough of them to choose by.
#[derive(Debug)]
pub(super) struct Opening {
    pub(super) batches: Vec<(RecordBatch, Vec<ArrayRef>)>,
    pub(super) rows: usize,
    bytes: usize,
    candidates: Vec<StringLayout>,
}

impl Opening {
    pub(super) fn new(candidates: Vec<StringLayout>) -> Self {
        Self { batches: Vec::new(), rows: 0, bytes: 0, candidates }
    }

    /// Keeps rows; true when there are enough.
    pub(super) fn push(&mut self, batch: &RecordBatch, keys: &[ArrayRef]) -> bool {
        self.rows += batch.num_rows();
        self.bytes += batch.get_array_memory_size();
        self.batches.push((batch.clone(), keys.to_vec()));
        self.rows >= ROWS_MAX || self.bytes >= BYTES_MAX
    }

    /// The values of a column.
    pub(super) fn values(&self, column: usize) -> Vec<ArrayRef> {
        self.batches.iter().map(|(batch, _)| Arc::clone(batch.column(column))).collect()
    }

    /// Whether any layout makes a difference for a column.
    fn changes(&self, column: &Column) -> bool {
        self.candidates.iter().any(|layout| layout.changes(column))
    }

    /// The layout that takes the fewest bytes; `None` if there is nothing to choose.
    pub(super) fn choose(&self, spec: &PartSpec) -> Result<Option<StringLayout>, PartError> {
        if self.candidates.is_empty() {
            return Ok(None);
        }
        let mut inline = 0;
        let mut totals = vec![0; self.candidates.len()];
        for (index, (column, codec)) in spec.columns.iter().enumerate() {
            if !self.changes(column) {
                continue;
            }
            let arrays = self.values(index);
            let bytes =
                |strings: StringLayout| stored_bytes(column, codec, &strings.layout(), &arrays);
            let plain = bytes(StringLayout::Inline)?;
            inline += plain;
            // Layouts that change a column at all mostly make the same streams of it.
            let mut known: Option<(Vec<StreamName>, u64)> = None;
            for (layout, total) in self.candidates.iter().zip(&mut totals) {
                if !layout.changes(column) {
                    *total += plain;
                    continue;
                }
                let described = streams(&column.name, &column.data_type, &layout.layout());
                let names: Vec<StreamName> = described.into_iter().map(|it| it.name).collect();
                let sized = match &known {
                    Some((as_before, sized)) if *as_before == names => *sized,
                    _ => bytes(*layout)?,
                };
                known = Some((names, sized));
                *total += sized;
            }
        }
        let texts = spec.columns.iter().filter(|(column, _)| self.changes(column));
        let is_fast = texts.flat_map(|(_, codec)| &codec.calls).any(|call| {
            matches!(Choice::of(call), Some(Ok(choice)) if choice.objective != Objective::Size)
        });
        let limit = if is_fast { 1.0 + LOSS_MAX } else { 1.0 - GAIN_MIN };
        let best = self.candidates.iter().zip(totals).min_by_key(|(_, total)| *total);
        Ok(Some(match best {
            Some((layout, total)) if (total as f64) < inline as f64 * limit => *layout,
            _ => StringLayout::Inline,
        }))
    }
}

/// The streams of a column in memory.
pub(super) struct Memory {
    pub(super) streams: Vec<(StreamName, Vec<u8>)>,
    pub(super) stray: Vec<u8>,
}

impl Sinks for Memory {
    fn stream(&mut self, name: &StreamName) -> &mut Vec<u8> {
        match self.streams.iter_mut().find(|(known, _)| known == name) {
            Some((_, bytes)) => bytes,
            None => &mut self.stray,
        }
    }
}

/// Bytes that values of a column take in a part, all streams with their blocks, without marks: what layouts are compared by.
/// Dictionaries are sorted, as in parts. Nothing is chosen here: [`StringLayout::Smaller`] is as inline.
pub fn stored_bytes(
    column: &Column,
    codec: &CodecSpec,
    layout: &Layout,
    arrays: &[ArrayRef],
) -> Result<u64, PartError> {
    let described = streams(&column.name, &column.data_type, layout);
    let empty = described.iter().map(|stream| (stream.name.clone(), Vec::new())).collect();
    let mut memory = Memory { streams: empty, stray: Vec::new() };
    let mut writer = ColumnWriter::with_layout(&column.name, &column.data_type, layout)?;
    writer.prefix(&mut memory)?;
    let mut held = Vec::new();
    for array in arrays {
        for start in (0..array.len()).step_by(GRANULE_ROWS) {
            let granule = array.slice(start, GRANULE_ROWS.min(array.len() - start));
            if !writer.can_learn() {
                writer.granule(&granule, &mut memory)?;
                continue;
            }
            let is_full = writer.learn(&granule)?;
            held.push(granule);
            if is_full {
                release(&mut writer, &mut held, &mut memory)?;
            }
        }
    }
    release(&mut writer, &mut held, &mut memory)?;
    writer.finish(&mut memory)?;
    let mut stored = Vec::new();
    let mut total = 0;
    for (stream, (_, bytes)) in described.iter().zip(&memory.streams) {
        let mut encoder = encoder(&column.name, codec, stream)?;
        let block = encoder.block_bytes().unwrap_or((BLOCK_BYTES_MIN, BLOCK_BYTES_MAX)).0;
        for piece in bytes.chunks(block) {
            stored.clear();
            encoder.encode(piece, &mut stored).map_err(|cause| {
                let place = Box::new(crate::Place::column(&column.name));
                PartError::Block { place, cause }
            })?;
            total += stored.len() as u64;
        }
    }
    Ok(total)
}

/// Writes what was learned.
fn release(
    writer: &mut ColumnWriter,
    held: &mut Vec<ArrayRef>,
    memory: &mut Memory,
) -> Result<(), PartError> {
    if held.is_empty() {
        return Ok(());
    }
    writer.sort_keys();
    for granule in held.drain(..) {
        writer.granule(&granule, memory)?;
    }
    writer.settle(memory);
    Ok(())
}
