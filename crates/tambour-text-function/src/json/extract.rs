//! `JSONExtract…` and its kin: a document, a path into it of names and numbers, and for `JSONExtract` a type.

use super::nested;
use arrow_array::ArrayRef;
use tambour_function::kit::{
    Call, Integers, Kind, TextColumn, Texts, array_of, as_texts, expect_count, integer, nullable,
    takes, wrong,
};
use tambour_function::{Function, FunctionError, Signature, bare};
use tambour_part::types::DataType;
use tambour_value::json::{Json, Step};

macro_rules! extractors {
    ($int:literal $uint:literal $float:literal $bool:literal $string:literal
     $raw:literal $items:literal $keys:literal $typed:literal) => {
        &[
            Function::new(
                $int,
                |n, s| path_type(n, s, 0).map(|()| DataType::Int64),
                |c| {
                    let found =
                        each(c, 0, |value| value.and_then(|it| number(it, false)).unwrap_or(0))?;
                    c.make_integers(|row| i64::try_from(found[row]).map_or(0, i128::from))
                },
            ),
            Function::new(
                $uint,
                |n, s| path_type(n, s, 0).map(|()| DataType::UInt64),
                |c| {
                    let found =
                        each(c, 0, |value| value.and_then(|it| number(it, false)).unwrap_or(0))?;
                    c.make_integers(|row| u64::try_from(found[row]).map_or(0, i128::from))
                },
            ),
            Function::new(
                $float,
                |n, s| path_type(n, s, 0).map(|()| DataType::Float64),
                |c| {
                    let found = each(c, 0, |value| value.and_then(float).unwrap_or(0.0))?;
                    c.make_floats(|row| found[row])
                },
            ),
            Function::new(
                $bool,
                |n, s| path_type(n, s, 0).map(|()| DataType::UInt8),
                |c| {
                    let found = each(c, 0, |value| match value {
                        Some(Json::Bool(value)) => *value,
                        Some(Json::Unsigned(number)) => *number != 0,
                        Some(Json::Signed(number)) => *number != 0,
                        _ => false,
                    })?;
                    c.make_flags(|row| found[row])
                },
            )
            .predicate(),
            Function::new(
                $string,
                |n, s| path_type(n, s, 0).map(|()| DataType::String),
                |c| {
                    let found = each(c, 0, text_of)?;
                    c.make_texts(|row, out| out.extend_from_slice(found[row].as_bytes()))
                },
            ),
            Function::new(
                $raw,
                |n, s| path_type(n, s, 0).map(|()| DataType::String),
                |c| {
                    let found = each(c, 0, |value| value.map_or_else(String::new, raw))?;
                    c.make_texts(|row, out| out.extend_from_slice(found[row].as_bytes()))
                },
            ),
            Function::new(
                $items,
                |n, s| path_type(n, s, 0).map(|()| array_of(DataType::String)),
                |c| {
                    let found = each(c, 0, |value| match value {
                        Some(Json::Array(items)) => items.iter().map(raw).collect(),
                        _ => Vec::new(),
                    })?;
                    text_lists(c, &found)
                },
            ),
            Function::new(
                $keys,
                |n, s| path_type(n, s, 0).map(|()| array_of(DataType::String)),
                |c| {
                    let found = each(c, 0, |value| match value {
                        Some(Json::Object(members)) => {
                            members.iter().map(|(name, _)| name.clone()).collect()
                        }
                        _ => Vec::new(),
                    })?;
                    text_lists(c, &found)
                },
            ),
            Function::new($typed, extract_type, extract),
        ]
    };
}

/// The functions of this room.
pub(crate) const FUNCTIONS: [&[Function]; 3] = [
    PLAIN,
    extractors!(
        "JSONExtractInt" "JSONExtractUInt" "JSONExtractFloat" "JSONExtractBool" "JSONExtractString"
        "JSONExtractRaw" "JSONExtractArrayRaw" "JSONExtractKeys" "JSONExtract"
    ),
    // Names of members in any case: ASCII letters alone have two.
    extractors!(
        "JSONExtractIntCaseInsensitive" "JSONExtractUIntCaseInsensitive" "JSONExtractFloatCaseInsensitive" "JSONExtractBoolCaseInsensitive" "JSONExtractStringCaseInsensitive"
        "JSONExtractRawCaseInsensitive" "JSONExtractArrayRawCaseInsensitive" "JSONExtractKeysCaseInsensitive" "JSONExtractCaseInsensitive"
    ),
];

