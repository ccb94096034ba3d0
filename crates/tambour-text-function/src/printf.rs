//! `printf`: numbers and texts put into a pattern, each by a specifier as C has them.

use arrow_array::ArrayRef;
use tambour_function::kit::{Call, Floats, Integers, TextColumn, Texts, integer, wrong};
use tambour_function::{Function, FunctionError, Signature, bare};
use tambour_part::types::DataType;

/// Greatest width and precision.
const WIDTH_MAX: usize = 1_000;

/// The functions of this room.
pub(crate) const FUNCTIONS: &[Function] = &[Function::new("printf", pattern_type, print)];

/// A piece of a pattern.
#[derive(Debug, PartialEq)]
enum Piece {
    Text(String),
    Value(Specifier),
}

/// How one value is written.
#[derive(Debug, Default, PartialEq)]
struct Specifier {
    is_left: bool,
    has_plus: bool,
    has_space: bool,
    has_zeros: bool,
    width: usize,
    precision: Option<usize>,
    kind: char,
}

/// The pieces of a pattern; what is wrong with it if it has none.
fn pieces(pattern: &str) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut rest = pattern.chars().peekable();
    while let Some(letter) = rest.next() {
        if letter != '%' {
            text.push(letter);
            continue;
        }
        if rest.next_if_eq(&'%').is_some() {
            text.push('%');
            continue;
        }
        if !text.is_empty() {
            pieces.push(Piece::Text(std::mem::take(&mut text)));
        }
        pieces.push(Piece::Value(specifier(&mut rest)?));
    }
    if !text.is_empty() {
        pieces.push(Piece::Text(text));
    }
    Ok(pieces)
}

fn specifier(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Result<Specifier, String> {
    let mut found = Specifier::default();
    loop {
        match rest.peek() {
            Some('-') => found.is_left = true,
            Some('+') => found.has_plus = true,
            Some(' ') => found.has_space = true,
            Some('0') => found.has_zeros = true,
            _ => break,
        }
        rest.next();
    }
    found.width = number(rest);
    if rest.next_if_eq(&'.').is_some() {
        found.precision = Some(number(rest));
    }
    while rest.next_if(|letter| matches!(letter, 'l' | 'h' | 'j' | 'z' | 't')).is_some() {}
    found.kind = rest.next().ok_or("it ends within a specifier")?;
    if found.width.max(found.precision.unwrap_or(0)) > WIDTH_MAX {
        return Err(format!("widths are {WIDTH_MAX} at most"));
    }
    let is_whole = matches!(found.kind, 'd' | 'i' | 'u' | 'x' | 'X' | 'o');
    match found.kind {
        'd' | 'i' | 'u' | 'x' | 'X' | 'o' | 's' | 'e' | 'E' | 'f' | 'F' => {}
        other => return Err(format!("there is no %{other}")),
    }
    if is_whole && found.precision.is_some() || found.kind == 's' && found.has_zeros {
        return Err("this specifier takes no such precision or flag".to_owned());
    }
    Ok(found)
}

fn number(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) -> usize {
    let mut number = 0_usize;
    while let Some(digit) = rest.peek().and_then(|letter| letter.to_digit(10)) {
        number = number.saturating_mul(10).saturating_add(digit as usize);
        rest.next();
    }
    number
}

fn pattern_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    let constant = s.first().and_then(|pattern| pattern.constant.as_ref());
    let Some(pattern) = constant.and_then(|pattern| Texts::of(pattern).first()) else {
        return Err(wrong(name, "the pattern must be a constant text"));
    };
    let pieces = pieces(&pattern).map_err(|problem| wrong(name, problem))?;
    let wanted = pieces.iter().filter_map(|piece| match piece {
        Piece::Value(specifier) => Some(specifier),
        Piece::Text(_) => None,
    });
    let wanted: Vec<&Specifier> = wanted.collect();
    if wanted.len() + 1 != s.len() {
        return Err(wrong(name, format!("the pattern has {} specifiers", wanted.len())));
    }
    for (specifier, argument) in wanted.into_iter().zip(&s[1..]) {
        let plain = bare(&argument.data_type);
        let width = integer(plain).filter(|_| *plain != DataType::Bool);
        let fits = match specifier.kind {
            's' => matches!(plain, DataType::String | DataType::FixedString(_)),
            'd' | 'i' => width.is_some(),
            // What a number below 0 is by these depends on its width, which is another one here.
            'u' | 'x' | 'X' | 'o' => width.is_some(),
            _ => matches!(plain, DataType::Float32 | DataType::Float64),
        };
        if !fits {
            return Err(wrong(name, format!("%{} does not take {plain}", specifier.kind)));
        }
    }
    Ok(DataType::String)
}

