// SPDX-License-Identifier: Apache-2.0
//! Sums of products without keys: encrypted, evaluated on the server's code and decrypted, they equal those of plain integers, and their phases
//! keep to the bounds of docs/math/products.md.

use hush_rlwe::{
    Factor, Operands, PowerKeys, ProductSum, ProductSums, ProductTask, StoredElement as Element,
};

use super::rounded_products::check_forms;
use super::*;
use crate::power_keys;

/// `1 mod 2N` for every ring.
pub(super) const T: u64 = 65_537;

/// Columns in slots, in several chunks.
struct Table {
    ring: Ring,
    encoder: SlotEncoder,
    secret: SecretKey,
    /// `[chunk][column]` → values.
    values: Vec<Vec<Vec<i64>>>,
    /// `[chunk][mask]` → truth of each row, where factors name masks.
    masks: Vec<Vec<Vec<bool>>>,
    /// `[chunk]` → integers, where factors name some.
    integers: Vec<Vec<i64>>,
    chunks: Vec<(UniformSeed, Vec<Vec<u8>>)>,
    keys: PowerKeys,
}

/// A sum as it came and as it is decrypted.
struct Answered {
    components: Vec<Poly<Eval>>,
    phases: Vec<I256>,
    slots: Vec<u64>,
}

impl Table {
    fn new(set: &str, values: Vec<Vec<Vec<i64>>>) -> Self {
        let ring = ring(set);
        let encoder = SlotEncoder::new(&ring, &[T]).unwrap();
        let owner = OwnerSeed::generate().unwrap();
        let secret = owner.of_table([0; 16], [0; 16]).secret(SecretKind::Slots, &ring, [1; 16]);
        let mut encryptor = Encryptor::new();
        let chunks = (0..).zip(&values).map(|(chunk, columns)| {
            let mut encryption = encryptor.begin_chunk(chunk, columns[0].len()).unwrap();
            let bodies = (0..).zip(columns).map(|(column, values)| {
                let (secret, encoder, max_abs) = (&secret, &encoder, I256::from(T / 2));
                let column = SlotColumn {
                    column,
                    secret,
                    encoder,
                    max_abs,
                    shared: false,
                    values: Values::I64(values),
                };
                encryption.encrypt_slots(&column).unwrap()
            });
            let bodies = bodies.collect();
            (encryption.seed(), bodies)
        });
        let chunks: Vec<_> = chunks.collect();
        let (masks, integers) = (vec![Vec::new(); chunks.len()], vec![Vec::new(); chunks.len()]);
        let keys = power_keys(&secret, T, 7).unwrap();
        Self { ring, encoder, secret, values, masks, integers, chunks, keys }
    }

    /// With masks, as many in each chunk.
    fn with_masks(self, masks: Vec<Vec<Vec<bool>>>) -> Self {
        Self { masks, ..self }
    }

    /// With integers, as many of each chunk.
    fn with_integers(self, integers: Vec<Vec<i64>>) -> Self {
        Self { integers, ..self }
    }

    /// Asks for every sum.
    fn ask(&self, task: &ProductTask) -> Vec<Answered> {
        let body = |chunk: usize, column: usize| {
            let (element_count, lanes) = (1, 1);
            let id = BodyId { column: column as u32, chunk: chunk as u32, element_count, lanes };
            checked(&self.chunks[chunk].1[column], &self.ring, BodyKind::Slot, id)
        };
        let columns = self.values[0].len();
        let bodies: Vec<Vec<Body<'_>>> = (0..self.chunks.len())
            .map(|chunk| (0..columns).map(|column| body(chunk, column)).collect())
            .collect();
        let in_slots = |mask: &Vec<bool>| {
            let bits: Vec<i64> = mask.iter().map(|bit| i64::from(*bit)).collect();
            self.encoder.encode_clear(0, Values::I64(&bits)).unwrap()
        };
        let masks: Vec<Vec<Poly<Eval>>> =
            self.masks.iter().map(|masks| masks.iter().map(in_slots).collect()).collect();
        let elements: Vec<Element<'_>> = self
            .chunks
            .iter()
            .zip(&bodies)
            .zip(masks.iter().zip(&self.integers))
            .map(|(((seed, _), bodies), (masks, integers))| Element {
                seed: *seed,
                element: 0,
                bodies,
                mask: None,
                masks,
                integers,
                computed: &[],
            })
            .collect();
        let sums = ProductSums::new(&self.ring, task, &elements).unwrap();
        let decrypt = |components: Vec<Poly<Eval>>| {
            let phases = phase_of(&self.secret, &components).unwrap().to_vec();
            let slots = decrypt_product(&self.secret, &self.encoder, &components, PhaseLimit::NONE);
            Answered { components, phases, slots: slots.unwrap() }
        };
        sums.evaluate().unwrap().into_iter().map(decrypt).collect()
    }
}

