// SPDX-License-Identifier: Apache-2.0
//! Forged objects: changed payloads with right checksums. Those that conform go through every operation,
//! which may give wrong messages but no panic and, since shapes and residues are right, no error either.
//!
//! `HUSH_MUTATIONS` multiplies their number, `HUSH_MUTATION_SEED` repeats a run.

use hush_ring::{Ring, UniformSeed as Seed};
use hush_rlwe::*;
use hush_schemes::RealScale;
use hush_schemes::bgv::slots::SlotEncoder;
use hush_schemes::bgv::sum::{NOT_SELECTED, SumAccumulator};
use hush_schemes::ckks::{ApproxEncoder, Ckks, Scale};

use super::*;
use crate::{
    PhaseLimit, decrypt_approx_slots, decrypt_approx_sum, decrypt_slots, decrypt_sum, decrypt_sum_chunk,
};

/// Changes up to eight bits or one run of bytes of the payload, and makes the checksum right.
fn forge(draw: &mut Draw, bytes: &[u8], header_bytes: usize) -> Vec<u8> {
    let mut forged = bytes[..bytes.len() - CHECKSUM_BYTES].to_vec();
    let payload = &mut forged[header_bytes..];
    if draw.below(4) == 0 {
        let start = draw.below(payload.len());
        let end = payload.len().min(start + draw.below(200));
        let value = [0, 0xff, draw.word() as u8][draw.below(3)];
        payload[start..end].fill(value);
    } else {
        for _ in 0..=draw.below(8) {
            let bit = draw.below(8 * payload.len());
            payload[bit / 8] ^= 1 << (bit % 8);
        }
    }
    let digest = blake3::hash(&forged);
    forged.extend_from_slice(&digest.as_bytes()[..CHECKSUM_BYTES]);
    forged
}

fn rounds() -> usize {
    60 * std::env::var("HUSH_MUTATIONS").ok().and_then(|times| times.parse().ok()).unwrap_or(1)
}

/// Every operation of BGV on two ciphertexts of two components.
fn work_exactly(party: &Party, keys: &EvaluationKeys, a: &RlweCiphertext, b: &RlweCiphertext) {
    let scheme = &party.scheme;
    let (a, b) = (scheme.ciphertext(a.clone()).unwrap(), scheme.ciphertext(b.clone()).unwrap());
    let product = scheme.mul(&a, &b).unwrap();
    let results = [
        scheme.add(&a, &b).unwrap(),
        scheme.sub(&a, &b).unwrap(),
        scheme.neg(&a),
        scheme.add_plain(&a, &[1, 2, 3]).unwrap(),
        scheme.mul_plain(&a, &[1, 2, 3]).unwrap(),
        scheme.mul_scalar(&a, -5),
        scheme.relinearize(&product, keys).unwrap(),
        scheme.mul_mod_switch(&a, &b, keys).unwrap(),
        scheme.mod_switch(&a).unwrap(),
        scheme.mod_switch_to(&a, Level(0)).unwrap(),
        scheme.rotate_rows(&a, 1, keys).unwrap(),
        scheme.rotate_rows_many(&a, &[1], keys).unwrap().remove(0),
        scheme.swap_rows(&a, keys).unwrap(),
        scheme.from_bfv(&scheme.to_bfv(&a).unwrap()).unwrap(),
        product,
    ];
    results.iter().for_each(|result| assert_eq!(party.decrypt(result).len(), 64));
}

/// Whether the forged object conforms; then it has been worked with.
type Worker<'a> = Box<dyn Fn(&[u8]) -> bool + 'a>;

fn run(name: &str, bytes: &[u8], header_bytes: usize, worker: &Worker<'_>) {
    let mut draw = Draw::of_environment("HUSH_MUTATION_SEED");
    assert!(worker(bytes), "{name}: the original");
    let conforming = (0..rounds()).filter(|_| worker(&forge(&mut draw, bytes, header_bytes))).count();
    assert!(rounds() < 50 || conforming > 0, "{name}, {draw}: nothing conforms");
}

