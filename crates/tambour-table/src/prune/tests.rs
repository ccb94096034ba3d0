//! Pruning against a naive filter: no row that matches may be in a granule or part that was left out.

use super::{End, Ends, Key, Pruner};
use crate::predicate::{Comparison, Constant, Predicate};
use crate::schema::expression::{Expression, sort_form};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMillisecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch, UInt32Array};
use arrow_row::{RowConverter, SortField};
use arrow_schema::{DataType as ArrowType, Schema, SortOptions, TimeUnit};
use proptest::prelude::*;
use std::sync::Arc;
use tambour_part::types::{Column, DataType, Strings};

/// Columns of the tables under test, and the constants that they are made of and compared with.
fn pool() -> Vec<(Column, Vec<Constant>)> {
    let integers = |values: &[i128]| values.iter().copied().map(Constant::Integer).collect();
    let texts =
        |values: &[&str]| values.iter().map(|it| Constant::Bytes(it.as_bytes().to_vec())).collect();
    let mut pool: Vec<(Column, Vec<Constant>)> = Vec::new();
    let mut add = |name: &str, data_type: &str, mut values: Vec<Constant>| {
        let data_type: DataType = data_type.parse().unwrap();
        if matches!(data_type, DataType::Nullable(_))
            || matches!(&data_type, DataType::LowCardinality(it) if matches!(**it, DataType::Nullable(_)))
        {
            values.push(Constant::Null);
        }
        pool.push((Column { name: name.to_owned(), data_type }, values));
    };
    add("i", "Int32", integers(&[-7, -1, 0, 1, 2, 3, 8, 1000]));
    add("u", "UInt64", integers(&[0, 1, 2, 3, 10, 11, 19, 20, i128::from(u64::MAX)]));
    add("n", "Nullable(Int16)", integers(&[-2, -1, 0, 1, 2, 300]));
    add("s", "String", texts(&["", "a", "aa", "ab", "b", "ba", "z", "\u{e9}"]));
    add("l", "LowCardinality(Nullable(String))", texts(&["", "a", "ab", "b"]));
    add("f", "FixedString(2)", texts(&["\0\0", "aa", "ab", "ba"]));
    add("e", "Enum8('z' = -3, 'a' = 1, 'm' = 5)", texts(&["z", "a", "m"]));
    add("b", "Bool", vec![Constant::Bool(false), Constant::Bool(true)]);
    let floats =
        [f64::NEG_INFINITY, -1.5, -0.0, 0.0, 0.25, 7.0, f64::INFINITY, f64::NAN, -f64::NAN];
    add("x", "Float64", floats.map(Constant::Float).to_vec());
    add("p", "Decimal(9, 2)", [-150, 0, 1, 99, 100].map(|it| Constant::Decimal(it, 2)).to_vec());
    add("d", "Date", integers(&[0, 1, 30, 31, 59, 19_000, 19_001, 19_030, 65_535]));
    // Around months, days, hours; and around the end of summer time in St. John's at 00:01.
    let times: [i128; 12] = [
        0,
        59,
        3_600,
        86_399,
        86_400,
        1_162_089_000,
        1_162_089_059,
        1_162_089_060,
        1_162_092_660,
        1_706_745_599,
        1_706_745_600,
        4_294_967_295,
    ];
    add("t", "DateTime", integers(&times));
    add("w", "DateTime('America/St_Johns')", integers(&times));
    add("m", "Nullable(DateTime64(3, 'Europe/Berlin'))", integers(&times.map(|it| it * 1000 - 1)));
    add(
        "q",
        "UUID",
        (0..4_u8)
            .map(|it| {
                let mut bytes = vec![7; 16];
                bytes[if it < 2 { 0 } else { 15 }] = it;
                Constant::Bytes(bytes)
            })
            .collect(),
    );
    add(
        "v",
        "IPv6",
        (0..4_u8)
            .map(|it| {
                let mut bytes = vec![0; 16];
                bytes[0] = 0x80 + it;
                Constant::Bytes(bytes)
            })
            .collect(),
    );
    pool
}

/// Expressions that are keys or stand in conditions, besides the columns.
const EXPRESSIONS: [&str; 22] = [
    "toYYYYMMDDhhmmss(w)",
    "toYYYYMMDDhhmmss(m)",
    "toYYYYMM(t)",
    "toYYYYMM(d)",
    "toYYYYMM(w)",
    "toDate(t)",
    "toDate(w)",
    "toDate(m)",
    "toStartOfHour(w)",
    "toStartOfHour(m)",
    "toStartOfMonth(t)",
    "toStartOfDay(t)",
    "toMonday(d)",
    "toYear(m)",
    "toYYYYMM(m)",
    "intDiv(u, 10)",
    "intDiv(i, 3)",
    "u % 4",
    "toHour(t)",
    "toYYYYMM(toDate(w))",
    "lower(s)",
    "negate(i)",
];

