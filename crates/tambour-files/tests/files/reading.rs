//! What is inferred and how values are read.

use crate::support::{given, lines, read, read_paths, read_text, scratch};
use std::io::Write;
use tambour_files::{FileError, Format, ReadOptions};

fn options() -> ReadOptions {
    ReadOptions::default()
}

#[test]
fn csv_with_everything() {
    let text = "\u{feff}name, age ,born,seen,ok,id,zip,note\r\n\
        Bob,5,2001-02-03,2020-01-01T10:00:00.25Z,true,61f0c404-5cb3-11e7-907b-a6006ad3dba0,02134,\"a \"\"b\"\",\nc\"\r\n\
        \"Eve, X\",,1969-12-31,2020-01-01 10:00:00+01:00,false,61f0c404-5cb3-11e7-907b-a6006ad3dba1,10001,\n";
    let read = read_text("a.csv", text, options()).unwrap();
    assert_eq!(
        read.columns,
        [
            "name String",
            "age Nullable(Int64)",
            "born Date32",
            "seen DateTime64(3, 'UTC')",
            "ok Bool",
            "id UUID",
            "zip String",
            "note String"
        ]
    );
    assert_eq!(
        read.rows,
        [
            "Bob|5|2001-02-03|2020-01-01 10:00:00.250|true|61f0c404-5cb3-11e7-907b-a6006ad3dba0|02134|a \"b\",\\nc",
            "Eve, X|\\N|1969-12-31|2020-01-01 09:00:00.000|false|61f0c404-5cb3-11e7-907b-a6006ad3dba1|10001|",
        ]
    );
}

#[test]
fn headers() {
    let columns = |text: &str| read_text("a.csv", text, options()).unwrap().columns;
    assert_eq!(columns("a,b\n1,x\n"), ["a Int64", "b String"]);
    assert_eq!(columns("1,x\n2,y\n"), ["c1 Int64", "c2 String"]);
    assert_eq!(columns("city,country\nBern,CH\nParis,FR\n"), ["city String", "country String"]);
    assert_eq!(columns("x,a\ny,b\nx,c\n"), ["c1 String", "c2 String"]);
    assert_eq!(columns("a,b\n"), ["a String", "b String"]);
    assert_eq!(columns("a,,a\n1,2,3\n"), ["a Int64", "c2 Int64", "a_2 Int64"]);
    let forced = ReadOptions { header: Some(true), ..options() };
    let read = read_text("a.csv", "1,2\n3,4\n", forced).unwrap();
    assert_eq!(
        (read.columns, read.rows),
        (vec!["1 Int64".into(), "2 Int64".into()], vec!["3|4".into()])
    );
    let forced = ReadOptions { header: Some(false), ..options() };
    assert_eq!(read_text("a.csv", "a,b\n1,2\n", forced).unwrap().rows.len(), 2);
}

#[test]
fn delimiters_and_line_ends() {
    for text in ["a;b\n1;x\n", "a\tb\n1\tx\n", "a|b\n1|x\n", "a,b\r1,x\r", "\n\na,b\n\n1,x\n\n"] {
        let read = read_text("a.csv", text, options()).unwrap();
        assert_eq!(
            (read.columns, read.rows),
            (vec!["a Int64".into(), "b String".into()], vec!["1|x".into()]),
            "{text:?}"
        );
    }
    let strange = ReadOptions { delimiter: Some(b'^'), ..options() };
    assert_eq!(read_text("a.csv", "a^b\n1^x\n", strange).unwrap().rows, ["1|x"]);
}

#[test]
fn dates_in_the_order_that_all_rows_allow() {
    let columns = |text: &str| read_text("a.csv", text, options()).unwrap();
    let read = columns("d\n1/8/1990 0:00:00\n13/8/1990 12:30:00\n");
    assert_eq!(
        (read.columns[0].as_str(), read.rows[0].as_str()),
        ("d DateTime", "1990-08-01 00:00:00")
    );
    let read = columns("d\n1/8/1990\n8/13/1990\n");
    assert_eq!((read.columns[0].as_str(), read.rows[0].as_str()), ("d Date", "1990-01-08"));
    assert_eq!(columns("d\n1/8/1990\n2/8/1990\n").columns[0], "d String");
    // Given types profit from what all rows say, too.
    let read = read_text("a.csv", "d\n1/8/1990\n13/8/1990\n", given(&[("d", "Date")])).unwrap();
    assert_eq!(read.rows, ["1990-08-01", "1990-08-13"]);
}

