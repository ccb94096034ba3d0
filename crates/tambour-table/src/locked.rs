//! A table that this process may write to: it holds the lock, has recovered what a crash left, and can commit.
//!
//! The commit protocol is described in docs/durability.md; the steps here are named as there.

use super::name::PartName;
use super::open;
use super::sidecar::{DETACHED, SIDECAR, Sidecar, TEMPORARY};
use super::statistics;
use crate::TableError;
use crate::recover::{self, REMOVING};
use crate::schema::TableDefinition;
use crate::store::refuse_url;
use crate::task::Task;
use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tambour_storage::commit::{self, Replaced};
use tambour_storage::lock::{self, LOCK};
use tambour_storage::sign::{Sign, WAIT, WORK};
use tambour_storage::{Lock, Storage, StorageError};

/// The file that tells ClickHouse how parts are named; it and `detached` let a server take the directory as it is.
const FORMAT_VERSION: &str = "format_version.txt";
const FORMAT_VERSION_TEXT: &[u8] = b"1";

/// How often the directory may vanish between making and locking it.
const ATTEMPTS_MAX: usize = 16;

/// What a directory holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Contents {
    /// There is no directory.
    Absent,
    /// Nothing but what an insert that did not commit may have left.
    Fresh,
    /// A table with a sidecar.
    Table,
    /// Parts without a sidecar: a copy of a ClickHouse table.
    Parts,
    /// Something else, for example this.
    Other(String),
}

/// Looks without changing anything.
pub(super) fn contents(storage: &dyn Storage, path: &Path) -> Result<Contents, TableError> {
    let entries = match storage.list(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Contents::Absent),
        Err(error) => return Err(TableError::file("list", path)(error)),
    };
    if entries.iter().any(|entry| entry.name == SIDECAR) {
        return Ok(Contents::Table);
    }
    if entries.iter().any(|entry| entry.is_directory && PartName::parse(&entry.name).is_some()) {
        return Ok(Contents::Parts);
    }
    for entry in entries {
        let is_ours = match entry.name.as_str() {
            statistics::DIRECTORY if entry.is_directory => true,
            DETACHED if entry.is_directory => storage
                .list(&path.join(DETACHED))
                .map_err(TableError::file("list", path))?
                .is_empty(),
            name if entry.is_directory => is_leftover_directory(name),
            name => {
                [LOCK, WORK, WAIT, FORMAT_VERSION].contains(&name)
                    || [commit::aside(FORMAT_VERSION), commit::aside(SIDECAR)].contains(&entry.name)
            }
        };
        if !is_ours {
            return Ok(Contents::Other(entry.name));
        }
    }
    Ok(Contents::Fresh)
}

fn is_leftover_directory(name: &str) -> bool {
    name.starts_with(TEMPORARY) || name.starts_with(REMOVING)
}

/// The right to change a table.
#[derive(Debug)]
pub(super) struct LockedTable {
    storage: Arc<dyn Storage>,
    path: PathBuf,
    /// What is committed; `None` until the first commit.
    sidecar: Option<Sidecar>,
    /// True if this process made the directory.
    is_made: bool,
    /// What this process put beside the parts: the directory for detached ones, the file with the format version.
    has_made_detached: bool,
    has_made_version: bool,
    /// True after a commit of which nobody knows whether it took place: nothing may be removed then.
    is_uncertain: bool,
    /// Tells others what this process does.
    sign: Mutex<Option<Box<dyn Sign>>>,
    #[expect(dead_code, reason = "held for its drop, after the sign")]
    lock: Box<dyn Lock>,
}

/// How a lock is taken.
#[derive(Clone, Copy, Debug)]
pub(super) enum Manner<'a> {
    /// With patience, saying what for.
    Waiting(&'a Task),
    /// At once or not at all, and given back when somebody waits for it.
    Yielding,
}

impl Manner<'_> {
    /// `None` if the directory is gone.
    fn take(
        self,
        storage: &dyn Storage,
        path: &Path,
    ) -> Result<Option<Box<dyn Lock>>, StorageError> {
        match self {
            Self::Waiting(task) => lock::lock(storage, path, &task.text()),
            Self::Yielding => lock::try_lock_yielding(storage, path),
        }
    }
}

