//! `inspect` and `verify` of frames, and dictionaries.

use crate::support::Sandbox;
use std::fs;

/// Lines that compress.
fn lines() -> Vec<u8> {
    (0..30_000_u64)
        .flat_map(|k| format!("line {k} of many, {}\n", k * k % 977).into_bytes())
        .collect()
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("lines", lines());
    for format in ["lz4", "zstd"] {
        sandbox.run(&["compress", "lines", "--format", format]).expect(0);
    }
    sandbox
}

#[test]
fn inspect_tells_what_frames_are_made_of() {
    let sandbox = sandbox();
    let text = sandbox.run(&["inspect", "lines.zst"]).expect(0).stdout;
    for word in
        ["zstd", "window", "Huffman", "where the bytes went", "sequences by their codes", "(all)"]
    {
        assert!(text.contains(word), "{word}: {text}");
    }
    let text = sandbox.run(&["inspect", "lines.zst", "--stats", "--blocks"]).expect(0).stdout;
    for word in
        ["block at", "literals,", "back", "offset of matches", "lengths of matches", "more; --json"]
    {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let text = sandbox.run(&["inspect", "lines.lz4", "--stats"]).expect(0).stdout;
    for word in ["lz4", "independent", "tokens and lengths", "what the selector learned", "in use"]
    {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn inspect_of_frames_as_json_adds_up() {
    let sandbox = sandbox();
    let content = lines().len() as u64;
    for name in ["lines.zst", "lines.lz4"] {
        let length = fs::metadata(sandbox.path().join(name)).unwrap().len();
        let json =
            sandbox.run(&["inspect", name, "--json", "--blocks", "--stats"]).expect(0).json();
        assert_eq!(
            (&json["schema"], &json["kind"]),
            (&"tambour/inspect/1".into(), &"frames".into())
        );
        assert_eq!((&json["bytes"], &json["sums"]["content"]), (&length.into(), &content.into()));
        let spent = json["sums"]["spent"].as_object().unwrap();
        assert_eq!(spent.values().map(|bytes| bytes.as_u64().unwrap()).sum::<u64>(), length);
        let mut held = 0;
        for event in json["events"].as_array().unwrap() {
            held += event["stored"].as_u64().map_or(0, |_| event["content"].as_u64().unwrap());
        }
        assert_eq!(held, content, "{name}: content of the blocks");
        assert!(json["damage"].is_null() && json["learned"].is_object());
    }
}

#[test]
fn damaged_frames_are_told_with_their_offset() {
    let sandbox = sandbox();
    for name in ["lines.zst", "lines.lz4"] {
        sandbox.run(&["verify", name]).expect(0).says(&["good"]);
        let good = fs::read(sandbox.path().join(name)).unwrap();
        let mut bad = good.clone();
        let middle = bad.len() / 2;
        bad[middle] ^= 0x40;
        let path = sandbox.file("bad", &bad);
        let run = sandbox.run(&["verify", "bad"]).expect(3);
        assert!(run.stdout.lines().count() >= 1, "{}", run.stdout);
        let json = sandbox.run(&["verify", "bad", "--json"]).expect(3).json();
        assert_eq!((&json["kind"], &json["good"]), (&"frames".into(), &false.into()));
        fs::write(&path, &good[..middle]).unwrap();
        let run = sandbox.run(&["inspect", "bad"]).expect(3);
        assert!(run.stderr.contains("cut short") && run.stdout.contains("where the bytes went"));
    }
}

#[test]
fn skippable_and_concatenated_frames() {
    let sandbox = sandbox();
    let mut stream = vec![0x53, 0x2a, 0x4d, 0x18, 5, 0, 0, 0];
    stream.extend(b"notes");
    for name in ["lines.lz4", "lines.zst"] {
        stream.extend(fs::read(sandbox.path().join(name)).unwrap());
    }
    sandbox.file("all", stream);
    let text = sandbox.run(&["inspect", "all"]).expect(0).stdout;
    for word in ["3 frames", "skippable", "lz4", "zstd", "skippable frames"] {
        assert!(text.contains(word), "{word}: {text}");
    }
}

#[test]
fn a_stream_of_blocks_needs_no_ending() {
    let sandbox = sandbox();
    sandbox.run(&["compress", "lines", "--codec", "Delta(4), LZ4", "-o", "blocks"]).expect(0);
    let text = sandbox.run(&["inspect", "blocks", "--blocks"]).expect(0).stdout;
    assert!(text.contains("Delta, LZ4") && text.contains("good"), "{text}");
    sandbox.run(&["verify", "blocks"]).expect(0);
    sandbox.run(&["compress", "lines", "-o", "plain"]).expect(0);
    let text = sandbox.run(&["inspect", "plain", "--stats"]).expect(0).stdout;
    assert!(text.contains("what the selector learned"), "{text}");
}

/// What `inspect` tells of blocks of the lines with a codec, as text and as JSON.
fn inspected(sandbox: &Sandbox, codec: &str, options: &[&str]) -> String {
    sandbox.run(&["compress", "lines", "--codec", codec, "-o", "blocks", "--force"]).expect(0);
    let text = sandbox.run(&[&["inspect", "blocks"], options].concat()).expect(0).stdout;
    let fits = |line: &str| line.chars().count() <= 80;
    assert!(options.contains(&"--json") || text.lines().all(fits), "{text}");
    text
}

#[test]
fn inspect_looks_inside_blocks() {
    let sandbox = sandbox();
    let text = inspected(&sandbox, "LZ4", &[]);
    for word in ["where the bytes went", "tokens and lengths", "offsets", "checksums", "(all)"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert!(!text.contains("block 0 at"), "not without being asked: {text}");
    let text = inspected(&sandbox, "LZ4", &["--stats"]);
    assert!(text.contains("offset of matches") && text.contains("what the selector"), "{text}");
    let text = inspected(&sandbox, "LZ4", &["--blocks"]);
    for word in ["block 0 at 0: LZ4", "checksum good", "back", "more; --json", "offset of matches"]
    {
        assert!(text.contains(word), "{word}: {text}");
    }
    let text = inspected(&sandbox, "ZSTD(3)", &["--blocks"]);
    for word in ["header of", "window", "literals: Huffman", "tree:", "tables:", "frame headers"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    let text = inspected(&sandbox, "Delta(4), LZ4", &["--blocks"]);
    for word in ["chain: ", "  LZ4: ", "  Delta: ", "of 4 bytes", "first ", "lists of chains"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    let text = inspected(&sandbox, "Delta(4), LZ4", &[]);
    assert!(!text.contains("first "), "nothing was decoded: {text}");
}

#[test]
fn inspect_of_blocks_as_json_adds_up() {
    let sandbox = sandbox();
    let content = lines().len() as u64;
    for codec in ["LZ4", "ZSTD(3)", "Delta(8), ZSTD(1)", "NONE"] {
        let text = inspected(&sandbox, codec, &["--json", "--blocks"]);
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(json["kind"], "blocks");
        let length = fs::metadata(sandbox.path().join("blocks")).unwrap().len();
        let spent = json["sums"]["spent"].as_object().unwrap();
        assert_eq!(spent.values().map(|bytes| bytes.as_u64().unwrap()).sum::<u64>(), length);
        let mut held = 0;
        for block in json["blocks"].as_array().unwrap() {
            held += block["uncompressed"].as_u64().unwrap();
            let stages = block["stages"].as_array().unwrap();
            assert_eq!(stages.len(), 1 + usize::from(codec.contains(',')), "{codec}");
            assert!(block["damage"].is_null() && block["good"] == true);
        }
        assert_eq!(held, content, "{codec}");
        assert!(json["damage"].is_null(), "{codec}");
    }
}

#[test]
fn damaged_blocks_are_told_as_far_as_they_can_be_read() {
    let sandbox = sandbox();
    for (codec, name) in [("LZ4", "LZ4"), ("ZSTD(3)", "ZSTD"), ("T64, LZ4", "LZ4")] {
        if codec.starts_with("T64") {
            // Of bytes there is no T64; a column has it.
            sandbox
                .file("n.csv", (0..9000).fold("n\n".to_owned(), |text, n| format!("{text}{n}\n")));
            let import = ["import", "n.csv", "--into", "t", "--codec", codec, "--keep-types"];
            sandbox.run(&import).expect(0);
            fs::copy(sandbox.part("t").join("n.bin"), sandbox.path().join("blocks")).unwrap();
        } else {
            inspected(&sandbox, codec, &[]);
        }
        let good = fs::read(sandbox.path().join("blocks")).unwrap();
        // A byte of the checksum, and one in the middle of the first payload.
        for at in [3, 60] {
            let mut bad = good.clone();
            bad[at] ^= 0xff;
            sandbox.file("bad.bin", &bad);
            let run = sandbox.run(&["inspect", "bad.bin", "--blocks"]).expect(3);
            assert!(run.stdout.contains("checksum BAD"), "{}", run.stdout);
            assert!(run.stdout.contains(&format!("  {name}: ")), "{}", run.stdout);
            assert!(run.stderr.contains("checksum mismatch"), "{}", run.stderr);
            let json = sandbox.run(&["inspect", "bad.bin", "--blocks", "--json"]).expect(3).json();
            assert_eq!(json["blocks"][0]["good"], false);
            assert_eq!(json["damage"]["offset"], 0);
        }
        // Cut inside of the last block: all before it is told.
        fs::write(sandbox.path().join("bad.bin"), &good[..good.len() - 5]).unwrap();
        let run = sandbox.run(&["inspect", "bad.bin"]).expect(3);
        assert!(run.stdout.contains("contents"), "{}", run.stdout);
        assert!(run.stderr.contains("block needs"), "{}", run.stderr);
    }
}

#[test]
fn dictionaries_of_both_formats() {
    let sandbox = Sandbox::new();
    let record = b"{\"id\": 7, \"name\": \"somebody\", \"city\": \"Berlin\", \"score\": 1234}";
    sandbox.file("record", record);
    sandbox.file("dict", b"{\"id\": 1, \"name\": \"nobody\", \"city\": \"Berlin\", \"score\": 12}");
    sandbox.file("empty", b"");
    for (format, name) in [("lz4", "record.lz4"), ("zstd", "record.zst")] {
        sandbox.run(&["compress", "record", "--format", format, "-o", "without"]).expect(0);
        sandbox.run(&["compress", "record", "--format", format, "-D", "dict"]).expect(0);
        let size = |name: &str| fs::metadata(sandbox.path().join(name)).unwrap().len();
        assert!(
            size(name) + 10 < size("without"),
            "{format}: {} and {}",
            size(name),
            size("without")
        );
        sandbox.run(&["decompress", name, "-D", "dict", "-o", "again"]).expect(0);
        assert_eq!(fs::read(sandbox.path().join("again")).unwrap(), record);
        sandbox.run(&["verify", name, "--dictionary", "dict"]).expect(0);
        sandbox.run(&["verify", name]).expect(3);
        sandbox.run(&["inspect", name, "-D", "dict", "--blocks"]).expect(0).stdout.contains("back");
        for name in ["without", "again"] {
            fs::remove_file(sandbox.path().join(name)).unwrap();
        }
    }
    sandbox.run(&["compress", "record", "-D", "dict", "-o", "x"]).expect(2).says(&["--dictionary"]);
    sandbox.run(&["compress", "record", "--format", "lz4", "-D", "empty", "-o", "x"]).expect(1);
    sandbox
        .run(&["compress", "record", "--format", "lz4", "-D", "none", "-o", "x"])
        .expect(1)
        .says(&["none"]);
}
