//! Tables of a directory of tables (`SessionOptions::database`): CREATE TABLE, DROP TABLE, RENAME TABLE.

use super::insert::{Source, of_rows};
use super::{READING, of_table, rows};
use crate::SqlError;
use crate::context::Session;
use crate::{describe, system};
use datafusion::common::TableReference;
use datafusion::error::DataFusionError;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use tambour_dialect as dialect;
use tambour_files::check_zones;
use tambour_storage::commit::exists;
use tambour_table::engine::Engine;
use tambour_table::insert::{Existing, Insert, InsertOptions};
use tambour_table::schema::token::Cursor;
use tambour_table::schema::{ColumnDefinition, Creation, Like, TableDefinition};
use tambour_table::{Table, TableError, catalog, check_fresh};

impl Session {
    /// Opens the tables of the directory that is this session's database.
    pub fn register_database(&self) -> Result<(), SqlError> {
        let Some(database) = &self.database else { return Ok(()) };
        let name = database.display().to_string();
        let storage = tambour_storage::disk();
        if self.write {
            catalog::sweep(&storage, database).map_err(of_table(&name))?;
        }
        for path in catalog::tables_in(&storage, database).map_err(of_table(&name))? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let table = Table::open_on(&storage, &path).map_err(of_table(&name))?;
            self.register_as(&name, Arc::new(table))?;
        }
        Ok(())
    }

    /// CREATE TABLE, with the rows of a query if it has one.
    pub(crate) async fn create_table(&self, text: &str) -> Result<String, SqlError> {
        const CLAUSE: &str = "CREATE TABLE";
        let database = self.changeable(CLAUSE)?.to_owned();
        let creation = Creation::parse(text);
        let creation = creation.map_err(|error| DataFusionError::External(Box::new(error)))?;
        let Creation { mut definition, is_optional, replaces, like, is_empty, query } = creation;
        let name = definition.name.clone();
        check_database(definition.database.take().as_deref(), &name)?;
        // Another process may have removed the table that the session has of this name.
        let known = self.table_named(&name).ok();
        let is_kept = known.map(|it| exists(it.storage().as_ref(), it.path()));
        if let Some(false) = is_kept.transpose().map_err(|error| of_table(&name)(error.into()))? {
            self.forget(&name)?;
        }
        let is_there = self.has_table(&name)?;
        if is_there && is_optional {
            return Ok(format!("table {name} is there already"));
        }
        if is_there && !replaces {
            return Err(SqlError::Duplicate { name });
        }
        if is_there || dialect::begins_with(text, ["REPLACE", "TABLE"]) {
            self.owned(&database, &name)?;
        }
        if let Some(like) = like {
            definition = self.completed(definition, &like)?;
        }
        let mut source = match query {
            None => None,
            Some(query) => {
                let prepared = dialect::prepare_for(query, &self.catalog())?;
                let execution = self.planned(prepared, query).await?.execute().await?;
                Some(Source::Query(Box::new(execution), true))
            }
        };
        if let (true, Some(Source::Query(execution, _))) = (definition.columns.is_empty(), &source)
        {
            definition.columns = describe::stored_columns(&execution.stream.schema())?
                .into_iter()
                .map(|column| ColumnDefinition::new(column.name, column.data_type))
                .collect();
        }
        if is_empty {
            source = None;
        }
        self.check_new(&definition).await?;
        self.make_table(&database, &definition, source, is_there).await
    }

    /// Makes a table, or puts a new one in the place of the one of its name.
    async fn make_table(
        &self,
        database: &Path,
        definition: &TableDefinition,
        mut source: Option<Source>,
        replaces: bool,
    ) -> Result<String, SqlError> {
        let name = definition.name.clone();
        let path = catalog::place_of(database, &name).map_err(of_table(&name))?;
        let storage = tambour_storage::disk();
        let options = InsertOptions { existing: Existing::Refuse, ..self.insert_options() };
        let given = definition.plain_columns();
        if let Some(source) = &source
            && source.width() != given.len()
        {
            return Err(SqlError::refused(
                format!("{} values into {} columns", source.width(), given.len()),
                "each column needs a value",
            ));
        }
        let place = if replaces { catalog::making(database, &name) } else { path.clone() };
        let insert = Insert::begin(&storage, &place, definition, options);
        let insert = insert.map_err(of_table(&name))?;
        let written = match &mut source {
            None => insert.commit().map_err(of_table(&name))?,
            Some(source) => self.store(&name, insert, &place, (definition, &given), source).await?,
        };
        let has_rows = source.is_some();
        drop(source);
        if replaces {
            catalog::replace_table(&storage, &place, &path).map_err(of_table(&name))?;
            self.forget(&name)?;
        }
        let table = Table::open_on(&storage, &path).map_err(of_table(&name))?;
        self.register_as(&name, Arc::new(table))?;
        let done = if replaces { "replaced" } else { "created" };
        Ok(if has_rows {
            format!("table {name} {done}, {} inserted", rows(written.rows))
        } else {
            format!("table {name} {done}")
        })
    }

    /// A definition with what it does not say itself as another table has it.
    fn completed(
        &self,
        definition: TableDefinition,
        like: &Like,
    ) -> Result<TableDefinition, SqlError> {
        check_database(like.database.as_deref(), &like.name)?;
        let table = self.table_named(&like.name)?;
        match table.definition() {
            Some(model) => Ok(like.complete(definition, model)),
            None => Err(SqlError::refused(
                format!("CREATE TABLE ... AS {}", like.name),
                "its definition is not known",
            )),
        }
    }

    /// An error if ClickHouse would not make such a table, or rows could not be added to it here.
    async fn check_new(&self, definition: &TableDefinition) -> Result<(), SqlError> {
        let name = definition.name.as_str();
        definition.check().map_err(of_table(name))?;
        Engine::of(definition).map_err(of_table(name))?;
        check_fresh(definition).map_err(of_table(name))?;
        check_zones(&definition.plain_columns()).map_err(of_rows(name))?;
        self.check_expressions(definition, None).await?;
        self.check_elements(definition, &definition.clauses.elements).await
    }

    pub(super) fn drop_table(&self, name: &str, is_optional: bool) -> Result<String, SqlError> {
        let database = self.changeable("DROP TABLE")?.to_owned();
        if is_optional && !self.has_table(name)? {
            return Ok(format!("there is no table {name}"));
        }
        let table = self.owned(&database, name)?;
        catalog::drop_table(table.storage(), table.path()).map_err(of_table(name))?;
        self.forget(name)?;
        Ok(format!("table {name} removed, with {}", rows(table.rows())))
    }

    pub(super) fn rename_table(&self, name: &str, to: &str) -> Result<String, SqlError> {
        let database = self.changeable("RENAME TABLE")?.to_owned();
        let table = self.owned(&database, name)?;
        if self.has_table(to)? {
            return Err(SqlError::Duplicate { name: to.to_owned() });
        }
        let path = catalog::place_of(&database, to).map_err(of_table(to))?;
        let renamed = catalog::rename_table(table.storage(), table.path(), &path, to);
        renamed.map_err(of_table(name))?;
        self.forget(name)?;
        let table = Table::open_on(table.storage(), &path).map_err(of_table(to))?;
        self.register_as(to, Arc::new(table))?;
        Ok(format!("table {name} is {to} now"))
    }

    /// `EXCHANGE TABLES a AND b`.
    pub(crate) fn exchange_tables(&self, text: &str) -> Result<String, SqlError> {
        let names = || -> Result<_, TableError> {
            let mut cursor = Cursor::new(text)?;
            cursor.expect_words(&["EXCHANGE", "TABLES"])?;
            let first = table_of(&mut cursor)?;
            cursor.expect_words(&["AND"])?;
            let second = table_of(&mut cursor)?;
            cursor.expect_end()?;
            Ok((first, second))
        };
        let names = names().map_err(|error| DataFusionError::External(Box::new(error)))?;
        let ((first_database, first), (second_database, second)) = names;
        check_database(first_database.as_deref(), &first)?;
        check_database(second_database.as_deref(), &second)?;
        let database = self.changeable("EXCHANGE TABLES")?.to_owned();
        let (one, other) = (self.owned(&database, &first)?, self.owned(&database, &second)?);
        let storage = Arc::clone(one.storage());
        let (one, other) = (one.path().to_owned(), other.path().to_owned());
        catalog::exchange_tables(&storage, (&one, &first), (&other, &second))
            .map_err(of_table(&first))?;
        for (name, path) in [(&first, &one), (&second, &other)] {
            self.forget(name)?;
            let table = Table::open_on(&storage, path).map_err(of_table(name))?;
            if !self.has_table(name)? {
                self.register_as(name, Arc::new(table))?;
            }
        }
        Ok(format!("tables {first} and {second} exchanged"))
    }

    /// The directory of tables, if tables may be made and removed in it.
    fn changeable(&self, clause: &str) -> Result<&Path, SqlError> {
        if !self.write {
            return Err(SqlError::refused(clause, READING));
        }
        let missing = || SqlError::refused(clause, "name a directory of tables with --database");
        self.database.as_deref().ok_or_else(missing)
    }

    /// A table of the directory of tables; others are not ours to remove or rename.
    fn owned(&self, database: &Path, name: &str) -> Result<Arc<Table>, SqlError> {
        let table = self.table_named(name)?;
        let wanted: PathBuf = catalog::place_of(database, name).map_err(of_table(name))?;
        if table.path() == wanted {
            return Ok(table);
        }
        Err(SqlError::refused(
            format!("a change of the table {name:?}"),
            format!("it is in {}, not in the database", table.path().display()),
        ))
    }

    /// True of tables, views and records alike.
    fn has_table(&self, name: &str) -> Result<bool, SqlError> {
        Ok(self.context().table_exist(TableReference::bare(name))?)
    }

    fn forget(&self, name: &str) -> Result<(), SqlError> {
        self.context().deregister_table(TableReference::bare(name))?;
        let mut registered = self.registry.write().unwrap_or_else(PoisonError::into_inner);
        registered.retain(|(other, _)| other != name);
        Ok(())
    }
}

/// `name` or `database.name`.
fn table_of(cursor: &mut Cursor) -> Result<(Option<String>, String), TableError> {
    let name = cursor.expect_name("the table's name")?;
    if cursor.take_symbol(".") {
        return Ok((Some(name), cursor.expect_name("the table's name")?));
    }
    Ok((None, name))
}

fn check_database(database: Option<&str>, table: &str) -> Result<(), SqlError> {
    match database {
        None | Some(system::DATABASE) => Ok(()),
        Some(other) => Err(SqlError::refused(
            format!("CREATE TABLE {other}.{table}"),
            "only tables of the database default",
        )),
    }
}
