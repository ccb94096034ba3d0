//! The experiment: how many records per second can be read in random order, and how small are they kept?
//!
//! The reference, B, is what the article on dictionary compression did: libzstd at level 1, every record a frame, a dictionary
//! of 112 KiB, everything in memory. The record store holds its sealed segments in memory, too, and checks the sum of every
//! record that it reads, which B does not. The contenders take turns in a random order, in one process, and read the same
//! ids; figures are medians over the rounds, in processor time of the thread. Every record that anybody reads is compared
//! with the source before the rounds begin.

mod contender;
pub mod keys;
mod log;
mod page;
mod recovery;
#[cfg(feature = "rocksdb")]
mod rocks;

use crate::BenchError;
use crate::measure::{Order, race, seconds};
use contender::{Frames, Reads, Store};
pub use page::table;
pub use recovery::{Recovery, recovery};
use std::path::PathBuf;
use std::sync::Arc;
use tambour_record::{Batch, Group, Storage, disk};
use tambour_report::random::Random;

/// What to measure, and how often.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Passes of every contender.
    pub rounds: usize,
    /// Reads of a pass.
    pub reads: usize,
    /// Order of contenders, ids, and the generated log.
    pub seed: u64,
    /// Raw bytes of the generated log.
    pub log_bytes: usize,
    /// An empty or new directory for the stores; best on a tmpfs. It is left as it is.
    pub directory: PathBuf,
}

/// Records to measure on.
#[derive(Clone, Debug)]
pub struct Corpus {
    /// What they are.
    pub name: String,
    /// Themselves.
    pub records: Batch,
}

/// What a contender did on a corpus.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// Who.
    pub name: String,
    /// Bytes kept for all records.
    pub stored_bytes: u64,
    /// Raw bytes by stored bytes.
    pub ratio: f64,
    /// Single reads per second.
    pub gets: f64,
    /// Reads per second of many at once.
    pub get_many: f64,
    /// Raw bytes encoded per second: sealing, or the loop over frames.
    pub write_rate: f64,
}

/// All scores of a corpus; the first is that of B.
#[derive(Clone, Debug)]
pub struct CorpusScores {
    /// What it is.
    pub name: String,
    /// Records.
    pub records: usize,
    /// Their bytes.
    pub raw_bytes: u64,
    /// Of all contenders.
    pub scores: Vec<Score>,
}

/// All that was measured.
#[derive(Clone, Debug)]
pub struct Results {
    /// What was asked for.
    pub settings: Settings,
    /// One per corpus.
    pub corpora: Vec<CorpusScores>,
}

/// The generated log of the settings.
pub fn generated(settings: &Settings) -> Corpus {
    let records = log::Log::new(settings.seed).batch(settings.log_bytes);
    Corpus { name: format!("generated log, {} MB", settings.log_bytes / 1_000_000), records }
}

/// Runs the experiment.
pub fn run(
    corpora: &[Corpus],
    settings: &Settings,
    observe: &mut dyn FnMut(&str),
) -> Result<Results, BenchError> {
    let storage = disk();
    let io = |source| BenchError::Io { path: settings.directory.clone(), source };
    std::fs::create_dir_all(&settings.directory).map_err(io)?;
    let mut scores = Vec::new();
    for (number, corpus) in corpora.iter().enumerate() {
        if corpus.records.is_empty() {
            return Err(BenchError::NoInput { what: corpus.name.clone() });
        }
        observe(&corpus.name);
        scores.push(measure(corpus, number, settings, &storage)?);
    }
    Ok(Results { settings: settings.clone(), corpora: scores })
}

fn contenders(
    corpus: &Corpus,
    number: usize,
    settings: &Settings,
    storage: &Arc<dyn Storage>,
) -> Result<Vec<Box<dyn Reads>>, BenchError> {
    let records = &corpus.records;
    let mut all: Vec<Box<dyn Reads>> =
        vec![Box::new(Frames::new(records, true)?), Box::new(Frames::new(records, false)?)];
    for group in [1, 4, 8] {
        let directory = settings.directory.join(format!("corpus-{number}-x{group}"));
        let group = Group::Fixed(group);
        all.push(Box::new(Store::new(storage, &directory, records, group)?));
    }
    #[cfg(feature = "rocksdb")]
    {
        let directory = settings.directory.join(format!("corpus-{number}-rocksdb"));
        all.push(Box::new(rocks::Rocks::new(&directory, records)?));
    }
    Ok(all)
}

fn measure(
    corpus: &Corpus,
    number: usize,
    settings: &Settings,
    storage: &Arc<dyn Storage>,
) -> Result<CorpusScores, BenchError> {
    let records = &corpus.records;
    let mut all = contenders(corpus, number, settings, storage)?;
    let mut random = Random::new(settings.seed);
    let ids: Vec<u64> = (0..settings.reads).map(|_| random.below(records.len() as u64)).collect();
    for contender in &mut all {
        compare(&mut **contender, corpus)?;
    }
    let times = race(&mut all, settings.rounds, Order::Random(settings.seed), |contender| {
        let mut bytes = 0;
        let mut count = |_: usize, record: &[u8]| bytes += record.len();
        let one_by_one = seconds(|| contender.get(&ids, &mut count))?;
        let many = seconds(|| contender.get_many(&ids, &mut count))?;
        std::hint::black_box(bytes);
        Ok(vec![one_by_one, many])
    })?;
    let raw_bytes = records.bytes().len() as u64;
    let rate = |seconds: f64| ids.len() as f64 / seconds.max(1e-9);
    let scores = all.iter().zip(&times).map(|(contender, times)| Score {
        name: contender.name().to_owned(),
        stored_bytes: contender.stored_bytes(),
        ratio: raw_bytes as f64 / contender.stored_bytes().max(1) as f64,
        gets: rate(times.median(0)),
        get_many: rate(times.median(1)),
        write_rate: contender.write_rate(),
    });
    let (name, scores) = (corpus.name.clone(), scores.collect());
    Ok(CorpusScores { name, records: records.len(), raw_bytes, scores })
}

/// Reads every record both ways and compares it with the source.
fn compare(contender: &mut dyn Reads, corpus: &Corpus) -> Result<(), BenchError> {
    let ids: Vec<u64> = (0..corpus.records.len() as u64).collect();
    let mut wrong = None;
    let mut seen = 0;
    let mut check = |k: usize, record: &[u8]| {
        seen += 1;
        if corpus.records.get(k) != Some(record) && wrong.is_none() {
            wrong = Some(k);
        }
    };
    contender.get(&ids, &mut check)?;
    contender.get_many(&ids, &mut check)?;
    if seen == 2 * ids.len() && wrong.is_none() {
        return Ok(());
    }
    Err(BenchError::WrongOutput {
        contender: contender.name().to_owned(),
        file: corpus.name.clone(),
        block: wrong.unwrap_or(seen),
        reason: "differs from the record that was written".to_owned(),
    })
}
