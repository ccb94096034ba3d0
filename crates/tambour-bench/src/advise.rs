//! The page of `tambour advise`: what each column takes now and could take, and what share of the table that is.

use crate::machine::Machine;
use crate::report::{
    Axis, Bar, Bars, Chart, Column, Fact, Figure, Page, Panel, Section, Table, Tile, Tone, Treemap,
};
use tambour_codec::choose::Objective;
use tambour_table::advise::{Advice, ColumnAdvice, Measure};

/// Columns with bars of their own: the largest.
const COLUMNS_MAX: usize = 20;

/// The page.
pub fn page(advice: &Advice, name: &str, machine: Machine) -> Page {
    let lead = format!(
        "{} rows, {} of them sampled. Every chain that is shown was decoded and compared with what it was made from; bytes \
         are those of all rows, by the ratio of the sample. Decoding is processor time of one thread.",
        grouped(advice.rows),
        grouped(advice.rows_sampled),
    );
    let mut sections = vec![bytes(advice), speeds(advice)];
    let types = types(advice);
    if !types.rows.is_empty() {
        sections.push(Section {
            title: "Types".to_owned(),
            text:
                "Types that would hold the values as well, each with its best chain for the goal."
                    .to_owned(),
            figures: Vec::new(),
            tables: vec![types],
        });
    }
    Page { title: format!("Advice for {name}"), lead, facts: facts(advice), sections, machine }
}

fn facts(advice: &Advice) -> Vec<Fact> {
    let now = advice.now_bytes();
    let mut facts =
        vec![Fact { value: megabytes(now), label: "now, with present codecs".to_owned() }];
    for goal in Objective::ALL {
        let best = advice.best_bytes(*goal);
        let share = 100.0 * best as f64 / (now as f64).max(1.0);
        let label = format!(
            "best for {}: {share:.0} % of it, decoded at {:.1} GB/s",
            goal.name(),
            advice.decode_gbps(Some(*goal))
        );
        facts.push(Fact { value: megabytes(best), label });
    }
    facts
}

/// The columns, the largest first.
fn largest(advice: &Advice) -> Vec<&ColumnAdvice> {
    let mut columns: Vec<&ColumnAdvice> = advice.columns.iter().collect();
    columns.sort_by_key(|column| std::cmp::Reverse(column.now.stored_bytes));
    columns
}

