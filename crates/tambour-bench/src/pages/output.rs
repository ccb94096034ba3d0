//! The figures as tables, JSON and a page.

use super::generate::Rows;
use super::measure::{Case, Keeper, Results, Served};
use crate::BenchError;
use crate::machine::Machine;
use crate::report::{
    Axis, Bar, Bars, Chart, Column, Fact, Figure, Heat, Page, Panel, Section, Table, Tone,
};
use serde_json::json;
use std::path::Path;
use tambour_page::{Layout, Method};

impl Results {
    /// One line per combination.
    pub fn table(&self) -> Table {
        let columns = vec![
            Column::text("rows"),
            Column::number("page"),
            Column::text("codec"),
            Column::text("layout"),
            Column::number("MB"),
            Column::number("ratio"),
            Column::number("load s"),
            Column::number("MB written"),
            Column::number("scan s"),
            Column::number("updates s"),
            Column::number("KB/update"),
            Column::number("MB after"),
            Column::number("syncs"),
            Column::number("punches"),
        ];
        let megabytes = |bytes: u64| format!("{:.1}", bytes as f64 / 1e6);
        let row = |case: &Case| {
            vec![
                case.rows.name().to_owned(),
                format!("{}K", case.page_bytes / 1024),
                case.codec.to_string(),
                case.keeper.name().to_owned(),
                megabytes(case.allocated_bytes),
                format!("{:.2}", case.ratio()),
                format!("{:.3}", case.load_seconds),
                megabytes(case.load_written),
                format!("{:.3}", case.scan_seconds),
                format!("{:.3}", case.update_seconds),
                format!("{:.1}", case.bytes_per_update() / 1e3),
                megabytes(case.allocated_after),
                known(case.syncs),
                known(case.punches),
            ]
        };
        let rows = self.cases.iter().map(row).collect();
        Table { title: "Pages".to_owned(), columns, rows }
    }

    /// What is known of a server alone, one line per combination; `None` without one.
    pub fn served_table(&self) -> Option<Table> {
        let columns = vec![
            Column::text("rows"),
            Column::number("page"),
            Column::text("codec"),
            Column::number("thousand rows"),
            Column::number("file length MB"),
            Column::number("load, wall s"),
            Column::number("its log MB"),
            Column::number("scan, wall s"),
            Column::number("updates, wall s"),
            Column::number("their log MB"),
            Column::number("pages written"),
            Column::number("KB/page"),
            Column::text("log in"),
        ];
        let megabytes = |bytes: u64| format!("{:.1}", bytes as f64 / 1e6);
        let row = |case: &Case| {
            let served = case.served?;
            let page_bytes = case.update_written.saturating_sub(served.update_log_bytes) as f64;
            Some(vec![
                case.rows.name().to_owned(),
                format!("{}K", case.page_bytes / 1024),
                case.codec.to_string(),
                format!("{:.0}", served.rows as f64 / 1e3),
                megabytes(served.file_bytes),
                format!("{:.2}", served.load_seconds),
                megabytes(served.load_log_bytes),
                format!("{:.3}", served.scan_seconds),
                format!("{:.2}", served.update_seconds),
                megabytes(served.update_log_bytes),
                served.update_pages.to_string(),
                format!("{:.1}", page_bytes / 1e3 / served.update_pages.max(1) as f64),
                if served.log_in_memory { "memory" } else { "file" }.to_owned(),
            ])
        };
        let rows: Vec<_> = self.cases.iter().filter_map(row).collect();
        let title = "MariaDB: what else".to_owned();
        (!rows.is_empty()).then_some(Table { title, columns, rows })
    }

    /// Everything as one JSON object.
    pub fn to_json(&self, machine: &Machine) -> serde_json::Value {
        let case = |case: &Case| {
            json!({
                "rows": case.rows.name(),
                "page_bytes": case.page_bytes,
                "codec": case.codec.to_string(),
                "layout": case.keeper.name(),
                "logical_bytes": case.logical_bytes,
                "allocated_bytes": case.allocated_bytes,
                "load_seconds": case.load_seconds,
                "load_bytes_written": case.load_written,
                "scan_seconds": case.scan_seconds,
                "updates": case.updates,
                "update_seconds": case.update_seconds,
                "update_bytes_written": case.update_written,
                "allocated_bytes_after": case.allocated_after,
                "syncs": case.syncs,
                "punches": case.punches,
                "served": case.served.map(served),
            })
        };
        let lines: serde_json::Map<_, _> = machine
            .lines()
            .into_iter()
            .map(|(name, value)| (name.to_owned(), json!(value)))
            .collect();
        json!({
            "schema": "tambour/bench pages/1",
            "machine": lines,
            "cases": self.cases.iter().map(case).collect::<Vec<_>>(),
        })
    }

