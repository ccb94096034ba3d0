//! Texts in the normal forms of Unicode: `normalizeUTF8NFC` and its kin. The tables are those of Unicode 17, as ClickHouse's are.

use arrow_array::ArrayRef;
use tambour_function::kit::{Call, rule};
use tambour_function::{Function, FunctionError};
use tambour_part::types::DataType;
use unicode_normalization::UnicodeNormalization;

/// The functions of this room.
pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new("normalizeUTF8NFC", rule!(String => DataType::String), |c| {
        formed(c, |text| text.nfc().collect())
    }),
    Function::new("normalizeUTF8NFD", rule!(String => DataType::String), |c| {
        formed(c, |text| text.nfd().collect())
    }),
    Function::new("normalizeUTF8NFKC", rule!(String => DataType::String), |c| {
        formed(c, |text| text.nfkc().collect())
    }),
    Function::new("normalizeUTF8NFKD", rule!(String => DataType::String), |c| {
        formed(c, |text| text.nfkd().collect())
    }),
];

fn formed(call: &Call, form: fn(&str) -> String) -> Result<ArrayRef, FunctionError> {
    let texts = call.texts(0)?;
    call.try_texts(|row, out| match std::str::from_utf8(texts.get(row)) {
        Ok(text) => {
            out.extend_from_slice(form(text).as_bytes());
            Ok(())
        }
        Err(_) if call.is_null(row) => Ok(()),
        Err(_) => Err(call.value_error(row, "the text is not UTF-8")),
    })
}