#[test]
fn nulls() {
    let read = read_text("a.csv", "n,s,t,m\n1,a,,NA\n\\N,\\N,\"\",5\n,,x,\n", options()).unwrap();
    assert_eq!(
        read.columns,
        ["n Nullable(Int64)", "s Nullable(String)", "t Nullable(String)", "m Nullable(Int64)"]
    );
    assert_eq!(read.rows, ["1|a|\\N|\\N", "\\N|\\N||5", "\\N||x|\\N"]);
    assert_eq!(read.restarts, 0);
}

#[test]
fn tsv_as_clickhouse_writes_it() {
    let text = "id\ttext\tlist\n1\ta\\tb\\n\\\\\t['x','y\\'z']\n2\t\\N\t[]\n";
    let read = read_text("a.tsv", text, options()).unwrap();
    assert_eq!(read.columns, ["id Int64", "text Nullable(String)", "list String"]);
    assert_eq!(read.restarts, 0);
    assert_eq!(read.rows[0], "1|a\\tb\\n\\\\|[\\'x\\',\\'y\\'z\\']");
    let columns =
        given(&[("id", "UInt8"), ("text", "Nullable(String)"), ("list", "Array(String)")]);
    let read = read_text("a.tsv", text, columns).unwrap();
    assert_eq!(read.rows, ["1|a\\tb\\n\\\\|['x','y\\'z']", "2|\\N|[]"]);
}

#[test]
fn json_lines() {
    let text = r#"{"id":1,"name":"a","tags":["x","y"],"at":"2020-01-01T00:00:00Z","in":{"x":1,"y":"z"},"big":18446744073709551615,"mixed":1,"f":1}

{"id":2,"name":null,"tags":[],"in":{"x":2},"big":1,"mixed":"s","f":1.5,"late":true}
"#;
    let read = read_text("a.jsonl", text, options()).unwrap();
    assert_eq!(
        read.columns,
        [
            "id Int64",
            "name Nullable(String)",
            "tags Array(String)",
            "at Nullable(DateTime('UTC'))",
            "in Tuple(x Int64, y Nullable(String))",
            "big UInt64",
            "mixed String",
            "f Float64",
            "late Nullable(Bool)",
        ]
    );
    assert_eq!(
        read.rows,
        [
            "1|a|['x','y']|2020-01-01 00:00:00|(1,'z')|18446744073709551615|1|1|\\N",
            "2|\\N|[]|\\N|(2,NULL)|1|s|1.5|true",
        ]
    );
}

#[test]
fn json_objects_without_a_common_form() {
    let any = ["1", "[2]", "{\"a\":3}"];
    let text = lines(50, |row| {
        format!("{{\"counts\":{{\"k{row}\":{row}}},\"any\":{}}}", any[row % any.len()])
    });
    let read = read_text("a.jsonl", text, options()).unwrap();
    assert_eq!(read.columns, ["counts Map(String, Int64)", "any String"]);
    assert_eq!(read.rows[1], "{'k1':1}|[2]");
    assert_eq!(read.rows[2], "{'k2':2}|{\"a\":3}");
}

#[test]
fn compressed_text() {
    let text = "a,b\n1,x\n".to_owned() + &"2,y\n".repeat(100_000);
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(text.as_bytes()).unwrap();
    let read = read_text("a.csv.gz", gz.finish().unwrap(), options()).unwrap();
    assert_eq!(read.rows.len(), 100_001);
    let frame = |text: &str| {
        let mut frame = vec![0; zstd_safe::compress_bound(text.len())];
        let written = zstd_safe::compress(&mut frame[..], text.as_bytes(), 1).unwrap();
        frame.truncate(written);
        frame
    };
    // Two frames after each other are one file; the name says nothing here.
    let twice = [frame(&text), frame("3,y\n")].concat();
    let read = read_text("strange", twice, options()).unwrap();
    assert_eq!((read.columns[0].as_str(), read.rows.len()), ("a Int64", 100_002));
}

#[test]
fn a_later_row_widens_its_column() {
    let sample = |bytes: usize| ReadOptions { sample_bytes: bytes, batch_rows: 100, ..options() };
    let numbers = lines(10_000, |row| format!("{row},{row}"));
    let text = format!("a,b\n{numbers}x,1.5\n,2\n");
    let read = read_text("a.csv", &text, sample(1_000)).unwrap();
    assert_eq!(read.columns, ["a String", "b Float64"]);
    assert_eq!(read.restarts, 1);
    assert_eq!(read.rows.len(), 10_002);
    let text = format!("a,b\n{numbers},1\n");
    assert_eq!(read_text("a.csv", &text, sample(1_000)).unwrap().columns[0], "a Nullable(Int64)");
    let text = format!("{}{}", "{\"a\":1}\n".repeat(100_000), "{\"a\":1,\"b\":[1]}\n");
    let read = read_text("a.jsonl", &text, sample(1_000)).unwrap();
    assert_eq!(read.columns, ["a Int64", "b Array(Int64)"]);
    assert_eq!(read.rows.len(), 100_001);
}

