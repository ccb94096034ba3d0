//! Hashes: keys one at a time and whole columns, short keys and long inputs, against C xxHash and other crates.
//!
//! The first contender of each group of short keys is the function of the C library, called for each key: it cannot be
//! inlined. All results are compared with its own.

mod c;

use crate::BenchError;
use crate::line::Lines;
use crate::measure::wrong;
use crate::race::{Group, Results, Runner, Work};
use std::cell::RefCell;
use std::hint::black_box;
use tambour_kernel::hash::column::{
    Hash, Keys, Offsets, XXH3_64_VARIANTS, XXH32_VARIANTS, XXH64_VARIANTS,
};
use tambour_kernel::hash::{self, city_hash_128};
use tambour_kernel::variant::{Isa, Variants};
use tambour_report::random::Random;
use tambour_report::{Fact, Tone};

/// A function that hashes a column of keys.
type ColumnHash<const N: usize, H> = fn(&[[u8; N]], &mut [H]);
/// A function that hashes one long key.
type LongHash = Box<dyn Fn(&[u8]) -> u64>;

/// What to measure, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Turns of every contender.
    pub rounds: usize,
    /// Keys of a column.
    pub keys: usize,
    /// Variants above this level do not take part.
    pub isa: Isa,
}

impl Default for Settings {
    fn default() -> Self {
        Self { rounds: 15, keys: 4096, isa: Isa::best() }
    }
}

/// Keys that a timed run hashes, at least.
const RUN_KEYS: usize = 1 << 20;
/// Bytes that a timed run of long inputs hashes.
const RUN_BYTES: usize = 1 << 24;

/// A hash function in its forms.
struct Function<H: 'static, const N: usize> {
    name: &'static str,
    c: fn(&[u8], u64) -> H,
    any_length: fn(&[u8], u64) -> H,
    constant_length: fn(&[u8; N], u64) -> H,
    inlined: ColumnHash<N, H>,
    others: Vec<(&'static str, ColumnHash<N, H>)>,
    variants: &'static Variants<Hash<H>>,
}

/// A loop over keys into which the function is compiled.
macro_rules! inlined {
    ($hash:expr) => {
        |keys: &[[u8; N]], target: &mut [_]| {
            for (key, hash) in keys.iter().zip(target) {
                *hash = $hash(key);
            }
        }
    };
}

/// Measures.
pub fn run(settings: &Settings, observe: &mut dyn FnMut(&str)) -> Result<Results, BenchError> {
    let mut random = Random::new(1);
    let room = (24 * settings.keys).max(1 << 20);
    let bytes: Vec<u8> = (0..=room / 8).flat_map(|_| random.number().to_le_bytes()).collect();
    let mut groups = Vec::new();
    observe("keys of 4 bytes");
    width::<4>(&bytes, settings, &mut groups)?;
    observe("keys of 8 bytes");
    width::<8>(&bytes, settings, &mut groups)?;
    observe("keys of 16 bytes");
    width::<16>(&bytes, settings, &mut groups)?;
    observe("strings");
    groups.push(strings("XXH32", c::xxh32, &XXH32_VARIANTS, settings)?);
    groups.push(strings("XXH64", c::xxh64, &XXH64_VARIANTS, settings)?);
    groups.push(strings("XXH3-64", c::xxh3, &XXH3_64_VARIANTS, settings)?);
    observe("long inputs");
    for length in [65_536, 1 << 20] {
        groups.push(long(&bytes[..length], settings)?);
    }
    Ok(results(groups, settings.rounds, settings.keys))
}

fn width<const N: usize>(
    bytes: &[u8],
    settings: &Settings,
    groups: &mut Vec<Group>,
) -> Result<(), BenchError>
where
    [u8; N]: Keys,
{
    let xxh32 = Function::<u32, N> {
        name: "XXH32",
        c: c::xxh32,
        any_length: |key, _| hash::xxh32(key, 0),
        constant_length: |key, _| hash::xxh32_of(key, 0),
        inlined: inlined!(|key| hash::xxh32_of(key, 0)),
        others: vec![
            ("xxhash-rust, inlined", inlined!(|key| xxhash_rust::xxh32::xxh32(key, 0))),
            ("twox-hash, inlined", inlined!(|key| twox_hash::XxHash32::oneshot(0, key))),
        ],
        variants: &XXH32_VARIANTS,
    };
    let xxh64 = Function::<u64, N> {
        name: "XXH64",
        c: c::xxh64,
        any_length: hash::xxh64,
        constant_length: hash::xxh64_of,
        inlined: inlined!(|key| hash::xxh64_of(key, 0)),
        others: vec![("xxhash-rust, inlined", inlined!(|key| xxhash_rust::xxh64::xxh64(key, 0)))],
        variants: &XXH64_VARIANTS,
    };
    let xxh3 = Function::<u64, N> {
        name: "XXH3-64",
        c: c::xxh3,
        any_length: hash::xxh3_64,
        constant_length: hash::xxh3_64_of,
        inlined: inlined!(|key| hash::xxh3_64_of(key, 0)),
        others: vec![("xxhash-rust, inlined", inlined!(xxhash_rust::xxh3::xxh3_64))],
        variants: &XXH3_64_VARIANTS,
    };
    groups.push(xxh32.group(bytes, settings)?);
    groups.push(xxh64.group(bytes, settings)?);
    groups.push(xxh3.group(bytes, settings)?);
    Ok(())
}