const PLAIN: &[Function] = &[
    Function::new(
        "isValidJSON",
        |n, s| takes(n, s, &[Kind::Text], &[]).map(|()| DataType::UInt8),
        |c| {
            let texts = c.texts(0)?;
            c.make_flags(|row| Json::read(texts.get(row)).is_some())
        },
    )
    .predicate(),
    Function::new(
        "JSONHas",
        |n, s| path_type(n, s, 0).map(|()| DataType::UInt8),
        |c| {
            let found = each(c, 0, |value| value.is_some())?;
            c.make_flags(|row| found[row])
        },
    )
    .predicate(),
    Function::new(
        "JSONLength",
        |n, s| path_type(n, s, 0).map(|()| DataType::UInt64),
        |c| {
            let found = each(c, 0, |value| match value {
                Some(Json::Array(items)) => items.len(),
                Some(Json::Object(members)) => members.len(),
                _ => 0,
            })?;
            c.make_integers(|row| found[row] as i128)
        },
    ),
    Function::new("JSONType", |n, s| path_type(n, s, 0).map(|()| kinds()), json_type),
    Function::new("JSONKey", |n, s| path_type(n, s, 0).map(|()| DataType::String), json_key),
    Function::new(
        "JSONArrayLength",
        |n, s| takes(n, s, &[Kind::String], &[]).map(|()| nullable(DataType::UInt64)),
        |c| {
            let texts = c.texts(0)?;
            c.make_optional_integers(|row| match Json::read(texts.get(row)) {
                Some(Json::Array(items)) => Some(items.len() as i128),
                _ => None,
            })
        },
    )
    .aliases(&["JSON_ARRAY_LENGTH"]),
];

fn is_any_case(name: &str) -> bool {
    name.ends_with("CaseInsensitive")
}

fn text_lists(call: &Call, found: &[Vec<String>]) -> Result<ArrayRef, FunctionError> {
    call.make_text_lists(|row, list| {
        found[row].iter().for_each(|text| list.push(text.as_bytes()));
    })
}

pub(super) fn raw(value: &Json) -> String {
    let mut out = String::new();
    value.write(&mut out);
    out
}

pub(super) fn text_of(value: Option<&Json>) -> String {
    match value {
        None | Some(Json::Null) => String::new(),
        Some(Json::Text(text)) => text.clone(),
        Some(other) => raw(other),
    }
}

/// A text, then names and numbers; this many arguments at the end are something else.
pub(super) fn path_type(
    name: &'static str,
    s: &[Signature],
    others: usize,
) -> Result<(), FunctionError> {
    expect_count(name, s, 1 + others..=usize::MAX)?;
    let path = s.get(..s.len() - others).unwrap_or_default();
    takes(name, path.get(..1).unwrap_or_default(), &[Kind::String], &[])?;
    for step in path.iter().skip(1) {
        let is_step = step.data_type == DataType::String || integer(&step.data_type).is_some();
        if !is_step {
            let problem = format!("a path has names and numbers, not {}", step.data_type);
            return Err(wrong(name, problem));
        }
    }
    Ok(())
}

enum Steps {
    Names(TextColumn),
    Indexes(Integers),
}

impl Steps {
    fn of(call: &Call, others: usize) -> Result<Vec<Self>, FunctionError> {
        (1..call.operands.len() - others)
            .map(|index| {
                Ok(match call.operand(index)?.data_type {
                    DataType::String => Self::Names(call.texts(index)?),
                    _ => Self::Indexes(call.integers(index)?),
                })
            })
            .collect()
    }
    fn get(&self, row: usize, any_case: bool) -> Step<'_> {
        match self {
            Self::Names(names) if any_case => Step::AnyCase(names.get(row)),
            Self::Names(names) => Step::Name(names.get(row)),
            // They are 32 bits wide there.
            Self::Indexes(indexes) => Step::Index(i128::from(indexes.get(row) as i32)),
        }
    }
}

/// Something for each row of what stands at the end of its path.
pub(super) fn each<T>(
    call: &Call,
    others: usize,
    make: impl Fn(Option<&Json>) -> T,
) -> Result<Vec<T>, FunctionError> {
    let (texts, steps) = (call.texts(0)?, Steps::of(call, others)?);
    let constant = texts.is_constant().then(|| Json::read(texts.get(0)));
    let any_case = is_any_case(call.name);
    let of_row = |row: usize| {
        let own;
        let document = if let Some(constant) = &constant {
            constant
        } else {
            own = Json::read(texts.get(row));
            &own
        };
        let path: Vec<Step> = steps.iter().map(|steps| steps.get(row, any_case)).collect();
        make(document.as_ref().and_then(|document| document.at(&path)).map(|(_, value)| value))
    };
    Ok((0..call.rows).map(of_row).collect())
}

