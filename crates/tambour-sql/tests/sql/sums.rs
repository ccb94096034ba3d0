//! Several sums of a column and constants are those that each is alone.

use crate::late::pick;
use crate::support::{Fixture, Numbers, lines, text};

const VALUES: [&str; 9] = [
    "k",
    "n",
    "id",
    "toInt64(id) - 400",
    "toUInt8(id % 256)",
    "toInt8(id % 100 - 50)",
    "toUInt64(id) * 18446744073709",
    "if(id % 3 = 1, NULL, toInt16(id))",
    "toInt32(id)",
];
const CONSTANTS: [&str; 8] =
    ["1", "-1", "255", "70000", "-70000", "4294967296", "9223372036854775807", "toInt8(-3)"];

#[test]
fn sums_of_shifted_columns() {
    let fixture = Fixture::new("tuple()", "id");
    let session = fixture.session(2);
    let mut numbers = Numbers::new(5);
    let mut pick = |from: &[&'static str]| pick(&mut numbers, from);
    for round in 0..120 {
        let value = pick(&VALUES);
        let sums: Vec<String> = (0..3)
            .map(|_| {
                let (constant, filter) =
                    (pick(&CONSTANTS), pick(&["", "", " FILTER (WHERE id % 5 > 2)"]));
                let shifted = match pick(&["+", "-", "before", "alone"]) {
                    "before" => format!("{constant} + {value}"),
                    "alone" => value.to_owned(),
                    operator => format!("{value} {operator} {constant}"),
                };
                format!("sum({shifted}){filter}")
            })
            .collect();
        let rest = pick(&[
            "",
            " WHERE id > 77",
            " WHERE id < 0",
            " GROUP BY k % 3 ORDER BY k % 3",
            " WHERE id < 0 GROUP BY k % 3",
        ]);
        let named = |of: &dyn Fn(&String) -> String| {
            let all = sums.iter().enumerate().map(|(at, sum)| format!("{} AS x{at}", of(sum)));
            all.collect::<Vec<_>>().join(", ")
        };
        let all = named(&String::clone);
        if rest.contains("GROUP") {
            for (at, sum) in sums.iter().enumerate() {
                let alone = lines(&session, &format!("SELECT {sum} AS x FROM t{rest}"));
                let together = format!("SELECT x{at} AS x FROM (SELECT {all} FROM t{rest})");
                assert_eq!(lines(&session, &together), alone, "round {round}: {together}");
            }
        } else {
            let alone = format!("SELECT {}", named(&|sum| format!("(SELECT {sum} FROM t{rest})")));
            let together = format!("SELECT {all} FROM t{rest}");
            let expected = lines(&session, &alone);
            assert_eq!(lines(&session, &together), expected, "round {round}: {together}");
        }
    }
}

#[test]
fn one_sum_is_kept_of_many() {
    let session = Fixture::new("tuple()", "id").session(1);
    let plan = text(&session, "EXPLAIN SELECT sum(k), sum(k + 1), sum(k + 2), sum(3 + k) FROM t");
    let aggregate = plan.lines().find(|line| line.contains("Aggregate")).unwrap_or_default();
    assert_eq!(aggregate.matches("sum(").count(), 1, "{plan}");
}
