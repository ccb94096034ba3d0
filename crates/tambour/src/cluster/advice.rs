//! Advice that workers share: each measures some of the columns.
//!
//! The coordinator reads the sample and says which rows are in it; a worker reads these rows of its columns. How many rows a sample has
//! depends on how long they are, which a worker that reads few columns does not see. Orders of the rows concern all columns and
//! are tried by the coordinator.

use super::Cluster;
use super::errand::{Errand, answer, chained};
use super::work::{absolute, shares};
use crate::Error;
use crate::sample::{Rows, of_columns};
use serde::{Deserialize, Serialize};
use std::fmt::Display;
use std::ops::Range;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;
use tambour_advise::{
    Advice, AdviseOptions, ColumnAdvice, Intake, Measure, TypeAdvice, advise_columns, advise_whole,
};
use tambour_cluster::{ClusterError, Root};
use tambour_codec::choose::Objective;
use tambour_kernel::hash::FileHasher;
use tambour_part::types::Column;
use tambour_table::Table;

/// Columns to advise on.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Question {
    table: PathBuf,
    /// What the parts of the table have.
    content: String,
    /// Numbers of the columns.
    columns: Range<usize>,
    /// The rows of the sample among those that are read.
    rows: Vec<Range<u64>>,
    goal: String,
    server: Option<String>,
    blocks_max: usize,
    candidates_max: usize,
    portable: bool,
}

/// What a worker says of one of its columns.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Advised {
    now: Measured,
    on_disk: Option<u64>,
    measured: Vec<Measured>,
    best: [Measured; 3],
    types: Vec<Typed>,
    refused: Vec<(String, String)>,
}

#[derive(Debug, Deserialize, Serialize)]
struct Measured {
    chain: String,
    raw_bytes: u64,
    stored_bytes: u64,
    decode: Duration,
    is_text: bool,
}

#[derive(Debug, Deserialize, Serialize)]
struct Typed {
    data_type: String,
    reason: String,
    measured: Measured,
    saved: i64,
}

impl Question {
    /// The worker's side.
    pub(super) fn run(&self, root: &Root, clock: fn() -> Duration) -> Result<String, String> {
        let path = root.existing(&self.table)?;
        let table = Table::open(&path).map_err(|error| chained(&error.into()))?;
        let columns = table.columns().get(self.columns.clone());
        let (Some(columns), true) = (columns, content(&table) == self.content) else {
            return Err(format!("{}: the table has changed; ask again", path.display()));
        };
        let intake = Intake::of_ranges(columns.to_vec(), &self.rows);
        let rows = of_columns::<Error>(&table, columns, intake, &mut |_| Ok(()));
        let rows = rows.map_err(|error| chained(&error))?;
        let options = AdviseOptions {
            goal: Objective::named(&self.goal).ok_or("the goal is not known")?,
            server: self.server.as_deref().map(known).transpose()?,
            blocks_max: self.blocks_max,
            candidates_max: self.candidates_max,
            portable: self.portable,
            ..AdviseOptions::new(clock)
        };
        let advice = advise_columns(&rows.sample, &rows.present, &options);
        let advice = advice.map_err(|error| chained(&error.into()))?;
        answer(&advice.iter().map(Advised::of).collect::<Vec<_>>())
    }
}

impl Cluster {
    /// Advises on a table as [`advise`](tambour_advise::advise()) does on `rows`, which are its sample: each worker measures some of
    /// the columns.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let (csv, hits) = (directory.path().join("hits.csv"), directory.path().join("hits"));
    /// # std::fs::write(&csv, "page,visits\n/,30\n/about,1\n/,40\n")?;
    /// use std::time::Duration;
    /// use tambour::advise::{AdviseOptions, advise};
    /// let table = tambour::import([&csv], &hits, &tambour::ImportOptions::default())?;
    /// let rows = tambour::sample::of_opened::<tambour::Error>(&table, &mut |_| Ok(()))?;
    /// let workers = tambour::LocalCluster::start(2, directory.path())?;
    /// let cluster = tambour::Cluster::connect(workers.addresses())?;
    /// let options = AdviseOptions::new(|| Duration::ZERO);
    /// let advice = cluster.advise(&table, &rows, &options)?;
    /// assert_eq!(advice, advise(&rows.sample, &rows.present, &options)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn advise(
        &self,
        table: &Table,
        rows: &Rows,
        options: &AdviseOptions,
    ) -> Result<Advice, Error> {
        let path = absolute(table.path())?;
        let columns = rows.sample.columns();
        let content = content(table);
        let workers = self.workers()?;
        let errands: Vec<String> = shares(columns.len(), &workers)
            .map(|columns| Question {
                table: path.clone(),
                content: content.clone(),
                columns,
                rows: rows.sample.ranges().to_vec(),
                goal: options.goal.name().to_owned(),
                server: options.server.map(|version| version.to_string()),
                blocks_max: options.blocks_max,
                candidates_max: options.candidates_max,
                portable: options.portable,
            })
            .map(|question| Errand::Advise(question).text())
            .collect();
        let answers: Vec<Vec<Advised>> = self.answers(&errands, &workers, &mut |_| {})?;
        let wrong = |problem| Error::from(ClusterError::Workers { problem });
        let mut advised = Vec::with_capacity(columns.len());
        for answer in answers.into_iter().flatten() {
            let Some(column) = columns.get(advised.len()) else { break };
            advised.push(answer.of_column(column).map_err(wrong)?);
        }
        if advised.len() != columns.len() {
            let problem = format!("they told of {} columns of {}", advised.len(), columns.len());
            return Err(wrong(problem));
        }
        Ok(advise_whole(&rows.sample, advised, options)?)
    }
}

