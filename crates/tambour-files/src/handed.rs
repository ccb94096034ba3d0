//! Batches that a program hands over instead of files: their columns as a table would have them, and their rows in its form.
//!
//! ```
//! use arrow_array::{Int64Array, RecordBatch, StringArray};
//! use std::sync::Arc;
//! use tambour_files::{Handed, Survey};
//!
//! let batch = RecordBatch::try_from_iter([
//!     ("page", Arc::new(StringArray::from(vec!["/", "/about"])) as arrow_array::ArrayRef),
//!     ("visits", Arc::new(Int64Array::from(vec![30, 1]))),
//! ])?;
//! let mut survey = Survey::new(batch.schema());
//! survey.observe(&batch);
//! let mut handed = Handed::with_columns(&batch.schema(), &survey.columns()?, false)?;
//! assert_eq!(handed.columns()[1].data_type.to_string(), "Int64");
//! assert_eq!(handed.batch(&batch)?.num_rows(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::FileError;
use crate::columnar::facts::Facts;
use crate::columnar::fit::missing;
use crate::columnar::{Target, ipc};
use crate::infer::Reading;
use crate::infer::unify::settled;
use arrow_array::RecordBatch;
use arrow_array::timezone::Tz;
use arrow_schema::{DataType as Arrow, Field, Schema, SchemaRef};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tambour_part::types::{Column, Strings, arrow_schema};
use tambour_part::{DataType, PartError, Place};

/// What errors call the rows.
pub(crate) const NAME: &str = "the data";

/// Finds out which types a table of some batches needs.
#[derive(Debug)]
pub struct Survey {
    schema: SchemaRef,
    facts: Vec<Facts>,
}

impl Survey {
    /// A survey of batches of this schema, of which nothing was seen.
    pub fn new(schema: SchemaRef) -> Self {
        let facts = vec![Facts::default(); schema.fields().len()];
        Self { schema, facts }
    }

    /// The same for batches that are seen only once, later: what may be NULL is Nullable.
    pub fn stated(schema: SchemaRef) -> Self {
        let facts = schema.fields().iter().map(|field| Facts::stated(field)).collect();
        Self { schema, facts }
    }

    /// Looks at a batch: which columns have NULLs, and how far dates reach.
    pub fn observe(&mut self, batch: &RecordBatch) {
        for (array, facts) in batch.columns().iter().zip(&mut self.facts) {
            facts.observe(array, false);
        }
    }

    /// The columns; an error if a type has no like in a table.
    pub fn columns(&self) -> Result<Vec<Column>, FileError> {
        let fields = self.schema.fields().iter().zip(&self.facts);
        let fields: Vec<Field> = fields.map(|(field, facts)| facts.stated_field(field)).collect();
        let schema = Arc::new(Schema::new(fields));
        let columns = ipc::columns(Path::new(NAME), &schema, &self.facts)?;
        let column = |(name, data_type)| Column { name, data_type: settled(data_type) };
        Ok(columns.into_iter().map(column).collect())
    }
}

/// Brings batches of one schema into the form of a table's columns, which they are matched with by name.
#[derive(Debug)]
pub struct Handed {
    columns: Vec<Column>,
    target: Target,
    name: PathBuf,
    rows: u64,
}

impl Handed {
    /// For a table with these columns. A column that the batches lack is NULL, and an error if it cannot be; one that the
    /// table lacks is an error, unless `skip_unknown`.
    pub fn with_columns(
        schema: &SchemaRef,
        columns: &[Column],
        skip_unknown: bool,
    ) -> Result<Self, FileError> {
        Self::matched(schema, columns, skip_unknown, Strings::Utf8)
    }

    /// The same for rows that are stored. Strings are bytes in a table: where the batches have bytes, they need not be UTF-8.
    pub fn stored(
        schema: &SchemaRef,
        columns: &[Column],
        skip_unknown: bool,
    ) -> Result<Self, FileError> {
        let has_bytes = schema.fields().iter().any(|field| has_bytes(field.data_type()));
        let strings = if has_bytes { Strings::Binary } else { Strings::Utf8 };
        Self::matched(schema, columns, skip_unknown, strings)
    }

    fn matched(
        schema: &SchemaRef,
        columns: &[Column],
        skip_unknown: bool,
        strings: Strings,
    ) -> Result<Self, FileError> {
        check_zones(columns)?;
        let known = |name: &str| columns.iter().any(|column| column.name == name);
        if let Some(unknown) = schema.fields().iter().find(|field| !known(field.name()))
            && !skip_unknown
        {
            let (path, column) = (PathBuf::from(NAME), unknown.name().clone());
            return Err(FileError::UnknownColumn { path, column });
        }
        let index = |column: &Column| {
            let found = schema.fields().iter().position(|field| *field.name() == column.name);
            if found.is_none() && missing(&column.data_type, 1).is_err() {
                let (path, column) = (PathBuf::from(NAME), column.name.clone());
                return Err(FileError::MissingColumn { path, column });
            }
            Ok(found)
        };
        let mapping = columns.iter().map(index).collect::<Result<_, _>>()?;
        let mut handed = Self::placed_as(NAME, columns, mapping, strings);
        let finite = |reading: &Reading| Reading { finite: true, ..reading.clone() };
        handed.target.readings = handed.target.readings.iter().map(finite).collect();
        Ok(handed)
    }

