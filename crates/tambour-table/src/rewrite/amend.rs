//! Parts of which only some columns are written: the files of the others get a second name.

use super::{PartRows, Reader, Rewrite};
use crate::TableError;
use crate::alter::{Altered, Change};
use crate::conform::conform;
use crate::schema::alter::renamed;
use crate::schema::{ColumnDefinition, TableDefinition};
use crate::statistics;
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tambour_codec::spec::CodecSpec;
use tambour_part::Part;
use tambour_part::part::{PartReader, ReadRequest};
use tambour_part::types::{Column, Strings, arrow_schema};
use tambour_part::write::{Amender, Amendment, can_amend};

/// A part that is written beside an old one, with its files.
#[derive(Debug)]
pub(super) struct Amending {
    pub(super) old: Arc<Part>,
    pub(super) directory: String,
    renamed: Vec<(String, String)>,
    /// The columns that are written.
    schema: SchemaRef,
    amender: Amender,
}

impl Amending {
    pub(super) fn write(&mut self, table: &Path, batch: &RecordBatch) -> Result<(), TableError> {
        let arrays = batch.columns().iter().zip(self.schema.fields());
        let arrays = arrays.map(|(array, field)| conform(array, field.data_type()));
        let arrays = arrays.collect::<Result<Vec<_>, _>>()?;
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), arrays)
            .map_err(TableError::arrow("writing columns"))?;
        self.amender.write(&batch).map_err(TableError::part(table, &self.directory))
    }
}

/// Rows of some columns as a part has them.
#[derive(Debug)]
pub(super) struct ColumnRows {
    table: PathBuf,
    part: String,
    schema: SchemaRef,
    reader: PartReader,
}

impl Iterator for ColumnRows {
    type Item = Result<RecordBatch, TableError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.reader.next()?;
        let conformed =
            batch.map_err(TableError::part(&self.table, &self.part)).and_then(|batch| {
                let arrays = batch.columns().iter().zip(self.schema.fields());
                let arrays = arrays.map(|(array, field)| conform(array, field.data_type()));
                let arrays = arrays.collect::<Result<_, _>>()?;
                // Of no columns, the number of rows is all there is.
                let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
                RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &rows)
                    .map_err(TableError::arrow("reading columns of a part"))
            });
        Some(conformed)
    }
}

impl Rewrite {
    /// Begins a part that will stand in the place of another and has other values in these columns of the table, by their places.
    /// Nothing if all columns of the part have to be written: [`Rewrite::replace`].
    pub(super) fn amend_columns(
        &self,
        part: &str,
        columns: &[usize],
    ) -> Result<Option<Amending>, TableError> {
        let definition = &self.definition;
        let written = columns.iter().filter_map(|at| definition.columns.get(*at));
        let written: Vec<_> = written.map(of_definition).collect();
        let names: Vec<&str> = written.iter().map(|(column, _)| column.name.as_str()).collect();
        let drops_indices = reads_any(definition, &names)?;
        self.amending(part, Amendment { written, drops_indices, ..Amendment::default() })
    }

    /// The same for what [`Rewrite::redefine`] makes of the columns of a part; the places of those whose values are computed are
    /// those of [`Altered::recasts`].
    pub(super) fn amend_altered(
        &self,
        altered: &Altered,
        part: &str,
    ) -> Result<Option<(Amending, Vec<usize>)>, TableError> {
        let mut amendment = Amendment::default();
        let mut recasts = Vec::new();
        for column in self.part(part)?.stored_columns() {
            match altered.change(column) {
                Change::Keep => {}
                Change::Rename(name) => {
                    amendment.renamed.push((column.name.clone(), name.to_owned()));
                }
                Change::Drop => amendment.dropped.push(column.name.clone()),
                Change::Recast(index, after) => {
                    amendment.dropped.push(column.name.clone());
                    amendment.written.push(of_definition(after));
                    recasts.push(index);
                }
            }
        }
        let added = altered.unfilled(&*self.part(part)?).into_iter();
        let added = added.filter_map(|at| altered.definition().columns.get(at));
        amendment.written.extend(added.map(of_definition));
        // Skip indexes are about names and types of columns.
        let changed =
            amendment.dropped.iter().chain(amendment.renamed.iter().map(|(from, _)| from));
        let changed: Vec<&str> = changed.map(String::as_str).collect();
        let stale = altered.has_stale_files(&*self.part(part)?);
        let stale = stale.map_err(TableError::part(self.table.path(), part))?;
        if stale && !self.part(part)?.projections().is_empty() {
            return Ok(None);
        }
        amendment.drops_indices = stale || reads_any(&self.definition, &changed)?;
        let amending = self.amending(part, amendment)?;
        Ok(amending.map(|amending| (amending, recasts)))
    }

