// SPDX-License-Identifier: Apache-2.0
//! From a file to an encrypted table: read, encrypt and write chunks in a pipeline of bounded memory.
//!
//! Of a protected column only ciphertext is written, and there are no temporary files. The manifest comes last, so an
//! interrupted run leaves no table. Run again, the same command goes on behind the last part that is stored ([`journal`]), with fresh
//! seeds.

mod journal;
mod line;
mod memory;
#[cfg(test)]
mod parted;
mod rows;

use std::sync::Arc;

use hush_encode::clear_schema;
use hush_keys::{OwnerSeed, RootName, TableRoots};
use hush_plan::{PrivateEncoding, Schema};
use hush_table::source::Source;
use hush_table::{
    CHUNK_ROWS, EncryptionId, PartEntry, SignedManifest, TableError, TableId, TableIdentity, TableLayout,
    TableStore, TableWriter,
};

use self::journal::{Journal, Recorder};
pub(crate) use self::line::Made;
pub(crate) use self::memory::Flow;
use self::memory::Need;
pub(crate) use self::memory::{PROGRAM_BYTES, TEXT_BYTES};
#[cfg(test)]
pub(crate) use self::parted::encrypt_parts;
pub(crate) use self::rows::{Rows, check_memory, flow_of};
use crate::chunk::{ChunkPlan, Encrypted};
use crate::error::ClientError;
use crate::pins::Pins;
use crate::prepare::Preparer;
use crate::private::PrivateHalf;
use crate::roots::{DomainKeys, open_roots, seal_roots};
use crate::scheme::Scheme;
use crate::table_keys;
use crate::tokens::Tokens;
use hush_remote::Progress;

/// Everything that one encryption needs.
pub(crate) struct Encryption<'a> {
    /// The data.
    pub(crate) source: &'a Source,
    /// Schema and encodings.
    pub(crate) half: &'a PrivateHalf,
    /// The key.
    pub(crate) owner: &'a OwnerSeed,
    /// The store that takes the table.
    pub(crate) store: &'a TableStore,
    /// Threads.
    pub(crate) pool: &'a rayon::ThreadPool,
    /// Most bytes that the process may take; `None` for as many as the system allows.
    pub(crate) memory_limit: Option<u64>,
    /// The scheme of encoded columns; `NoOp` is for tables in memory alone.
    pub(crate) scheme: &'a dyn Scheme,
    /// The version that may be replaced; `None` if there was no table.
    pub(crate) replaces: Option<u64>,
    /// The versions that were seen; without them, no journal is kept.
    pub(crate) pins: Option<&'a Pins>,
}

