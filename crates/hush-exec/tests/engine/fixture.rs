// SPDX-License-Identifier: Apache-2.0
//! A table with every layout, its plaintext, and its owner.

use std::sync::Arc;

use arrow::array::{ArrayRef, Date32Array, Float64Array, Int64Array, RecordBatch, StringArray};
use bytes::Bytes;
use ethnum::I256;
use hush_exec::plain::PlainValues;
use hush_exec::{Engine, Limits};
use hush_keys::{
    ApproxSlotColumn, ApproxSumColumn, Encryptor, OwnerSeed, SecretKind, SlotColumn, SumColumn, TableKeys,
};
use hush_params::{PLAINTEXT_PRIMES_45, preset};
use hush_plan::packing::{ApproxSlots, ApproxSum, Packing, Slots, Sum};
use hush_plan::plan::{PLAN_FORMAT, Predicate, ServerPlan, Task};
use hush_plan::{Encoding, EncodingId};
use hush_ring::{Cpu, Ring};
use hush_schemes::Values;
use hush_schemes::bgv::slots::SlotEncoder;
use hush_schemes::ckks::{ApproxEncoder, Scale};
use hush_table::manifest::{BODY_FORMAT, Lengths};
use hush_table::part::{ClearPartWriter, EncryptedPartWriter};
use hush_table::{
    CHUNK_ROWS, ClearColumn, EncodedChunk, EncryptionId, Manifest, PartEntry, SignedManifest, TableId,
    TableStore,
};

/// SplitMix64: small, seeded, and good enough to draw test data.
pub(crate) struct Random(u64);

impl Random {
    /// A generator whose seed is printed, so that a failure can be repeated with `HUSH_TEST_SEED`.
    pub(crate) fn announced(test: &str) -> Self {
        let clock =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64;
        let seed = std::env::var("HUSH_TEST_SEED").map_or(clock, |text| text.parse().unwrap());
        eprintln!("{test}: HUSH_TEST_SEED={seed}");
        Self(seed)
    }

    pub(crate) fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.word() % bound
    }

    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// One row in plaintext.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// Clear: NULL or one of a few names.
    pub(crate) ward: Option<String>,
    /// Clear: 2020 to 2024, ascending over the table.
    pub(crate) year: i64,
    /// Clear: NULL or a small signed weight.
    pub(crate) weight: Option<i64>,
    /// Clear: NULL or a float.
    pub(crate) ratio: Option<f64>,
    /// Encrypted: NULL or a 47-bit value.
    pub(crate) value: Option<i64>,
    /// Encrypted slots.
    pub(crate) x: i64,
    /// Encrypted slots.
    pub(crate) y: i64,
    /// Encrypted approximately.
    pub(crate) real: f64,
}

pub(crate) const VALUE: EncodingId = EncodingId(0);
pub(crate) const VALID: EncodingId = EncodingId(1);
pub(crate) const SQUARE: EncodingId = EncodingId(2);
pub(crate) const X: EncodingId = EncodingId(3);
pub(crate) const Y: EncodingId = EncodingId(4);
pub(crate) const REAL: EncodingId = EncodingId(5);
pub(crate) const REAL_SUM: EncodingId = EncodingId(6);

pub(crate) const VALUE_T: u32 = 71;
pub(crate) const VALID_T: u32 = 27;
pub(crate) const SQUARE_T: u32 = 140;
pub(crate) const SCALE: u32 = 36;
const SUM64: &str = "n12_q2x46_sec128_v1";
const SUM27: &str = "n11_q1x46_sec128_v1";
const WIDE: &str = "n13_q4x46_sec128_v1";
const SLOTS: &str = "n13_q3x46_sec128_v1";

const TABLE: [u8; 16] = [7; 16];
const ENCRYPTION: [u8; 16] = [8; 16];
/// The id of the slot columns' common secret.
pub(crate) const SLOTS_ID: [u8; 16] = [9; 16];

pub(crate) struct Fixture {
    pub(crate) rows: Vec<Row>,
    pub(crate) seed: OwnerSeed,
    pub(crate) store: TableStore,
    pub(crate) signed: SignedManifest,
}

