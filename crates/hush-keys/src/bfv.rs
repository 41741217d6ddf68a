// SPDX-License-Identifier: Apache-2.0
//! BFV encryption of single ring elements, coefficient by coefficient: for comparing schemes, not for tables.

use hush_ring::{Coeff, ERROR_BYTES, ExpandLabel, Poly, Ring, SecretRng, UniformSeed, sample_errors};
use hush_rlwe::RlweCiphertext;
use hush_schemes::bgv::bfv::BfvEncoding;
use zeroize::{Zeroize, Zeroizing};

use crate::decrypt::phase_words;
use crate::{DecryptError, EncryptError, SecretKey};

/// Encrypts up to `N` integers modulo `t`, under a fresh mask.
///
/// # Errors
/// [`EncryptError`] if there are too many values, the rings differ, or there is no entropy.
pub fn encrypt_bfv(
    secret: &SecretKey,
    encoding: &BfvEncoding,
    values: &[i64],
) -> Result<RlweCiphertext, EncryptError> {
    let ring: &Ring = secret.ring();
    let degree = ring.degree();
    let mut random = Zeroizing::new(vec![0; ERROR_BYTES * degree]);
    SecretRng::from_os()?.fill(&mut random);
    let mut errors = Zeroizing::new(vec![0; degree]);
    sample_errors(ring.cpu(), &random, &mut errors);
    let mut words = vec![0; ring.poly_words()];
    for (index, (limb, words)) in ring.limbs().iter().zip(words.chunks_exact_mut(degree)).enumerate() {
        let encoded = encoding.encode_limb(index, values, words);
        encoded.map_err(|source| EncryptError::Scheme { column: 0, source })?;
        limb.add_scaled_error(words, &errors, 1);
    }
    let mut body = Poly::<Coeff>::from_words(ring, words)?.into_eval();
    let mask = UniformSeed::generate()?.expand(ring, ExpandLabel::slot(0, 0, 0));
    let secret: Vec<u64> =
        (0..ring.limb_count()).flat_map(|limb| secret.eval_limb(limb).iter().copied()).collect();
    let mut product = Poly::from_words(ring, secret)?;
    product.mul_assign(&mask)?;
    body.sub_assign(&product)?;
    product.zeroize();
    Ok(RlweCiphertext::new(vec![body, mask])?)
}

/// The `N` coefficients of a ciphertext, nearest to zero modulo `t`.
///
/// # Errors
/// [`DecryptError`] if the secret, the ciphertext and the encoding do not belong together.
pub fn decrypt_bfv(
    secret: &SecretKey,
    encoding: &BfvEncoding,
    ciphertext: &RlweCiphertext,
) -> Result<Vec<i64>, DecryptError> {
    let words = phase_words(secret, ciphertext)?;
    let degree = secret.ring().degree();
    let mut residues = vec![0; secret.ring().limb_count()];
    let coefficient = |index: usize| {
        for (residue, limb) in residues.iter_mut().zip(words.chunks_exact(degree)) {
            *residue = limb[index];
        }
        Ok(encoding.decode(&residues)?)
    };
    (0..degree).map(coefficient).collect()
}
