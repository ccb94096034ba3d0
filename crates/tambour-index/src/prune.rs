//! A scan without the granules of which an index says that no row matches.

use crate::IndexError;
use crate::entry::{Entry, ranges};
use crate::kind::{Index, Kind};
use crate::probe::Probe;
use crate::text::{self, Asked, TextFile};
use crate::verify::holds;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use tambour_part::Part;
use tambour_part::part::SkipFile;
use tambour_table::predicate::Predicate;
use tambour_table::prune::Sieve;
use tambour_table::scan::{Pruned, Scan, ScanRange, ScanRequest};
use tambour_table::schema::TableDefinition;
use tambour_table::{Table, TableError};

/// Whole files of an index up to this size are compared with their hash before they are believed.
const WHOLE_BYTES_MAX: u64 = 8 << 20;

/// The skip indexes of a table, and which of them were found to be right.
#[derive(Debug)]
pub struct Indexes {
    all: Vec<Index>,
    /// Whether it was right about rows that were looked at.
    trusted: Mutex<HashMap<Key, bool>>,
}

/// The content hash of a part and the place of an index.
type Key = (String, usize);

/// A predicate compiled for an index.
enum Sift {
    Ranges(Sieve),
    Rows(Sieve),
    Filters(Probe<u64>),
    Tokens(Asked),
}

impl Sift {
    /// `None` if the index says nothing about the predicate.
    fn new(
        predicate: &Predicate,
        table: &Table,
        index: &Index,
    ) -> Result<Option<Self>, TableError> {
        if !index.is_usable() {
            return Ok(None);
        }
        let names = &index.definition.columns;
        let sieve = |has_all| Sieve::new(predicate, table.columns(), names, has_all);
        Ok(match index.kind {
            Kind::Minmax => sieve(false)?.map(Self::Ranges),
            Kind::Set => sieve(true)?.map(Self::Rows),
            Kind::Bloom(_) | Kind::Words(_) | Kind::Grams(..) => {
                let probe = Probe::of_filters(predicate, index);
                (!probe.is_idle()).then_some(Self::Filters(probe))
            }
            Kind::Text => Asked::of(predicate, index).map(Self::Tokens),
            Kind::Other => None,
        })
    }

    /// Which of these entries may be of rows that match.
    fn sift(
        &self,
        index: &Index,
        file: &mut SkipFile,
        entries: &[usize],
    ) -> Result<Vec<bool>, IndexError> {
        if let Self::Ranges(sieve) = self {
            let mut bytes = Vec::new();
            for entry in entries {
                bytes.extend(file.entry(*entry)?);
            }
            let values = ranges(index, file.extension(), &bytes, entries.len())?;
            return Ok(sieve.ranges(&values, entries.len())?);
        }
        let mut may_match = Vec::with_capacity(entries.len());
        for entry in entries {
            let bytes = file.entry(*entry)?;
            may_match.push(match (self, Entry::read(index, file.extension(), *entry, &bytes)?) {
                (Self::Rows(sieve), Entry::Rows(values, rows)) => sieve.any_row(&values, rows)?,
                (Self::Filters(probe), Entry::Filters(filters, scheme)) => {
                    let filters: Vec<&[u8]> = filters.iter().map(Vec::as_slice).collect();
                    probe.may_match(&filters, scheme)
                }
                _ => true,
            });
        }
        Ok(may_match)
    }
}

impl Indexes {
    /// Those of a table's definition; none of a table without one.
    pub fn new(table: &Table) -> Self {
        let definitions = table.definition().map(TableDefinition::indexes).unwrap_or_default();
        let all = definitions.into_iter().map(|it| Index::new(it, table.columns())).collect();
        Self { all, trusted: Mutex::default() }
    }
    /// All of them, in the order of the definition.
    pub fn all(&self) -> &[Index] {
        &self.all
    }

