// SPDX-License-Identifier: Apache-2.0
//! Bootstrapping of CKKS: a ciphertext without levels becomes one with levels, and the same slots.
//!
//! # Math
//! With slots `v` at the input level, scale `Δ`, and `ε = gain·Δ/q0`:
//!
//! ```text
//!   slots v                    to coefficients        coefficients v at level 0
//!   coefficients ε·v + I       raise the modulus      in units of q0, with integers |I| < RANGE
//!   slots (ε·v + I)/RANGE      to slots               at the top of the chain
//!   slots ε·v                  reduce                 c·sin(2π·(ε·v + I)) = c·sin(2π·ε·v) ≈ c·2π·ε·v
//! ```
//!
//! The last line is `v` again at another scale. *Slots to coefficients comes first*, so that the reduction meets the values themselves and not a transform of them: its error,
//! `(2π·ε·v)²/6` of `v`, is bounded for every message and not for random ones alone, and the first transform runs on few primes.
//!
//! *Values.* Real and imaginary parts are from `−2^h` to `2^h` with the headroom `h = 2`; errors are least for parts up to 1. Larger ones come out wrong without notice: the caller
//! knows bounds. Small ones are multiplied by a power of two on the way in and divided by it on the way out, which costs nothing and divides the error.
//!
//! *Few slots.* Where `v` repeats, its coefficients are those of a polynomial in `X^g`. Raising adds multiples of `q0` to all coefficients; the sum over `g` rotations clears those
//! that `v` lacks, and multiplies the others by `g`.
//!
//! *Chance.* That an integer `I` leaves its range, and with it a slot all sense, has a chance below `2^-132` for a ciphertext that was encrypted and computed honestly
//! ([`BootstrapShape::RANGE`]). Nothing holds for ciphertexts that were made to fail.
//!
//! # Example
//! ```no_run
//! use hush_circuits::bootstrap::{BootstrapKeys, Bootstrapping};
//! use hush_params::bootstrap::N16;
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let scheme = Bootstrapping::scheme(N16.shape(), &N16.chain()?, hush_ring::Cpu::detect()?)?;
//! let bootstrapping = Bootstrapping::new(&scheme, N16.shape())?;
//! // The owner: a secret, and 9 GB of keys for the server.
//! let secret = hush_keys::ChainSecret::generate(scheme.chain())?;
//! let evaluation = secret.evaluation_keys_up_to(&bootstrapping.key_levels())?;
//! let keys = BootstrapKeys { evaluation, encapsulation: secret.encapsulation_keys()? };
//! let message = scheme.encode_real(&[0.5, -0.25], N16.shape().input())?;
//! let fresh = scheme.ciphertext(secret.encrypt(message)?.expand()?)?;
//! // The server: squares without end, of values that stay below 1.
//! let mut a = bootstrapping.apply_real(&scheme, &fresh, &keys)?;
//! for _ in 0..100 {
//!     if a.level() == N16.shape().input() {
//!         a = bootstrapping.apply_real(&scheme, &a, &keys)?;
//!     }
//!     a = scheme.mul_rescale(&a, &a, &keys.evaluation)?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # References
//! \[CHKKS18b\] the structure; \[BMTH21\] transforms by factors of the Fourier transform, double hoisting; \[HK20\] cosine and double angles; \[BTH22\] slots to coefficients first,
//! sparse secret. Differs: the polynomial meets the cosine at every integer, so that its error is relative to the value.

mod bounds;
mod cosine;
mod fourier;
mod real;

use std::collections::BTreeMap;

use hush_params::ChainParams;
use hush_params::bootstrap::BootstrapShape;
use hush_ring::{Cpu, Level, keep_buffers};
use hush_rlwe::{EncapsulationKeys, EvaluationKeys, RlweCiphertext, conjugation_element};
use hush_schemes::RealScale;
use hush_schemes::ckks::{Ckks, CkksCiphertext, Complex};

use crate::CircuitError;
use crate::error::check_depth;
use crate::linear::LinearTransform;
use crate::polynomial::RealPolynomial;
use crate::scheme::check_own_scale;
use crate::sums::Window;

/// Everything public that bootstrapping needs beside keys: matrices, encoded, and a polynomial.
///
/// *Memory.* The matrices are most of it, see [`Bootstrapping::memory_bytes`]. *Secrecy.* Public.
#[derive(Clone, Debug)]
pub struct Bootstrapping {
    shape: BootstrapShape,
    to_coefficients: Vec<LinearTransform>,
    /// The sum over rotations that keeps the coefficients of a message that repeats.
    trace: Window,
    to_slots: Vec<LinearTransform>,
    /// For values as they are, and for those that come out divided by `2, 4, …`.
    reductions: Vec<Reduction>,
    epsilon: f64,
    /// The largest error of the cosine, in units of the largest value.
    cosine_error: f64,
}

