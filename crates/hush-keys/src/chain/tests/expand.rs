// SPDX-License-Identifier: Apache-2.0
//! Encrypted constants: one ciphertext becomes one for each, and stored ciphertexts are multiplied with them.

use ethnum::I256;
use hush_params::noise::{self, NoiseModel, View};
use hush_params::presets::chain_preset;
use hush_ring::Words;
use hush_rlwe::{Body, BodyId, BodyKind, InnerProducts, InnerTerm, StoredElement, UncheckedBody};
use hush_schemes::Values;
use hush_schemes::bgv::expansion_elements;
use hush_schemes::bgv::slots::SlotEncoder;

use super::*;
use crate::decrypt::phase_of;
use crate::{Encryptor, OwnerSeed, PhaseLimit, SecretKind, SlotColumn, decrypt_product};

fn expanded(party: &Party, scalars: &[i64], level: Level) -> Vec<BgvCiphertext> {
    let message = party.scheme.encode_expandable(scalars, level).unwrap();
    let fresh = party.secret.encrypt(message).unwrap().expand().unwrap();
    let one = party.scheme.ciphertext(fresh).unwrap();
    party.scheme.expand(&one, scalars.len(), &party.keys).unwrap()
}

/// log2 of the largest coefficient of a phase.
fn largest_log2(secret: &ChainSecret, ciphertext: &RlweCiphertext) -> f64 {
    let phase = secret.phase(ciphertext).unwrap();
    let (poly, degree) = (phase.poly(), phase.poly().ring().degree());
    let lift = |index: usize| -> I256 {
        let residues: Vec<u64> = poly.limbs().map(|(_, words)| words[index]).collect();
        poly.ring().crt().lift_centered(&residues)
    };
    (0..degree).map(|index| lift(index).as_f64().abs()).fold(1.0, f64::max).log2()
}

#[test]
fn one_ciphertext_becomes_one_for_each_constant() {
    let degree = 256;
    for digit_limbs in [1, 2] {
        let mut draw = Draw::new();
        let party = Party::new(&toy(degree as u32, digit_limbs), &expansion_elements(degree, 100));
        for level in [Level(1), Level(4)] {
            for count in [0, 1, 2, 3, 5, 8, 13, 100] {
                let scalars = draw.values(count);
                let found = expanded(&party, &scalars, level);
                assert_eq!(found.len(), count);
                for (ciphertext, &scalar) in found.iter().zip(&scalars) {
                    assert_eq!((ciphertext.level(), ciphertext.factor()), (level, 1));
                    assert_eq!(party.decrypt(ciphertext), vec![scalar; degree], "{draw}, {count}");
                }
            }
        }
        let one = party.encrypt(&[1], Level(1));
        let many = party.scheme.expand(&one, degree + 1, &party.keys).unwrap_err();
        assert_eq!(many, SchemeError::TooManyValues { found: degree + 1, max: degree });
        let missing = party.scheme.expand(&one, 129, &party.keys).unwrap_err();
        assert_eq!(missing, SchemeError::Rlwe(RlweError::MissingKey { element: 3 }));
        let product = party.scheme.mul(&one, &one).unwrap();
        assert!(party.scheme.expand(&product, 2, &party.keys).is_err());
    }
}

#[test]
fn expanded_ciphertexts_keep_to_their_bound() {
    let params = chain_preset("n13_q3p1x46_d1_sec128_v1").unwrap().params().unwrap();
    let (mut draw, top) = (Draw::new(), params.top());
    let party = Party::new(&params, &expansion_elements(8192, 13));
    let model = NoiseModel::new(8192, T, View::Bound);
    for count in [1, 2, 5, 13] {
        let bound = model.phase_log2(noise::expanded(&model, &params, top, count));
        for ciphertext in expanded(&party, &draw.values(count), top) {
            let found = largest_log2(&party.secret, ciphertext.inner());
            assert!(found <= bound && found > bound - 20.0, "{draw}: 2^{found} of 2^{bound}, {count}");
        }
    }
}

/// Flags of a column in slots, and the secret that they are stored under.
struct Stored {
    ring: Ring,
    encoder: SlotEncoder,
    secret: SecretKey,
    flags: Vec<Vec<i64>>,
    seed: UniformSeed,
    objects: Vec<Vec<u8>>,
}

impl Stored {
    fn new(draw: &mut Draw, columns: usize) -> Self {
        let ring = Ring::new(preset("n14_q5x46u_sec128_v1").unwrap(), Cpu::detect().unwrap()).unwrap();
        let encoder = SlotEncoder::new(&ring, &[T]).unwrap();
        let owner = OwnerSeed::generate().unwrap();
        let secret = owner.of_table([0; 16], [0; 16]).secret(SecretKind::Slots, &ring, [1; 16]);
        let flags: Vec<Vec<i64>> =
            (0..columns).map(|_| (0..8192).map(|_| (draw.word() & 1) as i64).collect()).collect();
        let mut encryptor = Encryptor::new();
        let mut chunk = encryptor.begin_chunk(0, 8192).unwrap();
        let mut encrypt = |(column, values): (u32, &Vec<i64>)| {
            let (secret, encoder, max_abs) = (&secret, &encoder, I256::ONE);
            let column =
                SlotColumn { column, secret, encoder, max_abs, shared: false, values: Values::I64(values) };
            chunk.encrypt_slots(&column).unwrap()
        };
        let objects = (0..).zip(&flags).map(&mut encrypt).collect();
        let seed = chunk.seed();
        Self { ring, encoder, secret, flags, seed, objects }
    }

