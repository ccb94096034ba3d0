//! Laws of codec specifications.

use tambour_codec::Kind;
use tambour_codec::block::Encoder;
use tambour_codec::codec::{Class, Element};
use tambour_codec::spec::CodecSpec;

/// Law: what parses prints to something that parses to the same; building a codec of it works or says why not.
pub fn survive(text: &str) {
    let Ok(spec) = text.parse::<CodecSpec>() else { return };
    assert!(!spec.calls.is_empty(), "{text:?}");
    let printed = spec.to_string();
    assert_eq!(printed.parse::<CodecSpec>().ok().as_ref(), Some(&spec), "{text:?}: {printed}");
    assert_eq!(format!("CODEC({printed})").parse::<CodecSpec>().ok(), Some(spec.clone()));
    assert!(!spec.generic_only().calls.is_empty());
    for element in [Element::BYTES, Element::UNKNOWN, Element { width: 8, class: Class::Float }] {
        if let Err(error) = Encoder::new(&spec, element) {
            assert!(matches!(error.kind(), Kind::Argument | Kind::Unsupported), "{error}");
        }
    }
}

/// The law for a fuzzer: any bytes that are text.
pub fn fuzz_spec(input: &[u8]) {
    if let Ok(text) = std::str::from_utf8(input) {
        survive(text);
    }
}
