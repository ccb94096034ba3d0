//! Passes over all messages.

use super::contender::{Shared, Way, ends};
use super::{Messages, Settings};
use crate::BenchError;
use crate::measure::{Order, Times, race, seconds};
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
    let mut ways = Way::ALL.map(|way| (way, None));
    let times = race(&mut ways, settings.rounds, Order::AsGiven, |(way, first)| {
        observe(way.name());
        let pass = pass(*way, messages, shared)?;
        let seconds = vec![pass.encode_seconds, pass.decode_seconds];
        // Bytes are the same in every round; by how much the process grows shows in the first.
        first.get_or_insert(pass);
        Ok(seconds)
    })?;
    let timing = |((_, first), times): ((Way, Option<Timing>), Times)| {
        let (encode_seconds, decode_seconds) = (times.median(0), times.median(1));
        first.map(|first| Timing { encode_seconds, decode_seconds, ..first })
    };
    Ok(ways.into_iter().zip(times).filter_map(timing).collect())
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
        decoded.clear();
        let encode_seconds = seconds(|| {
            for (connection, message) in batch {
                ends.encode(*connection, message, &mut encoded)?;
                lengths.push(encoded.len());
            }
            Ok(())
        })?;
        let decode_seconds = seconds(|| {
            let mut at = 0;
            for ((connection, _), &end) in batch.iter().zip(&lengths) {
                ends.decode(*connection, &encoded[at..end], &mut decoded)?;
                at = end;
            }
            Ok(())
        })?;
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