    /// Writes `pages.csv` and `report.html` into a directory.
    pub fn write(&self, directory: &Path, machine: Machine) -> Result<(), BenchError> {
        write_files(directory, "pages.csv", &self.table(), &self.page(machine))
    }

    /// The page.
    pub fn page(&self, machine: Machine) -> Page {
        let lead = format!(
            "{} MB of pages with generated rows, loaded into a store, scanned, and changed by {} updates in durable batches of \
             {}. Processor time of the thread; sizes and bytes are exact. All pages are compared afterwards. A server, where one \
             was measured, has the same rows in tables of its own; its processor time is that of all its threads and covers \
             statements and rows, its counts and sums are compared, and it writes a page that was changed again and again once. \
             Where its log is in memory, as on the file system of /dev/shm, its commits take no sync.",
            self.settings.bytes / 1_000_000,
            self.settings.updates,
            self.settings.batch_pages,
        );
        Page {
            title: "Pages, packed and with holes".to_owned(),
            lead,
            facts: self.facts(),
            sections: Rows::ALL.into_iter().map(|rows| self.section(rows)).collect(),
            machine,
        }
    }

    /// The best of each layout, at the smallest page.
    fn facts(&self) -> Vec<Fact> {
        let mut facts = Vec::new();
        for rows in Rows::ALL {
            let size = self.settings.page_sizes.iter().min().copied().unwrap_or(0);
            for keeper in Keeper::ALL {
                let found = self.cases.iter().filter(|case| {
                    case.rows == rows && case.keeper == keeper && case.page_bytes == size
                });
                let best = found.max_by(|one, other| one.ratio().total_cmp(&other.ratio()));
                if let Some(case) = best {
                    facts.push(Fact {
                        value: format!("{:.2}\u{d7}", case.ratio()),
                        label: format!(
                            "smaller: {}, pages of {} KiB, {}",
                            rows.name(),
                            size / 1024,
                            case.name()
                        ),
                    });
                }
            }
        }
        facts
    }

    fn section(&self, rows: Rows) -> Section {
        let ids: [&'static str; 6] = match rows {
            Rows::AccessLog => {
                ["log-size", "log-load", "log-written", "log-scan", "log-update", "log-bytes"]
            }
            Rows::Metrics => {
                ["row-size", "row-load", "row-written", "row-scan", "row-update", "row-bytes"]
            }
        };
        let [size, load, written, scan, update, bytes] = ids;
        let megabytes = |bytes: u64| bytes as f64 / 1e6;
        let figures = vec![
            self.heat(rows, size),
            self.bars(rows, load, "Time of the load", "seconds", |case| case.load_seconds),
            self.bars(rows, written, "Bytes written by the load", "MB", |case| {
                megabytes(case.load_written)
            }),
            self.bars(rows, scan, "Time of a scan", "seconds", |case| case.scan_seconds),
            self.bars(rows, update, "Time of the updates", "seconds", |case| case.update_seconds),
            self.bars(rows, bytes, "Bytes written per update", "KB", |case| {
                case.bytes_per_update() / 1e3
            }),
        ];
        Section {
            title: format!(
                "Rows of {}",
                match rows {
                    Rows::AccessLog => "an access log",
                    Rows::Metrics => "metrics",
                }
            ),
            text: String::new(),
            figures,
            tables: match rows {
                Rows::AccessLog => Vec::new(),
                Rows::Metrics => self.served_table().into_iter().collect(),
            },
        }
    }

    fn of(&self, rows: Rows) -> impl Iterator<Item = &Case> {
        self.cases.iter().filter(move |case| case.rows == rows)
    }

    /// Ratios: page sizes across, codecs and layouts down.
    fn heat(&self, rows: Rows, id: &'static str) -> Figure {
        let sizes = &self.settings.page_sizes;
        let mut lines = Vec::new();
        for keeper in Keeper::ALL {
            for codec in &self.settings.codecs {
                let is_of = |case: &&Case| case.keeper == keeper && case.codec == *codec;
                if !self.of(rows).any(|case| is_of(&case)) {
                    continue;
                }
                let cell = |size: &usize| {
                    let mut cases = self.of(rows).filter(is_of);
                    let case = cases.find(|case| case.page_bytes == *size)?;
                    let hover =
                        format!("{}, {} KiB: {:.2}x", case.name(), size / 1024, case.ratio());
                    Some((case.ratio(), hover))
                };
                lines
                    .push((format!("{} {codec}", keeper.name()), sizes.iter().map(cell).collect()));
            }
        }
        let heat = Heat {
            columns: sizes.iter().map(|size| format!("{} KiB", size / 1024)).collect(),
            rows: lines,
            suffix: "\u{d7}",
        };
        Figure {
            id,
            title: "How many times smaller".to_owned(),
            caption: "Bytes of the pages over bytes that the file system has allocated after the load. With holes a page takes \
                      whole blocks of 4 KiB, so that a page of 16 KiB cannot become smaller than a fourth."
                .to_owned(),
            panels: vec![Panel { title: String::new(), chart: Chart::Heat(heat) }],
            legend: Vec::new(),
            values: self.table(),
        }
    }

