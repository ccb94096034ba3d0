//! Shares of a scan for several workers: whole parts go to their home, chosen by content hash, so that the same worker reads the
//! same part again; where a part is larger than what a worker should do, its granules are divided.

use super::{Scan, path_of};
use crate::{Table, TableError};
use std::ops::Range;
use std::path::PathBuf;

/// A worker may get this many tenths of the mean before a part goes elsewhere.
const LOAD_TENTHS_MAX: u128 = 12;

impl Scan {
    /// The directory of the table.
    pub fn directory(&self) -> Result<PathBuf, TableError> {
        path_of(&self.table)
    }

    /// Compares all parts that the scan names with those of a table: name, content hash, rows, granules.
    pub fn check(&self, table: &Table) -> Result<(), TableError> {
        let granules = self.granule_rows(table)?;
        for range in self.partitions.iter().flatten() {
            let sizes = granules.get(range.part).and_then(|it| it.get(range.start..range.end));
            if sizes.map(|sizes| sizes.iter().sum::<u64>()) != Some(range.rows) {
                let problem = format!(
                    "granules {}..{} of part {} are not {} rows",
                    range.start, range.end, range.part, range.rows
                );
                return Err(TableError::Scan { problem });
            }
        }
        Ok(())
    }

    /// The same rows divided among workers, one share for each and in their order; every granule is in exactly one share. All
    /// shares have the same number of partitions, about `partitions`, of which some may be empty.
    pub fn shares(
        &self,
        table: &Table,
        workers: &[String],
        partitions: usize,
    ) -> Result<Vec<Self>, TableError> {
        let sizes = self.granule_rows(table)?;
        let mut shares: Vec<Vec<Vec<Range<usize>>>> =
            vec![vec![Vec::new(); self.parts.len()]; workers.len()];
        for (part, worker, range) in self.placed(workers, &sizes) {
            shares[worker][part].push(range);
        }
        let mut scans = Vec::with_capacity(workers.len());
        for mut left in shares {
            for ranges in &mut left {
                ranges.sort_unstable_by_key(|range| range.start);
            }
            // A share names its own parts only: what is sent does not grow with those of others.
            let own: Vec<usize> =
                (0..self.parts.len()).filter(|part| !left[*part].is_empty()).collect();
            let left: Vec<_> = own.iter().map(|part| std::mem::take(&mut left[*part])).collect();
            let sizes: Vec<&[u64]> = own.iter().map(|part| sizes[*part]).collect();
            let parts = own.iter().map(|part| self.parts[*part].clone()).collect();
            let mut scan = Self { parts, partitions: Vec::new(), ..self.clone() };
            scan.cut(&left, &sizes, partitions, self.ordered);
            scans.push(scan);
        }
        let count = scans.iter().map(|scan| scan.partitions.len()).max().unwrap_or(1);
        for scan in &mut scans {
            scan.partitions.resize(count, Vec::new());
            scan.ordered = self.ordered;
        }
        Ok(scans)
    }

    /// Who reads which granules of which part.
    fn placed(&self, workers: &[String], sizes: &[&[u64]]) -> Vec<(usize, usize, Range<usize>)> {
        let mut left: Vec<Vec<Range<usize>>> = vec![Vec::new(); self.parts.len()];
        for range in self.partitions.iter().flatten() {
            if let Some(ranges) = left.get_mut(range.part) {
                ranges.push(range.start..range.end);
            }
        }
        let rows_of = |part: usize, ranges: &[Range<usize>]| -> u64 {
            ranges.iter().cloned().flatten().map(|granule| sizes[part][granule]).sum()
        };
        let mut parts: Vec<(u64, usize)> =
            left.iter().enumerate().map(|(part, ranges)| (rows_of(part, ranges), part)).collect();
        // The largest first: they are the hardest to place.
        parts.sort_unstable_by_key(|(rows, part)| (std::cmp::Reverse(*rows), *part));
        let total: u64 = parts.iter().map(|(rows, _)| rows).sum();
        let limit = u128::from(total) * LOAD_TENTHS_MAX / (10 * workers.len().max(1) as u128);
        let limit = u64::try_from(limit).unwrap_or(u64::MAX).max(1);
        let mut load = vec![0_u64; workers.len()];
        let mut placed = Vec::new();
        for (rows, part) in parts {
            let homes = homes(&self.parts[part].content_hash, workers);
            if let Some(home) = homes.iter().copied().find(|home| load[*home] + rows <= limit) {
                load[home] += rows;
                placed.extend(left[part].iter().map(|range| (part, home, range.clone())));
                continue;
            }
            // No worker has room for all of it.
            let granules = left[part].iter().cloned().flatten();
            let mean = total / workers.len().max(1) as u64;
            let mut at = 0;
            for granule in granules {
                let rows = sizes[part][granule];
                while at < homes.len() && load[homes[at]] + rows / 2 > mean {
                    at += 1;
                }
                let home = homes.get(at).copied().unwrap_or_else(|| least(&load));
                load[home] += rows;
                match placed.last_mut() {
                    Some((last, worker, range))
                        if (*last, *worker, range.end) == (part, home, granule) =>
                    {
                        range.end += 1;
                    }
                    _ => placed.push((part, home, granule..granule + 1)),
                }
            }
        }
        placed
    }
}

