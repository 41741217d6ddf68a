// SPDX-License-Identifier: Apache-2.0
//! One version of a table: its manifest, its clear columns for the query engine, its parts, and the record of verified
//! bodies.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arrow::array::RecordBatch;
use bytes::Bytes;
use hush_params::ParamSet;
use hush_plan::EncodingId;
use hush_ring::Ring;
use hush_rlwe::{Body, BodyId, BodyKind, PowerKeys, UncheckedBody};
use hush_table::manifest::{KeyEntry, KeyKind, PartPlace};
use hush_table::part::{FileKind, Zones};
use hush_table::{
    CHUNK_ROWS, Digest, EncryptedPart, Manifest, PartEntry, Projection, SignedManifest, StoredCube,
    TableStore,
};

use crate::clear::ClearTable;
use crate::clear::held::{HeldColumns, PartColumns};
use crate::error::ExecError;
use crate::keys::{KeyCache, KeySet, LoadedKeys, PowerCache};
use crate::living::{DeadLists, Living};
use crate::machine::cpu;
use crate::parts::PartSet;

/// A table version. Lives as long as the table's manifest stays the same.
pub(crate) struct Snapshot {
    store: TableStore,
    signed: Arc<SignedManifest>,
    clear: Arc<ClearTable>,
    /// Bodies whose residues have been checked: for each part and encoding a bit per chunk of the part.
    conformed: Mutex<HashMap<(Digest, EncodingId), u64>>,
    keys: KeyCache,
    powers: PowerCache,
    zones: OnceLock<Option<Zones>>,
    dead: Arc<DeadLists>,
    /// The clear columns, where they are in memory.
    held: Option<HeldColumns>,
}

/// A part with its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartRef<'a> {
    pub(crate) place: PartPlace,
    pub(crate) entry: &'a PartEntry,
}

/// One encoded column in one chunk: the bytes, and the kind and identity that their body must have.
#[derive(Clone, Copy)]
pub(crate) struct StoredBody<'a> {
    pub(crate) blob: &'a [u8],
    pub(crate) kind: BodyKind,
    pub(crate) id: BodyId,
    /// The chunk's index in the table; the one in `id` may differ.
    pub(crate) index: u32,
}

impl Snapshot {
    /// A version whose clear columns are in the store.
    ///
    /// # Errors
    /// As [`ClearTable::new`].
    pub(crate) fn new(store: TableStore, signed: SignedManifest) -> Result<Self, ExecError> {
        Self::of(store, signed, None)
    }

    /// A version whose clear columns are in memory, a batch for each chunk.
    ///
    /// # Errors
    /// As [`HeldColumns::new`] and [`ClearTable::new`].
    pub(crate) fn held(
        store: TableStore,
        signed: SignedManifest,
        chunks: Vec<RecordBatch>,
    ) -> Result<Self, ExecError> {
        let held = HeldColumns::new(signed.manifest(), chunks)?;
        Self::of(store, signed, Some(held))
    }

    fn of(store: TableStore, signed: SignedManifest, held: Option<HeldColumns>) -> Result<Self, ExecError> {
        let signed = Arc::new(signed);
        let all = PartSet::from(0..part_count(&signed));
        let dead = Arc::new(DeadLists::new(store.clone()));
        let clear = Arc::new(ClearTable::new(&store, &signed, &all, &dead, held.as_ref())?);
        Ok(Self {
            store,
            clear,
            signed,
            conformed: Mutex::default(),
            keys: KeyCache::default(),
            powers: PowerCache::default(),
            zones: OnceLock::new(),
            dead,
            held,
        })
    }

    /// Digest of the manifest.
    pub(crate) fn digest(&self) -> Digest {
        self.signed.digest()
    }

    /// The manifest.
    pub(crate) fn manifest(&self) -> &Manifest {
        self.signed.manifest()
    }

    /// All parts.
    pub(crate) fn all_parts(&self) -> PartSet {
        PartSet::from(0..part_count(&self.signed))
    }

    /// The clear columns of some parts.
    ///
    /// # Errors
    /// [`ExecError::Internal`] if the query engine refuses them.
    pub(crate) fn clear(&self, parts: &PartSet) -> Result<Arc<ClearTable>, ExecError> {
        if *parts == self.all_parts() {
            return Ok(self.clear.clone());
        }
        Ok(Arc::new(ClearTable::new(&self.store, &self.signed, parts, &self.dead, self.held.as_ref())?))
    }

