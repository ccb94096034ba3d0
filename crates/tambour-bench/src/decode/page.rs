//! The page of the experiment.

use super::summary::MIDDLE;
use super::table::two;
use super::{File, Results, Role};
use crate::findings::times;
use tambour_report::Machine;
use tambour_report::{
    Axis, Bar, Bars, Chart, Dots, Fact, Figure, Line, Lines, Mark, Page, Panel, Row, Scatter,
    Section, Tone,
};

/// The page.
pub(super) fn page(results: &Results, machine: Machine) -> Page {
    let mut sections = vec![overall(results, &machine), files(results)];
    if !results.regrets().is_empty() {
        sections.push(learning(results));
    }
    if results.settings.frontier {
        sections.push(formats(results));
    }
    let kibibytes = results.settings.block_bytes / 1024;
    let lead = format!(
        "{} files, cut into blocks of {kibibytes} KiB and compressed by C lz4 1.10, decoded {} times by every contender, in \
         random order and one process. Processor time of the thread, medians; every output was compared with its source.",
        results.files.len(),
        results.settings.rounds,
    );
    Page { title: "Decoding LZ4 blocks".to_owned(), lead, facts: facts(results), sections, machine }
}

/// What colour a contender has on all charts.
fn tone(results: &Results, contender: usize) -> Tone {
    match results.contenders[contender].role {
        Role::Reference => Tone::Reference,
        Role::Adaptive if Some(contender) == results.first(Role::Adaptive) => Tone::First,
        Role::Batch => Tone::Third,
        Role::Variant if contender == results.best_variant() => Tone::Second,
        _ => Tone::Quiet,
    }
}

fn facts(results: &Results) -> Vec<Fact> {
    let scores = results.scores();
    let mut facts = Vec::new();
    let mut add = |contender: Option<usize>, what: &str| {
        let Some(score) = contender.map(|index| &scores[index]) else { return };
        let mut fact = |value: f64, label: String| facts.push(Fact::new(times(value), label));
        fact(score.all, format!("{what}, C lz4 = 1, all files"));
        if let Some(middle) = score.middle {
            let (low, high) = (MIDDLE.start(), MIDDLE.end());
            fact(middle, format!("{what}, files of ratio {low} to {high}"));
        }
    };
    let best = results.best_variant();
    add(results.first(Role::Adaptive), "selector");
    add(results.first(Role::Batch), "selector, many blocks");
    add(Some(best), &format!("best fixed variant, {}", results.contenders[best].name));
    facts
}

/// Means over all files.
fn overall(results: &Results, machine: &Machine) -> Section {
    let shown = results.shown();
    let scores: Vec<_> =
        results.scores().into_iter().filter(|score| shown.contains(&score.contender)).collect();
    let bar = |score: &super::Score| {
        let name = &results.contenders[score.contender].name;
        Bar {
            label: name.clone(),
            value: score.speed,
            text: two(score.speed),
            hover: format!("{name}: {:.2} GB/s", score.speed),
            tone: tone(results, score.contender),
        }
    };
    let mut bars: Vec<Bar> = scores
        .iter()
        .filter(|score| results.contenders[score.contender].role != Role::Limit)
        .map(bar)
        .collect();
    bars.sort_by(|one, other| other.value.total_cmp(&one.value));
    let bars = Bars::linear("GB/s of uncompressed bytes", bars);
    let speeds = Figure::new("speeds", "Mean speed over all files", bars, results.score_table())
        .caption(
            "Inverse of the mean time per byte, as in the article's table: slow files weigh most.",
        )
        .legend(legend(results));
    let mut rows: Vec<(f64, Row)> = scores
        .iter()
        .filter(|score| {
            !matches!(results.contenders[score.contender].role, Role::Reference | Role::Limit)
        })
        .map(|score| (score.all, gains_row(results, score)))
        .collect();
    rows.sort_by(|one, other| other.0.total_cmp(&one.0));
    let dots = against_c(rows.into_iter().map(|(_, row)| row).collect());
    let (low, high) = (MIDDLE.start(), MIDDLE.end());
    let title = "How many times as fast as C lz4";
    let gains = Figure::new("gains", title, dots, results.score_table())
        .caption(
            "Geometric means; files that are incompressible or all runs are left out of the second mean.",
        )
        .legend([
            (Tone::First, "mean of all files".to_owned()),
            (Tone::Second, format!("mean of files of ratio {low} to {high}")),
            (Tone::Third, "worst file".to_owned()),
        ]);
    Section {
        title: "Over all files".to_owned(),
        figures: vec![speeds, gains],
        tables: vec![results.summary_table(machine)],
        ..Section::default()
    }
}

