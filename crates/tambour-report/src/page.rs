//! The page: headline figures, charts, tables, and the machine, in one HTML file without anything external.
//!
//! A report builds a [`Page`] out of values; only this module knows how they look. Every chart is drawn twice, for wide
//! and for narrow windows, and the style sheet shows one of them, so that text stays readable on a phone. Colours follow
//! `prefers-color-scheme`. Each mark tells its value on hover, and the same values stand in a table below the chart.

use crate::canvas::Width;
use crate::tone::Tone;
use crate::{Bars, Dots, Heat, Lines, Machine, ReportError, Scatter, Table, Treemap};
use askama::Template;
use std::fs;
use std::path::Path;

/// A page.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// Title of the page.
    pub title: String,
    /// What was measured, in a sentence or two.
    pub lead: String,
    /// The figures to remember.
    pub facts: Vec<Fact>,
    /// The charts and tables.
    pub sections: Vec<Section>,
    /// Where and how it was measured.
    pub machine: Machine,
}

/// A figure to remember.
#[derive(Clone, Debug)]
pub struct Fact {
    /// The figure, short.
    pub value: String,
    /// What it says.
    pub label: String,
}

/// A part of the page with a heading.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// The heading.
    pub title: String,
    /// A paragraph; may be empty.
    pub text: String,
    /// Charts.
    pub figures: Vec<Figure>,
    /// Tables that belong to no chart.
    pub tables: Vec<Table>,
}

impl Fact {
    /// A figure and what it says.
    pub fn new(value: impl Into<String>, label: impl Into<String>) -> Self {
        Self { value: value.into(), label: label.into() }
    }
}

/// A chart with its title, its explanation and its values.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Unique on the page: letters, digits and hyphens.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// How to read it.
    pub caption: String,
    /// What is drawn: several panels stand side by side.
    pub panels: Vec<Panel>,
    /// What tones stand for, where the marks have no labels of their own.
    pub legend: Vec<(Tone, String)>,
    /// The values.
    pub values: Table,
}

impl Figure {
    /// One drawing, without caption and legend; the values stand in a table below it.
    pub fn new(
        id: impl Into<String>,
        title: impl Into<String>,
        chart: Chart,
        values: Table,
    ) -> Self {
        let panels = vec![Panel { title: String::new(), chart }];
        let (id, title) = (id.into(), title.into());
        Self { id, title, caption: String::new(), panels, legend: Vec::new(), values }
    }

    /// Says how to read it.
    pub fn caption(mut self, text: impl Into<String>) -> Self {
        self.caption = text.into();
        self
    }

    /// Says what tones stand for.
    pub fn legend<S: Into<String>>(mut self, tones: impl IntoIterator<Item = (Tone, S)>) -> Self {
        self.legend = tones.into_iter().map(|(tone, name)| (tone, name.into())).collect();
        self
    }
}

/// One drawing of a figure.
#[derive(Clone, Debug)]
pub struct Panel {
    /// Title; empty where the figure has only one panel.
    pub title: String,
    /// What is drawn.
    pub chart: Chart,
}

/// A drawing.
#[derive(Clone, Debug)]
pub enum Chart {
    /// One bar per thing.
    Bars(Bars),
    /// Several marks per thing, on one axis.
    Dots(Dots),
    /// Marks in a plane, with an optional frontier.
    Scatter(Scatter),
    /// Courses over something.
    Lines(Lines),
    /// A value for each pair of things.
    Heat(Heat),
    /// Shares of a whole.
    Treemap(Treemap),
}

impl Chart {
    fn draw(&self, width: Width, label: &str) -> String {
        match self {
            Self::Bars(chart) => chart.draw(width, label),
            Self::Dots(chart) => chart.draw(width, label),
            Self::Scatter(chart) => chart.draw(width, label),
            Self::Lines(chart) => chart.draw(width, label),
            Self::Heat(chart) => chart.draw(width, label),
            Self::Treemap(chart) => chart.draw(width, label),
        }
    }
}

/// A panel as the template takes it.
struct Drawing {
    title: String,
    wide: String,
    narrow: String,
}

/// A figure as the template takes it.
struct Drawn<'a> {
    figure: &'a Figure,
    drawings: Vec<Drawing>,
}

/// A section as the template takes it.
struct Part<'a> {
    section: &'a Section,
    figures: Vec<Drawn<'a>>,
}

#[derive(Template)]
#[template(path = "report.html")]
struct Layout<'a> {
    page: &'a Page,
    parts: Vec<Part<'a>>,
    machine: Vec<(&'static str, String)>,
}

impl Page {
    /// The page as HTML.
    pub fn render(&self) -> Result<String, ReportError> {
        let parts = self
            .sections
            .iter()
            .map(|section| Part { section, figures: section.figures.iter().map(draw).collect() });
        let layout = Layout { page: self, parts: parts.collect(), machine: self.machine.lines() };
        layout.render().map_err(ReportError::Page)
    }

    /// Ids of all figures, in their order.
    pub fn figure_ids(&self) -> impl Iterator<Item = &str> {
        self.sections.iter().flat_map(|section| &section.figures).map(|figure| figure.id.as_str())
    }
}

/// Writes tables as CSV, and the page as `report.html`, into a directory, which is made if need be. Files of these names are
/// replaced.
pub fn write(directory: &Path, tables: &[(&str, &Table)], page: &Page) -> Result<(), ReportError> {
    let io = |path: &Path| {
        let path = path.to_path_buf();
        move |source| ReportError::Io { path, source }
    };
    fs::create_dir_all(directory).map_err(io(directory))?;
    for (name, table) in tables {
        let path = directory.join(name);
        fs::write(&path, table.to_csv()).map_err(io(&path))?;
    }
    let path = directory.join("report.html");
    fs::write(&path, page.render()?).map_err(io(&path))
}

fn draw(figure: &Figure) -> Drawn<'_> {
    let single = figure.panels.len() == 1;
    let drawing = |panel: &Panel| {
        let label = if single {
            figure.title.clone()
        } else {
            format!("{}: {}", figure.title, panel.title)
        };
        Drawing {
            title: panel.title.clone(),
            wide: panel.chart.draw(if single { Width::Wide } else { Width::Panel }, &label),
            narrow: panel.chart.draw(if single { Width::Narrow } else { Width::Tile }, &label),
        }
    };
    Drawn { figure, drawings: figure.panels.iter().map(drawing).collect() }
}
