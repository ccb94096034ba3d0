//! The files layer from outside: reading, writing, and input that is not what it should be.

#[cfg(test)]
mod fractions;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod reading;
#[cfg(test)]
mod real_data;
#[cfg(test)]
mod round_trip;
#[cfg(test)]
mod smallest;
#[cfg(test)]
mod support;
#[cfg(test)]
mod zones;
