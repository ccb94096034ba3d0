//! Cryptographic digests of texts, as bytes of a fixed length: `MD5`, `SHA1`, `SHA256`, `keccak256` and
//! their siblings.

use arrow_array::ArrayRef;
use md4::Md4;
use md5::Md5;
use ripemd::Ripemd160;
use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512, Sha512_256};
use sha3::Keccak256;
use tambour_function::kit::{Call, rule};
use tambour_function::{Function, FunctionError};
use tambour_part::types::DataType;

macro_rules! digests {
    ($($name:literal $digest:ident $width:literal;)+) => {
        &[
            $(
                Function::new(
                    $name,
                    rule!(Text => DataType::FixedString($width)),
                    digest::<$digest>,
                )
                .any_case(),
            )+
            Function::new("halfMD5", rule!(Text => DataType::UInt64), half),
        ]
    };
}

/// The functions of this room.
pub(crate) const FUNCTIONS: &[Function] = digests! {
    "MD4" Md4 16;
    "MD5" Md5 16;
    "RIPEMD160" Ripemd160 20;
    "SHA1" Sha1 20;
    "SHA224" Sha224 28;
    "SHA256" Sha256 32;
    "SHA384" Sha384 48;
    "SHA512" Sha512 64;
    "SHA512_256" Sha512_256 32;
    "keccak256" Keccak256 32;
};

fn digest<D: Digest>(call: &Call) -> Result<ArrayRef, FunctionError> {
    let texts = call.texts(0)?;
    let width = <D as Digest>::output_size();
    call.make_fixed(width, |row, out| out.extend_from_slice(&D::digest(texts.get(row))))
}

/// The first eight bytes of MD5, the highest first.
fn half(call: &Call) -> Result<ArrayRef, FunctionError> {
    let texts = call.texts(0)?;
    call.make_integers(|row| {
        let digest = Md5::digest(texts.get(row));
        digest.iter().take(8).fold(0, |number, byte| number << 8 | i128::from(*byte))
    })
}
