//! SHOW COLUMNS and SHOW INDEX, in the columns that ClickHouse has for them.

use crate::system::{Shown, shown};
use crate::{Session, SqlError, describe, system};
use arrow::array::{ArrayRef, NullArray, RecordBatch, StringViewArray};
use arrow::array::{UInt8Array, UInt64Array};
use arrow::datatypes::{DataType as ArrowType, Field, Schema, SchemaRef};
use datafusion::common::TableReference;
use datafusion::error::Result;
use datafusion::prelude::{DataFrame, col};
use std::sync::Arc;
use tambour_dialect::{Listed, Listing};
use tambour_part::types::{DataType, Strings};
use tambour_table::Table;
use tambour_table::schema::TableDefinition;
use tambour_table::schema::expression::Expression;

/// Columns of a listing that are being put together.
#[derive(Default)]
struct Columns {
    fields: Vec<Field>,
    values: Vec<ArrayRef>,
}

impl Columns {
    fn texts(&mut self, name: &str, values: Vec<String>) {
        self.fields.push(DataType::String.field(name, Strings::Utf8));
        self.values.push(Arc::new(StringViewArray::from_iter_values(values)));
    }
    fn maybe(&mut self, name: &str, values: Vec<Option<String>>) {
        let data_type = DataType::Nullable(Box::new(DataType::String));
        self.fields.push(data_type.field(name, Strings::Utf8));
        self.values.push(Arc::new(values.into_iter().collect::<StringViewArray>()));
    }
    fn nulls(&mut self, name: &str, rows: usize) {
        self.fields.push(Field::new(name, ArrowType::Null, true));
        self.values.push(Arc::new(NullArray::new(rows)));
    }
    fn batch(self) -> Result<RecordBatch> {
        Ok(RecordBatch::try_new(Arc::new(Schema::new(self.fields)), self.values)?)
    }
}

impl Session {
    /// The table of parts with a name, if there is one.
    pub(crate) fn table_of(&self, name: &TableReference) -> Option<Arc<Table>> {
        let schema = name.schema().unwrap_or(system::DATABASE);
        let is_it = |(registered, table): &&(String, Arc<Table>)| {
            system::place(registered, table) == (schema, name.table())
        };
        self.tables().iter().find(is_it).map(|(_, table)| Arc::clone(table))
    }

    /// The columns of a table: as its statement has them, or of the schema that its queries have.
    pub(crate) fn columns_of(&self, name: &TableReference, schema: &SchemaRef) -> Vec<Shown> {
        self.table_of(name).map_or_else(|| describe::plain(schema), |table| shown(&table))
    }

    /// The rows of SHOW COLUMNS or SHOW INDEX.
    pub(crate) fn listed(
        &self,
        listing: &Listing,
        schema: &SchemaRef,
    ) -> Result<DataFrame, SqlError> {
        let table = self.table_of(&listing.table);
        let definition = table.as_deref().and_then(Table::definition);
        let columns = self.columns_of(&listing.table, schema);
        let batch = match listing.listed {
            Listed::Columns { is_full } => fields(&columns, definition, is_full)?,
            Listed::Indexes => indexes(listing.table.table(), definition)?,
        };
        let mut frame = self.context().read_batch(batch)?;
        if let Some(condition) = &listing.condition {
            let condition = frame.parse_sql_expr(condition)?;
            frame = frame.filter(condition)?;
        }
        let order: &[&str] = match listing.listed {
            Listed::Columns { .. } => &["field"],
            Listed::Indexes => &["index_type", "expression", "seq_in_index"],
        };
        frame = frame.sort(order.iter().map(|name| col(*name).sort(true, false)).collect())?;
        let limit = listing.limit.map(|it| usize::try_from(it).unwrap_or(usize::MAX));
        Ok(if limit.is_some() { frame.limit(0, limit)? } else { frame })
    }
}

