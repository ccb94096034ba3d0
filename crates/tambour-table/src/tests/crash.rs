//! A crash, or an error, at every call of every operation: the table is the old one or the new one, and the next writer
//! finds nothing in its way and leaves nothing behind.

use super::{assert_tidy, contents, definition, insert, merge_all, options, read, rows};
use crate::TableError;
use crate::insert::{Existing, InsertOptions};
use crate::rewrite::{Rewrite, detached_parts};
use crate::schema::TableDefinition;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::BooleanBuffer;
use std::path::Path;
use std::sync::Arc;
use tambour_codec::Kind;
use tambour_storage::Storage;
use tambour_storage::memory::{Calls, EIO, ENOSPC, Fate, Memory};

const PATH: &str = "tables/t";

const FATES: [Fate; 6] =
    [Fate::Lost, Fate::Kept, Fate::Drawn(1), Fate::Drawn(2), Fate::Drawn(3), Fate::Drawn(4)];

type Operation = Box<dyn Fn(&Arc<dyn Storage>) -> Result<(), TableError>>;

/// An operation on a table that was prepared by others.
struct Scenario {
    definition: TableDefinition,
    before: Memory,
    /// Rows before and after; `None` if there is no table.
    old: Option<Vec<Vec<u8>>>,
    new: Vec<Vec<u8>>,
    operate: Operation,
}

fn seeds(count: u32) -> Vec<(u16, u32)> {
    (0..count)
        .map(|at| (u16::try_from(at * 37 % 50).unwrap(), at.wrapping_mul(2_654_435_761) % 30))
        .collect()
}

fn dynamic(memory: &Memory) -> Arc<dyn Storage> {
    Arc::new(memory.clone())
}

/// So that every batch is a run of its own.
fn spilling(existing: Existing) -> InsertOptions {
    InsertOptions { existing, memory_bytes: 1, ..options() }
}

/// Few columns: every file is a few calls more to crash in.
const STATEMENT: &str = "CREATE TABLE t (d Date, k UInt32, id UInt64) ENGINE = MergeTree \
     PARTITION BY toYYYYMM(d) ORDER BY k SETTINGS index_granularity = 16";

fn batches(definition: &TableDefinition) -> [RecordBatch; 2] {
    [rows(definition, 0, &seeds(40)), rows(definition, 40, &seeds(25))]
}

fn scenario(
    inserts_before: usize,
    operate: impl Fn(&Arc<dyn Storage>, &TableDefinition, &[RecordBatch; 2]) -> Result<(), TableError>
    + 'static,
) -> Scenario {
    prepared(inserts_before, |_| {}, operate)
}

/// The same over a table with which something else was done.
fn prepared(
    inserts_before: usize,
    prepare: impl Fn(&Arc<dyn Storage>),
    operate: impl Fn(&Arc<dyn Storage>, &TableDefinition, &[RecordBatch; 2]) -> Result<(), TableError>
    + 'static,
) -> Scenario {
    let definition = definition(STATEMENT);
    let batches = batches(&definition);
    let before = Memory::new();
    before.put(Path::new("tables/other/file"), b"");
    for batch in &batches[..inserts_before] {
        let batch = std::slice::from_ref(batch);
        insert(&dynamic(&before), Path::new(PATH), &definition, options(), batch).unwrap();
    }
    prepare(&dynamic(&before));
    let before = before.crash(Fate::Kept);
    let old = match read(&dynamic(&before), Path::new(PATH)) {
        Ok(rows) => Some(rows),
        Err(error) => {
            assert_eq!(error.kind(), Kind::NotFound);
            None
        }
    };
    let after = before.crash(Fate::Kept);
    let known = definition.clone();
    let operate = Box::new(move |storage: &Arc<dyn Storage>| operate(storage, &known, &batches));
    operate(&dynamic(&after)).unwrap();
    assert_tidy(&dynamic(&after), Path::new(PATH));
    let new = read(&dynamic(&after), Path::new(PATH)).unwrap();
    Scenario { definition, before, old, new, operate }
}

