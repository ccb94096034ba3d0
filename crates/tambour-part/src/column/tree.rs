//! From a type to what reads, writes and names its streams: the one place that puts the families together.

use super::fault::Fault;
use super::path::Path;
use super::{Layout, Sinks, Sources, Stream, StreamKind, StreamName};
use super::{
    array, fixed, low_cardinality, low_cardinality_write, map, nullable, sparse, sparse_write,
    string, string_write, tuple,
};
use crate::PartError;
use crate::types::{DataType, Strings};
use arrow_array::ArrayRef;
use arrow_buffer::NullBuffer;
use std::fmt::Debug;
use tambour_codec::codec::{Class, Element};

/// Reads a part of a type from its streams.
pub(super) trait Decode: Debug + Send + Sync {
    /// Reads the state prefixes; only compact parts have them in every granule.
    fn prefix(&mut self, _sources: &mut dyn Sources) -> Result<(), Fault> {
        Ok(())
    }
    /// Reads granules of `rows[i]` rows each. `nulls` says which rows a Nullable around it has as NULL.
    fn read(
        &mut self,
        sources: &mut dyn Sources,
        rows: &[usize],
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef, Fault>;
    /// One row with the value that a sparse column leaves out.
    fn default(&self) -> Result<ArrayRef, Fault> {
        Err(Fault::Other { reason: "this type has no sparse form".to_owned() })
    }
    /// Forgets what belongs to the granules before.
    fn seek(&mut self) {}
    /// From now on only the lengths of texts are asked for, whatever their bytes; the stream that is not read then.
    fn only_lengths(&mut self) -> Option<StreamName> {
        None
    }
}

/// What becomes of NULLs in an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nulls {
    /// They are the caller's mistake.
    Refused,
    /// A Nullable around it has noted them: the type's default is written.
    AsDefault,
}

/// Writes a part of a type to its streams.
pub(super) trait Encode: Debug + Send + Sync {
    /// Appends the state prefix.
    fn prefix(&mut self, _sinks: &mut dyn Sinks) {}
    /// Appends one granule.
    fn write(
        &mut self,
        values: &ArrayRef,
        nulls: Nulls,
        sinks: &mut dyn Sinks,
    ) -> Result<(), Fault>;
    /// Appends what comes at the end of the part.
    fn finish(&mut self, _sinks: &mut dyn Sinks) {}
    /// Rows so far that have the default value, if it is sparse.
    fn defaults(&self) -> u64 {
        0
    }
    /// The dictionary that it writes, if it is one.
    fn dictionary(&mut self) -> Option<&mut dyn Dictionary> {
        None
    }
}

/// A dictionary under construction. Keys that are known before the first record that refers to them can be sorted.
pub(super) trait Dictionary {
    /// True while no record refers to it.
    fn is_fresh(&self) -> bool;
    /// Takes the keys of values that will be written; true if the dictionary takes no more.
    fn learn(&mut self, values: &ArrayRef) -> Result<bool, Fault>;
    /// Sorts the keys. Only while it is fresh.
    fn sort(&mut self);
    /// To be called when all values that were learned have been written.
    fn settle(&mut self, sinks: &mut dyn Sinks);
}

/// What is known on the way into a type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context<'a> {
    root: &'a Layout,
    here: Option<&'a Layout>,
    inside: bool,
    pub(super) strings: Strings,
}

impl<'a> Context<'a> {
    pub(super) fn new(layout: &'a Layout, strings: Strings) -> Self {
        Self { root: layout, here: Some(layout), inside: false, strings }
    }

    /// Elements of a Tuple are called sparse by their share of defaults alone. A Nullable one is so only where the part has
    /// sparse Nullables at all; those of other types that have a type inside never are.
    fn sparse(&self, data_type: &DataType) -> bool {
        use DataType::{Array, LowCardinality, Map, Nullable, Tuple};
        // A whole column of such a type that is called sparse is refused where it is taken for one.
        let is_element = self.here.is_some_and(|here| !std::ptr::eq(here, self.root));
        let possible = match data_type {
            Nullable(_) => self.root.nullable_sparse,
            Array(_) | Map(..) | LowCardinality(_) | Tuple(_) => !is_element,
            _ => true,
        };
        possible && self.here.is_some_and(|layout| layout.sparse)
    }

