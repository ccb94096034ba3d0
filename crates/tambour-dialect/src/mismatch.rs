//! Types that do not go together, in the words of users: the engine's texts name its signatures and Arrow's types.

/// What one of the engine's texts about types means; `None` if it is about something else.
pub(super) fn of(text: &str) -> Option<String> {
    if let Some(rest) = after(text, "annot coerce arithmetic expression ") {
        let (what, _) = rest.split_once(" to valid types")?;
        return Some(format!(
            "{} does not work: convert one side, for example by toInt64(x)",
            words(what)
        ));
    }
    if let Some(rest) = after(text, "annot get result type for arithmetic operation ") {
        let what = rest.split(": ").next().unwrap_or(rest);
        return Some(format!(
            "{} does not work: convert one side, for example by toInt64(x)",
            words(what)
        ));
    }
    if let Some(rest) = after(text, "annot infer common argument type for comparison operation ") {
        let what = rest.lines().next().unwrap_or(rest);
        return Some(format!(
            "{} cannot be compared: convert one side, for example by toString(x)",
            words(what)
        ));
    }
    if let Some(rest) = after(text, "ailed to coerce arguments to satisfy a call to '") {
        let (name, rest) = rest.split_once('\'')?;
        let types = after(rest, "coercion from ")?.split(" to the signature").next()?;
        return Some(refusal(name, types));
    }
    if text.contains("failed to match any signature") {
        let name = after(text, "unction '")?.split('\'').next()?;
        let received = after(text, "but received ")?;
        let data_type = received.split([' ', '(', '.']).next()?;
        return Some(refusal(name, data_type));
    }
    if text.contains("user-defined coercion failed") {
        let name = after(text, "unction '")?.split('\'').next()?;
        let name = if name == "make_array" { "array" } else { name };
        return Some(format!("the arguments of {name} have different types: convert them to one"));
    }
    if text.contains("ncompatible inputs for Union") {
        return Some(
            "the queries of UNION have different types in a column: convert one of them".to_owned(),
        );
    }
    let is_case = ["ailed to coerce then", "ailed to coerce case", "ailed to coerce when"];
    if is_case.iter().any(|it| text.contains(it)) {
        return Some(
            "the results of if or CASE have different types: convert them to one".to_owned(),
        );
    }
    None
}

fn refusal(function: &str, types: &str) -> String {
    let name = match function {
        "var_pop" => "varPop",
        "var" | "var_samp" => "varSamp",
        "stddev_pop" => "stddevPop",
        "stddev" | "stddev_samp" => "stddevSamp",
        "covar_pop" => "covarPop",
        "covar_samp" => "covarSamp",
        other => other,
    };
    format!("{name} does not take {}: convert it, for example by toFloat64(x)", words(types))
}

fn after<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    text.split_once(mark).map(|(_, rest)| rest)
}

/// Arrow's types by the names of ClickHouse's.
fn words(types: &str) -> String {
    const NAMES: &[(&str, &str)] = &[
        ("LargeUtf8", "String"),
        ("Utf8View", "String"),
        ("Utf8", "String"),
        ("BinaryView", "String"),
        ("Binary", "String"),
        ("Boolean", "Bool"),
        ("Date32", "Date"),
        ("Timestamp", "DateTime"),
        ("Decimal128", "Decimal"),
        ("Decimal256", "Decimal"),
        ("FixedSizeBinary", "FixedString"),
        ("Interval(MonthDayNano)", "interval"),
        ("List", "Array"),
        ("Struct", "Tuple"),
        ("Dictionary", "LowCardinality"),
        ("Null", "NULL"),
        ("non-null ", ""),
    ];
    let mut text = String::with_capacity(types.len());
    let mut rest = types;
    while let Some(first) = rest.chars().next() {
        let is_start = !text.ends_with(|before: char| before.is_alphanumeric());
        let found = NAMES.iter().find(|(arrow, _)| is_start && rest.starts_with(arrow));
        if let Some((arrow, ours)) = found {
            text.push_str(ours);
            rest = &rest[arrow.len()..];
        } else {
            text.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_the_engine_are_said_in_other_words() {
        let cases = [
            (
                "Cannot coerce arithmetic expression Utf8View + Int64 to valid types",
                "String + Int64 does not work: convert one side, for example by toInt64(x)",
            ),
            (
                "Function 'sum' failed to match any signature, errors: Error during planning: Function 'sum' requires Decimal, \
                 but received String (DataType: Utf8View).",
                "sum does not take String: convert it, for example by toFloat64(x)",
            ),
            (
                "Failed to coerce arguments to satisfy a call to 'covar_pop' function: coercion from Null, List(Int64) to the \
                 signature Exact([Float64, Float64]) failed",
                "covarPop does not take NULL, Array(Int64): convert it, for example by toFloat64(x)",
            ),
            (
                "Cannot infer common argument type for comparison operation Boolean <= Timestamp(s)",
                "Bool <= DateTime(s) cannot be compared: convert one side, for example by toString(x)",
            ),
        ];
        for (text, wanted) in cases {
            assert_eq!(of(text).as_deref(), Some(wanted));
        }
        assert_eq!(of("there is nothing about types here"), None);
    }
}
