//! Key expressions: columns, and the functions that keys are made of, evaluated over Arrow with ClickHouse's results.

use crate::StoreError;
use arrow_array::{ArrayRef, RecordBatch};
use tambour_part::types::{Column, DataType};

/// An expression of a sorting, primary or partition key.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Expression {
    /// A column by name.
    Column(String),
    /// A number or string as written.
    Literal(String),
    /// A function call, e.g. `toYYYYMM(t)`, `intDiv(k, 2)`.
    Call {
        /// Function name, canonical case.
        function: String,
        /// Arguments.
        arguments: Vec<Expression>,
    },
}

impl Expression {
    /// Parses one expression.
    pub fn parse(_sql: &str) -> Result<Self, StoreError> {
        todo!()
    }
    /// Parses a key: `a`, `a, b`, `(a, b)`, `tuple()`, `toYYYYMM(t)`.
    pub fn parse_key(_sql: &str) -> Result<Vec<Self>, StoreError> {
        todo!()
    }
    /// Names of the columns it reads, without duplicates, in order of appearance.
    pub fn columns(&self) -> Vec<&str> {
        todo!()
    }
    /// Its result type over these columns.
    pub fn data_type(&self, _columns: &[Column]) -> Result<DataType, StoreError> {
        todo!()
    }
    /// Its values for every row of a batch (Arrow form of [`Expression::data_type`]).
    pub fn evaluate(&self, _batch: &RecordBatch) -> Result<ArrayRef, StoreError> {
        todo!()
    }
    /// True if it never decreases when its only column grows (`toYYYYMM(t)`, `toDate(t)`, the column itself).
    pub fn is_monotonic(&self) -> bool {
        todo!()
    }
}

/// The order in which ClickHouse sorts values of a type, as an array whose Arrow row order is that order: enums by number,
/// NULL and NaN last, 128/256-bit integers as numbers, UUIDs by their halves.
pub fn sort_form(_values: &ArrayRef, _data_type: &DataType) -> Result<ArrayRef, StoreError> {
    todo!()
}

impl std::fmt::Display for Expression {
    fn fmt(&self, _f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        todo!()
    }
}
