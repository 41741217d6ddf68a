// SPDX-License-Identifier: Apache-2.0
use super::*;
use crate::primes::LARGEST_BITS;

#[test]
fn names_say_what_sets_are() {
    for (place, set) in SETS.iter().enumerate() {
        let (shape, chain) = (set.shape(), set.chain().unwrap());
        let degree_log2 = shape.degree.trailing_zeros();
        let level = f64::from(shape.low) * f64::from(LARGE_BITS) / 3.0;
        let (q, p) = (chain.universe().len(), chain.special().len());
        let few = match shape.repeats_log2 {
            0 => String::new(),
            _ => format!("_s{}", shape.slots().ilog2()),
        };
        let name = format!("n{degree_log2}_boot{}x{}{few}_q{q}p{p}_sec128_v1", shape.program, level.round());
        assert_eq!((set.name(), usize::from(set.code())), (name.as_str(), place + 1));
        assert_eq!(chain.security_bits(), 128);
        assert_eq!(named(&name).unwrap(), *set);
        assert_eq!(chain.top(), shape.top());
        let transforms = shape.to_coefficients + shape.to_slots;
        assert_eq!(u32::from(shape.top().0), transforms + shape.program + 8);
    }
    let unknown = named("n14").unwrap_err();
    assert_eq!(unknown, ParamsError::UnknownBootstrap { found: "n14".to_owned() });
    assert!(SETS.iter().all(|set| unknown.to_string().contains(set.name())), "{unknown}");
}

#[test]
fn divisions_are_of_the_size_that_was_asked_for_and_scales_stay_near_it() {
    let other = BootstrapShape { high: 4, program: 2, degree: 1 << 16, ..*N15.shape() };
    for shape in SETS.map(BootstrapSet::shape).into_iter().chain([&other]) {
        let chain = ChainParams::new(shape.chain_spec().unwrap()).unwrap();
        let third = f64::from(LARGE_BITS) / 3.0;
        for level in 1..=shape.top().0 {
            let thirds = if level <= shape.output().0 { shape.low } else { shape.high };
            let bits = chain.log_q(Level(level)).unwrap() - chain.log_q(Level(level - 1)).unwrap();
            assert!((bits - f64::from(thirds) * third).abs() < 0.01, "level {level}: {bits}");
        }
        let base = f64::from(shape.base) * third;
        assert!((chain.log_q(Level(0)).unwrap() - base).abs() < 0.01);
        let [low, high] = shape.scales_log2(&chain);
        assert_eq!((low.0, high.0), (shape.output(), shape.top()));
        assert!((low.1 - f64::from(shape.low) * third).abs() < 0.01);
        assert!((high.1 - f64::from(shape.high) * third).abs() < 0.01);
        // What special primes there are serves every digit, and the top has no room left.
        assert!(chain.special().iter().all(|&p| 64 - p.leading_zeros() == LARGEST_BITS));
        let sparse = chain.sparse_chain().unwrap();
        let places = &chain.levels()[0];
        let level_0: Vec<u64> = places.iter().map(|&place| chain.universe()[usize::from(place)]).collect();
        assert_eq!((sparse.universe(), sparse.top()), (level_0.as_slice(), Level(0)));
        assert_eq!(sparse.special(), &chain.special()[..1]);
    }
}

/// Estimates of the sparse secret cover every set, at its degree and at no smaller a modulus.
#[test]
fn sparse_secrets_are_secure_by_the_estimates() {
    for set in SETS {
        let sparse = set.chain().unwrap().sparse_chain().unwrap();
        let bits = sparse.universe().iter().chain(sparse.special()).map(|&q| (q as f64).log2()).sum::<f64>();
        let covers = |(degree, log_q, _): &&(u32, f64, f64)| *degree == set.shape().degree && *log_q >= bits;
        let (_, _, found) = SPARSE_ESTIMATES.iter().find(covers).unwrap();
        assert!(*found >= 128.0, "{}: {found}", set.name());
        let dense = DENSE_ESTIMATES.iter().find(|(name, _)| *name == set.name()).unwrap();
        assert!(dense.1 >= 128.0);
        // Estimated were the primes of the sets for many slots.
        let estimated = if set.shape().degree == N16.shape.degree { &N16 } else { &N15 };
        let (own, known) = (set.chain().unwrap(), estimated.chain().unwrap());
        assert_eq!((own.universe(), own.special()), (known.universe(), known.special()));
    }
}

/// The sum of `h` numbers between −1/2 and 1/2 that are as large as they can be but for 1/2 in all.
#[test]
fn multiples_beyond_the_range_are_rarer_than_promised() {
    let terms = SPARSE_WEIGHT as f64;
    let missing = terms / 2.0 - (f64::from(BootstrapShape::RANGE) - 0.5);
    assert_eq!(missing, 0.5, "one term of the formula of Irwin and Hall");
    let factorial: f64 = (1..=SPARSE_WEIGHT).map(|k| (k as f64).log2()).sum();
    let one = 1.0 + terms * missing.log2() - factorial;
    assert!((-148.8..-148.5).contains(&one), "2^{one:.2}");
    assert!((FAILURE_LOG2 - 0.2..FAILURE_LOG2).contains(&(one + 16.0)));
    // With the dense secret they would be met by the hundred.
    assert!((2.0 / 3.0 * 65536.0 / 12.0_f64).sqrt() > 50.0);
}

#[test]
fn shapes_that_cannot_be_bootstrapped_with_have_no_chain() {
    let good = *N15.shape();
    assert!(good.is_of(&N15.chain().unwrap()) && !good.is_of(&N16.chain().unwrap()));
    let bad = [
        BootstrapShape { to_coefficients: 0, ..good },
        BootstrapShape { to_slots: 0, ..good },
        BootstrapShape { program: 246, ..good },
        BootstrapShape { program: u32::MAX, ..good },
        BootstrapShape { base: 0, ..good },
        BootstrapShape { low: u32::MAX, ..good },
        BootstrapShape { base: 5, ..good },
        BootstrapShape { repeats_log2: 15, ..good },
        BootstrapShape { repeats_log2: 64, ..good },
        BootstrapShape { gain_log2: 13, ..good },
        BootstrapShape { gain_log2: 64, base: 3, low: 2, ..good },
    ];
    for shape in bad {
        assert!(matches!(shape.chain_spec(), Err(ChainError::Bootstrap { .. })), "{shape:?}");
        let _ = (shape.input(), shape.output(), shape.reduction(), shape.top(), shape.epsilon_log2());
    }
    let many = BootstrapShape { program: 60, ..good };
    assert!(matches!(many.chain_spec(), Err(ChainError::Unreachable { .. })));
}

/// A sparse secret exists at the moduli that were estimated, and at no other.
#[test]
fn sparse_secrets_beyond_the_estimates_are_refused() {
    let large = crate::chain::presets::chain_presets();
    for preset in large {
        let chain = preset.params().unwrap();
        let found = chain.sparse_chain();
        let is_covered = chain.degree() == 1 << 15;
        assert_eq!(found.is_ok(), is_covered, "{}: {found:?}", preset.name());
    }
    let wide = BootstrapShape {
        base: 6,
        high: 6,
        low: 4,
        program: 1,
        to_coefficients: 1,
        to_slots: 1,
        ..*N16.shape()
    };
    let chain = ChainParams::new(wide.chain_spec().unwrap()).unwrap();
    assert!(matches!(chain.sparse_chain(), Err(ChainError::Sparse { .. })));
}
