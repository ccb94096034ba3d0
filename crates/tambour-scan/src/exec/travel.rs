//! A scan that another process runs: what is sent of it, how it is put together again over the table as that process sees it,
//! and what is told back.

use super::{COMPRESSED, DECODED, ENDED, FILTERED, SKIPPED_ROWS, TambourScanExec};
use super::{external, properties};
use crate::late::Filters;
use arrow::datatypes::SchemaRef;
use datafusion::common::{Result, Statistics, exec_err};
use datafusion::physical_plan::metrics::{
    ExecutionPlanMetricsSet, Label, MetricBuilder, MetricsSet,
};
use datafusion::physical_plan::{ExecutionPlan, PhysicalExpr};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;
use tambour_part::types::{Strings, arrow_schema};
use tambour_table::Table;
use tambour_table::scan::{Pruned, Scan};

/// Rows per batch that are asked of another process at most; room for them is taken at once.
const BATCH_ROWS_MAX: usize = 1 << 20;

/// Label of metrics that another process has told.
const TOLD: &str = "told";

/// Metric: rows that all shares of a scan read at most.
const PLANNED: &str = "rows_planned";

/// A scan without its filters, which are expressions of the engine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sent {
    /// What is read.
    pub scan: Scan,
    /// Names and ClickHouse types of the columns that are read.
    columns: Vec<(String, String)>,
    /// The columns that are handed out, by their places among those that are read.
    output: Vec<usize>,
    is_reversed: bool,
    /// The columns of which only lengths are asked for, by their places among those that are read.
    lengths: BTreeSet<usize>,
    pruned: Pruned,
}

/// What a scan has read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Read {
    /// Rows, also those that a filter dropped.
    pub rows: u64,
    /// Rows of granules that were left out while it ran.
    pub skipped: u64,
    /// Bytes after decompression.
    pub bytes: u64,
    /// Bytes before decompression.
    pub compressed: u64,
    /// Partitions that were read to their end.
    pub ended: u64,
}

impl Read {
    /// Of the metrics of a scan.
    pub fn of(metrics: &MetricsSet) -> Self {
        let named =
            |name: &str| metrics.sum_by_name(name).map_or(0, |value| value.as_usize() as u64);
        let rows = metrics.output_rows().map_or(0, |rows| rows as u64);
        Self {
            rows: rows + named(FILTERED),
            skipped: named(SKIPPED_ROWS),
            bytes: named(DECODED),
            compressed: named(COMPRESSED),
            ended: named(ENDED),
        }
    }
}

/// The metrics without what [`TambourScanExec::tell`] was told, for those who have them from the other process, too.
pub fn untold(metrics: &MetricsSet) -> MetricsSet {
    let mut own = MetricsSet::new();
    let is_told = |label: &Label| label.name() == TOLD;
    metrics
        .iter()
        .filter(|it| !it.labels().iter().any(is_told))
        .for_each(|it| own.push(Arc::clone(it)));
    own
}

/// What pruning left of the table of a node that stands for a scan; `None` of other nodes.
fn pruned_of(metrics: &MetricsSet) -> Option<Pruned> {
    let named = |name: &str| metrics.sum_by_name(name).map(|value| value.as_usize());
    named(Pruned::NAMES[0])?;
    Some(Pruned::of_figures(Pruned::NAMES.map(|name| named(name).unwrap_or_default())))
}

impl TambourScanExec {
    /// What is sent of it, and its filters, which are over the columns that are read. Filters that move are left out: they only
    /// save work.
    pub fn sent(&self) -> (Sent, &[Arc<dyn PhysicalExpr>]) {
        let sent = Sent {
            scan: self.scan.clone(),
            columns: types(&self.table, &self.scan),
            output: self.output.to_vec(),
            is_reversed: self.is_reversed,
            lengths: self.lengths.clone(),
            pruned: self.pruned,
        };
        (sent, &self.filters.fixed)
    }

    /// The schema of the columns that are read, over which filters are.
    pub fn read_schema(scan: &Scan, table: &Table) -> Result<SchemaRef> {
        let strings = if scan.binary_strings { Strings::Binary } else { Strings::Utf8 };
        let all = arrow_schema(table.columns(), strings);
        let places: Result<Vec<usize>, _> =
            scan.columns.iter().map(|name| all.index_of(name)).collect();
        Ok(Arc::new(all.project(&places?)?))
    }

