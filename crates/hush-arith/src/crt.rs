// SPDX-License-Identifier: Apache-2.0
//! From residues modulo several primes to one integer and back.

use ethnum::{I256, U256};

use crate::{ArithError, Modulus};

/// The largest number of moduli in a [`CrtBasis`]: up to it the float correction is proven exact.
pub const MAX_BASIS_LEN: usize = 64;

/// Distinct primes `q_0 … q_(k−1)` with the constants that turn residues into an integer modulo `2^256`.
///
/// *Words used.* `Q = ∏ q_i`, `Q̂_i = Q/q_i`.
/// *Invariants* (checked by [`CrtBasis::new`]): between 1 and [`MAX_BASIS_LEN`] distinct primes. `Q` may exceed `2^256`.
/// *Secrecy.* The basis is public; residues and integers may be secret, and no branch, index or division depends on them.
#[derive(Debug, Clone, PartialEq)]
pub struct CrtBasis {
    limbs: Vec<Limb>,
    /// `Q mod 2^256`.
    product: U256,
    /// `log2 Q`.
    log2_product: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Limb {
    modulus: Modulus,
    /// `Q̂_i⁻¹ mod q_i`.
    cofactor_inverse: u64,
    /// `Q̂_i mod 2^256`.
    cofactor: U256,
    /// `1/q_i`, rounded to nearest.
    reciprocal: f64,
    /// `2^128 mod q_i`.
    two_to_128: u64,
}

impl CrtBasis {
    /// Prepares a basis.
    ///
    /// # Errors
    /// [`ArithError::EmptyBasis`], [`ArithError::TooManyModuli`] or [`ArithError::DuplicateModulus`].
    pub fn new(moduli: &[Modulus]) -> Result<Self, ArithError> {
        if moduli.is_empty() {
            return Err(ArithError::EmptyBasis);
        }
        if moduli.len() > MAX_BASIS_LEN {
            return Err(ArithError::TooManyModuli { found: moduli.len(), max: MAX_BASIS_LEN });
        }
        for (i, modulus) in moduli.iter().enumerate() {
            if moduli[..i].contains(modulus) {
                return Err(ArithError::DuplicateModulus { found: modulus.value() });
            }
        }
        let limbs = moduli.iter().map(|&modulus| Limb::new(modulus, moduli)).collect::<Result<_, _>>()?;
        let product = wrapping_product(moduli.iter().copied());
        let log2_product = moduli.iter().map(|q| (q.value() as f64).log2()).sum();
        Ok(Self { limbs, product, log2_product })
    }

    /// The number of moduli.
    pub fn len(&self) -> usize {
        self.limbs.len()
    }

    /// Always `false`: a basis holds at least one modulus.
    pub fn is_empty(&self) -> bool {
        self.limbs.is_empty()
    }

    /// The moduli, in the order given.
    pub fn moduli(&self) -> impl ExactSizeIterator<Item = Modulus> + '_ {
        self.limbs.iter().map(|limb| limb.modulus)
    }

    /// `log2 Q`, good to about 12 digits.
    pub fn log2_product(&self) -> f64 {
        self.log2_product
    }

    /// A magnitude up to which [`CrtBasis::lift_centered`] is exact: `⌊Q/2⌋ − ⌊Q·2^−39⌋`, and below `2^255`.
    pub fn lift_limit(&self) -> I256 {
        // The logarithm is good to far more than these thousandths of a bit; near 2^256 the half is taken lower.
        match self.log2_product {
            log2 if log2 < 255.999 => ((self.product >> 1u32) - (self.product >> 39u32)).as_i256(),
            log2 if log2 < 256.001 => I256::ONE << 254u32,
            _ => I256::MAX,
        }
    }

    /// The integer `x`, `|x| < Q/2`, that has these residues; returned modulo `2^256`, in two's complement.
    ///
    /// # Math
    /// With `y_i = [x_i·Q̂_i⁻¹]_(q_i)`, `x = Σ y_i·Q̂_i − v·Q` where `v = ⌊Σ y_i/q_i⌉`. The integer sums are taken mod `2^256`;
    /// `v` is found in floating point. `Σ y_i/q_i = v + x/Q`, and its computed value is off by less than `2^−40` (below), so
    /// **`v` is exact whenever `|x| ≤ Q·(1/2 − 2^−40)`**; closer to `±Q/2` the answer may be off by `Q`.
    /// Decryption keeps far away from there: its noise bound leaves whole bits of headroom.
    ///
    /// Error of the float sum for `k ≤ 64` terms below 1: each product with a rounded reciprocal errs by at most `2^−52`, each
    /// of the additions by at most `k·2^−53`; together `k·2^−52 + k²·2^−53 ≤ 2^−46 + 2^−41 < 2^−40`.
    ///
    /// # Ranges
    /// In: one canonical residue per modulus, in order. Out: exact as an integer if `|x| < 2^255`.
    ///
    /// # Panics
    /// If the number of residues is not [`CrtBasis::len`]; the caller's layout fixes both.
    pub fn lift_centered(&self, residues: &[u64]) -> I256 {
        assert_eq!(residues.len(), self.limbs.len(), "one residue per modulus");
        let mut sum = U256::ZERO;
        let mut fraction = 0.0;
        for (limb, &residue) in self.limbs.iter().zip(residues) {
            let y = limb.modulus.mul(residue, limb.cofactor_inverse);
            sum = sum.wrapping_add(limb.cofactor.wrapping_mul(U256::from(y)));
            fraction += y as f64 * limb.reciprocal;
        }
        // fraction ≥ 0, so truncation of fraction + 1/2 rounds to nearest.
        let wraps = (fraction + 0.5) as u64;
        sum.wrapping_sub(self.product.wrapping_mul(U256::from(wraps))).as_i256()
    }

    /// `x mod q_i` for every modulus, in order.
    pub fn residues(&self, x: I256) -> Vec<u64> {
        let mut out = vec![0; self.limbs.len()];
        self.residues_into(x, &mut out);
        out
    }

    /// Writes `x mod q_i` for every modulus, in order.
    ///
    /// # Panics
    /// If the number of residues is not [`CrtBasis::len`].
    pub fn residues_into(&self, x: I256, out: &mut [u64]) {
        assert_eq!(out.len(), self.limbs.len(), "one residue per modulus");
        // x = high·2^128 + low with a signed high half.
        let (high, low) = x.into_words();
        for (limb, out) in self.limbs.iter().zip(out) {
            let q = limb.modulus;
            *out = q.add(q.mul(q.reduce_i128(high), limb.two_to_128), q.reduce_u128(low as u128));
        }
    }
}

impl Limb {
    fn new(modulus: Modulus, basis: &[Modulus]) -> Result<Self, ArithError> {
        let others = || basis.iter().copied().filter(|&other| other != modulus);
        let cofactor_residue = others().fold(modulus.reduce_u64(1), |product, other| {
            modulus.mul(product, modulus.reduce_u64(other.value()))
        });
        Ok(Self {
            modulus,
            cofactor_inverse: modulus.inv(cofactor_residue)?,
            cofactor: wrapping_product(others()),
            reciprocal: 1.0 / modulus.value() as f64,
            two_to_128: modulus.add(modulus.reduce_u128(u128::MAX), modulus.reduce_u64(1)),
        })
    }
}

/// The product modulo `2^256`.
fn wrapping_product(moduli: impl Iterator<Item = Modulus>) -> U256 {
    moduli.fold(U256::ONE, |product, q| product.wrapping_mul(U256::from(q.value())))
}

#[cfg(test)]
mod tests;
