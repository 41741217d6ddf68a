// SPDX-License-Identifier: Apache-2.0
//! Names and contents of batches of rows, as a table remembers them: digests under a key of the owner's.

use zeroize::{Zeroize, ZeroizeOnDrop};

/// The key of a table's batches: tells which batches are the same, over all encryptions of the table.
///
/// *Secrecy.* Secret, wiped on drop, no `Debug`: its holder can try names and rows.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct BatchKey(Box<[u8; 32]>);

impl BatchKey {
    pub(crate) fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(Box::new(bytes))
    }

    pub(crate) fn expose(&self) -> &[u8; 32] {
        &self.0
    }

    pub(crate) fn copied(&self) -> Self {
        Self(self.0.clone())
    }

    /// Stands for a batch's name in public.
    pub fn tag(&self, name: &str) -> [u8; 16] {
        let mut tag = [0; 16];
        tag.copy_from_slice(&self.digest(b"name", name).as_bytes()[..16]);
        tag
    }

    /// Stands for the rows of the batch called `name` in public: `chunks` are the fingerprints of its chunks, `rows` their rows. Batches
    /// of different names have nothing in common, even with the same rows.
    pub fn content(&self, name: &str, rows: u64, chunks: &[u128]) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_keyed(self.digest(b"rows", name).as_bytes());
        hasher.update(&rows.to_le_bytes());
        for chunk in chunks {
            hasher.update(&chunk.to_le_bytes());
        }
        *hasher.finalize().as_bytes()
    }

    fn digest(&self, purpose: &[u8; 4], name: &str) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(purpose);
        hasher.update(name.as_bytes());
        hasher.finalize()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::OwnerSeed;

    #[test]
    fn whatever_differs_the_digests_do() {
        let (one, other) = (OwnerSeed::from_bytes(&[1; 32]), OwnerSeed::from_bytes(&[2; 32]));
        let keys = [one.batch_key([3; 16]), one.batch_key([4; 16]), other.batch_key([3; 16])];
        let (names, contents) =
            (["a", "b", "", "rows"], [(2, vec![7_u128, 8]), (2, vec![8, 7]), (3, vec![7, 8])]);
        let mut seen = BTreeSet::new();
        for key in &keys {
            for name in names {
                assert!(seen.insert(key.tag(name).to_vec()), "{name}");
                for (rows, chunks) in &contents {
                    assert!(
                        seen.insert(key.content(name, *rows, chunks).to_vec()),
                        "{name} {rows} {chunks:?}"
                    );
                }
            }
        }
        let again = OwnerSeed::from_bytes(&[1; 32]).batch_key([3; 16]);
        assert_eq!(again.tag("a"), keys[0].tag("a"));
        assert_eq!(again.content("a", 2, &[7, 8]), keys[0].content("a", 2, &[7, 8]));
    }
}
