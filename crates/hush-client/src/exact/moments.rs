// SPDX-License-Identifier: Apache-2.0
//! Statistics of one argument from exact sums of its powers.
//!
//! With `n` rows and sums of powers `S_1, S_2, …` the integers
//!
//! ```text
//! M_k = n^(k−1) · Σ (x − x̄)^k = (−S_1)^k + Σ_{j=1..k} C(k,j) · n^(j−1) · S_j · (−S_1)^(k−j)
//! ```
//!
//! are sums of powers of deviations from the mean. Every statistic is a ratio of polynomials in them, or the root of one. In
//! skewness and kurtosis the unit cancels.
//!
//! *Cost.* A few products of integers of up to four times the bits of the highest sum.

use hush_plan::plan::MomentFunction;
use num_bigint::BigInt;
use num_traits::{One, Signed};

use super::{ratio, root_ratio, ten_to};

/// The moments of one aggregate in one group.
#[derive(Debug)]
pub(crate) struct Moments {
    /// Rows that contribute.
    pub(crate) count: BigInt,
    /// Sums of the values, of their squares and so on, as many as [`MomentFunction::order`] says; that of power `k` in units of
    /// `10^-(k·scale)`.
    pub(crate) powers: Vec<BigInt>,
    /// Decimal scale.
    pub(crate) scale: u8,
}

impl Moments {
    /// Whether numbers can have these moments.
    ///
    /// A variance is not negative (Cauchy and Schwarz). No value is farther from the mean than `√(n − 1)` standard deviations
    /// (Samuelson), so that `Σ|d|^k ≤ max|d|^(k−2) · Σd²` bounds the third and the fourth moment. The fourth is at least the
    /// square of the third, in standard units, and one more (Pearson).
    pub(crate) fn is_possible(&self) -> bool {
        let farthest = &self.count - 1;
        let Some(second) = self.central(2) else { return true };
        let Some(third) = self.central(3) else { return !second.is_negative() };
        let (second_square, third_square) = (&second * &second, &third * &third);
        let cube = &second_square * &second;
        if second.is_negative() || third_square > &farthest * &cube {
            return false;
        }
        self.central(4).is_none_or(|fourth| {
            let least = third_square + cube;
            !fourth.is_negative() && second * &fourth >= least && fourth <= farthest * second_square
        })
    }

    /// The statistic as a double, or `None` where SQL says NULL: no rows, too few for a sample statistic, no variation where
    /// it is the measure.
    pub(crate) fn statistic(&self, function: MomentFunction) -> Option<f64> {
        use MomentFunction as F;
        let (n, unit) = (&self.count, ten_to(u32::from(self.scale)));
        if !n.is_positive() {
            return None;
        }
        match function {
            F::Sum => Some(ratio(self.powers.first()?, &unit)),
            F::Avg => Some(ratio(self.powers.first()?, &(n * unit))),
            F::VarPop | F::VarSamp | F::StddevPop | F::StddevSamp => {
                let sample = matches!(function, F::VarSamp | F::StddevSamp);
                let freedom = if sample { n - 1 } else { n.clone() };
                if !freedom.is_positive() {
                    return None;
                }
                let (spread, divisor) = (self.central(2)?, n * freedom * &unit * &unit);
                Some(match function {
                    F::VarPop | F::VarSamp => ratio(&spread, &divisor),
                    _ => root_ratio(&spread, &divisor),
                })
            }
            F::Skewness => self.skewness(),
            F::Kurtosis | F::KurtosisPop => self.kurtosis(function == F::Kurtosis),
        }
    }

    /// `√(n·(n − 1)) / (n − 2) · M_3 / M_2^(3/2)`.
    fn skewness(&self) -> Option<f64> {
        let (n, second, third) = (&self.count, self.central(2)?, self.central(3)?);
        let rest: BigInt = n - 2;
        if !rest.is_positive() || !second.is_positive() {
            return None;
        }
        let square = n * (n - 1) * &third * &third;
        let magnitude = root_ratio(&square, &(&rest * &rest * second.pow(3_u32)));
        Some(if third.is_negative() { -magnitude } else { magnitude })
    }

    /// `b − 3` with `b = M_4 / M_2²`; of a sample `((n + 1)·b − 3·(n − 1)) · (n − 1) / ((n − 2)·(n − 3))`.
    fn kurtosis(&self, sample: bool) -> Option<f64> {
        let (n, second, fourth) = (&self.count, self.central(2)?, self.central(4)?);
        if !second.is_positive() {
            return None;
        }
        let square = &second * &second;
        if !sample {
            return Some(ratio(&(fourth - &square * 3), &square));
        }
        let divisor = (n - 2) * (n - 3) * &square;
        let excess = (n + 1) * fourth - (n - 1) * square * 3;
        (*n > BigInt::from(3)).then(|| ratio(&(excess * (n - 1)), &divisor))
    }

