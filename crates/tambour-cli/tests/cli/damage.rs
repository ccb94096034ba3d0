//! A part with any file missing, empty, truncated or with a bit flipped.

use crate::support::{Run, Sandbox};
use std::fs;
use std::path::Path;

/// One way to damage a file.
#[derive(Clone, Copy, Debug)]
enum Damage {
    Missing,
    Empty,
    Truncated,
    Longer,
    Flipped,
}

const DAMAGES: [Damage; 5] =
    [Damage::Missing, Damage::Empty, Damage::Truncated, Damage::Longer, Damage::Flipped];

impl Damage {
    fn apply(self, path: &Path) {
        let mut bytes = fs::read(path).unwrap();
        match self {
            Self::Missing => return fs::remove_file(path).unwrap(),
            Self::Empty => bytes.clear(),
            Self::Truncated => bytes.truncate(bytes.len() / 2),
            Self::Longer => bytes.push(0),
            Self::Flipped => {
                let middle = bytes.len() / 2;
                bytes[middle] ^= 1;
            }
        }
        fs::write(path, bytes).unwrap();
    }
}

/// Runs `check` once for every file below `directory` and every damage; the file is whole again afterwards.
fn each_damage(directory: &Path, mut check: impl FnMut(&str, Damage)) {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_type().unwrap().is_file())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert!(!names.is_empty());
    for name in names {
        let path = directory.join(&name);
        let whole = fs::read(&path).unwrap();
        for damage in DAMAGES {
            if whole.is_empty() && !matches!(damage, Damage::Missing | Damage::Longer) {
                continue;
            }
            damage.apply(&path);
            check(&name, damage);
            fs::write(&path, &whole).unwrap();
        }
    }
}

#[track_caller]
fn reported(run: &Run, name: &str, damage: Damage) {
    let text = format!("{}{}", run.stdout, run.stderr);
    assert_eq!(run.code, Some(3), "{name} {damage:?}: {text}");
    assert!(text.contains(name) || text.contains("all_1_1_0"), "{name} {damage:?}: {text}");
}

#[test]
fn verify_finds_every_damage_of_a_part() {
    let sandbox = Sandbox::new();
    sandbox.table();
    let part = sandbox.part("t");
    let path = part.to_str().unwrap();
    sandbox.run(&["verify", path]).expect(0).says(&["good"]);
    each_damage(&part, |name, damage| {
        reported(&sandbox.run(&["verify", path]), name, damage);
        reported(&sandbox.run(&["verify", "t"]), name, damage);
    });
    sandbox.run(&["verify", "t"]).expect(0).says(&["good", "1 part", "1,000 rows"]);
}

#[test]
fn queries_are_right_or_refused() {
    let sandbox = Sandbox::new();
    sandbox.table();
    let part = sandbox.part("t");
    let query = ["sql", "t", "SELECT * FROM t ORDER BY id"];
    let right = sandbox.run(&query).expect(0).stdout;
    each_damage(&part, |name, damage| {
        let run = sandbox.run(&query);
        match run.code {
            Some(0) => assert_eq!(run.stdout, right, "{name} {damage:?}: wrong rows"),
            Some(3) => {}
            code => panic!("{name} {damage:?}: {code:?} {}", run.stderr),
        }
    });
}

#[test]
fn damaged_sidecar() {
    let sandbox = Sandbox::new();
    let table = sandbox.table();
    let sidecar = table.join("tambour.json");
    let whole = fs::read(&sidecar).unwrap();
    for damage in [Damage::Empty, Damage::Truncated, Damage::Longer] {
        damage.apply(&sidecar);
        sandbox.run(&["sql", "t", "SELECT count(*) FROM t"]).expect(3).says(&["tambour.json"]);
        sandbox.run(&["verify", "t"]).expect(3);
        sandbox
            .run(&["import", "t.csv", "--into", "t", "--append"])
            .expect(3)
            .says(&["tambour.json"]);
        fs::write(&sidecar, &whole).unwrap();
    }
    // A flip in any byte of it: the same rows, or an error; never a panic, never other rows.
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        fs::write(&sidecar, &bytes).unwrap();
        let run = sandbox.run(&["sql", "t", "SELECT count(*), sum(id) FROM t"]);
        match run.code {
            Some(0) => assert_eq!(run.stdout, "1000\t499500\n", "byte {at}"),
            Some(1 | 3 | 5) => {}
            code => panic!("byte {at}: {code:?} {}", run.stderr),
        }
    }
}

#[test]
fn verify_lists_damage_as_json() {
    let sandbox = Sandbox::new();
    sandbox.table();
    let part = sandbox.part("t");
    let file = part.join("id.bin");
    Damage::Flipped.apply(&file);
    let run = sandbox.run(&["verify", "t", "--json"]).expect(3);
    let result = run.json();
    assert_eq!(result["schema"], "tambour/verify/1");
    assert_eq!(result["kind"], "table");
    assert_eq!(result["good"], false);
    let damage = &result["damage"][0];
    assert_eq!(damage["kind"], "corrupt");
    assert!(damage["path"].as_str().unwrap().ends_with("id.bin"), "{damage}");
    assert_eq!(run.stderr, "");
}

