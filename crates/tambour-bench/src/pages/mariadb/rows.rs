//! The generated rows as a table of SQL: its columns, its rows as lines, an update of one of them.

use crate::pages::generate::{METRICS, Rows, is_short};
use std::fmt::Write;

/// A number at the front of a row.
fn number(row: &mut &[u8], bytes: usize) -> u64 {
    let (front, rest) = row.split_at(bytes.min(row.len()));
    *row = rest;
    front.iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn metric_bytes(metric: usize) -> usize {
    if is_short(metric) { 4 } else { 8 }
}

/// Columns with their types, the key first: so that a record has the bytes that it has in our pages.
pub(super) fn columns(rows: Rows) -> String {
    match rows {
        Rows::AccessLog => "id BIGINT UNSIGNED NOT NULL PRIMARY KEY, time INT UNSIGNED NOT NULL, \
             count INT UNSIGNED NOT NULL, bytes INT UNSIGNED NOT NULL, page VARBINARY(255) NOT NULL"
            .to_owned(),
        Rows::Metrics => {
            let mut text = "host INT UNSIGNED NOT NULL, time INT UNSIGNED NOT NULL".to_owned();
            for metric in 0..METRICS {
                let kind = if is_short(metric) { "INT" } else { "BIGINT" };
                let _ = write!(text, ", m{metric} {kind} UNSIGNED NOT NULL");
            }
            text + ", PRIMARY KEY (host, time)"
        }
    }
}

/// The column that updates count up.
pub(super) fn counter(rows: Rows) -> &'static str {
    match rows {
        Rows::AccessLog => "count",
        Rows::Metrics => "m0",
    }
}

/// Rows as lines with values between tabs, what they add up to, and where each one is.
#[derive(Debug, Default)]
pub(super) struct Lines {
    pub(super) text: Vec<u8>,
    /// Sum of the counters.
    pub(super) sum: u64,
    /// The first two numbers of each row, which hold its key.
    pub(super) keys: Vec<(u64, u64)>,
}

impl Lines {
    /// Adds a row.
    pub(super) fn add(&mut self, rows: Rows, mut row: &[u8]) {
        let mut values = Vec::new();
        match rows {
            Rows::AccessLog => values.extend([8, 4, 4, 4].map(|bytes| number(&mut row, bytes))),
            Rows::Metrics => {
                values.extend([4, 4].map(|bytes| number(&mut row, bytes)));
                values.extend((0..METRICS).map(|metric| number(&mut row, metric_bytes(metric))));
            }
        }
        if let [first, second, counted, ..] = values[..] {
            self.keys.push((first, second));
            self.sum += counted;
        }
        let values: Vec<String> = values.iter().map(u64::to_string).collect();
        self.text.extend(values.join("\t").as_bytes());
        if rows == Rows::AccessLog {
            self.text.push(b'\t');
            self.text.extend(row);
        }
        self.text.push(b'\n');
    }

    /// The statement that counts a row up.
    pub(super) fn update(&self, rows: Rows, row: usize) -> String {
        let (first, second) = self.keys.get(row).copied().unwrap_or_default();
        match rows {
            Rows::AccessLog => format!("UPDATE b.t SET count = count + 1 WHERE id = {first};\n"),
            Rows::Metrics => {
                format!("UPDATE b.t SET m0 = m0 + 1 WHERE host = {first} AND time = {second};\n")
            }
        }
    }
}
