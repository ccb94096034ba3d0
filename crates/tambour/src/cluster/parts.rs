//! Parts that workers write anew: merges and other codecs.
//!
//! A worker links the parts of one partition into a table of its own, in a temporary directory of the real one, and merges or
//! recompresses that as if it were alone in the world. The coordinator holds the lock of the real table all the while, takes the
//! new parts for the old ones, and commits once. So a worker that dies has touched nothing, and its partition is given to another.

use super::Cluster;
use super::errand::{Errand, answer, chained, free_name};
use super::work::{Staging, absolute};
use crate::Error;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tambour_cluster::{Root, WorkerInfo};
use tambour_codec::spec::CodecSpec;
use tambour_storage::disk;
use tambour_table::alter::Altered;
use tambour_table::insert::{Insert, InsertOptions};
use tambour_table::merge::{
    OptimizeOptions, OptimizeSummary, check_merge, optimize_with, partitions,
};
use tambour_table::recompress::{RecompressSummary, recompress};
use tambour_table::rewrite::Rewrite;
use tambour_table::schema::ChooseCodec;
use tambour_table::store::refuse_url;
use tambour_table::{Table, TableError};

/// What a worker does first.
const LINKING: &str = "linking parts";

/// Parts of a partition, and what becomes of them.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Partition {
    table: PathBuf,
    /// Names of the parts, the oldest first.
    parts: Vec<String>,
    /// The directory in which the worker makes its table.
    staging: PathBuf,
    /// New codecs by column.
    codecs: BTreeMap<String, String>,
    /// How they are merged; if they are not, only their codecs change.
    merge: Option<Merging>,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
struct Merging {
    memory_bytes: u64,
    now: Option<i64>,
}

impl Merging {
    /// A worker merges as many partitions at a time as it has threads, in the memory that is given for all.
    fn among(self, workers: &[WorkerInfo]) -> Self {
        let abreast = workers.iter().map(|worker| worker.threads).max().unwrap_or(1).max(1);
        Self { memory_bytes: self.memory_bytes / abreast as u64, ..self }
    }
}

/// What a worker has made of a partition.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Written {
    /// The table that it made; nothing if the parts are as they should be.
    table: Option<PathBuf>,
    /// Rows written by a merge, and those that expired.
    rows: u64,
    rows_expired: u64,
    /// Of other codecs: bytes before and after, and decoded.
    bytes_before: u64,
    bytes_after: u64,
    uncompressed: u64,
}

impl Partition {
    /// The worker's side.
    pub(super) fn run(&self, root: &Root) -> Result<String, String> {
        let (source, staging) = (root.existing(&self.table)?, root.existing(&self.staging)?);
        let target = free_name(&staging)?;
        let written = self.write(&source, &target).map_err(|error| chained(&error))?;
        answer(&written)
    }

    fn write(&self, source: &Path, target: &Path) -> Result<Written, Error> {
        let storage = disk();
        let source = Table::open_parts(&storage, source, &self.parts)?;
        let Some(definition) = source.definition() else {
            let table = source.path().to_owned();
            return Err(TableError::DefinitionUnknown { table, operation: LINKING }.into());
        };
        Insert::begin(&storage, target, definition, InsertOptions::default())?.commit()?;
        let options = InsertOptions::default();
        let mut links = Rewrite::begin(&storage, target, LINKING, options)?;
        for part in &self.parts {
            links.copy_part(&source, part)?;
        }
        links.commit()?;
        let before = names(target)?;
        let codecs = self.codecs()?;
        let choose = |column: &str| codecs.get(column).cloned();
        let mut written = Written {
            table: Some(target.to_owned()),
            rows: 0,
            rows_expired: 0,
            bytes_before: 0,
            bytes_after: 0,
            uncompressed: 0,
        };
        if let Some(Merging { memory_bytes, now }) = self.merge {
            let options = OptimizeOptions { memory_bytes, threads: 1, now, partition: None };
            let choose: Option<&ChooseCodec<'_>> =
                if codecs.is_empty() { None } else { Some(&choose) };
            let done = optimize_with(&storage, target, &options, choose, &mut |_| {})?;
            (written.rows, written.rows_expired) = (done.rows, done.rows_expired);
            if names(target)? == before {
                written.table = None;
            }
        } else {
            let done = recompress(&storage, target, &choose, &mut |_| {})?;
            written.bytes_before = done.bytes_before;
            written.bytes_after = done.bytes_after;
            written.uncompressed = done.uncompressed;
        }
        Ok(written)
    }

    fn codecs(&self) -> Result<BTreeMap<&str, CodecSpec>, Error> {
        let parsed = self.codecs.iter().map(|(column, text)| Ok((column.as_str(), text.parse()?)));
        parsed.collect()
    }
}

/// The names of the parts of a table: one that is written anew has another.
fn names(table: &Path) -> Result<Vec<String>, Error> {
    Ok(Table::open_on(&disk(), table)?.part_names().to_vec())
}

