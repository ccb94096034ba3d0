//! Texts as bytes and as lengths alone change no answer: random queries with both switched off, and over the rows in memory.

use crate::filters::condition;
use crate::late::{pick, set};
use crate::support::{Fixture, Numbers, lines, text};
use tambour_sql::Session;

const VALUES: [&str; 9] = [
    "sum(length(s))",
    "avg(length(s))",
    "max(length(s))",
    "sum(empty(s))",
    "count(s)",
    "sum(notEmpty(l))",
    "min(s)",
    "sum(k) FILTER (WHERE s <> '')",
    "uniqExact(s)",
];
const CONDITIONS: [&str; 10] = [
    "s <> ''",
    "'' = s",
    "notEmpty(s)",
    "length(s) > 2",
    "NOT (empty(s) OR length(s) = 3)",
    "s LIKE '%a%'",
    "s LIKE '%n%t%e%'",
    "s NOT LIKE 'a%b'",
    "s IN ('ab', '', 'longer than twelve bytes')",
    "s >= 'ab' AND s <> 'b' AND s IS NOT NULL",
];

fn query(numbers: &mut Numbers, table: &str) -> String {
    let filter = match numbers.below(4) {
        0 => String::new(),
        1 => format!(" WHERE {} AND {}", pick(numbers, &CONDITIONS), condition(numbers, 1)),
        2 => format!(" WHERE {} OR {}", pick(numbers, &CONDITIONS), pick(numbers, &CONDITIONS)),
        _ => format!(" WHERE {}", pick(numbers, &CONDITIONS)),
    };
    let values: Vec<String> =
        (0..=numbers.below(3)).map(|at| format!("{} AS a{at}", pick(numbers, &VALUES))).collect();
    let values = values.join(", ");
    match numbers.below(5) {
        0 => format!("SELECT id, length(s), empty(s) FROM {table}{filter}"),
        1 => {
            let key = pick(numbers, &["length(s)", "empty(s)", "s", "k % 5", "l"]);
            format!("SELECT {key} AS g, {values} FROM {table}{filter} GROUP BY g")
        }
        2 => format!("SELECT length(s) AS n, s, k FROM {table}{filter} ORDER BY id, n LIMIT 20"),
        _ => format!("SELECT {values} FROM {table}{filter}"),
    }
}

fn same(partition_by: &str, order_by: &str, seed: u64) {
    let fixture = Fixture::new(partition_by, order_by);
    let with = [fixture.session(1), fixture.session(3)];
    let [without, bytes, lengths] = [(); 3].map(|()| fixture.session(2));
    for (session, setting) in [
        (&without, "tambour.scan_bytes"),
        (&without, "tambour.scan_lengths"),
        (&without, "tambour.scan_groups"),
        (&bytes, "tambour.scan_bytes"),
        (&lengths, "tambour.scan_lengths"),
    ] {
        set(session, setting, false);
    }
    for number in 0..150 {
        let chance = seed * 1000 + number;
        let statement = query(&mut Numbers::new(chance), "t");
        let naive = lines(&without, &query(&mut Numbers::new(chance), "naive"));
        for session in with.iter().chain([&without, &bytes, &lengths]) {
            assert_eq!(lines(session, &statement), naive, "seed {chance}: {statement}");
        }
    }
}

#[test]
fn texts_by_chance() {
    same("toYYYYMM(t)", "(k, s, t)", 21);
}

#[test]
fn texts_by_chance_where_they_are_sorted() {
    same("tuple()", "(s, id)", 22);
}

#[test]
fn what_only_lengths_are_asked_of_is_not_read() {
    let fixture = Fixture::new("tuple()", "id");
    // Rows of one part are dealt out to more threads than one.
    let (session, dealt) = (fixture.session(1), fixture.session(64));
    let tells = |session: &Session, query: &str| {
        text(session, &format!("EXPLAIN {query}")).contains("lengths alone of: ")
    };
    let is_told = |query: &str| tells(&session, query);
    for query in [
        "SELECT avg(length(s)) FROM t",
        "SELECT length(s), id FROM t WHERE s <> ''",
        "SELECT k, sum(length(s)) FROM t GROUP BY k",
    ] {
        assert!(is_told(query) && tells(&dealt, query), "{query}");
        let plan = text(&dealt, &format!("EXPLAIN {query}"));
        assert!(plan.contains("Divide into"), "{plan}");
    }
    for query in ["SELECT s, length(s) FROM t", "SELECT max(s), avg(length(s)) FROM t"] {
        assert!(!is_told(query), "{query}");
    }
    set(&session, "tambour.scan_lengths", false);
    assert!(!is_told("SELECT avg(length(s)) FROM t"));
}
