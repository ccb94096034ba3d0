//! What the values of a column have looked like so far, and the type that follows from it.

use super::class::{Class, classify, classify_quoted};
use std::collections::HashSet;
use tambour_function::value::time::{self, DateOrder, Moment, Orders};
use tambour_part::DataType;

/// A dictionary of more values does not pay.
pub(crate) const DISTINCT_MAX: usize = 10_000;
/// In fewer rows than this a dictionary is not worth its file.
pub(crate) const DICTIONARY_ROWS_MIN: u64 = 1_000;
/// At least this many rows per distinct value, on average.
pub(crate) const ROWS_PER_VALUE_MIN: u64 = 10;

/// Seconds that a `DateTime` holds.
const DATE_TIME_SECONDS: std::ops::RangeInclusive<i64> = 0..=u32::MAX as i64;
/// Days that a `Date` holds (up to 2149-06-06).
pub(crate) const DATE_DAYS: std::ops::RangeInclusive<i32> = 0..=65_535;

/// Counts distinct texts until there are too many.
#[derive(Clone, Debug, Default)]
pub(crate) struct Distinct {
    values: HashSet<Box<[u8]>>,
    rows: u64,
    /// Rows that were not looked at.
    passed: u64,
    full: bool,
}

impl Distinct {
    pub(crate) fn observe(&mut self, text: &[u8]) {
        self.rows += 1;
        if self.full || self.values.contains(text) {
            return;
        }
        if self.values.len() == DISTINCT_MAX {
            self.full = true;
            self.values = HashSet::new();
        } else {
            self.values.insert(text.into());
        }
    }

    /// Counts a value without looking at it.
    fn pass(&mut self) {
        self.rows += 1;
        self.passed += 1;
    }

    fn merge(&mut self, other: &Self) {
        self.rows += other.rows;
        self.passed += other.passed;
        self.full |= other.full;
        if !self.full {
            self.values.extend(other.values.iter().cloned());
            self.full = self.values.len() > DISTINCT_MAX;
        }
        if self.full {
            self.values = HashSet::new();
        }
    }

    /// Whether a dictionary of the values pays, if there are this many NULLs besides them.
    pub(crate) fn pays(&self, nulls: u64) -> bool {
        let distinct = self.values.len() as u64 + self.passed;
        let rows = self.rows + nulls;
        !self.full
            && distinct <= DISTINCT_MAX as u64
            && rows >= DICTIONARY_ROWS_MIN
            && distinct.saturating_mul(ROWS_PER_VALUE_MIN) <= rows
    }
}

/// Kinds of values seen, as bits.
mod seen {
    pub(super) const BOOL: u8 = 1;
    pub(super) const INT: u8 = 2;
    pub(super) const LONG_INT: u8 = 4;
    pub(super) const FLOAT: u8 = 8;
    pub(super) const DATE: u8 = 16;
    pub(super) const TIME: u8 = 32;
    pub(super) const UUID: u8 = 64;
    pub(super) const TEXT: u8 = 128;
}

/// What the values of a column have looked like so far.
#[derive(Clone, Debug)]
pub(crate) struct Evidence {
    /// Values that say NULL wherever they stand: `\N`, JSON's null, a missing key.
    pub(crate) nulls: u64,
    /// Empty fields without quotes, and with.
    empties: u64,
    quoted_empties: u64,
    markers: u64,
    seen: u8,
    negative_max: u64,
    positive_max: u64,
    orders: Orders,
    days: (i32, i32),
    seconds: (i64, i64),
    digits: u8,
    zoned: bool,
    distinct: Distinct,
}

impl Default for Evidence {
    fn default() -> Self {
        Self {
            nulls: 0,
            empties: 0,
            quoted_empties: 0,
            markers: 0,
            seen: 0,
            negative_max: 0,
            positive_max: 0,
            orders: Orders::ALL,
            days: (i32::MAX, i32::MIN),
            seconds: (i64::MAX, i64::MIN),
            digits: 0,
            zoned: false,
            distinct: Distinct::default(),
        }
    }
}

