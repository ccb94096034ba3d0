//! `compress` and `decompress`: files, pipes, and everything that is refused.

use crate::support::{Run, Sandbox};
use std::fs;

/// Lines that compress, more than one block of them.
fn lines() -> Vec<u8> {
    (0..60_000_u64)
        .flat_map(|k| format!("line {k} of many, {}\n", k * k % 977).into_bytes())
        .collect()
}

/// A sandbox with the file `lines`.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("lines", lines());
    sandbox
}

impl Sandbox {
    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path().join(name)).expect("a file that was written")
    }

    fn has(&self, name: &str) -> bool {
        self.path().join(name).exists()
    }

    /// Names of all files, hidden ones included.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

const FORMATS: [(&str, &str); 3] = [("block", "bin"), ("lz4", "lz4"), ("zstd", "zst")];

#[test]
fn every_format_makes_the_way_there_and_back() {
    for (format, ending) in FORMATS {
        let sandbox = sandbox();
        let packed = format!("lines.{ending}");
        sandbox.run(&["compress", "lines", "--format", format]).expect(0).says(&[&packed]);
        assert!(sandbox.read(&packed).len() < lines().len() / 2, "{format}");
        fs::remove_file(sandbox.path().join("lines")).unwrap();
        let run = sandbox.run(&["decompress", &packed]).expect(0).says(&["lines: "]);
        assert_eq!(run.stdout, "");
        assert!(sandbox.read("lines") == lines(), "{format}");
        assert_eq!(sandbox.names(), ["lines", &packed], "{format}");
        sandbox.run(&["decompress", &packed, "--verify-first", "-o", "again"]).expect(0);
        assert!(sandbox.read("again") == lines());
    }
}

#[test]
fn pipes() {
    let sandbox = sandbox();
    for (format, _) in FORMATS {
        let script = format!(
            r#"set -eu -o pipefail
            "$TAMBOUR" compress --format {format} < lines | "$TAMBOUR" decompress | cmp - lines
            cat lines | "$TAMBOUR" compress - --format {format} -c > packed
            "$TAMBOUR" decompress < packed | cmp - lines
            "$TAMBOUR" decompress --verify-first < packed | cmp - lines
            "$TAMBOUR" decompress -c packed | cmp - lines
            "$TAMBOUR" decompress packed -o - | head -1"#
        );
        let run = sandbox.shell(&script).expect(0);
        assert_eq!((&*run.stdout, &*run.stderr), ("line 0 of many, 0\n", ""), "{format}");
    }
}

#[test]
fn the_result_does_not_depend_on_threads() {
    let sandbox = sandbox();
    for (format, _) in FORMATS {
        for threads in ["1", "2", "7"] {
            let call = ["compress", "lines", "--format", format, "--block-size", "64KiB", "-T"];
            let call = [&call[..], &[threads, "-o", threads]].concat();
            sandbox.run(&call).expect(0);
            assert!(sandbox.read(threads) == sandbox.read("1"), "{format} {threads}");
            let call = ["decompress", threads, "-o", "back", "--force", "--threads", threads];
            sandbox.run(&call).expect(0);
            assert!(sandbox.read("back") == lines());
        }
        for name in ["1", "2", "7"] {
            fs::remove_file(sandbox.path().join(name)).unwrap();
        }
    }
}

#[test]
fn options_reach_the_format() {
    let sandbox = sandbox();
    let call = |flags: &[&str]| {
        let call = [&["compress", "lines", "-f", "-o", "packed"][..], flags].concat();
        sandbox.run(&call).expect(0);
        sandbox.read("packed")
    };
    let lz4 = ["--format", "lz4", "--block-size", "64KiB"];
    let plain = call(&lz4);
    assert_eq!(plain[4], 0x6c, "independent blocks, content size and checksum");
    assert_eq!(call(&[&lz4[..], &["--linked"]].concat())[4], 0x4c);
    assert_eq!(call(&[&lz4[..], &["--block-checksums"]].concat())[4], 0x7c);
    assert!(call(&[&lz4[..], &["--level", "-50"]].concat()).len() > plain.len());
    let zstd = ["--format", "zstd", "--level"];
    assert!(call(&[&zstd[..], &["12"]].concat()) != call(&[&zstd[..], &["1"]].concat()));
    assert_eq!(call(&["--codec", "ZSTD(3)"])[16], 0x90);
    assert_eq!(call(&["--codec", "none"])[16], 0x02);
}

#[test]
fn nothing_is_overwritten_and_nothing_half_remains() {
    let sandbox = sandbox();
    sandbox.run(&["compress", "lines", "--format", "lz4"]).expect(0);
    let good = sandbox.read("lines.lz4");
    sandbox.run(&["compress", "lines", "--format", "lz4"]).expect(1).says(&["exists", "--force"]);
    sandbox.run(&["decompress", "lines.lz4"]).expect(1).says(&["exists", "--force"]);
    sandbox.run(&["decompress", "lines.lz4", "-f", "-k"]).expect(0);
    assert!(sandbox.read("lines") == lines() && sandbox.read("lines.lz4") == good);
    sandbox.file("cut.lz4", &good[..good.len() - 1]);
    for flags in [&[][..], &["--verify-first"]] {
        let call = [&["decompress", "cut.lz4"][..], flags].concat();
        sandbox.run(&call).expect(3).says(&["cut.lz4: ", "cut short"]);
        assert_eq!(sandbox.names(), ["cut.lz4", "lines", "lines.lz4"]);
    }
    sandbox.run(&["decompress", "lines.lz4", "--rm", "-o", "moved"]).expect(0);
    assert!(sandbox.has("moved") && !sandbox.has("lines.lz4"));
}