    /// The scan over the table as this process sees it.
    pub fn received(
        table: Arc<Table>,
        sent: Sent,
        filters: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Self> {
        let Sent { scan, columns, output, is_reversed, lengths, pruned } = sent;
        let found = types(&table, &scan);
        if found != columns {
            return exec_err!(
                "table {}: the columns are {found:?}, the query expects {columns:?}",
                table.path().display()
            );
        }
        if scan.batch_rows > BATCH_ROWS_MAX || output.iter().any(|it| *it >= columns.len()) {
            return exec_err!("the scan is not one that is sent: batch size or columns");
        }
        scan.check(&table).map_err(external)?;
        let read = Self::read_schema(&scan, &table)?;
        let schema = Arc::new(read.project(&output)?);
        let received = Self {
            note: None,
            lengths,
            properties: properties(&table, &scan, &schema),
            all: Arc::new(Statistics::new_unknown(&read)),
            filters: Filters { fixed: filters, ..Filters::default() },
            metrics: ExecutionPlanMetricsSet::new(),
            output: output.into(),
            table,
            scan,
            pruned,
            read,
            schema,
            is_reversed,
            is_of_ends: false,
            places: false,
            projection: None,
        };
        if !received.lengths.iter().all(|place| received.is_text(*place)) {
            return exec_err!("the scan is not one that is sent: lengths of what is not a text");
        }
        Ok(received)
    }

    /// The scan divided among workers, in their order. What [`TambourScanExec::tell`] is told of a share counts for the whole.
    pub fn shares(&self, workers: &[String], partitions: usize) -> Result<Vec<Self>> {
        let scans = self.scan.shares(&self.table, workers, partitions).map_err(external)?;
        Ok(self.sharing(scans))
    }

    /// All of it as the only share.
    pub fn whole(&self) -> Vec<Self> {
        self.sharing(vec![self.scan.clone()])
    }

    fn sharing(&self, scans: Vec<Scan>) -> Vec<Self> {
        for (name, value) in Pruned::NAMES.into_iter().zip(self.pruned.figures()) {
            MetricBuilder::new(&self.metrics).global_counter(name).add(value);
        }
        let rows = usize::try_from(self.planned_rows_max()).unwrap_or(usize::MAX);
        MetricBuilder::new(&self.metrics).global_counter(PLANNED).add(rows);
        let share = |scan| Self { metrics: self.metrics.clone(), ..self.with_scan(scan) };
        scans.into_iter().map(share).collect()
    }

    /// Rows that all shares together may read; `None` of a scan that is not a share.
    pub fn planned_together(&self) -> Option<u64> {
        self.metrics.clone_inner().sum_by_name(PLANNED).map(|rows| rows.as_usize() as u64)
    }

    /// Adds what another process has read to the metrics.
    pub fn tell(&self, read: &Read) {
        let size = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
        let told = || MetricBuilder::new(&self.metrics).with_label(Label::new(TOLD, ""));
        told().output_rows(0).add(size(read.rows));
        told().counter(SKIPPED_ROWS, 0).add(size(read.skipped));
        told().counter(DECODED, 0).add(size(read.bytes));
        told().counter(COMPRESSED, 0).add(size(read.compressed));
    }

    /// What was read so far.
    pub fn read(&self) -> Read {
        Read::of(&self.metrics.clone_inner())
    }

    /// Rows that it plans to read; `None` where a limit or deleted rows leave that open.
    pub fn planned_rows(&self) -> Option<u64> {
        let is_open = self.scan.limit.is_some()
            || self.is_of_ends
            || self.table.has_deleted_rows()
            || !self.filters.moving.is_empty();
        (!is_open).then(|| self.planned_rows_max())
    }

    /// Rows that it reads at most.
    pub fn planned_rows_max(&self) -> u64 {
        self.scan.partitions.iter().flatten().map(|range| range.rows).sum()
    }
}

/// Names and ClickHouse types of the columns that a scan reads.
fn types(table: &Table, scan: &Scan) -> Vec<(String, String)> {
    let named = |name: &String| table.columns().iter().find(|column| column.name == *name);
    let columns = scan.columns.iter().filter_map(named);
    columns.map(|column| (column.name.clone(), column.data_type.to_string())).collect()
}

/// What a leaf of a plan has read and what pruning left of its table, if it is a scan or stands for one.
pub fn read_by(leaf: &dyn ExecutionPlan) -> Option<(Read, Pruned)> {
    if let Some(scan) = leaf.downcast_ref::<TambourScanExec>() {
        return Some((scan.read(), scan.pruned()));
    }
    let metrics = leaf.metrics().filter(|_| leaf.children().is_empty())?;
    pruned_of(&metrics).map(|pruned| (Read::of(&metrics), pruned))
}
