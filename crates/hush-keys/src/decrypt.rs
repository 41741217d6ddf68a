// SPDX-License-Identifier: Apache-2.0
//! Decryption of answers and of stored columns. For the owner's eyes: approximate results that go to anyone else need the
//! noise of [`crate::Flood`].
//!
//! The plaintext of an exact layout is read only if an honest ciphertext can have its phase ([`PhaseLimit`]); any other
//! ciphertext was falsified or damaged. The approximate layouts have no such test: there the phase is the value, which the
//! caller compares with its bound.
//!
//! # Timing
//! Independent of secrets, phases and messages, except the conversion to floats in the approximate layouts.

use ethnum::I256;
use hush_ring::{Eval, Poly, Ring, UniformSeed};
use hush_rlwe::{Body, RlweCiphertext, SumAnswer, SumMasks};
use hush_schemes::bgv::decode_power_of_two;
use hush_schemes::bgv::slots::SlotEncoder;
use hush_schemes::ckks::{ApproxEncoder, Scale, decode_coefficient};
use zeroize::{Zeroize, Zeroizing};

use crate::{DecryptError, SecretKey};

/// The largest phase that an honest ciphertext has, as a plan or an encoding proves it but with a chance of 2^-128.
///
/// Public: it follows from parameters, rows and weights, not from the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseLimit(I256);

impl PhaseLimit {
    /// Takes every phase: for measurements, and where something else proves the result.
    pub const NONE: Self = Self(I256::MAX);

    /// `2^bound_log2`, and a millionth more for the rounding of the bound itself. A bound that is no number is as one of 1.
    pub fn from_log2(bound_log2: f64) -> Self {
        /// Bits of the mantissa that are kept.
        const DIGITS: i32 = 40;
        let bound_log2 = bound_log2.max(0.0) + 1.5e-6;
        if bound_log2 >= 254.0 {
            return Self::NONE;
        }
        let whole = bound_log2.floor();
        let mantissa = I256::from(((bound_log2 - whole + f64::from(DIGITS)).exp2().ceil()) as i64);
        let shift = whole as i32 - DIGITS;
        Self(if shift >= 0 {
            mantissa << shift as u32
        } else {
            (mantissa >> shift.unsigned_abs()) + I256::ONE
        })
    }

    /// Refuses phases if one is larger in absolute value; tells neither which one nor by how much.
    ///
    /// # Timing
    /// All phases are looked at, without a branch, before there is an answer.
    fn check(self, phases: &[I256]) -> Result<(), DecryptError> {
        let beyond = phases.iter().fold(I256::ZERO, |signs, phase| {
            let sign = *phase >> 255_u32;
            signs | self.0.wrapping_sub((*phase ^ sign).wrapping_sub(sign))
        });
        if beyond < I256::ZERO { Err(DecryptError::Beyond) } else { Ok(()) }
    }
}

/// The masked sum of column `body` of an answer, exact if it lies in `[−t/2, t/2)`.
///
/// # Math
/// `phase = b_0 + (a·s)_0 mod Q`, lifted to `(−Q/2, Q/2)`, then the residue modulo `t = 2^t_log2` nearest to zero.
///
/// # Cost
/// `limbs·N` additions: no transform.
///
/// # Errors
/// [`DecryptError::Ring`] for a secret of another ring, [`DecryptError::Body`] if there is no such column,
/// [`DecryptError::Beyond`] for a phase above `limit`.
pub fn decrypt_sum(
    secret: &SecretKey,
    answer: &SumAnswer,
    body: usize,
    t_log2: u32,
    limit: PhaseLimit,
) -> Result<I256, DecryptError> {
    let phase = sum_phase(secret, answer, body)?;
    limit.check(&[phase])?;
    Ok(decode_power_of_two(phase, t_log2))
}

/// The masked sum of an `approx_sum` column.
///
/// # Errors
/// As [`decrypt_sum`].
pub fn decrypt_approx_sum(
    secret: &SecretKey,
    answer: &SumAnswer,
    body: usize,
    scale: Scale,
) -> Result<f64, DecryptError> {
    Ok(decode_coefficient(sum_phase(secret, answer, body)?, scale))
}

