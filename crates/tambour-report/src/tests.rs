//! The page as text: every figure is there, everything is escaped, nothing is fetched.

use crate::{
    Axis, Bar, Bars, Chart, Column, Dots, Figure, Heat, Line, Lines, Machine, Mark, Page, Panel,
    Row, Scatter, Section, Table, Tone,
};

fn figure(id: &'static str, chart: Chart, panels: usize) -> Figure {
    let panel = Panel { title: "<panel>".to_owned(), chart };
    Figure {
        id: id.to_owned(),
        title: "A & <b>".to_owned(),
        caption: "how to read it".to_owned(),
        panels: vec![panel; panels],
        legend: vec![(Tone::First, "one".to_owned())],
        values: Table {
            title: "values".to_owned(),
            columns: vec![Column::text("name"), Column::number("value")],
            rows: vec![vec!["<cell>".to_owned(), "1".to_owned()]],
        },
    }
}

fn sample() -> Page {
    let hover = || "\"hover\" & <tell>".to_owned();
    let bar = Bar {
        label: "<bar>".to_owned(),
        value: 2.0,
        text: "2".to_owned(),
        hover: hover(),
        tone: Tone::First,
    };
    let bars = Bars { axis: Axis::linear("GB/s"), line: None, bars: vec![bar] };
    let row = Row { label: "row".to_owned(), marks: vec![(Tone::Second, 2.0, hover())] };
    let line = Some((1.0, "one".to_owned()));
    let dots = Dots { axis: Axis::log("x").suffix("x"), line: line.clone(), rows: vec![row] };
    let mark = Mark { x: 1.0, y: 2.0, label: "mark".to_owned(), hover: hover(), tone: Tone::Third };
    let scatter = Scatter {
        x: Axis::log("x"),
        y: Axis::log("y"),
        frontier: true,
        room: vec![(3.0, 4.0)],
        marks: vec![mark],
    };
    let course = Line {
        label: "course".to_owned(),
        tone: Tone::Reference,
        points: vec![(1.0, 1.0, hover()), (2.0, 3.0, hover())],
    };
    let lines = Lines { x: Axis::linear("x"), y: Axis::linear("y"), line, lines: vec![course] };
    let cells = vec![Some((1.0, hover())), None, Some((4.0, hover()))];
    let heat = Heat {
        columns: vec!["<a>".to_owned(), "b".to_owned(), "c".to_owned()],
        rows: vec![("row".to_owned(), cells)],
        suffix: "x",
    };
    let figures = vec![
        figure("bars", Chart::Bars(bars), 1),
        figure("dots", Chart::Dots(dots), 1),
        figure("scatter", Chart::Scatter(scatter), 3),
        figure("lines", Chart::Lines(lines), 1),
        figure("heat", Chart::Heat(heat), 1),
    ];
    let section =
        Section { title: "Section".to_owned(), text: String::new(), figures, tables: Vec::new() };
    let machine = Machine { cpu: "A <CPU>".to_owned(), threads: 2, ..Machine::default() };
    Page {
        title: "Title & more".to_owned(),
        lead: "lead".to_owned(),
        facts: Vec::new(),
        sections: vec![section],
        machine,
    }
}

#[test]
fn every_figure_is_there_with_its_parts() {
    let page = sample();
    let html = page.render().unwrap();
    assert_eq!(page.figure_ids().collect::<Vec<_>>(), ["bars", "dots", "scatter", "lines", "heat"]);
    for id in page.figure_ids() {
        let (_, rest) = html.split_once(&format!("<figure id=\"{id}\"")).unwrap();
        let (figure, _) = rest.split_once("</figure>").unwrap();
        for part in
            ["<svg", "role=\"img\"", "<title>", "<figcaption>", "<table>", "class=\"legend\""]
        {
            assert!(figure.contains(part), "{id} lacks {part}");
        }
    }
    // Wide and narrow.
    assert_eq!(html.matches("<svg").count(), 2 * (1 + 1 + 3 + 1 + 1));
    assert!(html.contains("prefers-color-scheme: dark") && html.contains("name=\"viewport\""));
}

#[test]
fn text_is_never_markup() {
    let html = sample().render().unwrap();
    for wrong in ["<b>", "<bar>", "<tell>", "<cell>", "<panel>", "A <CPU>", "Title & more"] {
        assert!(!html.contains(wrong), "{wrong} was not escaped");
    }
}

#[test]
fn nothing_is_fetched_and_nothing_runs() {
    let html = sample().render().unwrap();
    for wrong in ["http:", "https:", "<script", "<link", "@import", "url(", "src=", "NaN", "inf"] {
        assert!(!html.contains(wrong), "the page contains {wrong}");
    }
}