impl Scenario {
    /// What a reader sees, which must be one of the two.
    fn look(&self, memory: &Memory, what: &str) -> bool {
        match read(&dynamic(memory), Path::new(PATH)) {
            Ok(rows) if rows == self.new => true,
            Ok(rows) => {
                assert_eq!(Some(rows), self.old, "{what}");
                false
            }
            Err(error) => {
                assert!(self.old.is_none() && error.kind() == Kind::NotFound, "{what}: {error:?}");
                false
            }
        }
    }

    /// The next insert works, adds its rows to what a reader saw, and tidies up.
    fn go_on(&self, memory: &Memory, is_new: bool, what: &str) {
        let storage = dynamic(memory);
        let known = crate::Table::open_on(&storage, Path::new(PATH)).ok();
        let known = known.and_then(|table| table.definition().cloned());
        let known = known.unwrap_or_else(|| self.definition.clone());
        let more = rows(&known, 1000, &[(3, 7), (40, 1)]);
        let summary =
            insert(&storage, Path::new(PATH), &known, options(), std::slice::from_ref(&more));
        assert!(summary.is_ok(), "{what}: {summary:?}");
        let mut expected = contents(&[more]);
        expected.extend(if is_new {
            self.new.clone()
        } else {
            self.old.clone().unwrap_or_default()
        });
        expected.sort_unstable();
        assert_eq!(read(&storage, Path::new(PATH)).unwrap(), expected, "{what}");
        assert_tidy(&storage, Path::new(PATH));
    }

    /// Cuts the power before every call that changes something.
    fn crash_everywhere(&self) {
        let calls = self.calls(Calls::Writes);
        assert!(calls > 10, "{calls} calls are too few to be true");
        let mut outcomes = [0, 0];
        for call in 0..=calls {
            let memory = self.before.crash(Fate::Kept);
            memory.fail_from(Calls::Writes, call, EIO);
            let _ = (self.operate)(&dynamic(&memory));
            for fate in FATES {
                let what = format!("crash before call {call} of {calls}, {fate:?}");
                let after = memory.crash(fate);
                let is_new = self.look(&after, &what);
                outcomes[usize::from(is_new)] += 1;
                self.go_on(&after, is_new, &what);
            }
        }
        assert!(outcomes.iter().all(|count| *count > 0), "{outcomes:?}");
    }

    /// Lets every call fail once: an error means the old table, success the new one.
    fn fail_everywhere(&self, calls: Calls, error: i32) {
        let count = self.calls(calls);
        for call in 0..count {
            let what = format!("error {error} in call {call} of {count} {calls:?}");
            let memory = self.before.crash(Fate::Kept);
            memory.fail_at(calls, call, error);
            let result = (self.operate)(&dynamic(&memory));
            memory.heal();
            let is_new = self.look(&memory, &what);
            assert_eq!(is_new, result.is_ok(), "{what}: {result:?}");
            // What was reported holds even if the power is cut now.
            for fate in [Fate::Lost, Fate::Drawn(9)] {
                let after = memory.crash(fate);
                assert_eq!(self.look(&after, &what), is_new, "{what}, {fate:?}");
                self.go_on(&after, is_new, &what);
            }
            self.go_on(&memory, is_new, &what);
        }
    }

    fn calls(&self, calls: Calls) -> u64 {
        let memory = self.before.crash(Fate::Kept);
        (self.operate)(&dynamic(&memory)).unwrap();
        match calls {
            Calls::Writes => memory.writes(),
            Calls::Reads => memory.reads(),
        }
    }

    fn try_everything(&self) {
        self.crash_everywhere();
        self.fail_everywhere(Calls::Writes, ENOSPC);
        self.fail_everywhere(Calls::Reads, EIO);
    }
}

#[test]
fn first_insert() {
    let insert_both =
        |storage: &Arc<dyn Storage>, definition: &TableDefinition, batches: &[RecordBatch; 2]| {
            insert(storage, Path::new(PATH), definition, spilling(Existing::Refuse), batches)
                .map(|_| ())
        };
    scenario(0, insert_both).try_everything();
}

