//! A scan whose texts are handed out as bytes, as far as those above it and its filters can do with that.

use super::stream::{ScanStream, State};
use super::{COMPRESSED, DECODED, ENDED, FILTERED, SKIPPED, SKIPPED_ROWS, TambourScanExec};
use crate::late::{Chooser, Counts};
use crate::scan_options::ScanOptions;
use crate::texts::lengths::looked_at;
use crate::texts::{as_texts, over_bytes};
use arrow::compute::BatchCoalescer;
use arrow::datatypes::{DataType, Schema};
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_plan::coop::cooperative;
use datafusion::physical_plan::metrics::{BaselineMetrics, MetricBuilder};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::StreamExt;
use std::collections::BTreeSet;
use std::sync::Arc;
use tambour_part::types::Strings;

impl TambourScanExec {
    /// Runs a partition with texts as bytes, if those above take all texts that are handed out so (`accepted` are the places of
    /// columns among those that are handed out), and the filters do.
    pub(crate) fn execute_as_bytes(
        &self,
        partition: usize,
        context: &Arc<TaskContext>,
        accepted: &BTreeSet<usize>,
    ) -> Result<Option<SendableRecordBatchStream>> {
        let options = ScanOptions::of(context.session_config().options());
        if !options.scan_bytes {
            return Ok(None);
        }
        let over = self.with_found(&options).over_bytes(accepted)?;
        over.map(|scan| scan.stream(partition, context)).transpose()
    }

