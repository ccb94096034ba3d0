//! Power cuts at every change of every file: what was acknowledged is there, and nothing is mixed.

use super::*;
use crate::Level;
use tambour_storage::place::memory::Fate;

/// What a run of the script has reached.
#[derive(Default)]
struct Progress {
    /// What the store held after each commit that was submitted, by generation.
    states: BTreeMap<u64, Model>,
    /// The last generation that was acknowledged as durable.
    acknowledged: u64,
    created: bool,
}

/// A script that uses everything that changes files. Ends with the first error.
fn script(memory: &Memory, options: &Options, progress: &mut Progress) -> Result<(), PageError> {
    let mut model = Model::new();
    progress.states.insert(0, model.clone());
    let mut store = Store::create_on(memory, &path(), options)?;
    progress.created = true;
    let rounds: &[(&[Step], Durability)] = &[
        (&[Step::Put(0, 1, 3), Step::Put(1, 1, 9), Step::Put(2, 1, 0)], Durability::Sync),
        (&[Step::Put(1, 2, 0), Step::Zero(3)], Durability::Async),
        (&[Step::Put(4, 3, 5), Step::Put(0, 3, 1)], Durability::Async),
        (&[Step::Free(2), Step::Put(5, 4, 2)], Durability::Sync),
    ];
    let later: &[(&[Step], Durability)] = &[
        (&[Step::Put(0, 5, 2), Step::Put(1, 5, 2), Step::Put(4, 5, 0)], Durability::Sync),
        (&[Step::Put(2, 6, 1), Step::Zero(0)], Durability::Async),
        (&[Step::Put(5, 7, 9)], Durability::Sync),
    ];
    let last: &[(&[Step], Durability)] =
        &[(&[Step::Put(3, 8, 3), Step::Put(0, 8, 3), Step::Free(5)], Durability::Sync)];
    for (index, group) in [rounds, later, last].into_iter().enumerate() {
        for (steps, durability) in group {
            // Submitted: it may be there after a crash, whole, whether it is acknowledged or not.
            let mut next = model.clone();
            let generation = store.generation() + 1;
            let outcome = commit(&mut store, &mut next, steps, *durability);
            progress.states.insert(generation, next.clone());
            outcome?;
            model = next;
            progress.acknowledged = store.durable_generation();
        }
        match index {
            0 => store.checkpoint()?,
            1 => {
                drop(store);
                store = open(memory)?;
                store.compact(u64::MAX)?;
                let generation = store.generation();
                progress.states.insert(generation, model.clone());
            }
            _ => {}
        }
        progress.acknowledged = store.durable_generation();
        // Moves are commits without a change of content.
        progress.states.insert(store.generation() + 1, model.clone());
    }
    store.close()
}

/// Checks what is left after a crash, and that the store can go on.
fn check(memory: &Memory, progress: &Progress, place: &str) {
    let mut store = match open(memory) {
        Ok(store) => store,
        Err(error) => {
            assert!(!progress.created, "{place}: {error}: {:?}", std::error::Error::source(&error));
            return;
        }
    };
    let generation = store.generation();
    assert!(generation >= progress.acknowledged, "{place}: generation {generation} was lost");
    let found = everything(&mut store).unwrap_or_else(|error| panic!("{place}: {error}"));
    let mut before = progress.states.range(..=generation).rev();
    let expected = before.next().map(|(_, model)| model);
    let is_state = |model: &Model| *model == found;
    assert!(
        expected.is_some_and(is_state)
            || progress.states.get(&generation).is_some_and(is_state)
            || progress.states.range(generation..).any(|(_, model)| is_state(model)),
        "{place}: generation {generation} is mixed"
    );
    let verified = store.verify(Level::Decode, &mut |_| {}).unwrap();
    assert!(verified.damage.iter().all(|it| it.page().is_none()), "{place}: {:?}", verified.damage);
    let mut model = found;
    commit(&mut store, &mut model, &[Step::Put(1, 99, 2), Step::Put(7, 99, 1)], Durability::Sync)
        .unwrap_or_else(|error| panic!("{place}: goes on: {error}"));
    drop(store);
    let mut store = open(memory).unwrap_or_else(|error| panic!("{place}: opens again: {error}"));
    assert!(everything(&mut store).unwrap() == model, "{place}: after going on");
}

