//! ClickHouse's functions over Arrow arrays, with its result types and results: one table, read by key expressions here
//! and by SQL above.
//!
//! A function sees plain types only: `Nullable` and `LowCardinality` are taken off the arguments before and put back onto
//! the result after, once for all functions. Types whose Arrow form is the same (`Date` and `Date32`) are told apart by
//! [`Operand::data_type`].
#![forbid(unsafe_code)]
#![expect(
    clippy::cast_possible_truncation,
    reason = "conversions wrap as ClickHouse's do, and parts of dates and times are small"
)]

mod access;
mod accurate;
mod age;
mod arithmetic;
mod array;
mod calendar;
mod change;
mod compose;
mod conversion;
mod decimal;
mod effort;
mod element;
mod enumeration;
mod epoch;
mod error;
mod fallback;
mod farm;
mod format;
mod fraction;
mod hash;
mod iceberg;
mod identifier;
mod instant;
mod joda;
mod map;
mod map_like;
mod math;
mod mixing;
mod moment;
mod morton;
mod named;
mod nested;
mod number;
mod numbers;
mod pattern;
mod period;
mod piece;
mod place;
mod quotient;
mod reading;
mod reinterpret;
mod retype;
mod shift;
mod size;
mod small;
mod string;
mod supertype;
mod text;
mod total;
mod transform;
mod truncate;
mod tuple;
mod week;
mod wide;
mod written;

/// What functions are written with, for the crates above.
pub mod kit {
    pub use crate::access::{
        Failure, Floats, Integers, Kind, Lists, RESULT_MAX, TextColumn, TextList, array_of,
        as_list, as_texts, integer_array, is_moment, is_nested, item_field, item_of, list_array,
        nullable, optional_integers, takes, total, type_at, wide_integers,
    };
    pub use crate::arithmetic::{Integer, integer};
    pub use crate::array::compare::{Absent, Comparable};
    pub use crate::array::make::sum_type;
    pub use crate::array::{
        Picks, compare_items, key_items, null_at, one_each, one_each_or_null, plain_item,
    };
    pub use crate::decimal::class;
    pub use crate::map::map_array;
    pub use crate::moment::constant_integer;
    pub use crate::piece::{shown, texts_of};
    pub use crate::rule;
    pub use crate::small::tuples;
    pub use crate::string::{
        is_letter_start, letter_at, letter_from_end, letter_width, letters, letters_end,
    };
    pub use crate::text::Texts;
    pub use crate::wide::{is_wide, significant_bytes};
    pub use crate::{Call, expect_count, is_nullable, take, undress, wrong};
}

pub use error::FunctionError;
pub use hash::HASHES_OF_WIDTHS;
pub use supertype::supertype;
pub use tambour_value as value;
pub use tambour_value::Zone;

use arrow_array::{Array, ArrayRef, UInt32Array, make_array};
use arrow_buffer::NullBuffer;
use arrow_schema::{ArrowError, DataType as ArrowType};
use tambour_part::types::{DataType, Strings};
use tambour_value::{civil, zone};

/// An argument: its type, and one value per row or one for all rows.
///
/// ```
/// use std::sync::Arc;
/// use arrow_array::{Array, Int64Array};
/// use tambour_function::Operand;
/// let seven = Operand {
///     data_type: "Int64".parse()?,
///     values: Arc::new(Int64Array::from(vec![7])),
///     is_constant: true,
/// };
/// assert_eq!(seven.expanded(3)?.len(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Operand {
    /// The ClickHouse type.
    pub data_type: DataType,
    /// The values; a single one if `is_constant`.
    pub values: ArrayRef,
    /// True if the single value stands for every row.
    pub is_constant: bool,
}

/// What is known of an argument before there are rows.
#[derive(Clone, Debug)]
pub struct Signature {
    /// The ClickHouse type.
    pub data_type: DataType,
    /// The value, if it is the same for every row: time zones and modes must be.
    pub constant: Option<ArrayRef>,
}

