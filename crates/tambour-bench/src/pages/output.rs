//! The figures as tables, JSON and a page.

use super::case::{Case, Keeper, Served};
use super::generate::Rows;
use super::measure::Results;
use super::targets;
use crate::findings::Findings;
use serde_json::{Value, json};
use tambour_page::{Layout, Method};
use tambour_report::{Bar, Bars, Chart, Fact, Figure, Heat, Machine, Page, Section, Table, Tone};

fn megabytes(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / 1e6)
}

impl Results {
    /// One line per combination.
    pub fn table(&self) -> Table {
        Table::of("Pages", &self.cases)
            .text("rows", |case| case.rows.name())
            .number("page", |case| format!("{}K", case.page_bytes / 1024))
            .text("codec", |case| case.codec)
            .text("layout", |case| case.keeper.name())
            .number("MB", |case| megabytes(case.allocated_bytes))
            .number("ratio", |case| format!("{:.2}", case.ratio()))
            .number("load s", |case| format!("{:.3}", case.load_seconds))
            .number("MB written", |case| megabytes(case.load_written))
            .number("scan s", |case| format!("{:.3}", case.scan_seconds))
            .number("updates s", |case| format!("{:.3}", case.update_seconds))
            .number("KB/update", |case| format!("{:.1}", case.bytes_per_update() / 1e3))
            .number("MB after", |case| megabytes(case.allocated_after))
            .number("syncs", |case| known(case.syncs))
            .number("punches", |case| known(case.punches))
            .build()
    }

    /// What is known of a server alone, one line per combination; `None` without one.
    pub fn served_table(&self) -> Option<Table> {
        let served = self.cases.iter().filter_map(|case| Some((case, case.served?)));
        let served: Vec<(&Case, Served)> = served.collect();
        if served.is_empty() {
            return None;
        }
        let table = Table::of("MariaDB: what else", served)
            .text("rows", |(case, _)| case.rows.name())
            .number("page", |(case, _)| format!("{}K", case.page_bytes / 1024))
            .text("codec", |(case, _)| case.codec)
            .number("thousand rows", |(_, served)| format!("{:.0}", served.rows as f64 / 1e3))
            .number("file length MB", |(_, served)| megabytes(served.file_bytes))
            .number("load, wall s", |(_, served)| format!("{:.2}", served.load_seconds))
            .number("its log MB", |(_, served)| megabytes(served.load_log_bytes))
            .number("scan, wall s", |(_, served)| format!("{:.3}", served.scan_seconds))
            .number("updates, wall s", |(_, served)| format!("{:.2}", served.update_seconds))
            .number("their log MB", |(_, served)| megabytes(served.update_log_bytes))
            .number("pages written", |(_, served)| served.update_pages)
            .number("KB/page", |(case, served)| {
                let bytes = case.update_written.saturating_sub(served.update_log_bytes) as f64;
                format!("{:.1}", bytes / 1e3 / served.update_pages.max(1) as f64)
            })
            .text("log in", |(_, served)| if served.log_in_memory { "memory" } else { "file" });
        Some(table.build())
    }

    /// The best of each layout, at the smallest page.
    fn facts(&self) -> Vec<Fact> {
        let size = self.settings.page_sizes.iter().min().copied().unwrap_or(0);
        let kinds = Rows::ALL.iter().flat_map(|rows| Keeper::ALL.map(|keeper| (*rows, keeper)));
        let fact = |(rows, keeper)| {
            let found = self.of(rows);
            let found = found.filter(|case| case.keeper == keeper && case.page_bytes == size);
            let best = found.max_by(|one, other| one.ratio().total_cmp(&other.ratio()))?;
            let (rows, kibibytes, name) = (rows.name(), size / 1024, best.name());
            Some(Fact::new(
                format!("{:.2}\u{d7}", best.ratio()),
                format!("smaller: {rows}, pages of {kibibytes} KiB, {name}"),
            ))
        };
        kinds.filter_map(fact).collect()
    }

    fn section(&self, rows: Rows) -> Section {
        let prefix = match rows {
            Rows::AccessLog => "log",
            Rows::Metrics => "row",
        };
        let megabytes = |bytes: u64| bytes as f64 / 1e6;
        let bars = |id: &str, title: &str, unit: &str, value: &dyn Fn(&Case) -> f64| {
            self.bars(rows, format!("{prefix}-{id}"), (title, unit), value)
        };
        let written = |case: &Case| megabytes(case.load_written);
        let per_update = |case: &Case| case.bytes_per_update() / 1e3;
        let figures = vec![
            self.heat(rows, format!("{prefix}-size")),
            bars("load", "Time of the load", "seconds", &|case| case.load_seconds),
            bars("written", "Bytes written by the load", "MB", &written),
            bars("scan", "Time of a scan", "seconds", &|case| case.scan_seconds),
            bars("update", "Time of the updates", "seconds", &|case| case.update_seconds),
            bars("bytes", "Bytes written per update", "KB", &per_update),
        ];
        let (title, tables) = match rows {
            Rows::AccessLog => ("Rows of an access log", Vec::new()),
            Rows::Metrics => ("Rows of metrics", self.served_table().into_iter().collect()),
        };
        Section { title: title.to_owned(), figures, tables, ..Section::default() }
    }

    fn of(&self, rows: Rows) -> impl Iterator<Item = &Case> {
        self.cases.iter().filter(move |case| case.rows == rows)
    }

    /// Ratios: page sizes across, codecs and layouts down.
    fn heat(&self, rows: Rows, id: String) -> Figure {
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
        let title = "How many times smaller";
        Figure::new(id, title, Chart::Heat(heat), self.table()).caption(
            "Bytes of the pages over bytes that the file system has allocated after the load. With holes a page takes whole \
             blocks of 4 KiB, so that a page of 16 KiB cannot become smaller than a fourth.",
        )
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
        id: String,
        (title, unit): (&str, &str),
        value: &dyn Fn(&Case) -> f64,
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
        let bars = Bars::linear(unit, self.of(rows).map(bar).collect());
        Figure::new(id, title, bars, self.table()).legend(self.legend())
    }
}

impl Findings for Results {
    fn tables(&self, _: &Machine) -> Vec<Table> {
        let mut tables = vec![self.table()];
        tables.extend(self.served_table());
        if !self.promises.is_empty() {
            tables.push(targets::table(&self.promises));
        }
        tables
    }

    fn to_json(&self, machine: &Machine) -> Value {
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
        json!({
            "schema": "tambour/bench pages/1",
            "machine": machine.named(),
            "cases": self.cases.iter().map(case).collect::<Vec<_>>(),
        })
    }

    fn page(&self, machine: Machine) -> Page {
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

    fn files(&self, _: &Machine) -> Vec<(&'static str, Table)> {
        vec![("pages.csv", self.table())]
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
