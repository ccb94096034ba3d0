//! On file systems of this machine: the directory that `TAMBOUR_PAGES_DIRECTORY` names, or the one for temporary files.
//! `cargo xtask filesystems` runs these on images of ext4, xfs and btrfs, and on a small tmpfs.

use super::*;
use crate::doctor;
use crate::{Level, Verified};
use std::os::unix::fs::MetadataExt;
use tambour_storage::place::Direct;

const DIRECTORY: &str = "TAMBOUR_PAGES_DIRECTORY";

fn directory() -> tempfile::TempDir {
    match std::env::var_os(DIRECTORY) {
        Some(path) => tempfile::tempdir_in(path).unwrap(),
        None => tempfile::tempdir().unwrap(),
    }
}

/// Pages of 16 KiB that take one to four blocks.
fn options_here(layout: Layout) -> Options {
    Options { page_bytes: 4 * PAGE, granule: Options::default().granule, ..options(layout) }
}

fn verified(store: &Store) -> Verified {
    store.verify(Level::Decode, &mut |_| {}).unwrap()
}

/// Some thousand random changes, a third of them durable, with openings in between, against a model.
#[test]
fn a_store_on_this_file_system_agrees_with_a_map() {
    let directory = directory();
    for layout in [Layout::Packed, Layout::Holes] {
        let path = directory.path().join(layout.name());
        let mut store = Store::create(&path, &options_here(layout)).unwrap();
        let mut model = Model::new();
        let mut seed = 11_u64;
        let mut random = |end: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
            (seed >> 33) % end
        };
        for round in 0..60 {
            let steps: Vec<Step> = (0..20)
                .map(|_| match random(10) {
                    0 => Step::Zero(random(300)),
                    1 => Step::Free(random(300)),
                    _ => Step::Put(random(300), round, random(9)),
                })
                .collect();
            let durability = if round % 3 == 0 { Durability::Sync } else { Durability::Async };
            commit(&mut store, &mut model, &steps, durability).unwrap();
            match round % 20 {
                7 => store.checkpoint().unwrap(),
                13 => drop(store.compact(u64::MAX).unwrap()),
                19 => {
                    drop(store);
                    store = Store::open(&path, Access::Write).unwrap();
                }
                _ => {}
            }
        }
        assert!(everything(&mut store).unwrap() == model, "{layout:?}");
        store.checkpoint().unwrap();
        let damage = verified(&store).damage;
        assert!(damage.is_empty(), "{damage:?}");
        store.close().unwrap();
        let mut store = Store::open(&path, Access::Read).unwrap();
        assert!(everything(&mut store).unwrap() == model, "{layout:?}");
    }
}

/// Past the page cache, with granules of a sector; and what was written so is read through the cache, and the other way round.
#[test]
fn a_store_past_the_page_cache_agrees_with_one_through_it() {
    let directory = directory();
    for layout in [Layout::Packed, Layout::Holes] {
        let path = directory.path().join(layout.name());
        let fine = options_here(layout);
        let refused = Store::create_on(&Direct, &path, &fine).map(drop).unwrap_err();
        assert!(matches!(refused, PageError::Argument { what: "granule", .. }), "{refused}");
        let options = Options { granule: 512, ..fine };
        let mut model = Model::new();
        let mut store = Store::create_on(&Direct, &path, &options).unwrap();
        for round in 0..8 {
            let steps: Vec<Step> =
                (0..50).map(|page| Step::Put(page * (round + 1), round, page % 9)).collect();
            commit(&mut store, &mut model, &steps, Durability::Sync).unwrap();
            if round % 3 == 2 {
                store.checkpoint().unwrap();
            }
        }
        assert!(everything(&mut store).unwrap() == model, "{layout:?}");
        // Not closed: the log is there.
        drop(store);
        let mut store = Store::open(&path, Access::Write).unwrap();
        assert!(everything(&mut store).unwrap() == model, "{layout:?}, through the cache");
        commit(&mut store, &mut model, &[Step::Put(3, 99, 4)], Durability::Sync).unwrap();
        store.close().unwrap();
        let mut store = Store::open_on(&Direct, &path, Access::Write).unwrap();
        assert!(everything(&mut store).unwrap() == model, "{layout:?}, past it again");
        assert!(verified(&store).damage.is_empty());
        store.close().unwrap();
    }
}

/// With holes, the blocks that the file system counts are those that the images need: before and after pages shrink.
#[test]
fn blocks_at_home_are_those_of_the_images() {
    let directory = directory();
    let path = directory.path().join("holes");
    let mut store = Store::create(&path, &options_here(Layout::Holes)).unwrap();
    let mut model = Model::new();
    for (round, noise) in [8, 2, 5].into_iter().enumerate() {
        let steps: Vec<Step> = (0..400).map(|page| Step::Put(page, round as u64, noise)).collect();
        commit(&mut store, &mut model, &steps, Durability::Sync).unwrap();
        store.compact(u64::MAX).unwrap();
        let stat = store.stat(false).unwrap();
        let file = std::fs::File::open(&path).unwrap();
        file.sync_all().unwrap();
        let counted = file.metadata().unwrap().blocks() * 512;
        // Blocks of the file system's own map of the file may be counted with it.
        let slack = 64 << 10;
        let rounded = stat.rounded_bytes;
        assert!(
            store.has_holes() && (rounded..rounded + slack).contains(&counted),
            "round {round}: {counted} bytes for {rounded}"
        );
    }
}

