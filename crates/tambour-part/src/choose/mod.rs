//! The layout of columns, chosen on a sample of their rows: types that hold the same values in fewer bytes. How strings lie in
//! a part is chosen when it is written ([`crate::write::StringLayout`]). `docs/codec-choice.md` explains both.
//!
//! What is chosen here comes from a sample: a [`Change`] says whether all rows are known to fit. Whoever reads the others
//! refuses a value that does not, and goes back to the type from before.

pub mod facts;
mod sketch;

use crate::DataType;
use crate::PartError;
use crate::column::{Layout, can_be_sparse};
use crate::types::{Column, Strings};
use crate::write::{StringLayout, stored_bytes};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::ArrowError;
use arrow_schema::DataType as Arrow;
use facts::Facts;
use sketch::Sketch;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use tambour_codec::Kind;
use tambour_codec::choose::{Choice, Objective};
use tambour_codec::spec::CodecSpec;

/// Fewer rows say nothing of a column.
pub const ROWS_MIN: usize = 1_000;
/// A type that was seen to hold part of the rows must hold values this many times as large.
const HEADROOM: i128 = 16;
/// Different values of a number or date for which a dictionary is tried, and rows that each must have.
const DIFFERENT_MAX: usize = 8_192;
const ROWS_PER_DIFFERENT: usize = 16;
/// Rows of each piece in which different values are counted, and number of pieces.
const PIECE_ROWS: usize = 8_192;
const PIECES: usize = 8;
/// A dictionary of numbers takes time to read that their own codecs do not, and needs a word to the server: it must keep no
/// more than these shares of the bytes, by size and where time counts.
const DICTIONARY_SHARE: f64 = 0.95;
const DICTIONARY_SHARE_FAST: f64 = 0.8;
/// Different texts above which a dictionary is slower to read than the texts, and the share of the bytes that it may keep then where time
/// counts.
const TEXTS_MAX: usize = 32_768;
const TEXTS_SHARE_FAST: f64 = 0.5;

/// An error while types are chosen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChooseError {
    /// A column of the sample cannot be written.
    #[error("type of column `{column}`")]
    Column {
        /// The column.
        column: String,
        /// Why.
        #[source]
        cause: PartError,
    },
    /// Arrow could not do something with the sample.
    #[error("{operation}")]
    Arrow {
        /// What was being done.
        operation: &'static str,
        /// Why not.
        #[source]
        cause: ArrowError,
    },
}

impl ChooseError {
    /// The kind of this error.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Column { cause, .. } => cause.kind(),
            Self::Arrow { .. } => Kind::Argument,
        }
    }
}

/// What is known of a column besides the sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// The type stays.
    pub keep: bool,
    /// Bounds of the whole numbers in it, of all rows if `complete`.
    pub range: Option<(i128, i128)>,
    /// The range holds for all rows.
    pub complete: bool,
}

/// Another type for a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The type.
    pub data_type: DataType,
    /// Every row is known to fit.
    pub certain: bool,
    /// The values are written more finely, and all are whole: floats that are integers, moments at whole seconds.
    pub whole: bool,
}

/// How types are chosen.
#[derive(Clone, Debug)]
pub struct LayoutOptions {
    /// The codec by which bytes are counted.
    pub codec: CodecSpec,
    /// The sample is all there is.
    pub complete: bool,
    /// Threads; columns are worked on side by side.
    pub threads: usize,
}

/// Chooses a type for each column; `None` where it stays. `known` is in the order of the columns, which `sample` has, too.
pub fn choose(
    columns: &[Column],
    sample: &[RecordBatch],
    known: &[Known],
    options: &LayoutOptions,
) -> Result<Vec<Option<Change>>, ChooseError> {
    let rows: usize = sample.iter().map(RecordBatch::num_rows).sum();
    if rows < ROWS_MIN {
        return Ok(vec![None; columns.len()]);
    }
    side_by_side(options.threads, columns.len(), |index| {
        let known = known.get(index).copied().unwrap_or_default();
        if known.keep {
            return Ok(None);
        }
        let arrays: Vec<ArrayRef> =
            sample.iter().map(|batch| batch.column(index).clone()).collect();
        let trial = Trial { column: &columns[index], arrays: &arrays, known, options };
        trial.run()
    })
}

