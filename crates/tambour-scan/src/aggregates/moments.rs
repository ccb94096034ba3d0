//! Variances, covariances and correlations from sums of values, squares and products, as ClickHouse computes them: fast, and wrong
//! where values are large beside their spread (`varPopStable` and its kin are the engine's, which are not). The source is
//! ClickHouse's `Moments.h`: of Float32 alone each step is rounded to Float32.

use super::grouped::{Grouped, aggregate};
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Float64Array, PrimitiveArray,
};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Float32Type, Float64Type};
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{AggregateUDF, EmitTo, GroupsAccumulator};
use std::marker::PhantomData;
use std::sync::Arc;

/// Bytes of the lanes in which floats are added up without groups. ClickHouse has as many, so the last digits are the same.
const LANES_BYTES: usize = 128;

/// The aggregates, by ClickHouse's names. The engine has a `corr`, too, which stays for `corrStable`.
pub(super) fn all() -> [AggregateUDF; 11] {
    [
        aggregate::<Moments<VarPop>>(),
        aggregate::<Moments<VarSamp>>(),
        aggregate::<Moments<StddevPop>>(),
        aggregate::<Moments<StddevSamp>>(),
        aggregate::<Moments<SkewPop>>(),
        aggregate::<Moments<SkewSamp>>(),
        aggregate::<Moments<KurtPop>>(),
        aggregate::<Moments<KurtSamp>>(),
        aggregate::<Moments<CovarPop>>(),
        aggregate::<Moments<CovarSamp>>(),
        aggregate::<Moments<Corr>>(),
    ]
}

/// What is made of the sums of a group.
trait Kind: std::fmt::Debug + Send + Sync + 'static {
    const NAME: &'static str;
    const ARGUMENTS: usize;
    /// Sums of a group, the number of its rows first.
    const SUMS: usize;
    fn add<W: Width>(sums: &mut [f64], x: f64, y: f64);
    fn value<W: Width>(sums: &[f64]) -> f64;
}

/// Floats that each step is rounded to. Rounding a result of two of Float32 from 64 bits is rounding it once.
trait Width {
    const BYTES: usize;
    fn round(number: f64) -> f64;
}

struct Single;

impl Width for Single {
    const BYTES: usize = size_of::<f32>();
    fn round(number: f64) -> f64 {
        f64::from(narrowed(number))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "Float32 is what is asked for")]
fn narrowed(number: f64) -> f32 {
    number as f32
}

struct Double;

impl Width for Double {
    const BYTES: usize = size_of::<f64>();
    fn round(number: f64) -> f64 {
        number
    }
}

fn add<W: Width>(sum: &mut f64, number: f64) {
    *sum = W::round(*sum + number);
}

fn times<W: Width>(left: f64, right: f64) -> f64 {
    W::round(left * right)
}

/// The number of values, their sum, and the sums of their squares and higher powers, as many as there are.
fn add_powers<W: Width>(sums: &mut [f64], x: f64) {
    let mut power = 1.0;
    for (at, sum) in sums.iter_mut().enumerate() {
        power = if at == 0 { 1.0 } else { times::<W>(power, x) };
        add::<W>(sum, power);
    }
}

/// The mean square of what values differ from their mean, never less than 0, also where it would be NaN. `taken` is 1 for a sample.
fn variance<W: Width>(sums: &[f64], taken: f64) -> f64 {
    let [count, sum, squares, ..] = sums else { return f64::NAN };
    if *count <= taken {
        return f64::NAN;
    }
    let of_mean = W::round(times::<W>(*sum, *sum) / count);
    let variance = W::round(W::round(squares - of_mean) / (count - taken));
    if variance > 0.0 { variance } else { 0.0 }
}

/// The mean cube of what values differ from their mean, in units of their spread.
fn skewness<W: Width>(sums: &[f64], taken: f64) -> f64 {
    let [count, sum, squares, cubes] = sums else { return f64::NAN };
    let inner = W::round(times::<W>(times::<W>(2.0, *sum), *sum) / count);
    let inner = W::round(times::<W>(3.0, *squares) - inner);
    let inner = W::round(times::<W>(inner, *sum) / count);
    let moment = W::round(W::round(cubes - inner) / count);
    in_spreads(moment, variance::<W>(sums, taken), 1.5)
}

