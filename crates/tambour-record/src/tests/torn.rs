//! Commits of which some pages reached the disk, in whatever order; and damage that looks nearly like that.

use super::super::{Batch, RecordError, RecordStore, Settings, Writer, salvage, verify};
use super::{PATH, disk, dynamic, options, reader, record, records};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use tambour_storage::Storage;
use tambour_storage::memory::{Calls, EIO, Fate, Memory};

/// A commit that takes three frames.
const MANY: u64 = 7000;

fn open_file() -> PathBuf {
    Path::new(PATH).join("default").join("00000000000000000000.open")
}

fn writer(memory: &Memory) -> Writer {
    RecordStore::open(&dynamic(memory), Path::new(PATH)).unwrap().writer("default").unwrap()
}

/// A log of commits, as it is before anything is sealed.
fn log(commits: &[u64]) -> Memory {
    let memory = disk();
    RecordStore::create(&dynamic(&memory), Path::new(PATH), &Settings::default()).unwrap();
    let writer = writer(&memory);
    for count in commits {
        let first = writer.end();
        writer.append_batch(&records(first..first + count)).unwrap();
    }
    drop(writer);
    memory
}

/// The same with one more commit, which was written but not synced.
fn unsynced(commits: &[u64], last: u64) -> Memory {
    let memory = log(commits);
    let writer = writer(&memory);
    let first = writer.end();
    // One that goes through, so that the file is there.
    writer.append_batch(&records(first..first + 1)).unwrap();
    memory.fail_from(Calls::Writes, 1, EIO);
    writer.append_batch(&records(first + 1..first + 1 + last)).unwrap_err();
    drop(writer);
    memory
}

/// What a crash left is read and gone on with; the end that was found.
fn assert_goes_on(memory: &Memory, acknowledged: u64, what: &str) -> u64 {
    let storage = dynamic(memory);
    let mut before = reader(&storage).unwrap();
    let end = before.view().ids().end;
    assert!(end >= acknowledged, "{what}: {end} of {acknowledged} records");
    for id in 0..end {
        assert_eq!(before.get(id).unwrap(), record(id), "{what}: record {id}");
    }
    assert!(matches!(before.get(end), Err(RecordError::NotFound { .. })), "{what}");
    let writer = writer(memory);
    assert_eq!((writer.end(), writer.take_found().len()), (end, 0), "{what}");
    writer.append_batch(&records(end..end + 3)).unwrap();
    drop(writer);
    let mut after = reader(&storage).unwrap();
    let mut next = 0;
    let scanned = after.scan(0..u64::MAX, |scanned| {
        assert_eq!((scanned.id, scanned.record), (next, &record(next)[..]), "{what}");
        next += 1;
        ControlFlow::Continue(())
    });
    scanned.unwrap();
    assert_eq!(next, end + 3, "{what}");
    let verified = verify(&storage, Path::new(PATH)).unwrap();
    assert!(verified.damage.is_empty(), "{what}: {:?}", verified.damage);
    end
}

#[test]
fn pages_of_a_commit_reach_the_disk_in_any_order() {
    for (commits, last) in [(&[][..], 60), (&[50], 60), (&[50, 20], MANY), (&[MANY], MANY)] {
        let memory = unsynced(commits, last);
        let acknowledged = commits.iter().sum::<u64>() + 1;
        let mut ends = std::collections::BTreeSet::new();
        for page_bytes in [512, 4096] {
            for seed in 0..if last < MANY { 300 } else { 40 } {
                let what = format!("{commits:?}, {last}, {page_bytes}, {seed}");
                let after = memory.crash(Fate::Reordered { seed, page_bytes });
                ends.insert(assert_goes_on(&after, acknowledged, &what) - acknowledged);
                if seed % 20 == 0 {
                    // Nothing is left in the way of sealing.
                    let writer = writer(&after);
                    let end = writer.end();
                    writer.seal(&options(1), true).unwrap();
                    drop(writer);
                    assert_eq!(reader(&dynamic(&after)).unwrap().view().ids(), 0..end, "{what}");
                }
            }
        }
        // Of one frame nothing or all; of three also some.
        let (least, most) = (*ends.first().unwrap(), *ends.last().unwrap());
        assert_eq!((least, most), (0, last), "{ends:?}");
        assert_eq!(ends.len() > 2, last == MANY, "{ends:?}");
    }
}

