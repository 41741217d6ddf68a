// SPDX-License-Identifier: Apache-2.0
//! The owner's half of TFHE: secrets, keys for a server, encryption, decryption.

use hush_params::tfhe::Messages;
use hush_ring::{
    Eval, Poly, RandomnessError, SecretRng, TERNARY_BYTES, UniformSeed, Wiped, sample_ternary, wiping_stack,
};
use hush_tfhe::{
    Answers, Context, Fresh, KeyParts, RotationKey, SmallLwe, SwitchKey, TfheError, fresh_label,
    rotation_label, switch_label,
};
use zeroize::Zeroizing;

use crate::chain::Small;
use crate::{DecryptError, EncryptError};

/// Both secrets of a parameter set, of the operating system's entropy, for as long as the process lives.
///
/// *Secrecy.* Secret. Wiped on drop; neither `Clone` nor comparable nor serialisable; `Debug` names the set alone.
pub struct TfheSecret {
    context: Context,
    /// The bits of the small secret.
    bits: Wiped<u32>,
    /// The polynomials of the large one, with coefficients −1, 0 and 1.
    polynomials: Vec<Wiped<i8>>,
}

impl TfheSecret {
    /// Draws both secrets.
    ///
    /// # Errors
    /// [`RandomnessError`] if there is no entropy.
    pub fn generate(context: &Context) -> Result<Self, RandomnessError> {
        let (set, mut rng) = (context.set(), SecretRng::from_os()?);
        wiping_stack(|| {
            let mut random = Wiped::<u8>::zeroed(set.dimension());
            rng.fill(&mut random);
            let mut bits = Wiped::zeroed(set.dimension());
            bits.iter_mut().zip(random.iter()).for_each(|(bit, byte)| *bit = u32::from(byte & 1));
            let mut polynomial = || {
                let mut random = Wiped::<u8>::zeroed(TERNARY_BYTES * set.degree());
                rng.fill(&mut random);
                let mut small = Wiped::zeroed(set.degree());
                sample_ternary(context.cpu(), &random, &mut small);
                small
            };
            let polynomials = (0..set.rank()).map(|_| polynomial()).collect();
            Ok(Self { context: context.clone(), bits, polynomials })
        })
    }

    /// The set with its ring.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The keys of a server.
    ///
    /// # Cost
    /// `n·(k + 1)·l` encryptions of polynomials and `k·N·l'` of words: some tenths of a second, or a second.
    ///
    /// # Errors
    /// [`EncryptError::Randomness`].
    pub fn server_keys(&self) -> Result<KeyParts, EncryptError> {
        wiping_stack(|| {
            let (rotation_seed, switch_seed) = (UniformSeed::generate()?, UniformSeed::generate()?);
            let rotation_bodies = self.rotation_bodies(rotation_seed)?;
            let switch_bodies = self.switch_bodies(switch_seed)?;
            Ok(KeyParts { rotation_seed, rotation_bodies, switch_seed, switch_bodies })
        })
    }

    /// The rows of bit `i` for the body and each polynomial encrypt `s_i·2^u` for each unit, those of polynomial `j` times it.
    fn rotation_bodies(&self, seed: UniformSeed) -> Result<Vec<u64>, EncryptError> {
        let (set, limb) = (self.context.set(), self.context.limb());
        let secrets = self.polynomials_in_eval();
        let mut rows = Rows::new(&self.context, &secrets, seed)?;
        let mut message = Zeroizing::new(vec![0; set.degree()]);
        let mut bodies = Vec::with_capacity(RotationKey::row_count(&self.context) * set.degree());
        for (bit, value) in (0..).zip(self.bits.iter()) {
            let parts = std::iter::once(None).chain(secrets.iter().map(Some));
            let digits = parts.flat_map(|part| set.gadget().units().map(move |unit| (part, unit)));
            for (row, (part, unit)) in (0..).zip(digits) {
                match part {
                    None => message.fill(1),
                    Some(secret) => message.copy_from_slice(secret.words()),
                }
                let unit = limb.modulus().reduce_u64(1 << unit);
                limb.mul_scalar_assign(&mut message, limb.modulus().mul(unit, u64::from(*value)));
                bodies.extend(rows.encrypt((bit, row), &message));
            }
        }
        Ok(bodies)
    }

