//! What is written and read again with the known columns is equal, for all types in all formats.
#![expect(
    clippy::cast_possible_truncation,
    reason = "random values are cut to the width of their type"
)]

use crate::support::{read, rows, scratch};
use arrow_array::types as arrow;
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, FixedSizeBinaryArray, ListArray, MapArray,
    PrimitiveArray, RecordBatch, StringArray, StringViewArray, StructArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer, i256};
use arrow_schema::{DataType as Arrow, Field, TimeUnit};
use arrow_select::concat::concat_batches;
use std::sync::Arc;
use tambour_files::{Format, ReadOptions, output};
use tambour_part::DataType;
use tambour_part::types::{Column, Strings, arrow_schema};

const TYPES: &[&str] = &[
    "Bool",
    "UInt8",
    "UInt16",
    "UInt32",
    "UInt64",
    "UInt128",
    "UInt256",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "Int128",
    "Int256",
    "Float32",
    "Float64",
    "BFloat16",
    "Decimal(9, 2)",
    "Decimal(18, 18)",
    "Decimal(38, 5)",
    "Decimal(76, 20)",
    "Date",
    "Date32",
    "DateTime",
    "DateTime('Europe/Berlin')",
    "DateTime64(0)",
    "DateTime64(1)",
    "DateTime64(3, 'Asia/Tokyo')",
    "DateTime64(6)",
    "DateTime64(9)",
    "String",
    "FixedString(5)",
    "UUID",
    "IPv4",
    "IPv6",
    "Enum8('a' = -1, 'b c' = 2, '\\'' = 3)",
    "Enum16('x' = 1000, 'y' = -1000)",
    "Nullable(Int32)",
    "Nullable(String)",
    "Nullable(Float64)",
    "Nullable(DateTime64(3))",
    "Nullable(UUID)",
    "Nullable(Enum8('a' = 1, 'b' = 2))",
    "Nullable(Decimal(12, 4))",
    "LowCardinality(String)",
    "LowCardinality(Nullable(String))",
    "LowCardinality(FixedString(3))",
    "LowCardinality(UInt16)",
    "Array(Int16)",
    "Array(String)",
    "Array(Nullable(String))",
    "Array(Array(Float64))",
    "Array(Date)",
    "Array(UUID)",
    "Array(LowCardinality(String))",
    "Tuple(Int8, String)",
    "Tuple(a Nullable(Int64), `b c` Array(String))",
    "Map(String, Int64)",
    "Map(UInt8, Array(String))",
    "Map(Date, Tuple(x Int8, y Nullable(String)))",
    "Array(Tuple(DateTime('UTC'), Map(String, Bool)))",
];

/// Numbers without any order that everyone gets the same.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
    fn wide(&mut self) -> i256 {
        let mut bytes = [0; 32];
        bytes.chunks_mut(8).for_each(|chunk| chunk.copy_from_slice(&self.next().to_le_bytes()));
        i256::from_le_bytes(bytes)
    }
    fn text(&mut self) -> String {
        const TEXTS: [&str; 16] = [
            "",
            "a",
            "NULL",
            "\\N",
            "NA",
            " x ",
            "1",
            "2020-01-01",
            "it's \"so\"",
            "a,b;c|d\te\nf\r\ng",
            "\\",
            "\u{fc}\u{1f600}",
            "{}",
            "[1]",
            "\0\u{1}\u{8}\u{c}\u{1f}",
            "a string that is too long to be inlined",
        ];
        TEXTS[self.below(16) as usize].to_owned()
    }
}

fn primitive<T: arrow::ArrowPrimitiveType>(
    rows: usize,
    nulls: Option<NullBuffer>,
    to: &Arrow,
    value: impl FnMut() -> T::Native,
) -> ArrayRef {
    let values: Vec<T::Native> = std::iter::repeat_with(value).take(rows).collect();
    Arc::new(PrimitiveArray::<T>::new(values.into(), nulls).with_data_type(to.clone()))
}

