//! Work on tables that workers share: verifying parts, importing files.

use super::errand::{Errand, Imported, Share, Verified};
use super::told::Told;
use super::{Cluster, runtime};
use crate::import::{definition_of, options_of};
use crate::{Error, ImportError, ImportEvent, ImportOptions, ImportSummary, Table};
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tambour_cluster::{ClusterError, WorkerInfo};
use tambour_part::write::Dialect;
use tambour_storage::{Storage, StorageError, disk};
use tambour_table::catalog::rename_table;
use tambour_table::insert::{Existing, Insert, InsertOptions, InsertSummary};
use tambour_table::rewrite::Rewrite;
use tambour_table::schema::TableDefinition;
use tambour_table::store::{is_url, storage_of};
use tambour_table::verify::{ROUNDS_MAX, VerifyProgress, parts_of};

/// Errands for each thread of a worker: enough that a slow one does not keep the others waiting.
const ERRANDS_PER_THREAD: usize = 4;

/// What workers have seen of a table; see [`Cluster::verify`].
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct ClusterVerification {
    /// Live parts looked at.
    pub parts: u64,
    /// Files looked at.
    pub files: u64,
    /// Blocks whose checksum was verified.
    pub blocks: u64,
    /// Compressed bytes read.
    pub bytes: u64,
    /// Rows of all parts that could be opened.
    pub rows: u64,
    /// All that is wrong; empty means good.
    pub damage: Vec<Told>,
    /// What is not as it should be, and changes no answer.
    pub notes: Vec<Told>,
    /// Parts that writers replaced before they could be looked at to the end; others have their rows.
    pub replaced: Vec<String>,
}

impl ClusterVerification {
    fn add(&mut self, answer: Verified) {
        self.parts += answer.parts;
        self.files += answer.files;
        self.blocks += answer.blocks;
        self.bytes += answer.bytes;
        self.rows += answer.rows;
        self.damage.extend(answer.damage);
        self.notes.extend(answer.notes);
        self.replaced.extend(answer.replaced);
    }
}

