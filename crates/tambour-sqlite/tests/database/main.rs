//! SQLite's own tests of its file, through the VFS: integrity, transactions, journals, a killed process.

#[cfg(test)]
mod integrity;
#[cfg(test)]
mod kill;
#[cfg(test)]
mod load;
#[cfg(test)]
mod processes;
#[cfg(test)]
mod replaced;
#[cfg(test)]
mod support;
#[cfg(test)]
mod tpch;
#[cfg(test)]
mod transfer;
