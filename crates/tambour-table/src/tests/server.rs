//! Layouts of a server's disk: tables are found by database and name, with their statements, and an empty one is a table.

use super::{STATEMENT, contents, definition, insert, options, read_part, rows};
use crate::Table;
use crate::schema::TableDefinition;
use crate::server::ServerDisk;
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use std::path::Path;
use std::sync::Arc;
use tambour_codec::Kind;
use tambour_storage::memory::Memory;
use tambour_storage::{Storage, disk};

const TABLE_UUID: &str = "21ad433a-2591-439e-9370-5aa09c1247df";
const EMPTY_UUID: &str = "315c61bf-fd79-4890-9807-00affadcae60";
const DATABASE_UUID: &str = "046e93ee-1e78-4620-a112-3ba3ab60ae3e";

/// The parts of a table without its sidecar, at a place.
fn parts_at(memory: &Memory, path: &str) -> Vec<Vec<u8>> {
    let storage: Arc<dyn Storage> = Arc::new(memory.clone());
    let definition = definition(STATEMENT);
    let batch = rows_of(&definition);
    directories(memory, path);
    memory.remove_directory(Path::new(path)).unwrap();
    insert(&storage, Path::new(path), &definition, options(), std::slice::from_ref(&batch))
        .unwrap();
    for name in ["tambour.json", ".tambour.lock"] {
        memory.remove_file(&Path::new(path).join(name)).unwrap();
    }
    contents(&[batch])
}

fn directories(memory: &Memory, path: &str) {
    let storage: &dyn Storage = memory;
    let mut whole = std::path::PathBuf::new();
    for piece in Path::new(path) {
        whole.push(piece);
        drop(storage.create_directory(&whole));
    }
}

fn put(memory: &Memory, path: &str, text: &str) {
    let parent = Path::new(path).parent().unwrap().to_str().unwrap();
    directories(memory, parent);
    memory.put(Path::new(path), text.as_bytes());
}

fn dynamic(memory: &Memory) -> Arc<dyn Storage> {
    Arc::new(memory.clone())
}

fn statement(uuid: Option<&str>) -> String {
    let head = uuid
        .map_or("CREATE TABLE shop.t".to_owned(), |uuid| format!("ATTACH TABLE _ UUID '{uuid}'"));
    STATEMENT.replace("CREATE TABLE t", &head)
}

fn found(memory: &Memory, path: &str) -> ServerDisk {
    ServerDisk::open(&dynamic(memory), Path::new(path)).unwrap().unwrap()
}

/// The rows of the only table that has any.
#[track_caller]
fn check(found: &ServerDisk, name: &str, expected: &[Vec<u8>], key: usize) {
    let table = found.tables.iter().find(|table| table.name == name).unwrap();
    let table = found.table(table).unwrap();
    assert_eq!((table.name(), table.database()), (name, Some("shop")));
    let keys = table.definition().map_or(0, |definition| definition.order_by.len());
    assert_eq!(keys, key, "{name}");
    let batches: Vec<_> = (0..table.parts().len()).flat_map(|at| read_part(&table, at)).collect();
    assert_eq!(contents(&batches), expected);
}

/// A server of today: statements and parts in `store`.
fn server() -> (Memory, Vec<Vec<u8>>) {
    let memory = Memory::new();
    let head = format!("ATTACH DATABASE _ UUID '{DATABASE_UUID}'\nENGINE = Atomic\n");
    put(&memory, "srv/metadata/shop.sql", &head);
    let own = format!("srv/store/046/{DATABASE_UUID}");
    put(&memory, &format!("{own}/odd%20name%2D.sql"), &statement(Some(TABLE_UUID)));
    let empty = format!(
        "ATTACH TABLE _ UUID '{EMPTY_UUID}'\n(\n    `k` UInt32\n)\nENGINE = MergeTree\nORDER BY k"
    );
    put(&memory, &format!("{own}/nothing.sql"), &empty);
    put(
        &memory,
        &format!("{own}/v.sql"),
        "ATTACH VIEW _ UUID '1'\n(\n    `1` UInt8\n)\nAS SELECT 1",
    );
    put(&memory, &format!("{own}/l.sql"), "ATTACH TABLE _\n(\n    `k` UInt8\n)\nENGINE = Log");
    let rows = parts_at(&memory, &format!("srv/store/21a/{TABLE_UUID}"));
    (memory, rows)
}