/// `JSONExtract` takes more for a number than `JSONExtractInt` does.
fn number(value: &Json, is_wide: bool) -> Option<i128> {
    match value {
        Json::Unsigned(number) => Some(i128::from(*number)),
        Json::Signed(number) => Some(i128::from(*number)),
        Json::Bool(value) if is_wide => Some(i128::from(*value)),
        Json::Float(float) if float.abs() < 1e19 => Some(*float as i128),
        Json::Text(text) if is_wide => {
            let of_float = || text.parse::<f64>().ok().filter(|it| it.abs() < 1e19);
            text.parse().ok().or_else(|| of_float().map(|float| float as i128))
        }
        Json::Text(text) => text.parse().ok(),
        _ => None,
    }
}

fn float(value: &Json) -> Option<f64> {
    match value {
        Json::Unsigned(number) => Some(*number as f64),
        Json::Signed(number) => Some(*number as f64),
        Json::Float(float) => Some(*float),
        Json::Text(text) => text.parse().ok(),
        _ => None,
    }
}

/// The Enum of `JSONType`.
fn kinds() -> DataType {
    let names = [
        ("Null", 0),
        ("String", 34),
        ("Object", 123),
        ("Array", 91),
        ("Int64", 105),
        ("UInt64", 117),
        ("Double", 100),
        ("Bool", 98),
    ];
    let mut names: Vec<(String, i8)> =
        names.into_iter().map(|(name, number)| (name.to_owned(), number)).collect();
    names.sort_by_key(|(_, number)| *number);
    DataType::Enum8(names)
}

fn json_type(call: &Call) -> Result<ArrayRef, FunctionError> {
    let found = each(call, 0, |value| match value {
        None | Some(Json::Null) => "Null",
        Some(Json::Bool(_)) => "Bool",
        Some(Json::Unsigned(number)) if *number > i64::MAX as u64 => "UInt64",
        Some(Json::Unsigned(_) | Json::Signed(_)) => "Int64",
        Some(Json::Float(_)) => "Double",
        Some(Json::Text(_)) => "String",
        Some(Json::Array(_)) => "Array",
        Some(Json::Object(_)) => "Object",
    })?;
    let texts: arrow_array::StringArray = found.into_iter().map(Some).collect();
    let DataType::Enum8(names) = call.result else {
        return Err(wrong(call.name, "its result is an Enum8"));
    };
    let place = |text: Option<&str>| {
        names.iter().position(|(name, _)| Some(name.as_str()) == text).map(|at| at as i8)
    };
    let keys: arrow_array::Int8Array = texts.iter().map(place).collect();
    let values = arrow_array::StringArray::from_iter_values(names.iter().map(|(name, _)| name));
    let array = arrow_array::DictionaryArray::try_new(keys, std::sync::Arc::new(values));
    Ok(std::sync::Arc::new(array.map_err(FunctionError::arrow("name types"))?))
}

fn json_key(call: &Call) -> Result<ArrayRef, FunctionError> {
    let (texts, steps) = (call.texts(0)?, Steps::of(call, 0)?);
    call.make_texts(|row, out| {
        let path: Vec<Step> = steps.iter().map(|steps| steps.get(row, false)).collect();
        let document = Json::read(texts.get(row));
        let found = document.as_ref().and_then(|document| document.at(&path));
        let name = found.and_then(|(name, _)| name).unwrap_or_default();
        out.extend_from_slice(name.as_bytes());
    })
}

fn extract_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    path_type(name, s, 1)?;
    let constant = s.last().and_then(|last| last.constant.as_ref());
    let text = constant.and_then(|constant| Texts::of(constant).first());
    let Some(text) = text else {
        return Err(wrong(name, "the type must be a constant text"));
    };
    let wanted: DataType =
        text.parse().map_err(|_| wrong(name, format!("{text:?} is not a type")))?;
    check_type(name, &wanted)?;
    Ok(wanted)
}

pub(super) fn check_type(name: &'static str, wanted: &DataType) -> Result<(), FunctionError> {
    match wanted {
        DataType::Array(item) => check_type(name, item),
        DataType::Tuple(elements) => {
            elements.iter().try_for_each(|(_, element)| check_type(name, element))
        }
        DataType::Map(key, value) if *bare(key) == DataType::String => check_type(name, value),
        DataType::Nullable(inner) | DataType::LowCardinality(inner) => check_type(name, inner),
        DataType::String | DataType::Float32 | DataType::Float64 | DataType::Bool => Ok(()),
        other if integer(other).is_some() => Ok(()),
        other => Err(wrong(
            name,
            format!(
                "it extracts numbers, strings, Bool, and arrays, tuples and maps of them, not {other}"
            ),
        )),
    }
}

