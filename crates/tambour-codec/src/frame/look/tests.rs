//! The honest proof: what was told of a frame is put together again and compared with what libzstd was given.

use super::{
    BlockData, Event, Field, FrameKind, LiteralsKind, Look, LookOptions, TableMode, Tally,
    ZstdDictionary,
};
use crate::Kind;
use crate::frame::{CompressOptions, Format, FrameError, compress};
use std::collections::BTreeSet;
use zstd_safe::{CCtx, CParameter, Strategy};

const EVERYTHING: LookOptions<'static> =
    LookOptions { sequences: true, literals: true, dictionary: None };

/// Puts content together from raw blocks, runs, literals and sequences.
fn rebuild(stream: &[u8], options: LookOptions<'_>) -> Result<Vec<u8>, FrameError> {
    let mut tally = Tally::default();
    let before: &[u8] = options.dictionary.map_or(&[], |dictionary| &dictionary.content);
    let mut all = Vec::new();
    let mut content = before.to_vec();
    let mut reader = stream;
    for event in Look::new(&mut reader, options) {
        let event = event?;
        tally.add(&event);
        match event {
            Event::Frame(_) => content = before.to_vec(),
            Event::End(end) => {
                let found = &content[before.len()..];
                assert_eq!(end.content_bytes, Some(found.len() as u64));
                all.extend(found);
            }
            Event::Block(block) => {
                let start = content.len();
                let at = usize::try_from(block.offset).unwrap();
                append(&block.data, &stream[at..], block.content_bytes, &mut content);
                assert_eq!(block.content_bytes, Some((content.len() - start) as u64));
            }
        }
    }
    assert_eq!(tally.total(), stream.len() as u64, "every byte has a purpose");
    Ok(all)
}

fn append(data: &BlockData, stored: &[u8], size: Option<u64>, content: &mut Vec<u8>) {
    let size = usize::try_from(size.unwrap()).unwrap();
    match data {
        BlockData::Raw => content.extend(&stored[3..3 + size]),
        BlockData::Run(byte) => content.resize(content.len() + size, *byte),
        BlockData::Zstd(block) => {
            let inside = block.inside.as_ref().unwrap();
            let mut literals = &inside.literals[..];
            for sequence in &inside.sequences {
                let (own, rest) = literals.split_at(sequence.literals as usize);
                content.extend(own);
                literals = rest;
                for _ in 0..sequence.length {
                    content.push(content[content.len() - sequence.offset as usize]);
                }
            }
            content.extend(literals);
            let bits = inside.bits.iter().sum::<u64>();
            let stream = block.sequences.stream_bytes as u64;
            // All bits of the stream belong to a field, but for the end mark and those above it.
            assert_eq!(bits / 8 + u64::from(stream > 0), stream);
        }
        BlockData::Lz4(_) => panic!("no block of zstd"),
    }
}

/// Text, numbers, noise, runs and far repeats: every kind of block comes of some of them.
fn samples() -> Vec<Vec<u8>> {
    let mut state = 7_u64;
    let mut noise = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state.to_le_bytes()[4]
    };
    let random: Vec<u8> = (0..300_000).map(|_| noise()).collect();
    let words = ["drum", "beat ", "snare", " and ", "a", "rhythm, ", "tambour", ".\n"];
    let text: Vec<u8> = random
        .iter()
        .flat_map(|byte| words[usize::from(byte >> 5)].bytes())
        .take(400_000)
        .collect();
    let numbers: Vec<u8> = (0..60_000_u32)
        .flat_map(|k| (k * 7 + u32::from(random[k as usize] & 3)).to_le_bytes())
        .collect();
    let skewed: Vec<u8> = random.iter().map(|byte| byte & byte >> 3 & 0x1f).collect();
    let few: Vec<u8> = random.iter().map(|byte| b"ab"[usize::from(*byte > 250)]).collect();
    let far = [&random[..200_000], &text[..90_000], &random[..200_000]].concat();
    let mixed =
        [&text[..150_000], &vec![0; 300_000], &random[..150_000], &skewed[..100_000]].concat();
    vec![
        Vec::new(),
        b"x".to_vec(),
        b"hello hello hello hello".to_vec(),
        vec![9; 1_000_000],
        text[..300].to_vec(),
        text,
        numbers,
        skewed,
        few,
        far,
        mixed,
        random,
    ]
}

