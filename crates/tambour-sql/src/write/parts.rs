//! ALTER TABLE of parts as a whole: DROP, DETACH and ATTACH, and those that take or give a partition of another table.

use super::insert::of_rows;
use super::{CLAUSE, of_table, parts, rows};
use crate::SqlError;
use crate::context::Session;
use arrow::array::{ArrayRef, RecordBatch, StringArray};
use datafusion::error::DataFusionError;
use std::sync::Arc;
use tambour_files::Handed;
use tambour_part::types::Column;
use tambour_part::write::Partition;
use tambour_table::rewrite::{Rewrite, RewriteSummary, detached_parts, drop_detached};
use tambour_table::schema::alter::{PartsAction, Selection};
use tambour_table::{PartName, Table, TableError};

impl Session {
    /// Carries out commands about parts, all of one statement at once.
    pub(super) fn alter_parts(
        &self,
        name: &str,
        table: &Arc<Table>,
        actions: &[&PartsAction],
    ) -> Result<String, SqlError> {
        let error = of_table(name);
        match actions {
            [PartsAction::DropDetached(selection)] => {
                return drop_from_detached(name, table, selection);
            }
            [PartsAction::Move(selection, to)] => {
                return self.move_partition(name, table, selection, to);
            }
            _ => {}
        }
        let mut rewrite = self.begin(name, table)?;
        let mut verbs = Vec::new();
        for action in actions {
            verbs.push(match action {
                PartsAction::Drop(selection) => {
                    for part in live(name, &rewrite, selection)? {
                        rewrite.drop_part(&part).map_err(&error)?;
                    }
                    "removed"
                }
                PartsAction::Detach(selection) => {
                    for part in live(name, &rewrite, selection)? {
                        rewrite.detach_part(&part).map_err(&error)?;
                    }
                    "detached"
                }
                PartsAction::Attach(selection) => {
                    for part in waiting(name, &rewrite, selection)? {
                        rewrite.attach_part(&part).map_err(&error)?;
                    }
                    "attached"
                }
                PartsAction::AttachFrom(selection, from) => {
                    self.take(name, &mut rewrite, selection, from)?;
                    "attached"
                }
                PartsAction::Replace(selection, from) => {
                    let old = live(name, &rewrite, selection)?;
                    if self.take(name, &mut rewrite, selection, from)?.is_empty() {
                        return Err(SqlError::refused(
                            format!("REPLACE PARTITION from {from:?}, which has none of its parts"),
                            "DROP PARTITION removes those of the table",
                        ));
                    }
                    for part in old {
                        rewrite.drop_part(&part).map_err(&error)?;
                    }
                    "replaced"
                }
                PartsAction::DropDetached(_) | PartsAction::Move(..) => {
                    return Err(SqlError::refused(
                        "this command of ALTER TABLE beside others",
                        "make several statements of it",
                    ));
                }
            });
        }
        verbs.dedup();
        let done = rewrite.commit().map_err(&error)?;
        Ok(told(&done, &verbs))
    }

    fn begin(&self, name: &str, table: &Table) -> Result<Rewrite, SqlError> {
        Rewrite::begin(table.storage(), table.path(), CLAUSE, self.insert_options())
            .map_err(of_table(name))
    }

    /// Adds the parts of a partition of another table; their names there.
    fn take(
        &self,
        name: &str,
        rewrite: &mut Rewrite,
        selection: &Selection,
        from: &str,
    ) -> Result<Vec<String>, SqlError> {
        let source = self.table_named(from)?;
        // As it is now: the session may have opened it long ago.
        let source = Table::open_on(source.storage(), source.path()).map_err(of_table(from))?;
        copy(name, rewrite, &source, (from, selection))
    }

    /// Two commits, and never none of the rows: a crash between them leaves these in both tables.
    fn move_partition(
        &self,
        name: &str,
        table: &Table,
        selection: &Selection,
        to: &str,
    ) -> Result<String, SqlError> {
        let target = self.table_named(to)?;
        if target.path() == table.path() {
            return Err(SqlError::refused("MOVE PARTITION to the same table", "name another one"));
        }
        let mut source = self.begin(name, table)?;
        let mut rewrite = self.begin(to, &target)?;
        let moved = copy(to, &mut rewrite, source.table(), (name, selection))?;
        for part in &moved {
            source.drop_part(part).map_err(of_table(name))?;
        }
        let done = rewrite.commit().map_err(of_table(to))?;
        source.commit().map_err(|error| {
            let problem =
                format!("its rows are in {to:?} already, and could not be removed: {error}");
            of_table(name)(TableError::Mismatch { table: table.path().to_owned(), problem })
        })?;
        self.renew(to, target)?;
        Ok(told(&done, &["moved"]))
    }
}

/// Copies the parts of a partition; returns their names.
fn copy(
    name: &str,
    rewrite: &mut Rewrite,
    source: &Table,
    (from, selection): (&str, &Selection),
) -> Result<Vec<String>, SqlError> {
    rewrite.check_structure(source).map_err(of_table(name))?;
    let taken = selected(from, source, selection)?;
    for part in &taken {
        rewrite.copy_part(source, part).map_err(of_table(name))?;
    }
    Ok(taken)
}

fn told(done: &RewriteSummary, verbs: &[&str]) -> String {
    let (count, of) = match done.parts_added {
        0 => (done.rows_before, done.parts),
        added => (done.rows_after, added),
    };
    format!("{} {}, {}", rows(count), verbs.join(" and "), parts(of))
}

