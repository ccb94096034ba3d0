//! Records as tables: columns from a sample, fields on demand, ids and times that are not wanted left unread.

use std::path::Path;
use std::sync::Arc;
use tambour_record::{Batch, RecordStore, SealOptions, Settings, ViewOptions, Writer, disk};
use tambour_sql::{Session, SessionOptions, SqlError};

const SECOND: i64 = 1_000_000;

fn writer(directory: &Path) -> (RecordStore, Writer) {
    let store = RecordStore::create(&disk(), directory, &Settings::default()).unwrap();
    let writer = store.writer("default").unwrap();
    (store, writer)
}

fn session(store: &RecordStore, options: &SessionOptions) -> Session {
    let session = Session::new(options).unwrap();
    let view = store.view("default", &ViewOptions::default()).unwrap();
    session.register_records("log", Arc::new(view)).unwrap();
    session
}

/// The rows of a query, cells joined by `|`.
fn rows(session: &Session, sql: &str) -> Result<Vec<String>, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let batches =
        runtime.block_on(async { session.sql(sql).await?.execute().await?.collect().await });
    let batches = batches.map_err(|error: SqlError| told(&error))?;
    let mut rows = Vec::new();
    for batch in &batches {
        for row in 0..batch.num_rows() {
            let cell = |column: &arrow::array::ArrayRef| {
                arrow::util::display::array_value_to_string(column, row).unwrap()
            };
            rows.push(batch.columns().iter().map(cell).collect::<Vec<_>>().join("|"));
        }
    }
    Ok(rows)
}

/// An error with its causes.
fn told(error: &dyn std::error::Error) -> String {
    let cause = error.source().map(told).unwrap_or_default();
    format!("{error}: {cause}")
}

fn fill(writer: &Writer, ids: std::ops::Range<u64>) {
    for id in ids {
        let user = id % 7;
        let record = format!(
            r#"{{"user":"u{user}","ms":{id},"ok":{},"at":{{"host":"h{user}"}}}}"#,
            id % 2 == 0
        );
        writer.append_later(record.as_bytes(), Some(i64::try_from(id).unwrap() * SECOND)).unwrap();
    }
    writer.flush().unwrap();
}

#[test]
fn fields_are_columns() {
    let directory = tempfile::tempdir().unwrap();
    let (store, writer) = writer(&directory.path().join("log"));
    fill(&writer, 0..3000);
    writer.seal(&SealOptions::default(), true).unwrap();
    fill(&writer, 3000..5000);
    for threads in [1, 4] {
        let session = session(
            &store,
            &SessionOptions { threads, batch_rows: 512, ..SessionOptions::default() },
        );
        let all = rows(&session, "SELECT count(*), sum(ms), min(_id), max(_id) FROM log").unwrap();
        assert_eq!(all, ["5000|12497500|0|4999"]);
        let users =
            "SELECT user, count(*) AS n FROM log WHERE ok GROUP BY user ORDER BY user LIMIT 2";
        assert_eq!(rows(&session, users).unwrap(), ["u0|358", "u1|357"]);
        let one = r"SELECT _record, at['host'] FROM log WHERE _id = 4321";
        let expected = r#"{"user":"u2","ms":4321,"ok":false,"at":{"host":"h2"}}|h2"#;
        assert_eq!(rows(&session, one).unwrap(), [expected]);
        assert_eq!(rows(&session, "SELECT count(*) FROM log LIMIT 3").unwrap(), ["5000"]);
        assert_eq!(rows(&session, "SELECT _id FROM log LIMIT 3").unwrap().len(), 3);
    }
}