fn zstd(content: &[u8], parameters: &[CParameter], dictionary: &[u8]) -> Vec<u8> {
    let mut context = CCtx::create();
    for parameter in parameters {
        context.set_parameter(*parameter).unwrap();
    }
    if !dictionary.is_empty() {
        context.load_dictionary(dictionary).unwrap();
    }
    let mut frame = Vec::with_capacity(zstd_safe::compress_bound(content.len()));
    context.compress2(&mut frame, content).unwrap();
    frame
}

/// What kinds of things were seen, to be sure that the samples have them all.
fn kinds(frame: &[u8], seen: &mut BTreeSet<String>) {
    let mut reader = frame;
    for event in Look::new(&mut reader, LookOptions::default()) {
        let Event::Block(block) = event.unwrap() else { continue };
        match block.data {
            BlockData::Zstd(block) => {
                seen.insert(format!("{:?} {}", block.literals.kind, block.literals.streams));
                for (field, table) in Field::ALL.iter().zip(block.sequences.tables.iter().flatten())
                {
                    seen.insert(format!("{} {}", field.name(), table.mode.name()));
                }
            }
            other => {
                seen.insert(format!("{other:?}").chars().take(3).collect());
            }
        }
    }
}

#[test]
fn every_level_is_put_together_again() {
    let mut seen = BTreeSet::new();
    for (index, sample) in samples().iter().enumerate() {
        for level in -7..=22 {
            // The slowest levels see the small samples and one large one.
            if level > 15 && sample.len() > 1000 && index % 3 != 2 {
                continue;
            }
            let parameters =
                [CParameter::CompressionLevel(level), CParameter::ChecksumFlag(level % 2 == 0)];
            let frame = zstd(sample, &parameters, &[]);
            let rebuilt = rebuild(&frame, EVERYTHING).unwrap();
            assert!(rebuilt == *sample, "sample {index} at level {level}");
            kinds(&frame, &mut seen);
        }
    }
    for kind in ["Raw", "Run", "Raw 0", "Run 0", "Huffman 1", "Huffman 4", "Treeless 4"] {
        assert!(seen.contains(kind), "{kind} is missing from {seen:?}");
    }
    for field in ["literals", "offset", "match"] {
        for mode in [TableMode::Predefined, TableMode::Run, TableMode::Fse] {
            let kind = format!("{field} {}", mode.name());
            assert!(seen.contains(&kind), "{kind} is missing from {seen:?}");
        }
    }
    assert!(seen.contains("literals repeat"), "{seen:?}");
}

#[test]
fn windows_strategies_and_sizes() {
    let samples = samples();
    let sets: [&[CParameter]; 7] = [
        &[CParameter::WindowLog(10)],
        &[CParameter::WindowLog(27), CParameter::EnableLongDistanceMatching(true)],
        &[CParameter::ContentSizeFlag(false), CParameter::WindowLog(11)],
        &[CParameter::Strategy(Strategy::ZSTD_fast), CParameter::MinMatch(7)],
        &[CParameter::Strategy(Strategy::ZSTD_btultra2), CParameter::MinMatch(3)],
        &[CParameter::TargetCBlockSize(1340)],
        &[CParameter::ChecksumFlag(true), CParameter::CompressionLevel(-3)],
    ];
    for parameters in sets {
        for sample in &samples {
            let frame = zstd(sample, parameters, &[]);
            assert!(rebuild(&frame, EVERYTHING).unwrap() == *sample, "{parameters:?}");
        }
    }
}

/// Records that are alike, and a dictionary trained on half of them.
fn records() -> (Vec<Vec<u8>>, Vec<u8>) {
    let record = |k: u64| {
        let mixed = k.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        format!(
            "{{\"id\":{k},\"name\":\"user-{:04x}\",\"city\":\"{}\",\"score\":{},\"active\":{}}}",
            mixed >> 48,
            ["Berlin", "Paris", "Oslo", "Rome"][(mixed >> 20 & 3) as usize],
            mixed >> 40 & 0x3ff,
            k.is_multiple_of(2)
        )
        .into_bytes()
    };
    let records: Vec<_> = (0..4000).map(record).collect();
    let (train, _) = records.split_at(2000);
    let mut dictionary = vec![0; 8 << 10];
    let sizes: Vec<_> = train.iter().map(Vec::len).collect();
    let size = zstd_safe::train_from_buffer(&mut dictionary[..], &train.concat(), &sizes).unwrap();
    dictionary.truncate(size);
    (records, dictionary)
}