impl Cluster {
    /// Reads and checks a table as [`verify`](fn@tambour_table::verify::verify) does, each part on one worker. The workers must
    /// have been started with [`TableErrands`](super::TableErrands), as those of `tambour worker` are.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let (csv, hits) = (directory.path().join("hits.csv"), directory.path().join("hits"));
    /// # std::fs::write(&csv, "page,visits\n/,30\n/about,1\n/,40\n")?;
    /// # tambour::import([&csv], &hits, &tambour::ImportOptions::default())?;
    /// let workers = tambour::LocalCluster::start(2, directory.path())?;
    /// let cluster = tambour::Cluster::connect(workers.addresses())?;
    /// let seen = cluster.verify(&hits, &mut |_| {})?;
    /// assert!(seen.damage.is_empty());
    /// assert_eq!((seen.parts, seen.rows), (1, 3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn verify(
        &self,
        table: &Path,
        progress: &mut (dyn FnMut(&VerifyProgress) + Send),
    ) -> Result<ClusterVerification, Error> {
        let table = absolute(table)?;
        let storage = storage_of(&table)?;
        let workers = self.workers()?;
        let mut total = ClusterVerification::default();
        let mut told = VerifyProgress::default();
        let mut looked_at = HashSet::new();
        for _ in 0..ROUNDS_MAX {
            total.replaced.clear();
            let (mut parts, damage) = parts_of(&storage, &table)?;
            total.damage.extend(damage.iter().map(Told::of));
            parts.retain(|part| looked_at.insert(part.clone()));
            told.parts_total += parts.len() as u64;
            let errands: Vec<String> = shares(parts.len(), &workers)
                .map(|range| Errand::Verify { table: table.clone(), parts: parts[range].to_vec() })
                .map(|errand| errand.text())
                .collect();
            let answers = self.answers(&errands, &workers, &mut |answer: &Verified| {
                told.parts += answer.parts;
                told.rows += answer.rows;
                told.bytes += answer.bytes;
                progress(&told);
            })?;
            for answer in answers {
                total.add(answer);
            }
            if total.replaced.is_empty() {
                break;
            }
        }
        Ok(total)
    }

    /// Imports files as [`import_with`](crate::import_with) does, each on one worker, and shows all rows at once or none. Types
    /// that nobody gave are inferred from the beginning of each file. A row that contradicts them is an error here: give a
    /// definition then. The workers must be allowed to write, and see files and table below their root.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let (a, b, hits) = (directory.path().join("a.csv"), directory.path().join("b.csv"), directory.path().join("hits"));
    /// # std::fs::write(&a, "page,visits\n/,30\n")?;
    /// # std::fs::write(&b, "page,visits\n/about,1\n/,40\n")?;
    /// let workers = tambour::LocalCluster::start(2, directory.path())?;
    /// let cluster = tambour::Cluster::connect(workers.addresses())?;
    /// let go_on = &mut |_: tambour::ImportEvent<'_>| std::ops::ControlFlow::Continue(());
    /// let summary = cluster.import(&[a, b], &hits, &tambour::ImportOptions::default(), go_on)?;
    /// assert_eq!(summary.written.rows, 3);
    /// assert_eq!(tambour::Table::open(&hits)?.rows(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn import(
        &self,
        files: &[PathBuf],
        table: &Path,
        options: &ImportOptions,
        progress: &mut (dyn FnMut(ImportEvent<'_>) -> ControlFlow<()> + Send),
    ) -> Result<ImportSummary, Error> {
        if options.existing == Existing::Replace || files.iter().any(|it| it.as_os_str() == "-") {
            return Err(ImportError::NotOnWorkers.into());
        }
        let (files, table) = (sized(files)?, absolute(table)?);
        let paths: Vec<PathBuf> = files.iter().map(|(path, _)| path.clone()).collect();
        let definition = definition_of(&paths, &table, options)?;
        let mut tell = |event: ImportEvent<'_>| match progress(event) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::Interrupted),
        };
        let bytes_total = files.iter().map(|(_, bytes)| bytes).sum();
        tell(ImportEvent::Opened { bytes_total: Some(bytes_total) })?;
        tell(ImportEvent::Schema(&definition))?;
        definition.refuse_constraints()?;
        let staging = Staging::beside(&table)?;
        let workers = self.workers()?;
        let errands: Vec<String> = shares(files.len(), &workers)
            .map(|range| share(&paths[range], &staging.0, &definition, options))
            .map(|share| Errand::Import(share).text())
            .collect();
        let (mut rows, mut bytes) = (0, 0);
        let answers = self.answers(&errands, &workers, &mut |answer: &Imported| {
            rows += answer.rows;
            bytes += answer.bytes_read;
            // Whoever says stop is heard before the commit.
            let _ = tell(ImportEvent::Rows { rows, bytes });
        })?;
        tell(ImportEvent::Committing)?;
        let written = unite(&answers, &table, &definition, options, &staging.0)?;
        if written.rows != rows {
            return Err(ClusterError::Workers {
                problem: format!("they wrote {} rows and told {rows}", written.rows),
            }
            .into());
        }
        Ok(ImportSummary { definition, bytes_read: bytes, written, changes: Vec::new() })
    }

    /// Sends errands and reads the answers, in the order of the errands. The first that is refused ends it.
    pub(super) fn answers<A: serde::de::DeserializeOwned + Send>(
        &self,
        errands: &[String],
        workers: &[WorkerInfo],
        seen: &mut (dyn FnMut(&A) + Send),
    ) -> Result<Vec<A>, Error> {
        let mut answers: Vec<Option<A>> = errands.iter().map(|_| None).collect();
        let mut refused = None;
        let done = &mut |number: usize, worker: &str, outcome: Result<String, String>| {
            let answer = outcome.and_then(|answer| {
                serde_json::from_str::<A>(&answer).map_err(|error| format!("its answer: {error}"))
            });
            match answer {
                Ok(answer) => {
                    seen(&answer);
                    answers[number] = Some(answer);
                }
                Err(problem) => {
                    let worker = worker.to_owned();
                    refused.get_or_insert(ClusterError::Refused { worker, problem });
                }
            }
        };
        let abreast = workers.iter().map(|worker| worker.threads).max().unwrap_or(1);
        runtime()?.block_on(self.0.send(errands, abreast, done))?;
        if let Some(error) = refused {
            return Err(error.into());
        }
        let answers: Option<Vec<A>> = answers.into_iter().collect();
        let missing = || ClusterError::Workers { problem: "an errand was not answered".to_owned() };
        Ok(answers.ok_or_else(missing)?)
    }
}

