//! Columns that say where a row lies: `_part`, `_partition_id`, `_table`, `_database`.
//!
//! A statement that names one of them reads the table of the same name in a database of its own ([`Placed`]), whose parts have one
//! value for all their rows.

use crate::system::{self, Registry, registered};
use arrow::array::{ArrayRef, RecordBatch, StringArray, UInt32Array};
use arrow::compute::{cast, take};
use async_trait::async_trait;
use datafusion::catalog::{SchemaProvider, TableProvider};
use datafusion::common::Result;
use std::sync::Arc;
use tambour_dialect::PLACES_OF_ROWS;
use tambour_part::PartError;
use tambour_part::part::{Derive, Seen, Source};
use tambour_part::types::{Column, DataType, Strings, arrow_schema};
use tambour_scan::provider::TambourTable;
use tambour_table::{PartName, Table};

/// The tables of a session with these columns, by the names that they are registered under.
#[derive(Debug)]
pub(crate) struct Placed {
    registry: Registry,
    strings: Strings,
    batch_rows: usize,
}

impl Placed {
    pub(crate) fn new(registry: &Registry, strings: Strings, batch_rows: usize) -> Self {
        Self { registry: Arc::clone(registry), strings, batch_rows }
    }
}

#[async_trait]
impl SchemaProvider for Placed {
    /// None: the names are those of other databases.
    fn table_names(&self) -> Vec<String> {
        Vec::new()
    }
    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let tables = registered(&self.registry);
        let found = tables.into_iter().find(|(other, _)| other == name);
        Ok(found.map(|(name, table)| {
            let table = Arc::new(with_places(&name, &table));
            Arc::new(TambourTable::new(table, self.strings, self.batch_rows)) as _
        }))
    }
    fn table_exist(&self, name: &str) -> bool {
        registered(&self.registry).iter().any(|(other, _)| other == name)
    }
}

fn with_places(name: &str, table: &Table) -> Table {
    let (database, own) = system::place(name, table);
    let is_free = |name: &&str| !table.columns().iter().any(|column| column.name == **name);
    let data_type = DataType::LowCardinality(Box::new(DataType::String));
    let column = |name: &str| Column { name: name.to_owned(), data_type: data_type.clone() };
    let names: Vec<&str> = PLACES_OF_ROWS.into_iter().filter(is_free).collect();
    table.seen_with(names.iter().map(|name| column(name)).collect(), &|part| {
        let partition = PartName::parse(part).map(|it| it.partition).unwrap_or_default();
        let value = |name: &str| match name {
            "_part" => part,
            "_partition_id" => &partition,
            "_table" => own,
            _ => database,
        };
        let seen = |name: &&str| {
            let same = Same(value(name).to_owned());
            Seen { column: column(name), source: Source::Derived(Vec::new(), Arc::new(same)) }
        };
        names.iter().map(seen).collect()
    })
}

/// Whether it is a table with these columns.
pub(crate) fn has_places(table: &Table) -> bool {
    let is_made = |column: &Column| {
        let is_place = PLACES_OF_ROWS.contains(&column.name.as_str());
        let definition = table.definition().into_iter().flat_map(|it| &it.columns);
        is_place && !definition.map(|it| &it.column.name).any(|stored| *stored == column.name)
    };
    table.columns().iter().any(is_made)
}

/// One text for all rows.
#[derive(Debug)]
struct Same(String);

impl Derive for Same {
    fn derive(&self, stored: &RecordBatch) -> Result<ArrayRef, PartError> {
        let data_type = DataType::LowCardinality(Box::new(DataType::String));
        let column = Column { name: String::new(), data_type };
        let form = arrow_schema(&[column], Strings::Binary);
        let wrong = |error| PartError::argument(format!("a text for all rows: {error}"));
        let one = cast(&StringArray::from(vec![self.0.as_str()]), form.field(0).data_type());
        let rows = UInt32Array::from(vec![0; stored.num_rows()]);
        take(&one.map_err(wrong)?, &rows, None).map_err(wrong)
    }
}