#[test]
fn appending_insert() {
    let append =
        |storage: &Arc<dyn Storage>, definition: &TableDefinition, batches: &[RecordBatch; 2]| {
            insert(storage, Path::new(PATH), definition, options(), &batches[1..]).map(|_| ())
        };
    scenario(1, append).try_everything();
}

#[test]
fn replacing_insert() {
    let replace =
        |storage: &Arc<dyn Storage>, definition: &TableDefinition, batches: &[RecordBatch; 2]| {
            let options = InsertOptions { existing: Existing::Replace, ..options() };
            insert(storage, Path::new(PATH), definition, options, &batches[1..]).map(|_| ())
        };
    scenario(1, replace).try_everything();
}

/// The power was cut between a commit and the renames that follow it: recovery is crashed everywhere, too.
#[test]
fn insert_that_recovers_first() {
    let append =
        |storage: &Arc<dyn Storage>, definition: &TableDefinition, batches: &[RecordBatch; 2]| {
            insert(storage, Path::new(PATH), definition, options(), &batches[1..]).map(|_| ())
        };
    let mut scenario = scenario(1, append);
    let more = rows(&scenario.definition, 500, &[(1, 2), (45, 1)]);
    let is_unsettled = |memory: &Memory| {
        let entries = memory.list(Path::new(PATH)).unwrap();
        let is_temporary = entries.iter().any(|entry| entry.name.starts_with("tmp_"));
        is_temporary && read(&dynamic(memory), Path::new(PATH)).unwrap().len() == 42
    };
    let unsettled = (0..10_000).find_map(|call| {
        let memory = scenario.before.crash(Fate::Kept);
        memory.fail_from(Calls::Writes, call, EIO);
        let batch = std::slice::from_ref(&more);
        let _ = insert(&dynamic(&memory), Path::new(PATH), &scenario.definition, options(), batch);
        let after = memory.crash(Fate::Lost);
        is_unsettled(&after).then_some(after)
    });
    scenario.before = unsettled.unwrap();
    let added = contents(&[more]);
    for state in [scenario.old.as_mut().unwrap(), &mut scenario.new] {
        state.extend(added.clone());
        state.sort_unstable();
    }
    scenario.try_everything();
}

/// Merging changes no rows, so that old and new are told apart by the number of parts.
#[test]
fn optimize() {
    let merge = |storage: &Arc<dyn Storage>, _: &TableDefinition, _: &[RecordBatch; 2]| {
        merge_all(storage, Path::new(PATH), 1).map(|_| ())
    };
    let scenario = scenario(2, merge);
    let parts = |memory: &Memory| {
        crate::Table::open_on(&dynamic(memory), Path::new(PATH)).unwrap().parts().len()
    };
    let (many, few) = (parts(&scenario.before), 2);
    assert_eq!(many, 4);
    let calls = scenario.calls(Calls::Writes);
    let mut outcomes = [0, 0];
    for call in 0..=calls {
        for error in [EIO, ENOSPC] {
            let memory = scenario.before.crash(Fate::Kept);
            if error == EIO {
                memory.fail_from(Calls::Writes, call, error);
            } else {
                memory.fail_at(Calls::Writes, call, error);
            }
            let result = (scenario.operate)(&dynamic(&memory));
            memory.heal();
            if error == ENOSPC {
                assert_eq!(parts(&memory), if result.is_ok() { few } else { many }, "{call}");
            }
            for fate in FATES {
                let what = format!("error {error} in call {call} of {calls}, {fate:?}");
                let after = memory.crash(fate);
                assert!(scenario.look(&after, &what));
                assert!([many, few].contains(&parts(&after)), "{what}");
                outcomes[usize::from(parts(&after) == few)] += 1;
                scenario.go_on(&after, true, &what);
            }
        }
    }
    assert!(outcomes.iter().all(|count| *count > 0), "{outcomes:?}");
}

