//! What a file would take as pages, as a table and as a heat map.

use super::output::write_files;
use crate::BenchError;
use crate::machine::Machine;
use crate::report::{Chart, Column, Fact, Figure, Heat, Page, Panel, Section, Table};
use std::path::Path;
use tambour_page::space::Space;

/// What is told of a measurement.
type Ratio = fn(&Space) -> f64;

/// A report about a file.
#[derive(Clone, Debug)]
pub struct SpaceReport {
    /// One line per page size and codec.
    pub table: Table,
    file: String,
    found: Vec<Space>,
}

/// Makes the report.
pub fn space_report(file: &str, found: &[Space]) -> SpaceReport {
    let columns = vec![
        Column::number("page"),
        Column::text("codec"),
        Column::number("dictionary"),
        Column::number("pages"),
        Column::number("packed"),
        Column::number("holes"),
        Column::number("packed ratio"),
        Column::number("holes ratio"),
        Column::number("holes use more"),
    ];
    let row = |space: &Space| {
        let more = space.holes_bytes as f64 / space.packed_bytes.max(1) as f64 - 1.0;
        vec![
            format!("{}K", space.page_bytes / 1024),
            space.codec.to_string(),
            if space.dictionary_bytes == 0 {
                "-".to_owned()
            } else {
                space.dictionary_bytes.to_string()
            },
            space.pages.to_string(),
            space.packed_bytes.to_string(),
            space.holes_bytes.to_string(),
            format!("{:.2}", space.packed_ratio()),
            format!("{:.2}", space.holes_ratio()),
            format!("{:.0} %", more * 100.0),
        ]
    };
    let rows = found.iter().map(row).collect();
    let table = Table { title: "Space".to_owned(), columns, rows };
    SpaceReport { table, file: file.to_owned(), found: found.to_vec() }
}

impl SpaceReport {
    /// Writes `space.csv` and `report.html` into a directory.
    pub fn write(&self, directory: &Path, machine: Machine) -> Result<(), BenchError> {
        write_files(directory, "space.csv", &self.table, &self.page(machine))
    }

    /// The page.
    pub fn page(&self, machine: Machine) -> Page {
        let best = |ratio: fn(&Space) -> f64, what: &str| {
            let space =
                self.found.iter().max_by(|one, other| ratio(one).total_cmp(&ratio(other)))?;
            Some(Fact {
                value: format!("{:.2}\u{d7}", ratio(space)),
                label: format!(
                    "{what}, at best: pages of {} KiB, {}",
                    space.page_bytes / 1024,
                    name(space)
                ),
            })
        };
        let facts = [best(Space::packed_ratio, "packed"), best(Space::holes_ratio, "with holes")];
        Page {
            title: "What a file takes as pages".to_owned(),
            lead: format!(
                "{}, cut into pages and compressed page by page. With a dictionary only pages that it was not trained on count.",
                self.file
            ),
            facts: facts.into_iter().flatten().collect(),
            sections: vec![Section {
                title: "How many times smaller".to_owned(),
                text: String::new(),
                figures: vec![self.heat()],
                tables: vec![self.table.clone()],
            }],
            machine,
        }
    }

    fn heat(&self) -> Figure {
        let mut sizes: Vec<usize> = self.found.iter().map(|space| space.page_bytes).collect();
        sizes.dedup();
        let mut names: Vec<String> = Vec::new();
        for space in &self.found {
            if !names.contains(&name(space)) {
                names.push(name(space));
            }
        }
        let layouts: [(&str, Ratio); 2] =
            [("packed", Space::packed_ratio), ("holes", Space::holes_ratio)];
        let mut rows = Vec::new();
        for (layout, ratio) in layouts {
            for wanted in &names {
                let cell = |size: &usize| {
                    let mut found = self.found.iter();
                    let space = found.find(|it| it.page_bytes == *size && name(it) == *wanted)?;
                    let text =
                        format!("{layout} {wanted}, {} KiB: {:.2}x", size / 1024, ratio(space));
                    Some((ratio(space), text))
                };
                rows.push((format!("{layout} {wanted}"), sizes.iter().map(cell).collect()));
            }
        }
        let heat = Heat {
            columns: sizes.iter().map(|size| format!("{} KiB", size / 1024)).collect(),
            rows,
            suffix: "\u{d7}",
        };
        Figure {
            id: "space",
            title: "Ratio by page size, codec and layout".to_owned(),
            caption: "Packed, an image takes its length; with holes, whole blocks of 4 KiB."
                .to_owned(),
            panels: vec![Panel { title: String::new(), chart: Chart::Heat(heat) }],
            legend: Vec::new(),
            values: self.table.clone(),
        }
    }
}

/// Name of a codec with or without a dictionary.
fn name(space: &Space) -> String {
    if space.dictionary_bytes == 0 {
        space.codec.to_string()
    } else {
        format!("{} + dictionary", space.codec)
    }
}
