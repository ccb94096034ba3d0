//! Repeated reads of granules, of a table made from a file.
#![expect(clippy::tests_outside_test_module, reason = "this file is tests alone")]

use std::fmt::Write;
use tambour::ImportOptions;
use tambour_bench::points::{Settings, run};

#[test]
fn both_read_the_same_and_only_one_finds_blocks() {
    let mut text = "id,words\n".to_owned();
    for row in 0_u64..40_000 {
        let _ = writeln!(text, "{row},word {} of many", row * 31 % 97);
    }
    let directory = tempfile::tempdir().unwrap();
    let (file, table) = (directory.path().join("rows.csv"), directory.path().join("t"));
    std::fs::write(&file, text).unwrap();
    tambour::import([&file], &table, &ImportOptions::default()).unwrap();
    let settings = Settings { table, cache_bytes: 64 << 20, granules: 4, rounds: 3, seed: 1 };
    let results = run(&settings).unwrap();
    assert_eq!(results.reads, 4);
    assert!(results.miss_us > 0.0 && results.hit_us > 0.0);
    assert!((results.found - 1.0).abs() < 1e-12, "all of them were read before");
    assert!(results.table().to_text().contains("cached"));
    let nothing = Settings { table: directory.path().join("none"), ..settings };
    assert!(run(&nothing).is_err());
}
