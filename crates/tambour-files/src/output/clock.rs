//! Times of day as text. Some systems have times past the end of the day, and before its beginning, which are written as well:
//! `24:00:00`, `-00:30:00`.

use std::io::Write as _;

/// How ticks become a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// Digits of a second's fraction that a tick is: 0, 3, 6 or 9.
    pub(super) tick: u8,
}

impl Clock {
    /// Appends the time after this many ticks, with as many groups of three digits of the fraction as it needs.
    pub(super) fn write(self, ticks: i64, target: &mut Vec<u8>) {
        let per_second = 10_u64.pow(self.tick.into());
        let (seconds, fraction) =
            (ticks.unsigned_abs() / per_second, ticks.unsigned_abs() % per_second);
        if ticks < 0 {
            target.push(b'-');
        }
        let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        // A vector takes everything.
        let _ = write!(target, "{hours:02}:{minutes:02}:{seconds:02}");
        if fraction > 0 {
            let nanoseconds = fraction * 10_u64.pow(9 - u32::from(self.tick));
            let text = format!("{nanoseconds:09}");
            let is_zero = |group: &[u8]| group == b"000";
            let groups = text.as_bytes().chunks(3);
            let kept = 3 - groups.rev().take_while(|group| is_zero(group)).count();
            target.push(b'.');
            target.extend_from_slice(&text.as_bytes()[..kept * 3]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Clock;

    #[test]
    fn times_of_all_days() {
        let text = |tick, ticks| {
            let mut text = Vec::new();
            Clock { tick }.write(ticks, &mut text);
            String::from_utf8(text).unwrap()
        };
        assert_eq!(text(0, 3_661), "01:01:01");
        assert_eq!(text(3, 3_661_250), "01:01:01.250");
        assert_eq!(text(6, 86_400_000_000), "24:00:00");
        assert_eq!(text(6, -1_800_000_001), "-00:30:00.000001");
        assert_eq!(text(9, 1_000_000), "00:00:00.001");
        assert_eq!(text(9, i64::MAX), "2562047:47:16.854775807");
    }
}
