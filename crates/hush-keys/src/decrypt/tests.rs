// SPDX-License-Identifier: Apache-2.0
//! Encrypt, evaluate on the server's code, decrypt: results equal those of plain integers.

use hush_params::size::MAX_ROUNDED_BITS;
use hush_params::{PLAINTEXT_PRIMES_32, PLAINTEXT_PRIMES_45, ParamSet, noise, preset, presets};
use hush_ring::Cpu;
use hush_rlwe::UncheckedCiphertextSet;
use hush_rlwe::{
    BodyId, BodyKind, CiphertextSet, CiphertextSetId, ObjectRounding, PlaintextModulus, UncheckedBody,
    UncheckedSumAnswer,
};
use hush_schemes::Values;
use hush_schemes::bgv::slots::SlotCiphertext;
use hush_schemes::bgv::sum::{NOT_SELECTED, SumAccumulator};
use hush_schemes::ckks::ApproxCiphertext;
use hush_testkit::Draw;

use super::*;
use crate::{ApproxSlotColumn, ApproxSumColumn, Encryptor, OwnerSeed, SecretKind, SlotColumn, SumColumn};

mod products;
mod rounded_products;

/// Test inputs of this module's kinds.
trait Inputs {
    fn wide(&mut self) -> I256;
    /// A signed integer of up to `bits` bits; extremes now and then.
    fn signed(&mut self, bits: u32) -> I256;
    fn float(&mut self, limit: f64) -> f64;
}

impl Inputs for Draw {
    fn wide(&mut self) -> I256 {
        let words = [0; 2].map(|_| i128::from(self.word()) << 64 | i128::from(self.word()));
        I256::from_words(words[0], words[1])
    }
    fn signed(&mut self, bits: u32) -> I256 {
        let low: I256 = I256::MIN >> (256 - bits);
        match self.word() % 16 {
            0 => low,
            1 => -(low + I256::ONE),
            2 => I256::ZERO,
            _ => self.wide() >> (256 - bits),
        }
    }
    fn float(&mut self, limit: f64) -> f64 {
        (self.unit() * 2.0 - 1.0) * limit
    }
}

fn ring_of(set: &'static ParamSet) -> Ring {
    Ring::new(set, Cpu::detect().unwrap()).unwrap()
}

fn ring(name: &str) -> Ring {
    ring_of(preset(name).unwrap())
}

fn checked<'a>(bytes: &'a [u8], ring: &Ring, kind: BodyKind, id: BodyId) -> Body<'a> {
    UncheckedBody::decode(bytes).unwrap().conform(ring, kind, id).unwrap()
}

/// The largest plaintext modulus for sums of `rows` values with weights up to `weight`.
fn widest_t(set: &ParamSet, rows: f64, weight: f64) -> u32 {
    (1..250)
        .rev()
        .find(|&t| noise::bgv_sum_phase_log2(f64::from(t), rows, weight, 1.0) <= set.log_q() - 1.0)
        .unwrap()
}

struct SumCase {
    ring: Ring,
    t_log2: u32,
    secrets: Vec<SecretKey>,
    /// `[chunk][column]` → values.
    values: Vec<Vec<Vec<I256>>>,
    chunks: Vec<(UniformSeed, Vec<Vec<u8>>)>,
    rows: usize,
}

/// Two chunks of `rows` rows and two columns of values of `bits` bits.
fn sum_case(set: &'static ParamSet, t_log2: u32, bits: u32, rows: usize, draw: &mut Draw) -> SumCase {
    let ring = ring_of(set);
    let owner = OwnerSeed::generate().unwrap();
    let secrets: Vec<_> = [[1; 16], [2; 16]]
        .map(|id| owner.of_table([0; 16], [0; 16]).secret(SecretKind::Sum, &ring, id))
        .into();
    let mut encryptor = Encryptor::new();
    let (mut values, mut chunks) = (Vec::new(), Vec::new());
    for chunk in 0..2 {
        let columns: Vec<Vec<I256>> =
            (0..2).map(|_| (0..rows).map(|_| draw.signed(bits)).collect()).collect();
        let mut encryption = encryptor.begin_chunk(chunk, rows).unwrap();
        let sums = (0..).zip(&secrets).zip(&columns);
        let sums: Vec<_> = sums
            .map(|((column, secret), values)| SumColumn {
                column,
                secret,
                t_log2,
                values: Values::I256(values),
            })
            .collect();
        let bodies = encryption.encrypt_sum(&ring, &sums).unwrap();
        chunks.push((encryption.seed(), bodies));
        values.push(columns);
    }
    SumCase { ring, t_log2, secrets, values, chunks, rows }
}