/// Part by part: whatever is cut, rows are there, the same call again finishes the work, and any other goes on, too.
#[test]
fn recompress() {
    let change = |storage: &Arc<dyn Storage>, _: &TableDefinition, _: &[RecordBatch; 2]| {
        let choose = |_: &str| Some("auto(size)".parse().unwrap());
        crate::recompress::recompress(storage, Path::new(PATH), &choose, &mut |_| {}).map(|_| ())
    };
    let scenario = scenario(2, change);
    let calls = scenario.calls(Calls::Writes);
    assert!(calls > 40);
    for call in 0..=calls {
        let memory = scenario.before.crash(Fate::Kept);
        memory.fail_from(Calls::Writes, call, EIO);
        let _ = (scenario.operate)(&dynamic(&memory));
        memory.heal();
        for fate in [Fate::Lost, Fate::Kept, Fate::Drawn(1)] {
            let what = format!("crash before call {call} of {calls}, {fate:?}");
            let after = memory.crash(fate);
            assert!(scenario.look(&after, &what));
            scenario.go_on(&after, true, &what);
            let again = memory.crash(fate);
            let done = (scenario.operate)(&dynamic(&again));
            assert!(done.is_ok(), "{what}: {done:?}");
            assert!(scenario.look(&again, &what));
            assert_tidy(&dynamic(&again), Path::new(PATH));
        }
    }
}

/// A part is written anew without some of its rows, and another one is dropped: both or none.
#[test]
fn rewrite() {
    let change = |storage: &Arc<dyn Storage>, _: &TableDefinition, _: &[RecordBatch; 2]| {
        let path = Path::new(PATH);
        let mut rewrite = Rewrite::begin(storage, path, "a test", options())?;
        let parts = rewrite.table().part_names().to_vec();
        let mut draft = rewrite.replace(&parts[0])?;
        for batch in rewrite.rows(&parts[0])? {
            let batch = batch?;
            draft.write(&batch.slice(0, batch.num_rows() - 3))?;
        }
        rewrite.put(draft)?;
        rewrite.drop_part(&parts[1])?;
        rewrite.commit().map(|_| ())
    };
    scenario(2, change).try_everything();
}

/// A column gets other values in one part, beside the files of the others, and in a part of which rows are hidden.
#[test]
fn update() {
    let change = |storage: &Arc<dyn Storage>, _: &TableDefinition, _: &[RecordBatch; 2]| {
        let path = Path::new(PATH);
        let mut rewrite = Rewrite::begin(storage, path, "a test", options())?;
        for part in rewrite.table().part_names().to_vec() {
            let columns = rewrite.definition().columns.iter();
            let at = columns.map(|it| it.column.name.as_str()).position(|it| it == "id").unwrap();
            let (mut draft, rows, is_alone) = rewrite.update(&part, &[at])?;
            assert!(is_alone);
            for batch in rows {
                let batch = batch?;
                let ids = batch.column(0).as_primitive::<UInt64Type>();
                let other: ArrayRef = Arc::new(ids.unary::<_, UInt64Type>(|it| it + 1_000_000));
                draft.write(&RecordBatch::try_new(batch.schema(), vec![other]).unwrap())?;
            }
            rewrite.put(draft)?;
        }
        rewrite.commit().map(|_| ())
    };
    let prepare = |storage: &Arc<dyn Storage>| {
        let mut rewrite = begin(storage).unwrap();
        let part = rewrite.table().part_names()[0].clone();
        rewrite.hide_rows(&part, &BooleanBuffer::from_iter([true, false, true])).unwrap();
        rewrite.commit().unwrap();
    };
    prepared(2, prepare, change).try_everything();
}

/// Parts are written anew without a column and with another one, and the statement changes with them.
#[test]
fn alter() {
    let change = |storage: &Arc<dyn Storage>, _: &TableDefinition, _: &[RecordBatch; 2]| {
        let commands = "DROP COLUMN id, ADD COLUMN v UInt64 DEFAULT k + 1";
        super::alter::alter(storage, Path::new(PATH), commands).map(|_| ())
    };
    scenario(2, change).try_everything();
}

fn begin(storage: &Arc<dyn Storage>) -> Result<Rewrite, TableError> {
    Rewrite::begin(storage, Path::new(PATH), "a test", options())
}

