//! What a table says of an index: its kind with its arguments, and the columns that it is about.

use tambour_part::types::{Column, DataType};
use tambour_table::schema::IndexDefinition;

/// Rate of false answers of `bloom_filter` without an argument.
const RATE_DEFAULT: f64 = 0.025;
/// Largest filter of a fixed size in bytes, and most hashes of a value.
const FILTER_BYTES_MAX: usize = 64 << 20;
const HASHES_MAX: usize = 64;
/// Most characters of an n-gram.
const GRAM_MAX: usize = 64;

/// A kind of index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Minimum and maximum of each column.
    Minmax,
    /// All different values, unless they are too many.
    Set,
    /// A Bloom filter of the values, with this rate of false answers.
    Bloom(f64),
    /// A Bloom filter of fixed size of the words of texts.
    Words(Shape),
    /// A Bloom filter of fixed size of all runs of this many characters of texts.
    Grams(usize, Shape),
    /// Which rows each token of a column is in.
    Text,
    /// One that is listed and not used.
    Other,
}

/// The shape of a filter of fixed size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Its size.
    pub bytes: usize,
    /// Bits for each value.
    pub hashes: usize,
    /// What the hashes begin with.
    pub seed: u64,
}

impl Kind {
    fn of(definition: &IndexDefinition) -> Self {
        let number = |at: usize| definition.arguments.get(at)?.parse::<usize>().ok();
        let shape = |at: usize| {
            let (bytes, hashes) = (number(at)?, number(at + 1)?);
            let seed = definition.arguments.get(at + 2)?.parse().ok()?;
            let fits =
                (1..=FILTER_BYTES_MAX).contains(&bytes) && (1..=HASHES_MAX).contains(&hashes);
            (fits && definition.arguments.len() == at + 3).then_some(Shape { bytes, hashes, seed })
        };
        let rate = || match definition.arguments.as_slice() {
            [] => Some(RATE_DEFAULT),
            [rate] => rate.parse().ok().filter(|rate| (0.0..1.0).contains(rate)),
            _ => None,
        };
        let found = match definition.kind.as_str() {
            "minmax" => Some(Self::Minmax),
            "set" => Some(Self::Set),
            "bloom_filter" => rate().map(Self::Bloom),
            "tokenbf_v1" => shape(0).map(Self::Words),
            "ngrambf_v1" => number(0)
                .filter(|it| (1..=GRAM_MAX).contains(it))
                .zip(shape(1))
                .map(|(n, shape)| Self::Grams(n, shape)),
            _ => None,
        };
        found.unwrap_or(Self::Other)
    }
}

/// An index of a table.
#[derive(Clone, Debug)]
pub struct Index {
    /// As the table defines it.
    pub definition: IndexDefinition,
    /// Its kind.
    pub kind: Kind,
    /// Its columns with the table's types. None if it is over anything else than columns, or of a kind that is not used.
    pub columns: Vec<Column>,
    /// Of one of the kind `text`: how it cuts texts.
    pub(crate) text: Option<crate::text::Shape>,
}

impl Index {
    /// An index of a table with these columns.
    pub fn new(definition: IndexDefinition, columns: &[Column]) -> Self {
        let text = text_of(&definition);
        let kind = if text.is_some() { Kind::Text } else { Kind::of(&definition) };
        let find = |name: &String| columns.iter().find(|it| it.name == *name).cloned();
        let known: Option<Vec<Column>> = definition.columns.iter().map(find).collect();
        let known = known.filter(|it| it.iter().all(|column| takes(kind, &column.data_type)));
        let is_array = |it: &Column| matches!(bare(&it.data_type), DataType::Array(_));
        // What is done to arrays before they are cut is an expression of another form.
        let is_plain = |known: &Vec<Column>| {
            text.as_ref().is_none_or(|it| it.keeps_case() || !known.iter().any(is_array))
        };
        let columns = known.filter(is_plain).unwrap_or_default();
        Self { definition, kind, columns, text }
    }
    /// True if granules can be left out by it.
    pub fn is_usable(&self) -> bool {
        !self.columns.is_empty()
    }
    pub(crate) fn types(&self) -> Vec<DataType> {
        self.columns.iter().map(|column| column.data_type.clone()).collect()
    }
}

fn text_of(definition: &IndexDefinition) -> Option<crate::text::Shape> {
    let [column] = definition.columns.as_slice() else { return None };
    let is_text = definition.kind == "text";
    is_text.then(|| crate::text::Shape::of(&definition.kind_full, column)).flatten()
}

/// Strips Nullable and LowCardinality.
pub(crate) fn bare(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Nullable(inner) | DataType::LowCardinality(inner) => bare(inner),
        other => other,
    }
}

/// The type whose values are in the filters of a column: that of the elements of an array.
pub(crate) fn element(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Array(inner) => bare(inner),
        other => bare(other),
    }
}

/// True if indexes of this kind over this type are understood.
fn takes(kind: Kind, data_type: &DataType) -> bool {
    let is_plain = |it: &DataType| {
        !matches!(
            it,
            DataType::Array(_) | DataType::Tuple(_) | DataType::Map(..) | DataType::Foreign(_)
        )
    };
    match kind {
        Kind::Minmax | Kind::Set => is_plain(bare(data_type)),
        Kind::Bloom(_) => match element(data_type) {
            // What ClickHouse hashes of these is not known here.
            DataType::UInt256
            | DataType::Int256
            | DataType::Decimal { .. }
            | DataType::Date32
            | DataType::BFloat16 => false,
            other => is_plain(other),
        },
        Kind::Words(_) | Kind::Grams(..) | Kind::Text => {
            matches!(element(data_type), DataType::String | DataType::FixedString(_))
        }
        Kind::Other => false,
    }
}
