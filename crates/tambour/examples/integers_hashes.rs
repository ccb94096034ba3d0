//! Integers in few bytes, one by one and by the slice, and hashes.
#![expect(clippy::print_stdout, reason = "an example for the terminal")]

use std::error::Error;
use tambour::hash::{city_hash_64, crc32c, xxh3_64};
use tambour::integer::leb128;
use tambour::varint::{Reader, Writer};

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    // Values one after the other, as Xapian packs them.
    let mut bytes = [0; 32];
    let mut writer = Writer::new(&mut bytes);
    writer.pack_uint(300)?;
    writer.pack_string(b"term")?;
    let written = writer.written();
    let mut reader = Reader::new(&bytes[..written]);
    assert_eq!(reader.unpack_uint::<u32>()?, 300);
    assert_eq!(reader.unpack_string()?, b"term");

    // Whole slices, faster: protobuf's varints.
    let numbers = [1_u64, 300, 70_000];
    let mut packed = [0; 30];
    let length = leb128::encode(&numbers, &mut packed).ok_or("no room")?;
    println!("{} numbers in {length} bytes", numbers.len());
    assert_eq!(length, 1 + 2 + 3);

    println!(
        "{:016x} {:016x} {:08x}",
        xxh3_64(b"drum", 0),
        city_hash_64(b"drum"),
        crc32c(0, b"drum")
    );
    assert_eq!(crc32c(0, b"123456789"), 0xe306_9283);
    Ok(())
}