impl SumCase {
    fn bodies(&self, chunk: usize) -> Vec<Body<'_>> {
        let element_count = self.rows.div_ceil(self.ring.degree()) as u32;
        let id = |column| BodyId { column, chunk: chunk as u32, element_count, lanes: 1 };
        let columns = (0..).zip(&self.chunks[chunk].1);
        columns.map(|(column, bytes)| checked(bytes, &self.ring, BodyKind::Sum, id(column))).collect()
    }

    /// The answers through their binary form.
    fn decrypt(&self, sum: SumAccumulator) -> Vec<Vec<I256>> {
        let answers = (0..).zip(sum.finish().unwrap()).map(|(group, answer)| {
            let bytes = answer.encode(group).unwrap();
            let answer = UncheckedSumAnswer::decode(&bytes).unwrap().conform(&self.ring, group, 2).unwrap();
            let columns = self.secrets.iter().enumerate();
            columns
                .map(|(column, secret)| {
                    decrypt_sum(secret, &answer, column, self.t_log2, PhaseLimit::NONE).unwrap()
                })
                .collect()
        });
        answers.collect()
    }
}

#[test]
fn grouped_sums_are_exact_in_every_parameter_set() {
    let mut draw = Draw::new();
    for set in presets() {
        let rows = set.degree() + 37;
        let t_log2 = widest_t(set, 2.0 * rows as f64, 1.0);
        // 16 bits of headroom hold any sum of fewer than 65536 values.
        let case = sum_case(set, t_log2, t_log2 - 16, rows, &mut draw);
        let groups: Vec<Vec<u32>> = (0..2)
            .map(|_| (0..rows).map(|_| [0, 1, 2, NOT_SELECTED][draw.word() as usize % 4]).collect())
            .collect();
        let mut sum = SumAccumulator::new(&case.ring, 3, 2);
        for (chunk, groups) in groups.iter().enumerate() {
            sum.absorb_masked(case.chunks[chunk].0, groups, None, &case.bodies(chunk)).unwrap();
        }
        let mut expected = vec![vec![I256::ZERO; 2]; 3];
        for (columns, groups) in case.values.iter().zip(&groups) {
            for (column, values) in columns.iter().enumerate() {
                for (&value, &group) in values.iter().zip(groups).filter(|(_, g)| **g != NOT_SELECTED) {
                    expected[group as usize][column] += value;
                }
            }
        }
        assert_eq!(case.decrypt(sum), expected, "{draw}, {}", set.name());
    }
}