/// Ranges of things for errands of about one size.
pub(super) fn shares(
    count: usize,
    workers: &[WorkerInfo],
) -> impl Iterator<Item = std::ops::Range<usize>> + use<> {
    let threads: usize = workers.iter().map(|worker| worker.threads).sum();
    let each = count.div_ceil((threads * ERRANDS_PER_THREAD).max(1)).max(1);
    (0..count).step_by(each).map(move |start| start..count.min(start + each))
}

pub(super) fn absolute(path: &Path) -> Result<PathBuf, Error> {
    if is_url(path) {
        return Ok(path.to_owned());
    }
    let cause = |cause| Error::from(StorageError::file("resolve", path)(cause));
    std::path::absolute(path).map_err(cause)
}

/// Files with their sizes, the largest first.
fn sized(files: &[PathBuf]) -> Result<Vec<(PathBuf, u64)>, Error> {
    let mut sized = Vec::with_capacity(files.len());
    for file in files {
        let failed = |cause| Error::from(StorageError::file("open", file)(cause));
        sized.push((absolute(file)?, std::fs::metadata(file).map_err(failed)?.len()));
    }
    sized.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    Ok(sized)
}

fn share(
    files: &[PathBuf],
    staging: &Path,
    definition: &TableDefinition,
    options: &ImportOptions,
) -> Share {
    Share {
        files: files.to_vec(),
        staging: staging.to_owned(),
        statement: definition.stored(),
        format: options.format.map(|format| format.name().to_owned()),
        header: options.header,
        delimiter: options.delimiter,
        skip_unknown_columns: options.skip_unknown_columns,
        record_bytes_max: options.record_bytes_max,
        is_old: options.dialect == Dialect::Old,
        rows_per_part: options.rows_per_part,
        memory_bytes: options.memory_bytes,
    }
}

/// A directory beside a table, for the parts that are not in it yet; removed with all that is in it.
#[derive(Debug)]
pub(super) struct Staging(pub(super) PathBuf);

impl Staging {
    fn beside(table: &Path) -> Result<Self, Error> {
        let directory = table.parent().unwrap_or(Path::new("/"));
        let name = table.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let path = directory.join(format!(".{name}.import-{}", std::process::id()));
        let failed = |cause| Error::from(StorageError::file("create", &path)(cause));
        std::fs::create_dir(&path).map_err(failed)?;
        Ok(Self(path))
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // What cannot be removed is in nobody's way, and its name says what it was.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Makes the parts of all shares parts of the table, in one commit.
fn unite(
    shares: &[Imported],
    table: &Path,
    definition: &TableDefinition,
    options: &ImportOptions,
    staging: &Path,
) -> Result<InsertSummary, Error> {
    let storage = disk();
    let is_new = !table.join(crate::table::SIDECAR).exists();
    let target = if is_new { staging.join("table") } else { table.to_owned() };
    if is_new {
        Insert::begin(&storage, &target, definition, options_of(options))?.commit()?;
    }
    let mut rewrite = Rewrite::begin(&storage, &target, "importing", InsertOptions::default())?;
    let before: Vec<(String, String)> = parts_in(rewrite.table());
    let mut summary = InsertSummary::default();
    for share in shares {
        let source = Table::open(&share.table)?;
        let source = source.snapshot();
        summary.uncompressed += share.uncompressed;
        let added = parts_in(&source);
        let is_added = |hash: &str| added.iter().any(|(_, added)| added == hash);
        let repeated = before.iter().filter(|(_, hash)| is_added(hash));
        summary.repeated.extend(repeated.map(|(name, _)| name.clone()));
        rewrite.check_structure(&source)?;
        for (name, part) in source.part_names().iter().zip(source.parts()) {
            rewrite.copy_part(&source, name)?;
            summary.rows += part.rows();
            summary.parts += 1;
            summary.compressed += part.bytes_on_disk();
        }
    }
    rewrite.commit()?;
    if is_new {
        move_into_place(&storage, &target, table, definition)?;
    }
    Ok(summary)
}

/// Names and content hashes.
fn parts_in(table: &tambour_table::Table) -> Vec<(String, String)> {
    let names = table.part_names().iter().cloned();
    names.zip(table.parts().iter().map(|part| part.content_hash())).collect()
}

fn move_into_place(
    storage: &Arc<dyn Storage>,
    from: &Path,
    table: &Path,
    definition: &TableDefinition,
) -> Result<(), Error> {
    Ok(rename_table(storage, from, table, &definition.name)?)
}
