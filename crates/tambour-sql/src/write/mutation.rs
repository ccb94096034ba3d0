//! UPDATE and DELETE: parts with rows that match are written anew (of an UPDATE, only the columns that it names), or get a mask that
//! hides them (`DELETE FROM`).
//!
//! For each part, a query gives the numbers of the rows that match, and their new values; what stays is copied
//! from the part as it is stored, so that what a session shows of a value (strings as text, say) changes nothing.

use super::insert::of_rows;
use super::numbered::{Numbered, ROW};
use super::rows::{Command, What};
use super::{between_quotes, of_table};
use crate::SqlError;
use crate::context::Session;
use crate::execution::Execution;
use arrow::array::BooleanBufferBuilder;
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch, new_null_array};
use arrow::buffer::BooleanBuffer;
use arrow::compute::{cast, filter_record_batch, interleave};
use arrow::datatypes::{DataType, Schema, UInt64Type};
use datafusion::common::TableReference;
use datafusion::error::DataFusionError;
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, LambdaFunctionParameter, OneOrManyWithParens, Query, SelectItem, SetExpr,
    visit_expressions_mut,
};
use std::collections::{BTreeSet, VecDeque};
use std::ops::ControlFlow;
use std::sync::Arc;
use tambour_dialect::{self as dialect, Change};
use tambour_files::Handed;
use tambour_part::types::{Column, Strings};
use tambour_table::Table;
use tambour_table::engine::Engine;
use tambour_table::rewrite::{PartDraft, Rewrite};
use tambour_table::schema::{ColumnDefinition, ColumnKind, TableDefinition};

/// The name of the part of a table that is looked at; nobody types it. Changes of one table wait for each other, changes of
/// several need not: each has a name of its own.
pub(super) fn part_name(table: &str) -> String {
    format!("\u{1f}part of {table}")
}

impl Session {
    /// Removes the rows that match.
    pub(super) async fn delete(
        &self,
        change: &Change,
        table: &Table,
        (condition, is_mask): (&Expr, bool),
        partition: Option<&str>,
    ) -> Result<String, SqlError> {
        let what = What::Values { assignments: Vec::new(), condition: condition.clone(), is_mask };
        let command = Command::new(&change.table, what, partition)?;
        self.change_rows((&change.table, change.words()), table, &[command]).await
    }

    /// Replaces values in the rows that match.
    pub(super) async fn update(
        &self,
        change: &Change,
        table: &Table,
        (assignments, condition): (&[(String, Expr)], &Expr),
        partition: Option<&str>,
    ) -> Result<String, SqlError> {
        let (assignments, condition) = (assignments.to_vec(), condition.clone());
        let what = What::Values { assignments, condition, is_mask: false };
        let command = Command::new(&change.table, what, partition)?;
        self.change_rows((&change.table, change.words()), table, &[command]).await
    }

    /// Changes the rows of one part that match; how many, and the new name of the part if there is one: all of its rows may be gone.
    /// Nothing if none matches.
    pub(super) async fn change_part(
        &self,
        rewrite: &mut Rewrite,
        (table, part): (&str, &str),
        (targets, query, is_mask): (&[(usize, Column)], &Query, bool),
    ) -> Result<Option<(u64, Option<String>)>, SqlError> {
        let error = of_table(table);
        let Some(only) = rewrite.only(part) else { return Err(disagreement(part)) };
        let matches = self.matches(table, query, only).await?;
        let mut found = Matches::new(matches, targets, table);
        if !found.begin().await? {
            return Ok(None);
        }
        if is_mask && rewrite.can_hide_rows(part).map_err(&error)? {
            let deleted = found.all().await?;
            rewrite.hide_rows(part, &deleted).map_err(&error)?;
            return Ok(Some((deleted.count_set_bits() as u64, None)));
        }
        let (mut draft, old, is_some) = if targets.is_empty() {
            let draft = rewrite.replace(part).map_err(&error)?;
            (draft, rewrite.rows(part).map_err(&error)?, false)
        } else {
            let columns: Vec<usize> = targets.iter().map(|(at, _)| *at).collect();
            rewrite.update(part, &columns).map_err(&error)?
        };
        let targets = if is_some { alone(targets) } else { targets.to_vec() };
        let mut before = 0;
        for batch in old {
            let batch = batch.map_err(&error)?;
            let end = before + batch.num_rows() as u64;
            found.upto(end).await?;
            write(&mut draft, &found.apply(batch, before, &targets)?).map_err(&error)?;
            before = end;
        }
        found.upto(u64::MAX).await?;
        if !found.waiting.is_empty() {
            return Err(disagreement(part));
        }
        Ok(Some((found.taken, rewrite.put(draft).map_err(&error)?)))
    }