    /// `M_k`; `None` where a sum is lacking.
    fn central(&self, exponent: u32) -> Option<BigInt> {
        let powers = self.powers.get(..exponent as usize)?;
        let shift = -powers.first()?;
        // C(k,j), and n^(j−1).
        let (mut choices, mut rows) = (BigInt::one(), BigInt::one());
        let mut moment = shift.pow(exponent);
        for (chosen, power) in (1..=exponent).zip(powers) {
            choices = choices * (exponent - chosen + 1) / chosen;
            moment += &choices * &rows * power * shift.pow(exponent - chosen);
            rows *= &self.count;
        }
        Some(moment)
    }
}

#[cfg(test)]
mod tests {
    use hush_testkit::Draw;

    use super::*;
    use MomentFunction as F;

    const ALL: [F; 9] = [
        F::Avg,
        F::Kurtosis,
        F::KurtosisPop,
        F::Skewness,
        F::StddevPop,
        F::StddevSamp,
        F::Sum,
        F::VarPop,
        F::VarSamp,
    ];

    fn moments(values: &[i64], scale: u8) -> Moments {
        let power = |exponent: u32| values.iter().map(|value| BigInt::from(*value).pow(exponent)).sum();
        Moments { count: BigInt::from(values.len()), powers: (1..=4).map(power).collect(), scale }
    }

    fn statistic(values: &[i64], function: F) -> Option<f64> {
        moments(values, 0).statistic(function)
    }

    #[test]
    fn statistics_of_a_known_sample() {
        let sample = moments(&[2, 4, 4, 4, 5, 5, 7, 9], 0);
        assert_eq!(sample.statistic(F::StddevPop), Some(2.0));
        assert_eq!(sample.statistic(F::VarSamp), Some(32.0 / 7.0));
        // Of the deviations from 5 the squares add up to 32, the cubes to 42, the fourth powers to 356.
        assert_eq!(sample.statistic(F::Skewness), Some(0.818_487_553_356_799_7));
        assert_eq!(sample.statistic(F::KurtosisPop), Some(-0.21875));
        assert_eq!(sample.statistic(F::Kurtosis), Some(0.940_625));
        assert_eq!(moments(&[150, 250], 2).statistic(F::Avg), Some(2.0));
        // In any unit, and mirrored.
        assert_eq!(
            moments(&[2, 4, 4, 4, 5, 5, 7, 9], 9).statistic(F::Skewness),
            sample.statistic(F::Skewness)
        );
        let mirrored = [-2, -4, -4, -4, -5, -5, -7, -9];
        assert_eq!(statistic(&mirrored, F::Skewness), Some(-0.818_487_553_356_799_7));
        assert_eq!(statistic(&mirrored, F::Kurtosis), Some(0.940_625));
    }

    #[test]
    fn sql_nulls() {
        for function in ALL {
            assert_eq!(statistic(&[], function), None, "{function:?}");
            // A statistic of which there are too few sums.
            let lacking = Moments { powers: vec![BigInt::from(9)], ..moments(&[1, 2, 6, 0], 0) };
            assert_eq!(lacking.statistic(function).is_none(), function.order() > 1, "{function:?}");
        }
        assert_eq!((statistic(&[5], F::StddevSamp), statistic(&[5], F::VarPop)), (None, Some(0.0)));
        let shapes = |values: &[i64]| {
            [F::Skewness, F::Kurtosis, F::KurtosisPop].map(|function| statistic(values, function).is_some())
        };
        assert_eq!(shapes(&[7]), [false, false, false]);
        assert_eq!(shapes(&[7, 8]), [false, false, true]);
        assert_eq!(shapes(&[7, 8, 7]), [true, false, true]);
        assert_eq!(shapes(&[7, 8, 7, 9]), [true, true, true]);
        assert_eq!(shapes(&[7, 7, 7, 7]), [false, false, false]);
        // Symmetric, not lacking.
        assert_eq!(statistic(&[-1, 0, 1], F::Skewness), Some(0.0));
    }

