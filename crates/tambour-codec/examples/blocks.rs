//! Decodes files of blocks again and again: `blocks ROUNDS FILE...`, where a file holds blocks of any codec, as a column's
//! `.bin` does. Prints for each file the bytes stored and decoded, and the median speed in GB/s of decoded bytes by processor
//! time, checksums included. The target is one buffer that each block overwrites, as a scan does.
#![expect(clippy::print_stdout, reason = "a measurement for the terminal")]

use std::error::Error;
use tambour_codec::CodecError;
use tambour_codec::block::{Block, Decoder};

/// Bytes to decode in a round.
const ROUND_BYTES: u64 = 100_000_000;

/// Decodes all blocks, one over the other; the bytes that came out.
fn decode(stored: &[u8], decoder: &mut Decoder, target: &mut Vec<u8>) -> Result<u64, CodecError> {
    let (mut at, mut bytes) = (0, 0);
    while at < stored.len() {
        let block = Block::parse(&stored[at..])?;
        let size = block.header.uncompressed_size as usize;
        if target.len() < size {
            target.resize(size, 0);
        }
        decoder.decode(&block, &mut target[..size])?;
        std::hint::black_box(&target);
        (at, bytes) = (at + block.header.block_bytes(), bytes + size as u64);
    }
    Ok(bytes)
}

/// Processor time of this thread in nanoseconds: other work on the machine does not count.
fn thread_time() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(0)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((rounds, files)) = arguments.split_first() else {
        return Err("usage: blocks ROUNDS FILE...".into());
    };
    let rounds: usize = rounds.parse()?;
    for path in files {
        let stored = std::fs::read(path)?;
        let (mut decoder, mut target) = (Decoder::new(), Vec::new());
        let bytes = decode(&stored, &mut decoder, &mut target)?;
        // The clock is late by a tick of the system at most, so that a round is many ticks.
        let repeats = ROUND_BYTES / bytes.max(1) + 1;
        let mut seconds = Vec::with_capacity(rounds);
        for _ in 0..rounds.max(1) {
            let start = thread_time();
            for _ in 0..repeats {
                decode(&stored, &mut decoder, &mut target)?;
            }
            seconds.push((thread_time() - start) as f64 * 1e-9 / repeats as f64);
        }
        seconds.sort_by(f64::total_cmp);
        let speed = bytes as f64 * 1e-9 / seconds[seconds.len() / 2];
        println!("{path}\t{}\t{bytes}\t{speed:.3}", stored.len());
    }
    Ok(())
}
