//! The picture of the README: `docs/figures/scan.svg`, drawn from the measured figures of `docs/figures/scan.tsv`.
//!
//! Tidy draws it again and compares, so that the picture never shows other figures than those that are committed.

use crate::tidy::read;
use crate::{Outcome, output, root, run_with, test};
use std::fmt::Write;
use std::fs;
use std::path::Path;

const FIGURES: &str = "docs/figures/scan.tsv";
const PICTURE: &str = "docs/figures/scan.svg";

/// The picture and its plot, in units of its own: about pixels of a phone.
const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 380.0;
const LEFT: f64 = 44.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 44.0;
/// Height of a line of text, and width of a letter on average.
const LINE: f64 = 16.0;
const LETTER: f64 = 7.2;
const LETTER_BOLD: f64 = 7.8;
/// What is written in bold letters.
const OURS: &str = "Tambour";

/// A format, what reads it, and what that took.
#[derive(Clone, Debug, PartialEq)]
struct Point {
    system: String,
    label: String,
    megabytes: f64,
    seconds: f64,
}

/// Draws the picture.
pub(crate) fn draw() -> Outcome {
    let picture = svg(&read(&root().join(FIGURES))?)?;
    fs::write(root().join(PICTURE), picture).map_err(|error| format!("{PICTURE}: {error}"))?;
    println!("drew {PICTURE} from {FIGURES}");
    Ok(())
}

/// Measures with a release binary (or the one that `TAMBOUR` names) and the Python of the oracle, then draws.
pub(crate) fn measure(arguments: &[&str]) -> Outcome {
    let python = test::virtual_environment()?.display().to_string();
    output(&python, &["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "duckdb"])?;
    // A binary that is there by name is taken as it is.
    let tambour = if let Ok(tambour) = std::env::var("TAMBOUR") {
        tambour
    } else {
        crate::run("cargo", &["build", "--release", "--locked", "--package", "tambour-cli"])?;
        test::binary("release").display().to_string()
    };
    let words = [&["oracle/picture.py"], arguments].concat();
    run_with(&python, &words, &[("TAMBOUR", &tambour)])?;
    draw()
}

/// The committed picture is that of the committed figures.
pub(crate) fn check(root: &Path, found: &mut Vec<String>) -> Outcome {
    if svg(&read(&root.join(FIGURES))?)? != read(&root.join(PICTURE))? {
        found.push(format!("{PICTURE}: not what {FIGURES} gives; cargo xtask picture"));
    }
    Ok(())
}

/// The points of the figures, and the words after `# data:`.
fn points(text: &str) -> Result<(Vec<Point>, String), String> {
    let data = text.lines().find_map(|line| line.strip_prefix("# data: ")).unwrap_or_default();
    let mut points = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')).skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [system, format, reader, bytes, seconds, ..] = fields[..] else {
            return Err(format!("{FIGURES}: not a line of figures: {line:?}"));
        };
        let number = |text: &str| {
            text.parse::<f64>().map_err(|error| format!("{FIGURES}: {text:?}: {error}"))
        };
        // The words of `CODEC(auto)` need no more.
        let inside = format.strip_prefix("auto(").and_then(|rest| rest.strip_suffix(')'));
        let format = inside.unwrap_or(format);
        let by = if reader == system { String::new() } else { format!(", by {reader}") };
        points.push(Point {
            system: system.to_owned(),
            label: format!("{system} {format}{by}"),
            megabytes: number(bytes)? / 1e6,
            seconds: number(seconds)?,
        });
    }
    if points.is_empty() {
        Err(format!("{FIGURES}: no figures"))
    } else {
        Ok((points, data.to_owned()))
    }
}

/// A round step, so that an axis has four to nine marks.
fn step(most: f64) -> f64 {
    let power = 10_f64.powf(most.log10().floor());
    [0.1, 0.2, 0.25, 0.5, 1.0, 2.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|step| most / step <= 8.0)
        .unwrap_or(power)
}

/// One axis: from 0 past the largest value, to a place in the picture.
struct Axis {
    step: f64,
    end: f64,
    from: f64,
    to: f64,
}