/// Records that make a file longer than those that a writer takes over.
fn noise() -> Batch {
    let mut noise = 1_u64;
    let mut random = || {
        noise = noise.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (noise >> 33).to_le_bytes()[0]
    };
    let mut batch = Batch::default();
    (0..5000).for_each(|_| batch.push(&(0..1024).map(|_| random()).collect::<Vec<u8>>(), None));
    batch
}

/// The file of a log with something else in a part of it.
fn put(memory: &Memory, part: std::ops::Range<usize>, byte: u8) -> Memory {
    let other = memory.crash(Fate::Kept);
    let mut contents = other.read(&open_file(), u64::MAX).unwrap();
    contents[part].fill(byte);
    other.put(&open_file(), &contents);
    other
}

/// Places of frames in a file, each with its end.
fn frames(memory: &Memory) -> Vec<std::ops::Range<usize>> {
    let contents = memory.read(&open_file(), u64::MAX).unwrap();
    let starts: Vec<usize> = memchr::memmem::find_iter(&contents, b"TRF1").collect();
    let ends = starts[1..].iter().copied().chain([contents.len()]);
    starts.iter().zip(ends).map(|(start, end)| *start..end).collect()
}

/// A sector of the blocks of a frame.
fn sector_within(frame: &std::ops::Range<usize>) -> std::ops::Range<usize> {
    let start = (frame.start + frame.len() / 3).next_multiple_of(512);
    assert!(start + 512 < frame.end);
    start..start + 512
}

#[test]
fn a_commit_that_another_one_follows_was_durable() {
    let memory = log(&[100, MANY, 100]);
    let frames = frames(&memory);
    assert_eq!(frames.len(), 5);
    for (number, first) in [(0, 0), (1, 100)] {
        for part in [sector_within(&frames[number]), frames[number].clone()] {
            let damaged = put(&memory, part, 0);
            let mut reader = reader(&dynamic(&damaged)).unwrap();
            assert_eq!(reader.view().ids().end, 200 + MANY);
            let bad: Vec<u64> = (0..200 + MANY).filter(|id| reader.get(*id).is_err()).collect();
            assert!(bad.len() >= 16 && bad[0] >= first, "{bad:?} of frame {number}");
            assert_eq!(reader.get(199 + MANY).unwrap(), record(199 + MANY));
            assert!(!verify(&dynamic(&damaged), Path::new(PATH)).unwrap().damage.is_empty());
        }
    }
}

#[test]
fn other_bytes_in_the_last_commit_are_damage_and_lost_sectors_are_not() {
    let memory = log(&[100, MANY]);
    let frames = frames(&memory);
    for (number, end) in [(1, 100), (2, 0), (3, 0)] {
        let sector = sector_within(&frames[number]);
        let torn = put(&memory, sector.clone(), 0);
        let found = reader(&dynamic(&torn)).unwrap().view().ids().end;
        // All from that frame on is taken back, and that is told.
        assert!(found < 100 + MANY && (found == end || end == 0 && found > 100), "{found}");
        assert_eq!(verify(&dynamic(&torn), Path::new(PATH)).unwrap().damage.len(), 1);
        // What is whole after that sector may have been acknowledged: it is saved, and the blocks that it overlaps are lost.
        let salvaged = salvage(&dynamic(&torn), Path::new(PATH), Path::new("logs/saved")).unwrap();
        assert_eq!(salvaged.records + salvaged.lost, 100 + MANY);
        assert!((1..=4 * 16).contains(&salvaged.lost) && !salvaged.unknown, "{}", salvaged.lost);
        let cut = &salvaged.cut[0];
        assert_eq!((cut.records, cut.whole_behind), (Some(100 + MANY - found), true));
        assert_goes_on(&torn, 100, &format!("frame {number}"));
        // The same sector with other bytes, or a bit of them.
        for part in [sector.clone(), sector.start + 99..sector.start + 100] {
            let damaged = put(&memory, part, 0xa5);
            let storage = dynamic(&damaged);
            let mut damaged = reader(&storage).unwrap();
            assert_eq!(damaged.view().ids().end, 100 + MANY);
            let bad = (100..100 + MANY).filter(|id| damaged.get(*id).is_err()).count();
            assert!(bad >= 16, "{bad} of frame {number}");
            // One frame torn and another one damaged: nothing is taken back.
            let other = sector_within(&frames[number % 3 + 1]);
            let memory = put(&memory, other, 0);
            let mut contents = memory.read(&open_file(), u64::MAX).unwrap();
            contents[sector.start + 99] ^= 1;
            memory.put(&open_file(), &contents);
            assert_eq!(reader(&dynamic(&memory)).unwrap().view().ids().end, 100 + MANY);
        }
    }
}

