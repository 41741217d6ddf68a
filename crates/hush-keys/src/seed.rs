// SPDX-License-Identifier: Apache-2.0
//! The owner's master seed and the keys that are derived from it.
//!
//! Only one 32-byte seed is stored. Every key below it comes from BLAKE3's key derivation under a context
//! string of its own. So no two purposes share key material, and a lost table key costs nothing: it is
//! derived again.

use ed25519_dalek::{Signer, SigningKey};
use hush_ring::{RandomnessError, Ring, SecretRng, os_random, wiping_stack};
use zeroize::Zeroizing;

use crate::batch::BatchKey;
use crate::kept::{Home, KeptRoots};
use crate::pads::PadKey;
use crate::release::ReleaseKey;
use crate::seal::{Cipher, SealKey};
use crate::secret::SecretKey;
use crate::tokens::TokenKey;

/// The name of an owner's key: the first 16 bytes of BLAKE3 of the Ed25519 verifying key. Public.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyId([u8; 16]);

impl KeyId {
    /// The id of the owner with `key` as verifying key.
    pub fn of(key: &VerifyingKey) -> Self {
        let mut id = [0; 16];
        id.copy_from_slice(&blake3::hash(&key.0.to_bytes()).as_bytes()[..16]);
        Self(id)
    }

    /// The bytes as they stand in binary headers.
    pub fn to_bytes(self) -> [u8; 16] {
        self.0
    }

    /// An id read from a header; it names a key, it proves nothing.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
}

impl std::fmt::Display for KeyId {
    /// 32 hexadecimal digits.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl std::fmt::Debug for KeyId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KeyId({self})")
    }
}

/// Verifies manifests that an owner signed. Public.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerifyingKey(ed25519_dalek::VerifyingKey);

impl VerifyingKey {
    /// Reads a key from 32 bytes; `None` if they are no point of the curve.
    pub fn from_bytes(bytes: &[u8; 32]) -> Option<Self> {
        ed25519_dalek::VerifyingKey::from_bytes(bytes).ok().map(Self)
    }

    /// The 32 bytes of the key.
    pub fn to_bytes(&self) -> [u8; 32] {
        self.0.to_bytes()
    }

    /// Whether `signature` is the owner's on `message` (strict verification: no malleable encodings, no
    /// small-order keys).
    pub fn verifies(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        let signature = ed25519_dalek::Signature::from_bytes(signature);
        self.0.verify_strict(message, &signature).is_ok()
    }
}

/// The owner's master seed, and the roots that are with it in the owner's key file and nowhere else.
///
/// *Secrecy.* Secret. Wiped on drop; neither `Clone` nor `Debug` nor comparable; leaves the process only
/// through [`crate::keyfile`], encrypted.
pub struct OwnerSeed {
    pub(crate) seed: Box<Zeroizing<[u8; 32]>>,
    pub(crate) kept: KeptRoots,
    pub(crate) home: Home,
}

impl OwnerSeed {
    /// A new seed of the operating system's entropy.
    ///
    /// # Errors
    /// [`RandomnessError`] if there is none.
    pub fn generate() -> Result<Self, RandomnessError> {
        let mut seed = Box::new(Zeroizing::new([0; 32]));
        os_random(seed.as_mut_slice())?;
        Ok(Self { seed, kept: KeptRoots::default(), home: Home::Memory })
    }

    /// The seed in `bytes`, as a key file stores it. The caller wipes its copy.
    pub(crate) fn from_bytes(bytes: &[u8; 32]) -> Self {
        let mut seed = Box::new(Zeroizing::new([0; 32]));
        seed.copy_from_slice(bytes);
        Self { seed, kept: KeptRoots::default(), home: Home::Memory }
    }

    pub(crate) fn expose(&self) -> &[u8; 32] {
        &self.seed
    }

    /// The public name of this owner.
    pub fn key_id(&self) -> KeyId {
        KeyId::of(&self.verifying_key())
    }

    /// The public half of the manifest signature key.
    pub fn verifying_key(&self) -> VerifyingKey {
        wiping_stack(|| VerifyingKey(self.signing_key().verifying_key()))
    }

    /// Signs a manifest with Ed25519 (deterministic, so that signing needs no randomness).
    pub fn sign(&self, message: &[u8]) -> [u8; 64] {
        wiping_stack(|| self.signing_key().sign(message).to_bytes())
    }

    fn signing_key(&self) -> SigningKey {
        let bytes = Zeroizing::new(blake3::derive_key(CONTEXT_SIGN, self.seed.as_slice()));
        SigningKey::from_bytes(&bytes)
    }

