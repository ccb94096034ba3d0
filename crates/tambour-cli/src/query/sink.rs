//! Results in the format that was asked for, written as they arrive.

use super::Style;
use super::cells;
use crate::cli::ResultFormat;
use crate::output::grid::{Frame, Grid, Heading};
use crate::output::quantity;
use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
use std::collections::VecDeque;
use std::io::{self, Write};
use tambour::files::{self, Effort, Format, Output, ResultOutput};

/// Takes the batches of one result.
pub(crate) struct Sink<'a> {
    rows: u64,
    form: Form<'a>,
}

enum Form<'a> {
    Nothing,
    /// For people: the first and last rows are kept and shown at the end.
    Grid(Box<Sample<'a>>),
    Markdown(&'a mut (dyn Write + Send)),
    /// An array of objects, cut from JSON lines.
    Json {
        target: &'a mut (dyn Write + Send),
        schema: SchemaRef,
    },
    File(Box<dyn Output + 'a>),
    ClickHouse(Box<dyn ResultOutput + 'a>),
}

impl<'a> Sink<'a> {
    /// A sink for rows of a schema.
    pub(crate) fn new(
        schema: &SchemaRef,
        style: Style,
        target: &'a mut (dyn Write + Send),
    ) -> anyhow::Result<Self> {
        let form = match style.format {
            ResultFormat::Null => Form::Nothing,
            // SET has no result, not even an empty line of names.
            ResultFormat::ClickHouse(_) | ResultFormat::Csv | ResultFormat::Tsv
                if schema.fields().is_empty() =>
            {
                Form::Nothing
            }
            ResultFormat::Table | ResultFormat::Vertical => {
                Form::Grid(Box::new(Sample::new(schema, style, target)))
            }
            ResultFormat::Markdown => {
                write_markdown_head(schema, target)?;
                Form::Markdown(target)
            }
            ResultFormat::Json => Form::Json { target, schema: schema.clone() },
            ResultFormat::Csv => file(Format::Csv, schema, style.header.unwrap_or(true), target)?,
            ResultFormat::Tsv => file(Format::Tsv, schema, style.header.unwrap_or(false), target)?,
            ResultFormat::Jsonl => file(Format::JsonLines, schema, false, target)?,
            ResultFormat::Arrow => file(Format::ArrowIpc, schema, false, target)?,
            ResultFormat::ClickHouse(format) => {
                Form::ClickHouse(format.write(schema, Box::new(target))?)
            }
            ResultFormat::Parquet => file(Format::Parquet, schema, false, target)?,
        };
        Ok(Self { rows: 0, form })
    }

    /// Takes rows.
    pub(crate) fn write(&mut self, batch: &RecordBatch) -> anyhow::Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        match &mut self.form {
            Form::Nothing => {}
            Form::Grid(sample) => sample.push(batch),
            Form::Markdown(target) => write_markdown(batch, *target)?,
            Form::Json { target, schema } => write_json(self.rows, batch, schema, *target)?,
            Form::File(output) => output.write(batch)?,
            Form::ClickHouse(output) => output.write(batch)?,
        }
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    /// Takes the row of WITH TOTALS, for the formats that have a place for it.
    pub(crate) fn totals(&mut self, row: &RecordBatch) -> anyhow::Result<()> {
        match &mut self.form {
            Form::Grid(sample) => sample.totals = Some(row.clone()),
            Form::File(output) => output.totals(row)?,
            Form::ClickHouse(output) => output.totals(row)?,
            Form::Nothing | Form::Markdown(_) | Form::Json { .. } => {}
        }
        Ok(())
    }

    /// Writes what comes at the end; the number of rows.
    pub(crate) fn finish(self, effort: &Effort) -> anyhow::Result<u64> {
        match self.form {
            Form::Nothing => {}
            Form::Grid(sample) => sample.finish()?,
            Form::Markdown(target) => target.flush()?,
            Form::Json { target, .. } => {
                target.write_all(if self.rows == 0 { b"[]\n" } else { b"\n]\n" })?;
                target.flush()?;
            }
            Form::File(output) => output.finish()?,
            Form::ClickHouse(output) => output.finish(effort)?,
        }
        Ok(self.rows)
    }
}

fn file<'a>(
    format: Format,
    schema: &SchemaRef,
    header: bool,
    target: &'a mut (dyn Write + Send),
) -> anyhow::Result<Form<'a>> {
    Ok(Form::File(files::output_with(format, schema, header, Box::new(target))?))
}

/// The first and last rows of a result, for people to look at.
struct Sample<'a> {
    schema: SchemaRef,
    style: Style,
    target: &'a mut (dyn Write + Send),
    head: Vec<RecordBatch>,
    head_rows: usize,
    tail: VecDeque<RecordBatch>,
    tail_rows: usize,
    rows: u64,
    totals: Option<RecordBatch>,
}

impl<'a> Sample<'a> {
    fn new(schema: &SchemaRef, style: Style, target: &'a mut (dyn Write + Send)) -> Self {
        Self {
            schema: schema.clone(),
            style,
            target,
            head: Vec::new(),
            head_rows: 0,
            tail: VecDeque::new(),
            tail_rows: 0,
            rows: 0,
            totals: None,
        }
    }

