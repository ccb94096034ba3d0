//! A scan is a value: it names what is read, and can be run later, in another process, on another machine.
//!
//! Planning prunes (see [`super::prune`]) and cuts what is left into partitions, the same way every time. Running opens one
//! partition: the parts are found by name, checked against the content hashes, and read granule by granule.

mod location;
mod merged;
mod pick;
mod pruning;
mod reader;
mod share;

pub use merged::{MergedReader, MergedScan};
pub use pick::{RowPlace, starts_of};
pub use reader::{ScanFilter, ScanReader};

use self::location::{path_of, url_of};
use self::pruning::Pruning;
use super::Table;
use super::ordinal;
use super::predicate::Predicate;
use crate::TableError;
use arrow_schema::Schema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use tambour_part::Part;
use tambour_part::part::ReadRequest;
use tambour_part::types::{Column, DataType, Strings};
use tambour_storage::Storage;

/// A part as a scan names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScanPart {
    /// Directory name.
    pub name: String,
    /// Content hash; another content under the same name is refused.
    pub content_hash: String,
    /// Rows.
    pub rows: u64,
    /// Number of granules.
    pub granules: usize,
}

/// A run of granules of one part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScanRange {
    /// Index into [`Scan::parts`].
    pub part: usize,
    /// First granule.
    pub start: usize,
    /// One past the last granule.
    pub end: usize,
    /// Rows in them.
    pub rows: u64,
}

/// What to read of a table: location, parts with content hashes, columns, filters, granule ranges, partitions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scan {
    /// Location as URL (`file:///…`).
    pub table: String,
    /// Columns by name, in the order wanted.
    pub columns: Vec<String>,
    /// What was pushed down; granules that cannot match are already left out of `partitions`.
    pub predicate: Predicate,
    /// Rows that suffice of each partition, if the query has a bare LIMIT.
    pub limit: Option<u64>,
    /// Strings as text or bytes (true = bytes).
    pub binary_strings: bool,
    /// Rows per batch at least.
    pub batch_rows: usize,
    /// The parts.
    pub parts: Vec<ScanPart>,
    /// Work lists; the same table and arguments give the same lists.
    pub partitions: Vec<Vec<ScanRange>>,
    /// True if every partition yields rows in the order of the sorting key.
    pub ordered: bool,
}

/// What pruning did, for EXPLAIN and the statistics line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pruned {
    /// Parts and granules of the table.
    pub parts_total: usize,
    /// Parts left after partition and min-max pruning, and with a granule left.
    pub parts_left: usize,
    /// Granules of the table.
    pub granules_total: usize,
    /// Granules left after all of it.
    pub granules_left: usize,
    /// Granules of parts left out whole, by their partition and the extremes of their columns.
    pub granules_by_parts: usize,
    /// Granules left out by the primary index.
    pub granules_by_key: usize,
    /// Granules left out by skip indexes: of the kind `minmax`, of the kind `set`, by Bloom filters, of the kind `text`.
    pub granules_by_indexes: [usize; 4],
}

impl Pruned {
    /// Names of its figures.
    pub const NAMES: [&str; 10] = [
        "parts",
        "parts_left",
        "granules",
        "granules_left",
        "granules_by_parts",
        "granules_by_key",
        "granules_by_minmax",
        "granules_by_set",
        "granules_by_bloom",
        "granules_by_text",
    ];

    /// Its figures, in the order of the names.
    pub fn figures(self) -> [usize; 10] {
        let [minmax, set, bloom, text] = self.granules_by_indexes;
        let (parts, key) = (self.granules_by_parts, self.granules_by_key);
        let Self { parts_total, parts_left, granules_total, granules_left, .. } = self;
        [
            parts_total,
            parts_left,
            granules_total,
            granules_left,
            parts,
            key,
            minmax,
            set,
            bloom,
            text,
        ]
    }

