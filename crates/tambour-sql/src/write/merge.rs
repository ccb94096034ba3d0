//! OPTIMIZE: the parts of a table become one in each partition, and of rows that are the same, one can be left.

use super::mutation::part_name;
use super::numbered::ROW;
use super::rows::{Command, What};
use super::{between_quotes, of_table, parts};
use crate::SqlError;
use crate::context::Session;
use tambour_dialect::{self as dialect, Change, Columns, Duplicates};
use tambour_table::Table;
use tambour_table::insert::InsertOptions;
use tambour_table::merge::{OptimizeOptions, optimize};
use tambour_table::schema::{ColumnKind, TableDefinition, quoted_name};

impl Session {
    /// Merges parts. Rows that are the same are looked for after that, in the one part of a partition that is left: a change of its own.
    pub(super) async fn optimize(
        &self,
        change: &Change,
        table: &Table,
        partition: Option<&str>,
        duplicates: Option<&Duplicates>,
    ) -> Result<String, SqlError> {
        let name = &change.table;
        let condition = match (duplicates, table.definition()) {
            (Some(wanted), Some(definition)) => Some(repeated(name, definition, wanted)?),
            (Some(_), None) => {
                return Err(SqlError::refused(
                    "OPTIMIZE TABLE ... DEDUPLICATE",
                    format!("the key of {name:?} is not known"),
                ));
            }
            (None, _) => None,
        };
        let only = partition.map(|it| super::parts::partition_id(name, table, it)).transpose()?;
        let InsertOptions { memory_bytes, threads, .. } = self.insert_options();
        let now = self.now();
        let options = OptimizeOptions { memory_bytes, threads, now, partition: only };
        let done = optimize(table.storage(), table.path(), &options, &mut |_| {});
        let done = done.map_err(of_table(name))?;
        let told =
            format!("{} in the place of {}", parts(done.parts_after), parts(done.parts_before));
        let Some(condition) = condition else { return Ok(told) };
        let merged = Table::open_on(table.storage(), table.path()).map_err(of_table(name))?;
        let condition = dialect::parse_expression(&condition)?;
        let command = Command::new(name, What::Duplicates(condition), partition)?;
        let removed = self.change_rows((name, change.words()), &merged, &[command]).await?;
        Ok(format!("{told}; {removed}"))
    }

    /// The moment of a statement, by which rows expire, in Unix seconds.
    pub(super) fn now(&self) -> Option<i64> {
        let state = self.context().state();
        state.execution_props().query_execution_start_time.map(|it| it.timestamp())
    }
}

/// What is true of the rows of a part that repeat one before them.
fn repeated(
    table: &str,
    definition: &TableDefinition,
    wanted: &Duplicates,
) -> Result<String, SqlError> {
    let columns = definition.columns.iter().map(|it| (it.column.name.as_str(), &it.clauses.kind));
    let columns: Vec<(&str, &ColumnKind)> = columns.collect();
    let refuse = |what: String, reason: &str| Err(SqlError::refused(what, reason));
    if let Duplicates::By(Columns::These(names) | Columns::AllBut(names)) = wanted {
        for (at, name) in names.iter().enumerate() {
            if !columns.iter().any(|(known, _)| known == name) {
                let known: Vec<&str> = columns.iter().map(|it| it.0).collect();
                return refuse(
                    format!("DEDUPLICATE BY {name:?}"),
                    &format!("the columns of {table:?} are {}", known.join(", ")),
                );
            }
            if names[..at].contains(name) {
                return refuse(format!("DEDUPLICATE BY {name:?} twice"), "name it once");
            }
        }
    }
    let is_compared = |name: &str, kind: &ColumnKind| match wanted {
        Duplicates::Whole => true,
        Duplicates::By(Columns::These(names)) => names.iter().any(|it| it == name),
        Duplicates::By(Columns::AllBut(names)) => {
            *kind != ColumnKind::Materialized && !names.iter().any(|it| it == name)
        }
    };
    let compared = columns.iter().filter(|(name, kind)| is_compared(name, kind));
    let compared: Vec<&str> = compared.map(|(name, _)| *name).collect();
    if compared.is_empty() {
        return refuse("DEDUPLICATE BY no column".to_owned(), "name one, or leave BY out");
    }
    let keys = definition.order_by.iter().chain(&definition.partition_by);
    if let Some(key) = keys.flat_map(|key| key.columns()).find(|key| !compared.contains(key)) {
        return refuse(
            format!("DEDUPLICATE without the key column {key:?}"),
            "rows with other keys are other rows: name all columns of ORDER BY and PARTITION BY",
        );
    }
    let part = quoted(&part_name(table));
    let compared: Vec<String> = compared.into_iter().map(quoted_name).collect();
    let list = compared.join(", ");
    Ok(format!("{row} NOT IN (SELECT min({row}) FROM {part} GROUP BY {list})", row = quoted(ROW)))
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", between_quotes(name))
}
