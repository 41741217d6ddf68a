// SPDX-License-Identifier: Apache-2.0
//! Kernels on every path of this machine: `cargo bench -p hush-kernels`, ids carry path and shape.

#![allow(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use hush_arith::{MAX_MODULUS, Modulus};
use hush_kernels::{AesCtr128, BitWidth, Cpu, NttPlan, bits, lazy, pointwise, sample};

/// A residue vector length that stays in the first or second cache with its operands.
const LEN: usize = 8192;

/// The largest supported prime for every ring degree in use.
fn prime() -> Modulus {
    (1..)
        .find_map(|i| Modulus::new((MAX_MODULUS >> 17) * (1 << 17) - (i << 17) + 1).ok())
        .unwrap_or_else(|| unreachable!())
}

/// A prime just below `2^46`, where uniform sampling rejects next to nothing.
fn default_prime() -> Modulus {
    (1..).find_map(|i| Modulus::new((1 << 46) - (i << 17) + 1).ok()).unwrap_or_else(|| unreachable!())
}

fn residues(modulus: Modulus, len: usize) -> Vec<u64> {
    let mut out = vec![0; len];
    AesCtr128::new(Cpu::scalar(), &[7; 16]).fill_uniform(1, modulus, &mut out);
    out
}

fn transforms(criterion: &mut Criterion) {
    let modulus = prime();
    for cpu in Cpu::available() {
        for degree in (10..=16).map(|log2| 1usize << log2) {
            let Ok(plan) = NttPlan::new(modulus, degree, cpu) else { continue };
            let mut data = residues(modulus, degree);
            let mut group = criterion.benchmark_group(format!("ntt/{cpu}"));
            group.bench_function(BenchmarkId::new("forward", degree), |b| b.iter(|| plan.forward(&mut data)));
            group.bench_function(BenchmarkId::new("inverse", degree), |b| b.iter(|| plan.inverse(&mut data)));
        }
    }
}

fn vectors(criterion: &mut Criterion) {
    let modulus = default_prime();
    let width = BitWidth::of_modulus(modulus);
    let (a, b) = (residues(modulus, LEN), residues(modulus, LEN));
    let mut packed = vec![0; width.packed_bytes(LEN)];
    bits::pack_bits(Cpu::scalar(), width, &a, &mut packed);
    let random: Vec<u8> = (0..sample::CBD21_BYTES * LEN).map(|i| i as u8).collect();
    for cpu in Cpu::available() {
        let (mut out, mut lo, mut hi) = (vec![0; LEN], vec![0; LEN], vec![0; LEN]);
        let (mut bytes, mut noise) = (packed.clone(), vec![0; LEN]);
        let stream = AesCtr128::new(cpu, &[7; 16]);
        let mut group = criterion.benchmark_group(format!("vector/{cpu}"));
        group.throughput(Throughput::Elements(LEN as u64));
        group.bench_function("accumulate", |bench| bench.iter(|| lazy::accumulate(cpu, &mut lo, &a)));
        group.bench_function("mul_into", |bench| {
            bench.iter(|| pointwise::mul_into(cpu, modulus, &mut out, &a, &b));
        });
        group.bench_function("mul_accumulate", |bench| {
            bench.iter(|| lazy::mul_accumulate(cpu, &mut lo, &mut hi, &a, &b));
        });
        group.bench_function("reduce_wide", |bench| {
            bench.iter(|| lazy::reduce_wide(cpu, modulus, &mut out, &lo, &hi));
        });
        group.bench_function("pack_46", |bench| bench.iter(|| bits::pack_bits(cpu, width, &a, &mut bytes)));
        group.bench_function("unpack_46", |bench| {
            bench.iter(|| bits::unpack_bits(cpu, width, &packed, &mut out));
        });
        group.bench_function("unpack_sum_46", |bench| {
            bench.iter(|| bits::unpack_sum(cpu, width, &packed, lo.len()));
        });
        group
            .bench_function("fill_uniform", |bench| bench.iter(|| stream.fill_uniform(1, modulus, &mut out)));
        group.bench_function("cbd21", |bench| bench.iter(|| sample::cbd21_into(cpu, &random, &mut noise)));
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(30).measurement_time(std::time::Duration::from_millis(600)).warm_up_time(std::time::Duration::from_millis(200));
    targets = transforms, vectors
}
criterion_main!(benches);