/// Whether ClickHouse makes a column of this type only with `allow_suspicious_low_cardinality_types`: a dictionary of values
/// of at most eight bytes.
///
/// ```
/// use tambour_part::choose::needs_permission;
/// assert!(needs_permission(&"LowCardinality(UInt8)".parse()?));
/// assert!(!needs_permission(&"LowCardinality(String)".parse()?));
/// # Ok::<(), tambour_part::PartError>(())
/// ```
pub fn needs_permission(data_type: &DataType) -> bool {
    match data_type {
        DataType::LowCardinality(inner) => {
            let unwrapped = inner.unwrapped();
            !matches!(unwrapped, DataType::String | DataType::FixedString(_) | DataType::Uuid)
        }
        DataType::Nullable(inner) | DataType::Array(inner) => needs_permission(inner),
        DataType::Map(key, value) => needs_permission(key) || needs_permission(value),
        DataType::Tuple(elements) => elements.iter().any(|(_, inner)| needs_permission(inner)),
        _ => false,
    }
}

/// The first release that surely takes the setting for such types in the statement.
const PERMISSION_SINCE: (u16, u16) = (25, 2);

/// An integer that a narrower one may hold.
pub fn is_wide_integer(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::UInt16
            | DataType::UInt32
            | DataType::UInt64
            | DataType::Int16
            | DataType::Int32
            | DataType::Int64
    )
}

/// The bounds of an integer of at most 64 bits.
///
/// ```
/// use tambour_part::choose::integer_range;
/// assert_eq!(integer_range(&"Int8".parse()?), Some((-128, 127)));
/// assert_eq!(integer_range(&"String".parse()?), None);
/// # Ok::<(), tambour_part::PartError>(())
/// ```
pub fn integer_range(data_type: &DataType) -> Option<(i128, i128)> {
    Some(match data_type {
        DataType::UInt8 => (0, u8::MAX.into()),
        DataType::UInt16 => (0, u16::MAX.into()),
        DataType::UInt32 => (0, u32::MAX.into()),
        DataType::UInt64 => (0, u64::MAX.into()),
        DataType::Int8 => (i8::MIN.into(), i8::MAX.into()),
        DataType::Int16 => (i16::MIN.into(), i16::MAX.into()),
        DataType::Int32 => (i32::MIN.into(), i32::MAX.into()),
        DataType::Int64 => (i64::MIN.into(), i64::MAX.into()),
        _ => return None,
    })
}

/// The narrowest integer for a range, unsigned if nothing is negative.
///
/// ```
/// use tambour_part::choose::integer;
/// assert_eq!(integer(0, 255), Some("UInt8".parse()?));
/// assert_eq!(integer(-1, 255), Some("Int16".parse()?));
/// # Ok::<(), tambour_part::PartError>(())
/// ```
pub fn integer(low: i128, high: i128) -> Option<DataType> {
    let fits = |min: i128, max: i128| low >= min && high <= max;
    Some(match () {
        () if fits(0, u8::MAX.into()) => DataType::UInt8,
        () if fits(i8::MIN.into(), i8::MAX.into()) => DataType::Int8,
        () if fits(0, u16::MAX.into()) => DataType::UInt16,
        () if fits(i16::MIN.into(), i16::MAX.into()) => DataType::Int16,
        () if fits(0, u32::MAX.into()) => DataType::UInt32,
        () if fits(i32::MIN.into(), i32::MAX.into()) => DataType::Int32,
        () if fits(0, u64::MAX.into()) => DataType::UInt64,
        () if fits(i64::MIN.into(), i64::MAX.into()) => DataType::Int64,
        () => return None,
    })
}

/// Does `count` jobs on several threads; what comes of them is in their order.
pub fn side_by_side<T: Send, E: Send>(
    threads: usize,
    count: usize,
    job: impl Fn(usize) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return;
            }
            let result = job(index);
            let mut done = done.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            done.push((index, result));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(count) {
            scope.spawn(work);
        }
        work();
    });
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

/// One column.
struct Trial<'a> {
    column: &'a Column,
    arrays: &'a [ArrayRef],
    known: Known,
    options: &'a LayoutOptions,
}

