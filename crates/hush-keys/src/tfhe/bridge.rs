// SPDX-License-Identifier: Apache-2.0
//! The key from the secret of a ring to that of large ciphertexts.

use hush_params::tfhe::bridge::SWITCH;
use hush_ring::{SecretRng, UniformSeed, wiping_stack};
use hush_tfhe::{BridgeKey, BridgeParts, TfheError};
use zeroize::Zeroizing;

use super::TfheSecret;
use crate::chain::Small;
use crate::{ChainSecret, EncryptError};

impl TfheSecret {
    /// The key with which a server brings numbers from the slots of another secret under this one: for ciphertexts with so many powers of that secret.
    ///
    /// # Cost
    /// `powers·levels` encryptions of polynomials of the ring's degree: milliseconds.
    ///
    /// # Errors
    /// [`EncryptError::Tfhe`] for a degree, or a number of powers, that there is no key for; [`EncryptError::Randomness`].
    pub fn bridge_key(&self, from: &ChainSecret, powers: u32) -> Result<BridgeParts, EncryptError> {
        let context = self.context();
        let degree = from.chain().degree();
        let ring = BridgeKey::ring(context, degree)?;
        if !(1..=BridgeKey::MOST_POWERS).contains(&powers) {
            let expected = powers.clamp(1, BridgeKey::MOST_POWERS).into();
            return Err(
                TfheError::Count { what: "powers of a secret", found: powers.into(), expected }.into()
            );
        }
        let (limb, q) = (&ring.limbs()[0], context.modulus());
        wiping_stack(|| {
            let (seed, mut rng) = (UniformSeed::generate()?, SecretRng::from_os()?);
            let in_eval = |coefficients: &mut dyn Iterator<Item = (usize, i8)>| {
                let mut words = Zeroizing::new(vec![0; degree]);
                coefficients.for_each(|(place, value)| words[place] = q.reduce_i64(i64::from(value)));
                limb.forward(&mut words);
                words
            };
            let step = degree / context.set().degree();
            let own = self.polynomials.first().map_or(&[][..], |polynomial| polynomial);
            let own = in_eval(&mut own.iter().enumerate().map(|(place, value)| (step * place, *value)));
            let source = in_eval(&mut from.small().iter().copied().enumerate());
            let mut power = source.clone();
            let mut row = Zeroizing::new(vec![0; degree]);
            let mut bodies = Vec::with_capacity(BridgeKey::row_count(powers) * degree);
            for number in 0..BridgeKey::row_count(powers) {
                let level = number as u32 % SWITCH.levels;
                if number > 0 && level == 0 {
                    limb.mul_assign(&mut power, &source);
                }
                // Minus mask times secret, an error, and the power in units of the digit.
                seed.expand_limb(&ring, BridgeKey::label(number), 0, &mut row);
                limb.mul_assign(&mut row, &own);
                limb.neg_assign(&mut row);
                let mut error = Zeroizing::new(vec![0; degree]);
                Small::errors(&ring, &mut rng).add_to(limb, 1, &mut error);
                limb.forward(&mut error);
                limb.add_assign(&mut row, &error);
                limb.mul_scalar_add_assign(&mut row, &power, q.reduce_u64(1 << (SWITCH.bits * level)));
                bodies.extend_from_slice(&row);
            }
            Ok(BridgeParts { seed, bodies, degree, powers })
        })
    }
}
