//! Verifying a whole table: every part, and what no part can know of itself.

use super::conform::fit;
use super::engine::sorting_key;
use super::key::{Key, Keys};
use super::name::PartName;
use super::open::{self, Found, load_sidecar, open_held_part, open_part};
use super::partition::{RangeColumns, Ranges};
use super::run::{RunReader, RunRequest};
use super::sidecar::LivePart;
use super::statistics::{self, PartStatistics};
use crate::TableError;
use crate::schema::TableDefinition;
use crate::schema::expression::Expression;
use arrow_array::{ArrayRef, Date32Array, RecordBatch};
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tambour_codec::Kind;
use tambour_function::value::civil;
use tambour_part::Part;
use tambour_part::types::{Column, DataType, Strings, arrow_schema};
use tambour_part::write::Partition;
use tambour_storage::Storage;

/// What a verification has done so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifyProgress {
    /// Parts finished.
    pub parts: u64,
    /// Parts in all.
    pub parts_total: u64,
    /// Rows of the parts finished.
    pub rows: u64,
    /// Compressed bytes read and checked.
    pub bytes: u64,
}

/// What a verification saw.
#[derive(Debug, Default)]
pub struct TableVerification {
    /// Live parts looked at.
    pub parts: u64,
    /// Files looked at.
    pub files: u64,
    /// Blocks whose checksum was verified.
    pub blocks: u64,
    /// Compressed bytes read.
    pub bytes: u64,
    /// Rows of all parts that could be opened.
    pub rows: u64,
    /// All that is wrong; empty means good.
    pub damage: Vec<TableError>,
    /// What is not as it should be, and changes no answer: statistics that cannot be used.
    pub notes: Vec<TableError>,
    /// Parts that writers replaced before they could be looked at to the end; others have their rows.
    pub replaced: Vec<String>,
}

/// A part to look at, and what is known of it beforehand.
#[derive(Debug)]
enum Candidate {
    Live(LivePart),
    Named(String),
    /// The path itself.
    Itself(String),
}

/// Rows read at a time when order and partition are checked.
const BATCH_ROWS: usize = 65_536;

/// How often parts that writers have put in the place of others are looked at in turn.
pub const ROUNDS_MAX: usize = 16;

/// Reads and checks everything: the sidecar, every live part with all its files, the order of the rows, the primary index
/// against the rows, the partition values against the rows. Damage is collected, not returned as an error; an error means
/// that there is nothing to verify. A part that a writer replaces meanwhile may be left out; its replacement is verified instead.
pub fn verify(
    storage: &Arc<dyn Storage>,
    path: &Path,
    progress: &mut dyn FnMut(&VerifyProgress),
) -> Result<TableVerification, TableError> {
    let mut total = TableVerification::default();
    let mut told = VerifyProgress::default();
    let mut looked_at: HashSet<(String, String)> = HashSet::new();
    for _ in 0..ROUNDS_MAX {
        total.replaced.clear();
        let (mut candidates, definition) = candidates(storage, path, &mut total.damage)?;
        candidates.retain(|candidate| looked_at.insert(candidate.identity()));
        told.parts_total += candidates.len() as u64;
        let look = |candidate: &Candidate| look(storage, path, definition.as_ref(), candidate);
        let results = look_at_all(&candidates, &look, &mut |result| {
            told.parts += 1;
            told.rows += result.rows;
            told.bytes += result.bytes;
            progress(&told);
        });
        total.add_live(storage, path, candidates.iter().zip(results));
        if total.replaced.is_empty() {
            break;
        }
    }
    Ok(total)
}