impl Trial<'_> {
    fn run(&self) -> Result<Option<Change>, ChooseError> {
        let data_type = &self.column.data_type;
        if matches!(data_type, DataType::LowCardinality(_)) {
            return Ok(None);
        }
        match data_type.unwrapped() {
            DataType::String => self.text(),
            DataType::UInt8
            | DataType::UInt16
            | DataType::UInt32
            | DataType::UInt64
            | DataType::Int8
            | DataType::Int16
            | DataType::Int32
            | DataType::Int64
            | DataType::Float32
            | DataType::Float64
            | DataType::Date
            | DataType::Date32
            | DataType::DateTime { .. }
            | DataType::DateTime64 { .. } => self.number(),
            _ => Ok(None),
        }
    }

    /// A dictionary, if it takes fewer bytes than the better of the two layouts of strings.
    fn text(&self) -> Result<Option<Change>, ChooseError> {
        let (different, rows) = self.different()?;
        let all_different = self.all_different();
        if different * 2 > rows && all_different * 2 > self.rows() {
            return Ok(None);
        }
        let is_small = self.choice().is_some_and(|it| it.objective == Objective::Size);
        let share = if is_small || all_different <= TEXTS_MAX { 1.0 } else { TEXTS_SHARE_FAST };
        let data_type = self.column.data_type.clone();
        let low = DataType::LowCardinality(Box::new(data_type.clone()));
        let plain = self.bytes(&data_type, StringLayout::Inline, self.arrays)?;
        let plain = plain.min(self.bytes(&data_type, StringLayout::SizedInside, self.arrays)?);
        let stored = self.bytes(&low, StringLayout::Inline, self.arrays)?;
        let change = Change { data_type: low, certain: true, whole: false };
        Ok(((stored as f64) < plain as f64 * share).then_some(change))
    }

    fn number(&self) -> Result<Option<Change>, ChooseError> {
        let mut facts = Facts::default();
        self.arrays.iter().for_each(|array| facts.add(array));
        if facts.nulls == facts.rows {
            return Ok(None);
        }
        let narrow = self.narrow(&facts);
        let data_type =
            narrow.as_ref().map_or(&self.column.data_type, |change| &change.data_type).clone();
        // A dictionary of ClickHouse's takes -0.0 for 0.0 and one NaN for another when it merges, so that all floats have to be
        // known; of DateTime64 it has none.
        let is_float = [DataType::Float32, DataType::Float64].contains(data_type.unwrapped());
        let is_ambiguous = is_float && (facts.ambiguous || !self.options.complete);
        if is_ambiguous || matches!(data_type.unwrapped(), DataType::DateTime64 { .. }) {
            return Ok(narrow);
        }
        let arrays = match &narrow {
            Some(change) if change.whole => whole(self.arrays, &change.data_type)?,
            _ => self.arrays.to_vec(),
        };
        let choice = self.choice();
        if choice.as_ref().is_some_and(|it| it.plain || it.since < PERMISSION_SINCE) {
            return Ok(narrow);
        }
        let (different, rows) = self.different()?;
        if different > DIFFERENT_MAX || different * ROWS_PER_DIFFERENT > rows {
            return Ok(narrow);
        }
        let low = DataType::LowCardinality(Box::new(data_type.clone()));
        let mut plain = self.bytes(&data_type, StringLayout::Inline, &arrays)?;
        if can_be_sparse(&data_type) {
            // Of nearly nothing but defaults, a part has the others alone.
            plain = plain.min(self.bytes_in(&data_type, &sparse(), &arrays)?);
        }
        let stored = self.bytes(&low, StringLayout::Inline, &arrays)?;
        let share = match choice.map(|it| it.objective) {
            Some(Objective::Size) => DICTIONARY_SHARE,
            _ => DICTIONARY_SHARE_FAST,
        };
        if stored as f64 > plain as f64 * share {
            return Ok(narrow);
        }
        let (certain, whole) =
            narrow.map_or((true, false), |change| (change.certain, change.whole));
        Ok(Some(Change { data_type: low, certain, whole }))
    }

    /// Seconds for moments that have no fraction, if all are among those of DateTime.
    fn seconds(&self, facts: &Facts, zone: Option<&String>) -> Option<Change> {
        let (first, last) = facts.range?;
        if facts.subsecond || first < 0 || last > i128::from(u32::MAX) {
            return None;
        }
        let data_type = self.as_nullable(DataType::DateTime { zone: zone.cloned() });
        Some(Change { data_type, certain: self.options.complete, whole: true })
    }

    /// A type, Nullable if that of the column is.
    fn as_nullable(&self, data_type: DataType) -> DataType {
        match &self.column.data_type {
            DataType::Nullable(_) => DataType::Nullable(Box::new(data_type)),
            _ => data_type,
        }
    }

    /// The narrowest integer for whole numbers, if it is narrower than the type; seconds for finer moments.
    fn narrow(&self, facts: &Facts) -> Option<Change> {
        let data_type = &self.column.data_type;
        if let DataType::DateTime64 { zone, .. } = data_type.unwrapped() {
            return self.seconds(facts, zone.as_ref());
        }
        let whole = matches!(data_type.unwrapped(), DataType::Float32 | DataType::Float64);
        let is_number = whole || is_wide_integer(data_type.unwrapped());
        if !is_number || facts.fractional {
            return None;
        }
        let (mut low, mut high) = facts.range?;
        // A range that somebody stated is no reason to believe that it holds what was seen.
        if let Some((least, greatest)) = self.known.range {
            (low, high) = (low.min(least), high.max(greatest));
        }
        let certain = self.options.complete || (self.known.complete && !whole);
        let room = if certain { 1 } else { HEADROOM };
        let narrow = integer(low.saturating_mul(room), high.saturating_mul(room))?;
        let width = data_type.unwrapped().fixed_width();
        // A float that is as wide gains by the codecs of integers.
        if narrow.fixed_width() > width || !whole && narrow.fixed_width() == width {
            return None;
        }
        Some(Change { data_type: self.as_nullable(narrow), certain, whole })
    }

    fn choice(&self) -> Option<Choice> {
        self.options.codec.calls.iter().filter_map(Choice::of).flatten().next()
    }

    fn bytes(
        &self,
        data_type: &DataType,
        strings: StringLayout,
        arrays: &[ArrayRef],
    ) -> Result<u64, ChooseError> {
        self.bytes_in(data_type, &strings.layout(), arrays)
    }

    fn bytes_in(
        &self,
        data_type: &DataType,
        layout: &Layout,
        arrays: &[ArrayRef],
    ) -> Result<u64, ChooseError> {
        let column = Column { name: self.column.name.clone(), data_type: data_type.clone() };
        stored_bytes(&column, &self.options.codec, layout, arrays)
            .map_err(|cause| ChooseError::Column { column: self.column.name.clone(), cause })
    }

    fn rows(&self) -> usize {
        self.arrays.iter().map(Array::len).sum()
    }

    /// About how many different texts the whole sample has: many of a piece may come again in others.
    fn all_different(&self) -> usize {
        let mut sketch = Sketch::default();
        for array in self.arrays {
            match array.data_type() {
                Arrow::Utf8View => texts(array.as_string_view().iter(), &mut sketch),
                Arrow::Utf8 => texts(array.as_string::<i32>().iter(), &mut sketch),
                Arrow::LargeUtf8 => texts(array.as_string::<i64>().iter(), &mut sketch),
                Arrow::BinaryView => texts(array.as_binary_view().iter(), &mut sketch),
                Arrow::Binary => texts(array.as_binary::<i32>().iter(), &mut sketch),
                Arrow::LargeBinary => texts(array.as_binary::<i64>().iter(), &mut sketch),
                _ => return self.rows(),
            }
        }
        sketch.different()
    }

    /// How many different values some pieces of the sample have, of how many rows.
    fn different(&self) -> Result<(usize, usize), ChooseError> {
        let wrong = |cause| ChooseError::Arrow { operation: "counting different values", cause };
        let step = (self.rows() / PIECES).max(PIECE_ROWS);
        let mut pieces: Vec<ArrayRef> = Vec::new();
        let (mut next, mut start) = (0, 0);
        for array in self.arrays {
            while next < start + array.len() {
                // A piece ends with its array; the next one is as far on as if it had not.
                let rows = PIECE_ROWS.min(start + array.len() - next);
                pieces.push(array.slice(next - start, rows));
                next += step;
            }
            start += array.len();
        }
        let rows = pieces.iter().map(Array::len).sum();
        let pieces: Vec<&dyn Array> = pieces.iter().map(AsRef::as_ref).collect();
        let all = arrow_select::concat::concat(&pieces).map_err(wrong)?;
        let plain = match all.data_type() {
            Arrow::Timestamp(..) => Arrow::Int64,
            Arrow::Date32 => Arrow::Int32,
            Arrow::Utf8View => Arrow::Utf8,
            Arrow::BinaryView => Arrow::Binary,
            other => other.clone(),
        };
        let all = arrow_cast::cast(&all, &plain).map_err(wrong)?;
        let wanted = Arrow::Dictionary(Box::new(Arrow::UInt32), Box::new(plain));
        let all = arrow_cast::cast(&all, &wanted).map_err(wrong)?;
        Ok((all.as_any_dictionary().values().len(), rows))
    }
}

fn sparse() -> Layout {
    Layout { sparse: true, ..Layout::default() }
}

fn texts<T: AsRef<[u8]>>(values: impl Iterator<Item = Option<T>>, sketch: &mut Sketch) {
    values.flatten().for_each(|text| sketch.add(text.as_ref()));
}

/// Floats that are whole numbers as integers, moments at whole seconds in the form of their new type.
fn whole(arrays: &[ArrayRef], data_type: &DataType) -> Result<Vec<ArrayRef>, ChooseError> {
    let strict = arrow_cast::CastOptions { safe: false, ..Default::default() };
    let wanted = match data_type.unwrapped() {
        DataType::DateTime { .. } => data_type.unwrapped().arrow(Strings::Utf8),
        _ => DataType::Int64.arrow(Strings::Utf8),
    };
    let cast = |array: &ArrayRef| arrow_cast::cast_with_options(array, &wanted, &strict);
    let cast: Result<Vec<ArrayRef>, _> = arrays.iter().map(cast).collect();
    cast.map_err(|cause| ChooseError::Arrow { operation: "reading whole numbers", cause })
}

#[cfg(test)]
mod tests;