#[test]
fn several_files_are_one_input() {
    let one = scratch("1.csv", b"a,b\n1,x\n");
    let two = scratch("2.csv", b"b,a,c\ny,2.5,true\n");
    let three = scratch("3.jsonl", b"{\"c\":false,\"a\":7}\n");
    let paths = [one.path.clone(), two.path.clone(), three.path.clone()];
    let read = read_paths(&paths, options()).unwrap();
    assert_eq!(read.columns, ["a Float64", "b Nullable(String)", "c Nullable(Bool)"]);
    assert_eq!(read.rows, ["1|x|\\N", "2.5|y|true", "7|\\N|false"]);
}

#[test]
fn given_columns_go_by_name_or_place() {
    let columns = given(&[("b", "String"), ("a", "UInt8"), ("c", "Nullable(Int8)")]);
    let read = read_text("a.csv", "a,b\n1,x\n", columns.clone()).unwrap();
    assert_eq!(read.rows, ["x|1|\\N"]);
    let read = read_text("a.csv", "x,1,\n", columns.clone()).unwrap();
    assert_eq!(read.rows, ["x|1|\\N"]);
    let error = read_text("a.csv", "a,b,d\n1,x,2\n", columns.clone()).unwrap_err();
    assert!(
        matches!(error, FileError::UnknownColumn { ref column, .. } if column == "d"),
        "{error}"
    );
    let skip = ReadOptions { skip_unknown_columns: true, ..columns.clone() };
    assert_eq!(read_text("a.csv", "a,b,d\n1,x,2\n", skip).unwrap().rows, ["x|1|\\N"]);
    let error = read_text("a.csv", "b,c\nx,2\n", columns.clone()).unwrap_err();
    assert!(
        matches!(error, FileError::MissingColumn { ref column, .. } if column == "a"),
        "{error}"
    );
    let error = read_text("a.csv", "1,2\n", columns.clone()).unwrap_err();
    assert!(
        error.to_string().ends_with("the rows have 2 fields, the table has 3 columns"),
        "{error}"
    );
    let error = read_text("a.jsonl", "{\"a\":1,\"b\":\"x\",\"d\":1}", columns.clone()).unwrap_err();
    assert!(
        matches!(error, FileError::UnknownColumn { ref column, .. } if column == "d"),
        "{error}"
    );
    let error = read_text("a.jsonl", "{\"a\":1}", columns).unwrap_err();
    assert!(error.to_string().contains("row 1 (line 1), column `b`"), "{error}");
}

#[test]
fn every_type_from_text() {
    for (data_type, text, expected) in [
        ("Bool", "yes", "true"),
        ("UInt8", "255", "255"),
        (
            "Int128",
            "-170141183460469231731687303715884105728",
            "-170141183460469231731687303715884105728",
        ),
        (
            "UInt256",
            "115792089237316195423570985008687907853269984665640564039457584007913129639935",
            "115792089237316195423570985008687907853269984665640564039457584007913129639935",
        ),
        ("Decimal(9, 2)", "12.50", "12.5"),
        ("Decimal(60, 10)", "-0.0000000001", "-0.0000000001"),
        ("Date", "2149-06-06", "2149-06-06"),
        ("Date32", "2299-12-31", "2299-12-31"),
        ("DateTime", "1970-01-01T00:00:01.999Z", "1970-01-01 00:00:01"),
        ("DateTime", "86400", "1970-01-02 00:00:00"),
        ("DateTime('Europe/Berlin')", "2020-07-01 12:00:00", "2020-07-01 12:00:00"),
        ("DateTime('Europe/Berlin')", "2020-07-01 12:00:00Z", "2020-07-01 14:00:00"),
        ("DateTime64(2)", "1969-12-31 23:59:59.99", "1969-12-31 23:59:59.99"),
        ("FixedString(4)", "ab", "ab\\0\\0"),
        ("UUID", "61F0C404-5cb3-11e7-907b-a6006ad3dba0", "61f0c404-5cb3-11e7-907b-a6006ad3dba0"),
        ("IPv4", "10.0.0.1", "10.0.0.1"),
        ("IPv6", "2001:db8:0::1", "2001:db8::1"),
        ("Enum8('a' = 1, 'b' = -5)", "b", "b"),
        ("Enum8('a' = 1, 'b' = -5)", "-5", "b"),
        ("Enum16('x y' = 1000)", "x y", "x y"),
        ("BFloat16", "0.1", "0.099609375"),
        ("Float32", "-1e-7", "-1e-7"),
        ("LowCardinality(Nullable(String))", "x", "x"),
        ("LowCardinality(FixedString(3))", "x", "x\\0\\0"),
        ("Array(UInt8)", "\"[1, 2]\"", "[1,2]"),
        ("Array(Nullable(String))", "\"['a', NULL, \"\"b\"\"]\"", "['a',NULL,'b']"),
        ("Map(String, Array(Int8))", "\"{'a':[1],\"\"b\"\":[]}\"", "{'a':[1],'b':[]}"),
        ("Tuple(UInt8, String)", "\"(1,'x')\"", "(1,'x')"),
        (
            "Tuple(a UInt8, b Date)",
            "\"{\"\"b\"\":\"\"2020-01-01\"\",\"\"a\"\":1}\"",
            "(1,'2020-01-01')",
        ),
    ] {
        let options = ReadOptions { header: Some(false), ..given(&[("x", data_type)]) };
        let options = ReadOptions { delimiter: Some(b','), ..options };
        let read = read_text("a.csv", format!("{text}\n"), options);
        assert_eq!(
            read.unwrap_or_else(|e| panic!("{data_type}: {e}")).rows,
            [expected],
            "{data_type}"
        );
    }
}