/// Looks at parts on all processors; the results are in the order of the parts.
fn look_at_all(
    candidates: &[Candidate],
    look: &(dyn Fn(&Candidate) -> TableVerification + Sync),
    seen: &mut dyn FnMut(&TableVerification),
) -> Vec<TableVerification> {
    let mut results: Vec<(usize, TableVerification)> = Vec::with_capacity(candidates.len());
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let (sender, receiver) = crossbeam_channel::unbounded();
        for _ in 0..threads.min(candidates.len()) {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(candidate) = candidates.get(index) else { return };
                    if sender.send((index, look(candidate))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        for (index, result) in receiver {
            seen(&result);
            results.push((index, result));
        }
    });
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// The parts that a table has now, by name and content; nothing if that is not known.
fn live_now(storage: &Arc<dyn Storage>, path: &Path) -> Option<HashSet<(String, String)>> {
    let sidecar = load_sidecar(storage.as_ref(), path).ok()??;
    Some(sidecar.parts.into_iter().map(|live| (live.name, live.hash)).collect())
}

/// The names of the parts that [`verify`] would look at, and what is wrong with the sidecar.
pub fn parts_of(
    storage: &Arc<dyn Storage>,
    path: &Path,
) -> Result<(Vec<String>, Vec<TableError>), TableError> {
    let mut damage = Vec::new();
    let (candidates, _) = candidates(storage, path, &mut damage)?;
    Ok((candidates.iter().map(|it| it.name().to_owned()).collect(), damage))
}

/// The same as [`verify`] for some of the parts, one after the other: for callers who share a table among processes. Those that the
/// table does not have any more are told as replaced.
pub fn verify_parts(
    storage: &Arc<dyn Storage>,
    path: &Path,
    parts: &[String],
) -> Result<TableVerification, TableError> {
    let (candidates, definition) = candidates(storage, path, &mut Vec::new())?;
    let mut total = TableVerification::default();
    let wanted: HashSet<&str> = parts.iter().map(String::as_str).collect();
    let found: Vec<&Candidate> =
        candidates.iter().filter(|it| wanted.contains(it.name())).collect();
    let results = found.iter().map(|it| look(storage, path, definition.as_ref(), it));
    total.add_live(storage, path, found.iter().copied().zip(results));
    let known: HashSet<&str> = found.iter().map(|it| it.name()).collect();
    let gone = parts.iter().filter(|part| !known.contains(part.as_str())).cloned();
    total.replaced.extend(gone);
    Ok(total)
}

impl Candidate {
    /// What tells it from others: its name, and its content where that is known.
    fn identity(&self) -> (String, String) {
        let hash = match self {
            Self::Live(live) => live.hash.clone(),
            Self::Named(_) | Self::Itself(_) => String::new(),
        };
        (self.name().to_owned(), hash)
    }
    fn name(&self) -> &str {
        match self {
            Self::Live(live) => &live.name,
            Self::Named(name) | Self::Itself(name) => name,
        }
    }
}

impl TableVerification {
    pub(crate) fn add(&mut self, other: Self) {
        self.parts += other.parts;
        self.files += other.files;
        self.blocks += other.blocks;
        self.bytes += other.bytes;
        self.rows += other.rows;
        self.damage.extend(other.damage);
        self.notes.extend(other.notes);
        self.replaced.extend(other.replaced);
    }

    /// Adds what was seen of parts. Of one that is damaged and that a writer has replaced meanwhile, its name alone.
    fn add_live<'a>(
        &mut self,
        storage: &Arc<dyn Storage>,
        path: &Path,
        results: impl Iterator<Item = (&'a Candidate, Self)>,
    ) {
        let mut now = None;
        for (candidate, result) in results {
            let is_replaced = !result.damage.is_empty()
                && matches!(candidate, Candidate::Live(_))
                && now
                    .get_or_insert_with(|| live_now(storage, path))
                    .as_ref()
                    .is_some_and(|now| !now.contains(&candidate.identity()));
            if is_replaced {
                self.replaced.push(candidate.name().to_owned());
            } else {
                self.add(result);
            }
        }
    }
}

/// The parts to look at. A damaged sidecar is damage like any other: the parts are found by their names then.
fn candidates(
    storage: &Arc<dyn Storage>,
    path: &Path,
    damage: &mut Vec<TableError>,
) -> Result<(Vec<Candidate>, Option<TableDefinition>), TableError> {
    match load_sidecar(storage.as_ref(), path) {
        Ok(Some(sidecar)) => {
            let definition = TableDefinition::parse(&sidecar.statement)?;
            let live = sidecar.parts.into_iter().map(Candidate::Live);
            return Ok((live.collect(), Some(definition)));
        }
        Err(error) if error.kind() == Kind::Corrupt => damage.push(error),
        Err(error) => return Err(error),
        Ok(None) => {}
    }
    match open::find(storage, path) {
        Ok(Found::Part(name)) => Ok((vec![Candidate::Itself(name)], None)),
        Ok(Found::Parts(found)) => {
            let named = found.live.iter().map(|name| Candidate::Named(name.to_string()));
            Ok((named.collect(), found.definition))
        }
        // The sidecar is all there was, and it is reported already.
        Err(_) if !damage.is_empty() => Ok((Vec::new(), None)),
        Err(error) => Err(error),
    }
}

/// Verifies one part. One whose files are gone may have been moved to its place by a writer: it is looked at there.
fn look(
    storage: &Arc<dyn Storage>,
    path: &Path,
    definition: Option<&TableDefinition>,
    candidate: &Candidate,
) -> TableVerification {
    let seen = look_once(storage, path, definition, candidate);
    let is_gone = |error: &TableError| matches!(error, TableError::Part { cause, .. } if cause.kind() == Kind::NotFound);
    if matches!(candidate, Candidate::Live(_)) && seen.damage.iter().any(is_gone) {
        return look_once(storage, path, definition, candidate);
    }
    seen
}

fn look_once(
    storage: &Arc<dyn Storage>,
    path: &Path,
    definition: Option<&TableDefinition>,
    candidate: &Candidate,
) -> TableVerification {
    let mut seen = TableVerification { parts: 1, ..TableVerification::default() };
    let granularity = definition.map(TableDefinition::index_granularity);
    let open_at = |path_of_part: &Path, name: &String| {
        let part = open_part(storage, path_of_part, granularity);
        part.map(|part| (name.clone(), part)).map_err(TableError::part(path, name))
    };
    let opened = match candidate {
        Candidate::Live(live) => {
            let part = open_held_part(storage, path, live, granularity);
            part.map(|part| (live.name.clone(), part))
        }
        Candidate::Named(name) => open_at(&path.join(name), name),
        Candidate::Itself(name) => open_at(path, name),
    };
    let (name, part) = match opened {
        Ok((name, part)) => (name, Arc::new(part)),
        Err(error) => {
            seen.damage.push(error);
            return seen;
        }
    };
    seen.rows = part.rows();
    let verification = part.verify();
    seen.files = verification.files;
    seen.blocks = verification.blocks;
    seen.bytes = verification.bytes;
    let damage = verification.damage.into_iter();
    seen.damage.extend(damage.map(|damage| TableError::part(path, &name)(damage.error)));
    // Rows that cannot be read cannot be compared.
    if seen.damage.is_empty() {
        compare_statistics(storage, path, &part, &mut seen);
    }
    if let Some(definition) = definition
        && seen.damage.is_empty()
        && let Err(error) =
            Arc::into_inner(part).map_or(Ok(()), |part| compare_rows(path, &name, part, definition))
    {
        seen.damage.push(error);
    }
    seen
}

/// Compares the statistics that are kept of a part with its rows.
fn compare_statistics(
    storage: &Arc<dyn Storage>,
    path: &Path,
    part: &Arc<Part>,
    seen: &mut TableVerification,
) {
    let known = match PartStatistics::open(storage.as_ref(), path, part) {
        Ok(None) => return,
        Ok(Some(opened)) => opened.columns(part),
        Err(error) => Err(error),
    };
    let known = match known {
        Ok(known) => known,
        Err(error) => return seen.notes.push(error),
    };
    match statistics::of_rows(part) {
        Ok(rows) => {
            if let Some(wrong) = known.iter().find(|column| !rows.contains(column)) {
                seen.damage.push(TableError::PartDiffers {
                    table: path.to_owned(),
                    part: part.name().to_owned(),
                    field: "statistics",
                    expected: format!("those of the rows of column `{}`", wrong.column.name),
                    got: "others".to_owned(),
                });
            }
        }
        Err(error) => seen.damage.push(TableError::part(path, part.name())(error)),
    }
}

/// What is checked against the definition, over the rows of one part.
struct Comparison<'a> {
    path: &'a Path,
    name: &'a str,
    primary: Key,
    partition: Key,
    ranges: RangeColumns,
    seen_ranges: Ranges,
    /// Keys of the partition of the first row.
    partition_keys: Option<Keys>,
    /// What primary.idx says, and the row that each entry belongs to; `None` if that cannot be told.
    index: Option<(Keys, Vec<u64>)>,
    /// Entries of the index that were compared.
    compared: usize,
    rows: u64,
}

