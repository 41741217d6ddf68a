// SPDX-License-Identifier: Apache-2.0
//! The rows of a part that count: all but the deleted ones.
//!
//! Expressions see living rows alone: they cannot fail on a deleted one, and its key makes no group. What they say of the living rows is then
//! spread over all rows of the chunk, whose ciphertexts have a place for each.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{BooleanArray, RecordBatch};
use arrow::buffer::BooleanBuffer;
use arrow::compute::filter_record_batch;
use hush_table::{DeadRows, Digest, PartEntry, TableError, TableStore};

use crate::error::ExecError;

/// The lists of deleted rows of a table version, each read once.
#[derive(Debug)]
pub(crate) struct DeadLists {
    store: TableStore,
    known: Mutex<HashMap<Digest, Arc<DeadRows>>>,
}

/// The rows of a part that count.
#[derive(Clone, Debug)]
pub(crate) struct Living(Option<Arc<DeadRows>>);

impl DeadLists {
    pub(crate) fn new(store: TableStore) -> Self {
        Self { store, known: Mutex::default() }
    }

    /// The rows of a part that count.
    ///
    /// # Errors
    /// As [`TableStore::dead_rows`].
    pub(crate) fn living(&self, entry: &PartEntry) -> Result<Living, TableError> {
        let Some(dead) = entry.dead else { return Ok(Living(None)) };
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(list) = known().get(&dead.file.digest) {
            return Ok(Living(Some(list.clone())));
        }
        let list = self.store.dead_rows(entry)?.map(Arc::new);
        if let Some(list) = &list {
            known().insert(dead.file.digest, list.clone());
        }
        Ok(Living(list))
    }

    /// Whether reading a list is a request.
    pub(crate) fn is_remote(&self) -> bool {
        !self.store.is_directory()
    }
}

impl Living {
    /// The deleted rows, if there are any.
    pub(crate) fn dead(&self) -> Option<&DeadRows> {
        self.0.as_deref()
    }

    /// The living rows of a chunk of the part, counted from 0; `None` for all.
    pub(crate) fn of_chunk(&self, chunk: usize) -> Option<BooleanBuffer> {
        self.dead()?.living_of_chunk(chunk)
    }

    /// The living rows of all chunks of a part.
    ///
    /// # Errors
    /// As [`living_rows`].
    pub(crate) fn rows_of(&self, chunks: Vec<RecordBatch>) -> Result<Vec<RecordBatch>, ExecError> {
        if self.0.is_none() {
            return Ok(chunks);
        }
        let chunks = chunks.iter().enumerate();
        chunks
            .map(|(index, chunk)| Ok(living_rows(self.of_chunk(index).as_ref(), chunk)?.into_owned()))
            .collect()
    }
}

/// The living rows of a chunk, of which `living` has a bit each.
///
/// # Errors
/// [`ExecError::Internal`] if they are another number.
pub(crate) fn living_rows<'a>(
    living: Option<&BooleanBuffer>,
    chunk: &'a RecordBatch,
) -> Result<Cow<'a, RecordBatch>, ExecError> {
    let Some(living) = living else { return Ok(Cow::Borrowed(chunk)) };
    let internal = || ExecError::Internal { place: "living rows" };
    if living.len() != chunk.num_rows() {
        return Err(internal());
    }
    let living = BooleanArray::new(living.clone(), None);
    filter_record_batch(chunk, &living).map(Cow::Owned).map_err(|_| internal())
}

/// Values of the living rows of a chunk at the places of all its rows, and `dead` at the others.
pub(crate) fn spread<T: Copy>(living: &BooleanBuffer, values: &[T], dead: T) -> Vec<T> {
    let mut values = values.iter().copied();
    living.iter().map(|lives| if lives { values.next().unwrap_or(dead) } else { dead }).collect()
}
