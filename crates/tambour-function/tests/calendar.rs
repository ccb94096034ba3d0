//! Calendar functions against what ClickHouse 26.9 answered for the same values (`calendar.tsv`).
//!
//! The file has a line per value: zone, type, ticks, and the result of every function of the head line as a number; `-`
//! where the function does not take the type.

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Int32Type, Int64Type};
    use arrow_array::{Array, ArrayRef, Int32Array, Int64Array};
    use std::collections::BTreeMap;
    use std::sync::Arc;
    use tambour_function::Operand;
    use tambour_part::types::{DataType, Strings};

    type Groups = BTreeMap<(String, String), (Vec<i64>, Vec<Vec<Option<i64>>>)>;

    fn read(text: &str) -> (Vec<String>, Groups) {
        let mut lines = text.lines();
        let head = lines.next().unwrap().split('\t').skip(3).map(str::to_owned).collect();
        let mut groups = Groups::new();
        for line in lines {
            let mut fields = line.split('\t');
            let zone = fields.next().unwrap().to_owned();
            let data_type = fields.next().unwrap().to_owned();
            let group = groups.entry((zone, data_type)).or_default();
            group.0.push(fields.next().unwrap().parse().unwrap());
            group.1.push(fields.map(|field| field.parse().ok()).collect());
        }
        (head, groups)
    }

    fn operand(zone: &str, data_type: &str, ticks: &[i64]) -> Operand {
        let data_type: DataType = match data_type {
            "DateTime" => format!("DateTime('{zone}')").parse().unwrap(),
            "DateTime64(3)" => format!("DateTime64(3, '{zone}')").parse().unwrap(),
            other => other.parse().unwrap(),
        };
        let arrow = data_type.field("t", Strings::Utf8).data_type().clone();
        let numbers: ArrayRef = match data_type {
            DataType::Date | DataType::Date32 => {
                let days = ticks.iter().map(|tick| i32::try_from(*tick).unwrap());
                Arc::new(days.collect::<Int32Array>())
            }
            _ => Arc::new(Int64Array::from(ticks.to_vec())),
        };
        let values = arrow_cast::cast(&numbers, &arrow).unwrap();
        Operand { data_type, values, is_constant: false }
    }

    fn numbers(result: &ArrayRef) -> Vec<i64> {
        let result = match result.data_type() {
            arrow_schema::DataType::Date32 => {
                let days = arrow_cast::cast(result, &arrow_schema::DataType::Int32).unwrap();
                return days
                    .as_primitive::<Int32Type>()
                    .values()
                    .iter()
                    .map(|day| i64::from(*day))
                    .collect();
            }
            _ => arrow_cast::cast(result, &arrow_schema::DataType::Int64).unwrap(),
        };
        result.as_primitive::<Int64Type>().values().to_vec()
    }

    /// Differences as lines of text.
    fn differences(text: &str) -> Vec<String> {
        let (head, groups) = read(text);
        let mut lines = Vec::new();
        for ((zone, data_type), (ticks, expected)) in groups {
            let operand = operand(&zone, &data_type, &ticks);
            for (index, name) in head.iter().enumerate() {
                let wanted: Vec<Option<i64>> = expected.iter().map(|row| row[index]).collect();
                let result =
                    tambour_function::find(name).unwrap().evaluate(std::slice::from_ref(&operand));
                let Ok(result) = result else {
                    assert!(wanted.iter().all(Option::is_none), "{name}({data_type})");
                    continue;
                };
                for ((tick, wanted), got) in ticks.iter().zip(wanted).zip(numbers(&result.values)) {
                    if wanted != Some(got) {
                        lines.push(format!(
                            "{name}({zone} {data_type} {tick}) is {got}, not {wanted:?}"
                        ));
                    }
                }
            }
        }
        lines
    }

    #[test]
    fn calendar_functions_give_what_clickhouse_gives() {
        let found = differences(include_str!("calendar.tsv"));
        assert!(
            found.is_empty(),
            "{} differences\n{}",
            found.len(),
            found[..found.len().min(40)].join("\n")
        );
    }
}