    #[test]
    fn cancellation_costs_nothing() {
        // Doubles of these sums would return garbage here.
        let near = |units: &[i64]| units.iter().map(|unit| 4_000_000_000_000_000 + unit).collect::<Vec<_>>();
        assert_eq!(statistic(&near(&[1, 2, 3]), F::VarSamp), Some(1.0));
        for function in [F::Skewness, F::Kurtosis, F::KurtosisPop] {
            let units = [1, 2, 2, 9, -4];
            assert_eq!(statistic(&near(&units), function), statistic(&units, function), "{function:?}");
        }
    }

    /// Up to nine values of which some are far out.
    fn drawn(draw: &mut Draw) -> Vec<i64> {
        let value = |draw: &mut Draw| match draw.below(6) {
            0 => draw.word() as i64,
            1 => i64::MIN,
            _ => draw.below(19) as i64 - 9,
        };
        (0..1 + draw.below(9)).map(|_| value(draw)).collect()
    }

    /// Against sums of powers of the deviations themselves, by the textbook's formulas; no honest sums are refused.
    #[test]
    fn moments_are_those_of_the_deviations() {
        let mut draw = Draw::new();
        for _ in 0..2000 {
            let values = drawn(&mut draw);
            let (n, sum) =
                (BigInt::from(values.len()), values.iter().map(|value| BigInt::from(*value)).sum::<BigInt>());
            let deviation = |value: &i64| -> BigInt { BigInt::from(*value) * &n - &sum };
            // n^k · Σ (x − x̄)^k.
            let of = |k: u32| values.iter().map(|value| deviation(value).pow(k)).sum::<BigInt>();
            let moments = moments(&values, 2);
            for exponent in 1..=4 {
                assert_eq!(moments.central(exponent).unwrap() * &n, of(exponent), "{values:?}");
            }
            assert!(moments.is_possible(), "{values:?}");
            if n > BigInt::from(3) && of(2).is_positive() {
                let (squares, third) = (of(2) * of(2), of(3));
                let rest = [&n - 2, &n - 3];
                let square = &n * &n * (&n - 1) * &third * &third;
                let skewness = root_ratio(&square, &(&rest[0] * &rest[0] * &squares * of(2)));
                let skewness = if third.is_negative() { -skewness } else { skewness };
                assert_eq!(moments.statistic(F::Skewness), Some(skewness), "{values:?}");
                let excess = &n * of(4) - &squares * 3;
                assert_eq!(moments.statistic(F::KurtosisPop), Some(ratio(&excess, &squares)), "{values:?}");
                let excess = (&n + 1) * &n * of(4) - (&n - 1) * &squares * 3;
                let sample = ratio(&((&n - 1) * excess), &(&rest[0] * &rest[1] * squares));
                assert_eq!(moments.statistic(F::Kurtosis), Some(sample), "{values:?}");
            }
        }
    }

    /// Impossible sums are refused: the square or the fourth power is too small, or the cube too large.
    #[test]
    fn impossible_moments_are_found() {
        let mut draw = Draw::new();
        for round in 0..300 {
            let values = drawn(&mut draw);
            let (mut moments, place, n) = (moments(&values, 0), 1 + round % 3, values.len());
            let widest = values.iter().map(|value| BigInt::from(*value).abs()).max().unwrap() + 1;
            let far: BigInt = widest * (n + 1);
            let far = far.pow(place as u32 + 1) * (n + 1) * (n + 1);
            moments.powers[place] += if place == 2 { far } else { -far };
            assert!(!moments.is_possible(), "{values:?} {moments:?}");
        }
    }

    #[test]
    fn the_edges_of_what_is_possible() {
        let with = |n: u32, powers: [i64; 4]| {
            Moments { count: n.into(), powers: powers.map(BigInt::from).to_vec(), scale: 0 }.is_possible()
        };
        // One outlier among zeros has the largest third and fourth moment; two equal halves have the least fourth.
        assert!(with(9, [1, 1, 1, 1]) && with(4, [2, 2, 2, 2]) && with(2, [0, 2, 0, 2]));
        assert!(!with(2, [0, 2, 0, 1]) && !with(2, [0, 2, 2, 2]) && !with(4, [0, 4, 0, 3]));
        // Equal values: nothing is left over.
        assert!(with(3, [6, 12, 24, 48]) && !with(3, [6, 12, 24, 49]) && !with(3, [6, 12, 25, 48]));
        assert!(!with(3, [6, 11, 24, 48]));
        let first = |sum: i64| Moments { count: 1.into(), powers: vec![sum.into()], scale: 0 }.is_possible();
        assert!(first(i64::MIN));
    }
}
