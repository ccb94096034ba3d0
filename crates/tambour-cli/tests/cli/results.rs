//! What the commands do when all is well.

use crate::support::Sandbox;
use std::fmt::Write;
use std::fs;

const CSV: &str = "\
id,city,temperature,day
3,\"St. John's, NL\",-4.5,2024-01-31
1,Z\u{fc}rich,,2024-01-02
2,\"say \"\"hi\"\"\",21.25,2024-02-01
";

fn weather() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("weather.csv", CSV);
    sandbox.run(&["import", "weather.csv", "--into", "w", "--order-by", "id"]).expect(0);
    sandbox
}

#[test]
fn import_tells_what_it_did() {
    let sandbox = Sandbox::new();
    sandbox.file("weather.csv", CSV);
    let run = sandbox.run(&["import", "weather.csv", "--into", "w", "--order-by", "id"]).expect(0);
    assert_eq!(run.stdout, "");
    let run = run.says(&["w: 4 columns", "by id", "3 rows in 1 part"]);
    assert_eq!(run.stderr.lines().count(), 3, "{}", run.stderr);
    let run = sandbox.run(&["import", "weather.csv", "--into", "q", "--quiet"]).expect(0);
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", ""));
    sandbox
        .run(&["import", "weather.csv", "--into", "v", "-v"])
        .expect(0)
        .says(&["CREATE TABLE v", "ENGINE = MergeTree"]);
}

