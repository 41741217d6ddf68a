// SPDX-License-Identifier: Apache-2.0
use super::*;

#[test]
fn chains_within_the_table_are_accepted_and_the_next_prime_is_not() {
    let chain = ChainParams::uniform(8192, 46, 1, 3, 1, 1).unwrap();
    assert_eq!((chain.top(), chain.digit_count(), chain.security_bits()), (Level(2), 3, 128));
    assert!((chain.log_q(Level(0)).unwrap() - 46.0).abs() < 0.01);
    let over = ChainParams::uniform(8192, 46, 1, 4, 1, 1).unwrap_err();
    let level = SecurityLevel::Bits128;
    assert_eq!(over, ChainError::Insecure { level, found: 230, degree: 8192, max: 214 });
    let spec = uniform_spec(8192, 46, 1, 3, 1, 1);
    let level = SecurityLevel::Bits192;
    let over = ChainParams::with_security(spec, level).unwrap_err();
    assert_eq!(over, ChainError::Insecure { level, found: 184, degree: 8192, max: 147 });
    assert_eq!(ChainParams::uniform(1000, 46, 1, 1, 0, 1), Err(ChainError::Degree { found: 1000 }));
}

#[test]
fn the_steady_scale_stays_near_the_divisions_on_the_way_down() {
    let chain = ChainParams::uniform(32768, 46, 2, 14, 2, 2).unwrap();
    let mut scale = chain.steady_scale_log2();
    for level in (1..=chain.top().0).rev().map(Level) {
        let division = chain.log_q(level).unwrap() - chain.log_q(level.below().unwrap()).unwrap();
        assert!((scale - division).abs() < 1e-3, "level {level}: {scale} for {division}");
        scale = 2.0 * scale - division;
    }
    assert_eq!(ChainParams::uniform(8192, 46, 1, 1, 1, 1).unwrap().steady_scale_log2(), 0.0);
}

#[test]
fn the_canonical_encoding_is_what_its_layout_says() {
    let chain = ChainParams::uniform(8192, 46, 2, 3, 1, 1).unwrap();
    let primes = primes_of(46);
    let mut expected = b"hush chain v1\0\0\0".to_vec();
    expected.extend_from_slice(&[0, 0x20, 0, 0, 0, 1, 3, 0, 1, 0, 2, 0]);
    for q in [primes[1], primes[2], primes[3], primes[0]] {
        expected.extend_from_slice(&q.to_le_bytes());
    }
    expected.extend_from_slice(&[2, 0, 1, 3, 0, 1, 2]);
    assert_eq!(chain.canonical_bytes(), expected);
    let toy = ChainParams::insecure_toy(uniform_spec(8192, 46, 2, 3, 1, 1)).unwrap();
    assert_ne!(toy.canonical_bytes(), expected);
    assert_eq!((chain.is_insecure_toy(), toy.is_insecure_toy()), (false, true));
    assert_eq!((chain.security_bits(), toy.security_bits()), (128, 0));
    assert_eq!(chain.top().to_string(), "1");
}

#[test]
fn malformed_chains_are_refused() {
    let good = uniform_spec(16384, 46, 1, 6, 3, 3);
    let refused = |change: &dyn Fn(&mut ChainSpec)| {
        let mut spec = good.clone();
        change(&mut spec);
        ChainParams::new(spec).unwrap_err()
    };
    let repeated = refused(&|spec| spec.special[0] = spec.universe[0]);
    assert!(matches!(repeated, ChainError::Prime { order: 32768, .. }));
    assert!(matches!(refused(&|spec| spec.universe[2] = 97), ChainError::Prime { found: 97, .. }));
    assert_eq!(refused(&|spec| spec.levels[2] = vec![1, 0]), ChainError::Level { level: 2 });
    assert_eq!(refused(&|spec| spec.levels[2] = vec![0]), ChainError::Level { level: 2 });
    assert_eq!(refused(&|spec| spec.levels[0] = vec![]), ChainError::Level { level: 0 });
    assert_eq!(refused(&|spec| spec.levels[0] = vec![6]), ChainError::Level { level: 0 });
    assert_eq!(refused(&|spec| spec.levels.clear()), ChainError::Level { level: 0 });
    assert!(matches!(refused(&|spec| spec.special.truncate(2)), ChainError::Special { digit: 0, .. }));
    assert!(matches!(refused(&|spec| spec.digit_limbs = 0), ChainError::DigitLimbs { found: 0, max: 6 }));
}

/// A chain over the smallest ring, of numbers that only have to look like primes.
fn toy(universe: Vec<u64>, special: Vec<u64>, levels: Vec<Vec<u8>>, digit_limbs: usize) -> ChainSpec {
    ChainSpec { degree: 16, universe, special, levels, digit_limbs }
}

/// The `index`-th number of 30 bits that is 1 mod 32.
fn number(index: u64) -> u64 {
    (1 << 30) + 1 + 32 * index
}

#[test]
fn ring_degrees_are_powers_of_two_from_16_to_65536() {
    let refused = |degree| {
        let spec = ChainSpec { degree, ..toy(vec![primes_of(46)[0]], vec![], vec![vec![0]], 1) };
        match ChainParams::insecure_toy(spec) {
            Err(ChainError::Degree { found }) => assert_eq!(found, degree),
            Err(other) => panic!("{degree}: {other}"),
            Ok(_) => return false,
        }
        true
    };
    assert_eq!([0, 1, 8, 17, 24, 65537, 131_072].map(refused), [true; 7]);
    assert_eq!([16, 32, 32768, 65536].map(refused), [false; 4]);
}

