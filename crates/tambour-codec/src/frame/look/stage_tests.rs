//! Blocks of every codec are explained: what is told of them agrees with what is decoded, and damage is told with its place.

use super::{BlockData, Event, Stage, StageLook, StageOptions, Stages, Tally};
use crate::CodecError;
use crate::block::{Block, Decoder, Encoder, Header};
use crate::codec::{Class, Element, Fact, Inside, Values, method_name};

const CLOSELY: StageOptions = StageOptions { sequences: true, inner: true };
const FLOATS: Element = Element { width: 8, class: Class::Float };
const UNSIGNED: Element = Element { width: 4, class: Class::Unsigned };

fn encoded(spec: &str, element: Element, content: &[u8]) -> Vec<u8> {
    let mut stream = Vec::new();
    let mut encoder = Encoder::new(&spec.parse().unwrap(), element).unwrap();
    encoder.encode(content, &mut stream).unwrap();
    stream
}

fn look(stream: &[u8], options: StageOptions) -> (Stages, Option<CodecError>) {
    let header = Header::parse(stream).unwrap();
    StageLook::default().look(&header, &stream[25..], options)
}

fn whole(stream: &[u8]) -> Stages {
    let (found, fault) = look(stream, CLOSELY);
    assert!(fault.is_none(), "{fault:?}");
    found
}

fn values(stage: &Stage) -> &Values {
    match &stage.inside {
        Inside::Values(values) => values,
        other => panic!("{other:?}"),
    }
}

/// Integers that climb by 3 with a jump now and then, in this many bytes each.
fn integers(width: usize, count: u64) -> Vec<u8> {
    let value = |k: u64| 1000 + 3 * k + if k.is_multiple_of(97) { 40 } else { 0 };
    (0..count).flat_map(|k| value(k).to_le_bytes().into_iter().take(width)).collect()
}

fn prices(count: u64) -> Vec<u8> {
    let value = |k: u64| {
        if k.is_multiple_of(100) { 1.0 / (k + 3) as f64 } else { (k % 977) as f64 / 100.0 }
    };
    (0..count).flat_map(|k| value(k).to_le_bytes()).collect()
}

fn text() -> Vec<u8> {
    (0..5000_u32).flat_map(|k| format!("row {k} of {}; ", k * k % 311).into_bytes()).collect()
}

/// Puts the content together from literals and sequences of LZ4; the payload says where literals are.
fn unpack_lz4(payload: &[u8], stage: &Stage) -> Vec<u8> {
    let Inside::Lz4(block) = &stage.inside else { panic!("{:?}", stage.inside) };
    let length = |at: &mut usize, nibble: u8| {
        let mut more = nibble == 15;
        while more {
            more = payload[*at] == 255;
            *at += 1;
        }
    };
    let (mut content, mut at): (Vec<u8>, usize) = (Vec::new(), 0);
    for sequence in &block.each {
        let token = payload[at];
        at += 1;
        length(&mut at, token >> 4);
        content.extend(&payload[at..at + sequence.literals as usize]);
        at += sequence.literals as usize;
        if sequence.length > 0 {
            at += 2;
            length(&mut at, token & 15);
        }
        for _ in 0..sequence.length {
            content.push(content[content.len() - sequence.offset as usize]);
        }
    }
    assert_eq!(at, payload.len());
    content
}

fn content_of_zstd(events: &[Event]) -> usize {
    let block = |event: &Event| match event {
        Event::Block(block) => match &block.data {
            BlockData::Zstd(data) => data.inside.as_ref().unwrap().content_bytes as u64,
            _ => block.content_bytes.unwrap(),
        },
        _ => 0,
    };
    usize::try_from(events.iter().map(block).sum::<u64>()).unwrap()
}

#[test]
fn every_level_of_the_general_codecs() {
    let lz4 = ["LZ4".to_owned()].into_iter().chain((1..=12).map(|level| format!("LZ4HC({level})")));
    let zstd = (1..=22).map(|level| format!("ZSTD({level})"));
    let mut samples = vec![text(), integers(4, 20_000), vec![7; 300_000], b"x".to_vec()];
    samples.push(samples.concat());
    for spec in lz4.chain(zstd) {
        for sample in &samples {
            let stream = encoded(&spec, Element::BYTES, sample);
            let found = whole(&stream);
            let [stage] = &found.stages[..] else { panic!("{found:?}") };
            assert_eq!(
                (stage.stored_bytes, stage.content_bytes),
                (stream.len() - 25, sample.len())
            );
            match &stage.inside {
                Inside::Lz4(_) => assert!(unpack_lz4(&stream[25..], stage) == *sample, "{spec}"),
                Inside::Zstd(frame) => {
                    assert_eq!(content_of_zstd(&frame.events), sample.len(), "{spec}");
                }
                other => panic!("{spec}: {other:?}"),
            }
        }
    }
}