    fn string_sizes(&self) -> bool {
        self.root.string_sizes && (!self.inside || self.root.string_sizes_nested)
    }

    pub(super) fn compact(&self) -> bool {
        self.root.compact
    }

    /// Into a Nullable, an Array or a Map.
    fn inside(self) -> Self {
        Self { here: None, inside: true, ..self }
    }

    fn element(self, index: usize) -> Self {
        Self { here: self.here.and_then(|layout| layout.elements.get(index)), ..self }
    }

    /// The values of a sparse column.
    fn dense(self) -> Self {
        Self { here: None, ..self }
    }
}

/// Sum of the rows of granules.
pub(super) fn sum(rows: &[usize]) -> Result<usize, Fault> {
    let total = rows.iter().try_fold(0_usize, |total, &rows| total.checked_add(rows));
    total.ok_or_else(|| Fault::limit("rows to be read at once", usize::MAX, usize::MAX))
}

pub(super) fn decoder(
    column: &str,
    data_type: &DataType,
    context: &Context<'_>,
) -> Result<Box<dyn Decode>, Fault> {
    decode(&Path::new(column), data_type, *context)
}

fn decode(
    path: &Path,
    data_type: &DataType,
    context: Context<'_>,
) -> Result<Box<dyn Decode>, Fault> {
    if context.sparse(data_type) {
        let (inner, context) = sparse_values(data_type, context)?;
        let values = decode(path, inner, context)?;
        let offsets = path.helper(".sparse.idx");
        return Ok(Box::new(sparse::Reader::new(offsets, values, data_type.is_nullable())));
    }
    Ok(match data_type {
        DataType::Nullable(inner) if inner.can_be_nullable() => {
            let values = decode(path, inner, context.inside())?;
            Box::new(nullable::Reader::new(path.helper(".null"), values))
        }
        DataType::LowCardinality(inner) if inner.can_be_low_cardinality() => {
            Box::new(low_cardinality::Reader::new(path, inner, &context)?)
        }
        DataType::Array(inner) => {
            let elements = decode(&path.elements(), inner, context.inside())?;
            Box::new(array::Reader::new(
                path.sizes(),
                elements,
                inner.inner_field("item", context.strings),
            ))
        }
        DataType::Map(key, value) => {
            let inner = path.elements();
            let keys = decode(&inner.member(Some("keys"), 0), key, context.inside())?;
            let values = decode(&inner.member(Some("values"), 1), value, context.inside())?;
            let entries = crate::types::map_entries(key, value, context.strings);
            Box::new(map::Reader::new(path.sizes(), keys, values, entries))
        }
        DataType::Tuple(elements) if !elements.is_empty() => {
            let element = |(index, (name, inner)): (usize, &(Option<String>, DataType))| {
                decode(&path.member(name.as_deref(), index), inner, context.element(index))
            };
            let readers =
                elements.iter().enumerate().map(element).collect::<Result<Vec<_>, Fault>>()?;
            Box::new(tuple::Reader::new(
                readers,
                crate::types::tuple_fields(elements, context.strings),
            ))
        }
        DataType::String => {
            let sizes = context.string_sizes().then(|| path.helper(".size"));
            Box::new(string::Reader::new(path.values(), sizes, context.strings))
        }
        _ => Box::new(fixed::Reader::new(path.values(), fixed(data_type)?)),
    })
}

/// The type and the place of the values of a sparse column: NULL is the default of a Nullable, which then has no null map.
fn sparse_values<'t, 'c>(
    data_type: &'t DataType,
    context: Context<'c>,
) -> Result<(&'t DataType, Context<'c>), Fault> {
    match data_type {
        DataType::Nullable(inner) if context.root.nullable_sparse => Ok((inner, context.inside())),
        DataType::String => Ok((data_type, context.dense())),
        _ if data_type.fixed_width().is_some() && !data_type.is_nullable() => {
            Ok((data_type, context.dense()))
        }
        _ => {
            let reason = format!("{data_type} cannot be sparse");
            Err(Fault::Other { reason })
        }
    }
}

