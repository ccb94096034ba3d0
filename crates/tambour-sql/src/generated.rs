//! Tables without parts: `numbers(n)`, `zeros(n)`, `generate_series(a, b)`, `system.numbers` and `system.one`. Their rows
//! are made while they are read, so `numbers(1000000000000) LIMIT 5` makes five.

use crate::SqlError;
use arrow::array::{ArrayRef, RecordBatch, UInt8Array, UInt64Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::streaming::StreamingTable;
use datafusion::catalog::{MemorySchemaProvider, SchemaProvider, TableFunctionImpl, TableProvider};
use datafusion::common::{ScalarValue, plan_err};
use datafusion::datasource::MemTable;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use datafusion::prelude::SessionContext;
use std::sync::Arc;

/// Rows of a batch.
const BATCH_ROWS: u64 = 8192;

/// Adds the functions to a context.
pub(crate) fn register(context: &SessionContext) {
    for kind in [Kind::Numbers, Kind::Zeros, Kind::Series] {
        for name in kind.names() {
            context.register_udtf(name, Arc::new(Function { kind, name: (*name).to_owned() }));
        }
    }
}

/// Adds `one`, `numbers` and `zeros` to the tables of `system`.
pub(crate) fn register_tables(schema: &MemorySchemaProvider) -> Result<(), SqlError> {
    let field = Field::new("dummy", DataType::UInt8, false);
    let columns = Arc::new(Schema::new(vec![field]));
    let rows = RecordBatch::try_new(
        Arc::clone(&columns),
        vec![Arc::new(UInt8Array::from(vec![0])) as ArrayRef],
    )
    .map_err(|error| SqlError::Query(error.into()))?;
    schema.register_table(
        "one".to_owned(),
        Arc::new(MemTable::try_new(columns, vec![vec![rows]])?),
    )?;
    for (column, names) in [("number", Kind::Numbers.names()), ("zero", Kind::Zeros.names())] {
        let zeros = column == "zero";
        for name in names {
            let name_of_column = column.to_owned();
            let all = Series { name: name_of_column, start: 0, rows: u64::MAX, step: 1, zeros };
            schema.register_table((*name).to_owned(), all.table()?)?;
        }
    }
    Ok(())
}

/// What a function counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Numbers,
    Zeros,
    Series,
}

impl Kind {
    fn names(self) -> &'static [&'static str] {
        match self {
            Self::Numbers => &["numbers", "numbers_mt"],
            Self::Zeros => &["zeros", "zeros_mt"],
            Self::Series => &["generate_series", "generateSeries"],
        }
    }
}

#[derive(Debug)]
struct Function {
    kind: Kind,
    name: String,
}

impl Function {
    fn argument(&self, expr: &Expr) -> Result<u64> {
        let number = match expr {
            Expr::Literal(value, _) if value.data_type().is_numeric() => {
                value.cast_to(&DataType::UInt64).ok()
            }
            _ => None,
        };
        let Some(ScalarValue::UInt64(Some(number))) = number else {
            return plan_err!("{} takes constant numbers from 0 on, not {expr}", self.name);
        };
        Ok(number)
    }
    fn series(&self, arguments: &[u64]) -> Result<Series> {
        let numbers = |start, rows, step| Series {
            name: "number".to_owned(),
            start,
            rows,
            step,
            zeros: false,
        };
        let spread = |length: u64, step: u64| match step {
            0 => plan_err!("the step of {} is not 0", self.name),
            step => Ok(length.div_ceil(step)),
        };
        Ok(match (self.kind, arguments) {
            (Kind::Numbers, []) => numbers(0, u64::MAX, 1),
            (Kind::Numbers, [rows]) => numbers(0, *rows, 1),
            (Kind::Numbers, [start, rows]) => numbers(*start, *rows, 1),
            (Kind::Numbers, [start, rows, step]) => numbers(*start, spread(*rows, *step)?, *step),
            (Kind::Zeros, [rows]) => {
                Series { name: "zero".to_owned(), zeros: true, ..numbers(0, *rows, 1) }
            }
            (Kind::Series, [first, last, rest @ ..]) if rest.len() < 2 => {
                let step = rest.first().copied().unwrap_or(1);
                let length = last.checked_sub(*first).map_or(0, |it| it.saturating_add(1));
                let rows = spread(length, step)?;
                Series { name: "generate_series".to_owned(), ..numbers(*first, rows, step) }
            }
            _ => return plan_err!("{} with {} arguments", self.name, arguments.len()),
        })
    }
}

impl TableFunctionImpl for Function {
    fn call_with_args(
        &self,
        args: datafusion::catalog::TableFunctionArgs,
    ) -> Result<Arc<dyn TableProvider>> {
        let arguments =
            args.exprs().iter().map(|expr| self.argument(expr)).collect::<Result<Vec<_>>>()?;
        self.series(&arguments)?.table()
    }
}

/// Numbers at equal distances.
#[derive(Clone, Debug)]
struct Series {
    name: String,
    start: u64,
    rows: u64,
    step: u64,
    zeros: bool,
}

impl Series {
    fn table(self) -> Result<Arc<dyn TableProvider>> {
        let data_type = if self.zeros { DataType::UInt8 } else { DataType::UInt64 };
        let schema = Arc::new(Schema::new(vec![Field::new(&self.name, data_type, false)]));
        let partition = Partition { schema: Arc::clone(&schema), series: self };
        // `system.numbers` ends, too, if nobody waits for it; the engine refuses to count what it takes for endless.
        Ok(Arc::new(StreamingTable::try_new(schema, vec![Arc::new(partition)])?))
    }
    /// The rows from one on; `None` past the last.
    fn batch(&self, from: u64) -> Option<(ArrayRef, u64)> {
        let rows = self.rows.checked_sub(from)?.min(BATCH_ROWS);
        if rows == 0 {
            return None;
        }
        let next = from.checked_add(rows)?;
        let number = |row: u64| self.start.wrapping_add(row.wrapping_mul(self.step));
        let values: ArrayRef = if self.zeros {
            Arc::new(UInt8Array::from_iter_values((from..next).map(|_| 0)))
        } else {
            Arc::new(UInt64Array::from_iter_values((from..next).map(number)))
        };
        Some((values, next))
    }
}

#[derive(Debug)]
struct Partition {
    schema: SchemaRef,
    series: Series,
}

impl PartitionStream for Partition {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }
    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let (schema, series) = (Arc::clone(&self.schema), self.series.clone());
        let of_batches = Arc::clone(&schema);
        let batches = std::iter::successors(series.batch(0), move |(_, next)| series.batch(*next))
            .map(move |(values, _)| {
                Ok(RecordBatch::try_new(Arc::clone(&of_batches), vec![values])?)
            });
        Box::pin(RecordBatchStreamAdapter::new(schema, futures::stream::iter(batches)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(kind: Kind, arguments: &[u64]) -> Vec<u64> {
        let function = Function { kind, name: "f".to_owned() };
        let series = function.series(arguments).unwrap();
        (0..series.rows).map(|row| series.start + row * series.step).collect()
    }

    #[test]
    fn numbers_are_counted_as_in_clickhouse() {
        assert_eq!(series(Kind::Numbers, &[3]), [0, 1, 2]);
        assert_eq!(series(Kind::Numbers, &[10, 3]), [10, 11, 12]);
        assert_eq!(series(Kind::Numbers, &[0, 10, 4]), [0, 4, 8]);
        assert_eq!(series(Kind::Series, &[2, 6, 2]), [2, 4, 6]);
        assert_eq!(series(Kind::Series, &[6, 2]), Vec::<u64>::new());
    }
}