fn fields(
    columns: &[Shown],
    definition: Option<&TableDefinition>,
    is_full: bool,
) -> Result<RecordBatch> {
    let is_in = |key: Option<&Vec<Expression>>, name: &str| {
        key.is_some_and(|key| key.iter().any(|it| it.columns().contains(&name)))
    };
    let key = |it: &Shown| {
        let primary = is_in(definition.map(|it| &it.primary_key), &it.name).then_some("PRI");
        let sorting = is_in(definition.map(|it| &it.order_by), &it.name).then_some("SOR");
        primary.into_iter().chain(sorting).collect::<Vec<_>>().join(" ")
    };
    let null = |it: &Shown| if it.data_type.starts_with("Nullable") { "YES" } else { "NO" };
    let default = |it: &Shown| {
        let is_shown = ["ALIAS", "DEFAULT", "MATERIALIZED"].contains(&it.default_kind);
        is_shown.then(|| it.default.clone())
    };
    let rows = columns.iter();
    let mut made = Columns::default();
    made.texts("field", rows.clone().map(|it| it.name.clone()).collect());
    made.texts("type", rows.clone().map(|it| it.data_type.clone()).collect());
    made.texts("null", rows.clone().map(|it| null(it).to_owned()).collect());
    made.texts("key", rows.clone().map(key).collect());
    made.maybe("default", rows.clone().map(default).collect());
    made.texts("extra", vec![String::new(); columns.len()]);
    if is_full {
        made.nulls("collation", columns.len());
        made.texts("comment", rows.map(|it| it.comment.clone()).collect());
        made.texts("privileges", vec![String::new(); columns.len()]);
    }
    made.batch()
}

/// A line of SHOW INDEX.
#[derive(Default)]
struct Index {
    name: String,
    position: u64,
    column: String,
    is_primary: bool,
    kind: String,
    expression: String,
}

fn indexes(table: &str, definition: Option<&TableDefinition>) -> Result<RecordBatch> {
    let keys = definition.map_or(&[][..], |it| it.primary_key.as_slice()).iter().enumerate();
    let mut rows: Vec<Index> = keys
        .map(|(index, key)| Index {
            name: "PRIMARY".to_owned(),
            position: index as u64 + 1,
            column: key.to_string(),
            is_primary: true,
            kind: "PRIMARY".to_owned(),
            expression: String::new(),
        })
        .collect();
    let found = definition.map(TableDefinition::indexes).unwrap_or_default().into_iter();
    rows.extend(found.filter(|it| !it.is_implicit).map(|index| Index {
        name: index.name,
        position: 1,
        kind: index.kind.to_uppercase(),
        expression: system::listed(&index.expression).to_owned(),
        ..Index::default()
    }));
    let of = |part: fn(&Index) -> &str| rows.iter().map(|it| part(it).to_owned()).collect();
    let count = rows.len();
    let mut made = Columns::default();
    made.texts("table", vec![table.to_owned(); count]);
    made.fields.push(DataType::UInt8.field("non_unique", Strings::Utf8));
    made.values.push(Arc::new(UInt8Array::from(vec![1; count])));
    made.texts("key_name", of(|it| &it.name));
    made.fields.push(DataType::UInt64.field("seq_in_index", Strings::Utf8));
    made.values.push(Arc::new(rows.iter().map(|it| it.position).collect::<UInt64Array>()));
    made.texts("pk_col", of(|it| &it.column));
    let collation = rows.iter().map(|it| it.is_primary.then(|| "A".to_owned()));
    made.maybe("collation", collation.collect());
    made.fields.push(DataType::UInt8.field("cardinality", Strings::Utf8));
    made.values.push(Arc::new(UInt8Array::from(vec![0; count])));
    for name in ["sub_part", "packed", "null"] {
        made.nulls(name, count);
    }
    made.texts("index_type", of(|it| &it.kind));
    made.texts("comment", vec![String::new(); count]);
    made.texts("index_comment", vec![String::new(); count]);
    made.texts("visible", vec!["YES".to_owned(); count]);
    made.texts("expression", of(|it| &it.expression));
    made.batch()
}
