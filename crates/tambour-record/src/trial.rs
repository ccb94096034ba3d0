//! What is decided by trying: which dictionary, which codec, how many records to a group.

use super::GROUP_RECORDS_MAX;
use super::RecordError;
use super::batch::Batch;
use super::codec::{Codec, Decoder, Encoder, GROUP_MARGIN};
use super::dictionary::Dictionary;

/// How many records share a group.
#[derive(Clone, Copy, Debug)]
pub enum Group {
    /// This many, 1 to 16.
    Fixed(usize),
    /// The most with which a thread still reads this many records per second, found by trial. A larger group is only taken if
    /// it is smaller by [`GROUP_GAIN`].
    Floor {
        /// Reads per second and thread.
        reads_per_second: f64,
        /// Seconds of processor time of this thread: libraries read no clock.
        clock: fn() -> f64,
    },
}

/// A dictionary, a larger group: worth it from this part of the size on.
pub(super) const GROUP_GAIN: f64 = 0.03;
/// A new dictionary must make records that it does not know smaller by this part.
pub(super) const DICTIONARY_GAIN: f64 = 0.03;
/// A harder search must make records smaller by this part.
const EFFORT_GAIN: f64 = 0.02;
/// The level of LZ4 that is tried against a harder one.
const EASY_LEVEL: i32 = 5;
/// Raw bytes of the sample to train from. What is longer takes longer and finds little more.
const TRAIN_BYTES: usize = 3 << 20;
/// Of small segments, this part is the sample, and this many bytes at least.
const TRAIN_PART: usize = 6;
const TRAIN_BYTES_MIN: usize = 1 << 20;
/// Raw bytes of the sample to compare with.
pub(super) const HELD_OUT_BYTES: usize = 256 << 10;
/// Passes over the sample when reads are timed; the fastest counts.
const PASSES: usize = 5;

/// Raw bytes of the sample for a segment of this many: training takes a tenth of the time of sealing, or less.
pub(super) fn train_bytes(total: usize) -> usize {
    (total / TRAIN_PART).clamp(TRAIN_BYTES_MIN, TRAIN_BYTES)
}

/// Two samples of a batch that have no record in common.
pub(super) struct Samples {
    pub(super) train: Batch,
    pub(super) held_out: Batch,
}

impl Samples {
    /// Spreads both samples over all records: runs of neighbours, so that groups can be tried, too.
    pub(super) fn of(records: &Batch) -> Self {
        let (mut train, mut held_out) = (Batch::default(), Batch::default());
        let runs = records.len().div_ceil(GROUP_RECORDS_MAX);
        let total = records.bytes().len().max(1);
        let every = |wanted: usize, least: usize| (total / wanted).max(least);
        let (test_every, train_every) = (every(HELD_OUT_BYTES, 8), every(train_bytes(total), 1));
        let mut since = 0;
        for run in 0..runs {
            let first = run * GROUP_RECORDS_MAX;
            let range = first..records.len().min(first + GROUP_RECORDS_MAX);
            let target = if run % test_every == test_every / 2 {
                &mut held_out
            } else if since == 0 {
                since = train_every - 1;
                &mut train
            } else {
                since -= 1;
                continue;
            };
            for record in range {
                target.push(records.get(record).unwrap_or_default(), None);
            }
        }
        if held_out.is_empty() {
            held_out = train.clone();
        }
        Self { train, held_out }
    }

    /// A dictionary from the first sample.
    pub(super) fn train(&self, bytes_max: usize) -> Dictionary {
        let lengths: Vec<usize> = self.train.lengths().collect();
        Dictionary::train(self.train.bytes(), &lengths, bytes_max)
    }
}

/// A way to encode, with what it makes of a sample.
#[derive(Clone, Debug)]
pub(super) struct Way {
    pub(super) codec: Codec,
    pub(super) level: i32,
    pub(super) dictionary: Dictionary,
}

/// Bytes of the sample in groups, and the groups themselves side by side with their ends.
pub(super) fn encode(
    sample: &Batch,
    way: &Way,
    group: usize,
) -> Result<(Vec<u8>, Vec<usize>), RecordError> {
    let mut encoder = Encoder::new(way.codec, way.level, &way.dictionary)?;
    let (mut bytes, mut ends) = (Vec::new(), Vec::new());
    for first in (0..sample.len()).step_by(group.max(1)) {
        let records = first..sample.len().min(first + group.max(1));
        encoder.encode(sample.bytes_of(records), &mut bytes)?;
        ends.push(bytes.len());
    }
    Ok((bytes, ends))
}

/// Bytes that `raw` bytes take, by what the held-out sample takes with its sums, and the dictionary.
pub(super) fn estimate(samples: &Samples, way: &Way, raw: u64) -> Result<f64, RecordError> {
    let held_out = &samples.held_out;
    let (bytes, ends) = encode(held_out, way, 1)?;
    let part = (bytes.len() + 4 * ends.len()) as f64 / held_out.bytes().len().max(1) as f64;
    let stored = way.dictionary.store(3)?.len();
    Ok(part * raw as f64 + stored as f64)
}