/// A commit of tiny records of one second: a long run of zeros in its directory.
fn log_of_a_second() -> Memory {
    let memory = log(&[100]);
    let writer = writer(&memory);
    let mut batch = Batch::default();
    (0..3000).for_each(|_| batch.push(b"x", Some(1_700_000_000)));
    writer.append_batch(&batch).unwrap();
    drop(writer);
    memory
}

#[test]
fn zeros_that_belong_in_a_directory_explain_nothing() {
    let memory = log_of_a_second();
    let whole = memory.read(&open_file(), u64::MAX).unwrap();
    let frame = frames(&memory)[1].clone();
    let behind = memchr::memmem::rfind(&whole, b"TRF2").unwrap();
    let is_zeros = |sector: &[u8]| sector.iter().all(|byte| *byte == 0);
    let natural = whole[frame.start.next_multiple_of(512)..behind].chunks_exact(512);
    assert!(natural.filter(|sector| is_zeros(sector)).count() >= 2);
    // Block entries, payload and the start of the second head; or only bytes of both heads.
    let middle = behind - 3900..behind + 196;
    let other_bytes = [vec![middle], vec![behind - 9..behind - 1, behind + 40..behind + 41]];
    let heads = [vec![frame.start + 40..frame.start + 41, behind + 50..behind + 51]];
    for parts in other_bytes.into_iter().chain(heads) {
        let damaged = memory.crash(Fate::Kept);
        let mut contents = whole.clone();
        for part in &parts {
            contents[part.clone()].fill(0xa5);
        }
        damaged.put(&open_file(), &contents);
        let storage = dynamic(&damaged);
        let is_read = reader(&storage).unwrap().view().ids().end == 3100;
        let mut reader = reader(&storage).unwrap();
        assert!(
            is_read || matches!(reader.get(3000), Err(RecordError::Corrupt { .. })),
            "{parts:?}"
        );
        let salvaged = salvage(&storage, Path::new(PATH), Path::new("logs/saved")).unwrap();
        assert!(salvaged.cut.is_empty() && !salvaged.damage.is_empty(), "{parts:?}");
        assert!(salvaged.unknown || salvaged.lost > 0, "{parts:?}");
    }
    // Sectors of both heads that were lost are what a crash leaves, whichever they are: of neither head all is there.
    let sectors = |place: std::ops::Range<usize>| {
        (place.start.next_multiple_of(512)..place.end - 512).step_by(512)
    };
    let (front, back) = (frame.start..behind - 400, behind..whole.len());
    for first in sectors(front).filter(|at| !is_zeros(&whole[*at..at + 512])) {
        for second in sectors(back.clone()).filter(|at| !is_zeros(&whole[*at..at + 512])) {
            let torn = put(&put(&memory, first..first + 512, 0), second..second + 512, 0);
            let mut reader = reader(&dynamic(&torn)).unwrap();
            let is_lost = matches!(reader.get(3000), Err(RecordError::NotFound { .. }));
            // Bytes that both heads lack are lost; with any of them in one of the two, other bytes would show.
            let salvaged =
                salvage(&dynamic(&torn), Path::new(PATH), Path::new("logs/saved")).unwrap();
            assert!(is_lost && salvaged.cut.len() == 1, "{first}, {second}");
        }
    }
}

