//! `messages`: train, encode, decode, and what is refused.

use crate::support::Sandbox;
use std::fs;

/// Calls of forty sessions, one per line.
fn calls() -> String {
    let call = |k: u64| {
        let session = (k % 40 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        format!("{{\"id\":{k},\"method\":\"put\",\"params\":{{\"session\":\"{session:016x}\"}}}}\n")
    };
    (0..4000).map(call).collect()
}

#[test]
fn lines_come_back() {
    let sandbox = Sandbox::new();
    let calls = calls();
    sandbox.file("calls.jsonl", &calls);
    let train = ["messages", "train", "calls.jsonl", "--into", "calls.dict", "--json"];
    let told =
        sandbox.run(&[&train[..], &["--connection", "params.session"]].concat()).expect(0).json();
    assert_eq!((&told["samples"], &told["connections"]), (&4000.into(), &40.into()));
    sandbox.run(&train).expect(1).says(&["calls.dict", "--force"]);
    for pins in [&[][..], &["--pins"]] {
        let encode =
            ["messages", "encode", "calls.jsonl", "calls.tmb", "--dictionary", "calls.dict"];
        let told =
            sandbox.run(&[&encode[..], &["--json", "--force"], pins].concat()).expect(0).json();
        assert_eq!(told["messages"], 4000);
        assert_eq!(
            told["encoded_bytes"],
            fs::metadata(sandbox.path().join("calls.tmb")).unwrap().len()
        );
        assert!(told["ratio"].as_f64().unwrap() > 2.0, "{told}");
        let decode = ["messages", "decode", "calls.tmb", "-", "--dictionary", "calls.dict"];
        let back = sandbox.run(&[&decode[..], pins].concat()).expect(0);
        assert!(back.stdout == calls, "the lines that were encoded");
    }
}

#[test]
fn damage_and_wrong_dictionaries_are_told() {
    let sandbox = Sandbox::new();
    sandbox.file("calls.jsonl", calls());
    sandbox.file("few.jsonl", "{}\n{}\n");
    sandbox
        .run(&["messages", "train", "few.jsonl", "--into", "few.dict"])
        .expect(1)
        .says(&["2 samples are too few"]);
    sandbox
        .run(&["messages", "train", "calls.jsonl", "--into", "x", "--connection", "who"])
        .expect(2)
        .says(&["calls.jsonl, line 1: the field who is missing"]);
    sandbox.run(&["messages", "train", "calls.jsonl", "--into", "calls.dict"]).expect(0);
    let with = ["--dictionary", "calls.dict"];
    sandbox
        .run(&[&["messages", "encode", "calls.jsonl", "calls.tmb"][..], &with].concat())
        .expect(0);
    let decode = |more: &[&str]| {
        sandbox.run(&[&["messages", "decode", "calls.tmb", "-"][..], more].concat())
    };
    decode(&["--dictionary", "calls.dict", "--generation", "9"])
        .expect(1)
        .says(&["generation 1 is unknown (known: 9)"]);
    decode(&["--dictionary", "calls.jsonl"]).expect(3).says(&["not a dictionary of messages"]);
    let mut bytes = fs::read(sandbox.path().join("calls.tmb")).unwrap();
    let middle = bytes.len() / 2 + 4;
    bytes[middle] ^= 4;
    sandbox.file("calls.tmb", &bytes);
    decode(&with).expect(3).says(&["calls.tmb", "message"]);
    bytes.truncate(middle);
    sandbox.file("calls.tmb", &bytes);
    decode(&with).expect(3).says(&["ends inside a message"]);
    let stopped = [&["messages", "decode", "calls.tmb", "out.jsonl"][..], &with].concat();
    sandbox.run(&stopped).expect(3);
    assert!(!sandbox.path().join("out.jsonl").exists(), "nothing half written is left");
}
