//! Commands about rows, of one statement: each sees what those before it have left, and all of them are one change.
//!
//! They are carried out part by part. What a command has written is read by the next one as if it had been committed; queries in conditions
//! and values see the table as it was before the statement.

use super::complete::step;
use super::mutation::{disagreement, query, targets, with_materialized};
use super::{CLAUSE, of_table, parts, rows, selected};
use crate::SqlError;
use crate::context::Session;
use datafusion::sql::sqlparser::ast::{Expr, Query};
use std::collections::HashSet;
use std::ops::Range;
use tambour_dialect::{self as dialect, Action, Task};
use tambour_part::types::Column;
use tambour_table::Table;
use tambour_table::rewrite::Rewrite;
use tambour_table::schema::alter::{Alteration, RowsAction, Selection};
use tambour_table::schema::{ColumnDefinition, ColumnKind, TableDefinition, quoted_name};

/// What a command does.
#[derive(Clone, Debug)]
pub(super) enum What {
    /// Gives rows that match new values, or removes them if there are none.
    Values { assignments: Vec<(String, Expr)>, condition: Expr, is_mask: bool },
    /// The same with other words for it.
    Duplicates(Expr),
    /// Stores the values that a column has.
    Materialize(String),
    /// Removes what a mask hides.
    ApplyMask,
    /// Removes what has expired.
    Expire,
}

/// A command and where it applies: everywhere without a selection.
#[derive(Clone, Debug)]
pub(super) struct Command {
    what: What,
    selection: Option<Selection>,
    /// The selection as it was written.
    place: String,
}

/// A command that is ready.
struct Plan {
    how: How,
    /// The parts that it concerns, by their names before; all of them without.
    asked: Option<HashSet<String>>,
    rows: u64,
    parts: u64,
}

enum How {
    Query {
        targets: Vec<(usize, Column)>,
        query: Box<Query>,
        is_mask: bool,
        /// Only parts that do not store this column.
        lacks: Option<String>,
    },
    ApplyMask,
    /// At this moment, in Unix seconds.
    Expire(Option<i64>),
}

impl Command {
    /// In a partition, by the text `PARTITION …`, or everywhere.
    pub(super) fn new(table: &str, what: What, partition: Option<&str>) -> Result<Self, SqlError> {
        let selection = partition.map(Selection::parse).transpose().map_err(of_table(table))?;
        let place = partition.map(|it| format!(" IN {it}")).unwrap_or_default();
        Ok(Self { what, selection, place })
    }

    /// As `system.mutations` shows it.
    fn text(&self) -> String {
        let place = &self.place;
        match &self.what {
            What::Values { condition, is_mask: true, .. } => {
                format!("UPDATE _row_exists = 0{place} WHERE {condition}")
            }
            What::Values { assignments, condition, .. } if assignments.is_empty() => {
                format!("DELETE{place} WHERE {condition}")
            }
            What::Values { assignments, condition, .. } => {
                let value =
                    |(name, value): &(String, Expr)| format!("{} = {value}", quoted_name(name));
                let values: Vec<String> = assignments.iter().map(value).collect();
                format!("UPDATE {}{place} WHERE {condition}", values.join(", "))
            }
            What::Duplicates(_) => "OPTIMIZE DEDUPLICATE".to_owned(),
            What::Materialize(name) => format!("MATERIALIZE COLUMN {}{place}", quoted_name(name)),
            What::ApplyMask => format!("APPLY DELETED MASK{place}"),
            What::Expire => format!("MATERIALIZE TTL{place}"),
        }
    }

    /// What it did, for people.
    fn told(&self, plan: &Plan) -> String {
        let (count, touched) = (rows(plan.rows), parts(plan.parts));
        match &self.what {
            What::Values { assignments, .. } if !assignments.is_empty() => {
                format!("{count} updated in {touched}")
            }
            What::Values { .. } => format!("{count} deleted in {touched}"),
            What::Duplicates(_) => format!("duplicates: {count} removed"),
            What::Materialize(name) => format!("column {name} stored in {touched}, {count}"),
            What::ApplyMask => format!("{count} that were hidden removed from {touched}"),
            What::Expire => format!("{count} expired, {touched} written anew"),
        }
    }
}

