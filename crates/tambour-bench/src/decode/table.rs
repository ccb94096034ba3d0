//! Results as tables: the experiment's own, one line per contender, one line per file.

use super::{Results, Role};
use crate::machine::Machine;
use crate::report::{Column, Table};

impl Results {
    /// The experiment's table: one line per machine, of which there is one here.
    pub fn summary_table(&self, machine: &Machine) -> Table {
        let summary = self.summary();
        let reference = summary.reference;
        let columns = vec![
            Column::text("cpu"),
            Column::number("ref"),
            Column::number("adapt"),
            Column::number("max"),
            Column::text("best"),
            Column::number("adapt_boost"),
            Column::number("max_boost"),
            Column::number("adapt_over_max"),
        ];
        let row = vec![
            machine.cpu.clone(),
            two(reference),
            optional(summary.adaptive),
            two(summary.max),
            summary.best,
            optional(summary.adaptive.map(|speed| speed / reference)),
            two(summary.max / reference),
            optional(summary.adaptive.map(|speed| speed / summary.max)),
        ];
        Table { title: "The experiment's table".to_owned(), columns, rows: vec![row] }
    }

    /// One line per contender.
    pub fn score_table(&self) -> Table {
        let columns = vec![
            Column::text("contender"),
            Column::text("is a"),
            Column::text("needs"),
            Column::number("GB/s"),
            Column::number("x ref, all"),
            Column::number("x ref, middle"),
            Column::number("x ref, worst"),
            Column::text("worst on"),
            Column::number("ratio"),
        ];
        let row = |score: super::Score| {
            let contender = &self.contenders[score.contender];
            vec![
                contender.name.clone(),
                contender.role.name().to_owned(),
                contender.isa.map_or("", tambour_kernel::variant::Isa::name).to_owned(),
                two(score.speed),
                two(score.all),
                optional(score.middle),
                two(score.worst),
                score.worst_file,
                two(score.ratio),
            ]
        };
        let rows = self.scores().into_iter().map(row).collect();
        Table { title: "Contenders over all files".to_owned(), columns, rows }
    }

    /// One line per file: speeds in GB/s, and who was fastest. Of the variants only the best over all files is there.
    pub fn file_table(&self) -> Table {
        let best = self.best_variant();
        let mut shown = self.shown();
        shown.retain(|&index| self.contenders[index].role != Role::Variant || index == best);
        self.speed_table("Speed per file, GB/s of uncompressed bytes", &shown)
    }

    /// The same with every variant.
    pub fn variant_table(&self) -> Table {
        self.speed_table(
            "Speed of every variant per file, GB/s of uncompressed bytes",
            &self.shown(),
        )
    }

    fn speed_table(&self, title: &str, shown: &[usize]) -> Table {
        let mut columns =
            vec![Column::text("file"), Column::number("blocks"), Column::number("ratio")];
        columns.extend(shown.iter().map(|&index| Column::number(&self.contenders[index].name)));
        columns.push(Column::text("fastest variant"));
        columns.push(Column::number("x ref"));
        let row = |file: &super::File| {
            let mut cells = vec![file.name.clone(), file.blocks.to_string(), two(file.ratio())];
            cells.extend(shown.iter().map(|&index| two(file.speed(index))));
            let variants = self.of(Role::Variant).map(|index| (index, file.gain(index)));
            let (best, gain) =
                variants.max_by(|one, other| one.1.total_cmp(&other.1)).unwrap_or((0, 1.0));
            cells.extend([self.contenders[best].name.clone(), two(gain)]);
            cells
        };
        let rows = self.files.iter().map(row).collect();
        Table { title: title.to_owned(), columns, rows }
    }

    /// One line per selector and lap.
    pub fn regret_table(&self) -> Table {
        let columns = vec![
            Column::text("selector"),
            Column::number("blocks"),
            Column::number("time / best variant"),
            Column::number("largest of a file"),
        ];
        let mut rows = Vec::new();
        for regret in self.regrets() {
            let name = &self.contenders[regret.contender].name;
            let row = |(blocks, mean, largest): (usize, f64, f64)| {
                vec![name.clone(), blocks.to_string(), three(mean), three(largest)]
            };
            rows.extend(regret.points.into_iter().map(row));
        }
        Table { title: "Time of the selectors over the best variant".to_owned(), columns, rows }
    }

    /// One line per contender: compression and speed of all files together; `*` marks what nothing beats in both.
    pub fn frontier_table(&self) -> Table {
        let columns = vec![
            Column::text("contender"),
            Column::number("ratio"),
            Column::number("GB/s"),
            Column::text("frontier"),
        ];
        let place = |index: usize| (index, self.as_one_file(index));
        let places: Vec<(usize, (f64, f64))> = self.formats().into_iter().map(place).collect();
        let row = |&(index, (ratio, speed)): &(usize, (f64, f64))| {
            let beaten = places.iter().any(|&(_, (other, faster))| {
                other >= ratio && faster >= speed && (other > ratio || faster > speed)
            });
            let mark = if beaten { "" } else { "*" };
            vec![self.contenders[index].name.clone(), two(ratio), two(speed), mark.to_owned()]
        };
        let rows = places.iter().map(row).collect();
        Table { title: "Speed against compression, all files as one".to_owned(), columns, rows }
    }

    /// Every measurement, one line per file and contender; for CSV.
    pub fn measurement_table(&self) -> Table {
        let columns = vec![
            Column::text("file"),
            Column::number("bytes"),
            Column::number("blocks"),
            Column::text("contender"),
            Column::text("role"),
            Column::number("encoded_bytes"),
            Column::number("seconds"),
            Column::number("seconds_low"),
            Column::number("seconds_high"),
            Column::number("gb_per_second"),
            Column::number("gain"),
        ];
        let mut rows = Vec::new();
        for file in &self.files {
            for (index, contender) in self.contenders.iter().enumerate() {
                let timing = &file.timings[index];
                rows.push(vec![
                    file.name.clone(),
                    file.bytes.to_string(),
                    file.blocks.to_string(),
                    contender.name.clone(),
                    contender.role.name().to_owned(),
                    timing.encoded_bytes.to_string(),
                    format!("{:.9}", timing.seconds),
                    format!("{:.9}", timing.low),
                    format!("{:.9}", timing.high),
                    three(file.speed(index)),
                    three(file.gain(index)),
                ]);
            }
        }
        Table { title: "Measurements".to_owned(), columns, rows }
    }
}

pub(super) fn two(value: f64) -> String {
    format!("{value:.2}")
}

fn three(value: f64) -> String {
    format!("{value:.3}")
}

/// A dash where there is no figure.
fn optional(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), two)
}