#[test]
fn a_commit_that_lost_a_sector_is_kept_aside() {
    // A short file is replaced when a writer takes over, a long one is removed when it is sealed.
    for is_long in [false, true] {
        let memory = log(&[100]);
        let before = writer(&memory);
        if is_long {
            before.append_batch(&noise()).unwrap();
        }
        let end = before.end();
        before.append_batch(&records(end..end + MANY)).unwrap();
        drop(before);
        let whole = memory.read(&open_file(), u64::MAX).unwrap();
        let frames = frames(&memory);
        let sector = sector_within(&frames[frames.len() - 3]);
        let torn = put(&memory, sector, 0);
        let lost = torn.read(&open_file(), u64::MAX).unwrap();
        let kept = open_file().with_extension("open.torn-1");
        for _ in 0..2 {
            // The same file is kept once.
            let writer = writer(&torn);
            assert_eq!(writer.end(), end);
            if let Some(cut) = writer.take_cut() {
                assert_eq!((cut.records, cut.copy.as_ref()), (Some(MANY), Some(&kept)));
            } else {
                assert!(!is_long);
                assert_ne!(torn.read(&open_file(), u64::MAX).unwrap(), lost);
            }
        }
        let writer = writer(&torn);
        writer.append_batch(&records(end..end + 10)).unwrap();
        writer.seal(&options(1), true).unwrap();
        drop(writer);
        let storage = dynamic(&torn);
        assert_eq!(storage.read(&kept, u64::MAX).unwrap(), lost);
        assert!(!storage.exists(&kept.with_extension("torn-2")).unwrap());
        assert_eq!(reader(&storage).unwrap().view().ids(), 0..end + 10);
        // A commit that ends early leaves nothing to keep.
        let short = memory.crash(Fate::Kept);
        short.put(&open_file(), &whole[..whole.len() - 700]);
        let again = self::writer(&short);
        assert!(again.take_cut().is_none() && again.take_found().is_empty());
        assert!(!dynamic(&short).exists(&kept).unwrap());
    }
}

#[test]
fn zeros_from_a_frame_on_are_no_lost_sector() {
    // What the same commit wrote in front of them, in that sector, is there: the disk wrote the sector.
    let memory = log(&[100, MANY]);
    let frame = frames(&memory)[2].clone();
    assert!(!frame.start.is_multiple_of(512));
    let end = frame.start.next_multiple_of(512);
    assert!(end - frame.start > 8);
    // With a sector of the blocks that was lost, and without.
    let sector = sector_within(&frame);
    for part in [frame.start..end, frame.start..end + 512, sector] {
        let damaged = put(&put(&memory, frame.start..end, 0), part, 0);
        let mut reader = reader(&dynamic(&damaged)).unwrap();
        assert_eq!(reader.view().ids().end, 100 + MANY);
        assert_eq!(reader.get(99 + MANY).unwrap(), record(99 + MANY));
        assert!(!verify(&dynamic(&damaged), Path::new(PATH)).unwrap().damage.is_empty());
    }
}

#[test]
fn a_long_file_is_synced_before_another_one_follows_it() {
    let memory = disk();
    RecordStore::create(&dynamic(&memory), Path::new(PATH), &Settings::default()).unwrap();
    let long = writer(&memory);
    long.append_batch(&noise()).unwrap();
    // Written, and then the process is killed.
    memory.fail_from(Calls::Writes, 1, EIO);
    long.append_batch(&records(5000..5010)).unwrap_err();
    drop(long);
    memory.heal();
    let next = writer(&memory);
    assert_eq!(next.end(), 5010);
    next.append_batch(&records(5010..5020)).unwrap();
    drop(next);
    let mut after = reader(&dynamic(&memory.crash(Fate::Lost))).unwrap();
    assert_eq!(after.view().segments(), 2);
    for id in 5000..5020 {
        assert_eq!(after.get(id).unwrap(), record(id));
    }
}
