//! Random filters: pruning may leave out granules, never rows.

use crate::support::{Fixture, Numbers, lines};

/// A condition by chance, over all columns; `depth` bounds its nesting.
fn condition(numbers: &mut Numbers, depth: u64) -> String {
    if depth > 0 && numbers.below(3) > 0 {
        let left = condition(numbers, depth - 1);
        let right = condition(numbers, depth - 1);
        return match numbers.below(4) {
            0 => format!("({left} OR {right})"),
            1 => format!("NOT ({left} AND {right})"),
            _ => format!("({left} AND {right})"),
        };
    }
    let pick = |numbers: &mut Numbers, from: &[&str]| {
        from[usize::try_from(numbers.below(from.len() as u64)).unwrap()].to_owned()
    };
    let comparison = pick(numbers, &["=", "!=", "<", "<=", ">", ">="]);
    let text = pick(numbers, &["''", "'a'", "'ab'", "'b'", "'longer than twelve bytes'", "'zz'"]);
    match numbers.below(13) {
        0 | 1 => format!("k {comparison} {}", numbers.below(220) as i64 - 60),
        2 => format!("k IN ({}, {}, 3)", numbers.below(150), numbers.below(150)),
        3 => format!("s {comparison} {text}"),
        4 => format!("s LIKE {}", pick(numbers, &["'a%'", "'ab_'", "'%a'", "'b'", "'l%s'"])),
        5 => format!("l {comparison} {text}"),
        6 => format!("e {comparison} {}", pick(numbers, &["'a'", "'b'", "'c'", "'nowhere'"])),
        7 => format!("x {comparison} {}.25", numbers.below(100) as i64 - 10),
        8 => format!("n {comparison} {}", numbers.below(40) as i64 - 20),
        9 => format!("n IS {}NULL", pick(numbers, &["", "NOT "])),
        10 => format!(
            "t {comparison} TIMESTAMP '2024-0{}-{:02} {:02}:00:00Z'",
            numbers.below(3) + 1,
            numbers.below(28) + 1,
            numbers.below(24)
        ),
        11 => format!("p {comparison} {}.{:02}", numbers.below(900), numbers.below(100)),
        _ => format!("d {comparison} DATE '2022-{:02}-01'", numbers.below(12) + 1),
    }
}

fn filters(partition_by: &str, order_by: &str, seed: u64, count: usize) {
    let fixture = Fixture::new(partition_by, order_by);
    let session = fixture.session(2);
    let mut numbers = Numbers::new(seed);
    for _ in 0..count {
        let condition = condition(&mut numbers, 2);
        let [ours, theirs] = ["t", "naive"].map(|table| {
            lines(&session, &format!("SELECT count(*), sum(id) FROM {table} WHERE {condition}"))
        });
        assert_eq!(ours, theirs, "{condition}");
    }
}

#[test]
fn by_month_and_number() {
    filters("toYYYYMM(t)", "(k, s, t)", 1, 150);
}

#[test]
fn by_enum_and_text() {
    filters("e", "(s, l, d)", 2, 150);
}

#[test]
fn by_time_and_decimal() {
    filters("tuple()", "(toStartOfDay(t), p, n)", 3, 150);
}

#[test]
fn by_float_and_uuid() {
    filters("(toYYYYMM(d), l)", "(x, u)", 4, 150);
}