/// Keys as people choose them: conditions on several of their members meet more often here than by chance.
const KEYS: [&str; 8] = [
    "(t, i)",
    "(w, u)",
    "(toYYYYMM(t), t)",
    "(d, s, n)",
    "(e, m, s)",
    "(toDate(w), w, i)",
    "(w, s)",
    "(intDiv(u, 10), u, x)",
];

fn key_set() -> impl Strategy<Value = Vec<Key>> {
    let all = expressions();
    let any = prop::collection::vec(prop::sample::select(all), 1..4);
    let usual = prop::sample::select(&KEYS[..]).prop_map(|it| Expression::parse_key(it).unwrap());
    prop_oneof![any, usual].prop_map(|keys| keys.iter().map(|it| key(it, Ends::Strict)).collect())
}

/// One constant, as an array that stands for a column of its own.
fn value_of(constants: &[Constant], picks: &[usize], data_type: &DataType) -> ArrayRef {
    use super::super::ordinal::constant_array;
    // NULL is not a constant of an array: build with a stand-in, then mask.
    let stand_in = constants.iter().find(|it| **it != Constant::Null).unwrap();
    let chosen: Vec<&Constant> =
        picks.iter().map(|pick| &constants[pick % constants.len()]).collect();
    let is_null: Vec<bool> = chosen.iter().map(|it| **it == Constant::Null).collect();
    let filled: Vec<&Constant> =
        chosen.iter().map(|it| if **it == Constant::Null { stand_in } else { *it }).collect();
    let values = constant_array(&filled, data_type).unwrap();
    let wanted = data_type.arrow(Strings::Utf8);
    let values = if *values.data_type() == wanted {
        values
    } else {
        let text = arrow_cast::cast(&values, &ArrowType::Utf8).unwrap();
        arrow_cast::cast(&text, &wanted).unwrap()
    };
    if !is_null.contains(&true) {
        return values;
    }
    let indexes: UInt32Array =
        (0_u32..).zip(&is_null).map(|(index, null)| (!null).then_some(index)).collect();
    arrow_select::take::take(&values, &indexes, None).unwrap()
}

fn table(columns: &[(Column, Vec<Constant>)], picks: &[Vec<usize>]) -> RecordBatch {
    let fields: Vec<_> =
        columns.iter().map(|(it, _)| it.data_type.field(&it.name, Strings::Utf8)).collect();
    let arrays = columns
        .iter()
        .enumerate()
        .map(|(index, (column, constants))| {
            let picks: Vec<usize> = picks.iter().map(|row| row[index]).collect();
            value_of(constants, &picks, &column.data_type)
        })
        .collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap()
}

/// Sorts a table by keys, as an insert does.
fn sorted(batch: &RecordBatch, keys: &[Key]) -> RecordBatch {
    let last = SortOptions { descending: false, nulls_first: false };
    let forms: Vec<ArrayRef> = keys
        .iter()
        .map(|key| sort_form(&key.expression.evaluate(batch).unwrap(), &key.data_type).unwrap())
        .collect();
    if forms.is_empty() {
        return batch.clone();
    }
    let fields =
        forms.iter().map(|it| SortField::new_with_options(it.data_type().clone(), last)).collect();
    let rows = RowConverter::new(fields).unwrap().convert_columns(&forms).unwrap();
    let mut order: Vec<u32> = (0..u32::try_from(batch.num_rows()).unwrap()).collect();
    order.sort_by_key(|row| rows.row(*row as usize));
    let order = UInt32Array::from(order);
    arrow_select::take::take_record_batch(batch, &order).unwrap()
}

/// A value as the naive filter sees it.
#[derive(Clone, Debug, PartialEq)]
enum Plain {
    Null,
    Integer(i128),
    Float(f64),
    Bytes(Vec<u8>),
}