#[test]
fn a_data_directory() {
    let (memory, rows) = server();
    let seen = found(&memory, "srv");
    let names: Vec<&str> = seen.tables.iter().map(|table| table.name.as_str()).collect();
    assert_eq!(names, ["nothing", "odd name-"]);
    assert_eq!(seen.others, ["shop.l", "shop.v"]);
    check(&seen, "odd name-", &rows, 2);
    check(&seen, "nothing", &[], 1);
    // A directory by itself has its statement too.
    let path = format!("srv/store/21a/{TABLE_UUID}");
    let alone = Table::open_on(&dynamic(&memory), Path::new(&path)).unwrap();
    assert_eq!(alone.definition().unwrap().order_by.len(), 2);
}

#[test]
fn keys_that_cannot_be_read_stand_aside_and_columns_do_not() {
    let memory = Memory::new();
    let storage = dynamic(&memory);
    let unknown = statement(None).replace("toYYYYMM(d)", "(toYYYYMM(d), k > 7)");
    put(&memory, "srv/metadata/shop/t.sql", &unknown);
    let rows = parts_at(&memory, "srv/data/shop/t");
    let path = Path::new("srv/data/shop/t");
    let table = Table::open_on(&storage, path).unwrap();
    assert!(table.definition().is_none());
    let batches: Vec<_> = (0..table.parts().len()).flat_map(|at| read_part(&table, at)).collect();
    assert_eq!(contents(&batches), rows);
    // So it is among the tables of the server. A change of it is an error.
    let server = found(&memory, "srv");
    assert!(server.table(&server.tables[0]).unwrap().definition().is_none());
    assert!(crate::open::adopt(&storage, path).is_err());

    // What a part lacks has a default that the statement knows.
    let fewer = definition(&STATEMENT.replace(", id UInt64)", ")"));
    let batch = rows_of(&fewer);
    insert(&storage, Path::new("other"), &fewer, options(), &[batch]).unwrap();
    let part = Table::open_on(&storage, Path::new("other")).unwrap().part_names()[0].clone();
    let (partition, _) = part.split_once('_').unwrap();
    let place = path.join(format!("{partition}_9_9_0"));
    storage.rename(&Path::new("other").join(&part), &place).unwrap();
    let table = Table::open_on(&storage, path).unwrap();
    assert_eq!(table.columns().last().unwrap().name, "id");
    let added = table.part_names().iter().position(|name| name.ends_with("_9_9_0")).unwrap();
    let ids = read_part(&table, added).remove(0);
    let ids = ids.column(ids.num_columns() - 1).as_primitive::<UInt64Type>().clone();
    assert!(ids.iter().all(|id| id == Some(0)));

    // If it cannot be read at all, nobody knows it.
    put(&memory, "srv/metadata/shop/t.sql", &unknown.replace("id UInt64", "id Nonsense(3)"));
    let error = Table::open_on(&storage, path).unwrap_err();
    assert!(error.to_string().contains("type of column `id`"), "{error}");
}

/// A few rows of a definition.
fn rows_of(definition: &TableDefinition) -> RecordBatch {
    let seeds: Vec<(u16, u32)> = (0..80).map(|at| (at % 2 * 40, u32::from(at))).collect();
    rows(definition, 0, &seeds)
}

#[test]
fn a_data_directory_of_old() {
    let memory = Memory::new();
    put(&memory, "srv/metadata/shop/t.sql", &statement(None));
    put(&memory, "srv/metadata/system/q.sql", &statement(None));
    let rows = parts_at(&memory, "srv/data/shop/t");
    let seen = found(&memory, "srv");
    assert_eq!(seen.tables.len(), 1, "a server's own tables are left out");
    check(&seen, "t", &rows, 2);
}

#[test]
fn a_freeze_beside_its_server_and_alone() {
    let (memory, _) = server();
    let rows = parts_at(&memory, &format!("srv/shadow/b1/store/21a/{TABLE_UUID}"));
    let seen = found(&memory, "srv/shadow/b1");
    assert_eq!(seen.tables.len(), 1, "only what was frozen");
    check(&seen, "odd name-", &rows, 2);
    let rows = parts_at(&memory, "b2/data/shop/t");
    check(&found(&memory, "b2"), "t", &rows, 0);
}