/// Compares the rows of a part with what it says of them, and with a definition.
pub(super) fn compare_rows(
    path: &Path,
    name: &str,
    part: Part,
    definition: &TableDefinition,
) -> Result<(), TableError> {
    let columns = definition.plain_columns();
    let part = Arc::new(fit(path, name, (&columns, Some(definition)), part)?);
    let sorted_by = sorting_key(definition);
    let keys = [&sorted_by, &definition.primary_key, &definition.partition_by];
    let names: HashSet<&str> =
        keys.into_iter().flatten().flat_map(|expression| expression.columns()).collect();
    let needed = columns.iter().filter(|column| names.contains(column.name.as_str()));
    let needed: Vec<Column> = needed.cloned().collect();
    let schema = Arc::new(arrow_schema(&columns, Strings::Binary));
    let key = |expressions: &[Expression]| Key::new(expressions, &columns, &schema);
    let mut comparison = Comparison {
        path,
        name,
        primary: key(&definition.primary_key)?,
        partition: key(&definition.partition_by)?,
        ranges: RangeColumns::new(definition, &schema)?,
        seen_ranges: Ranges::default(),
        partition_keys: None,
        index: None,
        compared: 0,
        rows: 0,
    };
    comparison.index = comparison.load_index(&part)?;
    let request = RunRequest {
        table: path.to_owned(),
        key: Arc::new(key(&sorted_by)?),
        columns: needed,
        batch_rows: BATCH_ROWS,
    };
    for batch in RunReader::new(request, vec![(name.to_owned(), Arc::clone(&part))]) {
        comparison.compare(&batch?.0)?;
    }
    comparison.finish(&part)
}

