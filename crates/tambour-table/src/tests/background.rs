//! Merges that nobody asked for: what is planned, by a clock of the test's own, and how they go beside other writers.

use super::{assert_tidy, definition, insert, options, read, rows, scratch};
use crate::TableError;
use crate::merge::OptimizeOptions;
use crate::merge::background::{Outcome, Plan, Rule, Watcher};
use crate::rewrite::Rewrite;
use crate::task::{MergeTask, Task, tasks};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tambour_storage::disk;
use tambour_storage::lock::{is_awaited, try_lock};
use tambour_storage::sign::WAIT;

const STATEMENT: &str = "CREATE TABLE t (d Date, k UInt32, id UInt64) ENGINE = MergeTree \
     PARTITION BY toYYYYMM(d) ORDER BY k";

const START: Duration = Duration::from_secs(1_000);

fn seconds(since_start: u64) -> Duration {
    START + Duration::from_secs(since_start)
}

/// Inserts of 20 rows into the table, all of one partition.
fn inserts(path: &Path, numbers: std::ops::Range<u64>) {
    let definition = definition(STATEMENT);
    for number in numbers {
        let seeds: Vec<(u16, u32)> = (0..20).map(|at| (0, at * 7 % 20)).collect();
        let batch = rows(&definition, number * 20, &seeds);
        insert(&disk(), path, &definition, options(), &[batch]).unwrap();
    }
}

fn table() -> (tempfile::TempDir, PathBuf) {
    let directory = scratch();
    let path = directory.path().join("t");
    (directory, path)
}

fn merge_options() -> OptimizeOptions {
    OptimizeOptions { memory_bytes: 1 << 20, ..OptimizeOptions::default() }
}

fn names(path: &Path) -> Vec<String> {
    crate::Table::open(path).unwrap().part_names().to_vec()
}

/// Carries out a plan that nobody disturbs.
fn merge(watcher: &mut Watcher, plan: &Plan, now: Duration) -> Outcome {
    watcher.merge(plan, &merge_options(), now, &|| false).unwrap()
}

#[test]
fn parts_are_merged_when_there_are_enough_or_when_they_have_waited() {
    let (_directory, path) = table();
    inserts(&path, 0..2);
    let mut watcher = Watcher::new(&disk(), &path, Rule::default()).unwrap();
    assert_eq!(watcher.plan(seconds(0)).unwrap(), None, "two new parts");
    let before = read(&disk(), &path).unwrap();
    let plan = watcher.plan(seconds(20)).unwrap().unwrap();
    assert_eq!(plan.parts.len(), 2);
    assert_eq!((plan.rows, plan.bytes > 0), (40, true));
    let Outcome::Merged(summary) = merge(&mut watcher, &plan, seconds(20)) else {
        panic!("nobody is in the way")
    };
    assert_eq!((summary.parts_before, summary.parts_after, summary.rows), (2, 1, 40));
    assert_eq!(read(&disk(), &path).unwrap(), before);
    assert_eq!(watcher.plan(seconds(1_000_000)).unwrap(), None, "one part is left");
    inserts(&path, 2..8);
    let plan = watcher.plan(seconds(1_000_000)).unwrap().unwrap();
    assert!(plan.parts.len() >= 5, "at once: {:?}", plan.parts);
    assert!(matches!(merge(&mut watcher, &plan, seconds(1_000_000)), Outcome::Merged(_)));
    assert_eq!(read(&disk(), &path).unwrap().len(), 160);
    assert_tidy(&disk(), &path);
}