#[test]
fn damage_is_damage() {
    let sandbox = sandbox();
    for (format, ending) in FORMATS {
        let packed = format!("lines.{ending}");
        sandbox.run(&["compress", "lines", "--format", format]).expect(0);
        let mut bytes = sandbox.read(&packed);
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x10;
        let damaged = format!("damaged.{ending}");
        sandbox.file(&damaged, &bytes);
        sandbox.run(&["decompress", &damaged]).expect(3).says(&[&damaged]);
        bytes[middle] ^= 0x10;
        bytes.extend(b"garbage");
        sandbox.file(&damaged, &bytes);
        sandbox.run(&["decompress", &damaged]).expect(3).says(&[&damaged]);
        assert!(!sandbox.has("damaged"));
        // What is checked first writes nothing.
        let run = sandbox.run(&["decompress", &damaged, "--verify-first", "-c"]).expect(3);
        assert_eq!(run.stdout, "");
    }
    for ending in ["lz4", "zst"] {
        let empty = format!("empty.{ending}");
        sandbox.file(&empty, "");
        sandbox.run(&["decompress", &empty]).expect(3).says(&["cut short"]);
    }
}

#[test]
fn limits_and_versions_have_their_codes() {
    let sandbox = sandbox();
    let small = ["compress", "lines", "--memory", "100KiB"];
    sandbox.run(&small).expect(4).says(&["limit is 102400"]);
    let aes = ["compress", "lines", "--codec", "AES_128_GCM_SIV"];
    sandbox.run(&aes).expect(5).says(&["AES_128_GCM_SIV"]);
    // A frame of version 2.
    sandbox.file("later.lz4", [0x04, 0x22, 0x4d, 0x18, 0xa4, 0x40, 0, 0, 0, 0, 0]);
    sandbox.run(&["decompress", "later.lz4"]).expect(5).says(&["version"]);
    sandbox.run(&["decompress", "missing.lz4"]).expect(1).says(&["missing.lz4"]);
}

#[test]
fn calls_that_cannot_be_meant() {
    let sandbox = sandbox();
    let calls: [&[&str]; 12] = [
        &["compress", "lines", "--format", "gzip"],
        &["compress", "lines", "--format", "lz4", "--codec", "ZSTD"],
        &["compress", "lines", "--level", "3"],
        &["compress", "lines", "--linked"],
        &["compress", "lines", "--codec", "Nonsense"],
        &["compress", "lines", "--format", "lz4", "--block-size", "100000"],
        &["compress", "lines", "--format", "zstd", "--level", "23"],
        &["compress", "lines", "-c", "-o", "out"],
        &["compress", "lines", "--rm", "--keep"],
        &["compress", "lines", "-c", "--rm"],
        &["compress", "."],
        &["decompress", "lines"],
    ];
    for call in calls {
        let run = sandbox.run(call).expect(2);
        assert!(run.stdout.is_empty() && !run.stderr.is_empty(), "{call:?}");
    }
    let pipe = r#"cat lines | "$TAMBOUR" decompress --verify-first"#;
    sandbox.shell(pipe).expect(2).says(&["a pipe does not allow"]);
    assert_eq!(sandbox.names(), ["lines"]);
}

#[test]
fn results_as_json() {
    let sandbox = sandbox();
    let check = |run: &Run, command: &str| {
        let result = run.json();
        assert_eq!(result["schema"], format!("tambour/{command}/1"));
        assert_eq!((&result["frames"], &result["blocks"]), (&1.into(), &1.into()));
        assert_eq!(result["format"], "lz4");
        result
    };
    let call = ["compress", "lines", "--format", "lz4", "--json"];
    let there = check(&sandbox.run(&call).expect(0), "compress");
    let call = ["decompress", "lines.lz4", "-o", "back", "--json"];
    let back = check(&sandbox.run(&call).expect(0), "decompress");
    assert_eq!(there["bytes_in"], lines().len());
    assert_eq!((&there["bytes_in"], &there["bytes_out"]), (&back["bytes_out"], &back["bytes_in"]));
    let run = sandbox.run(&["decompress", "lines.lz4", "-o", "back", "--json"]).expect(1);
    assert!(run.stderr.contains("tambour/error/1"), "{}", run.stderr);
}

#[cfg(unix)]
#[test]
fn outputs_are_as_private_as_their_inputs() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = sandbox();
    for mode in [0o600, 0o640] {
        fs::set_permissions(sandbox.path().join("lines"), PermissionsExt::from_mode(mode)).unwrap();
        sandbox.run(&["compress", "lines", "-f"]).expect(0);
        let permissions = fs::metadata(sandbox.path().join("lines.bin")).unwrap().permissions();
        assert_eq!(permissions.mode() & 0o777, mode);
    }
}
