//! The experiment: how many records per second are found by their keys, in a store of very many?
//!
//! Records are made from their number, so that nobody has to hold all of them: JSON of 100 to 400 bytes under keys of 20
//! bytes that stand in no order. The contenders hold the same records; those that have a cache get as many bytes as the
//! record store takes in memory. They take turns in a random order, in one process, and look for the same keys, one in a
//! hundred of which nobody has; figures are medians over the rounds, in processor time of the thread. What is found is
//! compared outside of the time.

mod contender;
#[cfg(feature = "redb")]
mod redb;
#[cfg(feature = "rocksdb")]
mod rocks;

use crate::BenchError;
use crate::measure::{Order, race, seconds};
use contender::{Frames, Looks, Store};
use std::fmt::Write;
use std::path::PathBuf;
use tambour_report::Table;
use tambour_report::random::Random;

/// Level of libzstd and bytes of the dictionary that contenders compress values with.
const LEVEL: i32 = 1;
const DICTIONARY_BYTES: usize = 64 << 10;
/// Records that the dictionary is trained on.
const SAMPLE_RECORDS: u64 = 30_000;
/// One key in this many that are looked for is of nobody.
const UNKNOWN: u64 = 100;

/// What to measure, and how often.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Records of each contender.
    pub records: u64,
    /// Passes of every contender.
    pub rounds: usize,
    /// Keys that a pass looks for.
    pub looks: usize,
    /// Order of contenders, keys, and the records.
    pub seed: u64,
    /// An empty or new directory; best on a tmpfs. It is left as it is.
    pub directory: PathBuf,
}

/// What a contender did.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// Who.
    pub name: String,
    /// Bytes that it keeps, with all that it needs to find a record.
    pub stored_bytes: u64,
    /// Keys per second, one by one.
    pub single: f64,
    /// Keys per second of many at once; `None` if it has no call for that.
    pub many: Option<f64>,
}

/// All scores; the first is that of the record store.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// What was asked for.
    pub records: u64,
    /// Bytes of all records.
    pub raw_bytes: u64,
    /// Of all contenders.
    pub scores: Vec<Score>,
}

impl Results {
    /// The scores, also as multiples of the first.
    pub fn table(&self) -> Table {
        let first = self.scores.first().map_or(1.0, |score| score.single);
        let title = format!("{} records, {} bytes", self.records, self.raw_bytes);
        let ratio = |score: &Score| self.raw_bytes as f64 / score.stored_bytes.max(1) as f64;
        Table::of(title, &self.scores)
            .text("contender", |score| score.name.clone())
            .number("ratio", |score| format!("{:.2}", ratio(score)))
            .number("keys/s", |score| format!("{:.0}", score.single))
            .number("many/s", |score| {
                score.many.map_or("-".to_owned(), |many| format!("{many:.0}"))
            })
            .number("x ours", |score| format!("{:.2}", score.single / first.max(1e-9)))
            .build()
    }
}

/// Makes records and their keys from numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Maker {
    seed: u64,
}

impl Maker {
    /// The key of a record: its number, mixed, so that keys stand in no order.
    pub(super) fn key(self, number: u64, key: &mut String) {
        let mixed = Random::new(self.seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).number();
        key.clear();
        // A string can always be written to.
        let _ = write!(key, "usr-{mixed:016x}");
    }

    /// The record: 100 to 400 bytes of JSON.
    pub(super) fn record(self, number: u64, record: &mut String) {
        const CITIES: [&str; 8] =
            ["Turin", "London", "Leipzig", "Porto", "Gdansk", "Malmo", "Ghent", "Graz"];
        const WORDS: [&str; 16] = [
            "account", "verified", "by", "support", "after", "a", "second", "call", "invoice",
            "sent", "to", "the", "old", "address", "customer", "asked",
        ];
        let mut random = Random::new(self.seed.rotate_left(17) ^ number);
        record.clear();
        let _ = write!(
            record,
            "{{\"id\":{number},\"plan\":\"{}\",\"city\":\"{}\",\"logins\":{},\"balance\":{}.{:02},\"seen\":{},\"note\":\"",
            ["free", "basic", "business", "family"][random.index(4)],
            CITIES[random.index(8)],
            random.below(5000),
            random.below(10_000),
            random.below(100),
            1_700_000_000 + random.below(50_000_000),
        );
        let wanted = 112 + random.index(285);
        while record.len() + 12 < wanted {
            record.push_str(WORDS[random.index(16)]);
            record.push(' ');
        }
        record.push_str("\"}");
    }
}

/// A dictionary from records that are spread over all.
fn dictionary(maker: Maker, records: u64) -> Result<Vec<u8>, BenchError> {
    let (mut sample, mut lengths, mut record) = (Vec::new(), Vec::new(), String::new());
    let step = (records / SAMPLE_RECORDS).max(1);
    for number in (0..records).step_by(usize::try_from(step).unwrap_or(1)) {
        maker.record(number, &mut record);
        sample.extend_from_slice(record.as_bytes());
        lengths.push(record.len());
    }
    let mut dictionary = Vec::with_capacity(DICTIONARY_BYTES);
    let trained = zstd_safe::train_from_buffer(&mut dictionary, &sample, &lengths);
    trained.map_err(|code| contender::zstd_failed("zstd", code))?;
    Ok(dictionary)
}

/// Keys one after another, and the record that each has.
pub(super) struct Wanted {
    keys: Vec<String>,
    records: Vec<Option<String>>,
}

