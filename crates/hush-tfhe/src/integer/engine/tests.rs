// SPDX-License-Identifier: Apache-2.0
use super::*;

/// Values and norms add up with the factors of their digits. One that is counted too small would not show in results: only the chance of a wrong one would grow.
#[test]
fn bounds_and_norms_add_up_with_their_factors() {
    let clean = Digit::clean(None, 3);
    let of = |digit: &Digit| (digit.most, digit.norm);
    assert_eq!(of(&clean.scaled(3).unwrap()), (9, 3));
    assert_eq!(of(&clean.beside(&clean).unwrap()), (15, 5));
    assert_eq!(of(&clean.taken_from(3).unwrap()), (3, 1));
    let mut sum = clean.scaled(2).unwrap();
    sum.add_scaled(&clean, 1).unwrap();
    sum.add_scaled(&Digit::constant(2), 3).unwrap();
    assert_eq!(of(&sum), (15, 3));
    assert_eq!(Digit::constant(7).scaled(2).unwrap().known(), Some(14));
}

#[test]
fn sums_beyond_a_bootstrapping_are_refused() {
    let mut engine = Engine::new(None);
    let identity = engine.look_up(|value| value).unwrap();
    let bit = Digit::clean(None, 1);
    let (most_norm, more_norm) = (bit.scaled(5).unwrap(), bit.scaled(6).unwrap());
    assert_eq!(engine.apply(&[(most_norm, &identity)]).unwrap()[0].most, 5);
    assert_eq!(engine.apply(&[(more_norm, &identity)]).unwrap_err(), TfheError::Norm { found: 6, limit: 5 });
    let wide = Digit::clean(None, 4).scaled(4).unwrap();
    assert_eq!(engine.apply(&[(wide, &identity)]).unwrap_err(), TfheError::Message { limit: 16 });
    // What everybody knows is looked up for nothing.
    assert_eq!(engine.apply(&[(Digit::constant(3), &identity)]).unwrap()[0].known(), Some(3));
    assert_eq!((engine.count, engine.rounds), (1, 1));
}

/// One bootstrapping gives two functions of sums up to 7, and no more.
#[test]
fn two_functions_are_looked_up_at_once() {
    let mut engine = Engine::new(None);
    let both = engine.look_up_both([&|value| value % 4, &|value| value / 4]).unwrap();
    let sum = Digit::clean(None, 7);
    let found = engine.apply(&[(sum, &both), (Digit::constant(6), &both)]).unwrap();
    assert_eq!(found.iter().map(|digit| digit.most).collect::<Vec<_>>(), [3, 1, 2, 1]);
    assert_eq!((found[2].known(), found[3].known(), engine.count), (Some(2), Some(1), 1));
    let error = engine.apply(&[(Digit::clean(None, 8), &both)]).unwrap_err();
    assert_eq!(error, TfheError::Message { limit: 8 });
}