    /// The keys of one encryption of a table: `table_id` stays for the life of the table, `encryption` is drawn anew
    /// whenever the table is encrypted again.
    pub fn of_table(&self, table_id: [u8; 16], encryption: [u8; 16]) -> TableKeys<'_> {
        TableKeys::new(&self.seed, table_id, encryption)
    }

    /// The key of a table's batches, for all encryptions of the table.
    pub fn batch_key(&self, table_id: [u8; 16]) -> BatchKey {
        let of_all = self.of_table(table_id, [0; 16]);
        wiping_stack(|| BatchKey::from_bytes(blake3::derive_key(CONTEXT_BATCHES, &of_all.material(&[]))))
    }

    /// The key of the tokens of this name, in all tables of the owner's.
    pub fn token_key(&self, name: &str) -> TokenKey {
        wiping_stack(|| {
            let mut hasher = blake3::Hasher::new_derive_key(CONTEXT_TOKENS);
            hasher.update(self.seed.as_slice()).update(name.as_bytes());
            let mut key = Zeroizing::new([0; 64]);
            hasher.finalize_xof().fill(key.as_mut_slice());
            TokenKey::from_bytes(&key)
        })
    }
}

/// The columns that an RLWE secret encrypts. Secrets of different kinds have nothing in common, even with equal ids: a decrypted
/// approximate result tells something about its own secret, and nothing about an exact column's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretKind {
    /// One approximate column by element-wise slots, or several that meet in products.
    ApproxSlots,
    /// One approximate column to be summed.
    ApproxSum,
    /// One exact column by element-wise slots, or several that meet in products.
    Slots,
    /// One exact column to be summed.
    Sum,
}

/// Derives the keys of one encryption of one table.
///
/// The identifier of the encryption enters every key: what one encryption's results tell of its secrets opens no other
/// encryption of the same table.
#[derive(Clone, Copy)]
pub struct TableKeys<'a> {
    /// The owner's seed, or the root of a domain.
    root: &'a [u8; 32],
    /// Table id, then the identifier of the encryption.
    identity: [u8; 32],
}

impl<'a> TableKeys<'a> {
    pub(crate) fn new(root: &'a [u8; 32], table_id: [u8; 16], encryption: [u8; 16]) -> Self {
        let mut identity = [0; 32];
        identity[..16].copy_from_slice(&table_id);
        identity[16..].copy_from_slice(&encryption);
        TableKeys { root, identity }
    }

    /// The key of the sealed schema.
    pub fn schema_seal(&self) -> SealKey {
        self.seal_key(CONTEXT_SEALED_SCHEMA, &[])
    }

    /// The key of the sealed column with this number: it opens no other column, and not the schema.
    pub fn column_seal(&self, number: u32, cipher: Cipher) -> SealKey {
        let context = match cipher {
            Cipher::XChaCha20Poly1305 => CONTEXT_SEALED_COLUMN,
            Cipher::Xaes256Gcm => CONTEXT_SEALED_COLUMN_BY_AES,
        };
        SealKey::new(self.derived(context, &number.to_le_bytes()), cipher)
    }

    /// An RLWE secret, uniform ternary, over a ring of `N` coefficients.
    ///
    /// `id` is the random 128-bit id of a column, or of a group of slot columns that meet in products. The same arguments give
    /// the same secret; any other kind, parameter set or id gives an independent one, which is what lets columns share a
    /// uniform polynomial.
    pub fn secret(&self, kind: SecretKind, ring: &Ring, id: [u8; 16]) -> SecretKey {
        let material = self.material(&[&ring.param_code().to_le_bytes(), &id]);
        SecretKey::sample(ring, id, &mut SecretRng::derive(kind.context(), &material))
    }

    /// The key of the sealed roots of the table's domains.
    pub fn roots_seal(&self) -> SealKey {
        self.seal_key(CONTEXT_SEALED_ROOTS, &[])
    }

    /// The key of the pads of cubes.
    pub fn cube_pads(&self) -> PadKey {
        wiping_stack(|| PadKey::from_bytes(blake3::derive_key(CONTEXT_PADS, &self.material(&[]))))
    }

    /// The key of sorted runs.
    pub fn run_seal(&self) -> SealKey {
        self.seal_key(CONTEXT_SEALED_RUNS, &[])
    }

    /// The key of the journal of an encryption that may be interrupted.
    pub fn journal_seal(&self) -> SealKey {
        self.seal_key(CONTEXT_SEALED_JOURNAL, &[])
    }

    /// The key of the ledger that counts released numbers.
    pub fn ledger_seal(&self) -> SealKey {
        self.seal_key(CONTEXT_SEALED_LEDGER, &[])
    }

    /// The key of the noise on released numbers.
    pub fn release_key(&self) -> ReleaseKey {
        wiping_stack(|| ReleaseKey::from_bytes(blake3::derive_key(CONTEXT_RELEASE, &self.material(&[]))))
    }

