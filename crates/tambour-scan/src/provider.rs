//! Tables for the SQL engine.

use crate::exec::TambourScanExec;
use crate::pushdown::Pushdown;
use crate::scan_options::ScanOptions;
use crate::statistics;
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{ScanArgs, ScanResult, Session};
use datafusion::common::{Result, Statistics};
use datafusion::datasource::{TableProvider, TableType};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown};
use datafusion::physical_plan::ExecutionPlan;
use std::sync::{Arc, OnceLock};
use tambour_index::{Indexes, Projection};
use tambour_part::types::{Strings, arrow_schema};
use tambour_table::Table;
use tambour_table::predicate::Predicate;
use tambour_table::scan::{Scan, ScanRequest};

/// A table as the SQL engine sees it.
#[derive(Debug)]
pub struct TambourTable {
    table: Arc<Table>,
    schema: SchemaRef,
    strings: Strings,
    batch_rows: usize,
    definition: Option<String>,
    indexes: Indexes,
    statistics: OnceLock<Statistics>,
}

impl TambourTable {
    /// A provider for a table that is open.
    pub fn new(table: Arc<Table>, strings: Strings, batch_rows: usize) -> Self {
        let schema = Arc::new(arrow_schema(table.columns(), strings));
        let definition = table.definition().map(ToString::to_string);
        let (indexes, statistics) = (Indexes::new(&table), OnceLock::new());
        Self { table, schema, strings, batch_rows, definition, indexes, statistics }
    }
    /// The table.
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    fn pushdown(&self) -> Pushdown<'_> {
        Pushdown { columns: self.table.columns(), strings: self.strings }
    }
    fn all_statistics(&self) -> &Statistics {
        self.statistics.get_or_init(|| statistics::of_table(&self.table, &self.schema))
    }

    fn plan(&self, state: &dyn Session, args: &ScanArgs<'_>) -> Result<TambourScanExec> {
        let every: Vec<usize>;
        let projection = if let Some(projection) = args.projection() {
            projection
        } else {
            every = (0..self.schema.fields().len()).collect();
            &every
        };
        let schema = Arc::new(self.schema.project(projection)?);
        let filters = args.filters().unwrap_or_default();
        let request = ScanRequest {
            columns: schema.fields().iter().map(|field| field.name().clone()).collect(),
            predicate: self.pushdown().all(filters),
            // Rows that a filter drops later do not count.
            limit: args.limit().filter(|_| filters.is_empty()).map(|limit| limit as u64),
            partitions: state.config().target_partitions(),
            ordered: false,
            batch_rows: self.batch_rows,
            strings: self.strings,
        };
        let wrong = |error| DataFusionError::External(Box::new(error));
        let options = ScanOptions::of(state.config_options());
        let (mut scan, mut pruned) = Scan::plan(&self.table, &request).map_err(wrong)?;
        if options.scan_indexes {
            (scan, pruned) =
                self.indexes.prune(&self.table, &request, scan, pruned).map_err(wrong)?;
        }
        if options.scan_projections
            && let Some(found) =
                Projection::choose(&self.table, &request, (&scan, pruned)).map_err(wrong)?
        {
            // How many rows its parts have is not how many the table has.
            let all = Arc::new(Statistics::new_unknown(&schema));
            let table = Arc::new(found.table);
            let read = TambourScanExec::new(table, found.scan, found.pruned, schema, all);
            return Ok(read.of_projection(&found.name));
        }
        let all = Arc::new(self.all_statistics().clone().project(Some(&projection)));
        Ok(TambourScanExec::new(Arc::clone(&self.table), scan, pruned, schema, all))
    }
}

#[async_trait]
impl TableProvider for TambourTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
    fn table_type(&self) -> TableType {
        TableType::Base
    }
    fn get_table_definition(&self) -> Option<&str> {
        self.definition.as_deref()
    }
    fn statistics(&self) -> Option<Statistics> {
        Some(self.all_statistics().clone())
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let args = ScanArgs::default()
            .with_projection(projection.map(Vec::as_slice))
            .with_filters(Some(filters))
            .with_limit(limit);
        Ok(Arc::new(self.plan(state, &args)?))
    }

    async fn scan_with_args<'a>(
        &self,
        state: &dyn Session,
        args: ScanArgs<'a>,
    ) -> Result<ScanResult> {
        let plan: Arc<dyn ExecutionPlan> = Arc::new(self.plan(state, &args)?);
        Ok(ScanResult::new(plan))
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        let pushdown = self.pushdown();
        let support = |filter: &&Expr| match pushdown.filter(filter) {
            Predicate::Unknown => TableProviderFilterPushDown::Unsupported,
            // Granules are left out, rows are not.
            _ => TableProviderFilterPushDown::Inexact,
        };
        Ok(filters.iter().map(support).collect())
    }
}
