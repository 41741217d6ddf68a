// SPDX-License-Identifier: Apache-2.0
//! Encryption of sum columns with public keys and no secret: for a device that must not decrypt.
//!
//! # Math
//! The owner publishes one uniform `A` for all columns of a ring, and for each column `B_c = −A·s_c + τ·E_c`. For each ring
//! element the device draws one ternary `u` and small `e', e_c`, and stores `a = A·u + τ·e'` and
//! `b_c = B_c·u + τ·e_c + m_c`. The phase `b_c + a·s_c` is `m_c + τ·(e_c + E_c·u + e'·s_c)`: as of a symmetric encryption, with a
//! larger error ([`hush_params::noise::device_factor`]). `τ` is the plaintext modulus that the columns share, 1 for reals.
//!
//! # Security
//! Given ring-LWE for the secrets `s_c` under the shared `A`, the `B_c` look uniform; given it for the secret `u`, with one sample
//! more than there are columns, so do `a` and all `b_c`. Each ring element has a `u` of its own.
//! `docs/security/multi-secret.md` has the argument.
//!
//! # Cost
//! Storing `a` once for all columns would make the second half of a ciphertext nearly free; it stands beside every column all the
//! same, so that one column can be read alone.

use hush_ring::{
    ERROR_BYTES, Eval, Poly, RandomnessError, Ring, RingLimb, SecretRng, TERNARY_BYTES, UniformSeed,
    sample_errors, sample_ternary,
};
use hush_rlwe::{BodyId, BodyKind, BodyWriter};
use zeroize::Zeroize;

use crate::{PublicKeyError, Values};

/// The public keys of columns of one ring that share masks.
///
/// *Secrecy.* Public; who has it can encrypt, not decrypt.
#[derive(Clone, Debug)]
pub struct SumPublicKey {
    ring: Ring,
    seed: UniformSeed,
    mask: Poly<Eval>,
    scale_log2: u32,
    scale: Vec<u64>,
    columns: Vec<PublicColumn>,
}

/// The public key of one column.
#[derive(Clone, Debug)]
pub struct PublicColumn {
    /// Encoded column id, as the manifest numbers them.
    pub column: u32,
    /// `B = −A·s + τ·E`.
    pub key: Poly<Eval>,
}

impl SumPublicKey {
    /// Keys under the mask of `seed`, for errors in multiples of `2^scale_log2`: log2 of the columns' plaintext modulus, 0 for
    /// reals.
    ///
    /// # Errors
    /// [`PublicKeyError::Ring`] for a key of another ring, [`PublicKeyError::TooNarrow`] if errors in such multiples leave no room.
    pub fn new(
        ring: &Ring,
        seed: UniformSeed,
        scale_log2: u32,
        columns: Vec<PublicColumn>,
    ) -> Result<Self, PublicKeyError> {
        for column in &columns {
            ring.check_same(column.key.ring())?;
        }
        let log_q = ring.crt().log2_product() as u32;
        let noise = hush_params::noise::device_factor(ring.degree()).log2().ceil() as u32 + 6;
        if scale_log2 + noise > log_q {
            return Err(PublicKeyError::TooNarrow { found: scale_log2, log_q });
        }
        let power = |limb: &RingLimb| limb.modulus().pow(2, u64::from(scale_log2));
        let scale = ring.limbs().iter().map(power).collect();
        let mask = Self::mask_of(ring, seed);
        Ok(Self { ring: ring.clone(), seed, mask, scale_log2, scale, columns })
    }

    /// The uniform `A` of a seed.
    pub fn mask_of(ring: &Ring, seed: UniformSeed) -> Poly<Eval> {
        seed.expand(ring, hush_ring::ExpandLabel::public_key())
    }

    /// The ring.
    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    /// The seed of `A`.
    pub fn seed(&self) -> UniformSeed {
        self.seed
    }

    /// log2 of the common divisor of all errors.
    pub fn scale_log2(&self) -> u32 {
        self.scale_log2
    }

    /// The columns, in the order of [`PublicEncryptor::encrypt`].
    pub fn columns(&self) -> &[PublicColumn] {
        &self.columns
    }
}

/// Encrypts chunks with public keys; keeps its buffers between them. One per thread.
///
/// *Secrecy.* The buffers hold plaintext, errors and ephemeral secrets in turn; they are wiped on drop.
#[derive(Default)]
pub struct PublicEncryptor {
    random: Vec<u8>,
    small: Vec<i8>,
    errors: Vec<i32>,
    /// `u`, all limbs, evaluation domain.
    ephemeral: Vec<u64>,
    /// The mask of the ring element, all limbs.
    mask: Vec<u64>,
    /// One limb.
    body: Vec<u64>,
    /// One limb of a product.
    product: Vec<u64>,
}

