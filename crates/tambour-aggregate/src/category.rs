//! How much two columns of categories say about each other: Cramér's V, the contingency coefficient, Theil's U.

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use std::collections::BTreeMap;
use tambour_function::kit::{
    Call, Kind, compare_items, item_of, takes, total, type_at, undress, wrong,
};
use tambour_function::{Function, FunctionError, Operand, Signature, bare};
use tambour_part::types::DataType;

/// The functions of this room.
pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new("reduceCramersV", pair_type, |c| {
        measured(c, |table| (table.phi_squared() / (table.width.min(table.height) - 1.0)).sqrt())
    }),
    Function::new("reduceCramersVBiasCorrected", pair_type, |c| measured(c, corrected)),
    Function::new("reduceContingency", pair_type, |c| {
        measured(c, |table| {
            let phi = table.phi_squared();
            (phi / (phi + 1.0)).sqrt()
        })
    }),
    Function::new("reduceTheilsU", pair_type, |c| measured(c, theils_u)),
];

/// Floats are refused: which of them are one value is another question there.
fn pair_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    use DataType::{Array, Float32, Float64, Map, Tuple};
    takes(name, s, &[Kind::Array], &[])?;
    let Tuple(elements) = item_of(type_at(s, 0)) else {
        return Err(wrong(name, "it takes two values"));
    };
    match elements
        .iter()
        .map(|(_, it)| bare(it))
        .find(|it| matches!(it, Float32 | Float64 | Array(_) | Map(..) | Tuple(_)))
    {
        Some(other) => Err(wrong(name, format!("it does not take {other}"))),
        None => Ok(DataType::Float64),
    }
}

/// How often each pair was there, with how often each of its values was.
struct Table {
    pairs: Vec<(f64, f64, f64)>,
    left: Vec<f64>,
    count: f64,
    width: f64,
    height: f64,
}

impl Table {
    /// Pearson's chi squared by the number of rows.
    fn phi_squared(&self) -> f64 {
        let ratios = self.pairs.iter().map(|(both, left, right)| both * both / (left * right));
        above_zero(total(ratios) - 1.0)
    }
}

/// A difference, which is none where it is lost in the last digits.
fn above_zero(difference: f64) -> f64 {
    const NOISE: f64 = 1e-13;
    if difference < NOISE { 0.0 } else { difference }
}

fn measured(call: &Call, measure: impl Fn(&Table) -> f64) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    let (Some(columns), DataType::Tuple(types)) =
        (lists.items.values.as_struct_opt(), &lists.items.data_type)
    else {
        return Err(wrong(call.name, "it takes two values"));
    };
    let operands = columns.columns().iter().zip(types).map(|(values, (_, data_type))| {
        let (data_type, values) = (data_type.clone(), values.clone());
        undress(&Operand { data_type, values, is_constant: false })
    });
    let operands = operands.collect::<Result<Vec<_>, _>>()?;
    let keys = operands.iter().map(|it| compare_items(&[it])).collect::<Result<Vec<_>, _>>()?;
    let (Some(left), Some(right)) =
        (keys.first().and_then(|it| it.first()), keys.get(1).and_then(|it| it.first()))
    else {
        return Err(wrong(call.name, "it takes two values"));
    };
    call.make_floats(|row| {
        let (mut lefts, mut rights, mut pairs) =
            (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for at in lists.range(row) {
            *lefts.entry(left.get(at)).or_insert(0.0) += 1.0;
            *rights.entry(right.get(at)).or_insert(0.0) += 1.0;
            *pairs.entry((left.get(at), right.get(at))).or_insert(0.0) += 1.0;
        }
        let count = lists.range(row).len() as f64;
        if count < 2.0 {
            return f64::NAN;
        }
        measure(&Table {
            pairs: pairs.iter().map(|((a, b), both)| (*both, lefts[a], rights[b])).collect(),
            left: lefts.values().copied().collect(),
            count,
            width: lefts.len() as f64,
            height: rights.len() as f64,
        })
    })
}

/// Cramér's V without what small samples add to it.
fn corrected(table: &Table) -> f64 {
    let freedom = table.count - 1.0;
    let (width, height) = (table.width - 1.0, table.height - 1.0);
    let phi = above_zero(table.phi_squared() - width * height / freedom);
    let smaller =
        (table.width - width * width / freedom).min(table.height - height * height / freedom);
    (phi / (smaller - 1.0)).sqrt()
}

/// The share of the first column's entropy that the second one takes away.
fn theils_u(table: &Table) -> f64 {
    let alone = total(table.left.iter().map(|it| it / table.count * (it / table.count).ln()));
    if alone == 0.0 {
        return 0.0;
    }
    let known = table.pairs.iter().map(|(both, _, right)| both / table.count * (both / right).ln());
    ((alone - total(known)) / alone).clamp(0.0, 1.0)
}
