//! The system tables.

use crate::support::{Fixture, lines, text};

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
