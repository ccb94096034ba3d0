//! The loops of the ticket that Xapian's encodings come from, and documents made of its two histograms.
//!
//! `cargo run --release -p tambour-check --example ticket_speed [-- ROUNDS]`
//!
//! A loop encodes `x0`, `x0 / 2`, … down to 1, one after another into a buffer; figures are nanoseconds of thread CPU time
//! per loop, medians. Beside them stands what Xapian's own functions took, each value appended to a `std::string`, compiled by
//! g++ 12 and clang 16 with `-O3`; those were measured on the same kind of machine, in other processes.
#![expect(clippy::print_stdout, reason = "a report for people")]
#![expect(
    clippy::redundant_closure_for_method_calls,
    reason = "a method as a value is for one lifetime, and the loops make many"
)]

use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use tambour_check::generate::Random;
use tambour_check::integer::{Spread, values};
use tambour_int::{Document, IntError, Term, Writer};

/// Where loops start.
const STARTS: [u64; 3] = [0xff, 0xfff, u64::MAX];

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Median seconds of a piece of work.
fn median(rounds: usize, mut work: impl FnMut()) -> f64 {
    let mut seconds: Vec<f64> = (0..rounds)
        .map(|_| {
            let start = cpu_seconds();
            work();
            cpu_seconds() - start
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

/// The loops of one encoding; `others` are the nanoseconds of g++ and clang for each start.
fn loops(
    rounds: usize,
    name: &str,
    others: [[f64; 2]; 3],
    encode: impl Fn(&mut Writer<'_>, u64) -> Result<(), IntError>,
) {
    const REPEATS: u32 = 20_000;
    for (start, [gcc, clang]) in STARTS.into_iter().zip(others) {
        let mut target = [0; 1024];
        let seconds = median(rounds, || {
            for _ in 0..REPEATS {
                let mut writer = Writer::new(black_box(&mut target));
                let mut value = black_box(start);
                while value > 0 {
                    encode(&mut writer, value).unwrap_or_default();
                    value >>= 1;
                }
                black_box(writer.written());
            }
        });
        let nanoseconds = seconds / f64::from(REPEATS) * 1e9;
        println!("{name:<28} {start:>#18x} {nanoseconds:>8.1} {gcc:>8.1} {clang:>8.1}");
    }
}

fn all_loops(rounds: usize) {
    println!("{:<28} {:>18} {:>8} {:>8} {:>8}", "loop", "x0", "ours", "g++", "clang");
    let figures = [[14.7, 14.6], [38.2, 38.6], [519.0, 421.0]];
    loops(rounds, "encode_length", figures, |writer, value| writer.encode_length(value));
    let figures = [[9.2, 7.8], [30.4, 20.7], [317.0, 258.0]];
    loops(rounds, "pack_uint", figures, |writer, value| writer.pack_uint(value));
    let figures = [[10.9, 8.6], [28.8, 23.1], [243.0, 255.0]];
    loops(rounds, "pack_uint_last", figures, |writer, value| writer.pack_uint_last(value));
    let figures = [[29.6, 16.0], [28.9, 20.3], [463.0, 253.0]];
    loops(rounds, "pack_uint_preserving_sort", figures, |writer, value| {
        writer.pack_uint_preserving_sort(value)
    });
}

/// Documents whose frequencies, gaps between positions and lengths are values of a histogram.
fn documents(spread: Spread) -> Vec<Document> {
    let mut random = Random::new(5);
    let mut numbers = values(spread, 1 << 16, 9).into_iter().cycle();
    let mut next = |limit: u32| numbers.next().unwrap_or(0) % limit;
    let mut one = || {
        let mut document = Document::default();
        for slot in 0..4 {
            document.values.insert(slot, vec![b'v'; next(40) as usize]);
        }
        for _ in 0..100 {
            let name = format!("{:x}", random.number() >> 36);
            let mut position = 0;
            let positions = (0..=random.below(3)).map(|_| {
                position += 1 + next(1 << 20);
                position
            });
            let term = Term { positions: positions.collect(), wdf: 0 };
            document.terms.insert(name.into_bytes(), term);
        }
        for term in document.terms.values_mut() {
            term.wdf = next(u32::MAX);
        }
        document
    };
    (0..200).map(|_| one()).collect()
}

fn report_documents(name: &str, spread: Spread, rounds: usize) {
    let documents = documents(spread);
    let encode = |document: &Document| {
        let mut bytes = Vec::new();
        let written = document.write(&mut bytes);
        assert_eq!(written, Ok(()), "positions ascend");
        bytes
    };
    let encoded: Vec<Vec<u8>> = documents.iter().map(encode).collect();
    for (bytes, document) in encoded.iter().zip(&documents) {
        assert_eq!(Document::read(bytes).as_ref(), Ok(document));
    }
    let bytes: usize = encoded.iter().map(Vec::len).sum();
    let mut target = Vec::new();
    let write = median(rounds, || {
        for document in &documents {
            target.clear();
            document.write(&mut target).unwrap_or_default();
            black_box(&target);
        }
    });
    let read = median(rounds, || {
        for bytes in &encoded {
            black_box(Document::read(black_box(bytes)).is_ok());
        }
    });
    let count = documents.len() as f64;
    println!(
        "{name:<28} {:>8.0} bytes, written in {:>6.2} us, read in {:>6.2} us",
        bytes as f64 / count,
        write / count * 1e6,
        read / count * 1e6
    );
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rounds = std::env::args().nth(1).map_or(Ok(31), |text| text.parse())?;
    println!("{rounds} rounds; nanoseconds per loop");
    all_loops(rounds);
    println!("\ndocuments of 100 terms");
    report_documents("test suite's histogram", Spread::Ticket, rounds);
    report_documents("reporter's histogram", Spread::Reporter, rounds);
    Ok(())
}
