//! Functions of dictionaries say of a value what they would of each row that has it: random queries with that switched on and off.

use crate::late::{pick, set};
use crate::support::{Numbers, block_on, insert, text};
use arrow::array::{Array, ArrayRef, DictionaryArray, RecordBatch, UInt32Array};
use arrow::datatypes::Int32Type;
use arrow::util::pretty::pretty_format_batches;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tambour_part::types::{Strings, arrow_schema};
use tambour_sql::{Session, SessionOptions};
use tambour_table::Table;
use tambour_table::schema::TableDefinition;
use tempfile::TempDir;

const ROWS: usize = 2000;
/// Some are numbers; some functions fail for the empty text, or for `12`.
const TEXTS: [&str; 9] = [
    "",
    "a",
    "ab",
    "12",
    "7",
    "longer than twelve bytes",
    "longer than twelve",
    "\u{c9}t\u{e9}",
    "a,b,a",
];

/// Of a column `c`.
const FUNCTIONS: [&str; 32] = [
    "c",
    "upper(c)",
    "length(c)",
    "lengthUTF8(c)",
    "reverse(c)",
    "substring(c, 2, 3)",
    "concat(c, '!')",
    "concat(c, c)",
    "c LIKE '%a%'",
    "c NOT LIKE '%n%t%'",
    "c ILIKE 'A%'",
    "c = 'ab'",
    "c <> ''",
    "c < 'b'",
    "c IN ('a', '12', 'nowhere')",
    "c NOT IN ('a', '')",
    "c IS NULL",
    "isNotNull(c)",
    "ifNull(c, 'none')",
    "coalesce(c, 'none') = 'none'",
    "nullIf(c, 'a')",
    "if(c = 'a', 1, 0)",
    "empty(c) OR c = '7'",
    "NOT (c LIKE 'l%' AND length(c) > 18)",
    "position(c, 'a')",
    "toUInt32OrNull(c)",
    "toUInt32OrZero(c) + 1",
    "splitByChar(',', c)",
    "CAST(c AS String)",
    // These fail for some values.
    "intDiv(12, length(c))",
    "toUInt32(c)",
    "throwIf(c = '12')",
];

const CONDITIONS: [&str; 8] = [
    "id >= 0",
    "c <> ''",
    "c <> '12' AND c <> ''",
    "length(c) > 2",
    "c IN ('12', '7')",
    "id % 5 = 1",
    "n > 3 AND c LIKE '%a%'",
    "c IS NULL OR c = 'a'",
];

/// A table of several parts, whose dictionaries are of other values.
fn table(directory: &TempDir) -> PathBuf {
    let path = directory.path().join("t");
    let definition = TableDefinition::parse(
        "CREATE TABLE t (id UInt32, n UInt32, l LowCardinality(String), m LowCardinality(Nullable(String))) \
         ENGINE = MergeTree ORDER BY id SETTINGS index_granularity = 64",
    )
    .unwrap();
    for part in 0..4 {
        let mut numbers = Numbers::new(part);
        let mut draw = |limit: u64| -> Vec<usize> {
            (0..ROWS).map(|_| usize::try_from(numbers.below(limit)).unwrap()).collect()
        };
        let first = usize::try_from(part).unwrap();
        let texts = |places: &[usize]| -> DictionaryArray<Int32Type> {
            places.iter().map(|it| TEXTS.get(first + it).copied()).collect()
        };
        let (plain, some) = (texts(&draw(5)), texts(&draw(9)));
        assert_eq!(plain.null_count(), 0);
        let ids = (0..ROWS).map(|row| u32::try_from(first * ROWS + row).unwrap());
        let columns: Vec<ArrayRef> = vec![
            Arc::new(UInt32Array::from_iter_values(ids)),
            Arc::new(draw(9).into_iter().map(|it| u32::try_from(it).ok()).collect::<UInt32Array>()),
            Arc::new(plain),
            Arc::new(some),
        ];
        let schema = arrow_schema(&definition.plain_columns(), Strings::Utf8);
        let rows = RecordBatch::try_new(Arc::new(schema), columns).unwrap();
        insert(&path, &definition, rows);
    }
    path
}

