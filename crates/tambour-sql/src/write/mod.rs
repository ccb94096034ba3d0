//! Statements that write. Parts stay immutable: rows are added as new parts, and a part whose rows change is written anew
//! ([`mutation`]); one commit of the table's sidecar makes all of it visible, or nothing.
//!
//! What is changed is decided by queries of the session, so that conditions and values mean what they mean in SELECT. Values
//! are stored by the same conversion as an import's ([`tambour_files::Handed`]): one that does not fit is an error.

mod alter;
mod blanks;
mod checks;
pub(crate) mod complete;
mod database;
pub(crate) mod derived;
mod insert;
mod literals;
mod load;
mod merge;
mod mutation;
mod numbered;
mod parts;
mod rows;
mod settings;

use crate::SqlError;
use crate::context::Session;
use datafusion::common::TableReference;
use insert::Rows;
pub(crate) use insert::of_rows;
pub(crate) use parts::selected;
pub(crate) use settings::without_settings;
use std::sync::{Arc, PoisonError};
use tambour_dialect::{Action, Change};
use tambour_part::types::arrow_schema;
use tambour_table::insert::InsertOptions;
use tambour_table::rewrite::Rewrite;
use tambour_table::{Table, TableError};

/// Why statements that change tables are refused where a session was opened for reading.
pub(crate) const READING: &str = "tables are open for reading; give --write to change them";

/// What errors call a statement that changes columns or parts.
const CLAUSE: &str = "ALTER TABLE";

impl Session {
    /// Carries out a change; returns what it did, for people.
    pub(crate) async fn change(&self, change: &Change) -> Result<String, SqlError> {
        if matches!(change.action, Action::Drop { .. }) && self.forget_temporary(&change.table)? {
            return Ok(format!("the temporary table {:?} is removed", change.table));
        }
        if !self.write {
            return Err(SqlError::refused(change.words(), READING));
        }
        match &change.action {
            Action::Drop { is_optional } => return self.drop_table(&change.table, *is_optional),
            Action::Rename { to } => return self.rename_table(&change.table, to),
            Action::Several(changes) => {
                let mut told = Vec::new();
                for change in changes {
                    told.push(Box::pin(self.change(change)).await?);
                }
                return Ok(told.join("; "));
            }
            _ => {}
        }
        let is_there = |table: &str| self.tables().iter().any(|(other, _)| other == table);
        if let Action::Truncate { is_optional: true } = &change.action
            && !is_there(&change.table)
        {
            return Ok(format!("there is no table {}", change.table));
        }
        let table = self.table_named(&change.table)?;
        let told = match &change.action {
            Action::Insert { columns, source } => {
                self.insert(change, &table, columns, Rows::Query(source)).await?
            }
            Action::Load { columns, format, data } => {
                let rows = Rows::Format(format, data.as_deref());
                self.insert(change, &table, columns, rows).await?
            }
            Action::Delete { condition, is_mask, partition } => {
                let partition = partition.as_deref();
                self.delete(change, &table, (condition, *is_mask), partition).await?
            }
            Action::Update { assignments, condition, partition } => {
                let partition = partition.as_deref();
                self.update(change, &table, (assignments, condition), partition).await?
            }
            Action::Truncate { .. } => truncate(&change.table, &table, self.insert_options())?,
            Action::Optimize { partition, duplicates } => {
                let partition = partition.as_deref();
                self.optimize(change, &table, partition, duplicates.as_ref()).await?
            }
            // These are done above, since the table is not there afterwards.
            Action::Drop { .. } | Action::Rename { .. } | Action::Several(_) => String::new(),
        };
        self.renew(&change.table, table)?;
        Ok(told)
    }

    /// Opens a table that was changed, and lets go of what the session held of it until now.
    fn renew(&self, name: &str, table: Arc<Table>) -> Result<(), SqlError> {
        self.reopen(name, &table)?;
        let (storage, path) = (Arc::clone(table.storage()), table.path().to_owned());
        drop(table);
        // If another writer came first, it removes what was replaced.
        let _ = tambour_table::remove_replaced(&storage, &path);
        Ok(())
    }

    pub(crate) fn table_named(&self, name: &str) -> Result<Arc<Table>, SqlError> {
        let tables = self.tables();
        match tables.iter().find(|(other, _)| other == name) {
            Some((_, table)) => Ok(Arc::clone(table)),
            None => Err(SqlError::UnknownTable {
                name: name.to_owned(),
                tables: tables.into_iter().map(|(name, _)| name).collect(),
            }),
        }
    }

    /// Puts the table as it is now in the place of the one that was changed.
    fn reopen(&self, name: &str, table: &Table) -> Result<(), SqlError> {
        let opened = Table::open_on(table.storage(), table.path()).map_err(of_table(name))?;
        self.replace_table(name, &Arc::new(opened))
    }

    /// Puts a table in the place of the one that the session has of this name.
    fn replace_table(&self, name: &str, opened: &Arc<Table>) -> Result<(), SqlError> {
        let provider = Arc::new(self.provider(opened));
        self.context().deregister_table(TableReference::bare(name))?;
        self.context().register_table(TableReference::bare(name), provider)?;
        let mut registered = self.registry.write().unwrap_or_else(PoisonError::into_inner);
        for (other, table) in registered.iter_mut() {
            if other == name {
                *table = Arc::clone(opened);
            }
        }
        Ok(())
    }

    fn insert_options(&self) -> InsertOptions {
        let options = InsertOptions::default();
        let memory_bytes = self.memory_bytes.unwrap_or(u64::MAX).min(options.memory_bytes);
        InsertOptions { threads: self.threads, memory_bytes, ..options }
    }
}

fn truncate(name: &str, table: &Table, options: InsertOptions) -> Result<String, SqlError> {
    let done = (|| {
        let mut rewrite = Rewrite::begin(table.storage(), table.path(), "TRUNCATE", options)?;
        let parts = rewrite.table().part_names().to_vec();
        parts.iter().try_for_each(|part| rewrite.drop_part(part))?;
        rewrite.commit()
    })();
    let done = done.map_err(of_table(name))?;
    Ok(format!("{} removed, {}", rows(done.rows_before), parts(done.parts)))
}

/// An error of the table layer, under the table's name in SQL.
pub(crate) fn of_table(name: &str) -> impl Fn(TableError) -> SqlError {
    move |cause| SqlError::Table { name: name.to_owned(), cause: Box::new(cause) }
}

/// A name as it stands between double quotes.
pub(crate) fn between_quotes(name: &str) -> String {
    name.replace('\\', "\\\\").replace('"', "\"\"")
}

pub(crate) fn rows(count: u64) -> String {
    if count == 1 { "1 row".to_owned() } else { format!("{count} rows") }
}

fn parts(count: u64) -> String {
    if count == 1 { "1 part".to_owned() } else { format!("{count} parts") }
}

/// The Arrow schema of a table in a session of ours.
fn schema_of(session: &Session, table: &Table) -> arrow::datatypes::SchemaRef {
    Arc::new(arrow_schema(table.columns(), session.strings))
}