    /// The row of coefficient `j` and digit `i` encrypts `S_j·2^(32 − bits·(i + 1))`.
    fn switch_bodies(&self, seed: UniformSeed) -> Result<Vec<u32>, EncryptError> {
        let (set, digits) = (self.context.set(), self.context.set().switch());
        let errors = self.small_errors(SwitchKey::row_count(&self.context))?;
        let mut mask = vec![0; set.dimension()];
        let coefficients = self.polynomials.iter().flat_map(|polynomial| polynomial.iter());
        let rows =
            coefficients.flat_map(|coefficient| (1..=digits.levels).map(move |level| (coefficient, level)));
        let body = |(number, ((coefficient, level), error)): (u32, ((&i8, u32), &u32))| {
            seed.expand_words(self.context.cpu(), switch_label(number), &mut mask);
            let message = (i32::from(*coefficient) as u32) << (32 - digits.bits * level);
            message.wrapping_add(*error).wrapping_sub(self.product(&mask))
        };
        let bodies: Vec<u32> = (0..).zip(rows.zip(errors.iter())).map(body).collect();
        Ok(bodies)
    }

    /// Errors of small ciphertexts, modulo `2^32`: uniform in `±2^b`, of which both ends have half the chance of the others.
    ///
    /// A uniform word below `2^(b + 1)`, less `2^b`, and a uniform bit more: the sum is either end in one way of `2^(b + 2)`, and any other number in two.
    fn small_errors(&self, count: usize) -> Result<Wiped<u32>, RandomnessError> {
        let bits = self.context.set().noise_bits();
        let mut random = Wiped::<u8>::zeroed(4 * count);
        SecretRng::from_os()?.fill(&mut random);
        let mut errors = Wiped::zeroed(count);
        for (error, bytes) in errors.iter_mut().zip(random.as_chunks::<4>().0) {
            let word = u32::from_le_bytes(*bytes);
            let (low, more) = (word & ((2 << bits) - 1), word >> 31);
            *error = low.wrapping_add(more).wrapping_sub(1 << bits);
        }
        Ok(errors)
    }

    /// Encrypts messages of a set that has some, under one fresh seed.
    ///
    /// # Errors
    /// [`EncryptError::Tfhe`] for a message beyond the set's; [`EncryptError::Randomness`].
    pub fn encrypt(&self, messages: &[u64]) -> Result<Fresh, EncryptError> {
        wiping_stack(|| {
            // Of the final length from the start, so that no copy is left where it grew.
            let mut encoded = Wiped::zeroed(messages.len());
            for (encoded, message) in encoded.iter_mut().zip(messages) {
                *encoded = self.context.encode(*message)?;
            }
            self.encrypt_residues(&encoded)
        })
    }

    /// Encrypts bits of a set of signs, under one fresh seed.
    ///
    /// # Errors
    /// [`EncryptError::Tfhe`] for a set of other messages; [`EncryptError::Randomness`].
    pub fn encrypt_bits(&self, bits: &[bool]) -> Result<Fresh, EncryptError> {
        if self.context.set().messages() != Messages::Signs {
            return Err(TfheError::Message { limit: 0 }.into());
        }
        wiping_stack(|| {
            let (yes, q) = (self.context.fraction(1, 8), self.context.modulus());
            let mut residues = Wiped::zeroed(bits.len());
            for (residue, bit) in residues.iter_mut().zip(bits) {
                *residue = q.mul(q.reduce_i64(2 * i64::from(*bit) - 1), yes);
            }
            self.encrypt_residues(&residues)
        })
    }

    fn encrypt_residues(&self, residues: &[u64]) -> Result<Fresh, EncryptError> {
        if residues.len() > Fresh::MOST {
            let (found, expected) = (residues.len() as u64, Fresh::MOST as u64);
            return Err(TfheError::Count { what: "messages at once", found, expected }.into());
        }
        let (seed, mut rng) = (UniformSeed::generate()?, SecretRng::from_os()?);
        let (context, degree) = (&self.context, self.context.set().degree());
        let q = context.modulus();
        let secrets: Vec<Zeroizing<Vec<u64>>> =
            self.polynomials.iter().map(|small| lifted(context, small)).collect();
        let mut mask = vec![0; degree];
        let mut bodies = Vec::with_capacity(residues.len());
        for (group, residues) in residues.chunks(degree).enumerate() {
            let mut errors = Wiped::<u64>::zeroed(degree);
            Small::errors(context.ring(), &mut rng).add_to(context.limb(), 1, &mut errors);
            for (place, (residue, error)) in residues.iter().zip(errors.iter()).enumerate() {
                let mut body = q.add(*residue, *error);
                for (component, secret) in (1..).zip(&secrets) {
                    let number = (group * degree + place) as u32;
                    seed.expand_limb(context.ring(), fresh_label(number, component), 0, &mut mask);
                    let product =
                        mask.iter().zip(secret.iter()).fold(0, |sum, (a, s)| q.add(sum, q.mul(*a, *s)));
                    body = q.sub(body, product);
                }
                bodies.push(body);
            }
        }
        Ok(Fresh { seed, bodies })
    }

