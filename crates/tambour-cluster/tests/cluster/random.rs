//! Random queries: what workers answer is what one process answers.

use super::support::{Workers, alone, answer, tables, workers};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};

/// Queries without an order that matters: their rows are sorted before they are compared.
fn query() -> impl Strategy<Value = String> {
    let condition = select(vec![
        "k > 100",
        "k BETWEEN -50 AND 250",
        "x < 3.25",
        "n IS NULL",
        "l IN ('l1', 'l4')",
        "s LIKE 'text 2%'",
        "e = 'a'",
        "d >= '2024-06-01'",
        "id % 3 = 1",
        "u != toUUID('00000000-0000-0000-0000-000000000004')",
        "k IN (SELECT k FROM small WHERE k > 0)",
        "x > (SELECT avg(x) FROM t)",
    ]);
    let key = select(vec!["l", "k", "e", "n", "s", "d", "toYYYYMM(d)", "k % 10", "u"]);
    let value = select(vec![
        "count()",
        "sum(id)",
        "min(s)",
        "max(x)",
        "max(e)",
        "count(DISTINCT k)",
        "sum(n)",
        "min(u)",
        "uniqExact(l)",
        "max(d)",
        "countIf(k > 3)",
    ]);
    let conditions = prop::collection::vec(condition, 0..3);
    let keys = prop::collection::btree_set(key, 0..3);
    let values = prop::collection::btree_set(value, 1..4);
    let join = select(vec!["", "", " JOIN (SELECT k AS j, name FROM small) m ON t.k = m.j"]);
    (conditions, keys, values, join).prop_map(|(conditions, keys, values, join)| {
        let keys: Vec<&str> = keys.into_iter().collect();
        let items: Vec<&str> = keys.iter().copied().chain(values).collect();
        let mut query = format!("SELECT {} FROM t{join}", items.join(", "));
        if !conditions.is_empty() {
            query += &format!(" WHERE {}", conditions.join(" AND "));
        }
        if !keys.is_empty() {
            query += &format!(" GROUP BY {}", keys.join(", "));
        }
        query
    })
}

/// Queries for the first rows of an order, which `id` makes one.
fn top() -> impl Strategy<Value = String> {
    let key = select(vec!["k", "x", "n", "s", "l", "d", "e", "u", "ip", "x * k", "-k"]);
    let order = select(vec!["", " DESC", " NULLS FIRST", " DESC NULLS FIRST"]);
    let keys = prop::collection::vec((key, order), 1..3);
    let condition = select(vec!["", " WHERE k > 650", " WHERE s LIKE 'text 1%'", " WHERE n < 9"]);
    (keys, condition, 1..60_u32).prop_map(|(keys, condition, limit)| {
        let keys: Vec<String> = keys.iter().map(|(key, order)| format!("{key}{order}")).collect();
        let keys = keys.join(", ");
        format!("SELECT id, k, x, n, s FROM t{condition} ORDER BY {keys}, id LIMIT {limit}")
    })
}

#[test]
fn the_first_rows_of_random_orders_are_the_same() {
    let root = tables();
    let alone = alone(root.path());
    let workers = workers(2, root.path());
    let config = Config { cases: 60, failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&top(), |query| {
            let expected = answer(&alone, &query).unwrap().0;
            prop_assert_eq!(&answer(&workers.session, &query).unwrap().0, &expected, "{}", query);
            Ok(())
        })
        .unwrap();
}

#[test]
fn random_queries_have_one_answer() {
    let root = tables();
    let alone = alone(root.path());
    let clusters: Vec<Workers> = [2, 3].iter().map(|it| workers(*it, root.path())).collect();
    let config = Config { cases: 40, failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&query(), |query| {
            let mut expected = answer(&alone, &query).unwrap().0;
            expected.sort_unstable();
            for workers in &clusters {
                let mut got = answer(&workers.session, &query).unwrap().0;
                got.sort_unstable();
                prop_assert_eq!(&got, &expected, "{}", query);
            }
            Ok(())
        })
        .unwrap();
}
