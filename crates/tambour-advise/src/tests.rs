//! Advice on rows whose best codecs and types are known, and what it must never do.
#![expect(clippy::cast_possible_truncation, reason = "numbers of tests are small")]

use crate::alter::statements;
use crate::server::{Version, verdict};
use crate::{Advice, AdviseOptions, Intake, Present, advise};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, UInt32Array};
use arrow_schema::{Field, Schema};
use std::sync::Arc;
use std::time::Duration;
use tambour_codec::choose::Objective;
use tambour_part::DataType;
use tambour_part::types::Column;

/// A clock that gives every call a microsecond: the same advice every time.
fn clock() -> Duration {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NOW: AtomicU64 = AtomicU64::new(0);
    Duration::from_micros(NOW.fetch_add(1, Ordering::Relaxed))
}

fn options() -> AdviseOptions {
    AdviseOptions { goal: Objective::Size, threads: 2, ..AdviseOptions::new(clock) }
}

/// Columns by name, type and values, of which each is nullable where it has nulls.
fn taken(columns: Vec<(&str, DataType, ArrayRef)>) -> crate::Sample {
    let fields: Vec<Field> = columns
        .iter()
        .map(|(name, _, array)| Field::new(*name, array.data_type().clone(), true))
        .collect();
    let described = columns
        .iter()
        .map(|(name, data_type, _)| Column {
            name: (*name).to_owned(),
            data_type: data_type.clone(),
        })
        .collect();
    let arrays = columns.into_iter().map(|(_, _, array)| array).collect();
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap();
    let mut intake = Intake::new(described);
    // How rows are cut into batches makes no difference.
    for start in (0..batch.num_rows()).step_by(7000) {
        intake.push(&batch.slice(start, 7000.min(batch.num_rows() - start))).unwrap();
    }
    intake.finish(None).unwrap()
}

