//! Aggregates that statistics answer are those of the rows: by chance, with statistics on and off, and with statistics that are
//! damaged, of other rows or of another type.

use crate::late::{pick, set};
use crate::support::{COLUMNS, Fixture, Numbers, definition, insert, lines, rows, text};
use arrow::array::{ArrayRef, Float64Array, RecordBatch, UInt8Array, UInt32Array};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tambour_part::PartWriter;
use tambour_part::types::Column;
use tambour_part::write::{Dialect, PartSpec, Partition, StringLayout};
use tambour_sql::{Session, SessionOptions};
use tambour_table::Table;
use tambour_table::insert::{Insert, InsertOptions};
use tambour_table::merge::{OptimizeOptions, optimize};
use tambour_table::recompress::recompress;
use tambour_table::schema::TableDefinition;

const ARGUMENTS: [&str; 15] = [
    "k",
    "n",
    "p",
    "d",
    "t",
    "x",
    "id",
    "k + 1",
    "n - 7",
    "k * 3 + 2",
    "id * 100000",
    "2 - k",
    "toUInt8(k)",
    "s",
    "k + n",
];
const AGGREGATES: [&str; 7] = ["sum", "avg", "min", "max", "count", "any", "uniqExact"];

fn query(numbers: &mut Numbers, table: &str) -> String {
    let mut columns = Vec::new();
    for at in 0..=numbers.below(4) {
        let (name, argument) = (pick(numbers, &AGGREGATES), pick(numbers, &ARGUMENTS));
        let is_number = !["s", "d", "t"].contains(&argument);
        let (name, argument) = match name {
            "sum" | "avg" if !is_number => ("max", argument),
            // Which row comes first is nobody's business here.
            "any" => ("count", "*"),
            other => (other, argument),
        };
        columns.push(format!("{name}({argument}) AS a{at}"));
    }
    let filter = if numbers.below(6) == 0 { " WHERE k > 20" } else { "" };
    format!("SELECT {} FROM {table}{filter}", columns.join(", "))
}

fn sessions(fixture: &Fixture) -> (Session, Session) {
    let without = fixture.session(2);
    set(&without, "tambour.scan_statistics", false);
    (fixture.session(2), without)
}

#[test]
fn answers_by_chance() {
    for (partition_by, seed) in [("toYYYYMM(t)", 1), ("tuple()", 2)] {
        let fixture = Fixture::new(partition_by, "(k, s, t)");
        let (with, without) = sessions(&fixture);
        for number in 0..200 {
            let chance = seed * 1000 + number;
            let statement = query(&mut Numbers::new(chance), "t");
            let (got, expected) = (lines(&with, &statement), lines(&without, &statement));
            assert_eq!(got, expected, "seed {chance}: {statement}");
            let naive = query(&mut Numbers::new(chance), "naive");
            assert_eq!(got, lines(&without, &naive), "seed {chance}: {naive}");
        }
    }
}

/// True if a query is answered without a scan.
fn is_answered(session: &Session, query: &str) -> bool {
    !text(session, &format!("EXPLAIN {query}")).contains("Read t")
}

const ANSWERED: &str = "SELECT count(*), count(n), sum(k), sum(n), sum(p), avg(n), min(t), max(d), min(p), \
    sum(k + 1), sum(k + 2) FROM t";

#[test]
fn what_is_known_is_not_read() {
    let fixture = Fixture::new("toYYYYMM(t)", "(k, s, t)");
    let (with, without) = sessions(&fixture);
    let (_, list) = ANSWERED.split_once(' ').unwrap();
    for one in list.trim_end_matches(" FROM t").split(", ") {
        let query = format!("SELECT {one} FROM t");
        assert!(is_answered(&with, &query), "{}", text(&with, &format!("EXPLAIN {query}")));
    }
    assert!(is_answered(&with, ANSWERED));
    assert!(!is_answered(&without, ANSWERED));
    for query in [
        "SELECT sum(k) FROM t WHERE k > 3",
        "SELECT sum(x) FROM t",
        "SELECT sum(k), max(s) FROM t",
        "SELECT k, sum(k) FROM t GROUP BY k",
        "SELECT sum(k) FROM (SELECT k FROM t LIMIT 10)",
        "SELECT sum(k) FILTER (WHERE n > 3) FROM t",
        "SELECT sum(DISTINCT k) FROM t",
    ] {
        assert!(!is_answered(&with, query), "{query}");
        assert_eq!(lines(&with, query).len(), lines(&without, query).len(), "{query}");
    }
}

#[test]
fn types_are_those_of_the_rows() {
    let fixture = Fixture::new("tuple()", "id");
    let (with, without) = sessions(&fixture);
    let mut answered = 0;
    for argument in ARGUMENTS {
        for name in AGGREGATES {
            if ["s", "d", "t"].contains(&argument) && ["sum", "avg"].contains(&name) {
                continue;
            }
            let query = format!("SELECT toTypeName({name}({argument})) FROM t");
            assert_eq!(lines(&with, &query), lines(&without, &query), "{query}");
            answered += usize::from(is_answered(&with, &query));
        }
    }
    assert!(answered > 30, "{answered}");
    assert!(text(&with, "SELECT toTypeName(max(n)) FROM t").contains("Nullable(Int32)"));
}