impl Evidence {
    /// A field of CSV or TSV that says NULL.
    pub(crate) fn observe_null(&mut self) {
        self.nulls += 1;
    }

    /// A field of CSV or TSV, escapes resolved.
    pub(crate) fn observe_field(&mut self, text: &[u8], quoted: bool) {
        if text.is_empty() {
            if quoted {
                self.quoted_empties += 1;
            } else {
                self.empties += 1;
            }
            self.distinct.observe(text);
        } else {
            if !self.is_text() {
                self.count(classify(text.trim_ascii()), quoted);
            }
            self.tell_apart(text);
        }
    }

    /// Counts distinct texts. Numbers and the like are only counted: each as a value of its own, should the column turn out
    /// to be text after all.
    fn tell_apart(&mut self, text: &[u8]) {
        if self.is_text() {
            self.distinct.observe(text);
        } else {
            self.distinct.pass();
        }
    }

    /// A bare value of JSON: a number or a truth value.
    pub(crate) fn observe_bare(&mut self, text: &[u8]) {
        self.count(classify(text), false);
        self.tell_apart(text);
    }

    /// A string of JSON.
    pub(crate) fn observe_string(&mut self, text: &[u8]) {
        if !self.is_text() {
            self.count(classify_quoted(text), true);
        }
        self.tell_apart(text);
    }

    fn is_text(&self) -> bool {
        self.seen & seen::TEXT != 0
    }

    fn count(&mut self, class: Class, quoted: bool) {
        match class {
            Class::Bool => self.seen |= seen::BOOL,
            Class::Int { negative: true, magnitude } => {
                self.seen |= seen::INT;
                self.negative_max = self.negative_max.max(magnitude);
            }
            Class::Int { magnitude, .. } => {
                self.seen |= seen::INT;
                self.positive_max = self.positive_max.max(magnitude);
            }
            Class::LongInt => self.seen |= seen::LONG_INT,
            Class::Float => self.seen |= seen::FLOAT,
            Class::Date { orders, moment } => self.moment(orders, moment),
            Class::Uuid => self.seen |= seen::UUID,
            Class::Marker if !quoted => self.markers += 1,
            Class::Marker | Class::Text => self.seen |= seen::TEXT,
        }
    }

    fn moment(&mut self, orders: Orders, moment: Moment) {
        self.orders = self.orders.intersect(orders);
        self.days = (self.days.0.min(moment.days), self.days.1.max(moment.days));
        let of_day = moment.time.map_or(0, |(nanoseconds, _)| nanoseconds / 1_000_000_000) as i64;
        let seconds =
            i64::from(moment.days) * 86_400 + of_day - i64::from(moment.zone.unwrap_or(0));
        self.seconds = (self.seconds.0.min(seconds), self.seconds.1.max(seconds));
        self.zoned |= moment.zone.is_some();
        match moment.time {
            Some((_, digits)) => {
                self.seen |= seen::TIME;
                self.digits = self.digits.max(digits);
            }
            None => self.seen |= seen::DATE,
        }
    }

    /// Whether a text was among the values (as long as there were not too many to remember).
    pub(crate) fn has_seen(&self, text: &[u8]) -> bool {
        self.distinct.values.contains(text)
    }

