// SPDX-License-Identifier: Apache-2.0
//! Keys that bring sums of products back to two components.
//!
//! ```text
//!   key i, j    b = −a·s + t·e + u_j·s^i            u_j is 1 modulo q_j, and 0 modulo the other primes
//!   digits      c_i = Σ_j d_ij·u_j                  d_ij is c_i modulo q_j, nearest to 0
//!   result      (c_0 + Σ d_ij·b_ij,  c_1 + Σ d_ij·a_ij)     over the powers i from 2 on, and all primes j
//! ```
//!
//! The result has the phase of the sum and `t·Σ d_ij·e_ij`. Digits are as wide as a prime, so that this is far above the error of a fresh ciphertext, and
//! a key of a chain has a special prime against that. Here nothing is multiplied any more, and there is room for it below Q: no prime is needed, and so
//! the ring and its security are those of the ciphertexts (docs/math/products.md).

use hush_ring::{Eval, ExpandLabel, Poly, Ring, RingError, UniformSeed};

use crate::answer::unpack_poly;
use crate::header::{self, Header, MAX_PRODUCT_COMPONENTS, SEED_BYTES, Shape};
use crate::{CodecError, ObjectKind, RlweError, append_packed, set_of};

/// Keys for the powers of a secret from its square up to one.
///
/// *Secrecy.* Public, under the usual assumption that encryptions of a secret's powers under itself reveal nothing (circular security).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PowerKeys {
    ring: Ring,
    seed: UniformSeed,
    highest: usize,
    /// Power after power, a body and a mask for each prime.
    bodies: Vec<Poly<Eval>>,
    masks: Vec<Poly<Eval>>,
}

impl PowerKeys {
    /// The masks of keys for the powers up to `highest` and every prime, in the order of [`PowerKeys::new`].
    ///
    /// # Errors
    /// [`RlweError::ProductDegree`] unless the highest power is from 2 up to that of the largest product.
    pub fn masks(ring: &Ring, seed: UniformSeed, highest: usize) -> Result<Vec<Poly<Eval>>, RlweError> {
        let most = MAX_PRODUCT_COMPONENTS - 1;
        if !(2..=most).contains(&highest) {
            return Err(RlweError::ProductDegree { found: highest, most });
        }
        let powers = (2..=highest as u32).flat_map(|power| {
            (0..ring.limb_count() as u32).map(move |prime| ExpandLabel::key_switch(power, prime))
        });
        Ok(powers.map(|label| seed.expand(ring, label)).collect())
    }

    /// The keys with these bodies, power after power, and the masks of `seed`.
    ///
    /// # Cost
    /// A mask is expanded for each body.
    ///
    /// # Errors
    /// As [`PowerKeys::masks`]; [`RlweError::Ring`] for bodies of another ring, or another number of them.
    pub fn new(
        ring: &Ring,
        seed: UniformSeed,
        highest: usize,
        bodies: Vec<Poly<Eval>>,
    ) -> Result<Self, RlweError> {
        let masks = Self::masks(ring, seed, highest)?;
        let (found, expected) = (bodies.len(), masks.len());
        if found != expected {
            return Err(RingError::Length { found, expected }.into());
        }
        bodies.iter().try_for_each(|body| ring.check_same(body.ring()))?;
        Ok(Self { ring: ring.clone(), seed, highest, bodies, masks })
    }

    /// The largest degree of a sum that they bring back.
    pub fn highest(&self) -> usize {
        self.highest
    }

    /// Bytes in memory, masks included.
    pub fn memory_bytes(&self) -> usize {
        2 * self.bodies.len() * self.ring.poly_words() * size_of::<u64>()
    }

