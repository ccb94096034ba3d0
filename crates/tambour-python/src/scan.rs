//! Rows of a table: by a scan, or by SQL where only that understands the condition.

use crate::failure::Failure;
use crate::stream::Stream;
use std::sync::Arc;
use tambour::part::types::Strings;

/// The zone in which texts are read as moments of a column.
pub(crate) fn zone_of(table: &tambour::Table, column: &str) -> Option<String> {
    use tambour::DataType as T;
    let column = table.columns().iter().find(|it| it.name == column)?;
    match column.data_type.unwrapped() {
        T::DateTime { zone } | T::DateTime64 { zone, .. } => {
            Some(zone.clone().unwrap_or_else(|| "UTC".to_owned()))
        }
        _ => None,
    }
}

/// Which rows are read, but for the condition.
pub(crate) struct Wish {
    pub(crate) columns: Option<Vec<String>>,
    pub(crate) limit: Option<u64>,
    pub(crate) binary: bool,
}

impl Wish {
    /// The rows that a condition of the scan itself leaves.
    pub(crate) fn scan(
        &self,
        table: &tambour::Table,
        filter: Option<tambour::Filter>,
    ) -> Result<Stream, tambour::Error> {
        let mut scan = table.scan();
        if let Some(filter) = filter {
            scan = scan.matching(filter);
        }
        if let Some(columns) = &self.columns {
            scan = scan.columns(columns);
        }
        if let Some(limit) = self.limit {
            scan = scan.limit(limit);
        }
        if self.binary {
            scan = scan.strings(Strings::Binary);
        }
        let batches = scan.batches()?;
        let schema = Arc::clone(batches.schema());
        let batches = batches.map(|batch| batch.map_err(Failure::from));
        Ok(Stream::new(schema, Box::new(batches)))
    }

    /// The rows that a condition of SQL leaves.
    #[cfg(feature = "sql")]
    pub(crate) fn sql(
        self,
        table: &tambour::Table,
        text: &str,
        _: Failure,
    ) -> Result<Stream, Failure> {
        let Self { columns, limit, binary } = self;
        crate::query::Rows { columns, text, limit, binary }.of(table)
    }

    /// Without SQL, the reason why the scan did not take it.
    #[cfg(not(feature = "sql"))]
    pub(crate) fn sql(
        self,
        _: &tambour::Table,
        _: &str,
        reason: Failure,
    ) -> Result<Stream, Failure> {
        Err(reason)
    }
}