impl Session {
    /// ALTER TABLE of rows; `text` is the whole statement.
    pub(super) async fn alter_rows(
        &self,
        (statement, text): (&Alteration, &str),
        table: &Table,
        actions: &[&RowsAction],
    ) -> Result<String, SqlError> {
        let name = statement.table.as_str();
        let mut commands = Vec::with_capacity(actions.len());
        for action in actions {
            let (what, place) = match action {
                RowsAction::Mutate(place) => {
                    let alone = alone(text, statement.start, place);
                    let prepared = dialect::prepare_shown(&alone, &self.catalog())?;
                    commands.push(of_change(name, prepared.task)?);
                    continue;
                }
                RowsAction::Materialize(column, place) => {
                    (What::Materialize(column.clone()), place)
                }
                RowsAction::ApplyMask(place) => (What::ApplyMask, place),
                RowsAction::Expire(place) => (What::Expire, place),
            };
            commands.push(Command::new(name, what, place.as_deref())?);
        }
        self.change_rows((name, CLAUSE), table, &commands).await
    }

    /// Carries out commands, all of them or none. What they did, for people.
    pub(super) async fn change_rows(
        &self,
        (name, words): (&str, &'static str),
        table: &Table,
        commands: &[Command],
    ) -> Result<String, SqlError> {
        let error = of_table(name);
        let text: Vec<String> = commands.iter().map(Command::text).collect();
        let options = self.insert_options();
        let place = (table.storage(), table.path());
        let mut rewrite =
            Rewrite::begin_mutation(place.0, place.1, words, text.join(", "), options)
                .map_err(&error)?;
        // Another writer may have changed it since the session opened it, which this one has waited for.
        self.replace_table(name, rewrite.table())?;
        let mut plans = Vec::with_capacity(commands.len());
        for command in commands {
            plans.push(self.plan_rows(name, &rewrite, command)?);
        }
        for part in rewrite.table().part_names().to_vec() {
            let is_asked = |plan: &&mut Plan| plan.is_asked(&part);
            let mut waiting = plans.iter_mut().filter(is_asked).peekable();
            if waiting.peek().is_none() {
                continue;
            }
            rewrite.come_to(&part);
            let mut now = part.clone();
            while let Some(plan) = waiting.next() {
                let Some((count, next)) = self.carry_out(name, &mut rewrite, plan, &now).await?
                else {
                    continue;
                };
                plan.rows += count;
                plan.parts += 1;
                // Without a part, all of its rows are gone.
                let Some(next) = next else { break };
                if waiting.peek().is_some() {
                    rewrite.go_on_with(&next).map_err(&error)?;
                }
                now = next;
            }
        }
        rewrite.commit().map_err(&error)?;
        let told = commands.iter().zip(&plans).map(|(command, plan)| command.told(plan));
        Ok(told.collect::<Vec<_>>().join("; "))
    }

    fn plan_rows(
        &self,
        name: &str,
        rewrite: &Rewrite,
        command: &Command,
    ) -> Result<Plan, SqlError> {
        let definition = rewrite.definition();
        let asked = match &command.selection {
            Some(selection) => {
                Some(selected(name, rewrite.table(), selection)?.into_iter().collect())
            }
            None => None,
        };
        let (assignments, condition, is_mask, lacks) = match &command.what {
            What::Values { assignments, condition, is_mask } => {
                (with_materialized(definition, assignments)?, condition.clone(), *is_mask, None)
            }
            What::Duplicates(condition) => (Vec::new(), condition.clone(), false, None),
            What::Materialize(column) => {
                let (value, lacks) = computed(definition, column)?;
                (vec![value], dialect::parse_expression("1")?, false, lacks)
            }
            What::ApplyMask => return Ok(Plan::new(How::ApplyMask, asked)),
            What::Expire => {
                rewrite.check_expiry().map_err(of_table(name))?;
                return Ok(Plan::new(How::Expire(self.now()), asked));
            }
        };
        let targets = targets(definition, &assignments)?;
        let query = Box::new(query(name, &assignments, &condition)?);
        Ok(Plan::new(How::Query { targets, query, is_mask, lacks }, asked))
    }

    /// Carries out one command on one part; how many rows it concerned, and the new name of the part.
    async fn carry_out(
        &self,
        name: &str,
        rewrite: &mut Rewrite,
        plan: &Plan,
        part: &str,
    ) -> Result<Option<(u64, Option<String>)>, SqlError> {
        let error = of_table(name);
        let written = match &plan.how {
            How::Query { targets, query, is_mask, lacks } => {
                if let Some(column) = lacks
                    && rewrite.has_stored(part, column).map_err(&error)?
                {
                    return Ok(None);
                }
                let what = (targets.as_slice(), query.as_ref(), *is_mask);
                return self.change_part(rewrite, (name, part), what).await;
            }
            How::ApplyMask => rewrite.unmask(part),
            How::Expire(now) => rewrite.expire(part, *now),
        };
        let Some((draft, count)) = written.map_err(&error)? else { return Ok(None) };
        Ok(Some((count, rewrite.put(draft).map_err(&error)?)))
    }
}

impl Plan {
    fn new(how: How, asked: Option<HashSet<String>>) -> Self {
        Self { how, asked, rows: 0, parts: 0 }
    }