#[test]
fn import_as_json() {
    let sandbox = Sandbox::new();
    sandbox.file("weather.csv", CSV);
    let call = [
        "import",
        "weather.csv",
        "--into",
        "w",
        "--json",
        "--codec",
        "ZSTD(3)",
        "--codec",
        "id=LZ4",
    ];
    let result = sandbox.run(&call).expect(0).json();
    assert_eq!(result["schema"], "tambour/import/1");
    assert_eq!((&result["rows"], &result["parts"]), (&3.into(), &1.into()));
    assert_eq!(result["bytes_in"], CSV.len());
    let codecs: Vec<&str> = result["columns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|column| column["codec"].as_str().unwrap())
        .collect();
    assert_eq!(codecs, ["LZ4", "ZSTD(3)", "ZSTD(3)", "ZSTD(3)"]);
}

#[test]
fn import_with_a_statement_in_a_file() {
    let sandbox = Sandbox::new();
    sandbox.file("weather.csv", CSV);
    sandbox.file(
        "w.sql",
        "CREATE TABLE w (id UInt16, city String, temperature Nullable(Float32), day Date) \
         ENGINE = MergeTree PARTITION BY toYYYYMM(day) ORDER BY (city, id)",
    );
    let call = ["import", "weather.csv", "--into", "w", "--create", "@w.sql", "--json"];
    let result = sandbox.run(&call).expect(0).json();
    assert_eq!(result["parts"], 2);
    assert_eq!(result["columns"][2]["type"], "Nullable(Float32)");
}

#[test]
fn import_from_standard_input() {
    let sandbox = weather();
    let run = sandbox
        .shell("$TAMBOUR import - --format csv --into piped --order-by day < weather.csv")
        .expect(0);
    assert!(run.stderr.contains("3 rows"), "{}", run.stderr);
    let days = sandbox.run(&["sql", "piped", "SELECT day FROM piped"]).expect(0).stdout;
    assert_eq!(days, "2024-01-02\n2024-01-31\n2024-02-01\n");
}

/// What can be read only once is read once: pipes under a name, not only `-`.
#[test]
fn import_from_pipes() {
    let sandbox = weather();
    for call in [
        "$TAMBOUR import <(cat weather.csv) --format csv --into a",
        "cat weather.csv | $TAMBOUR import /dev/stdin --format csv --into b",
        "mkfifo f.csv; cat weather.csv > f.csv & $TAMBOUR import f.csv --into c",
        "$TAMBOUR import <(cat weather.csv) --format csv --into a --force",
    ] {
        let run = sandbox.shell(call).expect(0);
        assert!(run.stderr.contains(": 3 rows"), "{call}: {}", run.stderr);
    }
    let twice = "$TAMBOUR import /dev/stdin /dev/stdin --format csv --into d < <(cat weather.csv)";
    sandbox.shell(twice).expect(1).says(&["can be read only once"]);
}

#[test]
fn import_of_csv_without_names() {
    let sandbox = Sandbox::new();
    sandbox.file("x.csv", "1;a\n2;b\n");
    let call = ["import", "x.csv", "--into", "x", "--delimiter", ";", "--no-header"];
    sandbox.run(&call).expect(0).says(&["2 columns", "2 rows"]);
}

#[test]
fn results_in_every_format() {
    let sandbox = weather();
    let query = "SELECT id, city, temperature, day FROM w ORDER BY id";
    for format in ["table", "vertical", "csv", "tsv", "json", "jsonl", "markdown"] {
        let run = sandbox.run(&["sql", "w", query, "--format", format]).expect(0);
        assert_eq!(run.stderr, "", "{format}");
        insta::assert_snapshot!(format!("result_{format}"), run.stdout);
    }
    let run = sandbox.run(&["sql", "w", query, "--format", "null"]).expect(0);
    assert_eq!(run.stdout, "");
}

#[test]
fn results_without_rows() {
    let sandbox = weather();
    let query = "SELECT id, city FROM w WHERE id > 100";
    let run = |format| sandbox.run(&["sql", "w", query, "--format", format]).expect(0).stdout;
    assert_eq!(run("tsv"), "");
    assert_eq!(run("csv"), "id,city\n");
    assert_eq!(run("json"), "[]\n");
    assert_eq!(run("jsonl"), "");
    assert!(run("table").contains("id"));
}

#[test]
fn binary_results_are_read_back() {
    let sandbox = weather();
    for format in ["arrow", "parquet"] {
        let script = format!("$TAMBOUR sql w 'SELECT * FROM w' --format {format} > back.{format}");
        sandbox.shell(&script).expect(0);
        let (file, table) = (format!("back.{format}"), format!("b_{format}"));
        sandbox.run(&["import", &file, "--into", &table, "--order-by", "id"]).expect(0);
        let query = format!("SELECT id, city, temperature, day FROM {table}");
        let rows = sandbox.run(&["sql", &table, &query]).expect(0).stdout;
        let original = "SELECT id, city, temperature, day FROM w";
        assert_eq!(rows, sandbox.run(&["sql", "w", original]).expect(0).stdout);
    }
}

#[test]
fn format_clause_of_the_query() {
    let sandbox = weather();
    let run = |query: &str| sandbox.run(&["sql", "w", query]).expect(0).stdout;
    assert_eq!(run("SELECT id FROM w ORDER BY id FORMAT CSV"), "1\n2\n3\n");
    assert_eq!(run("SELECT id FROM w ORDER BY id FORMAT CSVWithNames"), "\"id\"\n1\n2\n3\n");
    assert_eq!(run("SELECT id FROM w WHERE id = 1 FORMAT JSONEachRow"), "{\"id\":1}\n");
    assert!(run("SELECT id FROM w FORMAT PrettyCompact").contains('\u{2502}'));
    assert!(run("SELECT id FROM w WHERE id = 1 FORMAT Vertical").contains("\nid: 1\n"));
}

#[test]
fn settings_without_effect_are_told() {
    let sandbox = weather();
    let call = ["sql", "w", "-c", "SET max_threads = 1; SELECT 1 SETTINGS max_memory_usage = 2"];
    let run = sandbox.run(&call).expect(0);
    assert_eq!(run.stdout, "1\n");
    run.says(&[
        "SET max_threads = 1 has no effect here",
        "SETTINGS max_memory_usage = 2 has no effect here",
    ]);
}

#[test]
fn queries_change_nothing() {
    let sandbox = weather();
    for statement in ["COPY w TO 'out.csv'", "DROP TABLE w", "CREATE TABLE x AS SELECT 1"] {
        let run = sandbox.run(&["sql", "w", statement]).expect(1);
        run.says(&["--write"]);
    }
    assert!(!sandbox.path().join("out.csv").exists());
}

#[test]
fn statements_from_flags_files_and_pipes() {
    let sandbox = weather();
    let run = sandbox.run(&["sql", "w", "-c", "SELECT 1; SELECT 2", "-c", "SELECT ';'"]).expect(0);
    assert_eq!(run.stdout, "1\n2\n;\n");
    sandbox.file("q.sql", "-- two of them;\nSELECT count(*) FROM w;\n\nSELECT max(id) FROM w\n");
    assert_eq!(sandbox.run(&["sql", "w", "-f", "q.sql"]).expect(0).stdout, "3\n3\n");
    assert_eq!(sandbox.shell("$TAMBOUR sql w < q.sql").expect(0).stdout, "3\n3\n");
    assert_eq!(sandbox.shell("$TAMBOUR sql w -f - < q.sql").expect(0).stdout, "3\n3\n");
    assert_eq!(sandbox.run(&["sql", "SELECT 1 + 1"]).expect(0).stdout, "2\n");
}

#[test]
fn tables_by_name_and_by_another() {
    let sandbox = weather();
    fs::create_dir(sandbox.path().join("other")).unwrap();
    sandbox.run(&["import", "weather.csv", "--into", "other/w"]).expect(0);
    let twice = sandbox.run(&["sql", "w", "other/w", "SELECT 1"]).expect(2);
    twice.says(&["two tables are named \"w\"", "other=other/w"]);
    let query = "SELECT count(*) FROM w JOIN o ON w.id = o.id";
    assert_eq!(sandbox.run(&["sql", "w", "o=other/w", query]).expect(0).stdout, "3\n");
    // A table is also known by an absolute path, with a slash after it, and as the current directory.
    assert_eq!(sandbox.run(&["sql", "w/", "SELECT count(*) FROM w"]).expect(0).stdout, "3\n");
    assert_eq!(
        sandbox.shell("cd w && $TAMBOUR sql . 'SELECT count(*) FROM w'").expect(0).stdout,
        "3\n"
    );
}

/// A query and more of them in one call run in the order of writing.
#[test]
fn a_query_and_commands_go_together() {
    let sandbox = weather();
    let call = ["sql", "w", "SELECT count() FROM w", "-c", "SELECT min(id) FROM w"];
    assert_eq!(sandbox.run(&call).expect(0).stdout, "3\n1\n");
}

/// Keys whose functions wrap around: what is left out by them would be missing without a word.
#[test]
fn keys_that_wrap_around_leave_no_rows_out() {
    let sandbox = Sandbox::new();
    let numbers: Vec<String> = (-128..128).map(|x: i32| x.to_string()).collect();
    sandbox.file("x.csv", format!("x\n{}\n", numbers.join("\n")));
    let day = |day: u32| format!("1999-{:02}-{:02}", day / 28 + 1, day % 28 + 1);
    let days: Vec<String> = (0..200).map(day).collect();
    sandbox.file("d.csv", format!("d\n{}\n", days.join("\n")));
    let cases = [
        ("x", "x Int8", "PARTITION BY intDiv(x, 200) ORDER BY x"),
        ("x", "x Int8", "ORDER BY intDiv(x, 200)"),
        ("d", "d Date", "PARTITION BY toYYYYMM(toDate(d)) ORDER BY toDate(d)"),
    ];
    for (file, column, keys) in cases {
        let create = format!(
            "CREATE TABLE t ({column}) ENGINE = MergeTree {keys} SETTINGS index_granularity = 16"
        );
        let source = format!("{file}.csv");
        let import = ["import", source.as_str(), "--into", "t", "--create", &create, "--force"];
        sandbox.run(&import).expect(0);
        let conditions: &[(&str, &str)] = if file == "x" {
            &[("x >= 0", "128\n"), ("x > 100", "27\n"), ("intDiv(x, 200) = 0", "111\n")]
        } else {
            &[("d < '2200-01-01'", "200\n"), ("d > '1960-01-01'", "200\n")]
        };
        for (condition, rows) in conditions {
            let query = format!("SELECT count() FROM t WHERE {condition}");
            let found = sandbox.run(&["sql", "t", &query]).expect(0).stdout;
            assert_eq!(found, *rows, "{keys}: {condition}");
        }
    }
}

#[test]
fn statistics_on_request() {
    let sandbox = weather();
    let run = sandbox.run(&["sql", "w", "SELECT sum(id % 10) FROM w", "--stats"]).expect(0);
    assert_eq!(run.stdout, "6\n");
    run.says(&[
        "1 row in set. Elapsed: ",
        "Processed 3 rows, ",
        "rows/s.",
        "1 of 1 part",
        "1 of 1 granule",
    ]);
    // What the statistics of the parts answer is not read.
    let known = sandbox.run(&["sql", "w", "SELECT sum(id) FROM w", "--stats"]).expect(0);
    assert_eq!(known.stdout, "6\n");
    known.says(&["Read 0 of 0 parts"]);
    let quiet = sandbox.run(&["sql", "w", "SELECT sum(id) FROM w"]).expect(0);
    assert_eq!(quiet.stderr, "");
}

#[test]
fn long_results_are_cut_for_people_only() {
    let sandbox = Sandbox::new();
    sandbox.table();
    let query = "SELECT id FROM t ORDER BY id";
    let table =
        sandbox.run(&["sql", "t", query, "--format", "table", "--rows-max", "5"]).expect(0).stdout;
    insta::assert_snapshot!(table);
    let all =
        sandbox.run(&["sql", "t", query, "--format", "table", "--rows-max", "0"]).expect(0).stdout;
    assert_eq!(all.lines().count(), 1004);
    let csv =
        sandbox.run(&["sql", "t", query, "--format", "csv", "--rows-max", "5"]).expect(0).stdout;
    assert_eq!(csv.lines().count(), 1001);
}

#[test]
fn export_and_import_again() {
    let sandbox = weather();
    let rows = |table: &str| {
        let query = format!("SELECT id, city, temperature, day FROM {table} ORDER BY id");
        sandbox.run(&["sql", table, &query]).expect(0).stdout
    };
    for extension in ["csv", "tsv", "jsonl", "parquet", "arrow"] {
        let file = format!("x.{extension}");
        sandbox.run(&["export", "w", &file]).expect(0).says(&["3 rows"]);
        let table = format!("back_{extension}");
        sandbox.run(&["import", &file, "--into", &table]).expect(0);
        assert_eq!(rows(&table), rows("w"), "{extension}");
    }
    let run =
        sandbox.run(&["export", "w", "-", "--format", "csv", "--columns", "day,id"]).expect(0);
    assert_eq!(run.stdout, "day,id\n2024-01-02,1\n2024-02-01,2\n2024-01-31,3\n");
    let json = sandbox.run(&["export", "w", "y.csv", "--json"]).expect(0).json();
    assert_eq!((&json["schema"], &json["rows"]), (&"tambour/export/1".into(), &3.into()));
    let names: Vec<_> =
        fs::read_dir(sandbox.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!names.iter().any(|name| name.to_string_lossy().ends_with(".tmp")), "{names:?}");
}

#[test]
fn optimize_merges() {
    let sandbox = weather();
    sandbox.run(&["import", "weather.csv", "--into", "w", "--append"]).expect(0);
    let result = sandbox.run(&["optimize", "w", "--json"]).expect(0).json();
    assert_eq!(result["schema"], "tambour/optimize/1");
    assert_eq!((&result["parts_before"], &result["parts_after"]), (&2.into(), &1.into()));
    let ids = sandbox.run(&["sql", "w", "SELECT id FROM w"]).expect(0).stdout;
    assert_eq!(ids, "1\n1\n2\n2\n3\n3\n");
    sandbox.run(&["optimize", "w"]).expect(0).says(&["nothing to merge"]);
    sandbox.run(&["verify", "w"]).expect(0);
}

#[test]
fn optimize_takes_codecs() {
    let sandbox = weather();
    let codecs = ["--codec", "ZSTD(3)", "--codec", "id=Delta,LZ4"];
    let call = [&["optimize", "w", "--json"], &codecs[..]].concat();
    let result = sandbox.run(&call).expect(0).json();
    // One part before and after, but another one.
    assert_eq!((&result["parts_before"], &result["parts_after"]), (&1.into(), &1.into()));
    assert_eq!(result["rows"], 3);
    let part = sandbox.part("w");
    let text = sandbox.run(&["inspect", part.to_str().unwrap()]).expect(0).stdout;
    assert!(text.contains("ZSTD") && text.contains("Delta"), "{text}");
    let ids = sandbox.run(&["sql", "w", "SELECT id FROM w"]).expect(0).stdout;
    assert_eq!(ids, "1\n2\n3\n");
    sandbox.run(&["verify", "w"]).expect(0);
    sandbox.run(&["optimize", "w", "--codec", "nothing=LZ4"]).expect(1).says(&["nothing", "city"]);
    sandbox.run(&["optimize", "w", "--codec", "PFOR"]).expect(2).says(&["--portable=no"]);
    sandbox.run(&["optimize", "w", "--codec", "auto(size)"]).expect(0);
}

#[test]
fn inspect_tells_what_is_there() {
    let sandbox = weather();
    let table = sandbox.run(&["inspect", "w", "--json"]).expect(0).json();
    assert_eq!((&table["schema"], &table["kind"]), (&"tambour/inspect/1".into(), &"table".into()));
    assert_eq!(table["rows"], 3);
    assert_eq!(table["columns"][1]["name"], "city");
    let part = sandbox.part("w");
    let path = part.to_str().unwrap();
    let json = sandbox.run(&["inspect", path, "--json", "--blocks"]).expect(0).json();
    assert_eq!((&json["kind"], &json["form"]), (&"part".into(), &"wide".into()));
    assert_eq!(json["primary_index"]["entries"][0], "(1)");
    assert_eq!(json["blocks"]["id.bin"][0]["good"], true);
    let text = sandbox.run(&["inspect", path]).expect(0).stdout;
    for word in
        ["wide", "mrk2", "3 rows in 1 granule", "city", "LZ4", "id.bin", "checksums.txt", "(all)"]
    {
        assert!(text.contains(word), "{word}: {text}");
    }
    let bin = part.join("id.bin");
    let blocks = sandbox.run(&["inspect", bin.to_str().unwrap(), "--blocks"]).expect(0).stdout;
    assert!(blocks.contains("1 block") && blocks.contains("good"), "{blocks}");
    sandbox.file("x.pq", b"PAR1 and so on");
    sandbox.run(&["inspect", "x.pq"]).expect(5).says(&["Parquet", "not supported here"]);
}

#[test]
fn errors_as_json() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["inspect", "nothing", "--json"]).expect(1);
    let error: serde_json::Value = serde_json::from_str(&run.stderr).unwrap();
    assert_eq!(error["schema"], "tambour/error/1");
    assert_eq!(error["exit"], 1);
    assert!(error["message"].as_str().unwrap().contains("nothing"));
    sandbox.file("r.csv", "a,b\n1,2\n3\n");
    let run = sandbox.run(&["import", "--json", "r.csv", "--into", "t"]).expect(1);
    let error: serde_json::Value = serde_json::from_str(&run.stderr).unwrap();
    assert_eq!((&error["path"], &error["row"]), (&"r.csv".into(), &2.into()));
}

