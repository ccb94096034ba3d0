//! Imports of records that a person can trust: bad lines, live pipes, acknowledgements, followers, dictionaries.

use crate::support::Sandbox;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

fn lines(count: usize) -> String {
    (0..count).fold(String::new(), |mut text, k| {
        writeln!(text, "{{\"k\":{k},\"text\":\"the same words again and again\"}}").unwrap();
        text
    })
}

fn scan(sandbox: &Sandbox) -> String {
    sandbox.run(&["records", "scan", "store"]).expect(0).stdout
}

/// Lines of a child's standard output as they come.
fn output(child: &mut Child) -> Receiver<String> {
    let (sender, receiver) = channel();
    let output = child.stdout.take().unwrap();
    std::thread::spawn(move || {
        let lines = BufReader::new(output).lines().map_while(Result::ok);
        lines.for_each(|line| drop(sender.send(line)));
    });
    receiver
}

fn next(lines: &Receiver<String>) -> String {
    lines.recv_timeout(Duration::from_secs(20)).expect("a line in time")
}

#[test]
fn a_bad_line_of_a_file_keeps_all_of_it_out() {
    let sandbox = Sandbox::new();
    sandbox.run(&["records", "create", "store"]).expect(0);
    let good = lines(5000);
    sandbox.file("first.jsonl", lines(10));
    sandbox.file("bad.jsonl", format!("{good}{{oops\n{good}"));
    let both = ["records", "append", "store", "first.jsonl", "bad.jsonl"];
    sandbox.run(&both).expect(1).says(&["bad.jsonl, record 5001", "nothing was appended"]);
    assert_eq!(scan(&sandbox), "");
    // Times are looked at, too.
    sandbox.file("time.jsonl", format!("{good}{{\"at\":\"yesterday\"}}\n"));
    let timed = ["records", "append", "store", "time.jsonl", "--time", "at"];
    sandbox.run(&timed).expect(1).says(&["time.jsonl, record 5001", "nothing was appended"]);
    assert_eq!(scan(&sandbox), "");
    sandbox.file("bad.jsonl", &good);
    sandbox.run(&both).expect(0);
    assert_eq!(scan(&sandbox), lines(10) + &good);
}

#[test]
fn a_bad_line_of_a_pipe_tells_how_many_are_in_and_the_rest_follows() {
    let sandbox = Sandbox::new();
    sandbox.run(&["records", "create", "store"]).expect(0);
    let good = lines(5000);
    let append = "\"$TAMBOUR\" records append store --format jsonl";
    sandbox.file("bad", format!("{good}\n{{oops\n{good}"));
    sandbox.shell(&format!("cat bad | {append}")).expect(1).says(&[
        "-, record 5002",
        "ids 0 to 4999 are in",
        "--skip 5001",
    ]);
    assert_eq!(scan(&sandbox), good);
    sandbox.file("mended", format!("{good}\n{{}}\n{good}"));
    sandbox.shell(&format!("cat mended | {append} --skip 5001")).expect(0);
    assert_eq!(scan(&sandbox), format!("{good}{{}}\n{good}"));
}

#[test]
fn carriage_returns_come_back() {
    let sandbox = Sandbox::new();
    sandbox.run(&["records", "create", "store"]).expect(0);
    let text = "a\r\nb\n\r\n{\"c\":1}\r\n";
    sandbox.file("text.log", text);
    sandbox.run(&["records", "append", "store", "text.log"]).expect(0);
    sandbox.run(&["records", "export", "store", "out"]).expect(0);
    assert_eq!(fs::read_to_string(sandbox.path().join("out")).unwrap(), text);
}

