// SPDX-License-Identifier: Apache-2.0
//! tfhe-rs on the operations of ours, on one thread: prints one JSON object with the median milliseconds of each under our names.
//!
//! Usage: tfhe_rs_adapter REPETITIONS BITS,BITS

use std::collections::BTreeMap;
use std::time::Instant;

use tfhe::boolean::parameters::PARAMETERS_ERROR_PROB_2_POW_MINUS_165;
use tfhe::boolean::prelude::BinaryBooleanGates;
use tfhe::shortint::parameters::PARAM_MESSAGE_2_CARRY_2_KS_PBS;

/// The median milliseconds of what gives whether its result is right.
fn median(repetitions: usize, mut work: impl FnMut(u64) -> (f64, bool)) -> f64 {
    let mut times: Vec<f64> = (0..repetitions as u64)
        .map(|round| {
            let (seconds, is_right) = work(round);
            assert!(is_right, "a wrong result");
            seconds * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// A number of so many bits.
fn number(seed: u64, bits: u32) -> u64 {
    let word = (seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (word ^ word >> 29) >> (64 - bits)
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let repetitions: usize = arguments[1].parse().expect("a number of repetitions");
    let all_bits = arguments[2].split(',').map(|bits| bits.parse::<u32>().expect("a number of bits"));
    let mut ms = BTreeMap::new();

    let (client, server) = tfhe::shortint::gen_keys(PARAM_MESSAGE_2_CARRY_2_KS_PBS);
    let table = server.generate_lookup_table(|m| m * m % 16);
    ms.insert("look-up of 4 bits".to_owned(), median(repetitions, |round| {
        let message = number(round, 4);
        let a = client.unchecked_encrypt(message);
        let start = Instant::now();
        let found = server.apply_lookup_table(&a, &table);
        let seconds = start.elapsed().as_secs_f64();
        (seconds, client.decrypt_message_and_carry(&found) == message * message % 16)
    }));

    let client = tfhe::boolean::client_key::ClientKey::new(&PARAMETERS_ERROR_PROB_2_POW_MINUS_165);
    let server = tfhe::boolean::server_key::ServerKey::new(&client);
    ms.insert("NAND".to_owned(), median(repetitions, |round| {
        let (x, y) = (round % 2 == 1, round % 3 == 1);
        let (a, b) = (client.encrypt(x), client.encrypt(y));
        let start = Instant::now();
        let found = server.nand(&a, &b);
        let seconds = start.elapsed().as_secs_f64();
        (seconds, client.decrypt(&found) == !(x && y))
    }));

    for bits in all_bits {
        let (client, server) = tfhe::integer::gen_keys_radix(PARAM_MESSAGE_2_CARRY_2_KS_PBS, bits as usize / 2);
        let mask = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
        let mut timed = |name: &str, work: &dyn Fn(u64, u64) -> (f64, bool)| {
            let of_round = |round| work(number(2 * round, bits) & mask, number(2 * round + 1, bits) & mask);
            ms.insert(format!("{name}, {bits} bits"), median(repetitions, of_round));
        };
        timed("sum", &|x, y| {
            let (a, b) = (client.encrypt(x), client.encrypt(y));
            let start = Instant::now();
            let found = server.add_parallelized(&a, &b);
            (start.elapsed().as_secs_f64(), client.decrypt::<u64>(&found) == x.wrapping_add(y) & mask)
        });
        timed("equality", &|x, y| {
            let (a, b) = (client.encrypt(x), client.encrypt(y));
            let start = Instant::now();
            let found = server.eq_parallelized(&a, &b);
            (start.elapsed().as_secs_f64(), client.decrypt_bool(&found) == (x == y))
        });
        timed("order", &|x, y| {
            let (a, b) = (client.encrypt(x), client.encrypt(y));
            let start = Instant::now();
            let found = server.lt_parallelized(&a, &b);
            (start.elapsed().as_secs_f64(), client.decrypt_bool(&found) == (x < y))
        });
        timed("minimum", &|x, y| {
            let (a, b) = (client.encrypt(x), client.encrypt(y));
            let start = Instant::now();
            let found = server.min_parallelized(&a, &b);
            (start.elapsed().as_secs_f64(), client.decrypt::<u64>(&found) == x.min(y))
        });
        if bits <= 16 {
            timed("product", &|x, y| {
                let (a, b) = (client.encrypt(x), client.encrypt(y));
                let start = Instant::now();
                let found = server.mul_parallelized(&a, &b);
                (start.elapsed().as_secs_f64(), client.decrypt::<u64>(&found) == x.wrapping_mul(y) & mask)
            });
        }
    }
    let params = "PARAM_MESSAGE_2_CARRY_2_KS_PBS; gates PARAMETERS_ERROR_PROB_2_POW_MINUS_165";
    println!("{}", serde_json::json!({ "library": "tfhe-rs 1.8.2", "params": params, "ms": ms }));
}
