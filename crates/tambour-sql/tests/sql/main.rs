//! Queries over tables that were written by the store, compared with the same queries over the same rows in memory.

#[cfg(test)]
mod answers;
#[cfg(test)]
mod dictionaries;
#[cfg(test)]
mod ends;
#[cfg(test)]
mod filters;
#[cfg(test)]
mod groups;
#[cfg(test)]
mod late;
#[cfg(test)]
mod plans;
#[cfg(test)]
mod queries;
#[cfg(test)]
mod records;
#[cfg(test)]
mod scans;
#[cfg(test)]
mod sums;
#[cfg(test)]
mod support;
#[cfg(test)]
mod system;
#[cfg(test)]
mod texts;