fn fates() -> Vec<Fate> {
    let mut fates = vec![Fate::Lost, Fate::Kept];
    for sector in [512, 4096] {
        fates.extend((0..6).map(|seed| Fate::Drawn { sector, seed }));
    }
    fates
}

fn cut_everywhere(options: &Options) {
    let whole = Memory::default();
    let mut progress = Progress::default();
    script(&whole, options, &mut progress).unwrap();
    let changes = whole.changes();
    assert!(changes > 30, "{changes}");
    for cut in 0..changes {
        let memory = Memory::default();
        memory.cut_at(cut);
        let mut progress = Progress::default();
        let _ = script(&memory, options, &mut progress);
        for fate in fates() {
            let place = format!("{:?}, change {cut}, {fate:?}", options.layout);
            check(&memory.crash(fate), &progress, &place);
        }
    }
}

#[test]
fn packed_survives_a_power_cut_at_every_change() {
    cut_everywhere(&options(Layout::Packed));
}

#[test]
fn holes_survive_a_power_cut_at_every_change() {
    cut_everywhere(&options(Layout::Holes));
}

#[test]
fn packed_with_other_granules_survives_a_power_cut_at_every_change() {
    for granule in [16, 4096] {
        cut_everywhere(&Options { granule, ..options(Layout::Packed) });
    }
}

#[test]
fn a_checkpoint_after_every_commit_survives_a_power_cut_at_every_change() {
    for layout in [Layout::Packed, Layout::Holes] {
        cut_everywhere(&Options { checkpoint_bytes: Some(1), ..options(layout) });
    }
}

/// Power cuts while a store is being recovered from a power cut.
#[test]
fn recovery_survives_a_power_cut_at_every_change() {
    for layout in [Layout::Packed, Layout::Holes] {
        let options = options(layout);
        for first in [9, 14, 19, 24] {
            let memory = Memory::default();
            memory.cut_at(first);
            let mut progress = Progress::default();
            let _ = script(&memory, &options, &mut progress);
            let crashed = memory.crash(Fate::Drawn { sector: 512, seed: first });
            for cut in 0..12 {
                let again = crashed.crash(Fate::Kept);
                again.cut_at(cut);
                drop(open(&again));
                for fate in fates() {
                    let place = format!("{layout:?}, change {first}, then {cut}, {fate:?}");
                    check(&again.crash(fate), &progress, &place);
                }
            }
        }
    }
}

/// A commit that was lost must not come back after its successor took its place.
#[test]
fn what_a_crash_has_lost_stays_lost() {
    let memory = Memory::default();
    let mut store = create(&memory, &options(Layout::Packed));
    let mut model = Model::new();
    commit(&mut store, &mut model, &[Step::Put(0, 1, 3)], Durability::Sync).unwrap();
    let kept = model.clone();
    commit(&mut store, &mut model, &[Step::Put(1, 2, 3)], Durability::Async).unwrap();
    commit(&mut store, &mut model, &[Step::Put(2, 3, 3)], Durability::Async).unwrap();
    drop(store);
    let head = {
        // The commit in the middle is lost, the later one reached the disk.
        let mut bytes = memory.bytes(&path()).unwrap();
        let frames: Vec<usize> = (8192..bytes.len() - 64)
            .step_by(64)
            .filter(|at| bytes[*at..*at + 4] == *b"TPC1")
            .collect();
        bytes[frames[1]..frames[1] + 64].fill(0);
        memory.set_bytes(&path(), bytes);
        frames[1]
    };
    assert!(head > 8192);
    let mut store = open(&memory).unwrap();
    assert!(everything(&mut store).unwrap() == kept);
    let mut model = kept;
    commit(&mut store, &mut model, &[Step::Put(1, 2, 3)], Durability::Sync).unwrap();
    drop(store);
    let mut store = open(&memory).unwrap();
    assert!(everything(&mut store).unwrap() == model, "a commit of a lost time came back");
}