#[test]
fn lines_of_a_live_pipe_are_acknowledged_and_followed() {
    let sandbox = Sandbox::new();
    sandbox.run(&["records", "create", "store"]).expect(0);
    let start = |arguments: &[&str]| {
        let mut command = sandbox.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
    };
    // Before there is a category.
    let mut tail = start(&["records", "tail", "store", "--follow"]);
    let followed = output(&mut tail);
    let mut append = start(&["records", "append", "store", "--ack"]);
    let acknowledged = output(&mut append);
    let mut input = append.stdin.take().unwrap();
    for k in 0..6_u64 {
        // Shorter than what tells compressed files.
        writeln!(input, "{k}").and_then(|()| input.flush()).unwrap();
        let line = next(&acknowledged);
        let line: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!((&line["first_id"], &line["end_id"]), (&k.into(), &(k + 1).into()));
        // Another process sees what was acknowledged.
        let seen = scan(&sandbox);
        assert_eq!(seen.lines().count() as u64, k + 1);
        assert_eq!(next(&followed), k.to_string());
    }
    // Half a line does not keep whole ones waiting.
    write!(input, "whole\nhalf").and_then(|()| input.flush()).unwrap();
    assert_eq!(next(&followed), "whole");
    // A killed import loses what was not acknowledged, and nothing else.
    append.kill().unwrap();
    append.wait().unwrap();
    assert_eq!(scan(&sandbox), "0\n1\n2\n3\n4\n5\nwhole\n");
    tail.kill().unwrap();
    tail.wait().unwrap();
    let last = sandbox.run(&["records", "tail", "store", "-n", "2"]).expect(0);
    assert_eq!(last.stdout, "5\nwhole\n");
}

#[test]
fn dictionaries_go_to_files_and_come_from_them() {
    let sandbox = Sandbox::new();
    sandbox.run(&["records", "create", "store", "--codec", "zstd"]).expect(0);
    let export = ["records", "dictionary", "export", "store", "events.dict"];
    sandbox.file("log.jsonl", lines(3000));
    sandbox.run(&["records", "append", "store", "log.jsonl"]).expect(0);
    sandbox.run(&export).expect(1).says(&["no dictionary"]);
    sandbox.run(&["records", "seal", "store"]).expect(0);
    sandbox.run(&export).expect(0);
    sandbox.run(&export).expect(1).says(&["--force"]);
    let bytes = fs::read(sandbox.path().join("events.dict")).unwrap();
    // As libzstd trains them.
    assert!(bytes.starts_with(&[0x37, 0xa4, 0x30, 0xec]));
    sandbox.run(&["records", "create", "other"]).expect(0);
    let import = ["records", "dictionary", "import", "other", "events.dict"];
    sandbox.run(&import).expect(0);
    sandbox.run(&["records", "append", "other", "log.jsonl"]).expect(0);
    let again = ["records", "dictionary", "export", "other", "again.dict"];
    sandbox.run(&again).expect(0);
    assert_eq!(fs::read(sandbox.path().join("again.dict")).unwrap(), bytes);
    // What begins like a dictionary of zstd has to be one; what is too long is none.
    sandbox.file("events.dict", &bytes[..20]);
    sandbox.run(&import).expect(1).says(&["events.dict"]);
    sandbox.file("events.dict", vec![7; 300_000]);
    sandbox.run(&import).expect(4).says(&["events.dict", "262144"]);
}