fn plain(values: &ArrayRef, row: usize) -> Plain {
    if values.is_null(row) {
        return Plain::Null;
    }
    macro_rules! integer {
        ($type:ty) => {
            Plain::Integer(i128::from(values.as_primitive::<$type>().value(row)))
        };
    }
    match values.data_type() {
        ArrowType::Boolean => Plain::Integer(i128::from(values.as_boolean().value(row))),
        ArrowType::UInt8 => integer!(UInt8Type),
        ArrowType::UInt16 => integer!(UInt16Type),
        ArrowType::UInt32 => integer!(UInt32Type),
        ArrowType::UInt64 => integer!(UInt64Type),
        ArrowType::Int8 => integer!(Int8Type),
        ArrowType::Int16 => integer!(Int16Type),
        ArrowType::Int32 => integer!(Int32Type),
        ArrowType::Int64 => integer!(Int64Type),
        ArrowType::Date32 => integer!(Date32Type),
        ArrowType::Decimal128(..) => integer!(Decimal128Type),
        ArrowType::Timestamp(TimeUnit::Second, _) => integer!(TimestampSecondType),
        ArrowType::Timestamp(TimeUnit::Millisecond, _) => integer!(TimestampMillisecondType),
        ArrowType::Float64 => Plain::Float(values.as_primitive::<Float64Type>().value(row)),
        ArrowType::FixedSizeBinary(_) => {
            Plain::Bytes(values.as_fixed_size_binary().value(row).to_vec())
        }
        ArrowType::Utf8View => Plain::Bytes(values.as_string_view().value(row).as_bytes().to_vec()),
        ArrowType::Dictionary(..) => {
            plain(&arrow_cast::cast(values, &ArrowType::Utf8View).unwrap(), row)
        }
        other => panic!("no plain form of {other}"),
    }
}

fn plain_constant(constant: &Constant) -> Plain {
    match constant {
        Constant::Null => Plain::Null,
        Constant::Bool(value) => Plain::Integer(i128::from(*value)),
        Constant::Integer(value) | Constant::Decimal(value, _) => Plain::Integer(*value),
        Constant::Float(value) => Plain::Float(*value),
        Constant::Bytes(bytes) => Plain::Bytes(bytes.clone()),
    }
}

/// Could any engine call this comparison true? Floats are compared in Arrow's total order and as numbers.
fn compares(left: &Plain, comparison: Comparison, right: &Plain) -> bool {
    use std::cmp::Ordering;
    let holds = |ordering: Ordering| match comparison {
        Comparison::Equal => ordering.is_eq(),
        Comparison::NotEqual => ordering.is_ne(),
        Comparison::Less => ordering.is_lt(),
        Comparison::LessOrEqual => ordering.is_le(),
        Comparison::Greater => ordering.is_gt(),
        Comparison::GreaterOrEqual => ordering.is_ge(),
    };
    match (left, right) {
        (Plain::Integer(left), Plain::Integer(right)) => holds(left.cmp(right)),
        (Plain::Bytes(left), Plain::Bytes(right)) => holds(left.cmp(right)),
        (Plain::Float(left), Plain::Float(right)) => {
            let as_numbers = match left.partial_cmp(right) {
                Some(ordering) => holds(ordering),
                None => comparison == Comparison::NotEqual,
            };
            holds(left.total_cmp(right)) || as_numbers
        }
        _ => false,
    }
}

fn matches(predicate: &Predicate, batch: &RecordBatch, row: usize) -> bool {
    let value = |expression: &Expression| plain(&expression.evaluate(batch).unwrap(), row);
    match predicate {
        Predicate::Unknown => true,
        Predicate::And(parts) => parts.iter().all(|part| matches(part, batch, row)),
        Predicate::Or(parts) => parts.iter().any(|part| matches(part, batch, row)),
        Predicate::Compare(expression, comparison, constant) => {
            compares(&value(expression), *comparison, &plain_constant(constant))
        }
        Predicate::In(expression, constants, not) => {
            let value = value(expression);
            let is_in = |constant| compares(&value, Comparison::Equal, &plain_constant(constant));
            if *not {
                value != Plain::Null && !constants.iter().any(is_in)
            } else {
                constants.iter().any(is_in)
            }
        }
        Predicate::IsNull(expression, not) => (value(expression) == Plain::Null) != *not,
        Predicate::StartsWith(expression, prefix) => {
            matches!(value(expression), Plain::Bytes(bytes) if bytes.starts_with(prefix))
        }
        // A key is never an array.
        Predicate::Has(..) | Predicate::Contains(..) => true,
    }
}

/// A value of an expression's result as a constant.
fn constant_from(values: &ArrayRef, row: usize) -> Constant {
    match plain(values, row) {
        Plain::Null => Constant::Null,
        Plain::Integer(value) => match values.data_type() {
            ArrowType::Boolean => Constant::Bool(value == 1),
            ArrowType::Decimal128(_, scale) => Constant::Decimal(value, *scale),
            _ => Constant::Integer(value),
        },
        Plain::Float(value) => Constant::Float(value),
        Plain::Bytes(bytes) => Constant::Bytes(bytes),
    }
}