/// The value of a factor in a row, modulo `T`.
fn value(factor: &Factor, (row, masks, integers): (&[i64], &[bool], &[i64]), earlier: &[i64]) -> i64 {
    let value = |factor: &Factor| i128::from(value(factor, (row, masks, integers), earlier));
    let found = match factor {
        Factor::Computed => unreachable!("no task here names it"),
        Factor::Integer(number) => i128::from(integers[*number]),
        Factor::Mask(mask) => i128::from(masks[*mask]),
        Factor::Stored(column) => i128::from(row[*column]),
        Factor::Constant(integer) => i128::from(*integer),
        Factor::Earlier(number) => i128::from(earlier[*number]),
        Factor::Add(left, right) => value(left) + value(right),
        Factor::Sub(left, right) => value(left) - value(right),
        Factor::Mul(left, right) => value(left) * value(right),
    };
    found.rem_euclid(i128::from(T)) as i64
}

/// log2 bound on the phase of a factor.
fn bound(factor: &Factor, (table, degree): (&Table, usize), earlier: &[f64]) -> f64 {
    let bound = |factor: &Factor| bound(factor, (table, degree), earlier);
    match factor {
        Factor::Computed => unreachable!("no task here names it"),
        Factor::Stored(_) => noise::bgv_fresh_phase_log2((T as f64).log2()),
        Factor::Constant(integer) => (integer.unsigned_abs() as f64).log2(),
        Factor::Integer(number) => {
            let largest = table.integers.iter().map(|integers| integers[*number].unsigned_abs()).max();
            (largest.unwrap() as f64).log2()
        }
        // Centred, and without an error.
        Factor::Mask(_) => (T as f64).log2() - 1.0,
        Factor::Earlier(number) => earlier[*number],
        Factor::Add(left, right) | Factor::Sub(left, right) => {
            noise::add_phase_log2(bound(left), bound(right))
        }
        // A constant has no convolution.
        Factor::Mul(left, right) => match (&**left, &**right) {
            (Factor::Constant(_) | Factor::Integer(_), _) | (_, Factor::Constant(_) | Factor::Integer(_)) => {
                bound(left) + bound(right)
            }
            _ => noise::product_phase_log2(degree, bound(left), bound(right)),
        },
    }
}

/// Asks a task, and compares slots with plain integers and phases with their bound; gives the least distance in bits from a bound.
fn check(table: &Table, factors: &[Factor], sums: &[ProductSum]) -> f64 {
    let operands = Operands {
        bodies: table.values[0].len(),
        masks: table.masks[0].len(),
        integers: table.integers[0].len(),
    };
    let task = ProductTask::new(factors, sums.to_vec(), operands).unwrap();
    let (degree, fresh) = (table.ring.degree(), noise::bgv_fresh_phase_log2((T as f64).log2()));
    let mut bounds = Vec::new();
    for factor in factors {
        bounds.push(bound(factor, (table, degree), &bounds));
    }
    let mut least = f64::INFINITY;
    for (sum, Answered { components, phases, slots }) in sums.iter().zip(table.ask(&task)) {
        let mut expected = vec![0; degree];
        let of_chunks = table.values.iter().zip(&table.masks).zip(&table.integers);
        for ((columns, masks), integers) in of_chunks {
            for (row, expected) in expected.iter_mut().enumerate().take(columns[0].len()) {
                let masks: Vec<bool> = masks.iter().map(|mask| mask[row]).collect();
                let row: Vec<i64> = columns.iter().map(|column| column[row]).collect();
                let mut found = Vec::new();
                for factor in factors {
                    found.push(value(factor, (&row, &masks, integers), &found));
                }
                let product = found[sum.factor] * sum.measure.map_or(1, |measure| row[measure]);
                *expected = (*expected + product).rem_euclid(T as i64);
            }
        }
        let integers: Vec<i64> = slots.iter().map(|slot| *slot as i64).collect();
        assert_eq!(integers, expected, "{factors:?}, {sum:?}");
        let product = sum
            .measure
            .map_or(bounds[sum.factor], |_| noise::product_phase_log2(degree, bounds[sum.factor], fresh));
        let limit = product + (table.chunks.len() as f64).log2();
        let largest = phases.iter().map(|phase| phase.abs()).max().unwrap();
        let (high, low) = largest.into_words();
        let largest = (high as f64 * 2f64.powi(128) + low as u128 as f64).max(1.0).log2();
        assert!(limit <= table.ring.set().unwrap().log_q() - 1.0, "{factors:?} does not fit");
        assert!(largest <= limit, "a phase of 2^{largest} above 2^{limit}, {factors:?}");
        let rounded = check_forms(&table.secret, &table.encoder, &components, limit, &slots);
        assert!(rounded.is_some() || components.len() > 6, "{factors:?}, {sum:?}");
        least = least.min(limit - largest);
        check_keys(table, &components, limit, &slots);
    }
    least
}

