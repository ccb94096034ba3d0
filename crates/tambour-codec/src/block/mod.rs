//! ClickHouse's compressed block: checksum, header, payload.
//!
//! The format is described in `docs/format/block.md`. [`Block::parse`] verifies a block, a [`Decoder`] turns it into bytes;
//! an [`Encoder`] appends blocks to a stream. [`stream`] walks over the blocks of a whole stream.

mod header;
mod read;
pub mod stream;
mod write;

pub use header::Header;
pub use read::{Block, Decoder};
pub use write::Encoder;

/// Bytes of the checksum.
pub const HASH_BYTES: usize = 16;
/// Bytes of the header after the checksum: method, compressed size, uncompressed size.
pub const HEADER_BYTES: usize = 9;
/// Largest compressed or uncompressed size that is accepted, in bytes.
pub const SIZE_MAX: u32 = 1 << 30;

/// Bytes in front of the payload.
const PREFIX_BYTES: usize = HASH_BYTES + HEADER_BYTES;
const _: () = assert!(PREFIX_BYTES == 25, "fixed by the format");

#[cfg(test)]
mod tests {
    use super::{Block, Decoder, Encoder, Header, stream};
    use crate::codec::{Element, FAMILIES};
    use crate::{CodecError, Kind};

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<_> = hex.chars().filter(|c| !c.is_whitespace()).collect();
        let byte = |pair: &[char]| u8::from_str_radix(&String::from_iter(pair), 16).unwrap();
        digits.chunks(2).map(byte).collect()
    }

    fn decode(source: &[u8]) -> Result<Vec<u8>, CodecError> {
        stream::decode_all(source, &mut Decoder::new(), 1 << 20)
    }

    fn encode(spec: &str, source: &[u8]) -> Vec<u8> {
        let mut target = Vec::new();
        let mut encoder = Encoder::new(&spec.parse().unwrap(), Element::BYTES).unwrap();
        encoder.encode(source, &mut target).unwrap();
        target
    }

    /// Blocks that ClickHouse 26.9 wrote around five values.
    #[test]
    fn blocks_of_clickhouse() {
        let values = bytes("0a000000 0b000000 0d000000 0d000000 e8030000");
        let none = bytes(
            "79c1d9a5ae6159a73a09421a0c079673 021d00000014000000
             0a0000000b0000000d0000000d000000e8030000",
        );
        let lz4 = bytes(
            "489a1386db91d7f11c5fb481a61ccd83 821f00000014000000
             f0050a0000000b0000000d0000000d000000e8030000",
        );
        let zstd = bytes(
            "547cdc7cb2f4619d31d9b79ce0cd5a6c 902600000014000000
             28b52ffd2014a100000a0000000b0000000d0000000d000000e8030000",
        );
        for block in [&none, &lz4, &zstd] {
            assert_eq!(decode(block).unwrap(), values);
        }
        assert_eq!(encode("NONE", &values), none);
        assert_eq!(encode("LZ4", &values), lz4);
        assert_eq!(decode(&[none, lz4, zstd].concat()).unwrap(), values.repeat(3));
    }

    /// The worked example of `docs/format/block.md`.
    #[test]
    fn the_documented_block() {
        let block = bytes(
            "2444547dde1a289e60ab8f85e943ca2a 82 19000000 1e000000
             6f 68656c6c6f20 0600 00 50 656c6c6f0a",
        );
        let header = Header::parse(&block).unwrap();
        assert_eq!(
            (header.method, header.compressed_size, header.uncompressed_size),
            (0x82, 25, 30)
        );
        assert_eq!((header.block_bytes(), header.payload_bytes()), (block.len(), 16));
        assert_eq!(header.to_bytes()[..], block[..25]);
        assert_eq!(decode(&block).unwrap(), b"hello hello hello hello hello\n");
    }

    #[test]
    fn sizes_are_checked_before_anything_else() {
        let prefix = |method: u8, compressed: u32, uncompressed: u32| {
            let mut prefix = vec![0; 16];
            prefix.push(method);
            prefix.extend(compressed.to_le_bytes());
            prefix.extend(uncompressed.to_le_bytes());
            Header::parse(&prefix).map_err(|error| error.kind())
        };
        let corrupt = Err(Kind::Corrupt);
        for method in FAMILIES.iter().map(|family| family.method).chain([0x91, 0xff]) {
            for compressed in [0, 8, (1 << 30) + 1, u32::MAX] {
                assert_eq!(prefix(method, compressed, 0), corrupt);
            }
            assert_eq!(prefix(method, 1 << 30, (1 << 30) + 1), corrupt);
            assert!(prefix(method, 9, 0).is_ok());
        }
        // A payload of one byte cannot hold a gigabyte.
        assert_eq!(prefix(0x02, 10, 2), corrupt);
        assert_eq!(prefix(0x82, 10, 1 << 30), corrupt);
        assert_eq!(prefix(0x90, 10, 1 << 30), corrupt);
        assert!(prefix(0x91, 10, 1 << 30).is_ok());
    }

    #[test]
    fn an_unknown_method_is_named() {
        let block = |method| {
            let mut block = encode("NONE", b"x");
            block[16] = method;
            let hash = tambour_kernel::hash::city_hash_128(&block[16..]);
            block[..16].copy_from_slice(&hash.to_bytes());
            decode(&block).unwrap_err()
        };
        let error = block(0x96);
        assert_eq!(error.kind(), Kind::Unsupported);
        assert_eq!(error.to_string(), "method 0x96 (AES_128_GCM_SIV) is not supported");
        assert_eq!(block(0x42).to_string(), "method 0x42 (unknown) is not supported");
    }

    #[test]
    fn an_encoder_says_what_it_cannot_do() {
        let kind = |spec: &str| {
            let spec = spec.parse().unwrap();
            Encoder::new(&spec, Element::BYTES).map(drop).map_err(|error| error.kind())
        };
        assert_eq!(kind("LZ4"), Ok(()));
        assert_eq!(kind("Delta(4), LZ4"), Ok(()));
        assert_eq!(kind("AES_128_GCM_SIV, LZ4"), Err(Kind::Unsupported));
        assert_eq!(kind("T64"), Err(Kind::Argument));
        assert_eq!(kind("Multiple"), Err(Kind::Argument));
        assert_eq!(kind("LZ4HC"), Ok(()));
        assert_eq!(kind("LZ4HC(1)"), Ok(()));
        assert_eq!(kind("LZ4HC(0)"), Err(Kind::Argument));
        assert_eq!(kind("LZ4HC(13)"), Err(Kind::Argument));
        assert_eq!(kind("LZ4HC(9, 9)"), Err(Kind::Argument));
        assert_eq!(kind("Novel"), Err(Kind::Argument));
        assert_eq!(kind("LZ4(1)"), Err(Kind::Argument));
        assert_eq!(kind("ZSTD(23)"), Err(Kind::Argument));
    }

    #[test]
    fn a_target_of_the_wrong_length_is_the_callers_fault() {
        let block = encode("LZ4", b"drum drum drum");
        let block = Block::parse(&block).unwrap();
        let error = Decoder::new().decode(&block, &mut [0; 13]).unwrap_err();
        assert_eq!(error.kind(), Kind::Argument);
    }

    #[test]
    fn a_stream_stops_at_damage_and_says_where() {
        let mut stream = [encode("LZ4", b"first"), encode("NONE", b"second")].concat();
        let second = encode("LZ4", b"first").len();
        stream[second + 30] ^= 1;
        let mut blocks = stream::Blocks::new(&stream);
        assert_eq!(blocks.next().unwrap().unwrap().offset, 0);
        assert!(matches!(blocks.next(), Some(Err(CodecError::Checksum { .. }))));
        assert_eq!(blocks.offset(), second);
        assert!(blocks.next().is_none());
        assert_eq!(stream::Headers::new(&stream).flatten().count(), 2);
        let limited = stream::decode_all(&stream[..second], &mut Decoder::new(), 4).unwrap_err();
        assert_eq!(limited.kind(), Kind::Limit);
    }

    #[test]
    fn both_sides_move_between_threads() {
        fn movable<T: Send + 'static>() {}
        movable::<Decoder>();
        movable::<Encoder>();
    }
}
