//! Front ends of chains: transforms that make values small or alike, and the short list of those that pay.

use super::objective::{Objective, price};
use super::{Choice, stage};
use crate::CodecError;
use crate::codec::{Class, Codec, Element, Named};
use crate::spec::CodecSpec;
use tambour_kernel::column::stats::Stats;

/// A front end of the short list.
#[derive(Clone, Copy)]
struct Entry {
    /// As in `CODEC(…)`.
    text: &'static str,
    /// Whether it may pay for such values.
    suits: fn(Element) -> bool,
    /// Whether it may pay for this block.
    pays: fn(&Stats) -> bool,
}

const fn entry(text: &'static str, suits: fn(Element) -> bool, pays: fn(&Stats) -> bool) -> Entry {
    Entry { text, suits, pays }
}

/// The front ends that are tried, besides none. What was left out won less than half a percent on 85 columns.
const SHORT_LIST: &[Entry] = &[
    entry("T64", is_integer, always),
    entry("T64('padded')", is_wide, always),
    entry("T64('bit')", always_suits, always),
    entry("Delta", is_wide, always),
    entry("Delta, T64('padded')", is_wide, always),
    entry("Delta, T64('bit')", always_suits, always),
    entry("GCD, T64", is_integer, has_divisor),
    entry(GCD_BIT, is_integer, has_divisor),
    entry("GCD, Delta, T64('bit')", is_integer, has_divisor),
    entry("DoubleDelta", is_integer, always),
    entry("Gorilla", always_suits, repeats),
    entry("ALP", is_float, always),
    entry("ALP('wide')", is_float, always),
    entry("ALP('wide'), T64('padded')", is_float, always),
    entry("ALP('wide'), T64('bit')", is_float, always),
    entry("ALP('wide'), Delta, T64('padded')", is_float, always),
    entry("ALP('wide'), Delta, T64('bit')", is_float, always),
    entry(PCO, always_suits, always),
];

/// Where time counts, few are tried in full, and this one is too near to the one without `'bit'`.
const GCD_BIT: &str = "GCD, T64('bit')";
/// Tambour's own.
const PCO: &str = "Pco";
/// What the front ends begin with that make words for zstd, which is too slow where time counts.
const WIDE: &str = "ALP('wide')";

impl Entry {
    /// The nearest that a `CODEC(…)` can say. Gorilla is for floats there, and pays for some that do not repeat.
    fn in_words(&self) -> Self {
        match self.text {
            "T64('padded')" => Self { text: "T64", ..*self },
            "Delta, T64('padded')" => Self { text: "Delta, T64", ..*self },
            "Gorilla" => Self { pays: always, ..*self },
            text if text.starts_with(WIDE) => Self { text: "ALP", ..*self },
            _ => *self,
        }
    }
}

fn always_suits(_: Element) -> bool {
    true
}

fn is_integer(element: Element) -> bool {
    matches!(element.class, Class::Unsigned | Class::Signed)
}

fn is_float(element: Element) -> bool {
    element.class == Class::Float && element.width >= 4
}

fn is_wide(element: Element) -> bool {
    element.width > 1
}

fn always(_: &Stats) -> bool {
    true
}

fn has_divisor(stats: &Stats) -> bool {
    stats.divisor > 1
}

fn repeats(stats: &Stats) -> bool {
    stats.repeats > stats.count / 2
}

/// A front end, ready to encode.
#[derive(Debug)]
pub(super) struct Front {
    /// As in `CODEC(…)`; empty for none.
    pub(super) text: &'static str,
    /// Method bytes and codecs in the order of application.
    stages: Vec<(u8, Box<dyn Codec>)>,
    /// Nanoseconds of decoding per byte.
    pub(super) price: f64,
    /// Sizes must be a multiple of this.
    whole: usize,
    pays: fn(&Stats) -> bool,
}

impl Front {
    /// No transform.
    fn none() -> Self {
        Self { text: "", stages: Vec::new(), price: 0.0, whole: 1, pays: always }
    }

