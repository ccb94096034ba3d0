//! A database as TPC-H's, in outline: orders and their lines, and queries that read much.

use rusqlite::{Connection, Result, Statement, params};

const SCHEMA: &str = "\
CREATE TABLE orders (o_orderkey INTEGER PRIMARY KEY, o_custkey INTEGER, o_orderstatus TEXT, o_totalprice REAL, \
o_orderdate TEXT, o_orderpriority TEXT, o_clerk TEXT, o_comment TEXT); \
CREATE TABLE lineitem (l_orderkey INTEGER, l_partkey INTEGER, l_suppkey INTEGER, l_linenumber INTEGER, \
l_quantity INTEGER, l_extendedprice REAL, l_discount REAL, l_tax REAL, l_returnflag TEXT, l_linestatus TEXT, \
l_shipdate TEXT, l_commitdate TEXT, l_receiptdate TEXT, l_shipinstruct TEXT, l_shipmode TEXT, l_comment TEXT); \
CREATE INDEX lineitem_order ON lineitem (l_orderkey); CREATE INDEX lineitem_ship ON lineitem (l_shipdate);";

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
const INSTRUCTIONS: [&str; 4] = ["DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"];
const PRIORITIES: [&str; 4] = ["1-URGENT", "2-HIGH", "3-MEDIUM", "5-LOW"];

/// A number that depends on nothing but the ones before.
pub(crate) fn random(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *seed >> 33
}

fn below(seed: &mut u64, end: i64) -> i64 {
    i64::try_from(random(seed)).unwrap_or(0) % end
}

fn one_of<'a>(seed: &mut u64, words: &[&'a str]) -> &'a str {
    words[usize::try_from(random(seed)).unwrap_or(0) % words.len()]
}

fn date(day: i64) -> String {
    format!("{}-{:02}-{:02}", 1992 + day / 372, day / 31 % 12 + 1, day % 31 + 1)
}

fn text(seed: &mut u64, count: usize) -> String {
    (0..count).map(|_| one_of(seed, &WORDS)).collect::<Vec<_>>().join(" ")
}

fn order(statement: &mut Statement<'_>, seed: &mut u64, key: i64, day: i64) -> Result<usize> {
    let price = below(seed, 50_000_000) as f64 / 100.0;
    let customer = below(seed, 150_000);
    let status = one_of(seed, &["O", "F", "P"]);
    let priority = one_of(seed, &PRIORITIES);
    let clerk = format!("Clerk#{:09}", below(seed, 1000));
    let comment = text(seed, 8);
    statement.execute(params![key, customer, status, price, date(day), priority, clerk, comment])
}

fn line(statement: &mut Statement<'_>, seed: &mut u64, key: (i64, i64), day: i64) -> Result<usize> {
    let shipped = day + 1 + below(seed, 120);
    let quantity = 1 + below(seed, 50);
    let price = (quantity * (90_000 + below(seed, 100_000))) as f64 / 100.0;
    let (part, supplier) = (below(seed, 200_000), below(seed, 10_000));
    let (discount, tax) = (below(seed, 11) as f64 / 100.0, below(seed, 9) as f64 / 100.0);
    let (returned, status) = (one_of(seed, &["R", "A", "N"]), one_of(seed, &["O", "F"]));
    let committed = date(day + 30 + below(seed, 60));
    let received = date(shipped + below(seed, 30));
    let (instruction, mode) = (one_of(seed, &INSTRUCTIONS), one_of(seed, &MODES));
    let comment = text(seed, 4);
    statement.execute(params![
        key.0,
        part,
        supplier,
        key.1,
        quantity,
        price,
        discount,
        tax,
        returned,
        status,
        date(shipped),
        committed,
        received,
        instruction,
        mode,
        comment,
    ])
}

/// Makes the tables and fills them in one transaction.
pub(crate) fn load(connection: &mut Connection, orders: i64) -> Result<()> {
    connection.execute_batch(SCHEMA)?;
    let transaction = connection.transaction()?;
    {
        let mut into_orders = transaction.prepare("INSERT INTO orders VALUES (?,?,?,?,?,?,?,?)")?;
        let mut into_lines =
            transaction.prepare("INSERT INTO lineitem VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")?;
        let mut seed = 7;
        for key in 0..orders {
            let day = below(&mut seed, 2400);
            order(&mut into_orders, &mut seed, key, day)?;
            for number in 0..=below(&mut seed, 7) {
                line(&mut into_lines, &mut seed, (key, number + 1), day)?;
            }
        }
    }
    transaction.commit()
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
pub(crate) fn rows(connection: &Connection, query: &str) -> Result<Vec<String>> {
    let mut statement = connection.prepare(query)?;
    let columns = statement.column_count();
    let rows = statement.query_map([], |row| {
        let cell = |index| row.get::<_, rusqlite::types::Value>(index);
        let cells: Result<Vec<_>> = (0..columns).map(cell).collect();
        Ok(format!("{:?}", cells?))
    })?;
    rows.collect()
}