    fn bodies(&self) -> Vec<Body<'_>> {
        let id = |column| BodyId { column, chunk: 0, element_count: 1, lanes: 1 };
        let objects = (0..).zip(&self.objects);
        objects
            .map(|(column, bytes)| {
                UncheckedBody::decode(bytes).unwrap().conform(&self.ring, BodyKind::Slot, id(column)).unwrap()
            })
            .collect()
    }
}

/// A stored ciphertext has one phase under both forms of a secret.
fn check_phase(stored: &Stored, secret: &ChainSecret, body: &Body<'_>) {
    let level = secret.chain().ring(secret.chain().top()).unwrap();
    let loaded = RlweCiphertext::load(&stored.ring, stored.seed, body, 0, 0).unwrap();
    let over = |poly: &Poly<Eval>| Poly::from_words(level, poly.words().to_vec()).unwrap();
    let moved = RlweCiphertext::new(loaded.components().iter().map(over).collect()).unwrap();
    let phase = secret.phase(&moved).unwrap();
    let lifted = phase_of(&stored.secret, loaded.components()).unwrap();
    let residues = lifted.iter().map(|phase| stored.ring.crt().residues(*phase));
    for (index, residues) in residues.enumerate() {
        assert!(residues.iter().copied().eq(phase.poly().limbs().map(|(_, words)| words[index])));
    }
}

/// The phase of a raised ciphertext is the phase before times the primes that were divided by, modulo all.
fn check_raised(stored: &Stored, before: &Phase, raised: &[Poly<Eval>]) {
    let limbs = stored.ring.limbs();
    let (before, after) = (before.poly(), phase_of(&stored.secret, raised).unwrap());
    for (index, limb) in limbs.iter().enumerate() {
        let q = limb.modulus();
        let further = limbs.iter().skip(before.ring().limb_count());
        let factor = further.fold(1, |product, limb| q.mul(product, q.reduce_u64(limb.modulus().value())));
        for (place, phase) in after.iter().enumerate().step_by(97) {
            let before = before.limb(index).get(place).copied().unwrap_or(0);
            assert_eq!(stored.ring.crt().residues(*phase)[index], q.mul(before, factor));
        }
    }
}

/// The secret of a table's columns has keys over the chain of their ring: constants that came encrypted meet stored flags, products are brought back
/// to two components and a level further down, and raised to the ring of the table they decrypt as everything else does.
#[test]
fn stored_flags_meet_encrypted_constants() {
    let mut draw = Draw::new();
    let stored = Stored::new(&mut draw, 4);
    let params = chain_preset("n14_q5p1x46u_d1_sec192_v1").unwrap().params().unwrap();
    let scheme = Bgv::new(&params, T, Cpu::detect().unwrap()).unwrap();
    let secret = ChainSecret::of(&stored.secret, scheme.chain()).unwrap();
    let keys = secret.evaluation_keys(true, &expansion_elements(16384, 6)).unwrap();
    let party = Party { scheme, secret, keys };
    let top = params.top();
    let level = party.scheme.chain().ring(top).unwrap().clone();
    let bodies = stored.bodies();

    check_phase(&stored, &party.secret, &bodies[0]);

    let scalars = draw.values(6);
    let expanded: Vec<RlweCiphertext> =
        expanded(&party, &scalars, top).iter().map(|scalar| scalar.inner().clone()).collect();
    let term = |body, scalar| InnerTerm { body, scalar };
    let sums = [
        vec![term(Some(0), 0), term(Some(1), 1), term(Some(2), 2), term(None, 5)],
        vec![term(Some(3), 3), term(Some(0), 4)],
    ];
    let (seed, bodies) = (stored.seed, &bodies[..]);
    let elements =
        [StoredElement { seed, element: 0, bodies, mask: None, masks: &[], integers: &[], computed: &[] }];
    let inner = InnerProducts::new(&stored.ring, &level, &elements, &expanded, &sums).unwrap();
    let mut memory = inner.memory();
    let blocks: Vec<Words> =
        (0..inner.blocks()).map(|block| inner.evaluate_block(block, &mut memory)).collect();
    let products = (0..sums.len()).map(|sum| inner.ciphertext(&blocks, (0, sum)).unwrap());
    for (terms, product) in sums.iter().zip(products) {
        let of_row = |row: usize| {
            let value = |term: &InnerTerm| {
                let flag = term.body.map_or(1, |body| stored.flags[body].get(row).copied().unwrap_or(0));
                flag * scalars[term.scalar]
            };
            terms.iter().map(value).sum::<i64>().rem_euclid(T as i64) as u64
        };
        let expected: Vec<u64> = (0..16384).map(of_row).collect();
        let product = party.scheme.ciphertext(product).unwrap();
        let mut divided = party.scheme.relinearize_mod_switch(&product, &party.keys).unwrap();
        for _ in 0..2 {
            assert_eq!(divided.factor(), 1);
            let raised = divided.inner().raised_to(&stored.ring).unwrap();
            let slots = decrypt_product(&stored.secret, &stored.encoder, &raised, PhaseLimit::NONE).unwrap();
            assert!(slots == expected, "{draw}, {terms:?}");
            check_raised(&stored, &party.secret.phase(divided.inner()).unwrap(), &raised);
            divided = party.scheme.mod_switch(&divided).unwrap();
        }
    }

    let other = Ring::new(preset("n13_q3x46_sec128_v1").unwrap(), Cpu::detect().unwrap()).unwrap();
    let owner = OwnerSeed::generate().unwrap();
    let small = owner.of_table([0; 16], [0; 16]).secret(SecretKind::Slots, &other, [1; 16]);
    let refused = ChainSecret::of(&small, party.scheme.chain()).unwrap_err();
    assert_eq!(refused, RingError::RingMismatch { left: other.param_code(), right: 0 });
    assert!(expanded[0].raised_to(&other).is_err());
}
