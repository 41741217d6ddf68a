// SPDX-License-Identifier: Apache-2.0
//! Keys with which a server brings sums of products back to two components.

use hush_ring::{Eval, Poly, SecretRng, UniformSeed, Words};
use hush_rlwe::PowerKeys;
use zeroize::Zeroize;

use crate::chain::Small;
use crate::{EncryptError, SecretKey};

/// Keys for the powers of a secret from its square up to `highest`, with errors in units of the plaintext modulus `t`: `b = −a·s + t·e + u·s^i` for each power
/// i and prime, where u is 1 modulo that prime and 0 modulo the others.
///
/// *Secrecy.* The keys are public, if encryptions of a secret's powers under the secret reveal nothing.
///
/// # Cost
/// A transform and an expanded mask for each residue of a body.
///
/// # Errors
/// [`EncryptError::Randomness`]; [`EncryptError::Rlwe`] for a power that no product has.
pub fn power_keys(secret: &SecretKey, t: u64, highest: usize) -> Result<PowerKeys, EncryptError> {
    let ring = secret.ring();
    let (seed, mut rng) = (UniformSeed::generate()?, SecretRng::from_os()?);
    let masks = PowerKeys::masks(ring, seed, highest)?;
    let mut power = Poly::<Eval>::recycled(ring);
    let mut product = Words::recycled(ring.degree());
    for index in 0..ring.limb_count() {
        power.limb_mut(index).copy_from_slice(secret.eval_limb(index));
    }
    let mut bodies = Vec::with_capacity(masks.len());
    for masks in masks.chunks_exact(ring.limb_count()) {
        for (index, limb) in ring.limbs().iter().enumerate() {
            limb.mul_assign(power.limb_mut(index), secret.eval_limb(index));
        }
        for (prime, mask) in masks.iter().enumerate() {
            let errors = Small::errors(ring, &mut rng);
            let mut body = Poly::<Eval>::zero(ring);
            for (index, limb) in ring.limbs().iter().enumerate() {
                let row = body.limb_mut(index);
                errors.add_to(limb, t, row);
                limb.forward(row);
                limb.mul_into(&mut product, mask.limb(index), secret.eval_limb(index));
                limb.sub_assign(row, &product);
                if index == prime {
                    limb.add_assign(row, power.limb(index));
                }
            }
            bodies.push(body);
        }
    }
    power.zeroize();
    product.zeroize();
    Ok(PowerKeys::new(ring, seed, highest, bodies)?)
}