    fn seal_key(&self, context: &'static str, place: &[u8]) -> SealKey {
        SealKey::new(self.derived(context, place), Cipher::XChaCha20Poly1305)
    }

    fn derived(&self, context: &'static str, place: &[u8]) -> Box<[u8; 32]> {
        wiping_stack(|| Box::new(blake3::derive_key(context, &self.material(&[place]))))
    }

    /// The input of a key derivation: the seed and `parts`. In every context the parts have fixed lengths.
    fn material(&self, parts: &[&[u8]]) -> Zeroizing<Vec<u8>> {
        let length = parts.iter().map(|part| part.len()).sum::<usize>();
        let mut material = Zeroizing::new(Vec::with_capacity(64 + length));
        material.extend_from_slice(self.root);
        material.extend_from_slice(&self.identity);
        parts.iter().for_each(|part| material.extend_from_slice(part));
        material
    }
}

impl SecretKind {
    fn context(self) -> &'static str {
        match self {
            Self::ApproxSlots => "hushtable v2 RLWE ternary secret of approximate slots",
            Self::ApproxSum => "hushtable v2 RLWE ternary secret of an approximate sum column",
            Self::Slots => "hushtable v2 RLWE ternary secret of exact slots",
            Self::Sum => "hushtable v2 RLWE ternary secret of an exact sum column",
        }
    }
}

const CONTEXT_TOKENS: &str = "hushtable v2 key of the tokens of a name";
const CONTEXT_BATCHES: &str = "hushtable v2 key of the batches of a table";
const CONTEXT_SIGN: &str = "hushtable v1 manifest signature Ed25519";
const CONTEXT_SEALED_COLUMN: &str = "hushtable v2 sealed column XChaCha20-Poly1305";
const CONTEXT_SEALED_COLUMN_BY_AES: &str = "hushtable v2 sealed column XAES-256-GCM";
const CONTEXT_SEALED_JOURNAL: &str = "hushtable v2 sealed journal of an encryption XChaCha20-Poly1305";
const CONTEXT_SEALED_LEDGER: &str = "hushtable v2 sealed ledger of releases XChaCha20-Poly1305";
const CONTEXT_SEALED_ROOTS: &str = "hushtable v2 sealed roots of domains XChaCha20-Poly1305";
const CONTEXT_PADS: &str = "hushtable v2 key of the pads of cubes";
const CONTEXT_RELEASE: &str = "hushtable v2 key of the noise on released numbers";
const CONTEXT_SEALED_RUNS: &str = "hushtable v2 sealed runs XChaCha20-Poly1305";
const CONTEXT_SEALED_SCHEMA: &str = "hushtable v2 sealed schema XChaCha20-Poly1305";

#[cfg(test)]
mod tests {
    use hush_params::preset;
    use hush_ring::Cpu;

    use super::*;
    use crate::seal::{SEAL_OVERHEAD_BYTES, SealError};

    fn fixed() -> OwnerSeed {
        OwnerSeed::from_bytes(&[7; 32])
    }

