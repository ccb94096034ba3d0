//! Keys and their values, found in any text: `extractKeyValuePairs`.

use arrow_array::ArrayRef;
use arrow_array::builder::BinaryViewBuilder;
use tambour_function::kit::{Call, Kind, as_texts, map_array, takes, wrong};
use tambour_function::{Function, FunctionError, Signature};
use tambour_part::types::DataType;

/// Most pairs of a text, as in ClickHouse.
const PAIRS_MAX: usize = 1_000;

/// The functions of this room.
pub(crate) const FUNCTIONS: &[Function] =
    &[Function::new("extractKeyValuePairs", pairs_type, pairs)
        .aliases(&["mapFromString", "str_to_map"])];

/// What a quote within a key or a value without quotes is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inner {
    /// The end of what might have been a pair.
    Invalid,
    /// A byte like others.
    Accept,
    /// The beginning of a key or value with quotes.
    Promote,
}

/// The bytes that mean something.
#[derive(Clone, Debug)]
struct Signs {
    /// Between a key and its value.
    inside: u8,
    /// Between pairs.
    between: Vec<u8>,
    quote: u8,
    inner: Inner,
}

fn pairs_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Text], &[Kind::ConstText; 4])?;
    Ok(DataType::Map(Box::new(DataType::String), Box::new(DataType::String)))
}

impl Signs {
    fn of(call: &Call) -> Result<Self, FunctionError> {
        let text = |index: usize| {
            let given = call.optional_texts(index)?;
            Ok::<_, FunctionError>(given.map(|text| text.get(0).to_vec()))
        };
        let sign = |index: usize, otherwise: u8| match text(index)?.as_deref() {
            None | Some([]) => Ok(otherwise),
            Some([one]) => Ok(*one),
            Some(_) => Err(wrong(call.name, "signs and quotes must be of one byte")),
        };
        let (inside, quote) = (sign(1, b':')?, sign(3, b'"')?);
        let between = text(2)?.filter(|between| !between.is_empty());
        let between = between.unwrap_or_else(|| b" ,;".to_vec());
        if inside == quote || between.contains(&inside) || between.contains(&quote) {
            return Err(wrong(call.name, "each sign must have one meaning"));
        }
        let inner = text(4)?.unwrap_or_default().to_ascii_uppercase();
        let inner = match inner.as_slice() {
            b"INVALID" => Inner::Invalid,
            b"ACCEPT" => Inner::Accept,
            b"PROMOTE" | b"" => Inner::Promote,
            _ => return Err(wrong(call.name, "a strategy is INVALID, ACCEPT or PROMOTE")),
        };
        Ok(Self { inside, between, quote, inner })
    }
}

fn pairs(call: &Call) -> Result<ArrayRef, FunctionError> {
    let texts = call.texts(0)?;
    let signs = Signs::of(call)?;
    let (mut keys, mut values) = (BinaryViewBuilder::new(), BinaryViewBuilder::new());
    let mut lengths = Vec::with_capacity(call.rows);
    for row in 0..call.rows {
        let mut reader = Reader { rest: texts.get(row), signs: &signs };
        let mut count = 0;
        while let Some(key) = reader.key() {
            let Some(value) = reader.value() else { continue };
            count += 1;
            if count > PAIRS_MAX {
                return Err(call.value_error(row, format!("more than {PAIRS_MAX} pairs")));
            }
            keys.append_value(key);
            values.append_value(value);
        }
        lengths.push(count);
    }
    let wants_bytes = call.wants_bytes();
    let (keys, values) = (keys.finish(), values.finish());
    map_array(lengths, as_texts(keys, wants_bytes), as_texts(values, wants_bytes), call.result)
}

/// What is left of a text.
struct Reader<'a, 's> {
    rest: &'a [u8],
    signs: &'s Signs,
}

