// SPDX-License-Identifier: Apache-2.0
//! The packing `sum`: BGV by coefficients, plaintext modulus a power of two, a mask that the chunk's columns share.
//!
//! A quantity of at most `m` per row, summed over `rows` rows with clear weights up to `W`, needs
//! `k_min = ⌈log2(2·rows·W·m + 1)⌉` bits of message; a parameter set's noise allows up to `k_max` bits (see
//! [`crate::writers`]). A later query with weights `2^b` times larger needs `b` bits more of either, so the plaintext
//! modulus is `2^k` with `k = k_min + ⌊(k_max − k_min)/2⌋`: what is spare goes half to the message, half to noise.

use hush_params::size::CHUNK_ROWS;
use hush_params::{ParamSet, presets_without_keys};
use num_bigint::BigInt;

use super::{Choice, Fit, Layout, Packing, Plaintext, Rules, Stored, SumAsked, SumFit};
use crate::error::PlanError;
use crate::quantity::Quantity;
use crate::range::{largest_sum, message_log2};
use crate::writers::{Writers, noise_margin, noise_room_log2};

/// Largest `k` that a plaintext modulus `2^k` may have.
const MAX_T_LOG2: u32 = 250;

/// BGV by coefficient packing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum {
    /// log2 of the plaintext modulus, 2 to 250.
    pub t_log2: u32,
}

impl Sum {
    pub(super) fn read(plaintext: Plaintext) -> Option<Self> {
        match plaintext {
            Plaintext::PowerOfTwo { log2 } => Some(Self { t_log2: log2 }),
            _ => None,
        }
    }
}

impl Rules for Sum {
    fn layout(&self) -> Layout {
        Layout::Sum
    }

    fn plaintext(&self) -> Plaintext {
        Plaintext::PowerOfTwo { log2: self.t_log2 }
    }

    fn fits(&self, set: &ParamSet) -> bool {
        (2..=MAX_T_LOG2).contains(&self.t_log2) && f64::from(self.t_log2) < set.log_q()
    }

    fn describe(&self) -> String {
        format!("sums of {} bits", self.t_log2)
    }

    fn plaintext_words(&self) -> String {
        format!("t = 2^{}", self.t_log2)
    }

    fn stored(&self) -> Option<Stored> {
        Some(Stored::Coefficients)
    }

    fn held_bits(&self) -> u64 {
        u64::from(self.t_log2)
    }

    fn fresh(&self, set: &ParamSet, writers: Writers) -> Fit {
        Fit { margin: noise_margin(set, self.t_log2, 1, &1.into(), writers), error: None }
    }

    fn modulus_log2(&self) -> Option<f64> {
        Some(f64::from(self.t_log2))
    }

    fn sums(&self) -> bool {
        true
    }

    fn sum(&self, set: &ParamSet, asked: &SumAsked<'_>) -> Option<SumFit> {
        let margin = noise_margin(set, self.t_log2, asked.rows, asked.weight_max, asked.writers);
        Some(SumFit {
            fit: Fit { margin, error: None },
            needed_bits: message_log2(&largest_sum(asked.rows, asked.weight_max, asked.max_abs)),
            held_bits: self.held_bits(),
            noise: None,
        })
    }
}

/// The smallest parameter set that holds the sums, by stored bytes per value in full chunks; none of those named in `without`.
pub(crate) fn choose(
    quantity: &Quantity,
    max_abs: &BigInt,
    rows: u64,
    weight_max: &BigInt,
    without: &[&str],
) -> Result<Choice, PlanError> {
    let least = message_log2(&largest_sum(rows, weight_max, max_abs));
    let sets = presets_without_keys().filter(|set| !without.contains(&set.name()));
    let fitting = sets.filter_map(|set| {
        let most = u64::from(noise_room_log2(set, rows, weight_max, Writers::Owner)?.min(MAX_T_LOG2));
        let log2 = u32::try_from(least + most.checked_sub(least)? / 2).ok()?;
        Some((set, log2))
    });
    let (set, log2) = fitting
        .min_by_key(|(set, _)| stored_bits(set))
        .ok_or_else(|| PlanError::NoParameters { quantity: quantity.describe(), rows, bits: least })?;
    Ok(Choice { packing: Packing::Sum(Sum { t_log2: log2 }), params: set.name(), max_abs: max_abs.clone() })
}

