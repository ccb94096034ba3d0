//! Batches in memory as tables of a session.

use crate::{Session, SqlError};
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::TableReference;
use datafusion::datasource::MemTable;
use std::sync::{Arc, PoisonError};

impl Session {
    /// Adds batches of one schema as a table. Columns are expected in the Arrow forms that tables of parts have.
    pub fn register_batches(
        &self,
        name: &str,
        schema: SchemaRef,
        batches: Vec<RecordBatch>,
    ) -> Result<(), SqlError> {
        if self.context().table_exist(TableReference::bare(name))? {
            return Err(SqlError::Duplicate { name: name.to_owned() });
        }
        let columns = schema.fields().iter().map(|field| field.name().clone()).collect();
        let table = MemTable::try_new(schema, vec![batches])?;
        self.context().register_table(TableReference::bare(name), Arc::new(table))?;
        let mut handed = self.handed.write().unwrap_or_else(PoisonError::into_inner);
        handed.push((name.to_owned(), columns));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::{Session, SessionOptions, SqlError};
    use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch};
    use arrow::datatypes::Int64Type;
    use std::sync::Arc;

    #[test]
    fn batches_are_a_table() {
        let numbers = Arc::new(Int64Array::from(vec![1, 2, 3])) as ArrayRef;
        let batch = RecordBatch::try_from_iter([("n", numbers)]).unwrap();
        let session = Session::new(&SessionOptions::default()).unwrap();
        session.register_batches("t", batch.schema(), vec![batch.clone()]).unwrap();
        let again = session.register_batches("t", batch.schema(), vec![batch]);
        assert!(matches!(again, Err(SqlError::Duplicate { .. })));
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let rows = runtime.block_on(async {
            let query = session.sql("SELECT sum(n) AS total FROM t WHERE n > 1").await.unwrap();
            query.execute().await.unwrap().collect().await.unwrap()
        });
        assert_eq!(rows[0].column(0).as_primitive::<Int64Type>().value(0), 5);
    }
}