/// Fills a target with hashes.
type Fill<'a, H> = Box<dyn FnMut(&mut [H]) + 'a>;

impl<H: Copy + Default + PartialEq + 'static, const N: usize> Function<H, N>
where
    [u8; N]: Keys,
{
    fn group(&self, bytes: &[u8], settings: &Settings) -> Result<Group, BenchError> {
        let keys = &bytes.as_chunks::<N>().0[..settings.keys];
        let each = |one: fn(&[u8], u64) -> H| -> Fill<'_, H> {
            Box::new(move |target| {
                for (key, hash) in keys.iter().zip(target) {
                    *hash = black_box(one)(key, 0);
                }
            })
        };
        let constant = self.constant_length;
        let called: Fill<'_, H> = Box::new(move |target| {
            for (key, hash) in keys.iter().zip(target) {
                *hash = black_box(constant)(key, 0);
            }
        });
        let inlined = |fill: fn(&[[u8; N]], &mut [H])| -> Fill<'_, H> {
            Box::new(move |target| fill(black_box(keys), target))
        };
        let mut fills = vec![
            ("C, called for each key".to_owned(), Tone::Reference, each(self.c)),
            ("any length, called for each key".to_owned(), Tone::Quiet, each(self.any_length)),
            ("constant length, called for each key".to_owned(), Tone::Quiet, called),
            ("constant length, inlined".to_owned(), Tone::Third, inlined(self.inlined)),
        ];
        let others = self.others.iter();
        fills.extend(others.map(|&(name, fill)| (name.to_owned(), Tone::Quiet, inlined(fill))));
        for variant in self.variants.available().filter(|variant| variant.isa() <= settings.isa) {
            let tone = if variant.isa() == self.variants.best_at_most(settings.isa).isa() {
                Tone::First
            } else {
                Tone::Second
            };
            let fill = move |target: &mut [H]| variant.hash(black_box(keys), 0, target);
            fills.push((format!("column {}", variant.name()), tone, Box::new(fill)));
        }
        let size = (settings.keys, settings.rounds);
        hashed(format!("{}, {N}-byte keys", self.name), size, fills)
    }
}

/// Compares the hashes of all contenders with those of the first, then times them.
fn hashed<H: Copy + Default + PartialEq>(
    title: String,
    (keys, rounds): (usize, usize),
    fills: Vec<(String, Tone, Fill<'_, H>)>,
) -> Result<Group, BenchError> {
    let target = RefCell::new(Lines::new(keys));
    let mut expected = None;
    let mut runners = Vec::with_capacity(fills.len());
    for (name, tone, mut fill) in fills {
        target.borrow_mut().fill(H::default());
        fill(&mut target.borrow_mut());
        if *expected.get_or_insert_with(|| target.borrow().to_vec()) != **target.borrow() {
            return Err(wrong(name, title));
        }
        let target = &target;
        let work: Work<'_> = Box::new(move || {
            let mut target = target.borrow_mut();
            fill(&mut target);
            black_box(&target[0]);
            true
        });
        runners.push(Runner { name, tone, bits: None, works: vec![work] });
    }
    let amount = (keys as f64 / 1e9, RUN_KEYS.div_ceil(keys));
    Group::run(title, (&["hash"], "G hashes/s"), amount, runners, rounds)
}

/// Columns of strings have this many times the keys of others: a processor learns the lengths of a few thousand by heart.
const STRINGS_PER_KEY: usize = 64;

