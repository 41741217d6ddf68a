// SPDX-License-Identifier: Apache-2.0
//! Circuit bootstrapping and wide look-ups.

use hush_params::tfhe::{TfheSet, WIDE};
use hush_testkit::Draw;
use hush_tfhe::{CircuitKey, CircuitParts, Selector, WideTable};

use super::noise::error_of;
use super::*;

/// A secret with the keys of its server.
struct Sides {
    secret: TfheSecret,
    key: ServerKey,
    circuit: CircuitKey,
}

impl Sides {
    fn new(set: &'static TfheSet) -> Self {
        let secret = secret(set);
        let key = server(&secret);
        let bytes = secret.circuit_keys().unwrap().encode(secret.context()).unwrap();
        let circuit = CircuitParts::decode(secret.context(), &bytes).unwrap();
        Self { secret, key, circuit }
    }

    fn selectors(&self, bits: &[u64]) -> Vec<Selector> {
        let bits = sent(&self.secret, bits);
        self.circuit.selectors(&self.key, &bits.iter().collect::<Vec<_>>()).unwrap()
    }

    /// Selectors of zeros, and of ones.
    fn of_both(&self, count: usize) -> [Vec<Selector>; 2] {
        [0, 1].map(|bit| self.selectors(&vec![bit; count]))
    }

    /// The entries at indices, by selectors of their bits.
    fn entries(
        &self,
        table: &WideTable,
        both: &[Vec<Selector>; 2],
        indices: impl Iterator<Item = u64>,
    ) -> Vec<Lwe> {
        let of_index = |index: u64| {
            let bits = (0..both[0].len()).map(|bit| both[(index >> bit & 1) as usize][bit].clone());
            table.look_up(self.secret.context(), &bits.collect::<Vec<_>>()).unwrap()
        };
        indices.map(of_index).collect()
    }

    /// The errors of the rows of selectors of a bit, by polynomials of coefficients: those for digits of the body, and of the mask.
    fn row_errors(&self, selector: &Selector, bit: u64) -> [Vec<Vec<f64>>; 2] {
        let context = self.secret.context();
        let (limb, q, degree) = (context.limb(), context.modulus(), context.set().degree());
        let secret = &self.secret.polynomials_in_eval()[0];
        let units: Vec<u32> = context.set().circuit().unwrap().selector.units().collect();
        let halves = selector.words().chunks_exact(2 * degree * units.len()).enumerate();
        let errors = halves.map(|(half, rows)| {
            let rows = rows.chunks_exact(2 * degree).zip(&units);
            let of_row = |(row, unit): (&[u64], &u32)| {
                let mut phase = row[degree..].to_vec();
                limb.mul_assign(&mut phase, secret.words());
                limb.add_assign(&mut phase, &row[..degree]);
                let mut message = if half == 0 { vec![1; degree] } else { secret.words().to_vec() };
                limb.mul_scalar_assign(&mut message, bit << unit);
                limb.sub_assign(&mut phase, &message);
                limb.inverse(&mut phase);
                let centred =
                    |x: &u64| if *x > q.value() / 2 { *x as f64 - q.value() as f64 } else { *x as f64 };
                phase.iter().map(|x| centred(x) / q.value() as f64).collect()
            };
            rows.map(of_row).collect::<Vec<Vec<f64>>>()
        });
        let errors: Vec<_> = errors.collect();
        <[_; 2]>::try_from(errors).unwrap()
    }
}

fn toy() -> &'static TfheSet {
    Box::leak(Box::new(TfheSet::insecure_toy(16, 256, 1)))
}

/// All entries of tables within a polynomial, of its size, and of a tree above it.
#[test]
fn every_entry_of_wide_tables_is_found_on_a_small_ring() {
    let sides = Sides::new(toy());
    let both = sides.of_both(10);
    let mut draw = Draw::of_environment("HUSH_DRAW");
    for bits in [1, 3, 8, 10] {
        let values: Vec<u64> = (0..1 << bits).map(|_| draw.below(16) as u64).collect();
        let context = sides.secret.context();
        let table = WideTable::of(context, bits, |index| values[index as usize]).unwrap();
        let both = both.clone().map(|selectors| selectors[..bits as usize].to_vec());
        let found = sides.entries(&table, &both, 0..1 << bits);
        assert_eq!(answered(&sides.secret, &sides.key, &found), values, "{draw}: {bits} bits");
    }
}

#[test]
fn entries_of_wide_tables_are_found() {
    let sides = Sides::new(&WIDE);
    let (context, both) = (sides.secret.context(), sides.of_both(8));
    let table = WideTable::of(context, 8, |index| index * index % 13).unwrap();
    let found = sides.entries(&table, &both, 0..256);
    let expected: Vec<u64> = (0..256).map(|index| index * index % 13).collect();
    assert_eq!(answered(&sides.secret, &sides.key, &found), expected);
    // Results are bits of the next index, directly, and go into bootstrappings.
    let parity = WideTable::of(context, 8, |index| u64::from(index.count_ones() % 2)).unwrap();
    let bits = sides.entries(&parity, &both, [7, 9].into_iter());
    let next = sides.circuit.selectors(&sides.key, &bits.iter().collect::<Vec<_>>()).unwrap();
    let pair = WideTable::of(context, 2, |index| 5 + index).unwrap();
    let found = pair.look_up(context, &next).unwrap();
    let squared = Table::of(context, |message| message * message % 16).unwrap();
    let found = [found.clone(), sides.key.bootstrap(&[(&found, &squared)]).unwrap().remove(0)];
    assert_eq!(answered(&sides.secret, &sides.key, &found), [6, 36 % 16]);
}

