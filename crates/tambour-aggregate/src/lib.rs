//! ClickHouse's aggregates as functions of Arrow arrays: what a group holds is gathered into an array, and the array is
//! reduced here. The same functions serve `arrayReduce`. Values of several arguments are tuples. Parameters follow the array
//! as constants. Functions of whole arrays that need no lambda and no key are beside them.
//!
//! The crate also has the registry of all functions of queries: those of `tambour-function`, those of texts and these.
#![forbid(unsafe_code)]
#![expect(
    clippy::cast_possible_truncation,
    reason = "conversions wrap as ClickHouse's do, and parts of dates and times are small"
)]

mod category;
mod combine;
mod event;
mod finance;
mod interval;
mod list;
mod mapped;
mod number;
mod pair;
mod placed;
mod sample;
mod score;
mod sequence;
mod series;

use tambour_function::Function;

const FAMILIES: &[&[Function]] = &[
    category::FUNCTIONS,
    combine::FUNCTIONS,
    event::FUNCTIONS,
    finance::FUNCTIONS,
    interval::FUNCTIONS,
    list::FUNCTIONS,
    number::FUNCTIONS,
    pair::FUNCTIONS,
    placed::FUNCTIONS,
    sample::FUNCTIONS,
    score::FUNCTIONS,
    sequence::FUNCTIONS,
    series::FUNCTIONS,
];

/// All functions of queries: those of single values, those of texts, and aggregates of arrays.
pub fn all_in_queries() -> impl Iterator<Item = &'static Function> {
    let aggregates = FAMILIES.iter().flat_map(|family| family.iter());
    tambour_function::all_in_queries().chain(tambour_text_function::all()).chain(aggregates)
}

/// The function of queries of this name, spelled as [`tambour_function::find`] takes it.
pub fn find_in_queries(name: &str) -> Option<&'static Function> {
    tambour_function::find_among(all_in_queries, name)
}
