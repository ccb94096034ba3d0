//! Functions of strings. Strings are bytes: functions count bytes unless their name ends with `UTF8`, and bytes that are not
//! UTF-8 are taken as they are.

pub(super) mod like;
pub(super) mod search;

use std::borrow::Cow;

/// Bytes of the letter that begins with this byte, as its first byte tells.
pub fn letter_width(first: u8) -> usize {
    match first {
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xff => 4,
        _ => 1,
    }
}

/// True for bytes that begin a letter.
pub fn is_letter_start(byte: u8) -> bool {
    byte & 0xc0 != 0x80
}

/// Number of letters: of bytes that begin one.
pub fn letters(text: &[u8]) -> usize {
    text.iter().filter(|byte| is_letter_start(**byte)).count()
}

/// The place of the letter after `count` others; the end if there are fewer.
pub fn letter_at(text: &[u8], count: usize) -> usize {
    let mut starts = text.iter().enumerate().filter(|(_, byte)| is_letter_start(**byte));
    starts.nth(count).map_or(text.len(), |(at, _)| at)
}

/// ASCII letters in lower case.
pub(super) fn lower(text: &[u8]) -> Cow<'_, [u8]> {
    if text.iter().any(u8::is_ascii_uppercase) {
        Cow::Owned(text.to_ascii_lowercase())
    } else {
        Cow::Borrowed(text)
    }
}

/// Letters of all scripts in lower case, each by itself; bytes that are not text stay.
pub(super) fn lower_utf8(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        for letter in chunk.valid().chars() {
            let mut folded = letter.to_lowercase();
            let single = match (folded.next(), folded.next()) {
                (Some(only), None) => only,
                _ => letter,
            };
            out.extend_from_slice(single.encode_utf8(&mut [0; 4]).as_bytes());
        }
        out.extend_from_slice(chunk.invalid());
    }
    out
}