impl Wanted {
    fn new(maker: Maker, settings: &Settings) -> Self {
        let mut random = Random::new(settings.seed.wrapping_add(1));
        let (mut keys, mut records) = (Vec::new(), Vec::new());
        for _ in 0..settings.looks {
            let known = random.below(UNKNOWN) > 0;
            let number = random.below(settings.records) + if known { 0 } else { settings.records };
            let (mut key, mut record) = (String::new(), String::new());
            maker.key(number, &mut key);
            maker.record(number, &mut record);
            keys.push(key);
            records.push(known.then_some(record));
        }
        Self { keys, records }
    }
}

/// Runs the experiment.
pub fn run(settings: &Settings, observe: &mut dyn FnMut(&str)) -> Result<Results, BenchError> {
    if settings.records == 0 || settings.looks == 0 {
        return Err(BenchError::NoInput { what: "the records that were asked for".to_owned() });
    }
    let io = |source| BenchError::Io { path: settings.directory.clone(), source };
    std::fs::create_dir_all(&settings.directory).map_err(io)?;
    let maker = Maker { seed: settings.seed };
    let (mut all, raw_bytes) = contenders(settings, maker, observe)?;
    let wanted = Wanted::new(maker, settings);
    let keys: Vec<&[u8]> = wanted.keys.iter().map(String::as_bytes).collect();
    for contender in &mut all {
        observe(&format!("comparing what {} finds", contender.name()));
        compare(&mut **contender, &keys, &wanted)?;
    }
    observe("measuring");
    let times = race(&mut all, settings.rounds, Order::Random(settings.seed), |contender| {
        let mut bytes = 0;
        let mut count = |_: usize, found: Option<&[u8]>| bytes += found.map_or(0, <[u8]>::len);
        let single = seconds(|| contender.single(&keys, &mut count))?;
        let many = seconds(|| contender.many(&keys, &mut count))?;
        std::hint::black_box(bytes);
        Ok(vec![single, many])
    })?;
    let rate = |seconds: f64| keys.len() as f64 / seconds.max(1e-9);
    let scores = all.iter().zip(&times).map(|(contender, times)| Score {
        name: contender.name().to_owned(),
        stored_bytes: contender.stored_bytes(),
        single: rate(times.median(0)),
        many: contender.has_many().then(|| rate(times.median(1))),
    });
    Ok(Results { records: settings.records, raw_bytes, scores: scores.collect() })
}

/// All contenders that the program was built with, the record store first, and the bytes of the records.
fn contenders(
    settings: &Settings,
    maker: Maker,
    observe: &mut dyn FnMut(&str),
) -> Result<(Vec<Box<dyn Looks>>, u64), BenchError> {
    let Settings { records, directory, .. } = settings;
    observe("making the record store");
    let (store, raw_bytes) = Store::new(&directory.join("records"), maker, *records)?;
    #[cfg(any(feature = "redb", feature = "rocksdb"))]
    let memory = store.stored_bytes();
    let mut all: Vec<Box<dyn Looks>> = vec![Box::new(store)];
    observe("making frames in a map");
    let dictionary = dictionary(maker, *records)?;
    all.push(Box::new(Frames::new(maker, *records, &dictionary)?));
    #[cfg(feature = "redb")]
    {
        observe("making redb");
        let path = directory.join("redb");
        all.push(Box::new(redb::Redb::new(&path, maker, (*records, memory), &dictionary)?));
    }
    #[cfg(feature = "rocksdb")]
    {
        observe("making RocksDB");
        let path = directory.join("rocksdb");
        all.push(Box::new(rocks::Rocks::new(&path, maker, (*records, memory))?));
    }
    Ok((all, raw_bytes))
}

/// Looks for all keys both ways and compares what is found.
fn compare(contender: &mut dyn Looks, keys: &[&[u8]], wanted: &Wanted) -> Result<(), BenchError> {
    let mut wrong = None;
    let mut seen = 0;
    let mut check = |k: usize, found: Option<&[u8]>| {
        seen += 1;
        if wanted.records.get(k).is_none_or(|record| record.as_deref().map(str::as_bytes) != found)
        {
            wrong = wrong.or(Some(k));
        }
    };
    contender.single(keys, &mut check)?;
    contender.many(keys, &mut check)?;
    if seen == 2 * keys.len() && wrong.is_none() {
        return Ok(());
    }
    Err(BenchError::WrongOutput {
        contender: contender.name().to_owned(),
        file: "records by key".to_owned(),
        block: wrong.unwrap_or(seen),
        reason: "differs from the record that was written".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::{Maker, Settings, run};

    #[test]
    fn records_have_the_promised_length_and_keys_differ() {
        let maker = Maker { seed: 3 };
        let (mut record, mut key) = (String::new(), String::new());
        let mut keys = std::collections::HashSet::new();
        let mut lengths = Vec::new();
        for number in 0..3000 {
            maker.record(number, &mut record);
            serde_json::from_str::<serde_json::Value>(&record).unwrap();
            lengths.push(record.len());
            maker.key(number, &mut key);
            assert!(key.len() == 20 && keys.insert(key.clone()));
        }
        let (least, most) = (lengths.iter().min().unwrap(), lengths.iter().max().unwrap());
        assert!((100..140).contains(least) && (370..=400).contains(most), "{least} to {most}");
    }

    #[test]
    fn every_contender_finds_what_was_written() {
        let directory = tempfile::tempdir().unwrap();
        let (records, directory_path) = (5000, directory.path().to_owned());
        let settings =
            Settings { records, rounds: 1, looks: 2000, seed: 7, directory: directory_path };
        let results = run(&settings, &mut |_| {}).unwrap();
        assert!(results.scores.len() >= 2 && results.raw_bytes > records * 100);
        let text = results.table().to_text();
        assert!(text.contains("records") && text.contains("zstd"), "{text}");
        let none = Settings { records: 0, ..settings };
        assert!(run(&none, &mut |_| {}).is_err());
    }
}