    /// For batches whose column `mapping[i]` goes to column `i`; where that is `None`, the column gets NULL or what is empty
    /// for its type, if there is such a thing. `name` is what errors call the rows.
    pub fn placed(name: &str, columns: &[Column], mapping: Vec<Option<usize>>) -> Self {
        Self::placed_as(name, columns, mapping, Strings::Utf8)
    }

    /// The same with strings as text, or as bytes that may be anything.
    pub fn placed_as(
        name: &str,
        columns: &[Column],
        mapping: Vec<Option<usize>>,
        strings: Strings,
    ) -> Self {
        let reading = |column: &Column| Reading {
            column: column.clone(),
            exact: true,
            ..Reading::plain(column.data_type.clone())
        };
        let readings: Vec<Reading> = columns.iter().map(reading).collect();
        let schema = Arc::new(arrow_schema(columns, strings));
        let target = Target { readings: readings.into(), schema, mapping };
        Self { columns: columns.to_vec(), target, name: PathBuf::from(name), rows: 0 }
    }

    /// The table's columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The schema of the batches that come out.
    pub fn schema(&self) -> &SchemaRef {
        &self.target.schema
    }

    /// The rows of a batch in the form of the table. A value that does not fit is an error that names its row and column.
    pub fn batch(&mut self, batch: &RecordBatch) -> Result<RecordBatch, FileError> {
        let fitted = self.target.batch(&self.name, batch, self.rows)?;
        self.rows += batch.num_rows() as u64;
        Ok(fitted)
    }
}

fn has_bytes(data_type: &Arrow) -> bool {
    match data_type {
        Arrow::Binary | Arrow::LargeBinary | Arrow::BinaryView => true,
        Arrow::List(item)
        | Arrow::LargeList(item)
        | Arrow::FixedSizeList(item, _)
        | Arrow::Map(item, _) => has_bytes(item.data_type()),
        Arrow::Struct(fields) => fields.iter().any(|field| has_bytes(field.data_type())),
        Arrow::Dictionary(_, values) => has_bytes(values),
        _ => false,
    }
}

/// An error if a zone of times is none that this machine knows: ClickHouse would refuse the table.
pub fn check_zones(columns: &[Column]) -> Result<(), FileError> {
    columns.iter().try_for_each(|column| zones_exist(column, &column.data_type))
}

