//! Messages come back as they were, with and without pins, across rotations, within limits.

use crate::common::{dictionary, message};
use proptest::prelude::*;
use std::sync::OnceLock;
use tambour_message::{
    Check, Dictionary, MessageCodec, MessageError, PIN_BYTES_MAX, Pin, Scratch, Trainer,
};

fn encoded(codec: &MessageCodec, message: &[u8], pin: Option<&Pin>) -> Vec<u8> {
    let mut target = Vec::new();
    codec.encode(message, pin, &mut Scratch::default(), &mut target).unwrap();
    target
}

fn decoded(
    codec: &MessageCodec,
    source: &[u8],
    pin: Option<&Pin>,
) -> Result<Vec<u8>, MessageError> {
    let mut target = Vec::new();
    codec.decode(source, pin, &mut Scratch::default(), &mut target)?;
    Ok(target)
}

#[test]
fn messages_come_back_and_are_small() {
    let codec = MessageCodec::new(7, dictionary(0, Check::Short));
    let (mut scratch, mut raw, mut plain, mut pinned) = (Scratch::default(), 0, 0, 0);
    for connection in 1000..1050 {
        let pin = Pin::new(&message(connection, 0)).unwrap();
        for call in 1..20 {
            let message = message(connection, call);
            for pin in [None, Some(&pin)] {
                let (mut target, mut back) = (b"before".to_vec(), b"before".to_vec());
                codec.encode(&message, pin, &mut scratch, &mut target).unwrap();
                codec.decode(&target[6..], pin, &mut scratch, &mut back).unwrap();
                assert_eq!(back, [&b"before"[..], &message].concat());
                *if pin.is_some() { &mut pinned } else { &mut plain } += target.len() - 6;
            }
            raw += message.len();
        }
    }
    assert!(plain * 3 < raw, "{plain} of {raw}");
    assert!(pinned * 5 < plain * 4, "{pinned} of {plain}");
}

#[test]
fn any_bytes_come_back_and_grow_little() {
    let codec = MessageCodec::new(0, dictionary(0, Check::Full));
    let noise: Vec<u8> = (0..70_000_u32).map(|i| i.wrapping_mul(i).to_le_bytes()[1]).collect();
    for length in (0..40).chain([255, 4096, 65_535, 70_000]) {
        for source in [&noise[..length], &vec![b'a'; length]] {
            let target = encoded(&codec, source, None);
            assert!(target.len() <= source.len() + 8, "{length}");
            assert_eq!(decoded(&codec, &target, None).unwrap(), source);
        }
    }
    assert_eq!(encoded(&codec, b"", None).len(), 2 + 4);
}

#[test]
fn a_long_pin_is_cut() {
    let codec = MessageCodec::new(0, dictionary(0, Check::Full));
    let long = vec![b'x'; 3 * PIN_BYTES_MAX];
    let pin = Pin::new(&long).unwrap();
    assert_eq!(pin.bytes().len(), PIN_BYTES_MAX);
    let target = encoded(&codec, &long, Some(&pin));
    assert!(target.len() < 20);
    assert_eq!(decoded(&codec, &target, Some(&pin)).unwrap(), long);
    assert!(Pin::new(b"").is_none());
}

#[test]
fn dictionaries_rotate() {
    let codec = MessageCodec::new(1, dictionary(0, Check::Full));
    let old = encoded(&codec, &message(5, 5), None);
    codec.add(2, dictionary(300, Check::Full)).unwrap();
    assert!(matches!(codec.retire(1), Err(MessageError::GenerationInUse { generation: 1 })));
    codec.switch_to(2).unwrap();
    let new = encoded(&codec, &message(5, 5), None);
    assert_eq!((old[0], new[0]), (1, 2));
    for source in [&old, &new] {
        assert_eq!(decoded(&codec, source, None).unwrap(), message(5, 5));
    }
    // The same again is fine, another one under the same number is not.
    codec.add(2, dictionary(300, Check::Full)).unwrap();
    let taken = codec.add(2, dictionary(0, Check::Full));
    assert!(matches!(taken, Err(MessageError::GenerationTaken { generation: 2 })));
    assert!(codec.retire(1).unwrap() && !codec.retire(1).unwrap());
    let unknown = decoded(&codec, &old, None).unwrap_err();
    assert!(matches!(unknown, MessageError::UnknownGeneration { generation: 1, .. }));
    assert!(unknown.to_string().contains("known: 2"));
    assert!(matches!(codec.switch_to(9), Err(MessageError::UnknownGeneration { .. })));
}

#[test]
fn limits_hold_on_both_sides() {
    let wide = MessageCodec::new(0, dictionary(0, Check::Full));
    let narrow = MessageCodec::new(0, dictionary(0, Check::Full)).with_message_bytes_max(100);
    let message = vec![b'z'; 101];
    let too_long = |result| matches!(result, Err(MessageError::TooLong { bytes: 101, limit: 100 }));
    let mut target = Vec::new();
    assert!(too_long(narrow.encode(&message, None, &mut Scratch::default(), &mut target)));
    assert!(target.is_empty());
    let source = encoded(&wide, &message, None);
    assert!(too_long(decoded(&narrow, &source, None).map(|_| ())));
}

#[test]
fn a_dictionary_file_is_read_whole_or_refused() {
    let dictionary = dictionary(0, Check::Short);
    let bytes = dictionary.to_bytes();
    assert!(bytes.len() <= Dictionary::FILE_BYTES_MAX);
    let again = Dictionary::from_bytes(&bytes).unwrap();
    assert_eq!((again.id(), again.check()), (dictionary.id(), Check::Short));
    assert!(again.knows_pins());
    for length in 0..bytes.len() {
        assert!(Dictionary::from_bytes(&bytes[..length]).is_err(), "{length}");
    }
    let mut long = bytes.clone();
    long.push(0);
    assert!(Dictionary::from_bytes(&long).is_err());
    for bit in (0..bytes.len() * 8).step_by(7) {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(Dictionary::from_bytes(&damaged).is_err(), "bit {bit}");
    }
}

#[test]
fn too_few_samples_are_an_error() {
    let mut trainer = Trainer::default();
    trainer.add(b"hello").unwrap();
    assert!(matches!(trainer.train(), Err(MessageError::Training { .. })));
    for _ in 0..20 {
        trainer.add(b"hello hello hello").unwrap();
    }
    trainer.train().unwrap();
}

proptest! {
    #[test]
    fn round_trip(parts in prop::collection::vec((0..60_u64, 0..60_u64, 0..90_usize), 0..12), pinned: bool) {
        static DICTIONARY: OnceLock<Vec<u8>> = OnceLock::new();
        let bytes = DICTIONARY.get_or_init(|| dictionary(0, Check::Full).to_bytes());
        let codec = MessageCodec::new(3, Dictionary::from_bytes(bytes).unwrap());
        let mut source = Vec::new();
        for (connection, call, cut) in parts {
            let message = message(connection, call);
            source.extend_from_slice(&message[cut.min(message.len())..]);
        }
        let pin = Pin::new(&message(30, 0)).filter(|_| pinned);
        let target = encoded(&codec, &source, pin.as_ref());
        prop_assert_eq!(decoded(&codec, &target, pin.as_ref()).unwrap(), source);
    }
}