impl Cluster {
    /// Merges the parts of each partition as [`optimize_with`] does, each partition on one worker, and shows all of it at once or
    /// nothing. The workers must be allowed to write, and see the table below their root. `progress` is told the rows written.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let (csv, hits) = (directory.path().join("hits.csv"), directory.path().join("hits"));
    /// # std::fs::write(&csv, "page,visits\n/,30\n/about,1\n/,40\n")?;
    /// # tambour::import([&csv], &hits, &tambour::ImportOptions::default())?;
    /// let workers = tambour::LocalCluster::start(2, directory.path())?;
    /// let cluster = tambour::Cluster::connect(workers.addresses())?;
    /// let options = tambour::table::merge::OptimizeOptions::default();
    /// let summary = cluster.optimize(&hits, &options, None, &mut |_| {})?;
    /// // One part that is as it should be.
    /// assert_eq!((summary.parts_before, summary.parts_after, summary.rows), (1, 1, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn optimize(
        &self,
        table: &Path,
        options: &OptimizeOptions,
        codecs: Option<&ChooseCodec<'_>>,
        progress: &mut (dyn FnMut(u64) + Send),
    ) -> Result<OptimizeSummary, Error> {
        let (memory_bytes, now) = (options.memory_bytes, options.now);
        let merging = Some(Merging { memory_bytes, now });
        let mut rows = 0;
        let (before, after, written) =
            self.write_parts(table, "OPTIMIZE", codecs, merging, &mut |written| {
                rows += written.rows;
                progress(rows);
            })?;
        Ok(OptimizeSummary {
            parts_before: before,
            parts_after: after,
            rows: written.iter().map(|it| it.rows).sum(),
            rows_expired: written.iter().map(|it| it.rows_expired).sum(),
        })
    }

    /// Gives columns other codecs as [`recompress`](fn@recompress) does, each partition on one worker, in one commit. `progress` is
    /// told the bytes done, before coding.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let (csv, hits) = (directory.path().join("hits.csv"), directory.path().join("hits"));
    /// # std::fs::write(&csv, "page,visits\n/,30\n/about,1\n/,40\n")?;
    /// # tambour::import([&csv], &hits, &tambour::ImportOptions::default())?;
    /// let workers = tambour::LocalCluster::start(2, directory.path())?;
    /// let cluster = tambour::Cluster::connect(workers.addresses())?;
    /// let summary = cluster.recompress(&hits, &|_| "ZSTD(3)".parse().ok(), &mut |_| {})?;
    /// assert_eq!(summary.parts, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn recompress(
        &self,
        table: &Path,
        choose: &ChooseCodec<'_>,
        progress: &mut (dyn FnMut(u64) + Send),
    ) -> Result<RecompressSummary, Error> {
        let mut done = 0;
        let (parts, _, written) =
            self.write_parts(table, "recompressing", Some(choose), None, &mut |written| {
                done += written.uncompressed;
                progress(done);
            })?;
        Ok(RecompressSummary {
            parts,
            parts_done_before: 0,
            bytes_before: written.iter().map(|it| it.bytes_before).sum(),
            bytes_after: written.iter().map(|it| it.bytes_after).sum(),
            uncompressed: written.iter().map(|it| it.uncompressed).sum(),
        })
    }

    /// Parts before and after, and what the workers wrote.
    fn write_parts(
        &self,
        table: &Path,
        operation: &'static str,
        choose: Option<&ChooseCodec<'_>>,
        merge: Option<Merging>,
        seen: &mut (dyn FnMut(&Written) + Send),
    ) -> Result<(u64, u64, Vec<Written>), Error> {
        refuse_url(table)?;
        let table = absolute(table)?;
        let mut rewrite = Rewrite::begin(&disk(), &table, operation, InsertOptions::default())?;
        let partitions = partitions(rewrite.table().part_names());
        if merge.is_some() {
            partitions.iter().try_for_each(|parts| check_merge(&table, parts))?;
        }
        let mut codecs = BTreeMap::new();
        if let Some(choose) = choose {
            let names = rewrite.definition().columns.iter().map(|column| &column.column.name);
            let chosen = names.filter_map(|name| Some((name.clone(), choose(name)?.to_string())));
            codecs.extend(chosen);
            rewrite.redefine(Altered::with_codecs(rewrite.definition(), choose)?)?;
        }
        let workers = self.workers()?;
        let merge = merge.map(|merging| merging.among(&workers));
        let staging = Staging(rewrite.scratch()?);
        let errand = |parts: &Vec<String>| {
            let (table, parts, codecs) = (table.clone(), parts.clone(), codecs.clone());
            Errand::Partition(Partition { table, parts, staging: staging.0.clone(), codecs, merge })
        };
        let errands: Vec<String> = partitions.iter().map(|parts| errand(parts).text()).collect();
        let written = self.answers(&errands, &workers, seen)?;
        let before = partitions.iter().map(Vec::len).sum::<usize>() as u64;
        let mut after = before;
        for (parts, written) in partitions.iter().zip(&written) {
            let Some(made) = &written.table else { continue };
            let made = Table::open_on(&disk(), made)?;
            rewrite.replace_parts(parts, &made)?;
            after = after - parts.len() as u64 + made.part_names().len() as u64;
        }
        rewrite.commit()?;
        Ok((before, after, written))
    }
}