#[test]
fn unfiltered_sums_and_stored_columns_are_exact() {
    let mut draw = Draw::new();
    // At the widest plaintext that the noise of so many rows allows: of one or few, padding would be most of it.
    let few = std::iter::repeat_n(("n11_q1x46_sec128_v1", 1), 10).chain([("n12_q2x46_sec128_v1", 3)]);
    let many = [("n11_q1x46_sec128_v1", 8192), ("n12_q2x46_sec128_v1", 5000), ("n14_q6x46_sec128_v1", 1)];
    for (set, rows) in few.chain(many) {
        let set = preset(set).unwrap();
        let t_log2 = widest_t(set, 2.0 * rows as f64, 1.0);
        let case = sum_case(set, t_log2, t_log2 - 16, rows, &mut draw);
        let mut sum = SumAccumulator::new(&case.ring, 1, 2);
        for chunk in 0..2 {
            sum.absorb_unfiltered(case.chunks[chunk].0, rows, &case.bodies(chunk)).unwrap();
        }
        let total = |column: usize| {
            let values = case.values.iter().flat_map(|columns| &columns[column]);
            values.fold(I256::ZERO, |sum, &value| sum + value)
        };
        assert_eq!(case.decrypt(sum), [[total(0), total(1)]], "{draw}");
        let (seed, body) = (case.chunks[1].0, case.bodies(1)[0]);
        let back = decrypt_sum_chunk(&case.secrets[0], seed, &body, rows, t_log2, PhaseLimit::NONE).unwrap();
        assert_eq!(back, case.values[1][0], "{draw}");
        // The same from as few bits as the bound allows.
        let (t, log_q) = (f64::from(t_log2), set.log_q());
        let phase = noise::bgv_fresh_phase_log2(t);
        let bits = noise::rounded_bits(phase, t, log_q, noise::rounding_log2(set.degree(), 1)).unwrap();
        assert!(bits <= t_log2 + 1 || t_log2 + 8 > log_q as u32);
        if bits <= MAX_ROUNDED_BITS {
            let moduli = [PlaintextModulus::PowerOfTwo(t_log2)];
            let rounding = ObjectRounding::new(&case.ring, bits, &moduli).unwrap();
            let bytes = rounding.round_body(&body, BodyKind::Sum).unwrap();
            let bytes = rounding.restore_body(&bytes, BodyKind::Sum, body.id()).unwrap();
            let body = checked(&bytes, &case.ring, BodyKind::Sum, body.id());
            let back =
                decrypt_sum_chunk(&case.secrets[0], seed, &body, rows, t_log2, PhaseLimit::NONE).unwrap();
            assert_eq!(back, case.values[1][0], "{draw}, {bits} bits");
        }
    }
}

#[test]
fn weighted_sums_are_exact() {
    let mut draw = Draw::new();
    let set = preset("n12_q2x46_sec128_v1").unwrap();
    let rows = 5000;
    let t_log2 = widest_t(set, 2.0 * rows as f64, 1000.0);
    let case = sum_case(set, t_log2, t_log2 - 26, rows, &mut draw);
    let mut sum = SumAccumulator::new(&case.ring, 1, 2);
    let mut expected = vec![I256::ZERO; 2];
    for chunk in 0..2 {
        let weights: Vec<i128> = (0..rows).map(|_| i128::from(draw.word() % 2001) - 1000).collect();
        sum.absorb_masked(case.chunks[chunk].0, &vec![0; rows], Some(&weights), &case.bodies(chunk)).unwrap();
        for (expected, values) in expected.iter_mut().zip(&case.values[chunk]) {
            values.iter().zip(&weights).for_each(|(&value, &weight)| *expected += value * I256::from(weight));
        }
    }
    assert_eq!(case.decrypt(sum), [expected], "{draw}");
}

#[test]
fn sixty_four_bit_extremes_sum_exactly_in_each_width() {
    let ring = ring("n12_q2x46_sec128_v1");
    let owner = OwnerSeed::generate().unwrap();
    let secrets = [[1; 16], [2; 16], [3; 16]]
        .map(|id| owner.of_table([0; 16], [0; 16]).secret(SecretKind::Sum, &ring, id));
    let narrow = [i64::MIN, i64::MIN, i64::MAX, -1, 0, 1];
    let (middle, wide) = (narrow.map(i128::from), narrow.map(I256::from));
    let values = [Values::I64(&narrow), Values::I128(&middle), Values::I256(&wide)];
    let mut encryptor = Encryptor::new();
    let mut chunk = encryptor.begin_chunk(0, 6).unwrap();
    let columns = (0..).zip(&secrets).zip(values);
    let columns: Vec<_> =
        columns.map(|((column, secret), values)| SumColumn { column, secret, t_log2: 70, values }).collect();
    let bytes = chunk.encrypt_sum(&ring, &columns).unwrap();
    let id = |column| BodyId { column, chunk: 0, element_count: 1, lanes: 1 };
    let bodies: Vec<_> =
        (0..).zip(&bytes).map(|(column, bytes)| checked(bytes, &ring, BodyKind::Sum, id(column))).collect();
    let mut sum = SumAccumulator::new(&ring, 1, 3);
    sum.absorb_unfiltered(chunk.seed(), 6, &bodies).unwrap();
    let answer = sum.finish().unwrap().remove(0);
    for (column, secret) in secrets.iter().enumerate() {
        let total = decrypt_sum(secret, &answer, column, 70, PhaseLimit::NONE).unwrap();
        assert_eq!(total, I256::from(i64::MIN) - I256::ONE);
    }
    // Another column's secret gives something else, not an error: nothing tells the two apart.
    assert_ne!(
        decrypt_sum(&secrets[0], &answer, 1, 70, PhaseLimit::NONE).unwrap(),
        I256::from(i64::MIN) - I256::ONE
    );
    let missing = DecryptError::Body { found: 3, body_count: 3 };
    assert_eq!(decrypt_sum(&secrets[0], &answer, 3, 70, PhaseLimit::NONE).unwrap_err(), missing);
    let other =
        owner.of_table([0; 16], [0; 16]).secret(SecretKind::Sum, &self::ring("n11_q1x46_sec128_v1"), [1; 16]);
    assert!(matches!(decrypt_sum(&other, &answer, 0, 70, PhaseLimit::NONE), Err(DecryptError::Ring(_))));
}

