//! Frames byte by byte: what the `lz4` program writes, what the format allows, and what it does not.

use super::{Dictionary, hash};
use crate::Kind;
use crate::frame::{CompressOptions, DecompressOptions, Format, FrameError, compress, decompress};

const TEXT: &[u8] = b"hello hello hello hello hello\n";

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<_> = hex.chars().filter(|c| !c.is_whitespace()).collect();
    let byte = |pair: &[char]| u8::from_str_radix(&String::from_iter(pair), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

/// What threads make of a frame: the same.
fn decode_with(frame: &[u8], options: &DecompressOptions) -> Result<Vec<u8>, FrameError> {
    let attempt = |threads| {
        let options = DecompressOptions { threads, ..options.clone() };
        let mut content = Vec::new();
        let result = decompress(&mut &*frame, &mut content, &options);
        (content, result)
    };
    let (content, result) = attempt(1);
    let (other_content, other_result) = attempt(3);
    assert_eq!(content, other_content);
    let text = |error: &FrameError| error.to_string();
    assert_eq!(result.as_ref().map_err(text), other_result.as_ref().map_err(text));
    result.map(|_| content)
}

fn decode(frame: &[u8]) -> Result<Vec<u8>, FrameError> {
    decode_with(frame, &DecompressOptions { format: Some(Format::Lz4), ..Default::default() })
}

fn encode(content: &[u8], options: &CompressOptions) -> Vec<u8> {
    let mut frame = Vec::new();
    let summary = compress(&mut &*content, &mut frame, options).unwrap();
    assert_eq!((summary.bytes_in, summary.bytes_out), (content.len() as u64, frame.len() as u64));
    frame
}

/// A header with a good checksum.
fn header(flags: u8, sizes: u8, rest: &[u8]) -> Vec<u8> {
    let mut header = bytes("04224d18");
    header.extend([flags, sizes]);
    header.extend(rest);
    header.push(hash(&header[4..]).to_le_bytes()[1]);
    header
}

/// Written by lz4 1.9.4 around the text.
const PLAIN: &str = "04224d18 64 40 a7 10000000 6f68656c6c6f2006000050656c6c6f0a 00000000 2d820339";
const CHECKSUMS: &str =
    "04224d18 74 40 bd 10000000 6f68656c6c6f2006000050656c6c6f0a 8ff12d4f 00000000 2d820339";
/// The worked example of `docs/format/lz4-frame.md`.
const SIZED: &str = "04224d18 7c 40 1e00000000000000 7b
     10000000 6f68656c6c6f2006000050656c6c6f0a 8ff12d4f 00000000 2d820339";
const BARE: &str = "04224d18 60 40 82 10000000 6f68656c6c6f2006000050656c6c6f0a 00000000";
const LEGACY: &str = "02214c18 10000000 6f68656c6c6f2006000050656c6c6f0a";
const EMPTY: &str = "04224d18 64 40 a7 00000000 055dcc02";

#[test]
fn frames_of_the_lz4_program() {
    for frame in [PLAIN, CHECKSUMS, SIZED, BARE, LEGACY] {
        assert_eq!(decode(&bytes(frame)).unwrap(), TEXT, "{frame}");
    }
    assert_eq!(decode(&bytes(EMPTY)).unwrap(), b"");
    assert_eq!(decode(&bytes("02214c18")).unwrap(), b"");
}

#[test]
fn we_write_what_the_lz4_program_writes() {
    let mut options = CompressOptions::new(Format::Lz4);
    options.block_bytes = Some(64 << 10);
    assert_eq!(encode(TEXT, &options), bytes(PLAIN));
    assert_eq!(encode(b"", &options), bytes(EMPTY));
    options.lz4.block_checksums = true;
    assert_eq!(encode(TEXT, &options), bytes(CHECKSUMS));
    options.content_size = Some(30);
    assert_eq!(encode(TEXT, &options), bytes(SIZED));
    options.lz4.block_checksums = false;
    options.lz4.content_checksum = false;
    options.content_size = None;
    assert_eq!(encode(TEXT, &options), bytes(BARE));
}

#[test]
fn frames_follow_each_other() {
    let skippable = bytes("5f2a4d18 03000000 ffffff");
    let empty_skippable = bytes("502a4d18 00000000");
    let parts = [
        bytes(PLAIN),
        bytes(LEGACY),
        skippable,
        bytes(EMPTY),
        bytes(LEGACY),
        bytes(SIZED),
        empty_skippable,
    ];
    let stream = parts.concat();
    assert_eq!(decode(&stream).unwrap(), TEXT.repeat(4));
    let mut content = Vec::new();
    let options = DecompressOptions::default();
    let summary = decompress(&mut &*stream, &mut content, &options).unwrap();
    assert_eq!((summary.frames, summary.blocks), (7, 4));
    assert_eq!((summary.bytes_in, summary.bytes_out), (stream.len() as u64, 120));
}

#[test]
fn many_tiny_frames() {
    let stream = [bytes(PLAIN), bytes(EMPTY)].concat().repeat(2000);
    assert_eq!(decode(&stream).unwrap(), TEXT.repeat(2000));
}

/// Literals, a match that reaches into them, a plain block, and a match that reaches over that.
#[test]
fn linked_blocks_reach_back() {
    let mut frame = header(0x40, 0x40, &[]);
    frame.extend(bytes("06000000 50 68656c6c6f"));
    frame.extend(bytes("09000000 01 0500 50 3132333435"));
    frame.extend(bytes("02000080 7879"));
    frame.extend(bytes("09000000 03 0700 50 3637383930"));
    frame.extend(bytes("00000000"));
    assert_eq!(decode(&frame).unwrap(), b"hellohello12345xy12345xy67890");
    // The same blocks as independent ones: an offset that reaches before the start.
    frame[4] = 0x60;
    frame[6] = hash(&frame[4..6]).to_le_bytes()[1];
    let error = decode(&frame).unwrap_err();
    assert_eq!(error.to_string(), "block at 17");
    assert_eq!(error.kind(), Kind::Corrupt);
}

#[test]
fn dictionaries_are_named() {
    let dictionary = Dictionary { id: Some(7), bytes: b"a dictionary says hello ".repeat(4000) };
    let mut options = CompressOptions::new(Format::Lz4);
    options.dictionary = Some(dictionary.clone());
    for linked in [false, true] {
        options.lz4.linked = linked;
        let content = b"a dictionary says hello too, and another says hello ".repeat(3000);
        let frame = encode(&content, &options);
        let with = |dictionary: Option<Dictionary>| {
            decode_with(&frame, &DecompressOptions { dictionary, ..Default::default() })
        };
        assert_eq!(with(Some(dictionary.clone())).unwrap(), content);
        let nameless = Dictionary { id: None, ..dictionary.clone() };
        assert_eq!(with(Some(nameless)).unwrap(), content);
        let other = Dictionary { id: Some(8), ..dictionary.clone() };
        for dictionary in [None, Some(other)] {
            let error = with(dictionary).unwrap_err();
            assert_eq!(error.to_string(), "frame at 0 needs the dictionary 0x00000007");
            assert_eq!(error.kind(), Kind::NotFound);
        }
        let wrong = Dictionary { id: Some(7), bytes: b"something else ".repeat(5000) };
        assert_eq!(with(Some(wrong)).unwrap_err().kind(), Kind::Corrupt);
    }
}

/// A legacy frame has no dictionary, whatever is handed in.
#[test]
fn legacy_frames_take_no_dictionary() {
    let dictionary = Some(Dictionary { id: None, bytes: b"hello".to_vec() });
    let options = DecompressOptions { dictionary, ..Default::default() };
    assert_eq!(decode_with(&bytes(LEGACY), &options).unwrap(), TEXT);
    let reaching = bytes("02214c18 09000000 01 0500 50 3132333435");
    assert_eq!(decode_with(&reaching, &options).unwrap_err().to_string(), "block at 4");
}

#[test]
fn headers_are_checked() {
    let kind = |frame: &[u8]| decode(frame).unwrap_err().kind();
    for flags in [0x00, 0x24, 0xa4, 0xe4] {
        assert_eq!(kind(&header(flags, 0x40, &[])), Kind::Unsupported, "version");
    }
    for (flags, sizes) in [(0x66, 0x40), (0x64, 0xc0), (0x64, 0x41), (0x64, 0x48)] {
        assert_eq!(kind(&header(flags, sizes, &[])), Kind::Unsupported, "reserved bits");
    }
    for sizes in [0x00, 0x10, 0x20, 0x30] {
        assert_eq!(kind(&header(0x64, sizes, &[])), Kind::Corrupt, "block size");
    }
    let mut frame = bytes(PLAIN);
    frame[6] ^= 1;
    let text = decode(&frame).unwrap_err().to_string();
    assert_eq!(text, "header checksum of the frame at 0: expected 0x000000a6, got 0x000000a7");
    assert_eq!(kind(b"PK\x03\x04"), Kind::Corrupt);
}

#[test]
fn sizes_that_lie() {
    let says = |frame: &[u8]| decode(frame).unwrap_err().to_string();
    let tail = "10000000 6f68656c6c6f2006000050656c6c6f0a 00000000";
    let sized = |size: u64| [header(0x68, 0x40, &size.to_le_bytes()), bytes(tail)].concat();
    assert_eq!(decode(&sized(30)).unwrap(), TEXT);
    assert_eq!(says(&sized(29)), "frame at 0 holds 30 bytes, its header says 29");
    assert_eq!(says(&sized(31)), "frame at 0 holds 30 bytes, its header says 31");
    assert_eq!(
        says(&sized(1 << 63)),
        format!("frame at 0 holds 30 bytes, its header says {}", 1_u64 << 63)
    );
    for size in ["01000100", "01000180", "ffffff7f", "ffffffff"] {
        let frame = [header(0x60, 0x40, &[]), bytes(size), vec![0; 70_000]].concat();
        assert!(says(&frame).starts_with("block size at 7 is"), "{size}");
    }
    // The largest sizes allowed, and the input is over.
    for (sizes, size) in [(0x40, "00000100"), (0x70, "00004000"), (0x70, "00004080")] {
        let frame = [header(0x60, sizes, &[]), bytes(size), vec![0; 10]].concat();
        assert_eq!(says(&frame), "block at 7 is cut short: the input ends at 21");
    }
    // A block that holds more than the largest block of its frame.
    let big = encode(&vec![0; 65_537], &CompressOptions::new(Format::Lz4));
    let small = [header(0x64, 0x40, &[]), big[7..].to_vec()].concat();
    assert_eq!(says(&small), "block at 7");
    let skippable = bytes("502a4d18 ffffffff 00");
    assert_eq!(says(&skippable), "skippable frame at 0 is cut short: the input ends at 9");
    // A legacy block cannot be longer than the bound of 8 MiB: this is a magic number, and none that is known.
    let legacy = bytes("02214c18 ffffff7f 00");
    assert_eq!(says(&legacy), "bytes at 4 are not a frame: magic number 0x7fffffff");
}

#[test]
fn every_cut_is_refused() {
    for frame in [PLAIN, CHECKSUMS, SIZED, BARE, EMPTY, "502a4d18 03000000 ffffff"] {
        let frame = bytes(frame);
        for cut in 0..frame.len() {
            let error = decode(&frame[..cut]).unwrap_err();
            assert!(matches!(error, FrameError::Truncated { .. }), "{cut}: {error}");
        }
    }
    // A legacy frame has no end mark: cut between two blocks, it is whole.
    let frame = bytes(LEGACY);
    for cut in (0..frame.len()).filter(|cut| *cut != 4) {
        assert!(decode(&frame[..cut]).is_err(), "{cut}");
    }
}

#[test]
fn every_flipped_bit_is_refused_or_harmless() {
    let mut options = CompressOptions::new(Format::Lz4);
    options.block_bytes = Some(64 << 10);
    options.lz4.block_checksums = true;
    let content: Vec<u8> = (0..70_000_u32).map(|k| (k / 9).to_le_bytes()[0]).collect();
    options.content_size = Some(content.len() as u64);
    for linked in [false, true] {
        options.lz4.linked = linked;
        let mut frame = encode(&content, &options);
        for bit in (0..8 * frame.len()).filter(|bit| *bit < 1000 || bit % 7 == 0) {
            frame[bit / 8] ^= 1 << (bit % 8);
            let mut decoded = Vec::new();
            let result = decompress(&mut &*frame, &mut decoded, &DecompressOptions::default());
            assert!(result.is_err() || decoded == content, "bit {bit}");
            frame[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

#[test]
fn bytes_behind_the_last_frame_are_refused() {
    let frame = bytes(PLAIN);
    let error = decode(&[&frame[..], b"garbage"].concat()).unwrap_err();
    assert_eq!(error.to_string(), "bytes at 35 are not a frame: magic number 0x62726167");
    let error = decode(&[&frame[..], b"gar"].concat()).unwrap_err();
    assert_eq!(error.to_string(), "magic number at 35 is cut short: the input ends at 38");
}

#[test]
fn an_empty_plain_block_is_taken() {
    let frame = [header(0x60, 0x40, &[]), bytes("00000080 00000000")].concat();
    assert_eq!(decode(&frame).unwrap(), b"");
}

#[test]
fn options_that_cannot_be_met() {
    let kind = |change: fn(&mut CompressOptions)| {
        let mut options = CompressOptions::new(Format::Lz4);
        change(&mut options);
        let mut frame = Vec::new();
        compress(&mut &TEXT[..], &mut frame, &options).unwrap_err().kind()
    };
    assert_eq!(kind(|options| options.block_bytes = Some(100_000)), Kind::Argument);
    assert_eq!(kind(|options| options.level = Some(13)), Kind::Argument);
    assert_eq!(kind(|options| options.content_size = Some(31)), Kind::Conflict);
    assert_eq!(kind(|options| options.content_size = Some(29)), Kind::Conflict);
    assert_eq!(kind(|options| options.memory_bytes_max = 8 << 20), Kind::Limit);
}
