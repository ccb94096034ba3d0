//! The rules over rows that are cut into batches in any way, against the same rules over a list of rows.

use super::{Engine, Fold, Folded, Use, sorting_key};
use crate::intake::interleaved;
use crate::key::Key;
use crate::schema::TableDefinition;
use crate::tournament::{Sorted, Tournament};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, UInt8Type, UInt32Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int8Array, Int64Array, RecordBatch, StringArray, UInt8Array,
    UInt32Array,
};
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
    let key = Arc::new(Key::new(&sorting_key(definition), &columns, &schema).unwrap());
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

fn summed(rows: &[Row]) -> Vec<u32> {
    let versions = rows.iter().fold(0_u8, |sum, it| sum.wrapping_add(it.1));
    let signs = rows.iter().fold(0_i8, |sum, it| sum.wrapping_add(it.2));
    if versions == 0 && signs == 0 { Vec::new() } else { vec![rows[0].3] }
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
            for rows in &mut sources {
                rows.sort_by_key(key);
            }
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
        let summing = definition("SummingMergeTree((v, s))", "Int8");
        let expected = all(by_key, &summed);
        assert_eq!(left(&summing, &sorted(by_key), sizes, purpose), expected);
    }
}

/// The values of rows with one key, which come in batches of one row, as text.
fn computed(engine: &str, data_type: &str, values: &[ArrayRef]) -> String {
    let statement = format!("CREATE TABLE t (k UInt8, c {data_type}) ENGINE = {engine} ORDER BY k");
    let definition = TableDefinition::parse(&statement).unwrap();
    assert_eq!(TableDefinition::parse(&definition.to_string()).unwrap(), definition);
    let columns = definition.plain_columns();
    let schema = Arc::new(arrow_schema(&columns, Strings::Utf8));
    let mut fold = Fold::of_insert(&definition, &schema).unwrap().unwrap();
    let mut rows = Vec::new();
    for value in values {
        let key: ArrayRef = Arc::new(UInt8Array::from(vec![1; value.len()]));
        let batch = RecordBatch::try_new(Arc::clone(&schema), vec![key, Arc::clone(value)]);
        rows.extend(fold.push(batch.unwrap(), &[]).unwrap());
    }
    rows.extend(fold.finish().unwrap());
    rows.retain(|it| it.num_rows() > 0);
    let texts = rows.iter().map(|rows| format!("{:?}", rows.column(1).slice(0, 1)));
    texts.collect::<Vec<_>>().join("; ")
}

#[test]
fn values_are_computed_across_batches() {
    let numbers = |values: &[Option<i64>]| Arc::new(Int64Array::from(values.to_vec())) as ArrayRef;
    let batches = [numbers(&[None, Some(7)]), numbers(&[Some(-3)]), numbers(&[None])];
    for (function, expected) in [
        ("sum", "4"),
        ("min", "-3"),
        ("max", "7"),
        ("any", "7"),
        ("anyLast", "-3"),
        ("anyLast_respect_nulls", "null"),
        ("any_respect_nulls", "null"),
        ("groupBitOr", "-1"),
        ("groupBitAnd", "5"),
        ("groupBitXor", "-6"),
    ] {
        let data_type = format!("SimpleAggregateFunction({function}, Nullable(Int64))");
        let got = computed("AggregatingMergeTree", &data_type, &batches);
        let lines: Vec<&str> = got.lines().map(str::trim).collect();
        assert_eq!(lines.get(2), Some(&format!("{expected},").as_str()), "{function}: {got}");
    }
    let zeros = [numbers(&[Some(5)]), numbers(&[Some(-5)])];
    assert_eq!(computed("SummingMergeTree", "Int64", &zeros), "");
    // What can be NULL is not zero while it is a number.
    assert!(computed("SummingMergeTree", "Nullable(Int64)", &zeros).contains('0'));
}

#[test]
fn a_shared_dictionary_stays_the_same() {
    let names: ArrayRef = Arc::new(StringArray::from(vec!["b", "a"]));
    let batch = |keys: Vec<i8>| {
        let array = DictionaryArray::new(Int8Array::from(keys), Arc::clone(&names));
        RecordBatch::try_from_iter([("e", Arc::new(array) as ArrayRef)]).unwrap()
    };
    let (one, other) = (batch(vec![0, 1]), batch(vec![1, 0]));
    let rows = interleaved(&[&one, &other], &[(1, 0), (0, 0), (1, 1)]).unwrap();
    let rows = rows.column(0).as_dictionary::<Int8Type>();
    assert!(Arc::ptr_eq(rows.values(), &names));
    assert_eq!(rows.keys().values().to_vec(), [1, 0, 0]);
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
    let key: Vec<String> = sorting_key(&versioned).iter().map(ToString::to_string).collect();
    assert_eq!(key, ["k", "v"]);
    for (engine, says) in [
        ("ReplacingMergeTree(w)", "w"),
        ("ReplacingMergeTree(v, v, v)", "parameters"),
        ("ReplacingMergeTree(v + 1)", "expected"),
        ("CollapsingMergeTree(v)", "sign"),
        ("GraphiteMergeTree('rollup')", "GraphiteMergeTree"),
        ("SummingMergeTree(k)", "key"),
        ("SummingMergeTree((v, w))", "w"),
        ("AggregatingMergeTree(v)", "parameters"),
    ] {
        let error = of(engine, "Int8").unwrap_err().to_string();
        assert!(error.contains(says), "{engine}: {error}");
    }
}

#[test]
fn what_only_clickhouse_adds_up_is_refused() {
    for (engine, columns, says) in [
        ("SummingMergeTree", "k UInt8, b Bool", "`b`"),
        ("SummingMergeTree", "k UInt8, `aMap.k` Array(UInt8), `aMap.v` Array(UInt8)", "`aMap.k`"),
        ("SummingMergeTree", "k UInt8, s SimpleAggregateFunction(max, String)", "`s`"),
        ("AggregatingMergeTree", "k UInt8, s AggregateFunction(uniq, UInt8)", "`s`"),
        (
            "AggregatingMergeTree",
            "k UInt8, s SimpleAggregateFunction(groupArrayArray(10), Array(UInt8))",
            "`s`",
        ),
    ] {
        let statement = format!("CREATE TABLE t ({columns}) ENGINE = {engine} ORDER BY k");
        let error = Engine::of(&TableDefinition::parse(&statement).unwrap()).unwrap_err();
        assert!(error.to_string().contains(says), "{statement}: {error}");
    }
}
