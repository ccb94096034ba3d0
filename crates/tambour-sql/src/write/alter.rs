//! ALTER TABLE of columns: what they become is [`tambour_table::alter`]'s; values of another type are computed by a query, so that
//! CAST means here what it means in SELECT.

use super::complete::step;
use super::derived::{Derived, Step, ordered};
use super::mutation::{Matches, alone, disagreement, part_name, write};
use super::numbered::ROW;
use super::{CLAUSE, READING, between_quotes, of_table, parts, rows, selected};
use crate::SqlError;
use crate::context::Session;
use crate::system;
use arrow::array::{RecordBatch, RecordBatchOptions, new_null_array};
use arrow::datatypes::{DataType, Field, Schema};
use datafusion::error::DataFusionError;
use datafusion::sql::sqlparser::ast::Query;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tambour_dialect as dialect;
use tambour_part::types::{self, Column, arrow_schema};
use tambour_table::Table;
use tambour_table::alter::{Altered, Recast};
use tambour_table::rewrite::Rewrite;
use tambour_table::schema::alter::{
    Action, Alter, Alteration, ElementAction, PartsAction, RowsAction,
};
use tambour_table::schema::{ColumnDefinition, TableDefinition, quoted_name};

impl Session {
    /// ALTER TABLE, if the text is one that this knows.
    pub(crate) async fn alter_table(&self, text: &str) -> Result<Option<String>, SqlError> {
        let statement = Alteration::parse(text);
        let statement = statement.map_err(|error| DataFusionError::External(Box::new(error)))?;
        let Some(statement) = statement else { return Ok(None) };
        if !self.write {
            return Err(SqlError::refused(CLAUSE, READING));
        }
        let name = statement.table.as_str();
        if statement.database.as_deref().is_some_and(|it| it != system::DATABASE) {
            return Err(SqlError::refused(
                format!("{CLAUSE} of another database"),
                "only tables of the database default",
            ));
        }
        let table = self.table_named(name)?;
        let count = statement.commands.len();
        let of_parts: Vec<&PartsAction> = statement.commands.iter().filter_map(of_parts).collect();
        let of_rows: Vec<&RowsAction> = statement.commands.iter().filter_map(of_rows).collect();
        let told = if of_parts.len() == count {
            self.alter_parts(name, &table, &of_parts)?
        } else if of_rows.len() == count {
            self.alter_rows((&statement, text), &table, &of_rows).await?
        } else if of_rows.is_empty() {
            self.alter_columns(name, &table, &statement).await?
        } else {
            return Err(SqlError::refused(
                "ALTER TABLE of rows and of columns or parts at once",
                "make a statement of DELETE, UPDATE and their like, and one of the others",
            ));
        };
        self.renew(name, table)?;
        Ok(Some(told))
    }

    async fn alter_columns(
        &self,
        name: &str,
        table: &Table,
        statement: &Alteration,
    ) -> Result<String, SqlError> {
        let error = of_table(name);
        let (command, options) = (statement.text.clone(), self.insert_options());
        let mut rewrite =
            Rewrite::begin_mutation(table.storage(), table.path(), CLAUSE, command, options)
                .map_err(&error)?;
        let altered = Altered::new(rewrite.definition(), &statement.commands).map_err(&error)?;
        self.check_added(altered.definition(), &statement.commands).await?;
        self.check_casts(name, rewrite.definition(), &altered.recasts()).await?;
        rewrite.redefine(altered.clone()).map_err(&error)?;
        let (mut count, mut touched) = (0, 0);
        for part in asked(name, rewrite.table(), &statement.commands)? {
            if !rewrite.is_touched(&part).map_err(&error)? {
                continue;
            }
            rewrite.come_to(&part);
            count += self.alter_part(name, &mut rewrite, &part, &altered).await?;
            touched += 1;
        }
        rewrite.commit().map_err(&error)?;
        Ok(match touched {
            0 => format!("table {name} altered"),
            _ => format!("table {name} altered, {} in {} changed", rows(count), parts(touched)),
        })
    }

    /// An error if an expression that is new cannot be computed from the columns of a row.
    async fn check_added(
        &self,
        definition: &TableDefinition,
        commands: &[Alter],
    ) -> Result<(), SqlError> {
        let mut names = BTreeSet::new();
        let mut elements = Vec::new();
        for command in commands {
            match &command.action {
                Action::Add(columns, _) => {
                    names.extend(columns.iter().map(|it| it.column.name.clone()));
                }
                Action::Modify(given) if given.column.clauses.default.is_some() => {
                    names.insert(given.column.column.name.clone());
                }
                Action::Element(ElementAction::Add(_, _, text, _)) => {
                    elements.push(text);
                }
                _ => {}
            }
        }
        self.check_expressions(definition, Some(&names)).await?;
        self.check_elements(definition, elements).await
    }