/// The live parts that are meant.
fn live(name: &str, rewrite: &Rewrite, selection: &Selection) -> Result<Vec<String>, SqlError> {
    let mut found = selected(name, rewrite.table(), selection)?;
    // What another command of the statement has taken is taken; a part that is named must be there.
    found.retain(|part| matches!(selection, Selection::Part(_)) || rewrite.has_part(part));
    Ok(found)
}

pub(crate) fn selected(
    name: &str,
    table: &Table,
    selection: &Selection,
) -> Result<Vec<String>, SqlError> {
    if let Selection::Part(part) = selection {
        return Ok(vec![part.clone()]);
    }
    let selection = by_id(name, table, selection)?;
    Ok(table.part_names().iter().filter(|part| is_in(&selection, part)).cloned().collect())
}

/// The parts in `detached/` that are meant, in the order in which they were made. One that another covers stays there: its rows
/// are in the other one.
fn waiting(name: &str, rewrite: &Rewrite, selection: &Selection) -> Result<Vec<String>, SqlError> {
    if let Selection::Part(part) = selection {
        return Ok(vec![part.clone()]);
    }
    let table = rewrite.table();
    let selection = by_id(name, table, selection)?;
    let there = detached_parts(table.storage(), table.path()).map_err(of_table(name))?;
    let mut names: Vec<PartName> = there.iter().filter_map(|it| PartName::parse(it)).collect();
    names.sort();
    let mut found: Vec<PartName> = Vec::new();
    for parsed in &names {
        if names.iter().any(|other| other.covers(parsed)) {
            continue;
        }
        let text = parsed.to_string();
        if !is_in(&selection, &text) {
            continue;
        }
        if let Some(other) = found.iter().find(|other| other.overlaps(parsed)) {
            let (table, part) = (table.path().to_owned(), other.to_string());
            let overlap = TableError::PartsOverlap { table, part, other: text };
            return Err(of_table(name)(overlap));
        }
        found.push(parsed.clone());
    }
    Ok(found.iter().map(ToString::to_string).collect())
}

fn drop_from_detached(
    name: &str,
    table: &Arc<Table>,
    selection: &Selection,
) -> Result<String, SqlError> {
    let mut choose = |part: &str| match selection {
        Selection::Part(name) => Ok(part == name),
        Selection::All => Ok(true),
        Selection::PartitionId(id) => Ok(is_of(part, id)),
        Selection::Partition(_) => Err(TableError::Refused {
            clause: "DROP DETACHED PARTITION by its values".to_owned(),
            reason: "what is there may be damaged: name the part, or PARTITION ID, or ALL"
                .to_owned(),
        }),
    };
    let done = drop_detached(table.storage(), table.path(), &mut choose).map_err(of_table(name))?;
    if let (0, Selection::Part(part)) = (done, selection) {
        let problem = format!("there is no part {part:?} in detached/");
        return Err(of_table(name)(TableError::Mismatch {
            table: table.path().to_owned(),
            problem,
        }));
    }
    Ok(format!("{} removed from detached/", parts(done)))
}

/// The ID of `PARTITION …`.
pub(super) fn partition_id(name: &str, table: &Table, text: &str) -> Result<String, SqlError> {
    let selection = Selection::parse(text).map_err(of_table(name))?;
    match by_id(name, table, &selection)? {
        Selection::PartitionId(id) => Ok(id),
        _ => Err(SqlError::refused(
            format!("OPTIMIZE TABLE ... {text}"),
            "it takes PARTITION with a value, or PARTITION ID",
        )),
    }
}

fn is_of(part: &str, id: &str) -> bool {
    PartName::parse(part).is_some_and(|name| name.partition == *id)
}

/// The same selection with the ID of a partition in the place of its values, which are read as their types.
fn by_id(name: &str, table: &Table, selection: &Selection) -> Result<Selection, SqlError> {
    let Selection::Partition(texts) = selection else { return Ok(selection.clone()) };
    let keys = table.definition().map_or(&[][..], |it| it.partition_by.as_slice());
    if texts.len() != keys.len() {
        return Err(SqlError::refused(
            format!("PARTITION of {} values", texts.len()),
            format!("PARTITION BY has {}", keys.len()),
        ));
    }
    let mut values = Vec::with_capacity(keys.len());
    for (key, text) in keys.iter().zip(texts) {
        let data_type = key.data_type(table.columns()).map_err(of_table(name))?;
        let column = [Column { name: key.to_string(), data_type: data_type.clone() }];
        let cell: ArrayRef = Arc::new(StringArray::from(vec![text.as_deref()]));
        let row = RecordBatch::try_from_iter_with_nullable([("value", cell, true)]);
        let row = row.map_err(DataFusionError::from)?;
        let mut handed = Handed::placed("PARTITION", &column, vec![Some(0)]);
        let row = handed.batch(&row).map_err(of_rows(name))?;
        values.push((data_type, Arc::clone(row.column(0))));
    }
    let partition = Partition { values, ranges: Vec::new() };
    let id = partition.id().map_err(TableError::part(table.path(), "PARTITION"));
    Ok(Selection::PartitionId(id.map_err(of_table(name))?))
}

/// True if a part is in a selected partition.
fn is_in(selection: &Selection, part: &str) -> bool {
    match selection {
        Selection::Part(name) => part == name,
        Selection::All => true,
        Selection::PartitionId(id) => is_of(part, id),
        // Its ID has taken its place.
        Selection::Partition(_) => false,
    }
}