    /// What has these figures.
    pub fn of_figures(figures: [usize; 10]) -> Self {
        let [
            parts_total,
            parts_left,
            granules_total,
            granules_left,
            parts,
            key,
            minmax,
            set,
            bloom,
            text,
        ] = figures;
        Self {
            parts_total,
            parts_left,
            granules_total,
            granules_left,
            granules_by_parts: parts,
            granules_by_key: key,
            granules_by_indexes: [minmax, set, bloom, text],
        }
    }

    /// What left granules out, in words, and how many.
    pub fn left_out(self) -> impl Iterator<Item = (&'static str, usize)> {
        let [minmax, set, bloom, text] = self.granules_by_indexes;
        [
            ("partitions and ranges of parts", self.granules_by_parts),
            ("the primary index", self.granules_by_key),
            ("skip indexes (minmax)", minmax),
            ("skip indexes (set)", set),
            ("skip indexes (bloom filter)", bloom),
            ("skip indexes (text)", text),
        ]
        .into_iter()
    }

    /// Notes what the primary index left of a part of this many granules; `None` of a part that was left out before.
    fn count(&mut self, granules: usize, left: Option<&[Range<usize>]>) {
        self.parts_total += 1;
        self.granules_total += granules;
        let Some(left) = left else {
            self.granules_by_parts += granules;
            return;
        };
        let left: usize = left.iter().map(ExactSizeIterator::len).sum();
        self.parts_left += usize::from(left > 0);
        self.granules_left += left;
        self.granules_by_key += granules.saturating_sub(left);
    }
}

/// How a scan is wanted.
#[derive(Clone, Debug)]
pub struct ScanRequest {
    /// Columns by name; may be empty.
    pub columns: Vec<String>,
    /// Filters.
    pub predicate: Predicate,
    /// A bare LIMIT.
    pub limit: Option<u64>,
    /// Partitions wanted.
    pub partitions: usize,
    /// Keep the sorting key's order within partitions: one sorted run per partition.
    pub ordered: bool,
    /// Rows per batch at least.
    pub batch_rows: usize,
    /// How strings are handed out.
    pub strings: Strings,
}

impl Default for ScanRequest {
    /// All rows in one partition; the columns remain to be named.
    fn default() -> Self {
        Self {
            columns: Vec::new(),
            predicate: Predicate::Unknown,
            limit: None,
            partitions: 1,
            ordered: false,
            batch_rows: 8192,
            strings: Strings::default(),
        }
    }
}

impl Scan {
    /// Plans a scan: prunes and cuts the rest into partitions of about equal rows, deterministically.
    pub fn plan(table: &Table, request: &ScanRequest) -> Result<(Self, Pruned), TableError> {
        for name in &request.columns {
            column_named(table, name)?;
        }
        let mut pruned = Pruned::default();
        let (mut parts, mut left) = (Vec::new(), Vec::new());
        let pruning = Pruning::new(table, &request.predicate)?;
        for (part, name) in table.parts().iter().zip(table.part_names()) {
            let granules = part.granules();
            let ranges = pruning.granules(part, name)?;
            pruned.count(granules.len(), ranges.as_deref());
            let Some(ranges) = ranges.filter(|ranges| !ranges.is_empty()) else { continue };
            left.push(ranges);
            parts.push(ScanPart {
                name: name.clone(),
                content_hash: part.content_hash(),
                rows: part.rows(),
                granules: granules.len(),
            });
        }
        let mut scan = Self {
            table: url_of(table.path())?,
            columns: request.columns.clone(),
            predicate: request.predicate.clone(),
            limit: request.limit,
            binary_strings: request.strings == Strings::Binary,
            batch_rows: request.batch_rows.max(1),
            parts,
            partitions: Vec::new(),
            ordered: false,
        };
        let sizes = scan.granule_rows(table)?;
        scan.cut(&left, &sizes, request.partitions, request.ordered);
        Ok((scan, pruned))
    }