#[test]
fn whoever_waits_comes_first() {
    let (_directory, path) = table();
    inserts(&path, 0..8);
    let mut watcher = Watcher::new(&disk(), &path, Rule::default()).unwrap();
    let plan = watcher.plan(seconds(0)).unwrap().unwrap();
    let begun = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Has no patience, and is not refused.
        scope.spawn(|| {
            while !begun.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
            inserts(&path, 8..9);
        });
        let halt = || {
            begun.store(true, Ordering::SeqCst);
            while !is_awaited(disk().as_ref(), &path) {
                std::thread::yield_now();
            }
            false
        };
        let outcome = watcher.merge(&plan, &merge_options(), seconds(0), &halt).unwrap();
        // The first batch was still merged, since the question comes before the answer; then it gave way, or it was done.
        assert!(matches!(outcome, Outcome::Busy | Outcome::Merged(_)));
    });
    assert_eq!(read(&disk(), &path).unwrap().len(), 9 * 20);

    let sign = disk().put_up(&path.join(WAIT)).unwrap();
    assert!(sign.is_some());
    assert_eq!(watcher.plan(seconds(1_000)).unwrap(), None, "somebody waits");
    let plan = Plan { parts: names(&path), ..plan };
    let before = read(&disk(), &path).unwrap();
    assert_eq!(merge(&mut watcher, &plan, seconds(1_000)), Outcome::Busy);
    assert_eq!((names(&path), read(&disk(), &path).unwrap()), (plan.parts.clone(), before));
    drop(sign);
    assert_tidy(&disk(), &path);
    // A smaller merge is tried next, a large one later.
    let smaller = watcher.plan(seconds(1_001)).unwrap();
    assert!(smaller.is_none_or(|smaller| smaller.bytes <= plan.bytes / 2));
    assert!(watcher.plan(seconds(2_000)).unwrap().is_some());
}

#[test]
fn others_are_told_and_a_merge_that_is_stopped_leaves_nothing() {
    let (_directory, path) = table();
    inserts(&path, 0..6);
    let mut watcher = Watcher::new(&disk(), &path, Rule::default()).unwrap();
    let plan = watcher.plan(seconds(0)).unwrap().unwrap();
    let halt = || {
        let [told] = tasks(disk().as_ref(), &path).try_into().unwrap();
        assert_eq!((told.process, told.is_waiting), (std::process::id(), false));
        let Task::Merge(MergeTask { sources, result, rows, .. }) = told.task else {
            panic!("another task")
        };
        assert_eq!((sources, rows), (plan.parts.clone(), plan.rows));
        assert!(result.ends_with("_1_6_1"), "{result}");
        true
    };
    let stopped = watcher.merge(&plan, &merge_options(), seconds(0), &halt);
    assert!(matches!(stopped, Err(TableError::GivenUp { .. })), "{stopped:?}");
    assert_eq!(tasks(disk().as_ref(), &path), []);
    assert_eq!(names(&path).len(), 6);
    assert_tidy(&disk(), &path);
}

#[test]
fn plans_that_came_too_late_do_nothing() {
    let (_directory, path) = table();
    inserts(&path, 0..6);
    let mut watcher = Watcher::new(&disk(), &path, Rule::default()).unwrap();
    let plan = watcher.plan(seconds(0)).unwrap().unwrap();
    let lock = try_lock(disk().as_ref(), &path).unwrap();
    assert_eq!(merge(&mut watcher, &plan, seconds(0)), Outcome::Busy);
    drop(lock);
    let mut rewrite = Rewrite::begin(&disk(), &path, "a test", options()).unwrap();
    rewrite.drop_part(&plan.parts[2]).unwrap();
    rewrite.commit().unwrap();
    assert_eq!(merge(&mut watcher, &plan, seconds(0)), Outcome::Outdated);
    assert_eq!(read(&disk(), &path).unwrap().len(), 100);
}

#[test]
fn a_table_that_cannot_be_merged_is_left_alone_until_it_changes() {
    let (directory, path) = table();
    assert!(Watcher::new(&disk(), directory.path(), Rule::default()).is_err(), "no table");
    inserts(&path, 0..6);
    let mut watcher = Watcher::new(&disk(), &path, Rule::default()).unwrap();
    let plan = watcher.plan(seconds(0)).unwrap().unwrap();
    let damaged = path.join(&plan.parts[3]).join("k.bin");
    let good = std::fs::read(&damaged).unwrap();
    std::fs::write(&damaged, &good[..good.len() - 1]).unwrap();
    let error = watcher.merge(&plan, &merge_options(), seconds(0), &|| false).unwrap_err();
    assert!(error.to_string().contains(&plan.parts[3]), "{error}");
    assert_eq!(watcher.plan(seconds(1_000)).unwrap(), None);
    assert_eq!(names_in_sidecar(&path), 6);
    std::fs::write(&damaged, good).unwrap();
    inserts(&path, 6..7);
    assert!(watcher.plan(seconds(1_000)).unwrap().is_some());
}

fn names_in_sidecar(path: &Path) -> usize {
    let sidecar = crate::open::load_sidecar(disk().as_ref(), path).unwrap().unwrap();
    sidecar.parts.len()
}
