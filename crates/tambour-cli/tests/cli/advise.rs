//! `advise` on files and tables.

use crate::support::Sandbox;
use std::fmt::Write;
use std::fs;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let mut text = "id,price,city,day\n".to_owned();
    for row in 0..20_000_u64 {
        let city = ["Berlin", "Oslo", "Rome"][(row * 7919 % 3) as usize];
        let price = row * 7919 % 997;
        let _ = writeln!(text, "{},{price},{city},2026-01-{:02}", 5000 + row, 1 + row / 1000);
    }
    sandbox.file("sales.csv", text);
    sandbox
}

#[test]
fn a_file_gets_advice() {
    let sandbox = sandbox();
    let run = sandbox.run(&["advise", "sales.csv", "--goal", "size"]).expect(0);
    for word in
        ["20,000, all of them measured", "best for size", "id  ", "CODEC(", "who has these chains"]
    {
        assert!(run.stdout.contains(word), "{word}: {}", run.stdout);
    }
    let json = sandbox.run(&["advise", "sales.csv", "--json", "--goal", "size"]).expect(0).json();
    assert_eq!((&json["schema"], &json["rows"]), (&"tambour/advise/1".into(), &20_000.into()));
    let columns = json["columns"].as_array().unwrap();
    assert_eq!(columns.len(), 4);
    let id = &columns[0];
    let (best, now) =
        (id["best"]["size"]["bytes"].as_u64().unwrap(), id["now"]["bytes"].as_u64().unwrap());
    assert!(best * 20 < now, "equal steps take next to nothing: {best} of {now}");
    assert!(json["best"]["size"]["bytes"].as_u64() <= json["best"]["speed"]["bytes"].as_u64());
}

#[test]
fn a_table_gets_statements_and_a_page() {
    let sandbox = sandbox();
    sandbox.run(&["import", "sales.csv", "--into", "sales", "--codec", "ZSTD(1)"]).expect(0);
    let run = sandbox.run(&["advise", "sales", "--alter", "--out", "advice"]).expect(0);
    assert!(run.stdout.contains("ALTER TABLE sales MODIFY COLUMN id CODEC("), "{}", run.stdout);
    let page = fs::read_to_string(sandbox.path().join("advice/report.html")).unwrap();
    for word in ["Advice for sales", "id=\"table\"", "id=\"sizes\"", "id=\"speeds\""] {
        assert!(page.contains(word), "{word}");
    }
    let json = sandbox.run(&["advise", "sales", "--json"]).expect(0).json();
    assert_eq!(json["columns"][0]["now"]["codec"], "ZSTD(1)");
    assert!(json["columns"][0]["on_disk"].as_u64().unwrap() > 0);
}

#[test]
fn old_servers_are_kept_from_harm() {
    let sandbox = sandbox();
    let json =
        sandbox.run(&["advise", "sales.csv", "--json", "--server", "18.16"]).expect(0).json();
    for column in json["columns"].as_array().unwrap() {
        for measure in column["measured"].as_array().unwrap() {
            let codec = measure["codec"].as_str().unwrap();
            assert!(
                ["NONE", "LZ4", "ZSTD"].iter().any(|known| codec.starts_with(known)),
                "{codec}"
            );
            assert!(!codec.contains(',') && !codec.starts_with("LZ4HC"), "{codec}");
        }
    }
    sandbox.run(&["advise", "sales.csv", "--server", "new"]).expect(2);
}

#[test]
fn what_has_no_rows_gets_none() {
    let sandbox = Sandbox::new();
    sandbox.file("empty.csv", "a,b\n");
    sandbox.run(&["advise", "empty.csv"]).expect(1).says(&["without rows there is no advice"]);
    sandbox.run(&["advise", "nothing.csv"]).expect(1).says(&["nothing.csv"]);
    sandbox.run(&["advise"]).expect(2);
}