impl Axis {
    fn new(most: f64, from: f64, to: f64) -> Self {
        let step = step(most);
        Self { step, end: (most / step * 1.02).ceil() * step, from, to }
    }

    fn place(&self, value: f64) -> f64 {
        self.from + value / self.end * (self.to - self.from)
    }

    fn marks(&self) -> impl Iterator<Item = f64> {
        let past = self.end + self.step / 2.0;
        (0..).map(|mark: u32| f64::from(mark) * self.step).take_while(move |mark| *mark < past)
    }
}

/// Draws the figures.
fn svg(text: &str) -> Result<String, String> {
    let (points, data) = points(text)?;
    let most = |value: fn(&Point) -> f64| points.iter().map(value).fold(0.0, f64::max);
    let x = Axis::new(most(|point| point.megabytes), LEFT, WIDTH - RIGHT);
    let y = Axis::new(most(|point| point.seconds), HEIGHT - BOTTOM, TOP);
    let mut out = String::new();
    let mut add = |line: String| {
        out += &line;
        out.push('\n');
    };
    add(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         font-family=\"system-ui, sans-serif\" font-size=\"13.5\">"
    ));
    add(format!("<title>Size and scan time: {}</title>", escaped(&data)));
    add(STYLE.to_owned());
    add(format!(
        "<text x=\"{LEFT}\" y=\"17\" font-weight=\"600\">Smaller and faster is down and left</text>"
    ));
    let short = data.split(", ").take(2).collect::<Vec<_>>().join(", ");
    add(format!(
        "<text x=\"{LEFT}\" y=\"34\" class=\"quiet\">seconds to read every column, one thread (by: the reader)</text>"
    ));
    for mark in y.marks() {
        let at = y.place(mark);
        add(format!("<path class=\"grid\" d=\"M{LEFT} {at:.1}H{:.1}\"/>", WIDTH - RIGHT));
        add(format!(
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" class=\"quiet\">{}</text>",
            LEFT - 6.0,
            at + 4.0,
            short_number(mark)
        ));
    }
    for mark in x.marks() {
        add(format!(
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" class=\"quiet\">{}</text>",
            x.place(mark),
            HEIGHT - BOTTOM + 16.0,
            short_number(mark)
        ));
    }
    add(format!(
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" class=\"quiet\">MB on disk: {}</text>",
        WIDTH - RIGHT,
        HEIGHT - 8.0,
        escaped(&short)
    ));
    for (point, (label_x, label_y, anchor)) in points.iter().zip(labels(&points, &x, &y)) {
        let class = class(&point.system);
        let (at_x, at_y) = (x.place(point.megabytes), y.place(point.seconds));
        if (label_y - 4.0 - at_y).abs() > LINE * 1.5 {
            add(format!(
                "<path class=\"grid\" d=\"M{at_x:.1} {at_y:.1}L{label_x:.1} {:.1}\"/>",
                label_y - 4.0
            ));
        }
        add(format!("<circle class=\"{class}\" cx=\"{at_x:.1}\" cy=\"{at_y:.1}\" r=\"5.5\"/>"));
        add(format!(
            "<text class=\"{class}\" x=\"{label_x:.1}\" y=\"{label_y:.1}\" text-anchor=\"{anchor}\">{}</text>",
            escaped(&point.label)
        ));
    }
    out += "</svg>\n";
    Ok(out)
}

