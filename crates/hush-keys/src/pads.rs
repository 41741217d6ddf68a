// SPDX-License-Identifier: Apache-2.0
//! One-time pads of cubes: a stream of numbers for each cube of each part, which only the owner can make.

use chacha20::XChaCha20;
use chacha20::cipher::{KeyIvInit, StreamCipher};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// The key of the pads of a domain's cubes: XChaCha20, whose output nobody tells from random numbers without the key.
///
/// A pad hides a number once. The nonce is the random name of the part's cubes and the number of the cube, so that no two cubes share a pad
/// as long as no two parts share a name.
///
/// *Secrecy.* Secret, wiped on drop, no `Debug`: its holder takes pads off.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct PadKey(Box<[u8; 32]>);

impl PadKey {
    pub(crate) fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(Box::new(bytes))
    }

    /// The same key once more.
    pub fn copied(&self) -> Self {
        Self(self.0.clone())
    }

    /// Fills `pads` with the pads of cube `number` of the part whose cubes are called `part`. At most 256 GiB.
    ///
    /// # Cost
    /// Some 1 GB a second.
    pub fn fill(&self, part: &[u8; 16], number: u32, pads: &mut [u8]) {
        let mut nonce = [0; 24];
        nonce[..16].copy_from_slice(part);
        nonce[16..20].copy_from_slice(&number.to_le_bytes());
        pads.fill(0);
        XChaCha20::new(&(*self.0).into(), &nonce.into()).apply_keystream(pads);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Arguments that differ anywhere give other pads, and the same ones the same.
    #[test]
    fn pads_are_of_their_key_part_and_cube() {
        let pads = |key: u8, part: u8, number: u32| {
            let mut pads = vec![7; 100];
            PadKey::from_bytes([key; 32]).fill(&[part; 16], number, &mut pads);
            pads
        };
        let all = [pads(1, 1, 1), pads(2, 1, 1), pads(1, 2, 1), pads(1, 1, 2)];
        for (place, one) in all.iter().enumerate() {
            assert!(all[..place].iter().all(|other| other != one));
            let ones: u32 = one.iter().map(|byte| byte.count_ones()).sum();
            assert!((300..500).contains(&ones), "{ones}");
        }
        assert_eq!(pads(1, 1, 1), all[0]);
    }
}