#[test]
fn a_backup_of_clickhouse() {
    let memory = Memory::new();
    let rows = parts_at(&memory, "w/parts");
    // Every file lies under a name of its own, as `data_file_name_generator = 'checksum'` does it.
    let mut files = Vec::new();
    let mut list = |name: String, place: String, bytes: &[u8]| {
        let mut hasher = tambour_kernel::hash::FileHasher::default();
        hasher.update(bytes);
        let hash = u128::from_le_bytes(hasher.finish().to_bytes());
        let size = bytes.len();
        files.push(format!(
            "<file><name>{name}</name><size>{size}</size><checksum>{hash:032x}</checksum><data_file>{place}</data_file></file>"
        ));
    };
    put(&memory, "w/bk/s/1", &statement(None));
    list("metadata/shop/t.sql".to_owned(), "s/1".to_owned(), statement(None).as_bytes());
    let dynamic = dynamic(&memory);
    let parts = dynamic.list(Path::new("w/parts")).unwrap();
    for part in parts.iter().filter(|entry| entry.is_directory) {
        for file in dynamic.list(&Path::new("w/parts").join(&part.name)).unwrap() {
            let own = format!("{}/{}", part.name, file.name);
            let bytes = dynamic.read(&Path::new("w/parts").join(&own), 1 << 20).unwrap();
            let place = format!("x/{}", own.replace('/', "_"));
            directories(&memory, "w/bk/x");
            memory.put(&Path::new("w/bk").join(&place), &bytes);
            list(format!("data/shop/t/{own}"), place, &bytes);
        }
    }
    let files = files.concat();
    let text =
        format!("<config><version>1</version><uuid>1</uuid><contents>{files}</contents></config>");
    put(&memory, "w/bk/.backup", &text);
    let disk = found(&memory, "w/bk");
    check(&disk, "t", &rows, 2);
    let seen = disk.verify(&mut |_| ());
    assert_eq!(seen.damage.len(), 0, "{:?}", seen.damage);
    assert_eq!(seen.rows, rows.len() as u64);
    // A statement that was changed is in no part: only the manifest tells.
    put(&memory, "w/bk/s/1", &statement(None).replace("ORDER BY", "order by"));
    let damage = found(&memory, "w/bk").verify(&mut |_| ()).damage;
    assert_eq!(damage.len(), 1, "{damage:?}");
    assert_eq!(damage[0].kind(), Kind::Corrupt);
}

#[test]
fn a_backup_of_clickhouse_backup() {
    let memory = Memory::new();
    let noted = |name: &str| {
        let query = statement(None).replace('\n', " ");
        serde_json::json!({"database": "shop", "table": name, "query": query, "parts": {}})
            .to_string()
    };
    put(&memory, "cb/metadata.json", "{}");
    put(&memory, "cb/metadata/shop/t%2D1.json", &noted("t-1"));
    put(&memory, "cb/metadata/shop/empty.json", &noted("empty"));
    let rows = parts_at(&memory, "cb/shadow/shop/t%2D1/default");
    let seen = found(&memory, "cb");
    check(&seen, "t-1", &rows, 2);
    check(&seen, "empty", &[], 2);
    put(&memory, "cb/shadow/shop/t%2D1/default_1.tar", "x");
    let error = ServerDisk::open(&dynamic(&memory), Path::new("cb")).unwrap_err();
    assert!(error.to_string().contains("default_1.tar"), "{error}");
}

#[test]
fn other_directories_are_not_a_servers() {
    let (memory, _) = server();
    assert!(ServerDisk::open(&dynamic(&memory), Path::new("srv/store/21a")).unwrap().is_none());
    assert!(ServerDisk::open(&dynamic(&memory), Path::new("nowhere")).unwrap().is_none());
    assert!(ServerDisk::open(&disk(), Path::new("/proc/version")).unwrap().is_none());
    assert!(Table::open_on(&dynamic(&memory), Path::new("srv")).is_err());
}
