//! What a file would take as pages, as a table and as a heat map.

use crate::{Chart, Fact, Figure, Heat, Machine, Page, ReportError, Section, Table, write};
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
    let table = Table::of("Space", found)
        .number("page", |space| format!("{}K", space.page_bytes / 1024))
        .text("codec", |space| space.codec)
        .number("dictionary", |space| match space.dictionary_bytes {
            0 => "-".to_owned(),
            bytes => bytes.to_string(),
        })
        .number("pages", |space| space.pages)
        .number("packed", |space| space.packed_bytes)
        .number("holes", |space| space.holes_bytes)
        .number("packed ratio", |space| format!("{:.2}", space.packed_ratio()))
        .number("holes ratio", |space| format!("{:.2}", space.holes_ratio()))
        .number("holes use more", |space| {
            let more = space.holes_bytes as f64 / space.packed_bytes.max(1) as f64 - 1.0;
            format!("{:.0} %", more * 100.0)
        })
        .build();
    SpaceReport { table, file: file.to_owned(), found: found.to_vec() }
}

impl SpaceReport {
    /// Writes `space.csv` and `report.html` into a directory.
    pub fn write(&self, directory: &Path, machine: Machine) -> Result<(), ReportError> {
        write(directory, &[("space.csv", &self.table)], &self.page(machine))
    }

    /// The page.
    pub fn page(&self, machine: Machine) -> Page {
        let best = |ratio: fn(&Space) -> f64, what: &str| {
            let space =
                self.found.iter().max_by(|one, other| ratio(one).total_cmp(&ratio(other)))?;
            let (kibibytes, name) = (space.page_bytes / 1024, name(space));
            let label = format!("{what}, at best: pages of {kibibytes} KiB, {name}");
            Some(Fact::new(format!("{:.2}\u{d7}", ratio(space)), label))
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
        let title = "Ratio by page size, codec and layout";
        Figure::new("space", title, Chart::Heat(heat), self.table.clone())
            .caption("Packed, an image takes its length; with holes, whole blocks of 4 KiB.")
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
