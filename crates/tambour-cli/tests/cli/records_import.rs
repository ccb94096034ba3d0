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
