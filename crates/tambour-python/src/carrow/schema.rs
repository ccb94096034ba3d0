//! Arrow types as texts of the C data interface, and back.

use super::{
    ArrowSchema, FLAG_NULLABLE, FLAG_ORDERED, FLAG_SORTED, Released as _, children, metadata, wide,
};
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr;
use std::sync::Arc;
use tambour::arrow_schema::{
    ArrowError, DataType, Field, FieldRef, Fields, IntervalUnit, Schema, TimeUnit,
};

/// How deep types may nest.
const DEPTH_MAX: usize = 64;

/// What an exported field keeps alive.
struct Held {
    format: CString,
    name: CString,
    metadata: Option<Vec<u8>>,
    #[expect(
        clippy::vec_box,
        reason = "consumers have pointers to the children, which must not move"
    )]
    children: Vec<Box<ArrowSchema>>,
    pointers: Vec<*mut ArrowSchema>,
    dictionary: Option<Box<ArrowSchema>>,
}

/// Gives back what an exported field holds.
unsafe extern "C" fn release(schema: *mut ArrowSchema) {
    // SAFETY: a consumer calls it with the structure that it was given, which nobody else uses then.
    let Some(schema) = (unsafe { schema.as_mut() }) else { return };
    schema.release = None;
    let held = std::mem::replace(&mut schema.private_data, ptr::null_mut()).cast::<Held>();
    if !held.is_null() {
        // SAFETY: the pointer came out of a box of this type, and is not used again.
        drop(unsafe { Box::from_raw(held) });
    }
}

/// A schema: a struct of its fields.
pub(crate) fn export_schema(schema: &Schema) -> Result<ArrowSchema, ArrowError> {
    let fields = Field::new("", DataType::Struct(schema.fields().clone()), false);
    export_field(&fields.with_metadata(schema.metadata().clone()))
}

/// A field.
pub(crate) fn export_field(field: &Field) -> Result<ArrowSchema, ArrowError> {
    let (shown, dictionary) = match field.data_type() {
        DataType::Dictionary(keys, values) => {
            let values = Field::new("", values.as_ref().clone(), true);
            (keys.as_ref(), Some(Box::new(export_field(&values)?)))
        }
        other => (other, None),
    };
    let mut flags = if field.is_nullable() { FLAG_NULLABLE } else { 0 };
    if field.dict_is_ordered() == Some(true) {
        flags |= FLAG_ORDERED;
    }
    if let DataType::Map(_, true) = shown {
        flags |= FLAG_SORTED;
    }
    let children: Vec<Box<ArrowSchema>> = fields_inside(shown)
        .iter()
        .map(|child| export_field(child).map(Box::new))
        .collect::<Result<_, _>>()?;
    // Inside of this crate only: others are told by the format.
    let format = match wide::format_of(field) {
        Some(format) => format.to_owned(),
        None => format_of(shown)?,
    };
    let c_string = |text: &str| {
        CString::new(text).map_err(|_| {
            ArrowError::CDataInterface(format!("the name {text:?} has a zero byte in it"))
        })
    };
    let mut held = Box::new(Held {
        format: c_string(&format)?,
        name: c_string(field.name())?,
        metadata: metadata::packed(field.metadata()),
        pointers: Vec::new(),
        children,
        dictionary,
    });
    held.pointers = held.children.iter_mut().map(|child| ptr::from_mut(&mut **child)).collect();
    Ok(ArrowSchema {
        format: held.format.as_ptr(),
        name: held.name.as_ptr(),
        metadata: held.metadata.as_ref().map_or(ptr::null(), |bytes| bytes.as_ptr().cast()),
        flags,
        n_children: i64::try_from(held.children.len()).unwrap_or(i64::MAX),
        children: held.pointers.as_mut_ptr(),
        dictionary: held.dictionary.as_mut().map_or(ptr::null_mut(), |it| ptr::from_mut(&mut **it)),
        release: Some(release),
        private_data: Box::into_raw(held).cast::<c_void>(),
    })
}

fn fields_inside(data_type: &DataType) -> Vec<FieldRef> {
    match data_type {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => vec![Arc::clone(item)],
        DataType::Struct(fields) => fields.iter().cloned().collect(),
        _ => Vec::new(),
    }
}

