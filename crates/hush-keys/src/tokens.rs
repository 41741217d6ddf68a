// SPDX-License-Identifier: Apache-2.0
//! Tokens: values encrypted so that equal ones look equal, for joins and equality that a server may see.

use aes_siv::KeyInit;
use aes_siv::siv::Aes256Siv;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

/// The key of the tokens of one name: AES-256 in the SIV mode (RFC 5297) without a nonce.
///
/// Equal values of one kind have equal tokens, in all tables of the owner's. That is what tokens are for, and all that they show beside their
/// length: as encryption they are deterministic and authenticated (Rogaway and Shrimpton, "Deterministic authenticated encryption", 2006).
///
/// *Secrecy.* Secret, wiped on drop, no `Debug`.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct TokenKey(Box<[u8; 64]>);

/// Bytes that a token has more than its value.
pub const TOKEN_OVERHEAD_BYTES: usize = 16;

impl TokenKey {
    pub(crate) fn from_bytes(bytes: &[u8; 64]) -> Self {
        let mut key = Box::new([0; 64]);
        key.copy_from_slice(bytes);
        Self(key)
    }

    /// The same key once more.
    pub fn copied(&self) -> Self {
        Self::from_bytes(&self.0)
    }

    /// The tokens of values of one kind; a missing value has none. Tokens of different kinds have nothing in common.
    ///
    /// # Cost
    /// Some hundred nanoseconds a value.
    pub fn tokens<T: AsRef<[u8]>>(
        &self,
        kind: &[u8],
        values: impl IntoIterator<Item = Option<T>>,
    ) -> Vec<Option<Vec<u8>>> {
        let mut cipher = Aes256Siv::new(&(*self.0).into());
        // It fails for more headers than the mode has, of which there is one.
        let mut token = |value: T| cipher.encrypt([kind], value.as_ref()).unwrap_or_default();
        values.into_iter().map(|value| value.map(&mut token)).collect()
    }

    /// The values of tokens that [`TokenKey::tokens`] made of this kind; `None` if one of them is no such token.
    ///
    /// # Cost
    /// As [`TokenKey::tokens`].
    pub fn values<T: AsRef<[u8]>>(
        &self,
        kind: &[u8],
        tokens: impl IntoIterator<Item = Option<T>>,
    ) -> Option<Vec<Option<Zeroizing<Vec<u8>>>>> {
        let mut cipher = Aes256Siv::new(&(*self.0).into());
        let mut value = |token: T| cipher.decrypt([kind], token.as_ref()).ok().map(Zeroizing::new);
        let value = |token: Option<T>| match token {
            Some(token) => value(token).map(Some),
            None => Some(None),
        };
        tokens.into_iter().map(value).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OwnerSeed;

    fn token(key: &TokenKey, kind: &[u8], value: &[u8]) -> Vec<u8> {
        key.tokens(kind, [Some(value)]).remove(0).unwrap()
    }

    /// Made with another implementation, AESSIV of Python's `cryptography`: RFC 5297 has no example with AES-256.
    #[test]
    fn tokens_are_those_of_another_implementation() {
        let bytes: Vec<u8> = (0..64).collect();
        let key = TokenKey::from_bytes(bytes.as_slice().try_into().unwrap());
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        assert_eq!(
            hex(&token(&key, b"number 0", &42_i64.to_le_bytes())),
            "255fb23888e5588131d952d0cbc542a78de54a1e4e41f754"
        );
    }

    #[test]
    fn tokens_open_and_are_of_their_name_owner_and_kind() {
        let (one, other) = (OwnerSeed::from_bytes(&[1; 32]), OwnerSeed::from_bytes(&[2; 32]));
        let keys = [one.token_key("a"), one.token_key("b"), other.token_key("a")];
        let of_keys = keys.iter().flat_map(|key| [token(key, b"x", b"value"), token(key, b"y", b"value")]);
        let all: std::collections::BTreeSet<Vec<u8>> = of_keys.collect();
        assert_eq!(all.len(), 6);
        let made = token(&keys[0], b"x", b"value");
        assert_eq!(made, token(&one.token_key("a"), b"x", b"value"));
        assert_eq!(made.len(), 5 + TOKEN_OVERHEAD_BYTES);
        let open = |key: &TokenKey, kind: &[u8], token: &[u8]| {
            key.values(kind, [Some(token), None]).map(|mut values| values.remove(0).unwrap().to_vec())
        };
        assert_eq!(open(&keys[0], b"x", &made).unwrap(), b"value");
        assert!(open(&keys[0], b"y", &made).is_none() && open(&keys[1], b"x", &made).is_none());
        for at in 0..made.len() {
            let mut forged = made.clone();
            forged[at] ^= 1;
            assert!(open(&keys[0], b"x", &forged).is_none(), "byte {at}");
            assert!(open(&keys[0], b"x", &made[..at]).is_none(), "length {at}");
        }
    }
}