fn files(fixture: &Fixture) -> Vec<PathBuf> {
    let directory = std::fs::read_dir(fixture.path().join("tambour_statistics")).unwrap();
    directory.map(|entry| entry.unwrap().path()).collect()
}

fn fresh(fixture: &Fixture) -> Session {
    let session =
        Session::new(&SessionOptions { threads: 2, ..SessionOptions::default() }).unwrap();
    session.register(fixture.table()).unwrap();
    session
}

#[test]
fn other_parts_get_statistics_and_files_of_old_ones_go() {
    let fixture = Fixture::new("tuple()", "(k, s, t)");
    assert_eq!(files(&fixture).len(), 3);
    let expected = lines(&sessions(&fixture).1, ANSWERED);
    let (storage, path) = (tambour_storage::disk(), fixture.path());
    optimize(&storage, &path, &OptimizeOptions::default(), &mut |_| {}).unwrap();
    let before = files(&fixture);
    assert_eq!(before.len(), 1);
    assert!(is_answered(&fresh(&fixture), ANSWERED));
    assert_eq!(lines(&fresh(&fixture), ANSWERED), expected);
    for kept in [true, false] {
        if !kept {
            std::fs::remove_dir_all(fixture.path().join("tambour_statistics")).unwrap();
        }
        let codec = if kept { "ZSTD(1)" } else { "LZ4" };
        let choose = |_: &str| Some(codec.parse().unwrap());
        recompress(&storage, &path, &choose, &mut |_| {}).unwrap();
        assert_eq!(files(&fixture).len(), 1);
        // The codec of before makes the part of before.
        assert_eq!(files(&fixture) == before, !kept);
        assert!(is_answered(&fresh(&fixture), ANSWERED), "kept: {kept}");
        assert_eq!(lines(&fresh(&fixture), ANSWERED), expected);
    }
}

#[test]
fn files_that_are_damaged_stale_or_gone_are_not_believed() {
    let fixture = Fixture::new("tuple()", "(k, s, t)");
    let expected = lines(&sessions(&fixture).1, ANSWERED);
    let files = files(&fixture);
    let good = std::fs::read(&files[0]).unwrap();
    let head = good.iter().position(|byte| *byte == b'\n').unwrap() + 34;
    let mut numbers = Numbers::new(7);
    let check = |bytes: &[u8], what: &str| {
        std::fs::write(&files[0], bytes).unwrap();
        let session = fresh(&fixture);
        assert!(!is_answered(&session, ANSWERED), "{what}");
        assert!(
            text(&session, &format!("EXPLAIN {ANSWERED}")).contains("note: statistics"),
            "{what}"
        );
        assert_eq!(lines(&session, ANSWERED), expected, "{what}");
    };
    for _ in 0..60 {
        let mut bad = good.clone();
        let at = usize::try_from(numbers.below(head as u64)).unwrap();
        bad[at] ^= 1 << numbers.below(8);
        check(&bad, &format!("byte {at}"));
    }
    check(b"", "empty");
    check(&good[..head - 1], "cut");
    check(&std::fs::read(&files[1]).unwrap(), "of another part");
    std::fs::remove_file(&files[0]).unwrap();
    assert!(!is_answered(&fresh(&fixture), ANSWERED));
    assert_eq!(lines(&fresh(&fixture), ANSWERED), expected);
}

#[test]
fn a_column_that_became_wider_is_read() {
    let fixture = Fixture::new("tuple()", "tuple()");
    let wider = COLUMNS.replace("k Int32", "k Int64");
    let wider = TableDefinition::parse(&format!(
        "CREATE TABLE t ({wider}, more Int32 DEFAULT 7) ENGINE = MergeTree ORDER BY tuple() \
         SETTINGS index_granularity = 64, allow_nullable_key = 1"
    ))
    .unwrap();
    let before = lines(&fresh(&fixture), "SELECT sum(k), sum(n), count(*) FROM t");
    insert(&fixture.path(), &wider, widened(&wider));
    let session = fresh(&fixture);
    for query in ["SELECT sum(k) FROM t", "SELECT sum(more) FROM t", "SELECT max(more) FROM t"] {
        assert!(!is_answered(&session, query), "{query}");
    }
    assert!(is_answered(&session, "SELECT sum(n) FROM t"));
    assert_ne!(lines(&session, "SELECT sum(k), sum(n), count(*) FROM t"), before);
    let off = fresh(&fixture);
    set(&off, "tambour.scan_statistics", false);
    let all = "SELECT sum(k), sum(n), count(*), sum(more), min(k), max(n) FROM t";
    assert_eq!(lines(&session, all), lines(&off, all));
    let table = Table::open(&fixture.path()).unwrap();
    assert!(Arc::new(table).parts().iter().any(|part| part.is_outdated()));
}