impl Fixture {
    /// Encrypts a random table with parts of these sizes; a part's last chunk may be short.
    pub(crate) fn random(random: &mut Random, part_rows: &[usize]) -> Self {
        let count = part_rows.iter().sum();
        let rows: Vec<Row> = (0..count).map(|index| random_row(random, index, count)).collect();
        Self::encrypt(rows, part_rows, Clear::Columns, encrypt_chunk)
    }

    /// The same with plain values in the place of ciphertexts, for dry runs.
    pub(crate) fn plain(random: &mut Random, part_rows: &[usize]) -> Self {
        let count = part_rows.iter().sum();
        let rows: Vec<Row> = (0..count).map(|index| random_row(random, index, count)).collect();
        Self::encrypt(rows, part_rows, Clear::Columns, plain_chunk)
    }

    /// [`Fixture::random`] without clear columns.
    pub(crate) fn without_clear(random: &mut Random, part_rows: &[usize]) -> Self {
        let count = part_rows.iter().sum();
        let rows: Vec<Row> = (0..count).map(|index| random_row(random, index, count)).collect();
        Self::encrypt(rows, part_rows, Clear::Nothing, encrypt_chunk)
    }

    pub(crate) fn keys(&self) -> TableKeys<'_> {
        keys_of(&self.seed)
    }

    pub(crate) fn engine(&self, threads: usize) -> Engine {
        Engine::for_table(self.store.clone(), threads, Limits::default()).unwrap()
    }

    pub(crate) fn plan(&self, predicate: Option<&str>, task: Task) -> Vec<u8> {
        serde_json::to_vec(&self.server_plan(predicate, task)).unwrap()
    }

    pub(crate) fn server_plan(&self, predicate: Option<&str>, task: Task) -> ServerPlan {
        ServerPlan {
            format: PLAN_FORMAT,
            table: "t".to_owned(),
            manifest: self.signed.digest().to_string(),
            predicate: predicate.map(Predicate::clear),
            task,
            max_answer_bytes: 1 << 30,
        }
    }

    pub(crate) fn encodings(&self) -> &[Encoding] {
        &self.signed.manifest().encodings
    }

    fn encrypt(rows: Vec<Row>, part_rows: &[usize], clear: Clear, encode: Encode) -> Self {
        let seed = OwnerSeed::generate().unwrap();
        let store = TableStore::memory();
        let schema = clear_batch(&[]).schema();
        let mut parts = Vec::new();
        let (mut chunk, mut rest) = (0, rows.as_slice());
        for count in part_rows {
            let (part, after) = rest.split_at(*count);
            rest = after;
            let ids: Vec<EncodingId> = encodings().iter().map(|encoding| encoding.id).collect();
            let mut encrypted = EncryptedPartWriter::new(&ids, &[], chunk);
            let mut plain = ClearPartWriter::new(&schema).unwrap();
            for rows in part.chunks(CHUNK_ROWS as usize) {
                encrypted.push(encode(keys_of(&seed), chunk, rows)).unwrap();
                plain.push(&clear_batch(rows)).unwrap();
                chunk += 1;
            }
            let encrypted = encrypted.finish().unwrap();
            store.put_part(&encrypted).unwrap();
            let mut entry = PartEntry {
                rows: *count as u64,
                chunks: count.div_ceil(CHUNK_ROWS as usize) as u32,
                clear: None,
                encrypted: Some(encrypted.file),
                delivery: None,
                append: None,
                first_chunk: None,
                dead: None,
                cubes: None,
                runs: None,
                domain: 0,
                generation: 0,
            };
            if clear == Clear::Columns {
                let plain = plain.finish().unwrap();
                store.put_part(&plain).unwrap();
                entry.clear = Some(plain.file);
            }
            parts.push(entry);
        }
        let columns =
            schema.fields().iter().map(|field| ClearColumn::new(field.name(), field.data_type()).unwrap());
        let mut manifest = Manifest {
            format: BODY_FORMAT,
            table: "t".to_owned(),
            table_id: TableId::from_bytes(TABLE),
            encryption: EncryptionId::from_bytes(ENCRYPTION),
            domain: 0,
            earlier: Vec::new(),
            rotating: false,
            version: 1,
            key_id: seed.key_id().to_string(),
            predecessors: Vec::new(),
            rows: rows.len() as u64,
            chunk_rows: CHUNK_ROWS,
            clear_columns: if clear == Clear::Columns { columns.collect() } else { Vec::new() },
            encodings: encodings(),
            sealed_columns: 0,
            unsealed: Vec::new(),
            generation: 0,
            generations: Vec::new(),
            parts,
            devices: hush_table::manifest::DeviceRules::default(),
            chains: Vec::new(),
            keys: Vec::new(),
            zones: None,
            batches: Vec::new(),
            changes: Vec::new(),
            lengths: Lengths::default(),
            sealed_roots: Vec::new(),
            sealed_schema: Vec::new(),
        };
        store.put_zones(&mut manifest).unwrap();
        let key = seed.verifying_key().to_bytes();
        let signed = SignedManifest::sign(manifest, &key, |message| seed.sign(message)).unwrap();
        store.commit(&signed).unwrap();
        Self { rows, seed, store, signed }
    }
}

