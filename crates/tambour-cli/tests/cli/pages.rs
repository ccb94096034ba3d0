//! `tambour pages`: from a file to a store and back, damage, backups, what a file would take.

use crate::support::Sandbox;

/// A file of a few hundred kilobytes that compresses.
fn text(lines: usize) -> String {
    let mut text = String::new();
    for line in 0..lines {
        text += &format!("line {line} of {}: {}\n", line * 7 % 1000, line % 37);
    }
    text
}

fn loaded(layout: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("text", text(20_000));
    let load = ["pages", "load", "a.pages", "text", "--layout", layout, "--json"];
    let run = sandbox.run(&load).expect(0);
    let report = run.json();
    assert_eq!(report["schema"], "tambour/pages load/1");
    assert!(report["pages"].as_u64() > Some(20));
    sandbox
}

#[test]
fn what_was_loaded_comes_back() {
    for layout in ["packed", "holes"] {
        let sandbox = loaded(layout);
        let scan = ["pages", "scan", "a.pages", "--output", "back", "--json"];
        let report = sandbox.run(&scan).expect(0).json();
        let before = std::fs::read(sandbox.path().join("text")).unwrap();
        let back = std::fs::read(sandbox.path().join("back")).unwrap();
        assert_eq!(report["bytes"].as_u64(), Some(back.len() as u64));
        assert_eq!(before, back[..before.len()]);
        assert!(back[before.len()..].iter().all(|byte| *byte == 0));
        sandbox.run(&scan).expect(1).says(&["exists: --force replaces it"]);
        let stat = sandbox.run(&["pages", "stat", "a.pages", "--json"]).expect(0).json();
        assert_eq!(stat["layout"], layout);
        assert_eq!(stat["split_pages"], 0);
        assert!(stat["image_bytes"].as_u64() < stat["logical_bytes"].as_u64());
        let inspect = sandbox.run(&["inspect", "a.pages", "--json"]).expect(0).json();
        assert_eq!(inspect["page_count"], stat["page_count"]);
        sandbox.run(&["pages", "stat", "a.pages"]).expect(0);
        sandbox.run(&["verify", "a.pages"]).expect(0).says(&["good"]);
    }
}

#[test]
fn updates_compaction_and_conversion_keep_the_store_good() {
    let sandbox = loaded("packed");
    let update = ["pages", "update", "a.pages", "--count", "200", "--batch", "16", "--json"];
    let report = sandbox.run(&update).expect(0).json();
    assert_eq!(report["updates"], 200);
    assert_eq!(report["commits"], 13);
    sandbox.run(&["pages", "compact", "a.pages", "--json"]).expect(0);
    sandbox.run(&["pages", "convert", "a.pages", "b.pages", "--layout", "holes"]).expect(0);
    for store in ["a.pages", "b.pages"] {
        sandbox.run(&["pages", "verify", store]).expect(0);
        sandbox.run(&["pages", "scan", store, "-o", &format!("{store}.raw")]).expect(0);
    }
    let raw = |name: &str| std::fs::read(sandbox.path().join(name)).unwrap();
    assert_eq!(raw("a.pages.raw"), raw("b.pages.raw"));
}

#[test]
fn backups_follow_each_other() {
    let sandbox = loaded("holes");
    let backup = ["pages", "backup", "a.pages", "full", "--json"];
    let report = sandbox.run(&backup).expect(0).json();
    let generation = report["generation"].as_u64().unwrap().to_string();
    sandbox.run(&["pages", "backup", "a.pages", "full"]).expect(1).says(&["--force"]);
    sandbox.run(&["pages", "restore", "full", "b.pages"]).expect(0);
    sandbox.run(&["pages", "update", "a.pages", "--count", "5"]).expect(0);
    sandbox.run(&["pages", "backup", "a.pages", "more", "--since", &generation]).expect(0);
    sandbox.run(&["pages", "restore", "more", "b.pages"]).expect(0);
    sandbox.run(&["pages", "restore", "more", "b.pages"]).expect(1).says(&["backup does not fit"]);
    for store in ["a.pages", "b.pages"] {
        sandbox.run(&["pages", "scan", store, "-o", &format!("{store}.raw")]).expect(0);
    }
    let raw = |name: &str| std::fs::read(sandbox.path().join(name)).unwrap();
    assert_eq!(raw("a.pages.raw"), raw("b.pages.raw"));
}

#[test]
fn damage_is_listed_with_its_page_and_exit_code_3() {
    let sandbox = loaded("packed");
    let path = sandbox.path().join("a.pages");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[10_500] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    for command in [&["verify", "a.pages", "--json"][..], &["pages", "verify", "a.pages", "--json"]]
    {
        let report = sandbox.run(command).expect(3).json();
        assert_eq!(report["good"], false);
        assert_eq!(report["damage"][0]["page"], 0);
    }
    sandbox.run(&["pages", "scan", "a.pages"]).expect(3).says(&["page 0", "checksum mismatch"]);
    std::fs::write(&path, &bytes[..20_000]).unwrap();
    sandbox.run(&["pages", "stat", "a.pages"]).expect(3).says(&["truncated"]);
}