fn extract(call: &Call) -> Result<ArrayRef, FunctionError> {
    let others = 1;
    let wanted: DataType = std::str::from_utf8(&call.constant_text(call.operands.len() - 1)?)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| wrong(call.name, "the type must be a constant text"))?;
    #[expect(
        clippy::redundant_closure_for_method_calls,
        reason = "the path is not general over lifetimes"
    )]
    let found: Vec<Option<Json>> = each(call, others, |value| value.cloned())?;
    build(call.name, &wanted, &found.iter().map(Option::as_ref).collect::<Vec<_>>())
}

/// Values of a type: what does not fit is NULL where the type has NULLs, else the default.
pub(super) fn build(
    name: &str,
    wanted: &DataType,
    values: &[Option<&Json>],
) -> Result<ArrayRef, FunctionError> {
    use arrow_array::builder::BinaryViewBuilder;
    use tambour_function::kit::{list_array, optional_integers};
    let is_nullable = tambour_function::kit::is_nullable(wanted);
    let is_null = |value: Option<&Json>| matches!(value, None | Some(Json::Null));
    match bare(wanted) {
        DataType::Array(item) => {
            let (mut items, mut lengths) = (Vec::new(), Vec::with_capacity(values.len()));
            for value in values {
                let of_row: &[Json] = match value {
                    Some(Json::Array(all)) => all,
                    _ => &[],
                };
                lengths.push(of_row.len());
                items.extend(of_row.iter().map(Some));
            }
            list_array(lengths, build(name, item, &items)?, item)
        }
        DataType::Tuple(elements) => nested::tuples(name, elements, values),
        DataType::Map(..) => nested::maps(name, bare(wanted), values),
        DataType::String => {
            let mut builder = BinaryViewBuilder::with_capacity(values.len());
            for value in values {
                if is_nullable && is_null(*value) {
                    builder.append_null();
                } else {
                    builder.append_value(text_of(*value));
                }
            }
            Ok(as_texts(builder.finish(), false))
        }
        DataType::Bool => {
            // A number of 8 bits, there.
            let flags = values.iter().map(|value| {
                let number = value.and_then(|it| number(it, true));
                let flag = number.filter(|it| (0..=255).contains(it)).map(|it| it != 0);
                if is_nullable { flag } else { Some(flag.unwrap_or(false)) }
            });
            Ok(std::sync::Arc::new(flags.collect::<arrow_array::BooleanArray>()))
        }
        float_type @ (DataType::Float32 | DataType::Float64) => {
            let floats = values.iter().map(|value| {
                let float = match value {
                    Some(Json::Bool(value)) => Some(f64::from(*value)),
                    other => other.and_then(float),
                };
                if is_nullable { float } else { Some(float.unwrap_or(0.0)) }
            });
            let floats: ArrayRef =
                std::sync::Arc::new(floats.collect::<arrow_array::Float64Array>());
            tambour_function::cast(&floats, &float_type.arrow(tambour_part::types::Strings::Utf8))
        }
        other => {
            let Some(width) = integer(other) else {
                return Err(wrong(name, format!("it does not extract {other}")));
            };
            let bits = u32::from(width.bits);
            let range = if width.is_signed {
                -(1_i128 << (bits - 1))..1_i128 << (bits - 1)
            } else {
                0..1_i128 << bits
            };
            let numbers = values.iter().map(|value| {
                let number = value.and_then(|it| number(it, true)).filter(|it| range.contains(it));
                if is_nullable { number } else { Some(number.unwrap_or(0)) }
            });
            optional_integers(name, other, numbers)
        }
    }
}

#[cfg(test)]
mod tests {
    use tambour_value::json::{Json, Step};

    #[test]
    fn the_first_of_equal_names_counts() {
        let json = Json::read(br#"{"a":1,"a":2,"b":[1,"x"]}"#).unwrap();
        assert_eq!(json.at(&[Step::Name(b"a")]).unwrap().1, &Json::Unsigned(1));
        assert_eq!(
            json.at(&[Step::Index(-1), Step::Index(2)]).unwrap().1,
            &Json::Text("x".to_owned())
        );
        assert!(json.at(&[Step::Index(0)]).is_none());
    }
    #[test]
    fn deep_documents_are_refused() {
        assert!(Json::read("[".repeat(100_000).as_bytes()).is_none());
        let deep = ["[".repeat(100), "]".repeat(100)].concat();
        assert!(Json::read(deep.as_bytes()).is_some());
    }
}