fn format_of(data_type: &DataType) -> Result<String, ArrowError> {
    if let Some((_, format)) = PLAIN.iter().find(|(known, _)| known == data_type) {
        return Ok((*format).to_owned());
    }
    Ok(match data_type {
        DataType::Decimal32(precision, scale) => format!("d:{precision},{scale},32"),
        DataType::Decimal64(precision, scale) => format!("d:{precision},{scale},64"),
        DataType::Decimal128(precision, scale) => format!("d:{precision},{scale}"),
        DataType::Decimal256(precision, scale) => format!("d:{precision},{scale},256"),
        DataType::FixedSizeBinary(width) => format!("w:{width}"),
        DataType::FixedSizeList(_, width) => format!("+w:{width}"),
        DataType::List(_) => "+l".to_owned(),
        DataType::LargeList(_) => "+L".to_owned(),
        DataType::Map(..) => "+m".to_owned(),
        DataType::Struct(_) => "+s".to_owned(),
        DataType::Timestamp(unit, zone) => {
            format!("ts{}:{}", letter(*unit), zone.as_deref().unwrap_or_default())
        }
        other => {
            return Err(ArrowError::NotYetImplemented(format!(
                "the Arrow type {other} cannot be handed out"
            )));
        }
    })
}

/// Types whose text has no arguments.
const PLAIN: &[(DataType, &str)] = &[
    (DataType::Null, "n"),
    (DataType::Boolean, "b"),
    (DataType::Int8, "c"),
    (DataType::UInt8, "C"),
    (DataType::Int16, "s"),
    (DataType::UInt16, "S"),
    (DataType::Int32, "i"),
    (DataType::UInt32, "I"),
    (DataType::Int64, "l"),
    (DataType::UInt64, "L"),
    (DataType::Float16, "e"),
    (DataType::Float32, "f"),
    (DataType::Float64, "g"),
    (DataType::Binary, "z"),
    (DataType::LargeBinary, "Z"),
    (DataType::BinaryView, "vz"),
    (DataType::Utf8, "u"),
    (DataType::LargeUtf8, "U"),
    (DataType::Utf8View, "vu"),
    (DataType::Date32, "tdD"),
    (DataType::Date64, "tdm"),
    (DataType::Time32(TimeUnit::Second), "tts"),
    (DataType::Time32(TimeUnit::Millisecond), "ttm"),
    (DataType::Time64(TimeUnit::Microsecond), "ttu"),
    (DataType::Time64(TimeUnit::Nanosecond), "ttn"),
    (DataType::Duration(TimeUnit::Second), "tDs"),
    (DataType::Duration(TimeUnit::Millisecond), "tDm"),
    (DataType::Duration(TimeUnit::Microsecond), "tDu"),
    (DataType::Duration(TimeUnit::Nanosecond), "tDn"),
    (DataType::Interval(IntervalUnit::YearMonth), "tiM"),
    (DataType::Interval(IntervalUnit::DayTime), "tiD"),
    (DataType::Interval(IntervalUnit::MonthDayNano), "tin"),
];

fn letter(unit: TimeUnit) -> char {
    match unit {
        TimeUnit::Second => 's',
        TimeUnit::Millisecond => 'm',
        TimeUnit::Microsecond => 'u',
        TimeUnit::Nanosecond => 'n',
    }
}

fn unit(letter: &str) -> Option<TimeUnit> {
    Some(match letter {
        "s" => TimeUnit::Second,
        "m" => TimeUnit::Millisecond,
        "u" => TimeUnit::Microsecond,
        "n" => TimeUnit::Nanosecond,
        _ => return None,
    })
}

/// The schema of a struct that another library handed over.
pub(crate) fn import_schema(raw: &ArrowSchema) -> Result<Schema, ArrowError> {
    let field = import_field(raw, 0)?;
    match field.data_type() {
        DataType::Struct(fields) => {
            Ok(Schema::new_with_metadata(fields.clone(), field.metadata().clone()))
        }
        other => Err(lies(format!("expected a struct of columns, got {other}"))),
    }
}

