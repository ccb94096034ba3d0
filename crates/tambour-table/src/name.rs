//! Names of part directories: what makes one, and which part replaces which.

use std::fmt;
use tambour_part::name::days_of_old_name;

/// A directory name of a part: `<partition id>_<min block>_<max block>_<level>[_<mutation>]`. Tables in the syntax before
/// 2018 have the first and the last day of the part's rows in place of the id, which is their month.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PartName {
    /// Partition id.
    pub partition: String,
    /// First block number.
    pub block_min: u64,
    /// Last block number.
    pub block_max: u64,
    /// How often it was merged.
    pub level: u32,
    /// Block number of the last mutation.
    pub mutation: Option<u64>,
    /// First and last day, `YYYYMMDD`, in names of the syntax before 2018.
    pub days: Option<(u32, u32)>,
}

impl PartName {
    /// Parses a directory name; `None` if it is none of a part. What is printed again is the same text.
    ///
    /// ```
    /// use tambour_table::PartName;
    /// let name = PartName::parse("202402_1_5_2").ok_or("not a part")?;
    /// assert_eq!(name.to_string(), "202402_1_5_2");
    /// assert_eq!(PartName::parse("detached"), None);
    /// # Ok::<(), &str>(())
    /// ```
    pub fn parse(name: &str) -> Option<Self> {
        let (days, name) = match days_of_old_name(name) {
            Some((days, rest)) => (Some(days), rest),
            None => (None, name),
        };
        let mut pieces = name.split('_');
        let partition = match days {
            Some((first, _)) => (first / 100).to_string(),
            None => pieces.next().filter(|id| is_partition_id(id))?.to_owned(),
        };
        let block_min = number(pieces.next()?)?;
        let block_max = number(pieces.next()?)?;
        let level = u32::try_from(number(pieces.next()?)?).ok()?;
        let mutation = match pieces.next() {
            Some(text) => Some(number(text)?),
            None => None,
        };
        let is_name = pieces.next().is_none() && block_min <= block_max;
        is_name.then_some(Self { partition, block_min, block_max, level, mutation, days })
    }

    /// True if this part replaces `other` (same partition, its block range contains the other's). No part covers itself.
    ///
    /// ```
    /// use tambour_table::PartName;
    /// let part = |name| PartName::parse(name).ok_or("not a part");
    /// assert!(part("all_1_5_1")?.covers(&part("all_2_2_0")?));
    /// assert!(!part("all_1_5_1")?.covers(&part("all_6_6_0")?));
    /// # Ok::<(), &str>(())
    /// ```
    pub fn covers(&self, other: &Self) -> bool {
        let same_range = self.block_min == other.block_min && self.block_max == other.block_max;
        self != other
            && self.partition == other.partition
            && self.block_min <= other.block_min
            && self.block_max >= other.block_max
            && self.mutation.unwrap_or(0) >= other.mutation.unwrap_or(0)
            && if same_range { self.level >= other.level } else { self.level > other.level }
    }

    /// True if both belong to one partition and have a block number in common.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.partition == other.partition
            && self.block_min <= other.block_max
            && other.block_min <= self.block_max
    }

    /// The name of the part that a merge of these makes; `None` for none, or for parts of several partitions.
    pub fn merged(sources: &[Self]) -> Option<Self> {
        let first = sources.first()?;
        let mut name = first.clone();
        for source in sources {
            if source.partition != first.partition {
                return None;
            }
            name.block_min = name.block_min.min(source.block_min);
            name.block_max = name.block_max.max(source.block_max);
            name.level = name.level.max(source.level);
            name.mutation = name.mutation.max(source.mutation);
        }
        name.level = name.level.checked_add(1)?;
        Some(name)
    }
}

impl fmt::Display for PartName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.days {
            Some((first, last)) => write!(f, "{first:08}_{last:08}")?,
            None => write!(f, "{}", self.partition)?,
        }
        write!(f, "_{}_{}_{}", self.block_min, self.block_max, self.level)?;
        match self.mutation {
            Some(mutation) => write!(f, "_{mutation}"),
            None => Ok(()),
        }
    }
}

/// `all`, 32 lower-case hex digits, or decimal numbers joined by `-` (each with its own minus).
fn is_partition_id(id: &str) -> bool {
    let is_hash = id.len() == 32 && id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    id == "all" || is_hash || are_numbers(id)
}

fn are_numbers(id: &str) -> bool {
    let mut rest = id;
    loop {
        let digits = rest.strip_prefix('-').unwrap_or(rest);
        let count = digits.bytes().take_while(u8::is_ascii_digit).count();
        let (number, tail) = digits.split_at(count);
        if !is_plain(number) || (number == "0" && digits.len() != rest.len()) {
            return false;
        }
        match tail.strip_prefix('-') {
            Some(next) => rest = next,
            None => return tail.is_empty(),
        }
    }
}

