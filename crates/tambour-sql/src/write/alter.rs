//! ALTER TABLE of columns: what they become is [`tambour_table::alter`]'s; values of another type are computed by a query, so that
//! CAST means here what it means in SELECT.

use super::derived::{Derived, Step};
use super::mutation::{Matches, alone, disagreement, part_name, write};
use super::numbered::ROW;
use super::{CLAUSE, READING, of_table, parts, rows};
use crate::SqlError;
use crate::context::Session;
use crate::system;
use arrow::array::RecordBatch;
use datafusion::error::DataFusionError;
use datafusion::sql::sqlparser::ast::Query;
use std::collections::BTreeSet;
use std::sync::Arc;
use tambour_dialect as dialect;
use tambour_part::types::{Column, arrow_schema};
use tambour_table::Table;
use tambour_table::alter::{Altered, Recast};
use tambour_table::rewrite::Rewrite;
use tambour_table::schema::alter::{Action, Alter, Alteration, ElementAction, PartsAction};
use tambour_table::schema::{TableDefinition, quoted_name};

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
        let actions: Vec<&PartsAction> = statement.commands.iter().filter_map(of_parts).collect();
        let told = if actions.len() == statement.commands.len() {
            self.alter_parts(name, &table, &actions)?
        } else {
            self.alter_columns(name, &table, &statement).await?
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
        let recasts = altered.recasts();
        self.check_casts(name, rewrite.definition(), &recasts).await?;
        rewrite.redefine(altered).map_err(&error)?;
        let (mut count, mut touched) = (0, 0);
        for part in rewrite.table().part_names().to_vec() {
            if !rewrite.is_touched(&part).map_err(&error)? {
                continue;
            }
            rewrite.come_to(&part);
            count += self.alter_part(name, &mut rewrite, &part, &recasts).await?;
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
        recasts: &[Recast],
    ) -> Result<u64, SqlError> {
        let error = of_table(name);
        let amended = rewrite.amend(part).map_err(&error)?;
        let is_whole = amended.is_none();
        let (mut draft, old, recasts) = if let Some((draft, old, places)) = amended {
            let find = |at: &usize| recasts.iter().find(|it| it.index == *at).cloned();
            (draft, old, places.iter().filter_map(find).collect())
        } else {
            let draft = rewrite.replace(part).map_err(&error)?;
            (draft, rewrite.rows(part).map_err(&error)?, recasts.to_vec())
        };
        let mut targets: Vec<(usize, Column)> =
            recasts.iter().map(|it| (it.index, it.column.clone())).collect();
        if !is_whole {
            targets = alone(&targets);
        }
        let mut found = None;
        if !recasts.is_empty() {
            // Without the query, the old values would pass for the new ones.
            let only = rewrite.table().only(part).ok_or_else(|| disagreement(part))?;
            let columns = rewrite.definition().plain_columns();
            let query = casts(name, &recasts, &columns)?;
            let matches = self.matches(name, &query, only).await?;
            found = Some(Matches::new(matches, &targets, name));
        }
        let mut before = 0;
        for batch in old {
            let mut batch = batch.map_err(&error)?;
            let end = before + batch.num_rows() as u64;
            if let Some(found) = &mut found {
                found.upto(end).await?;
                batch = found.apply(batch, before, &targets)?;
            }
            if is_whole {
                batch = rewrite.adapt(batch).map_err(&error)?;
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

fn of_parts(command: &Alter) -> Option<&PartsAction> {
    match &command.action {
        Action::Parts(action) => Some(action),
        _ => None,
    }
}

/// `SELECT row, CAST(a, 'T'), … FROM part AS t ORDER BY row`.
fn casts(table: &str, recasts: &[Recast], before: &[Column]) -> Result<Query, SqlError> {
    let alias = table.replace('"', "\"\"");
    let part = part_name(&alias);
    let mut values = String::new();
    for (index, recast) in recasts.iter().enumerate() {
        let Some(old) = before.get(recast.index) else { continue };
        let mut value = quoted_name(&old.name);
        if let Some(default) = &recast.in_place_of_null {
            value = format!("ifNull({value}, {default})");
        }
        let data_type = recast.column.data_type.to_string();
        let data_type = data_type.replace('\\', "\\\\").replace('\'', "''");
        values += &format!(", CAST({value}, '{data_type}') AS \"\u{1f}value{index}\"");
    }
    Ok(dialect::parse_query(&format!(
        "SELECT \"{ROW}\"{values} FROM \"{part}\" AS \"{alias}\" ORDER BY \"{ROW}\""
    ))?)
}
