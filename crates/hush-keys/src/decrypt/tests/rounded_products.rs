// SPDX-License-Identifier: Apache-2.0
//! Rounded sums of products: within their bounds they decrypt to what they did before, up to the last bit, and beyond they are refused.

use hush_ring::{Coeff, ExpandLabel, Rounding, SecretRng};
use hush_rlwe::{ProductForm, decode_product, encode_product, product_bytes};

use super::products::T;
use super::*;
use crate::check_powers;

/// Through both forms of the object, with the fewest bits for a phase of at most `2^phase_log2`. Gives these bits; `None` where more would
/// be needed than can be packed.
pub(super) fn check_forms(
    secret: &SecretKey,
    encoder: &SlotEncoder,
    components: &[Poly<Eval>],
    phase_log2: f64,
    slots: &[u64],
) -> Option<Vec<u32>> {
    let ring = secret.ring();
    let whole = ProductForm::Residues { components: components.len() as u8 };
    let bytes = encode_product(ring, components, &whole).unwrap();
    assert_eq!(decode_product(&bytes, ring, &whole).unwrap(), components);
    let plan = Plan::new(ring, components.len(), phase_log2)?;
    assert_eq!(check_powers(secret, components.len()), Ok(()));
    let form = ProductForm::Rounded { bits: plan.bits.clone(), t: T };
    let bytes = encode_product(ring, components, &form).unwrap();
    assert_eq!(bytes.len(), product_bytes(ring, &form));
    assert!(bytes.len() < product_bytes(ring, &whole));
    let restored = decode_product(&bytes, ring, &form).unwrap();
    let limit = PhaseLimit::from_log2(plan.bound(&plan.bits));
    assert!(decrypt_product(secret, encoder, &restored, limit).unwrap() == slots);
    Some(plan.bits)
}

/// Rounding of sums whose phases are within a bound.
struct Plan {
    degree: usize,
    log_q: f64,
    phase_log2: f64,
    bits: Vec<u32>,
}

impl Plan {
    fn new(ring: &Ring, components: usize, phase_log2: f64) -> Option<Self> {
        let (degree, log_q) = (ring.degree(), ring.crt().log2_product());
        let bits = noise::product_bits(degree, components as u8, (T as f64).log2(), log_q, phase_log2)?;
        let plan = Self { degree, log_q, phase_log2, bits };
        assert!(plan.bound(&plan.bits) <= log_q - 1.0);
        // With a bit less each, half the modulus is not enough.
        assert!(plan.bound(&plan.less(1)) > log_q - 1.0);
        Some(plan)
    }

    fn bound(&self, bits: &[u32]) -> f64 {
        let t_log2 = (T as f64).log2();
        noise::rounded_product_phase_log2(self.degree, bits, t_log2, self.log_q, self.phase_log2)
    }

    fn less(&self, fewer: u32) -> Vec<u32> {
        self.bits.iter().map(|bits| bits - fewer).collect()
    }
}

/// The components after rounding and restoring, on any ring.
fn restored(components: &[Poly<Eval>], bits: &[u32]) -> Vec<Poly<Eval>> {
    let each = components.iter().zip(bits).map(|(component, bits)| {
        let rounding = Rounding::new(component.ring(), *bits, |q| q.reduce_u64(T)).unwrap();
        rounding.restore(&rounding.round(component.clone().into_coeff()).unwrap()).unwrap().into_eval()
    });
    each.collect()
}

/// Random components that have this phase.
fn with_phase(secret: &SecretKey, phases: &[I256], components: usize) -> Vec<Poly<Eval>> {
    let ring = secret.ring();
    let mut words = vec![0; ring.poly_words()];
    for (place, phase) in phases.iter().enumerate() {
        for (limb, residue) in ring.crt().residues(*phase).into_iter().enumerate() {
            words[limb * ring.degree() + place] = residue;
        }
    }
    let mut constant = Poly::<Coeff>::from_words(ring, words).unwrap().into_eval();
    let words: Vec<u64> = (0..ring.limb_count()).flat_map(|limb| secret.eval_limb(limb)).copied().collect();
    let secret = Poly::<Eval>::from_words(ring, words).unwrap();
    let seed = UniformSeed::generate().unwrap();
    let mut power = secret.clone();
    let mut all = Vec::new();
    for number in 1..components as u32 {
        let component = seed.expand(ring, ExpandLabel::sum(number));
        constant.sub_assign(&Poly::product(&component, &power).unwrap()).unwrap();
        power.mul_assign(&secret).unwrap();
        all.push(component);
    }
    all.insert(0, constant);
    all
}

/// Numbers of up to `most` in absolute value, with the largest of both signs among them.
fn phases(draw: &mut Draw, degree: usize, most: I256) -> Vec<I256> {
    let one = |place: usize| match place % 4 {
        0 => most,
        1 => -most,
        _ => draw.wide() % most,
    };
    (0..degree).map(one).collect()
}