impl LockedTable {
    /// Takes the lock of a table and recovers it. A directory that is not there is made if `may_create`. `words` say what for.
    pub(super) fn acquire(
        storage: &Arc<dyn Storage>,
        path: &Path,
        may_create: bool,
        words: &str,
    ) -> Result<Self, TableError> {
        let task = Task::Other(words.to_owned());
        Self::acquire_for(storage, path, may_create, Manner::Waiting(&task))
    }

    /// The same, for work that others are told more about.
    pub(super) fn acquire_for(
        storage: &Arc<dyn Storage>,
        path: &Path,
        may_create: bool,
        manner: Manner<'_>,
    ) -> Result<Self, TableError> {
        refuse_url(path)?;
        let mut is_made = false;
        for _ in 0..ATTEMPTS_MAX {
            match contents(storage.as_ref(), path)? {
                Contents::Absent if may_create => is_made |= make(storage.as_ref(), path)?,
                Contents::Absent => {
                    let path = path.to_owned();
                    return Err(TableError::NotATable {
                        path,
                        problem: "the directory does not exist",
                    });
                }
                Contents::Other(found) => {
                    return Err(TableError::Occupied { path: path.to_owned(), found });
                }
                Contents::Fresh | Contents::Table | Contents::Parts => {}
            }
            if let Some(lock) = manner.take(storage.as_ref(), path)? {
                let (storage, path) = (Arc::clone(storage), path.to_owned());
                let sidecar = None;
                let mut table = Self {
                    storage,
                    path,
                    sidecar,
                    is_made,
                    has_made_detached: false,
                    has_made_version: false,
                    is_uncertain: false,
                    sign: Mutex::new(None),
                    lock,
                };
                return match table.recover(may_create) {
                    Ok(()) => Ok(table),
                    Err(error) => {
                        table.discard();
                        Err(error)
                    }
                };
            }
        }
        let path = path.to_owned();
        Err(TableError::NotATable { path, problem: "the directory is removed again and again" })
    }