/// A field that another library handed over.
pub(crate) fn import_field(raw: &ArrowSchema, depth: usize) -> Result<Field, ArrowError> {
    if raw.release().is_none() {
        return Err(lies("a schema that was released".to_owned()));
    }
    if depth > DEPTH_MAX {
        return Err(lies(format!("types nest more than {DEPTH_MAX} deep")));
    }
    let format = text(raw.format)?.ok_or_else(|| lies("a field without a format".to_owned()))?;
    let name = text(raw.name)?.unwrap_or_default();
    let inside = children(raw.children.cast_const(), raw.n_children)
        .ok_or_else(|| lies(format!("column {name:?} says it has children and has none")))?;
    let inside: Vec<FieldRef> = inside
        .into_iter()
        .map(|child| {
            let child = import_field(child, depth + 1).map(Arc::new);
            // Of what is inside of a column, people know the column.
            child.map_err(|error| if depth == 1 { Unreadable::inside(error, &name) } else { error })
        })
        .collect::<Result<_, _>>()?;
    if depth <= 1 && wide::is_format(&format) {
        return Ok(wide::field(&name, &format, raw.flags & FLAG_NULLABLE != 0));
    }
    let shown = type_of(&format, inside, raw.flags).ok_or_else(|| {
        let (column, format) = (name.clone(), format.clone());
        ArrowError::ExternalError(Box::new(Unreadable { column, format }))
    })?;
    // SAFETY: null, or a structure that lives as long as this one.
    let dictionary = unsafe { raw.dictionary.as_ref() };
    let data_type = match dictionary {
        None => shown,
        Some(values) if shown.is_integer() => {
            let values = import_field(values, depth + 1)?.data_type().clone();
            DataType::Dictionary(Box::new(shown), Box::new(values))
        }
        Some(_) => return Err(lies(format!("column {name:?} has {shown} for dictionary keys"))),
    };
    let metadata = metadata::unpacked(raw.metadata)
        .ok_or_else(|| lies(format!("column {name:?} has metadata that make no sense")))?;
    let field = Field::new(name, data_type, raw.flags & FLAG_NULLABLE != 0);
    Ok(field.with_metadata(metadata))
}

/// A column of a type that is not read.
#[derive(Clone, Debug)]
pub(crate) struct Unreadable {
    pub(crate) column: String,
    format: String,
}

impl Unreadable {
    /// The same of the column that it is inside of.
    fn inside(error: ArrowError, column: &str) -> ArrowError {
        match error {
            ArrowError::ExternalError(error) => {
                ArrowError::ExternalError(match error.downcast_ref::<Self>() {
                    Some(inner) => Box::new(Self { column: column.to_owned(), ..inner.clone() }),
                    None => error,
                })
            }
            other => other,
        }
    }
}

impl std::fmt::Display for Unreadable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "column {:?} has the Arrow format {:?}, which is not read",
            self.column, self.format
        )
    }
}

impl std::error::Error for Unreadable {}

/// A text that a pointer leads to, which may be null.
fn text(pointer: *const c_char) -> Result<Option<String>, ArrowError> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: the interface says that it is a text that ends with a zero.
    let text = unsafe { CStr::from_ptr(pointer) };
    match text.to_str() {
        Ok(text) => Ok(Some(text.to_owned())),
        Err(_) => Err(lies(format!("{text:?} is not UTF-8"))),
    }
}

fn type_of(format: &str, mut inside: Vec<FieldRef>, flags: i64) -> Option<DataType> {
    if let Some((data_type, _)) = PLAIN.iter().find(|(_, known)| *known == format) {
        return inside.is_empty().then(|| data_type.clone());
    }
    if format == "+s" {
        return Some(DataType::Struct(Fields::from(inside)));
    }
    if let Some(rest) = format.strip_prefix('+') {
        let item = inside.pop().filter(|_| inside.is_empty())?;
        return match rest.split_once(':') {
            None if rest == "l" => Some(DataType::List(item)),
            None if rest == "L" => Some(DataType::LargeList(item)),
            None if rest == "m" => Some(DataType::Map(item, flags & FLAG_SORTED != 0)),
            Some(("w", width)) => {
                let width = width.parse().ok().filter(|width| *width >= 0)?;
                Some(DataType::FixedSizeList(item, width))
            }
            _ => None,
        };
    }
    let (kind, arguments) = format.split_once(':')?;
    match kind {
        "w" => {
            let width = arguments.parse().ok().filter(|width| *width >= 0)?;
            Some(DataType::FixedSizeBinary(width))
        }
        "d" => decimal(arguments),
        _ => {
            let zone = (!arguments.is_empty()).then(|| Arc::from(arguments));
            Some(DataType::Timestamp(unit(kind.strip_prefix("ts")?)?, zone))
        }
    }
}

fn decimal(arguments: &str) -> Option<DataType> {
    let mut numbers = arguments.split(',');
    let precision: u8 = numbers.next()?.parse().ok()?;
    let scale: i8 = numbers.next()?.parse().ok()?;
    let bits = numbers.next().unwrap_or("128");
    let (made, most) = match bits {
        "32" => (DataType::Decimal32(precision, scale), 9),
        "64" => (DataType::Decimal64(precision, scale), 18),
        "128" => (DataType::Decimal128(precision, scale), 38),
        "256" => (DataType::Decimal256(precision, scale), 76),
        _ => return None,
    };
    (numbers.next().is_none() && (1..=most).contains(&precision)).then_some(made)
}

/// An error of whoever handed a structure over.
pub(crate) fn lies(reason: String) -> ArrowError {
    ArrowError::CDataInterface(reason)
}
