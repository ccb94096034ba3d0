//! What scans do by themselves: settings of a session, each of which can be switched off to compare answers.
//!
//! `SET tambour.scan_filters = false` does it for a session, the environment variable of the same meaning for a process.

use datafusion::common::config::ConfigExtension;
use datafusion::common::extensions_options;
use datafusion::config::ConfigOptions;

extensions_options! {
    /// What scans do by themselves.
    pub struct ScanOptions {
        /// Scans evaluate filters: the columns of a filter are read first, the others only where a row is left.
        pub scan_filters: bool, default = true
        /// Scans take filters that operators above find while they run (the greatest of a top ten, the keys of a join).
        pub scan_dynamic_filters: bool, default = true
        /// Groups by narrow keys and dictionaries are found by position instead of by hashing.
        pub scan_groups: bool, default = true
    }
}

impl ConfigExtension for ScanOptions {
    const PREFIX: &'static str = "tambour";
}

impl ScanOptions {
    /// The defaults, unless the environment switches something off: `TAMBOUR_SCAN_FILTERS=0`,
    /// `TAMBOUR_SCAN_DYNAMIC_FILTERS=0`, `TAMBOUR_SCAN_GROUPS=0`.
    pub fn of_environment() -> Self {
        let is_on = |name| std::env::var_os(name).is_none_or(|value| value != "0");
        Self {
            scan_filters: is_on("TAMBOUR_SCAN_FILTERS"),
            scan_dynamic_filters: is_on("TAMBOUR_SCAN_DYNAMIC_FILTERS"),
            scan_groups: is_on("TAMBOUR_SCAN_GROUPS"),
        }
    }
    /// Those of a session.
    pub(crate) fn of(config: &ConfigOptions) -> Self {
        config.extensions.get::<Self>().cloned().unwrap_or_default()
    }
}