    /// The scan without granules that cannot match by an index, cut into partitions as the request wants, and what was left out. A
    /// scan that nothing can be left out of stays as it is.
    pub fn prune(
        &self,
        table: &Table,
        request: &ScanRequest,
        scan: Scan,
        mut pruned: Pruned,
    ) -> Result<(Scan, Pruned), TableError> {
        let mut sifts = Vec::new();
        for (place, index) in self.all.iter().enumerate() {
            sifts.extend(Sift::new(&request.predicate, table, index)?.map(|it| (place, index, it)));
        }
        if sifts.is_empty() {
            return Ok((scan, pruned));
        }
        // What costs least comes first.
        sifts.sort_by_key(|(_, index, _)| group_of(index.kind));
        let mut left = granules_of(&scan);
        let mut is_less = false;
        for (named, granules) in scan.parts.iter().zip(&mut left) {
            let mut parts = table.parts().iter().zip(table.part_names());
            let Some((part, _)) = parts.find(|(_, name)| **name == named.name) else { continue };
            let before = count(granules);
            for (place, index, sift) in &sifts {
                let kept = self.sifted(table, part, (*place, index), sift, granules);
                // An index that cannot be read leaves all granules in.
                let Ok(Some(kept)) = kept else { continue };
                let less = count(granules) - count(&kept);
                pruned.granules_by_indexes[group_of(index.kind)] += less;
                pruned.granules_left -= less;
                *granules = kept;
            }
            is_less |= count(granules) < before;
            pruned.parts_left -= usize::from(before > 0 && granules.is_empty());
        }
        if !is_less {
            return Ok((scan, pruned));
        }
        let ranges = left.into_iter().enumerate().flat_map(|(part, granules)| {
            granules.into_iter().map(move |it| ScanRange {
                part,
                start: it.start,
                end: it.end,
                rows: 0,
            })
        });
        let scan = Scan { partitions: vec![ranges.collect()], ..scan };
        let scan = scan.repartitioned(table, request.partitions, request.ordered)?;
        Ok((scan, pruned))
    }

    /// Of some granules of a part those that may match; `None` if that is all of them.
    fn sifted(
        &self,
        table: &Table,
        part: &Arc<Part>,
        (place, index): (usize, &Index),
        sift: &Sift,
        granules: &[Range<usize>],
    ) -> Result<Option<Vec<Range<usize>>>, IndexError> {
        let key = (part.content_hash(), place);
        let known = self.trusted.lock().unwrap_or_else(PoisonError::into_inner).get(&key).copied();
        if granules.is_empty() || known == Some(false) {
            return Ok(None);
        }
        if let Sift::Tokens(asked) = sift {
            return self.sifted_by_tokens(table, part, (key, known, index), asked, granules);
        }
        let Some(mut file) = open(part, index)? else { return Ok(None) };
        let size = index.definition.granularity;
        let mut entries: Vec<usize> =
            granules.iter().cloned().flatten().map(|it| it / size).collect();
        entries.dedup();
        let may_match = sift.sift(index, &mut file, &entries)?;
        let Some(first) = may_match.iter().position(|it| !it) else { return Ok(None) };
        if known.is_none() {
            // It may be that of another table, or of another expression by the same name.
            let is_right = is_right(table, part, index, &mut file, entries[first]);
            if !self.trust(key, is_right) {
                return Ok(None);
            }
        }
        let kept = granules.iter().cloned().flatten().filter(|granule| {
            let at = entries.binary_search(&(granule / size));
            at.map_or(true, |at| may_match[at])
        });
        Ok(Some(ranges_of(kept)))
    }