    /// Adds what was seen of the same column elsewhere.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.nulls += other.nulls;
        self.empties += other.empties;
        self.quoted_empties += other.quoted_empties;
        self.markers += other.markers;
        self.seen |= other.seen;
        self.negative_max = self.negative_max.max(other.negative_max);
        self.positive_max = self.positive_max.max(other.positive_max);
        self.orders = self.orders.intersect(other.orders);
        self.days = (self.days.0.min(other.days.0), self.days.1.max(other.days.1));
        self.seconds = (self.seconds.0.min(other.seconds.0), self.seconds.1.max(other.seconds.1));
        self.digits = self.digits.max(other.digits);
        self.zoned |= other.zoned;
        self.distinct.merge(&other.distinct);
    }

    /// True if no value was seen, apart from what may stand for NULL.
    pub(crate) fn is_null(&self) -> bool {
        self.seen == 0 && self.quoted_empties == 0
    }

    /// Bounds of the whole numbers seen, which include 0.
    pub(crate) fn range(&self) -> Option<(i128, i128)> {
        (self.seen == seen::INT)
            .then(|| (-i128::from(self.negative_max), i128::from(self.positive_max)))
    }

    /// The order of dates, if one alone is possible.
    pub(crate) fn order(&self) -> DateOrder {
        self.orders.only().unwrap_or_default()
    }

    /// The type, and whether empty fields are NULL.
    pub(crate) fn decide(&self) -> Decision {
        match self.formed() {
            Some(data_type) => {
                let null = self.nulls + self.empties + self.markers > 0;
                // An empty string in quotes is not NULL; it makes the column text.
                if self.quoted_empties == 0 {
                    return Decision {
                        data_type: nullable(data_type, null),
                        order: self.order(),
                        empty_is_null: true,
                    };
                }
                self.text()
            }
            None => self.text(),
        }
    }

    /// Who writes "" for the empty string means NULL when there is nothing at all.
    pub(crate) fn tells_null_from_empty(&self) -> bool {
        self.empties > 0 && self.quoted_empties > 0
    }

    fn text(&self) -> Decision {
        let empty_is_null = self.tells_null_from_empty();
        let data_type = nullable(DataType::String, self.nulls > 0 || empty_is_null);
        let data_type = if self.distinct.pays(self.nulls) {
            DataType::LowCardinality(Box::new(data_type))
        } else {
            data_type
        };
        Decision { data_type, order: DateOrder::Iso, empty_is_null }
    }

    /// The type of values that have a form; none for text.
    fn formed(&self) -> Option<DataType> {
        const DATE_OR_TIME: u8 = seen::DATE | seen::TIME;
        match self.seen {
            seen::BOOL => Some(DataType::Bool),
            seen::INT if i64::try_from(self.positive_max).is_ok() => Some(DataType::Int64),
            seen::INT if self.negative_max == 0 => Some(DataType::UInt64),
            seen::UUID => Some(DataType::Uuid),
            kinds if kinds & seen::FLOAT != 0 && kinds & !number_kinds() == 0 => {
                Some(DataType::Float64)
            }
            seen::DATE => self.date(),
            kinds if kinds != 0 && kinds & !DATE_OR_TIME == 0 => self.date_time(),
            _ => None,
        }
    }

    fn date(&self) -> Option<DataType> {
        let (first, last) = self.days_in_order()?;
        if DATE_DAYS.contains(&first) && DATE_DAYS.contains(&last) {
            return Some(DataType::Date);
        }
        (time::DAYS.contains(&first) && time::DAYS.contains(&last)).then_some(DataType::Date32)
    }

    fn date_time(&self) -> Option<DataType> {
        let (first, last) = self.days_in_order()?;
        if !time::DAYS.contains(&first) || !time::DAYS.contains(&last) {
            return None;
        }
        let zone = self.zoned.then(|| "UTC".to_owned());
        let (first, last) = self.seconds;
        let short = DATE_TIME_SECONDS.contains(&first) && DATE_TIME_SECONDS.contains(&last);
        let precision = self.digits.div_ceil(3) * 3;
        // Nanoseconds in 64 bits end in 2262 (and begin in 1677).
        let fine = i64::MAX / 1_000_000_000;
        if precision == 9 && (first < -fine || last > fine) {
            return None;
        }
        Some(match (precision, short) {
            (0, true) => DataType::DateTime { zone },
            (precision, _) => DataType::DateTime64 { precision, zone },
        })
    }

    /// First and last day, if the order of the dates is clear.
    fn days_in_order(&self) -> Option<(i32, i32)> {
        self.orders.only().map(|_| self.days)
    }
}