/// Values of a type, its extremes among them, made without any of the code under test.
#[expect(clippy::too_many_lines, reason = "one arm per type")]
fn values(data_type: &DataType, rows: usize, null: bool, random: &mut Random) -> ArrayRef {
    let nulls = null.then(|| (0..rows).map(|_| random.below(4) > 0).collect::<NullBuffer>());
    let to = data_type.arrow(Strings::Utf8);
    macro_rules! integers {
        ($arrow:ident, $native:ident) => {
            primitive::<arrow::$arrow>(rows, nulls, &to, || match random.below(4) {
                0 => $native::MIN,
                1 => $native::MAX,
                _ => random.next() as $native,
            })
        };
    }
    match data_type {
        DataType::Nullable(inner) => values(inner, rows, true, random),
        DataType::LowCardinality(inner) => low_cardinality(inner, rows, random),
        DataType::Bool => {
            let bits = (0..rows).map(|_| random.below(2) == 1).collect();
            Arc::new(BooleanArray::new(bits, nulls))
        }
        DataType::UInt8 => integers!(UInt8Type, u8),
        DataType::UInt16 => integers!(UInt16Type, u16),
        DataType::UInt32 | DataType::Ipv4 => integers!(UInt32Type, u32),
        DataType::UInt64 => integers!(UInt64Type, u64),
        DataType::Int8 => integers!(Int8Type, i8),
        DataType::Int16 => integers!(Int16Type, i16),
        DataType::Int32 => integers!(Int32Type, i32),
        DataType::Int64 => integers!(Int64Type, i64),
        DataType::Int128 => primitive::<arrow::Decimal256Type>(rows, nulls, &to, || {
            i256::from_i128(
                [i128::MIN, i128::MAX, -1, i128::from(random.next())][random.below(4) as usize],
            )
        }),
        DataType::UInt128 => primitive::<arrow::Decimal256Type>(rows, nulls, &to, || {
            i256::from_parts([u128::MAX, 0, u128::from(random.next())][random.below(3) as usize], 0)
        }),
        DataType::Float32 => primitive::<arrow::Float32Type>(rows, nulls, &to, || {
            [f32::INFINITY, -0.0, f32::MIN_POSITIVE, 0.1, f32::MAX, random.next() as f32]
                [random.below(6) as usize]
        }),
        DataType::BFloat16 => primitive::<arrow::Float32Type>(rows, nulls, &to, || {
            f32::from_bits((random.next() as u32 & 0x7f00_0000) & 0xffff_0000)
        }),
        DataType::Float64 => primitive::<arrow::Float64Type>(rows, nulls, &to, || {
            [f64::NAN, f64::NEG_INFINITY, -0.0, 5e-324, 1e21, 0.1, random.next() as f64]
                [random.below(7) as usize]
        }),
        DataType::Decimal { precision, .. } if *precision <= 38 => {
            let limit = 10_i128.pow(u32::from(*precision)) - 1;
            primitive::<arrow::Decimal128Type>(rows, nulls, &to, || {
                [limit, -limit, 0, 1, i128::from(random.next()) % limit][random.below(5) as usize]
            })
        }
        DataType::Decimal { .. } => primitive::<arrow::Decimal256Type>(rows, nulls, &to, || {
            random.wide().wrapping_div(i256::from_i128(100))
        }),
        DataType::Date => {
            primitive::<arrow::Date32Type>(rows, nulls, &to, || random.below(65_536) as i32)
        }
        DataType::Date32 => primitive::<arrow::Date32Type>(rows, nulls, &to, || {
            random.below(146_097) as i32 - 25_567
        }),
        DataType::DateTime { .. } | DataType::DateTime64 { .. } => {
            times(data_type, &to, rows, nulls, random)
        }
        DataType::String => {
            let texts = (0..rows).map(|row| {
                let valid = nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
                let text = random.text();
                valid.then_some(text)
            });
            Arc::new(texts.collect::<StringViewArray>())
        }
        DataType::Enum8(names) => {
            let names: Vec<&str> = names.iter().map(|(name, _)| name.as_str()).collect();
            enumerated::<arrow::Int8Type>(&names, rows, nulls, || random.next() as usize)
        }
        DataType::Enum16(names) => {
            let names: Vec<&str> = names.iter().map(|(name, _)| name.as_str()).collect();
            enumerated::<arrow::Int16Type>(&names, rows, nulls, || random.next() as usize)
        }
        DataType::Array(inner) => list(inner, &to, rows, random),
        DataType::Tuple(elements) => {
            let Arrow::Struct(fields) = &to else { panic!("{to}") };
            let columns = elements.iter().map(|(_, inner)| values(inner, rows, false, random));
            Arc::new(StructArray::new(fields.clone(), columns.collect(), None))
        }
        DataType::Map(key, value) => map(key, value, &to, rows, random),
        _ => {
            let Arrow::FixedSizeBinary(width) = to else { panic!("{data_type}") };
            let bytes: Vec<u8> = (0..rows * width as usize).map(|_| random.next() as u8).collect();
            Arc::new(FixedSizeBinaryArray::new(width, bytes.into(), nulls))
        }
    }
}

