//! Input that is wrong in one way each: a message that names the place, the right exit code, and the table as before.

use crate::support::{Run, Sandbox, program, snapshot};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// An import that goes wrong leaves nothing behind.
#[track_caller]
fn refused(sandbox: &Sandbox, arguments: &[&str], code: i32, says: &[&str]) -> Run {
    let before = snapshot(sandbox.path());
    let run = sandbox.run(arguments).expect(code).says(says);
    assert_eq!(run.stdout, "");
    assert!(
        run.stderr.starts_with("error: ") || run.stderr.contains("\nerror: "),
        "{}",
        run.stderr
    );
    assert_eq!(snapshot(sandbox.path()), before, "something was left behind");
    run
}

#[test]
fn missing_file() {
    let sandbox = Sandbox::new();
    let run = refused(&sandbox, &["import", "no.csv", "--into", "t"], 1, &["no.csv"]);
    insta::assert_snapshot!(run.stderr);
    sandbox.run(&["verify", "nothing"]).expect(1).says(&["nothing", "No such file"]);
    sandbox.run(&["inspect", "nothing"]).expect(1).says(&["nothing"]);
    sandbox.run(&["sql", "nothing"]).expect(1).says(&["nothing: no such directory"]);
    sandbox.run(&["sql", "a", "nothing", "SELECT 1"]).expect(1).says(&["a: no such directory"]);
    sandbox.run(&["export", "nothing", "x.csv"]).expect(1).says(&["nothing"]);
    sandbox.run(&["optimize", "nothing"]).expect(1).says(&["nothing"]);
    sandbox.run(&["attach-script", "nothing"]).expect(1).says(&["nothing"]);
}

#[test]
fn empty_file() {
    let sandbox = Sandbox::new();
    for name in ["e.csv", "e.tsv", "e.jsonl", "e.parquet", "e.arrow"] {
        sandbox.file(name, "");
        refused(&sandbox, &["import", name, "--into", "t"], 1, &[name]);
    }
}

#[test]
fn ragged_rows() {
    let sandbox = Sandbox::new();
    sandbox.file("r.csv", "a,b,c\n1,2,3\n4,5\n");
    let run =
        refused(&sandbox, &["import", "r.csv", "--into", "t"], 1, &["r.csv", "row 2", "line 3"]);
    insta::assert_snapshot!(run.stderr);
    sandbox.file("w.csv", "a,b\n1,2\n1,2,3\n");
    refused(&sandbox, &["import", "w.csv", "--into", "t"], 1, &["w.csv", "row 2"]);
}

#[test]
fn invalid_utf8() {
    let sandbox = Sandbox::new();
    sandbox.file("u.csv", b"name,n\nfine,1\nbr\xfcken,2\n");
    let run =
        refused(&sandbox, &["import", "u.csv", "--into", "t"], 1, &["u.csv", "row 2", "name"]);
    insta::assert_snapshot!(run.stderr);
}

#[test]
fn mixed_types_with_a_statement() {
    let sandbox = Sandbox::new();
    sandbox.file("m.csv", "id,n\n1,10\n2,many\n");
    let create = "CREATE TABLE m (id UInt32, n UInt32) ENGINE = MergeTree ORDER BY id";
    let run = refused(
        &sandbox,
        &["import", "m.csv", "--into", "t", "--create", create],
        1,
        &["m.csv", "row 2", "`n`", "many"],
    );
    insta::assert_snapshot!(run.stderr);
}

#[test]
fn mixed_types_without_a_statement_widen() {
    let sandbox = Sandbox::new();
    sandbox.file("m.csv", "id,n\n1,10\n2,many\n");
    sandbox.run(&["import", "m.csv", "--into", "t"]).expect(0);
    let rows = sandbox.run(&["sql", "t", "SELECT n FROM t ORDER BY id"]).expect(0).stdout;
    assert_eq!(rows, "10\nmany\n");
}

