//! Statements that are no queries: which of them run here.

use super::refused;
use crate::SqlError;
use crate::guard::READ_ONLY;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{ObjectType, Statement as Sql};

/// Refuses what is not known to read only, by the words with which it begins.
pub(super) fn check(statement: &Statement) -> Result<(), SqlError> {
    match statement {
        Statement::Statement(sql) => check_sql(sql),
        Statement::Explain(explain) => check(&explain.statement),
        Statement::Reset(_) => Ok(()),
        Statement::CopyTo(_) => Err(refused("COPY", READ_ONLY)),
        Statement::CreateExternalTable(_) => Err(refused("CREATE EXTERNAL TABLE", READ_ONLY)),
    }
}

fn check_sql(sql: &Sql) -> Result<(), SqlError> {
    let changes = |words: &str| Err(refused(words, READ_ONLY));
    match sql {
        Sql::Query(_)
        | Sql::Explain { .. }
        | Sql::ExplainTable { .. }
        | Sql::ShowTables { .. }
        | Sql::ShowColumns { .. }
        | Sql::ShowCreate { .. }
        | Sql::ShowDatabases { .. }
        | Sql::ShowSchemas { .. }
        | Sql::ShowVariable { .. }
        | Sql::ShowFunctions { .. }
        | Sql::Set(_)
        | Sql::CreateView(_)
        | Sql::Drop { object_type: ObjectType::View, .. } => Ok(()),
        Sql::Insert(_) => changes("INSERT"),
        Sql::Update(_) => changes("UPDATE"),
        Sql::Delete(_) => changes("DELETE"),
        Sql::Merge(_) => changes("MERGE"),
        Sql::Truncate(_) => changes("TRUNCATE"),
        Sql::Copy { .. } | Sql::CopyIntoSnowflake { .. } => changes("COPY"),
        Sql::CreateTable(_) => changes("CREATE TABLE"),
        Sql::AlterTable(_) => changes("ALTER TABLE"),
        Sql::OptimizeTable { .. } => changes("OPTIMIZE TABLE"),
        Sql::Drop { object_type, .. } => changes(&format!("DROP {object_type}")),
        other => {
            let text = other.to_string();
            let word = text.split_whitespace().next().unwrap_or_default();
            Err(refused(word, "queries, SHOW, DESCRIBE, EXPLAIN, SET and CREATE VIEW run here"))
        }
    }
}
