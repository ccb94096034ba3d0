//! Whether an inverted index is right about the rows of its part.

use super::Shape;
use super::file::TextFile;
use crate::IndexError;
use crate::kind::{Index, bare};
use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::DataType as ArrowType;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use tambour_part::Part;
use tambour_part::part::ReadRequest;
use tambour_part::types::{DataType, Strings};
use tambour_table::{Table, TableError};

/// Rows and bytes of texts that are compared at once.
const BATCH_ROWS: usize = 65_536;
const BATCH_BYTES: usize = 4 << 20;
/// Tokens that are looked up of a granule before an index is believed.
const SAMPLE_TOKENS: usize = 256;

/// Tokens, and the rows that each is in: one of every range must be in the index.
#[derive(Debug, Default)]
struct Wanted {
    tokens: BTreeMap<Vec<u8>, Vec<Range<u64>>>,
    bytes: usize,
}

impl Wanted {
    /// Adds the tokens of some rows, of which the first is the row `start`. `within` is the range of rows that each of them is in, if
    /// no more is known.
    fn add(
        &mut self,
        (shape, data_type): (&Shape, &DataType),
        values: &ArrayRef,
        start: u64,
        within: Option<&Range<u64>>,
    ) -> Result<(), IndexError> {
        each_text(values, data_type, &mut |row, text| {
            let row = start + row as u64;
            let rows = within.cloned().unwrap_or(row..row + 1);
            let text = shape.folded(text);
            self.bytes += text.len();
            for token in shape.tokenizer.tokens(&text).unwrap_or_default() {
                if let Some(ranges) = self.tokens.get_mut(token) {
                    if ranges.last() != Some(&rows) {
                        ranges.push(rows.clone());
                    }
                } else {
                    self.tokens.insert(token.to_vec(), vec![rows.clone()]);
                }
            }
        })
    }

    /// The first row of a range that the index is wrong about.
    fn missing(&self, file: &mut TextFile) -> Result<Option<u64>, IndexError> {
        let ranges = || self.tokens.values().flatten();
        let (start, end) = (ranges().map(|it| it.start).min(), ranges().map(|it| it.end).max());
        let (Some(start), Some(end)) = (start, end) else { return Ok(None) };
        let (tokens, wanted): (Vec<_>, Vec<_>) = self.tokens.iter().unzip();
        let mut missing = None;
        file.find(&tokens, &(start..end), &mut |token, rows| {
            let lacks = wanted[token].iter().find(|range| !rows.has_any(range));
            missing = missing.or(lacks.map(|range| range.start));
        })?;
        Ok(missing)
    }
}

/// Calls `each` with the texts of a column and their rows; NULLs and empty texts are left out.
fn each_text(
    values: &ArrayRef,
    data_type: &DataType,
    each: &mut dyn FnMut(usize, &[u8]),
) -> Result<(), IndexError> {
    let failed = || TableError::arrow("cut texts into tokens");
    let binary = |values: &ArrayRef| {
        let plain = arrow_cast::cast(values, &ArrowType::LargeBinary);
        plain.map_err(failed())
    };
    if !matches!(bare(data_type), DataType::Array(_)) {
        let texts = binary(values)?;
        let texts = texts.as_binary::<i64>().iter().enumerate();
        for (row, text) in texts {
            text.filter(|it| !it.is_empty()).into_iter().for_each(|text| each(row, text));
        }
        return Ok(());
    }
    let lists = arrow_cast::cast(
        values,
        &ArrowType::LargeList(Arc::new(arrow_schema::Field::new(
            "item",
            ArrowType::LargeBinary,
            true,
        ))),
    );
    let lists = lists.map_err(failed())?;
    for (row, list) in lists.as_list::<i64>().iter().enumerate() {
        let Some(list) = list else { continue };
        let texts = list.as_binary::<i64>().iter().flatten();
        texts.filter(|it| !it.is_empty()).for_each(|text| each(row, text));
    }
    Ok(())
}