/// Gains on an axis with C lz4 in the middle.
fn against_c(rows: Vec<Row>) -> Chart {
    Chart::Dots(Dots {
        axis: Axis::log("times the speed of C lz4").suffix("\u{d7}"),
        line: Some((1.0, "C lz4".to_owned())),
        rows,
    })
}

fn gains_row(results: &Results, score: &super::Score) -> Row {
    let name = &results.contenders[score.contender].name;
    let mut marks = vec![(
        Tone::Third,
        score.worst,
        format!("{name}, worst file ({}): {:.2}\u{d7}", score.worst_file, score.worst),
    )];
    let middle = score.middle;
    marks.extend(
        middle.map(|gain| (Tone::Second, gain, format!("{name}, middle: {gain:.2}\u{d7}"))),
    );
    marks.push((Tone::First, score.all, format!("{name}, all: {:.2}\u{d7}", score.all)));
    Row { label: name.clone(), marks }
}

/// Every file on its own.
fn files(results: &Results) -> Section {
    let mut shown = vec![results.best_variant()];
    shown.extend(results.first(Role::Batch));
    shown.extend(results.first(Role::Adaptive));
    let mut sorted: Vec<&File> = results.files.iter().collect();
    let leader = shown[shown.len() - 1];
    sorted.sort_by(|one, other| other.gain(leader).total_cmp(&one.gain(leader)));
    let row = |file: &&File| {
        let mark = |&index: &usize| {
            let (name, gain) = (&results.contenders[index].name, file.gain(index));
            let hover = format!(
                "{}, {name}: {gain:.2}\u{d7}, {:.2} GB/s (ratio {:.2})",
                file.name,
                file.speed(index),
                file.ratio()
            );
            (tone(results, index), gain, hover)
        };
        Row { label: file.name.clone(), marks: shown.iter().map(mark).collect() }
    };
    let name = |index: usize| (tone(results, index), results.contenders[index].name.clone());
    let dots = against_c(sorted.iter().map(row).collect());
    let title = "How many times as fast as C lz4, file by file";
    let by_file = Figure::new("files", title, dots, results.file_table())
        .caption("Sorted by gain. Left of the line C lz4 is faster.")
        .legend(shown.iter().rev().map(|&index| name(index)));
    Section {
        title: "File by file".to_owned(),
        text: "What is fastest depends on the data: on the length of literals and matches, and on how far matches reach back."
            .to_owned(),
        figures: vec![by_file, by_ratio(results)],
        ..Section::default()
    }
}

/// Speed by ratio: one panel per contender, with the reference behind it.
fn by_ratio(results: &Results) -> Figure {
    let mark = |file: &File, index: usize, tone| Mark {
        x: file.ratio(),
        y: file.speed(index),
        label: String::new(),
        hover: format!(
            "{}, {}: {:.2} GB/s, ratio {:.2}",
            file.name,
            results.contenders[index].name,
            file.speed(index),
            file.ratio()
        ),
        tone,
    };
    let roles = [Role::Adaptive, Role::Batch, Role::Variant];
    let contenders = roles.into_iter().flat_map(|role| results.of(role));
    let shown: Vec<usize> = contenders.collect();
    let speeds = |file: &File| -> Vec<(f64, f64)> {
        let drawn = shown.iter().chain([&0]);
        drawn.map(|&index| (file.ratio(), file.speed(index))).collect()
    };
    let room: Vec<(f64, f64)> = results.files.iter().flat_map(speeds).collect();
    let panel = |index: usize| {
        let reference = results.files.iter().map(|file| mark(file, 0, Tone::Quiet));
        let own = results.files.iter().map(|file| mark(file, index, Tone::First));
        Panel {
            title: results.contenders[index].name.clone(),
            chart: Chart::Scatter(Scatter {
                x: Axis::log("compression ratio"),
                y: Axis::log("GB/s"),
                frontier: false,
                room: room.clone(),
                marks: reference.chain(own).collect(),
            }),
        }
    };
    Figure {
        id: "ratio".to_owned(),
        title: "Speed by compression ratio".to_owned(),
        caption: "One mark per file; both axes are logarithmic. Hover over a mark for its name."
            .to_owned(),
        panels: shown.iter().copied().map(panel).collect(),
        legend: vec![(Tone::First, "the contender".to_owned()), (Tone::Quiet, "C lz4".to_owned())],
        values: results.variant_table(),
    }
}