#[test]
fn secrets_are_derived_alike_and_differ_by_id_set_and_owner() {
    let (small, large) = (ring("n12_q2x46_sec128_v1"), ring("n12_q3x34_sec128_v1"));
    let owner = OwnerSeed::from_bytes(&[5; 32]);
    let secrets = [
        owner.of_table([0; 16], [0; 16]).secret(SecretKind::Sum, &small, [1; 16]),
        owner.of_table([0; 16], [0; 16]).secret(SecretKind::Sum, &small, [2; 16]),
        owner.of_table([0; 16], [0; 16]).secret(SecretKind::Sum, &large, [1; 16]),
        owner.of_table([0; 16], [0; 16]).secret(SecretKind::Slots, &small, [1; 16]),
        OwnerSeed::from_bytes(&[6; 32]).of_table([0; 16], [0; 16]).secret(SecretKind::Sum, &small, [1; 16]),
    ];
    for (i, a) in secrets.iter().enumerate() {
        for b in &secrets[..i] {
            let same = a.small().iter().zip(b.small()).filter(|(x, y)| x == y).count();
            // Independent ternary vectors agree in a third of 4096 places, ±30·6.
            assert!((1185..1546).contains(&same), "{same}");
        }
    }
    let again =
        OwnerSeed::from_bytes(&[5; 32]).of_table([0; 16], [0; 16]).secret(SecretKind::Sum, &small, [1; 16]);
    assert_eq!(again.small(), secrets[0].small());
    // Seed to key never changes: stored tables depend on it. The digest comes from another implementation, in
    // Python with the packages `blake3` and `cryptography`.
    let digest = blake3::hash(&again.small().iter().map(|&s| s as u8).collect::<Vec<_>>());
    assert_eq!(&digest.to_hex()[..16], SECRET_DIGEST);
}

const SECRET_DIGEST: &str = "cd2c7ad5e9fa536c";

fn slots_of(
    ring: &Ring,
    primes: &[u64],
    bits: [u32; 2],
    rows: usize,
    draw: &mut Draw,
) -> (SlotEncoder, SecretKey, Vec<Vec<I256>>, Vec<Vec<SlotCiphertext>>) {
    let encoder = SlotEncoder::new(ring, primes).unwrap();
    let secret =
        OwnerSeed::generate().unwrap().of_table([0; 16], [0; 16]).secret(SecretKind::Slots, ring, [1; 16]);
    let mut encryptor = Encryptor::new();
    let mut chunk = encryptor.begin_chunk(0, rows).unwrap();
    let element_count = rows.div_ceil(ring.degree()) as u32;
    let (mut columns, mut ciphertexts) = (Vec::new(), Vec::new());
    for (column, bits) in (0..).zip(bits) {
        let values: Vec<I256> = (0..rows).map(|_| draw.signed(bits)).collect();
        let bytes = chunk
            .encrypt_slots(&SlotColumn {
                column,
                secret: &secret,
                encoder: &encoder,
                max_abs: I256::ONE << (bits - 1),
                shared: false,
                values: Values::I256(&values),
            })
            .unwrap();
        let id = BodyId { column, chunk: 0, element_count, lanes: primes.len() as u8 };
        let body = checked(&bytes, ring, BodyKind::Slot, id);
        let load = |element| SlotCiphertext::load(ring, chunk.seed(), &body, element).unwrap();
        ciphertexts.push((0..element_count).map(load).collect());
        columns.push(values);
    }
    (encoder, secret, columns, ciphertexts)
}

