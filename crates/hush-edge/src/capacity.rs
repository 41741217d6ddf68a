// SPDX-License-Identifier: Apache-2.0
//! The load that a device can carry. For every ring, time and bytes of a chunk of columns are measured on the real path of rows. The
//! load of a table's columns follows from these.
//!
//! This needs no key: rows are made up, and encrypted with uniform polynomials in place of public keys, which takes as long.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;

use hush_params::{ParamSet, presets};
use hush_plan::packing::{Packing, Sum};
use hush_plan::schema::{Column, ColumnType, Purpose};
use hush_plan::{Encoding, EncodingId, PrivateEncoding, Protection, Quantity, Schema};
use hush_ring::{Cpu, ExpandLabel, Ring, UniformSeed};
use hush_rlwe::masked_body_bytes;
use hush_schemes::bgv::public::{PublicColumn, SumPublicKey};
use hush_system::memory::{available_bytes, memory_limit};
use hush_system::processors;
use hush_table::{CHUNK_ROWS, DeliveryId, StreamId, TableId};
use serde::{Deserialize, Serialize};

use crate::encrypt::DeviceEncryptor;
use crate::feed::{Feed, LineForm, Start};
use crate::{DeviceKey, EdgeError, KeyFamily};

/// Version of the format.
const FORMAT: u16 = 1;
/// Most seconds of a chunk or a column. The inverse is the least of a column.
const MOST_SECONDS: f64 = 1e6;
/// Runs behind each median.
const RUNS: usize = 5;
/// Columns of the larger of two tables. The difference gives the time of a column.
const COLUMNS: usize = 5;
/// Memory of the program without columns: code that has run, threads, buffers. Measured: 17 MB, and 11 in the profile `edge`.
const PROGRAM_BYTES: u64 = 18 << 20;
/// Copies of a column's ciphertext in memory: as it is made, as a page, in a file that grows, and as the file before it, which is
/// being sent.
const CIPHERTEXT_COPIES: u64 = 5;
/// Copies of clear cells in memory: as text and its copy, as Arrow, as a page, in a file and in the file before it.
const CLEAR_COPIES: u64 = 6;
/// Bytes of a cell beside these copies: text, value, quantities computed from it.
const CELL_BYTES: u64 = 24;
/// log2 of the plaintext modulus of the rows made up.
const MESSAGE_LOG2: u32 = 16;

/// The load that one device can carry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capacity {
    /// Version of the format.
    pub format: u16,
    /// The kernels in use.
    pub kernels: String,
    /// Hardware threads. The program for devices encrypts on one.
    pub threads: u64,
    /// Bytes of memory that a process may have, if the system tells: the rest of the machine's memory, of a control group or of a
    /// resource limit.
    pub memory_bytes: Option<u64>,
    /// The rings, smallest first.
    pub rings: Vec<RingCapacity>,
}

/// The costs of columns over one ring, in chunks of 8192 rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RingCapacity {
    /// Name of the parameter set.
    pub params: String,
    /// Its degree `N`.
    pub degree: u64,
    /// log2 of its modulus.
    pub modulus_bits: f64,
    /// Seconds for each chunk with any number of columns: the masks that they share.
    pub chunk_s: f64,
    /// Seconds for each column of a chunk: reading, encrypting, writing the part.
    pub column_s: f64,
    /// Bytes of a value in a full chunk, stored and sent.
    pub value_bytes: f64,
    /// Bytes of the smallest delivery of a column: that of one row.
    pub flush_bytes: u64,
    /// Bytes of memory for each column.
    pub column_memory_bytes: u64,
}

/// The load of encoded columns on a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Load {
    /// Encoded columns.
    pub columns: u64,
    /// Rows a second that are read and encrypted, without disk and network.
    pub rows_per_s: f64,
    /// Bytes of a row in full chunks, without its clear columns.
    pub row_bytes: f64,
    /// Bytes of memory, program included.
    pub memory_bytes: u64,
}

impl Capacity {
    /// Bytes of the longest text of a capacity.
    pub const MAX_BYTES: usize = 64 << 10;

