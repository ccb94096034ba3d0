//! ALTER TABLE of columns: which parts are written anew, what is read afterwards, and what is refused.

use super::{assert_tidy, definition, insert, options, read, rows, scratch};
use crate::alter::Altered;
use crate::rewrite::{PartDraft, Rewrite};
use crate::schema::alter::Alteration;
use crate::{Table, TableError};
use std::path::Path;
use std::sync::Arc;
use tambour_storage::{Storage, disk};

/// Carries out commands that need no cast.
pub(super) fn alter(
    storage: &Arc<dyn Storage>,
    path: &Path,
    commands: &str,
) -> Result<u64, TableError> {
    let statement = Alteration::parse(&format!("ALTER TABLE t {commands}"))?.unwrap();
    let mut rewrite = Rewrite::begin(storage, path, "ALTER TABLE", options())?;
    let altered = Altered::new(rewrite.definition(), &statement.commands)?;
    rewrite.redefine(altered)?;
    for part in rewrite.table().part_names().to_vec() {
        if rewrite.is_touched(&part)? {
            let draft = match rewrite.amend(&part)? {
                Some((draft, _, recasts)) => {
                    assert!(recasts.is_empty());
                    draft
                }
                None => whole(&rewrite, &part)?,
            };
            rewrite.put(draft)?;
        }
    }
    rewrite.commit().map(|summary| summary.parts)
}

/// All columns of a part.
fn whole(rewrite: &Rewrite, part: &str) -> Result<PartDraft, TableError> {
    let mut draft = rewrite.replace(part)?;
    for batch in rewrite.rows(part)? {
        draft.write(&rewrite.adapt(batch?, &[])?)?;
    }
    Ok(draft)
}

/// The names of the columns, and those that the first part has stored.
fn columns(path: &Path) -> (Vec<String>, Vec<String>) {
    let table = Table::open(path).unwrap();
    let name = |column: &tambour_part::types::Column| column.name.clone();
    (
        table.columns().iter().map(name).collect(),
        table.parts()[0].stored_columns().map(name).collect(),
    )
}

const STATEMENT: &str = "CREATE TABLE t (d Date, k UInt32, s String, l LowCardinality(String), id UInt64) \
     ENGINE = MergeTree PARTITION BY toYYYYMM(d) ORDER BY (k, s) TTL d + INTERVAL 9 YEAR";

fn filled(path: &Path) {
    let definition = definition(STATEMENT);
    let rows = rows(&definition, 0, &[(1, 5), (2, 6), (40, 1)]);
    insert(&disk(), path, &definition, options(), &[rows]).unwrap();
}

#[test]
fn parts_are_written_anew_only_where_they_must() {
    let directory = scratch();
    let path = directory.path().join("t");
    filled(&path);
    let before = read(&disk(), &path).unwrap();
    let untouched = [
        "ADD COLUMN a UInt64 DEFAULT k * 2 AFTER k, ADD COLUMN b String FIRST",
        "MODIFY COLUMN a DEFAULT 3, MODIFY COLUMN b LowCardinality(String)",
        "COMMENT COLUMN a 'x', MODIFY COMMENT 'all of it', MODIFY COLUMN a REMOVE DEFAULT",
        "MODIFY COLUMN id UInt128 AFTER d",
        "ADD COLUMN IF NOT EXISTS a String, DROP COLUMN IF EXISTS nothing",
    ];
    for commands in untouched {
        assert_eq!(alter(&disk(), &path, commands).unwrap(), 0, "{commands}");
    }
    let (seen, stored) = columns(&path);
    assert_eq!(seen, ["b", "d", "id", "k", "a", "s", "l"]);
    assert_eq!(stored, ["d", "k", "s", "l", "id"]);
    assert_eq!(alter(&disk(), &path, "RENAME COLUMN l TO m, DROP COLUMN a").unwrap(), 2);
    let (seen, stored) = columns(&path);
    assert_eq!(seen, ["b", "d", "id", "k", "s", "m"]);
    assert_eq!(stored, ["d", "k", "s", "m", "id"]);
    // A column that comes back has none of its values from before.
    assert_eq!(
        alter(&disk(), &path, "DROP COLUMN m, ADD COLUMN m String DEFAULT 'new'").unwrap(),
        2
    );
    assert_eq!(columns(&path).1, ["d", "k", "s", "id"]);
    assert_eq!(alter(&disk(), &path, "CLEAR COLUMN m").unwrap(), 0, "no part has it");
    assert_eq!(alter(&disk(), &path, "CLEAR COLUMN id").unwrap(), 2);
    assert_eq!(columns(&path).1, ["d", "k", "s"]);
    assert_eq!(read(&disk(), &path).unwrap().len(), before.len());
    // The rewrite held the old parts until it was over.
    crate::remove_replaced(&disk(), &path).unwrap();
    assert_tidy(&disk(), &path);
}

#[test]
fn what_a_server_refuses_changes_nothing() {
    let directory = scratch();
    let path = directory.path().join("t");
    filled(&path);
    alter(&disk(), &path, "ADD COLUMN a UInt64 DEFAULT id + 1").unwrap();
    let before = (columns(&path), read(&disk(), &path).unwrap());
    for commands in [
        "DROP COLUMN k",
        "DROP COLUMN d",
        "RENAME COLUMN s TO t",
        "MODIFY COLUMN k UInt64",
        "MODIFY COLUMN s Nullable(String)",
        "CLEAR COLUMN k",
        "DROP COLUMN id",
        "DROP COLUMN nothing",
        "RENAME COLUMN a TO id",
        "RENAME COLUMN a TO b.a",
        "ADD COLUMN id UInt8",
        "ADD COLUMN b UInt8 DEFAULT nothing",
        "ADD COLUMN b UInt8 DEFAULT b",
        "ADD COLUMN b DateTime DEFAULT now()",
        "ADD COLUMN b UInt8 AFTER nothing",
        "ADD COLUMN _row_exists UInt8",
        "ADD COLUMN b UInt8, DROP COLUMN k",
        "DROP COLUMN l, DROP COLUMN l",
        "MODIFY ORDER BY (k, s, id)",
        "MODIFY ORDER BY k",
        "ADD COLUMN b UInt8 DEFAULT 1, MODIFY ORDER BY (k, s, b)",
        "ADD COLUMN b UInt8, MODIFY ORDER BY (k, s, b), MODIFY COLUMN b DEFAULT 300 - id",
        "MODIFY TTL id + INTERVAL 1 DAY",
    ] {
        assert!(alter(&disk(), &path, commands).is_err(), "{commands}");
        assert_eq!((columns(&path), read(&disk(), &path).unwrap()), before, "{commands}");
    }
    assert_tidy(&disk(), &path);
}

#[test]
fn a_default_follows_a_renamed_column() {
    let directory = scratch();
    let path = directory.path().join("t");
    filled(&path);
    alter(&disk(), &path, "ADD COLUMN a UInt64 DEFAULT id + 1, RENAME COLUMN id TO number")
        .unwrap();
    let table = Table::open(&path).unwrap();
    let columns = &table.definition().unwrap().columns;
    let default = columns.iter().find(|it| it.column.name == "a").unwrap();
    assert_eq!(default.clauses.default.as_deref(), Some("number + 1"));
}
