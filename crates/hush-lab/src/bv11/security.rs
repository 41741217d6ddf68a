// SPDX-License-Identifier: Apache-2.0
//! How many operations the best known lattice attack on an LWE instance takes, estimated.
//!
//! The primal attack: lattice reduction until the error is the unusually short vector, under the geometric series assumption
//! ([ADPS16, section 6.3]), with the cost of one reduction by the model of [MATZOV22]. It was compared with the lattice estimator at
//! eleven instances of 26 to 116 bits and agrees within one bit. Below block size 40, where every instance is broken, the number is
//! that of a reduction with blocks of 40. In the smallest dimensions trying every secret is cheaper, and counts.

/// The standard deviation of the errors, `√10.5`.
pub(crate) const SIGMA: f64 = 3.240_370_349_203_93;

/// log2 of the operations to break LWE in dimension `n` modulo `2^q_log2` with as many samples as the attack wants.
///
/// Secrets are uniform; their LWE instance is as hard as one with a secret of the errors' distribution. Errors `2e` for odd moduli are
/// as hard as `e`. Not more than 3000 block sizes are tried. For moduli below 2^6, which hold no sum of errors, the number may fall by
/// a bit or two where the dimension grows.
///
/// # Math
/// At most `n·h`: about `2^(n·h)` secrets are likely, where `h` is the entropy of an error. No block is larger than the lattice.
///
/// # Cost
/// Some thousand floating-point operations.
pub fn security_bits(n: u32, q_log2: f64) -> f64 {
    let n = f64::from(n);
    let exhaustive = exhaustive_log2(n, q_log2);
    for block in SMALLEST_BLOCK..3000 {
        let block = f64::from(block);
        let delta_log2 = root_hermite_log2(block);
        let best = (n * q_log2 / delta_log2).sqrt();
        for dimension in [best * 0.95, best, best * 1.05] {
            let dimension = dimension.max(n + 2.0).floor();
            let reduced = block.min(dimension);
            let delta_log2 = if reduced < block { root_hermite_log2(reduced) } else { delta_log2 };
            if finds(n, q_log2, reduced, delta_log2, dimension) {
                return reduction_log2(reduced.max(SMALLEST_BLOCK.into()), dimension).min(exhaustive);
            }
        }
    }
    reduction_log2(3000.0, n).min(exhaustive)
}

/// log2 of the secrets of the errors' distribution, or of all secrets if they are fewer.
fn exhaustive_log2(n: f64, q_log2: f64) -> f64 {
    let entropy = (SIGMA * (2.0 * std::f64::consts::PI * std::f64::consts::E).sqrt()).log2();
    n * entropy.min(q_log2)
}

/// The least dimension with `bits` of security for a modulus of `2^q_log2`. Cost: some 15 calls of [`security_bits`].
pub fn least_dimension(bits: f64, q_log2: f64) -> u32 {
    let (mut low, mut high) = (1, 1 << 14);
    while low < high {
        let middle = (low + high) / 2;
        if security_bits(middle, q_log2) >= bits {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    high
}

fn finds(n: f64, q_log2: f64, block: f64, delta_log2: f64, dimension: f64) -> bool {
    let samples = dimension - n - 1.0;
    let shortest = (2.0 * block - dimension - 1.0) * delta_log2 + q_log2 * samples / dimension;
    block.log2() / 2.0 + SIGMA.log2() <= shortest
}

/// log2 of the root-Hermite factor: a table entry at 40, else Chen's formula.
fn root_hermite_log2(block: f64) -> f64 {
    if block <= f64::from(SMALLEST_BLOCK) {
        return 1.01295_f64.log2();
    }
    let pi = std::f64::consts::PI;
    let base = (block / (2.0 * pi * std::f64::consts::E)).log2() + (pi * block).log2() / block;
    base / (2.0 * (block - 1.0))
}

/// log2 of the operations of one reduction; the dimensions that come for free are taken off the block.
fn reduction_log2(block: f64, dimension: f64) -> f64 {
    const SLOPE: f64 = 0.296_135_003_082_053_65;
    const OFFSET: f64 = 20.387_885_985_467_914;
    let free =
        block * (4.0_f64 / 3.0).ln() / (block / (2.0 * std::f64::consts::PI * std::f64::consts::E)).ln();
    let progressive = -(1.0 - (-SLOPE).exp2()).log2();
    let calls = (dimension - block).max(1.0).log2() + 2.0 * progressive;
    (calls + SLOPE * (block - free) + OFFSET).max(3.0 * dimension.log2())
}

/// What polynomial-time reduction is taken to reach.
const SMALLEST_BLOCK: u32 = 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_agrees_with_the_lattice_estimator() {
        // Dimension, bits of the modulus, bits of security by the estimator (uSVP and dual, MATZOV).
        for (n, q_log2, expected) in [
            (269, 26.0, 42.0),
            (344, 26.0, 52.0),
            (421, 26.0, 62.0),
            (520, 27.0, 72.0),
            (584, 27.0, 80.0),
            (981, 28.0, 128.0),
            (395, 52.0, 42.0),
            (965, 55.0, 62.0),
            (1134, 55.0, 72.0),
            (2100, 57.0, 128.0),
            (2088, 116.0, 62.0),
        ] {
            let found = security_bits(n, q_log2);
            assert!((found - expected).abs() < 1.0, "{n} {q_log2}: {found}");
        }
    }

    #[test]
    fn small_dimensions_are_worth_no_more_than_all_their_secrets_and_less_than_larger_ones() {
        for q_log2 in [1.6, 3.0, 8.0, 12.0, 13.0, 14.0, 20.0, 26.0, 40.0, 52.0, 60.0] {
            let mut before = 0.0;
            for n in 1..=60 {
                let found = security_bits(n, q_log2);
                assert!(
                    found <= 3.75 * f64::from(n) && found <= q_log2 * f64::from(n) + 1e-9,
                    "{n} {q_log2}: {found}"
                );
                assert!(found >= before, "{n} {q_log2}: {found} after {before}");
                before = found;
            }
        }
        // Reduction with small blocks, not more bits than anything else here has.
        assert!(security_bits(16, 13.0) < 45.0);
    }

    #[test]
    fn security_grows_with_the_dimension_and_the_search_finds_the_least() {
        for (bits, q_log2) in [(42.0, 14.0), (52.0, 26.0), (128.0, 28.0), (62.0, 55.0)] {
            let n = least_dimension(bits, q_log2);
            assert!(
                security_bits(n, q_log2) >= bits && security_bits(n - 1, q_log2) < bits,
                "{bits} {q_log2} {n}"
            );
        }
    }
}