#[test]
fn statement_that_does_not_parse() {
    let sandbox = Sandbox::new();
    sandbox.file("m.csv", "id\n1\n");
    let create = "CREATE TABLE m (id UInt32 ENGINE = MergeTree";
    refused(&sandbox, &["import", "m.csv", "--into", "t", "--create", create], 1, &["line 1"]);
    sandbox.file("m.sql", create);
    refused(
        &sandbox,
        &["import", "m.csv", "--into", "t", "--create", "@m.sql"],
        1,
        &["m.sql", "line 1"],
    );
    refused(&sandbox, &["import", "m.csv", "--into", "t", "--create", "@no.sql"], 1, &["no.sql"]);
}

#[test]
fn keys_that_name_no_column() {
    let sandbox = Sandbox::new();
    sandbox.file("m.csv", "id,day\n1,2024-01-01\n");
    let says = ["--order-by", "nothing", "id, day"];
    refused(&sandbox, &["import", "m.csv", "--into", "t", "--order-by", "nothing"], 1, &says);
    let says = ["--codec", "nothing", "id, day"];
    refused(&sandbox, &["import", "m.csv", "--into", "t", "--codec", "nothing=LZ4"], 1, &says);
    let call = ["import", "m.csv", "--into", "t", "--order-by", "id", "--primary-key", "day"];
    refused(&sandbox, &call, 1, &["PRIMARY KEY", "prefix"]);
}

#[test]
fn very_long_line() {
    let sandbox = Sandbox::new();
    let mut text = b"a,b\n1,".to_vec();
    text.resize(3 << 20, b'x');
    sandbox.file("l.csv", &text);
    refused(&sandbox, &["import", "l.csv", "--into", "t", "--record-max", "1MiB"], 4, &["l.csv"]);
    sandbox.file("l.jsonl", [b"{\"a\":\"".as_slice(), &text[6..]].concat());
    refused(
        &sandbox,
        &["import", "l.jsonl", "--into", "t", "--record-max", "1MiB"],
        4,
        &["l.jsonl"],
    );
}

