//! How far strings are apart: `editDistance`, `jaroSimilarity`, `byteHammingDistance`.

use arrow_array::ArrayRef;
use arrow_array::types::UInt64Type;
use std::collections::HashSet;
use tambour_function::kit::{Call, rule};
use tambour_function::{Function, FunctionError};
use tambour_part::types::DataType;

/// Longest strings whose distance is computed: it takes the product of their lengths.
const LENGTH_MAX: usize = 1 << 16;

/// The functions of this room.
pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new("editDistance", rule!(Text Text => DataType::UInt64), |c| edit(c, false))
        .aliases(&["levenshteinDistance"]),
    Function::new("editDistanceUTF8", rule!(Text Text => DataType::UInt64), |c| edit(c, true))
        .aliases(&["levenshteinDistanceUTF8"]),
    Function::new("stringJaccardIndex", rule!(Text Text => DataType::Float64), |c| {
        let (left, right) = (c.texts(0)?, c.texts(1)?);
        jaccard(c, |row| {
            let bytes = |text: &[u8]| text.iter().map(|byte| u32::from(*byte)).collect();
            Some([bytes(left.get(row)), bytes(right.get(row))])
        })
    }),
    Function::new("stringJaccardIndexUTF8", rule!(Text Text => DataType::Float64), |c| {
        let (left, right) = (c.texts(0)?, c.texts(1)?);
        jaccard(c, |row| {
            let [left, right] = [left.get(row), right.get(row)].map(std::str::from_utf8);
            Some([left.ok()?, right.ok()?].map(|text| text.chars().map(u32::from).collect()))
        })
    }),
    Function::new("soundex", rule!(Text => DataType::String), |c| {
        let texts = c.texts(0)?;
        c.make_texts(|row, out| out.extend_from_slice(&soundex(texts.get(row))))
    }),
    Function::new("damerauLevenshteinDistance", rule!(Text Text => DataType::UInt64), |c| {
        let (left, right) = (c.texts(0)?, c.texts(1)?);
        numbers(c, |row| damerau(left.get(row), right.get(row)))
    }),
    Function::new("byteHammingDistance", rule!(Text Text => DataType::UInt64), |c| {
        let (left, right) = (c.texts(0)?, c.texts(1)?);
        c.make_numbers::<UInt64Type>(|row| {
            let (a, b) = (left.get(row), right.get(row));
            let differing = a.iter().zip(b).filter(|(a, b)| a != b).count();
            (differing + a.len().abs_diff(b.len())) as u64
        })
    })
    .aliases(&["mismatches"]),
    Function::new("jaroSimilarity", rule!(Text Text => DataType::Float64), |c| similar(c, jaro)),
    Function::new("jaroWinklerSimilarity", rule!(Text Text => DataType::Float64), |c| {
        similar(c, jaro_winkler)
    }),
];

/// How many characters two texts have in common, of all that they have; two texts without any have none.
fn jaccard(
    call: &Call,
    texts: impl Fn(usize) -> Option<[HashSet<u32>; 2]>,
) -> Result<ArrayRef, FunctionError> {
    let mut found = Vec::with_capacity(call.rows);
    for row in 0..call.rows {
        let Some([left, right]) = texts(row) else {
            return Err(call.value_error(row, "the strings are not UTF-8"));
        };
        let common = left.intersection(&right).count();
        let all = (left.len() + right.len() - common).max(1);
        found.push(common as f64 / all as f64);
    }
    call.make_floats(|row| found[row])
}

/// The Soundex code; four zeros for a text without letters.
fn soundex(text: &[u8]) -> [u8; 4] {
    /// Digits of the letters from A to Z. Letters without one stand between two that have the same, H and W too.
    const DIGITS: &[u8; 26] = b"01230120022455012623010202";
    let mut code = [b'0'; 4];
    let mut length = 0;
    let mut last = b'0';
    for letter in text.iter().map(u8::to_ascii_uppercase).filter(u8::is_ascii_uppercase) {
        let digit = DIGITS.get(usize::from(letter - b'A')).copied().unwrap_or(b'0');
        if length == 0 {
            code[0] = letter;
            length = 1;
        } else if digit != b'0' && digit != last {
            code[length] = digit;
            length += 1;
        }
        last = digit;
        if length == code.len() {
            break;
        }
    }
    code
}

fn checked(call: &Call, row: usize, value: Option<f64>) -> Result<f64, FunctionError> {
    value.ok_or_else(|| {
        call.value_error(row, format!("the strings are longer than {LENGTH_MAX} bytes"))
    })
}

fn numbers(call: &Call, make: impl Fn(usize) -> Option<usize>) -> Result<ArrayRef, FunctionError> {
    let mut found = Vec::with_capacity(call.rows);
    for row in 0..call.rows {
        found.push(checked(call, row, make(row).map(|distance| distance as f64))? as u64);
    }
    call.make_numbers::<UInt64Type>(|row| found[row])
}

