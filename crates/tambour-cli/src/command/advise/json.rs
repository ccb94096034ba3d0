//! Advice as programs read it.

use crate::cli::AdviseArguments;
use serde_json::{Value, json};
use tambour::advise::{Advice, ColumnAdvice, Measure, Version, alter};
use tambour::codec::choose::Objective;
use tambour::sample::Rows;

pub(super) fn advice(advice: &Advice, rows: &Rows, arguments: &AdviseArguments) -> Value {
    let server = arguments.server.unwrap_or(Version::NEWEST);
    let totals: serde_json::Map<String, Value> = Objective::ALL
        .iter()
        .map(|goal| {
            let total = json!({
                "bytes": advice.best_bytes(*goal),
                "decode_gbps": advice.decode_gbps(Some(*goal)),
            });
            (goal.name().to_owned(), total)
        })
        .collect();
    let order = advice.order.as_ref().map(|order| {
        json!({
            "columns": order.columns,
            "rows": order.rows,
            "bytes": order.stored_bytes,
            "bytes_now": order.now_bytes,
        })
    });
    let alter = arguments.alter.then(|| alter::statements(advice, &rows.name, arguments.server));
    json!({
        "schema": "tambour/advise/1",
        "name": rows.name,
        "goal": advice.goal.name(),
        "server": server.to_string(),
        "rows": advice.rows,
        "rows_sampled": advice.rows_sampled,
        "complete": advice.complete,
        "raw_bytes": advice.raw_bytes(),
        "now": { "bytes": advice.now_bytes(), "decode_gbps": advice.decode_gbps(None) },
        "best": totals,
        "columns": advice.columns.iter().map(|column| column_to_json(advice, column)).collect::<Vec<_>>(),
        "order": order,
        "alter": alter,
    })
}

fn column_to_json(advice: &Advice, column: &ColumnAdvice) -> Value {
    let best: serde_json::Map<String, Value> = Objective::ALL
        .iter()
        .map(|goal| (goal.name().to_owned(), measure(column.best(*goal))))
        .collect();
    let types: Vec<Value> = column
        .types
        .iter()
        .map(|other| {
            json!({
                "type": other.data_type.to_string(),
                "reason": other.reason,
                "saved": other.saved,
                "best": measure(&other.measure),
            })
        })
        .collect();
    json!({
        "name": column.column.name,
        "type": column.column.data_type.to_string(),
        "now": measure(&column.now),
        "on_disk": column.on_disk,
        "best": best,
        "pays": alter::pays(advice, column),
        "measured": column.measured.iter().map(measure).collect::<Vec<_>>(),
        "types": types,
        "refused": column.refused.iter()
            .map(|(spec, reason)| json!({ "codec": spec.to_string(), "reason": reason }))
            .collect::<Vec<_>>(),
    })
}

fn measure(measure: &Measure) -> Value {
    json!({
        "codec": measure.spec.to_string(),
        "raw_bytes": measure.raw_bytes,
        "bytes": measure.stored_bytes,
        "ratio": measure.ratio(),
        "decode_gbps": measure.decode_gbps(),
    })
}
