// SPDX-License-Identifier: Apache-2.0
//! Keys that are lists of LWE samples of known messages, and sums over them: the public key, relinearisation keys, and the keys of
//! dimension-modulus reduction are all of this form.

use super::OddModulus;
use super::rows::{Rows, Sums};
use crate::random::Errors;
use crate::{LabError, Seed};

/// Samples `(a, b = ⟨a, s⟩ + f·e + message)` modulo an odd number, one for every binary digit of every input.
///
/// *Layout.* Sample `c·digits + τ` belongs to digit `τ` of input `c`. *Storage.* Only the `b`; every `a` is regenerated when it is used
/// ([`Rows`]), so that memory is `inputs · digits` words, whatever the dimension.
pub(crate) struct SampleKey {
    rows: Rows,
    bodies: Bodies,
    digits: u32,
}

/// The parameters of a key's samples.
pub(crate) struct SampleSpec<'a> {
    /// Separates streams: no two keys of a run share one.
    pub(crate) label: &'a str,
    /// The key that they are encrypted under.
    pub(crate) secret: &'a [u64],
    /// Of the samples.
    pub(crate) modulus: OddModulus,
    /// Binary digits of an input.
    pub(crate) digits: u32,
    /// How many inputs.
    pub(crate) inputs: u64,
    /// Errors are multiplied by this: 2 where the message is the parity, 1 where the output is doubled afterwards.
    pub(crate) error_factor: i64,
}

/// The sum of the samples that the digits of one receiver's inputs select.
pub(crate) struct SampleSum {
    pub(crate) v: Vec<u64>,
    pub(crate) w: u64,
    /// How many samples: their errors add up.
    pub(crate) used: u64,
}

impl SampleKey {
    /// Makes the samples; `messages` gives one residue for every digit of every input, in the order of the layout.
    ///
    /// # Cost
    /// `inputs · digits · dimension` products, and as many words of the stream.
    ///
    /// # Errors
    /// [`LabError::Memory`] before anything is made.
    pub(crate) fn generate(
        spec: &SampleSpec<'_>,
        seed: &Seed,
        errors: &mut Errors,
        mut messages: impl FnMut() -> u64,
        progress: &mut dyn FnMut(f64),
    ) -> Result<Self, LabError> {
        let modulus = spec.modulus;
        let rows = Rows::new(seed, spec.label, spec.secret.len(), modulus)?;
        let count = spec.inputs * u64::from(spec.digits);
        let mut bodies = Bodies::reserved(count, rows.is_narrow())?;
        let step = (count / 100).max(1);
        rows.dot_each(count, spec.secret, |row, product| {
            let error = modulus.signed(errors.draw() * spec.error_factor);
            bodies.push(modulus.add(modulus.add(product, error), messages()));
            if row % step == 0 {
                progress(row as f64 / count as f64);
            }
        });
        Ok(Self { rows, bodies, digits: spec.digits })
    }

    /// Sums for up to [`MAX_RECEIVERS`].
    ///
    /// `inputs` writes the next input of every receiver, a residue modulo `from`, and says whether there was one.
    ///
    /// Differs: the digits of an input are those of its non-adjacent form, −1, 0 or 1. A third of them is not 0, instead of half of
    /// the digits 0 and 1. The key is the paper's; fewer of its samples are generated, and fewer errors add up. The form of a
    /// representative in `(−q/2, q/2)` has as many digits as `q`. Keys with a single digit have inputs 0 or 1.
    ///
    /// # Cost
    /// Every sample that any receiver needs is generated once, on average `1 − (2/3)^receivers` of them.
    pub(crate) fn sum(
        &self,
        receivers: usize,
        from: OddModulus,
        mut inputs: impl FnMut(&mut [u64]) -> bool,
    ) -> Vec<SampleSum> {
        debug_assert!(receivers <= MAX_RECEIVERS);
        // The first half of the sums takes the digits 1, the second the digits −1.
        let mut sums = Sums::new(&self.rows, 2 * receivers);
        let mut bodies = vec![0_u128; 2 * receivers];
        let mut used = vec![0_u64; receivers];
        let mut residues = vec![0_u64; receivers];
        let mut digits = vec![0_u64; 2 * receivers];
        let mut first = 0_u64;
        while inputs(&mut residues) {
            for (receiver, &residue) in residues.iter().enumerate() {
                let (plus, minus) =
                    if self.digits == 1 { (residue, 0) } else { non_adjacent(from.centred(residue)) };
                (digits[receiver], digits[receivers + receiver]) = (plus, minus);
                used[receiver] += u64::from((plus | minus).count_ones());
            }
            let mut places = digits.iter().fold(0, |all, digits| all | digits);
            while places != 0 {
                let place = places.trailing_zeros();
                places &= places - 1;
                let mut wanted = 0_u64;
                for (receiver, digits) in digits.iter().enumerate() {
                    wanted |= (digits >> place & 1) << receiver;
                }
                let sample = first + u64::from(place);
                sums.push(sample, wanted);
                let body = u128::from(self.bodies.at(sample));
                for (receiver, sum) in bodies.iter_mut().enumerate() {
                    *sum += body * u128::from(wanted >> receiver & 1);
                }
            }
            first += u64::from(self.digits);
        }
        let q = self.rows.modulus();
        let mut vectors = sums.finish();
        let minus = vectors.split_off(receivers);
        let parts = vectors.into_iter().zip(minus).enumerate().map(|(receiver, (plus, minus))| SampleSum {
            v: plus.into_iter().zip(minus).map(|(plus, minus)| q.sub(plus, minus)).collect(),
            w: q.sub(q.reduce(bodies[receiver]), q.reduce(bodies[receivers + receiver])),
            used: used[receiver],
        });
        parts.collect()
    }