/// The sine as a polynomial and doublings.
#[derive(Clone, Debug)]
struct Reduction {
    cosine: RealPolynomial,
    /// What is subtracted after each doubling.
    subtrahends: Vec<f64>,
    /// The factor from values to what the reduction makes of them, `c·2π·ε`.
    height: f64,
}

impl Reduction {
    /// For a cosine of height 1, and the height `c` of the sine.
    fn new(series: &[f64], height: f64, epsilon: f64) -> Result<Self, CircuitError> {
        let doublings = BootstrapShape::DOUBLINGS;
        let first = height.powf(f64::from(1_u32 << doublings).recip());
        // 2·(c·cos)² − c² = c²·cos of the double angle.
        let subtrahends = (0..doublings).map(|k| first.powi(2 << k)).collect();
        let cosine: Vec<f64> = series.iter().map(|coefficient| coefficient * first).collect();
        let cosine = RealPolynomial::chebyshev(&cosine, -1.0, 1.0)?;
        Ok(Self { cosine, subtrahends, height: height * std::f64::consts::TAU * epsilon })
    }
}

/// The keys of a bootstrapping.
///
/// *Secrecy.* Public, as their parts.
#[derive(Clone, Debug)]
pub struct BootstrapKeys {
    /// Those of [`Bootstrapping::key_levels`], or more.
    pub evaluation: EvaluationKeys,
    /// For the raising of the modulus.
    pub encapsulation: EncapsulationKeys,
}

impl BootstrapKeys {
    /// Bytes in memory, masks included.
    pub fn memory_bytes(&self) -> usize {
        self.evaluation.memory_bytes() + self.encapsulation.memory_bytes()
    }
}

impl Bootstrapping {
    /// The scheme over a shape's chain, with the scales of its segments.
    ///
    /// # Errors
    /// [`CircuitError::Shape`] if the chain is not of this shape.
    pub fn scheme(shape: &BootstrapShape, chain: &ChainParams, cpu: Cpu) -> Result<Ckks, CircuitError> {
        if !shape.is_of(chain) {
            return Err(CircuitError::Shape);
        }
        Ok(Ckks::with_segments(chain, &shape.scales_log2(chain), cpu)?)
    }

    /// Encodes the matrices for a scheme made by [`Bootstrapping::scheme`].
    ///
    /// # Cost
    /// An encoding over up to all primes for each diagonal: some hundred.
    ///
    /// # Errors
    /// [`CircuitError::Shape`] for a scheme over a chain of another shape, or with other scales.
    pub fn new(scheme: &Ckks, shape: &BootstrapShape) -> Result<Self, CircuitError> {
        check_shape(scheme, shape)?;
        let params = scheme.chain().params();
        let value = |level: Level| Ok::<_, CircuitError>(scheme.scale(level)?.value());
        let q0 = params.log_q(Level(0)).unwrap_or(0.0).exp2();
        let epsilon = f64::from(shape.gain_log2).exp2() * value(Level(0))? / q0;

        let (sizes, repeats) = ((shape.slots(), scheme.slot_count()), 1_usize << shape.repeats_log2);
        let trace = Window::new(repeats, shape.slots(), scheme.slot_count())?;
        let stages = shape.to_coefficients as usize;
        let mut to_coefficients = Vec::with_capacity(stages);
        for (index, diagonals) in fourier::to_coefficients(sizes, stages)?.iter().enumerate() {
            let level = Level(shape.input().0 - index as u8);
            to_coefficients.push(LinearTransform::new(scheme, diagonals, level)?);
        }
        // Parts are the sum with the conjugate, and what is read at the top's scale is q0·(ε·v + I) as often as it repeats.
        let factor =
            value(shape.top())?.recip() * q0 * 2.0 * f64::from(BootstrapShape::RANGE) * repeats as f64;
        let stages = shape.to_slots as usize;
        let mut to_slots = Vec::with_capacity(stages);
        for (index, diagonals) in fourier::to_slots(sizes, stages, factor.recip())?.iter().enumerate() {
            let level = Level(shape.top().0 - index as u8);
            to_slots.push(LinearTransform::new(scheme, diagonals, level)?);
        }

        // The last division leads to no level's own scale: the height of the sine makes up for it.
        let last = Level(shape.output().0 + 1);
        let ratio = scheme.chain().level(last)?.mod_switch().map_or(1.0, |switch| switch.ratio());
        let reached = value(last)?.powi(2) * ratio * epsilon;
        let height = value(shape.output())? / reached / std::f64::consts::TAU;
        let (range, doublings) = (BootstrapShape::RANGE, BootstrapShape::DOUBLINGS);
        let largest = epsilon * f64::from(1_u32 << headroom_log2(epsilon));
        let series = cosine::near_integers(range, doublings, largest);
        let cosine_error = cosine::largest_error(&series, range, doublings, largest);
        let reduction = |down: u32| Reduction::new(&series, height / f64::from(1_u32 << down), epsilon);
        // What is bootstrapped twice comes out in halves.
        let reductions = (0..=Self::LARGEST_UP + 1).map(reduction).collect::<Result<_, _>>()?;
        Ok(Self { shape: *shape, to_coefficients, trace, to_slots, reductions, epsilon, cosine_error })
    }