    /// An error if values of a column cannot become those of its new type, whatever they are.
    async fn check_casts(
        &self,
        table: &str,
        definition: &TableDefinition,
        recasts: &[Recast],
    ) -> Result<(), SqlError> {
        let step = |recast: &Recast| {
            let name = &definition.columns.get(recast.index)?.column.name;
            let sql = format!("CAST({} AS {})", quoted_name(name), recast.column.data_type);
            let reads = BTreeSet::from([name.clone()]);
            Some(Step { name: format!("\u{1f}cast {name}"), sql, reads })
        };
        let steps: Vec<Step> = recasts.iter().filter_map(step).collect();
        if steps.is_empty() {
            return Ok(());
        }
        let columns = definition.plain_columns();
        let derived = Derived::new(self, table, &columns, &[steps]).await?;
        let none = arrow_schema(&columns, self.strings);
        derived.of(&RecordBatch::new_empty(Arc::new(none))).await.map(drop)
    }

    /// Puts a part with the new columns in the place of an old one; how many rows it has.
    async fn alter_part(
        &self,
        name: &str,
        rewrite: &mut Rewrite,
        part: &str,
        altered: &Altered,
    ) -> Result<u64, SqlError> {
        let error = of_table(name);
        let computed = rewrite.unfilled(part).map_err(&error)?;
        let amended = rewrite.amend(part).map_err(&error)?;
        let is_whole = amended.is_none();
        let (mut draft, old, recasts) = if let Some((draft, old, places)) = amended {
            let recasts = altered.recasts();
            let find = |at: &usize| recasts.iter().find(|it| it.index == *at).cloned();
            (draft, old, places.iter().filter_map(find).collect())
        } else {
            let draft = rewrite.replace(part).map_err(&error)?;
            (draft, rewrite.rows(part).map_err(&error)?, altered.recasts())
        };
        let mut targets: Vec<(usize, Column)> =
            recasts.iter().map(|it| (it.index, it.column.clone())).collect();
        let columns = altered.definition().plain_columns();
        let past = rewrite.definition().columns.len();
        let added = computed.iter().filter_map(|at| columns.get(*at).cloned());
        targets.extend(added.enumerate().map(|(number, column)| (past + number, column)));
        if !is_whole {
            targets = alone(&targets);
        }
        let mut found = None;
        if !targets.is_empty() {
            // Without the query, the old values would pass for the new ones.
            let only = rewrite.table().only(part).ok_or_else(|| disagreement(part))?;
            let query = new_values(name, altered, &recasts, &computed)?;
            let matches = self.matches(name, &query, only).await?;
            found = Some(Matches::new(matches, &targets, name));
        }
        let mut before = 0;
        for batch in old {
            let mut batch = batch.map_err(&error)?;
            let end = before + batch.num_rows() as u64;
            if let Some(found) = &mut found {
                found.upto(end).await?;
                batch = found.apply(with_blanks(&batch, computed.len())?, before, &targets)?;
            }
            if is_whole {
                batch = rewrite.adapt(batch, &computed).map_err(&error)?;
                write(&mut draft, &batch).map_err(&error)?;
            } else if !targets.is_empty() {
                write(&mut draft, &batch).map_err(&error)?;
            }
            before = end;
        }
        if found.is_some_and(|found| found.taken() != before) {
            return Err(disagreement(part));
        }
        rewrite.put(draft).map_err(&error)?;
        Ok(before)
    }
}

/// The rows with as many more columns, to be filled.
fn with_blanks(batch: &RecordBatch, count: usize) -> Result<RecordBatch, SqlError> {
    let (mut fields, mut columns) = (batch.schema().fields().to_vec(), batch.columns().to_vec());
    for number in 0..count {
        fields.push(Arc::new(Field::new(format!("\u{1f}blank{number}"), DataType::Null, true)));
        columns.push(new_null_array(&DataType::Null, batch.num_rows()));
    }
    let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let schema = Arc::new(Schema::new(fields));
    let wider = RecordBatch::try_new_with_options(schema, columns, &rows);
    Ok(wider.map_err(DataFusionError::from)?)
}

/// The parts that may change: those of a partition, if all commands are about it.
fn asked(name: &str, table: &Table, commands: &[Alter]) -> Result<Vec<String>, SqlError> {
    let of_some = |command: &Alter| match &command.action {
        Action::Clear(_, selection) => selection.clone(),
        _ => None,
    };
    let selections: Vec<_> = commands.iter().map(of_some).collect();
    match selections.as_slice() {
        [Some(first), others @ ..] if others.iter().all(|it| it.as_ref() == Some(first)) => {
            selected(name, table, first)
        }
        all if all.iter().all(Option::is_none) => Ok(table.part_names().to_vec()),
        _ => Err(SqlError::refused(
            "CLEAR COLUMN ... IN PARTITION beside another command",
            "make two statements of it",
        )),
    }
}

