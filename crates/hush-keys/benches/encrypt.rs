// SPDX-License-Identifier: Apache-2.0
//! Encryption of a column and sums over it, on one thread. Ids carry the shape: rows, ring, limbs.
//!
//! `sum/…` covers all that a server does for a query: expansion of the masks, the pass over the packed bodies and
//! the answer. `read` reads the same bytes and does nothing else (from the cache, where they fit): the floor that
//! a sum is compared with.

#![allow(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hush_keys::{Encryptor, OwnerSeed, SecretKey, SumColumn, decrypt_sum};
use hush_ring::{Cpu, Ring, UniformSeed};
use hush_rlwe::{Body, BodyId, BodyKind};
use hush_schemes::Values;
use hush_schemes::bgv::sum::SumAccumulator;

const ROWS: usize = 1_000_000;
const CHUNK_ROWS: usize = 8192;

struct Column {
    ring: Ring,
    secret: SecretKey,
    t_log2: u32,
    values: Vec<i64>,
    chunks: Vec<(UniformSeed, Vec<u8>)>,
}

impl Column {
    fn new(set: &str, t_log2: u32, value_bits: u32) -> Self {
        let set = hush_params::preset(set).expect("a preset");
        let ring = Ring::new(set, Cpu::detect().expect("a known path")).expect("a ring");
        let secret = OwnerSeed::generate().expect("entropy").column_secret(&ring, [1; 16]);
        let value = |i: usize| (i as i64).wrapping_mul(0x1e37_79b9_7f4a_7c15) >> (64 - value_bits);
        let values = (0..ROWS).map(value).collect();
        let mut column = Self { ring, secret, t_log2, values, chunks: Vec::new() };
        let mut chunks = Vec::new();
        column.encrypt(|seed, body| chunks.push((seed, body)));
        column.chunks = chunks;
        column
    }

    /// Encrypts chunk after chunk and gives each to `keep`.
    fn encrypt(&self, mut keep: impl FnMut(UniformSeed, Vec<u8>)) {
        let mut encryptor = Encryptor::new();
        for (index, values) in (0..).zip(self.values.chunks(CHUNK_ROWS)) {
            let mut chunk = encryptor.begin_chunk(index, values.len()).expect("entropy");
            let (secret, t_log2, values) = (&self.secret, self.t_log2, Values::I64(values));
            let columns = [SumColumn { column: 0, secret, t_log2, values }];
            let mut bodies = chunk.encrypt_sum(&self.ring, &columns).expect("values in range");
            keep(chunk.seed(), bodies.remove(0));
        }
    }

    fn bodies(&self) -> Vec<(UniformSeed, Body<'_>, usize)> {
        let mut bodies = Vec::new();
        let rows = self.values.chunks(CHUNK_ROWS).map(<[i64]>::len);
        for ((chunk, (seed, bytes)), rows) in (0..).zip(&self.chunks).zip(rows) {
            let element_count = rows.div_ceil(self.ring.degree()) as u32;
            let id = BodyId { column: 0, chunk, element_count, lanes: 1 };
            let body = Body::from_verified(bytes, &self.ring, BodyKind::Sum, id).expect("our own bytes");
            bodies.push((*seed, body, rows));
        }
        bodies
    }

    fn sum(&self) -> SumAccumulator {
        let mut sum = SumAccumulator::new(&self.ring, 1, 1);
        for (seed, body, _) in self.bodies() {
            sum.absorb_unfiltered(seed, &[body]).expect("a fitting body");
        }
        sum
    }

    /// A filter that keeps about half of the rows, in `group_count` groups.
    fn grouped(&self, groups: &[u32], group_count: usize) -> SumAccumulator {
        let mut sum = SumAccumulator::new(&self.ring, group_count, 1);
        for ((seed, body, rows), groups) in self.bodies().into_iter().zip(groups.chunks(CHUNK_ROWS)) {
            sum.absorb_masked(seed, &groups[..rows], None, &[body]).expect("a fitting body");
        }
        sum
    }

    /// Adds up all stored bytes as words.
    fn read(&self) -> u64 {
        let words = |bytes: &[u8]| {
            bytes
                .as_chunks::<8>()
                .0
                .iter()
                .fold(0_u64, |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)))
        };
        self.chunks.iter().fold(0, |sum, (_, bytes)| sum.wrapping_add(words(bytes)))
    }
}

fn groups(group_count: u32) -> Vec<u32> {
    let group = |i: u32| match i.wrapping_mul(0x9e37_79b9) >> 16 {
        hash if hash & 1 == 0 => u32::MAX,
        hash => (hash >> 1) % group_count,
    };
    (0..ROWS as u32).map(group).collect()
}

fn benches(criterion: &mut Criterion) {
    for (set, t_log2, value_bits) in [("n12_q2x46_sec128_v1", 72, 64), ("n11_q1x46_sec128_v1", 30, 10)] {
        let column = Column::new(set, t_log2, value_bits);
        let path = column.ring.cpu();
        let mut group = criterion.benchmark_group(format!("rows=1e6/{set}/{path}"));
        group.sample_size(20).throughput(Throughput::Elements(ROWS as u64));
        // As a stream: a chunk is gone when the next one begins.
        group.bench_function("encrypt", |bencher| {
            bencher.iter(|| column.encrypt(|seed, body| drop(std::hint::black_box((seed, body)))));
        });
        group.bench_function("read", |bencher| bencher.iter(|| column.read()));
        group.bench_function("sum", |bencher| bencher.iter(|| column.sum().finish()));
        for count in [1, 8] {
            let groups = groups(count);
            let id = format!("sum/groups={count}");
            group.bench_function(id, |bencher| {
                bencher.iter(|| column.grouped(&groups, count as usize).finish());
            });
        }
        let answer = column.sum().finish().expect("an answer").remove(0);
        group.bench_function("decrypt_sum", |bencher| {
            bencher.iter(|| decrypt_sum(&column.secret, &answer, 0, t_log2));
        });
        group.finish();
    }
}

criterion_group!(encrypt, benches);
criterion_main!(encrypt);
