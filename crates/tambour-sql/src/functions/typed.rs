//! A value with ClickHouse's type of it, which is metadata of its field.

use super::literal::named;
use arrow::datatypes::{DataType as ArrowType, Field, FieldRef};
use datafusion::common::exec_err;
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use std::sync::Arc;
use tambour_part::types::DataType;

/// True if Arrow's own type of these values tells another ClickHouse type, which would be shown differently.
pub(super) fn needs_name(data_type: &DataType) -> bool {
    match data_type {
        DataType::Uuid
        | DataType::Ipv4
        | DataType::Ipv6
        | DataType::Int128
        | DataType::UInt128
        | DataType::Int256
        | DataType::UInt256
        | DataType::Enum8(_)
        | DataType::Enum16(_) => true,
        DataType::Nullable(inner) | DataType::LowCardinality(inner) | DataType::Array(inner) => {
            needs_name(inner)
        }
        DataType::Map(key, value) => needs_name(key) || needs_name(value),
        DataType::Tuple(elements) => elements.iter().any(|(_, element)| needs_name(element)),
        _ => false,
    }
}

/// Its argument, with a ClickHouse type.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Typed {
    data_type: String,
    signature: Signature,
}

impl Typed {
    /// An expression with this type, or a Nullable of it.
    pub(super) fn call(expr: Expr, data_type: &DataType) -> Expr {
        ScalarUDF::new_from_impl(Self::new(data_type.to_string())).call(vec![expr])
    }
    pub(super) fn new(data_type: String) -> Self {
        Self { data_type, signature: Signature::any(1, Volatility::Immutable) }
    }
    pub(super) fn data_type(&self) -> &str {
        &self.data_type
    }
}

impl ScalarUDFImpl for Typed {
    fn name(&self) -> &'static str {
        "typed"
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, arguments: &[ArrowType]) -> Result<ArrowType> {
        if let [only] = arguments {
            Ok(only.clone())
        } else {
            datafusion::common::plan_err!("it takes an argument")
        }
    }
    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let [only] = args.arg_fields else {
            return datafusion::common::plan_err!("it takes an argument");
        };
        let field = Field::new(self.name(), only.data_type().clone(), only.is_nullable());
        Ok(match self.data_type.parse::<DataType>() {
            Ok(data_type) => Arc::new(named(&data_type).add_to_field(field)),
            Err(_) => Arc::new(field),
        })
    }
    /// Columns are called what was written.
    fn schema_name(&self, arguments: &[Expr]) -> Result<String> {
        let names: Vec<String> =
            arguments.iter().map(|argument| argument.schema_name().to_string()).collect();
        Ok(names.join(","))
    }
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if let [only] = args.args.as_slice() {
            Ok(only.clone())
        } else {
            exec_err!("it takes an argument")
        }
    }
}
