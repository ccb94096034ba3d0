//! ClickHouse's functions of texts: what is written in them is found, cut, changed and read. Strings are bytes: functions count
//! bytes unless their name ends with `UTF8`, and bytes that are not UTF-8 are taken as they are.
//!
//! Only queries know these functions. Those that keys of tables know as well are in `tambour-function`.
#![forbid(unsafe_code)]
#![expect(
    clippy::cast_possible_truncation,
    reason = "conversions wrap as ClickHouse's do, and parts of texts are small"
)]

mod checksum;
mod delta;
mod digest;
mod distance;
mod edit;
mod encode;
mod expression;
mod figure;
mod form;
mod host;
mod json;
mod key_value;
mod network;
mod ngram;
mod pad;
mod printf;
mod regexp;
mod replace;
mod split;
mod url;

use tambour_function::Function;

const FAMILIES: &[&[Function]] = &[
    checksum::FUNCTIONS,
    delta::FUNCTIONS,
    digest::FUNCTIONS,
    distance::FUNCTIONS,
    edit::FUNCTIONS,
    encode::FUNCTIONS[0],
    encode::FUNCTIONS[1],
    figure::FUNCTIONS,
    form::FUNCTIONS,
    host::FUNCTIONS,
    json::document::FUNCTIONS,
    json::extract::FUNCTIONS[0],
    json::extract::FUNCTIONS[1],
    json::extract::FUNCTIONS[2],
    json::path::FUNCTIONS,
    json::shown::FUNCTIONS,
    json::simple::FUNCTIONS,
    key_value::FUNCTIONS,
    network::FUNCTIONS,
    ngram::FUNCTIONS,
    pad::FUNCTIONS,
    printf::FUNCTIONS,
    regexp::FUNCTIONS,
    replace::FUNCTIONS,
    split::FUNCTIONS,
    url::FUNCTIONS,
];

/// Functions that are withheld as those of `tambour-function` are, for the reasons in `docs/functions.md`.
const WITHHELD: [&str; 1] = ["multiMatchAllIndices"];

/// All functions of texts that queries know.
pub fn all() -> impl Iterator<Item = &'static Function> {
    let all = FAMILIES.iter().flat_map(|family| family.iter());
    all.filter(|function| !WITHHELD.contains(&function.name()))
}