/// The first `row_count` values of a stored `sum` column in one chunk.
///
/// # Errors
/// [`DecryptError::Ring`] for a secret or body of another ring, [`DecryptError::ElementCount`] if the body does not
/// hold exactly the ring elements of `row_count` rows, [`DecryptError::Beyond`] for a phase above `limit`.
pub fn decrypt_sum_chunk(
    secret: &SecretKey,
    seed: UniformSeed,
    body: &Body<'_>,
    row_count: usize,
    t_log2: u32,
    limit: PhaseLimit,
) -> Result<Vec<I256>, DecryptError> {
    let phases = chunk_phases(secret, seed, body, row_count)?;
    limit.check(&phases)?;
    Ok(phases.iter().map(|phase| decode_power_of_two(*phase, t_log2)).collect())
}

/// The first `row_count` values of a stored `approx_sum` column in one chunk.
///
/// # Errors
/// As [`decrypt_sum_chunk`].
pub fn decrypt_approx_sum_chunk(
    secret: &SecretKey,
    seed: UniformSeed,
    body: &Body<'_>,
    row_count: usize,
    scale: Scale,
) -> Result<Vec<f64>, DecryptError> {
    let phases = chunk_phases(secret, seed, body, row_count)?;
    Ok(phases.iter().map(|phase| decode_coefficient(*phase, scale)).collect())
}

/// The `N` slots of one ring element: one ciphertext per plaintext prime, of one to three components.
///
/// # Errors
/// [`DecryptError`] if the secret, the ciphertexts and the encoder do not belong together; [`DecryptError::Beyond`] if the
/// phase of a coefficient is above `limit`.
pub fn decrypt_slots(
    secret: &SecretKey,
    encoder: &SlotEncoder,
    lanes: &[RlweCiphertext],
    limit: PhaseLimit,
) -> Result<Vec<I256>, DecryptError> {
    let slots = |(lane, ciphertext)| {
        let phases = phase(secret, ciphertext)?;
        limit.check(&phases)?;
        Ok(encoder.slots(lane, &phases)?)
    };
    let residues = lanes.iter().enumerate().map(slots).collect::<Result<Vec<_>, DecryptError>>()?;
    Ok(encoder.combine(&residues)?)
}

/// The `N` slots, modulo the encoder's one prime, of a sum of products of stored ciphertexts ([`hush_rlwe::ProductSums`]).
///
/// # Math
/// Modulo `t` the phase is the sum of the products of the messages, as long as it has not passed `Q/2`: `docs/math/products.md`.
///
/// Rounded components need [`crate::check_powers`] before, and a limit that allows for roundings
/// (`hush_params::noise::rounded_product_phase_log2`).
///
/// # Errors
/// As [`decrypt_slots`].
pub fn decrypt_product(
    secret: &SecretKey,
    encoder: &SlotEncoder,
    components: &[Poly<Eval>],
    limit: PhaseLimit,
) -> Result<Vec<u64>, DecryptError> {
    let phases = phase_of(secret, components)?;
    limit.check(&phases)?;
    Ok(encoder.slots(0, &phases)?)
}

/// The `N/2` real slots of one ring element.
///
/// # Errors
/// [`DecryptError`] if the secret, the ciphertext and the encoder do not belong together.
pub fn decrypt_approx_slots(
    secret: &SecretKey,
    encoder: &ApproxEncoder,
    ciphertext: &RlweCiphertext,
    scale: Scale,
) -> Result<Vec<f64>, DecryptError> {
    Ok(encoder.decode(&phase(secret, ciphertext)?, scale)?)
}

/// The phase of a ciphertext, all coefficients, lifted to `(−Q/2, Q/2)`.
///
/// # Math
/// Horner: `c_0 + s·(c_1 + s·c_2)`.
pub(crate) fn phase(secret: &SecretKey, ciphertext: &RlweCiphertext) -> Result<Phases, DecryptError> {
    phase_of(secret, ciphertext.components())
}

