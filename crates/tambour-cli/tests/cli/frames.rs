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
