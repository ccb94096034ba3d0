//! Probes of a file system for what surprises stores with holes.

use super::PageError;
use super::shared::BLOCK_BYTES;
use std::path::{Path, PathBuf};
use tambour_storage::place::disk;

/// Pages of the probe files.
const PAGES: u64 = 256;
/// Bytes of a page of the probe files, and of what is kept of it.
const PAGE_BYTES: u64 = 64 << 10;
const KEPT_BYTES: u64 = 16 << 10;
/// Freeing an extent slower than this is told.
const FREEING_SECONDS_MAX: f64 = 0.000_2;

/// What a probe found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// As it should be.
    Good,
    /// Something to know about.
    Warning,
    /// It could not be found out.
    Unknown,
}

impl Verdict {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Warning => "warning",
            Self::Unknown => "unknown",
        }
    }
}

/// A probe and its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// What was probed.
    pub name: &'static str,
    /// How it went.
    pub verdict: Verdict,
    /// What was seen, and what it means for a store.
    pub detail: String,
}

/// A probe file, removed at the end.
struct Trial {
    path: PathBuf,
    file: std::sync::Arc<dyn tambour_storage::place::File>,
}

impl Trial {
    fn new(directory: &Path, name: &str) -> Result<Self, PageError> {
        let path = directory.join(format!(".tambour-doctor-{}-{name}", std::process::id()));
        let file = disk().create(&path).map_err(PageError::file("create", &path))?;
        Ok(Self { path, file })
    }

    fn run<T>(&self, operation: &'static str, result: std::io::Result<T>) -> Result<T, PageError> {
        result.map_err(PageError::file(operation, &self.path))
    }

    fn allocated(&self) -> Result<u64, PageError> {
        Ok(self.run("measure", self.file.space())?.allocated)
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        let _ = disk().remove(&self.path);
    }
}

fn probe(name: &'static str, good: bool, detail: String) -> Probe {
    Probe { name, verdict: if good { Verdict::Good } else { Verdict::Warning }, detail }
}

/// Probes the file system that a directory is on. `clock` tells seconds. Writes some 50 MB.
pub fn examine(directory: &Path, clock: &dyn Fn() -> f64) -> Result<Vec<Probe>, PageError> {
    let mut probes = vec![holes(directory)?];
    if probes[0].verdict == Verdict::Good {
        probes.push(truth(directory)?);
        probes.push(strides(directory)?);
        probes.push(freeing(directory, clock)?);
    }
    probes.push(reservation(directory)?);
    Ok(probes)
}

/// Can a range be given back, and how small a one?
fn holes(directory: &Path) -> Result<Probe, PageError> {
    let trial = Trial::new(directory, "holes")?;
    let whole = vec![1; 1 << 16];
    trial.run("write", trial.file.write_at(&[&whole], 0))?;
    trial.run("sync", trial.file.sync())?;
    let before = trial.allocated()?;
    if let Err(error) = trial.file.punch(BLOCK_BYTES, BLOCK_BYTES) {
        let detail = format!(
            "holes cannot be punched ({error}); ranges are padded with zeros and save no space"
        );
        return Ok(probe("holes", false, detail));
    }
    trial.run("sync", trial.file.sync())?;
    let freed = before.saturating_sub(trial.allocated()?);
    let detail = format!("a hole of {BLOCK_BYTES} bytes gave back {freed}");
    Ok(probe("holes", freed >= BLOCK_BYTES, detail))
}

/// Bytes that the file system as a whole has in use.
fn used(directory: &Path) -> Option<u64> {
    let file = std::fs::File::open(directory).ok()?;
    if disk::file_system(&file) == Some(disk::BTRFS_MAGIC) {
        // It counts what is free when it has written its trees, which syncing one file does not make it do.
        rustix::fs::syncfs(&file).ok()?;
    }
    let found = rustix::fs::statvfs(directory).ok()?;
    Some((found.f_blocks - found.f_bfree) * found.f_frsize)
}