    /// Runs the query over one part.
    pub(super) async fn matches(
        &self,
        table: &str,
        query: &Query,
        part: Table,
    ) -> Result<Execution, SqlError> {
        let names = part.columns().iter().map(|column| column.name.clone());
        let names: Vec<String> = names.chain([ROW.to_owned()]).collect();
        let definition = part.definition().cloned();
        let name = TableReference::bare(part_name(table));
        self.context().deregister_table(name.clone())?;
        self.context().register_table(name.clone(), Arc::new(Numbered::new(self, part)))?;
        let planned = self.query_with(query, (part_name(table), names), definition.as_ref()).await;
        // What is planned keeps the part; the name is free for the next one.
        self.context().deregister_table(name)?;
        planned?.execute().await
    }
}

/// The same columns, numbered as in a batch that has only them.
pub(super) fn alone(targets: &[(usize, Column)]) -> Vec<(usize, Column)> {
    targets.iter().map(|(_, column)| column.clone()).enumerate().collect()
}

pub(super) fn write(
    draft: &mut PartDraft,
    batch: &RecordBatch,
) -> Result<(), tambour_table::TableError> {
    if batch.num_rows() == 0 { Ok(()) } else { draft.write(batch) }
}

/// The assignments, and those of the MATERIALIZED columns that read what changes: they are computed from the new values.
pub(super) fn with_materialized(
    definition: &TableDefinition,
    assignments: &[(String, Expr)],
) -> Result<Vec<(String, Expr)>, SqlError> {
    let mut all = assignments.to_vec();
    let mut waiting = Vec::new();
    let computed = |it: &&ColumnDefinition| it.clauses.kind == ColumnKind::Materialized;
    for column in definition.columns.iter().filter(computed) {
        let name = &column.column.name;
        if all.iter().any(|(assigned, _)| assigned == name) {
            return Err(SqlError::refused(
                format!("UPDATE of the column {name:?}"),
                "it is MATERIALIZED: its values are computed",
            ));
        }
        let expression = column.clauses.default.as_deref().unwrap_or_default();
        let reads = dialect::columns_of(expression)?;
        let unstored = definition.unstored.iter().find(|it| reads.contains(&it.column.name));
        if let Some(unstored) = unstored.filter(|_| !assignments.is_empty()) {
            return Err(SqlError::refused(
                format!("UPDATE of a table whose MATERIALIZED column {name:?} reads an ALIAS"),
                format!("whether {:?} changes is not known", unstored.column.name),
            ));
        }
        waiting.push((name, &column.column.data_type, expression, reads));
    }
    let mut changed: BTreeSet<&String> = assignments.iter().map(|(name, _)| name).collect();
    let mut before = 0;
    while before < changed.len() {
        before = changed.len();
        for (name, .., reads) in &waiting {
            if changed.iter().any(|it| reads.contains(*it)) {
                changed.insert(name);
            }
        }
    }
    waiting.retain(|(name, ..)| changed.contains(name));
    // What a column gets is of its type, whatever was computed.
    let typed = |(name, value): &(String, Expr)| {
        let column = definition.columns.iter().find(|it| it.column.name == *name)?;
        let cast = format!("CAST(value AS {})", column.column.data_type);
        let new = [("value".to_owned(), value.clone())];
        Some(
            dialect::parse_expression(&cast)
                .map_err(SqlError::from)
                .and_then(|cast| Ok((name.clone(), with_new_values(name, cast, &new)?))),
        )
    };
    let mut new = assignments.iter().filter_map(typed).collect::<Result<Vec<_>, _>>()?;
    // Each after those that it reads.
    while let Some(at) = waiting
        .iter()
        .position(|(.., reads)| !waiting.iter().any(|(other, ..)| reads.contains(*other)))
    {
        let (name, data_type, expression, _) = waiting.remove(at);
        let value = dialect::parse_expression(&format!("CAST({expression} AS {data_type})"))?;
        let value = with_new_values(name, value, &new)?;
        new.push((name.clone(), value.clone()));
        all.push((name.clone(), value));
    }
    Ok(all)
}

/// The expression of a column over the new values.
fn with_new_values(
    column: &str,
    mut value: Expr,
    assignments: &[(String, Expr)],
) -> Result<Expr, SqlError> {
    let is_hidden = |param: &LambdaFunctionParameter| {
        assignments.iter().any(|(column, _)| *column == param.name.value)
    };
    let found = visit_expressions_mut(&mut value, |inner| {
        let params: &[LambdaFunctionParameter] = match &*inner {
            Expr::Lambda(lambda) => match &lambda.params {
                OneOrManyWithParens::One(param) => std::slice::from_ref(param),
                OneOrManyWithParens::Many(params) => params,
            },
            _ => &[],
        };
        if params.iter().any(is_hidden) {
            return ControlFlow::Break(());
        }
        if let Some(new) = new_value(inner, assignments) {
            *inner = Expr::Nested(Box::new(new.clone()));
        }
        ControlFlow::Continue(())
    });
    match found {
        ControlFlow::Continue(()) => Ok(value),
        ControlFlow::Break(()) => Err(SqlError::refused(
            format!("UPDATE of what the MATERIALIZED column {column:?} reads"),
            "a parameter of a lambda in it has the name of a column that changes",
        )),
    }
}

