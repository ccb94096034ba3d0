//! Advice on codecs and types, as figures.

use crate::buffer::PathArgument;
use crate::failure::{Failure, argument};
use crate::work;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use tambour::advise::{Advice, AdviseOptions, ColumnAdvice, Measure, Version, advise, alter};
use tambour::codec::choose::Objective;
use tambour::files::ReadOptions;
use tambour::sample::{self, Seen};
use tambour_report::clock::thread_time;

/// Advises on a table, a part or files.
#[pyfunction]
#[pyo3(name = "advise")]
pub(crate) fn advise_paths<'py>(
    py: Python<'py>,
    paths: Vec<PathArgument>,
    goal: &str,
    server: Option<&str>,
    threads: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let goal = Objective::named(goal)
        .ok_or_else(|| argument(format!("goal {goal:?}: there are size, speed and balance")))?;
    let server = server.map(version).transpose()?;
    let (advice, name) = work::detached(py, |_| {
        let mut observe = |_: Seen| work::check_signals();
        let rows = match paths.as_slice() {
            [path] => sample::of_path(path, ReadOptions::default(), &mut observe)?,
            paths => sample::of_files(paths, ReadOptions::default(), &mut observe)?,
        };
        if rows.sample.rows() == 0 {
            return Err(argument(format!("{}: without rows there is no advice", rows.name)));
        }
        let options = AdviseOptions { goal, server, threads, ..AdviseOptions::new(thread_time) };
        let advice = advise(&rows.sample, &rows.present, &options)?;
        Ok((advice, rows.name))
    })?;
    told(py, &advice, &name, server)
}

fn version(text: &str) -> Result<Version, Failure> {
    text.parse().map_err(|_| argument(format!("server {text:?}: a version is like 25.8")))
}

fn told<'py>(
    py: Python<'py>,
    advice: &Advice,
    name: &str,
    server: Option<Version>,
) -> PyResult<Bound<'py, PyDict>> {
    let figures = PyDict::new(py);
    figures.set_item("name", name)?;
    figures.set_item("goal", advice.goal.name())?;
    figures.set_item("rows", advice.rows)?;
    figures.set_item("rows_sampled", advice.rows_sampled)?;
    figures.set_item("raw_bytes", advice.raw_bytes())?;
    figures.set_item("bytes_now", advice.now_bytes())?;
    figures.set_item("bytes_best", advice.best_bytes(advice.goal))?;
    figures.set_item("alter", alter::statements(advice, name, server))?;
    let columns = PyList::empty(py);
    for column in &advice.columns {
        columns.append(column_of(py, advice, column)?)?;
    }
    figures.set_item("columns", columns)?;
    Ok(figures)
}

fn column_of<'py>(
    py: Python<'py>,
    advice: &Advice,
    column: &ColumnAdvice,
) -> PyResult<Bound<'py, PyDict>> {
    let figures = PyDict::new(py);
    figures.set_item("name", &column.column.name)?;
    figures.set_item("type", column.column.data_type.to_string())?;
    figures.set_item("now", measure(py, &column.now)?)?;
    figures.set_item("best", measure(py, column.best(advice.goal))?)?;
    figures.set_item("pays", alter::pays(advice, column))?;
    let types = PyList::empty(py);
    for other in &column.types {
        types.append((other.data_type.to_string(), &other.reason, other.saved))?;
    }
    figures.set_item("types", types)?;
    Ok(figures)
}

fn measure<'py>(py: Python<'py>, measure: &Measure) -> PyResult<Bound<'py, PyDict>> {
    let figures = PyDict::new(py);
    figures.set_item("codec", measure.spec.to_string())?;
    figures.set_item("bytes", measure.stored_bytes)?;
    figures.set_item("ratio", measure.ratio())?;
    figures.set_item("decode_gbps", measure.decode_gbps())?;
    Ok(figures)
}