    /// Runs a partition with texts as bytes that are handed out as texts: of rows that a filter drops nobody asks whether they are
    /// UTF-8. None if no filter drops any, or texts are in dictionaries and lists, which rows share.
    pub(super) fn execute_as_texts(
        &self,
        partition: usize,
        context: &Arc<TaskContext>,
    ) -> Result<Option<SendableRecordBatchStream>> {
        let is_shared = |place: &usize| {
            self.read.fields().get(*place).is_none_or(|field| {
                field.data_type().is_nested()
                    || matches!(field.data_type(), DataType::Dictionary(..))
            })
        };
        if self.filters.fixed.is_empty() || self.output.iter().any(is_shared) {
            return Ok(None);
        }
        let accepted = (0..self.output.len()).collect();
        let Some(bytes) = self.execute_as_bytes(partition, context, &accepted)? else {
            return Ok(None);
        };
        let run = Arc::new((self.clone(), Arc::clone(context)));
        let texts = bytes.then(move |batch| {
            let run = Arc::clone(&run);
            async move {
                let (scan, context) = &*run;
                match as_texts(batch?, &scan.schema) {
                    Ok(texts) => Ok(texts),
                    Err(error) => Err(scan.named(partition, context, error).await),
                }
            }
        });
        Ok(Some(Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), texts))))
    }

    /// The error of a partition that is read with its texts as such: it names the part and the row.
    async fn named(
        &self,
        partition: usize,
        context: &Arc<TaskContext>,
        otherwise: DataFusionError,
    ) -> DataFusionError {
        let Ok(mut rows) = self.stream(partition, context) else { return otherwise };
        while let Some(batch) = rows.next().await {
            if let Err(error) = batch {
                return error;
            }
        }
        otherwise
    }

    /// The same scan with texts as bytes; none if there is none of them, or one is needed as a text.
    fn over_bytes(&self, accepted: &BTreeSet<usize>) -> Result<Option<Self>> {
        if self.scan.binary_strings {
            return Ok(None);
        }
        let columns = self.table.columns();
        let mut fields = Vec::with_capacity(self.read.fields().len());
        let mut texts = BTreeSet::new();
        for (index, field) in self.read.fields().iter().enumerate() {
            let Some(column) = columns.iter().find(|it| it.name == *field.name()) else {
                return Ok(None);
            };
            let bytes = Arc::new(column.data_type.field(&column.name, Strings::Binary));
            if bytes != *field {
                texts.insert(index);
            }
            fields.push(bytes);
        }
        let is_taken = |(place, index)| !texts.contains(index) || accepted.contains(&place);
        if texts.is_empty() || !self.output.iter().enumerate().all(is_taken) {
            return Ok(None);
        }
        let read = Schema::new(fields);
        let is_moving = self.filters.moving.iter().flat_map(collect_columns);
        if is_moving.into_iter().any(|column| texts.contains(&column.index())) {
            return Ok(None);
        }
        let mut filters = self.filters.clone();
        for filter in &mut filters.fixed {
            let is_other = |column: &usize| {
                read.fields().get(*column).is_none_or(|it| *it.data_type() != DataType::BinaryView)
            };
            let columns = collect_columns(filter);
            let mut places = columns.iter().map(Column::index);
            if places.any(|place| texts.contains(&place) && is_other(&place)) {
                return Ok(None);
            }
            match over_bytes(filter, &texts, &read) {
                Some(bytes) => *filter = bytes,
                None => return Ok(None),
            }
        }
        let schema = self.handed(&read)?;
        let mut over = Self { read: Arc::new(read), schema, filters, ..self.clone() };
        over.scan.binary_strings = true;
        Ok(Some(over))
    }

    /// The same scan for operators above that look at the contents of these columns only, by their places among those that
    /// are handed out; none if that is nothing new.
    pub(crate) fn of_lengths(&self, looked_at: &BTreeSet<usize>) -> Option<Self> {
        let places = self.output.iter().enumerate();
        let seen: BTreeSet<usize> =
            places.filter(|(place, _)| looked_at.contains(place)).map(|it| *it.1).collect();
        let lengths: BTreeSet<usize> = self.output.iter().copied().collect();
        let lengths: BTreeSet<usize> =
            lengths.difference(&seen).copied().filter(|place| self.is_text(*place)).collect();
        (lengths != self.lengths).then(|| Self { lengths, ..self.clone() })
    }

    pub(super) fn is_text(&self, place: usize) -> bool {
        let field = self.read.fields().get(place);
        field.is_some_and(|it| matches!(it.data_type(), DataType::Utf8View | DataType::BinaryView))
    }

    /// The columns of which neither those above nor a filter looks at more than lengths.
    fn only_lengths(&self) -> Vec<usize> {
        let mut seen = BTreeSet::new();
        for filter in &self.filters.fixed {
            looked_at(filter, &mut seen);
        }
        seen.extend(self.filters.moving.iter().flat_map(collect_columns).map(|it| it.index()));
        seen.extend(self.output.iter().filter(|place| !self.lengths.contains(place)));
        let all = 0..self.read.fields().len();
        all.filter(|place| !seen.contains(place) && self.is_text(*place)).collect()
    }

    /// Runs a partition.
    pub(super) fn stream(
        &self,
        partition: usize,
        context: &Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let options = ScanOptions::of(context.session_config().options());
        let scan = self.with_found(&options);
        let filters = &scan.filters;
        let bytes_max = options.scan_batch_bytes;
        let lengths = if options.scan_lengths { self.only_lengths() } else { Vec::new() };
        let count = |name| MetricBuilder::new(&self.metrics).counter(name, partition);
        // What operators above wait for is not held back.
        let is_held = !filters.fixed.is_empty() && filters.moving.is_empty();
        let gathered =
            is_held.then(|| BatchCoalescer::new(Arc::clone(&self.schema), self.scan.batch_rows));
        let counts = Counts {
            granules: count(SKIPPED),
            skipped: count(SKIPPED_ROWS),
            rows: count(FILTERED),
            bytes: count(DECODED),
        };
        let asks_once = options.scan_dictionaries;
        let chooser = (self.places || self.is_of_ends || !filters.is_empty())
            .then(|| Chooser::new(filters, &self.table, &self.read, counts, asks_once))
            .transpose()?;
        let chooser = match chooser {
            Some(chooser) if self.places => Some(chooser.telling_places(&self.scan)),
            Some(chooser) if self.is_of_ends => Some(chooser.until_a_row()),
            chooser => chooser,
        };
        let stream = ScanStream {
            schema: Arc::clone(&self.schema),
            output: Arc::clone(&self.output),
            chooser,
            gathered,
            state: State::Planned(Box::new(self.clone()), partition),
            bytes_max,
            lengths,
            baseline: BaselineMetrics::new(&self.metrics, partition),
            compressed: MetricBuilder::new(&self.metrics).counter(COMPRESSED, partition),
            decoded: MetricBuilder::new(&self.metrics).counter(DECODED, partition),
            ended: MetricBuilder::new(&self.metrics).counter(ENDED, partition),
        };
        Ok(Box::pin(cooperative(stream)))
    }
}