/// Brought back to two components, a sum decrypts to the same slots, within the bound on its phase, whole and rounded.
fn check_keys(table: &Table, components: &[Poly<Eval>], limit: f64, slots: &[u64]) {
    if components.len() < 2 {
        return;
    }
    let two = table.keys.relinearise(components).unwrap();
    let set = table.ring.set().unwrap();
    let limit = noise::relinearised_phase_log2(set, components.len() - 1, (T as f64).log2(), limit);
    let bound = PhaseLimit::from_log2(limit);
    assert_eq!(two.len(), 2);
    assert!(decrypt_product(&table.secret, &table.encoder, &two, bound).unwrap() == slots);
    if limit + 2.0 < set.log_q() - 1.0 {
        assert!(check_forms(&table.secret, &table.encoder, &two, limit, slots).is_some());
    }
}

/// Random formulas of every degree, on random slots: with sums, differences, constants and shared factors.
#[test]
fn random_products_are_exact_and_keep_to_their_bounds() {
    let mut draw = Draw::new();
    for (set, degree) in [
        ("n12_q2x46_sec128_v1", 2),
        ("n12_q3x34_sec128_v1", 3),
        ("n13_q3x46_sec128_v1", 4),
        ("n13_q4x46_sec128_v1", 5),
        ("n14_q5x46_sec128_v1", 6),
    ] {
        let (chunks, columns, rows) = (1 + draw.below(6), 3, ring(set).degree());
        let mut column =
            || -> Vec<i64> { (0..rows).map(|_| draw.below(T as usize) as i64 - (T / 2) as i64).collect() };
        let values = (0..chunks).map(|_| (0..columns).map(|_| column()).collect()).collect();
        let table = Table::new(set, values);
        for _ in 0..3 {
            // Each factor is of degree 1, and the last is a product of all but one, which is left for the measure.
            let mut factors: Vec<Factor> = (1..degree).map(|_| linear(&mut draw, columns)).collect();
            let product = (1..degree - 1).fold(Factor::Earlier(0), |product, factor| {
                Factor::Mul(Box::new(product), Box::new(Factor::Earlier(factor)))
            });
            factors.push(product);
            let factor = factors.len() - 1;
            let measure = Some(draw.below(columns));
            check(&table, &factors, &[ProductSum { factor, measure }, ProductSum { factor, measure: None }]);
        }
    }
}

/// A stored ciphertext, a sum or a difference of two, or one taken from a constant.
fn linear(draw: &mut Draw, columns: usize) -> Factor {
    let mut stored = || Box::new(Factor::Stored(draw.below(columns)));
    let (left, right) = (stored(), stored());
    match draw.below(4) {
        0 => *left,
        1 => Factor::Add(left, right),
        2 => Factor::Sub(left, right),
        _ => Factor::Sub(Box::new(Factor::Constant(draw.below(2000) as i64 - 1000)), right),
    }
}