impl Encryption<'_> {
    /// Encrypts the whole file as version 1 of a new table, or as the next version of the present one.
    ///
    /// # Cost
    /// Memory: a few chunks per thread and three or five times a part, for any number of rows; less under a limit.
    ///
    /// # Errors
    /// Faults of the data, the disk or the schema; the place then keeps its contents. Memory or disk that cannot suffice is refused
    /// before anything is read, and so is another encryption that was interrupted here. [`ClientError::Changed`] if the place has another version by now than the one that may be replaced.
    pub(crate) fn run(&self, progress: &dyn Progress) -> Result<SignedManifest, ClientError> {
        let schema = &self.half.schema;
        let fresh = self.identity()?;
        let journal = self.pins.map(|pins| Journal::of(self, pins, &fresh)).transpose()?.flatten();
        let (half, identity, stored) = match &journal {
            Some(journal) => (&journal.half.clone(), journal.identity(fresh), journal.parts()),
            None => (self.half, fresh, Vec::new()),
        };
        let (table_id, encryption) = (*identity.table_id.as_bytes(), *identity.encryption.as_bytes());
        let of_table = self.owner.of_table(table_id, encryption);
        let sealed_roots = match &journal {
            Some(journal) => journal.sealed_roots(),
            None if schema.erasable => {
                // In the key file before anything is encrypted under it.
                self.owner.keep_roots(&[RootName { table_id, encryption }], None)?;
                Vec::new()
            }
            None => seal_roots(&TableRoots::default().with_domain(FIRST_DOMAIN)?, of_table)?,
        };
        let roots = open_roots(&sealed_roots, of_table)?;
        let roots = roots.with_kept(self.owner, table_id, [(FIRST_DOMAIN, encryption)]);
        if schema.erasable && !roots.is_kept(FIRST_DOMAIN) {
            return Err(ClientError::NoRoot { place: self.store.place() });
        }
        let of_domain = roots.of_table(self.owner, FIRST_DOMAIN, table_id, encryption);
        let keys = DomainKeys::derive(of_domain, half, &half.first_numbered())?;
        let made = table_keys::made(&keys.columns, schema, identity.encryption)?;
        let plan = ChunkPlan::new(schema, &keys.columns, &keys.seals, self.scheme).with_prepared(half);
        let plan = plan.with_tokens(Arc::new(Tokens::of(self.owner, schema)));
        let maker = plan.prepare.maker(of_domain.cube_pads(), of_domain.run_seal());
        let layout = TableLayout {
            clear: clear_schema(schema),
            encodings: half.encodings.iter().map(|encoding| encoding.public.clone()).collect(),
            sealed_columns: plan.sealed.len() as u32,
        };
        let rows = Rows { source: self.source, schema, pool: self.pool, memory_limit: self.memory_limit };
        let flow = rows.flow(&plan)?;
        self.check_disk(&plan, &stored)?;
        // Rows of one chunk make one part, of which no journal would be written.
        let is_followed =
            journal.is_some() || self.source.rows().is_none_or(|rows| rows > u64::from(CHUNK_ROWS));
        let recorder = |identity| {
            let secrets = (half, sealed_roots.as_slice());
            Recorder::new(identity, of_table, secrets, self.source, journal, self.store.place())
        };
        let mut recorder = self.pins.filter(|_| is_followed).map(|_| recorder(&identity));
        // Looks once more, under the lock that every writer takes.
        let begun =
            TableWriter::resume(self.store, identity, layout, stored).map_err(|error| self.changed(error));
        let writer = begun?.with_record().with_roots(sealed_roots.clone());
        let writer = writer.with_part_bytes(flow.part_bytes).with_parts_in_flight(flow.parts_in_flight);
        let mut writer = writer.with_prepared(maker.hook());
        let written = made
            .into_iter()
            .try_for_each(|(keys, object)| Ok(writer.put_keys(keys, object)?))
            .and_then(|()| {
                self.write_chunks(&rows, (&plan, &maker), flow, &mut writer, recorder.as_mut(), progress)
            });
        if let Err(error) = written {
            // Neither a disk or a store that fails nor other data take back what is stored.
            if matches!(
                error,
                ClientError::Unfinished { .. }
                    | ClientError::Table(TableError::Io { .. } | TableError::Store { .. })
            ) {
                writer.suspend();
            }
            return Err(error);
        }
        let sealed_schema = half.seal(of_table)?;
        Ok(writer.finish(sealed_schema, |bytes| self.owner.sign(bytes))?)
    }

    fn write_chunks(
        &self,
        rows: &Rows<'_>,
        (plan, maker): (&ChunkPlan<'_>, &Preparer),
        flow: Flow,
        writer: &mut TableWriter,
        mut recorder: Option<&mut Recorder>,
        progress: &dyn Progress,
    ) -> Result<(), ClientError> {
        let stored = recorder.as_mut().map(|recorder| recorder.begin(writer));
        rows.encrypt(plan, flow, stored, progress, |Made { fingerprint, encrypted, .. }| {
            if let (Some(recorder), Some(fingerprint)) = (&mut recorder, fingerprint) {
                recorder.chunk(fingerprint)?;
            }
            if let Some(Encrypted { clear, chunk, prepared }) = encrypted {
                maker.add(prepared);
                writer.push(&clear, chunk)?;
                recorder.as_mut().map_or(Ok(()), |recorder| recorder.note(writer))?;
            }
            Ok(())
        })?;
        recorder.map_or(Ok(()), |recorder| recorder.end())
    }

    /// Refuses a table whose encrypted columns alone will not fit the disk. An estimated number of rows is cut by a fifth.
    fn check_disk(&self, plan: &ChunkPlan<'_>, stored: &[PartEntry]) -> Result<(), ClientError> {
        let (Some(rows), Some(free)) = (self.source.estimated_rows(), self.store.free_bytes()) else {
            return Ok(());
        };
        let surely = if self.source.rows().is_some() { rows } else { rows - rows / 5 };
        let chunks = (surely / u64::from(CHUNK_ROWS))
            .saturating_sub(stored.iter().map(|part| u64::from(part.chunks)).sum());
        let needed = chunks.saturating_mul(Need::stored_bytes(plan));
        if needed > free {
            return Err(ClientError::DiskSpace { place: self.store.place(), needed, free });
        }
        Ok(())
    }

    /// The error for a writer's refusal: another version, or a first one, has come since the place was looked at.
    fn changed(&self, error: hush_table::TableError) -> ClientError {
        match error {
            hush_table::TableError::OtherTable { .. } | hush_table::TableError::StaleVersion { .. } => {
                ClientError::Changed { place: self.store.place() }
            }
            other => other.into(),
        }
    }

    /// The identity of a new table, or of the next version of the present one, which must be this key's and replaceable.
    fn identity(&self) -> Result<TableIdentity, ClientError> {
        let verifying_key = self.owner.verifying_key().to_bytes();
        let table = self.half.schema.table.clone();
        match self.store.load() {
            Ok(present) => {
                present.require_key(&verifying_key)?;
                let present = present.manifest();
                if self.replaces != Some(present.version) {
                    return Err(ClientError::Changed { place: self.store.place() });
                }
                let version = present.version.saturating_add(1);
                // Never the present encryption's identifier: numbers published from it must not open the next.
                let encryption = new_encryption()?;
                Ok(TableIdentity { table, table_id: present.table_id, encryption, version, verifying_key })
            }
            Err(hush_table::TableError::NoTable { .. }) => new_identity(self.owner, table),
            Err(error) => Err(error.into()),
        }
    }
}

