// SPDX-License-Identifier: Apache-2.0
//! The primitives of the schemes over modulus chains, one thread: `cargo bench -p hush-keys --bench evaluate`.
//!
//! Ids carry the scheme, `N` and the primes as ciphertext + special. Results are checked by the tests, not here.

#![allow(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use hush_keys::ChainSecret;
use hush_params::ChainParams;
use hush_ring::Cpu;
use hush_rlwe::rotation_element;
use hush_schemes::bgv::{Bfv, Bgv};
use hush_schemes::ckks::Ckks;

/// Degree, bits of a prime, ciphertext primes, special primes.
const SHAPES: [(u32, u32, usize, usize); 5] =
    [(8192, 46, 3, 1), (8192, 42, 4, 1), (16384, 46, 7, 2), (16384, 47, 8, 1), (32768, 46, 14, 4)];

fn schemes(criterion: &mut Criterion) {
    let cpu = Cpu::detect().unwrap();
    for (degree, bits, limbs, special) in SHAPES {
        let params = ChainParams::uniform(degree, bits, 2, limbs, special, special).unwrap();
        let shape = format!("{degree}/{limbs}+{special}x{bits}");
        ckks(criterion, &params, &shape, cpu);
        bgv(criterion, &params, &shape, cpu);
        bfv(criterion, &params, &shape, cpu);
    }
}

fn ckks(criterion: &mut Criterion, params: &ChainParams, shape: &str, cpu: Cpu) {
    let scheme = Ckks::new(params, params.steady_scale_log2(), cpu).unwrap();
    let secret = ChainSecret::generate(scheme.chain()).unwrap();
    let keys = secret.evaluation_keys(true, &[rotation_element(params.degree(), 1)]).unwrap();
    let values: Vec<f64> = (0..scheme.slot_count()).map(|i| (i % 97) as f64 / 97.0).collect();
    let message = scheme.encode_real(&values, scheme.chain().top()).unwrap();
    let a = scheme.ciphertext(secret.encrypt(message.clone()).unwrap().expand().unwrap()).unwrap();
    let mut group = criterion.benchmark_group("ckks");
    let id = |name: &str| BenchmarkId::new(name, shape);
    group.bench_function(id("encode"), |b| b.iter(|| scheme.encode_real(&values, scheme.chain().top())));
    group.bench_function(id("encrypt"), |b| b.iter(|| secret.encrypt(message.clone()).unwrap()));
    group.bench_function(id("decrypt"), |b| b.iter(|| drop(secret.phase(a.inner()).unwrap())));
    group.bench_function(id("mul"), |b| b.iter(|| scheme.mul(&a, &a).unwrap()));
    group.bench_function(id("mul_relin"), |b| {
        b.iter(|| scheme.mul_relinearize(&a, &a, &keys).unwrap());
    });
    group.bench_function(id("mul_relin_rescale"), |b| b.iter(|| scheme.mul_rescale(&a, &a, &keys).unwrap()));
    let b = a.clone();
    group.bench_function(id("mul_relin_rescale of 4"), |bench| {
        bench.iter(|| scheme.mul_rescale_all(&[(&a, &b); 4], &keys).unwrap());
    });
    group.bench_function(id("rotate"), |b| b.iter(|| scheme.rotate(&a, 1, &keys).unwrap()));
    group.bench_function(id("keygen"), |b| b.iter(|| black_box(secret.relinearisation_key().unwrap())));
}

fn bgv(criterion: &mut Criterion, params: &ChainParams, shape: &str, cpu: Cpu) {
    let scheme = Bgv::new(params, 65537, cpu).unwrap();
    let secret = ChainSecret::generate(scheme.chain()).unwrap();
    let keys = secret.evaluation_keys(true, &[]).unwrap();
    let values: Vec<i64> = (0..params.degree() as i64).collect();
    let message = scheme.encode(&values, scheme.chain().top()).unwrap();
    let a = scheme.ciphertext(secret.encrypt(message).unwrap().expand().unwrap()).unwrap();
    let mut group = criterion.benchmark_group("bgv");
    let id = |name: &str| BenchmarkId::new(name, shape);
    group.bench_function(id("mul_relin"), |b| {
        b.iter(|| scheme.mul_relinearize(&a, &a, &keys).unwrap());
    });
    group.bench_function(id("mul_relin_rescale"), |b| {
        b.iter(|| scheme.mul_mod_switch(&a, &a, &keys).unwrap())
    });
    group.bench_function(id("decrypt_decode"), |b| {
        b.iter(|| scheme.decode(secret.phase(a.inner()).unwrap().poly(), &a).unwrap());
    });
}

fn bfv(criterion: &mut Criterion, params: &ChainParams, shape: &str, cpu: Cpu) {
    let scheme = Bfv::new(params, 65537, cpu).unwrap();
    let secret = ChainSecret::generate(scheme.chain()).unwrap();
    let keys = secret.evaluation_keys(true, &[]).unwrap();
    let values: Vec<i64> = (0..params.degree() as i64).collect();
    let message = scheme.encode(&values, scheme.chain().top()).unwrap();
    let a = secret.encrypt(message).unwrap().expand().unwrap();
    let b = a.clone();
    let mut group = criterion.benchmark_group("bfv");
    let id = |name: &str| BenchmarkId::new(name, shape);
    group.bench_function(id("mul_relin"), |bench| {
        bench.iter(|| scheme.mul_relinearize(&a, &b, &keys).unwrap());
    });
}

/// Few samples: one operation takes up to tens of milliseconds, and medians of many runs are what is quoted.
fn configured() -> Criterion {
    let seconds = std::time::Duration::from_secs;
    Criterion::default().sample_size(20).warm_up_time(seconds(1)).measurement_time(seconds(2))
}

criterion_group! { name = benches; config = configured(); targets = schemes }
criterion_main!(benches);