#[test]
fn an_empty_table_answers_as_its_rows_do() {
    let directory = tempfile::TempDir::new().unwrap();
    let path = directory.path().join("t");
    let storage: Arc<dyn tambour_storage::Storage> = tambour_storage::disk();
    let definition = definition("tuple()", "k");
    Insert::begin(&storage, &path, &definition, InsertOptions::default())
        .and_then(Insert::commit)
        .unwrap();
    let query = format!("{ANSWERED} WHERE true");
    for query in [ANSWERED, &query, "SELECT count(*) FROM t", "SELECT max(k), count(k) FROM t"] {
        let [with, without] = both(&path);
        assert_eq!(lines(&with, query), lines(&without, query), "{query}");
    }
}

/// A part in which a lightweight delete of ClickHouse hides rows.
#[test]
fn hidden_rows_are_in_no_answer() {
    let directory = tempfile::TempDir::new().unwrap();
    let path = directory.path().join("t");
    std::fs::create_dir(&path).unwrap();
    let column =
        |name: &str, kind: &str| Column { name: name.to_owned(), data_type: kind.parse().unwrap() };
    let columns = [column("_row_exists", "UInt8"), column("k", "UInt32"), column("x", "Float64")];
    let rows = RecordBatch::try_from_iter([
        (
            "_row_exists",
            Arc::new((0..100).map(|k| Some(u8::from(k % 3 > 0))).collect::<UInt8Array>())
                as ArrayRef,
        ),
        ("k", Arc::new(UInt32Array::from_iter_values(0..100))),
        ("x", Arc::new(Float64Array::from_iter_values((0..100).map(f64::from)))),
    ])
    .unwrap();
    let storage: Arc<dyn tambour_storage::Storage> = tambour_storage::disk();
    let spec = PartSpec {
        columns: columns.map(|column| (column, "LZ4".parse().unwrap())).to_vec(),
        key_types: Vec::new(),
        index_granularity: 8,
        dialect: Dialect::New,
        threads: 1,
        strings: StringLayout::Inline,
        sparse_ratio: None,
    };
    let mut writer = PartWriter::create(&storage, &path.join("all_1_1_0"), spec).unwrap();
    writer.write(&rows, &[]).unwrap();
    writer.finish(&Partition::default()).unwrap();
    // As they come from a server.
    for name in ["checksums.txt", "tambour.txt"] {
        std::fs::remove_file(path.join("all_1_1_0").join(name)).unwrap();
    }
    let part = Arc::clone(&Table::open(&path).unwrap().parts()[0]);
    assert!(part.has_deleted_rows());
    let [with, without] = both(&path);
    for query in [
        "SELECT count(*) FROM t",
        "SELECT sum(k), min(k), max(k), count(k), avg(k) FROM t",
        "SELECT max(x) FROM t",
    ] {
        assert!(!is_answered(&with, query), "{query}");
        assert_eq!(lines(&with, query), lines(&without, query), "{query}");
    }
    let sum: u32 = (0..100).filter(|k| k % 3 > 0).sum();
    let told = text(&with, "SELECT count(*), sum(k) FROM t");
    assert!(told.contains("| 66 ") && told.contains(&format!("| {sum} ")), "{told}");
}

/// Sessions over the table at a path, with statistics and without.
fn both(path: &Path) -> [Session; 2] {
    [true, false].map(|is_on| {
        let session = Session::new(&SessionOptions::default()).unwrap();
        session.register(Arc::new(Table::open(path).unwrap())).unwrap();
        set(&session, "tambour.scan_statistics", is_on);
        session
    })
}

/// Rows of another insert, for a table with a wider column and one more.
fn widened(definition: &TableDefinition) -> arrow::array::RecordBatch {
    use arrow::array::{ArrayRef, Int32Array, RecordBatch};
    let batch = rows(9);
    let schema = Arc::new(tambour_part::types::arrow_schema(
        &definition.plain_columns(),
        tambour_part::types::Strings::Utf8,
    ));
    let more: ArrayRef = Arc::new(Int32Array::from(vec![5; batch.num_rows()]));
    let columns = batch.columns().iter().chain([&more]).zip(schema.fields());
    let columns = columns.map(|(column, field)| arrow::compute::cast(column, field.data_type()));
    RecordBatch::try_new(Arc::clone(&schema), columns.collect::<Result<_, _>>().unwrap()).unwrap()
}

/// Extremes that are kept are estimates for joins, and for nothing else.
#[test]
fn joins_are_planned_by_what_is_known() {
    let fixture = Fixture::new("tuple()", "id");
    let session = fixture.session(1);
    set(&session, "datafusion.explain.show_statistics", true);
    let is_known = |query: &str| {
        let plan = text(&session, &format!("EXPLAIN VERBOSE {query}"));
        plan.contains("Min=Inexact(Int32(-50)) Max=Inexact(Int32(149))")
    };
    let join = "SELECT count() FROM t JOIN naive ON t.k = naive.k";
    assert!(is_known(join));
    assert!(!is_known("SELECT k, count() FROM t GROUP BY k"));
    set(&session, "tambour.scan_statistics", false);
    assert!(!is_known(join));
}
