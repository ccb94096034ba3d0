//! Real processes on a real directory: one that is killed while it appends and seals, and several that read what another one
//! appends, seals and drops.

use super::super::{
    Batch, Reader, RecordError, RecordStore, Retention, SealOptions, Settings, ViewOptions,
    salvage, verify,
};
use super::{options, record};
use std::io::{BufRead, BufReader, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tambour_storage::{Storage, disk};

/// Set for children: the directory of the store.
const VARIABLE: &str = "TAMBOUR_TEST_RECORDS";
/// So small that something is sealed all the time.
const SEGMENT_BYTES: u64 = 20_000;

fn child(test: &str, path: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    // Its name as the harness knows it: without the crate.
    let (_, module) = module_path!().split_once("::").unwrap();
    let test = format!("{module}::{test}");
    command.args(["--exact", &test, "--ignored", "--nocapture"]);
    command.env(VARIABLE, path).stderr(Stdio::inherit());
    command
}

fn batch(ids: std::ops::Range<u64>) -> Batch {
    let mut batch = Batch::default();
    ids.for_each(|id| batch.push(&record(id), Some(id as i64 * 10)));
    batch
}

fn reader(storage: &Arc<dyn Storage>, path: &Path) -> Result<Reader, RecordError> {
    let store = RecordStore::open(storage, path)?;
    Ok(Arc::new(store.view("default", &ViewOptions::default())?).reader())
}

/// Appends, from two threads, and seals in the background, until it is killed; tells what was acknowledged.
#[test]
#[ignore = "a process that a test below starts and kills"]
fn appending_child() {
    let path = std::env::var_os(VARIABLE).expect("the test that starts this one sets it");
    let store = RecordStore::open(&disk(), Path::new(&path)).unwrap();
    let writer = Arc::new(store.writer("default").unwrap());
    let _sealing = writer.seal_in_background(&options(4)).unwrap();
    let mut end = writer.end();
    loop {
        // One by one, in batches, and later with a flush: the ids tell what the records are.
        writer.append(&record(end), Some(end as i64 * 10)).unwrap();
        let ids = writer.append_batch(&batch(end + 1..end + 40)).unwrap();
        assert_eq!(ids, end + 1..end + 40);
        writer.append_later(&record(ids.end), Some(ids.end as i64 * 10)).unwrap();
        writer.flush().unwrap();
        end = ids.end + 1;
        let mut output = std::io::stdout().lock();
        writeln!(output, "acknowledged {end}").and_then(|()| output.flush()).unwrap();
    }
}

/// Kills the child after a while; the end that it acknowledged last.
fn kill(mut child: Child, after: Duration) -> u64 {
    let output = child.stdout.take().unwrap();
    let reading = std::thread::spawn(move || {
        let mut last = 0;
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if let Some(end) = line.strip_prefix("acknowledged ").and_then(|end| end.parse().ok()) {
                last = end;
            }
        }
        last
    });
    std::thread::sleep(after);
    child.kill().unwrap();
    child.wait().unwrap();
    reading.join().unwrap()
}