impl Operand {
    /// The same without values.
    pub fn signature(&self) -> Signature {
        let constant = self.is_constant.then(|| self.values.clone());
        Signature { data_type: self.data_type.clone(), constant }
    }
    /// One value per row.
    pub fn expanded(&self, rows: usize) -> Result<ArrayRef, FunctionError> {
        if !self.is_constant {
            return Ok(self.values.clone());
        }
        take(&self.values, &UInt32Array::from(vec![0; rows]))
    }
}

/// A call with its operands, as the functions see it: no `Nullable`, no `LowCardinality`, nulls only in the arrays.
#[derive(Debug)]
pub struct Call<'a> {
    /// Name of the function.
    pub name: &'static str,
    /// The arguments.
    pub operands: &'a [Operand],
    /// The type of the result.
    pub result: &'a DataType,
    /// Rows of the operands that are not constant; 1 if all are.
    pub rows: usize,
}

impl Call<'_> {
    /// The values of an argument, one per row.
    pub fn values(&self, index: usize) -> Result<ArrayRef, FunctionError> {
        match self.operands.get(index) {
            Some(operand) => operand.expanded(self.rows),
            None => Err(wrong(self.name, "an argument is missing")),
        }
    }
    /// An error about one row.
    pub fn value_error(&self, row: usize, problem: impl Into<String>) -> FunctionError {
        FunctionError::Value { function: self.name.to_owned(), row, problem: problem.into() }
    }
}

/// How a function behaves when its first argument grows and the others are constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// Anything may happen.
    Any,
    /// It never decreases over the whole range of a `Date` or `DateTime` argument.
    Monotonic,
}

/// Gives the type of a result, or says what is wrong with the arguments.
pub type Typing = fn(&'static str, &[Signature]) -> Result<DataType, FunctionError>;
/// Gives the values of a result.
pub type Evaluation = fn(&Call) -> Result<ArrayRef, FunctionError>;

/// A function.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    name: &'static str,
    aliases: &'static [&'static str],
    any_case: bool,
    growth: Growth,
    is_predicate: bool,
    takes_nulls: bool,
    gives_bytes: bool,
    typing: Typing,
    evaluation: Evaluation,
}

/// The families, in the order of the documentation.
const FAMILIES: &[&[Function]] = &[
    calendar::FUNCTIONS,
    instant::FUNCTIONS,
    conversion::FUNCTIONS,
    arithmetic::FUNCTIONS,
    text::FUNCTIONS,
    hash::FUNCTIONS[0],
    mixing::FUNCTIONS[0],
    string::search::FUNCTIONS[0],
];

/// Families that queries have beyond those: what they give depends on the form in which strings are read, or is no value
/// of a key.
const QUERY_FAMILIES: &[&[Function]] = &[
    array::by_keys::FUNCTIONS,
    array::cut::FUNCTIONS,
    array::make::FUNCTIONS[0],
    array::make::FUNCTIONS[1],
    array::number::FUNCTIONS,
    array::set::FUNCTIONS,
    map_like::FUNCTIONS,
    named::FUNCTIONS,
    morton::FUNCTIONS,
    map::FUNCTIONS,
    math::bit::FUNCTIONS,
    math::bit_text::FUNCTIONS,
    math::float::FUNCTIONS[0],
    math::float::FUNCTIONS[1],
    math::float::FUNCTIONS[2],
    math::integer::FUNCTIONS,
    math::middle::FUNCTIONS,
    math::normal::FUNCTIONS,
    math::round::FUNCTIONS,
    math::vector::FUNCTIONS,
    string::like::FUNCTIONS,
    string::search::FUNCTIONS[1],
    string::search::FUNCTIONS[2],
    identifier::FUNCTIONS[0],
    identifier::FUNCTIONS[1],
    element::FUNCTIONS,
    piece::FUNCTIONS,
    place::FUNCTIONS,
    number::FUNCTIONS,
    shift::FUNCTIONS,
    size::FUNCTIONS,
    pattern::FUNCTIONS,
    accurate::FUNCTIONS[0],
    accurate::FUNCTIONS[1],
    accurate::FUNCTIONS[2],
    age::FUNCTIONS,
    compose::FUNCTIONS,
    decimal::FUNCTIONS,
    fraction::SHIFTS,
    fraction::STARTS,
    change::FUNCTIONS,
    epoch::FUNCTIONS,
    fallback::FUNCTIONS,
    hash::FUNCTIONS[1],
    iceberg::FUNCTIONS,
    instant::OF_QUERIES,
    joda::FUNCTIONS,
    mixing::FUNCTIONS[1],
    period::FUNCTIONS,
    small::FUNCTIONS,
    total::FUNCTIONS,
    transform::FUNCTIONS,
    truncate::FUNCTIONS,
    tuple::FUNCTIONS,
    reading::FUNCTIONS,
    reading::AMERICAN,
    reinterpret::FUNCTIONS,
    retype::FUNCTIONS[0],
    retype::FUNCTIONS[1],
    week::FUNCTIONS,
];

