//! A hash of a key of constant length beside the same function written for that length by hand, to compare instructions.
//!
//! `cargo rustc --release -p tambour-check --example constant_length -- --emit asm -C debuginfo=0` puts both of each pair
//! into `target/release/examples/constant_length-*.s`. Where both are the same code the compiler keeps one of them: with
//! XXH32 and XXH64 the dedicated ones are gone, with XXH3 the 21 instructions of both are the same. The program itself
//! compares results.
#![expect(clippy::print_stdout, reason = "a report for people")]

use std::hint::black_box;
use tambour_kernel::hash::{xxh3_64_of, xxh32_of, xxh64_of};

/// XXH32 of four bytes.
#[inline(never)]
fn xxh32_generic(key: &[u8; 4]) -> u32 {
    xxh32_of(key, 0)
}

/// The same by hand.
#[inline(never)]
fn xxh32_dedicated(key: &[u8; 4]) -> u32 {
    let word = u32::from_le_bytes(*key).wrapping_mul(0xc2b2_ae3d);
    let mut hash = word.wrapping_add(0x1656_67b5).rotate_left(17).wrapping_mul(0x27d4_eb2f);
    hash = (hash ^ hash >> 15).wrapping_mul(0x85eb_ca77);
    hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae3d);
    hash ^ hash >> 16
}

/// XXH64 of eight bytes.
#[inline(never)]
fn xxh64_generic(key: &[u8; 8]) -> u64 {
    xxh64_of(key, 0)
}

/// The same by hand.
#[inline(never)]
fn xxh64_dedicated(key: &[u8; 8]) -> u64 {
    const P1: u64 = 0x9e37_79b1_85eb_ca87;
    const P2: u64 = 0xc2b2_ae3d_27d4_eb4f;
    let word = u64::from_le_bytes(*key).wrapping_mul(P2).rotate_left(31).wrapping_mul(P1);
    let hash = (0x27d4_eb2f_1656_67cd ^ word).rotate_left(27).wrapping_mul(P1);
    let mut hash = hash.wrapping_add(0x85eb_ca77_c2b2_ae63);
    hash = (hash ^ hash >> 33).wrapping_mul(P2);
    hash = (hash ^ hash >> 29).wrapping_mul(0x1656_67b1_9e37_79f9);
    hash ^ hash >> 32
}

/// XXH3 of eight bytes.
#[inline(never)]
fn xxh3_generic(key: &[u8; 8]) -> u64 {
    xxh3_64_of(key, 0)
}

/// The same by hand.
#[inline(never)]
fn xxh3_dedicated(key: &[u8; 8]) -> u64 {
    const FACTOR: u64 = 0x9fb2_1c65_1e98_df25;
    let word = u64::from_le_bytes(*key).rotate_left(32) ^ 0xc73a_b174_c5ec_d5a2;
    let mut hash = (word ^ word.rotate_left(49) ^ word.rotate_left(24)).wrapping_mul(FACTOR);
    hash = (hash ^ (hash >> 35).wrapping_add(8)).wrapping_mul(FACTOR);
    hash ^ hash >> 28
}

/// Calls through a pointer, so that the compiler passes the key as it stands in the signature.
fn called<const N: usize, H>(hash: fn(&[u8; N]) -> H, key: &[u8; N]) -> H {
    black_box(hash)(key)
}

fn main() {
    let mut key = 1_u64;
    for _ in 0..100_000 {
        key = key.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let eight = black_box(key.to_le_bytes());
        let [a, b, c, d, ..] = eight;
        let four = black_box([a, b, c, d]);
        assert_eq!(called(xxh32_generic, &four), called(xxh32_dedicated, &four));
        assert_eq!(called(xxh64_generic, &eight), called(xxh64_dedicated, &eight));
        assert_eq!(called(xxh3_generic, &eight), called(xxh3_dedicated, &eight));
    }
    println!("100000 keys, all hashes equal");
}