/// From the rows of a chunk with a number to its encoded columns.
type Encode = fn(TableKeys<'_>, u32, &[Row]) -> EncodedChunk;

fn keys_of(seed: &OwnerSeed) -> TableKeys<'_> {
    seed.of_table(TABLE, ENCRYPTION)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Clear {
    Columns,
    Nothing,
}

pub(crate) fn ring(name: &str) -> Ring {
    Ring::new(preset(name).unwrap(), Cpu::detect().unwrap()).unwrap()
}

pub(crate) fn set_name(id: EncodingId) -> &'static str {
    match id {
        VALID => SUM27,
        SQUARE | REAL => WIDE,
        X | Y => SLOTS,
        _ => SUM64,
    }
}

/// The id under which the owner derives a sum column's secret.
pub(crate) fn secret_id(id: EncodingId) -> [u8; 16] {
    [id.0 as u8 + 1; 16]
}

pub(crate) fn primes() -> &'static [u64] {
    &PLAINTEXT_PRIMES_45[..2]
}

fn encodings() -> Vec<Encoding> {
    let encoding = |id: EncodingId, packing| Encoding { id, params: set_name(id).to_owned(), packing };
    let sum = |id, t_log2| encoding(id, Packing::Sum(Sum { t_log2 }));
    let slots = |id| encoding(id, Packing::Slots(Slots::of(primes().to_vec())));
    vec![
        sum(VALUE, VALUE_T),
        sum(VALID, VALID_T),
        sum(SQUARE, SQUARE_T),
        slots(X),
        slots(Y),
        encoding(REAL, Packing::ApproxSlots(ApproxSlots { scale_log2: SCALE })),
        encoding(REAL_SUM, Packing::ApproxSum(ApproxSum { scale_log2: SCALE })),
    ]
}

fn random_row(random: &mut Random, index: usize, count: usize) -> Row {
    let wards = ["east", "north", "süd", "west"];
    Row {
        ward: (!random.chance(10)).then(|| wards[random.below(4) as usize].to_owned()),
        year: 2020 + (5 * index / count) as i64,
        weight: (!random.chance(10)).then(|| random.below(2001) as i64 - 1000),
        ratio: (!random.chance(10)).then(|| random.below(1 << 20) as f64 / 1024.0 - 300.0),
        value: (!random.chance(15)).then(|| random.word() as i64 >> 17),
        x: random.word() as i64 >> 26,
        y: random.word() as i64 >> 26,
        real: random.below(1 << 30) as f64 / f64::from(1 << 22) - 100.0,
    }
}

fn clear_batch(rows: &[Row]) -> RecordBatch {
    let column = |values: Vec<Option<i64>>| Arc::new(Int64Array::from(values)) as ArrayRef;
    let day = |row: &Row| Some((row.year - 1970) as i32 * 365);
    RecordBatch::try_from_iter_with_nullable([
        (
            "ward",
            Arc::new(StringArray::from_iter(rows.iter().map(|row| row.ward.as_deref()))) as ArrayRef,
            true,
        ),
        ("year", column(rows.iter().map(|row| Some(row.year)).collect()), true),
        ("weight", column(rows.iter().map(|row| row.weight).collect()), true),
        ("ratio", Arc::new(Float64Array::from_iter(rows.iter().map(|row| row.ratio))) as ArrayRef, true),
        ("day", Arc::new(Date32Array::from_iter(rows.iter().map(day))) as ArrayRef, true),
    ])
    .unwrap()
}

