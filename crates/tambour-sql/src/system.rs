//! The tables of the schema `system`: tables, parts, columns, codecs, and the work of writers, with ClickHouse's names and types.
//!
//! They are made anew for each query, from the tables that the session knows by then. What ClickHouse shows of a running
//! server (memory, removal, moves) is left out.

mod indexes;
mod work;

use arrow::array::{Array, AsArray, Int64Array};
use arrow::array::{ArrayRef, RecordBatch, StringViewArray, UInt8Array, UInt32Array, UInt64Array};
use arrow::datatypes::{Field, Schema, SchemaRef};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::Result;
use datafusion::datasource::{MemTable, TableProvider, TableType};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::ExecutionPlan;
use std::sync::{Arc, PoisonError, RwLock};
use tambour_codec::codec::{ALIASES, FAMILIES, Scope};
use tambour_part::part::{ColumnSize, Form};
use tambour_part::types::{DataType, Strings};
use tambour_part::{Part, PartError};
use tambour_table::PartName;
use tambour_table::rewrite::detached_parts;
use tambour_table::schema::expression::Expression;
use tambour_table::{Table, TableError};

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
    DetachedParts,
    Merges,
    Mutations,
}

impl Kind {
    pub(crate) const ALL: [Self; 8] = [
        Self::Tables,
        Self::Parts,
        Self::Columns,
        Self::Codecs,
        Self::DataSkippingIndices,
        Self::DetachedParts,
        Self::Merges,
        Self::Mutations,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tables => "tables",
            Self::Parts => "parts",
            Self::Columns => "columns",
            Self::Codecs => "codecs",
            Self::DataSkippingIndices => "data_skipping_indices",
            Self::DetachedParts => "detached_parts",
            Self::Merges => "merges",
            Self::Mutations => "mutations",
        }
    }
    fn sheet(self, tables: Tables<'_>, now_ms: u64) -> Result<Sheet, TableError> {
        match self {
            Self::Tables => Ok(tables_sheet(tables)),
            Self::Parts => parts_sheet(tables),
            Self::Columns => columns_sheet(tables),
            Self::Codecs => Ok(codecs_sheet()),
            Self::DataSkippingIndices => Ok(indexes::sheet(tables)),
            Self::DetachedParts => detached_sheet(tables),
            Self::Merges => Ok(work::merges(tables, now_ms)),
            Self::Mutations => work::mutations(tables),
        }
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
        let schema = kind.sheet(&[], 0)?.schema();
        Ok(Self { kind, schema, registry })
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
        let sheet = self.kind.sheet(&registered(&self.registry), now_ms);
        let sheet = sheet.map_err(|error| DataFusionError::External(Box::new(error)))?;
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), sheet.columns)?;
        let table = MemTable::try_new(Arc::clone(&self.schema), vec![vec![batch]])?;
        table.scan(state, projection, filters, limit).await
    }
}

/// Columns that are being put together.
#[derive(Debug, Default)]
struct Sheet {
    fields: Vec<Field>,
    columns: Vec<ArrayRef>,
}

impl Sheet {
    fn schema(&self) -> SchemaRef {
        Arc::new(Schema::new(self.fields.clone()))
    }
    fn add(&mut self, name: &str, data_type: &DataType, values: ArrayRef) {
        self.fields.push(data_type.field(name, Strings::Utf8));
        self.columns.push(values);
    }
    fn text<R, T: AsRef<str>>(&mut self, name: &str, rows: &[R], value: impl Fn(&R) -> T) {
        let values = StringViewArray::from_iter_values(rows.iter().map(value));
        self.add(name, &DataType::String, Arc::new(values));
    }
    fn number<R>(&mut self, name: &str, rows: &[R], value: impl Fn(&R) -> u64) {
        let values = UInt64Array::from_iter_values(rows.iter().map(value));
        self.add(name, &DataType::UInt64, Arc::new(values));
    }
    fn signed<R>(&mut self, name: &str, rows: &[R], value: impl Fn(&R) -> u64) {
        let value = |row| i64::try_from(value(row)).unwrap_or(i64::MAX);
        let values = Int64Array::from_iter_values(rows.iter().map(value));
        self.add(name, &DataType::Int64, Arc::new(values));
    }
    fn small<R>(&mut self, name: &str, rows: &[R], value: impl Fn(&R) -> u32) {
        let values = UInt32Array::from_iter_values(rows.iter().map(value));
        self.add(name, &DataType::UInt32, Arc::new(values));
    }
    fn flag<R>(&mut self, name: &str, rows: &[R], value: impl Fn(&R) -> bool) {
        let values = UInt8Array::from_iter_values(rows.iter().map(|row| u8::from(value(row))));
        self.add(name, &DataType::UInt8, Arc::new(values));
    }
}

