//! Databases for the tests.

use rusqlite::{Connection, OpenFlags};
use std::path::Path;
use tambour_sqlite::{NAME, Settings, register};

/// A connection through the VFS.
pub(crate) fn open(path: &Path) -> Connection {
    try_open(path).expect("the database opens")
}

pub(crate) fn try_open(path: &Path) -> rusqlite::Result<Connection> {
    register(&Settings::default()).expect("the VFS registers");
    Connection::open_with_flags_and_vfs(path, OpenFlags::default(), NAME)
}

/// What `PRAGMA integrity_check` says.
pub(crate) fn integrity(connection: &Connection) -> String {
    connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("a verdict")
}

/// The first value of a query.
pub(crate) fn number(connection: &Connection, query: &str) -> i64 {
    connection.query_row(query, [], |row| row.get(0)).expect("a number")
}

/// A number that depends on nothing else.
pub(crate) fn random(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *seed >> 33
}

/// Orders and their lines, as TPC-H has them, in outline.
pub(crate) fn load(connection: &mut Connection, orders: u64) {
    connection
        .execute_batch(
            "CREATE TABLE orders (o_orderkey INTEGER PRIMARY KEY, o_custkey INTEGER, o_orderstatus TEXT, \
             o_totalprice REAL, o_orderdate TEXT, o_orderpriority TEXT, o_clerk TEXT, o_comment TEXT); \
             CREATE TABLE lineitem (l_orderkey INTEGER, l_partkey INTEGER, l_suppkey INTEGER, l_linenumber INTEGER, \
             l_quantity INTEGER, l_extendedprice REAL, l_discount REAL, l_tax REAL, l_returnflag TEXT, l_linestatus TEXT, \
             l_shipdate TEXT, l_commitdate TEXT, l_receiptdate TEXT, l_shipinstruct TEXT, l_shipmode TEXT, l_comment TEXT); \
             CREATE INDEX lineitem_order ON lineitem (l_orderkey); \
             CREATE INDEX lineitem_ship ON lineitem (l_shipdate);",
        )
        .expect("tables");
    const WORDS: [&str; 16] = [
        "carefully",
        "furiously",
        "quickly",
        "regular",
        "final",
        "ironic",
        "deposits",
        "accounts",
        "requests",
        "packages",
        "sleep",
        "haggle",
        "among",
        "the",
        "slyly",
        "bold",
    ];
    const MODES: [&str; 7] = ["AIR", "MAIL", "SHIP", "TRUCK", "RAIL", "FOB", "REG AIR"];
    const INSTRUCTIONS: [&str; 4] =
        ["DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"];
    let mut seed = 7;
    let transaction = connection.transaction().expect("a transaction");
    {
        let mut order = transaction
            .prepare("INSERT INTO orders VALUES (?,?,?,?,?,?,?,?)")
            .expect("a statement");
        let mut line = transaction
            .prepare("INSERT INTO lineitem VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")
            .expect("a statement");
        let date =
            |day: u64| format!("{}-{:02}-{:02}", 1992 + day / 372, day / 31 % 12 + 1, day % 31 + 1);
        let text = |seed: &mut u64, count: u64| {
            let words = (0..count).map(|_| WORDS[(random(seed) % 16) as usize]);
            words.collect::<Vec<_>>().join(" ")
        };
        for key in 0..orders {
            let day = random(&mut seed) % 2400;
            let price = (random(&mut seed) % 50_000_000) as f64 / 100.0;
            let comment = text(&mut seed, 8);
            order
                .execute(rusqlite::params![
                    key as i64,
                    (random(&mut seed) % 150_000) as i64,
                    ["O", "F", "P"][(day % 3) as usize],
                    price,
                    date(day),
                    ["1-URGENT", "2-HIGH", "3-MEDIUM", "5-LOW"][(price as usize) % 4],
                    format!("Clerk#{:09}", random(&mut seed) % 1000),
                    comment,
                ])
                .expect("an order");
            for number in 0..=random(&mut seed) % 7 {
                let shipped = day + 1 + random(&mut seed) % 120;
                let quantity = 1 + random(&mut seed) % 50;
                let comment = text(&mut seed, 4);
                line.execute(rusqlite::params![
                    key as i64,
                    (random(&mut seed) % 200_000) as i64,
                    (random(&mut seed) % 10_000) as i64,
                    number as i64 + 1,
                    quantity as i64,
                    (quantity * (90_000 + random(&mut seed) % 100_000)) as f64 / 100.0,
                    (random(&mut seed) % 11) as f64 / 100.0,
                    (random(&mut seed) % 9) as f64 / 100.0,
                    ["R", "A", "N"][(shipped % 3) as usize],
                    ["O", "F"][(shipped % 2) as usize],
                    date(shipped),
                    date(day + 30 + random(&mut seed) % 60),
                    date(shipped + random(&mut seed) % 30),
                    INSTRUCTIONS[(random(&mut seed) % 4) as usize],
                    MODES[(random(&mut seed) % 7) as usize],
                    comment,
                ])
                .expect("a line");
            }
        }
    }
    transaction.commit().expect("a commit");
}

/// Queries that read much, as TPC-H's first, third, fourth and sixth.
pub(crate) const QUERIES: [&str; 4] = [
    "SELECT l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice * (1 - l_discount)), count(*) FROM lineitem \
     WHERE l_shipdate <= '1998-09-02' GROUP BY 1, 2 ORDER BY 1, 2",
    "SELECT o_orderkey, sum(l_extendedprice * (1 - l_discount)) AS revenue FROM orders JOIN lineitem ON l_orderkey = o_orderkey \
     WHERE o_orderdate < '1995-03-15' AND l_shipdate > '1995-03-15' GROUP BY 1 ORDER BY revenue DESC LIMIT 10",
    "SELECT o_orderpriority, count(*) FROM orders WHERE EXISTS (SELECT 1 FROM lineitem WHERE l_orderkey = o_orderkey AND \
     l_commitdate < l_receiptdate) GROUP BY 1 ORDER BY 1",
    "SELECT sum(l_extendedprice * l_discount) FROM lineitem WHERE l_shipdate BETWEEN '1994-01-01' AND '1994-12-31' AND \
     l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24",
];

/// All rows of a query, as text.
pub(crate) fn rows(connection: &Connection, query: &str) -> Vec<String> {
    let mut statement = connection.prepare(query).expect("a statement");
    let columns = statement.column_count();
    let rows = statement
        .query_map([], |row| {
            let cell = |index| row.get::<_, rusqlite::types::Value>(index);
            let cells: Result<Vec<_>, _> = (0..columns).map(cell).collect();
            Ok(format!("{:?}", cells?))
        })
        .expect("rows");
    rows.map(|row| row.expect("a row")).collect()
}