/// The same of the fourth power.
fn kurtosis<W: Width>(sums: &[f64], taken: f64) -> f64 {
    let [count, sum, squares, cubes, fourths] = sums else { return f64::NAN };
    let inner = W::round(times::<W>(times::<W>(3.0, *sum), *sum) / count);
    let inner = W::round(times::<W>(6.0, *squares) - inner);
    let inner = W::round(times::<W>(inner, *sum) / count);
    let inner = W::round(times::<W>(4.0, *cubes) - inner);
    let inner = W::round(times::<W>(inner, *sum) / count);
    let moment = W::round(W::round(fourths - inner) / count);
    in_spreads(moment, variance::<W>(sums, taken), 2.0)
}

fn in_spreads(moment: f64, variance: f64, power: f64) -> f64 {
    if variance > 0.0 { moment / variance.powf(power) } else { f64::NAN }
}

fn add_products<W: Width>(sums: &mut [f64], x: f64, y: f64) {
    if let [count, sum_x, sum_y, products, ..] = sums {
        add::<W>(count, 1.0);
        add::<W>(sum_x, x);
        add::<W>(sum_y, y);
        add::<W>(products, times::<W>(x, y));
    }
}

fn covariance<W: Width>(sums: &[f64], taken: f64) -> f64 {
    let [count, sum_x, sum_y, products] = sums else { return f64::NAN };
    if *count <= taken {
        return f64::NAN;
    }
    let of_means = W::round(times::<W>(*sum_x, *sum_y) / count);
    W::round(W::round(products - of_means) / (count - taken))
}

fn correlation<W: Width>(sums: &[f64]) -> f64 {
    let [count, sum_x, sum_y, products, squares_x, squares_y] = sums else { return f64::NAN };
    let spread =
        |sum: &f64, squares: &f64| W::round(times::<W>(*count, *squares) - times::<W>(*sum, *sum));
    let above = W::round(times::<W>(*count, *products) - times::<W>(*sum_x, *sum_y));
    let below = times::<W>(spread(sum_x, squares_x), spread(sum_y, squares_y));
    W::round(above / W::round(below.sqrt()))
}

macro_rules! kinds {
    ($($kind:ident $name:literal $arguments:literal $sums:literal $add:expr, $value:expr;)*) => {$(
        #[derive(Debug)]
        struct $kind;

        impl Kind for $kind {
            const NAME: &'static str = $name;
            const ARGUMENTS: usize = $arguments;
            const SUMS: usize = $sums;
            fn add<W: Width>(sums: &mut [f64], x: f64, y: f64) {
                let add: fn(&mut [f64], f64, f64) = $add;
                add(sums, x, y);
            }
            fn value<W: Width>(sums: &[f64]) -> f64 {
                let value: fn(&[f64]) -> f64 = $value;
                value(sums)
            }
        }
    )*};
}

kinds! {
    VarPop "varPop" 1 3 |sums, x, _| add_powers::<W>(sums, x), |sums| variance::<W>(sums, 0.0);
    VarSamp "varSamp" 1 3 |sums, x, _| add_powers::<W>(sums, x), |sums| variance::<W>(sums, 1.0);
    StddevPop "stddevPop" 1 3 |sums, x, _| add_powers::<W>(sums, x),
        |sums| variance::<W>(sums, 0.0).sqrt();
    StddevSamp "stddevSamp" 1 3 |sums, x, _| add_powers::<W>(sums, x),
        |sums| variance::<W>(sums, 1.0).sqrt();
    SkewPop "skewPop" 1 4 |sums, x, _| add_powers::<W>(sums, x), |sums| skewness::<W>(sums, 0.0);
    SkewSamp "skewSamp" 1 4 |sums, x, _| add_powers::<W>(sums, x), |sums| skewness::<W>(sums, 1.0);
    KurtPop "kurtPop" 1 5 |sums, x, _| add_powers::<W>(sums, x), |sums| kurtosis::<W>(sums, 0.0);
    KurtSamp "kurtSamp" 1 5 |sums, x, _| add_powers::<W>(sums, x), |sums| kurtosis::<W>(sums, 1.0);
    CovarPop "covarPop" 2 4 add_products::<W>, |sums| covariance::<W>(sums, 0.0);
    CovarSamp "covarSamp" 2 4 add_products::<W>, |sums| covariance::<W>(sums, 1.0);
    Corr "corrOfSums" 2 6 |sums, x, y| {
        add_products::<W>(sums, x, y);
        if let [.., squares_x, squares_y] = sums {
            add::<W>(squares_x, times::<W>(x, x));
            add::<W>(squares_y, times::<W>(y, y));
        }
    }, correlation::<W>;
}

