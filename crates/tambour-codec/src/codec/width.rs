//! What the codecs of fixed-width values share: the start of their payloads, and the check of types.
//!
//! A payload starts with the width of a value and the number of *leading bytes*, the remainder of the size by the width,
//! which follow as they are: a block may be cut inside of a value. Decoders go by the sizes, not by the second byte.

use super::{Class, Element, Payload, Values, argument_error};
use crate::CodecError;
use tambour_kernel::column::Width;

/// Bytes in front of the leading bytes.
const PREFIX_BYTES: usize = 2;
/// Widths of one machine word.
pub(super) const WORDS: &[u8] = &[1, 2, 4, 8];

/// Writes the prefix and the leading bytes; returns the whole values after them.
pub(super) fn write_prefix<'a>(width: u8, source: &'a [u8], target: &mut Vec<u8>) -> &'a [u8] {
    let (leading, values) = source.split_at(source.len() % usize::from(width));
    // As many as the remainder of a division by a byte.
    target.extend([width, u8::try_from(leading.len()).unwrap_or(u8::MAX)]);
    target.extend(leading);
    values
}

/// What stands in front of the values of a payload.
pub(super) struct Prefix<'a, W> {
    /// Width of a value.
    pub(super) width: W,
    leading: &'a [u8],
    /// Where the values start in the payload.
    pub(super) at: usize,
    /// The encoded values.
    pub(super) source: &'a [u8],
}

/// Takes the prefix off a payload that decodes to this many bytes; `accept` knows the widths that exist.
pub(super) fn split_prefix<'a, W: Copy + Into<usize>>(
    codec: &'static str,
    accept: impl FnOnce(u8) -> Option<W>,
    source: &'a [u8],
    content_bytes: usize,
) -> Result<Prefix<'a, W>, CodecError> {
    let malformed = |at, reason| CodecError::Payload { codec, at, reason };
    let Some((&[width, _], rest)) = source.split_first_chunk::<PREFIX_BYTES>() else {
        return Err(malformed(source.len(), "prefix cut short"));
    };
    let Some(width) = accept(width) else {
        return Err(malformed(0, "an unknown width"));
    };
    let Some((leading, values)) = rest.split_at_checked(content_bytes % width.into()) else {
        return Err(malformed(source.len(), "leading bytes cut short"));
    };
    Ok(Prefix { width, leading, at: PREFIX_BYTES + leading.len(), source: values })
}

/// Explains the prefix; returns it for what follows.
pub(super) fn explain_prefix<'a, W: Copy + Into<usize>>(
    codec: &'static str,
    accept: impl FnOnce(u8) -> Option<W>,
    payload: &Payload<'a>,
    values: &mut Values,
) -> Result<Prefix<'a, W>, CodecError> {
    let prefix = split_prefix(codec, accept, payload.bytes, payload.content_bytes)?;
    values.width = prefix.width.into();
    values.count = payload.content_bytes / values.width;
    values.header_bytes = prefix.at;
    values.value_bytes = prefix.source.len();
    if !prefix.leading.is_empty() {
        values.say("leading bytes", prefix.leading.len());
    }
    Ok(prefix)
}

/// A payload after its prefix.
pub(super) struct Body<'a, 'b, W> {
    /// Width of a value.
    pub(super) width: W,
    /// Where the values start in the payload.
    pub(super) at: usize,
    /// The encoded values.
    pub(super) source: &'a [u8],
    /// Where the values go: a multiple of the width.
    pub(super) target: &'b mut [u8],
}

/// Reads the prefix and copies the leading bytes; `accept` knows the widths that exist.
pub(super) fn read_prefix<'a, 'b, W: Copy + Into<usize>>(
    codec: &'static str,
    accept: impl FnOnce(u8) -> Option<W>,
    source: &'a [u8],
    target: &'b mut [u8],
) -> Result<Body<'a, 'b, W>, CodecError> {
    let Prefix { width, leading, at, source } = split_prefix(codec, accept, source, target.len())?;
    let (places, target) = target.split_at_mut(leading.len());
    places.copy_from_slice(leading);
    Ok(Body { width, at, source, target })
}

/// The width of a codec whose only argument is a width, for want of which it is the element's.
pub(super) fn argument_width(
    name: &str,
    arguments: &[String],
    element: Element,
    classes: &[Class],
) -> Result<Width, CodecError> {
    let refused = |reason| argument_error(name, arguments, reason);
    let width = match arguments {
        [] => element_width(name, arguments, element, classes, WORDS)?,
        [width] => width.parse().map_err(|_| refused("the width is 1, 2, 4 or 8"))?,
        _ => return Err(refused("takes one argument, the width")),
    };
    Width::new(width).ok_or_else(|| refused("the width is 1, 2, 4 or 8"))
}

/// The width of the elements, when they are of one of these classes and widths; the first of the widths when nothing is known
/// of the elements.
pub(super) fn element_width(
    name: &str,
    arguments: &[String],
    element: Element,
    classes: &[Class],
    widths: &[u8],
) -> Result<u8, CodecError> {
    if element.class == Class::Unknown {
        return Ok(widths[0]);
    }
    if classes.contains(&element.class) && widths.contains(&element.width) {
        return Ok(element.width);
    }
    let classes: Vec<_> = classes.iter().map(|class| class.plural().to_owned()).collect();
    let widths: Vec<_> = widths.iter().map(u8::to_string).collect();
    let (classes, widths) = (listed(&classes), listed(&widths));
    let reason = format!("works on {classes} of {widths} bytes, and the column has {element}");
    Err(argument_error(name, arguments, &reason))
}

/// `a, b or c`.
fn listed(items: &[String]) -> String {
    match items.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => items.concat(),
    }
}
