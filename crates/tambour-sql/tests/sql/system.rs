//! The system tables.

use crate::support::{Fixture, block_on, lines, text};

#[test]
fn parts_add_up() {
    let fixture = Fixture::new("toYYYYMM(t)", "(k, s, t)");
    let session = fixture.session(2);
    let found = text(
        &session,
        "SELECT partition, count(*) AS parts, sum(rows) > 2000 AS many, min(marks) > 10 AS marks, \
         min(level) AS level, min(data_compressed_bytes) > 1000 AS bytes, \
         min(data_uncompressed_bytes) > min(data_compressed_bytes) AS smaller \
         FROM system.parts WHERE table = 't' AND active = 1 GROUP BY partition ORDER BY partition",
    );
    insta::assert_snapshot!(found);
    let total = lines(&session, "SELECT sum(rows) AS n FROM system.parts");
    assert_eq!(total, lines(&session, "SELECT CAST(count(*) AS UInt64) AS n FROM t"));
}

#[test]
fn columns_say_what_they_are_for() {
    let fixture = Fixture::new("toYYYYMM(t)", "(k, s, t)");
    let session = fixture.session(2);
    insta::assert_snapshot!(text(
        &session,
        "SELECT name, type, position, is_in_partition_key AS partition, is_in_sorting_key AS sorting, \
         is_in_primary_key AS key, compression_codec, data_compressed_bytes > 0 AS has_bytes \
         FROM system.columns WHERE database = 'default' ORDER BY position",
    ));
}

#[test]
fn codecs_and_tables_are_listed() {
    let fixture = Fixture::new("toYYYYMM(t)", "(k, s, t)");
    let session = fixture.session(2);
    insta::assert_snapshot!(text(&session, "SELECT * FROM system.codecs ORDER BY name"));
    insta::assert_snapshot!(text(
        &session,
        "SELECT name, partition_key, sorting_key, primary_key, total_rows, parts FROM system.tables",
    ));
    assert_eq!(
        lines(&session, "SELECT table_name FROM information_schema.tables WHERE table_schema = 'default' AND table_name = 't'").len(),
        2
    );
}

#[test]
fn tables_show_their_definition() {
    let fixture = Fixture::new("toYYYYMM(t)", "(k, s, t)");
    let session = fixture.session(2);
    let found = text(&session, "SHOW CREATE TABLE t");
    assert!(found.contains("CREATE TABLE t"), "{found}");
    assert!(found.contains("ORDER BY (k, s, t)"), "{found}");
    assert_eq!(found, text(&session, "SHOW CREATE TABLE default.t"));
    let described = text(&session, "DESCRIBE t");
    assert!(described.contains("LowCardinality(Nullable(String))"), "{described}");
    assert!(text(&session, "SHOW TABLES").contains("| t "));
}

#[test]
fn the_database_may_be_named() {
    let fixture = Fixture::new("tuple()", "id");
    let session = fixture.session(2);
    assert_eq!(
        lines(&session, "SELECT count(*) FROM default.t"),
        lines(&session, "SELECT count(*) FROM t")
    );
}

#[test]
fn columns_of_parts_add_up() {
    let fixture = Fixture::new("toYYYYMM(t)", "(k, s, t)");
    let session = fixture.session(2);
    let differing = "SELECT name FROM (SELECT name, sum(column_data_compressed_bytes) - max(data_compressed_bytes) AS c, \
         sum(column_data_uncompressed_bytes) - max(data_uncompressed_bytes) AS u, \
         sum(column_marks_bytes) - max(marks_bytes) AS m, sum(column_bytes_on_disk) < max(bytes_on_disk) AS less \
         FROM system.parts_columns GROUP BY name) WHERE c != 0 OR u != 0 OR m != 0 OR less = 0";
    assert!(lines(&session, differing).len() < 2, "names of columns at most");
    // The columns that are asked for are made, whichever they are.
    assert_eq!(
        lines(&session, "SELECT count(*) AS n FROM system.parts_columns"),
        lines(
            &session,
            "SELECT count(column) AS n FROM system.parts_columns WHERE length(filenames) > 0"
        )
    );
    let ends = "SELECT min(min_time) = (SELECT min(t) FROM t) AS least, max(max_time) = (SELECT max(t) FROM t) AS most, \
        max(max_date) AS date FROM system.parts";
    let found = text(&session, ends);
    assert!(found.contains("| 1     | 1    | 1970-01-01 |"), "{found}");
    assert!(
        text(&session, "SELECT name, engine FROM system.databases")
            .contains("| system  | Memory   |")
    );
}

#[test]
fn marks_are_rows() {
    let fixture = Fixture::new("toYYYYMM(t)", "(k, s, t)");
    let session = fixture.session(2);
    let granules = "mergeTreeIndex(currentDatabase(), t, with_marks = true)";
    assert_eq!(
        lines(
            &session,
            &format!("SELECT count(*) AS n, sum(rows_in_granule) AS r FROM {granules}")
        ),
        lines(&session, "SELECT CAST(sum(marks) AS Int64) AS n, sum(rows) AS r FROM system.parts")
    );
    // The key of the first mark is the least of its part.
    assert_eq!(
        lines(&session, &format!("SELECT min(k) AS k FROM {granules} WHERE mark_number = 0")),
        lines(&session, "SELECT min(k) AS k FROM t")
    );
    let described = text(&session, &format!("DESCRIBE {granules}"));
    for name in ["| k ", "| s ", "| id.mark ", "| n.null.mark ", "| l.dict.mark "] {
        assert!(described.contains(name), "{name} of {described}");
    }
    assert!(!text(&session, "DESCRIBE mergeTreeIndex(default, t)").contains("mark "));
    for wrong in [
        "mergeTreeIndex(default, x)",
        "mergeTreeIndex(default, t, with_minmax = true)",
        "mergeTreeIndex(t)",
    ] {
        let planned =
            block_on(async { session.sql(&format!("SELECT * FROM {wrong}")).await.map(drop) });
        assert!(planned.is_err(), "{wrong}");
    }
}