/// Of an empty string, ClickHouse gives the length of the other one.
fn similar(call: &Call, make: fn(&[u8], &[u8]) -> f64) -> Result<ArrayRef, FunctionError> {
    let (left, right) = (call.texts(0)?, call.texts(1)?);
    let mut found = Vec::with_capacity(call.rows);
    for row in 0..call.rows {
        let (a, b) = (left.get(row), right.get(row));
        let found_here = match (a, b) {
            ([], other) | (other, []) => Some(other.len() as f64),
            _ if is_too_long(a, b) => None,
            _ => Some(make(a, b)),
        };
        found.push(checked(call, row, found_here)?);
    }
    call.make_floats(|row| found[row])
}

fn edit(call: &Call, letters: bool) -> Result<ArrayRef, FunctionError> {
    let (left, right) = (call.texts(0)?, call.texts(1)?);
    if !letters {
        return numbers(call, |row| levenshtein(left.get(row), right.get(row)));
    }
    let mut found = Vec::with_capacity(call.rows);
    for row in 0..call.rows {
        let texts = [left.get(row), right.get(row)].map(std::str::from_utf8);
        let bytes = [left.get(row), right.get(row)].map(<[u8]>::len);
        let [Ok(left), Ok(right)] = texts else {
            return Err(call.value_error(row, "the strings are not UTF-8"));
        };
        let (left, right): (Vec<char>, Vec<char>) =
            (left.chars().collect(), right.chars().collect());
        // Beside a text without characters, ClickHouse counts bytes.
        let distance = match (left.len(), right.len()) {
            (0, _) | (_, 0) => Some(bytes[0].max(bytes[1])),
            _ => levenshtein(&left, &right),
        };
        let distance = distance.map(|distance| distance as f64);
        found.push(checked(call, row, distance)? as u64);
    }
    call.make_numbers::<UInt64Type>(|row| found[row])
}

fn is_too_long<T>(left: &[T], right: &[T]) -> bool {
    left.len() > LENGTH_MAX || right.len() > LENGTH_MAX
}

fn levenshtein<T: PartialEq>(left: &[T], right: &[T]) -> Option<usize> {
    if is_too_long(left, right) {
        return None;
    }
    let mut costs: Vec<usize> = (0..=right.len()).collect();
    for (row, a) in left.iter().enumerate() {
        let mut diagonal = costs[0];
        costs[0] = row + 1;
        for (column, b) in right.iter().enumerate() {
            let above = costs[column + 1];
            let replaced = diagonal + usize::from(a != b);
            costs[column + 1] = replaced.min(above + 1).min(costs[column] + 1);
            diagonal = above;
        }
    }
    costs.last().copied()
}

/// With neighbours exchanged as one step, each letter moved once at most.
fn damerau(left: &[u8], right: &[u8]) -> Option<usize> {
    if is_too_long(left, right) {
        return None;
    }
    let width = right.len() + 1;
    let mut before = vec![0; width];
    let mut last: Vec<usize> = (0..width).collect();
    for row in 1..=left.len() {
        let mut next = vec![row; width];
        for column in 1..width {
            let is_same = left[row - 1] == right[column - 1];
            let replaced = last[column - 1] + usize::from(!is_same);
            let mut cost = replaced.min(last[column] + 1).min(next[column - 1] + 1);
            let is_exchanged = row > 1
                && column > 1
                && left[row - 1] == right[column - 2]
                && left[row - 2] == right[column - 1];
            if is_exchanged {
                cost = cost.min(before[column - 2] + 1);
            }
            next[column] = cost;
        }
        before = std::mem::replace(&mut last, next);
    }
    last.last().copied()
}

fn jaro(left: &[u8], right: &[u8]) -> f64 {
    let reach = (left.len().max(right.len()) / 2).saturating_sub(1);
    let mut is_taken = vec![false; right.len()];
    let mut matched = Vec::new();
    for (at, byte) in left.iter().enumerate() {
        let range = at.saturating_sub(reach)..right.len().min(at + reach + 1);
        if let Some(found) = range.clone().find(|other| !is_taken[*other] && right[*other] == *byte)
        {
            is_taken[found] = true;
            matched.push(*byte);
        }
    }
    if matched.is_empty() {
        return 0.0;
    }
    let others = right.iter().zip(&is_taken).filter(|(_, taken)| **taken).map(|(byte, _)| byte);
    let moved = matched.iter().zip(others).filter(|(a, b)| a != b).count() as f64 / 2.0;
    let count = matched.len() as f64;
    let sum = count / left.len() as f64 + count / right.len() as f64 + (count - moved) / count;
    // Not the same as a division: what is above 0.7 depends on the last bit.
    sum * (1.0 / 3.0)
}

/// Nearer to 1 for each of up to four bytes at the front that both have, if they are similar at all.
fn jaro_winkler(left: &[u8], right: &[u8]) -> f64 {
    let similarity = jaro(left, right);
    if similarity <= 0.7 {
        return similarity;
    }
    let common = left.iter().zip(right).take(4).take_while(|(a, b)| a == b).count();
    similarity + common as f64 * 0.1 * (1.0 - similarity)
}