#[test]
fn verify_a_file_of_blocks() {
    let sandbox = Sandbox::new();
    sandbox.table();
    let file = sandbox.part("t").join("name.bin");
    let path = file.to_str().unwrap();
    sandbox.run(&["verify", path]).expect(0).says(&["good", "1 file"]);
    for damage in [Damage::Truncated, Damage::Longer, Damage::Flipped] {
        let whole = fs::read(&file).unwrap();
        damage.apply(&file);
        let run = sandbox.run(&["verify", path]).expect(3);
        assert!(run.stdout.contains("name.bin"), "{damage:?}: {}", run.stdout);
        fs::write(&file, whole).unwrap();
    }
}

#[test]
fn inspect_of_damaged_blocks() {
    let sandbox = Sandbox::new();
    sandbox.table();
    let file = sandbox.part("t").join("name.bin");
    Damage::Flipped.apply(&file);
    let run = sandbox.run(&["inspect", file.to_str().unwrap(), "--blocks"]).expect(3);
    assert!(run.stdout.contains("BAD"), "{}", run.stdout);
    assert!(run.stderr.contains("checksum mismatch"), "{}", run.stderr);
}

#[test]
fn salvage_keeps_what_the_blocks_hold() {
    let sandbox = Sandbox::new();
    let rows =
        (0..300_000_u64).map(|n| format!("{n},{}\n", n.wrapping_mul(0x9e37_79b9) % 1_000_003));
    sandbox.file("n.csv", format!("id,v\n{}", rows.collect::<String>()));
    sandbox.run(&["import", "n.csv", "--into", "t", "--codec", "LZ4"]).expect(0);
    let part = sandbox.part("t");
    let path = part.to_str().unwrap();
    sandbox.run(&["salvage", path, "--to", "whole"]).expect(0).says(&["300,000 of 300,000 rows"]);

    let file = part.join("v.bin");
    Damage::Flipped.apply(&file);
    let run = sandbox.run(&["salvage", path, "--to", "mended", "--json"]).expect(0);
    let mended = run.json();
    assert_eq!(mended["put_right"][0]["file"], "v.bin", "{mended}");
    // One bit is put right; more are not.
    let mut bytes = fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle + 1] ^= 0xff;
    fs::write(&file, bytes).unwrap();
    let run = sandbox.run(&["salvage", path, "--to", "saved", "--json"]).expect(6);
    let saved = run.json();
    assert_eq!(saved["schema"], "tambour/salvage/1");
    let [loss] = saved["losses"].as_array().unwrap().as_slice() else { panic!("{saved}") };
    assert_eq!(loss["column"], "v");
    assert!(loss["reason"].as_str().unwrap().contains("checksum"), "{loss}");
    let (first, lost) = (loss["first_row"].as_u64().unwrap(), loss["rows"].as_u64().unwrap());
    assert!(0 < lost && lost < 100_000, "{loss}");
    assert_eq!(saved["rows_saved"], 300_000 - lost);
    // Just these rows are gone, and no other value is.
    let query = format!(
        "SELECT count(*), SAME, min(b.id < {first} OR b.id >= {}) \
         FROM whole AS a JOIN saved AS b ON a.id = b.id",
        first + lost
    );
    let query = query.replace("SAME", "sum(CASE WHEN a.v = b.v THEN 1 ELSE 0 END)");
    let answer = sandbox.run(&["sql", "whole", "saved", &query, "--format", "csv", "--no-header"]);
    let answer = answer.expect(0);
    let kept = 300_000 - lost;
    assert_eq!(answer.stdout.trim(), format!("{kept},{kept},1"));
    sandbox.run(&["verify", "saved"]).expect(0);
}

#[test]
fn salvage_copes_with_every_damage() {
    let sandbox = Sandbox::new();
    sandbox.table();
    let rows = |table: &str| -> Vec<serde_json::Value> {
        let query = format!("SELECT * FROM {table}");
        let run = sandbox.run(&["sql", table, &query, "--format", "jsonl", "--deterministic"]);
        run.expect(0).stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let all = rows("t");
    assert_eq!(all.len(), 1000);
    let part = sandbox.part("t");
    let path = part.to_str().unwrap();
    let mut number = 0;
    let mut saved_some = 0;
    each_damage(&part, |name, damage| {
        number += 1;
        let target = format!("saved{number}");
        let run = sandbox.run(&["salvage", path, "--to", &target]);
        let exists = sandbox.path().join(&target).exists();
        match run.code {
            Some(0 | 6) => {
                saved_some += 1;
                // There is one granule: what is lost are whole columns.
                let saved = rows(&target);
                assert_eq!(saved.len(), all.len(), "{name} {damage:?}");
                for (saved, row) in saved.iter().zip(&all) {
                    let saved = saved.as_object().unwrap();
                    assert!(
                        saved.iter().all(|(key, value)| row[key] == *value),
                        "{name} {damage:?}"
                    );
                    assert!(run.code == Some(6) || saved.len() == 4, "{name} {damage:?}");
                }
            }
            Some(3) => assert!(!exists, "{name} {damage:?} leaves {target}"),
            code => panic!("{name} {damage:?}: {code:?} {}{}", run.stdout, run.stderr),
        }
    });
    assert!(saved_some > number / 2, "{saved_some} of {number}");
}