/// All functions of keys.
pub fn all() -> impl Iterator<Item = &'static Function> {
    FAMILIES.iter().flat_map(|family| family.iter())
}

/// All functions of single values, also those that keys cannot use.
pub fn all_in_queries() -> impl Iterator<Item = &'static Function> {
    let all = all().chain(QUERY_FAMILIES.iter().flat_map(|family| family.iter()));
    all.filter(|function| !WITHHELD.contains(&function.name))
}

/// Functions whose answers differ from ClickHouse's at edges that generated comparisons found: no answer is better. The
/// reasons are in `docs/functions.md`.
const WITHHELD: [&str; 2] =
    ["hasTokenCaseInsensitiveOrNull", "multiSearchFirstPositionCaseInsensitiveUTF8"];

/// The function of keys of this name, if there is one. Most names are taken as ClickHouse spells them; `lower` and the like in
/// any case, as it does.
///
/// ```
/// use tambour_function::find;
/// assert_eq!(find("toYear").map(|function| function.name()), Some("toYear"));
/// assert!(find("toyear").is_none(), "names are spelled as ClickHouse spells them");
/// ```
pub fn find(name: &str) -> Option<&'static Function> {
    find_among(all, name)
}

/// The same among those of queries too.
pub fn find_in_queries(name: &str) -> Option<&'static Function> {
    find_among(all_in_queries, name)
}

/// The function of this name among those of a registry.
pub fn find_among<I: Iterator<Item = &'static Function>>(
    all: fn() -> I,
    name: &str,
) -> Option<&'static Function> {
    all().find(|function| function.name == name).or_else(|| {
        all().find(|function| {
            function.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(name))
                || function.any_case && function.name.eq_ignore_ascii_case(name)
        })
    })
}

