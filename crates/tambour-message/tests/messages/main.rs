//! The message codec from outside: what comes back, what is refused, and streams.

#[cfg(test)]
mod codec;
#[cfg(test)]
mod common;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod stream;
