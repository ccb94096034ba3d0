//! How alike texts are by their pieces of a few letters: `ngramDistance`, `ngramSearch`. Pieces are counted by 16 bits of a
//! checksum, as ClickHouse counts them, so that two pieces that it takes for one are one here.

use arrow_array::ArrayRef;
use arrow_array::types::Float32Type;
use tambour_function::kit::{Call, letter_width, rule};
use tambour_function::{Function, FunctionError};
use tambour_part::types::DataType;

/// Longest texts that are compared: ClickHouse calls longer ones different.
const LENGTH_MAX: usize = 1 << 15;

macro_rules! both {
    ($name:literal, $is_search:literal, $letters:literal, $any_case:literal) => {
        Function::new($name, rule!(String String => DataType::Float32), |c| {
            let form = Form { letters: $letters, any_case: $any_case };
            compare(c, form, $is_search)
        })
    };
}

/// The functions of this room.
pub(crate) const FUNCTIONS: &[Function] = &[
    both!("ngramDistance", false, false, false),
    both!("ngramDistanceCaseInsensitive", false, false, true),
    both!("ngramDistanceUTF8", false, true, false),
    both!("ngramDistanceCaseInsensitiveUTF8", false, true, true),
    both!("ngramSearch", true, false, false),
    both!("ngramSearchCaseInsensitive", true, false, true),
    both!("ngramSearchUTF8", true, true, false),
    both!("ngramSearchCaseInsensitiveUTF8", true, true, true),
];

/// What a piece is made of: four bytes, or three letters.
#[derive(Clone, Copy)]
struct Form {
    letters: bool,
    any_case: bool,
}

impl Form {
    /// The places of the pieces of a text in the table of counts.
    fn pieces(self, text: &[u8]) -> Vec<u16> {
        if self.letters {
            let letters = self.letters_of(text);
            let piece = |it: &[u32]| {
                let word = u64::from(it[0]) << 32 | u64::from(it[1]);
                crc_32c(it[2], word) as u16
            };
            return letters.windows(3).map(piece).collect();
        }
        let text = if self.any_case { text.to_ascii_lowercase() } else { text.to_vec() };
        let word = |it: &[u8]| u32::from_le_bytes([it[0], it[1], it[2], it[3]]);
        text.windows(4).map(|it| crc_32c(u32::MAX, word(it).into()) as u16).collect()
    }

    /// Letters by their bytes, the first one lowest. Of any case: without the bits in which cases differ in most scripts.
    fn letters_of(self, mut rest: &[u8]) -> Vec<u32> {
        let mut letters = Vec::with_capacity(rest.len());
        while let Some(first) = rest.first() {
            let width = letter_width(*first);
            let (letter, after) = rest.split_at(width.min(rest.len()));
            let mut bytes = [0; 4];
            bytes[..letter.len()].copy_from_slice(letter);
            if self.any_case {
                bytes[..letter.len()].iter_mut().for_each(|byte| *byte &= !0x20);
                if letter.len() > 1 {
                    bytes[0] &= !1;
                }
            }
            letters.push(u32::from_le_bytes(bytes));
            rest = after;
        }
        letters
    }
}

/// Castagnoli's checksum of eight bytes after another one.
fn crc_32c(before: u32, word: u64) -> u32 {
    let mut sum = u64::from(before) ^ word;
    for _ in 0..64 {
        sum = sum >> 1 ^ if sum & 1 == 1 { 0x82f6_3b78 } else { 0 };
    }
    sum as u32
}

fn compare(call: &Call, form: Form, is_search: bool) -> Result<ArrayRef, FunctionError> {
    let (texts, others) = (call.texts(0)?, call.texts(1)?);
    let mut counts = vec![0_i32; 1 << 16];
    let mut results = Vec::with_capacity(call.rows);
    for row in 0..call.rows {
        let (text, other) = (texts.get(row), others.get(row));
        if text.len().max(other.len()) > LENGTH_MAX {
            return Err(call.value_error(row, "the text is longer than 32768 bytes"));
        }
        let (pieces, wanted) = (form.pieces(text), form.pieces(other));
        for piece in &wanted {
            counts[usize::from(*piece)] += 1;
        }
        let mut distance = wanted.len();
        for piece in &pieces {
            let count = &mut counts[usize::from(*piece)];
            if *count > 0 {
                distance -= 1;
            } else if !is_search {
                distance += 1;
            }
            *count -= 1;
        }
        for piece in pieces.iter().chain(&wanted) {
            counts[usize::from(*piece)] = 0;
        }
        let whole = if is_search { wanted.len() } else { pieces.len() + wanted.len() };
        let share = distance as f32 / whole.max(1) as f32;
        results.push(if is_search { 1.0 - share } else { share });
    }
    call.make_numbers::<Float32Type>(|row| results[row])
}