#[test]
fn calls_that_make_no_sense_are_refused() {
    let sandbox = loaded("packed");
    sandbox.run(&["pages", "create", "a.pages"]).expect(1).says(&["exists already"]);
    sandbox.run(&["pages", "create", "a.pages", "--force"]).expect(0);
    sandbox.run(&["pages", "create", "text", "--force"]).expect(1).says(&["not a page store"]);
    sandbox.run(&["pages", "create", "b", "--page-size", "5000"]).expect(2).says(&["power of two"]);
    sandbox.run(&["pages", "create", "b", "--codec", "gzip"]).expect(2);
    sandbox.run(&["pages", "stat", "text"]).expect(5).says(&["not a page store"]);
    sandbox.run(&["pages", "stat", "none"]).expect(1);
    sandbox.run(&["pages", "update", "a.pages"]).expect(1).says(&["no pages"]);
    sandbox.run(&["pages", "load", "a.pages", "none"]).expect(1);
}

#[test]
fn space_tells_what_a_file_would_take() {
    let sandbox = loaded("packed");
    let space = ["pages", "space", "text", "--out", "report", "--json"];
    let report = sandbox.run(&space).expect(0).json();
    let rows = report["space"].as_array().unwrap();
    assert!(rows.len() >= 20);
    for row in rows {
        assert!(row["holes_bytes"].as_u64().unwrap() % 4096 == 0);
    }
    let html = std::fs::read_to_string(sandbox.path().join("report/report.html")).unwrap();
    assert!(html.contains("class=\"cell\""));
    let table = sandbox.run(&["pages", "space", "text", "--no-dictionary"]).expect(0);
    assert!(table.stdout.contains("zlib:6"));
}

#[test]
fn doctor_says_something_of_every_probe() {
    let sandbox = Sandbox::new();
    let report = sandbox.run(&["pages", "doctor", ".", "--json"]).expect(0).json();
    assert!(report["probes"].as_array().unwrap().len() >= 2);
}

#[test]
fn single_pages_come_out_and_go_in() {
    let sandbox = loaded("packed");
    sandbox.run(&["pages", "scan", "a.pages", "-o", "raw"]).expect(0);
    let raw = std::fs::read(sandbox.path().join("raw")).unwrap();
    sandbox.run(&["pages", "get", "a.pages", "3", "-o", "page"]).expect(0);
    let page = std::fs::read(sandbox.path().join("page")).unwrap();
    assert_eq!(page, raw[3 * 16384..4 * 16384]);
    sandbox.run(&["pages", "get", "a.pages", "3", "-o", "page"]).expect(1).says(&["--force"]);
    sandbox
        .run(&["pages", "get", "a.pages", "99999"])
        .expect(1)
        .says(&["page 99999 was never written"]);
    sandbox.run(&["pages", "put", "a.pages", "5", "page"]).expect(0);
    sandbox.run(&["pages", "get", "a.pages", "5", "-o", "page", "--force"]).expect(0);
    assert_eq!(std::fs::read(sandbox.path().join("page")).unwrap(), page);
    sandbox.file("short", "drum");
    let put = ["pages", "put", "a.pages", "6", "short"];
    sandbox.run(&put).expect(2).says(&["16384 bytes, got 4", "--pad"]);
    sandbox.run(&["pages", "put", "a.pages", "6", "short", "--pad"]).expect(0);
    sandbox.run(&["pages", "put", "a.pages", "6", "raw"]).expect(2).says(&["more than 16384"]);
    sandbox.run(&["pages", "verify", "a.pages"]).expect(0);
}

#[test]
fn what_is_no_database_is_not_imported() {
    let sandbox = loaded("packed");
    let import = |source: &str| sandbox.run(&["pages", "sqlite", "import", source, "--into", "b"]);
    import("text").expect(1).says(&["is not an SQLite database"]);
    import("a.pages").expect(1).says(&["is a store already"]);
    import("nowhere").expect(1).says(&["nowhere"]);
    let export = ["pages", "sqlite", "export", "a.pages", "--to", "b.db"];
    sandbox.run(&export).expect(1).says(&["cannot copy"]);
    assert!(!sandbox.path().join("b").exists() && !sandbox.path().join("b.db").exists());
}

#[test]
fn a_store_that_others_use_by_turns_is_waited_for() {
    let sandbox = loaded("packed");
    let file = std::fs::File::open(sandbox.path().join("a.pages")).unwrap();
    for command in ["stat", "verify", "compact"] {
        file.lock().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(std::time::Duration::from_millis(300));
                file.unlock().unwrap();
            });
            sandbox.run(&["pages", command, "a.pages"]).expect(0);
        });
    }
    file.lock().unwrap();
    sandbox.run(&["pages", "stat", "a.pages"]).expect(1).says(&["is in use"]);
}
