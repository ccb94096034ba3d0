//! The tables of the schema `system`: what there is of databases, tables, parts, columns, projections and codecs, and the work of
//! writers, with ClickHouse's names and types.
//!
//! They are made anew for each query, from the tables that the session knows by then. What ClickHouse shows of a running
//! server (memory, removal, moves) is left out.

mod columns;
mod databases;
mod detached;
mod indexes;
mod marks;
mod partition;
mod parts;
mod projections;
mod sheet;
mod tables;
mod work;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::Result;
use datafusion::datasource::{MemTable, TableProvider, TableType};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::ExecutionPlan;
use sheet::Sheet;
use std::collections::HashSet;
use std::sync::{Arc, PoisonError, RwLock};
use tambour_codec::codec::{ALIASES, FAMILIES, Scope};
use tambour_part::PartError;
use tambour_table::{Table, TableError};

pub(crate) use columns::{Shown, shown};
pub(crate) use indexes::listed;
pub(crate) use marks::MarksFunction;
pub(crate) use partition::partition_text;
pub(crate) use tables::statement;

/// Name of the schema.
pub const SCHEMA: &str = "system";
/// Name of the schema of users' tables: ClickHouse's name of the database.
pub use tambour_dialect::DATABASE;

/// The tables of a session by name, in the order of registration.
pub(crate) type Registry = Arc<RwLock<Vec<(String, Arc<Table>)>>>;

/// What is registered, by name.
type Tables<'a> = &'a [(String, Arc<Table>)];

/// A copy of what is registered.
pub(crate) fn registered(registry: &Registry) -> Vec<(String, Arc<Table>)> {
    registry.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// The database and the name of a table that is registered under a name: tables of a server's disk have both in it.
pub(crate) fn place<'a>(name: &'a str, table: &'a Table) -> (&'a str, &'a str) {
    match table.database() {
        Some(database) if name == format!("{database}.{}", table.name()) => {
            (database, table.name())
        }
        _ => (DATABASE, name),
    }
}

/// The system tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Tables,
    Parts,
    Columns,
    Codecs,
    DataSkippingIndices,
    Databases,
    DetachedParts,
    Merges,
    Mutations,
    PartsColumns,
    Projections,
    ProjectionParts,
}

impl Kind {
    pub(crate) const ALL: [Self; 12] = [
        Self::Tables,
        Self::Parts,
        Self::Columns,
        Self::Codecs,
        Self::DataSkippingIndices,
        Self::Databases,
        Self::DetachedParts,
        Self::Merges,
        Self::Mutations,
        Self::PartsColumns,
        Self::Projections,
        Self::ProjectionParts,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tables => "tables",
            Self::Parts => "parts",
            Self::Columns => "columns",
            Self::Codecs => "codecs",
            Self::DataSkippingIndices => "data_skipping_indices",
            Self::Databases => "databases",
            Self::DetachedParts => "detached_parts",
            Self::Merges => "merges",
            Self::Mutations => "mutations",
            Self::PartsColumns => "parts_columns",
            Self::Projections => "projections",
            Self::ProjectionParts => "projection_parts",
        }
    }
    fn fill(self, sheet: &mut Sheet, tables: Tables<'_>, now_ms: u64) -> Result<(), TableError> {
        match self {
            Self::Tables => tables::fill(sheet, tables)?,
            Self::Parts => parts::fill(sheet, tables)?,
            Self::Columns => columns::fill(sheet, tables)?,
            Self::Codecs => codecs(sheet),
            Self::DataSkippingIndices => indexes::fill(sheet, tables),
            Self::Databases => databases::fill(sheet, tables),
            Self::DetachedParts => detached::fill(sheet, tables)?,
            Self::Merges => work::merges(sheet, tables, now_ms),
            Self::Mutations => work::mutations(sheet, tables)?,
            Self::PartsColumns => columns::fill_parts(sheet, tables)?,
            Self::Projections => projections::fill(sheet, tables),
            Self::ProjectionParts => projections::fill_parts(sheet, tables)?,
        }
        Ok(())
    }
}

/// A system table.
#[derive(Debug)]
pub(crate) struct SystemTable {
    kind: Kind,
    schema: SchemaRef,
    registry: Registry,
}

impl SystemTable {
    pub(crate) fn new(kind: Kind, registry: Registry) -> Result<Self, TableError> {
        let mut sheet = Sheet::default();
        kind.fill(&mut sheet, &[], 0)?;
        Ok(Self { kind, schema: sheet.schema(), registry })
    }
}

#[async_trait]
impl TableProvider for SystemTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
    fn table_type(&self) -> TableType {
        TableType::View
    }
    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let began = state.execution_props().query_execution_start_time;
        let now_ms = began.and_then(|it| u64::try_from(it.timestamp_millis()).ok()).unwrap_or(0);
        let tables = registered(&self.registry);
        let fill = |sheet: &mut Sheet| self.kind.fill(sheet, &tables, now_ms);
        scan(&self.schema, projection, fill)?.scan(state, None, filters, limit).await
    }
}

/// The rows of a sheet with the columns that are asked for.
fn scan(
    schema: &SchemaRef,
    projection: Option<&Vec<usize>>,
    fill: impl FnOnce(&mut Sheet) -> Result<(), TableError>,
) -> Result<MemTable> {
    let mut sheet = match projection {
        Some(chosen) => {
            let names = chosen.iter().filter_map(|at| schema.fields().get(*at));
            Sheet::of(names.map(|field| field.name().clone()).collect::<HashSet<_>>())
        }
        None => Sheet::default(),
    };
    fill(&mut sheet).map_err(|error| DataFusionError::External(Box::new(error)))?;
    let batch = sheet.batch(projection)?;
    MemTable::try_new(batch.schema(), vec![vec![batch]])
}

/// An error of a part, under the names of its table and of itself.
fn placed(table: &Table, name: &str) -> impl FnOnce(PartError) -> TableError {
    let (table, part) = (table.path().to_owned(), name.to_owned());
    move |cause| TableError::Part { table, part, cause }
}

fn codecs(sheet: &mut Sheet) {
    let rows: Vec<_> = FAMILIES.iter().chain(ALIASES).copied().collect();
    sheet.text("name", &rows, |family| family.name);
    sheet.byte("method_byte", &rows, |family| family.method);
    sheet.text("method_hex", &rows, |family| format!("0x{:02x}", family.method));
    sheet.flag("is_generic_compression", &rows, |family| family.scope == Scope::Generic);
}