/// The slots of the polynomial with these coefficients modulo `T`.
fn slots(encoder: &SlotEncoder, phases: &[I256]) -> Vec<u64> {
    let t = I256::from(T);
    let reduced: Vec<I256> = phases.iter().map(|phase| phase.rem_euclid(t)).collect();
    encoder.slots(0, &reduced).unwrap()
}

/// Rings with the most components that are tried there: toys, and sets.
fn rings() -> Vec<(Ring, usize)> {
    let moduli = preset("n14_q5x46_sec128_v1").unwrap().moduli();
    let toy = |degree, limbs| Ring::insecure_toy(degree, &moduli[..limbs]).unwrap();
    let sets = [("n12_q2x46_sec128_v1", 4), ("n13_q3x46_sec128_v1", 5), ("n13_q4x46_sec128_v1", 6)];
    let sets = sets.map(|(name, most)| (ring(name), most));
    [(toy(64, 3), 7), (toy(256, 4), 7)].into_iter().chain(sets).collect()
}

/// A secret whose powers are within their norms, which in toys not every one's are.
fn secret_of(ring: &Ring, components: usize) -> SecretKey {
    let mut rng = SecretRng::from_os().unwrap();
    loop {
        let secret = SecretKey::sample(ring, [0; 16], &mut rng);
        if check_powers(&secret, components).is_ok() {
            return secret;
        }
    }
}

/// What the bound allows decrypts, to its last unit, and one unit more is refused: unrounded, and for the bounds of rounded answers.
#[test]
fn the_largest_phase_decrypts_and_the_next_is_refused() {
    let mut draw = Draw::new();
    for (ring, most) in rings() {
        let encoder = SlotEncoder::new(&ring, &[T]).unwrap();
        for components in 3..=most {
            let secret = secret_of(&ring, components);
            let plan = Plan::new(&ring, components, ring.crt().log2_product() - 5.0).unwrap();
            for bound in [plan.phase_log2, plan.bound(&plan.bits), plan.log_q - 1.001] {
                let limit = PhaseLimit::from_log2(bound);
                let phases = phases(&mut draw, ring.degree(), limit.0);
                let sum = with_phase(&secret, &phases, components);
                let found = decrypt_product(&secret, &encoder, &sum, limit).unwrap();
                assert!(found == slots(&encoder, &phases), "{draw}, {components} components");
                for beyond in [limit.0 + I256::ONE, -limit.0 - I256::ONE] {
                    let mut phases = phases.clone();
                    phases[draw.below(ring.degree())] = beyond;
                    let sum = with_phase(&secret, &phases, components);
                    let found = decrypt_product(&secret, &encoder, &sum, limit);
                    assert_eq!(found, Err(DecryptError::Beyond), "{draw}");
                }
            }
        }
    }
}

/// Phases at the last bit of their bound, rounded: they decrypt with the fewest bits that the bound allows, and not with a few bits less.
#[test]
fn the_largest_phases_decrypt_from_the_fewest_bits() {
    let mut draw = Draw::new();
    for (ring, most) in rings() {
        let encoder = SlotEncoder::new(&ring, &[T]).unwrap();
        let log_q = ring.crt().log2_product();
        for components in 3..=most {
            let secret = secret_of(&ring, components);
            for phase_log2 in [log_q - 20.0, log_q - 2.0] {
                let plan = Plan::new(&ring, components, phase_log2).unwrap();
                let largest = PhaseLimit::from_log2(phase_log2 - 3e-6).0;
                let phases = phases(&mut draw, ring.degree(), largest);
                let sum = with_phase(&secret, &phases, components);
                let limit = PhaseLimit::from_log2(plan.bound(&plan.bits));
                let rounded = restored(&sum, &plan.bits);
                let found = decrypt_product(&secret, &encoder, &rounded, limit).unwrap();
                assert!(found == slots(&encoder, &phases), "{draw}, {components} components");
                // What roundings add is within their bound, and not far below.
                let after = phase_of(&secret, &rounded).unwrap();
                let added = after.iter().zip(&phases).map(|(after, before)| (*after - *before).abs());
                let added = added.max().unwrap().as_f64().log2();
                let allowed = noise::sub_phase_log2(plan.bound(&plan.bits), phase_log2);
                assert!(added <= allowed && added > allowed - 6.0, "{draw}: 2^{added} of 2^{allowed}");
                let few = restored(&sum, &plan.less(6));
                let found = decrypt_product(&secret, &encoder, &few, PhaseLimit::NONE).unwrap();
                assert!(found != slots(&encoder, &phases), "{draw}");
            }
        }
    }
}