/// The phase of any number of components: as [`phase`].
pub(crate) fn phase_of(secret: &SecretKey, components: &[Poly<Eval>]) -> Result<Phases, DecryptError> {
    let words = phase_words(secret, components)?;
    let mut phases = Phases(Vec::with_capacity(secret.ring().degree()));
    phases.lift(secret.ring(), &words, secret.ring().degree());
    Ok(phases)
}

/// Coefficients of phases, before decoding takes the errors off.
///
/// *Secrecy.* As secret as the key: with the ciphertext beside it, a phase is a linear equation in the secret. Wiped on drop; never grows,
/// so that no copy is left behind.
pub(crate) struct Phases(Vec<I256>);

impl From<I256> for Phases {
    fn from(phase: I256) -> Self {
        Self(vec![phase])
    }
}

impl Phases {
    /// Appends the first `count` coefficients of one polynomial, lifted; `words` are limb after limb.
    fn lift(&mut self, ring: &Ring, words: &[u64], count: usize) {
        let degree = ring.degree();
        let mut residues = Zeroizing::new(vec![0; ring.limb_count()]);
        for index in 0..count.min(degree) {
            for (residue, limb) in residues.iter_mut().zip(words.chunks_exact(degree)) {
                *residue = limb[index];
            }
            self.0.push(ring.crt().lift_centered(&residues));
        }
    }
}

impl Phases {
    /// The phases once `flood` has added noise to them in their place: nobody holds them bare, and no copy is made.
    pub(crate) fn flooded(mut self, flood: impl FnOnce(&mut [I256])) -> Vec<I256> {
        flood(&mut self.0);
        std::mem::take(&mut self.0)
    }
}

impl std::ops::Deref for Phases {
    type Target = [I256];

    fn deref(&self) -> &[I256] {
        &self.0
    }
}

impl Drop for Phases {
    fn drop(&mut self) {
        self.0.iter_mut().for_each(|phase| phase.0.zeroize());
    }
}

/// The residues of the phase in coefficients, limb after limb.
fn phase_words(secret: &SecretKey, components: &[Poly<Eval>]) -> Result<Zeroizing<Vec<u64>>, DecryptError> {
    let ring = secret.ring();
    let mut words = Zeroizing::new(vec![0; ring.poly_words()]);
    for component in components.iter().rev() {
        ring.check_same(component.ring())?;
        let limbs = words.chunks_exact_mut(ring.degree()).zip(component.limbs());
        for (index, (words, (limb, component))) in limbs.enumerate() {
            limb.mul_assign(words, secret.eval_limb(index));
            limb.add_assign(words, component);
        }
    }
    for (limb, words) in ring.limbs().iter().zip(words.chunks_exact_mut(ring.degree())) {
        limb.inverse(words);
    }
    Ok(words)
}

pub(crate) fn sum_phase(secret: &SecretKey, answer: &SumAnswer, body: usize) -> Result<I256, DecryptError> {
    let ring = secret.ring();
    ring.check_same(answer.ring())?;
    let missing = DecryptError::Body { found: body, body_count: answer.body_count() };
    let mut residues = Zeroizing::new(answer.body(body).ok_or(missing)?.to_vec());
    for (residue, (limb, a)) in residues.iter_mut().zip(answer.a.limbs()) {
        let q = limb.modulus();
        *residue = q.add(*residue, q.reduce_i64(constant_of_product(a, secret.small())));
    }
    Ok(ring.crt().lift_centered(&residues))
}

/// Coefficient 0 of `a·s` before reduction: `a_0·s_0 − Σ_{i>0} a_i·s_{N−i}`.
///
/// # Ranges
/// `a` canonical, below `2^47`, at most `2^14` of them: the sum stays below `2^61`.
fn constant_of_product(a: &[u64], s: &[i8]) -> i64 {
    let term = |(&a, &s): (&u64, &i8)| a as i64 * i64::from(s);
    match (a.split_first(), s.split_first()) {
        (Some((a_0, a)), Some((s_0, s))) => {
            term((a_0, s_0)) - a.iter().zip(s.iter().rev()).map(term).sum::<i64>()
        }
        _ => 0,
    }
}