fn times(
    data_type: &DataType,
    to: &Arrow,
    rows: usize,
    nulls: Option<NullBuffer>,
    random: &mut Random,
) -> ArrayRef {
    let Arrow::Timestamp(unit, _) = to else { panic!("{to}") };
    let (precision, tick) = match (data_type, unit) {
        (DataType::DateTime64 { precision, .. }, TimeUnit::Second) => (*precision, 0),
        (DataType::DateTime64 { precision, .. }, TimeUnit::Millisecond) => (*precision, 3),
        (DataType::DateTime64 { precision, .. }, TimeUnit::Microsecond) => (*precision, 6),
        (DataType::DateTime64 { precision, .. }, TimeUnit::Nanosecond) => (*precision, 9),
        _ => (0, 0),
    };
    let step = 10_i64.pow(tick - u32::from(precision));
    let signed = matches!(data_type, DataType::DateTime64 { .. });
    let value = || {
        let seconds = random.below(2_000_000_000) as i64 - if signed { 1_000_000_000 } else { 0 };
        // Zones turn clocks back in autumn, which makes an hour's texts ambiguous: the summer is clear.
        let seconds =
            seconds.div_euclid(31_557_600) * 31_557_600 + 86_400 * 190 + seconds.rem_euclid(86_400);
        let ticks = seconds * 10_i64.pow(tick) + random.below(10_u64.pow(tick)) as i64;
        ticks.div_euclid(step) * step
    };
    match unit {
        TimeUnit::Second => primitive::<arrow::TimestampSecondType>(rows, nulls, to, value),
        TimeUnit::Millisecond => {
            primitive::<arrow::TimestampMillisecondType>(rows, nulls, to, value)
        }
        TimeUnit::Microsecond => {
            primitive::<arrow::TimestampMicrosecondType>(rows, nulls, to, value)
        }
        TimeUnit::Nanosecond => primitive::<arrow::TimestampNanosecondType>(rows, nulls, to, value),
    }
}

fn enumerated<K: arrow::ArrowDictionaryKeyType>(
    names: &[&str],
    rows: usize,
    nulls: Option<NullBuffer>,
    mut pick: impl FnMut() -> usize,
) -> ArrayRef
where
    K::Native: TryFrom<usize, Error: std::fmt::Debug>,
{
    let keys: Vec<K::Native> =
        (0..rows).map(|_| K::Native::try_from(pick() % names.len()).unwrap()).collect();
    let keys = PrimitiveArray::<K>::new(keys.into(), nulls);
    Arc::new(DictionaryArray::new(keys, Arc::new(StringArray::from(names.to_vec()))))
}

fn low_cardinality(inner: &DataType, rows: usize, random: &mut Random) -> ArrayRef {
    let plain = values(inner, rows, false, random);
    let to = DataType::LowCardinality(Box::new(inner.clone())).arrow(Strings::Utf8);
    if *plain.data_type() == to { plain } else { arrow_cast::cast(&plain, &to).unwrap() }
}

fn lengths(rows: usize, random: &mut Random) -> (OffsetBuffer<i32>, usize) {
    let lengths: Vec<usize> = (0..rows).map(|_| random.below(4) as usize).collect();
    let total = lengths.iter().sum();
    (OffsetBuffer::from_lengths(lengths), total)
}