    /// Measures this machine. Takes a second or two, and more where it is slow.
    ///
    /// # Errors
    /// `HUSH_CPU` names kernels that the processor lacks; no entropy.
    pub fn measure() -> Result<Self, EdgeError> {
        let cpu = Cpu::detect().map_err(|error| EdgeError::Usage { what: error.to_string() })?;
        let threads = processors::count();
        Ok(Self {
            format: FORMAT,
            kernels: cpu.to_string(),
            threads: threads as u64,
            memory_bytes: [memory_limit(threads), available_bytes()].into_iter().flatten().min(),
            rings: presets().iter().map(|set| RingCapacity::measure(set, cpu)).collect::<Result<_, _>>()?,
        })
    }

    /// Reads a text of [`Capacity::to_json`], perhaps of another machine.
    ///
    /// # Errors
    /// [`EdgeError::Capacity`] for anything else.
    pub fn from_json(bytes: &[u8]) -> Result<Self, EdgeError> {
        let bad = |what: &str| EdgeError::Capacity { what: what.to_owned() };
        if bytes.len() > Self::MAX_BYTES {
            return Err(bad("the file is too long"));
        }
        let read: Self = serde_json::from_slice(bytes).map_err(|_| bad("it has another form"))?;
        let is_sound = |ring: &RingCapacity| {
            (0.0..=MOST_SECONDS).contains(&ring.chunk_s)
                && (1.0 / MOST_SECONDS..=MOST_SECONDS).contains(&ring.column_s)
                && (1.0..=1e6).contains(&ring.value_bytes)
                && (1.0..=1e6).contains(&ring.modulus_bits)
                && (1..=1 << 40).contains(&ring.column_memory_bytes)
        };
        match read.format {
            FORMAT if read.rings.iter().all(is_sound) => Ok(read),
            FORMAT => Err(bad("a figure is no time or size")),
            found => Err(bad(&format!("format {found}, this version reads {FORMAT}"))),
        }
    }

    /// As JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// The load of so many encoded columns over each parameter set, beside clear cells of so many bytes a row; `None` if one of the
    /// sets was not measured.
    pub fn load(&self, columns: &BTreeMap<String, u64>, clear_row_bytes: u64) -> Option<Load> {
        let clear_bytes = CLEAR_COPIES * u64::from(CHUNK_ROWS) * clear_row_bytes;
        let mut load = Load { memory_bytes: PROGRAM_BYTES + clear_bytes, ..Load::default() };
        let mut chunk_s = 0.0;
        for (params, count) in columns {
            let ring = self.rings.iter().find(|ring| ring.params == *params)?;
            chunk_s += ring.chunk_s + ring.column_s * *count as f64;
            load.columns += count;
            load.row_bytes += ring.value_bytes * *count as f64;
            let columns_bytes = ring.column_memory_bytes.saturating_mul(*count);
            load.memory_bytes = load.memory_bytes.saturating_add(columns_bytes);
        }
        load.rows_per_s = if chunk_s > 0.0 { f64::from(CHUNK_ROWS) / chunk_s } else { f64::INFINITY };
        Some(load)
    }

    /// Number of columns over one ring that fit into the device's memory; `None` if the system does not tell the memory.
    pub fn columns_that_fit(&self, ring: &RingCapacity) -> Option<u64> {
        Some(self.memory_bytes?.saturating_sub(PROGRAM_BYTES) / ring.column_memory_bytes.max(1))
    }
}