/// Clear conditions within a formula: members of OR, and choices between ciphertexts.
#[test]
fn masks_in_formulas_are_exact_and_keep_to_their_bounds() {
    let mut draw = Draw::new();
    let (chunks, columns, rows) = (3, 3, ring("n13_q4x46_sec128_v1").degree());
    let mut bits = |of: usize| -> Vec<usize> { (0..rows).map(|_| draw.below(of)).collect() };
    let values = (0..chunks)
        .map(|_| (0..columns).map(|_| bits(2).into_iter().map(|bit| bit as i64).collect()).collect());
    let values = values.collect();
    let masks =
        (0..chunks).map(|_| [1, 2, 3].map(|of| bits(of).iter().map(|bit| *bit == 0).collect()).into());
    let table = Table::new("n13_q4x46_sec128_v1", values).with_masks(masks.collect());
    let stored = |column| Box::new(Factor::Stored(column));
    let mask = |mask| Box::new(Factor::Mask(mask));
    let times = |one: &Factor, other: &Factor| Factor::Mul(Box::new(one.clone()), Box::new(other.clone()));
    let or = |one: &Factor, other: &Factor| {
        let sum = Factor::Add(Box::new(one.clone()), Box::new(other.clone()));
        Factor::Sub(Box::new(sum), Box::new(times(one, other)))
    };
    let both = or(&mask(1), &times(&stored(0), &mask(2)));
    let chosen = Factor::Add(
        Box::new(times(&mask(1), &stored(0))),
        Box::new(Factor::Mul(Box::new(Factor::Sub(Box::new(Factor::Constant(1)), mask(1))), stored(1))),
    );
    let factors = [both, chosen, *mask(2), Factor::Mul(mask(0), Box::new(Factor::Earlier(1)))];
    let sums =
        (0..factors.len()).flat_map(|factor| [None, Some(2)].map(|measure| ProductSum { factor, measure }));
    // A mask alone reaches its bound: a coefficient may be half of the prime.
    let margin = check(&table, &factors, &sums.collect::<Vec<_>>());
    assert!(margin > 0.0, "{margin}");
}

/// Power sums: a condition times powers of the number of an element, of both signs once they are taken modulo the prime.
#[test]
fn integers_of_elements_are_exact_and_keep_to_their_bounds() {
    let mut draw = Draw::new();
    let (set, chunks, columns) = ("n13_q4x46_sec128_v1", 5, 3);
    let rows = ring(set).degree();
    let mut column = || -> Vec<i64> { (0..rows).map(|_| draw.below(2) as i64).collect() };
    let values = (0..chunks).map(|_| (0..columns).map(|_| column()).collect()).collect();
    let t = T as i64;
    let powers = |chunk: i64| vec![chunk, chunk * chunk - t, (t - 1) / 2 - chunk];
    let table = Table::new(set, values).with_integers((0..chunks).map(powers).collect());
    let stored = |column| Box::new(Factor::Stored(column));
    let both = Factor::Mul(stored(0), Box::new(Factor::Sub(Box::new(Factor::Constant(1)), stored(1))));
    let times = |number| Factor::Mul(Box::new(Factor::Earlier(0)), Box::new(Factor::Integer(number)));
    let sum = Factor::Add(Box::new(Factor::Integer(1)), stored(2));
    let factors = [both, times(0), times(1), times(2), sum, Factor::Integer(2)];
    let sums =
        (0..factors.len()).flat_map(|factor| [None, Some(2)].map(|measure| ProductSum { factor, measure }));
    let margin = check(&table, &factors, &sums.collect::<Vec<_>>());
    assert!(margin >= 0.0, "{margin}");
}

/// As Q6 of TPC-H: two ends of two ranges, one of a third, and a measure in limbs.
#[test]
fn conditions_times_measures_are_counted_and_summed() {
    let mut draw = Draw::new();
    let (chunks, rows) = (3, 8192);
    /// Year, discount, quantity, revenue.
    type Drawn = [usize; 4];
    let mut chunk = || -> Vec<Vec<i64>> {
        let row = |draw: &mut Draw| -> Drawn {
            [draw.below(7), draw.below(11), 1 + draw.below(50), draw.below(1 << 18)]
        };
        let rows: Vec<_> = (0..rows).map(|_| row(&mut draw)).collect();
        let column =
            |of: &dyn Fn(&Drawn) -> usize| -> Vec<i64> { rows.iter().map(|row| of(row) as i64).collect() };
        vec![
            column(&|row| usize::from(row[0] >= 2)),
            column(&|row| usize::from(row[0] >= 3)),
            column(&|row| usize::from(row[1] >= 5)),
            column(&|row| usize::from(row[1] >= 8)),
            column(&|row| usize::from(row[2] >= 24)),
            column(&|row| row[3] % 512),
            column(&|row| row[3] / 512),
        ]
    };
    let table = Table::new("n13_q3x46_sec128_v1", (0..chunks).map(|_| chunk()).collect());
    let stored = |column| Box::new(Factor::Stored(column));
    let (year, discount) = (Factor::Sub(stored(0), stored(1)), Factor::Sub(stored(2), stored(3)));
    let quantity = Factor::Sub(Box::new(Factor::Constant(1)), stored(4));
    let both = Factor::Mul(Box::new(year), Box::new(discount));
    let factors = [Factor::Mul(Box::new(both), Box::new(quantity))];
    let of = |measure| ProductSum { factor: 0, measure };
    let margin = check(&table, &factors, &[of(None), of(Some(5)), of(Some(6))]);
    assert!(margin > 20.0, "phases are far below what they could be: {margin}");
}