    /// The messages of answers.
    ///
    /// *Falsified answers.* Whether an answer is refused tells who made it something about the secret: a bit of it, if it was chosen for that. A server must not learn of
    /// it, and a secret whose answers were refused once must not be used again.
    ///
    /// # Errors
    /// [`DecryptError::Tfhe`] for bytes that are not `count` answers of the set; [`DecryptError::Beyond`] for an answer that is no message.
    pub fn decrypt(&self, count: usize, answer: &[u8]) -> Result<Wiped<u64>, DecryptError> {
        let answers = Answers::decode(&self.context, count, answer)?;
        wiping_stack(|| {
            let mut messages = Wiped::zeroed(answers.0.len());
            for (message, answer) in messages.iter_mut().zip(&answers.0) {
                *message = self.context.decode_small(self.phase(answer)).ok_or(DecryptError::Beyond)?;
            }
            Ok(messages)
        })
    }

    /// The bits of answers of a set of signs. Every answer has one.
    ///
    /// # Errors
    /// [`DecryptError::Tfhe`] for bytes that are not `count` answers of the set.
    pub fn decrypt_bits(&self, count: usize, answer: &[u8]) -> Result<Wiped<bool>, DecryptError> {
        let answers = Answers::decode(&self.context, count, answer)?;
        wiping_stack(|| {
            let mut bits = Wiped::zeroed(answers.0.len());
            bits.iter_mut().zip(&answers.0).for_each(|(bit, answer)| *bit = (self.phase(answer) as i32) > 0);
            Ok(bits)
        })
    }

    /// Message and error of a small ciphertext.
    fn phase(&self, small: &SmallLwe) -> u32 {
        small.body().wrapping_add(self.product(small.mask()))
    }

    /// `Σ a_i·s_i`.
    fn product(&self, mask: &[u32]) -> u32 {
        mask.iter().zip(self.bits.iter()).fold(0, |sum, (a, s)| sum.wrapping_add(a.wrapping_mul(*s)))
    }

    fn polynomials_in_eval(&self) -> Vec<Zeroizing<Poly<Eval>>> {
        let in_eval = |small: &Wiped<i8>| {
            let mut poly = Poly::<Eval>::zero(self.context.ring());
            poly.words_mut().copy_from_slice(&lifted(&self.context, small));
            self.context.limb().forward(poly.words_mut());
            Zeroizing::new(poly)
        };
        self.polynomials.iter().map(in_eval).collect()
    }
}

/// Encrypts the rows of keys, whose masks come from one seed.
struct Rows<'a> {
    context: &'a Context,
    secrets: &'a [Zeroizing<Poly<Eval>>],
    seed: UniformSeed,
    rng: SecretRng,
    mask: Zeroizing<Vec<u64>>,
}

impl<'a> Rows<'a> {
    fn new(
        context: &'a Context,
        secrets: &'a [Zeroizing<Poly<Eval>>],
        seed: UniformSeed,
    ) -> Result<Self, RandomnessError> {
        let mask = Zeroizing::new(vec![0; context.set().degree()]);
        Ok(Self { context, secrets, seed, rng: SecretRng::from_os()?, mask })
    }

    /// The body of the row with this place, of a message in the evaluation domain.
    fn encrypt(&mut self, (first, second): (u32, u32), message: &[u64]) -> Vec<u64> {
        let limb = self.context.limb();
        let mut body = vec![0; message.len()];
        Small::errors(self.context.ring(), &mut self.rng).add_to(limb, 1, &mut body);
        limb.forward(&mut body);
        limb.add_assign(&mut body, message);
        for (component, secret) in (1..).zip(self.secrets) {
            let label = rotation_label(first, second, component);
            self.seed.expand_limb(self.context.ring(), label, 0, &mut self.mask);
            limb.mul_assign(&mut self.mask, secret.words());
            limb.sub_assign(&mut body, &self.mask);
        }
        body
    }
}

/// Small coefficients as residues.
fn lifted(context: &Context, small: &[i8]) -> Zeroizing<Vec<u64>> {
    let q = context.modulus();
    Zeroizing::new(small.iter().map(|value| q.reduce_i64(i64::from(*value))).collect())
}

impl std::fmt::Debug for TfheSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TfheSecret(.., {})", self.context.set().name())
    }
}

mod bridge;
mod circuit;
#[cfg(test)]
mod tests;
