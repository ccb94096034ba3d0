//! Record stores on the command line: made, filled in every format, sealed, read, damaged, salvaged.

use crate::support::Sandbox;
use std::fs;

fn line(id: u64) -> String {
    let path = "/drum".repeat(usize::try_from(id % 6).unwrap());
    format!("{{\"id\":{id},\"t\":{},\"host\":\"web-{}\",\"path\":\"{path}\"}}", id * 1000, id % 9)
}

fn lines(count: u64) -> String {
    (0..count).map(|id| line(id) + "\n").collect()
}

/// A sealed store of this many records, and one that is open.
fn store(count: u64) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("log.jsonl", lines(count));
    sandbox.run(&["records", "create", "events"]).expect(0);
    let append = ["records", "append", "events", "log.jsonl", "--time", "t", "--time-unit", "ms"];
    let appended = sandbox.run(&[&append[..], &["--json"]].concat()).expect(0).json();
    assert_eq!(appended["end_id"], count);
    let sealed = sandbox.run(&["records", "seal", "events", "--json"]).expect(0).json();
    assert_eq!(sealed["segments"][0]["records"], count);
    sandbox.file("more.jsonl", line(count));
    sandbox.run(&["records", "append", "events", "more.jsonl", "--time", "t"]).expect(0);
    sandbox
}

#[test]
fn records_come_back_by_id_by_range_and_by_time() {
    let sandbox = store(2000);
    let got = sandbox.run(&["records", "get", "events", "17", "2000", "3"]).expect(0);
    assert_eq!(got.stdout, [line(17), line(2000), line(3), String::new()].join("\n"));
    let scan = ["records", "scan", "events", "--from", "1998", "--to", "2001"];
    assert_eq!(sandbox.run(&scan).expect(0).stdout.lines().count(), 3);
    let since = ["records", "scan", "events", "--since", "1970-01-01T00:33:18Z", "--limit", "2"];
    assert_eq!(sandbox.run(&since).expect(0).stdout, format!("{}\n{}\n", line(1998), line(1999)));
    sandbox.run(&["records", "export", "events", "all.jsonl"]).expect(0);
    assert_eq!(fs::read_to_string(sandbox.path().join("all.jsonl")).unwrap(), lines(2001));
    sandbox.run(&["records", "export", "events", "all.jsonl"]).expect(1).says(&["--force"]);
}

#[test]
fn every_format_is_read_and_written() {
    for (format, text) in [
        ("lines", b"a\n\nb c\nlast".to_vec()),
        ("nul", b"a\0\0b c\0last".to_vec()),
        ("length", b"\x01\0\0\0a\0\0\0\0\x03\0\0\0b c\x04\0\0\0last".to_vec()),
    ] {
        let sandbox = Sandbox::new();
        sandbox.file("in", text);
        sandbox.run(&["records", "create", "store"]).expect(0);
        sandbox.run(&["records", "append", "store", "in", "--format", format]).expect(0);
        let scan = ["records", "scan", "store", "--format", "lines"];
        assert_eq!(sandbox.run(&scan).expect(0).stdout, "a\n\nb c\nlast\n", "{format}");
        sandbox.run(&["records", "export", "store", "out", "--format", format]).expect(0);
        sandbox.run(&["records", "create", "again"]).expect(0);
        sandbox.run(&["records", "append", "again", "out", "--format", format]).expect(0);
        let scan = ["records", "scan", "again"];
        assert_eq!(sandbox.run(&scan).expect(0).stdout, "a\n\nb c\nlast\n", "{format}");
    }
}

#[test]
fn stat_inspect_and_verify_know_record_stores() {
    let sandbox = store(2000);
    let stat = sandbox.run(&["inspect", "events", "--json"]).expect(0).json();
    assert_eq!(stat["schema"], "tambour/records-stat/1");
    let segments = stat["categories"][0]["segments"].as_array().unwrap();
    assert_eq!(segments[0]["state"], "sealed");
    assert!(segments[0]["index_bytes"].as_u64().unwrap() <= 4000);
    assert!(sandbox.run(&["records", "stat", "events"]).expect(0).stdout.contains("sealed"));
    let verified = sandbox.run(&["verify", "events", "--json"]).expect(0).json();
    assert_eq!((&verified["good"], &verified["records"]), (&true.into(), &2001.into()));
}

#[test]
fn damage_is_found_and_salvage_saves_the_rest() {
    let sandbox = store(2000);
    let path = sandbox.path().join("events/default/00000000000000000000.sealed");
    let mut bytes = fs::read(&path).unwrap();
    bytes[200] ^= 1;
    fs::write(&path, bytes).unwrap();
    let verified = sandbox.run(&["records", "verify", "events"]).expect(3);
    assert!(verified.stdout.contains("a group"), "{}", verified.stdout);
    sandbox.run(&["records", "salvage", "events", "--to", "saved"]).expect(6);
    sandbox.run(&["verify", "saved"]).expect(0);
    let saved = sandbox.run(&["records", "stat", "saved", "--json"]).expect(0).json();
    let records = saved["categories"][0]["records"].as_u64().unwrap();
    assert!((1985..2001).contains(&records), "{records}");
}