#[test]
fn line_without_an_end() {
    // As from `import -` of something that is not text: the input is cut at the limit, not read to its end.
    let sandbox = Sandbox::new();
    let mut child = sandbox
        .command(&["import", "-", "--format", "csv", "--into", "t"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let chunk = vec![b'x'; 1 << 20];
    let mut written = 0_u64;
    while written < 10_000 && input.write_all(&chunk).is_ok() {
        written += 1;
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(written < 300, "{written} MiB were read for a limit of 64 MiB");
    assert!(!sandbox.path().join("t").exists());
}

#[test]
fn unreadable_directory() {
    let sandbox = Sandbox::new();
    sandbox.file("plain", "a\n1\n");
    refused(&sandbox, &["import", "plain/x.csv", "--into", "t"], 1, &["plain/x.csv"]);
    sandbox.file("x.csv", "a\n1\n");
    refused(&sandbox, &["import", "x.csv", "--into", "plain/t"], 1, &["plain"]);
    refused(&sandbox, &["import", "x.csv", "--into", "plain"], 1, &["plain"]);
    sandbox.run(&["sql", "plain/t", "SELECT 1"]).expect(1).says(&["plain/t"]);
}

#[test]
fn directory_without_permission() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::new();
    sandbox.table();
    fs::set_permissions(sandbox.path().join("t"), fs::Permissions::from_mode(0o000)).unwrap();
    // Root may do anything, so the program runs as somebody else then.
    let uid = fs::metadata("/proc/self").map_or(1, |own| std::os::unix::fs::MetadataExt::uid(&own));
    let (head, program) = if uid == 0 {
        fs::set_permissions(sandbox.path(), fs::Permissions::from_mode(0o755)).unwrap();
        // The build directory may be closed to others, too.
        let copy = sandbox.path().join("tambour");
        fs::copy(program(), &copy).unwrap();
        ("setpriv --reuid 65534 --regid 65534 --clear-groups ", copy)
    } else {
        ("", program())
    };
    for call in [
        "sql t 'SELECT 1'",
        "verify t",
        "inspect t",
        "optimize t",
        "import t.csv --into t --append",
    ] {
        let run = sandbox.shell(&format!("{head}{} {call}", program.display()));
        run.expect(1).says(&["error: ", "t", "ermission denied"]);
    }
    fs::set_permissions(sandbox.path().join("t"), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn full_disk_for_data() {
    let sandbox = Sandbox::new();
    sandbox.table();
    for call in
        ["export t - --format csv", "export t - --format parquet", "sql t 'SELECT * FROM t'"]
    {
        let run = sandbox.shell(&format!("$TAMBOUR {call} > /dev/full"));
        run.expect(1).says(&["cannot write", "space"]);
    }
}

#[test]
fn disk_that_fills_at_any_write() {
    let sandbox = Sandbox::new();
    sandbox.table();
    // As large as it is, so that no codec makes it fit.
    let plain = ["import", "t.csv", "--into", "plain", "--order-by", "id", "--codec", "NONE"];
    sandbox.run(&plain).expect(0);
    let before = snapshot(&sandbox.path().join("plain"));
    // A limit on the size of files stands for the full disk: it needs no privilege, and every stream meets it somewhere.
    for kibibytes in [0, 1, 2] {
        let limited =
            format!("trap '' XFSZ; ulimit -f {kibibytes}; exec $TAMBOUR import t.csv --into");
        let run = sandbox.shell(&format!("{limited} new --order-by id --codec NONE"));
        assert!(matches!(run.code, Some(1 | 4)), "{kibibytes}: {run:?}");
        assert!(run.stderr.contains("error: "), "{kibibytes}: {run:?}");
        assert!(!sandbox.path().join("new").exists(), "{kibibytes}: the new table was left behind");
        let run = sandbox.shell(&format!("{limited} plain --append"));
        assert!(matches!(run.code, Some(1 | 4)), "{kibibytes}: {run:?}");
        assert_eq!(snapshot(&sandbox.path().join("plain")), before, "{kibibytes}");
    }
    sandbox.run(&["verify", "plain"]).expect(0);
}

#[test]
fn table_that_exists() {
    let sandbox = Sandbox::new();
    sandbox.table();
    let call = ["import", "t.csv", "--into", "t"];
    let run = refused(&sandbox, &call, 1, &["exists", "--append", "--force"]);
    insta::assert_snapshot!(run.stderr);

    let count = || sandbox.run(&["sql", "t", "SELECT count(*) FROM t"]).expect(0).stdout;
    let again = sandbox.run(&["import", "t.csv", "--into", "t", "--append"]);
    again.expect(0).says(&["the same rows before, in 1 part (all_1_1_0)"]);
    assert_eq!(count(), "2000\n");
    sandbox.run(&["import", "t.csv", "--into", "t", "--force", "--order-by", "name"]).expect(0);
    assert_eq!(count(), "1000\n");
    let keys = ["import", "t.csv", "--into", "t", "--append", "--order-by", "id"];
    refused(&sandbox, &keys, 2, &["--append goes without"]);
}

#[test]
fn directory_that_is_something_else() {
    let sandbox = Sandbox::new();
    sandbox.file("x.csv", "a\n1\n");
    fs::create_dir(sandbox.path().join("photos")).unwrap();
    sandbox.file("photos/cat.jpg", "meow");
    refused(&sandbox, &["import", "x.csv", "--into", "photos"], 1, &["photos"]);
    refused(&sandbox, &["import", "x.csv", "--into", "photos", "--force"], 1, &["photos"]);
    sandbox.run(&["sql", "photos", "SELECT 1"]).expect(1).says(&["photos"]);
    sandbox.run(&["inspect", "photos/cat.jpg"]).expect(5).says(&["photos/cat.jpg"]);
}

/// A block of bytes under a checksum that is right.
fn sealed(method: u8, uncompressed_size: u32, payload: &[u8]) -> Vec<u8> {
    use tambour::codec::block::Header;
    use tambour::kernel::hash::{Hash128, city_hash_128};
    let compressed_size = 9 + u32::try_from(payload.len()).unwrap();
    let mut header =
        Header { hash: Hash128::default(), method, compressed_size, uncompressed_size };
    let mut block = [&header.to_bytes()[..], payload].concat();
    header.hash = city_hash_128(&block[16..]);
    block[..16].copy_from_slice(&header.hash.to_bytes());
    block
}

#[test]
fn codecs_that_are_not_supported_are_named() {
    let sandbox = Sandbox::new();
    // ALP in its other variant, and encryption.
    for (method, payload, name) in
        [(0x9c, &[0x11, 8, 0, 4][..], "RD"), (0x96, &b"secret"[..], "AES")]
    {
        sandbox.file("x.bin", sealed(method, 16, payload));
        let call = ["decompress", "x.bin", "--format", "block", "-o", "out"];
        let run = sandbox.run(&call).expect(5).says(&[name, "not supported"]);
        assert_eq!(run.stdout, "");
        assert!(!sandbox.path().join("out").exists());
    }
}

#[test]
fn export_does_not_overwrite() {
    let sandbox = Sandbox::new();
    sandbox.table();
    sandbox.file("out.csv", "precious");
    sandbox.run(&["export", "t", "out.csv"]).expect(1).says(&["out.csv exists", "--force"]);
    assert_eq!(fs::read_to_string(sandbox.path().join("out.csv")).unwrap(), "precious");
    sandbox.run(&["export", "t", "out.csv", "--force"]).expect(0);
    assert!(fs::read_to_string(sandbox.path().join("out.csv")).unwrap().starts_with("id,name"));
    sandbox.run(&["export", "t", "out.xyz"]).expect(5).says(&["out.xyz"]);
    sandbox.run(&["export", "t", "-"]).expect(2).says(&["--format"]);
    sandbox
        .run(&["export", "t", "o.csv", "--columns", "id,nothing"])
        .expect(1)
        .says(&["nothing", "name"]);
}

/// An import that has begun and waits for more of its input.
fn waiting_import(sandbox: &Sandbox, table: &str) -> Child {
    let create = "CREATE TABLE t (id UInt32, name String) ENGINE = MergeTree ORDER BY id";
    let mut child = sandbox
        .command(&[
            "import", "-", "--format", "csv", "--header", "--into", table, "--create", create,
        ])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let input = child.stdin.as_mut().unwrap();
    input.write_all(b"id,name\n1,a\n").unwrap();
    // Enough rows for the first batches to reach the table.
    for id in 2..200_000 {
        writeln!(input, "{id},a name").unwrap();
    }
    child
}

/// Waits for something that another process does.
#[expect(clippy::disallowed_methods, reason = "a deadline for another process")]
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_mins(1);
    while !is_so() {
        assert!(Instant::now() < deadline, "a minute went by before {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn two_imports_at_once() {
    let sandbox = Sandbox::new();
    sandbox.file("x.csv", "id,name\n7,x\n");
    let first = waiting_import(&sandbox, "t");
    // The table appears with the first import's lock.
    until("the first import began", || sandbox.path().join("t").exists());
    let run = sandbox.run(&["import", "x.csv", "--into", "t", "--append"]);
    run.expect(1).says(&["\"t\"", &format!("process {}", first.id()), "is writing to it"]);
    let create = "CREATE TABLE t (id UInt32, name String) ENGINE = MergeTree ORDER BY id";
    let second =
        ["import", "x.csv", "--into", "t", "--append", "--lock-wait", "60", "--create", create];
    let second = sandbox.command(&second).stderr(Stdio::piped()).spawn().unwrap();
    let output = first.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = second.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let count = sandbox.run(&["sql", "t", "SELECT count(*) FROM t"]).expect(0).stdout;
    assert_eq!(count, "200000\n");
}

#[test]
fn interrupted_import() {
    let sandbox = Sandbox::new();
    let mut child = waiting_import(&sandbox, "t");
    // Waiting would close its input, which must stay open: what ends it is the signal.
    let input = child.stdin.take();
    until("the import has begun", || sandbox.path().join("t").exists());
    interrupt(&child);
    let status = child.wait().unwrap();
    drop(input);
    assert_eq!(status.code(), Some(130));
    sandbox.run(&["sql", "t", "SELECT count(*) FROM t"]).expect(1);
    // Nothing of it is in the way of the next one.
    sandbox.file("x.csv", "id,name\n7,x\n");
    sandbox.run(&["import", "x.csv", "--into", "t"]).expect(0);
    let count = sandbox.run(&["sql", "t", "SELECT count(*) FROM t"]).expect(0).stdout;
    assert_eq!(count, "1\n");
}

#[test]
fn interrupted_query() {
    let sandbox = Sandbox::new();
    sandbox.table();
    // 10^12 rows: no machine is done before the signal comes.
    let query = "SELECT sum(a.id + b.id + c.id + d.id) FROM t a, t b, t c, t d";
    let mut child = sandbox.command(&["sql", "t", query]).stderr(Stdio::piped()).spawn().unwrap();
    interrupt(&child);
    let status = child.wait().unwrap();
    let mut message = String::new();
    child.stderr.take().unwrap().read_to_string(&mut message).unwrap();
    assert_eq!((status.code(), message.as_str()), (Some(130), "error: interrupted\n"));
}

/// Sends Ctrl-C as soon as the process listens for it; before that, the signal would end it as it ends any process.
fn interrupt(child: &Child) {
    until("it listens for signals", || {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        // A bit per signal, the first for number 1; SIGINT has number 2.
        u64::from_str_radix(caught.trim(), 16).unwrap() & 0b10 != 0
    });
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
}

#[test]
fn reader_that_goes_away() {
    let sandbox = Sandbox::new();
    sandbox.table();
    let rows = "SELECT a.id, b.name FROM t a, t b";
    for format in ["csv", "tsv", "jsonl", "json", "markdown", "arrow"] {
        let mut child = sandbox
            .command(&["sql", "t", rows, "--format", format])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = Vec::new();
        output.read_until(b'\n', &mut line).unwrap();
        assert!(!line.is_empty());
        drop(output);
        let output = child.wait_with_output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*message), (Some(0), ""), "{format}");
    }
    for call in
        ["sql t 'SELECT * FROM t'", "export t - --format csv", "import --help", "inspect t", "man"]
    {
        let run = sandbox.shell(&format!("$TAMBOUR {call} | true; exit ${{PIPESTATUS[0]}}"));
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{call}");
    }
}

#[test]
fn scripts_go_on_after_errors_if_told_so() {
    let sandbox = Sandbox::new();
    sandbox.table();
    let script = "SELECT 1; SELECT broken(1); SELECT 2";
    assert_eq!(sandbox.run(&["sql", "t", script]).expect(1).stdout, "1\n");
    let run = sandbox.run(&["sql", "t", "--ignore-error", script]).expect(1);
    assert_eq!(run.stdout, "1\n2\n");
    run.says(&["broken", "1 statement failed"]);
    let several = ["-c", "SELECT 1", "-c", "SELECT broken(1)", "-c", "SELECT 2; SELECT broken(2)"];
    let run = sandbox.run(&[&["sql", "t", "--ignore-error"], &several[..]].concat()).expect(1);
    assert_eq!(run.stdout, "1\n2\n");
    run.says(&["broken", "2 statements failed"]);
}

#[test]
fn queries_that_are_wrong() {
    let sandbox = Sandbox::new();
    sandbox.table();
    let wrong = |query: &str| sandbox.run(&["sql", "t", query]).expect(1);
    insta::assert_snapshot!("syntax_error", wrong("SELECT id +, name FROM t").stderr);
    insta::assert_snapshot!("unknown_column", wrong("SELECT nmae FROM t").stderr);
    insta::assert_snapshot!("unknown_table", wrong("SELECT * FROM flights").stderr);
    wrong("SELECT * FROM t; SELECT broken(1)").says(&["broken"]);
    let run = sandbox.run(&["sql", "t", "SELECT 1 FORMAT Nonsense"]);
    assert_ne!(run.code, Some(0));
    assert_eq!(run.stdout, "");
}