    fn table(seed: &OwnerSeed, table_id: u8, encryption: u8) -> TableKeys<'_> {
        seed.of_table([table_id; 16], [encryption; 16])
    }

    fn digest(secret: &SecretKey) -> String {
        let bytes: Vec<u8> = secret.small().iter().map(|&s| s as u8).collect();
        blake3::hash(&bytes).to_hex()[..16].to_owned()
    }

    /// Keys are derived again from the seed for as long as a table lives, so the derivation is a format. The numbers come
    /// from another implementation, written from its definition in Python with the packages `blake3` and `cryptography`:
    /// master seed 00 … 1f, table id 20 … 2f, encryption 30 … 3f, id 40 … 4f, set 2, sealed column 3.
    #[test]
    fn keys_never_change() {
        let ring = Ring::new(preset("n12_q2x46_sec128_v1").unwrap(), Cpu::detect().unwrap()).unwrap();
        let bytes = |from: u8| std::array::from_fn(|index| from + index as u8);
        let owner = OwnerSeed::from_bytes(&std::array::from_fn(|index| index as u8));
        let keys = owner.of_table(bytes(32), bytes(48));
        for (kind, expected) in [
            (SecretKind::ApproxSlots, "4ef1ba336ac9e0dd"),
            (SecretKind::ApproxSum, "9bde4ff99167da90"),
            (SecretKind::Slots, "ec9a22b56badfd9b"),
            (SecretKind::Sum, "cdaa37ce05f88f5e"),
        ] {
            assert_eq!(digest(&keys.secret(kind, &ring, bytes(64))), expected, "{kind:?}");
        }
        for (key, expected) in [
            (keys.schema_seal(), "7732f905cae97e49"),
            (keys.column_seal(3, Cipher::XChaCha20Poly1305), "5e13da78b3308594"),
            (keys.column_seal(3, Cipher::Xaes256Gcm), "01f26250750a0576"),
        ] {
            assert_eq!(blake3::hash(key.expose()).to_hex()[..16], *expected);
        }
    }

    /// Whatever differs, the secret does: kind, table, encryption, set, id.
    #[test]
    fn secrets_of_different_purposes_are_different() {
        let cpu = Cpu::detect().unwrap();
        let ring = |name| Ring::new(preset(name).unwrap(), cpu).unwrap();
        let (small, same_degree) = (ring("n12_q2x46_sec128_v1"), ring("n12_q3x34_sec128_v1"));
        let owner = fixed();
        let kinds = [SecretKind::ApproxSlots, SecretKind::ApproxSum, SecretKind::Slots, SecretKind::Sum];
        let mut seen = std::collections::BTreeSet::new();
        for (keys, ring, id) in [
            (table(&owner, 1, 1), &small, 1),
            (table(&owner, 2, 1), &small, 1),
            (table(&owner, 1, 2), &small, 1),
            (table(&owner, 1, 1), &same_degree, 1),
            (table(&owner, 1, 1), &small, 2),
        ] {
            for kind in kinds {
                assert!(seen.insert(digest(&keys.secret(kind, ring, [id; 16]))), "{kind:?}");
            }
        }
        let again = table(&owner, 1, 1).secret(SecretKind::Sum, &small, [1; 16]);
        assert!(seen.contains(&digest(&again)), "the same arguments give the same secret");
    }

    /// A sealed column's key opens that column alone: no other, not the schema, and nothing of another table or encryption.
    #[test]
    fn a_seal_key_opens_what_it_sealed_alone() {
        let owner = fixed();
        let keys = || {
            let column = |keys: TableKeys<'_>, number| keys.column_seal(number, Cipher::Xaes256Gcm);
            let of = |keys: TableKeys<'_>| [keys.schema_seal(), column(keys, 0), column(keys, 1)];
            [table(&owner, 1, 1), table(&owner, 1, 2), table(&owner, 2, 1)].map(of).into_iter().flatten()
        };
        for (index, key) in keys().enumerate() {
            let sealed = key.seal(b"place", b"private").unwrap();
            let opened: Vec<bool> = keys().map(|other| other.open(b"place", &sealed).is_ok()).collect();
            assert_eq!(opened, (0..9).map(|other| other == index).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_key_id_is_a_function_of_the_seed() {
        assert_eq!(fixed().key_id(), fixed().key_id());
        assert_ne!(fixed().key_id(), OwnerSeed::generate().unwrap().key_id());
        assert_eq!(fixed().key_id().to_string().len(), 32);
    }

    #[test]
    fn signatures_verify_and_altered_messages_do_not() {
        let seed = fixed();
        let key = seed.verifying_key();
        let signature = seed.sign(b"manifest");
        assert!(key.verifies(b"manifest", &signature));
        assert!(!key.verifies(b"manifesu", &signature));
        let mut flipped = signature;
        flipped[3] ^= 1;
        assert!(!key.verifies(b"manifest", &flipped));
        assert!(!OwnerSeed::generate().unwrap().verifying_key().verifies(b"manifest", &signature));
        assert_eq!(VerifyingKey::from_bytes(&key.to_bytes()), Some(key));
    }

    #[test]
    fn sealed_data_opens_in_its_place_only() {
        let key = table(&fixed(), 1, 1).schema_seal();
        let sealed = key.seal(b"column 3 chunk 9", b"private").unwrap();
        assert_eq!(sealed.len(), 7 + SEAL_OVERHEAD_BYTES);
        assert_eq!(*key.open(b"column 3 chunk 9", &sealed).unwrap(), *b"private");
        assert!(matches!(key.open(b"column 3 chunk 8", &sealed), Err(SealError::Refused)));
        let other = table(&fixed(), 2, 1).schema_seal();
        assert!(matches!(other.open(b"column 3 chunk 9", &sealed), Err(SealError::Refused)));
        for index in 0..sealed.len() {
            let mut flipped = sealed.clone();
            flipped[index] ^= 0x10;
            assert!(key.open(b"column 3 chunk 9", &flipped).is_err(), "byte {index}");
        }
        for length in 0..SEAL_OVERHEAD_BYTES {
            let result = key.open(b"column 3 chunk 9", &sealed[..length]);
            assert!(matches!(result, Err(SealError::TooShort { .. })), "length {length}");
        }
    }

    #[test]
    fn two_seals_of_one_message_differ() {
        let key = table(&fixed(), 1, 1).schema_seal();
        assert_ne!(key.seal(b"", b"x").unwrap(), key.seal(b"", b"x").unwrap());
    }
}
