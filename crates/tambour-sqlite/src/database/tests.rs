//! The bytes of a database against those of a plain file.

use super::*;

/// A file of plain bytes does the same.
#[derive(Default)]
struct Plain(Vec<u8>);

impl Plain {
    fn write(&mut self, source: &[u8], offset: usize) {
        self.0.resize(self.0.len().max(offset + source.len()), 0);
        self.0[offset..offset + source.len()].copy_from_slice(source);
    }
}

/// The bytes from `offset` to the end.
fn tail(database: &mut Database, offset: u64) -> Vec<u8> {
    let length = usize::try_from(database.size() - offset).unwrap();
    let mut room = vec![MaybeUninit::uninit(); length];
    assert!(database.read(&mut Room::new(&mut room), offset).unwrap());
    // SAFETY: a read that was whole has filled the room.
    room.iter().map(|byte| unsafe { byte.assume_init() }).collect()
}

fn content(database: &mut Database) -> Vec<u8> {
    tail(database, 0)
}

/// A database with a turn for writing.
fn open(path: &Path, create: bool, settings: &Settings) -> Database {
    let mut database = Database::open(path, create, settings).unwrap();
    database.begin().unwrap();
    database.begin_write().unwrap();
    database
}

fn close(mut database: Database) {
    database.end_write().unwrap();
    database.end();
    database.close().unwrap();
}

fn reopened(database: Database, path: &Path) -> Database {
    close(database);
    open(path, false, &Settings::default())
}

#[test]
fn what_was_cut_off_is_zeros_when_the_file_grows_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let mut database = open(&path, true, &Settings::default());
    database.write(&vec![7; 10 * 4096], 0).unwrap();
    database.flush(Durability::Sync).unwrap();
    // Back to more than a page, then longer than before, by a write and by setting the length.
    for grown in [12 * 4096, 3 * 4096 + 1] {
        database.truncate(4096 + 100).unwrap();
        database.write(&[8], grown).unwrap();
        database.truncate(grown + 5000).unwrap();
        let mut wanted = vec![7; 4096 + 100];
        wanted.resize(usize::try_from(grown).unwrap(), 0);
        wanted.push(8);
        wanted.resize(wanted.len() + 4999, 0);
        assert!(content(&mut database) == wanted, "before the commit");
        database.flush(Durability::Sync).unwrap();
        assert!(content(&mut database) == wanted, "after it");
        database = reopened(database, &path);
        assert!(content(&mut database) == wanted, "from the disk");
    }
}

#[test]
fn cuts_and_writes_in_any_order_leave_what_a_plain_file_has() {
    let directory = tempfile::tempdir().unwrap();
    for seed in 0..8_u64 {
        let path = directory.path().join(format!("{seed}.db"));
        let mut database = open(&path, true, &Settings::default());
        let mut plain = Plain::default();
        let mut state = seed;
        let mut below = |end: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99_991);
            (state >> 33) % end
        };
        for step in 0..200_u8 {
            let offset = below(60_000);
            match below(8) {
                0 | 1 => {
                    database.truncate(offset).unwrap();
                    plain.0.resize(usize::try_from(offset).unwrap(), 0);
                }
                2 => database.flush(Durability::Async).unwrap(),
                3 if below(4) == 0 => database = reopened(database, &path),
                _ => {
                    let bytes = vec![step | 1; usize::try_from(below(9000)).unwrap() + 1];
                    database.write(&bytes, offset).unwrap();
                    plain.write(&bytes, usize::try_from(offset).unwrap());
                }
            }
            assert!(content(&mut database) == plain.0, "seed {seed}, step {step}");
        }
    }
}

#[test]
fn a_cut_that_fails_leaves_everything_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let settings = Settings { codec: tambour_page::PageCodec::NONE, ..Settings::default() };
    let mut database = open(&path, true, &settings);
    let pages: Vec<u8> = [1_u8, 2, 3, 4].iter().flat_map(|value| [*value; 4096]).collect();
    database.write(&pages, 0).unwrap();
    close(database);
    let mut bytes = std::fs::read(&path).unwrap();
    let image = bytes.windows(4096).position(|bytes| bytes == [2; 4096]).unwrap();
    bytes[image + 7] ^= 1;
    std::fs::write(&path, bytes).unwrap();

    let mut database = open(&path, false, &settings);
    // A change that waits, after the cut.
    database.write(&[9; 10], 3 * 4096).unwrap();
    let mut wanted = pages[2 * 4096..].to_vec();
    wanted[4096..4106].fill(9);
    let error = database.truncate(4096 + 100).unwrap_err();
    assert!(matches!(error, DatabaseError::Store(PageError::Page { .. })), "{error:?}");
    assert_eq!(database.size(), 4 * 4096);
    assert!(tail(&mut database, 2 * 4096) == wanted, "before the commit");
    database.flush(Durability::Sync).unwrap();
    assert!(tail(&mut database, 2 * 4096) == wanted, "after it");
    let mut database = reopened(database, &path);
    assert!(tail(&mut database, 2 * 4096) == wanted, "from the disk");
    // Cuts that need not read the page do.
    database.truncate(4096).unwrap();
    assert!(content(&mut database) == pages[..4096]);
}

#[test]
fn an_empty_file_goes_unless_it_is_a_store_or_in_use() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    assert!(make_room(&path).unwrap());
    let file = File::create(&path).unwrap();
    file.lock().unwrap();
    let error = make_room(&path).map_err(|cause| unusable(&path, cause)).unwrap_err();
    assert!(matches!(error, PageError::Locked { .. }), "{error}");
    drop(file);
    let map = directory.path().join("a.db.map");
    File::create(&map).unwrap();
    assert!(!make_room(&path).unwrap());
    std::fs::remove_file(&map).unwrap();
    assert!(make_room(&path).unwrap());
    assert!(!path.exists());
}
