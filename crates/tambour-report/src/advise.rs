//! The page of `tambour advise`: what each column takes now and could take, and what share of the table that is.

use crate::quantity::grouped;
use crate::{Bar, Bars, Chart, Fact, Figure, Machine, Page, Section, Table, Tile, Tone, Treemap};
use tambour_advise::{Advice, ColumnAdvice, Measure};
use tambour_codec::choose::Objective;

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
            tables: vec![types],
            ..Section::default()
        });
    }
    Page { title: format!("Advice for {name}"), lead, facts: facts(advice), sections, machine }
}

fn facts(advice: &Advice) -> Vec<Fact> {
    let now = advice.now_bytes();
    let mut facts = vec![Fact::new(megabytes(now), "now, with present codecs")];
    for goal in Objective::ALL {
        let best = advice.best_bytes(*goal);
        let share = 100.0 * best as f64 / (now as f64).max(1.0);
        let label = format!(
            "best for {}: {share:.0} % of it, decoded at {:.1} GB/s",
            goal.name(),
            advice.decode_gbps(Some(*goal))
        );
        facts.push(Fact::new(megabytes(best), label));
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

fn figure(id: &str, title: &str, caption: &str, bars: Chart, values: Table) -> Figure {
    let legend =
        [(Tone::Reference, "now"), (Tone::First, "best size"), (Tone::Second, "best speed")];
    Figure::new(id, title, bars, values).caption(caption).legend(legend)
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
    let map = Treemap { tiles: advice.columns.iter().map(tile).collect() };
    let title = "What takes how much of the table now";
    let map = Figure::new("table", title, Chart::Treemap(map), shares(advice))
        .caption("Area is bytes with present codecs.")
        .legend([
            (Tone::First, format!("could take less than half, for {}", advice.goal.name())),
            (Tone::Second, "could take less than nine tenths".to_owned()),
            (Tone::Quiet, "is about as small as it gets".to_owned()),
        ]);
    let value = |measure: &Measure| measure.stored_bytes as f64 / 1e6;
    let bars = bars(advice, value, |measure| megabytes(measure.stored_bytes));
    let sizes = figure(
        "sizes",
        "Bytes per column",
        "The largest columns: as they are, with the smallest chain, with the fastest.",
        Bars::linear("MB stored", bars),
        values(advice),
    );
    Section { title: "Bytes".to_owned(), figures: vec![map, sizes], ..Section::default() }
}

fn speeds(advice: &Advice) -> Section {
    let bars =
        bars(advice, Measure::decode_gbps, |measure| format!("{:.1}", measure.decode_gbps()));
    let figure = figure(
        "speeds",
        "Speed of decoding per column",
        "One thread, blocks in the cache.",
        Bars::linear("GB/s of uncompressed bytes", bars),
        values(advice),
    );
    Section { title: "Speed".to_owned(), figures: vec![figure], ..Section::default() }
}

fn shares(advice: &Advice) -> Table {
    let total = advice.now_bytes().max(1) as f64;
    Table::of("Shares", largest(advice))
        .text("column", |column| column.column.name.clone())
        .number("bytes now", |column| grouped(column.now.stored_bytes))
        .number("share", |column| {
            format!("{:.1} %", 100.0 * column.now.stored_bytes as f64 / total)
        })
        .number("bytes at best", |column| grouped(column.best(advice.goal).stored_bytes))
        .build()
}

fn values(advice: &Advice) -> Table {
    let all = largest(advice)
        .into_iter()
        .flat_map(|column| three(column).map(|(which, measure, _)| (column, which, measure)));
    Table::of("Columns", all)
        .text("column", |(column, ..)| column.column.name.clone())
        .text("which", |(_, which, _)| *which)
        .text("codec", |(.., measure)| measure.spec.to_string())
        .number("bytes", |(.., measure)| grouped(measure.stored_bytes))
        .number("ratio", |(.., measure)| format!("{:.2}", measure.ratio()))
        .number("GB/s", |(.., measure)| format!("{:.2}", measure.decode_gbps()))
        .build()
}

fn types(advice: &Advice) -> Table {
    let all = advice.columns.iter();
    let all = all.flat_map(|column| column.types.iter().map(move |other| (column, other)));
    Table::of("Types", all)
        .text("column", |(column, _)| column.column.name.clone())
        .text("type", |(column, _)| column.column.data_type.to_string())
        .text("could be", |(_, other)| other.data_type.to_string())
        .text("because", |(_, other)| other.reason.clone())
        .number("bytes", |(column, _)| grouped(column.best(advice.goal).stored_bytes))
        .number("bytes then", |(_, other)| grouped(other.measure.stored_bytes))
        .build()
}

fn megabytes(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} KB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.2} GB", bytes as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::page;
    use crate::Machine;
    use std::time::Duration;
    use tambour_advise::{Advice, ColumnAdvice, Measure};
    use tambour_codec::choose::Objective;
    use tambour_table::schema::TableDefinition;

    fn measure(spec: &str, stored_bytes: u64) -> Measure {
        let (raw_bytes, decode) = (8_000_000, Duration::from_millis(4));
        let spec = spec.parse().unwrap();
        Measure { spec, raw_bytes, stored_bytes, decode, is_text: false }
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