    fn legend(&self) -> Vec<(Tone, String)> {
        let mut legend = vec![
            (Tone::First, "packed".to_owned()),
            (Tone::Second, "holes".to_owned()),
            (Tone::Reference, "no codec".to_owned()),
        ];
        if self.cases.iter().any(|case| case.keeper == Keeper::MariaDb) {
            legend.push((Tone::Third, "MariaDB".to_owned()));
        }
        legend
    }

    /// A panel per page size, a bar per codec and layout.
    fn bars(
        &self,
        rows: Rows,
        id: &'static str,
        title: &str,
        unit: &str,
        value: impl Fn(&Case) -> f64,
    ) -> Figure {
        let bar = |case: &Case| {
            let value = value(case);
            Bar {
                label: format!("{} KiB, {}", case.page_bytes / 1024, case.name()),
                value,
                text: format!("{value:.2}"),
                hover: format!(
                    "{}, {} KiB: {value:.3} {unit}",
                    case.name(),
                    case.page_bytes / 1024
                ),
                tone: match (case.codec.method, case.keeper) {
                    (_, Keeper::MariaDb) => Tone::Third,
                    (Method::None, _) => Tone::Reference,
                    (_, Keeper::Store(Layout::Packed)) => Tone::First,
                    (_, Keeper::Store(Layout::Holes)) => Tone::Second,
                },
            }
        };
        let bars =
            Bars { axis: Axis::linear(unit), line: None, bars: self.of(rows).map(bar).collect() };
        Figure {
            id,
            title: title.to_owned(),
            caption: String::new(),
            panels: vec![Panel { title: String::new(), chart: Chart::Bars(bars) }],
            legend: self.legend(),
            values: self.table(),
        }
    }
}

fn served(served: Served) -> serde_json::Value {
    json!({
        "rows": served.rows,
        "file_bytes": served.file_bytes,
        "load_wall_seconds": served.load_seconds,
        "load_log_bytes": served.load_log_bytes,
        "scan_wall_seconds": served.scan_seconds,
        "update_wall_seconds": served.update_seconds,
        "update_log_bytes": served.update_log_bytes,
        "update_pages": served.update_pages,
        "log_in_memory": served.log_in_memory,
    })
}

/// A count, if it is known.
fn known(count: Option<u64>) -> String {
    count.map_or_else(|| "-".to_owned(), |count| count.to_string())
}

/// Writes a table and a page into a directory.
pub(super) fn write_files(
    directory: &Path,
    name: &str,
    table: &Table,
    page: &Page,
) -> Result<(), BenchError> {
    let io = |path: &Path| {
        let path = path.to_path_buf();
        move |source| BenchError::Io { path, source }
    };
    std::fs::create_dir_all(directory).map_err(io(directory))?;
    let path = directory.join(name);
    std::fs::write(&path, table.to_csv()).map_err(io(&path))?;
    let path = directory.join("report.html");
    std::fs::write(&path, page.render()?).map_err(io(&path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::{Settings, run};
    use tambour_page::PageCodec;

    #[test]
    fn a_small_run_has_all_figures() {
        let directory = std::env::temp_dir();
        let settings = Settings {
            bytes: 1 << 20,
            page_sizes: vec![16 << 10],
            codecs: vec![PageCodec::NONE, PageCodec::LZ4],
            updates: 50,
            ..Settings::of_the_study(directory)
        };
        let mut told = 0;
        let results = run(&settings, &mut |done, total| told = done * 100 / total).unwrap();
        assert_eq!(told, 100);
        assert_eq!(results.cases.len(), 8);
        let page = results.page(Machine::default());
        let html = page.render().unwrap();
        assert_eq!(
            html.matches("class=\"cell\"").count(),
            2 * 2 * 4,
            "two kinds of rows, drawn twice"
        );
        assert_eq!(results.table().rows.len(), 8);
        for case in &results.cases {
            assert!(case.update_written > 0 && case.load_written >= case.allocated_bytes / 2);
            let packed = case.keeper == Keeper::Store(Layout::Packed);
            assert!(!packed || case.punches == Some(0));
        }
    }
}