    /// The parts in row order.
    pub(crate) fn parts(&self) -> Vec<PartRef<'_>> {
        self.manifest().placed_parts().map(|(place, entry)| PartRef { place, entry }).collect()
    }

    /// Keys for the powers of a secret, loaded once.
    ///
    /// # Errors
    /// As [`PowerCache::get`].
    pub(crate) fn power_keys(
        &self,
        ring: (&Ring, u64),
        degree: usize,
        memory_bytes: u64,
    ) -> Result<Arc<PowerKeys>, ExecError> {
        self.powers.get((&self.store, self.manifest()), ring, degree, memory_bytes)
    }

    /// The keys for conditions with encrypted constants over a chain of this name, with this plaintext modulus, loaded once.
    ///
    /// # Errors
    /// [`ExecError::NoKeys`] where there are none, or rows under other secrets than theirs; otherwise as [`KeyCache::get`].
    pub(crate) fn constant_keys(
        &self,
        (params, unit): (&str, u64),
        memory_bytes: u64,
    ) -> Result<Arc<LoadedKeys>, ExecError> {
        let manifest = self.manifest();
        // They are of the first domain's secret.
        let is_of_first = manifest.domains().iter().all(|domain| *domain == 0);
        let is_meant = |entry: &&KeyEntry| {
            entry.params == params && entry.unit == unit && entry.kind == KeyKind::Relinearisation
        };
        let found = manifest.keys.iter().find(is_meant).filter(|_| is_of_first);
        let secret = found.ok_or(ExecError::NoKeys)?.secret;
        self.keys(&KeySet { params: params.to_owned(), unit, secret }, memory_bytes)
    }

    /// Evaluation keys over a chain, loaded once.
    ///
    /// # Errors
    /// As [`KeyCache::get`].
    pub(crate) fn keys(&self, set: &KeySet, memory_bytes: u64) -> Result<Arc<LoadedKeys>, ExecError> {
        self.keys.get(&self.store, self.manifest(), set, memory_bytes)
    }

    /// The bounds of clear columns by part, if the table has a zone file, read once.
    ///
    /// # Errors
    /// [`ExecError::Corrupt`], [`ExecError::Io`].
    pub(crate) fn zones(&self) -> Result<Option<&Zones>, ExecError> {
        if let Some(zones) = self.zones.get() {
            return Ok(zones.as_ref());
        }
        let zones = self.store.zones(self.manifest())?;
        Ok(self.zones.get_or_init(|| zones).as_ref())
    }

    /// The rows of a part that count.
    ///
    /// # Errors
    /// [`ExecError::Corrupt`], [`ExecError::Io`].
    pub(crate) fn living(&self, part: PartRef<'_>) -> Result<Living, ExecError> {
        Ok(self.dead.living(part.entry)?)
    }

    /// A cube of a part.
    ///
    /// # Errors
    /// [`ExecError::Corrupt`], also for a part that does not have it; [`ExecError::Io`].
    pub(crate) fn cube(&self, part: PartRef<'_>, number: u32) -> Result<StoredCube, ExecError> {
        self.store.cube(part.entry, number)?.ok_or(ExecError::Corrupt { code: "HUSH-T033" })
    }

    /// The sealed index of a sorted run of a part.
    ///
    /// # Errors
    /// [`ExecError::Corrupt`], also for a part that does not have it; [`ExecError::Io`].
    pub(crate) fn run_index(&self, part: PartRef<'_>, number: u32) -> Result<Bytes, ExecError> {
        Ok(self.store.run_index(part.entry, number)?)
    }

    /// Blocks of a sorted run of a part, by rising places.
    ///
    /// # Errors
    /// As [`Snapshot::run_index`].
    pub(crate) fn run_blocks(
        &self,
        part: PartRef<'_>,
        number: u32,
        places: &[u32],
    ) -> Result<Bytes, ExecError> {
        Ok(self.store.run_blocks(part.entry, number, places)?)
    }

    /// Opens the clear file of a part, or takes its columns from memory; `None` if the table has no clear columns.
    ///
    /// # Errors
    /// [`ExecError::Corrupt`], [`ExecError::Io`].
    pub(crate) fn clear_part(&self, part: PartRef<'_>) -> Result<Option<PartColumns>, ExecError> {
        match (&part.entry.clear, &self.held) {
            (None, _) => Ok(None),
            (Some(_), None) => Ok(Some(self.store.open_clear(self.manifest(), part.entry)?.into())),
            (Some(_), Some(held)) => {
                let missing = ExecError::Internal { place: "columns in memory" };
                held.part(part.place).ok_or(missing).map(Some)
            }
        }
    }

    /// Opens the encrypted file of a part.
    ///
    /// # Errors
    /// [`ExecError::Corrupt`], [`ExecError::Io`].
    pub(crate) fn encrypted_part(&self, part: PartRef<'_>) -> Result<EncryptedPart, ExecError> {
        Ok(self.store.open_encrypted(self.manifest(), part.place, part.entry)?)
    }

    /// Whether the encrypted file of a part looks as it did when its digest was checked.
    pub(crate) fn encrypted_looks_unchanged(&self, part: PartRef<'_>) -> bool {
        part.entry.encrypted.is_some_and(|file| self.store.looks_unchanged(FileKind::Encrypted, &file))
    }

    /// The body that some bytes hold. The first time, a snapshot checks every residue, later only the header: the digest
    /// of the file is compared each time anyway.
    ///
    /// # Errors
    /// [`ExecError::Corrupt`] if it is not that body.
    pub(crate) fn body<'b>(
        &self,
        part: PartRef<'_>,
        ring: &Ring,
        stored: StoredBody<'b>,
    ) -> Result<Body<'b>, ExecError> {
        let StoredBody { blob, kind, id, index } = stored;
        let damaged = |_| ExecError::Corrupt { code: "HUSH-T033" };
        let file = part.entry.encrypted.map_or(Digest::from_bytes([0; 32]), |file| file.digest);
        let key = (file, EncodingId(id.column));
        let bit = 1_u64 << (index.saturating_sub(part.place.first_chunk) % u64::BITS);
        let known = |map: &HashMap<_, u64>| map.get(&key).is_some_and(|bits| bits & bit != 0);
        if known(&self.conformed.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Body::from_verified(blob, ring, kind, id).map_err(damaged);
        }
        let body =
            UncheckedBody::decode(blob).and_then(|body| body.conform(ring, kind, id)).map_err(damaged)?;
        *self.conformed.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default() |= bit;
        Ok(body)
    }
}

