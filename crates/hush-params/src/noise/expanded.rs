// SPDX-License-Identifier: Apache-2.0
//! One ciphertext that becomes many, each of a constant.

use super::{NoiseModel, Operands, PhaseNoise};
use crate::{ChainParams, Level};

/// The phase of each of `count` ciphertexts that one fresh ciphertext at `level` is expanded to, messages modulo the model's unit.
///
/// # Math
/// Level by level a ciphertext `c` becomes `c + τ(c)` and `X^(−2^j)·(c − τ(c))`, with `τ(c)` key-switched. Both have twice the message and twice the
/// error at most, since `τ(c)` may repeat the errors of `c`, and the error of one key switch. There are `⌈log2 count⌉` levels.
pub fn expanded(model: &NoiseModel, chain: &ChainParams, level: Level, count: usize) -> PhaseNoise {
    let levels = count.max(1).next_power_of_two().ilog2();
    let fresh = model.fresh(model.message(model.unit_log2() - 1.0));
    (0..levels).fold(fresh, |phase, _| {
        let moved = model.key_switched(phase, chain, level);
        model.add(phase, moved, Operands::Dependent)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::View;
    use crate::presets::chain_preset;

    #[test]
    fn every_level_doubles_and_adds_a_key_switch() {
        let chain = chain_preset("n14_q5p1x46u_d1_sec192_v1").unwrap().params().unwrap();
        let (t, level) = (65_537, chain.top());
        let model = NoiseModel::new(chain.degree(), t, View::Bound);
        let phase = |count| expanded(&model, &chain, level, count);
        let fresh = model.fresh(model.message((t as f64).log2() - 1.0));
        assert_eq!((phase(0), phase(1)), (fresh, fresh));
        assert_eq!((phase(3), phase(65)), (phase(4), phase(128)));
        let doubled = phase(128).message.coefficient_log2 - fresh.message.coefficient_log2;
        assert!((doubled - 7.0).abs() < 1e-9, "{doubled}");
        // The key switches of later levels are doubled less often: 127 of them at most, and the fresh error 128 times.
        let switch = model.key_switch(&chain, level).coefficient_log2;
        let most = crate::noise::add_phase_log2(fresh.random.coefficient_log2, switch) + 7.0;
        let found = phase(128).random.coefficient_log2;
        assert!(found <= most && found >= switch + 6.0, "{switch} {found} {most}");
        assert!(model.phase_log2(phase(128)) < chain.log_q(level).unwrap() - 1.0);
    }
}
