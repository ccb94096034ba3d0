//! What EXPLAIN shows: pruning, order, and scans that are not needed.

use crate::support::{Fixture, text};
use tambour_sql::Session;

fn plan(session: &Session, query: &str) -> String {
    text(session, &format!("EXPLAIN {query}"))
}

#[test]
fn counting_needs_no_scan() {
    let fixture = Fixture::new("toYYYYMM(t)", "(k, s, t)");
    let session = fixture.session(2);
    insta::assert_snapshot!(plan(&session, "SELECT count(*) FROM t"));
    insta::assert_snapshot!(plan(
        &session,
        "SELECT min(k), max(k), min(t), max(t), count(id) FROM t"
    ));
}

#[test]
fn filters_prune_parts_and_granules() {
    let fixture = Fixture::new("toYYYYMM(t)", "(k, s, t)");
    let session = fixture.session(2);
    insta::assert_snapshot!(plan(
        &session,
        "SELECT sum(id) FROM t WHERE k = 7 AND t < TIMESTAMP '2024-02-01 00:00:00Z'"
    ));
    insta::assert_snapshot!(plan(
        &session,
        "SELECT id FROM t WHERE k IN (1, 2, 3) AND s LIKE 'ab%' OR k = 140 AND n IS NULL"
    ));
    insta::assert_snapshot!(plan(&session, "SELECT id FROM t WHERE x > 5 LIMIT 3"));
}

#[test]
fn order_comes_from_the_sorting_key() {
    let several_fixture = Fixture::new("toYYYYMM(t)", "(k, s, t)");
    let several = several_fixture.session(2);
    insta::assert_snapshot!(plan(&several, "SELECT k, s FROM t ORDER BY k, s LIMIT 5"));
    insta::assert_snapshot!(plan(&several, "SELECT s FROM t ORDER BY s LIMIT 5"));
    let single_fixture = Fixture::new("toYYYYMM(t)", "(k, s, t)");
    let single = single_fixture.session(1);
    insta::assert_snapshot!(plan(&single, "SELECT k, s FROM t ORDER BY k LIMIT 5"));
    // Enums sort by number in the table and by name in the engine.
    let by_enum_fixture = Fixture::new("tuple()", "(e, k)");
    let by_enum = by_enum_fixture.session(2);
    insta::assert_snapshot!(plan(&by_enum, "SELECT e, k FROM t ORDER BY e, k"));
}

#[test]
fn a_limit_stops_the_scan() {
    let fixture = Fixture::new("tuple()", "id");
    let session = fixture.session(1);
    insta::assert_snapshot!(plan(&session, "SELECT id FROM t LIMIT 10"));
    let analysed = text(&session, "EXPLAIN ANALYZE SELECT id FROM t LIMIT 10");
    assert!(analysed.contains("Read t  [10 rows"), "{analysed}");
    assert!(analysed.contains("decoded "), "{analysed}");
}

#[test]
fn a_join_holds_the_side_that_a_filter_makes_small() {
    let fixture = Fixture::new("toYYYYMM(t)", "(k, s, t)");
    let session = fixture.session(1);
    // The column that is compared with another, the text: neither makes a side as large as its table.
    let small = "(SELECT id, s FROM t WHERE x > 85 AND d > '2024-03-20' AND k < id)";
    let all = "(SELECT id, u FROM t)";
    for (left, right) in [(small, all), (all, small)] {
        let plan = plan(
            &session,
            &format!("SELECT s, u FROM {left} AS a JOIN {right} AS b ON a.id = b.id"),
        );
        let (_, sides) = plan.split_once("the first input is held in memory").unwrap();
        let held = sides.split("Read t").nth(1).unwrap();
        assert!(held.contains("filter: "), "{plan}");
    }
}
