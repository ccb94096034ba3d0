//! `mergeTreeIndex(database, table, with_marks = true)`: a row for each mark of each part, with the key there and where the granule
//! starts in each stream.

use super::parts::marks;
use super::{Registry, Sheet, placed, registered, scan};
use arrow::array::{Array, ArrayRef, StructArray, UInt64Array, new_null_array};
use arrow::compute::{cast, concat};
use arrow::datatypes::{DataType as ArrowType, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::datasource::TableType;
use datafusion::error::DataFusionError;
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::ExecutionPlan;
use std::collections::HashMap;
use std::sync::Arc;
use tambour_part::Part;
use tambour_part::part::StreamMarks;
use tambour_part::types::{DataType, Strings};
use tambour_table::schema::TableDefinition;
use tambour_table::{Table, TableError};

/// The type of the columns of marks.
const MARK: &str = "Tuple(offset_in_compressed_file Nullable(UInt64), offset_in_decompressed_block Nullable(UInt64))";
/// End of the names of streams with the lengths of texts, which ClickHouse leaves out.
const LENGTHS: &str = ".size";

/// The function.
#[derive(Debug)]
pub(crate) struct MarksFunction {
    registry: Registry,
}

impl MarksFunction {
    /// Its name.
    pub(crate) const NAME: &str = "mergeTreeIndex";

    pub(crate) fn new(registry: Registry) -> Self {
        Self { registry }
    }

    fn table(&self, database: &str, name: &str) -> Result<Arc<Table>> {
        let tables = registered(&self.registry);
        let found = tables
            .iter()
            .find(|(registered, table)| super::place(registered, table) == (database, name));
        let Some((_, table)) = found else {
            return plan_err!("{}: there is no table {database}.{name}", Self::NAME);
        };
        Ok(Arc::clone(table))
    }
}

fn text(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Literal(value, _) => value.try_as_str().flatten(),
        _ => None,
    }
}

impl TableFunctionImpl for MarksFunction {
    fn call_with_args(&self, args: TableFunctionArgs) -> Result<Arc<dyn TableProvider>> {
        let (database, name, has_marks) = match args.exprs() {
            [database, name] => (text(database), text(name), Some(false)),
            [database, name, Expr::Literal(ScalarValue::Boolean(has_marks), _)] => {
                (text(database), text(name), *has_marks)
            }
            _ => (None, None, None),
        };
        let (Some(database), Some(name), Some(has_marks)) = (database, name, has_marks) else {
            return plan_err!(
                "{} takes a database, a table and with_marks = true or false",
                Self::NAME
            );
        };
        let table = self.table(database, name)?;
        let made = MarksTable::new(table, has_marks);
        Ok(Arc::new(made.map_err(|error| DataFusionError::External(Box::new(error)))?))
    }
}

/// The marks of a table.
#[derive(Debug)]
struct MarksTable {
    table: Arc<Table>,
    schema: SchemaRef,
    /// Names of streams, if their marks are asked for.
    streams: Vec<String>,
}

/// A mark of a part.
struct Row {
    part: usize,
    mark: u64,
    rows: u64,
}

impl MarksTable {
    fn new(table: Arc<Table>, has_marks: bool) -> Result<Self, TableError> {
        let mut streams: Vec<String> = Vec::new();
        for (part, name) in table.parts().iter().zip(table.part_names()).filter(|_| has_marks) {
            for stream in part_marks(&table, part, name)? {
                if !streams.contains(&stream.name) {
                    streams.push(stream.name);
                }
            }
        }
        let mut sheet = Sheet::of(std::iter::empty::<String>().collect());
        let mut made = Self { table, schema: sheet.schema(), streams };
        made.fill(&mut sheet)?;
        made.schema = sheet.schema();
        Ok(made)
    }