/// Rounding a result with so many components to the fewest bits that its bound allows, or to `fewer` less.
fn rounding(ring: &Ring, primes: &[u64], components: u8, fewer: u32) -> ObjectRounding {
    let set = ring.set().unwrap();
    let t = primes.iter().map(|prime| (*prime as f64).log2()).fold(0.0, f64::max);
    let fresh = noise::bgv_fresh_phase_log2(t) + 3.0;
    let phase = if components == 3 { 13.0 + 2.0 * fresh } else { fresh };
    let rounding = noise::rounding_log2(set.degree(), components);
    let bits = noise::rounded_bits(phase, t, set.log_q(), rounding).unwrap();
    assert!(bits < 19 + t as u32);
    let moduli: Vec<_> = primes.iter().map(|prime| PlaintextModulus::Prime(*prime)).collect();
    ObjectRounding::new(ring, bits - fewer, &moduli).unwrap()
}

/// `(x·y − 3x)·… ` in slots: products of two encrypted columns, clear columns, masks and constants.
#[test]
fn slot_expressions_are_exact() {
    let mut draw = Draw::new();
    for (name, primes, bits) in [
        ("n12_q2x46_sec128_v1", &PLAINTEXT_PRIMES_32[..3], [40, 31]),
        ("n13_q3x46_sec128_v1", &PLAINTEXT_PRIMES_45[..4], [64, 64]),
    ] {
        let ring = ring(name);
        let rows = ring.degree() + 5;
        let (encoder, secret, columns, ciphertexts) = slots_of(&ring, primes, bits, rows, &mut draw);
        let mut decrypted = Vec::new();
        for (element, (x, y)) in ciphertexts[0].iter().zip(&ciphertexts[1]).enumerate() {
            let mut linear = x.clone();
            linear.mul_integer_assign(&encoder, I256::from(-3)).unwrap();
            let mut result = if name.starts_with("n13") { x.mul(y).unwrap() } else { x.clone() };
            result.add_assign(&linear).unwrap();
            result.sub_assign(y).unwrap();
            result.add_integer_assign(&encoder, I256::from(1000)).unwrap();
            result.neg_assign();
            let set = CiphertextSet { lanes: primes.len() as u8, ciphertexts: result.into_lanes() };
            let components = if name.starts_with("n13") { 3 } else { 2 };
            let bytes = set.encode(&ring, element as u32).unwrap();
            let id = CiphertextSetId {
                chunk: element as u32,
                element_count: 1,
                lanes: primes.len() as u8,
                components,
            };
            let set = UncheckedCiphertextSet::decode(&bytes).unwrap().conform(&ring, id).unwrap();
            let whole = decrypt_slots(&secret, &encoder, &set.ciphertexts, PhaseLimit::NONE).unwrap();
            let rounded = |fewer: u32| {
                let rounding = rounding(&ring, primes, components, fewer);
                let bytes = rounding.round_ciphertexts(&set, id.chunk).unwrap();
                let set = rounding.restore_ciphertexts(&bytes, id).unwrap();
                decrypt_slots(&secret, &encoder, &set.ciphertexts, PhaseLimit::NONE).unwrap()
            };
            assert_eq!(whole, rounded(0), "{draw}");
            // The bound is not much too large.
            assert_ne!(whole, rounded(4), "{draw}");
            decrypted.extend(whole);
        }
        for ((x, y), found) in columns[0].iter().zip(&columns[1]).zip(&decrypted) {
            let product = if name.starts_with("n13") { x * y } else { *x };
            assert_eq!(-(product - x * 3 - y + I256::from(1000)), *found, "{draw}");
        }
    }
}