impl RingCapacity {
    fn measure(set: &'static ParamSet, cpu: Cpu) -> Result<Self, EdgeError> {
        let ring =
            Ring::new(set, cpu).map_err(|_| EdgeError::Internal { what: "a parameter set has no ring" })?;
        let (one, several) = (Example::new(&ring, set, 1)?, Example::new(&ring, set, COLUMNS)?);
        let (one, several) = medians(one, several)?;
        // Noise can make more columns seem faster, or masks seem to take less than nothing.
        let whole = several / COLUMNS as f64;
        let column_s = ((several - one) / (COLUMNS - 1) as f64).clamp(whole / 10.0, whole);
        let elements = CHUNK_ROWS.div_ceil(ring.degree() as u32);
        let chunk_bytes = masked_body_bytes(&ring, elements) as u64;
        Ok(Self {
            params: set.name().to_owned(),
            degree: ring.degree() as u64,
            modulus_bits: (set.log_q() * 10.0).round() / 10.0,
            chunk_s: (several - column_s * COLUMNS as f64).max(0.0),
            column_s,
            value_bytes: chunk_bytes as f64 / f64::from(CHUNK_ROWS),
            flush_bytes: masked_body_bytes(&ring, 1) as u64,
            // And the column's key.
            column_memory_bytes: u64::from(CHUNK_ROWS) * CELL_BYTES
                + CIPHERTEXT_COPIES * chunk_bytes
                + 8 * ring.poly_words() as u64,
        })
    }
}

/// A chunk of rows as text, with its encryptor.
struct Example {
    key: DeviceKey,
    text: Vec<u8>,
    encryptor: DeviceEncryptor,
}

impl Example {
    fn new(ring: &Ring, set: &'static ParamSet, columns: usize) -> Result<Self, EdgeError> {
        let key = made_up_key(ring, set, columns)?;
        Ok(Self { text: made_up_rows(&key.schema), encryptor: DeviceEncryptor::new(&key), key })
    }

    /// Seconds from the text to the part.
    fn seconds(&mut self) -> Result<f64, EdgeError> {
        let start = Instant::now();
        let mut feed = Feed::new(LineForm::Csv, &self.key.schema, Start::default());
        feed.push(&self.text)?;
        let rows = feed.rows(feed.records())?;
        let rows = rows.ok_or(EdgeError::Internal { what: "rows made up are none" })?;
        let stream = StreamId::from_bytes([0; 16]);
        let id = DeliveryId { device: self.key.id(), stream, number: 0 };
        black_box(self.encryptor.encrypt(&self.key, &rows, id)?);
        Ok(start.elapsed().as_secs_f64())
    }
}

/// Median seconds of both, in turns, so that other work of the machine slows both.
fn medians(mut one: Example, mut other: Example) -> Result<(f64, f64), EdgeError> {
    let (mut ones, mut others) = (Vec::new(), Vec::new());
    one.seconds()?;
    other.seconds()?;
    for _ in 0..RUNS {
        ones.push(one.seconds()?);
        others.push(other.seconds()?);
    }
    let median = |mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times.get(RUNS / 2).copied().unwrap_or_default()
    };
    Ok((median(ones), median(others)))
}

/// A device's key for a table that has no secrets.
fn made_up_key(ring: &Ring, set: &'static ParamSet, columns: usize) -> Result<DeviceKey, EdgeError> {
    let name = |at: u32| format!("c{at}");
    let schema = Schema {
        table: "t".to_owned(),
        columns: (0..columns as u32)
            .map(|at| Column {
                name: name(at),
                kind: ColumnType::Int { bits: 64 },
                nullable: false,
                range: None,
                protect: Protection::Encrypt,
                purposes: vec![Purpose::Sum],
                reason: String::new(),
                written: hush_plan::schema::Written::default(),
                join: None,
            })
            .collect(),
        null_tokens: Vec::new(),
        max_rows: u64::from(CHUNK_ROWS),
        approved: true,
        approved_by: String::new(),
        notes: Vec::new(),
        products: Vec::new(),
        moments: Vec::new(),
        cubes: Vec::new(),
        groups: Vec::new(),
        runs: Vec::new(),
        filters: Vec::new(),
        derived: Vec::new(),
        measures: Vec::new(),
        filter_factors: None,
        answer_keys: false,
        constant_keys: false,
        edge: true,
        erasable: false,
        allow: hush_plan::Shown::ALL,
        release: None,
    };
    let encoding = |at: u32| PrivateEncoding {
        public: Encoding {
            id: EncodingId(at),
            params: set.name().to_owned(),
            packing: Packing::Sum(Sum { t_log2: MESSAGE_LOG2 }),
        },
        quantity: Quantity::Value(name(at)),
        max_abs: (1_u32 << (MESSAGE_LOG2 - 2)).to_string(),
        secret_id: String::new(),
    };
    let encodings: Vec<_> = (0..columns as u32).map(encoding).collect();
    let seed = |at: u32| UniformSeed::from_bytes([at as u8; 32]);
    let public = (0..columns as u32)
        .map(|column| PublicColumn { column, key: seed(column).expand(ring, ExpandLabel::public_key()) });
    let key = SumPublicKey::new(ring, seed(u32::MAX), MESSAGE_LOG2, public.collect())?;
    let family = KeyFamily { params: set.name().to_owned(), key };
    let table = (schema, TableId::from_bytes([0; 16]), [0; 32]);
    Ok(DeviceKey::new(table, (&encodings, 0), vec![family], &[0; 32], |_| [0; 64]))
}