    /// The directory.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Where it lives.
    pub(super) fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }

    /// Tells other processes what this one does to the table from now on.
    pub(super) fn show(&self, task: &Task) {
        let mut sign = self.sign.lock().unwrap_or_else(PoisonError::into_inner);
        if sign.is_none() {
            *sign = self.storage.put_up(&self.path.join(WORK)).ok().flatten();
        }
        if let Some(sign) = &*sign {
            sign.say(&task.text());
        }
    }

    /// True if the sign is this process's own; otherwise a dead one left it.
    fn is_shown(&self) -> bool {
        self.sign.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// True if the definition is the one that the last change has left.
    pub(super) fn has_sidecar(&self) -> bool {
        self.sidecar.is_some()
    }

    /// The table as a sidecar would describe it, also for parts without one, with the definition if it is known.
    pub(super) fn describe(
        &self,
    ) -> Result<Option<(Sidecar, Option<TableDefinition>)>, TableError> {
        if let Some(sidecar) = &self.sidecar {
            let definition = TableDefinition::parse(&sidecar.statement)?;
            return Ok(Some((sidecar.clone(), Some(definition))));
        }
        if contents(self.storage.as_ref(), &self.path)? == Contents::Parts {
            open::adopt(&self.storage, &self.path).map(Some)
        } else {
            Ok(None)
        }
    }

    /// Makes `next` the table's state, with all its parts being durable in their directories already. An error means that
    /// the table is as before, unless it is [`TableError::CommitUncertain`].
    pub(super) fn commit(&mut self, next: Sidecar) -> Result<(), TableError> {
        let storage = self.storage.as_ref();
        let bytes = self.encode(&next)?;
        commit::sync_directory(storage, &self.path)?;
        match commit::replace(storage, &self.path, SIDECAR, &bytes) {
            Replaced::Durable => {}
            Replaced::Unchanged(error) => return Err(error.into()),
            Replaced::Unknown(error) => {
                if self.restore().is_ok() {
                    return Err(error.into());
                }
                self.is_uncertain = true;
                let (table, cause) = (self.path.clone(), Box::new(error.into()));
                return Err(TableError::CommitUncertain { table, cause });
            }
        }
        self.sidecar = Some(next);
        // The commit stands. What remains is tidying, which the next writer does if it fails here.
        let _ = self.settle();
        Ok(())
    }

    /// Gives up without a commit: removes what was made, and the directory too if it was made here and never became a table.
    pub(super) fn discard(self) {
        if self.is_uncertain {
            return;
        }
        // Nothing here matters to anybody but tidiness; the next writer repeats what fails.
        let storage = self.storage.as_ref();
        if self.sidecar.is_some() {
            let _ = self.sweep();
            return;
        }
        // Looked at again: without a sidecar in hand nobody knows what the directory may have become.
        match contents(storage, &self.path) {
            Ok(Contents::Fresh) if self.is_made => self.remove_directory(),
            Ok(Contents::Fresh) => {
                let _ = self.sweep();
                if self.has_made_detached {
                    let _ = commit::remove_directory(storage, &self.path.join(DETACHED));
                }
                if self.has_made_version {
                    let _ = commit::remove_file(storage, &self.path.join(FORMAT_VERSION));
                }
                let _ = commit::remove_file(storage, &self.path.join(LOCK));
            }
            Ok(Contents::Parts) => {
                let _ = self.sweep_own();
                // Last, since whoever finds no lock may begin.
                let _ = commit::remove_file(storage, &self.path.join(LOCK));
            }
            _ => {}
        }
    }

    /// Removes the table's directory; renamed first, so that nobody who comes now uses it while it vanishes.
    fn remove_directory(&self) {
        let mut name = self.path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{REMOVING}{}", std::process::id()));
        let removing = commit::parent(&self.path).join(name);
        if self.storage.rename(&self.path, &removing).is_ok() {
            let _ = self.storage.remove_directory(&removing);
        }
    }

    fn encode(&self, sidecar: &Sidecar) -> Result<Vec<u8>, TableError> {
        let path = self.path.join(SIDECAR);
        sidecar.to_bytes().map_err(|cause| TableError::SidecarSyntax { path, cause })
    }

    /// Reads what is committed and finishes what the last writer promised.
    fn recover(&mut self, may_create: bool) -> Result<(), TableError> {
        self.sidecar = open::load_sidecar(self.storage.as_ref(), &self.path)?;
        if self.sidecar.is_some() {
            return self.settle();
        }
        match contents(self.storage.as_ref(), &self.path)? {
            Contents::Fresh if may_create => {
                self.sweep()?;
                self.prepare()
            }
            // What an insert into a copy of a server's table left when it crashed before its first commit.
            Contents::Parts => self.sweep_own(),
            _ => Ok(()),
        }
    }

    /// What a directory of parts has beside the parts.
    fn prepare(&mut self) -> Result<(), TableError> {
        let storage = self.storage.as_ref();
        let detached = self.path.join(DETACHED);
        if !commit::exists(storage, &detached)? {
            storage.create_directory(&detached).map_err(TableError::file("create", &detached))?;
            self.has_made_detached = true;
        }
        let version = self.path.join(FORMAT_VERSION);
        if storage.read(&version, 16).is_ok_and(|text| text == FORMAT_VERSION_TEXT) {
            return Ok(());
        }
        self.has_made_version = !commit::exists(storage, &version)?;
        match commit::replace(storage, &self.path, FORMAT_VERSION, FORMAT_VERSION_TEXT) {
            Replaced::Durable => Ok(()),
            Replaced::Unchanged(error) | Replaced::Unknown(error) => Err(error.into()),
        }
    }

    /// Puts the sidecar back that was there before a commit that failed half-way.
    fn restore(&self) -> Result<(), TableError> {
        let storage = self.storage.as_ref();
        let Some(sidecar) = &self.sidecar else {
            commit::remove_file(storage, &self.path.join(SIDECAR))?;
            return Ok(commit::sync_directory(storage, &self.path)?);
        };
        match commit::replace(storage, &self.path, SIDECAR, &self.encode(sidecar)?) {
            Replaced::Durable => Ok(()),
            Replaced::Unchanged(error) | Replaced::Unknown(error) => Err(error.into()),
        }
    }

    /// Renames forward, removes what was replaced, and says so in the sidecar.
    fn settle(&mut self) -> Result<(), TableError> {
        let storage = self.storage.as_ref();
        let Some(sidecar) = &self.sidecar else { return Ok(()) };
        let mut next = sidecar.clone();
        let mut has_moved = false;
        for part in &mut next.parts {
            let directory = part.directory.take();
            has_moved |= directory.as_ref().is_some_and(|it| it.starts_with(DETACHED));
            if let Some(directory) = directory
                && !recover::roll_forward(storage, &self.path, &directory, &part.name)?
            {
                let (table, part) = (self.path.clone(), part.name.clone());
                return Err(TableError::PartMissing { table, part });
            }
        }
        // What a reader still holds waits for the next writer.
        if !next.removed.is_empty() {
            let (is_free, _alone) = recover::take_directory(storage, &self.path)?;
            for name in std::mem::take(&mut next.removed) {
                if !is_free || !recover::retire(storage, &self.path, &name)? {
                    next.removed.push(name);
                }
            }
        }
        for name in std::mem::take(&mut next.detached) {
            if recover::detach(storage, &self.path, &name)? {
                has_moved = true;
            } else {
                next.detached.push(name);
            }
        }
        self.sweep()?;
        if next == *sidecar {
            return Ok(());
        }
        if has_moved {
            commit::sync_directory(storage, &self.path.join(DETACHED))?;
        }
        // The new names must be durable before the sidecar relies on them.
        commit::sync_directory(storage, &self.path)?;
        match commit::replace(storage, &self.path, SIDECAR, &self.encode(&next)?) {
            Replaced::Durable => {
                self.sidecar = Some(next);
                Ok(())
            }
            Replaced::Unchanged(error) | Replaced::Unknown(error) => Err(error.into()),
        }
    }

    /// Removes all temporary directories but those that live parts are in.
    fn sweep(&self) -> Result<(), TableError> {
        let hashes = self.sidecar.iter().flat_map(|sidecar| &sidecar.parts);
        let hashes = hashes.map(|part| part.hash.as_str()).collect();
        statistics::sweep(self.storage.as_ref(), &self.path, &hashes);
        let aside = [commit::aside(SIDECAR), commit::aside(FORMAT_VERSION)];
        let parts = self.sidecar.iter().flat_map(|sidecar| &sidecar.parts);
        let live: HashSet<&str> = parts.filter_map(|part| part.directory.as_deref()).collect();
        let is_shown = self.is_shown();
        recover::sweep(self.storage.as_ref(), &self.path, &|name, is_directory| {
            if is_directory {
                is_leftover_directory(name) && !live.contains(name)
            } else {
                (name == WORK && !is_shown) || aside.iter().any(|a| a == name)
            }
        })
    }

    /// In a directory that is not ours yet: removes only what this process makes.
    fn sweep_own(&self) -> Result<(), TableError> {
        let aside = commit::aside(SIDECAR);
        let is_shown = self.is_shown();
        recover::sweep(self.storage.as_ref(), &self.path, &|name, is_directory| {
            if is_directory {
                name.starts_with(OWN)
            } else {
                name == aside || (name == WORK && !is_shown)
            }
        })
    }
}

/// Removes the parts that were replaced while readers held them, as the next writer would.
///
/// # Errors
/// Another writer is at work; it removes them.
pub fn remove_replaced(storage: &Arc<dyn Storage>, path: &Path) -> Result<(), TableError> {
    LockedTable::acquire_for(storage, path, false, Manner::Yielding).map(drop)
}

/// What our temporary directories are called at their beginning; ClickHouse has other `tmp_` names.
pub(super) const OWN: &str = "tmp_tambour_";

/// Makes the directory; false if somebody else just did.
fn make(storage: &dyn Storage, path: &Path) -> Result<bool, TableError> {
    match storage.create_directory(path) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(false),
        Err(error) => return Err(TableError::file("create", path)(error)),
    }
    let synced = commit::sync_directory(storage, &commit::parent(path));
    if synced.is_err() {
        let _ = storage.remove_directory(path);
    }
    synced?;
    Ok(true)
}