/// The domain of all rows that an encryption brings.
const FIRST_DOMAIN: u32 = 0;

/// The identity of a new table.
///
/// # Errors
/// [`ClientError::Randomness`].
pub(crate) fn new_identity(owner: &OwnerSeed, table: String) -> Result<TableIdentity, ClientError> {
    let mut id = [0_u8; 16];
    hush_ring::os_random(&mut id)?;
    let verifying_key = owner.verifying_key().to_bytes();
    let (table_id, encryption) = (TableId::from_bytes(id), new_encryption()?);
    Ok(TableIdentity { table, table_id, encryption, version: 1, verifying_key })
}

/// The identifier of new secrets.
///
/// # Errors
/// [`ClientError::Randomness`].
pub(crate) fn new_encryption() -> Result<EncryptionId, ClientError> {
    let mut id = [0_u8; 16];
    hush_ring::os_random(&mut id)?;
    Ok(EncryptionId::from_bytes(id))
}

/// Encodings of `schema` for a new table: fresh secret ids.
///
/// # Errors
/// [`ClientError::Plan`] if no parameters serve, [`ClientError::Randomness`].
pub(crate) fn plan_encodings(
    schema: &Schema,
    needs: &hush_plan::Needs,
    rows: u64,
) -> Result<Vec<PrivateEncoding>, ClientError> {
    let mut failed = None;
    let mut new_id = || {
        crate::columns::new_secret_id().unwrap_or_else(|error| {
            failed = Some(error);
            String::new()
        })
    };
    let encodings = hush_plan::plan_encodings(schema, needs, rows, &mut new_id)?;
    failed.map_or(Ok(encodings), Err)
}