fn zones_exist(column: &Column, data_type: &DataType) -> Result<(), FileError> {
    match data_type {
        DataType::DateTime { zone: Some(zone) } | DataType::DateTime64 { zone: Some(zone), .. } => {
            if zone.parse::<Tz>().is_ok() {
                return Ok(());
            }
            let place = Place::column(&column.name);
            Err(FileError::Type {
                path: PathBuf::from(NAME),
                column: column.name.clone(),
                data_type: data_type.to_string(),
                source: Box::new(PartError::unsupported(place, format!("time zone {zone:?}"))),
            })
        }
        DataType::Nullable(inner) | DataType::LowCardinality(inner) | DataType::Array(inner) => {
            zones_exist(column, inner)
        }
        DataType::Tuple(elements) => {
            elements.iter().try_for_each(|(_, inner)| zones_exist(column, inner))
        }
        DataType::Map(key, value) => {
            zones_exist(column, key)?;
            zones_exist(column, value)
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Handed, Survey};
    use crate::FileError;
    use arrow_array::cast::AsArray;
    use arrow_array::{
        Array, ArrayRef, BinaryArray, Float32Array, Float64Array, Int32Array, Int64Array,
        RecordBatch,
    };
    use std::sync::Arc;
    use tambour_part::types::Column;

    fn batch(values: Vec<Option<i64>>) -> RecordBatch {
        let array = Arc::new(Int64Array::from(values)) as ArrayRef;
        RecordBatch::try_from_iter_with_nullable([("n", array, true)]).unwrap()
    }

    #[test]
    fn nullable_only_where_nulls_are() {
        let full = batch(vec![Some(1), Some(2)]);
        let type_of = |survey: &Survey| survey.columns().unwrap()[0].data_type.to_string();
        let mut survey = Survey::new(full.schema());
        survey.observe(&full);
        assert_eq!(type_of(&survey), "Int64");
        survey.observe(&batch(vec![None]));
        assert_eq!(type_of(&survey), "Nullable(Int64)");
        assert_eq!(type_of(&Survey::stated(full.schema())), "Nullable(Int64)");
    }

    #[test]
    fn values_that_do_not_fit_are_named() {
        let columns = [Column { name: "n".to_owned(), data_type: "Int32".parse().unwrap() }];
        let rows = batch(vec![Some(7), Some(1 << 40)]);
        let mut handed = Handed::with_columns(&rows.schema(), &columns, false).unwrap();
        let fitted = handed.batch(&rows.slice(0, 1)).unwrap();
        assert_eq!(fitted.column(0).as_ref(), &Int32Array::from(vec![7]));
        let error = handed.batch(&rows.slice(1, 1)).unwrap_err();
        let FileError::Value { spot, .. } = error else { panic!("{error}") };
        assert_eq!((spot.row, spot.column.as_deref()), (2, Some("n")));
    }

    #[test]
    fn unknown_columns_are_refused_or_skipped() {
        let column = |kind: &str| Column { name: "m".to_owned(), data_type: kind.parse().unwrap() };
        let rows = batch(vec![Some(7)]);
        let columns = [column("Nullable(Int32)")];
        let refused = Handed::with_columns(&rows.schema(), &columns, false);
        assert!(matches!(refused, Err(FileError::UnknownColumn { .. })));
        let mut handed = Handed::with_columns(&rows.schema(), &columns, true).unwrap();
        assert_eq!(handed.batch(&rows).unwrap().column(0).as_ref(), &Int32Array::from(vec![None]));
        let missing = Handed::with_columns(&rows.schema(), &[column("Int32")], true);
        assert!(matches!(missing, Err(FileError::MissingColumn { .. })));
    }

    fn one(column: ArrayRef) -> RecordBatch {
        RecordBatch::try_from_iter_with_nullable([("n", column, true)]).unwrap()
    }

    fn stored(kind: &str, rows: &RecordBatch) -> Result<RecordBatch, FileError> {
        let columns = [Column { name: "n".to_owned(), data_type: kind.parse().unwrap() }];
        Handed::stored(&rows.schema(), &columns, false).unwrap().batch(rows)
    }

    #[test]
    fn finite_numbers_stay_finite() {
        let rows = |values: Vec<f64>| one(Arc::new(Float64Array::from(values)));
        let kept = stored("Float32", &rows(vec![f64::INFINITY, 0.1])).unwrap();
        assert_eq!(kept.column(0).as_ref(), &Float32Array::from(vec![f32::INFINITY, 0.1]));
        let FileError::Value { spot, value, .. } =
            stored("Nullable(Float32)", &rows(vec![1.0, -1e300])).unwrap_err()
        else {
            panic!("another error")
        };
        assert_eq!((spot.row, value.as_str()), (2, "-1e300"));
    }

    #[test]
    fn strings_are_bytes() {
        let rows = one(Arc::new(BinaryArray::from(vec![&b"\xff"[..], b"a"])));
        assert_eq!(stored("String", &rows).unwrap().column(0).as_binary_view().value(0), b"\xff");
        let columns = [Column { name: "n".to_owned(), data_type: "String".parse().unwrap() }];
        let as_text = Handed::with_columns(&rows.schema(), &columns, false).unwrap().batch(&rows);
        assert!(matches!(as_text, Err(FileError::Utf8 { .. })));
    }

    #[test]
    fn raw_bytes_are_values() {
        let raw: [u8; 16] = std::array::from_fn(|index| u8::try_from(index).unwrap());
        let rows = |values: Vec<Option<&[u8]>>| one(Arc::new(BinaryArray::from(values)));
        let made = stored("Nullable(UUID)", &rows(vec![Some(&raw), None])).unwrap();
        assert_eq!(made.column(0).as_fixed_size_binary().value(0), raw);
        assert!(made.column(0).is_null(1));
        // Sixteen characters of an address, and fifteen bytes of nothing.
        let text = stored("IPv6", &rows(vec![Some(b"2001:db8:1:2::12")])).unwrap();
        assert_eq!(text.column(0).as_fixed_size_binary().value(0)[..4], [0x20, 1, 0xd, 0xb8]);
        assert!(stored("UUID", &rows(vec![Some(&raw[1..])])).is_err());
    }

    #[test]
    fn zones_are_known() {
        let column = |kind: &str| Column { name: "n".to_owned(), data_type: kind.parse().unwrap() };
        let schema = batch(vec![Some(7)]).schema();
        let made = |kind: &str| Handed::with_columns(&schema, &[column(kind)], false).is_ok();
        assert!(made("DateTime('Europe/Berlin')") && made("Array(DateTime64(3, 'UTC'))"));
        assert!(!made("DateTime('Nowhere')") && !made("Map(String, DateTime64(3, 'Nowhere'))"));
    }
}
