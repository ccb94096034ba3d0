//! Statistics of parts: written with them, checked against their rows, ignored where they are not sound.

use super::rows::{memory, seeds};
use super::{STATEMENT, definition, insert, options, rows};
use crate::Table;
use crate::rewrite::Rewrite;
use crate::statistics::{PartStatistics, of_rows};
use crate::verify::verify;
use arrow_array::ArrayRef;
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tambour_part::statistics::{ColumnStatistics, Summary};
use tambour_storage::Storage;

/// The statistics that are kept of each part.
fn kept(storage: &Arc<dyn Storage>, path: &Path) -> Vec<Option<Vec<ColumnStatistics>>> {
    let table = Table::open_on(storage, path).unwrap();
    let kept = table.parts().iter().map(|part| {
        let opened = PartStatistics::open(storage.as_ref(), path, part).unwrap()?;
        let columns = opened.columns(part).unwrap();
        for column in &columns {
            assert_eq!(opened.total(part, &column.column), Some(column.total()));
        }
        Some(columns)
    });
    kept.collect()
}

/// Those of the rows.
fn computed(storage: &Arc<dyn Storage>, path: &Path) -> Vec<Option<Vec<ColumnStatistics>>> {
    let table = Table::open_on(storage, path).unwrap();
    table.parts().iter().map(|part| Some(of_rows(part).unwrap())).collect()
}

fn table(storage: &Arc<dyn Storage>) {
    let definition = definition(STATEMENT);
    let batch = rows(&definition, 0, &seeds(500, 2, 7));
    insert(storage, Path::new("t"), &definition, options(), &[batch]).unwrap();
}

#[test]
fn every_part_that_is_inserted_has_those_of_its_rows() {
    let storage = memory();
    table(&storage);
    let kept = kept(&storage, Path::new("t"));
    assert_eq!(kept, computed(&storage, Path::new("t")));
    let names = kept.iter().flatten().flatten().map(|it| it.column.name.as_str());
    assert_eq!(names.take(4).collect::<Vec<_>>(), ["d", "k", "n", "id"]);
    let nulls = kept.iter().flatten().flatten().map(|it| it.total().nulls).sum::<u64>();
    assert!(nulls > 0);
}

/// Of a column that is written anew, those of its new values; of one that has another name, those of before.
#[test]
fn they_follow_columns_that_change() {
    let storage = memory();
    table(&storage);
    let path = Path::new("t");
    let of_id = |kept: &[Option<Vec<ColumnStatistics>>]| {
        let columns = kept[0].iter().flatten();
        columns.into_iter().find(|it| it.column.name == "id").map(ColumnStatistics::total)
    };
    let before = of_id(&kept(&storage, path));
    let mut rewrite = Rewrite::begin(&storage, path, "a test", options()).unwrap();
    let at = |name: &str, rewrite: &Rewrite| {
        rewrite.definition().columns.iter().position(|it| it.column.name == name).unwrap()
    };
    let at = at("id", &rewrite);
    for part in rewrite.table().part_names().to_vec() {
        let (mut draft, rows, is_alone) = rewrite.update(&part, &[at]).unwrap();
        assert!(is_alone);
        for batch in rows {
            let batch = batch.unwrap();
            let ids = batch.column(0).as_primitive::<UInt64Type>();
            let other: ArrayRef = Arc::new(ids.unary::<_, UInt64Type>(|it| it * 3 + 1));
            draft.write(&RecordBatch::try_new(batch.schema(), vec![other]).unwrap()).unwrap();
        }
        rewrite.put(draft).unwrap();
    }
    rewrite.commit().unwrap();
    let sorted = |mut all: Vec<Option<Vec<ColumnStatistics>>>| {
        for columns in all.iter_mut().flatten() {
            columns.sort_by(|one, two| one.column.name.cmp(&two.column.name));
        }
        all
    };
    let after = kept(&storage, path);
    assert!(of_id(&after).is_some() && of_id(&after) != before);
    assert_eq!(sorted(after), sorted(computed(&storage, path)));
    assert!(super::alter::alter(&storage, path, "RENAME COLUMN id TO number").unwrap() > 0);
    let after = kept(&storage, path);
    assert!(after[0].iter().flatten().any(|it| it.column.name == "number"));
    assert_eq!(sorted(after), sorted(computed(&storage, path)));
}