#[test]
fn exact_ciphertexts_and_keys_that_conform_can_be_worked_with() {
    let party = Party::new(&toy(64, 2), &[5, 127]);
    let (scheme, chain, keys) = (&party.scheme, party.scheme.chain(), &party.keys);
    let level = Level(2);
    let values = Draw::new().values(64);
    let good = party.encrypt(&values, level).inner().clone();
    let fresh = party.secret.encrypt(scheme.encode(&values, level).unwrap()).unwrap();
    let read = |bytes: &[u8]| {
        let set = UncheckedSeededSet::decode(bytes).unwrap().conform(chain, level, 1);
        set.map(|mut set| work_exactly(&party, keys, &set.remove(0).expand().unwrap(), &good)).is_ok()
    };
    let bytes = encode_seeded(chain, level, &[fresh]).unwrap();
    run("seeded", &bytes, CHAIN_HEADER_BYTES, &(Box::new(read) as Worker<'_>));

    let id = LeveledSetId { level, count: 1, components: 2 };
    let read = |bytes: &[u8]| {
        let set = UncheckedLeveledSet::decode(bytes).unwrap().conform(chain, id);
        set.map(|set| work_exactly(&party, keys, &good, &set[0])).is_ok()
    };
    let bytes = encode_leveled(chain, id, std::slice::from_ref(&good)).unwrap();
    run("full", &bytes, CHAIN_HEADER_BYTES, &(Box::new(read) as Worker<'_>));

    let id = LeveledSetId { components: 3, ..id };
    let read = |bytes: &[u8]| {
        let set = UncheckedLeveledSet::decode(bytes).unwrap().conform(chain, id);
        let work = |set: Vec<RlweCiphertext>| {
            let product = scheme.ciphertext(set[0].clone()).unwrap();
            party.decrypt(&product);
            work_exactly(&party, keys, scheme.relinearize(&product, keys).unwrap().inner(), &good);
        };
        set.map(work).is_ok()
    };
    let bytes = encode_leveled(chain, id, &[good.mul(&good).unwrap()]).unwrap();
    run("product", &bytes, CHAIN_HEADER_BYTES, &(Box::new(read) as Worker<'_>));

    // With a factor of its own, which a forger may change to any other.
    let id = LeveledSetId { level: Level(1), count: 1, components: 2 };
    let low = scheme.mod_switch_to(&party.encrypt(&values, level), Level(1)).unwrap();
    assert_ne!(low.factor(), 1);
    let read = |bytes: &[u8]| {
        let work = |set: Vec<BgvCiphertext>| {
            let sum = scheme.add(&set[0], &low).unwrap();
            let product = scheme.mul_mod_switch(&set[0], &sum, keys).unwrap();
            [&sum, &product].map(|a| assert_eq!(party.decrypt(a).len(), 64))
        };
        scheme.from_bytes(bytes, id).map(work).is_ok()
    };
    let bytes = scheme.to_bytes(id, std::slice::from_ref(&low)).unwrap();
    assert_eq!(scheme.from_bytes(&bytes, id).unwrap(), std::slice::from_ref(&low));
    assert_eq!(party.decrypt(&scheme.from_bytes(&bytes, id).unwrap()[0]), values);
    run("with factor", &bytes, CHAIN_HEADER_BYTES, &(Box::new(read) as Worker<'_>));

    let read = |bytes: &[u8]| {
        let forged = UncheckedEvaluationKeys::decode(bytes).unwrap().conform(chain, &[0, 5, 127]);
        forged.map(|forged| work_exactly(&party, &forged, &good, &good)).is_ok()
    };
    run("keys", &keys.encode(chain).unwrap(), CHAIN_HEADER_BYTES, &(Box::new(read) as Worker<'_>));

    let message = || scheme.encode(&values, chain.top()).unwrap();
    let read = |bytes: &[u8]| {
        let forged = UncheckedPublicKey::decode(bytes).unwrap().conform(chain);
        let work = |key| work_exactly(&party, keys, &encrypt_public(&key, message()).unwrap(), &top(&party));
        forged.map(work).is_ok()
    };
    let bytes = party.secret.public_key().unwrap().encode().unwrap();
    run("public key", &bytes, CHAIN_HEADER_BYTES, &(Box::new(read) as Worker<'_>));
}

fn top(party: &Party) -> RlweCiphertext {
    party.encrypt(&[1, 2, 3], party.scheme.chain().top()).inner().clone()
}

#[test]
fn ciphertexts_that_conform_can_be_worked_with_in_bfv() {
    let scheme = Bfv::new(&toy(64, 1), T, Cpu::detect().unwrap()).unwrap();
    let secret = ChainSecret::generate(scheme.chain()).unwrap();
    let keys = secret.evaluation_keys(true, &[5]).unwrap();
    let (chain, level) = (scheme.chain(), Level(2));
    let fresh = secret.encrypt(scheme.encode(&[1, 2, 3], level).unwrap()).unwrap();
    let read = |bytes: &[u8]| {
        let Ok(set) = UncheckedSeededSet::decode(bytes).unwrap().conform(chain, level, 1) else {
            return false;
        };
        let a = set[0].clone().expand().unwrap();
        let product = scheme.mul_relinearize(&a, &a, &keys).unwrap();
        let results = [
            scheme.add_plain(&a, &[5]).unwrap(),
            scheme.mul_plain(&a, &[5]).unwrap(),
            scheme.rotate_rows(&product, 1, &keys).unwrap(),
            product.mod_switch(chain).unwrap(),
            a.drop_to(chain, Level(0)).unwrap(),
        ];
        results.iter().all(|a| scheme.decode(secret.phase(a).unwrap().poly()).unwrap().len() == 64)
    };
    let bytes = encode_seeded(chain, level, &[fresh]).unwrap();
    run("seeded", &bytes, CHAIN_HEADER_BYTES, &(Box::new(read) as Worker<'_>));
}

#[test]
fn ciphertexts_that_conform_can_be_worked_with_in_ckks() {
    let scheme = Ckks::new(&toy(64, 2), 45.99, Cpu::detect().unwrap()).unwrap();
    let secret = ChainSecret::generate(scheme.chain()).unwrap();
    let keys = secret.evaluation_keys(true, &[5, 127]).unwrap();
    let (chain, level) = (scheme.chain(), Level(3));
    let one = Complex { re: 1.0, im: 0.5 };
    let fresh = secret.encrypt(scheme.encode(&[one], level).unwrap()).unwrap();
    let read = |bytes: &[u8]| {
        let Ok(set) = UncheckedSeededSet::decode(bytes).unwrap().conform(chain, level, 1) else {
            return false;
        };
        let a = scheme.ciphertext(set[0].clone().expand().unwrap()).unwrap();
        let results = [
            scheme.add(&a, &a).unwrap(),
            scheme.mul_rescale(&a, &a, &keys).unwrap(),
            scheme.mul_plain(&a, &[one]).unwrap(),
            scheme.level_down(&a, Level(1)).unwrap(),
            scheme.rotate(&a, 1, &keys).unwrap(),
            scheme.conjugate(&a, &keys).unwrap(),
            scheme.mul(&a, &a).unwrap(),
        ];
        let decode = |a: &hush_schemes::ckks::CkksCiphertext| {
            scheme.decode(secret.phase(a.inner()).unwrap().poly(), a.scale()).unwrap()
        };
        results.iter().all(|a| decode(a).iter().all(|z| z.re.is_finite() && z.im.is_finite()))
    };
    let bytes = encode_seeded(chain, level, &[fresh]).unwrap();
    run("seeded", &bytes, CHAIN_HEADER_BYTES, &(Box::new(read) as Worker<'_>));

    // An undivided product has a scale that no level has.
    let a = scheme.ciphertext(top_of(&scheme, &secret)).unwrap();
    let product = scheme.relinearize(&scheme.mul(&a, &a).unwrap(), &keys).unwrap();
    let id = LeveledSetId { level: product.level(), count: 1, components: 2 };
    let read = |bytes: &[u8]| {
        let Ok(set) = scheme.from_bytes(bytes, id) else { return false };
        // A scale that is none of the chain's may be refused, but not worked with to no end.
        let again = scheme.ciphertext_at(set[0].inner().clone(), set[0].scale()).unwrap();
        let results = [
            scheme.add(&set[0], &again),
            scheme.mul_rescale(&set[0], &again, &keys),
            scheme.mul_plain(&set[0], &[one]),
            scheme.add_plain(&set[0], &[one]),
            scheme.level_down(&set[0], Level(1)),
            scheme.rotate(&set[0], 1, &keys),
        ];
        let decode = |a: &hush_schemes::ckks::CkksCiphertext| {
            scheme.decode(secret.phase(a.inner()).unwrap().poly(), a.scale()).map(|slots| slots.len())
        };
        results.iter().flatten().all(|a| decode(a).is_ok_and(|slots| slots == 32))
    };
    let bytes = scheme.to_bytes(id, std::slice::from_ref(&product)).unwrap();
    // Scales at both ends of what a double is.
    for scale in [5e-324, f64::MIN_POSITIVE, 1e-30, 1.0, 1e30, 1e300, f64::MAX] {
        let odd = scheme.ciphertext_at(product.inner().clone(), RealScale::new(scale)).unwrap();
        assert!(read(&scheme.to_bytes(id, &[odd]).unwrap()), "{scale}");
    }
    assert_eq!(scheme.from_bytes(&bytes, id).unwrap(), [product]);
    run("with scale", &bytes, CHAIN_HEADER_BYTES, &(Box::new(read) as Worker<'_>));
}

fn top_of(scheme: &Ckks, secret: &ChainSecret) -> RlweCiphertext {
    let message = scheme.encode(&[Complex { re: 0.5, im: 0.25 }], scheme.chain().top()).unwrap();
    secret.encrypt(message).unwrap().expand().unwrap()
}

/// Keys of lower levels, and those to a sparse secret and back.
#[test]
fn keys_of_bootstrapping_that_conform_can_be_worked_with() {
    let chain = Chain::new(&toy(64, 2), 1, Cpu::detect().unwrap()).unwrap();
    let secret = ChainSecret::generate(&chain).unwrap();
    let encrypt = |level| {
        let message = Poly::zero(chain.ring(Level(level)).unwrap());
        secret.encrypt(message).unwrap().expand().unwrap()
    };
    let levels = BTreeMap::from([(0, Level(3)), (5, Level(1)), (127, Level(0))]);
    let keys = secret.evaluation_keys_up_to(&levels).unwrap();
    let read = |bytes: &[u8]| {
        let forged = UncheckedLeveledKeys::decode(bytes).unwrap().conform(&chain, &levels);
        let work = |forged: EvaluationKeys| {
            let product = encrypt(3).mul_relinearize(&encrypt(3), &forged).unwrap();
            let rotated = [(1, 5), (0, 5), (0, 127)]
                .map(|(level, element)| encrypt(level).automorphism(&forged, element).unwrap());
            let above = encrypt(2).automorphism(&forged, 5).unwrap_err();
            assert!(matches!(above, RlweError::KeyLevel { element: 5, expected: Level(1), .. }));
            rotated.iter().chain([&product]).for_each(|a| drop(secret.phase(a).unwrap()));
        };
        forged.map(work).is_ok()
    };
    let bytes = keys.encode_up_to(&chain).unwrap();
    run("keys with levels", &bytes, CHAIN_HEADER_BYTES, &(Box::new(read) as Worker<'_>));

    let read = |bytes: &[u8]| {
        let forged = UncheckedEncapsulationKeys::decode(bytes).unwrap().conform(&chain);
        let work = |forged: EncapsulationKeys| {
            let raised = forged.raise(&encrypt(0)).unwrap();
            assert_eq!(raised.ring(), chain.ring(chain.top()).unwrap());
            secret.phase(&raised).unwrap();
            assert!(forged.raise(&encrypt(1)).is_err());
        };
        forged.map(work).is_ok()
    };
    let bytes = secret.encapsulation_keys().unwrap().encode().unwrap();
    run("encapsulation keys", &bytes, CHAIN_HEADER_BYTES, &(Box::new(read) as Worker<'_>));
}

/// The objects of tables and answers.
#[test]
fn stored_bodies_and_answers_that_conform_can_be_worked_with() {
    let ring =
        Ring::new(hush_params::preset("n11_q1x46_sec128_v1").unwrap(), Cpu::detect().unwrap()).unwrap();
    let secret = SecretKey::sample(&ring, [0; 16], &mut SecretRng::from_os().unwrap());
    let (seed, scale) = (Seed::from_bytes([3; 32]), Scale::from_log2(20).unwrap());
    let id = BodyId { column: 0, chunk: 0, element_count: 1, lanes: 1 };
    let mut writer = BodyWriter::new(&ring, BodyKind::Sum, id).unwrap();
    let mask = seed.expand(&ring, ExpandLabel::sum(0));
    writer.push_limb(&ring.limbs()[0], mask.limb(0));
    let read = |bytes: &[u8]| {
        let checked = UncheckedBody::decode(bytes).unwrap().conform(&ring, BodyKind::Sum, id);
        // The quick way in accepts residues above the prime: sums may be wrong, nothing worse.
        for body in checked.iter().copied().chain(Body::from_verified(bytes, &ring, BodyKind::Sum, id)) {
            let mut sum = SumAccumulator::new(&ring, 1, 1);
            sum.absorb_masked(seed, &[0, NOT_SELECTED, 0], None, &[body]).unwrap();
            sum.absorb_masked(seed, &[0, 0, 0], Some(&[3, -7, 1 << 20]), &[body]).unwrap();
            sum.absorb_unfiltered(seed, 2048, &[body]).unwrap();
            let mut groups = SumAccumulator::new(&ring, 2, 1);
            groups.absorb_masked(seed, &[1, NOT_SELECTED, 0], Some(&[5, 6, -1]), &[body]).unwrap();
            assert_eq!(groups.finish().unwrap().len(), 2);
            let answer = sum.finish().unwrap().remove(0);
            decrypt_sum(&secret, &answer, 0, 20, PhaseLimit::NONE).unwrap();
            decrypt_sum_chunk(&secret, seed, &body, 100, 20, PhaseLimit::NONE).unwrap();
            RlweCiphertext::load(&ring, seed, &body, 0, 0).ok();
        }
        checked.is_ok()
    };
    run("sum body", &writer.finish().unwrap(), HEADER_BYTES, &(Box::new(read) as Worker<'_>));

    let answer = SumAnswer::new(mask.clone().into_coeff(), vec![1, 2]).unwrap();
    let read = |bytes: &[u8]| {
        let Ok(answer) = UncheckedSumAnswer::decode(bytes).unwrap().conform(&ring, 0, 2) else {
            return false;
        };
        decrypt_sum(&secret, &answer, 1, 20, PhaseLimit::NONE).unwrap();
        decrypt_approx_sum(&secret, &answer, 1, scale).unwrap().is_finite()
    };
    run("sum answer", &answer.encode(0).unwrap(), HEADER_BYTES, &(Box::new(read) as Worker<'_>));

    let encoder = SlotEncoder::new(&ring, &[T]).unwrap();
    let approx = ApproxEncoder::new(&ring);
    let ciphertext = RlweCiphertext::new(vec![mask.clone(), mask]).unwrap();
    let set = CiphertextSet { ciphertexts: vec![ciphertext], lanes: 1 };
    let read = |bytes: &[u8]| {
        let id = CiphertextSetId { chunk: 0, element_count: 1, lanes: 1, components: 2 };
        let Ok(set) = UncheckedCiphertextSet::decode(bytes).unwrap().conform(&ring, id) else { return false };
        let a = &set.ciphertexts[0];
        decrypt_slots(&secret, &encoder, &[a.mul(a).unwrap()], PhaseLimit::NONE).unwrap();
        decrypt_slots(&secret, &encoder, &set.ciphertexts, PhaseLimit::NONE).unwrap();
        decrypt_approx_slots(&secret, &approx, a, scale).unwrap().len() == 1024
    };
    run("ciphertexts", &set.encode(&ring, 0).unwrap(), HEADER_BYTES, &(Box::new(read) as Worker<'_>));
}
