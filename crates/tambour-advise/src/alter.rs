//! The advice as statements of ClickHouse.

use crate::server::{Verdict, Version, verdict};
use crate::{Advice, ColumnAdvice};
use std::fmt::Write as _;
use tambour_table::schema::quoted_name;

/// Codecs that save less of a column's bytes, or cost less of its time, are not worth a statement.
const GAIN_MIN: f64 = 0.01;

/// Whether the best chain for the goal is worth the change.
pub fn pays(advice: &Advice, column: &ColumnAdvice) -> bool {
    let (now, best) = (column.now.cost(advice.goal), column.best(advice.goal).cost(advice.goal));
    column.now.spec != column.best(advice.goal).spec && best < now * (1.0 - GAIN_MIN)
}

/// `ALTER TABLE` statements for what pays; types are comments, since changing one is more than a codec.
pub fn statements(advice: &Advice, table: &str, server: Option<Version>) -> String {
    let server = server.unwrap_or(Version::NEWEST);
    let mut text = String::new();
    let changed: Vec<&ColumnAdvice> =
        advice.columns.iter().filter(|column| pays(advice, column)).collect();
    let mut settings: Vec<&str> = Vec::new();
    for column in &changed {
        let best = column.best(advice.goal);
        if let Verdict::Setting(setting) = verdict(&best.spec, &column.column.data_type, server)
            && !settings.contains(&setting)
        {
            settings.push(setting);
        }
    }
    for setting in settings {
        let _ = writeln!(text, "SET {setting} = 1;");
    }
    for column in &changed {
        let spec = &column.best(advice.goal).spec;
        let (table, name) = (quoted_name(table), quoted_name(&column.column.name));
        let _ = writeln!(text, "ALTER TABLE {table} MODIFY COLUMN {name} CODEC({spec});");
    }
    if changed.is_empty() {
        let _ = writeln!(text, "-- no codec does better than the present one");
    } else {
        let _ = writeln!(text, "-- merges write the new codecs; this does it at once:");
        let _ = writeln!(text, "-- OPTIMIZE TABLE {} FINAL;", quoted_name(table));
    }
    for column in &advice.columns {
        for other in &column.types {
            let (name, new) = (quoted_name(&column.column.name), &other.data_type);
            let seen = if advice.complete { "" } else { ", in the sample" };
            let reason = other.reason.replace('\n', " ");
            let _ = writeln!(text, "-- {name} could be {new}: {reason}{seen}");
        }
    }
    text
}