#[test]
fn attach_scripts() {
    let sandbox = weather();
    let script = sandbox.run(&["attach-script", "w"]).expect(0).stdout;
    let place = sandbox.path().display().to_string();
    insta::assert_snapshot!("attach_script", script.replace(&place, "/place"));
    sandbox.shell("$TAMBOUR attach-script w | sh -n").expect(0);
    let from = sandbox.run(&["attach-script", "w", "--from"]).expect(0).stdout;
    insta::assert_snapshot!("attach_script_from", from.replace(&place, "/place"));
    let sql = sandbox
        .run(&["attach-script", "w", "--sql", "--database", "d-b", "--name", "x"])
        .expect(0)
        .stdout;
    insta::assert_snapshot!("attach_script_sql", sql);
    let hosts = ["attach-script", "w", "--host", "ch1", "--host", "ch2"];
    let script = sandbox.run(&hosts).expect(0).stdout;
    assert_eq!(script.matches("clickhouse-client --host ch1 --query").count(), 2, "{script}");
    assert_eq!(script.matches("clickhouse-client --host ch2 --query").count(), 1, "{script}");
}

#[test]
fn the_shell_on_a_terminal() {
    let sandbox = weather();
    sandbox.file("typed", ".tables\nSELECT count(*) AS n\nFROM w;\nSELECT broken;\n.mode csv\nSELECT 7 AS x;\n\\d w\n.exit\n");
    let call = r#"TERM=dumb script -qec '"$TAMBOUR" sql w' /dev/null < typed"#;
    let screen = sandbox.shell(call).expect(0).stdout;
    for text in ["1 row in set. Elapsed:", "broken", "x\r\n7\r\n", "CREATE TABLE", "tambour :) "] {
        assert!(screen.contains(text), "{text:?}: {screen}");
    }
    let history = sandbox.path().join(".local/state/tambour/history");
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&history).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    assert!(fs::read_to_string(history).unwrap().contains("SELECT count"));
}