/// The numbers of [`encrypt_chunk`] as they are.
fn plain_chunk(_: TableKeys<'_>, index: u32, rows: &[Row]) -> EncodedChunk {
    let exact = |number: &dyn Fn(&Row) -> I256| PlainValues::Exact(rows.iter().map(number).collect());
    let value = |row: &Row| I256::from(row.value.unwrap_or(0));
    let reals = PlainValues::Approx(rows.iter().map(|row| row.real).collect());
    let columns = [
        exact(&value),
        exact(&|row| I256::from(i64::from(row.value.is_some()))),
        exact(&|row| value(row) * value(row)),
        exact(&|row| I256::from(row.x)),
        exact(&|row| I256::from(row.y)),
        reals.clone(),
        reals,
    ];
    EncodedChunk {
        index,
        rows: rows.len() as u32,
        seed: [0; 32],
        encoded: columns.iter().map(|column| Bytes::from(column.encode())).collect(),
        sealed: Vec::new(),
    }
}

fn encrypt_chunk(keys: TableKeys<'_>, index: u32, rows: &[Row]) -> EncodedChunk {
    let mut encryptor = Encryptor::new();
    let mut chunk = encryptor.begin_chunk(index, rows.len()).unwrap();
    let sum = |kind, id: EncodingId| {
        let ring = ring(set_name(id));
        let secret = keys.secret(kind, &ring, secret_id(id));
        (ring, secret)
    };
    let values: Vec<i64> = rows.iter().map(|row| row.value.unwrap_or(0)).collect();
    let valid: Vec<i64> = rows.iter().map(|row| i64::from(row.value.is_some())).collect();
    let squares: Vec<I256> = values.iter().map(|value| I256::from(*value) * I256::from(*value)).collect();
    let mut encoded = Vec::new();
    let columns = [
        (VALUE, VALUE_T, Values::I64(&values)),
        (VALID, VALID_T, Values::I64(&valid)),
        (SQUARE, SQUARE_T, Values::I256(&squares)),
    ];
    for (id, t_log2, values) in columns {
        let (ring, secret) = sum(SecretKind::Sum, id);
        let column = SumColumn { column: id.0, secret: &secret, t_log2, values };
        encoded.extend(chunk.encrypt_sum(&ring, &[column]).unwrap());
    }
    let slots = ring(SLOTS);
    let secret = keys.secret(SecretKind::Slots, &slots, SLOTS_ID);
    let encoder = SlotEncoder::new(&slots, primes()).unwrap();
    for (id, field) in [(X, (|row| row.x) as fn(&Row) -> i64), (Y, |row| row.y)] {
        let values: Vec<i64> = rows.iter().map(field).collect();
        let column = SlotColumn {
            column: id.0,
            secret: &secret,
            encoder: &encoder,
            max_abs: I256::ONE << 39u32,
            shared: false,
            values: Values::I64(&values),
        };
        encoded.push(chunk.encrypt_slots(&column).unwrap());
    }
    let reals: Vec<f64> = rows.iter().map(|row| row.real).collect();
    let scale = Scale::from_log2(SCALE).unwrap();
    let wide = ring(WIDE);
    let secret = keys.secret(SecretKind::ApproxSlots, &wide, SLOTS_ID);
    let encoder = ApproxEncoder::new(&wide);
    let column =
        ApproxSlotColumn { column: REAL.0, secret: &secret, encoder: &encoder, scale, values: &reals };
    encoded.push(chunk.encrypt_approx_slots(&column).unwrap());
    let (ring, secret) = sum(SecretKind::ApproxSum, REAL_SUM);
    let column =
        ApproxSumColumn { column: REAL_SUM.0, secret: &secret, scale, limit_log2: 60, values: &reals };
    encoded.extend(chunk.encrypt_approx_sum(&ring, &[column]).unwrap());
    EncodedChunk {
        index,
        rows: rows.len() as u32,
        seed: chunk.seed().to_bytes(),
        encoded: encoded.into_iter().map(Bytes::from).collect(),
        sealed: Vec::new(),
    }
}
