//! What the cache of decoded blocks is worth: reads of single granules of a table, again and again, with it and without.
//!
//! Both contenders read the same granules, all columns of each, in a new random order per round and in one process; the cached one
//! has read them once before. Times are processor time of the thread, figures medians over the rounds; files are in the system's
//! page cache. What is read is compared outside of the time.

use crate::BenchError;
use crate::measure::{Order, race, seconds, wrong};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tambour::part::part::ReadRequest;
use tambour::part::types::Strings;
use tambour::part::{BlockCache, Part};
use tambour_report::Table;
use tambour_report::random::Random;

/// What to measure, and how often.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Directory of the table.
    pub table: PathBuf,
    /// Bytes of the cache.
    pub cache_bytes: u64,
    /// Different granules that are read.
    pub granules: usize,
    /// Passes of both contenders.
    pub rounds: usize,
    /// Which granules, and their order.
    pub seed: u64,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// The table's directory.
    pub name: String,
    /// Reads of a pass.
    pub reads: usize,
    /// Microseconds of a read without the cache.
    pub miss_us: f64,
    /// Microseconds of a read whose blocks are in the cache.
    pub hit_us: f64,
    /// The share of blocks that were there in the timed passes.
    pub found: f64,
}

impl Results {
    /// Both contenders, one a row.
    pub fn table(&self) -> Table {
        let title = format!("{}: {} reads of a granule", self.name, self.reads);
        let rows = [("without", self.miss_us), ("cached", self.hit_us)];
        Table::of(title, rows)
            .text("blocks", |(name, _)| (*name).to_owned())
            .number("us/read", |(_, time)| format!("{time:.1}"))
            .number("times", |(_, time)| format!("{:.2}", self.miss_us / time))
            .build()
    }
}

struct Contender {
    name: &'static str,
    parts: Vec<Arc<Part>>,
}

/// Measures.
pub fn run(settings: &Settings) -> Result<Results, BenchError> {
    let mut contenders = Vec::new();
    let cache = BlockCache::new(settings.cache_bytes);
    for name in ["without", "cached"] {
        let table = tambour::table::Table::open(&settings.table);
        let table = table.map_err(|error| failed(name, &error))?;
        if name == "cached" {
            table.cache_blocks(&cache);
        }
        contenders.push(Contender { name, parts: table.parts().to_vec() });
    }
    let mut places: Vec<(usize, usize)> = Vec::new();
    for (number, part) in contenders[0].parts.iter().enumerate() {
        places.extend((0..part.granules().len()).map(|granule| (number, granule)));
    }
    let mut random = Random::new(settings.seed);
    random.shuffle(&mut places);
    places.truncate(settings.granules);
    if places.is_empty() {
        return Err(BenchError::NoInput { what: settings.table.display().to_string() });
    }
    // Compares, and fills the cache.
    for place in &places {
        let [plain, cached] = [read(&contenders[0], *place)?, read(&contenders[1], *place)?];
        if plain != cached {
            return Err(wrong("cached", settings.table.display().to_string()));
        }
    }
    let before = cache.counts();
    let times =
        race(&mut contenders, settings.rounds, Order::Random(settings.seed), |contender| {
            let pass = || places.iter().try_for_each(|place| read(contender, *place).map(drop));
            Ok(vec![seconds(pass)? * 1e6 / places.len() as f64])
        })?;
    let counts = cache.counts().since(before);
    Ok(Results {
        name: name_of(&settings.table),
        reads: places.len(),
        miss_us: times[0].median(0),
        hit_us: times[1].median(0),
        found: counts.hits as f64 / (counts.hits + counts.misses).max(1) as f64,
    })
}

/// The rows of a granule, with all columns.
fn read(
    contender: &Contender,
    (part, granule): (usize, usize),
) -> Result<Vec<impl PartialEq + use<>>, BenchError> {
    let part = &contender.parts[part];
    let request = ReadRequest {
        columns: (0..part.columns().len()).collect(),
        granules: std::iter::once(granule..granule + 1).collect(),
        batch_rows: 65_536,
        strings: Strings::Binary,
    };
    let reader = part.read(request).map_err(|error| failed(contender.name, &error))?;
    let batches = reader.map(|batch| batch.map_err(|error| failed(contender.name, &error)));
    batches.collect()
}

fn failed(contender: &str, error: &dyn std::error::Error) -> BenchError {
    BenchError::Library { contender: contender.to_owned(), reason: error.to_string() }
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