#[test]
fn layouts_are_those_that_the_named_server_reads() {
    let sandbox = Sandbox::new();
    let mut random = 7_u64;
    let mut text = "day,words\n".to_owned();
    for _ in 0..6000 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let (day, word) = ((random >> 33) % 28 + 1, format!("{random:016x}"));
        text += &format!(
            "{}-01-{day:02},{}\n",
            1980 + day,
            &word[..usize::try_from((random >> 40) % 15 + 1).unwrap()]
        );
    }
    sandbox.file("rows.csv", text);
    let import = |table: &str, codec: &str| {
        let call = [
            "import", "rows.csv", "--into", table, "--codec", codec, "--types", "smallest",
            "--json",
        ];
        sandbox.run(&call).expect(0).json()["create"].as_str().unwrap().to_owned()
    };
    let has_sizes = |table: &str, part: &str| {
        sandbox.path().join(table).join(part).join("serialization.json").exists()
    };
    assert!(import("now", "auto(size)").contains("`day` LowCardinality(Date)"));
    assert!(has_sizes("now", "all_1_1_0"));
    for codec in ["auto(size, 'since=24.8')", "auto(size, plain)"] {
        let table = if codec.contains("plain") { "plain" } else { "since" };
        let create = import(table, codec);
        assert!(create.contains("`day` Date") && !create.contains("suspicious"), "{create}");
        assert!(!has_sizes(table, "all_1_1_0"));
        sandbox
            .run(&["recompress", "now", "--codec", codec])
            .expect(5)
            .says(&["strings with sizes", "tambour optimize --codec"]);
    }
    sandbox.run(&["optimize", "now", "--codec", "auto(size, 'since=24.8')"]).expect(0);
    assert!(!has_sizes("now", "all_1_1_1"));
    sandbox.run(&["verify", "now"]).expect(0);
}