#[test]
fn frames_with_a_dictionary() {
    let (records, dictionary) = records();
    let raw = records[..40].concat();
    for bytes in [&dictionary, &raw] {
        let read = ZstdDictionary::read(bytes).unwrap();
        assert_eq!(read.id.is_some(), bytes == &dictionary);
        let options = LookOptions { dictionary: Some(&read), ..EVERYTHING };
        for level in [-5, 1, 3, 9, 19] {
            for record in records.iter().skip(2000).step_by(97) {
                let frame = zstd(record, &[CParameter::CompressionLevel(level)], bytes);
                assert!(rebuild(&frame, options).unwrap() == *record, "level {level}");
                if let Some(id) = read.id {
                    let error = rebuild(&frame, EVERYTHING).unwrap_err();
                    assert!(
                        matches!(error, FrameError::Dictionary { offset: 0, id: got } if got == id)
                    );
                    let mut reader = &frame[..];
                    let shallow = Look::new(&mut reader, LookOptions::default());
                    assert!(shallow.map(Result::unwrap).count() >= 3, "headers need no dictionary");
                }
            }
        }
    }
    for cut in 4..dictionary.len().min(400) {
        // Either it is refused, or the cut was inside of the content.
        if let Err(error) = ZstdDictionary::read(&dictionary[..cut]) {
            assert_eq!(error.kind(), Kind::Corrupt);
        }
    }
}

#[test]
fn headers_say_what_was_asked_for() {
    let content = samples()[5].clone();
    let frame = zstd(&content, &[CParameter::ChecksumFlag(true), CParameter::WindowLog(17)], &[]);
    let mut reader = &frame[..];
    let events: Vec<_> = Look::new(&mut reader, EVERYTHING).map(Result::unwrap).collect();
    let Some(Event::Frame(first)) = events.first() else { panic!("no frame") };
    let FrameKind::Zstd(header) = &first.kind else { panic!("no zstd") };
    assert_eq!((header.window_bytes, header.content_bytes), (1 << 17, Some(400_000)));
    assert!(header.checksum && !header.single_segment && header.dictionary.is_none());
    let Some(Event::End(end)) = events.last() else { panic!("no end") };
    assert_eq!((end.offset, end.blocks, end.content_bytes), (frame.len() as u64, 4, Some(400_000)));
    let stored: u64 = events
        .iter()
        .map(|event| if let Event::Block(block) = event { block.stored_bytes } else { 0 })
        .sum();
    assert_eq!(stored + header.header_bytes as u64 + 4, frame.len() as u64, "no byte is missing");
    let tail = frame.last_chunk::<4>().unwrap();
    assert_eq!(end.checksum, Some(u32::from_le_bytes(*tail)));
}

/// Every byte of a frame is damaged, in several ways, and every cut made. What libzstd decodes, we put together to the same
/// bytes; what it refuses, we may explain only where a checksum would tell.
#[test]
fn damage_at_every_byte() {
    let samples = samples();
    let small = [&samples[4][..], &samples[2], &samples[7][..4000], &samples[6][..3000]];
    let (mut refused, mut agreed) = (0, 0);
    for sample in small {
        for level in [1, 9, 19] {
            let frame = zstd(sample, &[CParameter::CompressionLevel(level)], &[]);
            for at in 0..frame.len() {
                for change in [1, 0x80, 0xff, 0x10] {
                    let mut damaged = frame.clone();
                    damaged[at] ^= change;
                    let ours = rebuild(&damaged, EVERYTHING);
                    let mut theirs = Vec::with_capacity(1 << 20);
                    let result = zstd_safe::decompress(&mut theirs, &damaged[..]);
                    match (ours, result) {
                        (Ok(ours), Ok(_)) => {
                            assert!(ours == theirs, "level {level}, byte {at}");
                            agreed += 1;
                        }
                        (Err(error), _) => {
                            let offset = error.offset().unwrap();
                            assert!(offset <= frame.len() as u64, "{error}");
                            refused += 1;
                        }
                        (Ok(_), Err(code)) => {
                            // A frame may become one whose content needs more than was made room for.
                            let name = zstd_safe::get_error_name(code);
                            assert!(
                                name.contains("too small") || name.contains("Unsupported"),
                                "{name} at {at}"
                            );
                        }
                    }
                }
            }
            for cut in 1..frame.len() {
                let error = rebuild(&frame[..cut], EVERYTHING).unwrap_err();
                assert_eq!(error.kind(), Kind::Corrupt, "{error}");
            }
        }
    }
    assert!(refused > 1000 && agreed > 1000, "{refused} refused, {agreed} agreed");
}

