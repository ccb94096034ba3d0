//! Workers as processes of their own: one answer, and an error with a name when one is killed, frozen or stopped.

use super::support::{Run, Sandbox};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// What no error takes unless something hangs. Ten seconds are promised; machines that run tests may be overloaded.
const PATIENCE: Duration = Duration::from_secs(40);

/// A worker that ends with the test.
struct Worker {
    process: Child,
    address: String,
}

impl Worker {
    fn start(sandbox: &Sandbox, more: &[&str]) -> Self {
        let mut arguments =
            vec!["worker", "--listen", "127.0.0.1:0", "--root", ".", "--threads", "1"];
        arguments.extend(more);
        let mut command = sandbox.command(&arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().expect("the worker starts");
        let mut line = String::new();
        let output = process.stdout.take().expect("its output is a pipe");
        BufReader::new(output).read_line(&mut line).expect("it says where it listens");
        let address = line.split([' ', ',']).nth(2).unwrap_or_default().to_owned();
        assert!(line.starts_with("listening on 127.0.0.1:"), "{line}");
        Self { process, address }
    }
    fn signal(&self, signal: &str) {
        let id = self.process.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // One that has ended cannot be killed.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A table with enough rows for workers, in two parts.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    for part in 0..2_u32 {
        let mut csv = String::from("id,k,name\n");
        for row in 0..60_000_u32 {
            let id = part * 60_000 + row;
            csv += &format!("{id},{},name {}\n", id % 1000, id % 7919);
        }
        sandbox.file(&format!("{part}.csv"), csv);
    }
    sandbox.run(&["import", "0.csv", "--into", "t", "--order-by", "id"]).expect(0);
    sandbox.run(&["import", "1.csv", "--into", "t", "--append"]).expect(0);
    sandbox
}

fn both(workers: &[Worker]) -> String {
    workers.iter().map(|worker| worker.address.as_str()).collect::<Vec<_>>().join(",")
}

const QUERY: &str = "SELECT k, count() AS c, max(name) FROM t GROUP BY k ORDER BY k LIMIT 20";
/// A query that takes much longer than the test waits before it disturbs a worker.
const LONG: &str = "SELECT count() FROM t a JOIN t b ON a.k = b.k JOIN t c ON b.k = c.k \
    WHERE cityHash64(a.name, b.name, c.name) % 1000003 = 5";

/// Runs a long query, disturbs a worker while it runs, and looks at the error.
#[track_caller]
#[expect(clippy::disallowed_methods, reason = "a deadline for another process")]
fn disturbed(disturb: impl Fn(&Worker), expected: &[&str]) {
    let sandbox = sandbox();
    let workers = [Worker::start(&sandbox, &[]), Worker::start(&sandbox, &[])];
    let list = both(&workers);
    let mut command = sandbox.command(&["sql", "t", "--workers", &list, LONG]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let query = command.spawn().unwrap();
    std::thread::sleep(Duration::from_secs(3));
    let start = Instant::now();
    disturb(&workers[1]);
    let run = finished(query);
    assert!(start.elapsed() < PATIENCE, "{:?}: {run:?}", start.elapsed());
    let run = run.expect(1).says(expected);
    assert!(run.stderr.contains("worker 127.0.0.1:"), "{}", run.stderr);
    assert_eq!(run.stdout, "");
    // Without it there is an answer.
    let alone = sandbox.run(&["sql", "t", "--workers", &workers[0].address, QUERY]).expect(0);
    assert_eq!(alone.stdout.lines().count(), 20);
}

fn finished(process: Child) -> Run {
    let Output { status, stdout, stderr } = process.wait_with_output().unwrap();
    Run {
        code: status.code(),
        stdout: String::from_utf8(stdout).unwrap(),
        stderr: String::from_utf8(stderr).unwrap(),
    }
}

#[test]
fn workers_answer_as_one_process_and_are_counted() {
    let sandbox = sandbox();
    let workers: Vec<Worker> = (0..4).map(|_| Worker::start(&sandbox, &[])).collect();
    for query in
        [QUERY, "SELECT sum(id), min(name) FROM t", "SELECT id FROM t WHERE k = 3 ORDER BY id"]
    {
        let here = sandbox.run(&["sql", "t", query, "--stats"]).expect(0);
        for count in [1, 2, 4] {
            let list = both(&workers[..count]);
            let there = sandbox.run(&["sql", "t", "--workers", &list, query, "--stats"]).expect(0);
            assert_eq!(there.stdout, here.stdout, "{count}: {query}");
            assert!(there.stderr.contains("Read 2 of 2 parts"), "{}", there.stderr);
        }
    }
    let mut command = sandbox.command(&["sql", "t", "EXPLAIN SELECT sum(id % 10) FROM t"]);
    command.env("TAMBOUR_WORKERS", both(&workers[..2]));
    let plan = Sandbox::run_command(command).expect(0).stdout;
    assert!(plan.contains("Stage 1 on 2 workers"), "{plan}");
}

#[test]
fn a_killed_worker_is_an_error() {
    disturbed(|worker| worker.signal("-KILL"), &[]);
}

#[test]
fn a_frozen_worker_is_an_error() {
    disturbed(|worker| worker.signal("-STOP"), &[]);
}

#[test]
fn a_worker_that_is_told_to_stop_says_so() {
    disturbed(|worker| worker.signal("-TERM"), &[]);
    let sandbox = sandbox();
    let mut worker = Worker::start(&sandbox, &[]);
    worker.signal("-TERM");
    assert!(worker.process.wait().unwrap().success());
}

#[test]
fn dead_addresses_tokens_and_flags() {
    let sandbox = sandbox();
    sandbox.file("token", "sesame\n");
    sandbox.file("other", "Sesame\n");
    // With one alone there is nothing to divide, and the coordinator reads by itself.
    let workers: Vec<Worker> =
        (0..2).map(|_| Worker::start(&sandbox, &["--token-file", "token"])).collect();
    let list = both(&workers);
    let sql = |more: &[&str]| {
        let mut arguments = vec!["sql", "t", QUERY, "--workers", &list];
        arguments.extend(more);
        sandbox.run(&arguments)
    };
    sql(&["--token-file", "token"]).expect(0);
    sql(&["--token-file", "other"]).expect(1).says(&["wrong token", "worker 127.0.0.1:"]);
    sql(&[]).expect(1).says(&["wrong token"]);
    sql(&["--token-file", "token", "--write"]).expect(2).says(&["--write"]);
    let dead = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let list = dead.to_string();
    sandbox
        .run(&["sql", "t", "--workers", &list, QUERY])
        .expect(1)
        .says(&[&list, "cannot be reached"]);
    sandbox.run(&["sql", "t", "--workers", "nowhere", QUERY]).expect(1).says(&["host:port"]);
    sandbox
        .run(&["worker", "--listen", "0.0.0.0:0", "--root", "."])
        .expect(1)
        .says(&["--token-file"]);
    sandbox.run(&["worker", "--root", "missing"]).expect(1).says(&["root missing"]);
}

#[test]
fn workers_verify_and_import_as_one_process_does() {
    let sandbox = sandbox();
    let workers: Vec<Worker> = (0..2).map(|_| Worker::start(&sandbox, &["--write"])).collect();
    let list = both(&workers);
    let here = sandbox.run(&["verify", "t", "--json"]).expect(0).stdout;
    let there = sandbox.run(&["verify", "t", "--json", "--workers", &list]).expect(0).stdout;
    let without_time = |text: &str| {
        let mut json: serde_json::Value = serde_json::from_str(text).unwrap();
        json.as_object_mut().unwrap().remove("seconds");
        json
    };
    assert_eq!(without_time(&there), without_time(&here));

    let import = ["import", "0.csv", "1.csv", "--order-by", "id"];
    sandbox.run(&[&import[..], &["--into", "here"]].concat()).expect(0);
    sandbox.run(&[&import[..], &["--into", "there", "--workers", &list]].concat()).expect(0);
    sandbox.run(&["verify", "there"]).expect(0);
    let rows = |table: &str| {
        let query = format!("SELECT * FROM {table} ORDER BY id");
        sandbox.run(&["sql", table, &query, "--format", "TSV"]).expect(0).stdout
    };
    assert_eq!(rows("there"), rows("here"));
    // The second time says so, as without workers.
    let again = ["import", "0.csv", "--into", "there", "--append", "--workers", &list];
    sandbox.run(&again).expect(0).says(&["has had the same rows before"]);
    assert_eq!(rows("there").lines().count(), 180_000);
    // What would widen a column without workers is told with them.
    let first = std::fs::read_to_string(sandbox.path().join("0.csv")).unwrap();
    let header = first.lines().next().unwrap();
    let row = vec!["some text"; header.split(',').count()].join(",");
    std::fs::write(sandbox.path().join("other.csv"), format!("{header}\n{row}\n")).unwrap();
    let other = ["import", "other.csv", "--into", "there", "--append", "--workers", &list];
    sandbox.run(&other).expect(1).says(&["workers change no types", "without workers"]);
}

#[test]
fn damage_that_workers_find_has_its_place() {
    let sandbox = sandbox();
    let workers: Vec<Worker> = (0..2).map(|_| Worker::start(&sandbox, &[])).collect();
    let list = both(&workers);
    let path = sandbox.path().join("t/all_2_2_0/name.bin");
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    // Workers are told whole paths.
    let table = sandbox.path().join("t").display().to_string();
    let here = sandbox.run(&["verify", &table]).expect(3);
    let there = sandbox.run(&["verify", "t", "--workers", &list]).expect(3);
    assert_eq!(there.stdout, here.stdout);
    // Only tables are sent.
    let part = sandbox.run(&["verify", "t/all_1_1_0", "--workers", &list]).expect(2);
    part.says(&["--workers verify tables"]);
}

/// What advice says of sizes, which no clock changes.
fn without_times(text: &str) -> serde_json::Value {
    let mut json: serde_json::Value = serde_json::from_str(text).unwrap();
    let all = json.as_object_mut().unwrap();
    for name in ["best", "now", "alter", "order"] {
        all.remove(name);
    }
    for column in all["columns"].as_array_mut().unwrap() {
        let column = column.as_object_mut().unwrap();
        column.remove("best");
        column["now"].as_object_mut().unwrap().remove("decode_gbps");
        for other in column["types"].as_array_mut().unwrap() {
            other.as_object_mut().unwrap().remove("best");
        }
        let measured = column["measured"].as_array_mut().unwrap();
        for chain in measured.iter_mut() {
            chain.as_object_mut().unwrap().remove("decode_gbps");
        }
        // Of the same size, the quicker one is first.
        measured.sort_by_key(ToString::to_string);
    }
    json
}

#[test]
fn workers_advise_as_one_process_does() {
    let sandbox = sandbox();
    let workers: Vec<Worker> = (0..2).map(|_| Worker::start(&sandbox, &[])).collect();
    let list = both(&workers);
    let advise = ["advise", "t", "--json", "--goal", "size"];
    let here = sandbox.run(&advise).expect(0).stdout;
    let there = sandbox.run(&[&advise[..], &["--workers", &list]].concat()).expect(0);
    assert!(there.stderr.contains("advised on"), "{}", there.stderr);
    assert_eq!(without_times(&there.stdout), without_times(&here));
    let files = sandbox.run(&["advise", "0.csv", "--workers", &list]).expect(2);
    files.says(&["not on files"]);
    // Without one of them, the other does its work; without both there is an error that names one.
    workers[1].signal("-KILL");
    sandbox.run(&["advise", "t", "--workers", &list]).expect(1).says(&[&workers[1].address]);
    let alone = sandbox.run(&["advise", "t", "--json", "--workers", &workers[0].address]);
    assert_eq!(without_times(&alone.expect(0).stdout)["goal"], "balance");
    // Damage has its place.
    let path = sandbox.path().join("t/all_2_2_0/name.bin");
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let damaged = sandbox.run(&["advise", "t", "--workers", &workers[0].address]).expect(3);
    damaged.says(&["all_2_2_0/name.bin"]);
}

#[test]
fn an_import_on_workers_is_all_or_nothing() {
    let sandbox = sandbox();
    let reading = Worker::start(&sandbox, &[]);
    let import = |workers: &str, more: &[&str]| {
        let import = ["import", "0.csv", "1.csv", "--into", "new", "--workers", workers];
        sandbox.run(&[&import[..], more].concat())
    };
    import(&reading.address, &[]).expect(1).says(&["start it with --write", &reading.address]);
    let workers = [Worker::start(&sandbox, &["--write"]), Worker::start(&sandbox, &["--write"])];
    let list = both(&workers);
    import(&list, &["--create", "CREATE TABLE new (id UInt8, k UInt16, name String) ORDER BY id"])
        .expect(1)
        .says(&["id"]);
    // Nothing is left of imports that failed.
    let names = |sandbox: &Sandbox| {
        let entries = std::fs::read_dir(sandbox.path()).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.contains("new"))
            .collect();
        names.sort();
        names
    };
    assert_eq!(names(&sandbox), [""; 0]);
    import(&list, &[]).expect(0);
    assert_eq!(names(&sandbox), ["new"]);
}

/// A table of three partitions with several parts each, rows that replace each other, hidden ones and expired ones.
fn parts_to_merge(sandbox: &Sandbox, name: &str) {
    let create = format!(
        "CREATE TABLE {name} (id UInt32, k UInt32, v String, day Date) ENGINE = ReplacingMergeTree \
         PARTITION BY k % 3 ORDER BY (k, id) TTL day + INTERVAL 1 DAY"
    );
    sandbox.file("none.csv", "id,k,v,day\n");
    sandbox.run(&["import", "none.csv", "--into", name, "--create", &create]).expect(0);
    for round in 0..4 {
        let insert = format!(
            "INSERT INTO {name} (id, k, v, day) SELECT number % 500, number % 30, '{round}', \
             if(number % 11 = 0, toDate('2001-01-01'), toDate('2100-01-01')) FROM numbers({})",
            900 + round * 40
        );
        sandbox.run(&["sql", name, "--write", &insert]).expect(0);
    }
    let delete = format!("DELETE FROM {name} WHERE id % 13 = 4");
    sandbox.run(&["sql", name, "--write", &delete]).expect(0);
}

fn rows_in_order(sandbox: &Sandbox, table: &str) -> String {
    let query = format!("SELECT * FROM {table} ORDER BY k, id, v, day");
    sandbox.run(&["sql", table, &query, "--format", "TSV"]).expect(0).stdout
}

#[test]
fn workers_merge_and_recompress_as_one_process_does() {
    let sandbox = Sandbox::new();
    let workers: Vec<Worker> = (0..2).map(|_| Worker::start(&sandbox, &["--write"])).collect();
    let list = both(&workers);
    for name in ["here", "there"] {
        parts_to_merge(&sandbox, name);
    }
    let codecs = ["--codec", "ZSTD(3)", "--codec", "v=LZ4HC(9)"];
    let shown = |table: &str| {
        let parts = format!(
            "SELECT partition_id, count(), sum(rows), max(level) FROM system.parts WHERE table = '{table}' \
             GROUP BY 1 ORDER BY 1"
        );
        let columns = format!(
            "SELECT name, type, compression_codec FROM system.columns WHERE table = '{table}' ORDER BY name"
        );
        let tell =
            |query: &str| sandbox.run(&["sql", table, query, "--format", "TSV"]).expect(0).stdout;
        (tell(&parts), tell(&columns))
    };
    for command in ["recompress", "optimize"] {
        let here = sandbox.run(&[&[command, "here", "--json"][..], &codecs].concat()).expect(0);
        let there = [command, "there", "--json", "--workers", &list];
        let there = sandbox.run(&[&there[..], &codecs].concat()).expect(0);
        for field in ["parts", "parts_before", "parts_after", "rows", "rows_expired", "bytes_after"]
        {
            assert_eq!(there.json()[field], here.json()[field], "{command}: {field}");
        }
        assert_eq!(shown("there"), shown("here"), "{command}");
        let rows = [rows_in_order(&sandbox, "there"), rows_in_order(&sandbox, "here")];
        assert!(rows[0] == rows[1], "{command}: other rows");
        sandbox.run(&["verify", "there"]).expect(0);
    }
    // There is nothing left to merge, and nothing left beside the table.
    let done = sandbox.run(&["optimize", "there", "--json", "--workers", &list]).expect(0).json();
    assert_eq!((&done["parts_after"], &done["rows"]), (&3.into(), &0.into()));
    let hidden = std::fs::read_dir(sandbox.path()).unwrap().filter(|entry| {
        entry.as_ref().unwrap().file_name().to_string_lossy().starts_with(".there")
    });
    assert_eq!(hidden.count(), 0);
}

#[test]
fn a_merge_on_workers_is_all_or_nothing() {
    let sandbox = Sandbox::new();
    parts_to_merge(&sandbox, "t");
    let before = rows_in_order(&sandbox, "t");
    let reading = Worker::start(&sandbox, &[]);
    let merge = |workers: &str| sandbox.run(&["optimize", "t", "--workers", workers]);
    merge(&reading.address).expect(1).says(&["start it with --write", &reading.address]);
    // One that has gone is named before anything is begun; one that goes later has its work done by the other.
    let writing = [Worker::start(&sandbox, &["--write"]), Worker::start(&sandbox, &["--write"])];
    let watched = sandbox.run(&["optimize", "t", "--watch", "--workers", &writing[0].address]);
    watched.expect(2).says(&["--workers"]);
    let part = std::fs::read_dir(sandbox.path().join("t")).unwrap().find_map(|entry| {
        let path = entry.unwrap().path().join("v.bin");
        path.exists().then_some(path)
    });
    let (part, whole) = part.map(|path| (path.clone(), std::fs::read(path).unwrap())).unwrap();
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 4;
    std::fs::write(&part, damaged).unwrap();
    merge(&both(&writing)).expect(1).says(&["v.bin"]);
    std::fs::write(&part, whole).unwrap();
    assert_eq!(rows_in_order(&sandbox, "t"), before);
    merge(&both(&writing)).expect(0);
    sandbox.run(&["verify", "t"]).expect(0);
}
