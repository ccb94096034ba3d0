//! Queries over several workers, compared with the same queries in one process.

#[cfg(test)]
mod encrypted;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod random;
#[cfg(test)]
mod same;
#[cfg(test)]
mod support;
