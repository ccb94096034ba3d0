//! Types of ClickHouse's that are not read here. Tables that have columns of them are read all the same, without those.

use super::DataType;

/// Their names.
const NAMES: [&str; 17] = [
    "AggregateFunction",
    "Dynamic",
    "Geometry",
    "JSON",
    "LineString",
    "MultiLineString",
    "MultiPolygon",
    "Nothing",
    "Object",
    "Point",
    "Polygon",
    "QBit",
    "Ring",
    "SimpleAggregateFunction",
    "Time",
    "Time64",
    "Variant",
];

impl DataType {
    /// A type whose text does not parse, if that is because it is one of ClickHouse's that are not read here, or has one inside.
    pub fn foreign(text: &str) -> Option<Self> {
        let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        let mut words = words.filter(|word| !word.is_empty());
        words.any(|word| NAMES.contains(&word)).then(|| Self::Foreign(text.to_owned()))
    }

    /// True if columns of it cannot be read.
    pub fn is_foreign(&self) -> bool {
        matches!(self, Self::Foreign(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_out_of_scope_are_told_from_mistakes() {
        for text in ["JSON", "Array(JSON(max_dynamic_paths=8))", "Nullable(Time64(3))"] {
            let found = DataType::foreign(text).unwrap();
            assert_eq!(found.to_string(), text);
            assert!(text.parse::<DataType>().is_err() && found.is_foreign());
        }
        for text in ["Strng", "UInt23", "DateTimes"] {
            assert_eq!(DataType::foreign(text), None);
        }
    }
}
