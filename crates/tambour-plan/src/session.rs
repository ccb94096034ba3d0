//! Functions whose values come from the session or by chance. None reads a clock or a file: that is for the edges.

use super::chance::{Chance, Distribution};
use super::literal::named;
use arrow::array::{
    ArrayRef, FixedSizeBinaryArray, Float64Array, StringViewArray, UInt32Array, UInt64Array,
};
use arrow::compute::cast;
use arrow::datatypes::{DataType as ArrowType, Field, FieldRef, Float64Type, UInt64Type};
use datafusion::common::cast::as_primitive_array;
use datafusion::common::{ScalarValue, exec_err, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    TypeSignature, Volatility,
};
use std::sync::Arc;
use tambour_dialect::{DATABASE, names};
use tambour_part::types::{DataType, Strings};

/// Bytes of a text by chance at most, as in ClickHouse.
const TEXT_MAX: u64 = 1 << 24;

/// One of the functions.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct OfSession {
    name: &'static str,
    aliases: Vec<String>,
    what: What,
    signature: Signature,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum What {
    Database,
    User,
    IsConstant,
    Zone,
    Version,
    /// The same number for all rows.
    Constant,
    U32,
    U64,
    /// From 0 to 1.
    Canonical,
    /// Between two numbers.
    Uniform,
    /// By a distribution, of one or two numbers.
    Drawn(Distribution),
    /// A text of some length, of printable characters or of any bytes that are a text.
    Text(bool),
    /// Of version 4.
    Uuid,
}

/// All of them.
pub(super) fn all() -> Vec<OfSession> {
    let one = |(name, aliases): &(&'static str, &[&str])| {
        let what = what(name)?;
        let volatility = match what {
            What::Database | What::User | What::Zone | What::Version => Volatility::Immutable,
            What::IsConstant => Volatility::Immutable,
            What::Constant => Volatility::Stable,
            _ => Volatility::Volatile,
        };
        let lower = std::iter::once(name.to_ascii_lowercase()).filter(|it| it != name);
        Some(OfSession {
            name,
            aliases: lower.chain(aliases.iter().map(|alias| alias.to_ascii_lowercase())).collect(),
            what,
            signature: Signature::one_of(
                vec![TypeSignature::Nullary, TypeSignature::VariadicAny],
                volatility,
            ),
        })
    };
    names::SESSION.iter().filter_map(one).collect()
}

/// True for a function that draws, for each row or once for all.
pub(super) fn is_of_chance(function: &ScalarUDF) -> bool {
    let own = function.inner().downcast_ref::<OfSession>();
    own.is_some_and(|own| own.what == What::Constant)
        || function.signature().volatility == Volatility::Volatile
}

fn what(name: &str) -> Option<What> {
    Some(match name {
        "currentDatabase" => What::Database,
        "currentUser" => What::User,
        "generateUUIDv4" => What::Uuid,
        "isConstant" => What::IsConstant,
        "rand" => What::U32,
        "rand64" => What::U64,
        "randCanonical" => What::Canonical,
        "randConstant" => What::Constant,
        "randUniform" => What::Uniform,
        "randNormal" => What::Drawn(Distribution::Normal),
        "randLogNormal" => What::Drawn(Distribution::LogNormal),
        "randExponential" => What::Drawn(Distribution::Exponential),
        "randBernoulli" => What::Drawn(Distribution::Bernoulli),
        "randBinomial" => What::Drawn(Distribution::Binomial),
        "randPoisson" => What::Drawn(Distribution::Poisson),
        "randomPrintableASCII" => What::Text(true),
        "randomString" => What::Text(false),
        "timezone" => What::Zone,
        "version" => What::Version,
        _ => return None,
    })
}

impl OfSession {
    fn numbers(&self, args: &ScalarFunctionArgs, place: usize) -> Result<ArrayRef> {
        let Some(value) = args.args.get(place) else {
            return exec_err!("{}: argument {} is missing", self.name, place + 1);
        };
        value.to_array(args.number_rows)
    }

    /// Numbers of a distribution, whose parameters are the same for all rows or columns.
    fn drawn(
        &self,
        args: &ScalarFunctionArgs,
        distribution: Distribution,
        chance: &mut Chance,
    ) -> Result<ArrayRef> {
        let parameter = |place| cast(&self.numbers(args, place)?, &ArrowType::Float64);
        let first = parameter(0)?;
        let second = if distribution.parameters() > 1 { parameter(1)? } else { first.clone() };
        let first = as_primitive_array::<Float64Type>(&first)?;
        let second = as_primitive_array::<Float64Type>(&second)?;
        let draw = |(first, second): (Option<f64>, Option<f64>)| {
            let (first, second) = (first.unwrap_or(0.0), second.unwrap_or(0.0));
            let Some(number) = distribution.draw(chance, first, second) else {
                return exec_err!("{} does not take {first}, {second}", self.name);
            };
            Ok(number)
        };
        let numbers = first.iter().zip(second).map(draw).collect::<Result<Float64Array>>()?;
        let numbers: ArrayRef = Arc::new(numbers);
        Ok(if distribution.is_counted() { cast(&numbers, &ArrowType::UInt64)? } else { numbers })
    }

