//! Tests of whole parts, against bytes of ClickHouse, on a disk in memory that fails, and with every bit flipped.

#[cfg(test)]
mod amend;
#[cfg(test)]
mod dictionaries;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod flips;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod kept;
#[cfg(test)]
mod layout;
#[cfg(test)]
mod listed;
#[cfg(test)]
mod open;
#[cfg(test)]
mod rebuilt;
#[cfg(test)]
mod support;
#[cfg(test)]
mod write;
