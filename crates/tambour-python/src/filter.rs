//! Filters as Python writes them: a text, `(column, operator, value)`, a list of those that all have to be true, or a list of
//! such lists of which one has to be.

use crate::failure::{Failure, argument};
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyBytes, PyDate, PyDateTime, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple,
};
use tambour::Filter;
use tambour::table::filter::Literal;
use tambour::table::predicate::Comparison;

/// A condition.
#[derive(Debug)]
pub(crate) enum Condition {
    /// That the scan itself decides, and its text if it was one.
    Filter(Filter, Option<String>),
    /// Text that only SQL understands, if it is there.
    Sql(String, Failure),
}

/// The zone in which moments of a column are read; `None` for columns of other things.
pub(crate) type Zones<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The condition of an object.
pub(crate) fn condition(object: &Bound<'_, PyAny>, zones: Zones<'_>) -> PyResult<Condition> {
    if let Ok(text) = object.cast::<PyString>() {
        let text = text.to_str()?;
        return Ok(match text.parse::<Filter>() {
            Ok(filter) => Condition::Filter(filter, Some(text.to_owned())),
            Err(error) => Condition::Sql(text.to_owned(), Failure::from(error)),
        });
    }
    if let Ok(triple) = object.cast::<PyTuple>() {
        return comparison(triple, zones).map(|filter| Condition::Filter(filter, None));
    }
    let Ok(list) = object.cast::<PyList>() else {
        let got = object.get_type();
        return Err(argument(format!("a filter is a text, a tuple or a list, not {got}")).into());
    };
    if !list.is_empty() && list.iter().all(|item| item.is_instance_of::<PyList>()) {
        let any =
            list.iter().map(|item| all(item.cast::<PyList>()?, zones)).collect::<PyResult<_>>()?;
        return Ok(Condition::Filter(Filter::Any(any), None));
    }
    all(list, zones).map(|filter| Condition::Filter(filter, None))
}

fn all(list: &Bound<'_, PyList>, zones: Zones<'_>) -> PyResult<Filter> {
    let triple = |item: Bound<'_, PyAny>| match item.cast::<PyTuple>() {
        Ok(triple) => comparison(triple, zones),
        Err(_) => Err(argument(format!("{item:?} is not (column, operator, value)")).into()),
    };
    list.iter().map(triple).collect::<PyResult<Vec<_>>>().map(Filter::All)
}

/// `(column, operator, value)`; `("not", condition)`, too.
fn comparison(triple: &Bound<'_, PyTuple>, zones: Zones<'_>) -> PyResult<Filter> {
    if triple.len() == 2 && triple.get_item(0)?.eq("not")? {
        return match condition(&triple.get_item(1)?, zones)? {
            Condition::Filter(filter, _) => Ok(Filter::Not(Box::new(filter))),
            Condition::Sql(_, reason) => Err(reason.into()),
        };
    }
    let wrong = || argument(format!("{triple:?} is not (column, operator, value)"));
    if triple.len() != 3 {
        return Err(wrong().into());
    }
    let column: String = triple.get_item(0)?.extract().map_err(|_| wrong())?;
    let operator: String = triple.get_item(1)?.extract().map_err(|_| wrong())?;
    let value = triple.get_item(2)?;
    let zone = zones(&column);
    let zone = zone.as_deref();
    let compare =
        |comparison| Ok(Filter::Compare(column.clone(), comparison, literal(&value, zone)?));
    match operator.to_ascii_lowercase().as_str() {
        "=" | "==" if value.is_none() => Ok(Filter::IsNull(column)),
        "!=" | "<>" if value.is_none() => Ok(Filter::Not(Box::new(Filter::IsNull(column)))),
        "=" | "==" => compare(Comparison::Equal),
        "!=" | "<>" => compare(Comparison::NotEqual),
        "<" => compare(Comparison::Less),
        "<=" => compare(Comparison::LessOrEqual),
        ">" => compare(Comparison::Greater),
        ">=" => compare(Comparison::GreaterOrEqual),
        "in" => Ok(Filter::In(column, literals(&value, zone)?)),
        "not in" => Ok(Filter::Not(Box::new(Filter::In(column, literals(&value, zone)?)))),
        _ => Err(argument(format!(
            "operator {operator:?}: there are =, !=, <, <=, >, >=, in and not in"
        ))
        .into()),
    }
}

fn literals(values: &Bound<'_, PyAny>, zone: Option<&str>) -> PyResult<Vec<Literal>> {
    if values.is_instance_of::<PyString>() {
        return Err(argument("`in` takes a list of values, not a text").into());
    }
    let list = values
        .try_iter()
        .map_err(|_| argument(format!("`in` takes a list of values, not {}", values.get_type())))?;
    list.map(|value| literal(&value?, zone)).collect()
}