/// All codecs and chains: every stored byte has a purpose, stages have the sizes of what is decoded, and less is told of what
/// is not looked into closely.
#[test]
fn chains_are_told_codec_by_codec() {
    let chains = [
        ("NONE", Element::BYTES, 1),
        ("LZ4", Element::BYTES, 1),
        ("Delta, LZ4", UNSIGNED, 2),
        ("GCD, Delta, T64, LZ4", UNSIGNED, 4),
        ("DoubleDelta, ZSTD(3)", UNSIGNED, 2),
        ("DoubleDelta", UNSIGNED, 1),
        ("T64", UNSIGNED, 1),
        ("T64('bit')", UNSIGNED, 1),
        ("T64('padded'), ZSTD(1)", UNSIGNED, 2),
        ("Gorilla", FLOATS, 1),
        ("Gorilla, LZ4HC(9)", FLOATS, 2),
        ("FPC(12)", FLOATS, 1),
        ("ALP", FLOATS, 1),
        ("ALP, LZ4", FLOATS, 2),
        ("PFOR", UNSIGNED, 1),
        ("StreamVByte, ZSTD(1)", UNSIGNED, 2),
        ("Pco", UNSIGNED, 1),
        ("FSST", Element::BYTES, 1),
        ("Delta, NONE, LZ4, ZSTD(1)", UNSIGNED, 4),
    ];
    for (spec, element, count) in chains {
        let width = usize::from(element.width);
        let sample = match element.class {
            Class::Float => prices(5000),
            Class::Bytes => text(),
            _ => integers(width, 7000),
        };
        // Also with a value that is cut, where the codec takes that.
        for cut in if spec.starts_with("ALP") { 0..1 } else { 0..width } {
            let stream = encoded(spec, element, &sample[cut..]);
            let found = whole(&stream);
            let names: Vec<_> = found.methods.iter().map(|method| method_name(*method)).collect();
            assert_eq!((found.methods.len(), found.stages.len()), (count, count), "{names:?}");
            let last = found.stages.last().unwrap();
            assert_eq!(last.content_bytes, sample.len() - cut, "{spec}");
            for pair in found.stages.windows(2) {
                assert_eq!(pair[0].content_bytes, pair[1].stored_bytes + 9, "{spec}");
            }
            for (stage, method) in found.stages.iter().zip(found.methods.iter().rev()) {
                assert_eq!(stage.method, *method);
                if let Inside::Values(values) = &stage.inside {
                    let sum = values.header_bytes + values.value_bytes + values.exception_bytes;
                    assert_eq!(sum, stage.stored_bytes, "{spec}: {values:?}");
                    assert_eq!(values.width, width, "{spec}");
                    let rounded = if spec.starts_with("FPC") { width - 1 } else { 0 };
                    assert_eq!(values.count, (stage.content_bytes + rounded) / width, "{spec}");
                }
            }
            check_tally(&stream, &found);
            let (less, fault) = look(&stream, StageOptions::default());
            assert!(fault.is_none() && less.stages.len() == 1, "{spec}");
            assert_eq!((&less.methods, less.chain_bytes), (&found.methods, found.chain_bytes));
            check_tally(&stream, &less);
        }
    }
}

fn check_tally(stream: &[u8], found: &Stages) {
    let mut tally = Tally::default();
    tally.add_stages(&Header::parse(stream).unwrap(), found, true);
    assert_eq!(tally.total(), stream.len() as u64, "every byte has a purpose: {found:?}");
    let mut damaged = Tally::default();
    damaged.add_stages(&Header::parse(stream).unwrap(), found, false);
    assert_eq!(damaged.total(), stream.len() as u64);
}