    fn is_asked(&self, part: &str) -> bool {
        self.asked.as_ref().is_none_or(|asked| asked.contains(part))
    }
}

/// DELETE or UPDATE at a place of a statement, with blanks for the commands before it: errors have their places.
fn alone(text: &str, start: usize, place: &Range<usize>) -> String {
    let (before, skipped) = (text.get(..start), text.get(start..place.start));
    let blank = |it: char| if it == '\n' { it } else { ' ' };
    let mut alone = before.unwrap_or_default().to_owned();
    alone.extend(skipped.unwrap_or_default().chars().map(blank));
    alone.push_str(text.get(place.clone()).unwrap_or_default());
    alone
}

fn of_change(name: &str, task: Task) -> Result<Command, SqlError> {
    let Task::Change(change) = task else { return Err(disagreement(name)) };
    let (what, partition) = match change.action {
        Action::Delete { condition, is_mask, partition } => {
            let (assignments, condition) = (Vec::new(), *condition);
            (What::Values { assignments, condition, is_mask }, partition)
        }
        Action::Update { assignments, condition, partition } => {
            (What::Values { assignments, condition: *condition, is_mask: false }, partition)
        }
        _ => return Err(disagreement(name)),
    };
    Command::new(name, what, partition.as_deref())
}

/// The value that a column is computed as, to be stored in parts that do not store this column. One that is MATERIALIZED is computed again
/// in all of them; of others, nobody knows which values were given.
fn computed(
    definition: &TableDefinition,
    name: &str,
) -> Result<((String, Expr), Option<String>), SqlError> {
    let clause = || format!("MATERIALIZE COLUMN {}", quoted_name(name));
    let found = |column: &&ColumnDefinition| column.column.name == name;
    if let Some(column) = definition.unstored.iter().find(found) {
        let told = format!("no part holds it: it is {}", column.clauses.kind.word());
        return Err(SqlError::refused(clause(), told));
    }
    let Some(column) = definition.columns.iter().find(found) else {
        let told = format!("the table {:?} does not have it", definition.name);
        return Err(SqlError::refused(clause(), told));
    };
    let Some(default) = column.clauses.default.as_deref() else {
        return Err(SqlError::refused(clause(), "it has neither DEFAULT nor MATERIALIZED"));
    };
    let value = dialect::parse_expression(&step(column, default)?.sql)?;
    let is_again = column.clauses.kind == ColumnKind::Materialized;
    Ok(((name.to_owned(), value), (!is_again).then(|| name.to_owned())))
}
