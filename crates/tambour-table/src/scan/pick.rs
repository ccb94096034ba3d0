//! Single rows of a scan, by their places: what a query that keeps a few rows of many reads last.

use super::{Scan, ScanFilter, ScanReader, column_named, columns_in};
use crate::{Table, TableError};
use arrow_array::{BooleanArray, RecordBatch, UInt64Array};
use arrow_schema::Schema;
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use tambour_part::Part;
use tambour_part::part::ReadRequest;
use tambour_part::types::Strings;

/// Where a row of a scan is. Rows of tables from which nothing is deleted have one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowPlace(u64);

impl RowPlace {
    /// Bits of the number of a row in its part.
    const ROW_BITS: u32 = 40;

    /// A row of a part, by its place in [`Scan::parts`]. `None` past 2^24 parts or 2^40 rows.
    pub fn new(part: usize, row: u64) -> Option<Self> {
        let part = u64::try_from(part).ok().filter(|part| *part < 1 << (64 - Self::ROW_BITS))?;
        (row < 1 << Self::ROW_BITS).then_some(Self(part << Self::ROW_BITS | row))
    }
    /// As a number, and back.
    pub fn number(self) -> u64 {
        self.0
    }
    /// What [`RowPlace::number`] gave.
    pub fn of_number(number: u64) -> Self {
        Self(number)
    }
    fn part(self) -> usize {
        usize::try_from(self.0 >> Self::ROW_BITS).unwrap_or(usize::MAX)
    }
    fn row(self) -> u64 {
        self.0 & ((1 << Self::ROW_BITS) - 1)
    }
}

/// The rows of one granule that are wanted, from its start.
struct Wanted {
    granule: usize,
    rows: Vec<usize>,
}

/// Keeps the rows that are wanted of the granules that are read, which are just those that have some.
struct Picking {
    parts: VecDeque<VecDeque<Wanted>>,
    /// Of the part that is read.
    left: VecDeque<Wanted>,
    /// Of the granule that is read.
    rows: Vec<usize>,
}

impl ScanFilter for Picking {
    fn opens(&mut self, _part: &Part) {
        self.left = self.parts.pop_front().unwrap_or_default();
    }
    fn wants(&mut self, granules: &Range<usize>) -> bool {
        self.rows.clear();
        while let Some(wanted) = self.left.pop_front_if(|it| it.granule < granules.end) {
            self.rows.extend(wanted.rows);
        }
        !self.rows.is_empty()
    }
    fn kept(&mut self, rows: &RecordBatch) -> Option<BooleanArray> {
        let mut kept = vec![false; rows.num_rows()];
        for row in &self.rows {
            *kept.get_mut(*row)? = true;
        }
        Some(kept.into())
    }
}

/// The rows in front of each granule, and all of them at the end.
pub fn starts_of(granules: &[u64]) -> Vec<u64> {
    let sums = granules.iter().scan(0, |sum, rows| {
        *sum += rows;
        Some(*sum)
    });
    std::iter::once(0).chain(sums).collect()
}

impl Scan {
    /// The index of a part among those of the scan; `None` of another.
    pub fn place_of(&self, part: &Part) -> Option<usize> {
        let hash = part.content_hash();
        self.parts.iter().position(|it| it.content_hash == hash)
    }

    /// The rows at some places, in the order of these, and the bytes that were read for them. A batch of the reading
    /// takes at most `bytes_max` bytes.
    pub fn pick(
        &self,
        table: &Table,
        places: &[RowPlace],
        bytes_max: u64,
    ) -> Result<(RecordBatch, u64), TableError> {
        let lost = |what: &str| TableError::Scan { problem: format!("rows by place: {what}") };
        let strings = if self.binary_strings { Strings::Binary } else { Strings::Utf8 };
        let columns: Vec<_> =
            self.columns.iter().map(|name| column_named(table, name)).collect::<Result<_, _>>()?;
        let fields = columns.iter().map(|column| column.data_type.field(&column.name, strings));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let mut reads = VecDeque::new();
        let mut parts: VecDeque<VecDeque<Wanted>> = VecDeque::new();
        let mut last = None;
        let mut starts: Vec<u64> = Vec::new();
        // Parts with the same contents are the same to a scan, so two rows may have one place.
        let mut different: Vec<RowPlace> = places.to_vec();
        different.sort_unstable();
        different.dedup();
        for &place in &different {
            let (part, name) = self.part(table, place.part())?;
            if last != Some(place.part()) {
                last = Some(place.part());
                starts = starts_of(part.granules());
                // A batch is one granule.
                let request = ReadRequest {
                    columns: columns_in(part, &columns)?,
                    granules: Vec::new(),
                    batch_rows: 1,
                    strings,
                };
                reads.push_back((Arc::clone(part), name.to_owned(), request));
                parts.push_back(VecDeque::new());
            }
            let (Some((_, _, request)), Some(wanted)) = (reads.back_mut(), parts.back_mut()) else {
                return Err(lost("no part"));
            };
            let granule = starts.partition_point(|start| *start <= place.row());
            let granule = granule.checked_sub(1).filter(|it| *it < part.granules().len());
            let granule = granule.ok_or_else(|| lost("no such row"))?;
            let row = usize::try_from(place.row() - starts[granule]);
            let row = row.map_err(|_| lost("no such row"))?;
            match wanted.back_mut() {
                Some(wanted) if wanted.granule == granule => wanted.rows.push(row),
                _ => {
                    request.granules.push(granule..granule + 1);
                    wanted.push_back(Wanted { granule, rows: vec![row] });
                }
            }
        }
        let reader = ScanReader::new(table.path(), Arc::clone(&schema), reads, u64::MAX);
        let mut reader = reader.with_bytes_max(bytes_max);
        let mut picking = Picking { parts, left: VecDeque::new(), rows: Vec::new() };
        let mut batches = Vec::new();
        while let Some(batch) = reader.next_kept(&[], &mut picking) {
            batches.push(batch?);
        }
        let found = concat_batches(&schema, &batches).map_err(TableError::arrow("pick rows"))?;
        if found.num_rows() != different.len() {
            return Err(lost("not all of them were found"));
        }
        let ranks = places.iter().map(|it| different.partition_point(|other| other < it) as u64);
        let found = take_record_batch(&found, &UInt64Array::from_iter_values(ranks));
        Ok((found.map_err(TableError::arrow("pick rows"))?, reader.bytes_read()))
    }
}