/// Places of the labels: beside their points, and none over another.
fn labels(points: &[Point], x: &Axis, y: &Axis) -> Vec<(f64, f64, &'static str)> {
    let mut places: Vec<(f64, f64, &'static str)> = Vec::new();
    let mut taken: Vec<[f64; 4]> = Vec::new();
    let dots =
        points.iter().map(|it| (x.place(it.megabytes), y.place(it.seconds))).collect::<Vec<_>>();
    for (point, (at_x, at_y)) in points.iter().zip(&dots) {
        let letter = if point.system == OURS { LETTER_BOLD } else { LETTER };
        let width = point.label.chars().count() as f64 * letter;
        // Right, left, above, below, then rows further up and down.
        let beside = [(0.0, "start"), (0.0, "end"), (-1.0, "middle"), (1.0, "middle")];
        let further = [-1.0, 1.0, -2.0, 2.0, -3.0, 3.0, -4.0, 4.0].into_iter();
        let further =
            further.flat_map(|row| ["start", "end", "middle"].map(|anchor| (row, anchor)));
        let tries = beside.into_iter().chain(further);
        let places_of = tries.map(|(row, anchor)| {
            let base = at_y + 4.0 + row * LINE;
            let (from, text_x) = match anchor {
                "start" => (at_x + 10.0, at_x + 10.0),
                "end" => (at_x - 10.0 - width, at_x - 10.0),
                _ => (at_x - width / 2.0, *at_x),
            };
            ([from, base - 11.0, from + width, base + 3.0], (text_x, base, anchor))
        });
        let is_free = |[left, top, right, bottom]: &[f64; 4]| {
            let inside =
                *left >= LEFT && *right <= WIDTH && *top >= TOP - 8.0 && *bottom <= HEIGHT - BOTTOM;
            let apart = taken
                .iter()
                .all(|it| *right < it[0] || it[2] < *left || *bottom < it[1] || it[3] < *top);
            let clear = dots.iter().all(|(dot_x, dot_y)| {
                *right < dot_x - 6.0
                    || dot_x + 6.0 < *left
                    || *bottom < dot_y - 6.0
                    || dot_y + 6.0 < *top
            });
            inside && apart && clear
        };
        let mut all = places_of.collect::<Vec<_>>();
        let best = all.iter().position(|(area, _)| is_free(area)).unwrap_or(0);
        let (area, place) = all.swap_remove(best);
        taken.push(area);
        places.push(place);
    }
    places
}

const STYLE: &str = "<style>text{fill:#1f2328}.quiet{fill:#59636e}.grid{stroke:#8c959f;stroke-opacity:.35;fill:none}\
circle{stroke:none}.tambour{fill:#bc4c00}.clickhouse{fill:#8a6d00}.parquet{fill:#0969da}.duckdb{fill:#1a7f37}\
text.tambour{font-weight:600}@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.quiet{fill:#9198a1}\
.tambour{fill:#ffa657}.clickhouse{fill:#e3c64b}.parquet{fill:#79c0ff}.duckdb{fill:#7ee787}}</style>";

fn class(system: &str) -> String {
    system.to_lowercase()
}

fn short_number(number: f64) -> String {
    let mut text = String::new();
    let rounded = (number * 1000.0).round() / 1000.0;
    // A text takes every write.
    let _ = write!(text, "{rounded}");
    text
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::{Axis, points, step, svg};

    const FIGURES: &str = "# data: lineitem, 10 rows, sorted\nsystem\tformat\tread by\tbytes\tseconds\tmedian\n\
        Tambour\tauto\tTambour\t125000000\t0.30\t0.31\nParquet\tzstd\tDuckDB\t153000000\t0.55\t0.56\n";

    #[test]
    fn figures_become_points() {
        let (points, data) = points(FIGURES).unwrap();
        assert_eq!(data, "lineitem, 10 rows, sorted");
        assert_eq!((points[0].label.as_str(), points[0].megabytes), ("Tambour auto", 125.0));
        assert_eq!(points[1].label, "Parquet zstd, by DuckDB");
        assert!(super::points("# data: x\nhead\n").is_err());
        assert!(super::points("head\na\tb\n").is_err());
    }

    #[test]
    fn axes_have_round_marks() {
        assert!((step(153.0) - 20.0).abs() < 1e-9, "{}", step(153.0));
        let axis = Axis::new(153.0, 0.0, 160.0);
        assert!((axis.place(80.0) - 80.0).abs() < 1e-9);
        assert_eq!(axis.marks().count(), 9);
    }

    #[test]
    fn every_point_is_drawn() {
        let picture = svg(FIGURES).unwrap();
        assert_eq!(picture.matches("<circle").count(), 2);
        assert!(picture.contains("prefers-color-scheme:dark") && picture.contains(", by DuckDB"));
    }
}