/// A recipe for a predicate, made concrete when the table is known.
#[derive(Clone, Debug)]
enum Recipe {
    Compare(usize, usize, usize),
    In(usize, Vec<usize>, bool),
    IsNull(usize, bool),
    StartsWith(usize, usize),
    And(Vec<Recipe>),
    Or(Vec<Recipe>),
    Unknown,
}

fn recipe() -> impl Strategy<Value = Recipe> {
    let pick = 0..10_000_usize;
    let leaf = prop_oneof![
        8 => (pick.clone(), 0..6_usize, pick.clone()).prop_map(|(a, b, c)| Recipe::Compare(a, b, c)),
        3 => (pick.clone(), prop::collection::vec(pick.clone(), 0..4), any::<bool>())
            .prop_map(|(a, b, c)| Recipe::In(a, b, c)),
        1 => (pick.clone(), any::<bool>()).prop_map(|(a, b)| Recipe::IsNull(a, b)),
        1 => (pick.clone(), pick).prop_map(|(a, b)| Recipe::StartsWith(a, b)),
        1 => Just(Recipe::Unknown),
    ];
    leaf.prop_recursive(2, 6, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(Recipe::And),
            prop::collection::vec(inner, 1..4).prop_map(Recipe::Or),
        ]
    })
}

fn expressions() -> Vec<Expression> {
    let columns = pool().into_iter().map(|(column, _)| Expression::Column(column.name));
    columns.chain(EXPRESSIONS.iter().map(|text| Expression::parse(text).unwrap())).collect()
}

impl Recipe {
    /// Half of the conditions are about what the keys are made of: else hardly any would prune.
    fn expression(pick: usize, keys: &[Key]) -> Expression {
        let all = expressions();
        let related: Vec<&Expression> = all
            .iter()
            .filter(|it| keys.iter().any(|key| key.expression.columns() == it.columns()))
            .collect();
        if pick.is_multiple_of(4) || related.is_empty() {
            all[pick / 4 % all.len()].clone()
        } else {
            related[pick / 4 % related.len()].clone()
        }
    }
    /// A constant near the expression's values.
    fn constant(pick: usize, expression: &Expression, batch: &RecordBatch) -> Constant {
        if let Expression::Column(name) = expression {
            let pool = pool();
            let (_, constants) = pool.iter().find(|(column, _)| column.name == *name).unwrap();
            return constants[pick % constants.len()].clone();
        }
        let values = expression.evaluate(batch).unwrap();
        let constant = constant_from(&values, pick % values.len());
        match constant {
            Constant::Integer(value) => {
                Constant::Integer((value + (pick / 7 % 3) as i128 - 1).max(0))
            }
            other => other,
        }
    }
    fn predicate(&self, keys: &[Key], batch: &RecordBatch) -> Predicate {
        let comparisons = [
            Comparison::Equal,
            Comparison::NotEqual,
            Comparison::Less,
            Comparison::LessOrEqual,
            Comparison::Greater,
            Comparison::GreaterOrEqual,
        ];
        let all = |parts: &[Self]| parts.iter().map(|it| it.predicate(keys, batch)).collect();
        match self {
            Self::Unknown => Predicate::Unknown,
            Self::And(parts) => Predicate::And(all(parts)),
            Self::Or(parts) => Predicate::Or(all(parts)),
            Self::Compare(pick, comparison, constant) => {
                let expression = Self::expression(*pick, keys);
                let constant = Self::constant(*constant, &expression, batch);
                Predicate::Compare(expression, comparisons[*comparison], constant)
            }
            Self::In(pick, constants, not) => {
                let expression = Self::expression(*pick, keys);
                let constants =
                    constants.iter().map(|it| Self::constant(*it, &expression, batch)).collect();
                Predicate::In(expression, constants, *not)
            }
            Self::IsNull(pick, not) => Predicate::IsNull(Self::expression(*pick, keys), *not),
            Self::StartsWith(pick, constant) => {
                let expression = Self::expression(*pick, keys);
                match Self::constant(*constant, &expression, batch) {
                    Constant::Bytes(bytes) => {
                        let length = constant % (bytes.len() + 1);
                        Predicate::StartsWith(expression, bytes[..length].to_vec())
                    }
                    constant => Predicate::Compare(expression, Comparison::Equal, constant),
                }
            }
        }
    }
}