fn fixed(data_type: &DataType) -> Result<Box<dyn fixed::Fixed>, Fault> {
    fixed::find(data_type).ok_or_else(|| {
        let (text, reason) = (data_type.to_string(), "not a type that columns can have".into());
        Fault::Part(PartError::UnknownType { text, reason })
    })
}

/// True if there is a LowCardinality in it.
pub(super) fn has_dictionaries(data_type: &DataType) -> bool {
    match data_type {
        DataType::LowCardinality(_) => true,
        DataType::Nullable(inner) | DataType::Array(inner) => has_dictionaries(inner),
        DataType::Map(key, value) => has_dictionaries(key) || has_dictionaries(value),
        DataType::Tuple(elements) => elements.iter().any(|(_, inner)| has_dictionaries(inner)),
        _ => false,
    }
}

pub(super) fn encoder(
    column: &str,
    data_type: &DataType,
    context: &Context<'_>,
) -> Result<Box<dyn Encode>, Fault> {
    encode(&Path::new(column), data_type, *context)
}

fn encode(
    path: &Path,
    data_type: &DataType,
    context: Context<'_>,
) -> Result<Box<dyn Encode>, Fault> {
    if context.sparse(data_type) {
        return encode_sparse(path, data_type, context);
    }
    Ok(match data_type {
        DataType::Nullable(inner) if inner.can_be_nullable() => {
            let values = encode(path, inner, context.inside())?;
            Box::new(nullable::Writer::new(
                path.helper(".null"),
                values,
                inner.arrow(Strings::Utf8),
            ))
        }
        DataType::LowCardinality(inner) if inner.can_be_low_cardinality() => {
            Box::new(low_cardinality_write::Writer::new(path, inner)?)
        }
        DataType::Array(inner) => {
            let elements = encode(&path.elements(), inner, context.inside())?;
            Box::new(array::Writer::new(path.sizes(), elements))
        }
        DataType::Map(key, value) => {
            let inner = path.elements();
            let keys = encode(&inner.member(Some("keys"), 0), key, context.inside())?;
            let values = encode(&inner.member(Some("values"), 1), value, context.inside())?;
            Box::new(map::Writer::new(path.sizes(), keys, values))
        }
        DataType::Tuple(elements) if !elements.is_empty() => {
            let element = |(index, (name, inner)): (usize, &(Option<String>, DataType))| {
                encode(&path.member(name.as_deref(), index), inner, context.element(index))
            };
            Box::new(tuple::Writer::new(
                elements.iter().enumerate().map(element).collect::<Result<Vec<_>, Fault>>()?,
            ))
        }
        DataType::String => {
            let sizes = context.string_sizes().then(|| path.helper(".size"));
            Box::new(string_write::Writer::new(path.values(), sizes))
        }
        _ => Box::new(fixed::Writer::new(path.values(), fixed(data_type)?)),
    })
}

/// Bytes of a value of a type that is written sparse.
pub(super) fn sparse_width(data_type: &DataType) -> Option<usize> {
    let is_plain = matches!(
        data_type,
        DataType::Bool
            | DataType::UInt8
            | DataType::UInt16
            | DataType::UInt32
            | DataType::UInt64
            | DataType::UInt128
            | DataType::UInt256
            | DataType::Int8
            | DataType::Int16
            | DataType::Int32
            | DataType::Int64
            | DataType::Int128
            | DataType::Int256
            | DataType::Float32
            | DataType::Float64
            | DataType::Decimal { .. }
            | DataType::Date
            | DataType::DateTime { .. }
            | DataType::DateTime64 { .. }
            | DataType::FixedString(_)
            | DataType::Uuid
            | DataType::Ipv4
            | DataType::Ipv6
    );
    data_type.fixed_width().filter(|width| is_plain && *width > 0)
}