#[test]
#[ignore = "a minute"]
fn sweep_of_wide_tables_of_several_polynomials() {
    let sides = Sides::new(&WIDE);
    let mut draw = Draw::of_environment("HUSH_DRAW");
    for bits in [11, 13] {
        let values: Vec<u64> = (0..1 << bits).map(|_| draw.below(16) as u64).collect();
        let table = WideTable::of(sides.secret.context(), bits, |index| values[index as usize]).unwrap();
        let found = sides.entries(&table, &sides.of_both(bits as usize), 0..1 << bits);
        assert_eq!(answered(&sides.secret, &sides.key, &found), values, "{draw}: {bits} bits");
    }
}

/// The errors of the rows of selectors and of choices by them against the formulas, within 5 standard errors: of as many rows as there are, since much of a row's error is in
/// one coefficient. The first bit of a rotation finds a table without errors, of which hardly a digit is not 0; so does the first choice.
fn compare(set: &'static TfheSet, (secrets, bits): (usize, usize)) {
    let before = TfheSet::insecure_toy(set.dimension() - 1, set.degree(), 1).circuit_variances().unwrap();
    let expected = set.circuit_variances().unwrap();
    let (mut bodies, mut masks, mut choices) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..secrets {
        let sides = Sides::new(set);
        let bits: Vec<u64> = (0..bits as u64).map(|place| place % 2).collect();
        let selectors = sides.selectors(&bits);
        for (selector, bit) in selectors.iter().zip(&bits) {
            let [of_body, of_mask] = sides.row_errors(selector, *bit);
            let square = |row: &Vec<f64>| row.iter().map(|x| x * x).sum::<f64>();
            bodies.extend(of_body.iter().map(square));
            masks.extend(of_mask.iter().map(|row| square(row) / row.len() as f64));
        }
        let context = sides.secret.context();
        let table = WideTable::of(context, 6, |index| index % 16).unwrap();
        let ones: Vec<Selector> = selectors.into_iter().skip(1).step_by(2).collect();
        let errors = ones.windows(6).map(|chosen| {
            let found = table.look_up(context, chosen).unwrap();
            error_of(&sides.secret, &found, context.encode(63 % 16).unwrap()).powi(2) / 5.0
        });
        choices.extend(errors);
    }
    for (name, squares, expected) in [
        ("rows of the body", bodies, before.body),
        ("rows of the mask", masks, before.mask),
        ("choices", choices, expected.choice),
    ] {
        let ratio = squares.iter().sum::<f64>() / squares.len() as f64 / expected;
        let tolerance = 5.0 * (2.0 / squares.len() as f64).sqrt();
        assert!((ratio - 1.0).abs() < tolerance, "{name}: {ratio} times the formula, within {tolerance}");
    }
}

#[test]
fn selectors_have_the_errors_of_the_formulas() {
    compare(toy(), (24, 80));
}

#[test]
#[ignore = "a minute"]
fn sweep_of_the_errors_of_selectors() {
    compare(&WIDE, (2, 240));
}

#[test]
fn circuit_keys_of_other_sets_and_shapes_are_refused() {
    let sides = Sides::new(toy());
    let (context, other) = (sides.secret.context(), secret(&GATES));
    let refused = |error: TfheError| error.code();
    assert_eq!(refused(CircuitKey::row_count(other.context()).unwrap_err()), "HUSH-B010");
    assert!(matches!(other.circuit_keys(), Err(EncryptError::Tfhe(TfheError::NoCircuit { .. }))));
    assert_eq!(refused(WideTable::of(other.context(), 3, |_| 0).unwrap_err()), "HUSH-B010");
    let bit = other.encrypt_bits(&[true]).unwrap().encode(other.context());
    let bit = Fresh::decode(other.context(), 1, &bit).unwrap().remove(0);
    assert_eq!(refused(sides.circuit.selectors(&sides.key, &[&bit]).err().unwrap()), "HUSH-B003");
    assert_eq!(refused(sides.circuit.selectors(&server(&other), &[]).err().unwrap()), "HUSH-B003");
    for bits in [0, 17] {
        assert_eq!(refused(WideTable::of(context, bits, |_| 0).unwrap_err()), "HUSH-B004");
    }
    assert_eq!(refused(WideTable::of(context, 2, |_| 16).unwrap_err()), "HUSH-B006");
    let table = WideTable::of(context, 2, |index| index).unwrap();
    let selectors = sides.selectors(&[1, 0, 1]);
    assert_eq!(refused(table.look_up(context, &selectors).unwrap_err()), "HUSH-B004");
    let wide = Sides::new(&WIDE);
    assert_eq!(refused(table.look_up(wide.secret.context(), &selectors[..2]).unwrap_err()), "HUSH-B003");
    let bytes = sides.secret.circuit_keys().unwrap().encode(context).unwrap();
    for length in (0..bytes.len()).step_by(97) {
        assert!(CircuitParts::decode(context, &bytes[..length]).is_err(), "{length} bytes");
    }
    assert!(KeyParts::decode(context, &bytes).is_err(), "another kind of keys");
    let parts = CircuitParts { seed: UniformSeed::from_bytes([1; 32]), bodies: vec![0; 64] };
    assert_eq!(refused(parts.encode(context).unwrap_err()), "HUSH-B004");
}
