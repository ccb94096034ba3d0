//! The program as people and scripts meet it: what it prints, what it refuses, and with which exit code.
#![expect(
    clippy::tests_outside_test_module,
    clippy::unwrap_used,
    reason = "this file is tests alone"
)]

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// A file of places and a table of the same rows, by the library.
fn places(directory: &Path) {
    let mut text = "id,city\n".to_owned();
    for row in 0..3000 {
        text += &format!("{},{}\n", 3 * row, ["Rome", "Oslo"][row % 2]);
    }
    std::fs::write(directory.join("places.csv"), text).unwrap();
    let definition =
        "CREATE TABLE places (`id` Int64, `city` String) ENGINE = MergeTree ORDER BY id";
    let definition = tambour::TableDefinition::parse(definition).unwrap();
    let mut input = tambour::files::Input::open(
        &[directory.join("places.csv")],
        tambour::files::ReadOptions::default(),
    )
    .unwrap();
    let disk = tambour::storage::disk();
    let options = tambour::InsertOptions::default();
    let table = directory.join("places");
    let mut insert = tambour::Insert::begin(&disk, &table, &definition, options).unwrap();
    while let Some(batch) = input.next_batch() {
        insert.write(batch.unwrap()).unwrap();
    }
    insert.commit().unwrap();
}

fn run(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tambour-bench"));
    command.current_dir(directory).args(arguments).env_remove("TAMBOUR_ISA");
    command.output().unwrap()
}

/// Standard output of a run that must end well.
fn told(directory: &Path, arguments: &[&str]) -> String {
    let output = run(directory, arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

fn json(directory: &Path, arguments: &[&str]) -> Value {
    serde_json::from_str(&told(directory, arguments)).unwrap()
}

#[test]
fn columns_and_codecs_of_files_tables_and_parts_are_measured() {
    let directory = tempfile::tempdir().unwrap();
    places(directory.path());
    let table = directory.path().join("places");
    let entries = std::fs::read_dir(&table).unwrap().map(|entry| entry.unwrap().path());
    let part = entries.into_iter().find(|path| path.join("columns.txt").exists()).unwrap();
    for path in ["places.csv", "places", part.to_str().unwrap()] {
        let found = json(directory.path(), &["columns", "--data", path, "--rounds", "1", "--json"]);
        assert_eq!(
            (&found["schema"], &found["benchmark"]),
            (&"tambour/bench/1".into(), &"columns".into())
        );
        let column = &found["tables"][0]["columns"][0];
        assert_eq!((&column["name"], &column["codecs"][0]["is"][0]), (&"id".into(), &"now".into()));
        assert!(found["machine"]["cpu"].is_string() && found["machine"]["caches"].is_string());
    }
    let call = ["codecs", "--data", "places", "--size", "8KiB", "--rounds", "1", "--out", "r"];
    let text = told(directory.path(), &call);
    assert!(text.contains("places.id, ") && text.contains("ns of decoding per byte"), "{text}");
    let page = std::fs::read_to_string(directory.path().join("r/report.html")).unwrap();
    assert!(page.contains("Codecs and chains") && page.contains("Machine and run"));
    assert!(directory.path().join("r/measurements.csv").exists());
    let found = json(directory.path(), &["search", "--data", "places.csv", "--json"]);
    assert_eq!(found["tables"][0]["goals"].as_array().map(Vec::len), Some(3));
}

#[test]
fn small_runs_of_the_others_end_well() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("data.txt"), b"drum and bass, ".repeat(5000)).unwrap();
    let call = ["decode", "--data", "data.txt", "--rounds", "1", "--json"];
    let found = json(directory.path(), &call);
    assert_eq!(found["files"][0]["bytes"], 75_000);
    let call = ["integers", "--rounds", "1", "--values", "256", "--json"];
    assert_eq!(json(directory.path(), &call)["benchmark"], "integers");
    let call = ["records", "--rounds", "1", "--bytes", "200KB", "--reads", "100", "--json"];
    assert_eq!(json(directory.path(), &call)["schema"], "tambour/bench-records/1");
}

#[test]
fn wrong_calls_end_with_two_and_the_rest_as_tambour_has_it() {
    let directory = tempfile::tempdir().unwrap();
    let calls: [&[&str]; 4] =
        [&[], &["encode"], &["decode", "--rounds", "0"], &["pages", "--size", "lots"]];
    for call in calls {
        let output = run(directory.path(), call);
        assert_eq!(output.status.code(), Some(2), "{call:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{call:?}");
    }
    let output = run(directory.path(), &["columns"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--data"));
    let output = run(directory.path(), &["decode", "--data", "nothing", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let error: Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!((&error["schema"], &error["kind"]), (&"tambour/error/1".into(), &"notfound".into()));
    let mut command = Command::new(env!("CARGO_BIN_EXE_tambour-bench"));
    let output = command.args(["hashes"]).env("TAMBOUR_ISA", "mmx").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn help_names_every_benchmark_as_the_other_program_does() {
    let directory = tempfile::tempdir().unwrap();
    let help = told(directory.path(), &["--help"]);
    let other = include_str!("../../tambour-cli/src/cli.rs");
    let commands = help.split("Commands:").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = commands.lines().filter_map(|line| line.split_whitespace().next());
    let names: Vec<&str> = names.filter(|name| *name != "help").collect();
    assert!(names.len() >= 9, "{help}");
    for name in names {
        assert!(other.contains(&format!("\n  {name} ")), "`tambour bench --help` lacks {name}");
        let page = told(directory.path(), &[name, "--help"]);
        assert!(page.contains(&format!("Usage: tambour bench {name}")), "{page}");
    }
}
