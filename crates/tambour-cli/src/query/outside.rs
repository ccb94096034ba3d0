//! Files as tables: `file('x.csv')`, `file('logs/*.jsonl', JSONEachRow)`, and `FROM 'x.parquet'`, by the readers of `import`.

use super::statement::{Part, Scanner};
use datafusion::catalog::streaming::StreamingTable;
use datafusion::catalog::{TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::{ScalarValue, exec_datafusion_err, plan_datafusion_err, plan_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use tambour::files::{FileError, Format, Input, ReadOptions, Types};
use tambour::sql::Session;

/// Lets queries of a session read files.
pub(crate) fn register(session: &Session, threads: usize) {
    session.context().register_udtf("file", Arc::new(File { threads }));
}

/// `FROM 'x.csv'` and `JOIN 'x.csv'` as `file('x.csv')`.
pub(crate) fn named(statement: &str) -> Cow<'_, str> {
    let mut text = String::new();
    let mut copied = 0;
    let mut quote: Option<usize> = None;
    let mut before = Part::Code;
    for (at, _, part) in Scanner::new(statement) {
        let is_text = part == Part::Quote('\'');
        if is_text && before != part && follows_from(&statement[..at]) {
            quote = Some(at);
        } else if !is_text && let Some(start) = quote.take() {
            text.push_str(&statement[copied..start]);
            text.push_str(&format!("file({})", &statement[start..at]));
            copied = at;
        }
        before = part;
    }
    if let Some(start) = quote {
        text.push_str(&statement[copied..start]);
        text.push_str(&format!("file({})", &statement[start..]));
        copied = statement.len();
    }
    if copied == 0 {
        return Cow::Borrowed(statement);
    }
    text.push_str(&statement[copied..]);
    Cow::Owned(text)
}

/// Whether a table comes next.
fn follows_from(text: &str) -> bool {
    let last_of = |text: &str| {
        let text = text.trim_end();
        let start = text.rfind(|c: char| !c.is_alphanumeric() && c != '_');
        start.map_or(0, |it| it + text[it..].chars().next().map_or(0, char::len_utf8))
    };
    let trimmed = text.trim_end();
    let word = &trimmed[last_of(trimmed)..];
    // `trim(BOTH 'x' FROM 'xax')` has a FROM inside of parentheses that opened after a word.
    let head = &trimmed[..trimmed.len() - word.len()];
    let is_inside = head.rfind('(').is_some_and(|at| {
        !head[at..].contains(')')
            && !head[at + 1..]
                .trim_start()
                .get(..6)
                .is_some_and(|it| it.eq_ignore_ascii_case("SELECT"))
    });
    // Nor comes one in `a IS NOT DISTINCT FROM 'x'`.
    let is_distinct = head.trim_end()[last_of(head)..].eq_ignore_ascii_case("DISTINCT");
    !is_inside && !is_distinct && ["FROM", "JOIN"].iter().any(|it| it.eq_ignore_ascii_case(word))
}

#[derive(Debug)]
struct File {
    threads: usize,
}

impl TableFunctionImpl for File {
    fn call_with_args(&self, args: TableFunctionArgs) -> Result<Arc<dyn TableProvider>> {
        let word = |expr: &Expr| match expr {
            Expr::Literal(ScalarValue::Utf8(Some(text)), _) => Some(text.clone()),
            Expr::Column(column) => Some(column.name.clone()),
            _ => None,
        };
        let words: Option<Vec<String>> = args.exprs().iter().map(word).collect();
        let (path, format) = match words.as_deref() {
            Some([path]) => (path, None),
            Some([path, format]) => (path, Some(format)),
            _ => return plan_err!("file takes a path, and perhaps a format, as texts"),
        };
        let paths = paths(path)?;
        let mut options =
            ReadOptions { types: Types::Declared, threads: self.threads, ..ReadOptions::default() };
        if let Some(name) = format {
            (options.format, options.header) = of_clickhouse(name)?;
        }
        let input = Input::open(&paths, options.clone()).map_err(outer)?;
        let schema = Arc::clone(input.schema());
        // Types are settled: what a later row contradicts is an error, not another type.
        let partition = Partition { schema: Arc::clone(&schema), paths, options };
        Ok(Arc::new(StreamingTable::try_new(schema, vec![Arc::new(partition)])?))
    }
}

fn outer(error: FileError) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// The files of a pattern, in the order of their names.
fn paths(pattern: &str) -> Result<Vec<PathBuf>> {
    if !pattern.contains(['*', '?', '[']) {
        return Ok(vec![PathBuf::from(pattern)]);
    }
    let found = glob::glob(pattern).map_err(|error| plan_datafusion_err!("{pattern}: {error}"))?;
    let paths: std::result::Result<Vec<PathBuf>, _> = found.collect();
    let paths = paths.map_err(|error| exec_datafusion_err!("{pattern}: {error}"))?;
    if paths.is_empty() {
        return plan_err!("{pattern}: there is no such file");
    }
    Ok(paths)
}

/// ClickHouse's name of a format, and whether its files begin with names.
fn of_clickhouse(name: &str) -> Result<(Option<Format>, Option<bool>)> {
    Ok(match name.to_ascii_lowercase().as_str() {
        "auto" => (None, None),
        "csv" => (Some(Format::Csv), None),
        "csvwithnames" => (Some(Format::Csv), Some(true)),
        "tsv" | "tabseparated" => (Some(Format::Tsv), None),
        "tsvwithnames" | "tabseparatedwithnames" => (Some(Format::Tsv), Some(true)),
        "jsoneachrow" | "jsonlines" | "jsonl" | "ndjson" => (Some(Format::JsonLines), None),
        "parquet" => (Some(Format::Parquet), None),
        "arrow" | "arrowstream" => (Some(Format::ArrowIpc), None),
        _ => {
            return plan_err!(
                "file does not read {name}; it reads CSV, CSVWithNames, TSV, TSVWithNames, JSONEachRow, Parquet and Arrow"
            );
        }
    })
}

#[derive(Debug)]
struct Partition {
    schema: arrow::datatypes::SchemaRef,
    paths: Vec<PathBuf>,
    options: ReadOptions,
}

impl PartitionStream for Partition {
    fn schema(&self) -> &arrow::datatypes::SchemaRef {
        &self.schema
    }
    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let mut input = match Input::open(&self.paths, self.options.clone()) {
            Ok(input) => Ok(input),
            Err(error) => Err(Some(error)),
        };
        let batches = std::iter::from_fn(move || match &mut input {
            Ok(input) => input.next_batch().map(|batch| batch.map_err(outer)),
            Err(error) => error.take().map(|error| Err(outer(error))),
        });
        let stream = futures::stream::iter(batches);
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), stream))
    }
}

#[cfg(test)]
mod tests {
    use super::named;

    #[test]
    fn files_are_tables() {
        assert_eq!(
            named("SELECT * FROM 'x.csv' WHERE a = 'b'"),
            "SELECT * FROM file('x.csv') WHERE a = 'b'"
        );
        assert_eq!(named("SELECT 1 from 'x'"), "SELECT 1 from file('x')");
        assert_eq!(
            named("SELECT 1 FROM a JOIN 'it''s' b ON 1"),
            "SELECT 1 FROM a JOIN file('it''s') b ON 1"
        );
        assert_eq!(named("SELECT trim(BOTH 'x' FROM 'xax')"), "SELECT trim(BOTH 'x' FROM 'xax')");
        for unchanged in ["SELECT a IS DISTINCT FROM 'x'", "SELECT a is not distinct\nfrom 'x'"] {
            assert_eq!(named(unchanged), unchanged);
        }
        assert_eq!(named("SELECT (SELECT 1 FROM 'x')"), "SELECT (SELECT 1 FROM file('x'))");
        assert_eq!(named("SELECT ' FROM ' || 'x'"), "SELECT ' FROM ' || 'x'");
    }
}
