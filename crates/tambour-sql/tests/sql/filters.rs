//! Random filters: pruning may leave out granules, never rows.

use crate::support::{Fixture, Numbers, insert, lines};
use arrow::array::{Float64Array, RecordBatch, UInt64Array};
use datafusion::datasource::MemTable;
use std::sync::Arc;
use tambour_part::types::{Strings, arrow_schema};
use tambour_sql::{Session, SessionOptions};
use tambour_table::Table;
use tambour_table::schema::TableDefinition;

/// A condition by chance, over all columns; `depth` bounds its nesting.
pub(crate) fn condition(numbers: &mut Numbers, depth: u64) -> String {
    if depth > 0 && numbers.below(3) > 0 {
        let left = condition(numbers, depth - 1);
        let right = condition(numbers, depth - 1);
        return match numbers.below(4) {
            0 => format!("({left} OR {right})"),
            1 => format!("NOT ({left} AND {right})"),
            _ => format!("({left} AND {right})"),
        };
    }
    let pick = |numbers: &mut Numbers, from: &[&str]| {
        from[usize::try_from(numbers.below(from.len() as u64)).unwrap()].to_owned()
    };
    let comparison = pick(numbers, &["=", "!=", "<", "<=", ">", ">="]);
    let text = pick(numbers, &["''", "'a'", "'ab'", "'b'", "'longer than twelve bytes'", "'zz'"]);
    match numbers.below(14) {
        0 | 1 => format!("k {comparison} {}", numbers.below(220) as i64 - 60),
        2 => format!("k IN ({}, {}, 3)", numbers.below(150), numbers.below(150)),
        3 => format!("s {comparison} {text}"),
        4 if numbers.below(2) == 0 => pick(
            numbers,
            &[
                "s IN ('a', 'ba', 'longer than twelve bytes')",
                "s NOT IN ('a', '')",
                "s NOT LIKE '%a%'",
                "s LIKE '%o%n%tw%'",
                "s LIKE '%b%'",
                "empty(s)",
                "notEmpty(s)",
                "length(s) > 2",
                "l LIKE '%b%'",
                "l NOT LIKE '%a%b'",
                "length(l) > 1",
                "l IS NULL",
                "intDiv(12, length(l)) > 4",
                "upper(l) = 'AB' OR l <> ''",
                "l IN ('a', 'ba', 'longer than twelve bytes')",
            ],
        ),
        4 => format!("s LIKE {}", pick(numbers, &["'a%'", "'ab_'", "'%a'", "'b'", "'l%s'"])),
        5 => format!("l {comparison} {text}"),
        // Only equality knows what a name that is not there means.
        6 if matches!(comparison.as_str(), "=" | "!=") => {
            format!("e {comparison} {}", pick(numbers, &["'a'", "'b'", "'c'", "'nowhere'"]))
        }
        6 => format!("e {comparison} {}", pick(numbers, &["'a'", "'b'", "'c'"])),
        7 => format!("x {comparison} {}.25", numbers.below(100) as i64 - 10),
        8 => format!("n {comparison} {}", numbers.below(40) as i64 - 20),
        9 => format!("n IS {}NULL", pick(numbers, &["", "NOT "])),
        10 => format!(
            "t {comparison} TIMESTAMP '2024-0{}-{:02} {:02}:00:00Z'",
            numbers.below(3) + 1,
            numbers.below(28) + 1,
            numbers.below(24)
        ),
        11 => format!("p {comparison} {}.{:02}", numbers.below(900), numbers.below(100)),
        12 => {
            let byte = format!("{:02x}", numbers.below(9) * 29);
            let uuid = [4, 2, 2, 2, 6].map(|bytes| byte.repeat(bytes)).join("-");
            format!("u {comparison} '{uuid}'")
        }
        _ => format!("d {comparison} DATE '2022-{:02}-01'", numbers.below(12) + 1),
    }
}

fn filters(partition_by: &str, order_by: &str, seed: u64, count: usize) {
    let fixture = Fixture::new(partition_by, order_by);
    let session = fixture.session(2);
    let mut numbers = Numbers::new(seed);
    for _ in 0..count {
        let condition = condition(&mut numbers, 2);
        let [ours, theirs] = ["t", "naive"].map(|table| {
            lines(&session, &format!("SELECT count(*), sum(id) FROM {table} WHERE {condition}"))
        });
        assert_eq!(ours, theirs, "{condition}");
    }
}

#[test]
fn by_month_and_number() {
    filters("toYYYYMM(t)", "(k, s, t)", 1, 150);
}

#[test]
fn by_enum_and_text() {
    filters("e", "(s, l, d)", 2, 150);
}

#[test]
fn by_time_and_decimal() {
    filters("tuple()", "(toStartOfDay(t), p, n)", 3, 150);
}

#[test]
fn by_float_and_uuid() {
    filters("(toYYYYMM(d), l)", "(x, u)", 4, 150);
}

type Compare = fn(&f64, &f64) -> bool;

/// NaNs of both signs and both zeros, compared as the processor does: by hand, and by a table whose key is the column.
#[test]
#[expect(clippy::float_cmp, reason = "equal is what is compared with")]
fn floats_that_are_no_numbers() {
    let special = [f64::NAN, -f64::NAN, 0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY];
    let values: Vec<f64> = (0..2000_u32)
        .map(|row| match special.get(row as usize % 97) {
            Some(special) => *special,
            None => f64::from(row * 7919 % 401) / 4.0 - 50.0,
        })
        .collect();
    let definition = TableDefinition::parse(
        "CREATE TABLE t (x Float64, id UInt64) ENGINE = MergeTree ORDER BY x SETTINGS index_granularity = 16",
    )
    .unwrap();
    let schema = Arc::new(arrow_schema(&definition.plain_columns(), Strings::Utf8));
    let columns: Vec<arrow::array::ArrayRef> = vec![
        Arc::new(Float64Array::from(values.clone())),
        Arc::new(UInt64Array::from_iter_values(0..2000)),
    ];
    let rows = RecordBatch::try_new(Arc::clone(&schema), columns).unwrap();
    let directory = tempfile::TempDir::new().unwrap();
    let path = directory.path().join("t");
    insert(&path, &definition, rows.clone());
    let session = Session::new(&SessionOptions::default()).unwrap();
    session.register(Arc::new(Table::open(&path).unwrap())).unwrap();
    let naive = MemTable::try_new(schema, vec![vec![rows]]).unwrap();
    session.context().register_table("naive", Arc::new(naive)).unwrap();
    let comparisons: [(&str, Compare); 6] = [
        ("=", |a, b| a == b),
        ("!=", |a, b| a != b),
        ("<", |a, b| a < b),
        ("<=", |a, b| a <= b),
        (">", |a, b| a > b),
        (">=", |a, b| a >= b),
    ];
    for constant in [-50.0, -3.25, 0.0, 12.0, 49.75] {
        for (operator, compare) in comparisons {
            for negated in [false, true] {
                let matching = values.iter().filter(|value| compare(value, &constant) != negated);
                let not = if negated { "NOT" } else { "" };
                let condition = format!("{not} (x {operator} {constant:?})");
                for table in ["t", "naive"] {
                    let query = format!("SELECT count(*) AS c FROM {table} WHERE {condition}");
                    let got = lines(&session, &query);
                    let count = format!("| {} ", matching.clone().count());
                    assert!(got.iter().any(|line| line.starts_with(&count)), "{query}: {got:?}");
                }
            }
        }
    }
}