    /// The same rows in another number of partitions, or with another wish for order.
    pub fn repartitioned(
        &self,
        table: &Table,
        partitions: usize,
        ordered: bool,
    ) -> Result<Self, TableError> {
        let mut left = vec![Vec::new(); self.parts.len()];
        for range in self.partitions.iter().flatten() {
            if let Some(ranges) = left.get_mut(range.part) {
                ranges.push(range.start..range.end);
            }
        }
        for ranges in &mut left {
            ranges.sort_unstable_by_key(|range| range.start);
        }
        let mut scan = self.clone();
        let sizes = scan.granule_rows(table)?;
        scan.cut(&left, &sizes, partitions, ordered);
        Ok(scan)
    }

    /// Opens one partition. `table` may be handed in when it is open already; its parts are checked against the hashes.
    pub fn run(
        &self,
        partition: usize,
        storage: &Arc<dyn Storage>,
        table: Option<&Table>,
    ) -> Result<ScanReader, TableError> {
        let opened;
        let table = if let Some(table) = table {
            table
        } else {
            opened = Table::open_on(storage, &path_of(&self.table)?)?;
            &opened
        };
        let Some(ranges) = self.partitions.get(partition) else {
            return Err(TableError::Scan {
                problem: format!("partition {partition} of {}", self.partitions.len()),
            });
        };
        let strings = if self.binary_strings { Strings::Binary } else { Strings::Utf8 };
        let columns: Result<Vec<&Column>, TableError> =
            self.columns.iter().map(|name| column_named(table, name)).collect();
        let columns = columns?;
        let fields: Vec<_> =
            columns.iter().map(|column| column.data_type.field(&column.name, strings)).collect();
        let mut reads: VecDeque<(Arc<Part>, String, ReadRequest)> = VecDeque::new();
        let mut last = None;
        for range in ranges {
            if let (Some((_, _, request)), true) = (reads.back_mut(), last == Some(range.part)) {
                request.granules.push(range.start..range.end);
                continue;
            }
            last = Some(range.part);
            let (part, name) = self.part(table, range.part)?;
            let request = ReadRequest {
                columns: columns_in(part, &columns)?,
                granules: std::iter::once(range.start..range.end).collect(),
                batch_rows: self.batch_rows,
                strings,
            };
            reads.push_back((Arc::clone(part), name.to_owned(), request));
        }
        let left = self.limit.unwrap_or(u64::MAX);
        Ok(ScanReader::new(table.path(), Arc::new(Schema::new(fields)), reads, left))
    }

    /// Rows that one partition will yield.
    pub fn partition_rows(&self, partition: usize) -> u64 {
        let ranges = self.partitions.get(partition).map_or(&[][..], Vec::as_slice);
        let rows = ranges.iter().map(|range| range.rows).sum::<u64>();
        self.limit.map_or(rows, |limit| rows.min(limit))
    }

