//! What all formats have in common.

use super::{
    CompressOptions, DecompressOptions, Format, FrameError, Summary, compress, decompress,
    decompress_verified,
};
use crate::Kind;
use std::io::{Cursor, Read, Write};

const FORMATS: [Format; 3] = [Format::Block, Format::Lz4, Format::Zstd];

/// Bytes that compress, different everywhere.
fn content(length: usize) -> Vec<u8> {
    (0_u32..).flat_map(|k| (k / 5).wrapping_mul(k % 97).to_le_bytes()).take(length).collect()
}

fn encode(source: &[u8], options: &CompressOptions) -> Vec<u8> {
    let mut stream = Vec::new();
    compress(&mut &*source, &mut stream, options).unwrap();
    stream
}

fn decode(stream: &[u8]) -> Result<(Vec<u8>, Summary), FrameError> {
    let mut target = Vec::new();
    let summary = decompress(&mut &*stream, &mut target, &DecompressOptions::default())?;
    Ok((target, summary))
}

/// Options of a format with blocks of 64 KiB.
fn small_blocks(format: Format) -> CompressOptions {
    CompressOptions { block_bytes: Some(64 << 10), ..CompressOptions::new(format) }
}

/// A reader that gives a few bytes at a time, and is interrupted now and then.
struct Dribble<'a>(&'a [u8], usize);

impl Read for Dribble<'_> {
    fn read(&mut self, target: &mut [u8]) -> std::io::Result<usize> {
        self.1 += 1;
        if self.1.is_multiple_of(5) {
            return Err(std::io::ErrorKind::Interrupted.into());
        }
        let count = (1 + self.1 % 900).min(target.len());
        self.0.read(&mut target[..count])
    }
}

#[test]
fn formats_are_found_by_their_first_bytes() {
    for format in FORMATS {
        for length in [0, 1, 65_535, 65_536, 65_537, 300_000] {
            let source = content(length);
            let stream = encode(&source, &small_blocks(format));
            let (decoded, summary) = decode(&stream).unwrap();
            assert!(decoded == source, "{format:?} {length}");
            assert_eq!(summary.format, format);
            assert_eq!((summary.bytes_in, summary.bytes_out), (stream.len() as u64, length as u64));
            let mut dribbled = Vec::new();
            let options = DecompressOptions::default();
            decompress(&mut Dribble(&stream, 0), &mut dribbled, &options).unwrap();
            assert!(dribbled == source);
            let mut again = Vec::new();
            compress(&mut Dribble(&source, 0), &mut again, &small_blocks(format)).unwrap();
            assert!(again == stream, "{format:?}: the pieces of the input matter");
        }
    }
}

#[test]
fn threads_do_not_matter() {
    let source = content(2_000_000);
    for format in FORMATS {
        for linked in [false, true] {
            let mut options = small_blocks(format);
            options.lz4.linked = linked;
            let stream = encode(&source, &options);
            for threads in [0, 2, 3, 8] {
                options.threads = threads;
                // Room for a few blocks only: fewer than the threads could take.
                for memory_bytes_max in [1 << 30, 600_000] {
                    options.memory_bytes_max = memory_bytes_max;
                    assert!(encode(&source, &options) == stream, "{format:?} {threads}");
                    let options =
                        DecompressOptions { threads, memory_bytes_max, ..Default::default() };
                    let mut decoded = Vec::new();
                    decompress(&mut &*stream, &mut decoded, &options).unwrap();
                    assert!(decoded == source, "{format:?} {threads}");
                }
            }
        }
    }
}

#[test]
fn errors_do_not_depend_on_threads() {
    let source = content(1_000_000);
    for format in FORMATS {
        let mut stream = encode(&source, &small_blocks(format));
        let middle = stream.len() / 2;
        stream[middle] ^= 4;
        let attempt = |threads| {
            let options = DecompressOptions { threads, ..Default::default() };
            let mut target = Vec::new();
            let error = decompress(&mut &*stream, &mut target, &options).unwrap_err();
            assert_eq!(error.kind(), Kind::Corrupt, "{error}");
            assert!(source.starts_with(&target) || format == Format::Lz4);
            (error.to_string(), target)
        };
        assert_eq!(attempt(1), attempt(4));
        assert_eq!(attempt(1), attempt(2));
    }
}

#[test]
fn cuts_and_garbage_are_refused() {
    let source = content(1000);
    for format in FORMATS {
        let stream = encode(&source, &CompressOptions::new(format));
        for cut in 1..stream.len() {
            assert_eq!(
                decode(&stream[..cut]).unwrap_err().kind(),
                Kind::Corrupt,
                "{format:?} {cut}"
            );
        }
        for garbage in [&b"x"[..], b"garbage", &[0; 100]] {
            let error = decode(&[&stream, garbage].concat()).unwrap_err();
            assert_eq!(error.kind(), Kind::Corrupt, "{format:?}");
        }
        let named = DecompressOptions { format: Some(format), ..Default::default() };
        let nothing = decompress(&mut &b""[..], &mut Vec::new(), &named);
        assert_eq!(nothing.is_ok(), format == Format::Block);
    }
    assert_eq!(decode(b"").unwrap().0, b"");
}