impl Comparison<'_> {
    fn differs<T>(
        &self,
        field: &'static str,
        expected: &dyn ToString,
        got: &dyn ToString,
    ) -> Result<T, TableError> {
        let (table, part) = (self.path.to_owned(), self.name.to_owned());
        let (expected, got) = (expected.to_string(), got.to_string());
        Err(TableError::PartDiffers { table, part, field, expected, got })
    }

    fn load_index(&self, part: &Part) -> Result<Option<(Keys, Vec<u64>)>, TableError> {
        if self.primary.is_empty() {
            return Ok(None);
        }
        if !part.has_primary_index() {
            return if part.rows() == 0 {
                Ok(None)
            } else {
                self.differs("primary index", &"one", &"none")
            };
        }
        let place = TableError::part(self.path, self.name);
        let values = part.primary_index(self.primary.types()).map_err(place)?;
        let keys = self.primary.of_values(&values)?;
        if part.has_deleted_rows() {
            // Rows are missing from what is read, so granules cannot be counted off.
            return Ok(None);
        }
        let mut rows = Vec::with_capacity(keys.len());
        let mut start = 0;
        for granule in part.granules() {
            rows.push(start);
            start += granule;
        }
        if part.has_final_mark() && start > 0 {
            rows.push(start - 1);
        }
        if rows.len() != keys.len() {
            return self.differs("entries of the primary index", &rows.len(), &keys.len());
        }
        Ok(Some((keys, rows)))
    }

    fn compare(&mut self, batch: &RecordBatch) -> Result<(), TableError> {
        let end = self.rows + batch.num_rows() as u64;
        if let Some((index, rows)) = &self.index {
            let keys = self.primary.evaluate(batch)?;
            while let Some(row) = rows.get(self.compared).filter(|row| **row < end) {
                // Entries are in the order of rows, and the last two may be of the same row.
                let at = usize::try_from(row - self.rows).unwrap_or(usize::MAX);
                if index.compare(self.compared, &keys, at).is_ne() {
                    let entry = format!("the key of row {row} in entry {}", self.compared);
                    return self.differs("primary index", &entry, &"another key");
                }
                self.compared += 1;
            }
        }
        if !self.partition.is_empty() {
            let keys = self.partition.evaluate(batch)?;
            let first =
                self.partition_keys.get_or_insert(self.partition.evaluate(&batch.slice(0, 1))?);
            if let Some(row) = (0..keys.len()).find(|row| keys.compare(*row, first, 0).is_ne()) {
                let got = format!("another one in row {}", self.rows + row as u64);
                return self.differs("partition", &"one for all rows", &got);
            }
            self.ranges.widen(&mut self.seen_ranges, batch)?;
        }
        self.rows = end;
        Ok(())
    }

    /// Compares what the rows showed with partition.dat, the minmax files and the directory's name.
    fn finish(&self, part: &Part) -> Result<(), TableError> {
        let Some(keys) = &self.partition_keys else { return Ok(()) };
        let place = || TableError::part(self.path, self.name);
        let types = self.partition.types();
        let values = part.partition_values(types).map_err(place())?;
        if self.partition.of_values(&values)?.compare(0, keys, 0).is_ne() {
            return self.differs("partition.dat", &"the partition of the rows", &"another one");
        }
        let name = PartName::parse(self.name);
        if let Some(name) = &name {
            let values: Vec<(DataType, ArrayRef)> = types.iter().cloned().zip(values).collect();
            let id = Partition { values, ranges: Vec::new() }.id().map_err(place())?;
            if id != name.partition {
                return self.differs("partition id in the name", &id, &name.partition);
            }
        }
        // After a lightweight delete the ranges may be wider than the rows that are left.
        let is_masked = part.has_deleted_rows();
        // Names of the syntax before 2018 have the range of the date, and there is no file.
        let days = name.and_then(|name| name.days).and_then(range_of_days);
        let recorded = |column: &str| match part.minmax(column).map_err(place())? {
            None => Ok(days.clone()),
            range => Ok(range),
        };
        for (column, is_covered) in self.ranges.compare(&self.seen_ranges, recorded)? {
            match is_covered {
                None => return self.differs("range of a column", &column, &"no minmax file"),
                Some(std::cmp::Ordering::Equal) => {}
                Some(std::cmp::Ordering::Less) if is_masked => {}
                Some(_) => {
                    return self.differs(
                        "range",
                        &format!("that of the rows of {column}"),
                        &"another",
                    );
                }
            }
        }
        Ok(())
    }
}

/// Two days, each `YYYYMMDD`, as a column.
fn range_of_days((first, last): (u32, u32)) -> Option<ArrayRef> {
    let day = |it: u32| civil::date(it / 10_000, it / 100 % 100, it % 100);
    Some(Arc::new(Date32Array::from(vec![day(first)?, day(last)?])))
}