fn key_text(expressions: &[Expression]) -> String {
    expressions.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn tables_sheet(tables: &[(String, Arc<Table>)]) -> Sheet {
    let key = |table: &Table, of: fn(&tambour_table::schema::TableDefinition) -> &[Expression]| {
        table.definition().map_or_else(String::new, |definition| key_text(of(definition)))
    };
    let mut sheet = Sheet::default();
    sheet.text("database", tables, |(name, table)| place(name, table).0.to_owned());
    sheet.text("name", tables, |(name, table)| place(name, table).1.to_owned());
    sheet.text("engine", tables, |_| "MergeTree");
    sheet.text("create_table_query", tables, |(_, table)| {
        table.definition().map_or_else(String::new, ToString::to_string)
    });
    sheet.text("partition_key", tables, |(_, table)| key(table, |it| &it.partition_by));
    sheet.text("sorting_key", tables, |(_, table)| key(table, |it| &it.order_by));
    sheet.text("primary_key", tables, |(_, table)| key(table, |it| &it.primary_key));
    sheet.number("total_rows", tables, |(_, table)| table.rows());
    sheet.number("total_bytes", tables, |(_, table)| {
        table.parts().iter().map(|part| part.bytes_on_disk()).sum()
    });
    sheet.number("parts", tables, |(_, table)| table.parts().len() as u64);
    sheet.number("total_marks", tables, |(_, table)| {
        table.parts().iter().map(|part| marks(part)).sum()
    });
    sheet
}

/// Marks as ClickHouse counts them: the final one too.
fn marks(part: &Part) -> u64 {
    part.granules().len() as u64 + u64::from(part.has_final_mark())
}

/// A part and what is said of it.
struct PartRow {
    database: String,
    table: String,
    part: Arc<Part>,
    name: String,
    parsed: Option<PartName>,
    partition: String,
    sizes: ColumnSize,
}

impl PartRow {
    fn number(&self, of: impl Fn(&PartName) -> u64) -> u64 {
        self.parsed.as_ref().map_or(0, of)
    }
}

/// An error of a part, under the names of its table and of itself.
fn placed(table: &Table, name: &str) -> impl FnOnce(PartError) -> TableError {
    let (table, part) = (table.path().to_owned(), name.to_owned());
    move |cause| TableError::Part { table, part, cause }
}

fn part_rows(tables: &[(String, Arc<Table>)]) -> Result<Vec<PartRow>, TableError> {
    let mut rows = Vec::new();
    for (table_name, table) in tables {
        for (part, name) in table.parts().iter().zip(table.part_names()) {
            let mut sizes = ColumnSize::default();
            for size in part.column_sizes().map_err(placed(table, name))? {
                sizes.compressed += size.compressed;
                sizes.uncompressed += size.uncompressed;
                sizes.marks += size.marks;
            }
            let (database, own) = place(table_name, table);
            rows.push(PartRow {
                database: database.to_owned(),
                table: own.to_owned(),
                part: Arc::clone(part),
                name: name.clone(),
                parsed: PartName::parse(name),
                partition: partition_text(table, part, name)?,
                sizes,
            });
        }
    }
    Ok(rows)
}

fn parts_sheet(tables: &[(String, Arc<Table>)]) -> Result<Sheet, TableError> {
    let rows = part_rows(tables)?;
    let rows = rows.as_slice();
    let mut sheet = Sheet::default();
    sheet.text("partition", rows, |row| row.partition.clone());
    sheet.text("name", rows, |row| row.name.clone());
    sheet.text("part_type", rows, |row| match row.part.form() {
        Form::Wide => "Wide",
        Form::Compact => "Compact",
    });
    sheet.flag("active", rows, |_| true);
    sheet.number("marks", rows, |row| marks(&row.part));
    sheet.number("rows", rows, |row| row.part.rows());
    sheet.number("files", rows, |row| row.part.files().len() as u64);
    sheet.number("bytes_on_disk", rows, |row| row.part.bytes_on_disk());
    sheet.number("data_compressed_bytes", rows, |row| row.sizes.compressed);
    sheet.number("data_uncompressed_bytes", rows, |row| row.sizes.uncompressed);
    sheet.number("marks_bytes", rows, |row| row.sizes.marks);
    sheet.text("partition_id", rows, |row| {
        row.parsed.as_ref().map_or_else(String::new, |name| name.partition.clone())
    });
    sheet.signed("min_block_number", rows, |row| row.number(|name| name.block_min));
    sheet.signed("max_block_number", rows, |row| row.number(|name| name.block_max));
    sheet.small("level", rows, |row| row.parsed.as_ref().map_or(0, |name| name.level));
    sheet.number("data_version", rows, |row| {
        row.number(|name| name.mutation.unwrap_or(name.block_min))
    });
    sheet.text("database", rows, |row| row.database.clone());
    sheet.text("table", rows, |row| row.table.clone());
    sheet.text("engine", rows, |_| "MergeTree");
    sheet.text("path", rows, |row| format!("{}/", row.part.path().display()));
    sheet.text("hash_of_all_files", rows, |row| row.part.content_hash());
    sheet.flag("has_lightweight_delete", rows, |row| row.part.has_deleted_rows());
    Ok(sheet)
}

/// The partition value as ClickHouse shows it: `tuple()`, `201902`, `(201902,'x')`.
pub(crate) fn partition_text(table: &Table, part: &Part, name: &str) -> Result<String, TableError> {
    let expressions = table.definition().map_or(&[][..], |it| it.partition_by.as_slice());
    if expressions.is_empty() {
        // Without a definition the key is not known; its id is the next best.
        let id = PartName::parse(name).map(|name| name.partition);
        return Ok(id.filter(|id| id != "all").unwrap_or_else(|| "tuple()".to_owned()));
    }
    let types: Result<Vec<DataType>, TableError> =
        expressions.iter().map(|it| it.data_type(table.columns())).collect();
    let types = types?;
    let values = part.partition_values(&types).map_err(placed(table, name))?;
    let texts: Vec<String> = values
        .iter()
        .zip(&types)
        .map(|(value, data_type)| value_text(value, data_type, values.len() > 1))
        .collect();
    Ok(if texts.len() == 1 { texts.concat() } else { format!("({})", texts.join(",")) })
}

fn value_text(values: &ArrayRef, data_type: &DataType, is_quoted: bool) -> String {
    if values.is_empty() || values.is_null(0) {
        return "NULL".to_owned();
    }
    let mut is_text = true;
    let text = if data_type == &DataType::Uuid {
        uuid_text(values.as_fixed_size_binary().value(0))
    } else {
        let options = FormatOptions::new()
            .with_timestamp_format(Some("%Y-%m-%d %H:%M:%S"))
            .with_timestamp_tz_format(Some("%Y-%m-%d %H:%M:%S"));
        is_text = !values.data_type().is_numeric();
        // Strings come as bytes, which would be shown as digits; those that are not text still are.
        let text = arrow::compute::cast(values, &arrow::datatypes::DataType::Utf8).ok();
        let text = text.filter(|it| *data_type.unwrapped() == DataType::String && it.is_valid(0));
        let values = text.as_ref().unwrap_or(values);
        ArrayFormatter::try_new(values, &options)
            .map_or_else(|_| "?".to_owned(), |formatter| formatter.value(0).to_string())
    };
    if is_quoted && is_text {
        format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
    } else {
        text
    }
}

fn uuid_text(bytes: &[u8]) -> String {
    let mut text = String::new();
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

/// A column and what is said of it.
struct ColumnRow {
    database: String,
    table: String,
    name: String,
    data_type: String,
    position: u64,
    sizes: ColumnSize,
    comment: String,
    in_partition: bool,
    in_sorting: bool,
    in_primary: bool,
}

fn column_rows(tables: &[(String, Arc<Table>)]) -> Result<Vec<ColumnRow>, TableError> {
    let mut rows = Vec::new();
    for (table_name, table) in tables {
        let first = rows.len();
        for (index, column) in table.columns().iter().enumerate() {
            let uses = |key: fn(&tambour_table::schema::TableDefinition) -> &[Expression]| {
                table.definition().is_some_and(|definition| {
                    key(definition).iter().any(|it| it.columns().contains(&column.name.as_str()))
                })
            };
            let comment = table.definition().and_then(|definition| {
                definition.columns.iter().find(|it| it.column.name == column.name)?.comment.clone()
            });
            let (database, own) = place(table_name, table);
            rows.push(ColumnRow {
                database: database.to_owned(),
                table: own.to_owned(),
                name: column.name.clone(),
                data_type: column.data_type.to_string(),
                position: index as u64 + 1,
                sizes: ColumnSize::default(),
                comment: comment.unwrap_or_default(),
                in_partition: uses(|it| &it.partition_by),
                in_sorting: uses(|it| &it.order_by),
                in_primary: uses(|it| &it.primary_key),
            });
        }
        for (part, name) in table.parts().iter().zip(table.part_names()) {
            let sizes = part.column_sizes().map_err(placed(table, name))?;
            for (column, size) in part.columns().iter().zip(sizes) {
                let row = rows[first..].iter_mut().find(|row| row.name == column.name);
                if let Some(row) = row {
                    row.add(size);
                }
            }
        }
    }
    Ok(rows)
}

impl ColumnRow {
    fn add(&mut self, size: ColumnSize) {
        self.sizes.compressed += size.compressed;
        self.sizes.uncompressed += size.uncompressed;
        self.sizes.marks += size.marks;
        for codec in size.codecs {
            if !self.sizes.codecs.contains(&codec) {
                self.sizes.codecs.push(codec);
            }
        }
    }
}

fn columns_sheet(tables: &[(String, Arc<Table>)]) -> Result<Sheet, TableError> {
    let rows = column_rows(tables)?;
    let rows = rows.as_slice();
    let mut sheet = Sheet::default();
    sheet.text("database", rows, |row| row.database.clone());
    sheet.text("table", rows, |row| row.table.clone());
    sheet.text("name", rows, |row| row.name.clone());
    sheet.text("type", rows, |row| row.data_type.clone());
    sheet.number("position", rows, |row| row.position);
    sheet.number("data_compressed_bytes", rows, |row| row.sizes.compressed);
    sheet.number("data_uncompressed_bytes", rows, |row| row.sizes.uncompressed);
    sheet.number("marks_bytes", rows, |row| row.sizes.marks);
    sheet.text("comment", rows, |row| row.comment.clone());
    sheet.flag("is_in_partition_key", rows, |row| row.in_partition);
    sheet.flag("is_in_sorting_key", rows, |row| row.in_sorting);
    sheet.flag("is_in_primary_key", rows, |row| row.in_primary);
    // Where ClickHouse shows the codec that was asked for, this is what the blocks were really written with.
    sheet.text("compression_codec", rows, |row| row.sizes.codecs.join(", "));
    Ok(sheet)
}

fn codecs_sheet() -> Sheet {
    let rows: Vec<_> = FAMILIES.iter().chain(ALIASES).copied().collect();
    let mut sheet = Sheet::default();
    sheet.text("name", &rows, |family| family.name);
    let bytes = UInt8Array::from_iter_values(rows.iter().map(|family| family.method));
    sheet.add("method_byte", &DataType::UInt8, Arc::new(bytes));
    sheet.text("method_hex", &rows, |family| format!("0x{:02x}", family.method));
    sheet.flag("is_generic_compression", &rows, |family| family.scope == Scope::Generic);
    sheet
}

/// A directory in `detached/`: its table and its name, and what of the name is a part's, past a reason if it has one.
struct DetachedRow {
    database: String,
    table: String,
    name: String,
    reason: String,
    parsed: Option<PartName>,
    path: String,
}

fn detached_sheet(tables: &[(String, Arc<Table>)]) -> Result<Sheet, TableError> {
    let mut rows = Vec::new();
    for (table_name, table) in tables {
        let (database, own) = place(table_name, table);
        for name in detached_parts(table.storage(), table.path())? {
            // `broken_all_1_1_0`: reasons are words, and names of parts begin with a partition.
            let pieces =
                name.match_indices('_').map(|(at, _)| (name.get(..at), name.get(at + 1..)));
            let whole = std::iter::once((Some(""), Some(name.as_str())));
            let parsed = whole
                .chain(pieces)
                .find_map(|(reason, rest)| Some((reason?.to_owned(), PartName::parse(rest?)?)));
            let (reason, parsed) = match parsed {
                Some((reason, parsed)) => (reason, Some(parsed)),
                None => (String::new(), None),
            };
            rows.push(DetachedRow {
                database: database.to_owned(),
                table: own.to_owned(),
                path: format!("{}/detached/{name}/", table.path().display()),
                name,
                reason,
                parsed,
            });
        }
    }
    let rows = rows.as_slice();
    let number = |row: &DetachedRow, of: fn(&PartName) -> u64| row.parsed.as_ref().map_or(0, of);
    let mut sheet = Sheet::default();
    sheet.text("database", rows, |row| row.database.clone());
    sheet.text("table", rows, |row| row.table.clone());
    sheet.text("partition_id", rows, |row| {
        row.parsed.as_ref().map_or_else(String::new, |name| name.partition.clone())
    });
    sheet.text("name", rows, |row| row.name.clone());
    sheet.text("path", rows, |row| row.path.clone());
    sheet.text("reason", rows, |row| row.reason.clone());
    sheet.signed("min_block_number", rows, |row| number(row, |name| name.block_min));
    sheet.signed("max_block_number", rows, |row| number(row, |name| name.block_max));
    sheet.small("level", rows, |row| row.parsed.as_ref().map_or(0, |name| name.level));
    Ok(sheet)
}
