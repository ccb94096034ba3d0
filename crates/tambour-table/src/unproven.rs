//! What only `columns.txt` says of a column. ClickHouse keeps no hash of that file, so a flipped bit in it is noticed by what the
//! data contradicts, and not where the data cannot know: names of an enum, digits after a point, a time zone.

use tambour_function::Zone;
use tambour_part::types::{Column, DataType};

/// The column, or one that cannot be read if its time zone is not known: its times would be shown as those of another.
pub(super) fn with_known_zones(column: Column) -> Column {
    let mut is_known = true;
    walk(&column.data_type, &mut |part| {
        if let DataType::DateTime { zone } | DataType::DateTime64 { zone, .. } = part {
            is_known &= Zone::of(zone.as_deref()).is_ok();
        }
    });
    if is_known {
        return column;
    }
    Column { data_type: DataType::Foreign(column.data_type.to_string()), name: column.name }
}

/// What nothing else in the part contradicts, in words: ``the names of `e` ``.
pub(super) fn of(columns: &[Column], has_names: bool) -> Vec<String> {
    let mut found = Vec::new();
    if !has_names {
        found.push("the names of all columns".to_owned());
    }
    for column in columns {
        let mut add = |what: &str| {
            let text = format!("{what} of `{}`", column.name);
            if !found.contains(&text) {
                found.push(text);
            }
        };
        walk(&column.data_type, &mut |part| match part {
            DataType::Enum8(_) | DataType::Enum16(_) => add("the names"),
            DataType::Decimal { .. } => add("the scale"),
            DataType::DateTime { zone: Some(_) } => add("the time zone"),
            DataType::DateTime64 { zone, .. } => {
                add("the precision");
                if zone.is_some() {
                    add("the time zone");
                }
            }
            _ => {}
        });
    }
    found
}

/// Calls `see` with a type and every type inside it.
fn walk(data_type: &DataType, see: &mut dyn FnMut(&DataType)) {
    see(data_type);
    match data_type {
        DataType::Nullable(inner) | DataType::LowCardinality(inner) | DataType::Array(inner) => {
            walk(inner, see);
        }
        DataType::Tuple(fields) => fields.iter().for_each(|(_, field)| walk(field, see)),
        DataType::Map(key, value) => {
            walk(key, see);
            walk(value, see);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(text: &str) -> Column {
        Column { name: "c".to_owned(), data_type: text.parse().unwrap() }
    }

    #[test]
    fn zones_that_nobody_knows_cannot_be_read() {
        for text in ["DateTime('Europe/Durlin')", "Array(Nullable(DateTime64(3, 'utc ')))"] {
            assert_eq!(
                with_known_zones(column(text)).data_type,
                DataType::Foreign(text.to_owned())
            );
        }
        for text in ["DateTime", "DateTime64(3, 'Europe/Berlin')", "Map(String, DateTime('UTC'))"] {
            assert_eq!(with_known_zones(column(text)), column(text));
        }
    }

    #[test]
    fn what_no_data_contradicts_is_named() {
        let columns = [column("UInt8"), column("Tuple(Enum8('a' = 1), DateTime64(3, 'UTC'))")];
        assert_eq!(
            of(&columns, true),
            ["the names of `c`", "the precision of `c`", "the time zone of `c`"]
        );
        assert_eq!(of(&[column("Nullable(Decimal(9, 2))")], true), ["the scale of `c`"]);
        assert_eq!(of(&[column("UInt8")], false), ["the names of all columns"]);
    }
}
