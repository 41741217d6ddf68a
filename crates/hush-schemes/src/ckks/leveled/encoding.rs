// SPDX-License-Identifier: Apache-2.0
//! Messages of slots, and slots of phases.

use hush_ring::{Coeff, Level, Poly, Ring};
use hush_rlwe::rotation_element;

use super::Ckks;
use crate::ckks::embedding::{Complex, Embedding};
use crate::ckks::reals::{integers, reals};
use crate::{RealScale, SchemeError};

impl Ckks {
    /// The message with these complex slots at a level's own scale, ready to be encrypted; missing slots are zero.
    ///
    /// # Precision
    /// Rounding errs by at most `√(N/12)` or so in each slot, divided by the scale; `f64` carries 53 bits.
    ///
    /// # Errors
    /// [`SchemeError::TooManyValues`], [`SchemeError::NotFinite`], [`SchemeError::ValueRange`] if the message does not fit the
    /// level's modulus; [`SchemeError::Ring`] if there is no such level.
    pub fn encode(&self, values: &[Complex], level: Level) -> Result<Poly<Coeff>, SchemeError> {
        self.encode_at(values, level, self.scale(level)?)
    }

    /// [`Ckks::encode`] for real slots.
    ///
    /// # Errors
    /// As there.
    pub fn encode_real(&self, values: &[f64], level: Level) -> Result<Poly<Coeff>, SchemeError> {
        let values: Vec<Complex> = values.iter().map(|&re| Complex { re, im: 0.0 }).collect();
        self.encode(&values, level)
    }

    /// [`Ckks::encode`] at any scale.
    ///
    /// # Errors
    /// As there.
    pub fn encode_at(
        &self,
        values: &[Complex],
        level: Level,
        scale: RealScale,
    ) -> Result<Poly<Coeff>, SchemeError> {
        self.encode_over(values, self.chain.ring(level)?, scale)
    }

    /// [`Ckks::encode_at`] over any ring of the chain, the extended ones included.
    ///
    /// # Errors
    /// As there.
    pub fn encode_over(
        &self,
        values: &[Complex],
        ring: &Ring,
        scale: RealScale,
    ) -> Result<Poly<Coeff>, SchemeError> {
        let (found, max) = (values.len(), self.slot_count());
        if found > max {
            return Err(SchemeError::TooManyValues { found, max });
        }
        if let Some(index) = values.iter().position(|value| !(value.re.is_finite() && value.im.is_finite())) {
            return Err(SchemeError::NotFinite { index });
        }
        integers(self.coefficients(values), scale, ring)
    }

    /// The coefficients of the polynomial with these finite slots.
    ///
    /// # Math
    /// Slots of period `p` are those of a polynomial in `X^(n/p)`, for `n` slots: of a smaller ring, and exactly 0 elsewhere.
    fn coefficients(&self, values: &[Complex]) -> Vec<f64> {
        let max = self.slot_count();
        let period = if values.len() == max { period_of(values).max(2) } else { max };
        if period >= max {
            return interpolated(&self.embedding, &self.places, values);
        }
        let degree = 2 * period;
        let small =
            interpolated(&Embedding::new(degree, self.chain.cpu()), &places_of(degree), &values[..period]);
        let mut coefficients = vec![0.0; 2 * max];
        coefficients.iter_mut().step_by(max / period).zip(small).for_each(|(out, c)| *out = c);
        coefficients
    }

    /// The slots of a decrypted phase. Only the owner may see them as they are: a result for anyone else must be released
    /// with flooding noise, since the error reveals the key.
    ///
    /// # Errors
    /// [`SchemeError::Ring`], which a phase of this chain rules out.
    pub fn decode(&self, phase: &Poly<Coeff>, scale: RealScale) -> Result<Vec<Complex>, SchemeError> {
        let coefficients = reals(phase, scale)?;
        let slots = self.embedding.evaluate(&coefficients);
        Ok(self.places.iter().map(|&place| slots[place as usize]).collect())
    }
}

/// Place in the embedding's order of each slot.
pub(super) fn places_of(degree: usize) -> Vec<u32> {
    let step = rotation_element(degree, 1);
    let powers = std::iter::successors(Some(1), |&power| Some(power * step % (2 * degree)));
    // The embedding's slot j is the value at ζ^(4j + 1).
    powers.take(degree / 2).map(|power| (power / 4) as u32).collect()
}

/// The polynomial with these slots; missing ones are zero.
fn interpolated(embedding: &Embedding, places: &[u32], values: &[Complex]) -> Vec<f64> {
    let mut slots = vec![Complex::default(); places.len()];
    places.iter().zip(values).for_each(|(&place, &value)| slots[place as usize] = value);
    embedding.interpolate(&slots)
}

/// The smallest power of two after which slots repeat; their number is one.
fn period_of(values: &[Complex]) -> usize {
    let repeats = |period: usize| values.iter().zip(&values[period..]).all(|(a, b)| a == b);
    let powers = std::iter::successors(Some(1), |&period: &usize| Some(2 * period));
    powers.take_while(|&period| period < values.len()).find(|&period| repeats(period)).unwrap_or(values.len())
}