#[test]
fn clear_columns_and_masks_act_on_slots() {
    let mut draw = Draw::new();
    let ring = ring("n13_q3x46_sec128_v1");
    let (encoder, secret, columns, ciphertexts) =
        slots_of(&ring, &PLAINTEXT_PRIMES_45[..2], [40, 40], ring.degree(), &mut draw);
    let clear: Vec<i64> = (0..ring.degree()).map(|_| (draw.word() % (1 << 30)) as i64 - (1 << 29)).collect();
    let mask: Vec<i64> = (0..ring.degree()).map(|_| (draw.word() & 1) as i64).collect();
    let mut sum = ciphertexts[0][0].clone();
    sum.mul_clear_assign(&encoder, Values::I64(&clear)).unwrap();
    sum.add_clear_assign(&encoder, Values::I64(&clear)).unwrap();
    let mut masked = ciphertexts[1][0].clone();
    masked.mul_clear_assign(&encoder, Values::I64(&mask)).unwrap();
    sum.add_assign(&masked).unwrap();
    let found = decrypt_slots(&secret, &encoder, sum.lanes(), PhaseLimit::NONE).unwrap();
    for (slot, found) in found.iter().enumerate() {
        let (x, y) = (columns[0][slot], columns[1][slot]);
        let (c, m) = (I256::from(clear[slot]), I256::from(mask[slot]));
        assert_eq!(x * c + c + y * m, *found, "{draw}, slot {slot}");
    }
    let product = ciphertexts[0][0].mul(&ciphertexts[1][0]).unwrap();
    assert!(product.mul(&ciphertexts[0][0]).is_err());
}

#[test]
fn approximate_sums_stay_within_the_declared_bound() {
    let mut draw = Draw::new();
    let ring = ring("n12_q2x46_sec128_v1");
    let owner = OwnerSeed::generate().unwrap();
    let secret = owner.of_table([0; 16], [0; 16]).secret(SecretKind::Sum, &ring, [1; 16]);
    let scale = Scale::from_log2(50).unwrap();
    let rows = 8000;
    // Multiples of 2^-20 up to 2^20 add up exactly in f64.
    let values: Vec<f64> =
        (0..rows).map(|_| (draw.float(1e6) * 20_f64.exp2()).round() / 20_f64.exp2()).collect();
    let mut encryptor = Encryptor::new();
    let mut chunk = encryptor.begin_chunk(0, rows).unwrap();
    let column = ApproxSumColumn { column: 0, secret: &secret, scale, limit_log2: 72, values: &values };
    let bytes = chunk.encrypt_approx_sum(&ring, &[column]).unwrap().remove(0);
    let id = BodyId { column: 0, chunk: 0, element_count: 2, lanes: 1 };
    let body = checked(&bytes, &ring, BodyKind::Sum, id);
    let groups: Vec<u32> = (0..rows).map(|_| (draw.word() % 2) as u32).collect();
    let mut sum = SumAccumulator::new(&ring, 2, 1);
    sum.absorb_masked(chunk.seed(), &groups, None, &[body]).unwrap();
    let bound = noise::ckks_sum_error_log2(50.0, rows as f64, 1.0, 1.0).exp2();
    for (group, answer) in (0..).zip(sum.finish().unwrap()) {
        let expected: f64 = values.iter().zip(&groups).filter(|(_, g)| **g == group).map(|(v, _)| v).sum();
        let found = decrypt_approx_sum(&secret, &answer, 0, scale).unwrap();
        assert!((found - expected).abs() <= bound + expected.abs() * f64::EPSILON, "{draw}");
    }
    let back = decrypt_approx_sum_chunk(&secret, chunk.seed(), &body, rows, scale).unwrap();
    let each = 21.5 * (-50_f64).exp2();
    assert_eq!(back.len(), rows);
    assert!(back.iter().zip(&values).all(|(a, b)| (a - b).abs() <= each + b.abs() * f64::EPSILON));
}