/// The sums of all groups, one group after the other.
#[derive(Debug)]
struct Moments<K> {
    sums: Vec<f64>,
    is_single: bool,
    kind: PhantomData<K>,
}

impl<K: Kind> Moments<K> {
    fn of(is_single: bool) -> Self {
        Self { sums: Vec::new(), is_single, kind: PhantomData }
    }

    fn add<W: Width>(
        &mut self,
        x: &[f64],
        y: &[f64],
        groups: &[usize],
        is_in: Option<&NullBuffer>,
    ) {
        for (row, group) in groups.iter().enumerate() {
            if is_in.is_some_and(|it| it.is_null(row)) {
                continue;
            }
            let sums = self.sums.get_mut(group * K::SUMS..(group + 1) * K::SUMS);
            if let (Some(sums), Some(x), Some(y)) = (sums, x.get(row), y.get(row)) {
                K::add::<W>(sums, *x, *y);
            }
        }
    }

    /// Takes all rows for one group, in lanes whose sums are added up at the end.
    fn add_whole<W: Width>(&mut self, x: &[f64], y: &[f64], is_in: Option<&NullBuffer>) {
        let lanes = LANES_BYTES / W::BYTES;
        let whole = x.len() / lanes * lanes;
        let is_in = |row: usize| is_in.is_none_or(|it| it.is_valid(row));
        let mut sums = vec![0.0; lanes * K::SUMS];
        for from in (0..whole).step_by(lanes) {
            let rows = (from..from + lanes).zip(x[from..].iter().zip(&y[from..]));
            for (lane, (row, (x, y))) in sums.chunks_exact_mut(K::SUMS).zip(rows) {
                if is_in(row) {
                    K::add::<W>(lane, *x, *y);
                }
            }
        }
        for lane in sums.chunks_exact(K::SUMS) {
            self.sums.iter_mut().zip(lane).for_each(|(sum, of_lane)| add::<W>(sum, *of_lane));
        }
        for row in (whole..x.len()).filter(|row| is_in(*row)) {
            K::add::<W>(&mut self.sums, x[row], y[row]);
        }
    }

    fn taken(&mut self, emit_to: EmitTo) -> Vec<f64> {
        match emit_to {
            EmitTo::All => std::mem::take(&mut self.sums),
            EmitTo::First(count) => {
                let left = self.sums.split_off(count * K::SUMS);
                std::mem::replace(&mut self.sums, left)
            }
        }
    }
}

/// Numbers as floats of 64 bits.
fn floats(values: &ArrayRef) -> Result<Float64Array> {
    Ok(cast(values, &DataType::Float64)?.as_primitive::<Float64Type>().clone())
}

/// The floats of both arguments, of one twice.
fn pair(first: &ArrayRef, second: Option<&ArrayRef>) -> Result<(Float64Array, Float64Array)> {
    let x = floats(first)?;
    let y = second.map(floats).transpose()?.unwrap_or_else(|| x.clone());
    Ok((x, y))
}

impl<K: Kind> Grouped for Moments<K> {
    const NAME: &'static str = K::NAME;
    const ARGUMENTS: usize = K::ARGUMENTS;