impl Function {
    /// A function with nothing special about it.
    pub const fn new(name: &'static str, typing: Typing, evaluation: Evaluation) -> Self {
        Self {
            name,
            aliases: &[],
            any_case: false,
            growth: Growth::Any,
            is_predicate: false,
            takes_nulls: false,
            gives_bytes: false,
            typing,
            evaluation,
        }
    }
    /// Other names, in any case.
    pub const fn aliases(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }
    /// Its name may be written in any case.
    pub const fn any_case(mut self) -> Self {
        self.any_case = true;
        self
    }
    /// It never decreases over the range of its first argument.
    pub const fn monotonic(mut self) -> Self {
        self.growth = Growth::Monotonic;
        self
    }
    /// Its result is 0 or 1, and means no or yes.
    pub const fn predicate(mut self) -> Self {
        self.is_predicate = true;
        self
    }
    /// A NULL is a value to it, and not its result.
    pub const fn takes_nulls(mut self) -> Self {
        self.takes_nulls = true;
        self
    }
    /// Its texts may be any bytes, whatever its arguments are.
    pub const fn bytes(mut self) -> Self {
        self.gives_bytes = true;
        self
    }
    /// True if a NULL among its arguments is a value, which needs a type.
    pub fn takes_null_values(&self) -> bool {
        self.takes_nulls
    }
    /// True if texts that it makes may not be UTF-8, though its arguments are.
    pub fn gives_bytes(&self) -> bool {
        self.gives_bytes
    }
    /// Its name, as ClickHouse prints it.
    pub fn name(&self) -> &'static str {
        self.name
    }
    /// Other names of it.
    pub fn other_names(&self) -> &'static [&'static str] {
        self.aliases
    }
    /// How it behaves when its first argument grows.
    pub fn growth(&self) -> Growth {
        self.growth
    }
    /// True if its result is 0 or 1 and means no or yes.
    pub fn is_predicate(&self) -> bool {
        self.is_predicate
    }

    /// Its result type for these arguments.
    pub fn data_type(&self, arguments: &[Signature]) -> Result<DataType, FunctionError> {
        let bare = without_nulls(arguments);
        // Functions to which a NULL is a value see which arguments have NULLs.
        let seen = if self.takes_nulls { arguments } else { &bare };
        let result = (self.typing)(self.name, seen)?;
        let result = if self.takes_nulls { result } else { dress(result, arguments) };
        Ok(match result {
            DataType::LowCardinality(inner) if self.gives_bytes => *inner,
            other => other,
        })
    }

    /// Its values over the rows of the arguments (`rows` counts if all of them are constant).
    pub fn evaluate(&self, arguments: &[Operand]) -> Result<Operand, FunctionError> {
        let signatures: Vec<Signature> = arguments.iter().map(Operand::signature).collect();
        let data_type = self.data_type(&signatures)?;
        let operands: Vec<Operand> = arguments.iter().map(undress).collect::<Result<_, _>>()?;
        let varying = operands.iter().find(|operand| !operand.is_constant);
        let rows = varying.map_or(1, |operand| operand.values.len());
        if let Some(odd) = operands.iter().find(|o| !o.is_constant && o.values.len() != rows) {
            let problem = format!("arguments of {rows} and {} rows", odd.values.len());
            return Err(wrong(self.name, problem));
        }
        let result = bare(&data_type).clone();
        let call = Call { name: self.name, operands: &operands, result: &result, rows };
        let values = (self.evaluation)(&call)?;
        // ClickHouse has no NULL arrays: what was made of the default stands there.
        let stays = self.takes_nulls || access::is_nested(&data_type);
        let values = if stays { values } else { with_nulls(values, &operands, rows)? };
        let values = match data_type {
            DataType::LowCardinality(_) => encode(&values, &data_type)?,
            _ => values,
        };
        Ok(Operand { data_type, values, is_constant: varying.is_none() })
    }
}

/// The type without `Nullable` and `LowCardinality` around it.
pub fn bare(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Nullable(inner) | DataType::LowCardinality(inner) => bare(inner),
        other => other,
    }
}

/// The arguments without `Nullable` and `LowCardinality` around their types.
fn without_nulls(arguments: &[Signature]) -> Vec<Signature> {
    let plain = |argument: &Signature| Signature {
        data_type: bare(&argument.data_type).clone(),
        constant: argument.constant.clone(),
    };
    arguments.iter().map(plain).collect()
}

/// True for a type that has NULLs, packed or not.
pub fn is_nullable(data_type: &DataType) -> bool {
    match data_type {
        DataType::Nullable(_) => true,
        DataType::LowCardinality(inner) => is_nullable(inner),
        _ => false,
    }
}

/// Puts `Nullable` back if any argument had it, `LowCardinality` if the only argument that varies had it.
fn dress(result: DataType, arguments: &[Signature]) -> DataType {
    let nullable = arguments.iter().any(|argument| is_nullable(&argument.data_type));
    let result = match result {
        DataType::Nullable(_) | DataType::Array(_) | DataType::Map(..) | DataType::Tuple(_) => {
            result
        }
        plain if nullable => DataType::Nullable(Box::new(plain)),
        plain => plain,
    };
    let mut varying = arguments.iter().filter(|argument| argument.constant.is_none());
    match (varying.next(), varying.next()) {
        (Some(only), None) if matches!(only.data_type, DataType::LowCardinality(_)) => match result
        {
            DataType::Array(_) | DataType::Map(..) | DataType::Tuple(_) => result,
            scalar => DataType::LowCardinality(Box::new(scalar)),
        },
        _ => result,
    }
}