/// Reads the column of an index in some granules, one batch after the other.
fn batches(
    table: &Table,
    part: &Arc<Part>,
    index: &Index,
    granules: Range<usize>,
    each: &mut dyn FnMut(&RecordBatch) -> Result<(), IndexError>,
) -> Result<(), IndexError> {
    let place = |name: &String| part.columns().iter().position(|it| it.name == *name);
    let columns = index.definition.columns.iter().map(place).collect::<Option<Vec<_>>>();
    let Some(columns) = columns else {
        return Err(IndexError::Unusable { reason: "the part lacks its columns" });
    };
    let granules = std::iter::once(granules).collect();
    let request =
        ReadRequest { columns, granules, batch_rows: BATCH_ROWS, strings: Strings::Binary };
    let failed = |cause| TableError::part(table.path(), part.name())(cause);
    for batch in part.scan(request).map_err(failed)? {
        each(&batch.map_err(failed)?)?;
    }
    Ok(())
}

/// The rows before a granule.
fn start_of(part: &Part, granule: usize) -> u64 {
    part.granules().iter().take(granule).sum()
}

fn granule_of(part: &Part, row: u64) -> usize {
    let mut end = 0;
    let ends = part.granules().iter().map(|rows| {
        end += rows;
        end
    });
    ends.take_while(|end| *end <= row).count()
}

/// Compares all of an index with the rows of its part, and reads every list of rows.
pub(crate) fn check(table: &Table, part: &Arc<Part>, index: &Index) -> Result<(), IndexError> {
    let (Some(mut file), Some(shape)) = (TextFile::open(part, index)?, &index.text) else {
        return Ok(());
    };
    for block in 0..file.blocks() {
        file.check_block(block)?;
    }
    let of = (shape, &index.columns[0].data_type);
    let mut wanted = Wanted::default();
    let mut compare = |wanted: &mut Wanted| {
        let missing = std::mem::take(wanted).missing(&mut file)?;
        let wrong = |row| IndexError::Wrong { entry: 0, granule: granule_of(part, row) };
        missing.map_or(Ok(()), |row| Err(wrong(row)))
    };
    let count = part.granules().len();
    // Which rows are deleted is not said to readers: then a token must be somewhere in the granule.
    let step = if part.has_deleted_rows() { 1 } else { count.max(1) };
    let (mut start, mut rows_read) = (0, 0);
    for granule in (0..count).step_by(step) {
        let granules = granule..granule + step;
        let end = start + part.granules()[granules.clone()].iter().sum::<u64>();
        let (range, mut row) = (start..end, start);
        let within = part.has_deleted_rows().then_some(&range);
        batches(table, part, index, granules, &mut |batch| {
            wanted.add(of, batch.column(0), row, within)?;
            row += batch.num_rows() as u64;
            rows_read += batch.num_rows();
            if wanted.bytes >= BATCH_BYTES || rows_read >= BATCH_ROWS {
                rows_read = 0;
                compare(&mut wanted)?;
            }
            Ok(())
        })?;
        start = end;
    }
    compare(&mut wanted)
}

/// True if an index has tokens of the rows of a granule.
pub(crate) fn is_right(
    table: &Table,
    part: &Arc<Part>,
    index: &Index,
    file: &mut TextFile,
    granule: usize,
) -> Result<bool, IndexError> {
    let Some(shape) = &index.text else { return Ok(false) };
    let (mut wanted, start) = (Wanted::default(), start_of(part, granule));
    let range = start..start + part.granules().get(granule).copied().unwrap_or_default();
    let within = part.has_deleted_rows().then_some(&range);
    let mut row = start;
    batches(table, part, index, granule..granule + 1, &mut |batch| {
        // Long texts have enough tokens in the first rows.
        if wanted.bytes >= BATCH_BYTES {
            return Ok(());
        }
        wanted.add((shape, &index.columns[0].data_type), batch.column(0), row, within)?;
        row += batch.num_rows() as u64;
        Ok(())
    })?;
    // All of them would be most of the dictionary.
    let step = (wanted.tokens.len() / SAMPLE_TOKENS).max(1);
    let mut place = 0;
    wanted.tokens.retain(|_, _| {
        place += 1;
        place % step == 0
    });
    Ok(wanted.missing(file)?.is_none())
}