    /// Rows that are shown from the start; as many come from the end.
    fn half(&self) -> usize {
        self.style.rows_max.div_ceil(2)
    }

    fn push(&mut self, batch: &RecordBatch) {
        self.rows += batch.num_rows() as u64;
        let wanted = self.half().saturating_sub(self.head_rows).min(batch.num_rows());
        if wanted > 0 {
            self.head.push(batch.slice(0, wanted));
            self.head_rows += wanted;
        }
        let rest = batch.num_rows() - wanted;
        if rest == 0 {
            return;
        }
        self.tail.push_back(batch.slice(wanted, rest));
        self.tail_rows += rest;
        // Whole batches that cannot be shown any more go, so that memory does not grow with the result.
        while let Some(first) = self.tail.front() {
            if self.tail_rows - first.num_rows() < self.style.rows_max {
                break;
            }
            self.tail_rows -= first.num_rows();
            self.tail.pop_front();
        }
    }

    fn finish(mut self) -> anyhow::Result<()> {
        let tail_shown =
            self.tail_rows.min(self.style.rows_max - self.head_rows.min(self.style.rows_max));
        let mut grid = self.grid();
        for batch in &self.head {
            cells::rows(batch)?.into_iter().for_each(|row| grid.push(row));
        }
        let mut skip = self.tail_rows - tail_shown;
        for batch in &self.tail {
            let skipped = skip.min(batch.num_rows());
            skip -= skipped;
            let rest = batch.slice(skipped, batch.num_rows() - skipped);
            cells::rows(&rest)?.into_iter().for_each(|row| grid.push(row));
        }
        let left_out = self.rows - grid.len() as u64;
        let gap = (left_out > 0).then_some(self.head_rows);
        let widths = grid.widths(Frame::Lines, self.style.width);
        match widths {
            Some(widths) if self.style.format == ResultFormat::Table => {
                grid.write(&mut self.target, Frame::Lines, &widths, gap)?;
            }
            _ if grid.is_empty() => {}
            _ => {
                let head = self.head_rows;
                let number =
                    |index: usize| index as u64 + 1 + if index < head { 0 } else { left_out };
                grid.write_vertical(&mut self.target, number, self.style.width)?;
            }
        }
        if left_out > 0 {
            let rows = quantity::counted(left_out, "row is", "rows are");
            writeln!(
                self.target,
                "{rows} not shown; --rows-max 0 shows all, --format csv writes all"
            )?;
        }
        self.write_totals()?;
        Ok(self.target.flush()?)
    }

    fn write_totals(&mut self) -> anyhow::Result<()> {
        let Some(row) = self.totals.take() else { return Ok(()) };
        let mut grid = self.grid();
        cells::rows(&row)?.into_iter().for_each(|row| grid.push(row));
        writeln!(self.target, "\nTotals:")?;
        match grid.widths(Frame::Lines, self.style.width) {
            Some(widths) if self.style.format == ResultFormat::Table => {
                grid.write(&mut self.target, Frame::Lines, &widths, None)?;
            }
            _ => grid.write_vertical(&mut self.target, |_| 1, self.style.width)?,
        }
        Ok(())
    }

    fn grid(&self) -> Grid {
        let numeric = cells::numeric(&self.schema);
        let fields = self.schema.fields().iter().zip(numeric);
        Grid::new(
            fields.map(|(field, right)| Heading { name: field.name().clone(), right }).collect(),
        )
    }
}

fn write_markdown_head(schema: &Schema, target: &mut dyn Write) -> io::Result<()> {
    let names = schema.fields().iter().map(|field| markdown_cell(field.name()));
    writeln!(target, "| {} |", names.collect::<Vec<_>>().join(" | "))?;
    let sides = cells::numeric(schema).into_iter().map(|right| if right { "---:" } else { ":---" });
    writeln!(target, "| {} |", sides.collect::<Vec<_>>().join(" | "))
}

fn write_markdown(batch: &RecordBatch, target: &mut dyn Write) -> anyhow::Result<()> {
    for row in cells::rows(batch)? {
        let cells: Vec<String> = row.iter().map(|cell| markdown_cell(cell)).collect();
        writeln!(target, "| {} |", cells.join(" | "))?;
    }
    Ok(())
}

/// A cell cannot hold a bar or a line break as it is.
fn markdown_cell(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('|', "\\|")
        .replace("\r\n", "<br>")
        .replace(['\n', '\r'], "<br>")
}

fn write_json(
    rows_before: u64,
    batch: &RecordBatch,
    schema: &SchemaRef,
    target: &mut (dyn Write + Send),
) -> anyhow::Result<()> {
    let mut lines = Vec::new();
    let mut output = files::output(Format::JsonLines, schema, Box::new(&mut lines))?;
    output.write(batch)?;
    output.finish()?;
    for (index, line) in
        lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).enumerate()
    {
        target.write_all(if rows_before == 0 && index == 0 { b"[\n" } else { b",\n" })?;
        target.write_all(line)?;
    }
    Ok(())
}
