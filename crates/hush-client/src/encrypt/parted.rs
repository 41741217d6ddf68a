// SPDX-License-Identifier: Apache-2.0
//! For tests: a small table in many parts, as large ones have them.

use hush_encode::{clear_rows, clear_schema};
use hush_keys::{Encryptor, OwnerSeed};
use hush_table::manifest::{BODY_FORMAT, DeviceRules, Lengths};
use hush_table::part::{ClearPartWriter, EncryptedPartWriter};
use hush_table::source::Source;
use hush_table::{CHUNK_ROWS, ClearColumn, Manifest, PartEntry, SignedManifest, TableStore};

use super::new_identity;
use crate::chunk::{ChunkPlan, seals_of};
use crate::columns::ColumnKeys;
use crate::error::ClientError;
use crate::private::PrivateHalf;
use crate::scheme::Scheme;
use crate::tokens::Tokens;

/// Encrypts each source as one part of a new table. None has more rows than a chunk.
pub(crate) fn encrypt_parts(
    sources: &[Source],
    half: &PrivateHalf,
    owner: &OwnerSeed,
    store: &TableStore,
    scheme: &'static dyn Scheme,
) -> Result<(), ClientError> {
    let schema = &half.schema;
    let identity = new_identity(owner, schema.table.clone())?;
    let of_table = owner.of_table(*identity.table_id.as_bytes(), *identity.encryption.as_bytes());
    let keys = ColumnKeys::derive(of_table, &half.encodings)?;
    let seals = seals_of(of_table, half.cipher, half.first_numbered());
    let sealed: Vec<u32> = seals.iter().map(|seal| seal.number).collect();
    let plan = ChunkPlan::new(schema, &keys, &seals, scheme);
    let clear = clear_schema(schema);
    let ids: Vec<_> = half.encodings.iter().map(|encoding| encoding.public.id).collect();
    let (mut encryptor, mut parts) = (Encryptor::new(), Vec::new());
    for (source, index) in sources.iter().zip(0..) {
        let mut batches = source.typed(schema)?;
        let batch = batches.next().ok_or(ClientError::Internal { what: "a part has no rows" })??;
        assert!(batches.next().is_none() && batch.rows <= CHUNK_ROWS as usize);
        let mut entry = PartEntry {
            rows: batch.rows as u64,
            chunks: 1,
            clear: None,
            encrypted: None,
            delivery: None,
            append: None,
            first_chunk: None,
            dead: None,
            cubes: None,
            runs: None,
            domain: 0,
            generation: 0,
        };
        if !ids.is_empty() || !plan.sealed.is_empty() {
            let mut writer = EncryptedPartWriter::new(&ids, &sealed, index);
            let chunks =
                plan.encrypt(&mut encryptor, index, (std::slice::from_ref(&batch), &[Vec::new()]))?;
            chunks.into_iter().try_for_each(|chunk| writer.push(chunk))?;
            let part = writer.finish()?;
            store.put_part(&part)?;
            entry.encrypted = Some(part.file);
        }
        if !clear.fields().is_empty() {
            let mut writer = ClearPartWriter::new(&clear)?;
            let tokens = Tokens::of(owner, schema).of_rows(schema, &batch)?;
            writer.push(&clear_rows(schema, &clear, &batch, &tokens)?)?;
            let part = writer.finish()?;
            store.put_part(&part)?;
            entry.clear = Some(part.file);
        }
        parts.push(entry);
    }
    let columns = clear.fields().iter().map(|field| ClearColumn::new(field.name(), field.data_type()));
    let manifest = Manifest {
        format: BODY_FORMAT,
        table: identity.table,
        table_id: identity.table_id,
        encryption: identity.encryption,
        domain: 0,
        earlier: Vec::new(),
        rotating: false,
        version: 1,
        key_id: owner.key_id().to_string(),
        predecessors: Vec::new(),
        rows: parts.iter().map(|part: &PartEntry| part.rows).sum(),
        chunk_rows: CHUNK_ROWS,
        clear_columns: columns.collect::<Result<_, _>>()?,
        encodings: half.encodings.iter().map(|encoding| encoding.public.clone()).collect(),
        sealed_columns: plan.sealed.len() as u32,
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
        sealed_schema: half.seal(of_table)?,
    };
    let signed = SignedManifest::sign(manifest, &identity.verifying_key, |bytes| owner.sign(bytes))?;
    Ok(store.commit(&signed)?)
}
