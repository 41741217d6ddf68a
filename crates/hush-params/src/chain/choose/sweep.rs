// SPDX-License-Identifier: Apache-2.0
//! Checks the promises of a choice over requests of every depth, precision, number of slots and level of security.

use super::*;
use crate::Level;
use crate::noise::{NoiseModel, Norms, Operands, PhaseNoise, View};
use crate::primes::primes_of;
use hush_testkit::Draw;

const SECURITY: [SecurityLevel; 3] = [SecurityLevel::Bits128, SecurityLevel::Bits192, SecurityLevel::Bits256];
const T: u64 = 65537;

fn request(depth: u32, error_log2: Option<f64>, slots: usize, security: SecurityLevel) -> ChainRequest {
    let plaintexts = match error_log2 {
        Some(error_log2) => Plaintexts::Approximate { scale_log2: None, value_log2: 0.0, error_log2 },
        None => Plaintexts::Exact { t: T },
    };
    ChainRequest { plaintexts, depth, slots, sums_log2: 0.0, key_switching: KeySwitching::Used, security }
}

/// The circuit of the module's description, written down once more. `None`, or log2 of the margin: of the modulus beyond the
/// largest phase, or of the error allowed beyond the error.
fn margin(request: &ChainRequest, chain: &ChainParams) -> Option<f64> {
    let (unit, error_log2) = match request.plaintexts {
        Plaintexts::Exact { t } => (t, None),
        Plaintexts::Approximate { error_log2, .. } => (1, Some(error_log2)),
        Plaintexts::ExactScaled { .. } => return None,
    };
    let model = NoiseModel::new(chain.degree(), unit, View::Bound);
    let slots = |scale: f64| Norms::of_slots(scale);
    let mut scale = if request.depth > 0 {
        chain.steady_scale_log2()
    } else {
        (chain.log_q(Level(0)).unwrap() - 2.0).floor()
    };
    let mut noise = match error_log2 {
        Some(_) => model.encoded(model.fresh_public(PhaseNoise::clear(slots(scale)))),
        None => model.fresh_public(model.message((T as f64).log2() - 1.0)),
    };
    let mut least = f64::INFINITY;
    for level in (0..=request.depth as u8).rev().map(Level) {
        let log_q = chain.log_q(level).unwrap();
        noise = model.sum(model.key_switched(noise, chain, level), request.sums_log2);
        if error_log2.is_some() {
            noise.message = slots(scale);
        }
        least = least.min(log_q - 1.0 - model.phase_log2(noise));
        if level == Level(0) {
            break;
        }
        let mut product = model.tensor(noise, noise, Operands::Dependent);
        if error_log2.is_some() {
            product.message = slots(2.0 * scale);
        }
        least = least.min(log_q - 1.0 - model.phase_log2(product));
        noise = model.relinearized_and_mod_switched(product, chain, level)?;
        scale = 2.0 * scale - (log_q - chain.log_q(level.below()?)?);
    }
    if let Some(error_log2) = error_log2 {
        least = least.min(error_log2 - model.slot_error_log2(noise, scale));
    }
    (least >= 0.0).then_some(least)
}

/// Whether any chain of a ring serves: every size for every role, every number of primes, nothing left out but what is beyond
/// the table.
fn any_serves(request: &ChainRequest, degree: u32) -> bool {
    let Some(max) = max_log_q(degree, request.security) else { return false };
    // No prime of a size is smaller than this.
    let at_least = |bits: u32| f64::from(bits) - 0.1;
    let depth = request.depth as usize;
    let mut tried = Vec::new();
    for (level_bits, base_bits) in (30..=47).flat_map(|level| (30..=47).map(move |base| (level, base))) {
        for (per_level, base) in (1..=3).flat_map(|per_level| (1..=5).map(move |base| (per_level, base))) {
            if depth == 0 && (per_level > 1 || level_bits > 30) {
                continue;
            }
            let limbs = base + per_level * depth;
            let universe_bits =
                at_least(base_bits) * base as f64 + at_least(level_bits) * (limbs - base) as f64;
            for (special, special_bits) in (1..=limbs).flat_map(|k| (30..=47).map(move |bits| (k, bits))) {
                if universe_bits + at_least(special_bits) * special as f64 <= f64::from(max) {
                    tried.push((base, base_bits, per_level, level_bits, special, special_bits));
                }
            }
        }
    }
    tried.into_iter().any(|(base, base_bits, per_level, level_bits, special, special_bits)| {
        let limbs = base + per_level * depth;
        let mut free: BTreeMap<u32, std::slice::Iter<'_, u64>> = BTreeMap::new();
        let mut pick = |bits: u32, count: usize| -> Vec<u64> {
            free.entry(bits).or_insert_with(|| primes_of(bits).iter()).take(count).copied().collect()
        };
        let special = pick(special_bits, special);
        let universe = [pick(base_bits, base), pick(level_bits, limbs - base)].concat();
        if universe.len() < limbs {
            return false;
        }
        let levels: Vec<Vec<u8>> =
            (0..=depth).map(|level| (0..(base + per_level * level) as u8).collect()).collect();
        (1..=limbs).any(|digit_limbs| {
            let (universe, special, levels) = (universe.clone(), special.clone(), levels.clone());
            let spec = ChainSpec { degree, universe, special, levels, digit_limbs };
            ChainParams::with_security(spec, request.security)
                .is_ok_and(|chain| margin(request, &chain).is_some())
        })
    })
}

