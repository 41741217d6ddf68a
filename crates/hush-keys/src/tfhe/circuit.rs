// SPDX-License-Identifier: Apache-2.0
//! The keys of circuit bootstrapping.

use hush_ring::{UniformSeed, wiping_stack};
use hush_tfhe::{CircuitKey, CircuitParts, TfheError};
use zeroize::Zeroizing;

use super::{Rows, TfheSecret, lifted};
use crate::EncryptError;

impl TfheSecret {
    /// The keys of circuit bootstrapping, for a server that has those of [`TfheSecret::server_keys`].
    ///
    /// # Cost
    /// `(log2 N + 1)·l_t` encryptions of polynomials: a hundredth of the other keys.
    ///
    /// # Errors
    /// [`EncryptError::Tfhe`] for a set without circuit bootstrapping; [`EncryptError::Randomness`].
    pub fn circuit_keys(&self) -> Result<CircuitParts, EncryptError> {
        let (context, limb) = (self.context(), self.context.limb());
        let set = context.set();
        let rows = CircuitKey::row_count(context)?;
        let (Some(circuit), Some(small)) = (set.circuit(), self.polynomials.first()) else {
            return Err(TfheError::NoCircuit { set: set.name() }.into());
        };
        let (degree, switch) = (set.degree(), circuit.switch);
        wiping_stack(|| {
            let (seed, secrets) = (UniformSeed::generate()?, self.polynomials_in_eval());
            let mut encrypt = Rows::new(context, &secrets, seed)?;
            let mut bodies = Vec::with_capacity(rows * degree);
            let coefficients = lifted(context, small);
            let steps = degree.trailing_zeros();
            for key in 0..=steps {
                let mut message = Zeroizing::new(vec![0; degree]);
                if key < steps {
                    CircuitKey::moved(context, key as usize + 1, &coefficients, &mut message);
                    limb.forward(&mut message);
                } else if let Some(secret) = secrets.first() {
                    limb.mul_into(&mut message, secret.words(), secret.words());
                }
                let mut scaled = Zeroizing::new(vec![0; degree]);
                for (level, unit) in (0..).zip(switch.units()) {
                    scaled.copy_from_slice(&message);
                    limb.mul_scalar_assign(&mut scaled, limb.modulus().reduce_u64(1 << unit));
                    bodies.extend(encrypt.encrypt((key, level), &scaled));
                }
            }
            Ok(CircuitParts { seed, bodies })
        })
    }
}
