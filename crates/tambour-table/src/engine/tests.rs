//! The rules over rows that are cut into batches in any way, against the same rules over a list of rows.

use super::{Engine, Fold, Folded, Use};
use crate::key::Key;
use crate::schema::TableDefinition;
use crate::tournament::{Sorted, Tournament};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, UInt8Type, UInt32Type};
use arrow_array::{ArrayRef, Int8Array, RecordBatch, UInt8Array, UInt32Array};
use proptest::prelude::{ProptestConfig, any, prop, proptest};
use std::sync::Arc;
use tambour_part::types::{Strings, arrow_schema};

/// Key, version, sign or flag, and a number that tells rows apart.
type Row = (u8, u8, i8, u32);

fn definition(engine: &str, flag: &str) -> TableDefinition {
    let statement = format!(
        "CREATE TABLE t (k UInt8, v UInt8, s {flag}, id UInt32) ENGINE = {engine} ORDER BY k"
    );
    TableDefinition::parse(&statement).unwrap()
}

fn batch(rows: &[Row], is_sign: bool) -> RecordBatch {
    let keys: ArrayRef = Arc::new(UInt8Array::from_iter_values(rows.iter().map(|it| it.0)));
    let versions: ArrayRef = Arc::new(UInt8Array::from_iter_values(rows.iter().map(|it| it.1)));
    let signs: ArrayRef = if is_sign {
        Arc::new(Int8Array::from_iter_values(rows.iter().map(|it| it.2)))
    } else {
        Arc::new(UInt8Array::from_iter_values(rows.iter().map(|it| u8::from(it.2 < 0))))
    };
    let ids: ArrayRef = Arc::new(UInt32Array::from_iter_values(rows.iter().map(|it| it.3)));
    RecordBatch::try_from_iter([("k", keys), ("v", versions), ("s", signs), ("id", ids)]).unwrap()
}

/// What is left of sorted sources, each in batches of some rows.
fn left(
    definition: &TableDefinition,
    sources: &[Vec<Row>],
    (batch_rows, rows_max): (usize, usize),
    purpose: Use,
) -> Vec<u32> {
    let columns = definition.plain_columns();
    let schema = Arc::new(arrow_schema(&columns, Strings::Binary));
    let key = Arc::new(Key::new(&definition.sorting_key(), &columns, &schema).unwrap());
    let engine = Engine::of(definition).unwrap();
    let is_sign = columns[2].data_type.to_string() == "Int8";
    let sorted = |rows: &Vec<Row>| {
        let batches = rows.chunks(batch_rows).map(|rows| {
            let batch = batch(rows, is_sign);
            let keys = key.evaluate(&batch).unwrap();
            Ok((batch, keys))
        });
        Box::new(batches.collect::<Vec<_>>().into_iter()) as Sorted<'static>
    };
    let tournament = Tournament::new(sources.iter().map(sorted).collect(), rows_max);
    let fold = Fold::new(&engine, &key, (&columns, &schema), purpose).unwrap();
    let mut ids = Vec::new();
    for batch in Folded::new(tournament, Some(fold)) {
        let batch = batch.unwrap();
        assert!(batch.num_rows() > 0);
        ids.extend_from_slice(batch.column(3).as_primitive::<UInt32Type>().values());
    }
    ids
}

/// Rows with the same key, in the order of their sources.
fn groups(sources: &[Vec<Row>], key: fn(&Row) -> (u8, u8)) -> Vec<Vec<Row>> {
    let mut rows: Vec<Row> = sources.iter().flatten().copied().collect();
    rows.sort_by_key(key);
    rows.chunk_by(|a, b| key(a) == key(b)).map(<[Row]>::to_vec).collect()
}

fn replaced(rows: &[Row], purpose: Use) -> Vec<u32> {
    let newest = rows.iter().max_by_key(|it| it.1).unwrap();
    if purpose == Use::Read && newest.2 < 0 { Vec::new() } else { vec![newest.3] }
}

fn collapsed(rows: &[Row], purpose: Use) -> Vec<u32> {
    let positive = rows.iter().filter(|it| it.2 > 0).count();
    let negative = rows.len() - positive;
    let mut ids = Vec::new();
    if positive == negative && rows.last().unwrap().2 < 0 {
        return ids;
    }
    if positive <= negative && purpose == Use::Store {
        ids.extend(rows.iter().find(|it| it.2 < 0).map(|it| it.3));
    }
    if positive >= negative {
        ids.extend(rows.iter().rfind(|it| it.2 > 0).map(|it| it.3));
    }
    ids
}

