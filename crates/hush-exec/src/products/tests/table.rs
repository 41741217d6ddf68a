// SPDX-License-Identifier: Apache-2.0
//! A table of slot columns with one prime, its plaintext, and its owner.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use bytes::Bytes;
use ethnum::I256;
use hush_keys::{Encryptor, OwnerSeed, SecretKey, SecretKind, SlotColumn};
use hush_params::{preset, size};
use hush_plan::packing::{Packing, Slots};
use hush_plan::plan::{PLAN_FORMAT, Predicate, ProductsTask, ServerPlan, Task};
use hush_plan::{Encoding, EncodingId};
use hush_ring::{Cpu, Ring};
use hush_schemes::Values;
use hush_schemes::bgv::slots::SlotEncoder;
use hush_table::manifest::{BODY_FORMAT, DeviceRules, Domain, Lengths};
use hush_table::part::{ClearPartWriter, EncryptedPartWriter};
use hush_table::{
    CHUNK_ROWS, ClearColumn, DeadRows, EncodedChunk, EncryptionId, Manifest, PartEntry, SignedManifest,
    TableId, TableStore,
};

use crate::plain::PlainValues;
use crate::{Engine, Limits};

/// Encoded columns.
pub(super) const COLUMNS: usize = 4;
/// The plaintext prime.
pub(super) const T: u64 = 65_537;
const TABLE: [u8; 16] = [7; 16];
const ENCRYPTION: [u8; 16] = [8; 16];

/// SplitMix64.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

/// A part as a test wants it.
pub(super) struct RowsOfPart {
    pub(super) rows: usize,
    pub(super) domain: u32,
    /// Deleted rows, counted in the part.
    pub(super) dead: Vec<u64>,
}

pub(super) fn part(rows: usize, domain: u32) -> RowsOfPart {
    RowsOfPart { rows, domain, dead: Vec::new() }
}

/// Ciphertexts, or plain values in their place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Encrypted,
    Plain,
}

/// One row: the clear year, and the values of the encoded columns.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) year: i64,
    pub(super) values: [i64; COLUMNS],
    pub(super) lives: bool,
}

pub(super) struct TestTable {
    pub(super) parts: Vec<Vec<Row>>,
    pub(super) ring: Ring,
    pub(super) secret: SecretKey,
    pub(super) encoder: SlotEncoder,
    pub(super) signed: SignedManifest,
    kind: Kind,
    store: TableStore,
}

impl TestTable {
    /// Rows of some parts under the last of their domains and those before it, all with one secret.
    pub(super) fn new(random: &mut Random, set: &'static str, parts: &[RowsOfPart], kind: Kind) -> Self {
        let seed = OwnerSeed::generate().unwrap();
        let ring = Ring::new(preset(set).unwrap(), Cpu::detect().unwrap()).unwrap();
        let secret = seed.of_table(TABLE, ENCRYPTION).secret(SecretKind::Slots, &ring, [9; 16]);
        let encoder = SlotEncoder::new(&ring, &[T]).unwrap();
        let store = TableStore::memory();
        let (mut entries, mut rows, mut chunk) = (Vec::new(), Vec::new(), 0);
        let ids: Vec<EncodingId> = (0..COLUMNS as u32).map(EncodingId).collect();
        for part in parts {
            let of_part: Vec<Row> = (0..part.rows as u64)
                .map(|row| Row {
                    year: 2020 + random.below(5) as i64,
                    // Flags, and a small number.
                    values: std::array::from_fn(|at| random.below(if at < 3 { 2 } else { 1000 }) as i64),
                    lives: !part.dead.contains(&row),
                })
                .collect();
            let mut encrypted = EncryptedPartWriter::new(&ids, &[], chunk);
            let mut clear = ClearPartWriter::new(&clear_batch(&[]).schema()).unwrap();
            let together = size::chunks_of_element(preset(set).unwrap()) as usize;
            let chunks: Vec<&[Row]> = of_part.chunks(CHUNK_ROWS as usize).collect();
            for chunks in chunks.chunks(together) {
                let rows = chunks.concat();
                let first = match kind {
                    Kind::Encrypted => encrypt(chunk, (chunks[0].len(), &rows), &secret, &encoder),
                    Kind::Plain => plain(chunk, (chunks[0].len(), &rows)),
                };
                encrypted.push(first).unwrap();
                for (index, rows) in (chunk + 1..).zip(&chunks[1..]) {
                    let (rows, seed) = (rows.len() as u32, [index as u8; 32]);
                    let encoded = vec![Bytes::new(); COLUMNS];
                    encrypted.push(EncodedChunk { index, rows, seed, encoded, sealed: Vec::new() }).unwrap();
                }
                chunks.iter().for_each(|rows| clear.push(&clear_batch(rows)).unwrap());
                chunk += chunks.len() as u32;
            }
            let (encrypted, clear) = (encrypted.finish().unwrap(), clear.finish().unwrap());
            [&encrypted, &clear].into_iter().for_each(|part| store.put_part(part).unwrap());
            let dead = DeadRows::new(part.rows as u64, part.dead.iter().copied());
            entries.push(PartEntry {
                rows: part.rows as u64,
                chunks: part.rows.div_ceil(CHUNK_ROWS as usize) as u32,
                clear: Some(clear.file),
                encrypted: Some(encrypted.file),
                delivery: None,
                append: None,
                first_chunk: None,
                dead: (!part.dead.is_empty()).then(|| store.put_dead_rows(&dead).unwrap()),
                cubes: None,
                runs: None,
                domain: part.domain,
                generation: 0,
            });
            rows.push(of_part);
        }
        let mut manifest = manifest(set, entries);
        manifest.key_id = seed.key_id().to_string();
        store.put_zones(&mut manifest).unwrap();
        let key = seed.verifying_key().to_bytes();
        let signed = SignedManifest::sign(manifest, &key, |message| seed.sign(message)).unwrap();
        store.commit(&signed).unwrap();
        Self { parts: rows, ring, secret, encoder, signed, kind, store }
    }

