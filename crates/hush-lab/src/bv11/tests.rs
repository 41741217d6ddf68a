// SPDX-License-Identifier: Apache-2.0

use num_bigint::BigInt;
use num_integer::Integer;

use super::InsecureBv11Ciphertext as Ciphertext;
use super::*;

/// Small enough for thousands of products in a test, large enough for the noise to be what it is elsewhere: 16 dimensions, no security.
fn toy(depth: u32) -> InsecureBv11 {
    let q = crate::primes::prime_below_power([26, 27, 54][depth as usize]);
    let params = InsecureBv11Params::custom(depth, 16, q, Some(1000), Overflow::Refuse).unwrap();
    InsecureBv11::generate(&params, &Seed::from_text("toy"), &mut |_| {}).unwrap()
}

fn toy_leveled(depth: u32) -> InsecureBv11Leveled {
    let bits = [17, 32, 48, 60];
    let rungs = (0..=depth).rev().map(|place| {
        let place = place as usize;
        rung(12 + 2 * place as u32, crate::primes::prime_below_power(bits[place])).unwrap()
    });
    let params = InsecureBv11LeveledParams::custom(rungs.collect(), Some(1200), Overflow::Refuse).unwrap();
    InsecureBv11Leveled::generate(&params, &Seed::from_text("toy"), &mut |_| {}).unwrap()
}

/// Evaluates a random circuit of at most `operations` gates, with noise bounds below the limit everywhere. Panics if a decryption
/// is wrong or a noise above its bound.
pub(super) fn random_circuit<S: InsecureScheme<Ciphertext = Ciphertext>>(
    scheme: &S,
    operations: usize,
    random: &mut Stream,
) {
    let limit = scheme.depth_limit().unwrap();
    let mut pool: Vec<(Ciphertext, bool)> = Vec::new();
    for _ in 0..4 {
        let bit = random.below(2) == 1;
        pool.push((scheme.encrypt(bit, random).unwrap(), bit));
    }
    for _ in 0..operations {
        let pick = |random: &mut Stream| random.below(pool.len() as u64) as usize;
        let (left, right) = (pick(random), pick(random));
        let ((a, x), (b, y)) = (&pool[left], &pool[right]);
        let (ct, bit) = if random.below(2) == 0 && a.level.max(b.level) < limit {
            (scheme.multiply(a, b).unwrap(), x & y)
        } else {
            (scheme.add(a, b).unwrap(), x ^ y)
        };
        let noise = scheme.noise(&ct).unwrap();
        if noise.is_safe() {
            assert!(noise.measured_log2 <= noise.bound_log2, "{noise}");
            assert_eq!(scheme.decrypt(&ct).unwrap(), bit, "{noise}");
            pool.push((ct, bit));
        }
    }
    let (ct, bit) = pool.last().unwrap();
    let short = scheme.finish(ct).unwrap();
    let noise = scheme.noise(&short).unwrap();
    assert!(noise.measured_log2 <= noise.bound_log2, "{noise}");
    if noise.is_safe() {
        assert_eq!(scheme.decrypt(&short).unwrap(), *bit, "{noise}");
    }
}

#[test]
fn a_thousand_random_circuits_decrypt_and_noise_stays_below_its_bound() {
    let mut random = Stream::derive(&Seed::from_text("circuits"), "test");
    let (one, two) = (toy(1), toy(2));
    let leveled = [toy_leveled(1), toy_leveled(2), toy_leveled(3)];
    for _ in 0..200 {
        random_circuit(&one, 8, &mut random);
        random_circuit(&two, 8, &mut random);
        leveled.iter().for_each(|scheme| random_circuit(scheme, 8, &mut random));
    }
}

/// `w − ⟨v, s⟩` as an integer, by big integers.
fn exact_phase(ct: &Ciphertext, secret: &[u64]) -> BigInt {
    BigInt::from(ct.w) - ct.v.iter().zip(secret).map(|(&x, &y)| BigInt::from(x) * y).sum::<BigInt>()
}

fn centred(value: &BigInt, q: u64) -> BigInt {
    let half = BigInt::from(q / 2);
    (value + &half).mod_floor(&q.into()) - half
}

#[test]
fn a_relinearised_product_is_the_schoolbook_product_of_the_phases_but_for_small_even_errors() {
    let scheme = toy(2);
    let mut random = Stream::derive(&Seed::from_text("schoolbook"), "test");
    for (x, y) in [(false, false), (false, true), (true, false), (true, true)] {
        let (a, b) = (scheme.encrypt(x, &mut random).unwrap(), scheme.encrypt(y, &mut random).unwrap());
        let product = scheme.multiply(&a, &b).unwrap();
        let q = scheme.params.rung.q.value();
        let secret = |level: usize| scheme.chain.secret(level);
        let expected = exact_phase(&a, secret(0)) * exact_phase(&b, secret(0));
        let error = centred(&(exact_phase(&product, secret(1)) - expected), q);
        assert!(error.is_even() && error.magnitude() < &20_000_u32.into(), "{error}");
        assert_eq!(centred(&exact_phase(&product, secret(1)), q).is_odd(), x && y);
    }
}

