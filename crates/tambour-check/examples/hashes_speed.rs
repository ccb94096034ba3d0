//! Speed of hashing columns against C xxHash called per key, as in the blog's table.
//!
//! `cargo run --release -p tambour-check --example hashes_speed [-- ROUNDS [KEYS]]`
//!
//! All contenders run in one process, in turns; every output is compared with that of C; figures are medians of thread CPU time
//! in million hashes per second. `x` is the ratio to the C function that is called for each key.
#![expect(clippy::print_stdout, reason = "a report for people")]

use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use tambour_check::generate::Random;
use tambour_check::oracle;
use tambour_kernel::hash::column::{
    Hash, Keys, Offsets, XXH3_64_VARIANTS, XXH3_128_VARIANTS, XXH32_VARIANTS, XXH64_VARIANTS,
};
use tambour_kernel::hash::{self, Hash128, partition};
use tambour_kernel::variant::Variants;

/// Fills a target with hashes.
type Work<'a, H> = Box<dyn FnMut(&mut [H]) + 'a>;

struct Contender<'a, H> {
    name: String,
    run: Work<'a, H>,
    seconds: Vec<f64>,
}

impl<'a, H> Contender<'a, H> {
    fn new(name: impl Into<String>, run: impl FnMut(&mut [H]) + 'a) -> Self {
        Self { name: name.into(), run: Box::new(run), seconds: Vec::new() }
    }

    fn median(&self) -> f64 {
        let mut seconds = self.seconds.clone();
        seconds.sort_by(f64::total_cmp);
        seconds[seconds.len() / 2]
    }
}

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

fn report<H: Copy + Default + PartialEq>(
    title: &str,
    count: usize,
    mut contenders: Vec<Contender<'_, H>>,
    rounds: usize,
) {
    let mut expected = vec![H::default(); count];
    let mut target = expected.clone();
    (contenders[0].run)(&mut expected);
    let repeats = (1_usize << 20).div_ceil(count);
    for round in 0..=rounds {
        for contender in &mut contenders {
            target.fill(H::default());
            let start = cpu_seconds();
            for _ in 0..repeats {
                (contender.run)(&mut target);
                black_box(&target);
            }
            let seconds = cpu_seconds() - start;
            assert!(target == expected, "{}", contender.name);
            // The first round warms up.
            if round > 0 {
                contender.seconds.push(seconds);
            }
        }
    }
    println!("\n{title:<40} {:>8} {:>6}", "M/s", "x");
    let first = contenders[0].median();
    for contender in &contenders {
        let seconds = contender.median();
        let speed = (count * repeats) as f64 / seconds / 1e6;
        println!("{:<40} {speed:>8.0} {:>6.2}", contender.name, first / seconds);
    }
}

/// A hash function in its forms.
struct Function<H: 'static, const N: usize> {
    name: &'static str,
    c: fn(&[u8], u64) -> H,
    any_length: fn(&[u8], u64) -> H,
    constant_length: fn(&[u8; N], u64) -> H,
    variants: &'static Variants<Hash<H>>,
}

impl<H: Copy + Default + PartialEq + 'static, const N: usize> Function<H, N>
where
    [u8; N]: Keys,
{
    fn report(
        &self,
        keys: &[u8],
        count: usize,
        rounds: usize,
        inlined: impl Fn(&[[u8; N]], &mut [H]),
    ) {
        let keys = &keys.as_chunks::<N>().0[..count];
        let each = |one: fn(&[u8], u64) -> H| {
            move |target: &mut [H]| {
                for (key, hash) in keys.iter().zip(target) {
                    *hash = one(black_box(key), 0);
                }
            }
        };
        let constant = self.constant_length;
        let mut contenders = vec![
            Contender::new("C, called for each key", each(self.c)),
            Contender::new("any length, called for each key", each(self.any_length)),
            Contender::new("constant length, called for each key", move |target: &mut [H]| {
                for (key, hash) in keys.iter().zip(target) {
                    *hash = black_box(constant)(key, 0);
                }
            }),
            Contender::new("constant length, inlined (no dispatch)", move |target: &mut [H]| {
                inlined(keys, target);
            }),
        ];
        for variant in self.variants.available() {
            let run = move |target: &mut [H]| variant.hash(black_box(keys), 0, target);
            contenders.push(Contender::new(format!("column {}", variant.name()), run));
        }
        report(&format!("{}, {N}-byte keys", self.name), count, contenders, rounds);
    }
}

/// The dedicated loop of one function.
macro_rules! inlined {
    ($function:path, $seed:expr) => {
        |keys, target| {
            for (key, hash) in keys.iter().zip(target) {
                *hash = $function(key, $seed);
            }
        }
    };
}

fn c_128(key: &[u8], seed: u64) -> Hash128 {
    let [low, high] = oracle::c_xxh3_128(key, seed);
    Hash128 { low, high }
}

