// SPDX-License-Identifier: Apache-2.0
//! New files of clear columns for the parts of an altered table.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use hush_plan::schema::alter::Alteration;
use hush_table::manifest::ClearColumn;
use hush_table::{ClearColumns, Digest, FileKind, Manifest, PartBounds, PartEntry, PartFile, TableStore};

use crate::destination::Destination;
use crate::error::ClientError;
use crate::place::{Opened, TablePlace};

/// Stores files of clear columns. It remembers what it has stored, for a version behind another writer's.
pub(super) struct ClearFiles<'a> {
    place: TablePlace<'a>,
    destination: &'a Destination<'a>,
    done: HashMap<[Option<Digest>; 2], (Option<PartFile>, PartBounds)>,
}

impl<'a> ClearFiles<'a> {
    pub(super) fn new(place: TablePlace<'a>, destination: &'a Destination<'a>) -> Self {
        Self { place, destination, done: HashMap::new() }
    }

    /// Gives the parts of `next` clear columns as the altered schema has them; nothing where these are the same. Gives how many parts got a new
    /// file.
    ///
    /// # Errors
    /// Those of reading and storing.
    pub(super) fn put(
        &mut self,
        present: &Opened,
        next: &mut Manifest,
        schema: &SchemaRef,
        alteration: &Alteration,
    ) -> Result<u64, ClientError> {
        let columns = schema.fields().iter().map(|field| ClearColumn::new(field.name(), field.data_type()));
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        if columns == next.clear_columns {
            return Ok(0);
        }
        let manifest = present.manifest.manifest();
        let columns_of_parts =
            ClearColumns { schema: Arc::clone(schema), before: origins(manifest, schema, alteration) };
        let mut bounds = PartBounds::none(schema);
        for (before, entry) in manifest.parts.iter().zip(&mut next.parts) {
            let (file, of_part) = self.of_part(manifest, before, &columns_of_parts)?;
            entry.clear = file;
            bounds.append(of_part)?;
        }
        next.clear_columns = columns;
        next.move_lengths(&columns_of_parts.before);
        self.destination.store().put_bounds(next, bounds)?;
        self.destination.send_files(next.zones.map(|file| (FileKind::Zones, file)))?;
        Ok(next.parts.len() as u64)
    }

    fn of_part(
        &mut self,
        manifest: &Manifest,
        entry: &PartEntry,
        columns: &ClearColumns,
    ) -> Result<(Option<PartFile>, PartBounds), ClientError> {
        let name = [entry.clear, entry.encrypted].map(|file| file.map(|file| file.digest));
        if let Some(done) = self.done.get(&name) {
            return Ok(done.clone());
        }
        let store = self.destination.store();
        let (file, bounds) = match (self.place, entry.clear) {
            (TablePlace::Server(server, table), Some(file)) => {
                let from = TableStore::memory();
                from.put_received(FileKind::Clear, file, server.part(table, FileKind::Clear, file)?.into())?;
                store.put_clear_anew(&from, (manifest, entry), columns)?
            }
            _ => store.put_clear_anew(store, (manifest, entry), columns)?,
        };
        self.destination.send_files(file.map(|file| (FileKind::Clear, file)))?;
        self.done.insert(name, (file, bounds.clone()));
        Ok((file, bounds))
    }
}

/// For each clear column the one before that it is.
fn origins(manifest: &Manifest, schema: &SchemaRef, alteration: &Alteration) -> Vec<Option<usize>> {
    let now: Vec<Option<String>> =
        manifest.clear_columns.iter().map(|column| alteration.name_after(&column.name)).collect();
    let origin = |name: &String| now.iter().position(|now| now.as_ref() == Some(name));
    schema.fields().iter().map(|field| origin(field.name())).collect()
}