/// The new value of the column that an expression is.
fn new_value<'a>(expr: &Expr, assignments: &'a [(String, Expr)]) -> Option<&'a Expr> {
    let name = match expr {
        Expr::Identifier(name) => name.value.clone(),
        Expr::CompoundIdentifier(parts) => {
            let parts: Vec<&str> = parts.iter().map(|part| part.value.as_str()).collect();
            parts.join(".")
        }
        _ => return None,
    };
    assignments.iter().find(|(column, _)| *column == name).map(|(_, value)| value)
}

/// The columns that get values, and where they are in the table.
pub(super) fn targets(
    definition: &TableDefinition,
    assignments: &[(String, Expr)],
) -> Result<Vec<(usize, Column)>, SqlError> {
    let keys = definition.order_by.iter().chain(&definition.partition_by);
    // A sign or a version is as good as a key; only ClickHouse knows it of some engines.
    let engine = Engine::of(definition).unwrap_or(Engine::Plain);
    let in_keys = keys.flat_map(|key| key.columns()).chain(engine.fixed_columns());
    let in_keys: Vec<&str> = in_keys.collect();
    let mut targets: Vec<(usize, Column)> = Vec::new();
    for (name, _) in assignments {
        let mut columns = definition.columns.iter().enumerate();
        let Some((index, found)) = columns.find(|(_, column)| column.column.name == *name) else {
            let reason = format!("the table {:?} does not have it", definition.name);
            return Err(SqlError::refused(format!("UPDATE of the column {name:?}"), reason));
        };
        if in_keys.contains(&name.as_str()) {
            return Err(SqlError::refused(
                format!("UPDATE of the key column {name:?}"),
                "rows are stored in the order of the key: delete the rows and insert them again",
            ));
        }
        if targets.iter().any(|(other, _)| *other == index) {
            return Err(SqlError::refused(
                format!("UPDATE of {name:?} twice"),
                "give it one value",
            ));
        }
        targets.push((index, found.column.clone()));
    }
    Ok(targets)
}

/// `SELECT row, value, … FROM part AS t WHERE condition ORDER BY row`.
pub(super) fn query(
    table: &str,
    assignments: &[(String, Expr)],
    condition: &Expr,
) -> Result<Query, SqlError> {
    let alias = between_quotes(table);
    let part = part_name(&alias);
    let text =
        format!("SELECT \"{ROW}\" FROM \"{part}\" AS \"{alias}\" WHERE 1 ORDER BY \"{ROW}\"");
    let mut query = dialect::parse_query(&text)?;
    if let SetExpr::Select(select) = &mut *query.body {
        select.selection = Some(condition.clone());
        for (index, (_, value)) in assignments.iter().enumerate() {
            let alias = Ident::with_quote('"', format!("\u{1f}value{index}"));
            select.projection.push(SelectItem::ExprWithAlias { expr: value.clone(), alias });
        }
    }
    Ok(query)
}

/// The query and the part do not agree on how many rows there are.
pub(super) fn disagreement(part: &str) -> SqlError {
    let told = format!("part {part:?} gave other rows to the query than to the copy");
    DataFusionError::Internal(told).into()
}

/// Numbers of matching rows, ascending, and their values as they are stored.
pub(super) struct Matches<'a> {
    source: Execution,
    stored: Handed,
    /// Strings as bytes, as the part's rows have them.
    types: Vec<DataType>,
    table: &'a str,
    /// Batches with rows that were not taken yet, and how many rows of the first one were.
    waiting: VecDeque<Piece>,
    /// The number past the last one that came.
    next: u64,
    is_over: bool,
    taken: u64,
}

struct Piece {
    numbers: Vec<u64>,
    values: Vec<ArrayRef>,
    taken: usize,
}

impl<'a> Matches<'a> {
    pub(super) fn new(source: Execution, targets: &[(usize, Column)], table: &'a str) -> Self {
        let columns: Vec<Column> = targets.iter().map(|(_, column)| column.clone()).collect();
        let mapping = (0..columns.len()).map(|index| Some(index + 1)).collect();
        let stored = Handed::placed("UPDATE", &columns, mapping);
        let waiting = VecDeque::new();
        let types = columns.iter().map(|column| column.data_type.arrow(Strings::Binary)).collect();
        Self { source, stored, types, table, waiting, next: 0, is_over: false, taken: 0 }
    }

