//! Encodes streams anew and compares: `recode CODEC[;CODEC]... KIND:FILE...`, where KIND is `u8` to `u64`, `i8` to `i64`,
//! `f32`, `f64`, `text`, or `index` for indexes into a dictionary, and FILE holds blocks of any codec. Prints for each file
//! and codec the bytes, processor seconds of encoding, and which methods the blocks have.
#![expect(clippy::print_stdout, reason = "a measurement for the terminal")]

use std::collections::BTreeMap;
use std::error::Error;
use tambour_codec::block::{Decoder, Encoder, HASH_BYTES, stream};
use tambour_codec::codec::{Class, Element, method_name};
use tambour_codec::spec::CodecSpec;

/// Bytes of a block where the codec does not say.
const BLOCK_BYTES: usize = 256 << 10;

fn element(kind: &str) -> Option<Element> {
    let bits = |text: &str| text.parse::<u8>().ok().map(|bits| bits / 8);
    Some(match kind.split_at(1) {
        ("t", "ext") => Element::BYTES,
        ("i", "ndex") => Element { width: 1, class: Class::Unknown },
        ("u", width) => Element { width: bits(width)?, class: Class::Unsigned },
        ("i", width) => Element { width: bits(width)?, class: Class::Signed },
        ("f", width) => Element { width: bits(width)?, class: Class::Float },
        ("b", width) => Element { width: bits(width)?, class: Class::Bytes },
        _ => return None,
    })
}

/// Processor time of this thread in nanoseconds.
fn thread_time() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(0)
}

/// The methods of a block: of a chain all of them.
fn methods(block: &[u8]) -> String {
    let names = |methods: &[u8]| {
        let names: Vec<&str> = methods.iter().map(|&method| method_name(method)).collect();
        names.join("+")
    };
    match block.get(HASH_BYTES) {
        Some(0x91) => {
            let count = block.get(25).copied().unwrap_or(0);
            names(block.get(26..26 + usize::from(count)).unwrap_or_default())
        }
        Some(method) => names(&[*method]),
        None => String::new(),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((codecs, files)) = arguments.split_first() else {
        return Err("usage: recode CODEC[;CODEC]... KIND:FILE...".into());
    };
    let mut totals: BTreeMap<&str, (u64, f64, f64)> = BTreeMap::new();
    for file in files {
        let (kind, path) = file.split_once(':').ok_or("KIND:FILE")?;
        let element = element(kind).ok_or("no such kind")?;
        let source = stream::decode_all(&std::fs::read(path)?, &mut Decoder::new(), usize::MAX)?;
        for codec in codecs.split(';') {
            let spec: CodecSpec = codec.parse()?;
            let mut encoder = Encoder::new(&spec, element)?;
            let wanted = if element == Element::BYTES { 1 << 20 } else { BLOCK_BYTES };
            let mut stored = Vec::new();
            let mut seen: BTreeMap<String, usize> = BTreeMap::new();
            let before = thread_time();
            for block in source.chunks(encoder.block_bytes().map_or(wanted, |bytes| bytes.0)) {
                let start = stored.len();
                encoder.encode(block, &mut stored)?;
                *seen.entry(methods(&stored[start..])).or_default() += 1;
            }
            let encode = (thread_time() - before) as f64 * 1e-9;
            let before = thread_time();
            let decoded = stream::decode_all(&stored, &mut Decoder::new(), source.len())?;
            let decode = (thread_time() - before) as f64 * 1e-9;
            if decoded != source {
                return Err(format!("{path}, {codec}: not what was encoded").into());
            }
            let total = totals.entry(codec).or_default();
            *total = (total.0 + stored.len() as u64, total.1 + encode, total.2 + decode);
            println!(
                "{path}\t{codec}\t{}\t{}\t{encode:.3}\t{decode:.3}\t{seen:?}",
                source.len(),
                stored.len()
            );
        }
    }
    for (codec, (bytes, encode, decode)) in totals {
        println!("total\t{codec}\t{bytes}\t{encode:.3}\t{decode:.3}");
    }
    Ok(())
}