    /// Bytes as stored, the seed included.
    pub(crate) fn stored_bytes(&self) -> u64 {
        32 + self.bodies.bytes()
    }

    /// Bytes with the regenerated vectors written out, every residue in the bits of its modulus.
    pub(crate) fn expanded_bytes(&self) -> u64 {
        let residues = self.bodies.count() * (self.rows.length() as u64 + 1);
        residues.saturating_mul(self.rows.modulus().bits().into()) / 8
    }
}

/// The places of the digits 1 and of the digits −1 of the non-adjacent form, for `|x| < 2^62`: no two neighbours are both not 0.
fn non_adjacent(x: i64) -> (u64, u64) {
    let magnitude = x.unsigned_abs();
    let half = magnitude >> 1;
    let more = magnitude + half;
    let places = half ^ more;
    let (plus, minus) = (more & places, half & places);
    if x < 0 { (minus, plus) } else { (plus, minus) }
}

/// Receivers of one pass: every one takes two of the 64 sums of [`Sums`].
pub(crate) const MAX_RECEIVERS: usize = 32;

/// Residues in the narrowest word that fits.
enum Bodies {
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
}

impl Bodies {
    /// Room for `count` residues.
    fn reserved(count: u64, is_narrow: bool) -> Result<Self, LabError> {
        let refused = |width: u64| move |_| LabError::Memory { bytes: count.saturating_mul(width) };
        let words = usize::try_from(count).unwrap_or(usize::MAX);
        if is_narrow {
            let mut bodies = Vec::new();
            bodies.try_reserve_exact(words).map_err(refused(4))?;
            Ok(Self::Narrow(bodies))
        } else {
            let mut bodies = Vec::new();
            bodies.try_reserve_exact(words).map_err(refused(8))?;
            Ok(Self::Wide(bodies))
        }
    }

    fn push(&mut self, residue: u64) {
        match self {
            Self::Narrow(words) => words.push(residue as u32),
            Self::Wide(words) => words.push(residue),
        }
    }

    fn at(&self, row: u64) -> u64 {
        let word = match self {
            Self::Narrow(words) => words.get(row as usize).map(|&word| word.into()),
            Self::Wide(words) => words.get(row as usize).copied(),
        };
        debug_assert!(word.is_some());
        word.unwrap_or(0)
    }

    fn count(&self) -> u64 {
        match self {
            Self::Narrow(words) => words.len() as u64,
            Self::Wide(words) => words.len() as u64,
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Self::Narrow(words) => 4 * words.len() as u64,
            Self::Wide(words) => 8 * words.len() as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn memory_that_is_not_there_is_refused() {
        for is_narrow in [false, true] {
            let refused = Bodies::reserved(1 << 61, is_narrow).err();
            assert!(matches!(refused, Some(LabError::Memory { bytes }) if bytes >= 1 << 63), "{refused:?}");
        }
    }

    proptest! {
        #[test]
        fn digits_are_those_of_the_number_and_no_two_neighbours(x in -(1_i64 << 59)..1 << 59) {
            let (plus, minus) = non_adjacent(x);
            prop_assert_eq!(i128::from(plus) - i128::from(minus), i128::from(x));
            let places = plus | minus;
            prop_assert_eq!((plus & minus, places & places >> 1), (0, 0));
            // As many digits as an odd number with a half that bounds it.
            prop_assert!(64 - places.leading_zeros() <= 65 - x.unsigned_abs().leading_zeros());
        }
    }
}
