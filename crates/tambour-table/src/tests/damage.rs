//! Damage is found and named; nothing is silently left out.

use super::{STATEMENT, definition, insert, merge_all, options, read, rows};
use crate::TableError;
use crate::sidecar::Sidecar;
use crate::verify::verify;
use crate::{SIDECAR, Table};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tambour_codec::Kind;
use tambour_storage::Storage;
use tambour_storage::memory::{Fate, Memory};

fn table() -> Memory {
    let memory = Memory::new();
    let storage: Arc<dyn Storage> = Arc::new(memory.clone());
    let definition = definition(STATEMENT);
    for (first, days) in [(0, 0_u16), (100, 0), (200, 40)] {
        let seeds: Vec<(u16, u32)> = (0..100).map(|at| (days, at * 7 % 50)).collect();
        let batch = rows(&definition, first, &seeds);
        insert(&storage, Path::new("t"), &definition, options(), &[batch]).unwrap();
    }
    memory
}

fn dynamic(memory: &Memory) -> Arc<dyn Storage> {
    Arc::new(memory.clone())
}

/// Changes what the sidecar says, with a good check.
fn forge(memory: &Memory, change: impl Fn(&mut Sidecar)) {
    let path = Path::new("t").join(SIDECAR);
    let bytes = memory.read(&path, u64::MAX).unwrap();
    let mut sidecar = Sidecar::from_bytes(&path, &bytes).unwrap();
    change(&mut sidecar);
    memory.put(&path, &sidecar.to_bytes().unwrap());
}

fn damage(memory: &Memory) -> Vec<TableError> {
    verify(&dynamic(memory), Path::new("t"), &mut |_| {}).unwrap().damage
}

#[test]
fn a_missing_part_is_named_by_everybody() {
    let memory = table();
    memory.remove_directory(Path::new("t/202201_2_2_0")).unwrap();
    let errors = [
        Table::open_on(&dynamic(&memory), Path::new("t")).unwrap_err(),
        merge_all(&dynamic(&memory), Path::new("t"), 1 << 20).unwrap_err(),
        damage(&memory).pop().unwrap(),
    ];
    for error in errors {
        assert!(matches!(&error, TableError::PartMissing { part, .. } if part == "202201_2_2_0"));
        assert_eq!(error.kind(), Kind::Corrupt);
    }
}

#[test]
fn every_file_of_a_part_matters() {
    let memory = table();
    let part = PathBuf::from("t/202201_2_2_0");
    let files = memory.list(&part).unwrap();
    assert!(files.len() > 15);
    for file in files {
        let path = part.join(&file.name);
        let bytes = memory.read(&path, u64::MAX).unwrap();
        let mut flipped = bytes.clone();
        flipped[bytes.len() / 2] ^= 4;
        let mut longer = bytes.clone();
        longer.push(0);
        for (what, contents) in [("flipped", flipped), ("longer", longer), ("empty", Vec::new())] {
            let broken = memory.crash(Fate::Kept);
            broken.put(&path, &contents);
            let found = damage(&broken);
            assert!(!found.is_empty(), "{} {what} is not noticed", file.name);
            for error in &found {
                assert!(error.to_string().contains("202201_2_2_0"), "{error}");
                assert_ne!(error.kind(), Kind::Io, "{error:?}");
            }
        }
        let broken = memory.crash(Fate::Kept);
        broken.remove_file(&path).unwrap();
        let found = damage(&broken);
        assert!(found.iter().all(|error| error.kind() == Kind::Corrupt), "{found:?}");
        assert!(!found.is_empty(), "{} missing is not noticed", file.name);
    }
}

#[test]
fn a_part_with_the_contents_of_another_is_refused() {
    let memory = table();
    let (from, to) = (Path::new("t/202201_1_1_0"), Path::new("t/202201_2_2_0"));
    memory.remove_directory(to).unwrap();
    memory.rename(from, to).unwrap();
    let error = Table::open_on(&dynamic(&memory), Path::new("t")).unwrap_err();
    assert_eq!(error.kind(), Kind::Corrupt);
    forge(&memory, |sidecar| sidecar.parts[1].rows += 1);
    let error = Table::open_on(&dynamic(&memory), Path::new("t")).unwrap_err();
    assert_eq!(error.kind(), Kind::Corrupt);
}

#[test]
fn a_broken_sidecar_is_damage_and_the_parts_are_still_looked_at() {
    let memory = table();
    let path = Path::new("t").join(SIDECAR);
    let mut bytes = memory.read(&path, u64::MAX).unwrap();
    bytes[40] ^= 1;
    memory.put(&path, &bytes);
    assert_eq!(
        Table::open_on(&dynamic(&memory), Path::new("t")).unwrap_err().kind(),
        Kind::Corrupt
    );
    let seen = verify(&dynamic(&memory), Path::new("t"), &mut |_| {}).unwrap();
    assert_eq!((seen.damage.len(), seen.parts, seen.rows), (1, 3, 300));
    // Nobody writes over it.
    let error = insert(&dynamic(&memory), Path::new("t"), &definition(STATEMENT), options(), &[]);
    assert_eq!(error.unwrap_err().kind(), Kind::Corrupt);
    assert_eq!(memory.read(&path, u64::MAX).unwrap(), bytes);
}

/// Parts do not record their keys: only the rows show that the sidecar has another one.
#[test]
fn rows_are_compared_with_the_keys() {
    let good = table();
    assert!(damage(&good).is_empty());
    let cases = [
        ("ORDER BY (k, s)", "ORDER BY (id, k) PRIMARY KEY id", "primary"),
        ("ORDER BY (k, s)", "ORDER BY (s, k)", "order"),
        ("toYYYYMM(d)", "toYYYYMM(d + 100)", "partition"),
        ("PARTITION BY toYYYYMM(d)", "PARTITION BY toUInt32(k)", "partition"),
    ];
    for (from, to, what) in cases {
        let memory = good.crash(Fate::Kept);
        let statement = definition(STATEMENT).to_string();
        let changed = STATEMENT.replace(from, to);
        if crate::schema::TableDefinition::parse(&changed).is_err() {
            assert!(to.contains("d + 100"), "{changed}");
            continue;
        }
        assert_ne!(statement, definition(&changed).to_string());
        forge(&memory, |sidecar| sidecar.statement = definition(&changed).to_string());
        let found = damage(&memory);
        assert!(!found.is_empty(), "{what}");
        assert!(found.iter().all(|error| error.kind() == Kind::Corrupt), "{found:?}");
    }
}

#[test]
fn merging_unsorted_parts_names_part_and_row() {
    let memory = table();
    let changed = STATEMENT.replace("ORDER BY (k, s)", "ORDER BY (s, k)");
    forge(&memory, |sidecar| sidecar.statement = definition(&changed).to_string());
    let before = memory.list(Path::new("t")).unwrap();
    let error = merge_all(&dynamic(&memory), Path::new("t"), 1 << 20).unwrap_err();
    assert!(
        matches!(&error, TableError::Unsorted { part, row, .. } if part.starts_with("202201_") && *row > 0),
        "{error:?}"
    );
    assert_eq!(error.kind(), Kind::Corrupt);
    assert_eq!(memory.list(Path::new("t")).unwrap(), before);
    assert_eq!(read(&dynamic(&memory), Path::new("t")).unwrap().len(), 300);
}