/// A value as it would be written for a column with moments in this zone.
fn literal(value: &Bound<'_, PyAny>, zone: Option<&str>) -> PyResult<Literal> {
    if value.is_none() {
        return Ok(Literal::Null);
    }
    if let Ok(value) = value.cast::<PyBool>() {
        return Ok(Literal::Bool(value.is_true()));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Literal::Text(text.to_str()?.to_owned()));
    }
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return match std::str::from_utf8(bytes.as_bytes()) {
            Ok(text) => Ok(Literal::Text(text.to_owned())),
            Err(_) => Err(argument("bytes in a filter must be UTF-8").into()),
        };
    }
    if value.is_instance_of::<PyInt>() {
        return Ok(Literal::Number(value.str()?.to_str()?.to_owned()));
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        return float(number.value());
    }
    if value.is_instance_of::<PyDateTime>() {
        return moment(value, zone);
    }
    if let Some(literal) = of_numpy(value)? {
        return Ok(literal);
    }
    if value.is_instance_of::<PyDate>() {
        return Ok(Literal::Text(value.str()?.to_str()?.to_owned()));
    }
    // NumPy's scalars give themselves as Python's; decimals, UUIDs and addresses are what they print.
    if let Some(item) = value.getattr_opt("item")? {
        let plain = item.call0().map_err(|_| {
            argument(format!("a filter compares with one value, not with a {}", value.get_type()))
        })?;
        if !plain.get_type().is(value.get_type()) {
            return literal(&plain, zone);
        }
    }
    let module: String = value.get_type().module()?.extract()?;
    let text = value.str()?.to_str()?.to_owned();
    match module.as_str() {
        "decimal" => Ok(Literal::Number(text)),
        "uuid" | "ipaddress" => Ok(Literal::Text(text)),
        _ => Err(argument(format!("a value of {} cannot be in a filter", value.get_type())).into()),
    }
}

/// A moment of NumPy, which as Python's own would be a number in some units. A duration is in no column.
fn of_numpy(value: &Bound<'_, PyAny>) -> PyResult<Option<Literal>> {
    let class = value.get_type();
    let is_numpy = class.module()?.to_str()?.split('.').next() == Some("numpy");
    match class.name()?.to_str()? {
        "datetime64" if is_numpy => {}
        "timedelta64" if is_numpy => {
            return Err(argument("a duration cannot be in a filter").into());
        }
        _ => return Ok(None),
    }
    // `2024-01-01T01:00:00.000000000`, or shorter where the unit is coarser.
    let text: String = value.str()?.extract()?;
    if text == "NaT" {
        return Err(not_a_time().into());
    }
    let (day, time) = text.split_once('T').unwrap_or((&text, ""));
    let day = match day.len() {
        4 => format!("{day}-01-01"),
        7 => format!("{day}-01"),
        _ => day.to_owned(),
    };
    let time = match time.len() {
        0 => return Ok(Some(Literal::Text(day))),
        2 => format!("{time}:00:00"),
        5 => format!("{time}:00"),
        _ => time.to_owned(),
    };
    Ok(Some(Literal::Text(format!("{day} {}", without_zeros(&time)))))
}

/// A time without the zeros at the end of its fraction: a column of whole seconds has none.
fn without_zeros(time: &str) -> &str {
    if time.contains('.') { time.trim_end_matches('0').trim_end_matches('.') } else { time }
}

fn not_a_time() -> Failure {
    argument("NaT is not a moment: compare with None, which finds what is missing")
}

fn float(number: f64) -> PyResult<Literal> {
    if number.is_finite() {
        return Ok(Literal::Number(format!("{number}")));
    }
    Err(argument(format!(
        "{number} cannot be in a filter: compare by SQL, as in \"isNaN(x)\" or \"x = inf\""
    ))
    .into())
}

/// A moment, which is read in the zone of the column. One with a zone of its own is shown by the clocks of the column's.
fn moment(value: &Bound<'_, PyAny>, zone: Option<&str>) -> PyResult<Literal> {
    let text: String = value.call_method1("isoformat", (" ",))?.extract()?;
    // The one of pandas is a `datetime`, too.
    if text == "NaT" {
        return Err(not_a_time().into());
    }
    if value.getattr("tzinfo")?.is_none() {
        return Ok(Literal::Text(without_zeros(&text).to_owned()));
    }
    let Some(zone) = zone else {
        return Err(argument("a moment with a zone is compared with columns of times only").into());
    };
    let py = value.py();
    let clocks = py.import("zoneinfo")?.call_method1("ZoneInfo", (zone,))?;
    let local = value.call_method1("astimezone", (clocks,))?;
    let offset = |fold: u8| {
        let named = PyDict::new(py);
        named.set_item("fold", fold)?;
        local.call_method("replace", (), Some(&named))?.call_method0("utcoffset")
    };
    if !offset(0)?.eq(offset(1)?)? {
        let text = format!("the clocks of {zone} show {text} twice: compare in SQL");
        return Err(argument(text).into());
    }
    let named = PyDict::new(py);
    named.set_item("tzinfo", py.None())?;
    let naive = local.call_method("replace", (), Some(&named))?;
    let text: String = naive.call_method1("isoformat", (" ",))?.extract()?;
    Ok(Literal::Text(without_zeros(&text).to_owned()))
}