impl PublicEncryptor {
    /// An encryptor with empty buffers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Encrypts one chunk of as many columns as the key has, in its order; gives a body with masks for each.
    ///
    /// # Shapes
    /// `columns`: one per column of the key, of equal lengths of at least 1; integers within what `2^scale_log2` holds, or
    /// scaled reals that the caller has bounded.
    ///
    /// # Cost
    /// Per ring element and limb two transforms for the mask, and one for each column; no expansion.
    ///
    /// # Errors
    /// A [`PublicKeyError`]; nothing is returned then.
    pub fn encrypt(
        &mut self,
        key: &SumPublicKey,
        chunk: u32,
        columns: &[Values<'_>],
    ) -> Result<Vec<Vec<u8>>, PublicKeyError> {
        let rows = columns.first().map_or(0, Values::len);
        if columns.len() != key.columns.len()
            || rows == 0
            || columns.iter().any(|values| values.len() != rows)
        {
            return Err(PublicKeyError::Columns { found: columns.len(), expected: key.columns.len() });
        }
        let ring = &key.ring;
        for (public, values) in key.columns.iter().zip(columns).filter(|_| key.scale_log2 > 0) {
            let fits = values.check_bits(key.scale_log2);
            fits.map_err(|source| PublicKeyError::Scheme { column: public.column, source })?;
        }
        let element_count = rows.div_ceil(ring.degree()) as u32;
        let writer = |column: &PublicColumn| {
            let id = BodyId { column: column.column, chunk, element_count, lanes: 1 };
            BodyWriter::new(ring, BodyKind::MaskedSum, id)
        };
        let mut writers = key.columns.iter().map(writer).collect::<Result<Vec<_>, _>>()?;
        let mut rng = SecretRng::from_os()?;
        self.fit(ring);
        for element in 0..element_count as usize {
            self.draw_mask(key, &mut rng);
            for ((public, values), writer) in key.columns.iter().zip(columns).zip(&mut writers) {
                let values = values.slice(element * ring.degree(), ring.degree());
                self.draw_errors(ring, &mut rng);
                for (index, limb) in ring.limbs().iter().enumerate() {
                    limb.mul_into(
                        &mut self.product,
                        public.key.limb(index),
                        limb_of(&self.ephemeral, ring, index),
                    );
                    limb.inverse(&mut self.product);
                    values.residues_into(limb, &mut self.body);
                    limb.add_scaled_error(&mut self.body, &self.errors, key.scale[index]);
                    limb.add_assign(&mut self.body, &self.product);
                    writer.push_limb(limb, &self.body);
                }
                for (index, limb) in ring.limbs().iter().enumerate() {
                    writer.push_limb(limb, limb_of(&self.mask, ring, index));
                }
            }
        }
        writers.into_iter().map(|writer| Ok(writer.finish()?)).collect()
    }

    /// Draws `u`, and `a = A·u + τ·e'`, both in the evaluation domain.
    fn draw_mask(&mut self, key: &SumPublicKey, rng: &mut SecretRng) {
        let ring = &key.ring;
        let degree = ring.degree();
        let ternary = &mut self.random[..TERNARY_BYTES * degree];
        rng.fill(ternary);
        sample_ternary(ring.cpu(), ternary, &mut self.small);
        for (wide, small) in self.errors.iter_mut().zip(&self.small) {
            *wide = i32::from(*small);
        }
        for (limb, ephemeral) in ring.limbs().iter().zip(self.ephemeral.chunks_exact_mut(degree)) {
            ephemeral.fill(0);
            limb.add_scaled_error(ephemeral, &self.errors, 1);
            limb.forward(ephemeral);
        }
        self.draw_errors(ring, rng);
        for (index, limb) in ring.limbs().iter().enumerate() {
            let place = index * degree..(index + 1) * degree;
            let ephemeral = &self.ephemeral[place.clone()];
            let mask = &mut self.mask[place];
            mask.fill(0);
            limb.add_scaled_error(mask, &self.errors, key.scale[index]);
            limb.forward(mask);
            limb.mul_add_assign(mask, key.mask.limb(index), ephemeral);
        }
    }

    fn draw_errors(&mut self, ring: &Ring, rng: &mut SecretRng) {
        let random = &mut self.random[..ERROR_BYTES * ring.degree()];
        rng.fill(random);
        sample_errors(ring.cpu(), random, &mut self.errors);
    }

    /// Makes every buffer as long as the ring needs; those of another length are wiped and replaced.
    fn fit(&mut self, ring: &Ring) {
        if self.body.len() == ring.degree() && self.mask.len() == ring.poly_words() {
            return;
        }
        let degree = ring.degree();
        *self = Self {
            random: vec![0; ERROR_BYTES.max(TERNARY_BYTES) * degree],
            small: vec![0; degree],
            errors: vec![0; degree],
            ephemeral: vec![0; ring.poly_words()],
            mask: vec![0; ring.poly_words()],
            body: vec![0; degree],
            product: vec![0; degree],
        };
    }
}

impl Drop for PublicEncryptor {
    fn drop(&mut self) {
        self.random.zeroize();
        self.small.zeroize();
        self.errors.zeroize();
        self.ephemeral.zeroize();
        self.body.zeroize();
        self.product.zeroize();
    }
}

impl std::fmt::Debug for PublicEncryptor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PublicEncryptor(..)")
    }
}

fn limb_of<'a>(words: &'a [u64], ring: &Ring, index: usize) -> &'a [u64] {
    words.chunks_exact(ring.degree()).nth(index).unwrap_or(&[])
}

impl From<RandomnessError> for PublicKeyError {
    fn from(_: RandomnessError) -> Self {
        Self::Randomness
    }
}