fn session(path: &Path, threads: usize) -> Session {
    let options = SessionOptions { threads, batch_rows: 256, ..SessionOptions::default() };
    let session = Session::new(&options).unwrap();
    session.register(Arc::new(Table::open(path).unwrap())).unwrap();
    session
}

fn query(numbers: &mut Numbers) -> String {
    let column = ["l", "m"][usize::from(numbers.below(2) == 0)];
    let function = pick(numbers, &FUNCTIONS);
    let condition = pick(numbers, &CONDITIONS);
    let other = pick(numbers, &FUNCTIONS[..29]);
    let text = match numbers.below(6) {
        0 => format!("SELECT {function} AS g, count() FROM t WHERE {condition} GROUP BY g"),
        1 => format!(
            "SELECT n, max(toString({function})), count({other}) FROM t WHERE {condition} GROUP BY n"
        ),
        2 => format!(
            "SELECT c, {other} AS g, min({function}) FROM t WHERE {condition} GROUP BY c, g"
        ),
        3 => {
            format!("SELECT count(), sum(id) FROM t WHERE {condition} AND ({function}) IS NOT NULL")
        }
        4 => format!("SELECT uniqExact({function}) FROM t WHERE {condition}"),
        _ => format!(
            "SELECT id, {other} FROM t WHERE {condition} AND toString({function}) > '1' ORDER BY id"
        ),
    };
    let mut result = String::new();
    for (place, letter) in text.char_indices() {
        let is_word = |it: Option<char>| it.is_some_and(|it| it.is_alphanumeric() || it == '_');
        let is_alone = !is_word(text[..place].chars().next_back())
            && !is_word(text[place + letter.len_utf8()..].chars().next());
        if letter == 'c' && is_alone { result.push_str(column) } else { result.push(letter) }
    }
    result
}

/// The rows of a result, in any order; nothing if there is an error.
fn outcome(session: &Session, statement: &str) -> Option<Vec<String>> {
    let result = block_on(async {
        let mut execution = session.sql(statement).await?.execute().await?;
        execution.collect().await
    });
    let text = pretty_format_batches(&result.ok()?).unwrap().to_string();
    let mut lines: Vec<String> = text.lines().map(ToOwned::to_owned).collect();
    lines.sort();
    Some(lines)
}

#[test]
fn functions_of_dictionaries_by_chance() {
    let directory = TempDir::new().unwrap();
    let path = table(&directory);
    let with = [session(&path, 1), session(&path, 3)];
    let without = session(&path, 2);
    for switch in ["tambour.scan_dictionaries", "tambour.scan_groups", "tambour.scan_bytes"] {
        set(&without, switch, false);
    }
    let (mut right, mut failed) = (0, 0);
    for seed in 0..300 {
        let statement = query(&mut Numbers::new(seed));
        let expected = outcome(&without, &statement);
        match &expected {
            Some(_) => right += 1,
            None => failed += 1,
        }
        for session in &with {
            assert_eq!(outcome(session, &statement), expected, "seed {seed}: {statement}");
        }
    }
    assert!(right > 200 && failed > 5, "{right} right, {failed} failed");
}

/// What is another value each time is asked for each row.
#[test]
fn what_is_not_the_same_twice_is_asked_for_each_row() {
    let directory = TempDir::new().unwrap();
    let session = session(&table(&directory), 1);
    for query in [
        "SELECT uniqExact(concat(l, toString(generateUUIDv4()))) = count() AS same FROM t",
        "SELECT sum(u) = sum(c) AS same FROM (SELECT n, uniqExact(concat(l, toString(generateUUIDv4()))) AS u, \
         count() AS c FROM t GROUP BY n)",
    ] {
        let answer = text(&session, query);
        assert!(answer.contains("true") || answer.contains("| 1 "), "{query}: {answer}");
    }
    let query = "SELECT count() > 0 AND count() < 8000 AS some FROM t WHERE concat(toString(generateUUIDv4()), l) < '8'";
    let answer = text(&session, query);
    assert!(answer.contains("true") || answer.contains("| 1 "), "{query}: {answer}");
}