/// What a column takes now, with the best for size, and with the best for speed.
fn three(column: &ColumnAdvice) -> [(&'static str, &Measure, Tone); 3] {
    [
        ("now", &column.now, Tone::Reference),
        ("best size", column.best(Objective::Size), Tone::First),
        ("best speed", column.best(Objective::Speed), Tone::Second),
    ]
}

fn bars(advice: &Advice, value: fn(&Measure) -> f64, text: fn(&Measure) -> String) -> Vec<Bar> {
    let columns = largest(advice).into_iter().take(COLUMNS_MAX);
    let bar = |column: &ColumnAdvice| {
        three(column).map(|(what, measure, tone)| Bar {
            label: if what == "now" { column.column.name.clone() } else { what.to_owned() },
            value: value(measure),
            text: text(measure),
            hover: format!(
                "{}, {what}: CODEC({}), {}",
                column.column.name,
                measure.spec,
                text(measure)
            ),
            tone,
        })
    };
    columns.flat_map(bar).collect()
}

fn legend() -> Vec<(Tone, String)> {
    [(Tone::Reference, "now"), (Tone::First, "best size"), (Tone::Second, "best speed")]
        .map(|(tone, text)| (tone, text.to_owned()))
        .to_vec()
}

fn figure(id: &'static str, title: &str, caption: &str, chart: Chart, values: Table) -> Figure {
    let legend = if matches!(chart, Chart::Treemap(_)) { Vec::new() } else { legend() };
    Figure {
        id,
        title: title.to_owned(),
        caption: caption.to_owned(),
        panels: vec![Panel { title: String::new(), chart }],
        legend,
        values,
    }
}

fn bytes(advice: &Advice) -> Section {
    let tile = |column: &ColumnAdvice| {
        let (now, best) = (column.now.stored_bytes, column.best(advice.goal).stored_bytes);
        let share = best as f64 / (now as f64).max(1.0);
        Tile {
            label: column.column.name.clone(),
            value: now as f64,
            hover: format!(
                "{}: {} now, {} with CODEC({})",
                column.column.name,
                megabytes(now),
                megabytes(best),
                column.best(advice.goal).spec
            ),
            // What could be less than half is what to look at.
            tone: if share < 0.5 {
                Tone::First
            } else if share < 0.9 {
                Tone::Second
            } else {
                Tone::Quiet
            },
        }
    };
    let mut map = figure(
        "table",
        "What takes how much of the table now",
        "Area is bytes with present codecs.",
        Chart::Treemap(Treemap { tiles: advice.columns.iter().map(tile).collect() }),
        shares(advice),
    );
    map.legend = vec![
        (Tone::First, format!("could take less than half, for {}", advice.goal.name())),
        (Tone::Second, "could take less than nine tenths".to_owned()),
        (Tone::Quiet, "is about as small as it gets".to_owned()),
    ];
    let bars = Bars {
        axis: Axis::linear("MB stored"),
        line: None,
        bars: bars(
            advice,
            |measure| measure.stored_bytes as f64 / 1e6,
            |measure| megabytes(measure.stored_bytes),
        ),
    };
    let sizes = figure(
        "sizes",
        "Bytes per column",
        "The largest columns: as they are, with the smallest chain, with the fastest.",
        Chart::Bars(bars),
        values(advice),
    );
    Section {
        title: "Bytes".to_owned(),
        text: String::new(),
        figures: vec![map, sizes],
        tables: Vec::new(),
    }
}

fn speeds(advice: &Advice) -> Section {
    let bars = Bars {
        axis: Axis::linear("GB/s of uncompressed bytes"),
        line: None,
        bars: bars(advice, Measure::decode_gbps, |measure| format!("{:.1}", measure.decode_gbps())),
    };
    let figure = figure(
        "speeds",
        "Speed of decoding per column",
        "One thread, blocks in the cache.",
        Chart::Bars(bars),
        values(advice),
    );
    Section {
        title: "Speed".to_owned(),
        text: String::new(),
        figures: vec![figure],
        tables: Vec::new(),
    }
}

fn shares(advice: &Advice) -> Table {
    let total = advice.now_bytes().max(1) as f64;
    let row = |column: &&ColumnAdvice| {
        let now = column.now.stored_bytes;
        vec![
            column.column.name.clone(),
            grouped(now),
            format!("{:.1} %", 100.0 * now as f64 / total),
            grouped(column.best(advice.goal).stored_bytes),
        ]
    };
    Table {
        title: "Shares".to_owned(),
        columns: vec![
            Column::text("column"),
            Column::number("bytes now"),
            Column::number("share"),
            Column::number("bytes at best"),
        ],
        rows: largest(advice).iter().map(row).collect(),
    }
}

fn values(advice: &Advice) -> Table {
    let rows = largest(advice).into_iter().flat_map(|column| {
        three(column).map(|(what, measure, _)| {
            vec![
                column.column.name.clone(),
                what.to_owned(),
                measure.spec.to_string(),
                grouped(measure.stored_bytes),
                format!("{:.2}", measure.ratio()),
                format!("{:.2}", measure.decode_gbps()),
            ]
        })
    });
    Table {
        title: "Columns".to_owned(),
        columns: vec![
            Column::text("column"),
            Column::text("which"),
            Column::text("codec"),
            Column::number("bytes"),
            Column::number("ratio"),
            Column::number("GB/s"),
        ],
        rows: rows.collect(),
    }
}

fn types(advice: &Advice) -> Table {
    let mut rows = Vec::new();
    for column in &advice.columns {
        for other in &column.types {
            rows.push(vec![
                column.column.name.clone(),
                column.column.data_type.to_string(),
                other.data_type.to_string(),
                other.reason.clone(),
                grouped(column.best(advice.goal).stored_bytes),
                grouped(other.measure.stored_bytes),
            ]);
        }
    }
    Table {
        title: "Types".to_owned(),
        columns: vec![
            Column::text("column"),
            Column::text("type"),
            Column::text("could be"),
            Column::text("because"),
            Column::number("bytes"),
            Column::number("bytes then"),
        ],
        rows,
    }
}

fn megabytes(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} KB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.2} GB", bytes as f64 / 1e9),
    }
}

/// Digits in groups of three.
fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::page;
    use crate::machine::Machine;
    use std::time::Duration;
    use tambour_codec::choose::Objective;
    use tambour_table::advise::{Advice, ColumnAdvice, Measure};
    use tambour_table::schema::TableDefinition;

    fn measure(spec: &str, stored_bytes: u64) -> Measure {
        let (raw_bytes, decode) = (8_000_000, Duration::from_millis(4));
        Measure { spec: spec.parse().unwrap(), raw_bytes, stored_bytes, decode }
    }

    #[test]
    fn every_column_is_drawn() {
        let described = |name: &str| {
            let text =
                format!("CREATE TABLE t (`{name}` Int64) ENGINE = MergeTree ORDER BY tuple()");
            TableDefinition::parse(&text).unwrap().plain_columns().remove(0)
        };
        let column = |name: &str, now| ColumnAdvice {
            column: described(name),
            now: measure("LZ4", now),
            on_disk: None,
            measured: Vec::new(),
            best: [
                measure("DoubleDelta, ZSTD(1)", now / 10),
                measure("T64", now / 4),
                measure("T64", now / 5),
            ],
            types: Vec::new(),
            refused: Vec::new(),
        };
        let advice = Advice {
            goal: Objective::Balance,
            rows: 1_000_000,
            rows_sampled: 1_000_000,
            complete: true,
            columns: vec![column("<id>", 4_000_000), column("price", 2_000_000)],
            order: None,
        };
        let page = page(&advice, "a & b", Machine::default());
        assert_eq!(page.figure_ids().collect::<Vec<_>>(), ["table", "sizes", "speeds"]);
        let html = page.render().unwrap();
        assert!(html.contains("Advice for a &#38; b") || html.contains("Advice for a &amp; b"));
        assert!(
            html.contains("&lt;id&gt;, best size: CODEC(DoubleDelta, ZSTD(1)), 400.0 KB"),
            "hover"
        );
        assert!(!html.contains("<id>"));
    }
}
