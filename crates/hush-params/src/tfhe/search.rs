// SPDX-License-Identifier: Apache-2.0
//! The cheapest set for messages of so many bits.
//!
//! # Method
//! All ranks and degrees whose large secret has an estimate, all expansions up to 64, and up to three digits of the gadget, of which the widths are those of least error. For each noise of
//! small ciphertexts the least even dimension that the estimates allow, and all digits of the key switch. Of those whose wrong results are rare enough the one of least work.

use super::sets::{PRIME_38, PRIME_47};
use super::{Gadget, Messages, SwitchDigits, TfheSet, least_noise_log2};

/// log2 of the chance of a wrong result that a set may have.
const LIMIT: f64 = -128.0;
/// Words of keys at most: 512 MB of a rotation key, 64 MB of a switching key.
const MOST_ROTATION_WORDS: usize = 1 << 26;
const MOST_SWITCH_WORDS: usize = 1 << 24;

/// Ranks, degrees and primes whose secrets have at least 132 bits by [`super::GLWE_ESTIMATES`].
const RINGS: [(usize, usize, u64); 5] =
    [(1, 2048, PRIME_47), (2, 1024, PRIME_47), (4, 512, PRIME_47), (3, 512, PRIME_38), (6, 256, PRIME_38)];

/// The set of least work for messages of so many bits, of which sums up to the norm go into a bootstrapping; without a name, a code, and circuit bootstrapping. `None` if there is none.
///
/// # Cost
/// Some 10^5 evaluations of the formulas.
pub fn cheapest(bits: u32, norm: u32) -> Option<TfheSet> {
    let mut best: Option<(f64, TfheSet)> = None;
    for (rank, degree, prime) in RINGS {
        for levels in 1..=3 {
            let start = TfheSet {
                name: "",
                code: 0,
                dimension: 0,
                noise_bits: 0,
                rank,
                degree,
                prime,
                expansion: 1,
                gadget: Gadget { shift: 0, bits: 0, levels },
                switch: SwitchDigits { bits: 1, levels: 1 },
                messages: Messages::Padded { bits },
                norm,
                circuit: None,
            };
            let Some(gadget) = finest(&start) else { continue };
            for expansion in (0..=6).map(|log| 1 << log) {
                let set = TfheSet { gadget, expansion, ..start.clone() };
                if set.table_degree() < 2 << bits {
                    continue;
                }
                for set in small_halves(&set) {
                    let is_less = best.as_ref().is_none_or(|(least, _)| work(&set) < *least);
                    if is_less && set.failure_log2() < LIMIT {
                        best = Some((work(&set), set));
                    }
                }
            }
        }
    }
    best.map(|(_, set)| set)
}

/// The digits of blind rotations with the least error.
fn finest(set: &TfheSet) -> Option<Gadget> {
    let (levels, log_q) = (set.gadget.levels, set.log_q() as u32);
    let bits = if levels == 1 { 0..=0 } else { 4..=20 };
    let gadgets = bits.flat_map(|bits| (1..log_q).map(move |shift| Gadget { shift, bits, levels }));
    let error = |gadget: Gadget| TfheSet { dimension: 1, gadget, ..set.clone() }.variances().rotation;
    gadgets
        .filter(|gadget| gadget.shift + gadget.bits * (levels - 1) < log_q)
        .map(|gadget| (error(gadget), gadget))
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, gadget)| gadget)
}

/// The set with every small secret, noise and digits of the key switch, as long as keys are not too large.
fn small_halves(set: &TfheSet) -> impl Iterator<Item = TfheSet> {
    let allowed = |(dimension, noise_bits): &(usize, u32)| {
        let noise = TfheSet { noise_bits: *noise_bits, ..set.clone() }.small_noise().log2() / 2.0;
        least_noise_log2(*dimension).is_some_and(|least| noise >= least)
    };
    let least = move |noise_bits: u32| {
        (560..=1100).step_by(2).map(move |dimension| (dimension, noise_bits)).find(allowed)
    };
    let rows = set.large_dimension();
    let words = (set.rank + 1) * (set.rank + 1) * set.gadget.levels as usize * set.degree;
    let secrets = (6..=20).filter_map(least).filter(move |(n, _)| words * n <= MOST_ROTATION_WORDS);
    secrets.flat_map(move |(dimension, noise_bits)| {
        let digits = (1..=6).flat_map(|bits| (1..=12).map(move |levels| SwitchDigits { bits, levels }));
        let fits = move |digits: &SwitchDigits| {
            digits.bits * digits.levels < 30 && rows * digits.levels as usize * dimension <= MOST_SWITCH_WORDS
        };
        digits.filter(fits).map(move |switch| TfheSet { dimension, noise_bits, switch, ..set.clone() })
    })
}

/// Steps of transforms, products and digits, and of the key switch, in units of one coefficient and layer.
fn work(set: &TfheSet) -> f64 {
    let transforms = set.expansion * (set.rank + 1) * (set.gadget.levels as usize + 1) * set.degree;
    let of_coefficient = f64::from(set.degree.trailing_zeros()) + 4.0;
    let switch = 2 * set.switch.levels as usize * set.large_dimension();
    set.dimension as f64 * (transforms as f64 * of_coefficient + switch as f64)
}
