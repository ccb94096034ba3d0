//! What is chosen decodes to what was encoded, and is never worse than a plain codec.

use super::{Choice, Effort, Objective, high, measure, search};
use crate::block::{Block, Decoder, Encoder, stream};
use crate::codec::{Class, Element};
use crate::spec::{AUTO, CodecSpec, PLAIN};
use std::time::Duration;

fn noise(seed: u64) -> impl Iterator<Item = u64> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 20
    })
}

/// Columns of many kinds: name, element, bytes.
fn columns() -> Vec<(&'static str, Element, Vec<u8>)> {
    let seen = |width, class| Element { width, class };
    let words = |values: Vec<u64>, width: usize| -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()[..width].to_vec()).collect()
    };
    let random = |count: usize, max: u64| noise(7).map(move |n| n % max).take(count).collect();
    let walk = noise(9).scan(1 << 30, |at, n| {
        *at += n % 100;
        Some(*at)
    });
    let decimals = noise(3).take(90_000).map(|n| ((n % 10_000) as f64 / 100.0).to_bits());
    let outlier: Vec<u64> = (0..100_000).map(|n| if n == 77_777 { u64::MAX } else { 5 }).collect();
    let text: Vec<u8> =
        noise(5).take(80_000).flat_map(|n| format!("word{} ", n % 997).into_bytes()).collect();
    vec![
        ("constant", seen(8, Class::Unsigned), words(vec![42; 200_000], 8)),
        ("ids", seen(8, Class::Unsigned), words(random(200_000, 1 << 40), 8)),
        ("small", seen(4, Class::Signed), words(random(300_000, 100), 4)),
        ("flags", seen(1, Class::Unsigned), words(random(900_000, 2), 1)),
        ("times", seen(4, Class::Unsigned), words(walk.take(300_000).collect(), 4)),
        (
            "steps",
            seen(8, Class::Signed),
            words(noise(1).map(|n| n % 500 * 60).take(99_999).collect(), 8),
        ),
        ("outlier", seen(8, Class::Unsigned), words(outlier, 8)),
        ("decimals", seen(8, Class::Float), words(decimals.collect(), 8)),
        (
            "noise",
            seen(8, Class::Float),
            words(noise(2).map(|n| n << 20).take(70_000).collect(), 8),
        ),
        ("indexes", seen(1, Class::Unknown), words(random(300_000, 700), 2)),
        ("uuids", seen(16, Class::Bytes), words(random(100_000, 1 << 44), 8)),
        ("odd", seen(3, Class::Bytes), words(random(100_000, 1 << 20), 3)),
        ("text", Element::BYTES, text),
        ("tail", seen(8, Class::Unsigned), vec![1; 100_003]),
        ("cut", seen(8, Class::Float), 0.5_f64.to_le_bytes().repeat(90_000)[3..].to_vec()),
        ("short", seen(4, Class::Unsigned), vec![9; 3]),
        ("empty", seen(4, Class::Float), Vec::new()),
    ]
}

fn encode(text: &str, element: Element, source: &[u8]) -> Vec<u8> {
    let mut encoder = Encoder::new(&text.parse().unwrap(), element).unwrap();
    let block = encoder.block_bytes().map_or(256 << 10, |bytes| bytes.0);
    let mut target = Vec::new();
    for piece in source.chunks(block) {
        encoder.encode(piece, &mut target).unwrap();
    }
    target
}

#[test]
fn what_is_chosen_decodes_and_is_small() {
    for (name, element, source) in columns() {
        for objective in Objective::ALL {
            let text = format!("{AUTO}({})", objective.name());
            let stored = encode(&text, element, &source);
            let decoded = stream::decode_all(&stored, &mut Decoder::new(), source.len()).unwrap();
            assert!(decoded == source, "{name}, {text}");
            let plain = if *objective == Objective::Size { "ZSTD(3)" } else { "LZ4" };
            let plain = encode(plain, element, &source).len();
            // Speed may take no compression instead of a little.
            let room = match objective {
                Objective::Size => 1.0,
                _ => 1.0 / 0.97,
            };
            if *objective != Objective::Speed {
                assert!(
                    stored.len() as f64 <= plain as f64 * room,
                    "{name}, {text}: {} of {plain}",
                    stored.len()
                );
            }
        }
    }
}

/// Blocks of whole values and blocks that are cut inside of one, in turn.
#[test]
fn a_cut_value_changes_no_minds() {
    let element = Element { width: 8, class: Class::Float };
    let values: Vec<u8> =
        noise(4).take(20_000).flat_map(|n| ((n % 999) as f64 / 10.0).to_le_bytes()).collect();
    let mut encoder = Encoder::new(&"auto(size)".parse().unwrap(), element).unwrap();
    let mut target = Vec::new();
    for cut in [0, 0, 3, 0, 5, 7, 0, 1] {
        encoder.encode(&values[..values.len() - cut], &mut target).unwrap();
    }
    let decoded = stream::decode_all(&target, &mut Decoder::new(), 8 * values.len()).unwrap();
    assert!(decoded.starts_with(&values) && decoded.len() == 8 * values.len() - 16);
}

#[test]
fn plain_choices_are_read_by_every_version() {
    for (name, element, source) in columns() {
        let stored = encode(&format!("{AUTO}(size, {PLAIN})"), element, &source);
        for block in stream::Blocks::new(&stored) {
            let method = block.unwrap().item.header.method;
            assert!([0x02, 0x82, 0x90].contains(&method), "{name}: {method:#x}");
        }
    }
}