#[test]
fn approximate_slots_stay_within_the_declared_bound() {
    let mut draw = Draw::new();
    let ring = ring("n13_q3x46_sec128_v1");
    let encoder = ApproxEncoder::new(&ring);
    let secret =
        OwnerSeed::generate().unwrap().of_table([0; 16], [0; 16]).secret(SecretKind::Slots, &ring, [1; 16]);
    let scale = Scale::from_log2(40).unwrap();
    let rows = encoder.slot_count() + 11;
    let mut encryptor = Encryptor::new();
    let mut chunk = encryptor.begin_chunk(3, rows).unwrap();
    let (mut columns, mut ciphertexts) = (Vec::new(), Vec::new());
    for column in 0..2 {
        let values: Vec<f64> = (0..rows).map(|_| draw.float(1000.0)).collect();
        let input = ApproxSlotColumn { column, secret: &secret, encoder: &encoder, scale, values: &values };
        let bytes = chunk.encrypt_approx_slots(&input).unwrap();
        let id = BodyId { column, chunk: 3, element_count: 2, lanes: 1 };
        let body = checked(&bytes, &ring, BodyKind::Slot, id);
        let load = |element| ApproxCiphertext::load(&ring, chunk.seed(), &body, element, scale).unwrap();
        ciphertexts.push([0, 1].map(load));
        columns.push(values);
    }
    let fresh = noise::ckks_slot_error_log2(40.0, ring.degree()).exp2();
    for (element, (x, y)) in ciphertexts[0].iter().zip(&ciphertexts[1]).enumerate() {
        let start = element * encoder.slot_count();
        let decrypt = |ct: &ApproxCiphertext| {
            decrypt_approx_slots(&secret, &encoder, ct.ciphertext(), ct.scale()).unwrap()
        };
        let mut product = x.mul(y).unwrap();
        let mut raised = x.clone();
        raised.raise_to(product.scale()).unwrap();
        product.sub_assign(&raised).unwrap();
        // 0.5 at scale 2^80 needs more than a 64-bit coefficient.
        product.add_clear_assign(&encoder, &vec![0.5; encoder.slot_count()]).unwrap();
        let (plain, product) = (decrypt(x), decrypt(&product));
        for slot in 0..encoder.slot_count().min(rows - start) {
            let (x, y) = (columns[0][start + slot], columns[1][start + slot]);
            assert!((plain[slot] - x).abs() <= fresh, "{draw}");
            let bound = fresh * (x.abs() + y.abs() + fresh + 1.0);
            assert!((product[slot] - (x * y - x + 0.5)).abs() <= bound + 1e-9, "{draw}");
        }
    }
    let (mut left, right) = (ciphertexts[0][0].clone(), ciphertexts[1][0].mul(&ciphertexts[0][0]).unwrap());
    assert!(left.add_assign(&right).is_err(), "scales differ");
}

/// A limit is its power of two and at most two millionths more.
#[test]
fn limits_of_phases_are_powers_of_two() {
    for log2 in [0.0, 0.5, 1.0, 10.25, 39.0, 39.75, 40.0, 40.5, 41.0, 60.0, 139.9, 253.5] {
        let (found, expected) = (PhaseLimit::from_log2(log2).0.as_f64(), log2.exp2());
        assert!(found >= expected, "{log2}: {found}");
        assert!(found <= (expected * (1.0 + 2e-6)).floor() + 1.0, "{log2}: {found}");
    }
    assert_eq!(PhaseLimit::from_log2(-7.0), PhaseLimit::from_log2(0.0));
    // A bound that is no number refuses.
    assert_eq!(PhaseLimit::from_log2(f64::NAN), PhaseLimit::from_log2(0.0));
    for log2 in [254.0, 1e9, f64::INFINITY] {
        assert_eq!(PhaseLimit::from_log2(log2), PhaseLimit::NONE);
    }
}

/// Of either sign, and wherever it stands: no two cancel out.
#[test]
fn phases_beyond_their_limit_are_refused() {
    for log2 in [0.0, 20.0, 41.5, 127.9, 200.0] {
        let limit = PhaseLimit::from_log2(log2);
        let (most, zero) = (limit.0, I256::ZERO);
        let over = most + I256::ONE;
        for phases in [vec![], vec![zero], vec![most, -most, zero]] {
            assert!(limit.check(&phases).is_ok(), "{log2}");
        }
        for phases in [
            vec![over],
            vec![-over],
            vec![zero, over, zero],
            vec![-over, most],
            vec![most, -over],
            vec![over, -over],
            vec![over, over],
            vec![I256::MIN],
        ] {
            assert!(matches!(limit.check(&phases), Err(DecryptError::Beyond)), "{log2}");
        }
        assert!(PhaseLimit::NONE.check(&[over, -over, I256::MAX]).is_ok());
    }
}