    fn amending(&self, part: &str, amendment: Amendment) -> Result<Option<Amending>, TableError> {
        let old = self.part(part)?;
        // Nobody knows what the values of a part are that shows no rows.
        let is_empty = old.rows() == 0;
        if is_empty || !can_amend(&old, &amendment) {
            return Ok(None);
        }
        let directory = self.work.directory();
        let written: Vec<Column> = amendment.written.iter().map(|(it, _)| it.clone()).collect();
        let schema = Arc::new(arrow_schema(&written, Strings::Binary));
        let renamed = amendment.renamed.clone();
        let target = self.table.path().join(&directory);
        let storage = self.table.storage();
        let amender = Amender::create(&old, storage, &target, amendment)
            .map_err(TableError::part(self.table.path(), part))?;
        Ok(Some(Amending { old, directory, renamed, schema, amender }))
    }

    /// Ends a part, keeps what is known of its values, and opens it.
    pub(super) fn amended(&self, amending: Amending) -> Result<(String, Part), TableError> {
        let Amending { old, directory, renamed, schema, amender } = amending;
        let path = self.table.path();
        let fresh = amender.finish().map_err(TableError::part(path, &directory))?;
        self.make_durable(&path.join(&directory))?;
        let written = self.written(&directory)?;
        let storage = self.table.storage().as_ref();
        let known = statistics::known(storage, path, &old).into_iter().filter_map(|mut column| {
            let name = &mut column.column.name;
            match renamed.iter().find(|(from, _)| from == name) {
                Some((_, to)) => to.clone_into(name),
                None if renamed.iter().any(|(_, to)| to == name) => return None,
                None => {}
            }
            let is_kept = schema.index_of(name).is_err()
                && written.stored_columns().any(|stored| *stored == column.column);
            is_kept.then_some(column)
        });
        let all: Vec<_> = known.chain(fresh).collect();
        statistics::keep(storage, path, &written, &all);
        Ok((directory, written))
    }

    /// The rows of a part with these columns of the table, by their places; strings are bytes. Deleted rows are left out.
    pub(super) fn rows_of(&self, part: &str, columns: &[usize]) -> Result<PartRows, TableError> {
        let opened = self.part(part)?;
        let all = self.definition.plain_columns();
        let wanted: Vec<Column> = columns.iter().filter_map(|at| all.get(*at).cloned()).collect();
        let place = |column: &Column| opened.columns().iter().position(|it| it.name == column.name);
        let places: Option<Vec<usize>> = wanted.iter().map(place).collect();
        let columns = places.ok_or_else(|| self.missing(part))?;
        let request = ReadRequest {
            columns,
            granules: std::iter::once(0..opened.granules().len()).collect(),
            batch_rows: usize::try_from(super::BATCH_ROWS_MAX).unwrap_or(usize::MAX),
            strings: Strings::Binary,
        };
        let table = self.table.path().to_owned();
        let reader = opened.read(request).map_err(TableError::part(&table, part))?;
        let schema = Arc::new(arrow_schema(&wanted, Strings::Binary));
        let rows = ColumnRows { table, part: part.to_owned(), schema, reader };
        Ok(PartRows(Reader::Columns(Box::new(rows))))
    }
}

/// A column as it is written.
fn of_definition(column: &ColumnDefinition) -> (Column, CodecSpec) {
    (column.column.clone(), column.codec.clone().unwrap_or_else(CodecSpec::lz4))
}

/// True if an index of the table reads one of these columns.
fn reads_any(definition: &TableDefinition, columns: &[&str]) -> Result<bool, TableError> {
    // What an ALIAS reads is not looked into.
    let aliases = definition.unstored.iter().map(|column| column.column.name.as_str());
    let names: Vec<&str> = columns.iter().copied().chain(aliases).collect();
    for text in &definition.clauses.elements {
        for name in &names {
            if renamed(text, name, name)?.is_some() {
                return Ok(true);
            }
        }
    }
    Ok(false)
}
