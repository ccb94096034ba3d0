//! CHECK TABLE: whether the parts of a table are what their checksums, marks and keys say, in ClickHouse's columns.

use crate::context::Session;
use crate::execution::Query;
use crate::system;
use crate::write::selected;
use crate::{SqlError, write};
use arrow::array::{ArrayRef, RecordBatch, StringArray, UInt8Array};
use datafusion::error::DataFusionError;
use std::sync::Arc;
use tambour_table::schema::alter::Selection;
use tambour_table::schema::token::Cursor;
use tambour_table::verify::verify_parts;

/// `CHECK TABLE [database.]table [PARTITION …] [SETTINGS …] [FORMAT …]`.
struct Statement {
    table: String,
    selection: Selection,
    /// One row for the whole table: `check_query_single_value_result`.
    is_single: bool,
    format: Option<String>,
}

impl Session {
    /// Looks at each part; a row for each, or one for all.
    pub(crate) fn check_table(&self, text: &str) -> Result<Query, SqlError> {
        let Statement { table: name, selection, is_single, format } = statement(text)?;
        let table = self.table_named(&name)?;
        let parts = selected(&name, &table, &selection)?;
        let (mut passed, mut messages) = (Vec::new(), Vec::new());
        for part in &parts {
            let report = verify_parts(table.storage(), table.path(), std::slice::from_ref(part));
            let report = report.map_err(write::of_table(&name))?;
            let damage: Vec<String> = report.damage.iter().map(ToString::to_string).collect();
            passed.push(u8::from(damage.is_empty()));
            messages.push(damage.join("; "));
        }
        let columns: Vec<(&str, ArrayRef)> = if is_single {
            let is_whole = u8::from(passed.iter().all(|it| *it == 1));
            vec![("result", Arc::new(UInt8Array::from(vec![is_whole])))]
        } else {
            vec![
                ("part_path", Arc::new(StringArray::from(parts))),
                ("is_passed", Arc::new(UInt8Array::from(passed))),
                ("message", Arc::new(StringArray::from(messages))),
            ]
        };
        let rows = RecordBatch::try_from_iter(columns).map_err(DataFusionError::from)?;
        let frame = self.context().read_batch(rows)?;
        Ok(Query { frame, format, notes: Vec::new(), totals: None, fill: None })
    }
}

fn statement(text: &str) -> Result<Statement, SqlError> {
    let read = || {
        let mut cursor = Cursor::new(text)?;
        cursor.expect_words(&["CHECK", "TABLE"])?;
        let mut table = cursor.expect_name("the table's name")?;
        if cursor.take_symbol(".") {
            let name = cursor.expect_name("the table's name")?;
            table = if table == system::DATABASE { name } else { format!("{table}.{name}") };
        }
        let ends = ["SETTINGS", "FORMAT"];
        let at = cursor.skip_until(|it| it.at_any_word(&ends) || it.at_symbol(";"))?;
        let selection = if at.is_empty() { Selection::All } else { Selection::parse(at)? };
        let mut is_single = false;
        if cursor.take_words(&["SETTINGS"]) {
            let settings = cursor.skip_until(|it| it.at_word("FORMAT") || it.at_symbol(";"))?;
            let settings: String = settings.split_whitespace().collect();
            is_single = settings.contains("check_query_single_value_result=1");
        }
        let has_format = cursor.take_words(&["FORMAT"]);
        let format = has_format.then(|| cursor.expect_name("a format")).transpose()?;
        cursor.expect_end()?;
        Ok(Statement { table, selection, is_single, format })
    };
    read().map_err(|error: tambour_table::TableError| {
        DataFusionError::External(Box::new(error)).into()
    })
}