#[test]
fn records_are_updated_found_and_deleted_by_key() {
    let sandbox = Sandbox::new();
    sandbox.run(&["records", "create", "store"]).expect(0);
    let user = |id: u64, version: u64| format!("{{\"id\":{id},\"version\":{version}}}\n");
    let all = |version: u64| (0..300).map(|id| user(id, version)).collect::<String>();
    let append = ["records", "append", "store", "users.jsonl", "--key", "id"];
    for version in 0..3 {
        sandbox.file("users.jsonl", all(version));
        sandbox.run(&append).expect(0);
        sandbox.run(&["records", "seal", "store"]).expect(0);
    }
    let get = ["records", "get", "store", "--key", "7", "--key", "299"];
    assert_eq!(sandbox.run(&get).expect(0).stdout, user(7, 2) + &user(299, 2));
    let versions = sandbox.run(&["records", "get", "store", "--key", "7", "--all"]).expect(0);
    assert_eq!(versions.stdout, user(7, 0) + &user(7, 1) + &user(7, 2));
    assert_eq!(scan(&sandbox), all(2));
    let everything = sandbox.run(&["records", "scan", "store", "--all"]).expect(0).stdout;
    assert_eq!(everything, all(0) + &all(1) + &all(2));
    let count = sandbox.run(&["sql", "store", "SELECT count(), sum(version) FROM store"]).expect(0);
    assert_eq!(count.stdout.trim(), "300\t600");
    sandbox.run(&["records", "delete", "store", "--key", "7"]).expect(0);
    sandbox.run(&get).expect(1).says(&["no record has the key \"7\""]);
    let versions = sandbox.run(&["records", "get", "store", "--key", "7", "--all"]).expect(0);
    assert_eq!(versions.stdout, user(7, 0) + &user(7, 1) + &user(7, 2));
    sandbox.run(&["records", "delete", "store", "--key", "7"]).expect(1).says(&["no record"]);
    let compact = ["records", "compact", "store", "--json"];
    let done = sandbox.run(&compact).expect(0).json();
    assert_eq!((&done["segments"], &done["reclaimed"]), (&2.into(), &600.into()));
    assert_eq!(scan(&sandbox), all(2).replace(&user(7, 2), ""));
    sandbox.run(&["records", "get", "store", "5"]).expect(1).says(&["updated", "--key"]);
    sandbox.run(&["verify", "store"]).expect(0);
    // Keys that cannot be: none, an empty one, one that is neither a text nor a number, a huge one.
    let huge = format!("{{\"id\":\"{}\"}}", "k".repeat(70_000));
    for (line, code, said) in [
        ("{\"other\":1}", 1, "every record needs its key"),
        ("{\"id\":\"\"}", 1, "a key is empty"),
        ("{\"id\":1.5}", 1, "is not a key"),
        ("{\"id\":null}", 1, "is not a key"),
        (&huge, 4, "65535"),
    ] {
        sandbox.file("users.jsonl", user(1, 9) + line);
        let refused = sandbox.run(&append).expect(code);
        refused.says(&["users.jsonl, record 2", said, "nothing was appended"]);
    }
    assert_eq!(scan(&sandbox), all(2).replace(&user(7, 2), ""));
}

#[test]
fn words_are_searched_with_an_index_and_without() {
    let sandbox = Sandbox::new();
    sandbox.run(&["records", "create", "store", "--segment", "64KiB"]).expect(0);
    let line = |id: u64| {
        let (level, disk) = (["info", "ERROR"][usize::from(id % 50 == 3)], id % 7);
        format!("{{\"id\":{id},\"level\":\"{level}\",\"text\":\"disk sd{disk} is slow\"}}\n")
    };
    let all: String = (0..3000).map(line).collect();
    sandbox.file("log.jsonl", &all);
    sandbox.run(&["records", "append", "store", "log.jsonl", "--batch", "300"]).expect(0);
    sandbox.run(&["records", "seal", "store"]).expect(0);
    let query = "error AND \"disk sd3\" NOT id17*";
    let expected: String = (0..3000).filter(|id| id % 50 == 3 && id % 7 == 3).map(line).collect();
    let search = ["records", "search", "store", query];
    let without = sandbox.run(&search).expect(0).says(&["without an index"]);
    assert_eq!(without.stdout, expected);
    sandbox.file("none", "");
    sandbox.run(&["records", "append", "store", "none", "--index", "words"]).expect(0);
    let found = sandbox.run(&search).expect(0);
    assert_eq!((found.stdout.as_str(), found.stderr.contains("index")), (&expected[..], false));
    let count = sandbox.run(&[&search[..], &["--count"]].concat()).expect(0);
    assert_eq!(count.stdout.trim(), expected.lines().count().to_string());
    let json = sandbox.run(&[&search[..], &["--json", "--limit", "1"]].concat()).expect(0).json();
    assert_eq!((&json["count"], &json["hits"][0]["id"]), (&1.into(), &3.into()));
    sandbox.run(&["records", "search", "store", "a AND"]).expect(1).says(&["at byte", "a word"]);
    // Lost, told, made again.
    sandbox.run(&["records", "verify", "store"]).expect(0);
    let name = "store/default/00000000000000000000.words";
    fs::remove_file(sandbox.path().join(name)).unwrap();
    let verified = sandbox.run(&["records", "verify", "store"]).expect(3);
    assert!(verified.stdout.contains("--repair"), "{}", verified.stdout);
    assert_eq!(sandbox.run(&search).expect(0).stdout, expected);
    sandbox.run(&["records", "verify", "store", "--repair"]).expect(0);
    assert!(sandbox.path().join(name).exists());
}