#[test]
fn times_select() {
    let directory = tempfile::tempdir().unwrap();
    let (store, writer) = writer(&directory.path().join("log"));
    fill(&writer, 0..2000);
    writer.append(br#"{"user":"late","ms":1}"#, None).unwrap();
    writer.flush().unwrap();
    let session = session(&store, &SessionOptions::default());
    for (condition, expected) in [
        ("_time >= '1970-01-01 00:10:00' AND _time < '1970-01-01 00:10:05'", "5|600|604"),
        ("_time BETWEEN '1970-01-01 00:10:00' AND '1970-01-01 00:10:05'", "6|600|605"),
        ("_time = '1970-01-01 00:00:07'", "1|7|7"),
        ("'1970-01-01 00:33:10' < _time AND _id < 1995", "4|1991|1994"),
        ("_time < '1970-01-01 00:00:00'", "0||"),
        ("_time IS NULL", "1|2000|2000"),
    ] {
        let sql = format!("SELECT count(*), min(_id), max(_id) FROM log WHERE {condition}");
        assert_eq!(rows(&session, &sql).unwrap(), [expected], "{condition}");
    }
}

#[test]
fn what_the_sample_did_not_show() {
    let directory = tempfile::tempdir().unwrap();
    let (store, writer) = writer(&directory.path().join("log"));
    // The sample has 32 records from each of 64 places: these are between two of them.
    fill(&writer, 0..1540);
    let odd = [r#"{"user":5,"ms":1}"#, r#"{"ms":2}"#, r#"{"user":"x","ms":3,"new":1}"#];
    let batch: Batch = odd.iter().map(|record| record.as_bytes()).collect();
    let first = writer.append_batch(&batch).unwrap().start;
    let batch: Batch = [&br#"{"ms":"soon"}"#[..], b"no json"].into_iter().collect();
    let bad = writer.append_batch(&batch).unwrap().start;
    fill(&writer, 1545..4000);
    let session_of = || session(&store, &SessionOptions::default());
    let some =
        format!("SELECT user, ms FROM log WHERE _id >= {first} AND _id < {bad} ORDER BY _id");
    assert_eq!(rows(&session_of(), &some).unwrap(), ["5|1", "|2", "x|3"]);
    // A value that does not fit the type is an error that says where; the records themselves stay readable.
    let error = rows(&session_of(), &format!("SELECT ms FROM log WHERE _id = {bad}")).unwrap_err();
    assert!(error.contains("_record"), "{error}");
    assert!(error.contains(&format!("record {bad}: field \"ms\" is \"soon\"")), "{error}");
    // A record that is not an object has no fields.
    let fields = format!("SELECT ms, user FROM log WHERE _id = {}", bad + 1);
    assert_eq!(rows(&session_of(), &fields).unwrap(), ["|"]);
    let got = rows(&session_of(), &format!("SELECT _record FROM log WHERE _id = {}", bad + 1));
    assert_eq!(got.unwrap(), ["no json"]);
}

#[test]
fn numbers_are_never_cut_or_rounded() {
    let directory = tempfile::tempdir().unwrap();
    let (store, writer) = writer(&directory.path().join("log"));
    let large = u64::MAX - 1;
    // The sample has 32 records from each of 64 places: 1540 is between two of them.
    for id in 0..4000_u64 {
        let price = if id == 1540 { "1.5".to_owned() } else { id.to_string() };
        writer
            .append_later(format!(r#"{{"price":{price},"big":{large}}}"#).as_bytes(), None)
            .unwrap();
    }
    writer.flush().unwrap();
    let session_of = || session(&store, &SessionOptions::default());
    let got = rows(&session_of(), "SELECT max(big), sum(price) FROM log WHERE _id < 1500").unwrap();
    assert_eq!(got, [format!("{large}|{}", 1499 * 1500 / 2)]);
    let error = rows(&session_of(), "SELECT sum(price) FROM log").unwrap_err();
    assert!(error.contains("1.5") && error.contains("_record"), "{error}");
}

#[test]
fn fields_of_two_shapes_are_texts() {
    let directory = tempfile::tempdir().unwrap();
    let (store, writer) = writer(&directory.path().join("log"));
    let batch: Batch =
        [&br#"{"a":1,"k":"x","t":"x"}"#[..], br#"{"a":{"b":2},"k":"y","t":["y","z"]}"#]
            .into_iter()
            .collect();
    writer.append_batch(&batch).unwrap();
    let session = session(&store, &SessionOptions::default());
    assert_eq!(rows(&session, "SELECT k FROM log ORDER BY _id").unwrap(), ["x", "y"]);
    let got = rows(&session, "SELECT * EXCEPT (_id, _time, _record) FROM log ORDER BY _id");
    assert_eq!(got.unwrap(), ["1|x|x", r#"{"b":2}|y|["y","z"]"#]);
    assert_eq!(rows(&session, "SELECT count(*) FROM log WHERE _record LIKE '%b%'").unwrap(), ["1"]);
}

#[test]
fn plain_lines_have_no_fields() {
    let directory = tempfile::tempdir().unwrap();
    let (store, writer) = writer(&directory.path().join("log"));
    let batch: Batch = [&b"GET /"[..], b"POST /x", b"\xff"].into_iter().collect();
    writer.append_batch(&batch).unwrap();
    let session_of = |binary_strings| {
        session(&store, &SessionOptions { binary_strings, ..SessionOptions::default() })
    };
    let got =
        rows(&session_of(false), "SELECT _id, _time, _record FROM log WHERE _id < 2").unwrap();
    assert_eq!(got, ["0||GET /", "1||POST /x"]);
    let error = rows(&session_of(false), "SELECT _record FROM log").unwrap_err();
    assert!(error.contains("record 2 is not UTF-8"), "{error}");
    assert_eq!(
        rows(&session_of(true), "SELECT count(*) FROM log WHERE length(_record) < 3").unwrap(),
        ["1"]
    );
}

/// A log of these records.
fn log_of(records: &[&[u8]]) -> (tempfile::TempDir, Session) {
    let directory = tempfile::tempdir().unwrap();
    let (store, writer) = writer(&directory.path().join("log"));
    let batch: Batch = records.iter().copied().collect();
    writer.append_batch(&batch).unwrap();
    let session = session(&store, &SessionOptions::default());
    (directory, session)
}

#[test]
fn large_numbers_are_exact_wherever_they_stand() {
    let (_directory, session) = log_of(&[
        br#"{"m":[1,18446744073709551615],"o":{"id":18446744073709551615},"n":9007199254740993,"f":1}"#,
        br#"{"m":null,"o":{"id":9007199254740993},"n":18446744073709551615,"f":9007199254740993}"#,
        br#"{"n":-1,"f":0.5}"#,
        br#"{"n":123456789012345678901234567890}"#,
    ]);
    let got = rows(&session, "SELECT m, o.id, n, f FROM log ORDER BY _id").unwrap();
    assert_eq!(
        got,
        [
            "[1, 18446744073709551615]|18446744073709551615|9007199254740993|1",
            "|9007199254740993|18446744073709551615|9007199254740993",
            "||-1|0.5",
            "||123456789012345678901234567890|",
        ]
    );
}

#[test]
fn what_is_wrong_in_one_field_is_in_nobody_elses_way() {
    for bad in [&b"{\"a\":\"\\ud83d\",\"b\":1}"[..], b"{\"a\":\"\xff\",\"b\":1}"] {
        // Also in the first record, which decides nothing alone.
        let (_directory, session) = log_of(&[bad, br#"{"a":"x","b":2}"#, b"plain", b"\xff"]);
        assert_eq!(rows(&session, "SELECT sum(b), count(*) FROM log").unwrap(), ["3|4"]);
        assert_eq!(rows(&session, "SELECT a FROM log WHERE _id > 0").unwrap(), ["x", "", ""]);
        let error = rows(&session, "SELECT a FROM log").unwrap_err();
        assert!(error.contains("record 0: field \"a\""), "{error}");
    }
    let (_directory, session) = log_of(&[br#"{"a":1}"#, br#"{"a":2"#]);
    let error = rows(&session, "SELECT sum(a) FROM log").unwrap_err();
    assert!(error.contains("record 1: is not JSON: it ends in the middle"), "{error}");
}

#[test]
fn fields_outside_of_the_sample_are_found_when_they_are_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let (store, writer) = writer(&directory.path().join("log"));
    fill(&writer, 0..1540);
    writer.append(br#"{"rare":[{"p":1},null],"ms":7,"Odd":"x"}"#, None).unwrap();
    fill(&writer, 1541..4000);
    let session = session(&store, &SessionOptions::default());
    let planned = "SELECT count(*), max(ms) FROM log WHERE user = 'u1'";
    let before = rows(&session, planned).unwrap();
    let got = rows(&session, "SELECT _id, \"Odd\", rare FROM log WHERE \"Odd\" = 'x'").unwrap();
    assert_eq!(got, ["1540|x|[{p: 1}, ]"]);
    assert_eq!(rows(&session, planned).unwrap(), before);
    let error = rows(&session, "SELECT rarer FROM log").unwrap_err();
    assert!(error.contains("there is no column \"rarer\""), "{error}");
}