    /// The degree of the ring, and how many chunks are together in it.
    pub(super) fn in_ring(&self) -> (usize, u32) {
        (self.ring.degree(), self.signed.manifest().chunks_together())
    }

    pub(super) fn engine(&self, threads: usize) -> Engine {
        self.limited(threads, Limits::default())
    }

    pub(super) fn limited(&self, threads: usize, limits: Limits) -> Engine {
        let engine = match self.kind {
            Kind::Encrypted => Engine::for_table,
            Kind::Plain => Engine::dry_run,
        };
        engine(self.store.clone(), threads, limits).unwrap()
    }

    pub(super) fn server_plan(&self, predicate: Option<&str>, task: ProductsTask) -> ServerPlan {
        ServerPlan {
            format: PLAN_FORMAT,
            table: "t".to_owned(),
            manifest: self.signed.digest().to_string(),
            predicate: predicate.map(Predicate::clear),
            task: Task::Products(task),
            max_answer_bytes: 1 << 30,
        }
    }

    pub(super) fn plan(&self, predicate: Option<&str>, task: ProductsTask) -> Vec<u8> {
        serde_json::to_vec(&self.server_plan(predicate, task)).unwrap()
    }
}

/// A manifest of parts without a signature: the last domain is the present one.
pub(super) fn manifest(set: &str, parts: Vec<PartEntry>) -> Manifest {
    let domain = parts.iter().map(|part| part.domain).max().unwrap_or(0);
    let mut earlier: Vec<u32> = parts.iter().map(|part| part.domain).filter(|of| *of < domain).collect();
    earlier.sort_unstable();
    earlier.dedup();
    let earlier = earlier
        .into_iter()
        .map(|number| Domain { number, encryption: EncryptionId::from_bytes([100 + number as u8; 16]) });
    let columns = clear_batch(&[]).schema();
    let columns =
        columns.fields().iter().map(|field| ClearColumn::new(field.name(), field.data_type()).unwrap());
    let encoding = |id| Encoding {
        id: EncodingId(id),
        params: set.to_owned(),
        packing: Packing::Slots(Slots {
            primes: vec![T],
            shared: size::chunks_of_element(preset(set).unwrap()) > 1,
        }),
    };
    Manifest {
        format: BODY_FORMAT,
        table: "t".to_owned(),
        table_id: TableId::from_bytes(TABLE),
        encryption: EncryptionId::from_bytes(ENCRYPTION),
        domain,
        earlier: earlier.collect(),
        rotating: false,
        version: 1,
        key_id: String::new(),
        predecessors: Vec::new(),
        rows: parts.iter().map(|part| part.rows).sum(),
        chunk_rows: CHUNK_ROWS,
        clear_columns: columns.collect(),
        encodings: (0..COLUMNS as u32).map(encoding).collect(),
        sealed_columns: 0,
        unsealed: Vec::new(),
        generation: 0,
        generations: Vec::new(),
        parts,
        devices: DeviceRules::default(),
        chains: Vec::new(),
        keys: Vec::new(),
        zones: None,
        batches: Vec::new(),
        changes: Vec::new(),
        lengths: Lengths::default(),
        sealed_roots: Vec::new(),
        sealed_schema: Vec::new(),
    }
}

fn clear_batch(rows: &[Row]) -> RecordBatch {
    let years = Int64Array::from_iter(rows.iter().map(|row| Some(row.year)));
    RecordBatch::try_from_iter_with_nullable([("year", Arc::new(years) as ArrayRef, true)]).unwrap()
}

fn column(rows: &[Row], at: usize) -> Vec<i64> {
    rows.iter().map(|row| row.values[at]).collect()
}

/// A chunk of the first rows of some, with the values of all.
fn plain(index: u32, (own, rows): (usize, &[Row])) -> EncodedChunk {
    let encoded = (0..COLUMNS).map(|at| {
        let values = PlainValues::Exact(column(rows, at).into_iter().map(I256::from).collect());
        Bytes::from(values.encode())
    });
    let (rows, seed) = (own as u32, [index as u8; 32]);
    EncodedChunk { index, rows, seed, encoded: encoded.collect(), sealed: Vec::new() }
}

fn encrypt(
    index: u32,
    (own, rows): (usize, &[Row]),
    secret: &SecretKey,
    encoder: &SlotEncoder,
) -> EncodedChunk {
    let mut encryptor = Encryptor::new();
    let mut chunk = encryptor.begin_chunk(index, own).unwrap().followed_by(rows.len() - own);
    let encoded = (0..COLUMNS).map(|at| {
        let values = column(rows, at);
        let (max_abs, values) = (I256::from(T / 2), Values::I64(&values));
        let column = SlotColumn { column: at as u32, secret, encoder, max_abs, shared: true, values };
        Bytes::from(chunk.encrypt_slots(&column).unwrap())
    });
    let encoded = encoded.collect();
    let (rows, seed) = (own as u32, chunk.seed().to_bytes());
    EncodedChunk { index, rows, seed, encoded, sealed: Vec::new() }
}