/// The examples of docs/format/codecs.md, and what their headers say.
#[test]
fn headers_of_values() {
    let bytes = |values: &[u32]| values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let told = |spec: &str, element, content: Vec<u8>| {
        let found = whole(&encoded(spec, element, &content));
        let values = values(found.stages.last().unwrap()).clone();
        (values.width, values.count, values.header_bytes, values.value_bytes, values.facts)
    };
    let delta = told("Delta(4), LZ4", UNSIGNED, bytes(&[10, 11, 13, 13, 1000]));
    assert_eq!(delta, (4, 5, 2, 20, vec![("first", Fact::Unsigned(10))]));
    let gcd = told("GCD, LZ4", UNSIGNED, bytes(&[30, 45, 1000, 0]));
    assert_eq!(gcd, (4, 4, 6, 16, vec![("divisor", Fact::Unsigned(5))]));
    let signed = Element { class: Class::Signed, ..UNSIGNED };
    let double = told("DoubleDelta", signed, bytes(&[10, 7, 4, 1]));
    let facts = vec![("first", Fact::Unsigned(10)), ("first difference", Fact::Signed(-3))];
    assert_eq!((double.0, double.1, double.4), (4, 4, facts));
    let tenths = [0.1_f32, 0.1, 0.11, 0.2, 0.1].map(f32::to_le_bytes).concat();
    let gorilla = told("Gorilla", Element { width: 4, class: Class::Float }, tenths);
    assert_eq!(gorilla, (4, 5, 6, 17, vec![("first", Fact::Float(0.1))]));
    let small = told("T64", Element { width: 1, class: Class::Unsigned }, vec![1, 2, 3, 1, 0]);
    let facts = [
        ("type", Fact::Word("unsigned")),
        ("planes", Fact::Word("of bytes")),
        ("least", Fact::Unsigned(0)),
        ("greatest", Fact::Unsigned(3)),
        ("bits", Fact::Unsigned(2)),
    ];
    assert_eq!(small, (1, 5, 17, 16, facts.to_vec()));
    let negative = told("T64('bit')", signed, bytes(&[u32::MAX, 5]));
    assert_eq!(
        negative.4[2..],
        [("least", Fact::Signed(-1)), ("greatest", Fact::Signed(5)), ("bits", Fact::Unsigned(4))]
    );
    let level = told("FPC(4)", FLOATS, [1.5_f64, 2.5, 3.5].map(f64::to_le_bytes).concat());
    assert_eq!(level, (8, 3, 2, 25, vec![("level", Fact::Unsigned(4))]));
}

#[test]
fn vectors_of_alp_are_counted() {
    let noise = |k: u64| f64::from_bits(k.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 2);
    let random: Vec<u8> = (1..1025).flat_map(|k| noise(k).to_le_bytes()).collect();
    let found = whole(&encoded("ALP", FLOATS, &[prices(2048), random].concat()));
    let values = values(&found.stages[0]);
    assert_eq!(values.count, 3072);
    let fact = |name: &str| {
        let found = values.facts.iter().find(|fact| fact.0 == name);
        found.unwrap_or_else(|| panic!("{name}: {values:?}")).1.clone()
    };
    assert_eq!(fact("vectors"), Fact::Unsigned(3));
    assert_eq!(fact("vectors as they are"), Fact::Unsigned(1));
    // Every hundredth is not a decimal, and some others do not come out the same.
    let Fact::Unsigned(exceptions) = fact("exceptions") else { panic!("{values:?}") };
    assert!((21..300).contains(&exceptions), "{exceptions}");
    assert_eq!(values.exception_bytes as u64, exceptions * 10);
    let Fact::Rows(rows) = fact("packed vectors") else { panic!("{values:?}") };
    assert_eq!(rows.iter().map(|row| row[2]).sum::<i64>().cast_unsigned(), exceptions);
    assert_eq!(
        Fact::Unsigned(rows.iter().map(|row| row[3]).max().unwrap() as u64),
        fact("most bits")
    );
}

/// Whatever is damaged: what is told is no more than the block, faults lie inside of it, nothing panics, and what the decoder
/// takes is explained without a fault.
#[test]
fn damage_is_told_with_its_place() {
    let specs = [
        ("LZ4", Element::BYTES),
        ("ZSTD(3)", Element::BYTES),
        ("Delta, LZ4", UNSIGNED),
        ("GCD, T64, ZSTD(1)", UNSIGNED),
        ("DoubleDelta", UNSIGNED),
        ("T64", UNSIGNED),
        ("Gorilla", FLOATS),
        ("ALP", FLOATS),
        ("FPC", FLOATS),
        ("PFOR", UNSIGNED),
        ("Pco", UNSIGNED),
        ("FSST", Element::BYTES),
        ("NONE", Element::BYTES),
    ];
    let mut faults = 0;
    for (spec, element) in specs {
        let sample = match element.class {
            Class::Float => prices(70),
            Class::Bytes => text()[..500].to_vec(),
            _ => integers(4, 150),
        };
        let good = encoded(spec, element, &sample);
        for at in 25..good.len() {
            for change in [1, 0x40, 0xff] {
                let mut bad = good.clone();
                bad[at] ^= change;
                faults += usize::from(check_damaged(spec, &bad));
            }
            // Cut, with a header that knows it.
            let mut short = good[..at].to_vec();
            short[17..21].copy_from_slice(&u32::try_from(at - 16).unwrap().to_le_bytes());
            if Header::parse(&short).is_ok() {
                faults += usize::from(check_damaged(spec, &short));
            }
        }
    }
    assert!(faults > 2500, "{faults}");
}

