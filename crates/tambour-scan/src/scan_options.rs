//! What scans do by themselves and how much memory they take: settings of a session. What they do can be switched off to compare
//! answers.
//!
//! `SET tambour.scan_filters = false` does it for a session, the environment variable of the same meaning for a process.

use datafusion::common::config::ConfigExtension;
use datafusion::common::extensions_options;
use datafusion::config::ConfigOptions;
use tambour_part::part::BATCH_BYTES_MAX;

/// Bytes that a batch may take however little memory there is: granules of usual size fit in.
const BATCH_BYTES_MIN: u64 = 32 << 20;

extensions_options! {
    /// What scans do by themselves.
    pub struct ScanOptions {
        /// Scans evaluate filters: the columns of a filter are read first, the others only where a row is left.
        pub scan_filters: bool, default = true
        /// Scans take filters that operators above find while they run (the greatest of a top ten, the keys of a join).
        pub scan_dynamic_filters: bool, default = true
        /// Groups by narrow keys and dictionaries are found by position instead of by hashing.
        pub scan_groups: bool, default = true
        /// Aggregates of whole tables are answered by the statistics that are kept beside parts.
        pub scan_statistics: bool, default = true
        /// Texts that only filters look at, or that rows are grouped by, are read as bytes.
        pub scan_bytes: bool, default = true
        /// Of texts of which only lengths are asked for, only lengths are read.
        pub scan_lengths: bool, default = true
        /// Functions of one dictionary are asked once for each of its values: in filters of scans, in keys and aggregates of groups.
        pub scan_dictionaries: bool, default = true
        /// Under a limit and in no order only rows of the first keys are grouped. All threads of one process agree on these keys.
        pub scan_first_keys: bool, default = true
        /// Under a limit and an order, columns that the order does not need are read for the rows that are left.
        pub scan_late_columns: bool, default = true
        /// Granules are left out by skip indexes.
        pub scan_indexes: bool, default = true
        /// The rows of a projection are read where fewer granules of it are left than of its table.
        pub scan_projections: bool, default = true
        /// In comparisons of a column with a subquery the value of the subquery is known to the scan, and to the primary index.
        pub scan_subqueries: bool, default = true
        /// For `min` or `max` of the first column of the sorting key alone, rows at one end of each part are read.
        pub scan_ends: bool, default = true
        /// Rows of groups by wide keys go to the last stage of their aggregate as they are where one partition has all of them.
        pub scan_wide_groups: bool, default = true
        /// Bytes that one batch of a scan may take, decoded; a granule that takes more is refused. `--memory` lowers it.
        pub scan_batch_bytes: u64, default = BATCH_BYTES_MAX
    }
}

impl ConfigExtension for ScanOptions {
    const PREFIX: &'static str = "tambour";
}

impl ScanOptions {
    /// The defaults, unless the environment switches something off: `TAMBOUR_SCAN_FILTERS=0`,
    /// `TAMBOUR_SCAN_DYNAMIC_FILTERS=0`, `TAMBOUR_SCAN_GROUPS=0`, `TAMBOUR_SCAN_STATISTICS=0`, `TAMBOUR_SCAN_BYTES=0`,
    /// `TAMBOUR_SCAN_LENGTHS=0`, `TAMBOUR_SCAN_DICTIONARIES=0`, `TAMBOUR_SCAN_FIRST_KEYS=0`,
    /// `TAMBOUR_SCAN_LATE_COLUMNS=0`, `TAMBOUR_SCAN_INDEXES=0`, `TAMBOUR_SCAN_PROJECTIONS=0`,
    /// `TAMBOUR_SCAN_SUBQUERIES=0`, `TAMBOUR_SCAN_ENDS=0`, `TAMBOUR_SCAN_WIDE_GROUPS=0`.
    pub fn of_environment() -> Self {
        let is_on = |name| std::env::var_os(name).is_none_or(|value| value != "0");
        Self {
            scan_filters: is_on("TAMBOUR_SCAN_FILTERS"),
            scan_dynamic_filters: is_on("TAMBOUR_SCAN_DYNAMIC_FILTERS"),
            scan_groups: is_on("TAMBOUR_SCAN_GROUPS"),
            scan_statistics: is_on("TAMBOUR_SCAN_STATISTICS"),
            scan_bytes: is_on("TAMBOUR_SCAN_BYTES"),
            scan_lengths: is_on("TAMBOUR_SCAN_LENGTHS"),
            scan_dictionaries: is_on("TAMBOUR_SCAN_DICTIONARIES"),
            scan_first_keys: is_on("TAMBOUR_SCAN_FIRST_KEYS"),
            scan_late_columns: is_on("TAMBOUR_SCAN_LATE_COLUMNS"),
            scan_indexes: is_on("TAMBOUR_SCAN_INDEXES"),
            scan_projections: is_on("TAMBOUR_SCAN_PROJECTIONS"),
            scan_subqueries: is_on("TAMBOUR_SCAN_SUBQUERIES"),
            scan_ends: is_on("TAMBOUR_SCAN_ENDS"),
            scan_wide_groups: is_on("TAMBOUR_SCAN_WIDE_GROUPS"),
            scan_batch_bytes: BATCH_BYTES_MAX,
        }
    }
    /// The same for `partitions` at once in this memory: their batches get a quarter of it.
    #[must_use]
    pub fn within(self, memory_bytes: Option<u64>, partitions: usize) -> Self {
        let share = memory_bytes.map_or(u64::MAX, |bytes| bytes / (4 * partitions.max(1) as u64));
        Self { scan_batch_bytes: share.clamp(BATCH_BYTES_MIN, BATCH_BYTES_MAX), ..self }
    }
    /// Those of a session.
    pub(crate) fn of(config: &ConfigOptions) -> Self {
        config.extensions.get::<Self>().cloned().unwrap_or_default()
    }
}