/// Blocks as the files count them against what the file system has less: on btrfs, blocks that were allocated before the
/// write would be missing in the first count only. Only where nobody else writes.
#[test]
#[ignore = "needs a file system of its own: cargo xtask filesystems"]
fn what_the_files_count_is_what_the_file_system_has_less() {
    let directory = directory();
    for layout in [Layout::Packed, Layout::Holes] {
        let path = directory.path().join(layout.name());
        let mut store = Store::create(&path, &options_here(layout)).unwrap();
        for round in 0..4 {
            let steps: Vec<Step> = (0..600).map(|page| Step::Put(page, round, 8 - round)).collect();
            commit(&mut store, &mut Model::new(), &steps, Durability::Sync).unwrap();
            store.compact(u64::MAX).unwrap();
        }
        // What the file system has put off is done by then.
        rustix::fs::sync();
        let stat = store.stat(false).unwrap();
        let growth = stat.growth.unwrap();
        println!("{layout:?}: {growth:?}, images {}", stat.rounded_bytes);
        let slack = growth.allocated / 50 + (2 << 20);
        assert!((growth.used - growth.allocated).abs() <= slack, "{layout:?}: {growth:?}");
        store.close().unwrap();
        for path in [path.clone(), crate::shared::map_path(&path)] {
            let _ = std::fs::remove_file(path);
        }
        rustix::fs::sync();
    }
}

/// Fills what is left of the file system, and says by how much; `None` where it would be too much for a test.
fn fill_up(directory: &Path, leave: u64) -> Option<std::path::PathBuf> {
    let found = rustix::fs::statvfs(directory).ok()?;
    let free = found.f_bavail * found.f_frsize;
    if free > 512 << 20 {
        return None;
    }
    let path = directory.join("filler");
    let file = std::fs::File::create(&path).unwrap();
    let mut rest = free.saturating_sub(leave);
    let noise: Vec<u8> =
        (0..1_u32 << 18).flat_map(|k| k.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    while rest > 0 {
        let bytes = usize::try_from(rest).unwrap_or(usize::MAX).min(noise.len());
        if std::io::Write::write_all(&mut &file, &noise[..bytes]).is_err() {
            break;
        }
        rest -= bytes as u64;
    }
    let _ = file.sync_all();
    Some(path)
}

/// A disk that is really full: commits fail before they are acknowledged, nothing that was is lost, and with room again the
/// store goes on.
#[test]
#[ignore = "needs a small file system of its own: cargo xtask filesystems"]
fn a_full_disk_loses_nothing_that_was_acknowledged() {
    let directory = directory();
    for layout in [Layout::Packed, Layout::Holes] {
        let path = directory.path().join(layout.name());
        let mut store = Store::create(&path, &options_here(layout)).unwrap();
        let mut model = Model::new();
        let steps: Vec<Step> = (0..100).map(|page| Step::Put(page, 1, 4)).collect();
        commit(&mut store, &mut model, &steps, Durability::Sync).unwrap();
        store.checkpoint().unwrap();
        let filler = fill_up(directory.path(), 3 << 20).expect("a file system of less than 512 MB");
        let mut refused = 0;
        // What a failed commit would have made: after a failed sync nobody knows whether the disk has it.
        let mut open_end = model.clone();
        for round in 2..200 {
            let steps: Vec<Step> =
                (0..40).map(|page| Step::Put(page + round * 7 % 900, round, 8)).collect();
            let mut next = model.clone();
            match commit(&mut store, &mut next, &steps, Durability::Sync) {
                Ok(_) => model = next,
                Err(PageError::Full { .. }) => {
                    refused += 1;
                    open_end = next;
                }
                Err(PageError::Poisoned { .. }) => break,
                Err(error) => panic!("{layout:?}, round {round}: {error}"),
            }
            assert!(everything(&mut store).unwrap() == model, "{layout:?}, round {round}");
        }
        assert!(refused > 0, "{layout:?}: the disk was never full");
        drop(store);
        std::fs::remove_file(filler).unwrap();
        let mut store = Store::open(&path, Access::Write).unwrap();
        let found = everything(&mut store).unwrap();
        assert!(found == model || found == open_end, "{layout:?}: after it was opened again");
        model = found;
        commit(&mut store, &mut model, &[Step::Put(5, 999, 8)], Durability::Sync).unwrap();
        store.checkpoint().unwrap();
        assert!(verified(&store).damage.is_empty());
        assert!(everything(&mut store).unwrap() == model);
        store.close().unwrap();
        for path in [path.clone(), crate::shared::map_path(&path)] {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// What the doctor finds out about this file system; a person reads it.
#[test]
fn the_doctor_examines_this_file_system() {
    let directory = directory();
    let clock = || {
        let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        time.map_or(0.0, |time| time.as_secs_f64())
    };
    let probes = doctor::examine(directory.path(), &clock).unwrap();
    assert!(probes.len() >= 4);
    for probe in &probes {
        println!("{}: {}: {}", probe.verdict.name(), probe.name, probe.detail);
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "probe files are left");
}