    fn by_chance(&self, args: &ScalarFunctionArgs) -> Result<ArrayRef> {
        let (mut chance, rows) = (Chance::new(), args.number_rows);
        Ok(match self.what {
            What::U32 => Arc::new(UInt32Array::from_iter_values((0..rows).map(|_| chance.short()))),
            What::U64 => Arc::new(UInt64Array::from_iter_values((0..rows).map(|_| chance.next()))),
            What::Canonical => {
                Arc::new(Float64Array::from_iter_values((0..rows).map(|_| chance.unit())))
            }
            What::Uniform => {
                let bound = |place| cast(&self.numbers(args, place)?, &ArrowType::Float64);
                let (low, high) = (bound(0)?, bound(1)?);
                let low = as_primitive_array::<Float64Type>(&low)?;
                let high = as_primitive_array::<Float64Type>(&high)?;
                let between = |(low, high): (Option<f64>, Option<f64>)| {
                    let (low, high) = (low?, high?);
                    Some(low + (high - low) * chance.unit())
                };
                Arc::new(low.iter().zip(high).map(between).collect::<Float64Array>())
            }
            What::Drawn(distribution) => self.drawn(args, distribution, &mut chance)?,
            What::Text(is_printable) => {
                let lengths = cast(&self.numbers(args, 0)?, &ArrowType::UInt64)?;
                let lengths = as_primitive_array::<UInt64Type>(&lengths)?;
                let mut texts = Vec::with_capacity(rows);
                for length in lengths {
                    let length = length.unwrap_or(0);
                    if length > TEXT_MAX {
                        return exec_err!("{}: {length} bytes are more than {TEXT_MAX}", self.name);
                    }
                    texts.push(chance.text(length, is_printable));
                }
                Arc::new(StringViewArray::from_iter_values(texts))
            }
            What::Uuid => {
                let uuids = (0..rows).map(|_| Some(chance.uuid()));
                Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(uuids, 16)?)
            }
            _ => return exec_err!("{} is not a function of chance", self.name),
        })
    }
}

impl ScalarUDFImpl for OfSession {
    fn name(&self) -> &str {
        self.name
    }
    fn aliases(&self) -> &[String] {
        &self.aliases
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn coerce_types(&self, arguments: &[ArrowType]) -> Result<Vec<ArrowType>> {
        Ok(arguments.to_vec())
    }
    fn return_type(&self, arguments: &[ArrowType]) -> Result<ArrowType> {
        let wanted = match self.what {
            What::Uniform => 2..=2,
            What::Drawn(distribution) => distribution.parameters()..=distribution.parameters(),
            What::IsConstant | What::Text(_) => 1..=1,
            // Any value tells two calls apart, as in ClickHouse.
            What::U32 | What::U64 | What::Canonical | What::Constant | What::Uuid => 0..=1,
            _ => 0..=0,
        };
        if !wanted.contains(&arguments.len()) {
            let most = wanted.end();
            return plan_err!(
                "{} takes {most} arguments, and {} are given",
                self.name,
                arguments.len()
            );
        }
        if !matches!(
            self.what,
            What::IsConstant
                | What::Constant
                | What::U32
                | What::U64
                | What::Canonical
                | What::Uuid
        ) && !arguments.iter().all(ArrowType::is_numeric)
        {
            return plan_err!("{} takes numbers", self.name);
        }
        Ok(match self.what {
            What::Database | What::User | What::Zone | What::Version | What::Text(_) => {
                ArrowType::Utf8View
            }
            What::IsConstant => ArrowType::UInt8,
            What::Constant | What::U32 => ArrowType::UInt32,
            What::U64 => ArrowType::UInt64,
            What::Drawn(distribution) if distribution.is_counted() => ArrowType::UInt64,
            What::Canonical | What::Uniform | What::Drawn(_) => ArrowType::Float64,
            What::Uuid => DataType::Uuid.arrow(Strings::Utf8),
        })
    }
    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let types: Vec<ArrowType> =
            args.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        // The bounds of a number may be NULL; nothing else is.
        let is_nullable =
            self.what == What::Uniform && args.arg_fields.iter().any(|field| field.is_nullable());
        let field = Field::new(self.name, self.return_type(&types)?, is_nullable);
        Ok(Arc::new(match self.what {
            What::Uuid => named(&DataType::Uuid).add_to_field(field),
            _ => field,
        }))
    }
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let text = |text: &str| ScalarValue::Utf8View(Some(text.to_owned()));
        let value = match self.what {
            What::Database => text(DATABASE),
            What::User => text("default"),
            What::Zone => text("UTC"),
            What::Version => text(env!("CARGO_PKG_VERSION")),
            What::IsConstant => {
                let is_constant = matches!(args.args.first(), Some(ColumnarValue::Scalar(_)));
                ScalarValue::UInt8(Some(u8::from(is_constant)))
            }
            What::Constant => ScalarValue::UInt32(Some(Chance::new().short())),
            _ => return Ok(ColumnarValue::Array(self.by_chance(&args)?)),
        };
        Ok(ColumnarValue::Scalar(value))
    }
}