fn number_kinds() -> u8 {
    seen::INT | seen::LONG_INT | seen::FLOAT
}

/// What follows from the evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decision {
    pub(crate) data_type: DataType,
    pub(crate) order: DateOrder,
    pub(crate) empty_is_null: bool,
}

pub(crate) fn nullable(data_type: DataType, null: bool) -> DataType {
    if null { DataType::Nullable(Box::new(data_type)) } else { data_type }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(fields: &[&str]) -> String {
        let mut evidence = Evidence::default();
        for field in fields {
            match field.strip_prefix('"') {
                Some(rest) => evidence.observe_field(rest.trim_end_matches('"').as_bytes(), true),
                None if *field == "\\N" => evidence.observe_null(),
                None => evidence.observe_field(field.as_bytes(), false),
            }
        }
        format!("{:?}", evidence.decide().data_type)
    }

    #[test]
    fn people_agree() {
        for (fields, expected) in [
            (&["1", "2"][..], "Int64"),
            (&["0", "1"], "Int64"),
            (&["1", "", "2"], "Nullable(Int64)"),
            (&["1", "NA", "2"], "Nullable(Int64)"),
            (&["1", "\"NA\""], "String"),
            (&["1", "\\N"], "Nullable(Int64)"),
            (&["1", "2.5"], "Float64"),
            (&["1", " 2"], "Int64"),
            (&["1", "x"], "String"),
            (&["18446744073709551615"], "UInt64"),
            (&["18446744073709551615", "-1"], "String"),
            (&["18446744073709551616"], "String"),
            (&["18446744073709551616", "1.5"], "Float64"),
            (&["02134", "10001"], "String"),
            (&["true", "false"], "Bool"),
            (&["true", "1"], "String"),
            (&["2024-01-31", "2024-02-01"], "Date"),
            (&["1924-01-31", "2024-02-01"], "Date32"),
            (&["9999-12-31"], "String"),
            (&["13/1/2024", "1/2/2024"], "Date"),
            (&["1/13/2024", "1/2/2024"], "Date"),
            (&["1/2/2024"], "String"),
            (&["1/13/2024", "13/1/2024"], "String"),
            (&["1.2.2024"], "Date"),
            (&["2024-01-31 10:00:00"], "DateTime { zone: None }"),
            (&["2024-01-31", "2024-01-31T10:00:00Z"], "DateTime { zone: Some(\"UTC\") }"),
            (&["1924-01-31 10:00:00"], "DateTime64 { precision: 0, zone: None }"),
            (&["2024-01-31 10:00:00.12"], "DateTime64 { precision: 3, zone: None }"),
            (&["2024-01-31 10:00:00.123456"], "DateTime64 { precision: 6, zone: None }"),
            (&["2299-01-31 10:00:00.123456789"], "String"),
            (&["61f0c404-5cb3-11e7-907b-a6006ad3dba0"], "Uuid"),
            (&["10.0.0.1"], "String"),
            (&["a", ""], "String"),
            (&["a", "\\N"], "Nullable(String)"),
            (&["a", "", "\"\""], "Nullable(String)"),
            (&["a", "NA"], "String"),
            (&["", ""], "String"),
            (&["\\N"], "Nullable(String)"),
            (&["NA"], "String"),
            (&["1", "\"\""], "String"),
        ] {
            assert_eq!(decide(fields), expected, "{fields:?}");
        }
    }

    #[test]
    fn dictionaries_pay_where_values_repeat() {
        let mut evidence = Evidence::default();
        for row in 0..2_000 {
            evidence.observe_field(format!("v{}", row % 200).as_bytes(), false);
        }
        let expected = DataType::LowCardinality(Box::new(DataType::String));
        assert_eq!(evidence.decide().data_type, expected);
        evidence.observe_field(b"one more", false);
        assert_eq!(evidence.decide().data_type, DataType::String);
    }
}
