// SPDX-License-Identifier: Apache-2.0
//! What identifies parameters that have no name.

/// BLAKE3 of the canonical encoding of parameters: two parameters with one fingerprint are the same.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// The fingerprint of the parameters with this canonical encoding.
    pub(crate) fn of(canonical: &[u8]) -> Self {
        Self(blake3::derive_key(CONTEXT, canonical))
    }

    /// The fingerprint with these bytes, of whatever parameters.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes, as headers have them.
    pub fn to_bytes(self) -> [u8; 32] {
        self.0
    }

    /// Reads 64 lowercase hexadecimal digits; `None` for any other text.
    pub fn from_hex(digits: &str) -> Option<Self> {
        let lowercase = |digit: u8| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit);
        if digits.len() != 64 || !digits.bytes().all(lowercase) {
            return None;
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(Self(bytes))
    }
}

impl std::fmt::Display for Fingerprint {
    /// All 64 digits.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl std::fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

const CONTEXT: &str = "hushtable v2 parameters";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_has_one_text() {
        let fingerprint = Fingerprint::of(b"parameters");
        assert_ne!(fingerprint, Fingerprint::of(b"other parameters"));
        assert_eq!(fingerprint.to_bytes(), blake3::derive_key("hushtable v2 parameters", b"parameters"));
        let text = fingerprint.to_string();
        assert_eq!(Fingerprint::from_hex(&text), Some(fingerprint));
        assert_eq!(Fingerprint::from_bytes(fingerprint.to_bytes()), fingerprint);
        let others =
            [text.to_uppercase(), text[1..].to_owned(), format!("{text}0"), "+f".repeat(32), "é".repeat(32)];
        for other in others {
            assert_eq!(Fingerprint::from_hex(&other), None, "{other}");
        }
    }
}