/// Chooses, and checks everything that is promised but that no smaller ring would do. The degree, if something was chosen.
fn checked(request: &ChainRequest) -> Option<usize> {
    let (depth, security, slots) = (request.depth, request.security, request.slots);
    let error_log2 = match request.plaintexts {
        Plaintexts::Approximate { error_log2, .. } => Some(error_log2),
        _ => None,
    };
    let chosen = match ChainParams::choose(request) {
        Ok(chosen) => chosen,
        Err(ChainError::TooLarge { found, max, .. }) => {
            assert!(found > max && depth >= 5, "{request:?}: {found} of {max} bits");
            return None;
        }
        Err(ChainError::Imprecise { found, expected }) => {
            assert!(found > expected && depth >= 5, "{request:?}: 2^{found} of 2^{expected}");
            return None;
        }
        Err(error) => panic!("{request:?}: {error}"),
    };
    let chain = chosen.params();
    assert!(chain.degree() >= if error_log2.is_some() { 2 * slots } else { slots });
    let max = max_log_q(chain.degree() as u32, security).unwrap();
    assert!(chain.log_qp_ceil() <= max && chain.security_bits() >= security.bits(), "{request:?}");
    assert_eq!(u32::from(chain.top().0), depth);
    // Rational levels stand at another scale than the steady one, up to their tolerance.
    let is_uniform = chain.levels().windows(2).all(|pair| pair[1].starts_with(&pair[0]));
    if is_uniform {
        let found = margin(request, chain).unwrap_or_else(|| panic!("{request:?} on {chain:?}"));
        assert!((found - chosen.margin_bits()).abs() < 1e-6, "{found} of {}", chosen.margin_bits());
    }
    assert!(chosen.error_log2().is_none_or(|found| found <= error_log2.unwrap()));
    assert_eq!(chosen.scale_log2().is_some(), error_log2.is_some());
    // 2^-128 for each of two bounds a level and the last error, and for the norms of each.
    let bounds_log2 = (2.0 * f64::from(depth) + 2.0).log2() + 2.1;
    assert!(chosen.failure_log2() <= -128.0 + bounds_log2, "{request:?}: {}", chosen.failure_log2());
    Some(chain.degree())
}

/// Every depth, security and precision, with some number of slots.
fn requests(draw: &mut Draw) -> Vec<ChainRequest> {
    let cases = (0..=12).flat_map(|depth| SECURITY.map(|security| (depth, security)));
    let mut requests = Vec::new();
    for (depth, security) in cases {
        for error_log2 in [None, Some(-10.0), Some(-20.0), Some(-28.0)] {
            let slots = [1, 1024, 3000, 8192][draw.below(4)];
            requests.push(request(depth, error_log2, slots, security));
        }
    }
    requests
}

/// Whether there is a smaller ring with the slots, and an exhaustive search of it is not endless.
fn can_be_searched(request: &ChainRequest, degree: usize) -> bool {
    let slots = if matches!(request.plaintexts, Plaintexts::Exact { .. }) { degree / 2 } else { degree / 4 };
    degree >= 2048 && slots >= request.slots && request.depth <= 8
}

fn assert_smallest(draw: &Draw, request: &ChainRequest, degree: usize) {
    assert!(!any_serves(request, degree as u32 / 2), "{draw}: {request:?} fits {}", degree / 2);
}

/// Some of the requests; the next test has them all.
#[test]
fn choices_keep_to_the_table_hold_what_was_asked_for_and_are_smallest() {
    let mut draw = Draw::new();
    let requests = requests(&mut draw);
    let (mut chosen, mut searched) = (0, 0);
    for _ in 0..40 {
        let request = &requests[draw.below(requests.len())];
        let Some(degree) = checked(request) else { continue };
        chosen += 1;
        if can_be_searched(request, degree) && searched < 6 {
            assert_smallest(&draw, request, degree);
            searched += 1;
        }
    }
    assert!(chosen > 10 && searched > 0, "{draw}: {chosen} chosen, {searched} searched");
}

#[test]
#[ignore = "minutes; `make test-slow`"]
fn every_choice_keeps_to_the_table_holds_what_was_asked_for_and_is_smallest() {
    let mut draw = Draw::new();
    for request in requests(&mut draw) {
        let Some(degree) = checked(&request) else { continue };
        if can_be_searched(&request, degree) {
            assert_smallest(&draw, &request, degree);
        }
    }
}