fn key(expression: &Expression, ends: Ends) -> Key {
    let columns: Vec<Column> = pool().into_iter().map(|(column, _)| column).collect();
    let data_type = expression.data_type(&columns).unwrap();
    Key { expression: expression.clone(), data_type, ends }
}

/// The entries of a primary index over granules that end at these rows.
fn entries(batch: &RecordBatch, keys: &[Key], starts: &[usize], final_mark: bool) -> Vec<ArrayRef> {
    let mut rows: Vec<u32> = starts.iter().map(|it| u32::try_from(*it).unwrap()).collect();
    if final_mark {
        rows.push(u32::try_from(batch.num_rows() - 1).unwrap());
    }
    let rows = UInt32Array::from(rows);
    let take = |key: &Key| {
        arrow_select::take::take(&key.expression.evaluate(batch).unwrap(), &rows, None).unwrap()
    };
    keys.iter().map(take).collect()
}

fn columns() -> Vec<Column> {
    pool().into_iter().map(|(column, _)| column).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6 * ProptestConfig::default().cases))]

    #[test]
    fn granules_that_are_left_out_hold_no_match(
        rows in prop::collection::vec(prop::collection::vec(0..10_000_usize, 16), 1..60),
        keys in key_set(),
        granule in 1..7_usize,
        final_mark in any::<bool>(),
        recipe in recipe(),
    ) {
        let batch = sorted(&table(&pool(), &rows), &keys);
        let predicate = recipe.predicate(&keys, &batch);
        let starts: Vec<usize> = (0..batch.num_rows()).step_by(granule).collect();
        let pruner = Pruner::new(&predicate, &columns(), keys.clone()).unwrap();
        let entries = entries(&batch, &keys, &starts, final_mark);
        let encoded = pruner.encode(&entries).unwrap();
        let length = entries[0].len();
        prop_assert_eq!(encoded.disorder(length), None);
        let left = if pruner.is_idle() {
            std::iter::once(0..starts.len()).collect()
        } else {
            encoded.granules(starts.len(), length)
        };
        for row in 0..batch.num_rows() {
            if matches(&predicate, &batch, row) {
                let granule = row / granule;
                prop_assert!(
                    left.iter().any(|range| range.contains(&granule)),
                    "row {} of granule {} matches {} but {:?} is left", row, granule, predicate, left
                );
            }
        }
    }

    #[test]
    fn parts_that_are_left_out_hold_no_match(
        rows in prop::collection::vec(prop::collection::vec(0..10_000_usize, 16), 1..12),
        partition_pick in 0..10_000_usize,
        extreme_picks in prop::collection::vec(0..10_000_usize, 0..3),
        recipe in recipe(),
    ) {
        let all = expressions();
        let partition = key(&all[partition_pick % all.len()], Ends::Strict);
        let batch = sorted(&table(&pool(), &rows), std::slice::from_ref(&partition));
        // The part is the partition of the first row.
        let values = partition.expression.evaluate(&batch).unwrap();
        let same = (1..batch.num_rows()).take_while(|row| {
            let form = sort_form(&values, &partition.data_type).unwrap();
            let pair = [0, *row].map(|it| plain(&form, it));
            match pair {
                [Plain::Float(first), Plain::Float(other)] => first.to_bits() == other.to_bits(),
                [first, other] => first == other,
            }
        }).count();
        let part = batch.slice(0, same + 1);
        let mut keys = vec![partition.clone()];
        let mut entries = vec![values.slice(0, 1)];
        let mut ends = vec![(End::At(0), End::At(0))];
        for pick in extreme_picks {
            let key = key(&all[pick % columns().len()], Ends::Loose);
            let ordered = sorted(&part, std::slice::from_ref(&key));
            let values = key.expression.evaluate(&ordered).unwrap();
            // As ClickHouse does it: NaN is an extreme only if there is nothing else.
            let count = (0..values.len()).take_while(|row| {
                !matches!(plain(&values, *row), Plain::Float(it) if it.is_nan())
            }).count();
            let last = count.max(1) - 1;
            let rows = UInt32Array::from(vec![0, u32::try_from(last).unwrap()]);
            entries.push(arrow_select::take::take(&values, &rows, None).unwrap());
            ends.push((End::At(0), End::At(1)));
            keys.push(key);
        }
        let predicate = recipe.predicate(&keys, &batch);
        let pruner = Pruner::new(&predicate, &columns(), keys).unwrap();
        if !pruner.encode(&entries).unwrap().ranges(&ends) {
            for row in 0..part.num_rows() {
                prop_assert!(!matches(&predicate, &part, row), "row {} matches {}", row, predicate);
            }
        }
    }
}