    fn fill(&self, sheet: &mut Sheet) -> Result<(), TableError> {
        let parts = self.table.parts();
        let of_part = |(index, part): (usize, &Arc<Part>)| {
            let granules = part.granules().to_vec();
            (0..marks(part)).zip(granules.into_iter().chain([0])).map(move |(mark, rows)| Row {
                part: index,
                mark,
                rows,
            })
        };
        let rows: Vec<Row> = parts.iter().enumerate().flat_map(of_part).collect();
        let names = self.table.part_names();
        sheet.text("part_name", &rows, |row| names.get(row.part).cloned().unwrap_or_default());
        sheet.number("mark_number", &rows, |row| row.mark);
        sheet.number("rows_in_granule", &rows, |row| row.rows);
        self.keys(sheet, &rows)?;
        self.places(sheet, &rows)
    }

    /// The columns of the primary key.
    fn keys(&self, sheet: &mut Sheet, rows: &[Row]) -> Result<(), TableError> {
        let Some(definition) = self.table.definition() else { return Ok(()) };
        let types = definition.primary_key_types()?;
        let names = definition.primary_key.iter().map(ToString::to_string);
        for (index, (name, data_type)) in names.zip(&types).enumerate() {
            let stored = data_type.arrow(Strings::Utf8);
            let values = if sheet.has(&name) {
                self.key(definition, index, &stored)?
            } else {
                new_null_array(&stored, 0)
            };
            sheet.add(&name, data_type, rows, || values);
        }
        Ok(())
    }

    /// A column of the primary key, all parts together.
    fn key(
        &self,
        definition: &TableDefinition,
        index: usize,
        stored: &ArrowType,
    ) -> Result<ArrayRef, TableError> {
        let types = definition.primary_key_types()?;
        let mut pieces = vec![new_null_array(stored, 0)];
        for (part, name) in self.table.parts().iter().zip(self.table.part_names()) {
            let columns = part.primary_index(&types).map_err(placed(&self.table, name))?;
            if let Some(values) = columns.get(index) {
                pieces
                    .push(cast(values, stored).map_err(TableError::arrow("show the primary key"))?);
            }
        }
        let pieces: Vec<&dyn Array> = pieces.iter().map(AsRef::as_ref).collect();
        concat(&pieces).map_err(TableError::arrow("show the primary key"))
    }

    /// The columns of marks.
    fn places(&self, sheet: &mut Sheet, rows: &[Row]) -> Result<(), TableError> {
        let is_asked = self.streams.iter().any(|stream| sheet.has(&format!("{stream}.mark")));
        let mut known: Vec<HashMap<String, Vec<(u64, u64)>>> = Vec::new();
        let parts = self.table.parts().iter().zip(self.table.part_names());
        for (part, name) in parts.filter(|_| is_asked) {
            let streams = part_marks(&self.table, part, name)?.into_iter();
            known.push(streams.map(|stream| (stream.name, stream.places)).collect());
        }
        let Ok(data_type) = MARK.parse::<DataType>() else {
            unreachable!("a tuple of two numbers")
        };
        let ArrowType::Struct(fields) = data_type.arrow(Strings::Utf8) else {
            unreachable!("a tuple is a struct")
        };
        for stream in &self.streams {
            let place = |row: &Row| {
                let mark = usize::try_from(row.mark).ok()?;
                known.get(row.part)?.get(stream)?.get(mark).copied()
            };
            sheet.add(&format!("{stream}.mark"), &data_type, rows, || {
                let of = |which: fn((u64, u64)) -> u64| {
                    let values = rows.iter().map(|row| place(row).map(which));
                    Arc::new(values.collect::<UInt64Array>()) as ArrayRef
                };
                let columns = vec![of(|(block, _)| block), of(|(_, offset)| offset)];
                Arc::new(StructArray::new(fields.clone(), columns, None))
            });
        }
        Ok(())
    }
}

/// The marks of a part that are shown.
fn part_marks(table: &Table, part: &Part, name: &str) -> Result<Vec<StreamMarks>, TableError> {
    let streams = part.column_marks().map_err(placed(table, name))?.into_iter().flatten();
    Ok(streams.filter(|stream| !stream.name.ends_with(LENGTHS)).collect())
}

#[async_trait]
impl TableProvider for MarksTable {
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
        let rows = scan(&self.schema, projection, |sheet| self.fill(sheet))?;
        rows.scan(state, None, filters, limit).await
    }
}