fn of_parts(command: &Alter) -> Option<&PartsAction> {
    match &command.action {
        Action::Parts(action) => Some(action),
        _ => None,
    }
}

fn of_rows(command: &Alter) -> Option<&RowsAction> {
    match &command.action {
        Action::Rows(action) => Some(action),
        _ => None,
    }
}

/// `SELECT row, a, c … FROM (SELECT *, f(a) AS c FROM (SELECT row, CAST(a, 'T') AS a, … FROM part AS t) AS t) AS t ORDER BY row`:
/// the columns of `recasts`, then those at the places `computed` of the new definition.
fn new_values(
    table: &str,
    altered: &Altered,
    recasts: &[Recast],
    computed: &[usize],
) -> Result<Query, SqlError> {
    let alias = between_quotes(table);
    let after = &altered.definition().columns;
    let is_computed =
        |column: &ColumnDefinition| computed.iter().any(|at| after.get(*at) == Some(column));
    let mut kept = String::new();
    for (index, old, new) in altered.pairs().filter(|(.., new)| !is_computed(new)) {
        let mut value = quoted_name(&old.column.name);
        if let Some(recast) = altered.recasts().iter().find(|it| it.index == index) {
            if let Some(default) = &recast.in_place_of_null {
                value = format!("ifNull({value}, {default})");
            }
            value = format!("CAST({value}, '{}')", literal(&recast.column.data_type));
        }
        kept += &format!(", {value} AS {}", quoted_name(&new.column.name));
    }
    let part = part_name(&alias);
    let mut from =
        format!("(SELECT \"{ROW}\"{kept} FROM \"{part}\" AS \"{alias}\") AS \"{alias}\"");
    for layer in ordered(needed(altered, computed)?)? {
        let values = layer.iter().map(|it| format!(", {} AS {}", it.sql, quoted_name(&it.name)));
        let values: String = values.collect();
        from = format!("(SELECT *{values} FROM {from}) AS \"{alias}\"");
    }
    let recast = |it: &Recast| {
        let (.., new) = altered.pairs().find(|(index, ..)| *index == it.index)?;
        Some(&new.column.name)
    };
    let added = computed.iter().filter_map(|at| Some(&after.get(*at)?.column.name));
    let mut values = String::new();
    for (number, name) in recasts.iter().filter_map(recast).chain(added).enumerate() {
        values += &format!(", {} AS \"\u{1f}value{number}\"", quoted_name(name));
    }
    let text = format!("SELECT \"{ROW}\"{values} FROM {from} ORDER BY \"{ROW}\"");
    Ok(dialect::parse_query(&text)?)
}

/// The columns at the places `computed`, and those that they read of what is not there yet.
fn needed(altered: &Altered, computed: &[usize]) -> Result<BTreeMap<String, Step>, SqlError> {
    let definition = altered.definition();
    let mut needed = BTreeMap::new();
    for column in computed.iter().filter_map(|at| definition.columns.get(*at)) {
        needed.insert(column.column.name.clone(), made(column)?);
    }
    let is_kept = |column: &ColumnDefinition| altered.pairs().any(|(.., new)| new == column);
    let columns = definition.columns.iter().chain(&definition.unstored);
    let others: Vec<&ColumnDefinition> = columns.filter(|column| !is_kept(column)).collect();
    loop {
        let is_read = |name: &String| needed.values().any(|it: &Step| it.reads.contains(name));
        let next = others.iter().find(|column| {
            is_read(&column.column.name) && !needed.contains_key(&column.column.name)
        });
        let Some(column) = next else { return Ok(needed) };
        needed.insert(column.column.name.clone(), made(column)?);
    }
}

/// How the values of a column are made.
fn made(column: &ColumnDefinition) -> Result<Step, SqlError> {
    match column.clauses.default.as_deref() {
        Some(default) => step(column, default),
        None => step(column, zero(column)?),
    }
}

/// What rows have in a column without a DEFAULT, to be cast to its type.
fn zero(column: &ColumnDefinition) -> Result<&'static str, SqlError> {
    use types::DataType as T;
    let data_type = &column.column.data_type;
    Ok(match data_type.unwrapped() {
        _ if data_type.is_nullable() => "NULL",
        T::String | T::FixedString(_) => "''",
        T::Array(_) => "[]",
        T::Enum8(_)
        | T::Enum16(_)
        | T::Tuple(_)
        | T::Map(..)
        | T::Uuid
        | T::Ipv4
        | T::Ipv6
        | T::Date32 => {
            return Err(SqlError::refused(
                format!("a DEFAULT that reads the new column {:?}", column.column.name),
                "give it a DEFAULT, or add it by a statement of its own",
            ));
        }
        _ => "0",
    })
}

/// The name of a type as it stands in a text of SQL.
fn literal(data_type: &types::DataType) -> String {
    data_type.to_string().replace('\\', "\\\\").replace('\'', "''")
}