#[test]
fn reduction_scales_half_the_phase() {
    let scheme = toy(1);
    let mut random = Stream::derive(&Seed::from_text("reduction"), "test");
    for bit in [false, true] {
        let ct = scheme.chain.raise(&scheme.encrypt(bit, &mut random).unwrap(), 1).unwrap();
        let short = scheme.finish(&ct).unwrap();
        let (q, p) = (scheme.params.rung.q.value(), scheme.params.short.q.value());
        // (m + 2e)/2 times p/q, doubled: m + 2e' with |e'| below the bound.
        let phase = centred(&exact_phase(&short, scheme.chain.secret(2)), p);
        assert_eq!(phase.is_odd(), bit);
        assert!(phase.magnitude() < &((2.0 * short.bound) as u64 + 1).into(), "{phase}");
        assert!(p < q && short.v.len() == scheme.params.short.n as usize);
    }
}

#[test]
fn products_that_share_a_pass_equal_products_by_themselves() {
    let scheme = toy(2);
    let mut random = Stream::derive(&Seed::from_text("shared"), "test");
    let cts: Vec<_> = (0..5).map(|place| scheme.encrypt(place % 2 == 0, &mut random).unwrap()).collect();
    let deeper = scheme.multiply(&cts[0], &cts[2]).unwrap();
    let pairs = [(&cts[0], &cts[1]), (&deeper, &cts[3]), (&cts[4], &cts[4]), (&cts[2], &deeper)];
    for (together, (a, b)) in scheme.multiply_all(&pairs).unwrap().into_iter().zip(pairs) {
        let alone = scheme.multiply(a, b).unwrap();
        assert_eq!((together.v, together.w, together.level), (alone.v, alone.w, alone.level));
    }
    // More than one pass serves.
    let many = vec![(&cts[0], &cts[1]); 70];
    assert_eq!(scheme.multiply_all(&many).unwrap().len(), 70);
}

#[test]
fn what_cannot_work_is_refused_with_its_reason() {
    let refused = |depth, n, q, m| InsecureBv11Params::custom(depth, n, q, m, Overflow::Refuse).unwrap_err();
    assert!(matches!(refused(1, 16, 1 << 26, None), LabError::Parameter { name: "q", .. }));
    assert!(matches!(refused(1, 0, 101, None), LabError::Parameter { name: "n", .. }));
    assert!(matches!(refused(1, 1 << 20, 101, None), LabError::Parameter { name: "n", .. }));
    assert!(matches!(refused(2, 8192, (1 << 59) + 1, None), LabError::Parameter { name: "n", .. }));
    assert!(matches!(refused(17, 16, (1 << 59) + 1, None), LabError::Parameter { name: "depth", .. }));
    assert!(matches!(refused(1, 16, (1 << 26) - 5, Some(10)), LabError::Parameter { name: "m", .. }));
    // Room for one product, not for two.
    assert!(matches!(refused(2, 16, (1 << 26) - 5, None), LabError::Noise { level: 2, .. }));
    assert!(matches!(refused(1, 16, 4093, None), LabError::Noise { .. }));
    // The short modulus stays below q, so that its errors are over the limit.
    assert!(matches!(refused(0, 16, 2039, None), LabError::Noise { level: 1, .. }));
    assert!(matches!(refused(0, 16, 3, None), LabError::Parameter { name: "q", .. }));
    for q in [5, 7, 257, 4099, 8191] {
        let shown = InsecureBv11Params::custom(1, 16, q, None, Overflow::Show).unwrap();
        assert!(shown.short.q.value() < q, "{shown:?}");
    }
    assert!(matches!(InsecureBv11Params::named(43, 1), Err(LabError::Set { security: 43, .. })));
    assert!(matches!(InsecureBv11LeveledParams::derive(128, 9), Err(LabError::Set { .. })));
    let growing = vec![rung(16, 101).unwrap(), rung(16, 103).unwrap()];
    assert!(InsecureBv11LeveledParams::custom(growing, None, Overflow::Show).is_err());

    let scheme = toy(1);
    let mut random = Stream::derive(&Seed::from_text("depth"), "test");
    let ct = scheme.encrypt(true, &mut random).unwrap();
    let product = scheme.multiply(&ct, &ct).unwrap();
    assert!(matches!(scheme.multiply(&product, &ct), Err(LabError::Depth { found: 2, limit: 1 })));
    let finished = scheme.finish(&ct).unwrap();
    assert!(matches!(scheme.multiply(&finished, &ct), Err(LabError::Depth { .. })));
    let foreign = toy_leveled(1).encrypt(true, &mut random).unwrap();
    assert!(matches!(scheme.add(&ct, &foreign), Err(LabError::Level { .. })));
}

