//! Merging that nobody asks for, in many small steps: a watcher plans a merge without the lock, takes it for that merge only, and
//! gives way when another writer waits.

pub use super::choose::Rule;

use super::choose::{Candidate, choose};
use super::{
    Halt, OptimizeOptions, OptimizeSummary, by_partition, check_mutations, merge_parts, names_of,
};
use crate::TableError;
use crate::engine::Engine;
use crate::expire::Expiry;
use crate::locked::{LockedTable, Manner};
use crate::name::PartName;
use crate::open::load_sidecar;
use crate::shape::Work;
use crate::sidecar::{LivePart, Sidecar};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tambour_storage::{Storage, StorageError, lock};

/// Watches the parts of one table. Times are since any moment, the same for all calls.
#[derive(Debug)]
pub struct Watcher {
    storage: Arc<dyn Storage>,
    path: PathBuf,
    rule: Rule,
    /// What is known of live parts, by name.
    known: HashMap<String, Known>,
    /// Where a merge gave way: the bytes that the next one may have, and since when.
    ceiling: Option<(u64, Duration)>,
    /// The last error, and the table that it was about: it is not tried again until something has changed.
    failed: Option<Sidecar>,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    bytes: u64,
    since: Duration,
}

/// A merge to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// ID of the partition.
    pub partition: String,
    /// Names of the parts, neighbours in the order of their blocks.
    pub parts: Vec<String>,
    /// Their bytes on disk.
    pub bytes: u64,
    /// Their rows.
    pub rows: u64,
}

/// What became of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The parts are one.
    Merged(OptimizeSummary),
    /// Another writer has the lock or waits for it: nothing was done.
    Busy,
    /// Another writer has come first; the parts are not what they were.
    Outdated,
}

/// After a merge gave way, larger ones are tried again after this time.
const CEILING_TIME: Duration = Duration::from_mins(1);

impl Watcher {
    /// Watches a table, which must have a sidecar: where a server may still write, nothing is merged unasked.
    pub fn new(storage: &Arc<dyn Storage>, path: &Path, rule: Rule) -> Result<Self, TableError> {
        let (storage, path) = (Arc::clone(storage), path.to_owned());
        let watcher =
            Self { storage, path, rule, known: HashMap::new(), ceiling: None, failed: None };
        watcher.sidecar()?;
        Ok(watcher)
    }

    /// The table's directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn sidecar(&self) -> Result<Sidecar, TableError> {
        load_sidecar(self.storage.as_ref(), &self.path)?.ok_or_else(|| TableError::NotATable {
            path: self.path.clone(),
            problem: "it has no sidecar",
        })
    }

    /// The merge that is due; `None` if there is none now. `now` tells how long parts have been there: since they were seen first.
    pub fn plan(&mut self, now: Duration) -> Result<Option<Plan>, TableError> {
        if lock::is_awaited(self.storage.as_ref(), &self.path) {
            return Ok(None);
        }
        let sidecar = self.sidecar()?;
        if self.failed.as_ref() == Some(&sidecar) {
            return Ok(None);
        }
        self.failed = None;
        if !sidecar.removed.is_empty() {
            // Replaced while readers had them. If they still do, it is tried again.
            self.tidy();
        }
        self.learn(&sidecar.parts, now)?;
        if self.ceiling.is_some_and(|(_, since)| now.saturating_sub(since) >= CEILING_TIME) {
            self.ceiling = None;
        }
        let bytes_max = self.ceiling.map_or(u64::MAX, |(bytes, _)| bytes).min(self.rule.bytes_max);
        let rule = Rule { bytes_max, ..self.rule };
        for group in by_partition(&sidecar.parts) {
            if check_mutations(&self.path, names_of(&group)).is_err() {
                continue;
            }
            let known = |(_, part): &(PartName, LivePart)| {
                let known = self.known.get(&part.name);
                let known = known.copied().unwrap_or(Known { bytes: 0, since: now });
                Candidate { bytes: known.bytes, age: now.saturating_sub(known.since) }
            };
            let candidates: Vec<Candidate> = group.iter().map(known).collect();
            let Some(range) = choose(&candidates, &rule) else { continue };
            let chosen = group.get(range.clone()).unwrap_or_default();
            let candidates = candidates.get(range).unwrap_or_default();
            let Some((first, _)) = chosen.first() else { continue };
            return Ok(Some(Plan {
                partition: first.partition.clone(),
                parts: chosen.iter().map(|(_, part)| part.name.clone()).collect(),
                bytes: candidates.iter().map(|it| it.bytes).sum(),
                rows: chosen.iter().map(|(_, part)| part.rows).sum(),
            }));
        }
        Ok(None)
    }

    /// Looks at the sizes of parts that have come, and forgets those that have gone.
    fn learn(&mut self, parts: &[LivePart], now: Duration) -> Result<(), TableError> {
        let mut known = HashMap::with_capacity(parts.len());
        for part in parts {
            let found = match self.known.get(&part.name) {
                Some(found) => *found,
                None => Known { bytes: self.bytes(part)?, since: now },
            };
            known.insert(part.name.clone(), found);
        }
        self.known = known;
        Ok(())
    }

    fn bytes(&self, part: &LivePart) -> Result<u64, TableError> {
        for name in std::iter::once(&part.name).chain(&part.directory) {
            let path = self.path.join(name);
            match self.storage.list(&path) {
                Ok(entries) => return Ok(entries.iter().map(|entry| entry.length).sum()),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(TableError::file("list", &path)(error)),
            }
        }
        // Gone since the sidecar was read: the next plan sees it.
        Ok(0)
    }

    fn tidy(&self) {
        // Whatever it is, the next writer meets it too.
        let _ = crate::remove_replaced(&self.storage, &self.path);
    }

    /// Carries out a plan, unless another writer is at work. `halt` is asked between batches. After an error this table is left
    /// alone until it changes.
    pub fn merge(
        &mut self,
        plan: &Plan,
        options: &OptimizeOptions,
        now: Duration,
        halt: &Halt<'_>,
    ) -> Result<Outcome, TableError> {
        let gave_way = AtomicBool::new(false);
        let halts = || {
            if lock::is_awaited(self.storage.as_ref(), &self.path) {
                gave_way.store(true, Ordering::Relaxed);
            }
            gave_way.load(Ordering::Relaxed) || halt()
        };
        match merge_chosen(&self.storage, &self.path, plan, options, &halts) {
            Ok(Some(summary)) => {
                // What was too much for other writers may fit again, little by little.
                self.ceiling = self.ceiling.map(|(bytes, since)| (bytes.saturating_mul(2), since));
                Ok(Outcome::Merged(summary))
            }
            Ok(None) => Ok(Outcome::Outdated),
            Err(TableError::Storage(StorageError::Locked { .. })) => Ok(Outcome::Busy),
            Err(TableError::GivenUp { .. }) if gave_way.load(Ordering::Relaxed) => {
                self.ceiling = Some((plan.bytes / 2, now));
                Ok(Outcome::Busy)
            }
            Err(error) => {
                self.failed = self.sidecar().ok();
                Err(error)
            }
        }
    }
}