#[test]
fn tasks_and_elements_that_do_not_fit_are_refused() {
    const OPERANDS: Operands = Operands { bodies: 2, masks: 1, integers: 1 };
    let stored = |column| Box::new(Factor::Stored(column));
    let sum = |factor, measure| ProductSum { factor, measure };
    let task = |factors: &[Factor], sums: &[ProductSum]| ProductTask::new(factors, sums.to_vec(), OPERANDS);
    let refused = |factors: &[Factor], sums: &[ProductSum]| task(factors, sums).unwrap_err().to_string();
    assert!(refused(&[Factor::Stored(2)], &[]).contains("operand 2"));
    assert!(refused(&[Factor::Mask(1)], &[]).contains("operand 1"));
    assert!(refused(&[Factor::Integer(1)], &[]).contains("operand 1"));
    assert!(refused(&[Factor::Earlier(0)], &[]).contains("operand 0"));
    assert!(refused(&[Factor::Stored(0)], &[sum(1, None)]).contains("operand 1"));
    assert!(refused(&[Factor::Stored(0)], &[sum(0, Some(2))]).contains("operand 2"));
    let power = |exponent: usize| {
        (1..exponent).fold(Factor::Stored(0), |power, _| Factor::Mul(Box::new(power), stored(1)))
    };
    assert!(task(&[power(7)], &[sum(0, None)]).is_ok());
    assert!(refused(&[power(7)], &[sum(0, Some(1))]).contains("product of 8"));
    assert!(refused(&[power(8)], &[]).contains("product of 8"));
    let table = Table::new("n12_q2x46_sec128_v1", vec![vec![vec![1; 10]; 2]]);
    let task = task(&[Factor::Stored(0)], &[sum(0, Some(1))]).unwrap();
    let bytes = &table.chunks[0].1[0];
    let id = BodyId { column: 0, chunk: 0, element_count: 1, lanes: 1 };
    let body = checked(bytes, &table.ring, BodyKind::Slot, id);
    let mask = table.encoder.encode_clear(0, Values::I64(&[1; 10])).unwrap();
    let fits_with = |ring: &Ring, element, bodies: &[Body<'_>], masks: &[Poly<Eval>], integers: &[i64]| {
        let seed = table.chunks[0].0;
        let element = Element { seed, element, bodies, mask: None, masks, integers, computed: &[] };
        ProductSums::new(ring, &task, &[element]).is_ok()
    };
    let fits = |ring: &Ring, element, bodies: &[Body<'_>]| {
        fits_with(ring, element, bodies, std::slice::from_ref(&mask), &[3])
    };
    assert!(fits(&table.ring, 0, &[body, body]));
    assert!(!fits_with(&table.ring, 0, &[body, body], &[], &[3]));
    assert!(!fits_with(&table.ring, 0, &[body, body], std::slice::from_ref(&mask), &[]));
    assert!(!fits(&table.ring, 0, &[body]) && !fits(&table.ring, 1, &[body, body]));
    assert!(!fits(&ring("n13_q3x46_sec128_v1"), 0, &[body, body]));
}