    /// Two components with the phase of these, but for the error of `hush_params::noise::relinearised_phase_log2`.
    ///
    /// # Cost
    /// For each component from the third on as many transforms as the square of the number of primes, and two products for each residue of these.
    ///
    /// # Errors
    /// [`RlweError::ProductDegree`] for more components than there are keys for, or fewer than two; [`RlweError::Ring`] for another ring.
    pub fn relinearise(&self, components: &[Poly<Eval>]) -> Result<Vec<Poly<Eval>>, RlweError> {
        let (found, most) = (components.len().saturating_sub(1), self.highest);
        let [body, mask, rest @ ..] = components else {
            return Err(RlweError::ProductDegree { found, most });
        };
        if found > most {
            return Err(RlweError::ProductDegree { found, most });
        }
        components.iter().try_for_each(|component| self.ring.check_same(component.ring()))?;
        let digits: Vec<_> = rest.iter().map(|component| component.clone().into_coeff()).collect();
        let (mut body, mut mask) = (body.clone(), mask.clone());
        let limbs = self.ring.limbs();
        let mut sums = [vec![0; self.ring.degree()], vec![0; self.ring.degree()]];
        for (index, limb) in limbs.iter().enumerate() {
            let lift = |digit: &Poly<_>, source: usize| {
                let mut row = vec![0; self.ring.degree()];
                limb.recenter(limbs[source].modulus(), &mut row, digit.limb(source));
                limb.forward(&mut row);
                row
            };
            let digit = |(component, digit): (&Poly<Eval>, &Poly<_>)| {
                let of_prime = |source: usize| match source == index {
                    // In the evaluation domain already.
                    true => component.limb(index).to_vec(),
                    false => lift(digit, source),
                };
                (0..limbs.len()).map(of_prime).collect::<Vec<_>>()
            };
            let rows: Vec<Vec<u64>> = rest.iter().zip(&digits).flat_map(digit).collect();
            let rows: Vec<&[u64]> = rows.iter().map(Vec::as_slice).collect();
            let keys = [&self.bodies, &self.masks]
                .map(|keys| keys.iter().take(rows.len()).map(|key| key.limb(index)).collect::<Vec<_>>());
            let [to_body, to_mask] = &mut sums;
            limb.dot_pair((to_body, to_mask), &rows, (&keys[0], &keys[1]));
            limb.add_assign(body.limb_mut(index), to_body);
            limb.add_assign(mask.limb_mut(index), to_mask);
        }
        Ok(vec![body, mask])
    }

    /// The binary object.
    ///
    /// # Errors
    /// [`CodecError::UnknownParams`] for a toy ring.
    pub fn encode(&self) -> Result<Vec<u8>, CodecError> {
        let mut bytes = head(&self.ring, self.highest)?.begin()?;
        bytes.extend_from_slice(&self.seed.to_bytes());
        for body in &self.bodies {
            body.limbs().for_each(|(limb, words)| append_packed(&mut bytes, limb, words));
        }
        header::seal(&mut bytes);
        Ok(bytes)
    }

    /// The keys in an object that must be those for these powers: lengths, header, checksum and every residue are checked.
    ///
    /// # Errors
    /// A [`CodecError`] that names the first fault.
    pub fn decode(bytes: &[u8], ring: &Ring, highest: usize) -> Result<Self, CodecError> {
        let (header, payload) = Header::decode(bytes)?;
        header.expect(&head(ring, highest)?)?;
        let missing = CodecError::Length { found: payload.len() as u64, expected: header.payload_bytes };
        let (seed, packed) = payload.split_first_chunk::<SEED_BYTES>().ok_or(missing)?;
        let poly_bytes = ring.limb_count() * ring.limb_bytes();
        let body = |packed: &[u8]| Ok(Poly::from_words(ring, unpack_poly(ring, packed, 0)?)?);
        let bodies = packed.chunks_exact(poly_bytes).map(body).collect::<Result<_, CodecError>>()?;
        let keys = Self::new(ring, UniformSeed::from_bytes(*seed), highest, bodies);
        keys.map_err(|_| CodecError::ElementCount { found: header.shape.element_count, expected: 0 })
    }
}

/// The header of keys for these powers.
fn head(ring: &Ring, highest: usize) -> Result<Header, CodecError> {
    let powers = highest.saturating_sub(1).min(MAX_PRODUCT_COMPONENTS);
    let shape = Shape {
        column: 0,
        chunk: 0,
        element_count: (powers * ring.limb_count()) as u32,
        lanes: 1,
        components: 1,
        rounded_bits: 0,
    };
    Ok(Header::over_ring(ObjectKind::PowerKeys, set_of(ring)?, shape))
}