#[expect(clippy::cast_possible_truncation, reason = "the seed of XXH32 has 32 bits")]
fn width<const N: usize>(bytes: &[u8], count: usize, rounds: usize)
where
    [u8; N]: Keys,
{
    Function::<u32, N> {
        name: "XXH32",
        c: oracle::c_xxh32,
        any_length: |key, seed| hash::xxh32(key, seed as u32),
        constant_length: |key, seed| hash::xxh32_of(key, seed as u32),
        variants: &XXH32_VARIANTS,
    }
    .report(bytes, count, rounds, inlined!(hash::xxh32_of, 0));
    Function::<u64, N> {
        name: "XXH64",
        c: oracle::c_xxh64,
        any_length: hash::xxh64,
        constant_length: hash::xxh64_of,
        variants: &XXH64_VARIANTS,
    }
    .report(bytes, count, rounds, inlined!(hash::xxh64_of, 0));
    Function::<u64, N> {
        name: "XXH3-64",
        c: oracle::c_xxh3_64,
        any_length: hash::xxh3_64,
        constant_length: hash::xxh3_64_of,
        variants: &XXH3_64_VARIANTS,
    }
    .report(bytes, count, rounds, inlined!(hash::xxh3_64_of, 0));
    Function::<Hash128, N> {
        name: "XXH3-128",
        c: c_128,
        any_length: hash::xxh3_128,
        constant_length: hash::xxh3_128_of,
        variants: &XXH3_128_VARIANTS,
    }
    .report(bytes, count, rounds, inlined!(hash::xxh3_128_of, 0));
}

/// Words of a text: strings of 1 to 24 bytes.
fn strings(bytes: &[u8], count: usize, rounds: usize) {
    let mut random = Random::new(3);
    let mut end = 0;
    let mut offsets: Vec<i32> = vec![0];
    for _ in 0..count {
        end += 1 + random.below(24);
        offsets.push(i32::try_from(end).unwrap_or(0));
    }
    let mut contenders: Vec<Contender<'_, u64>> =
        vec![Contender::new("C, called for each key", |target: &mut [u64]| {
            for (ends, hash) in offsets.array_windows::<2>().zip(target) {
                let [start, end] = ends.map(|end| usize::try_from(end).unwrap_or(0));
                *hash = oracle::c_xxh3_64(&bytes[start..end], 0);
            }
        })];
    let offsets = &offsets;
    for variant in XXH3_64_VARIANTS.available() {
        contenders.push(Contender::new(
            format!("column {}", variant.name()),
            move |target: &mut [u64]| {
                let hashed = variant.hash_strings(Offsets::Small(offsets), bytes, 0, target);
                assert_eq!(hashed, Ok(()));
            },
        ));
    }
    report("XXH3-64, strings of 1 to 24 bytes", count, contenders, rounds);
}

/// Keys of a megabyte, in bytes.
fn long(bytes: &[u8], rounds: usize) {
    println!("\n{:<40} {:>8}", "long keys", "GB/s");
    for length in [65_536, 1 << 20] {
        let key = &bytes[..length];
        let mut contenders = vec![
            Contender::new("C XXH32", |target: &mut [u64]| {
                target[0] = oracle::c_xxh32(key, 0).into();
            }),
            Contender::new("XXH32", |target: &mut [u64]| target[0] = hash::xxh32(key, 0).into()),
            Contender::new("C XXH64", |target: &mut [u64]| target[0] = oracle::c_xxh64(key, 0)),
            Contender::new("XXH64", |target: &mut [u64]| target[0] = hash::xxh64(key, 0)),
            Contender::new("C XXH3-64", |target: &mut [u64]| target[0] = oracle::c_xxh3_64(key, 0)),
        ];
        for variant in hash::LONG_VARIANTS.available() {
            let run = move |target: &mut [u64]| target[0] = variant.hash(key, 0).low;
            contenders.push(Contender::new(format!("XXH3 {}", variant.name()), run));
        }
        contenders.push(Contender::new("CityHash128", |target: &mut [u64]| {
            target[0] = hash::city_hash_128(key).low;
        }));
        for _ in 0..rounds {
            for contender in &mut contenders {
                let start = cpu_seconds();
                for _ in 0..(1 << 24) / length {
                    (contender.run)(black_box(&mut [0]));
                }
                contender.seconds.push(cpu_seconds() - start);
            }
        }
        for contender in &contenders {
            let speed = f64::from(1 << 24) / contender.median() / 1e9;
            println!("{:<40} {speed:>8.2}", format!("{}, {length} bytes", contender.name));
        }
    }
}

/// From hashes to partitions.
fn partitions(bytes: &[u8], count: usize, rounds: usize) {
    let hashes: Vec<u64> =
        bytes.as_chunks::<8>().0[..count].iter().map(|word| u64::from_le_bytes(*word)).collect();
    let plain = |target: &mut [u32]| {
        let partitions = black_box(100_u64);
        for (&hash, partition) in hashes.iter().zip(target) {
            *partition = u32::try_from(hash % partitions).unwrap_or(0);
        }
    };
    let ours = |target: &mut [u32]| partition::modulo(&hashes, black_box(100), target);
    let contenders = vec![Contender::new("hash % 100", plain), Contender::new("modulo", ours)];
    report("partitions", count, contenders, rounds);
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let rounds = arguments.next().map_or(Ok(15), |text| text.parse())?;
    let count: usize = arguments.next().map_or(Ok(4096), |text| text.parse())?;
    println!("{rounds} rounds, {count} keys");
    let mut random = Random::new(1);
    let room = (24 * count).max(1 << 20);
    let bytes: Vec<u8> = (0..=room / 8).flat_map(|_| random.number().to_le_bytes()).collect();
    width::<4>(&bytes, count, rounds);
    width::<8>(&bytes, count, rounds);
    width::<16>(&bytes, count, rounds);
    strings(&bytes, count, rounds);
    partitions(&bytes, count, rounds);
    long(&bytes, rounds);
    Ok(())
}