#[test]
fn killed_writers_lose_nothing_acknowledged() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let settings = Settings { segment_bytes: SEGMENT_BYTES, ..Settings::default() };
    RecordStore::create(&disk(), &path, &settings).unwrap();
    let (mut acknowledged, mut leftovers) = (0, 0);
    for round in 0..400_u64 {
        // Until all of it has happened, however fast the disk is.
        if round >= 40 && acknowledged > 0 && leftovers > 0 {
            break;
        }
        let writing = child("appending_child", &path).stdout(Stdio::piped()).spawn().unwrap();
        // From its first calls to many sealed segments later, in no order.
        acknowledged =
            acknowledged.max(kill(writing, Duration::from_millis(5 + round * 7919 % 397)));
        let names = std::fs::read_dir(path.join("default")).into_iter().flatten();
        leftovers += names
            .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().ends_with(".tmp"))
            .count();
        // As a reader finds it, before anybody has tidied up.
        let Ok(mut reader) = reader(&disk(), &path) else {
            assert_eq!(acknowledged, 0, "round {round}");
            continue;
        };
        let ids = reader.view().ids();
        assert!(
            ids.start == 0 && ids.end >= acknowledged,
            "{ids:?} of {acknowledged}, round {round}"
        );
        for id in ids {
            assert_eq!(reader.get(id).unwrap(), record(id), "record {id}, round {round}");
        }
    }
    assert!(acknowledged > 0, "nothing was acknowledged");
    assert!(leftovers > 0, "nothing was killed while it sealed");
    // The next writer goes on, and seals all of it.
    let store = RecordStore::open(&disk(), &path).unwrap();
    let writer = store.writer("default").unwrap();
    let end = writer.end();
    assert!(end >= acknowledged && writer.take_found().is_empty());
    assert_eq!(writer.append_batch(&batch(end..end + 1)).unwrap(), end..end + 1);
    writer.seal(&options(1), true).unwrap();
    drop(writer);
    let verified = verify(&disk(), &path).unwrap();
    assert!(verified.damage.is_empty() && verified.records == end + 1, "{:?}", verified.damage);
    let salvaged = salvage(&disk(), &path, &directory.path().join("saved")).unwrap();
    assert_eq!((salvaged.records, salvaged.lost, salvaged.unknown), (end + 1, 0, false));
}

/// Reads, state by state, until it is told to stop.
#[test]
#[ignore = "a process that the test below starts"]
fn reading_child() {
    let path = std::env::var_os(VARIABLE).expect("the test that starts this one sets it");
    let mut reader = reader(&disk(), Path::new(&path)).unwrap();
    let (mut states, mut last, mut noise) = (0, 0..0, 1_u64);
    while !Path::new(&path).join("stop").exists() {
        reader.refresh().unwrap();
        let ids = reader.view().ids();
        assert!(ids.start >= last.start && ids.end >= last.end, "{ids:?} after {last:?}");
        states += u64::from(ids != last);
        last = ids.clone();
        for _ in 0..50 {
            noise = noise.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            let id = ids.start + (noise >> 33) % (ids.end - ids.start).max(1);
            if ids.contains(&id) {
                // Also when its segment is dropped meanwhile: what a view has opened stays.
                assert_eq!(reader.get(id).unwrap(), record(id));
            }
        }
        let mut next = ids.end.saturating_sub(100).max(ids.start);
        let scanned = reader.scan(next..ids.end, |scanned| {
            assert_eq!(scanned.record, record(scanned.id));
            assert_eq!(scanned.id, next);
            next += 1;
            ControlFlow::Continue(())
        });
        scanned.unwrap();
        assert_eq!(next, ids.end);
    }
    assert!(states > 3, "{states} states of the log");
}

#[test]
fn processes_read_while_another_one_appends_seals_and_drops() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let settings = Settings { segment_bytes: SEGMENT_BYTES, ..Settings::default() };
    let store = RecordStore::create(&disk(), &path, &settings).unwrap();
    let writer = Arc::new(store.writer("default").unwrap());
    writer.append_batch(&batch(0..100)).unwrap();
    let sealing = writer.seal_in_background(&SealOptions { level: Some(1), ..options(4) }).unwrap();
    let readers: Vec<Child> = (0..2)
        .map(|_| child("reading_child", &path).stdout(Stdio::null()).spawn().unwrap())
        .collect();
    let (mut end, mut dropped) = (100, 0);
    for round in 0..300 {
        end = writer.append_batch(&batch(end..end + 40)).unwrap().end;
        if round % 20 == 19 {
            let retention = Retention { before: None, bytes_max: Some(30_000) };
            dropped += writer.retain(&retention).unwrap().segments;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    std::fs::write(path.join("stop"), b"").unwrap();
    for mut reader in readers {
        assert!(reader.wait().unwrap().success());
    }
    let sealed = sealing.finish().unwrap().len();
    assert!(sealed > 5 && dropped > 3, "{sealed} segments sealed, {dropped} dropped");
}