#[test]
fn what_a_crash_leaves_is_told_from_damage() {
    let sandbox = store(100);
    let path = sandbox.path().join("events/default/00000000000000000100.open");
    let whole = fs::read(&path).unwrap();
    let find = |magic: &[u8]| whole.windows(4).position(|four| four == magic).unwrap();
    // The beginning of the commit: its record is not counted as lost.
    fs::write(&path, &whole[..find(b"TRF2") - 3]).unwrap();
    let salvage = ["records", "salvage", "events", "--to", "cut", "--json"];
    let saved = sandbox.run(&salvage).expect(0).json();
    assert_eq!((&saved["records"], &saved["lost"]), (&100.into(), &0.into()));
    assert_eq!(saved["cut"][0]["records"], 1);
    // Something else in its place: who knows what that was.
    let mut damaged = whole.clone();
    damaged[find(b"TRF1")..].fill(0xa5);
    fs::write(&path, damaged).unwrap();
    let salvage = ["records", "salvage", "events", "--to", "saved", "--json"];
    let saved = sandbox.run(&salvage).expect(6).json();
    assert_eq!((&saved["records"], &saved["unknown"]), (&100.into(), &true.into()));
    sandbox.run(&["records", "append", "events", "more.jsonl", "--time", "t"]).expect(0);
    // The log goes on, and what is damaged is kept.
    let kept = path.with_extension("open.damaged-1");
    assert!(kept.exists() && fs::read(&path).unwrap().starts_with(b"TMBROPEN"));
}

#[test]
fn wrong_calls_and_missing_things_have_their_codes() {
    let sandbox = store(100);
    sandbox.run(&["records", "get", "events", "101"]).expect(1).says(&["no record 101"]);
    sandbox
        .run(&["records", "get", "events", "1", "--category", "x"])
        .expect(1)
        .says(&["category"]);
    sandbox.run(&["records", "get", "nothing", "1"]).expect(1).says(&["not a record store"]);
    sandbox.run(&["records", "create", "events"]).expect(1).says(&["exists already"]);
    sandbox.file("bad.jsonl", "{\"a\":1}\n{oops}\n");
    let append = ["records", "append", "events", "bad.jsonl"];
    sandbox.run(&append).expect(1).says(&["bad.jsonl, record 2"]);
    sandbox.file("cut", b"\x09\0\0\0abc");
    let cut = ["records", "append", "events", "cut", "--format", "length"];
    sandbox.run(&cut).expect(1).says(&["record 1", "within a record of 9 bytes"]);
    sandbox.file("huge", b"\xff\xff\xff\x7f");
    sandbox
        .run(&["records", "append", "events", "huge", "--format", "length"])
        .expect(1)
        .says(&["limit"]);
}

#[test]
fn the_report_has_both_plots_and_an_answer() {
    let sandbox = store(5000);
    // Without a page it tells the same.
    let told = sandbox.run(&["records", "train", "log.jsonl"]).expect(0).stdout;
    assert!(told.lines().last().is_some_and(|it| it.starts_with("Yes") || it.starts_with("No")));
    let report = ["records", "train", "log.jsonl", "--report", "report.html"];
    let run = sandbox.run(&report).expect(0);
    assert!(run.stdout.contains("record  ") && run.stdout.contains("128 KiB"), "{}", run.stdout);
    let answer = run.stdout.lines().last().unwrap();
    assert!(answer.starts_with("Yes") || answer.starts_with("No"), "{answer}");
    let html = fs::read_to_string(sandbox.path().join("report.html")).unwrap();
    for title in ["Ratio against block size", "Single-record reads against block size"] {
        assert!(html.contains(title));
    }
    let train = ["records", "train", "log.jsonl", "--into", "events"];
    sandbox.run(&train).expect(0).says(&["dictionary of"]);
    sandbox.run(&["verify", "events"]).expect(0);
}

#[test]
fn the_oldest_segments_are_dropped() {
    let sandbox = store(1000);
    let retain = ["records", "retain", "events", "--bytes", "1KB", "--json"];
    assert_eq!(sandbox.run(&retain).expect(0).json()["records"], 1000);
    sandbox.run(&["records", "get", "events", "999"]).expect(1).says(&["1000 to 1001"]);
    assert_eq!(
        sandbox.run(&["records", "get", "events", "1000"]).expect(0).stdout,
        line(1000) + "\n"
    );
}

#[test]
fn compressed_text_is_read_and_binary_records_are_not_touched() {
    let sandbox = Sandbox::new();
    sandbox.file("log.jsonl", lines(500));
    sandbox.run(&["compress", "--format", "zstd", "log.jsonl", "-o", "log.jsonl.zst"]).expect(0);
    sandbox.run(&["records", "create", "store"]).expect(0);
    let appended = ["records", "append", "store", "log.jsonl.zst", "--json"];
    assert_eq!(sandbox.run(&appended).expect(0).json()["end_id"], 500);
    let scan = ["records", "scan", "store"];
    assert_eq!(sandbox.run(&scan).expect(0).stdout, lines(500));
    let mut cut = fs::read(sandbox.path().join("log.jsonl.zst")).unwrap();
    sandbox.file("nul", &cut);
    sandbox.run(&["records", "create", "binary"]).expect(0);
    sandbox.run(&["records", "append", "binary", "nul", "--format", "nul"]).expect(0);
    sandbox.run(&["records", "export", "binary", "back", "--format", "nul"]).expect(0);
    let back = fs::read(sandbox.path().join("back")).unwrap();
    assert!(back.starts_with(&cut), "{} bytes of {}", back.len(), cut.len());
    cut.truncate(cut.len() - 9);
    sandbox.file("cut.jsonl.zst", &cut);
    let appended = ["records", "append", "store", "cut.jsonl.zst"];
    sandbox.run(&appended).expect(1).says(&["cut.jsonl.zst"]);
}