#[test]
fn later_rows_widen_the_table() {
    let sandbox = Sandbox::new();
    let rows = |from: u32, value: &dyn Fn(u32) -> String| {
        let mut text = "id,n,s\n".to_owned();
        for row in from..from + 2000 {
            text += &format!("{row},{},s{}\n", value(row), row % 7);
        }
        text
    };
    sandbox.file("one.csv", rows(0, &|row| (row % 200).to_string()));
    sandbox.file("two.csv", rows(70_000, &|row| format!("{row}.5")));
    let import = ["import", "one.csv", "--into", "t", "--order-by", "id", "--types", "smallest"];
    sandbox.run(&import).expect(0).says(&[
        "the smallest that hold these rows",
        "ClickHouse",
        "wraps",
    ]);
    sandbox
        .run(&["import", "one.csv", "--into", "natural"])
        .expect(0)
        .says(&["room for later rows"]);
    sandbox
        .run(&["import", "one.csv", "--into", "kept", "--keep-types"])
        .expect(0)
        .says(&["exactly"]);
    sandbox.run(&["import", "one.csv", "--into", "x", "--types", "keep", "--keep-types"]).expect(2);

    let append = ["import", "two.csv", "--into", "t", "--append"];
    sandbox.run(&append).expect(0).says(&[
        "column `id` is Int64 now, UInt16 before",
        "column `n` is Float64 now",
        "`tambour optimize` rewrites them",
    ]);
    let sql = |query: &str| sandbox.run(&["sql", "t", query, "--format", "tsv"]).expect(0).stdout;
    let count = "SELECT count(*), min(n), max(n) FROM t WHERE id >= 1999";
    let before = sql(count);
    assert!(before.ends_with("2001\t199\t71999.5\n"), "{before}");
    sandbox.run(&["verify", "t"]).expect(0);
    // Its old part has a key that a server would misread.
    sandbox.run(&["attach-script", "t"]).expect(1).says(&["tambour optimize t"]);
    sandbox.run(&["optimize", "t"]).expect(0);
    sandbox.run(&["attach-script", "t"]).expect(0);
    assert_eq!(sql(count), before);

    sandbox.file("three.csv", "id,n,s\n1,many,x\n");
    sandbox.run(&["import", "three.csv", "--into", "t", "--append"]).expect(1).says(&[
        "column `n` is Float64",
        "--append --create",
        "\"many\"",
    ]);
    let create = "CREATE TABLE t (id Int64, n String, s LowCardinality(String)) ENGINE = MergeTree ORDER BY id";
    sandbox.run(&["import", "three.csv", "--into", "t", "--append", "--create", create]).expect(0);
    let found = sql("SELECT count(*) FROM t WHERE n = 'many' OR n = '70000.5'");
    assert!(found.ends_with("2\n"), "{found}");
}