impl<'a> Reader<'a, '_> {
    /// Takes this many bytes off.
    fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(count.min(self.rest.len()));
        self.rest = rest;
        taken
    }

    /// Takes what is between here and the next quote, and the quote; nothing is left if there is none.
    fn quoted(&mut self) -> Option<&'a [u8]> {
        let Some(end) = memchr::memchr(self.signs.quote, self.rest) else {
            self.rest = &[];
            return None;
        };
        let taken = self.take(end);
        self.take(1);
        Some(taken)
    }

    /// A key and the sign after it; what is none is passed over.
    fn key(&mut self) -> Option<&'a [u8]> {
        loop {
            let is_sign =
                |byte: &&u8| **byte == self.signs.inside || self.signs.between.contains(byte);
            let before = self.rest.iter().take_while(is_sign).count();
            self.take(before);
            let is_quoted = self.rest.first() == Some(&self.signs.quote);
            if is_quoted {
                self.take(1);
            }
            let key = if is_quoted { self.quoted_key() } else { self.plain_key() };
            match key {
                Some(key) if !key.is_empty() => return Some(key),
                _ if self.rest.is_empty() => return None,
                _ => {}
            }
        }
    }

    fn quoted_key(&mut self) -> Option<&'a [u8]> {
        let key = self.quoted()?;
        if key.is_empty() || self.rest.first() != Some(&self.signs.inside) {
            return None;
        }
        self.take(1);
        Some(key)
    }

    fn plain_key(&mut self) -> Option<&'a [u8]> {
        let is_end = |byte: &u8| {
            *byte == self.signs.inside
                || self.signs.between.contains(byte)
                || *byte == self.signs.quote && self.signs.inner != Inner::Accept
        };
        let Some(end) = self.rest.iter().position(is_end) else {
            self.rest = &[];
            return None;
        };
        let key = self.take(end);
        match self.take(1).first() {
            Some(byte) if *byte == self.signs.inside => Some(key),
            Some(byte) if *byte == self.signs.quote && self.signs.inner == Inner::Promote => {
                self.quoted_key()
            }
            _ => None,
        }
    }

    /// What is between here and the next quote. What follows up to the next pair counts for nothing.
    fn quoted_value(&mut self) -> Option<&'a [u8]> {
        let value = self.quoted()?;
        let is_between = |byte: &u8| self.signs.between.contains(byte);
        let end = self.rest.iter().position(is_between).unwrap_or(self.rest.len());
        self.take(end);
        Some(value)
    }

    /// A value; none if a quote makes it none.
    fn value(&mut self) -> Option<&'a [u8]> {
        if self.rest.first() == Some(&self.signs.quote) {
            self.take(1);
            return self.quoted_value();
        }
        let is_end = |byte: &u8| {
            self.signs.between.contains(byte)
                || *byte == self.signs.quote && self.signs.inner != Inner::Accept
        };
        let end = self.rest.iter().position(is_end).unwrap_or(self.rest.len());
        let value = self.take(end);
        if self.rest.first() != Some(&self.signs.quote) || self.signs.inner == Inner::Accept {
            return Some(value);
        }
        self.take(1);
        if self.signs.inner == Inner::Promote { self.quoted_value() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::{Inner, Reader, Signs};

    fn found(text: &str, inner: Inner) -> Vec<(String, String)> {
        let signs = Signs { inside: b':', between: b" ,;".to_vec(), quote: b'"', inner };
        let mut reader = Reader { rest: text.as_bytes(), signs: &signs };
        let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut pairs = Vec::new();
        while let Some(key) = reader.key() {
            if let Some(value) = reader.value() {
                pairs.push((shown(key), shown(value)));
            }
        }
        pairs
    }

    /// Every line was given to ClickHouse 26.9.
    #[test]
    fn pairs_are_found() {
        use Inner::{Accept, Invalid, Promote};
        for (text, inner, expected) in [
            ("name:neymar, age:31 team:psg", Promote, "name=neymar age=31 team=psg"),
            ("a::b", Promote, "a=:b"),
            ("a :b", Promote, ""),
            ("a:,b:c", Promote, "a= b=c"),
            ("\"a b\":\"c,d\"", Promote, "a b=c,d"),
            ("a\"b\":c", Promote, "b=c"),
            ("\"a\"b:c", Promote, "b=c"),
            ("a:b\"c d\",e:f", Promote, "a=c d e=f"),
            ("a:b\"", Promote, ""),
            ("a:\"b\"c:d e:f", Promote, "a=b e=f"),
            ("a\"b\":c,d:e", Invalid, "d=e"),
            ("name\"abc:5", Invalid, "abc=5"),
            ("a:b\"c\",d:e", Accept, "a=b\"c\" d=e"),
        ] {
            let all: Vec<String> =
                found(text, inner).iter().map(|(key, value)| format!("{key}={value}")).collect();
            assert_eq!(all.join(" "), expected, "{text}");
        }
    }
}