#[test]
fn every_flipped_byte_is_noticed_and_changes_no_answer() {
    let storage = memory();
    table(&storage);
    let path = Path::new("t");
    let opened = Table::open_on(&storage, path).unwrap();
    let part = &opened.parts()[0];
    let file = path.join("tambour_statistics").join(part.content_hash());
    let good = storage.read(&file, 1 << 20).unwrap();
    let expected = PartStatistics::open(storage.as_ref(), path, part).unwrap().unwrap();
    let expected = expected.columns(part).unwrap();
    let replace = |bytes: &[u8]| {
        storage.remove_file(&file).unwrap();
        storage.create(&file).unwrap().write_all(bytes).unwrap();
    };
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1 << (at % 8);
        replace(&bad);
        let read = PartStatistics::open(storage.as_ref(), path, part);
        let read = read.and_then(|it| it.unwrap().columns(part));
        assert!(read.is_err(), "byte {at} of {}", good.len());
    }
    let seen = verify(&storage, path, &mut |_| {}).unwrap();
    assert_eq!((seen.damage.len(), seen.notes.len()), (0, 1));
    for length in [0, 1, good.len() / 2, good.len() - 1] {
        replace(&good[..length]);
        let read = PartStatistics::open(storage.as_ref(), path, part);
        assert!(read.and_then(|it| it.unwrap().columns(part)).is_err(), "cut at {length}");
    }
    replace(&good);
    let read = PartStatistics::open(storage.as_ref(), path, part).unwrap().unwrap();
    assert_eq!(read.columns(part).unwrap(), expected);
}

#[test]
fn the_golden_file_is_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/statistics/2026-11");
    let storage = tambour_storage::disk();
    let kept = kept(&storage, &path);
    assert_eq!(kept, computed(&storage, &path));
    let columns = kept[0].as_deref().unwrap();
    let total = |name: &str| columns.iter().find(|it| it.column.name == name).unwrap().total();
    let extremes = Some((0, 149));
    let k = Summary { rows: 150, nulls: 0, nans: 0, extremes, sum: Some(149 * 75) };
    assert_eq!(total("k"), k);
    let n = Summary { rows: 150, nulls: 50, nans: 0, extremes: Some((-149, -1)), sum: Some(-7500) };
    assert_eq!(total("n"), n);
    assert_eq!((total("x").nans, total("x").sum), (15, None));
    assert_eq!(total("p").sum, Some((0..150).map(|k| k * 25).sum()));
    let granules: Vec<u64> = columns[0].granules.iter().map(|it| it.rows).collect();
    assert_eq!(granules, [64, 64, 22]);
}

/// `GOLDEN=golden/statistics/2026-11 cargo test -p tambour-table --lib -- --ignored write_golden_statistics`
#[test]
#[ignore = "makes a golden file; see the comment"]
fn write_golden_statistics() {
    use arrow_array::{
        ArrayRef, Date32Array, Decimal128Array, Float64Array, Int64Array, RecordBatch,
        StringViewArray, TimestampSecondArray, UInt32Array,
    };
    let definition = definition(
        "CREATE TABLE t (k UInt32, n Nullable(Int64), x Float64, p Decimal(18, 2), d Date, \
         t DateTime('UTC'), s String) ENGINE = MergeTree ORDER BY k SETTINGS index_granularity = 64",
    );
    let n = (0..150).map(|k| (k % 3 > 0).then_some(-k)).collect::<Int64Array>();
    let x = (0..150).map(|k: u8| if k % 10 == 3 { f64::NAN } else { f64::from(k) - 70.5 });
    let p = Decimal128Array::from_iter_values((0..150).map(|k| k * 25));
    let t = TimestampSecondArray::from_iter_values((0..150).map(|k| 1_700_000_000 + k * 3600));
    let columns: Vec<ArrayRef> = vec![
        Arc::new(UInt32Array::from_iter_values(0..150)),
        Arc::new(n),
        Arc::new(Float64Array::from_iter_values(x)),
        Arc::new(p.with_precision_and_scale(18, 2).unwrap()),
        Arc::new(Date32Array::from_iter_values(19_000..19_150)),
        Arc::new(t.with_timezone("UTC")),
        Arc::new(StringViewArray::from_iter_values((0..150).map(|k| format!("value {k}")))),
    ];
    let strings = tambour_part::types::Strings::Utf8;
    let schema = tambour_part::types::arrow_schema(&definition.plain_columns(), strings);
    let batch = RecordBatch::try_new(Arc::new(schema), columns).unwrap();
    let path = PathBuf::from(std::env::var_os("GOLDEN").unwrap());
    insert(&tambour_storage::disk(), &path, &definition, options(), &[batch]).unwrap();
}
