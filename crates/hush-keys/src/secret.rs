// SPDX-License-Identifier: Apache-2.0
//! RLWE secrets: uniform ternary polynomials.

use hush_ring::{Ring, RingError, SecretRng, TERNARY_BYTES, sample_ternary};
use zeroize::{Zeroize, Zeroizing};

/// A secret polynomial `s` with coefficients in `{−1, 0, 1}`, in both domains.
///
/// *Layout.* `small`: `N` signed bytes; `eval`: `limbs·N` canonical residues. Both are allocated once at their
/// final size, so that no copy is left behind. *Secrecy.* Secret. Wiped on drop; neither `Clone` nor
/// `Debug` nor comparable nor serialisable: it is derived again from the owner's seed instead.
pub struct SecretKey {
    ring: Ring,
    /// Tells secrets of one ring apart without looking at them: the id that it was derived for.
    label: [u8; 16],
    small: Box<[i8]>,
    eval: Box<[u64]>,
}

impl SecretKey {
    /// Samples a secret from `rng`, constant-time. `label` is the public id that the secret belongs to.
    pub(crate) fn sample(ring: &Ring, label: [u8; 16], rng: &mut SecretRng) -> Self {
        let degree = ring.degree();
        let mut random = Zeroizing::new(vec![0_u8; TERNARY_BYTES * degree]);
        rng.fill(&mut random);
        let mut small = vec![0_i8; degree].into_boxed_slice();
        sample_ternary(ring.cpu(), &random, &mut small);
        Self::of_small(ring, label, small)
    }

    /// Samples a secret with `weight` coefficients of 1 or −1, the others 0, at places and with signs that are uniform. No access to memory depends on them; how often a
    /// place is drawn that is taken already is seen.
    ///
    /// # Cost
    /// `weight` passes over the polynomial, and one for each place that is drawn again.
    pub(crate) fn sample_sparse(ring: &Ring, weight: usize, rng: &mut SecretRng) -> Self {
        let degree = ring.degree();
        let mut small = vec![0_i8; degree].into_boxed_slice();
        let (mut random, mut drawn) = (Zeroizing::new([0_u8; 8]), 0);
        while drawn < weight.min(degree) {
            rng.fill(&mut *random);
            let word = u64::from_le_bytes(*random);
            // N is a power of two.
            let (place, sign) = (word as usize & (degree - 1), 1 - 2 * (word >> 63) as i8);
            let mut added = 0;
            for (index, value) in small.iter_mut().enumerate() {
                let here = -i8::from(std::hint::black_box(index ^ place) == 0);
                let free = here & -i8::from(std::hint::black_box(*value) == 0);
                *value |= free & sign;
                added |= free;
            }
            drawn += usize::from(added != 0);
        }
        Self::of_small(ring, [0; 16], small)
    }

    /// The same polynomial over another ring of its degree.
    ///
    /// # Errors
    /// [`RingError::RingMismatch`] for another degree.
    pub(crate) fn over(&self, ring: &Ring) -> Result<Self, RingError> {
        if ring.degree() != self.ring.degree() {
            let (left, right) = (self.ring.param_code(), ring.param_code());
            return Err(RingError::RingMismatch { left, right });
        }
        Ok(Self::of_small(ring, self.label, self.small.clone()))
    }

    fn of_small(ring: &Ring, label: [u8; 16], small: Box<[i8]>) -> Self {
        let degree = ring.degree();
        let wide: Zeroizing<Vec<i64>> = Zeroizing::new(small.iter().map(|&s| i64::from(s)).collect());
        let mut eval = vec![0_u64; ring.poly_words()].into_boxed_slice();
        for (limb, words) in ring.limbs().iter().zip(eval.chunks_exact_mut(degree)) {
            limb.lift_signed(&wide, words);
            limb.forward(words);
        }
        Self { ring: ring.clone(), label, small, eval }
    }

    /// The ring.
    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    /// The public id that the secret was derived for.
    pub(crate) fn label(&self) -> [u8; 16] {
        self.label
    }

    /// `N` coefficients in `{−1, 0, 1}`.
    pub(crate) fn small(&self) -> &[i8] {
        &self.small
    }

    /// One limb in the evaluation domain.
    pub(crate) fn eval_limb(&self, limb: usize) -> &[u64] {
        self.eval.chunks_exact(self.ring.degree()).nth(limb).unwrap_or(&[])
    }
}

impl Drop for SecretKey {
    fn drop(&mut self) {
        self.small.zeroize();
        self.eval.zeroize();
    }
}

impl zeroize::ZeroizeOnDrop for SecretKey {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_domains_hold_the_same_polynomial() {
        let ring = Ring::insecure_toy(32, &[0x3fff_ffcc_0001, 0x3fff_ffb2_0001]).unwrap();
        let secret = SecretKey::sample(&ring, [0; 16], &mut SecretRng::from_os().unwrap());
        for (index, limb) in ring.limbs().iter().enumerate() {
            let mut words = secret.eval_limb(index).to_vec();
            limb.inverse(&mut words);
            let small = words.iter().zip(secret.small());
            assert!(small.clone().all(|(&word, &s)| word == limb.modulus().reduce_i64(i64::from(s))));
        }
        assert!(secret.small().iter().all(|s| (-1..=1).contains(s)));
    }

    #[test]
    fn sparse_secrets_have_their_weight_at_uniform_places_with_both_signs() {
        let (degree, weight, draws) = (64, 16, 4000);
        let ring = Ring::insecure_toy(degree, &[0x3fff_ffcc_0001]).unwrap();
        let mut rng = SecretRng::from_os().unwrap();
        let (mut places, mut positive) = (vec![0_f64; degree], 0_f64);
        for _ in 0..draws {
            let secret = SecretKey::sample_sparse(&ring, weight, &mut rng);
            assert_eq!(secret.small().iter().filter(|&&s| s != 0).count(), weight);
            assert!(secret.small().iter().all(|s| (-1..=1).contains(s)));
            for (place, &s) in secret.small().iter().enumerate() {
                places[place] += f64::from(s.abs());
                positive += f64::from(u8::from(s == 1));
            }
        }
        // Chi-square with 63 degrees of freedom, variances lower by the share of free places: above 150 with probability below 2^-30.
        let expected = (draws * weight) as f64 / degree as f64;
        let chi: f64 = places.iter().map(|count| (count - expected).powi(2) / expected).sum();
        assert!(chi < 150.0, "chi-square {chi}");
        let total = (draws * weight) as f64;
        assert!((positive - total / 2.0).abs() < 7.0 * total.sqrt() / 2.0, "{positive} of {total}");
        let full = SecretKey::sample_sparse(&ring, 1000, &mut rng);
        assert!(full.small().iter().all(|&s| s != 0));
    }

    /// Chi-square with 2 degrees of freedom over 3·2^17 samples: above 27.7 with probability 2^-20 if the
    /// distribution is right.
    #[test]
    fn coefficients_are_uniform() {
        let ring = Ring::insecure_toy(1 << 16, &[0x3fff_ffcc_0001]).unwrap();
        let mut counts = [0_f64; 3];
        for _ in 0..6 {
            let secret = SecretKey::sample(&ring, [0; 16], &mut SecretRng::from_os().unwrap());
            secret.small().iter().for_each(|&s| counts[(s + 1) as usize] += 1.0);
        }
        let expected = 6.0 * 65536.0 / 3.0;
        let chi: f64 = counts.iter().map(|count| (count - expected).powi(2) / expected).sum();
        assert!(chi < 27.7, "chi-square {chi}, counts {counts:?}");
    }
}