#[test]
fn primes_are_distinct_sized_and_have_a_root_of_unity() {
    let chain = |universe: Vec<u64>, special: Vec<u64>| {
        let levels = vec![(0..universe.len() as u8).collect()];
        ChainParams::insecure_toy(toy(universe, special, levels, 1)).err()
    };
    let refused = |found: u64| Some(ChainError::Prime { found, order: 32 });
    let [a, b, c] = [number(0), number(1), number(2)];
    assert_eq!(chain(vec![a, b], vec![c]), None);
    for (universe, special) in
        [(vec![a, a], vec![]), (vec![a, b, a], vec![]), (vec![b, a], vec![a]), (vec![b], vec![a, a])]
    {
        assert_eq!(chain(universe, special), refused(a));
    }
    // 26 bits begin above 2^25; the lazy arithmetic ends at 2^52/33.
    let (smallest, largest) = ((1 << 25) + 1, MAX_PRIME - (MAX_PRIME - 1) % 32);
    assert_eq!((chain(vec![smallest], vec![]), chain(vec![largest], vec![])), (None, None));
    assert_eq!(chain(vec![smallest - 32], vec![]), refused(smallest - 32));
    assert_eq!(chain(vec![largest + 32], vec![]), refused(largest + 32));
    assert_eq!(chain(vec![a], vec![smallest - 32]), refused(smallest - 32));
    for found in [a + 1, a + 2, a + 16, a - 1, 0, 1] {
        assert_eq!(chain(vec![found], vec![]), refused(found));
    }
}

#[test]
fn a_digit_has_one_prime_or_more_and_no_more_than_there_are() {
    let chain = |digit_limbs: usize| {
        let (universe, special) = ((0..3).map(number).collect(), (3..6).map(number).collect());
        ChainParams::insecure_toy(toy(universe, special, vec![vec![0, 1, 2]], digit_limbs)).err()
    };
    assert_eq!([1, 2, 3].map(chain), [None, None, None]);
    for found in [0, 4, 5, usize::MAX] {
        assert_eq!(chain(found), Some(ChainError::DigitLimbs { found, max: 3 }));
    }
    let empty = |digit_limbs| ChainParams::insecure_toy(toy(vec![], vec![], vec![], digit_limbs)).err();
    assert_eq!(empty(1), Some(ChainError::Level { level: 0 }));
    assert_eq!(empty(2), Some(ChainError::DigitLimbs { found: 2, max: 0 }));
}

/// Counts have one byte in the canonical encoding.
#[test]
fn a_chain_has_255_primes_at_most_and_256_levels() {
    let of_primes = |count: u64, special: u64| {
        let (universe, special) =
            ((0..count).map(number).collect(), (count..count + special).map(number).collect());
        ChainParams::insecure_toy(toy(universe, special, vec![vec![0]], 1)).err()
    };
    assert_eq!((of_primes(255, 0), of_primes(200, 55), of_primes(1, 254)), (None, None, None));
    let refused = |max| Some(ChainError::DigitLimbs { found: 1, max });
    assert_eq!((of_primes(256, 0), of_primes(200, 56)), (refused(256), refused(200)));
    // One prime, each larger than the one before; then two.
    let of_levels = |count: u8, pairs: u8| {
        let universe = (0..u64::from(count)).map(|index| number(index << 20)).collect();
        let levels = (0..count).map(|place| vec![place]).chain((1..=pairs).map(|place| vec![0, place]));
        ChainParams::insecure_toy(toy(universe, vec![], levels.collect(), 1)).map(|chain| chain.top())
    };
    assert_eq!(of_levels(200, 56), Ok(Level(255)));
    assert_eq!(of_levels(200, 57), Err(ChainError::Level { level: 256 }));
}

#[test]
fn levels_grow_and_are_rising_lists_of_places() {
    let chain = |levels: Vec<Vec<u8>>| {
        let universe = vec![number(0), number(1), primes_of(46)[0]];
        ChainParams::insecure_toy(toy(universe, vec![], levels, 1)).err()
    };
    let refused = |level| Some(ChainError::Level { level });
    // A larger prime alone is more than two small ones would be not.
    assert_eq!(chain(vec![vec![0], vec![1], vec![2], vec![0, 1]]), None);
    assert_eq!(chain(vec![vec![0], vec![0]]), refused(1));
    assert_eq!(chain(vec![vec![1], vec![0]]), refused(1));
    assert_eq!(chain(vec![vec![0, 0]]), refused(0));
    assert_eq!(chain(vec![vec![0], vec![0, 3]]), refused(1));
    assert_eq!(chain(vec![vec![0, 1, 2]]), None);
}

/// Half a bit less than a digit is room enough: primes of one size differ a little.
#[test]
fn special_primes_are_as_large_as_a_digit() {
    let near = |log2: f64| (log2.exp2() as u64) / 32 * 32 + 1;
    let chain = |special: f64| {
        let spec = toy(vec![near(40.0)], vec![near(special)], vec![vec![0]], 1);
        ChainParams::insecure_toy(spec).err()
    };
    assert_eq!((chain(40.5), chain(39.501)), (None, None));
    assert_eq!(chain(39.499), Some(ChainError::Special { found: 39, digit: 0, expected: 41 }));
    // The second digit is the long one.
    let spec = toy(vec![near(30.0), near(40.0), near(41.0)], vec![near(36.0)], vec![vec![0]], 1);
    let found = ChainParams::insecure_toy(spec).err();
    assert_eq!(found, Some(ChainError::Special { found: 36, digit: 1, expected: 41 }));
}
