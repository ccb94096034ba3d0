//! What a scan of each column costs, on rows of a file.
#![expect(clippy::tests_outside_test_module, reason = "this file is tests alone")]

use std::fmt::Write;
use tambour::sample;
use tambour_advise::Present;
use tambour_bench::Findings;
use tambour_bench::columns::{NOW, Rows, Settings, run};
use tambour_report::Machine;

#[test]
fn columns_are_measured_with_what_they_have_and_could_have() {
    let mut text = "id,level,words\n".to_owned();
    for row in 0_u64..30_000 {
        let _ = writeln!(text, "{},{},word {} of many", 5 * row, row * 7919 % 13, row * 31 % 97);
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("rows.csv");
    std::fs::write(&path, text).unwrap();
    let options = tambour::files::ReadOptions::default();
    let sample::Rows { sample, .. } =
        sample::of_path::<tambour::Error>(&path, options, &mut |_| Ok(())).unwrap();
    let zstd = Present { codec: Some("ZSTD(3)".parse().unwrap()), on_disk: Some(5) };
    let present = vec![Present::default(), zstd, Present::default()];
    let rows = Rows { name: "rows".to_owned(), sample, present };
    let results = run(&[rows], &Settings { rounds: 1, threads: 1 }, &mut |_| {}).unwrap();
    let table = &results.tables[0];
    assert_eq!((table.rows, table.columns.len()), (30_000, 3));
    let now: Vec<String> = table
        .columns
        .iter()
        .map(|column| column.with_role(NOW).unwrap().spec.to_string())
        .collect();
    assert_eq!(now, ["LZ4", "ZSTD(3)", "LZ4"]);
    assert_eq!(table.columns[1].on_disk, Some(5));
    let id = &table.columns[0];
    let (now, best) = (id.with_role(NOW).unwrap(), id.with_role("size").unwrap());
    assert!(best.stored_bytes * 20 < now.stored_bytes, "{id:?}");
    assert!(table.total("size").0 <= table.total(NOW).0);
    assert!(table.columns.iter().all(|column| column.with_role("plain").is_some()));
    let json = results.to_json(&Machine::default());
    assert_eq!(json["tables"][0]["columns"][2]["name"], "words");
    assert!(results.tables(&Machine::default())[0].to_text().contains("scan ms"));
    let out = directory.path().join("out");
    results.write(&out, Machine::default()).unwrap();
    assert!(std::fs::read_to_string(out.join("report.html")).unwrap().contains("words"));
}
