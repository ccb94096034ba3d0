//! Bytes that are not UTF-8, for formats that must be text.

use std::borrow::Cow;

/// The text with one U+FFFD in the place of each run of bytes that are not UTF-8.
pub(super) fn replaced(bytes: &[u8]) -> Cow<'_, [u8]> {
    if simdutf8::basic::from_utf8(bytes).is_ok() {
        return Cow::Borrowed(bytes);
    }
    let mut text = Vec::with_capacity(bytes.len() + 16);
    let mut is_replaced = false;
    for chunk in bytes.utf8_chunks() {
        if !chunk.valid().is_empty() {
            text.extend_from_slice(chunk.valid().as_bytes());
            is_replaced = false;
        }
        if !chunk.invalid().is_empty() && !is_replaced {
            text.extend_from_slice("\u{fffd}".as_bytes());
            is_replaced = true;
        }
    }
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use super::replaced;

    #[test]
    fn runs_are_replaced_once() {
        assert_eq!(&*replaced(b"\xff\xfea\xc3"), "\u{fffd}a\u{fffd}".as_bytes());
        assert_eq!(&*replaced("\u{e9}".as_bytes()), "\u{e9}".as_bytes());
    }
}
