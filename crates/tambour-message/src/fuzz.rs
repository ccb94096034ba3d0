//! What the fuzz targets call.

use crate::{Dictionary, MessageCodec, Pin, Scratch, Trainer};
use std::sync::OnceLock;

/// A codec for a small protocol.
fn codec() -> &'static MessageCodec {
    static CODEC: OnceLock<MessageCodec> = OnceLock::new();
    CODEC.get_or_init(|| {
        let mut trainer = Trainer::default().with_content_bytes(1024);
        for call in 0..400_u64 {
            let sample = format!(r#"{{"id":{call},"of":{},"method":"get"}}"#, call / 7);
            let added = trainer.add_from(call / 20, sample.as_bytes());
            assert!(added.is_ok(), "samples are short");
        }
        let dictionary = trainer.train().map(|dictionary| dictionary.to_bytes());
        let dictionary = dictionary.and_then(|bytes| Dictionary::from_bytes(&bytes));
        match dictionary {
            Ok(dictionary) => MessageCodec::new(1, dictionary).with_message_bytes_max(1 << 16),
            Err(error) => unreachable!("a dictionary of good samples: {error}"),
        }
    })
}

/// Decoding never panics or passes the limit; what was encoded comes back.
pub fn message(input: &[u8]) {
    let codec = codec();
    let pin = Pin::new(br#"{"id":0,"of":77,"method":"get"}"#);
    let mut scratch = Scratch::default();
    for pin in [None, pin.as_ref()] {
        let mut decoded = Vec::new();
        if codec.decode(input, pin, &mut scratch, &mut decoded).is_err() {
            assert!(decoded.is_empty(), "nothing is appended on an error");
        }
        assert!(decoded.len() <= codec.message_bytes_max(), "the limit holds");
        let mut encoded = Vec::new();
        if codec.encode(input, pin, &mut scratch, &mut encoded).is_ok() {
            let mut back = Vec::new();
            let result = codec.decode(&encoded, pin, &mut scratch, &mut back);
            assert!(result.is_ok() && back == input, "{result:?}");
        }
    }
}

/// A file is refused, or is what the dictionary would be stored as.
pub fn dictionary(input: &[u8]) {
    if let Ok(dictionary) = Dictionary::from_bytes(input) {
        assert_eq!(dictionary.to_bytes(), input, "one way to store a dictionary");
    }
}

#[cfg(test)]
mod tests {
    use super::{dictionary, message};

    #[test]
    fn seeds_hold() {
        let seeds =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/message");
        let mut count = 0;
        for entry in std::fs::read_dir(seeds).unwrap() {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            message(&bytes);
            dictionary(&bytes);
            count += 1;
        }
        assert!(count > 2);
    }
}
