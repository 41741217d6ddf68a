// SPDX-License-Identifier: Apache-2.0
//! Encryption of a column and sums over it, and seals. Ids carry the shape: rows, ring, limbs; one thread where they do not say
//! two, which take half of the chunks each.
//!
//! `sum/…` covers all that a server does for a query: expansion of the masks, the pass over the packed bodies and
//! the answer. `read` reads the same bytes and does nothing else: the floor that a sum is compared with, from the cache
//! where 10^6 rows fit it, from memory for 10^7.

#![allow(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

use std::ops::Range;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hush_keys::{Cipher, Encryptor, OwnerSeed, PhaseLimit, SecretKey, SecretKind, SumColumn, decrypt_sum};
use hush_ring::{Cpu, Ring, UniformSeed};
use hush_rlwe::{Body, BodyId, BodyKind};
use hush_schemes::Values;
use hush_schemes::bgv::sum::SumAccumulator;

const ROWS: usize = 1_000_000;
/// Stored bytes that no cache holds.
const MANY_ROWS: usize = 10_000_000;
const CHUNK_ROWS: usize = hush_params::size::CHUNK_ROWS as usize;

struct Column {
    ring: Ring,
    secret: SecretKey,
    t_log2: u32,
    values: Vec<i64>,
    chunks: Vec<(UniformSeed, Vec<u8>)>,
}

impl Column {
    fn new(set: &str, t_log2: u32, value_bits: u32, rows: usize) -> Self {
        let set = hush_params::preset(set).expect("a preset");
        let ring = Ring::new(set, Cpu::detect().expect("a known path")).expect("a ring");
        let secret = OwnerSeed::generate().expect("entropy").of_table([0; 16], [0; 16]).secret(
            SecretKind::Sum,
            &ring,
            [1; 16],
        );
        let value = |i: usize| (i as i64).wrapping_mul(0x1e37_79b9_7f4a_7c15) >> (64 - value_bits);
        let values = (0..rows).map(value).collect();
        let mut column = Self { ring, secret, t_log2, values, chunks: Vec::new() };
        let mut chunks = Vec::new();
        column.encrypt(|seed, body| chunks.push((seed, body)));
        column.chunks = chunks;
        column
    }

    /// Encrypts chunk after chunk and gives each to `keep`.
    fn encrypt(&self, keep: impl FnMut(UniformSeed, Vec<u8>)) {
        self.encrypt_some(0..self.chunk_count(), keep);
    }

    fn chunk_count(&self) -> usize {
        self.values.len().div_ceil(CHUNK_ROWS)
    }

    fn encrypt_some(&self, which: Range<usize>, mut keep: impl FnMut(UniformSeed, Vec<u8>)) {
        let mut encryptor = Encryptor::new();
        let chunks = (0..).zip(self.values.chunks(CHUNK_ROWS)).skip(which.start).take(which.len());
        for (index, values) in chunks {
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
        self.sum_some(0..self.chunk_count())
    }

    fn sum_some(&self, which: Range<usize>) -> SumAccumulator {
        let mut sum = SumAccumulator::new(&self.ring, 1, 1);
        for (seed, body, rows) in self.bodies().drain(which) {
            sum.absorb_unfiltered(seed, rows, &[body]).expect("a fitting body");
        }
        sum
    }

    /// `work` on two halves of the chunks at once.
    fn halves<T: Send>(&self, work: impl Fn(Range<usize>) -> T + Sync) -> (T, T) {
        let (middle, end) = (self.chunk_count() / 2, self.chunk_count());
        std::thread::scope(|scope| {
            let other = scope.spawn(|| work(middle..end));
            let mine = work(0..middle);
            (mine, other.join().expect("no panic"))
        })
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
    for (set, t_log2, value_bits) in SETS {
        let column = Column::new(set, t_log2, value_bits, ROWS);
        let path = column.ring.cpu();
        let mut group = criterion.benchmark_group(format!("rows=1e6/{set}/{path}"));
        group.sample_size(20).throughput(Throughput::Elements(ROWS as u64));
        // As a stream: a chunk is gone when the next one begins.
        group.bench_function("encrypt", |bencher| {
            bencher.iter(|| column.encrypt(|seed, body| drop(std::hint::black_box((seed, body)))));
        });
        group.bench_function("encrypt/threads=2", |bencher| {
            let keep = |seed, body| drop(std::hint::black_box((seed, body)));
            bencher.iter(|| column.halves(|which| column.encrypt_some(which, keep)));
        });
        group.bench_function("read", |bencher| bencher.iter(|| column.read()));
        group.bench_function("sum", |bencher| bencher.iter(|| column.sum().finish()));
        group.bench_function("sum/threads=2", |bencher| {
            bencher.iter(|| {
                let (mut mine, other) = column.halves(|which| column.sum_some(which));
                mine.merge(other).expect("sums of one ring");
                mine.finish()
            });
        });
        for count in [1, 8] {
            let groups = groups(count);
            let id = format!("sum/groups={count}");
            group.bench_function(id, |bencher| {
                bencher.iter(|| column.grouped(&groups, count as usize).finish());
            });
        }
        let answer = column.sum().finish().expect("an answer").remove(0);
        group.bench_function("decrypt_sum", |bencher| {
            bencher.iter(|| decrypt_sum(&column.secret, &answer, 0, t_log2, PhaseLimit::NONE));
        });
        group.finish();
    }
}

/// Sums with bytes from memory.
fn large(criterion: &mut Criterion) {
    for (set, t_log2, value_bits) in SETS {
        let column = Column::new(set, t_log2, value_bits, MANY_ROWS);
        let mut group = criterion.benchmark_group(format!("rows=1e7/{set}/{}", column.ring.cpu()));
        let stored = column.chunks.iter().map(|(_, bytes)| bytes.len() as u64).sum();
        group.sample_size(20).throughput(Throughput::Bytes(stored));
        group.bench_function("read", |bencher| bencher.iter(|| column.read()));
        group.bench_function("sum", |bencher| bencher.iter(|| column.sum().finish()));
        group.finish();
    }
}

/// Seals of as many bytes as a chunk of a column of 20 bits has.
fn seals(criterion: &mut Criterion) {
    let owner = OwnerSeed::generate().expect("entropy");
    let text = vec![7; CHUNK_ROWS * 20 / 8];
    let mut group = criterion.benchmark_group("seals");
    group.throughput(Throughput::Bytes(text.len() as u64));
    for cipher in [Cipher::XChaCha20Poly1305, Cipher::Xaes256Gcm] {
        let key = owner.of_table([0; 16], [0; 16]).column_seal(0, cipher);
        let sealed = key.seal(b"place", &text).expect("entropy");
        group
            .bench_function(format!("seal/{cipher:?}"), |bencher| bencher.iter(|| key.seal(b"place", &text)));
        group.bench_function(format!("open/{cipher:?}"), |bencher| {
            bencher.iter(|| key.open(b"place", &sealed))
        });
    }
    group.finish();
}

/// Parameter set, log2 of the plaintext modulus, bits of the values.
const SETS: [(&str, u32, u32); 2] = [("n12_q2x46_sec128_v1", 72, 64), ("n11_q1x46_sec128_v1", 30, 10)];

criterion_group!(encrypt, benches, large, seals);
criterion_main!(encrypt);
