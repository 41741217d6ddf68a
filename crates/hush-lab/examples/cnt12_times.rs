// SPDX-License-Identifier: Apache-2.0
//! Times of the approximate-GCD scheme: `cargo run --release -p hush-lab --example cnt12_times -- toy small medium [repetitions]`.
//!
//! Seconds of processor time of the one thread (`utime` of `/proc/self/stat`, in hundredths) and wall-clock seconds, the smallest of the
//! repetitions; the peak of resident memory at the end of each set.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a measurement prints and fails by panicking")]

use std::time::Instant;

use hush_lab::cnt12::{InsecureCnt12Parameters, InsecureCnt12Random, insecure_cnt12_keys};

/// Processor seconds of this process.
fn processor_s() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<f64> =
        text.rsplit(')').next().unwrap_or("").split(' ').map(|field| field.parse().unwrap_or(0.0)).collect();
    // utime and stime are fields 14 and 15 of the file, hence 12 and 13 after the name.
    (fields.get(12).unwrap_or(&0.0) + fields.get(13).unwrap_or(&0.0)) / 100.0
}

fn peak_mb() -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0");
    line.split_whitespace().next().and_then(|kb| kb.parse::<f64>().ok()).unwrap_or(0.0) / 1e3
}

fn timed<T>(name: &str, repetitions: usize, mut run: impl FnMut() -> T) -> T {
    let mut best = (f64::MAX, f64::MAX);
    let mut result = None;
    for _ in 0..repetitions.max(1) {
        let (wall, processor) = (Instant::now(), processor_s());
        result = Some(run());
        best = (best.0.min(wall.elapsed().as_secs_f64()), best.1.min(processor_s() - processor));
    }
    println!("  {name:<34} {:>10.4} s wall {:>9.2} s processor", best.0, best.1);
    result.unwrap()
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let repetitions = arguments.last().and_then(|last| last.parse().ok()).unwrap_or(3);
    for (name, set) in InsecureCnt12Parameters::insecure_named() {
        if !arguments.iter().any(|argument| argument == name) {
            continue;
        }
        let mut random = InsecureCnt12Random::from_seed([7; 16]);
        println!("{name}: INSECURE, for teaching");
        let (sk, pk) =
            timed("key generation", 1, || insecure_cnt12_keys(&set, &mut random, &mut |_| ()).unwrap());
        timed("encrypt 1 bit", repetitions, || pk.encrypt(&[true], &mut random).unwrap());
        let fresh = timed("encrypt 2 bits in one pass", repetitions, || {
            pk.encrypt(&[true, true], &mut random).unwrap()
        });
        timed("encrypt 2 bits, add, decrypt", repetitions, || {
            let fresh = pk.encrypt(&[true, true], &mut random).unwrap();
            assert!(!sk.decrypt(&pk.add(&fresh[0], &fresh[1]).unwrap()).unwrap());
        });
        let refreshed = timed("recrypt", repetitions, || pk.recrypt(&fresh[0]).unwrap());
        let product = timed("multiply", 10 * repetitions, || pk.mul(&refreshed, &refreshed).unwrap());
        timed("multiply, recrypt", repetitions, || {
            pk.recrypt(&pk.mul(&refreshed, &refreshed).unwrap()).unwrap()
        });
        timed("2 by owner, multiply, recrypt, decrypt", repetitions, || {
            let [a, b] = [(); 2].map(|()| sk.encrypt(&pk, true, &mut random).unwrap());
            assert!(sk.decrypt(&pk.recrypt(&pk.mul(&a, &b).unwrap()).unwrap()).unwrap());
        });
        timed("encrypt 2, recrypt 3, multiply, decrypt", repetitions, || {
            let fresh = pk.encrypt(&[true, true], &mut random).unwrap();
            let [a, b] = [0, 1].map(|i: usize| pk.recrypt(&fresh[i]).unwrap());
            assert!(sk.decrypt(&pk.recrypt(&pk.mul(&a, &b).unwrap()).unwrap()).unwrap());
        });
        timed("decrypt", 10 * repetitions, || sk.decrypt(&product).unwrap());
        println!(
            "  noise bits: fresh {} (bound {}), refreshed {} ({}), product {} (at most {})",
            sk.noise_bits(&fresh[0]).unwrap(),
            set.fresh_noise_bits(),
            sk.noise_bits(&refreshed).unwrap(),
            set.refreshed_noise_bits(),
            sk.noise_bits(&product).unwrap(),
            set.refreshable_bits(),
        );
        println!("  peak memory of the process so far {:.0} MB", peak_mb());
    }
}
