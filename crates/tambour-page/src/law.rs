//! Laws of the page store over hostile bytes, for fuzz targets: whatever the bytes are, they are read or refused.

use super::codec::Coder;
use super::dictionary::Dictionaries;
use super::options::{Method, Options, PAGES_MAX, PageCodec};
use super::{Access, Durability, Store, frame, header, restore, snapshot};
use std::path::Path;
use tambour_storage::place::Storage;
use tambour_storage::place::memory::Memory;

/// Any bytes as a store, as its map, as a backup.
pub fn fuzz_open(input: &[u8]) {
    let path = Path::new("/store");
    let memory = Memory::default();
    if memory.create(path).is_err() {
        return;
    }
    memory.set_bytes(path, input.to_vec());
    for access in [Access::Read, Access::Write] {
        if let Ok(mut store) = Store::open_on(&memory, path, access) {
            let mut content = vec![0; store.page_bytes()];
            for page in store.pages().take(100).collect::<Vec<_>>() {
                // Damage is an error; a panic is not.
                let _ = store.read(page, &mut content);
            }
        }
    }
    let memory = Memory::default();
    let _ = restore(&memory, &mut &*input, path, &Options::default());
}

/// Any bytes as what checksums guard: map snapshots, frames, headers and payloads of images.
pub fn fuzz_guarded(input: &[u8]) {
    let Some((&first, rest)) = input.split_first() else { return };
    let page_count = u64::from(first) * 7;
    if let Some(found) = snapshot::decode(rest, page_count, 64) {
        let again = snapshot::encode(&found.map, &found.dictionaries, 64);
        let twice = snapshot::decode(&again, page_count, 64).map(|it| it.map);
        assert!(twice.is_some_and(|map| map.iter(0).eq(found.map.iter(0))), "a map changed");
    }
    let _ = snapshot::decode(rest, PAGES_MAX, 64);
    if let Some(header) = frame::header(rest) {
        let _ = frame::records(&header, rest, 0);
    }
    let expected = header::Expected { file_id: 0, page_shift: 12, page: 0, generation: 0 };
    let _ = header::verify(rest, expected);
    let mut coder = Coder::new();
    let mut target = vec![0x5a; 4096];
    for method in Method::ALL {
        let _ = coder.decode(method, 0, &Dictionaries::default(), rest, &mut target);
    }
}

/// Any bytes as the content of pages: they come back, from every codec and layout.
pub fn fuzz_round_trip(input: &[u8]) {
    for layout in [super::Layout::Packed, super::Layout::Holes] {
        for codec in [PageCodec::NONE, PageCodec::LZ4, PageCodec::ZSTD, PageCodec::ZLIB] {
            round_trip(input, &Options { page_bytes: 8192, layout, codec, ..Options::default() });
        }
    }
}

fn round_trip(input: &[u8], options: &Options) {
    let memory = Memory::default();
    let path = Path::new("/store");
    let mut pages: Vec<Vec<u8>> = input.chunks(options.page_bytes).map(<[u8]>::to_vec).collect();
    let Ok(mut store) = Store::create_on(&memory, path, options) else { return };
    let Ok(mut batch) = store.batch() else { return };
    for (page, content) in pages.iter_mut().enumerate() {
        content.resize(options.page_bytes, 0);
        assert!(batch.put(page as u64, content).is_ok(), "page {page} is refused");
    }
    assert!(batch.commit(Durability::Sync).is_ok(), "the commit is refused");
    assert!(store.close().is_ok(), "the store does not close");
    let Ok(mut store) = Store::open_on(&memory, path, Access::Read) else {
        unreachable!("what was closed opens")
    };
    let mut found = vec![0; options.page_bytes];
    for (page, content) in pages.iter().enumerate() {
        assert!(store.read(page as u64, &mut found).is_ok_and(|()| found == *content));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_laws_hold_for_a_few_inputs() {
        let mut seed = 1_u64;
        for length in [0, 1, 5, 64, 300, 9000, 20_000] {
            let mut input: Vec<u8> = (0..length)
                .map(|_| {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (seed >> 61) as u8
                })
                .collect();
            for magic in [&b""[..], b"TAMBPAGE\x01\0", b"TAMBBACK\x01\0", b"\x05TPC1", b"\x01TPG1"]
            {
                let end = magic.len().min(input.len());
                input[..end].copy_from_slice(&magic[..end]);
                fuzz_open(&input);
                fuzz_guarded(&input);
            }
            fuzz_round_trip(&input);
        }
    }
}
