//! What a call from C costs beside the crate's own: prints medians, judges nothing.
//!
//! `cargo test --release -p tambour-capi --lib -- --ignored --nocapture cost`

use crate::{tambour_lz4_bound, tambour_lz4_decode, tambour_lz4_encode};
use std::hint::black_box;
use std::time::Instant;
use tambour_kernel::lz4::{Policy, Selector, ticks};
use tambour_kernel::variant::Isa;

const CALLS: u32 = 20_000;
const ROUNDS: usize = 41;

/// Nanoseconds of one of many calls.
#[expect(clippy::disallowed_methods, reason = "a measurement")]
fn time(call: &mut dyn FnMut()) -> f64 {
    let start = Instant::now();
    (0..CALLS).for_each(|_| call());
    start.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Text that repeats itself a little, as a block.
fn block(length: usize) -> (Vec<u8>, Vec<u8>) {
    let plain = b"drum base, drum shaft, drum capital; ".repeat(9)[..length].to_vec();
    let mut encoded = vec![0; tambour_lz4_bound(length)];
    // SAFETY: both are vectors of the lengths given.
    let bytes = unsafe {
        tambour_lz4_encode(9, plain.as_ptr(), length, encoded.as_mut_ptr(), encoded.len())
    };
    encoded.truncate(bytes);
    (plain, encoded)
}

#[test]
#[ignore = "a measurement: its command is above"]
fn cost_of_a_call() {
    let mut selector = Selector::new(Policy::Adaptive, Isa::best(), ticks);
    println!("bytes  own call  from C  (ns, medians of {ROUNDS} rounds in turns)");
    for length in [20, 100, 300] {
        let (plain, encoded) = block(length);
        let mut target = vec![0_u8; length];
        let (mut own, mut from_c) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            own.push(time(&mut || {
                black_box(selector.decode(black_box(&encoded), &mut target)).unwrap();
            }));
            from_c.push(time(&mut || {
                let (source, n, m) = (encoded.as_ptr(), encoded.len(), target.len());
                // SAFETY: both are vectors of the lengths given.
                let good =
                    unsafe { tambour_lz4_decode(black_box(source), n, target.as_mut_ptr(), m) };
                assert!(good);
            }));
            assert_eq!(target, plain);
        }
        println!("{length:5} {:9.1} {:7.1}", median(own), median(from_c));
    }
}