/// Merges the parts of a plan; `None` if they are not there any more, or not neighbours.
fn merge_chosen(
    storage: &Arc<dyn Storage>,
    path: &Path,
    plan: &Plan,
    options: &OptimizeOptions,
    halt: &Halt<'_>,
) -> Result<Option<OptimizeSummary>, TableError> {
    let mut table = LockedTable::acquire_for(storage, path, false, Manner::Yielding)?;
    let result = merge_locked(&mut table, plan, options, halt);
    if !matches!(result, Ok(Some(_))) {
        table.discard();
    }
    result
}

fn merge_locked(
    table: &mut LockedTable,
    plan: &Plan,
    options: &OptimizeOptions,
    halt: &Halt<'_>,
) -> Result<Option<OptimizeSummary>, TableError> {
    let path = table.path().to_owned();
    let Some((mut next, Some(definition))) = table.describe()? else { return Ok(None) };
    let Some(first) = plan.parts.first() else { return Ok(None) };
    let Some(start) = next.parts.iter().position(|part| part.name == *first) else {
        return Ok(None);
    };
    let range = start..start + plan.parts.len();
    let chosen = next.parts.get(range.clone()).unwrap_or_default();
    if !chosen.iter().map(|part| &part.name).eq(&plan.parts) {
        return Ok(None);
    }
    let groups = by_partition(chosen);
    let [group] = groups.as_slice() else { return Ok(None) };
    check_mutations(&path, names_of(group))?;
    // Says what only a server can merge.
    Engine::of(&definition)?;
    let expiry = Expiry::new(&definition, options.now).map(Arc::new);
    let work = Work::begin(table.storage().as_ref(), &path, next.next_block);
    let how = (options, expiry.as_ref(), Some(halt));
    let (part, rows) = merge_parts(table, &work, (&definition, group), how, &mut |_| {})?;
    let parts_after = u64::from(part.is_some());
    let old: Vec<LivePart> = next.parts.splice(range, part).collect();
    let parts_before = old.len() as u64;
    next.removed.extend(old.into_iter().map(|part| part.name));
    // Numbers temporary directories too: those of the next writer must have other names.
    next.next_block += 1;
    work.sync(&path)?;
    table.commit(next)?;
    let rows_expired = expiry.map_or(0, |expiry| expiry.rows_gone());
    Ok(Some(OptimizeSummary { parts_before, parts_after, rows, rows_expired }))
}