#[test]
fn streams_follow_each_other() {
    let source = content(100_000);
    for format in FORMATS {
        let stream = encode(&source, &CompressOptions::new(format));
        let (decoded, _) = decode(&stream.repeat(3)).unwrap();
        assert!(decoded == source.repeat(3), "{format:?}");
    }
}

#[test]
fn skippable_frames_come_before_either_format() {
    let skippable = *b"\x53\x2a\x4d\x18\x05\0\0\0crumb";
    for format in [Format::Lz4, Format::Zstd] {
        let stream = [&skippable[..], &encode(b"content", &CompressOptions::new(format))].concat();
        let (decoded, summary) = decode(&stream).unwrap();
        assert_eq!((&decoded[..], summary.format, summary.frames), (&b"content"[..], format, 2));
    }
    assert_eq!(decode(&skippable.repeat(2)).unwrap().1.frames, 2);
    let block = encode(b"content", &CompressOptions::new(Format::Block));
    let error = decode(&[&skippable[..], &block].concat()).unwrap_err();
    assert!(matches!(error, FrameError::Magic { offset: 13, .. }), "{error}");
}

#[test]
fn zstd_frames_have_sizes_levels_and_limits() {
    let source = content(500_000);
    let mut options = CompressOptions::new(Format::Zstd);
    let plain = encode(&source, &options);
    options.content_size = Some(500_000);
    let sized = encode(&source, &options);
    assert!(decode(&sized).unwrap().0 == source && sized != plain);
    options.content_size = Some(499_999);
    let error = compress(&mut &*source, &mut Vec::new(), &options).unwrap_err();
    assert_eq!(error.kind(), Kind::Conflict);
    options.level = Some(23);
    let error = compress(&mut &*source, &mut Vec::new(), &options).unwrap_err();
    assert_eq!(error.kind(), Kind::Argument);
    // One frame without a block size, several with one.
    assert_eq!(decode(&plain).unwrap().1.frames, 1);
    let cut = encode(&source, &small_blocks(Format::Zstd));
    assert_eq!(decode(&cut).unwrap().1.frames, 8);
    let memory = DecompressOptions { memory_bytes_max: 4096, ..Default::default() };
    let error = decompress(&mut &*plain, &mut Vec::new(), &memory).unwrap_err();
    assert_eq!(error.kind(), Kind::Limit, "{error}");
    // Magic, no flags, a window of 2 GiB, one last raw block of one byte.
    let window = [0x28, 0xb5, 0x2f, 0xfd, 0, 21 << 3, 9, 0, 0, b'x'];
    assert_eq!(decode(&window).unwrap_err().kind(), Kind::Limit);
}

#[test]
fn blocks_have_codecs_and_limits() {
    let source = content(100_000);
    for (codec, kind) in
        [("ZSTD(3)", None), ("NONE", None), ("AES_128_GCM_SIV", Some(Kind::Unsupported))]
    {
        let mut options = CompressOptions::new(Format::Block);
        options.codec = codec.parse().unwrap();
        let mut stream = Vec::new();
        let result = compress(&mut &*source, &mut stream, &options);
        assert_eq!(result.as_ref().err().map(FrameError::kind), kind);
        if result.is_ok() {
            assert!(decode(&stream).unwrap().0 == source);
        }
    }
    let stream = encode(&source, &CompressOptions::new(Format::Block));
    let memory = DecompressOptions { memory_bytes_max: 100_000, ..Default::default() };
    let error = decompress(&mut &*stream, &mut Vec::new(), &memory).unwrap_err();
    assert!(matches!(error, FrameError::Memory { offset: 0, .. }), "{error}");
}

#[test]
fn nothing_is_written_before_all_was_checked() {
    let source = content(300_000);
    for format in FORMATS {
        let stream = encode(&source, &small_blocks(format));
        let options = DecompressOptions::default();
        let attempt = |stream: &[u8]| {
            let mut target = Vec::new();
            // The stream does not begin where the file does.
            let mut file = Cursor::new([b"front", stream].concat());
            file.set_position(5);
            let result = decompress_verified(&mut file, &mut target, &options);
            (result.is_ok(), target)
        };
        assert!(attempt(&stream) == (true, source.clone()), "{format:?}");
        assert!(attempt(&stream[..stream.len() - 1]) == (false, vec![]), "{format:?}");
    }
}

/// A writer that takes this many bytes and no more.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let count = bytes.len().min(self.0);
        self.0 -= count;
        if count == 0 { Err(std::io::ErrorKind::StorageFull.into()) } else { Ok(count) }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn errors_of_the_system_say_where() {
    let source = content(1_000_000);
    for format in FORMATS {
        for threads in [1, 3] {
            let options = CompressOptions { threads, ..small_blocks(format) };
            let error = compress(&mut &*source, &mut Full(1000), &options).unwrap_err();
            assert!(matches!(error, FrameError::Write { .. }), "{error}");
            assert_eq!(error.kind(), Kind::Io);
        }
    }
}