    /// True if there is a row at all.
    async fn begin(&mut self) -> Result<bool, SqlError> {
        while !self.is_over && self.waiting.is_empty() {
            self.pull().await?;
        }
        Ok(!self.waiting.is_empty())
    }

    /// The numbers of all rows, as bits; up to the last one.
    async fn all(&mut self) -> Result<BooleanBuffer, SqlError> {
        let mut bits = BooleanBufferBuilder::new(0);
        loop {
            for piece in std::mem::take(&mut self.waiting) {
                for number in piece.numbers {
                    let at = usize::try_from(number).unwrap_or(usize::MAX);
                    bits.append_n(at.saturating_sub(bits.len()), false);
                    bits.append(true);
                }
            }
            if self.is_over {
                return Ok(bits.finish());
            }
            self.pull().await?;
        }
    }

    /// Waits until all rows below a number are known.
    pub(super) async fn upto(&mut self, end: u64) -> Result<(), SqlError> {
        while !self.is_over && self.next < end {
            self.pull().await?;
        }
        Ok(())
    }

    async fn pull(&mut self) -> Result<(), SqlError> {
        let Some(batch) = self.source.next().await? else {
            self.is_over = true;
            return Ok(());
        };
        let numbers = batch.column(0).as_primitive::<UInt64Type>().values().to_vec();
        for number in &numbers {
            if *number < self.next {
                let told = "the rows of a change came out of order".to_owned();
                return Err(DataFusionError::Internal(told).into());
            }
            self.next = number + 1;
        }
        let stored = self.stored.batch(&batch).map_err(of_rows(self.table))?;
        if !numbers.is_empty() {
            let values = stored.columns().iter().zip(&self.types);
            let values = values.map(|(values, to)| cast(values, to)).collect::<Result<_, _>>();
            let values = values.map_err(DataFusionError::from)?;
            self.waiting.push_back(Piece { numbers, values, taken: 0 });
        }
        Ok(())
    }

    /// How many rows were changed so far.
    pub(super) fn taken(&self) -> u64 {
        self.taken
    }

    /// The new form of rows whose first number is `before`. A column whose type changes is taken from the query alone.
    pub(super) fn apply(
        &mut self,
        batch: RecordBatch,
        before: u64,
        targets: &[(usize, Column)],
    ) -> Result<RecordBatch, SqlError> {
        let end = before + batch.num_rows() as u64;
        // For every row, where its values come from: 0 is the batch itself, then the pieces.
        let mut places: Vec<(usize, usize)> = (0..batch.num_rows()).map(|row| (0, row)).collect();
        let mut sources: Vec<Vec<ArrayRef>> = Vec::new();
        while let Some(piece) = self.waiting.front_mut() {
            let first = piece.taken;
            while let Some(number) = piece.numbers.get(piece.taken).filter(|it| **it < end) {
                let row = usize::try_from(number - before).unwrap_or(usize::MAX);
                if let Some(place) = places.get_mut(row) {
                    *place = (sources.len() + 1, piece.taken);
                }
                piece.taken += 1;
            }
            self.taken += (piece.taken - first) as u64;
            sources.push(piece.values.clone());
            if piece.taken < piece.numbers.len() {
                break;
            }
            self.waiting.pop_front();
        }
        let mut types = targets.iter().zip(&self.types);
        if sources.is_empty()
            && types.all(|((target, _), to)| batch.column(*target).data_type() == to)
        {
            return Ok(batch);
        }
        let changed = |batch: &RecordBatch| {
            if targets.is_empty() {
                let kept: BooleanArray = places.iter().map(|(from, _)| Some(*from == 0)).collect();
                return filter_record_batch(batch, &kept);
            }
            let mut columns = batch.columns().to_vec();
            let mut fields = batch.schema().fields().to_vec();
            for (index, (target, _)) in targets.iter().enumerate() {
                let data_type = &self.types[index];
                if columns[*target].data_type() != data_type {
                    columns[*target] = new_null_array(data_type, batch.num_rows());
                    let field = fields[*target].as_ref().clone();
                    fields[*target] = Arc::new(field.with_data_type(data_type.clone()));
                }
                let values: Vec<&dyn Array> = std::iter::once(&columns[*target])
                    .chain(sources.iter().map(|values| &values[index]))
                    .map(AsRef::as_ref)
                    .collect();
                columns[*target] = interleave(&values, &places)?;
                if columns[*target].null_count() > 0 {
                    fields[*target] =
                        Arc::new(fields[*target].as_ref().clone().with_nullable(true));
                }
            }
            RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
        };
        changed(&batch).map_err(|error| DataFusionError::from(error).into())
    }
}
