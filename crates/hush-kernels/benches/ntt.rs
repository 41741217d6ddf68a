// SPDX-License-Identifier: Apache-2.0
//! Kernels on every path of this machine: `cargo bench -p hush-kernels`, ids carry path and shape.

#![allow(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use hush_arith::{MAX_MODULUS, Modulus};
use hush_kernels::{
    AesCtr128, BitWidth, Cpu, NttPlan, Permutation, bits, convert, fft, lazy, lift, pointwise, sample,
};

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
    stream(1, modulus, len)
}

fn stream(nonce: u64, modulus: Modulus, len: usize) -> Vec<u64> {
    let mut out = vec![0; len];
    AesCtr128::new(Cpu::scalar(), &[7; 16]).fill_uniform(nonce, modulus, &mut out);
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

/// Arithmetic mod `q`, element by element and along short columns.
fn arithmetic(criterion: &mut Criterion) {
    let q = default_prime();
    let columns: [Vec<u64>; 6] = [1, 2, 3, 4, 5, 6].map(|nonce| stream(nonce, q, LEN));
    let [a, b, c, d] = [0, 1, 2, 3].map(|i| columns[i].as_slice());
    let rows: Vec<u64> = columns.concat();
    let factor = a[5];
    let integers: Vec<i64> = a.iter().map(|&x| (x as i64) << 12 >> 7).collect();
    let errors: Vec<i32> = a.iter().map(|&x| x as i32 % 22).collect();
    for cpu in Cpu::available() {
        let (mut x, mut y, mut z) = (residues(q, LEN), residues(q, LEN), residues(q, LEN));
        let mut group = criterion.benchmark_group(format!("arithmetic/{cpu}"));
        group.throughput(Throughput::Elements(LEN as u64));
        group.bench_function("add_assign", |bench| bench.iter(|| pointwise::add_assign(cpu, q, &mut x, a)));
        group.bench_function("sub_assign", |bench| bench.iter(|| pointwise::sub_assign(cpu, q, &mut x, a)));
        group.bench_function("neg_assign", |bench| bench.iter(|| pointwise::neg_assign(cpu, q, &mut x)));
        group.bench_function("mul_assign", |bench| bench.iter(|| pointwise::mul_assign(cpu, q, &mut x, a)));
        group.bench_function("mul_add_assign", |bench| {
            bench.iter(|| pointwise::mul_add_assign(cpu, q, &mut x, a, b))
        });
        group.bench_function("mul_scalar_assign", |bench| {
            bench.iter(|| pointwise::mul_scalar_assign(cpu, q, &mut x, factor))
        });
        group.bench_function("mul_scalar_add_assign", |bench| {
            bench.iter(|| pointwise::mul_scalar_add_assign(cpu, q, &mut x, a, factor))
        });
        group.bench_function("tensor", |bench| {
            bench.iter(|| pointwise::tensor(cpu, q, [&mut x, &mut y, &mut z], (a, b), (c, d)))
        });
        group.bench_function("tensor_add_assign", |bench| {
            bench.iter(|| pointwise::tensor_add_assign(cpu, q, (&mut x, &mut y), (a, b), (c, d), factor))
        });
        group.bench_function("sub_scale_assign", |bench| {
            bench.iter(|| convert::sub_scale_assign(cpu, q, &mut x, a, factor))
        });
        group.bench_function("combine_assign", |bench| {
            bench.iter(|| convert::combine_assign(cpu, q, &mut x, factor, a, b[7]))
        });
        group.bench_function("recenter", |bench| bench.iter(|| convert::recenter(cpu, q, q, &mut x, a)));
        group.bench_function("tagged_sum_6", |bench| {
            bench.iter(|| convert::tagged_sum(cpu, q, &mut x, &rows, &a[..7]))
        });
        let parts: Vec<&[u64]> = columns.iter().map(Vec::as_slice).collect();
        group.bench_function("dot_pair_6", |bench| {
            bench.iter(|| convert::dot_pair(cpu, q, (&mut x, &mut y), &parts, (&parts, &parts)))
        });
        let mut tagged = rows.clone();
        let reciprocals = [1.0 / q.value() as f64; 6];
        group.bench_function("tag_quotients_6", |bench| {
            bench.iter(|| {
                tagged[..LEN].copy_from_slice(&rows[..LEN]);
                convert::tag_quotients(cpu, &mut tagged, LEN, &reciprocals);
            })
        });
        group.bench_function("reduce_assign", |bench| bench.iter(|| lazy::reduce_assign(cpu, q, &mut x)));
        group.bench_function("lift_signed", |bench| {
            bench.iter(|| lift::lift_signed(cpu, q, &integers, &mut x))
        });
        group.bench_function("add_scaled_error", |bench| {
            bench.iter(|| lift::add_scaled_error(cpu, q, &mut x, &errors, factor))
        });
        group.bench_function("all_below", |bench| bench.iter(|| bits::all_below(cpu, a, q.value())));
        let permutation = Permutation::new(&(0..LEN as u32).map(|i| i ^ 0x1065).collect::<Vec<u32>>());
        group.bench_function("permute", |bench| bench.iter(|| permutation.apply(cpu, &mut x, a)));
        let roots = fft::Roots::new(LEN);
        let (re, mut re_out) = (a.iter().map(|&x| x as f64).collect::<Vec<f64>>(), vec![0.0; LEN]);
        let mut im = vec![0.0; LEN];
        group.bench_function("fft", |bench| {
            bench.iter(|| {
                re_out.copy_from_slice(&re);
                im.copy_from_slice(&re);
                fft::evaluate(cpu, &mut re_out, &mut im, &roots);
                fft::interpolate(cpu, &mut re_out, &mut im, &roots);
            })
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(30).measurement_time(std::time::Duration::from_millis(600)).warm_up_time(std::time::Duration::from_millis(200));
    targets = transforms, vectors, arithmetic
}
criterion_main!(benches);