    /// The most that values are multiplied with on the way in: log2.
    pub const LARGEST_UP: u32 = 16;

    /// log2 of the largest real or imaginary part of a slot.
    pub fn headroom_log2(&self) -> u32 {
        headroom_log2(self.epsilon)
    }

    /// The shape that it was made for.
    pub fn shape(&self) -> &BootstrapShape {
        &self.shape
    }

    /// The keys that it needs, and no others: Galois elements, 0 for relinearisation, with the highest level of each.
    pub fn key_levels(&self) -> BTreeMap<usize, Level> {
        let degree = self.shape.degree as usize;
        let mut levels = BTreeMap::from([
            (0, self.shape.reduction()),
            (conjugation_element(degree), self.shape.reduction()),
        ]);
        for transform in self.to_coefficients.iter().chain(&self.to_slots) {
            for element in transform.split().galois_elements(degree) {
                let highest = levels.entry(element).or_insert(transform.level());
                *highest = transform.level().max(*highest);
            }
        }
        levels.extend(
            self.trace.galois_elements(degree).into_iter().map(|element| (element, self.shape.top())),
        );
        levels
    }

    /// Bytes of the encoded matrices.
    pub fn memory_bytes(&self) -> usize {
        self.to_coefficients.iter().chain(&self.to_slots).map(LinearTransform::memory_bytes).sum()
    }

    /// A ciphertext at the output level with the same complex slots. Where the shape has few, the others have to repeat them.
    ///
    /// # Memory
    /// Some 40 polynomials over all primes while the cosine is evaluated. This thread keeps buffers for them from then on ([`keep_buffers`]): 0.9 GB for the first set.
    ///
    /// # Errors
    /// [`CircuitError::Levels`] for a ciphertext below the input level; [`CircuitError::Scheme`] for one at another scale than its level's, or without a key.
    pub fn apply(
        &self,
        scheme: &Ckks,
        a: &CkksCiphertext,
        keys: &BootstrapKeys,
    ) -> Result<CkksCiphertext, CircuitError> {
        let [re, im] = self.reduce(scheme, self.parts(scheme, (a, 0), keys)?, (0, keys))?;
        Ok(scheme.add(&re, &scheme.mul_i(&im)?)?)
    }

    /// Real and imaginary parts of `(ε·v + I)/RANGE`, as ciphertexts with real slots at the level of the reduction.
    fn parts(
        &self,
        scheme: &Ckks,
        (a, up): (&CkksCiphertext, u32),
        keys: &BootstrapKeys,
    ) -> Result<[CkksCiphertext; 2], CircuitError> {
        self.check_up(up)?;
        let a = if up == 0 { a.clone() } else { scheme.mul_integer(a, 1 << up) };
        let a = &a;
        let raised = self.raise(scheme, &self.coefficients(scheme, a, keys)?, keys)?;
        let slots = transformed(scheme, raised, &self.to_slots, &keys.evaluation)?;
        let conjugate = scheme.conjugate(&slots, &keys.evaluation)?;
        let re = scheme.add(&slots, &conjugate)?;
        Ok([re, scheme.mul_i(&scheme.sub(&conjugate, &slots)?)?])
    }

    /// The slots as coefficients, at level 0.
    fn coefficients(
        &self,
        scheme: &Ckks,
        a: &CkksCiphertext,
        keys: &BootstrapKeys,
    ) -> Result<CkksCiphertext, CircuitError> {
        let lowered = self.at_input(scheme, a)?;
        keep_buffers(WORKING_POLYNOMIALS * 8 * scheme.chain().key_ring().poly_words());
        transformed(scheme, lowered, &self.to_coefficients, &keys.evaluation)
    }