/// Number of parts of a table. Manifests are far below the limit of numbers.
fn part_count(signed: &SignedManifest) -> u32 {
    u32::try_from(signed.manifest().parts.len()).unwrap_or(u32::MAX)
}

/// Encoded and sealed columns of some chunks, with their seeds.
pub(crate) fn projection(
    (columns, sealed): (&[EncodingId], &[u32]),
    chunks: impl Iterator<Item = u32>,
) -> Projection {
    let encoded = Projection::encodings(columns.iter().copied());
    Projection { chunks: Some(chunks.collect()), sealed: sealed.to_vec(), ..encoded }
}

/// Number of chunks of a part that one thread reads in a row, each just before it is used. Few, so that all threads have
/// some. More than one, because each such read passes over the headers of all chunks before.
pub(crate) fn chunks_at_once(chunks: usize, threads: usize) -> usize {
    chunks.div_ceil(4 * threads).clamp(1, 8)
}

impl PartRef<'_> {
    /// Rows of a chunk of the part.
    pub(crate) fn rows_of(&self, chunk: u32) -> u32 {
        let offset = u64::from(chunk.saturating_sub(self.place.first_chunk));
        let before = offset * u64::from(CHUNK_ROWS);
        self.entry.rows.saturating_sub(before).min(u64::from(CHUNK_ROWS)) as u32
    }

    /// Number in the table of the first row of a chunk.
    pub(crate) fn first_row_of(&self, chunk: u32) -> u64 {
        let offset = u64::from(chunk.saturating_sub(self.place.first_chunk));
        self.place.first_row + offset * u64::from(CHUNK_ROWS)
    }
}

/// The ring of a parameter set, with this machine's kernels.
///
/// # Errors
/// [`ExecError::Internal`] if the processor's kernels cannot be chosen.
pub(crate) fn ring(set: &'static ParamSet) -> Result<Ring, ExecError> {
    Ring::new(set, cpu()?).map_err(|_| ExecError::Internal { place: "ring" })
}