/// The values of an argument.
enum Values {
    Texts(TextColumn),
    Numbers(Integers),
    Floats(Floats),
}

fn print(call: &Call) -> Result<ArrayRef, FunctionError> {
    let pattern = call.constant_text(0)?;
    let pieces = pieces(&String::from_utf8_lossy(&pattern));
    let pieces = pieces.map_err(|problem| wrong(call.name, problem))?;
    let mut values = Vec::new();
    for piece in &pieces {
        let Piece::Value(specifier) = piece else { continue };
        let index = values.len() + 1;
        values.push(match specifier.kind {
            's' => Values::Texts(call.texts(index)?),
            'd' | 'i' | 'u' | 'x' | 'X' | 'o' => Values::Numbers(call.integers(index)?),
            _ => Values::Floats(call.floats(index)?),
        });
        check(call, specifier, &values[index - 1])?;
    }
    call.make_texts(|row, out| {
        let mut values = values.iter();
        for piece in &pieces {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text.as_bytes()),
                Piece::Value(specifier) => {
                    if let Some(values) = values.next() {
                        write(specifier, values, row, out);
                    }
                }
            }
        }
    })
}

/// Refuses values whose form depends on their width, or on how wide letters are.
fn check(call: &Call, specifier: &Specifier, values: &Values) -> Result<(), FunctionError> {
    let is_cut = specifier.width > 0 || specifier.precision.is_some();
    let problem = |row: usize| match values {
        Values::Numbers(numbers) if matches!(specifier.kind, 'd' | 'i') => {
            i64::try_from(numbers.get(row)).err().map(|_| "the number is too great for %d")
        }
        Values::Numbers(numbers) => {
            (numbers.get(row) < 0).then_some("a number below 0 has no digits without a sign")
        }
        Values::Texts(texts) => (is_cut && !texts.get(row).is_ascii())
            .then_some("texts are ASCII where a width or precision is given"),
        Values::Floats(_) => None,
    };
    for row in (0..call.rows).filter(|row| !call.is_null(*row)) {
        if let Some(problem) = problem(row) {
            return Err(call.value_error(row, problem));
        }
    }
    Ok(())
}

fn write(specifier: &Specifier, values: &Values, row: usize, out: &mut Vec<u8>) {
    let (sign, body, is_number) = match values {
        Values::Texts(texts) => {
            let text = texts.get(row);
            let kept = specifier.precision.unwrap_or(text.len()).min(text.len());
            ("", text[..kept].to_vec(), false)
        }
        Values::Numbers(numbers) => {
            let number = numbers.get(row);
            let digits = match specifier.kind {
                'x' => format!("{number:x}"),
                'X' => format!("{number:X}"),
                'o' => format!("{number:o}"),
                _ => number.unsigned_abs().to_string(),
            };
            (sign(specifier, number < 0), digits.into_bytes(), true)
        }
        Values::Floats(floats) => {
            let float = floats.get(row);
            let text = of_float(specifier, float.abs());
            (sign(specifier, float.is_sign_negative()), text.into_bytes(), float.is_finite())
        }
    };
    let missing = specifier.width.saturating_sub(sign.len() + body.len());
    let pad = |out: &mut Vec<u8>, byte: u8| out.extend(std::iter::repeat_n(byte, missing));
    let has_zeros = specifier.has_zeros && !specifier.is_left && is_number;
    if !specifier.is_left && !has_zeros {
        pad(out, b' ');
    }
    out.extend_from_slice(sign.as_bytes());
    if has_zeros {
        pad(out, b'0');
    }
    out.extend_from_slice(&body);
    if specifier.is_left {
        pad(out, b' ');
    }
}

fn sign(specifier: &Specifier, is_negative: bool) -> &'static str {
    let is_signed = !matches!(specifier.kind, 'u' | 'x' | 'X' | 'o');
    match (is_negative, specifier.has_plus && is_signed, specifier.has_space && is_signed) {
        (true, ..) => "-",
        (_, true, _) => "+",
        (_, _, true) => " ",
        _ => "",
    }
}

fn of_float(specifier: &Specifier, float: f64) -> String {
    let precision = specifier.precision.unwrap_or(6);
    let text = if !float.is_finite() {
        if float.is_nan() { "nan".to_owned() } else { "inf".to_owned() }
    } else if matches!(specifier.kind, 'f' | 'F') {
        format!("{float:.precision$}")
    } else {
        let text = format!("{float:.precision$e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        let power: i32 = power.parse().unwrap_or(0);
        format!("{digits}e{}{:02}", if power < 0 { '-' } else { '+' }, power.abs())
    };
    if specifier.kind.is_ascii_uppercase() { text.to_ascii_uppercase() } else { text }
}
