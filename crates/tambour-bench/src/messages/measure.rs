//! Passes over all messages.

use super::contender::{Shared, Way, ends};
use super::{Messages, Settings};
use crate::BenchError;
use crate::clock::thread_seconds;
use rustix::param::page_size;

/// Messages that are encoded before they are decoded.
const BATCH: usize = 1000;

/// What was measured of a contender.
#[derive(Clone, Debug, PartialEq)]
pub struct Timing {
    /// Who it was.
    pub way: Way,
    /// Messages that were timed.
    pub messages: usize,
    /// Their bytes.
    pub bytes: usize,
    /// Their bytes when encoded.
    pub encoded_bytes: usize,
    /// Seconds for encoding them, median over the rounds.
    pub encode_seconds: f64,
    /// The same for decoding.
    pub decode_seconds: f64,
    /// Bytes that senders say they have taken, at the end.
    pub sender_bytes: usize,
    /// Bytes that receivers say they have taken.
    pub receiver_bytes: usize,
    /// By how much the process grew in the first pass; 0 where the system does not tell.
    pub resident_bytes: usize,
}

impl Timing {
    /// Compression ratio.
    pub fn ratio(&self) -> f64 {
        self.bytes as f64 / self.encoded_bytes as f64
    }

    /// Messages encoded per second.
    pub fn encoded_per_second(&self) -> f64 {
        self.messages as f64 / self.encode_seconds
    }

    /// Messages decoded per second.
    pub fn decoded_per_second(&self) -> f64 {
        self.messages as f64 / self.decode_seconds
    }

    /// Messages encoded and decoded per second.
    pub fn both_per_second(&self) -> f64 {
        self.messages as f64 / (self.encode_seconds + self.decode_seconds)
    }
}

/// Measures all contenders, in turns.
pub(super) fn all(
    messages: &Messages,
    shared: &Shared,
    settings: &Settings,
    observe: &mut dyn FnMut(&str),
) -> Result<Vec<Timing>, BenchError> {
    let mut passes = vec![Vec::new(); Way::ALL.len()];
    for _ in 0..settings.rounds.max(1) {
        for (way, passes) in Way::ALL.into_iter().zip(&mut passes) {
            observe(way.name());
            passes.push(pass(way, messages, shared)?);
        }
    }
    let summary = |passes: Vec<Timing>| {
        let middle = |seconds: fn(&Timing) -> f64| {
            let mut all: Vec<f64> = passes.iter().map(seconds).collect();
            all.sort_by(f64::total_cmp);
            all[all.len() / 2]
        };
        let (encode_seconds, decode_seconds) =
            (middle(|pass| pass.encode_seconds), middle(|pass| pass.decode_seconds));
        Timing { encode_seconds, decode_seconds, ..passes[0].clone() }
    };
    Ok(passes.into_iter().map(summary).collect())
}

fn pass(way: Way, messages: &Messages, shared: &Shared) -> Result<Timing, BenchError> {
    let connections = messages.iter().map(|&(connection, _)| connection + 1).max().unwrap_or(1);
    let before = resident_bytes();
    let mut ends = ends(way, shared, connections)?;
    let mut timing = Timing {
        way,
        messages: 0,
        bytes: 0,
        encoded_bytes: 0,
        encode_seconds: 0.0,
        decode_seconds: 0.0,
        sender_bytes: 0,
        receiver_bytes: 0,
        resident_bytes: 0,
    };
    let (mut encoded, mut lengths, mut decoded) = (Vec::new(), Vec::new(), Vec::new());
    // Few messages are several batches as well: the first third is not counted.
    let batch_messages = BATCH.min(messages.len().div_ceil(6)).max(1);
    for (number, batch) in messages.chunks(batch_messages).enumerate() {
        encoded.clear();
        lengths.clear();
        let start = thread_seconds();
        for (connection, message) in batch {
            ends.encode(*connection, message, &mut encoded)?;
            lengths.push(encoded.len());
        }
        let encode_seconds = thread_seconds() - start;
        let mut decode_seconds = 0.0;
        let mut at = 0;
        decoded.clear();
        let start = thread_seconds();
        for ((connection, _), &end) in batch.iter().zip(&lengths) {
            ends.decode(*connection, &encoded[at..end], &mut decoded)?;
            at = end;
        }
        decode_seconds += thread_seconds() - start;
        compare(way, number, batch, &decoded)?;
        // The first third fills the memory of the streams.
        if number * batch_messages * 3 >= messages.len() {
            timing.messages += batch.len();
            timing.bytes += decoded.len();
            timing.encoded_bytes += encoded.len();
            timing.encode_seconds += encode_seconds;
            timing.decode_seconds += decode_seconds;
        }
    }
    (timing.sender_bytes, timing.receiver_bytes) = ends.declared_bytes();
    timing.resident_bytes = resident_bytes().saturating_sub(before);
    Ok(timing)
}

fn compare(
    way: Way,
    number: usize,
    batch: &[(usize, Vec<u8>)],
    decoded: &[u8],
) -> Result<(), BenchError> {
    let expected = batch.iter().flat_map(|(_, message)| message);
    if expected.eq(decoded) {
        return Ok(());
    }
    Err(BenchError::WrongOutput {
        contender: way.name().to_owned(),
        file: "messages".to_owned(),
        block: number,
        reason: "the messages are not those that were encoded".to_owned(),
    })
}

/// Memory of this process that is in use, where Linux tells.
fn resident_bytes() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok());
    pages.unwrap_or(0) * page_size()
}