/// What other bounds allow is taken, and a phase beyond its bound is not decrypted.
#[test]
fn phases_beyond_their_bound_are_refused() {
    const TWO: Operands = Operands { bodies: 2, masks: 0, integers: 0 };
    let table = Table::new("n12_q2x46_sec128_v1", vec![vec![vec![1; 10]; 2]]);
    let task = ProductTask::new(&[Factor::Stored(0)], vec![ProductSum { factor: 0, measure: Some(1) }], TWO);
    let (task, bytes) = (task.unwrap(), &table.chunks[0].1);
    let body = |column: u32| {
        let id = BodyId { column, chunk: 0, element_count: 1, lanes: 1 };
        checked(&bytes[column as usize], &table.ring, BodyKind::Slot, id)
    };
    let bodies = [body(0), body(1)];
    let seed = table.chunks[0].0;
    let (masks, integers, computed) = (&[], &[], &[]);
    let elements = [Element { seed, element: 0, bodies: &bodies, mask: None, masks, integers, computed }];
    let components = ProductSums::new(&table.ring, &task, &elements).unwrap().evaluate().unwrap().remove(0);
    let decrypt =
        |bound| decrypt_product(&table.secret, &table.encoder, &components, PhaseLimit::from_log2(bound));
    let fresh = noise::bgv_fresh_phase_log2((T as f64).log2());
    let slots = decrypt(noise::product_phase_log2(4096, fresh, fresh)).unwrap();
    assert!(slots[..10] == [1; 10] && slots[10..].iter().all(|slot| *slot == 0));
    assert!(matches!(decrypt(20.0), Err(DecryptError::Beyond)));
}

/// What the keys add is within its bound: for digits as large as they can be on both sides of 0, and for digits of −1, which are small as nothing but that.
/// Keys of another secret give other phases.
#[test]
fn keys_add_what_their_bound_says() {
    let table = Table::new("n12_q3x34_sec128_v1", vec![vec![vec![1]]]);
    let (ring, set) = (&table.ring, table.ring.set().unwrap());
    let degree = 4;
    let components_of = |residue: &dyn Fn(u64) -> u64| {
        let mut digits = Poly::<hush_ring::Coeff>::zero(ring);
        for (index, limb) in ring.limbs().iter().enumerate() {
            digits.limb_mut(index).fill(residue(limb.modulus().value()));
        }
        let mut components = vec![Poly::<Eval>::zero(ring); 2];
        components.extend(vec![digits.into_eval(); degree - 1]);
        components
    };
    // What keys add to each coefficient of a phase, modulo Q and nearest to 0.
    let added = |keys: &PowerKeys, components: &[Poly<Eval>]| -> Vec<I256> {
        let before = phase_of(&table.secret, components).unwrap().to_vec();
        let after = phase_of(&table.secret, &keys.relinearise(components).unwrap()).unwrap().to_vec();
        let difference = |(before, after): (&I256, &I256)| ring.crt().residues(*after - *before);
        before
            .iter()
            .zip(&after)
            .map(difference)
            .map(|residues| ring.crt().lift_centered(&residues))
            .collect()
    };
    let log2 = |found: &[I256]| found.iter().map(|x| x.as_f64().abs().max(1.0).log2()).fold(0.0, f64::max);
    let bound = noise::relinearised_phase_log2(set, degree, (T as f64).log2(), f64::NEG_INFINITY);
    let of_ones = bound - f64::from(set.residue_bits() - 1);
    type Residue = fn(u64) -> u64;
    let cases: [(Residue, f64); 3] = [(|q| q / 2, bound), (|q| q / 2 + 1, bound), (|q| q - 1, of_ones)];
    for (residue, bound) in cases {
        let found = added(&table.keys, &components_of(&residue));
        let of_t = |x: &I256| *x % I256::from(T) == I256::ZERO;
        assert!(found.iter().all(of_t), "errors are multiples of the plaintext modulus");
        let worst = log2(&found);
        assert!(worst <= bound && worst > bound - 14.0, "2^{worst} of 2^{bound}");
    }
    let components = components_of(&|q| q / 2);
    let owner = OwnerSeed::generate().unwrap();
    let other = owner.of_table([0; 16], [0; 16]).secret(SecretKind::Slots, ring, [1; 16]);
    assert!(log2(&added(&power_keys(&other, T, 7).unwrap(), &components)) > set.log_q() - 8.0);
    let few = power_keys(&table.secret, T, 2).unwrap();
    let error = few.relinearise(&components).unwrap_err();
    assert_eq!(error, hush_rlwe::RlweError::ProductDegree { found: 4, most: 2 });
    assert!(few.relinearise(&components[..1]).is_err());
    assert!([0, 1, 8].iter().all(|highest| power_keys(&table.secret, T, *highest).is_err()));
    let bytes = table.keys.encode().unwrap();
    assert_eq!(bytes.len() as u64, hush_params::size::power_keys_bytes(set, 7));
    assert!(PowerKeys::decode(&bytes, ring, 7).unwrap() == table.keys);
    assert!(PowerKeys::decode(&bytes, ring, 6).is_err());
}
