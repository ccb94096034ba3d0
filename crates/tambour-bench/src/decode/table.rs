//! Results as tables: the experiment's own, one line per contender, one line per file.

use super::{File, Results, Role};
use tambour_kernel::variant::Isa;
use tambour_report::Machine;
use tambour_report::Table;

impl Results {
    /// The experiment's table: one line per machine, of which there is one here.
    pub fn summary_table(&self, machine: &Machine) -> Table {
        let summary = self.summary();
        let reference = summary.reference;
        Table::of("The experiment's table", [&summary])
            .text("cpu", |_| machine.cpu.clone())
            .number("ref", |it| two(it.reference))
            .number("adapt", |it| optional(it.adaptive))
            .number("max", |it| two(it.max))
            .text("best", |it| it.best.clone())
            .number("adapt_boost", |it| optional(it.adaptive.map(|speed| speed / reference)))
            .number("max_boost", |it| two(it.max / reference))
            .number("adapt_over_max", |it| optional(it.adaptive.map(|speed| speed / it.max)))
            .build()
    }

    /// One line per contender.
    pub fn score_table(&self) -> Table {
        let contender = |score: &super::Score| &self.contenders[score.contender];
        Table::of("Contenders over all files", self.scores())
            .text("contender", |score| contender(score).name.clone())
            .text("is a", |score| contender(score).role.name())
            .text("needs", |score| contender(score).isa.map_or("", Isa::name))
            .number("GB/s", |score| two(score.speed))
            .number("x ref, all", |score| two(score.all))
            .number("x ref, middle", |score| optional(score.middle))
            .number("x ref, worst", |score| two(score.worst))
            .text("worst on", |score| score.worst_file.clone())
            .number("ratio", |score| two(score.ratio))
            .build()
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
        let fastest = |file: &File| {
            let variants = self.of(Role::Variant).map(|index| (index, file.gain(index)));
            variants.max_by(|one, other| one.1.total_cmp(&other.1)).unwrap_or((0, 1.0))
        };
        let mut table = Table::of(title, &self.files)
            .text("file", |file| file.name.clone())
            .number("blocks", |file| file.blocks)
            .number("ratio", |file| two(file.ratio()));
        for &index in shown {
            table = table.number(&self.contenders[index].name, |file| two(file.speed(index)));
        }
        table
            .text("fastest variant", |file| self.contenders[fastest(file).0].name.clone())
            .number("x ref", |file| two(fastest(file).1))
            .build()
    }

    /// One line per selector and lap.
    pub fn regret_table(&self) -> Table {
        let points = self.regrets().into_iter().flat_map(|regret| {
            regret.points.into_iter().map(move |point| (regret.contender, point))
        });
        Table::of("Time of the selectors over the best variant", points)
            .text("selector", |(selector, _)| self.contenders[*selector].name.clone())
            .number("blocks", |(_, (blocks, ..))| *blocks)
            .number("time / best variant", |(_, (_, mean, _))| three(*mean))
            .number("largest of a file", |(_, (.., largest))| three(*largest))
            .build()
    }

    /// One line per contender: compression and speed of all files together; `*` marks what nothing beats in both.
    pub fn frontier_table(&self) -> Table {
        let place = |index: usize| (index, self.as_one_file(index));
        let places: Vec<(usize, (f64, f64))> = self.formats().into_iter().map(place).collect();
        let is_beaten = |ratio: f64, speed: f64| {
            places.iter().any(|&(_, (other, faster))| {
                other >= ratio && faster >= speed && (other > ratio || faster > speed)
            })
        };
        Table::of("Speed against compression, all files as one", &places)
            .text("contender", |(index, _)| self.contenders[*index].name.clone())
            .number("ratio", |(_, (ratio, _))| two(*ratio))
            .number("GB/s", |(_, (_, speed))| two(*speed))
            .text(
                "frontier",
                |&&(_, (ratio, speed))| {
                    if is_beaten(ratio, speed) { "" } else { "*" }
                },
            )
            .build()
    }

    /// Every measurement, one line per file and contender; for CSV.
    pub fn measurement_table(&self) -> Table {
        let all = self.files.iter().flat_map(|file| {
            (0..self.contenders.len()).map(move |index| (file, index, &file.timings[index]))
        });
        Table::of("Measurements", all)
            .text("file", |(file, ..)| file.name.clone())
            .number("bytes", |(file, ..)| file.bytes)
            .number("blocks", |(file, ..)| file.blocks)
            .text("contender", |(_, index, _)| self.contenders[*index].name.clone())
            .text("role", |(_, index, _)| self.contenders[*index].role.name())
            .number("encoded_bytes", |(.., timing)| timing.encoded_bytes)
            .number("seconds", |(.., timing)| format!("{:.9}", timing.seconds))
            .number("seconds_low", |(.., timing)| format!("{:.9}", timing.low))
            .number("seconds_high", |(.., timing)| format!("{:.9}", timing.high))
            .number("gb_per_second", |(file, index, _)| three(file.speed(*index)))
            .number("gain", |(file, index, _)| three(file.gain(*index)))
            .build()
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
