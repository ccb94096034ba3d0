//! The command line as users and scripts meet it: what it prints, what it refuses, and with which exit code.

#[cfg(test)]
mod advise;
#[cfg(test)]
mod bad_input;
#[cfg(test)]
mod bench;
#[cfg(test)]
mod compress;
#[cfg(test)]
mod damage;
#[cfg(test)]
mod frames;
#[cfg(test)]
mod full_disk;
#[cfg(test)]
mod messages;
#[cfg(test)]
mod pages;
#[cfg(test)]
mod records;
#[cfg(test)]
mod records_import;
#[cfg(test)]
mod results;
#[cfg(test)]
mod support;
#[cfg(test)]
mod usage;
#[cfg(test)]
mod watch;
#[cfg(test)]
mod work;
#[cfg(test)]
#[cfg(feature = "cluster")]
mod workers;
