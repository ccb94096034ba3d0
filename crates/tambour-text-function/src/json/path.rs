//! Paths of SQL/JSON: `JSON_VALUE(doc, '$.a.b[0]')`, `JSON_QUERY`, `JSON_EXISTS`. A path is made of names and numbers.

use tambour_function::kit::{Call, Kind, Texts, takes, wrong};
use tambour_function::{Function, FunctionError, Signature};
use tambour_part::types::DataType;
use tambour_value::json::{Json, Step};

/// The functions of this room.
pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new(
        "JSON_VALUE",
        |n, s| path_type(n, s, DataType::String),
        |c| {
            let found = each(c, |value| match value {
                Some(Json::Array(_) | Json::Object(_)) | None => String::new(),
                Some(Json::Text(text)) => text.clone(),
                Some(other) => written(other),
            })?;
            c.make_texts(|row, out| out.extend_from_slice(found[row].as_bytes()))
        },
    ),
    Function::new(
        "JSON_QUERY",
        |n, s| path_type(n, s, DataType::String),
        |c| {
            let found =
                each(c, |value| value.map_or_else(String::new, |it| format!("[{}]", written(it))))?;
            c.make_texts(|row, out| out.extend_from_slice(found[row].as_bytes()))
        },
    ),
    Function::new(
        "JSON_EXISTS",
        |n, s| path_type(n, s, DataType::UInt8),
        |c| {
            let found = each(c, |value| value.is_some())?;
            c.make_flags(|row| found[row])
        },
    )
    .predicate(),
];

fn written(value: &Json) -> String {
    let mut text = String::new();
    value.write(&mut text);
    text
}

/// `$.a[0].b` as steps.
fn steps(path: &str) -> Option<Vec<Step<'_>>> {
    let mut rest = path.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(['.', '[']).unwrap_or(after.len());
            let (name, tail) = after.split_at(end);
            let is_plain = |it: char| it.is_alphanumeric() || it == '_';
            if name.is_empty() || !name.chars().all(is_plain) {
                return None;
            }
            steps.push(Step::Name(name.as_bytes()));
            rest = tail;
        } else {
            let (number, tail) = rest.strip_prefix('[')?.split_once(']')?;
            steps.push(Step::Index(i128::from(number.parse::<u32>().ok()?) + 1));
            rest = tail;
        }
    }
    Some(steps)
}

fn path_type(
    name: &'static str,
    s: &[Signature],
    result: DataType,
) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Text, Kind::ConstText], &[])?;
    let constant = s.get(1).and_then(|argument| argument.constant.as_ref());
    let path = constant.and_then(|constant| Texts::of(constant).first()).unwrap_or_default();
    match steps(&path) {
        Some(_) => Ok(result),
        None => Err(wrong(
            name,
            format!("the path {path:?} is not made of names and numbers, as $.a.b[0] is"),
        )),
    }
}

fn each<T>(call: &Call, make: impl Fn(Option<&Json>) -> T) -> Result<Vec<T>, FunctionError> {
    let texts = call.texts(0)?;
    let path = String::from_utf8_lossy(&call.constant_text(1)?).into_owned();
    let steps = steps(&path).unwrap_or_default();
    let of_row = |row: usize| {
        let document = Json::read(texts.get(row));
        // A name is a member's, and a number is an item's.
        let mut at = document.as_ref();
        for step in &steps {
            at = match (at, step) {
                (Some(Json::Object(_)), Step::Index(_)) => None,
                (Some(value), step) => value.at(std::slice::from_ref(step)).map(|(_, value)| value),
                (None, _) => None,
            };
        }
        make(at)
    };
    Ok((0..call.rows).map(of_row).collect())
}

#[cfg(test)]
mod tests {
    use super::steps;

    #[test]
    fn paths_are_names_and_numbers() {
        for (path, count) in [("$", Some(0)), ("$.a", Some(1)), ("$.a[0].b", Some(3)), ("a", None)]
        {
            assert_eq!(steps(path).map(|steps| steps.len()), count, "{path}");
        }
        for path in ["$.a[*]", "$..a", "$.a[x]", "$.", "$.a-b"] {
            assert!(steps(path).is_none(), "{path}");
        }
    }
}