/// Words of a text: strings of 1 to 24 bytes.
fn strings<H: Copy + Default + PartialEq + 'static>(
    name: &str,
    c: fn(&[u8], u64) -> H,
    variants: &'static Variants<Hash<H>>,
    settings: &Settings,
) -> Result<Group, BenchError> {
    let mut random = Random::new(3);
    let strings = STRINGS_PER_KEY * settings.keys;
    let mut end = 0;
    let mut offsets: Vec<i64> = vec![0];
    for _ in 0..strings {
        end += 1 + i64::try_from(random.below(24)).unwrap_or(0);
        offsets.push(end);
    }
    let bytes: Vec<u8> = (0..=end / 8).flat_map(|_| random.number().to_le_bytes()).collect();
    let (offsets, bytes) = (&offsets, &bytes);
    let called: Fill<'_, H> = Box::new(move |target| {
        for (ends, hash) in offsets.array_windows::<2>().zip(target) {
            let [start, end] = ends.map(|end| usize::try_from(end).unwrap_or(0));
            *hash = black_box(c)(&bytes[start..end], 0);
        }
    });
    let mut fills = vec![("C, called for each key".to_owned(), Tone::Reference, called)];
    let variants = variants.available().filter(|variant| variant.isa() <= settings.isa);
    for (place, variant) in variants.enumerate() {
        let tone = if place == 0 { Tone::First } else { Tone::Second };
        let fill = move |target: &mut [H]| {
            // Hashes that are missing after an error show in the comparison.
            let _ = variant.hash_strings(Offsets::Large(offsets), bytes, 0, target);
        };
        fills.push((format!("column {}", variant.name()), tone, Box::new(fill)));
    }
    hashed(format!("{name}, strings of 1 to 24 bytes"), (strings, settings.rounds), fills)
}

/// One long input. Functions of one name give one hash, which is that of the C library where it has it.
fn long(key: &[u8], settings: &Settings) -> Result<Group, BenchError> {
    let [three, sixty, thirty] = [c::xxh3(key, 0), c::xxh64(key, 0), c::xxh32(key, 0).into()];
    let city = city_hash_128(key).low;
    let mut functions: Vec<(String, Tone, u64, LongHash)> = vec![
        ("C XXH3-64".to_owned(), Tone::Reference, three, Box::new(|key| c::xxh3(key, 0))),
        ("C XXH64".to_owned(), Tone::Quiet, sixty, Box::new(|key| c::xxh64(key, 0))),
        ("XXH64".to_owned(), Tone::Second, sixty, Box::new(|key| hash::xxh64(key, 0))),
        ("C XXH32".to_owned(), Tone::Quiet, thirty, Box::new(|key| c::xxh32(key, 0).into())),
        ("XXH32".to_owned(), Tone::Second, thirty, Box::new(|key| hash::xxh32(key, 0).into())),
        ("CityHash128".to_owned(), Tone::Third, city, Box::new(|key| city_hash_128(key).low)),
        (
            "xxhash-rust XXH3-64".to_owned(),
            Tone::Quiet,
            three,
            Box::new(xxhash_rust::xxh3::xxh3_64),
        ),
    ];
    let variants = hash::LONG_VARIANTS.available().filter(|variant| variant.isa() <= settings.isa);
    for variant in variants {
        let name = format!("XXH3 {}", variant.name());
        functions.push((name, Tone::First, three, Box::new(move |key| variant.hash(key, 0).low)));
    }
    let runner = |(name, tone, expected, function): (String, Tone, u64, LongHash)| {
        let work: Work<'_> =
            Box::new(move || black_box(function(black_box(key))) == black_box(expected));
        Runner { name, tone, bits: None, works: vec![work] }
    };
    let runners = functions.into_iter().map(runner).collect();
    let amount = (key.len() as f64 / 1e9, RUN_BYTES / key.len());
    let title = format!("inputs of {} KiB", key.len() / 1024);
    Group::run(title, (&["hash"], "GB/s"), amount, runners, settings.rounds)
}

/// The results, with what stands at the top of the page.
fn results(groups: Vec<Group>, rounds: usize, count: usize) -> Results {
    let lead = format!(
        "{count} keys in the cache, hashed {rounds} times by every contender, in turns and one process. Processor time of the thread, \
         medians; every hash was compared."
    );
    let mut facts = Vec::new();
    for title in ["XXH32, 4-byte keys", "XXH64, 8-byte keys", "XXH3-64, 8-byte keys"] {
        let Some(group) = groups.iter().find(|group| group.title == title) else { continue };
        let columns = group.entries.iter().filter(|entry| entry.name.starts_with("column"));
        let best = columns.map(|entry| group.gain(entry, 0)).fold(0.0, f64::max);
        let label = format!("{title}: a column at once, C called for each key = 1");
        facts.push(Fact::new(format!("{best:.1}\u{d7}"), label));
    }
    let headings = ["Hashes of keys and columns".to_owned(), lead];
    Results { benchmark: "hashes", headings, facts, rounds, count, groups }
}

#[cfg(test)]
mod tests {
    use super::{Settings, run};
    use crate::findings::Findings;
    use tambour_report::Machine;

    #[test]
    fn all_groups_are_measured() {
        let settings = Settings { rounds: 1, keys: 200, ..Settings::default() };
        let results = run(&settings, &mut |_| {}).unwrap();
        assert_eq!(results.groups.len(), 9 + 3 + 2);
        let page = results.page(Machine::default());
        assert_eq!(page.facts.len(), 3);
        assert!(page.render().unwrap().contains("strings of 1 to 24 bytes"));
    }
}