    /// The same by an inverted index.
    fn sifted_by_tokens(
        &self,
        table: &Table,
        part: &Arc<Part>,
        (key, known, index): (Key, Option<bool>, &Index),
        asked: &Asked,
        granules: &[Range<usize>],
    ) -> Result<Option<Vec<Range<usize>>>, IndexError> {
        let Some(mut file) = TextFile::open(part, index)? else { return Ok(None) };
        let granules: Vec<usize> = granules.iter().cloned().flatten().collect();
        let may_match = asked.may_match(&mut file, part, &granules)?;
        let Some(first) = may_match.iter().position(|it| !it) else { return Ok(None) };
        if known.is_none() {
            // Lists of rows have no checksums but that of their file, however large it is.
            let is_sound = part.check_skip_file(&index.definition.name).is_ok();
            let mut is_right = || text::is_right(table, part, index, &mut file, granules[first]);
            if !self.trust(key, is_sound.then(&mut is_right).unwrap_or(Ok(false))) {
                return Ok(None);
            }
        }
        let kept =
            granules.iter().zip(may_match).filter_map(|(granule, may)| may.then_some(*granule));
        Ok(Some(ranges_of(kept)))
    }

    /// Notes whether an index was right; one that cannot be read is not.
    fn trust(&self, key: Key, is_right: Result<bool, IndexError>) -> bool {
        let is_right = is_right.unwrap_or(false);
        self.trusted.lock().unwrap_or_else(PoisonError::into_inner).insert(key, is_right);
        is_right
    }
}

/// Ascending granules as ranges.
fn ranges_of(granules: impl Iterator<Item = usize>) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for granule in granules {
        match ranges.last_mut() {
            Some(last) if last.end == granule => last.end += 1,
            _ => ranges.push(granule..granule + 1),
        }
    }
    ranges
}

/// The files of an index in a part; `None` if there are none. An error if they do not fit the part or the table, or if nothing
/// proves that they are the part's.
pub(crate) fn open(part: &Part, index: &Index) -> Result<Option<SkipFile>, IndexError> {
    let Some(file) = part.skip_file(&index.definition.name)? else { return Ok(None) };
    if !part.is_proven() {
        return Err(IndexError::Unusable { reason: "the part has no checksums.txt" });
    }
    let stored = |name: &String| part.stored_columns().find(|column| column.name == *name);
    let is_same = |column: &tambour_part::types::Column| stored(&column.name) == Some(column);
    if !index.columns.iter().all(is_same) {
        return Err(IndexError::Unusable { reason: "the part has its columns in other types" });
    }
    let expected = match index.kind {
        // It is of all rows, whatever the table says.
        Kind::Text => 1,
        _ => part.granules().len().div_ceil(index.definition.granularity),
    };
    if file.entries() != expected {
        let got = file.entries();
        return Err(IndexError::Mismatch { field: "number of entries", expected, got });
    }
    Ok(Some(file))
}

/// True if the files of an index are those of the part, and an entry is right about the first granule that it is of.
fn is_right(
    table: &Table,
    part: &Arc<Part>,
    index: &Index,
    file: &mut SkipFile,
    entry: usize,
) -> Result<bool, IndexError> {
    if file.sizes().compressed <= WHOLE_BYTES_MAX {
        part.check_skip_file(&index.definition.name)?;
    }
    let granule = entry * index.definition.granularity;
    holds(table, part, index, file, entry, granule..granule + 1)
}

/// Where granules left out by a kind are counted, and when it is asked.
fn group_of(kind: Kind) -> usize {
    match kind {
        Kind::Minmax => 0,
        Kind::Set => 1,
        Kind::Bloom(_) | Kind::Words(_) | Kind::Grams(..) => 2,
        Kind::Text | Kind::Other => 3,
    }
}

fn count(granules: &[Range<usize>]) -> usize {
    granules.iter().map(ExactSizeIterator::len).sum()
}

/// The granules that a scan reads of each part, ascending.
fn granules_of(scan: &Scan) -> Vec<Vec<Range<usize>>> {
    let mut granules = vec![Vec::new(); scan.parts.len()];
    for range in scan.partitions.iter().flatten() {
        if let Some(granules) = granules.get_mut(range.part) {
            granules.push(range.start..range.end);
        }
    }
    for granules in &mut granules {
        granules.sort_unstable_by_key(|range: &Range<usize>| range.start);
    }
    granules
}