/// Whether there is a fault.
fn check_damaged(spec: &str, block: &[u8]) -> bool {
    let header = Header::parse(block).unwrap();
    let payload = &block[25..];
    let (found, fault) = look(block, CLOSELY);
    check_tally(block, &Stages { stages: Vec::new(), ..found });
    if let Some(CodecError::Payload { at, reason, .. }) = &fault {
        let between = if spec.contains(',') { 4 * header.uncompressed_size as usize } else { 0 };
        assert!(*at <= payload.len() + between, "{spec}: {reason} at {at}");
    }
    // The checksum is of the good block, and does not matter to who decodes.
    let mut target = vec![0; header.uncompressed_size as usize];
    let decoded = Decoder::new().decode(&Block { header, payload }, &mut target);
    assert!(decoded.is_err() || fault.is_none(), "{spec}: {fault:?}");
    fault.is_some()
}

#[test]
fn the_fault_names_codec_and_position() {
    let content = text();
    let mut lz4 = encoded("LZ4", Element::BYTES, &content);
    let end = lz4.len() - 1;
    lz4.truncate(end);
    lz4[17..21].copy_from_slice(&u32::try_from(end - 16).unwrap().to_le_bytes());
    let (found, fault) = look(&lz4, CLOSELY);
    let message = fault.unwrap().to_string();
    assert!(message.starts_with("malformed LZ4 payload: a sequence is cut short at "), "{message}");
    // All but the last sequence was read.
    let Inside::Lz4(block) = &found.stages[0].inside else { panic!("{found:?}") };
    assert!(block.each.len() > 100 && block.content_bytes() > content.len() / 2);

    // More than a block of 128 KiB; the rest is noise, so that there are more.
    let noise = |k: u64| (k.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32).to_le_bytes();
    let long: Vec<u8> = content.iter().copied().chain((0..40_000).flat_map(noise)).collect();
    let mut zstd = encoded("ZSTD(1)", Element::BYTES, &long);
    let at = zstd.len() - 40;
    zstd.truncate(at);
    zstd[17..21].copy_from_slice(&u32::try_from(at - 16).unwrap().to_le_bytes());
    let (found, fault) = look(&zstd, StageOptions::default());
    let message = fault.unwrap().to_string();
    let expected = format!("malformed ZSTD payload: the frame is cut short at {}", at - 25);
    assert_eq!(message, expected);
    let Inside::Zstd(frame) = &found.stages[0].inside else { panic!("{found:?}") };
    let events = &frame.events;
    assert!(matches!(events[0], Event::Frame(_)) && events.len() > 1, "{events:?}");

    let mut two = encoded("ZSTD(1)", Element::BYTES, b"again and again and again");
    let frame = two[25..].to_vec();
    two.extend(&frame);
    let size = u32::try_from(two.len() - 16).unwrap();
    two[17..21].copy_from_slice(&size.to_le_bytes());
    let message = look(&two, CLOSELY).1.unwrap().to_string();
    let expected =
        format!("malformed ZSTD payload: trailing bytes after the frame at {}", frame.len());
    assert_eq!(message, expected);

    let mut inner = encoded("Delta, NONE", UNSIGNED, &integers(4, 5));
    let place = 25 + 3 + 9 + 9;
    assert_eq!(inner[place], 4, "the width");
    inner[place] = 3;
    let (found, fault) = look(&inner, CLOSELY);
    assert_eq!(found.stages.len(), 2);
    let expected = "malformed Delta payload: an unknown width at 0";
    assert_eq!(fault.unwrap().to_string(), expected);
}

#[test]
fn what_is_not_known_is_no_fault() {
    let mut stream = encoded("NONE", Element::BYTES, b"secret");
    stream[16] = 0x96;
    let (found, fault) = look(&stream, CLOSELY);
    assert!(fault.is_none());
    assert_eq!((&found.methods[..], &found.stages[0].inside), (&[0x96][..], &Inside::Opaque));
    check_tally(&stream, &found);
    let mut chain = encoded("Delta, NONE", UNSIGNED, &integers(4, 5));
    (chain[27], chain[28]) = (0x96, 0x96);
    let (found, fault) = look(&chain, CLOSELY);
    assert!(fault.is_none(), "{fault:?}");
    assert_eq!((&found.methods[..], found.stages.len()), (&[0x92, 0x96][..], 0));
    check_tally(&chain, &found);
    // Of ALP in its RD variant nothing is known, either.
    let mut alp = encoded("ALP", FLOATS, &prices(50));
    alp[25] |= 0x10;
    let (found, fault) = look(&alp, CLOSELY);
    assert!(fault.is_none() && found.stages[0].inside == Inside::Opaque);
    check_tally(&alp, &found);
}