/// The operand without `LowCardinality` and `Nullable`: the type bare, dictionaries of texts unpacked. Enums stay
/// dictionaries, their keys are positions in the type.
pub fn undress(operand: &Operand) -> Result<Operand, FunctionError> {
    let data_type = bare(&operand.data_type).clone();
    let is_enum = matches!(data_type, DataType::Enum8(_) | DataType::Enum16(_));
    let values = match operand.values.data_type() {
        ArrowType::Dictionary(_, inner) if !is_enum => cast(&operand.values, inner)?,
        _ if is_enum => numbers::in_places(&operand.values, &data_type)?,
        _ => operand.values.clone(),
    };
    Ok(Operand { data_type, values, is_constant: operand.is_constant })
}

/// Packs values into the Arrow form of `LowCardinality`, which is a dictionary for texts and plain for the rest.
fn encode(values: &ArrayRef, data_type: &DataType) -> Result<ArrayRef, FunctionError> {
    let wanted = data_type.field("", Strings::Utf8);
    match (wanted.data_type(), values.data_type()) {
        // Bytes that are no text stay what they are.
        (_, have) if access::has_bytes(have) => Ok(values.clone()),
        (wanted, have) if wanted == have => Ok(values.clone()),
        (wanted @ ArrowType::Dictionary(_, inner), _) => cast(&cast(values, inner)?, wanted),
        _ => Ok(values.clone()),
    }
}

/// A row is NULL if an argument of it is.
fn with_nulls(
    values: ArrayRef,
    operands: &[Operand],
    rows: usize,
) -> Result<ArrayRef, FunctionError> {
    let mut nulls = values.logical_nulls();
    for operand in operands {
        let of_operand = match (operand.is_constant && rows != 1, operand.values.is_null_at(0)) {
            (true, true) => Some(NullBuffer::new_null(rows)),
            (true, false) => None,
            (false, _) => operand.values.logical_nulls(),
        };
        nulls = NullBuffer::union(nulls.as_ref(), of_operand.as_ref());
    }
    if nulls.as_ref().map(NullBuffer::null_count)
        == values.logical_nulls().map(|own| own.null_count())
    {
        return Ok(values);
    }
    let data = values.to_data().into_builder().nulls(nulls).build();
    Ok(make_array(
        data.map_err(|cause| FunctionError::Arrow { operation: "marking NULLs", cause })?,
    ))
}

trait NullAt {
    fn is_null_at(&self, index: usize) -> bool;
}

impl NullAt for ArrayRef {
    fn is_null_at(&self, index: usize) -> bool {
        index < self.len() && self.is_null(index)
    }
}

/// Arrow's cast, as an error of ours.
pub fn cast(values: &ArrayRef, wanted: &ArrowType) -> Result<ArrayRef, FunctionError> {
    let failed = |cause| FunctionError::Arrow { operation: "converting values", cause };
    let cast = arrow_cast::cast(values, wanted).map_err(failed)?;
    // Arrow makes a NULL of bytes that are not UTF-8.
    if access::has_bytes(values.data_type())
        && matches!(wanted, ArrowType::Utf8 | ArrowType::LargeUtf8 | ArrowType::Utf8View)
        && cast.logical_null_count() > values.logical_null_count()
    {
        return Err(failed(ArrowError::CastError("the bytes are not UTF-8".to_owned())));
    }
    Ok(cast)
}

/// Arrow's take, as an error of ours.
pub fn take(values: &ArrayRef, indices: &UInt32Array) -> Result<ArrayRef, FunctionError> {
    arrow_select::take::take(values, indices, None)
        .map_err(|cause| FunctionError::Arrow { operation: "repeating values", cause })
}

/// An error about the arguments of a function.
pub fn wrong(function: &str, problem: impl Into<String>) -> FunctionError {
    FunctionError::Function { function: function.to_owned(), problem: problem.into() }
}

/// An error if there are fewer or more arguments than a function takes.
pub fn expect_count(
    function: &str,
    arguments: &[Signature],
    range: std::ops::RangeInclusive<usize>,
) -> Result<(), FunctionError> {
    if range.contains(&arguments.len()) {
        return Ok(());
    }
    let wanted = match (*range.start(), *range.end()) {
        (low, high) if low == high => low.to_string(),
        (low, high) => format!("{low} to {high}"),
    };
    Err(wrong(function, format!("it takes {wanted} arguments, not {}", arguments.len())))
}