fn cancelled(rows: &[Row]) -> Vec<u32> {
    let mut left: Vec<Row> = Vec::new();
    for row in rows {
        if left.last().is_some_and(|it| it.2 != row.2) {
            left.pop();
        } else {
            left.push(*row);
        }
    }
    left.iter().map(|it| it.3).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn what_stays_does_not_depend_on_batches(
        sources in prop::collection::vec(
            prop::collection::vec((0_u8..9, 0_u8..4, any::<bool>()), 0..60), 1..6),
        batch_rows in 1_usize..40,
        rows_max in 1_usize..40,
        is_read in any::<bool>(),
    ) {
        let mut id = 0;
        let mut next = |(key, version, sign): (u8, u8, bool)| {
            id += 1;
            (key, version, if sign { 1 } else { -1 }, id)
        };
        let sources: Vec<Vec<Row>> =
            sources.into_iter().map(|rows| rows.into_iter().map(&mut next).collect()).collect();
        let purpose = if is_read { Use::Read } else { Use::Store };
        let sizes = (batch_rows, rows_max);
        let by_key = |it: &Row| (it.0, 0);
        let sorted = |key: fn(&Row) -> (u8, u8)| {
            let mut sources = sources.clone();
            sources.iter_mut().for_each(|rows| rows.sort_by_key(key));
            sources
        };
        let all = |key: fn(&Row) -> (u8, u8), rule: &dyn Fn(&[Row]) -> Vec<u32>| {
            groups(&sorted(key), key).iter().flat_map(|rows| rule(rows)).collect::<Vec<u32>>()
        };
        let replacing = definition("ReplacingMergeTree(v, s)", "UInt8");
        let expected = all(by_key, &|rows| replaced(rows, purpose));
        assert_eq!(left(&replacing, &sorted(by_key), sizes, purpose), expected);
        let collapsing = definition("CollapsingMergeTree(s)", "Int8");
        let expected = all(by_key, &|rows| collapsed(rows, purpose));
        assert_eq!(left(&collapsing, &sorted(by_key), sizes, purpose), expected);
        let by_version = |it: &Row| (it.0, it.1);
        let versioned = definition("VersionedCollapsingMergeTree(s, v)", "Int8");
        let expected = all(by_version, &cancelled);
        assert_eq!(left(&versioned, &sorted(by_version), sizes, purpose), expected);
    }
}

#[test]
fn flags_and_signs_are_checked() {
    let read = |engine: &str, flag: &str, value: ArrayRef| {
        let definition = definition(engine, flag);
        let columns = definition.plain_columns();
        let schema = Arc::new(arrow_schema(&columns, Strings::Binary));
        let mut fold = Fold::of_insert(&definition, &schema).unwrap().unwrap();
        let rows = batch(&[(1, 1, 1, 1)], flag == "Int8");
        let mut columns = rows.columns().to_vec();
        columns[2] = value;
        let rows = RecordBatch::try_new(rows.schema(), columns).unwrap();
        fold.push(rows, &[]).and_then(|_| fold.finish()).unwrap_err().to_string()
    };
    let error = read(
        "ReplacingMergeTree(v, s)",
        "UInt8",
        Arc::new(arrow_array::PrimitiveArray::<UInt8Type>::from(vec![2])),
    );
    assert!(error.contains("0 or 1"), "{error}");
    let error = read(
        "CollapsingMergeTree(s)",
        "Int8",
        Arc::new(arrow_array::PrimitiveArray::<Int8Type>::from(vec![0])),
    );
    assert!(error.contains("1 or -1"), "{error}");
}

#[test]
fn engines_are_known_by_their_columns() {
    let of = |engine: &str, flag: &str| Engine::of(&definition(engine, flag));
    let replacing = Engine::Replacing { version: Some("v".to_owned()), is_deleted: None };
    assert_eq!(
        of("ReplicatedReplacingMergeTree('/p', '{replica}', v)", "UInt8").unwrap(),
        replacing
    );
    assert_eq!(of("ReplacingMergeTree", "UInt8").unwrap().columns(), Vec::<&str>::new());
    assert!(of("ReplicatedMergeTree('/p', 'r')", "UInt8").unwrap().is_plain());
    let versioned = definition("VersionedCollapsingMergeTree(s, v)", "Int8");
    let key: Vec<String> = versioned.sorting_key().iter().map(ToString::to_string).collect();
    assert_eq!(key, ["k", "v"]);
    for (engine, says) in [
        ("ReplacingMergeTree(w)", "w"),
        ("ReplacingMergeTree(v, v, v)", "parameters"),
        ("ReplacingMergeTree(v + 1)", "expected"),
        ("CollapsingMergeTree(v)", "sign"),
        ("GraphiteMergeTree('rollup')", "GraphiteMergeTree"),
    ] {
        let error = of(engine, "Int8").unwrap_err().to_string();
        assert!(error.contains(says), "{engine}: {error}");
    }
}