fn encode_sparse(
    path: &Path,
    data_type: &DataType,
    context: Context<'_>,
) -> Result<Box<dyn Encode>, Fault> {
    let (form, dense): (_, Box<dyn Encode>) = match (data_type, sparse_width(data_type)) {
        (DataType::String, _) => {
            let sizes = context.string_sizes().then(|| path.helper(".size"));
            let dense = string_write::Writer::new(path.values(), None);
            (sparse_write::Form::Text(sizes), Box::new(dense))
        }
        (_, Some(width)) => {
            let dense = fixed::Writer::new(path.values(), fixed(data_type)?);
            (sparse_write::Form::Fixed(width), Box::new(dense))
        }
        _ => {
            let reason = format!("{data_type} is not written sparse");
            return Err(Fault::Other { reason });
        }
    };
    let offsets = path.helper(".sparse.idx");
    Ok(Box::new(sparse_write::Writer::new(offsets, path.values(), form, dense)))
}

pub(super) fn streams(column: &str, data_type: &DataType, layout: &Layout) -> Vec<Stream> {
    let (path, context) = (Path::new(column), Context::new(layout, Strings::default()));
    let mut found = Vec::new();
    prefixes(&path, data_type, context, &mut found);
    data(&path, data_type, context, &mut found);
    found
}

/// A stream of integers; general-purpose codecs do not care, and where the chain is chosen it matters.
fn helper(name: StreamName, width: u8) -> Stream {
    let element = Element { width, class: Class::Unsigned };
    Stream { name, kind: StreamKind::Helper, element }
}

/// Indexes into a dictionary, after a header in each granule: as wide as they have to be.
fn indexes(name: StreamName) -> Stream {
    let element = Element { width: 1, class: Class::Unknown };
    Stream { name, kind: StreamKind::Helper, element }
}

/// State prefixes of all levels: dictionaries.
fn prefixes(path: &Path, data_type: &DataType, context: Context<'_>, found: &mut Vec<Stream>) {
    match data_type {
        DataType::LowCardinality(inner) => found.push(if context.compact() {
            helper(path.helper(".dict_prefix"), 8)
        } else {
            Stream { name: path.helper(".dict"), kind: StreamKind::Keys, element: inner.element() }
        }),
        DataType::Array(inner) => prefixes(&path.elements(), inner, context, found),
        DataType::Map(key, value) => {
            let inner = path.elements();
            prefixes(&inner.member(Some("keys"), 0), key, context, found);
            prefixes(&inner.member(Some("values"), 1), value, context, found);
        }
        DataType::Tuple(elements) => {
            for (index, (name, inner)) in elements.iter().enumerate() {
                prefixes(&path.member(name.as_deref(), index), inner, context, found);
            }
        }
        _ => {}
    }
}

/// All other streams, depth first.
fn data(path: &Path, data_type: &DataType, context: Context<'_>, found: &mut Vec<Stream>) {
    if context.sparse(data_type) {
        found.push(helper(path.helper(".sparse.idx"), 1));
        if let Ok((inner, context)) = sparse_values(data_type, context) {
            data(path, inner, context, found);
        }
        return;
    }
    match data_type {
        DataType::Nullable(inner) => {
            found.push(helper(path.helper(".null"), 1));
            data(path, inner, context.inside(), found);
        }
        DataType::LowCardinality(inner) => {
            if context.compact() {
                let name = path.helper(".dict");
                found.push(Stream { name, kind: StreamKind::Keys, element: inner.element() });
            }
            found.push(indexes(path.values()));
        }
        DataType::Array(inner) => {
            found.push(helper(path.sizes(), 8));
            data(&path.elements(), inner, context.inside(), found);
        }
        DataType::Map(key, value) => {
            found.push(helper(path.sizes(), 8));
            let inner = path.elements();
            data(&inner.member(Some("keys"), 0), key, context.inside(), found);
            data(&inner.member(Some("values"), 1), value, context.inside(), found);
        }
        DataType::Tuple(elements) => {
            for (index, (name, inner)) in elements.iter().enumerate() {
                data(&path.member(name.as_deref(), index), inner, context.element(index), found);
            }
        }
        _ => {
            if *data_type == DataType::String && context.string_sizes() {
                found.push(helper(path.helper(".size"), 8));
            }
            found.push(Stream {
                name: path.values(),
                kind: StreamKind::Values,
                element: data_type.element(),
            });
        }
    }
}