/// A chunk of rows as CSV.
fn made_up_rows(schema: &Schema) -> Vec<u8> {
    let header: Vec<&str> = schema.columns.iter().map(|column| column.name.as_str()).collect();
    let mut text = header.join(",") + "\n";
    for row in 0..CHUNK_ROWS {
        let value = |at: u32| (row * 7919 + at * 104_729) % (1 << (MESSAGE_LOG2 - 2));
        let cells: Vec<String> = (0..schema.columns.len() as u32).map(|at| value(at).to_string()).collect();
        text.push_str(&cells.join(","));
        text.push('\n');
    }
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_measured_is_read_again_and_adds_up() {
        let capacity = Capacity::measure().unwrap();
        assert_eq!(capacity.rings.len(), presets().len());
        let again = Capacity::from_json(capacity.to_json().as_bytes()).unwrap();
        assert_eq!(again.rings.len(), capacity.rings.len());
        let of = |params: &str, count| BTreeMap::from([(params.to_owned(), count)]);
        let (small, large) = ("n12_q2x46_sec128_v1", "n13_q3x46_sec128_v1");
        let (one, four) =
            (capacity.load(&of(small, 1), 0).unwrap(), capacity.load(&of(small, 4), 0).unwrap());
        // A header and a checksum beside the residues.
        assert!((23.0..23.1).contains(&one.row_bytes), "{one:?}");
        assert!((four.row_bytes - 4.0 * one.row_bytes).abs() < 1e-9);
        assert!(four.rows_per_s < one.rows_per_s && four.memory_bytes > one.memory_bytes);
        let both = BTreeMap::from([(small.to_owned(), 4), (large.to_owned(), 1)]);
        let (both, alone) = (capacity.load(&both, 0).unwrap(), capacity.load(&of(large, 1), 0).unwrap());
        assert_eq!(both.columns, 5);
        let together = 1.0 / (1.0 / four.rows_per_s + 1.0 / alone.rows_per_s);
        assert!((both.rows_per_s / together - 1.0).abs() < 1e-9);
        assert_eq!(capacity.load(&of("n1", 1), 0), None);
        assert!(capacity.load(&of(small, 1), 100).unwrap().memory_bytes > one.memory_bytes);
    }

    #[test]
    fn what_is_no_capacity_is_refused() {
        let capacity = Capacity::measure().unwrap();
        let text = capacity.to_json();
        let first = capacity.rings[0].column_s.to_string();
        let memory = capacity.rings[0].column_memory_bytes.to_string();
        let damaged = [
            String::new(),
            "{}".to_owned(),
            text.replace("\"format\": 1", "\"format\": 2"),
            text.replacen(&first, "-1.0", 1),
            text.replacen(&first, "5e-324", 1),
            text.replacen(&memory, "18446744073709551615", 1),
            text.replacen(&memory, "0", 1),
            text.replacen("\"threads\"", "\"fibres\"", 1),
            " ".repeat(Capacity::MAX_BYTES + 1),
        ];
        for damaged in damaged {
            assert_ne!(damaged, text);
            let error = Capacity::from_json(damaged.as_bytes()).unwrap_err();
            assert!(error.report().contains("hush-edge doctor"), "{error}");
        }
    }
}