/// The worker with the least to do.
fn least(load: &[u64]) -> usize {
    (0..load.len()).min_by_key(|worker| load[*worker]).unwrap_or(0)
}

/// The workers in the order in which a part prefers them: by a hash of both, so that another worker more or less moves few parts.
fn homes(content_hash: &str, workers: &[String]) -> Vec<usize> {
    let mut homes: Vec<usize> = (0..workers.len()).collect();
    homes.sort_by_cached_key(|worker| {
        std::cmp::Reverse(score(content_hash.as_bytes(), workers[*worker].as_bytes()))
    });
    homes
}

/// FNV-1a, and a mixer after it: the same in every version of the program.
fn score(part: &[u8], worker: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for &byte in part.iter().chain(b"/").chain(worker) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predicate::Predicate;
    use crate::scan::{ScanPart, ScanRange};

    fn scan(parts: &[&[u64]]) -> Scan {
        let part = |(index, sizes): (usize, &&[u64])| ScanPart {
            name: format!("all_{index}_{index}_0"),
            content_hash: format!("{:032x}", index * 7919),
            rows: sizes.iter().sum(),
            granules: sizes.len(),
        };
        let range = |(part, sizes): (usize, &&[u64])| ScanRange {
            part,
            start: 0,
            end: sizes.len(),
            rows: sizes.iter().sum(),
        };
        Scan {
            table: "file:///t".to_owned(),
            columns: Vec::new(),
            predicate: Predicate::Unknown,
            limit: None,
            binary_strings: false,
            batch_rows: 8192,
            parts: parts.iter().enumerate().map(part).collect(),
            partitions: parts.iter().enumerate().map(|it| vec![range(it)]).collect(),
            ordered: false,
        }
    }

    fn workers(count: usize) -> Vec<String> {
        (0..count).map(|worker| format!("host{worker}:9000")).collect()
    }

    #[test]
    fn every_granule_is_placed_once_and_the_load_is_bounded() {
        let even = [100_u64; 10];
        let parts: Vec<&[u64]> = (0..40).map(|part| &even[..=(part % 10)]).collect();
        for count in [1, 2, 4, 7] {
            let scan = scan(&parts);
            let placed = scan.placed(&workers(count), &parts);
            let mut seen = std::collections::HashSet::new();
            let mut load = vec![0_u64; count];
            for (part, worker, range) in placed {
                for granule in range {
                    assert!(seen.insert((part, granule)));
                    load[worker] += parts[part][granule];
                }
            }
            assert_eq!(seen.len(), parts.iter().map(|part| part.len()).sum::<usize>());
            let mean = load.iter().sum::<u64>() / count as u64;
            assert!(load.iter().all(|load| *load * 10 <= mean * 13), "{count}: {load:?}");
        }
    }

    #[test]
    fn one_part_is_divided_by_granules() {
        let sizes = [8192_u64; 64];
        let parts: Vec<&[u64]> = vec![&sizes];
        let placed = scan(&parts).placed(&workers(4), &parts);
        let rows = |worker| -> usize {
            placed.iter().filter(|it| it.1 == worker).map(|it| it.2.len()).sum()
        };
        assert_eq!((0..4).map(rows).collect::<Vec<_>>(), [16; 4]);
    }

    #[test]
    fn another_worker_moves_few_parts() {
        let sizes = [100_u64];
        let parts: Vec<&[u64]> = vec![&sizes; 200];
        let home = |count: usize| {
            let mut placed = scan(&parts).placed(&workers(count), &parts);
            placed.sort_unstable_by_key(|it| it.0);
            placed.into_iter().map(|it| it.1).collect::<Vec<_>>()
        };
        let moved = home(4).iter().zip(home(5)).filter(|(a, b)| **a != *b).count();
        assert!(moved < 90, "{moved}");
    }
}