#[test]
fn overflow_can_be_watched() {
    let params = InsecureBv11Params::custom(1, 16, 8191, Some(600), Overflow::Show).unwrap();
    let scheme = InsecureBv11::generate(&params, &Seed::from_text("overflow"), &mut |_| {}).unwrap();
    let mut random = Stream::derive(&Seed::from_text("overflow"), "test");
    let wrong = (0..100).filter(|_| {
        let ct = scheme.encrypt(true, &mut random).unwrap();
        let product = scheme.multiply(&ct, &ct).unwrap();
        assert!(!scheme.noise(&product).unwrap().is_safe());
        !scheme.decrypt(&product).unwrap()
    });
    assert!(wrong.count() > 20);
}

#[test]
fn every_named_set_promises_its_products_and_its_security() {
    for (depth, security, n, bits) in InsecureBv11Params::SETS {
        let params = InsecureBv11Params::named(security, depth).unwrap();
        assert_eq!((params.rung.n, params.rung.q.bits(), params.depth()), (n, bits, depth));
        assert!(params.security_bits() > f64::from(security) - 1.0, "{security}: {}", params.security_bits());
        assert!(params.short.n < n && params.short.q.bits() < bits);
    }
    for (security, depth) in
        [42, 52, 62, 72, 128].into_iter().flat_map(|security| [(security, 1), (security, 2)])
    {
        let params = InsecureBv11LeveledParams::derive(security, depth).unwrap();
        assert!(params.security_bits() > f64::from(security) - 1.0);
        assert_eq!(params.depth(), depth);
    }
}

fn circuits_on_sets(security: u32, count: usize) {
    let seed = Seed::from_text("sets");
    let mut random = Stream::derive(&seed, "test");
    let params = InsecureBv11LeveledParams::derive(security, 1).unwrap();
    let scheme = InsecureBv11Leveled::generate(&params, &seed, &mut |_| {}).unwrap();
    (0..count).for_each(|_| random_circuit(&scheme, 5, &mut random));
    let params = InsecureBv11Params::named(security, 1).unwrap();
    let scheme = InsecureBv11::generate(&params, &seed, &mut |_| {}).unwrap();
    (0..count).for_each(|_| random_circuit(&scheme, 5, &mut random));
}

/// `cargo test --release -p hush-lab --lib -- --ignored` runs this and the next two.
#[test]
#[ignore = "minutes"]
fn a_thousand_random_circuits_on_the_toy_sets() {
    circuits_on_sets(42, 1000);
}

#[test]
#[ignore = "a minute"]
fn twenty_random_circuits_on_the_medium_sets() {
    circuits_on_sets(62, 20);
}

#[test]
#[ignore = "half a minute"]
fn a_random_circuit_on_the_large_sets() {
    circuits_on_sets(72, 1);
}

/// Why an even modulus is refused: what a public key with one would give away.
#[test]
fn an_even_modulus_would_leave_linear_equations_without_errors() {
    let (n, q) = (20_usize, 1_u64 << 20);
    let mut random = Stream::derive(&Seed::from_text("even"), "test");
    let secret: Vec<u64> = (0..n).map(|_| random.below(q)).collect();
    // Rows (a, b) modulo 2 as bits, of b = ⟨a, s⟩ + 2e mod q.
    let mut equations: Vec<u32> = (0..200)
        .map(|_| {
            let a: Vec<u64> = (0..n).map(|_| random.below(q)).collect();
            let product = a.iter().zip(&secret).fold(0, |sum, (x, y)| (sum + x * y) % q);
            let b = (product + 2 * random.below(1000)) % q;
            a.iter().chain([&b]).enumerate().fold(0, |row, (place, x)| row | ((x & 1) as u32) << place)
        })
        .collect();
    for column in 0..n {
        let pivot = (column..equations.len()).find(|&row| equations[row] >> column & 1 == 1).unwrap();
        equations.swap(column, pivot);
        let chosen = equations[column];
        for (row, equation) in equations.iter_mut().enumerate() {
            if row != column && *equation >> column & 1 == 1 {
                *equation ^= chosen;
            }
        }
    }
    let found: Vec<u64> = (0..n).map(|column| u64::from(equations[column] >> n)).collect();
    assert_eq!(found, secret.iter().map(|x| x & 1).collect::<Vec<_>>());
}

/// The noise is as large as predicted, not only below its bound: the mean square of 20 keys with 50 encryptions each. Seeds are fixed;
/// with others the upper limit would be passed about once in a million runs.
#[test]
fn fresh_noise_has_the_variance_of_half_the_samples() {
    let q = crate::primes::prime_below_power(26);
    let params = InsecureBv11Params::custom(0, 16, q, Some(1000), Overflow::Refuse).unwrap();
    let mut random = Stream::derive(&Seed::from_text("variance"), "test");
    let mut square = 0.0;
    for key in 0..20 {
        let seed = Seed::from_text(&format!("variance {key}"));
        let scheme = InsecureBv11::generate(&params, &seed, &mut |_| {}).unwrap();
        for _ in 0..50 {
            let noise = scheme.noise(&scheme.encrypt(true, &mut random).unwrap()).unwrap();
            square += (2.0 * noise.measured_log2).exp2() / 1000.0;
        }
    }
    let expected = 1000.0 / 2.0 * 10.5;
    assert!((0.45..2.0).contains(&(square / expected)), "{square} {expected}");
}
