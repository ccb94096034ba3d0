//! The advisor's search against an exhaustive one, on rows of a file.
#![expect(clippy::cast_possible_truncation, reason = "numbers of tests are small")]
#![expect(clippy::tests_outside_test_module, reason = "this file is tests alone")]

use std::fmt::Write;
use tambour::sample;
use tambour_bench::search::{run, table};
use tambour_codec::choose::Objective;

/// Rows with ids, clocks, prices, states and words.
fn csv(rows: u64) -> String {
    let mut text = "id,time,price,count,state,words\n".to_owned();
    let mut state = 7_u64;
    let mut random = |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let words = ["quick", "final", "regular", "deposits", "sleep", "furiously", "accounts"];
    for row in 0..rows {
        let time =
            format!("2026-11-20 {:02}:{:02}:{:02}", row / 4096 % 24, row / 64 % 60, row % 60);
        let price = random(100_000) as f64 / 100.0;
        let (count, name) = (random(50), ["new", "paid", "sent"][random(3) as usize]);
        let _ = write!(text, "{},{time},{price},{count},{name},", 1000 + 3 * row);
        for _ in 0..random(7) {
            let _ = write!(text, "{} ", words[random(7) as usize]);
        }
        text.push('\n');
    }
    text
}

#[test]
fn the_short_search_is_nearly_as_good() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("rows.csv");
    std::fs::write(&path, csv(60_000)).unwrap();
    let options = tambour::files::ReadOptions::default();
    let rows = sample::of_path::<tambour::Error>(&path, options, &mut |_| Ok(())).unwrap();
    let outcome = run("rows", &rows.sample).unwrap();
    assert_eq!((outcome.rows, outcome.goals.len()), (60_000, 3));
    // By bytes nothing is timed: the limit holds on any machine.
    let size = outcome.goals.iter().find(|goal| goal.objective == Objective::Size).unwrap();
    assert!(size.cost < 1.03, "{size:?}");
    let told = size.told_bytes as f64 / size.long_bytes as f64;
    assert!((0.97..1.03).contains(&told), "{size:?}");
    assert!(table(&[outcome]).to_text().contains("rows"));
}