#[test]
fn values_that_do_not_fit() {
    for (data_type, text) in [
        ("UInt8", "256"),
        ("UInt8", "-1"),
        ("Int64", "1.5"),
        ("Float64", "x"),
        ("Float64", "1e999"),
        ("Decimal(9, 2)", "1.234"),
        ("Decimal(4, 2)", "100"),
        ("Date", "1969-12-31"),
        ("Date", "2020-13-01"),
        ("Date32", "2300-01-01"),
        ("DateTime", "2200-01-01 00:00:00"),
        ("FixedString(2)", "abc"),
        ("UUID", "61f0"),
        ("IPv4", "1.2.3"),
        ("Enum8('a' = 1)", "b"),
        ("Bool", "2"),
        ("Int8", "\\N"),
        ("Array(UInt8)", "[1"),
        ("Array(UInt8)", "[256]"),
        ("Map(String; UInt8)", "{'a'}"),
        ("Tuple(UInt8)", "(x)"),
    ] {
        let data_type = data_type.replace(';', ",");
        let options = ReadOptions {
            header: Some(false),
            delimiter: Some(b'^'),
            ..given(&[("x", &data_type)])
        };
        let error = read_text("a.csv", format!("{text}\n"), options).unwrap_err();
        let FileError::Value { spot, value, .. } = &error else { panic!("{data_type}: {error}") };
        assert_eq!((spot.row, spot.line, spot.column.as_deref()), (1, Some(1), Some("x")));
        assert_eq!(value, text);
    }
    let columns = given(&[("a", "UInt8"), ("b", "UInt8")]);
    let error = read_text("a.csv", "a,b\n1,2\n\n3,300\nx,1\n", columns).unwrap_err();
    let message = error.to_string();
    let expected = "row 2 (line 4), column `b`: \"300\" does not fit UInt8: out of range";
    assert!(message.ends_with(expected), "{message}");
}

#[test]
fn formats_by_name_and_content() {
    for (name, content, format) in [
        ("a.csv", "", Some(Format::Csv)),
        ("a.TSV", "", Some(Format::Tsv)),
        ("a.ndjson.gz", "", Some(Format::JsonLines)),
        ("a.parquet", "", Some(Format::Parquet)),
        ("a.feather", "", Some(Format::ArrowIpc)),
        ("a.dat", "a,b\n", Some(Format::Csv)),
        ("a.txt", "a\tb\n", Some(Format::Tsv)),
        ("a", " {\"a\":1}\n", Some(Format::JsonLines)),
        ("a", "PAR1", Some(Format::Parquet)),
        ("a", "ARROW1\0\0", Some(Format::ArrowIpc)),
        ("a.json", "[{\"a\":1}]", None),
        ("a.xlsx", "PK\u{3}\u{4}", None),
        ("a.bin", "\0\u{1}", None),
        ("a.dat", "", None),
    ] {
        let found = Format::detect(&scratch(name, content.as_bytes()).path);
        assert_eq!(found.ok(), format, "{name}");
    }
}

#[test]
fn threads_keep_the_order() {
    let text = lines(50_000, |row| format!("{row},v{}", row % 7));
    let file = scratch("a.csv", format!("n,v\n{text}").as_bytes());
    let one = read(&file.path, ReadOptions { batch_rows: 1_000, ..options() }).unwrap();
    let four = ReadOptions { batch_rows: 1_000, threads: 4, ..options() };
    let four = read(&file.path, four).unwrap();
    assert_eq!(one.rows, four.rows);
    assert!(four.batches.len() >= 50);
}