/// A quantity to be summed in a table that devices write to.
pub(crate) struct Asked<'a> {
    pub(crate) quantity: &'a Quantity,
    pub(crate) max_abs: BigInt,
    pub(crate) weight_max: &'a BigInt,
}

/// As [`choose`] for all columns together, where devices encrypt: columns over one ring share masks, and so the multiples that
/// errors come in, which are their plaintext modulus. The rings of `taken` have errors in other multiples.
pub(crate) fn choose_shared(
    asked: &[Asked<'_>],
    rows: u64,
    taken: &[&str],
) -> Result<Vec<Choice>, PlanError> {
    let options = asked.iter().map(|asked| {
        let least = message_log2(&largest_sum(rows, asked.weight_max, &asked.max_abs));
        let sets = presets_without_keys().filter(|set| !taken.contains(&set.name()));
        let fitting = sets.filter_map(|set| {
            let most =
                u64::from(noise_room_log2(set, rows, asked.weight_max, Writers::Devices)?.min(MAX_T_LOG2));
            (least <= most).then_some((set, least, most))
        });
        let mut fitting: Vec<_> = fitting.collect();
        fitting.sort_by_key(|(set, ..)| stored_bits(set));
        (fitting, least)
    });
    let options: Vec<_> = options.collect();
    // The option that each column takes.
    let mut taken = vec![0; asked.len()];
    loop {
        let chosen = options.iter().zip(&taken).zip(asked).map(|(((fitting, least), at), asked)| {
            let quantity = || asked.quantity.describe();
            fitting.get(*at).ok_or_else(|| PlanError::NoParameters {
                quantity: quantity(),
                rows,
                bits: *least,
            })
        });
        let chosen = chosen.collect::<Result<Vec<_>, _>>()?;
        let common = |set: &ParamSet| {
            let members = || chosen.iter().filter(|(other, ..)| other.code() == set.code());
            let least = members().map(|(_, least, _)| *least).max().unwrap_or(0);
            let most = members().map(|(.., most)| *most).min().unwrap_or(0);
            (least, most)
        };
        let crowded = chosen.iter().position(|(set, _, most)| {
            let (least, lowest) = common(set);
            least > lowest && *most == lowest
        });
        // Of columns that cannot share, the one with the largest weights moves to a larger ring.
        if let Some(place) = crowded {
            taken[place] += 1;
            continue;
        }
        let choice = |(asked, (set, ..)): (&Asked<'_>, &(&'static ParamSet, u64, u64))| {
            let (least, most) = common(set);
            Choice {
                packing: Packing::Sum(Sum { t_log2: (least + (most - least) / 2) as u32 }),
                params: set.name(),
                max_abs: asked.max_abs.clone(),
            }
        };
        return Ok(asked.iter().zip(chosen.iter().copied()).map(choice).collect());
    }
}

/// How many places of so many bits a column should have over so many rows, so that each takes as little as it can: at least one, at most `most`.
pub(crate) fn places(bits: u32, most: usize, rows: u64, writers: Writers) -> usize {
    let one = BigInt::from(1);
    let fitting = presets_without_keys().filter_map(|set| {
        // A bit for the sign.
        let room = noise_room_log2(set, rows, &one, writers)?.min(MAX_T_LOG2).checked_sub(1)?;
        let places = ((room / bits.max(1)) as usize).min(most);
        (places > 0).then(|| (stored_bits(set) as f64 / places as f64, places))
    });
    fitting.min_by(|(one, _), (other, _)| one.total_cmp(other)).map_or(1, |(_, places)| places)
}

/// Bits stored per value in a full chunk; a ring larger than a chunk is partly padding.
pub(crate) fn stored_bits(set: &ParamSet) -> usize {
    set.limb_count() * set.residue_bits() as usize * (set.degree() / CHUNK_ROWS as usize).max(1)
}