#[test]
fn sql_over_words_is_the_same_with_an_index_and_without() {
    let sandbox = Sandbox::new();
    sandbox.run(&["records", "create", "store", "--segment", "64KiB"]).expect(0);
    let line =
        |id: u64| format!("{{\"id\":{id},\"text\":\"Disk sd{} user{}\"}}\n", id % 7, id % 500);
    sandbox.file("log.jsonl", (0..3000).map(line).collect::<String>());
    sandbox.run(&["records", "append", "store", "log.jsonl", "--batch", "300"]).expect(0);
    sandbox.run(&["records", "seal", "store"]).expect(0);
    sandbox.file("none", "");
    let queries = [
        ("hasToken(_record, 'user499')", "6\t10494"),
        ("hasToken(_record, 'disk')", "0\tNULL"),
        ("hasTokenCaseInsensitive(_record, 'DISK') AND id < 10", "10\t45"),
        ("_record LIKE '%d3 user499\"%'", "1\t2999"),
        ("_record LIKE '%ser499%' OR hasToken(_record, 'user498')", "12\t20982"),
        ("NOT hasToken(_record, 'user499') AND id > 2990", "8\t23956"),
    ];
    for indexed in [false, true] {
        for (filter, expected) in queries {
            let query = format!("SELECT count(), sum(id) FROM store WHERE {filter}");
            let got = sandbox.run(&["sql", "store", &query]).expect(0).stdout;
            let got = got.trim().replace("\\N", "NULL");
            assert_eq!(got, expected, "{filter}, with an index: {indexed}");
        }
        sandbox.run(&["records", "append", "store", "none", "--index", "words"]).expect(0);
    }
}

#[test]
fn tail_shows_what_was_appended_also_what_was_updated_since() {
    let sandbox = Sandbox::new();
    sandbox.run(&["records", "create", "store"]).expect(0);
    let job = |state: u64| format!("{{\"id\":\"job\",\"state\":{state}}}\n");
    let mut tail = sandbox.command(&["records", "tail", "store", "--follow"]);
    let mut tail = tail.stdout(Stdio::piped()).spawn().unwrap();
    let followed = output(&mut tail);
    sandbox.file("jobs.jsonl", (0..9).map(job).collect::<String>());
    let append = ["records", "append", "store", "jobs.jsonl", "--key", "id"];
    sandbox.run(&append).expect(0);
    for state in 0..9 {
        assert_eq!(next(&followed) + "\n", job(state));
    }
    tail.kill().unwrap();
    tail.wait().unwrap();
    let last = ["records", "tail", "store", "-n", "3"];
    let wanted = job(6) + &job(7) + &job(8);
    assert_eq!(sandbox.run(&last).expect(0).stdout, wanted);
    // A deletion is not a record.
    sandbox.run(&["records", "delete", "store", "--key", "job"]).expect(0);
    assert_eq!(sandbox.run(&last).expect(0).stdout, wanted);
    sandbox.run(&["records", "tail", "store", "-n", "0"]).expect(0);
}

#[test]
fn a_store_that_was_just_made_has_nothing_which_is_no_error() {
    let sandbox = Sandbox::new();
    sandbox.run(&["records", "create", "store"]).expect(0);
    for arguments in [
        &["records", "scan", "store"][..],
        &["records", "search", "store", "word"],
        &["records", "tail", "store"],
        &["records", "export", "store", "-"],
    ] {
        assert_eq!(sandbox.run(arguments).expect(0).stdout, "", "{arguments:?}");
    }
    let count = sandbox.run(&["sql", "store", "SELECT count() FROM store"]).expect(0);
    assert_eq!(count.stdout.trim(), "0");
    sandbox.file("empty.jsonl", "");
    let append = ["records", "append", "store", "empty.jsonl"];
    sandbox.run(&append).expect(0).says(&["nothing was appended"]);
    sandbox.run(&["records", "scan", "store", "--category", "other"]).expect(1).says(&["other"]);
}

