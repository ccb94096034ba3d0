//! Metadata of a field as the C data interface packs it: a count, then keys and values, each with its length, all numbers of
//! 32 bits in the byte order of the machine.

use std::collections::HashMap;
use std::ffi::c_char;

/// The packed form; `None` without metadata.
pub(crate) fn packed(metadata: &HashMap<String, String>) -> Option<Vec<u8>> {
    if metadata.is_empty() {
        return None;
    }
    let mut bytes = Vec::new();
    let number = |bytes: &mut Vec<u8>, length: usize| {
        #[expect(clippy::host_endian_bytes, reason = "the interface is inside of one process")]
        bytes.extend(i32::try_from(length).ok()?.to_ne_bytes());
        Some(())
    };
    number(&mut bytes, metadata.len())?;
    for (key, value) in metadata {
        for text in [key, value] {
            number(&mut bytes, text.len())?;
            bytes.extend_from_slice(text.as_bytes());
        }
    }
    Some(bytes)
}

/// Longest text that is believed.
const TEXT_BYTES_MAX: i32 = 1 << 28;
/// Most pairs that are believed.
const PAIRS_MAX: i32 = 1 << 20;

/// The metadata that a pointer leads to, which may be null; `None` if it makes no sense. Texts that are not UTF-8 are mended: they
/// are of others, and nothing is decided by them.
pub(crate) fn unpacked(start: *const c_char) -> Option<HashMap<String, String>> {
    let mut metadata = HashMap::new();
    if start.is_null() {
        return Some(metadata);
    }
    let mut at = 0;
    let pairs = number(start, &mut at).filter(|pairs| (0..=PAIRS_MAX).contains(pairs))?;
    for _ in 0..pairs {
        let key = text(start, &mut at)?;
        let value = text(start, &mut at)?;
        metadata.insert(key, value);
    }
    Some(metadata)
}

fn number(start: *const c_char, at: &mut usize) -> Option<i32> {
    let bytes: [u8; 4] = bytes(start, at, 4).try_into().ok()?;
    #[expect(clippy::host_endian_bytes, reason = "the interface is inside of one process")]
    Some(i32::from_ne_bytes(bytes))
}

fn text(start: *const c_char, at: &mut usize) -> Option<String> {
    let length = number(start, at).filter(|length| (0..=TEXT_BYTES_MAX).contains(length))?;
    let length = usize::try_from(length).ok()?;
    Some(String::from_utf8_lossy(bytes(start, at, length)).into_owned())
}

/// The next bytes.
fn bytes<'a>(start: *const c_char, at: &mut usize, length: usize) -> &'a [u8] {
    // SAFETY: the packed form has no length of its own: that these bytes are there is what its numbers say.
    let from = unsafe { start.cast::<u8>().add(*at) };
    *at += length;
    // SAFETY: as above; they are not written as long as the field lives.
    unsafe { std::slice::from_raw_parts(from, length) }
}
