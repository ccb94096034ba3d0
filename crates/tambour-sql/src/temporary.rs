//! Temporary tables: results that are kept in memory under a name until the session ends.

use crate::{Session, SqlError};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::common::TableReference;
use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};
use tambour_dialect::Temporary;

/// The memory of each table, by its name.
#[derive(Debug, Default)]
pub(crate) struct Temporaries(RwLock<BTreeMap<String, MemoryReservation>>);

impl Temporaries {
    fn has(&self, name: &str) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).contains_key(name)
    }
}

impl Session {
    /// Keeps the rows of a query as a table; returns what was done, for people.
    pub(crate) async fn keep(&self, asked: &Temporary<'_>) -> Result<String, SqlError> {
        let Temporary { name, replaces, is_optional, query } = asked;
        let is_ours = self.temporaries.has(name);
        if is_ours && *is_optional {
            return Ok(format!("there is a temporary table {name:?} already"));
        }
        if !(is_ours && *replaces)
            && self.context().table_exist(TableReference::bare(name.as_str()))?
        {
            return Err(SqlError::Duplicate { name: name.clone() });
        }
        let prepared = tambour_dialect::prepare_for(query, &self.catalog())?;
        let query = Box::pin(self.planned(prepared, query)).await?;
        let schema = query.schema();
        let pool = &self.context().runtime_env().memory_pool;
        let memory = MemoryConsumer::new("TemporaryTable").register(pool);
        let mut execution = query.execute().await?;
        let (mut batches, mut rows) = (Vec::new(), 0);
        while let Some(batch) = execution.next().await? {
            memory.try_grow(batch.get_array_memory_size())?;
            rows += batch.num_rows();
            batches.push(batch);
        }
        if execution.totals().await?.is_some() {
            return Err(SqlError::refused(
                "WITH TOTALS in a temporary table",
                "a table has no place for the row of totals; write WITH ROLLUP, or a query of its own",
            ));
        }
        let schema = batches.first().map_or_else(|| Arc::clone(&schema), |it| fitted(&schema, it));
        // The sides of a UNION say more or less of their types.
        let batches = batches
            .iter()
            .map(|batch| RecordBatch::try_new(Arc::clone(&schema), batch.columns().to_vec()));
        let batches = batches.collect::<Result<Vec<_>, _>>().map_err(DataFusionError::from)?;
        if is_ours {
            self.forget_temporary(name)?;
        }
        self.register_batches(name, schema, batches)?;
        let mut known = self.temporaries.0.write().unwrap_or_else(PoisonError::into_inner);
        known.insert(name.clone(), memory);
        Ok(format!("the temporary table {name:?} has {}", crate::write::rows(rows as u64)))
    }

    /// Lets go of a temporary table; false if there is none of that name.
    pub(crate) fn forget_temporary(&self, name: &str) -> Result<bool, DataFusionError> {
        let mut known = self.temporaries.0.write().unwrap_or_else(PoisonError::into_inner);
        if known.remove(name).is_none() {
            return Ok(false);
        }
        self.context().deregister_table(TableReference::bare(name))?;
        let mut handed = self.handed.write().unwrap_or_else(PoisonError::into_inner);
        handed.retain(|(other, _)| other != name);
        Ok(true)
    }
}

/// The columns that a query says it has, in the types that its rows have: a UNION's are those of both sides together, and what
/// is noted of a column may be that of the first side alone.
fn fitted(schema: &SchemaRef, rows: &RecordBatch) -> SchemaRef {
    let fields = schema.fields().iter().zip(rows.columns()).map(|(field, column)| {
        if field.data_type() == column.data_type() {
            return Field::clone(field);
        }
        Field::new(field.name(), column.data_type().clone(), field.is_nullable())
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}
