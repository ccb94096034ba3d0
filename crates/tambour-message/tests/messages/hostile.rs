//! Messages that are damaged, cut, or meant for others: an error or the right message, never a wrong one.

use crate::common::{dictionary, message};
use tambour_message::{Check, MessageCodec, MessageError, Pin, Scratch};

struct Fixture {
    codec: MessageCodec,
    scratch: Scratch,
}

impl Fixture {
    fn new(check: Check) -> Self {
        Self { codec: MessageCodec::new(1, dictionary(0, check)), scratch: Scratch::default() }
    }

    fn encode(&mut self, message: &[u8], pin: Option<&Pin>) -> Vec<u8> {
        let mut target = Vec::new();
        self.codec.encode(message, pin, &mut self.scratch, &mut target).unwrap();
        target
    }

    fn decode(&mut self, source: &[u8], pin: Option<&Pin>) -> Result<Vec<u8>, MessageError> {
        let mut target = Vec::new();
        let decoded = self.codec.decode(source, pin, &mut self.scratch, &mut target);
        assert!(decoded.is_ok() || target.is_empty());
        decoded.map(|()| target)
    }
}

#[test]
fn cut_at_every_byte() {
    let mut fixture = Fixture::new(Check::Full);
    let pin = Pin::new(&message(77, 0)).unwrap();
    for pin in [None, Some(&pin)] {
        let source = fixture.encode(&message(77, 8), pin);
        for length in 0..source.len() {
            let error = fixture.decode(&source[..length], pin).unwrap_err();
            let expected = matches!(
                error,
                MessageError::Header { .. }
                    | MessageError::Payload { .. }
                    | MessageError::Check { .. }
            );
            assert!(expected, "{length}: {error:?}");
        }
        let longer = [&source[..], &[0]].concat();
        fixture.decode(&longer, pin).unwrap_err();
    }
}

#[test]
fn every_bit_flipped() {
    let mut fixture = Fixture::new(Check::Full);
    let pin = Pin::new(&message(78, 0)).unwrap();
    for (message, pin) in [
        (message(78, 4), None),
        (message(78, 5), Some(&pin)),
        (b"\xff\0\x80 stored as it is \x01\x02".to_vec(), None),
    ] {
        let source = fixture.encode(&message, pin);
        for bit in 0..source.len() * 8 {
            let mut damaged = source.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            if let Ok(decoded) = fixture.decode(&damaged, pin) {
                panic!("bit {bit} went unnoticed: {decoded:?}");
            }
        }
    }
}

#[test]
fn another_dictionary_of_the_same_generation() {
    let mut fixture = Fixture::new(Check::Full);
    let other = MessageCodec::new(1, dictionary(500, Check::Full));
    for call in 0..200 {
        let source = fixture.encode(&message(3, call), None);
        let mut target = Vec::new();
        let error = other.decode(&source, None, &mut Scratch::default(), &mut target).unwrap_err();
        let expected = matches!(error, MessageError::Payload { .. } | MessageError::Check { .. });
        assert!(expected && target.is_empty(), "{error:?}");
    }
}

#[test]
fn another_pin_or_none() {
    let mut fixture = Fixture::new(Check::Full);
    let pin = Pin::new(&message(4, 0)).unwrap();
    let other = Pin::new(&message(5, 0)).unwrap();
    let source = fixture.encode(&message(4, 1), Some(&pin));
    assert!(matches!(fixture.decode(&source, None), Err(MessageError::PinMissing)));
    assert!(fixture.decode(&source, Some(&other)).is_err());
    // What does not refer to a pin needs none, and is not disturbed by one.
    let source = fixture.encode(&message(4, 1), None);
    assert_eq!(fixture.decode(&source, Some(&other)).unwrap(), message(4, 1));
}

#[test]
fn lengths_that_no_message_has() {
    let mut fixture = Fixture::new(Check::None);
    // Sixteen megabytes are promised, and not allocated: the limit is one.
    let huge = [1, 0x80, 0x80, 0x80, 0x20, 0];
    let error = fixture.decode(&huge, None).unwrap_err();
    assert!(matches!(error, MessageError::TooLong { bytes: 16_777_216, limit: 1_048_576 }));
    for bad in [
        &[1, 0x80, 0x80, 0x80, 0x80, 0x01][..],
        &[1, 0x84, 0x00][..],
        &[1, 0x07][..],
        &[1, 0x09, b'a', b'b', b'c'][..],
    ] {
        let error = fixture.decode(bad, None).unwrap_err();
        assert!(matches!(error, MessageError::BadHeader { .. }), "{bad:?}: {error:?}");
    }
    assert!(matches!(fixture.decode(&[], None), Err(MessageError::Header { bytes: 0 })));
    assert!(fixture.scratch.memory_bytes() < 1 << 20);
}

#[test]
fn noise_is_an_error_or_a_message_within_the_limit() {
    let mut fixture = Fixture::new(Check::None);
    let pin = Pin::new(&message(6, 0)).unwrap();
    let mut state = 1_u64;
    let mut good = 0;
    for round in 0..200_000_usize {
        let mut noise = [0; 48];
        for byte in &mut noise {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            *byte = (state >> 56) as u8;
        }
        noise[0] = 1;
        // Mostly short lengths, so that some are right.
        noise[1] &= 0x3c | (noise[2] & 2);
        let decoded = fixture.decode(&noise[..3 + round % 45], Some(&pin));
        good += usize::from(decoded.is_ok_and(|message| message.len() <= 15));
    }
    assert!(good > 0, "without a check, some noise is a message");
}