    /// A ciphertext brought down to where bootstrapping starts.
    fn at_input(&self, scheme: &Ckks, a: &CkksCiphertext) -> Result<CkksCiphertext, CircuitError> {
        check_depth(a.level(), self.shape.to_coefficients)?;
        check_own_scale(scheme, a)?;
        scheme.chain().level_of(a.inner().ring())?;
        Ok(scheme.level_down(a, self.shape.input())?)
    }

    /// Coefficients `q0·(ε·v + I)` at the top level, read at its scale.
    fn raise(
        &self,
        scheme: &Ckks,
        a: &CkksCiphertext,
        keys: &BootstrapKeys,
    ) -> Result<CkksCiphertext, CircuitError> {
        let gained = scheme.mul_integer(a, 1 << self.shape.gain_log2);
        let raised = scheme.ciphertext(keys.encapsulation.raise(gained.inner())?)?;
        match self.shape.repeats_log2 {
            0 => Ok(raised),
            _ => self.trace.sum(scheme, &raised, &keys.evaluation),
        }
    }

    fn check_up(&self, up: u32) -> Result<(), CircuitError> {
        let (found, max) = (up as usize, Self::LARGEST_UP as usize);
        if found > max { Err(CircuitError::Slot { found, max }) } else { Ok(()) }
    }

    fn reduction(&self, down: u32) -> Result<&Reduction, CircuitError> {
        let refused = CircuitError::Slot { found: down as usize, max: Self::LARGEST_UP as usize + 1 };
        self.reductions.get(down as usize).ok_or(refused)
    }

    /// `v/2^down` at the output level, for each ciphertext with slots `(ε·v + I)/RANGE`.
    fn reduce<const K: usize>(
        &self,
        scheme: &Ckks,
        parts: [CkksCiphertext; K],
        (down, keys): (u32, &BootstrapKeys),
    ) -> Result<[CkksCiphertext; K], CircuitError> {
        let reduction = self.reduction(down)?;
        let mut values = reduction.cosine.evaluate_all(scheme, &parts, &keys.evaluation)?;
        for &subtrahend in &reduction.subtrahends {
            let pairs: Vec<_> = values.iter().map(|value| (value, value)).collect();
            let squares = scheme.mul_rescale_all(&pairs, &keys.evaluation)?;
            let doubled = squares.iter().map(|square| {
                scheme.add_constant(&scheme.mul_integer(square, 2), Complex { re: -subtrahend, im: 0.0 })
            });
            values = doubled.collect::<Result<_, _>>()?;
        }
        let own: RealScale = scheme.scale(self.shape.output())?;
        let read = |value: &CkksCiphertext| {
            let inner: RlweCiphertext = value.inner().clone();
            Ok(scheme.ciphertext_at(inner, own)?)
        };
        let values = values.iter().map(read).collect::<Result<Vec<_>, CircuitError>>()?;
        // As many as went in.
        values.try_into().map_err(|values: Vec<_>| CircuitError::Slot { found: values.len(), max: K })
    }
}

/// How large values may be: while a sine is an identity, and to a limit.
fn headroom_log2(epsilon: f64) -> u32 {
    let room = LARGEST_EPSILON_LOG2 - epsilon.log2();
    (room.max(0.0) as u32).min(LARGEST_HEADROOM_LOG2)
}

/// A value at 2^-7 of the modulus is off by 2^-11.3 of itself.
const LARGEST_EPSILON_LOG2: f64 = -7.0;
const LARGEST_HEADROOM_LOG2: u32 = 2;
/// Polynomials over all primes that are in flight at most, while the cosine is evaluated: buffers for so many are kept for the next time.
const WORKING_POLYNOMIALS: usize = 48;

/// Refuses a scheme that was not made for a shape.
fn check_shape(scheme: &Ckks, shape: &BootstrapShape) -> Result<(), CircuitError> {
    let params = scheme.chain().params();
    if !shape.is_of(params) {
        return Err(CircuitError::Shape);
    }
    for (level, log2) in shape.scales_log2(params) {
        if !scheme.scale(level)?.is_near(RealScale::new(log2.exp2())) {
            return Err(CircuitError::Shape);
        }
    }
    Ok(())
}

fn transformed(
    scheme: &Ckks,
    a: CkksCiphertext,
    transforms: &[LinearTransform],
    keys: &EvaluationKeys,
) -> Result<CkksCiphertext, CircuitError> {
    transforms.iter().try_fold(a, |a, transform| transform.apply(scheme, &a, keys))
}

#[cfg(test)]
mod tests;
