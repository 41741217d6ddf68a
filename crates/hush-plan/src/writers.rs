// SPDX-License-Identifier: Apache-2.0
//! The encrypters of a table's rows, and whether an encoded column can hold a sum of such rows.
//!
//! Two bounds must hold for a masked sum `Σ w_i x_i` over `rows` rows with `|w_i| ≤ W` and `|x_i| ≤ m`:
//! *message* `rows·W·m < t/2`, so that the sum is its own centred residue mod `t = 2^k`, and *noise*
//! [`noise::bgv_sum_phase_log2`]`(k, rows, W, f) ≤ log2 Q − 1`, so that the phase is its own centred residue mod `Q`;
//! `f` is [`Writers::noise_factor`].
//! Both are worst cases over the rows that a query may select.

use hush_params::{ParamSet, noise, size};
use num_bigint::BigInt;
use num_traits::ToPrimitive;

use crate::report::DeviceCost;

/// The encrypters of a table's rows. They decide how noisy the rows are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Writers {
    /// The owner alone, with secret keys.
    #[default]
    Owner,
    /// Devices too, with public keys.
    Devices,
}

impl Writers {
    /// Factor by which the errors of their rows deviate more than those of the owner's rows.
    pub fn noise_factor(self, set: &ParamSet) -> f64 {
        match self {
            Self::Owner => 1.0,
            Self::Devices => noise::device_factor(set.degree()),
        }
    }

    /// Cost of a value that they encrypt; `None` for the owner alone.
    pub fn cost(self, set: &ParamSet) -> Option<DeviceCost> {
        let owner_value_bytes = size::poly_bytes(set) as f64 / set.degree() as f64;
        let noise_bits = self.noise_factor(set).log2();
        let cost = DeviceCost { value_bytes: 2.0 * owner_value_bytes, owner_value_bytes, noise_bits };
        (self == Self::Devices).then_some(cost)
    }
}

/// The largest `k` for which a masked sum still decrypts, or `None` where not even `k = 2` does.
pub fn noise_room_log2(set: &ParamSet, rows: u64, weight_max: &BigInt, writers: Writers) -> Option<u32> {
    // A double cannot hold weights above 2^1023; nothing near that fits any set.
    let weight = weight_max.to_f64().filter(|weight| weight.is_finite())?;
    let room =
        set.log_q() - 1.0 - noise::bgv_sum_phase_log2(0.0, rows as f64, weight, writers.noise_factor(set));
    (room >= 2.0).then_some(room.floor() as u32)
}

/// Distance in bits between the noise of a masked sum and its limit; negative where it does not fit.
pub fn noise_margin(set: &ParamSet, t_log2: u32, rows: u64, weight_max: &BigInt, writers: Writers) -> f64 {
    let weight = weight_max.to_f64().unwrap_or(f64::INFINITY);
    let factor = writers.noise_factor(set);
    set.log_q() - 1.0 - noise::bgv_sum_phase_log2(f64::from(t_log2), rows as f64, weight, factor)
}

#[cfg(test)]
mod tests {
    use hush_params::preset;
    use num_traits::One;

    use super::*;

    #[test]
    fn values_of_devices_have_a_mask_beside_them() {
        let set = preset("n12_q2x46_sec128_v1").unwrap();
        assert_eq!(Writers::Owner.cost(set), None);
        let cost = Writers::Devices.cost(set).unwrap();
        // Two primes of 46 bits.
        assert_eq!((cost.owner_value_bytes, cost.value_bytes), (11.5, 23.0));
        assert!((cost.noise_bits - (1.0 + 4096.0 * 80.0 / 3.0_f64).log2() / 2.0).abs() < 1e-9);
    }

    #[test]
    fn noise_room_and_margin_agree() {
        let set = preset("n12_q2x46_sec128_v1").unwrap();
        for rows in [1, 6_000, 1_000_000_000] {
            for weight in [1i64, 1000, 1 << 20] {
                let weight = BigInt::from(weight);
                for writers in [Writers::Owner, Writers::Devices] {
                    let room = noise_room_log2(set, rows, &weight, writers).unwrap();
                    assert!(noise_margin(set, room, rows, &weight, writers) >= 0.0);
                    assert!(noise_margin(set, room + 1, rows, &weight, writers) < 0.0);
                }
            }
        }
        assert_eq!(noise_room_log2(set, 1, &(BigInt::one() << 100), Writers::Owner), None);
        assert_eq!(noise_room_log2(set, 1, &(BigInt::one() << 5000), Writers::Owner), None);
    }
}
