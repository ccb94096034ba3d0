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
        0xf0..=0xf7 => 4,
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

/// The place of the letter that is the `count`th from the end; the start if there are fewer.
pub fn letter_from_end(text: &[u8], count: usize) -> usize {
    let starts = text.iter().enumerate().rev().filter(|(_, byte)| is_letter_start(**byte));
    match count.checked_sub(1) {
        Some(others) => starts.map(|(at, _)| at).nth(others).unwrap_or(0),
        None => text.len(),
    }
}

/// The end of a text of `count` letters as their first bytes tell, or of the whole text.
pub fn letters_end(text: &[u8], count: usize) -> usize {
    let mut end = 0;
    for _ in 0..count {
        match text.get(end) {
            Some(first) => end += letter_width(*first),
            None => break,
        }
    }
    end.min(text.len())
}

/// Changes what is UTF-8 of a text; other bytes stay as they are.
pub(super) fn change_utf8(
    text: &[u8],
    out: &mut Vec<u8>,
    mut change: impl FnMut(&str, &mut Vec<u8>),
) {
    for chunk in text.utf8_chunks() {
        change(chunk.valid(), out);
        out.extend_from_slice(chunk.invalid());
    }
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
    change_utf8(text, &mut out, |text, out| {
        for letter in text.chars() {
            let mut folded = letter.to_lowercase();
            let single = match (folded.next(), folded.next()) {
                (Some(only), None) => only,
                _ => letter,
            };
            out.extend_from_slice(single.encode_utf8(&mut [0; 4]).as_bytes());
        }
    });
    out
}