/// What learning costs.
fn learning(results: &Results) -> Section {
    let line = |regret: super::Regret| {
        let label = results.contenders[regret.contender].name.clone();
        let tone = match tone(results, regret.contender) {
            Tone::Quiet => Tone::Second,
            tone => tone,
        };
        let point = |(blocks, mean, largest): (usize, f64, f64)| {
            let hover = format!(
                "{label} after {blocks} blocks: {mean:.3} of the best variant's time; largest {largest:.2}"
            );
            (blocks as f64, mean, hover)
        };
        Line { tone, points: regret.points.into_iter().map(point).collect(), label: label.clone() }
    };
    let regrets = results.regrets();
    let laps: Vec<f64> =
        regrets.iter().take(1).flat_map(|it| &it.points).map(|it| it.0 as f64).collect();
    let lines: Vec<Line> = regrets.into_iter().map(line).collect();
    let legend: Vec<_> = lines.iter().map(|line| (line.tone, line.label.clone())).collect();
    let chart = Chart::Lines(Lines {
        x: Axis::log("blocks since the start").at(laps),
        y: Axis::linear("time / best variant's time"),
        line: Some((1.0, "best variant, known beforehand".to_owned())),
        lines,
    });
    let title = "Time of the selectors, best variant of each file = 1";
    let figure = Figure::new("regret", title, chart, results.regret_table()).legend(legend).caption(
        "Time since the first block; the selector starts without knowledge. The best variant is chosen afterwards, for each \
         file and each number of blocks. A batch is compared with variants that take two blocks in turns, too. Geometric means \
         over the files. The least of many noisy times is a little low, so all lines are a little high.",
    );
    Section { title: "What learning costs".to_owned(), figures: vec![figure], ..Section::default() }
}

/// LZ4 among other formats.
fn formats(results: &Results) -> Section {
    let mark = |index: usize| {
        let contender = &results.contenders[index];
        let (ratio, speed) = results.as_one_file(index);
        let tone = if contender.role == Role::Rival { Tone::Quiet } else { tone(results, index) };
        Mark {
            x: ratio,
            y: speed,
            label: contender.name.clone(),
            hover: format!("{}: {speed:.2} GB/s, ratio {ratio:.2}", contender.name),
            tone,
        }
    };
    let mut marks: Vec<Mark> = results.formats().into_iter().map(mark).collect();
    // The marks that the page is about are drawn, and named, before the others.
    marks.sort_by_key(|mark| mark.tone != Tone::Quiet);
    let chart = Chart::Scatter(Scatter {
        x: Axis::log("compression ratio"),
        y: Axis::log("decoded GB/s"),
        frontier: true,
        room: Vec::new(),
        marks,
    });
    let title = "Speed against compression";
    let figure = Figure::new("frontier", title, chart, results.frontier_table()).caption(
        "All files as one: bytes by compressed bytes, bytes by time. Blocks of the same size, each compressed on its own; \
         formats that learn over longer distances lose by that. The dashed line joins what nothing else beats in both.",
    );
    Section {
        title: "LZ4 among other formats".to_owned(),
        text: "Is there a format that decodes faster and compresses no worse?".to_owned(),
        figures: vec![figure],
        ..Section::default()
    }
}

/// The tones that contenders have, one name each.
fn legend(results: &Results) -> Vec<(Tone, String)> {
    let mut legend = Vec::new();
    let mut add = |present: bool, tone, name: &str| {
        if present {
            legend.push((tone, name.to_owned()));
        }
    };
    add(results.first(Role::Adaptive).is_some(), Tone::First, "selector");
    add(results.first(Role::Batch).is_some(), Tone::Third, "selector, many blocks at once");
    add(true, Tone::Second, "best fixed variant, by mean gain");
    add(true, Tone::Quiet, "other variants");
    add(true, Tone::Reference, "C lz4");
    legend
}