#[test]
fn blocks_of_small_reads_are_found_again() {
    let sandbox = Sandbox::new();
    sandbox.table();
    let query = "SELECT name, score FROM t WHERE id = 17";
    let call = |arguments: &[&str]| {
        let run =
            sandbox.run(&[&["sql", "t", "--stats", "-c", query, "-c", query], arguments].concat());
        let run = run.expect(0);
        (run.stdout, run.stderr)
    };
    let (plain, told) = call(&[]);
    assert!(!told.contains("in the cache"), "{told}");
    let (cached, told) = call(&["--block-cache", "16MiB"]);
    assert_eq!(cached, plain);
    let found: Vec<&str> = told.lines().filter(|line| line.contains("in the cache")).collect();
    let [first, second] = found[..] else { panic!("{told}") };
    assert!(first.starts_with("Found 0 of "), "{first}");
    let words: Vec<&str> = second.split(' ').collect();
    assert_eq!(words[1], words[3], "{second}");
}

#[test]
fn files_are_read_in_three_ways() {
    let sandbox = Sandbox::new();
    // Numbers that do not compress: files long enough to be read otherwise.
    let mut state = 1_u64;
    let mut csv = "a,b\n".to_owned();
    for _ in 0..60_000 {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        writeln!(csv, "{},{}", state >> 1, state >> 33).unwrap();
    }
    sandbox.file("t.csv", &csv);
    sandbox.run(&["import", "t.csv", "--into", "t"]).expect(0);
    let query = "SELECT count(), sum(cityHash64(a, b)) FROM t";
    let expected = sandbox.run(&["sql", "t", query]).expect(0).stdout;
    for way in ["buffered", "direct", "mmap"] {
        for command in
            [&["sql", "t", query][..], &["export", "t", "-", "--format", "csv"], &["verify", "t"]]
        {
            let run = sandbox.run(&[command, &["--io", way]].concat());
            // Some file systems in memory have no such access; then it is said.
            if way == "direct" && run.code != Some(0) {
                run.expect(1).says(&["cannot read past the page cache"]);
            } else if command[0] == "sql" {
                assert_eq!(run.expect(0).stdout, expected, "{way}");
            } else {
                run.expect(0);
            }
        }
    }
    sandbox
        .run(&["sql", "t", query, "--io", "fast"])
        .expect(2)
        .says(&["buffered", "direct", "mmap"]);
}