fn detach_first(storage: &Arc<dyn Storage>) -> Result<(), TableError> {
    let mut rewrite = begin(storage)?;
    let part = rewrite.table().part_names()[0].clone();
    rewrite.detach_part(&part)?;
    rewrite.commit().map(|_| ())
}

fn attach_all(storage: &Arc<dyn Storage>) -> Result<(), TableError> {
    let mut rewrite = begin(storage)?;
    for part in detached_parts(storage, Path::new(PATH))? {
        rewrite.attach_part(&part)?;
    }
    rewrite.commit().map(|_| ())
}

/// Rows of the table and of what is in `detached/`, when the next writer has settled things.
fn rows_of_both(memory: &Memory) -> u64 {
    let storage = dynamic(memory);
    let rewrite = begin(&storage).unwrap();
    let detached = detached_parts(&storage, Path::new(PATH)).unwrap();
    let there: u64 = detached.iter().map(|it| rewrite.open_detached(it).unwrap().rows()).sum();
    rewrite.table().rows() + there
}

/// Whatever is cut, a part that moves is at one place or at the other.
fn try_moving(scenario: &Scenario) {
    scenario.try_everything();
    for call in 0..=scenario.calls(Calls::Writes) {
        let memory = scenario.before.crash(Fate::Kept);
        memory.fail_from(Calls::Writes, call, EIO);
        let _ = (scenario.operate)(&dynamic(&memory));
        for fate in FATES {
            assert_eq!(rows_of_both(&memory.crash(fate)), 65, "crash before call {call}, {fate:?}");
        }
    }
}

#[test]
fn detach() {
    try_moving(&scenario(2, |storage, _, _| detach_first(storage)));
}

#[test]
fn attach() {
    let prepare = |storage: &Arc<dyn Storage>| detach_first(storage).unwrap();
    let scenario = prepared(2, prepare, |storage, _, _| attach_all(storage));
    let old = scenario.old.as_ref().map(Vec::len).unwrap();
    assert!(old < 65 && scenario.new.len() == 65, "{old}");
    try_moving(&scenario);
}

/// A part of another table comes in, and one goes.
#[test]
fn replace_from_another_table() {
    let other = Path::new("tables/u");
    let prepare = move |storage: &Arc<dyn Storage>| {
        let definition = definition(STATEMENT);
        let [_, more] = batches(&definition);
        insert(storage, other, &definition, options(), &[more]).unwrap();
    };
    let change = move |storage: &Arc<dyn Storage>, _: &TableDefinition, _: &[RecordBatch; 2]| {
        let source = crate::Table::open_on(storage, other)?;
        let mut rewrite = begin(storage)?;
        rewrite.check_structure(&source)?;
        rewrite.copy_part(&source, &source.part_names()[0])?;
        let part = rewrite.table().part_names()[0].clone();
        rewrite.drop_part(&part)?;
        rewrite.commit().map(|_| ())
    };
    prepared(1, prepare, change).try_everything();
}

/// Rows are hidden in one part, then in the same one again, and all of another.
#[test]
fn hide_rows() {
    let change = |storage: &Arc<dyn Storage>, _: &TableDefinition, _: &[RecordBatch; 2]| {
        let mut rewrite = begin(storage)?;
        let parts = rewrite.table().part_names().to_vec();
        rewrite.hide_rows(&parts[0], &BooleanBuffer::from_iter([false, true, true]))?;
        let rows = usize::try_from(rewrite.table().parts()[1].rows()).unwrap();
        rewrite.hide_rows(&parts[1], &BooleanBuffer::new_set(rows))?;
        rewrite.commit().map(|_| ())
    };
    let scenario = prepared(
        2,
        |storage| {
            change(storage, &definition(STATEMENT), &batches(&definition(STATEMENT))).unwrap();
        },
        change,
    );
    let old = scenario.old.as_ref().unwrap();
    assert!(scenario.new.len() + 2 < old.len(), "{} of {}", scenario.new.len(), old.len());
    scenario.try_everything();
}
