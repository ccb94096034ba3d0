//! Aggregates as functions of arrays: what a group holds is gathered into an array, and the array is reduced here. The same
//! functions serve `arrayReduce`. Values of several arguments are tuples. Parameters follow the array as constants.

pub(super) mod category;
pub(super) mod combine;
pub(super) mod event;
pub(super) mod interval;
pub(super) mod list;
pub(super) mod number;
pub(super) mod pair;
pub(super) mod sample;
pub(super) mod sequence;