/// A hash of what the parts have.
fn content(table: &Table) -> String {
    let mut hasher = FileHasher::default();
    for part in table.parts() {
        hasher.update(part.content_hash().as_bytes());
    }
    let hash = hasher.finish();
    format!("{:016x}{:016x}", hash.high, hash.low)
}

impl Advised {
    fn of(advice: &ColumnAdvice) -> Self {
        let typed = |it: &TypeAdvice| Typed {
            data_type: it.data_type.to_string(),
            reason: it.reason.clone(),
            measured: Measured::of(&it.measure),
            saved: it.saved,
        };
        let refused = advice.refused.iter().map(|(spec, why)| (spec.to_string(), why.clone()));
        Self {
            now: Measured::of(&advice.now),
            on_disk: advice.on_disk,
            measured: advice.measured.iter().map(Measured::of).collect(),
            best: advice.best.each_ref().map(Measured::of),
            types: advice.types.iter().map(typed).collect(),
            refused: refused.collect(),
        }
    }

    fn of_column(self, column: &Column) -> Result<ColumnAdvice, String> {
        let [size, balance, speed] = self.best;
        let typed = |it: Typed| {
            Ok::<_, String>(TypeAdvice {
                data_type: known(&it.data_type)?,
                reason: it.reason,
                measure: it.measured.known()?,
                saved: it.saved,
            })
        };
        let refused = self.refused.into_iter().map(|(chain, why)| Ok((known(&chain)?, why)));
        Ok(ColumnAdvice {
            column: column.clone(),
            now: self.now.known()?,
            on_disk: self.on_disk,
            measured: self.measured.into_iter().map(Measured::known).collect::<Result<_, _>>()?,
            best: [size.known()?, balance.known()?, speed.known()?],
            types: self.types.into_iter().map(typed).collect::<Result<_, _>>()?,
            refused: refused.collect::<Result<_, String>>()?,
        })
    }
}

impl Measured {
    fn of(measure: &Measure) -> Self {
        Self {
            chain: measure.spec.to_string(),
            raw_bytes: measure.raw_bytes,
            stored_bytes: measure.stored_bytes,
            decode: measure.decode,
            is_text: measure.is_text,
        }
    }

    fn known(self) -> Result<Measure, String> {
        Ok(Measure {
            spec: known(&self.chain)?,
            raw_bytes: self.raw_bytes,
            stored_bytes: self.stored_bytes,
            decode: self.decode,
            is_text: self.is_text,
        })
    }
}

/// A value that has travelled as its text.
fn known<T: FromStr<Err: Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error| format!("{text:?}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ImportOptions, LocalCluster, import, sample};
    use tambour_advise::{Version, advise, alter};

    /// Rows that are long enough for short runs, in several parts.
    fn long_rows(directory: &std::path::Path) -> crate::Table {
        let mut csv = String::from("id,k,maybe,name,long\n");
        for id in 0..30_000_u64 {
            let mixed = id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
            let (k, name) = (id % 7, mixed % 300);
            let maybe = if id % 3 == 0 { String::new() } else { (mixed % 1000).to_string() };
            let long = format!("{mixed:x}").repeat(60);
            csv.push_str(&format!("{id},{k},{maybe},name {name},{long}\n"));
        }
        let file = directory.join("long.csv");
        std::fs::write(&file, csv).unwrap();
        let options = ImportOptions { rows_per_part: Some(9_000), ..ImportOptions::default() };
        import([&file], directory.join("long"), &options).unwrap()
    }

    #[test]
    fn advice_of_workers_is_that_of_one_process() {
        let directory = tempfile::tempdir().unwrap();
        let table = long_rows(directory.path());
        assert!(table.parts().len() > 1);
        let rows = sample::of_opened::<Error>(&table, &mut |_| Ok(())).unwrap();
        assert!(rows.sample.ranges().len() > 1, "{:?}", rows.sample.ranges());
        let still = AdviseOptions::new(|| Duration::ZERO);
        let old = AdviseOptions { server: Some(Version::new(21, 8)), ..still };
        for count in [1, 3] {
            let workers = LocalCluster::start(count, directory.path()).unwrap();
            let cluster = Cluster::connect(workers.addresses()).unwrap();
            for options in [still, AdviseOptions { goal: Objective::Size, ..old }] {
                let here = advise(&rows.sample, &rows.present, &options).unwrap();
                let there = cluster.advise(&table, &rows, &options).unwrap();
                assert_eq!(there, here);
                let text = |advice| alter::statements(advice, &rows.name, options.server);
                assert_eq!(text(&there), text(&here));
            }
        }
    }

    #[test]
    fn a_table_that_has_changed_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let table = long_rows(directory.path());
        let rows = sample::of_opened::<Error>(&table, &mut |_| Ok(())).unwrap();
        let mut other = table.clone();
        other.optimize(&crate::OptimizeOptions::default()).unwrap();
        let workers = LocalCluster::start(2, directory.path()).unwrap();
        let cluster = Cluster::connect(workers.addresses()).unwrap();
        let options = AdviseOptions::new(|| Duration::ZERO);
        let error = cluster.advise(&table, &rows, &options).unwrap_err();
        assert!(
            crate::chain(&error).any(|it| it.to_string().contains("the table has changed")),
            "{error}"
        );
    }
}