    fn new(args: &AccumulatorArgs<'_>) -> Result<Self> {
        if args.is_distinct {
            return plan_err!("{} of DISTINCT values: put DISTINCT in a subquery", K::NAME);
        }
        Ok(Self::of(*args.return_field.data_type() == DataType::Float32))
    }
    fn result(types: &[DataType]) -> Result<DataType> {
        let is_number =
            |it: &&DataType| it.is_numeric() || it.is_null() || **it == DataType::Boolean;
        if let Some(other) = types.iter().find(|it| !is_number(it)) {
            let name = K::NAME.trim_end_matches("OfSums");
            return plan_err!(
                "{name} does not take {other}: convert it, for example by toFloat64(x)"
            );
        }
        let is_single = types.iter().all(|it| *it == DataType::Float32);
        Ok(if is_single { DataType::Float32 } else { DataType::Float64 })
    }
    fn update_whole(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.sums.resize(K::SUMS, 0.0);
        let [first, ..] = values else { return Ok(()) };
        // Decimals are added up one after the other there.
        if first.data_type().is_decimal() {
            return self.update_batch(values, &vec![0; first.len()], None, 1);
        }
        let (x, y) = pair(first, values.get(1))?;
        let is_in = NullBuffer::union(x.nulls(), y.nulls());
        if self.is_single {
            self.add_whole::<Single>(x.values(), y.values(), is_in.as_ref());
        } else {
            self.add_whole::<Double>(x.values(), y.values(), is_in.as_ref());
        }
        Ok(())
    }
    fn states(_result: &DataType) -> Vec<(&'static str, DataType)> {
        const NAMES: [&str; 6] = ["count", "first", "second", "third", "fourth", "fifth"];
        NAMES.iter().take(K::SUMS).map(|name| (*name, DataType::Float64)).collect()
    }
}

impl<K: Kind> GroupsAccumulator for Moments<K> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.sums.resize(total_num_groups * K::SUMS, 0.0);
        let [first, ..] = values else { return Ok(()) };
        let (x, y) = pair(first, values.get(1))?;
        let known = NullBuffer::union(x.nulls(), y.nulls());
        let taken = filter.map(|it| {
            let is_in = |row| it.is_valid(row) && it.value(row);
            (0..it.len()).map(is_in).collect::<NullBuffer>()
        });
        let is_in = NullBuffer::union(known.as_ref(), taken.as_ref());
        let (x, y) = (x.values(), y.values());
        if self.is_single {
            self.add::<Single>(x, y, group_indices, is_in.as_ref());
        } else {
            self.add::<Double>(x, y, group_indices, is_in.as_ref());
        }
        Ok(())
    }
    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        total_num_groups: usize,
    ) -> Result<()> {
        self.sums.resize(total_num_groups * K::SUMS, 0.0);
        for (place, states) in values.iter().enumerate() {
            let states = states.as_primitive::<Float64Type>().values();
            for (group, state) in group_indices.iter().zip(states) {
                let Some(sum) = self.sums.get_mut(group * K::SUMS + place) else { continue };
                if self.is_single {
                    add::<Single>(sum, *state);
                } else {
                    add::<Double>(sum, *state);
                }
            }
        }
        Ok(())
    }
    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        // Windows ask for the value and go on.
        let sums = match emit_to {
            EmitTo::All => self.sums.clone(),
            first @ EmitTo::First(_) => self.taken(first),
        };
        let groups = sums.chunks_exact(K::SUMS);
        // A group without rows is NULL.
        let some = groups.map(|sums| Some(sums).filter(|it| it.first() != Some(&0.0)));
        if self.is_single {
            let value = |sums: &[f64]| narrowed(K::value::<Single>(sums));
            let values = some.map(|it| it.map(value));
            return Ok(Arc::new(values.collect::<PrimitiveArray<Float32Type>>()));
        }
        let values = some.map(|it| it.map(K::value::<Double>));
        Ok(Arc::new(values.collect::<Float64Array>()))
    }
    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let sums = self.taken(emit_to);
        let column = |place: usize| -> ArrayRef {
            let sums = sums.iter().skip(place).step_by(K::SUMS);
            Arc::new(sums.copied().map(Some).collect::<Float64Array>())
        };
        Ok((0..K::SUMS).map(column).collect())
    }
    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let rows = values.first().map_or(0, Array::len);
        let mut each = Self::of(self.is_single);
        each.update_batch(values, &(0..rows).collect::<Vec<_>>(), filter, rows)?;
        each.state(EmitTo::All)
    }
    fn size(&self) -> usize {
        self.sums.capacity() * size_of::<f64>()
    }
}