/// The way with the smallest estimate, where a newer one must be better than those before it by a margin: none, then the
/// dictionaries that were used so far, then the one of these records. Also whether that one was taken.
pub(super) fn choose(
    samples: &Samples,
    raw: u64,
    codec: Codec,
    level: i32,
    known: &[&Dictionary],
    own: &Dictionary,
) -> Result<(Way, bool), RecordError> {
    let way = |dictionary: &Dictionary| Way { codec, level, dictionary: dictionary.clone() };
    let mut best = way(&Dictionary::default());
    let mut size = estimate(samples, &best, raw)?;
    let mut own_taken = false;
    let known = known.iter().map(|dictionary| (*dictionary, false));
    for (dictionary, is_own) in known.chain([(own, true)]) {
        if dictionary.is_empty() || dictionary.sum() == best.dictionary.sum() {
            continue;
        }
        let candidate = way(dictionary);
        let candidate_size = estimate(samples, &candidate, raw)?;
        if candidate_size <= size * (1.0 - DICTIONARY_GAIN) {
            (best, size, own_taken) = (candidate, candidate_size, is_own);
        }
    }
    let sums = 4.0 * samples.held_out.len() as f64 / samples.held_out.bytes().len().max(1) as f64;
    if size > raw as f64 * (1.0 + sums) * (1.0 - DICTIONARY_GAIN) {
        best = Way { codec: Codec::Raw, level: 0, dictionary: Dictionary::default() };
        own_taken = false;
    }
    Ok((best, own_taken))
}

/// The way with the least effort that comes near: with some dictionaries all levels find nearly the same, with others
/// the higher ones find a fifth more.
pub(super) fn ease(samples: &Samples, raw: u64, way: Way) -> Result<Way, RecordError> {
    if way.codec != Codec::Lz4 || way.level <= EASY_LEVEL {
        return Ok(way);
    }
    let easy = Way { level: EASY_LEVEL, ..way.clone() };
    let (least, size) = (estimate(samples, &way, raw)?, estimate(samples, &easy, raw)?);
    Ok(if size * (1.0 - EFFORT_GAIN) <= least { easy } else { way })
}

/// The size of groups, by trial where it is not given.
pub(super) fn group(sample: &Batch, way: &Way, group: Group) -> Result<usize, RecordError> {
    let (floor, clock) = match group {
        Group::Fixed(group) => return Ok(group.clamp(1, GROUP_RECORDS_MAX)),
        Group::Floor { reads_per_second, clock } => (reads_per_second, clock),
    };
    let mut best = (1, f64::INFINITY);
    for size in [1, 2, 4, 8, 16] {
        let (mut bytes, ends) = encode(sample, way, size)?;
        let stored = (bytes.len() + 4 * ends.len()) as f64;
        bytes.resize(bytes.len() + GROUP_MARGIN, 0);
        if size > 1 && reads(sample, way, size, &bytes, &ends, clock)? < floor {
            break;
        }
        if stored <= best.1 * (1.0 - GROUP_GAIN) || size == 1 {
            best = (size, stored);
        }
    }
    Ok(best.0)
}

/// Reads per second of records in scattered order.
fn reads(
    sample: &Batch,
    way: &Way,
    size: usize,
    bytes: &[u8],
    ends: &[usize],
    clock: fn() -> f64,
) -> Result<f64, RecordError> {
    let longest =
        (0..ends.len()).map(|group| group_bytes(sample, size, group, size)).max().unwrap_or(0);
    let mut decoder = Decoder::new(way.codec, &way.dictionary, longest)?;
    let mut best = 0.0_f64;
    let mut seen = 0_usize;
    for _ in 0..PASSES {
        let before = clock();
        for step in 0..sample.len() {
            // An odd multiplier scatters the steps.
            let record = step.wrapping_mul(0x9e37_79b1) % sample.len();
            let group = record / size;
            let start = group.checked_sub(1).map_or(0, |before| ends[before]);
            let wanted = group_bytes(sample, size, group, record % size + 1);
            let decoded = decoder.decode(&bytes[start..], ends[group] - start, wanted);
            seen += decoded.map_or(0, <[u8]>::len);
        }
        let seconds = clock() - before;
        if seconds > 0.0 {
            best = best.max(sample.len() as f64 / seconds);
        }
    }
    // Nothing decoded, nothing measured.
    Ok(if std::hint::black_box(seen) == 0 { 0.0 } else { best })
}

/// Raw bytes of the first records of a group.
fn group_bytes(sample: &Batch, size: usize, group: usize, records: usize) -> usize {
    let first = group * size;
    sample.bytes_of(first..sample.len().min(first + records)).len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Letters of an alphabet of this many, the same for the same seed.
    fn letters(seed: u64, count: usize, alphabet: u64) -> Vec<u8> {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut letter = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            b'A' + ((state >> 33) % alphabet).to_le_bytes()[0]
        };
        (0..count).map(|_| letter()).collect()
    }

    /// The level that is left of 8 for records made of pieces of a dictionary.
    fn eased(alphabet: u64, codec: Codec) -> i32 {
        let known = letters(1, 60_000, alphabet);
        let mut batch = Batch::default();
        for record in 0..600 {
            let pieces = (0..6).flat_map(|piece| {
                let at = (record * 6 + piece) * 7919 % (known.len() - 24);
                known[at..at + 24].to_vec()
            });
            batch.push(&pieces.collect::<Vec<u8>>(), None);
        }
        let samples = Samples { train: batch.clone(), held_out: batch };
        let dictionary = Dictionary::new(known).unwrap();
        ease(&samples, 1 << 30, Way { codec, level: 8, dictionary }).unwrap().level
    }

    #[test]
    fn a_harder_search_is_kept_only_where_it_finds_more() {
        // With four letters there are hundreds of places that begin alike, and only one goes on alike.
        assert_eq!(eased(4, Codec::Lz4), 8);
        // With many the first place that begins alike is the one.
        assert_eq!(eased(60, Codec::Lz4), EASY_LEVEL);
        // Levels of zstd are something else.
        assert_eq!(eased(60, Codec::Zstd), 8);
    }
}