/// Digits without leading zeros, in a length that 64 bits can have.
fn is_plain(digits: &str) -> bool {
    (1..=20).contains(&digits.len()) && (digits.len() == 1 || !digits.starts_with('0'))
}

fn number(text: &str) -> Option<u64> {
    let is_number = is_plain(text) && text.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::PartName;

    fn name(text: &str) -> PartName {
        PartName::parse(text).unwrap_or_else(|| panic!("{text} is a part name"))
    }

    #[test]
    fn names_of_parts_round_trip() {
        let hash = "21818ffeee1ae033898614f81c7c3c75";
        for text in [
            "all_1_1_0",
            "all_0_18446744073709551615_4294967295",
            "202402_1_17_3",
            "202402_1_17_3_21",
            "202402--5_5_5_0",
            "-5_1_1_0",
            "-5--7-0_1_1_0",
            "0_1_2_1",
            "20240229-17_1_2_1_9",
            &format!("{hash}_1_1_0"),
        ] {
            assert_eq!(name(text).to_string(), text);
        }
        let old = name("20240101_20240131_1_5_2");
        assert_eq!((old.partition.as_str(), old.block_max, old.level), ("202401", 5, 2));
        assert_eq!(old.to_string(), "20240101_20240131_1_5_2");
        let parsed = name("202402--5_5_6_1_9");
        assert_eq!(parsed.partition, "202402--5");
        assert_eq!((parsed.block_min, parsed.block_max, parsed.level), (5, 6, 1));
        assert_eq!(parsed.mutation, Some(9));
    }

    #[test]
    fn everything_else_is_no_part() {
        for text in [
            "",
            "all",
            "all_1_1",
            "all_1_1_0_2_3",
            "all_1_1_0_",
            "_1_1_0",
            "all_2_1_0",
            "all_01_1_0",
            "all_+1_1_0",
            "all_1_1_4294967296",
            "all_1_18446744073709551616_0",
            "ALL_1_1_0",
            "everything_1_1_0",
            "2024-_1_1_0",
            "2024---5_1_1_0",
            "02_1_1_0",
            "-0_1_1_0",
            "--5_1_1_0",
            "-_1_1_0",
            "21818FFEEE1AE033898614F81C7C3C75_1_1_0",
            "1818ffeee1ae033898614f81c7c3c75_1_1_0",
            "broken_all_1_1_0",
            "broken-on-start_all_1_1_0",
            "ignored_all_1_1_0",
            "unexpected_all_1_1_0",
            "attaching_all_1_1_0",
            "deleting_all_1_1_0",
            "tmp_insert_all_1_1_0",
            "tmp_merge_all_1_2_1",
            "delete_tmp_all_1_1_0",
            "detached",
            "patch-0123-all_1_1_0",
            "20240101_20240201_1_1_0",
            "20240131_20240101_1_1_0",
            "20241301_20241302_1_1_0",
            "20240101_20240131_1_1",
        ] {
            assert_eq!(PartName::parse(text), None, "{text}");
        }
    }

    #[test]
    fn covering_needs_range_level_and_mutation() {
        for (covering, covered) in [
            ("all_1_5_1", "all_2_2_0"),
            ("all_1_5_2", "all_1_4_1"),
            ("all_1_1_0_3", "all_1_1_0"),
            ("all_1_1_1", "all_1_1_0"),
            ("all_1_5_1_9", "all_2_2_0_7"),
        ] {
            assert!(name(covering).covers(&name(covered)), "{covering} covers {covered}");
            assert!(!name(covered).covers(&name(covering)), "{covered} covers {covering}");
        }
        for (left, right) in [
            ("all_1_1_0", "all_1_1_0"),
            ("all_1_5_1", "202402_2_2_0"),
            ("all_1_5_1", "all_4_6_0"),
            ("all_1_5_0", "all_2_2_0"),
            ("all_1_5_1", "all_2_2_0_7"),
        ] {
            assert!(!name(left).covers(&name(right)), "{left} covers {right}");
        }
        assert!(name("all_1_5_1").overlaps(&name("all_4_6_0")));
        assert!(!name("all_1_5_1").overlaps(&name("all_6_6_0")));
    }

    #[test]
    fn merges_span_their_sources() {
        let sources = [name("7_3_3_0"), name("7_1_2_1_4"), name("7_9_9_0")];
        assert_eq!(PartName::merged(&sources), Some(name("7_1_9_2_4")));
        assert_eq!(PartName::merged(&[name("7_1_1_0"), name("8_2_2_0")]), None);
        assert_eq!(PartName::merged(&[]), None);
    }
}