    /// A part by its index, found in the table and checked, and its name.
    fn part<'a>(
        &self,
        table: &'a Table,
        index: usize,
    ) -> Result<(&'a Arc<Part>, &'a str), TableError> {
        let Some(wanted) = self.parts.get(index) else {
            return Err(TableError::Scan { problem: format!("it has no part {index}") });
        };
        let changed = |field, expected: &dyn ToString, got: &dyn ToString| TableError::Changed {
            table: table.path().to_owned(),
            part: wanted.name.clone(),
            field,
            expected: expected.to_string(),
            got: got.to_string(),
        };
        let Some((part, name)) = table.part_by_name(&wanted.name) else {
            return Err(changed("name", &wanted.name, &"no such part"));
        };
        let hash = part.content_hash();
        if hash != wanted.content_hash {
            return Err(changed("content hash", &wanted.content_hash, &hash));
        }
        if part.rows() != wanted.rows {
            return Err(changed("rows", &wanted.rows, &part.rows()));
        }
        if part.granules().len() != wanted.granules {
            return Err(changed("granules", &wanted.granules, &part.granules().len()));
        }
        Ok((part, name))
    }

    /// The rows of the granules of each part.
    fn granule_rows<'a>(&self, table: &'a Table) -> Result<Vec<&'a [u64]>, TableError> {
        (0..self.parts.len()).map(|index| Ok(self.part(table, index)?.0.granules())).collect()
    }

    /// Cuts the granules that are left of each part into partitions.
    fn cut(&mut self, left: &[Vec<Range<usize>>], sizes: &[&[u64]], wanted: usize, ordered: bool) {
        let batch = self.batch_rows as u64;
        let rows_of = |part: usize| -> u64 {
            left[part].iter().flat_map(|range| &sizes[part][range.clone()]).sum()
        };
        let total: u64 = (0..left.len()).map(rows_of).sum();
        // A partition of less than a batch is not worth its task.
        let count = (total / batch.max(1)).clamp(1, wanted.max(1) as u64);
        self.partitions = if ordered {
            let mut partitions = Vec::new();
            for part in 0..left.len() {
                let share = (u128::from(rows_of(part)) * u128::from(count) * 2 + u128::from(total))
                    / (u128::from(total) * 2).max(1);
                let share = u64::try_from(share).unwrap_or(1).max(1);
                partitions.extend(split(part..part + 1, left, sizes, rows_of(part), share));
            }
            partitions
        } else {
            split(0..left.len(), left, sizes, total, count)
        };
        self.partitions.retain(|ranges| !ranges.is_empty());
        if self.partitions.is_empty() {
            self.partitions.push(Vec::new());
        }
        let is_run = |ranges: &Vec<ScanRange>| {
            ranges
                .windows(2)
                .all(|pair| pair[0].part == pair[1].part && pair[0].end <= pair[1].start)
        };
        self.ordered = self.partitions.iter().all(is_run);
    }
}

/// Cuts the granules of some parts into `count` runs of about equal rows.
fn split(
    parts: Range<usize>,
    left: &[Vec<Range<usize>>],
    sizes: &[&[u64]],
    total: u64,
    count: u64,
) -> Vec<Vec<ScanRange>> {
    let mut partitions = vec![Vec::new(); usize::try_from(count).unwrap_or(1)];
    let last = partitions.len() - 1;
    let mut before = 0_u64;
    for part in parts {
        for granule in left[part].iter().cloned().flatten() {
            let rows = sizes[part][granule];
            // A granule goes where its middle row falls.
            let middle = u128::from(before) + u128::from(rows / 2);
            let target = middle * u128::from(count) / u128::from(total.max(1));
            let target = usize::try_from(target).unwrap_or(last).min(last);
            before += rows;
            let ranges: &mut Vec<ScanRange> = &mut partitions[target];
            match ranges.last_mut() {
                Some(range) if range.part == part && range.end == granule => {
                    range.end += 1;
                    range.rows += rows;
                }
                _ => ranges.push(ScanRange { part, start: granule, end: granule + 1, rows }),
            }
        }
    }
    partitions
}

fn column_named<'a>(table: &'a Table, name: &str) -> Result<&'a Column, TableError> {
    table.columns().iter().find(|column| column.name == name).ok_or_else(|| {
        TableError::UnknownColumn { clause: "scan".to_owned(), name: name.to_owned() }
    })
}

/// True if ClickHouse sorts values of this type as Arrow sorts their Arrow form (ascending, NULL last).
pub fn sorts_like_arrow(data_type: &DataType) -> bool {
    ordinal::order(data_type) == ordinal::Order::Same
}

/// Where the wanted columns are in a part. That it has the table's columns was checked when the table was opened.
fn columns_in(part: &Part, wanted: &[&Column]) -> Result<Vec<usize>, TableError> {
    let find = |column: &&Column| {
        part.columns().iter().position(|it| it.name == column.name).ok_or_else(|| {
            TableError::UnknownColumn {
                clause: format!("part {:?}", part.name()),
                name: column.name.clone(),
            }
        })
    };
    wanted.iter().map(find).collect()
}