/// The phases of the rows of a stored column in one chunk: coefficients beyond them are neither lifted nor checked.
pub(crate) fn chunk_phases(
    secret: &SecretKey,
    seed: UniformSeed,
    body: &Body<'_>,
    row_count: usize,
) -> Result<Phases, DecryptError> {
    let elements = StoredElements::new(secret, seed, body, row_count)?;
    let mut phases = Phases(Vec::with_capacity(row_count));
    for element in 0..elements.count() {
        elements.read(element).lift_into(&mut phases, row_count);
    }
    Ok(phases)
}

/// The ring elements of a stored column of sums in one chunk, with the secret that opens them.
pub(crate) struct StoredElements<'a> {
    secret: &'a SecretKey,
    masks: SumMasks<'a>,
    body: &'a Body<'a>,
    count: u32,
}

/// One of them: mask in evaluations, body in coefficients, limb after limb.
pub(crate) struct StoredElement<'a> {
    secret: &'a SecretKey,
    mask: Vec<u64>,
    body: Vec<u64>,
}

impl<'a> StoredElements<'a> {
    pub(crate) fn new(
        secret: &'a SecretKey,
        seed: UniformSeed,
        body: &'a Body<'a>,
        row_count: usize,
    ) -> Result<Self, DecryptError> {
        let ring = secret.ring();
        let (left, right) = (body.param_code(), ring.param_code());
        if left != right {
            return Err(hush_ring::RingError::RingMismatch { left, right }.into());
        }
        let (found, expected) = (body.id().element_count, row_count.div_ceil(ring.degree()) as u32);
        if found != expected {
            return Err(DecryptError::ElementCount { found, expected });
        }
        if body.coefficients() < row_count {
            return Err(DecryptError::Coefficients { found: body.coefficients(), expected: row_count });
        }
        let masks = SumMasks::of(seed, std::slice::from_ref(body))?;
        Ok(Self { secret, masks, body, count: expected })
    }

    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    pub(crate) fn read(&self, element: u32) -> StoredElement<'a> {
        let ring = self.secret.ring();
        let (mut mask, mut body) = (vec![0; ring.poly_words()], vec![0; ring.poly_words()]);
        self.masks.expand_into(ring, element, &mut mask);
        let rows = mask.chunks_exact_mut(ring.degree()).zip(body.chunks_exact_mut(ring.degree()));
        for (index, (limb, (mask, body))) in ring.limbs().iter().zip(rows).enumerate() {
            limb.reduce_assign(mask);
            limb.unpack(self.body.packed(element, 0, index), body);
            // A body that was read as verified may hold residues above the prime, which sums must not meet.
            limb.reduce_assign(body);
        }
        StoredElement { secret: self.secret, mask, body }
    }
}

impl StoredElement<'_> {
    /// The ciphertext.
    pub(crate) fn words(&self) -> impl Iterator<Item = u64> {
        self.mask.iter().chain(&self.body).copied()
    }

    /// Its phases, lifted.
    pub(crate) fn phases(&self) -> Phases {
        let degree = self.secret.ring().degree();
        let mut phases = Phases(Vec::with_capacity(degree));
        self.lift_into(&mut phases, degree);
        phases
    }

    /// Appends its phases until there are `count` in all.
    fn lift_into(&self, phases: &mut Phases, count: usize) {
        let ring = self.secret.ring();
        let mut words = Zeroizing::new(self.mask.clone());
        let rows = words.chunks_exact_mut(ring.degree()).zip(self.body.chunks_exact(ring.degree()));
        for (index, (limb, (words, body))) in ring.limbs().iter().zip(rows).enumerate() {
            limb.mul_assign(words, self.secret.eval_limb(index));
            limb.inverse(words);
            limb.add_assign(words, body);
        }
        phases.lift(ring, &words, count.saturating_sub(phases.len()));
    }
}

#[cfg(test)]
mod tests;