#[test]
fn frames_follow_each_other() {
    let skippable = [&0x184d_2a57_u32.to_le_bytes()[..], &5_u32.to_le_bytes(), b"notes"].concat();
    let mut lz4 = Vec::new();
    let mut options = CompressOptions::new(Format::Lz4);
    options.lz4.block_checksums = true;
    compress(&mut &samples()[5][..], &mut lz4, &options).unwrap();
    let zstd = zstd(b"hello hello hello", &[], &[]);
    let stream = [&skippable[..], &lz4, &zstd, &skippable].concat();
    let mut reader = &stream[..];
    let events: Vec<_> =
        Look::new(&mut reader, LookOptions::default()).map(Result::unwrap).collect();
    let frames: Vec<_> = events
        .iter()
        .filter_map(|event| if let Event::Frame(frame) = event { Some(&frame.kind) } else { None })
        .collect();
    assert!(matches!(
        frames[..],
        [
            FrameKind::Skippable { variant: 7, bytes: 5 },
            FrameKind::Lz4(_),
            FrameKind::Zstd(_),
            FrameKind::Skippable { .. }
        ]
    ));
    let Some(Event::End(end)) = events.last() else { panic!("no end") };
    assert_eq!(end.offset, stream.len() as u64);
    let mut good = events.iter().filter_map(|event| match event {
        Event::Block(block) => block.checksum,
        _ => None,
    });
    assert!(good.all(|good| good));
    let mut reader = &[&stream[..], b"junk"].concat()[..];
    let error = Look::new(&mut reader, LookOptions::default()).find_map(Result::err).unwrap();
    assert!(matches!(error, FrameError::Magic { offset, .. } if offset == stream.len() as u64));
}

#[test]
fn lz4_frames_add_up() {
    for sample in samples() {
        for (linked, level) in [(false, 1), (true, 9)] {
            let mut tally = Tally::default();
            let mut options = CompressOptions::new(Format::Lz4);
            options.lz4.linked = linked;
            options.level = Some(level);
            options.block_bytes = Some(64 << 10);
            let mut frame = Vec::new();
            compress(&mut &sample[..], &mut frame, &options).unwrap();
            let mut reader = &frame[..];
            let mut content = 0;
            for event in Look::new(&mut reader, EVERYTHING) {
                let event = event.unwrap();
                tally.add(&event);
                match event {
                    Event::Block(block) => {
                        content += block.content_bytes.unwrap();
                        let BlockData::Lz4(data) = block.data else { continue };
                        let parts = data.literal_bytes + data.length_bytes + data.offset_bytes();
                        assert_eq!(4 + parts as u64, block.stored_bytes);
                        assert_eq!(data.each.len(), data.sequences);
                    }
                    Event::End(end) => assert_eq!(end.content_bytes, Some(content)),
                    Event::Frame(_) => {}
                }
            }
            assert_eq!(content, sample.len() as u64);
            assert_eq!(tally.total(), frame.len() as u64, "every byte has a purpose");
            for at in (0..frame.len()).step_by(1 + frame.len() / 400) {
                let mut damaged = frame.clone();
                damaged[at] ^= 0x21;
                let mut reader = &damaged[..];
                // Whatever it says of it: no panic, and an offset inside.
                for event in Look::new(&mut reader, EVERYTHING) {
                    if let Err(error) = event {
                        assert!(error.offset().unwrap() <= frame.len() as u64);
                    }
                }
            }
        }
    }
}

#[test]
fn a_size_that_lies_allocates_nothing() {
    // A frame of 2 GiB window with a compressed block of 2 MiB that is not there.
    let frame = [0x28, 0xb5, 0x2f, 0xfd, 0, 21 << 3, 0x05, 0, 0x80, 1];
    let error = rebuild(&frame, EVERYTHING).unwrap_err();
    assert!(matches!(error, FrameError::Size { offset: 6, max: 131_072, .. }), "{error}");
    let frame = [0x28, 0xb5, 0x2f, 0xfd, 0x20, 0, 7, 0, 0];
    assert!(rebuild(&frame, EVERYTHING).unwrap_err().to_string().contains("reserved"));
}

#[test]
fn literals_of_a_known_frame() {
    let frame = zstd(&samples()[7], &[], &[]);
    let mut reader = &frame[..];
    let block = Look::new(&mut reader, EVERYTHING).find_map(|event| match event.unwrap() {
        Event::Block(block) => Some(block),
        _ => None,
    });
    let BlockData::Zstd(block) = block.unwrap().data else { panic!("not compressed") };
    assert_eq!((block.literals.kind, block.literals.streams), (LiteralsKind::Huffman, 4));
    let tree = block.literals.tree.unwrap();
    assert!(tree.symbols <= 32 && tree.bits_max <= 11 && tree.bytes > 1, "{tree:?}");
}