/// Does the count of allocated blocks tell the truth? On btrfs, a preallocated range that is punched stays referenced.
fn truth(directory: &Path) -> Result<Probe, PageError> {
    const NAME: &str = "count of blocks";
    let before = used(directory);
    let trial = Trial::new(directory, "truth")?;
    let page = vec![0x5a; usize::try_from(PAGE_BYTES).expect("a few kilobytes")];
    for number in 0..PAGES {
        trial.run("write", trial.file.write_at(&[&page], number * PAGE_BYTES))?;
    }
    trial.run("sync", trial.file.sync())?;
    for number in 0..PAGES {
        let start = number * PAGE_BYTES + KEPT_BYTES;
        trial.run("punch", trial.file.punch(start, PAGE_BYTES - KEPT_BYTES))?;
    }
    trial.run("sync", trial.file.sync())?;
    let allocated = trial.allocated()?;
    let (Some(before), Some(after)) = (before, used(directory)) else {
        let detail = "the file system does not say how much it has in use".to_owned();
        return Ok(Probe { name: NAME, verdict: Verdict::Unknown, detail });
    };
    let grown = after.saturating_sub(before);
    let detail = format!(
        "the file counts {allocated} bytes, the file system grew by {grown}; other programs write to it too, so only a \
         large difference means anything"
    );
    // Half of what was punched still in use: the holes saved nothing.
    Ok(probe(NAME, grown < allocated + PAGES * (PAGE_BYTES - KEPT_BYTES) / 2, detail))
}

/// Are gaps between short writes past the end of a file allocated? xfs guesses that they will be needed.
fn strides(directory: &Path) -> Result<Probe, PageError> {
    let trial = Trial::new(directory, "strides")?;
    let kept = vec![0x5a; usize::try_from(KEPT_BYTES).expect("a few kilobytes")];
    for number in 0..PAGES {
        trial.run("write", trial.file.write_at(&[&kept], number * PAGE_BYTES))?;
    }
    let allocated = trial.allocated()?;
    let wanted = PAGES * KEPT_BYTES;
    let detail = format!(
        "{wanted} bytes written with gaps past the end of a file take {allocated}; a store lengthens the file before it writes"
    );
    Ok(probe("gaps past the end", allocated < wanted * 3 / 2, detail))
}

/// How long does it take to free an extent? Some devices take milliseconds for each.
fn freeing(directory: &Path, clock: &dyn Fn() -> f64) -> Result<Probe, PageError> {
    let trial = Trial::new(directory, "freeing")?;
    let kept = vec![0x5a; usize::try_from(BLOCK_BYTES).expect("a few kilobytes")];
    trial.run("resize", trial.file.set_length(PAGES * PAGE_BYTES))?;
    for number in 0..PAGES {
        trial.run("write", trial.file.write_at(&[&kept], number * PAGE_BYTES))?;
    }
    trial.run("sync", trial.file.sync())?;
    let start = clock();
    let path = trial.path.clone();
    drop(trial);
    let seconds = (clock() - start) / PAGES as f64;
    debug_assert!(!path.exists());
    let detail = format!(
        "removing a file took {:.1} us for each of its {PAGES} extents; one store with holes has an extent per page",
        seconds * 1e6
    );
    Ok(probe("freeing of extents", seconds < FREEING_SECONDS_MAX, detail))
}

/// Can room be reserved in a hole, so that a full disk is found out before a page is acknowledged?
fn reservation(directory: &Path) -> Result<Probe, PageError> {
    const NAME: &str = "reservation";
    let trial = Trial::new(directory, "reservation")?;
    trial.run("resize", trial.file.set_length(1 << 20))?;
    let detail = match trial.file.reserve(1 << 19, BLOCK_BYTES) {
        Ok(()) => {
            let grown = trial.allocated()?;
            let detail = format!("reserving {BLOCK_BYTES} bytes in a hole took {grown}");
            return Ok(probe(NAME, grown >= BLOCK_BYTES, detail));
        }
        Err(error) => format!(
            "room in a hole cannot be reserved ({error}); a full disk may be found out only at a checkpoint, which loses \
             nothing but stops the store"
        ),
    };
    Ok(probe(NAME, false, detail))
}

#[cfg(test)]
mod tests {
    use super::{Verdict, examine};

    #[test]
    fn every_probe_has_an_outcome_and_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let probes = examine(directory.path(), &|| 0.0).unwrap();
        assert!(probes.len() >= 2);
        assert!(probes.iter().all(|probe| !probe.detail.is_empty()));
        assert!(probes.iter().any(|probe| probe.verdict == Verdict::Good));
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
