//! Columns of values, as a part would hold them: generated ones, one for each kind of values that codecs are made for.

use tambour_codec::codec::{Class, Element};
use tambour_report::random::Random;

/// Values of one type, side by side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypedColumn {
    /// Unique in a run.
    pub name: String,
    /// The type as ClickHouse says it.
    pub data_type: String,
    /// What codecs learn of it.
    pub element: Element,
    /// The values.
    pub bytes: Vec<u8>,
}

/// Makes the next value.
type Next<'a> = &'a mut dyn FnMut(&mut Random) -> u64;

fn numbers(
    (name, data_type): (&str, &str),
    (width, class): (u8, Class),
    bytes: usize,
    next: Next<'_>,
) -> TypedColumn {
    let mut random = Random::new(u64::from(width) + name.len() as u64);
    let mut column = Vec::with_capacity(bytes + 8);
    while column.len() < bytes {
        column.extend_from_slice(&next(&mut random).to_le_bytes()[..usize::from(width)]);
    }
    TypedColumn {
        name: name.to_owned(),
        data_type: data_type.to_owned(),
        element: Element { width, class },
        bytes: column,
    }
}

/// Name and type, width and class, and what gives the values.
type Made<'a> = ((&'static str, &'static str), (u8, Class), Next<'a>);

/// Columns of at least this many bytes.
pub fn generated(bytes: usize) -> Vec<TypedColumn> {
    use Class::{Float, Signed, Unsigned};
    let (mut clock, mut id, mut walk) = (1_700_000_000_u64, 0_u64, 20.0_f32);
    let columns: [Made<'_>; 9] = [
        (("clock", "DateTime"), (4, Unsigned), &mut |random| {
            clock += 10 + random.below(2);
            clock
        }),
        (("ids", "UInt64"), (8, Unsigned), &mut |random| {
            id += 1 + random.below(40);
            id
        }),
        (("small", "Int32"), (4, Signed), &mut |random| random.below(100)),
        (("steps", "Decimal(15, 2)"), (8, Signed), &mut |random| 100 * (1 + random.below(50))),
        (("random", "UInt64"), (8, Unsigned), &mut |random| random.below(1 << 40)),
        (("mostly1", "UInt64"), (8, Unsigned), &mut |random| {
            if random.below(100) > 0 { 1 } else { 1 + random.below(1000) }
        }),
        (("date", "Date"), (2, Unsigned), &mut |random| 8000 + random.below(2500)),
        (("prices", "Float64"), (8, Float), &mut |random| {
            (random.below(100_000) as f64 / 100.0).to_bits()
        }),
        (("sensor", "Float32"), (4, Float), &mut |random| {
            walk += random.below(3) as f32 / 8.0 - 0.125;
            u64::from(walk.to_bits())
        }),
    ];
    let mut all: Vec<TypedColumn> = Vec::new();
    for (names, shape, next) in columns {
        all.push(numbers(names, shape, bytes, next));
    }
    all.push(words(bytes));
    all
}

/// Sentences of a small vocabulary, each behind its length.
fn words(bytes: usize) -> TypedColumn {
    const WORDS: [&str; 12] = [
        "furiously",
        "quick",
        "deposits",
        "sleep",
        "regular",
        "accounts",
        "above",
        "the",
        "final",
        "requests",
        "carefully",
        "ironic",
    ];
    let mut random = Random::new(12);
    let mut column = Vec::with_capacity(bytes + 128);
    while column.len() < bytes {
        let picked = (0..2 + random.index(6)).map(|_| WORDS[random.index(WORDS.len())]);
        let text = picked.collect::<Vec<_>>().join(" ");
        column.push(u8::try_from(text.len()).unwrap_or(u8::MAX));
        column.extend_from_slice(text.as_bytes());
    }
    TypedColumn {
        name: "words".to_owned(),
        data_type: "String".to_owned(),
        element: Element::BYTES,
        bytes: column,
    }
}
