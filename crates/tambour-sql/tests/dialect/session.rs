//! A session over twenty rows, and its answers as texts.

use crate::columns::columns as more_columns;
use arrow::array::{
    Array, ArrayRef, Date32Array, DictionaryArray, Float64Array, Int8Array, Int32Array, Int64Array,
    ListArray, RecordBatch, StringArray, StringViewArray, TimestampMillisecondArray,
    TimestampSecondArray, UInt8Array, UInt32Array, cast::AsArray,
};
use arrow::datatypes::{DataType as ArrowType, Field, Schema, UInt32Type};
use std::fmt::Write;
use std::sync::Arc;
use tambour_function::{self, Operand};
use tambour_part::types::{DataType, Strings};
use tambour_sql::{Session, SessionOptions, SqlError};

/// The rows that ClickHouse had.
#[expect(clippy::cast_possible_truncation, reason = "numbers below 20")]
#[expect(clippy::too_many_lines, reason = "a table of columns")]
fn rows() -> RecordBatch {
    let numbers = 0..20_i64;
    let each = |make: fn(i64) -> i64| (0..20_i64).map(make);
    let enumeration = DictionaryArray::try_new(
        each(|k| k % 2).map(|k| k as i8).collect::<Int8Array>(),
        Arc::new(StringArray::from(vec!["red", "green"])),
    );
    let dictionary = DictionaryArray::try_new(
        each(|k| k % 3).map(|k| k as i32).collect::<Int32Array>(),
        Arc::new(StringArray::from(vec!["a", "b", "c"])),
    );
    let lists = numbers.clone().map(|k| Some(vec![Some(k as u32), Some(k as u32 * 2)]));
    let columns: Vec<(&str, &str, ArrayRef)> = vec![
        ("k", "UInt32", Arc::new(each(|k| k).map(|k| k as u32).collect::<UInt32Array>())),
        ("u8", "UInt8", Arc::new(each(|k| k * 37 % 256).map(|k| k as u8).collect::<UInt8Array>())),
        ("i", "Int32", Arc::new(each(|k| k * 7 - 60).map(|k| k as i32).collect::<Int32Array>())),
        (
            "n",
            "Nullable(Int64)",
            Arc::new(
                numbers.clone().map(|k| (k % 4 != 0).then_some(k * k)).collect::<Int64Array>(),
            ),
        ),
        (
            "f",
            "Float64",
            Arc::new(
                numbers.clone().map(|k| Some(k as f64 * 1.25 - 3.0)).collect::<Float64Array>(),
            ),
        ),
        (
            "s",
            "String",
            Arc::new(StringViewArray::from_iter_values(
                numbers.clone().map(|k| format!("name {}", k % 5)),
            )),
        ),
        ("ls", "LowCardinality(String)", Arc::new(dictionary.unwrap())),
        (
            "d",
            "Date",
            Arc::new(Date32Array::from_iter_values(each(|k| 19_751 + k * 3).map(|k| k as i32))),
        ),
        (
            "t",
            "DateTime",
            Arc::new(
                TimestampSecondArray::from_iter_values(each(|k| 1_711_836_900 + k * 1801))
                    .with_timezone("UTC"),
            ),
        ),
        (
            "b",
            "DateTime('Europe/Berlin')",
            Arc::new(
                TimestampSecondArray::from_iter_values(each(|k| 1_711_830_000 + k * 1801))
                    .with_timezone("Europe/Berlin"),
            ),
        ),
        (
            "t3",
            "DateTime64(3)",
            Arc::new(
                TimestampMillisecondArray::from_iter_values(each(|k| {
                    1_704_067_200_000 + k * 86_400_250
                }))
                .with_timezone("UTC"),
            ),
        ),
        ("e", "Enum8('red' = 1, 'green' = 2)", Arc::new(enumeration.unwrap())),
        ("a", "Array(UInt32)", Arc::new(ListArray::from_iter_primitive::<UInt32Type, _, _>(lists))),
    ];
    let mut fields = Vec::new();
    let mut arrays = Vec::new();
    for (name, data_type, values) in columns.into_iter().chain(more_columns()) {
        let data_type: DataType = data_type.parse().unwrap();
        let field = data_type.field(name, Strings::Utf8);
        arrays.push(arrow::compute::cast(&values, field.data_type()).unwrap());
        fields.push(field);
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap()
}

pub(crate) fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Runtime::new().unwrap().block_on(test);
}

pub(crate) fn session() -> Session {
    let session =
        Session::new(&SessionOptions { threads: 2, ..SessionOptions::default() }).unwrap();
    session.context().register_batch("t", rows()).unwrap();
    session
}

/// A column as ClickHouse writes it into TSV.
pub(crate) fn texts(field: &Field, values: &ArrayRef) -> Vec<String> {
    if let ArrowType::List(item) = values.data_type() {
        let list = values.as_list::<i32>();
        let (item, quote) = match DataType::from_field(field).unwrap() {
            DataType::Array(inner) if !inner.arrow(Strings::Utf8).is_nested() => {
                let is_number =
                    inner.to_string().contains("Int") || inner.to_string().contains("Float");
                (Arc::new(inner.field("", Strings::Utf8)), if is_number { "" } else { "'" })
            }
            _ => (Arc::clone(item), ""),
        };
        let row = |inner: Option<ArrayRef>| {
            let cells = texts(&item, &inner.unwrap());
            let cells: Vec<String> =
                cells.into_iter().map(|cell| format!("{quote}{cell}{quote}")).collect();
            format!("[{}]", cells.join(","))
        };
        return list.iter().map(row).collect();
    }
    let data_type = DataType::from_field(field).unwrap();
    let operand = Operand { data_type, values: Arc::clone(values), is_constant: false };
    let texts = tambour_function::find("toString").unwrap().evaluate(&[operand]).unwrap().values;
    let texts = arrow::compute::cast(&texts, &ArrowType::Utf8View).unwrap();
    let escape = |text: &str| text.replace('\\', "\\\\").replace('\t', "\\t").replace('\'', "\\'");
    texts.as_string_view().iter().map(|text| text.map_or("\\N".to_owned(), escape)).collect()
}

pub(crate) async fn answer(session: &Session, query: &str) -> Result<String, SqlError> {
    let mut execution = session.sql(query).await?.execute().await?;
    let mut answer = String::new();
    for batch in execution.collect().await? {
        let columns: Vec<Vec<String>> = batch
            .schema()
            .fields()
            .iter()
            .zip(batch.columns())
            .map(|(field, values)| texts(field, values))
            .collect();
        for row in 0..batch.num_rows() {
            let cells: Vec<&str> = columns.iter().map(|column| column[row].as_str()).collect();
            writeln!(answer, "{}", cells.join("\t")).unwrap();
        }
    }
    Ok(answer)
}

/// Where our answer is another one, as `docs/functions.md` says.
pub(crate) const DIFFERENT: &[(&str, &str)] = &[
    // Another order of adding.
    ("SELECT if(k, 1, 0) FROM t WHERE k < 2 ORDER BY k", "0\n1"),
];