#[test]
fn a_constant_takes_next_to_nothing() {
    let element = Element { width: 8, class: Class::Float };
    let stored = encode(AUTO, element, &1.5_f64.to_le_bytes().repeat(30_000));
    assert!(stored.len() < 64);
    let wide = Element { width: 16, class: Class::Bytes };
    let source: Vec<u8> = (0..16).collect::<Vec<u8>>().repeat(10_000);
    assert!(encode(AUTO, wide, &source).len() < 2000);
    assert!(Block::parse(&stored).is_ok());
}

#[test]
fn wrong_words_are_refused() {
    let error = |text: &str| {
        let spec: CodecSpec = text.parse().unwrap();
        Encoder::new(&spec, Element::BYTES).map(drop).map_err(|error| error.kind())
    };
    assert_eq!(error("auto"), Ok(()));
    assert_eq!(error("AUTO(Speed)"), Ok(()));
    assert_eq!(error("auto(small)"), Err(crate::Kind::Argument));
    assert_eq!(error("auto, LZ4"), Err(crate::Kind::Argument));
}

const SHORT: Effort = Effort {
    blocks_max: 8,
    candidates_max: 2,
    block_bytes: None,
    own: false,
    clock: || Duration::ZERO,
};

/// Smallest of the chains that a search found, measured on all blocks, and how many those are.
fn smallest(source: &[u8], element: Element, effort: &Effort) -> (u64, usize) {
    let found = search(source, element, effort, &|_| true).unwrap();
    for text in ["NONE", "LZ4", "ZSTD(1)", "ZSTD(3)"] {
        assert!(found.specs.contains(&text.parse().unwrap()), "{text}");
    }
    let all = Effort::exhaustive(|| Duration::ZERO);
    let bytes = |spec: &CodecSpec| {
        // Chains that cannot cut a value are out for such streams.
        measure(source, spec, element, &all).map_or(u64::MAX, |measured| measured.stored_bytes)
    };
    let least = found.specs.iter().min_by_key(|spec| bytes(spec)).unwrap();
    let high = high(least).map_or(u64::MAX, |high| bytes(&high));
    (bytes(least).min(high), found.specs.len())
}

#[test]
fn a_search_finds_what_an_exhaustive_one_finds() {
    for (name, element, source) in columns() {
        let all = Effort::exhaustive(|| Duration::ZERO);
        let (short, tried) = smallest(&source, element, &SHORT);
        let (long, count) = smallest(&source, element, &all);
        assert!(short as f64 <= long as f64 * 1.03, "{name}: {short} of {long}");
        assert!(tried <= 16 && tried <= count, "{name}: {tried} of {count}");
    }
}

#[test]
fn chains_that_nobody_takes_are_named_if_they_are_better() {
    let element = Element { width: 8, class: Class::Unsigned };
    let source: Vec<u8> = (0..90_000_u64).flat_map(u64::to_le_bytes).collect();
    let takes = |spec: &CodecSpec| spec.calls.len() == 1 && spec.calls[0].name != "DoubleDelta";
    let found = search(&source, element, &SHORT, &takes).unwrap();
    assert!(found.specs.iter().all(takes), "{:?}", found.specs);
    assert!(!found.passed_over.is_empty() && !found.passed_over.iter().any(takes));
}

/// What is told of slow codecs by some blocks is about what all blocks say.
#[test]
fn slow_codecs_are_measured_on_some_blocks() {
    let mut text = Vec::new();
    for (row, n) in noise(6).take(1_500_000).enumerate() {
        // Long words early, short ones late.
        let word = n % (1000 + row as u64 / 100);
        text.extend_from_slice(&format!("{word} ").into_bytes());
    }
    let all = Effort::exhaustive(|| Duration::ZERO);
    for text_of in ["ZSTD(6)", "LZ4HC(9)"] {
        let spec = text_of.parse().unwrap();
        let short = measure(&text, &spec, Element::BYTES, &SHORT).unwrap();
        let long = measure(&text, &spec, Element::BYTES, &all).unwrap();
        let (short, long) = (short.ratio(), long.ratio());
        assert!((short / long - 1.0).abs() < 0.02, "{text_of}: {short} and {long}");
    }
}

#[test]
fn earlier_servers_get_what_they_read() {
    use super::front::fronts;
    let texts = |class, since| -> Vec<&'static str> {
        let element = Element { class, width: 8 };
        fronts(element, &Choice { since, ..Choice::new(Objective::Size) })
            .unwrap()
            .iter()
            .map(|front| front.text)
            .collect()
    };
    for class in [Class::Unsigned, Class::Float] {
        let (old, new) = (texts(class, (24, 8)), texts(class, (26, 8)));
        assert!(old.iter().all(|text| !text.contains(", T64") && *text != "ALP"), "{old:?}");
        assert!(old.len() > 2 && new.len() > old.len());
        assert!(new.contains(&"Delta, T64('bit')"), "{new:?}");
    }
    let choice = |text: &str| {
        let spec: CodecSpec = text.parse().unwrap();
        Choice::of(&spec.calls[0]).unwrap()
    };
    assert_eq!(choice("auto(size, 'since=24.8')").unwrap().since, (24, 8));
    assert!(choice("auto('since=soon')").is_err());
}
