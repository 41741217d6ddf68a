// SPDX-License-Identifier: Apache-2.0
//! Messages of 2 to 8 bits, and several functions of one message.

use hush_params::tfhe::{MESSAGES, TfheSet};
use hush_testkit::Draw;

use super::*;

/// Looks up random tables at messages, with a sum of the largest norm among them.
fn look_up(set: &'static TfheSet, messages: &[u64], draw: &mut Draw) {
    let secret = secret(set);
    let (key, context) = (server(&secret), secret.context());
    let count = context.message_count() as usize;
    let values: Vec<u64> = (0..count).map(|_| draw.below(count) as u64).collect();
    let table = Table::of(context, |message| values[message as usize]).unwrap();
    let results = key.bootstrap(&sent(&secret, messages).iter().map(|m| (m, &table)).collect::<Vec<_>>());
    let expected: Vec<u64> = messages.iter().map(|m| values[*m as usize]).collect();
    assert_eq!(answered(&secret, &key, &results.unwrap()), expected, "{draw}: {}", set.name());
    // Two halves beside each other, out of bootstrappings, up to the norm of the set.
    let low = set.norm() - 1;
    let (high, low) = (count as u64 / u64::from(low) - 1, u64::from(low) - 1);
    let identity = Table::of(context, |message| message).unwrap();
    let halves = sent(&secret, &[high, low]);
    let halves = key.bootstrap(&[(&halves[0], &identity), (&halves[1], &identity)]).unwrap();
    let mut pair = halves[1].clone();
    pair.add_scaled(&halves[0], i64::from(set.norm()) - 1).unwrap();
    let found = answered(&secret, &key, &key.bootstrap(&[(&pair, &table)]).unwrap());
    assert_eq!(found, [values[count - 1]], "{draw}: {}", set.name());
}

/// Sets of each kind: several polynomials, one digit, two, three. The others are in the sweep.
#[test]
fn messages_of_each_width_are_looked_up() {
    let mut draw = Draw::of_environment("HUSH_DRAW");
    look_up(MESSAGES[0], &[0, 1, 2, 3], &mut draw);
    look_up(MESSAGES[3], &[draw.below(32) as u64], &mut draw);
    look_up(MESSAGES[6], &[draw.below(256) as u64], &mut draw);
}

#[test]
#[ignore = "minutes"]
fn sweep_of_all_messages_of_each_width() {
    let mut draw = Draw::of_environment("HUSH_DRAW");
    for set in MESSAGES {
        look_up(set, &(0..1 << set.message_bits()).collect::<Vec<_>>(), &mut draw);
    }
}

#[test]
fn several_functions_come_from_one_rotation() {
    let mut draw = Draw::of_environment("HUSH_DRAW");
    for (set, counts) in [(&INTEGERS, &[2, 4][..]), (MESSAGES[3], &[16])] {
        let secret = secret(set);
        let (key, context) = (server(&secret), secret.context());
        let count = context.message_count();
        for functions in counts.iter().copied() {
            let values: Vec<Vec<u64>> = (0..functions)
                .map(|_| (0..count).map(|_| draw.below(count as usize) as u64).collect())
                .collect();
            let of = |place: usize| {
                let values = &values[place];
                move |message: u64| values[message as usize]
            };
            let closures: Vec<_> = (0..functions).map(of).collect();
            let borrowed: Vec<&dyn Fn(u64) -> u64> = closures.iter().map(|f| f as _).collect();
            let table = Table::several(context, &borrowed).unwrap();
            let messages: Vec<u64> = (0..count / functions as u64).collect();
            let inputs = sent(&secret, &messages);
            let single = Table::of(context, closures[0]).unwrap();
            // One table of several functions between others of one.
            let jobs = inputs.iter().flat_map(|input| [(input, &single), (input, &table)]);
            let results = key.bootstrap(&jobs.collect::<Vec<_>>()).unwrap();
            let expected: Vec<u64> = messages
                .iter()
                .flat_map(|m| std::iter::once(&values[0]).chain(&values).map(|values| values[*m as usize]))
                .collect();
            assert_eq!(answered(&secret, &key, &results), expected, "{draw}: {}", set.name());
        }
        let identity = |message: u64| message;
        for count in [0, 3, count as usize] {
            let functions: Vec<&dyn Fn(u64) -> u64> = vec![&identity; count];
            assert_eq!(Table::several(context, &functions).unwrap_err().code(), "HUSH-B004");
        }
        let beyond = |_: u64| count;
        assert_eq!(Table::several(context, &[&identity, &beyond]).unwrap_err().code(), "HUSH-B006");
    }
}
