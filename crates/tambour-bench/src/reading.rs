//! What the ways of reading files cost: whole scans of tables through the page cache, past it, and as memory.
//!
//! Every contender reads all columns of all parts on one thread, in turns and in one process. Cold: the system is asked to forget the
//! table's pages before each turn; whether it did, and whether the machine below it did, the figures show. Warm: right after, once
//! more. Wall time is what a cold scan is about, so it stands beside processor time. What is read is compared by its hash.

use crate::BenchError;
use crate::findings::{Findings, object, times};
use crate::measure::{Order, race, wrong};
use rustix::fs::{Advice, fadvise};
use serde_json::{Value, json};
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use tambour::part::part::ReadRequest;
use tambour::part::types::Strings;
use tambour::storage::{Reading, disk_read};
use tambour_report::clock::{thread_seconds, wall_seconds};
use tambour_report::{Machine, Page, Section, Table};

/// The ways, and their names on the command line.
const WAYS: [(Reading, &str); 3] =
    [(Reading::Buffered, "buffered"), (Reading::Direct, "direct"), (Reading::Mapped, "mmap")];
/// Rows of a batch.
const BATCH_ROWS: usize = 65_536;

/// A way of reading a table, in seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Way {
    /// As the command line names it.
    pub name: &'static str,
    /// Wall time of a cold scan.
    pub cold: f64,
    /// Processor time of it.
    pub cold_cpu: f64,
    /// Wall time of a warm scan.
    pub warm: f64,
    /// Processor time of it.
    pub warm_cpu: f64,
}

/// What came of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Its name.
    pub name: String,
    /// Bytes of its parts.
    pub bytes: u64,
    /// The buffered way first.
    pub ways: Vec<Way>,
}

/// What came of all tables.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// Turns of each way.
    pub rounds: usize,
    /// One per table.
    pub outcomes: Vec<Outcome>,
}

struct Contender {
    name: &'static str,
    table: tambour::table::Table,
}

/// Measures tables by their directories.
pub fn run(tables: &[PathBuf], rounds: usize) -> Result<Results, BenchError> {
    let outcomes = tables.iter().map(|path| outcome(path, rounds));
    Ok(Results { rounds, outcomes: outcomes.collect::<Result<_, _>>()? })
}

fn outcome(path: &Path, rounds: usize) -> Result<Outcome, BenchError> {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let mut contenders = Vec::new();
    for (reading, name) in WAYS {
        let table = tambour::table::Table::open_on(&disk_read(reading), path);
        let table = table.map_err(|error| failed(name, &error))?;
        contenders.push(Contender { name, table });
    }
    let expected = scan(&contenders[0])?;
    let files = data_files(path).map_err(|error| failed("files", &error))?;
    let times = race(&mut contenders, rounds, Order::Random(1), |contender| {
        for file in &files {
            let _ = fadvise(file, 0, None, Advice::DontNeed);
        }
        let mut seconds = Vec::with_capacity(4);
        for _ in ["cold", "warm"] {
            let (wall, cpu) = (wall_seconds(), thread_seconds());
            let seen = scan(contender)?;
            seconds.extend([wall_seconds() - wall, thread_seconds() - cpu]);
            if seen != expected {
                return Err(wrong(contender.name, name.clone()));
            }
        }
        Ok(seconds)
    })?;
    let way = |(contender, times): (&Contender, &crate::measure::Times)| Way {
        name: contender.name,
        cold: times.median(0),
        cold_cpu: times.median(1),
        warm: times.median(2),
        warm_cpu: times.median(3),
    };
    let bytes = contenders[0].table.parts().iter().map(|part| part.bytes_on_disk()).sum();
    Ok(Outcome { name, bytes, ways: contenders.iter().zip(&times).map(way).collect() })
}

/// All files of the table's parts.
fn data_files(table: &Path) -> std::io::Result<Vec<File>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(table)? {
        let path = entry?.path();
        if path.is_dir() {
            for file in std::fs::read_dir(path)? {
                let path = file?.path();
                if path.is_file() {
                    files.push(File::open(path)?);
                }
            }
        }
    }
    Ok(files)
}

/// Reads all columns; a hash over the shapes and sums of what came.
fn scan(contender: &Contender) -> Result<u64, BenchError> {
    let mut hasher = DefaultHasher::new();
    for part in contender.table.parts() {
        let request = ReadRequest {
            columns: (0..part.columns().len()).collect(),
            granules: std::iter::once(0..part.granules().len()).collect(),
            batch_rows: BATCH_ROWS,
            strings: Strings::Binary,
        };
        let reader = part.read(request).map_err(|error| failed(contender.name, &error))?;
        for batch in reader {
            let batch = batch.map_err(|error| failed(contender.name, &error))?;
            batch.num_rows().hash(&mut hasher);
            for column in batch.columns() {
                for buffer in column.to_data().buffers() {
                    // The ends of each buffer: every block's checksum was compared on the way.
                    let bytes = buffer.as_slice();
                    bytes.len().hash(&mut hasher);
                    bytes.first_chunk::<64>().hash(&mut hasher);
                    bytes.last_chunk::<64>().hash(&mut hasher);
                }
            }
        }
    }
    Ok(hasher.finish())
}

fn failed(contender: &str, error: &dyn std::error::Error) -> BenchError {
    BenchError::Library { contender: contender.to_owned(), reason: error.to_string() }
}

fn table(outcome: &Outcome) -> Table {
    let megabytes = outcome.bytes as f64 / 1e6;
    let buffered = outcome.ways.first().map_or(f64::NAN, |way| way.cold);
    Table::of(format!("{}: scans of {megabytes:.1} MB", outcome.name), &outcome.ways)
        .text("--io", |way| way.name)
        .number("cold MB/s", |way| format!("{:.0}", megabytes / way.cold))
        .number("of buffered", |way| times(buffered / way.cold))
        .number("cold CPU s", |way| format!("{:.3}", way.cold_cpu))
        .number("warm MB/s", |way| format!("{:.0}", megabytes / way.warm))
        .number("warm CPU s", |way| format!("{:.3}", way.warm_cpu))
        .build()
}

impl Findings for Results {
    fn tables(&self, _: &Machine) -> Vec<Table> {
        self.outcomes.iter().map(table).collect()
    }

    fn to_json(&self, machine: &Machine) -> Value {
        let way = |way: &Way| {
            json!({
                "io": way.name,
                "cold_seconds": way.cold,
                "cold_processor_seconds": way.cold_cpu,
                "warm_seconds": way.warm,
                "warm_processor_seconds": way.warm_cpu,
            })
        };
        let outcome = |it: &Outcome| {
            let ways: Vec<Value> = it.ways.iter().map(way).collect();
            json!({ "name": it.name, "bytes": it.bytes, "ways": ways })
        };
        let tables: Vec<Value> = self.outcomes.iter().map(outcome).collect();
        object("reading", machine, json!({ "rounds": self.rounds }), ("tables", tables.into()))
    }

    fn page(&self, machine: Machine) -> Page {
        Page {
            title: "Ways of reading files".to_owned(),
            lead: "Scans of whole tables on one thread through the page cache, past it, and as memory; cold after the system \
                   was asked to forget the files, and warm. Medians, contenders in turns."
                .to_owned(),
            sections: vec![Section {
                title: "All tables".to_owned(),
                tables: self.tables(&machine),
                ..Section::default()
            }],
            machine,
            ..Page::default()
        }
    }

    fn files(&self, machine: &Machine) -> Vec<(&'static str, Table)> {
        self.tables(machine).into_iter().map(|table| ("reading.csv", table)).collect()
    }
}