fn list(inner: &DataType, to: &Arrow, rows: usize, random: &mut Random) -> ArrayRef {
    let Arrow::List(field) = to else { panic!("{to}") };
    let (offsets, total) = lengths(rows, random);
    Arc::new(ListArray::new(Arc::clone(field), offsets, values(inner, total, false, random), None))
}

fn map(key: &DataType, value: &DataType, to: &Arrow, rows: usize, random: &mut Random) -> ArrayRef {
    let Arrow::Map(entries, _) = to else { panic!("{to}") };
    let Arrow::Struct(fields) = entries.data_type() else { panic!("{to}") };
    let (offsets, total) = lengths(rows, random);
    let columns = vec![values(key, total, false, random), values(value, total, false, random)];
    let inner = StructArray::new(fields.clone(), columns, None);
    Arc::new(MapArray::new(Arc::clone(entries), offsets, inner, None, false))
}

fn columns() -> Vec<Column> {
    let column = |(index, text): (usize, &&str)| Column {
        name: format!("column {index}"),
        data_type: text.parse().unwrap_or_else(|error| panic!("{text}: {error}")),
    };
    TYPES.iter().enumerate().map(column).collect()
}

fn batch(columns: &[Column], rows: usize, random: &mut Random) -> RecordBatch {
    let schema = Arc::new(arrow_schema(columns, Strings::Utf8));
    let arrays = columns.iter().map(|column| values(&column.data_type, rows, false, random));
    RecordBatch::try_new(schema, arrays.collect()).unwrap()
}

fn write(format: Format, batches: &[RecordBatch]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = output(format, &batches[0].schema(), Box::new(&mut bytes)).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.finish().unwrap();
    bytes
}

#[test]
fn known_columns() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let columns = columns();
    let batches = [batch(&columns, 300, &mut random), batch(&columns, 17, &mut random)];
    let expected = concat_batches(&batches[0].schema(), &batches).unwrap();
    for (format, name) in [
        (Format::Csv, "a.csv"),
        (Format::Tsv, "a.tsv"),
        (Format::JsonLines, "a.jsonl"),
        (Format::Parquet, "a.parquet"),
        (Format::ArrowIpc, "a.arrow"),
    ] {
        let file = scratch(name, &write(format, &batches));
        let options = ReadOptions {
            columns: Some(columns.clone()),
            batch_rows: 100,
            ..ReadOptions::default()
        };
        let read = read(&file.path, options).unwrap_or_else(|error| panic!("{name}: {error}"));
        let found = concat_batches(&expected.schema(), &read.batches).unwrap();
        for (index, column) in columns.iter().enumerate() {
            let (left, right) = (expected.column(index), found.column(index));
            assert!(equal(left, right), "{name}, {}:\n{left:?}\n{right:?}", column.data_type);
        }
    }
}

/// Equal values; NaN equals itself.
fn equal(left: &ArrayRef, right: &ArrayRef) -> bool {
    if left.data_type() != right.data_type() || left.len() != right.len() {
        return false;
    }
    left == right || {
        let text = |array: &ArrayRef| {
            let field = Field::new("x", array.data_type().clone(), true);
            let texts =
                tambour_files::Text::new(array.as_ref(), &field, tambour_files::Style::Json)
                    .unwrap();
            let mut target = Vec::new();
            (0..array.len()).for_each(|row| texts.write(row, &mut target));
            target
        };
        text(left) == text(right)
    }
}

/// Parquet and Arrow keep the types themselves.
#[test]
fn columnar_files_say_their_types() {
    let mut random = Random(7);
    let columns = columns();
    let batches = [batch(&columns, 50, &mut random)];
    for (format, name) in [(Format::Parquet, "a.parquet"), (Format::ArrowIpc, "a.arrow")] {
        let file = scratch(name, &write(format, &batches));
        let read = read(&file.path, ReadOptions::default())
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let expected: Vec<String> =
            columns.iter().map(|column| format!("{} {}", column.name, column.data_type)).collect();
        assert_eq!(read.columns, expected, "{name}");
        assert_eq!(read.rows, rows(&batches), "{name}");
    }
}