    /// With `as_declared` each codec takes the values for what the column has, as in a `CODEC(…)`.
    fn new(entry: &Entry, element: Element, as_declared: bool) -> Result<Self, CodecError> {
        let spec: CodecSpec = entry.text.parse()?;
        let mut stages: Vec<(u8, Box<dyn Codec>)> = Vec::new();
        let mut total = 0.0;
        for call in &spec.calls {
            // ClickHouse reads any of these in any column of the width. What comes after a difference has a sign.
            let is_own = (as_declared || stages.is_empty()) && is_integer(element);
            let class = match call.name.as_str() {
                "ALP" | "Gorilla" => Class::Float,
                PCO => element.class,
                _ if is_own => element.class,
                _ => Class::Signed,
            };
            // ALP makes words of narrower floats, too.
            let is_word = !stages.is_empty() && entry.text.starts_with(WIDE);
            let width = if is_word { 8 } else { element.width };
            let element = Element { width, class };
            let Some(Named::Family(family)) = Named::find(&call.name) else { continue };
            stages.push((family.method, (family.build)(&call.arguments, element)?));
            total += price(family.name, element);
        }
        // ALP does not take a block which was cut inside of a value, nor does T64 before 26.1.
        let is_whole = entry.text.starts_with("ALP") || entry.text.starts_with("T64");
        let whole = if is_whole { usize::from(element.width) } else { 1 };
        Ok(Self { text: entry.text, stages, price: total, whole, pays: entry.pays })
    }

    /// Whether it takes a block of this many bytes.
    pub(super) fn takes(&self, bytes: usize) -> bool {
        bytes.is_multiple_of(self.whole)
    }

    /// Whether it may pay for a block.
    pub(super) fn pays(&self, stats: Option<&Stats>) -> bool {
        stats.is_none_or(|stats| (self.pays)(stats))
    }

    /// Whether it changes nothing.
    pub(super) fn is_none(&self) -> bool {
        self.stages.is_empty()
    }

    /// The method bytes of its codecs.
    pub(super) fn methods(&self) -> impl Iterator<Item = u8> {
        self.stages.iter().map(|stage| stage.0)
    }

    /// Puts what becomes of `source`, with the header of a stage, into `target`; `spare` is overwritten.
    pub(super) fn encode(
        &mut self,
        source: &[u8],
        target: &mut Vec<u8>,
        spare: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        for (index, (method, codec)) in self.stages.iter_mut().enumerate() {
            if index == 0 {
                stage(*method, codec.as_mut(), source, target)?;
            } else {
                std::mem::swap(target, spare);
                stage(*method, codec.as_mut(), spare, target)?;
            }
        }
        Ok(())
    }
}

/// All front ends for such values, none among them as the first.
///
/// Before 26.1, T64 takes whole values only, which is nothing that another codec hands on; ALP reads `Float32` as it does
/// today since 26.8.
pub(super) fn fronts(element: Element, choice: &Choice) -> Result<Vec<Front>, CodecError> {
    let since = choice.since;
    let is_read = |entry: &&Entry| {
        let text = entry.text;
        (since >= (26, 1) || !text.contains(", T64"))
            && (since >= (26, 8) || !text.starts_with("ALP"))
            && (choice.objective == Objective::Size || text != GCD_BIT && !text.starts_with(WIDE))
            && (choice.own && choice.objective == Objective::Size || text != PCO)
    };
    let mut fronts = vec![Front::none()];
    for element in views(element) {
        for entry in SHORT_LIST.iter().filter(|entry| (entry.suits)(element)).filter(is_read) {
            let entry = if choice.words { entry.in_words() } else { *entry };
            let is_known = fronts.iter().any(|front| front.text == entry.text);
            if !(choice.words && is_known) {
                fronts.push(Front::new(&entry, element, choice.words)?);
            }
        }
    }
    Ok(fronts)
}

/// As what the bytes can be seen: indexes into a dictionary have a width that nobody knows before; wide values are words.
fn views(element: Element) -> Vec<Element> {
    let seen = |width| Element { width, class: Class::Unsigned };
    match (element.class, element.width) {
        (Class::Unknown, _) => vec![seen(1), seen(2), seen(4)],
        (Class::Bytes, 1) => Vec::new(),
        (_, 1 | 2 | 4 | 8) => vec![element],
        (_, width) if width.is_multiple_of(8) => vec![Element { width: 8, class: Class::Signed }],
        _ => Vec::new(),
    }
}