fn noise(row: usize) -> u64 {
    (row as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20
}

const ROWS: usize = 100_000;

fn table() -> crate::Sample {
    let rows = 0..ROWS;
    let ids: Int64Array = rows.clone().map(|row| Some(1_000_000 + row as i64 * 3)).collect();
    let small: Int64Array = rows.clone().map(|row| Some((noise(row) % 200) as i64)).collect();
    let whole: Float64Array = rows.clone().map(|row| Some((noise(row) % 1000) as f64)).collect();
    let days: StringArray = rows
        .clone()
        .map(|row| Some(format!("20{:02}-03-{:02}", row / 4000, 1 + row % 28)))
        .collect();
    let cities: StringArray =
        rows.clone().map(|row| Some(["Berlin", "Oslo", "Rome"][noise(row) as usize % 3])).collect();
    let full: UInt32Array = rows.map(|row| Some(noise(row) as u32)).collect();
    taken(vec![
        ("id", DataType::Int64, Arc::new(ids)),
        ("small", DataType::Int64, Arc::new(small)),
        ("whole", DataType::Float64, Arc::new(whole)),
        ("day", DataType::String, Arc::new(days)),
        ("city", DataType::String, Arc::new(cities)),
        ("full", DataType::Nullable(Box::new(DataType::UInt32)), Arc::new(full)),
    ])
}

fn advice() -> Advice {
    advise(&table(), &[], &options()).unwrap()
}

#[test]
fn what_is_known_to_suit_is_found() {
    let advice = advice();
    assert_eq!((advice.rows, advice.rows_sampled, advice.complete), (100_000, 100_000, true));
    let column = |name: &str| advice.columns.iter().find(|c| c.column.name == name).unwrap();
    // Equal steps: next to nothing is left.
    let id = column("id").best(Objective::Size);
    assert!(id.stored_bytes < id.raw_bytes / 200, "{id:?}");
    assert!(column("id").now.stored_bytes > 20 * id.stored_bytes);
    // 200 values take 8 bits of 64.
    let small = column("small").best(Objective::Size);
    assert!(small.stored_bytes < small.raw_bytes / 7, "{small:?}");
    let types = |name: &str| -> Vec<String> {
        column(name).types.iter().map(|advice| advice.data_type.to_string()).collect()
    };
    assert_eq!(types("small"), ["UInt8"]);
    assert_eq!(types("whole"), ["UInt16"]);
    assert!(types("day").contains(&"Date32".to_owned()), "{:?}", types("day"));
    assert!(types("city").contains(&"LowCardinality(String)".to_owned()), "{:?}", types("city"));
    assert_eq!(types("full"), ["UInt32"], "no value is NULL");
    assert!(advice.best_bytes(Objective::Size) < advice.now_bytes());
}

#[test]
fn an_order_that_pays_is_found() {
    let city = |row: usize| noise(row) as usize % 3;
    let cities: StringArray =
        (0..ROWS).map(|row| Some(["Berlin", "Oslo", "Rome"][city(row)])).collect();
    let offices: StringArray = (0..ROWS)
        .map(|row| Some(format!("office {} of city {}", row * 7 % 11, city(row))))
        .collect();
    let amounts: Int64Array = (0..ROWS).map(|row| Some((noise(row + 9) % 16) as i64)).collect();
    let sample = taken(vec![
        ("amount", DataType::Int64, Arc::new(amounts) as ArrayRef),
        ("office", DataType::String, Arc::new(offices)),
        ("city", DataType::String, Arc::new(cities)),
    ]);
    let advice = advise(&sample, &[], &options()).unwrap();
    let order = advice.order.expect("cities are in random order");
    // An office is in one city, so that either brings the cities together.
    assert!(["city", "office"].contains(&order.columns[0].as_str()), "{order:?}");
    assert!((order.stored_bytes as f64) < 0.9 * order.now_bytes as f64, "{order:?}");
}

#[test]
fn statements_change_what_pays() {
    let advice = advice();
    let text = statements(&advice, "my table", None);
    assert!(text.contains("ALTER TABLE `my table` MODIFY COLUMN id CODEC("), "{text}");
    assert!(text.contains("-- small could be UInt8: all values are 0 to 199\n"), "{text}");
    for line in text.lines() {
        assert!(
            line.starts_with("ALTER ") || line.starts_with("-- ") || line.starts_with("SET "),
            "{line}"
        );
    }
}

/// On an old server nothing is recommended that it lacks or breaks.
#[test]
fn old_servers_get_what_they_can_take() {
    for version in ["18.16", "19.11", "21.8", "22.10", "24.3", "25.1", "26.7", "26.9"] {
        let server: Version = version.parse().unwrap();
        let advice = advise(
            &table(),
            &[],
            &AdviseOptions { server: Some(server), orders: false, ..options() },
        )
        .unwrap();
        for column in &advice.columns {
            for measure in column.best.iter().chain(&column.measured) {
                let verdict = verdict(&measure.spec, &column.column.data_type, server);
                assert!(verdict.is_usable(), "{version}: {} {verdict}", measure.spec);
            }
        }
    }
}

/// The short search finds what the long one finds, within three percent of the bytes.
#[test]
fn the_short_search_is_nearly_the_long_one() {
    let sample = table();
    let short = advise(&sample, &[], &AdviseOptions { orders: false, ..options() }).unwrap();
    let long = AdviseOptions { orders: false, ..options() }.exhaustive();
    let long = advise(&sample, &[], &long).unwrap();
    for (mine, all) in short.columns.iter().zip(&long.columns) {
        let (mine, best) = (mine.best(Objective::Size), all.best(Objective::Size));
        // By what the long one measured of it; next to nothing is near enough to next to nothing.
        let found = all.measured.iter().find(|measure| measure.spec == mine.spec).unwrap();
        let room = best.stored_bytes as f64 * 1.03 + best.raw_bytes as f64 * 0.005;
        assert!((found.stored_bytes as f64) < room, "{}: {mine:?}, {best:?}", all.column.name);
    }
}

#[test]
fn present_codecs_are_measured() {
    let present =
        vec![
            Present { codec: Some("DoubleDelta, ZSTD(1)".parse().unwrap()), on_disk: Some(77) };
            6
        ];
    let sample = taken(vec![(
        "id",
        DataType::Int64,
        Arc::new((0..ROWS).map(|row| Some(row as i64)).collect::<Int64Array>()),
    )]);
    let advice = advise(&sample, &present, &options()).unwrap();
    let id = &advice.columns[0];
    assert_eq!(
        (id.now.spec.to_string(), id.on_disk),
        ("DoubleDelta, ZSTD(1)".to_owned(), Some(77))
    );
    assert!(id.now.stored_bytes < id.now.raw_bytes / 100);
}

#[test]
fn a_large_input_is_sampled_in_runs() {
    let column = Column { name: "n".to_owned(), data_type: DataType::Int64 };
    let mut intake = Intake::new(vec![column]);
    let rows = 3_000_000_usize;
    for start in (0..rows).step_by(50_000) {
        let values: Int64Array = (start..start + 50_000).map(|row| Some(row as i64)).collect();
        let array: ArrayRef = Arc::new(values);
        intake.push(&RecordBatch::try_from_iter([("n", array)]).unwrap()).unwrap();
    }
    let sample = intake.finish(None).unwrap();
    assert_eq!(sample.rows_total, rows as u64);
    assert!((500_000..1_200_000).contains(&sample.rows()), "{}", sample.rows());
    assert!(sample.complete, "facts are those of all rows");
    let advice = advise(&sample, &[], &options()).unwrap();
    assert_eq!(advice.columns[0].types[0].data_type, DataType::UInt32);
    let raw = advice.columns[0].now.raw_bytes;
    assert!(raw.abs_diff(8 * rows as u64) < 1000, "{raw}");
}

#[test]
fn nothing_at_all_gets_no_advice() {
    let empty = taken(vec![("a", DataType::Int64, Arc::new(Int64Array::from(Vec::<i64>::new())))]);
    let advice = advise(&empty, &[], &options()).unwrap();
    assert_eq!((advice.rows, advice.now_bytes(), advice.order), (0, 0, None));
    let nulls = taken(vec![(
        "a",
        DataType::Nullable(Box::new(DataType::String)),
        Arc::new(StringArray::from(vec![None::<&str>; 10])),
    )]);
    let advice = advise(&nulls, &[], &options()).unwrap();
    assert!(advice.columns[0].types.is_empty());
}

#[test]
fn arrays_of_floats_are_measured_in_whole_values() {
    use arrow_array::builder::{Float64Builder, ListBuilder};
    let mut lists = ListBuilder::new(Float64Builder::new());
    for row in 0..20_000 {
        for at in 0..noise(row) % 3 {
            lists.values().append_option((at != 1).then_some(noise(row + 1) as f64 / 64.0));
        }
        lists.append(true);
    }
    let lists: ArrayRef = Arc::new(lists.finish());
    let kind: DataType = "Array(Nullable(Float64))".parse().unwrap();
    let advice = advise(&taken(vec![("a", kind, lists)]), &[], &options()).unwrap();
    assert_eq!(advice.columns.len(), 1);
}