#[test]
fn a_record_that_is_too_long_is_found_before_and_passed_over() {
    let sandbox = Sandbox::new();
    sandbox.run(&["records", "create", "store"]).expect(0);
    let good = "good\n".repeat(2500);
    for more in [1, 9] {
        let long = "y".repeat((16 << 20) + more);
        sandbox.file("long.txt", format!("{good}{long}\nend\n"));
        let append = ["records", "append", "store", "long.txt"];
        let refused = sandbox.run(&append).expect(1);
        refused.says(&["long.txt, record 2501", "nothing was appended", "limit"]);
        assert_eq!(scan(&sandbox), "");
    }
    let piped = "cat long.txt | \"$TAMBOUR\" records append store";
    let told = ["ids 0 to 2499 are in", "--skip 2500", "--skip 2501 passes over"];
    sandbox.shell(piped).expect(1).says(&told);
    assert_eq!(scan(&sandbox), good);
    sandbox.shell(&format!("{piped} --skip 2501")).expect(0);
    assert_eq!(scan(&sandbox), format!("{good}end\n"));
}

#[test]
fn salvage_names_keys_whose_later_record_is_lost() {
    let sandbox = Sandbox::new();
    sandbox.run(&["records", "create", "store"]).expect(0);
    let append = ["records", "append", "store", "in.jsonl", "--key", "id"];
    sandbox.file("in.jsonl", "{\"id\":\"a\",\"v\":1}\n");
    sandbox.run(&append).expect(0);
    sandbox.run(&["records", "seal", "store"]).expect(0);
    let others = lines(200).replace("\"k\"", "\"id\"");
    sandbox.file("in.jsonl", &others);
    sandbox.run(&append).expect(0);
    sandbox.run(&["records", "delete", "store", "--key", "a"]).expect(0);
    let seal = ["records", "seal", "store", "--group", "16", "--codec", "raw"];
    sandbox.run(&seal).expect(0);
    let file = sandbox.path().join("store/default/00000000000000000001.sealed");
    let mut bytes = std::fs::read(&file).unwrap();
    let last = others.lines().last().unwrap();
    let at = bytes.windows(last.len()).rposition(|it| it == last.as_bytes()).unwrap();
    bytes[at] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let salvage = ["records", "salvage", "store", "--to", "saved"];
    let saved = sandbox.run(&[&salvage[..], &["--json"]].concat()).expect(6).json();
    let doubtful = &saved["doubtful"];
    assert_eq!(doubtful.as_array().map(Vec::len), Some(1), "{saved}");
    assert_eq!((&doubtful[0]["key"], &doubtful[0]["old_id"]), (&"a".into(), &0.into()));
    assert_eq!((&doubtful[0]["lost_id"], &saved["doubtful_unknown"]), (&201.into(), &false.into()));
    let other = ["records", "salvage", "store", "--to", "other"];
    let told = sandbox.run(&other).expect(6).says(&["1 key has an older record again"]).stdout;
    assert!(told.contains("key \"a\" has record 0 again"), "{told}");
}

#[test]
fn searches_say_what_they_do_not_do() {
    let sandbox = Sandbox::new();
    sandbox.run(&["records", "create", "store"]).expect(0);
    sandbox.file("in.txt", "foo bar\n");
    sandbox.run(&["records", "append", "store", "in.txt"]).expect(0);
    let search = |query: &str| sandbox.run(&["records", "search", "store", query]);
    search("f*o").expect(1).says(&["only at the end of a word"]);
    search("foo and bar").expect(0).says(&["AND is the operator"]);
    assert_eq!(search("foo AND bar").expect(0).stdout, "foo bar\n");
}
