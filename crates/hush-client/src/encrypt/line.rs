// SPDX-License-Identifier: Apache-2.0
//! Turns rows of a file into chunks of a table, on any thread.

use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Mutex, PoisonError};

use arrow::datatypes::SchemaRef;
use hush_keys::Encryptor;
use hush_plan::Schema;
use hush_table::source::{ChunkTyper, RawChunk, SourceError};
use rayon::Scope;

use crate::chunk::{ChunkPlan, Encrypted};
use crate::error::ClientError;

/// Types and encrypts chunks.
pub(super) struct Line<'a> {
    plan: &'a ChunkPlan<'a>,
    schema: &'a Schema,
    clear: &'a SchemaRef,
    typer: ChunkTyper,
    /// Whether a journal is kept, and how many chunks are stored.
    journal: Option<u32>,
    /// Workers that no thread uses at the moment; at most one for each thread.
    idle: Mutex<Vec<Worker>>,
}

/// The buffers of one thread.
struct Worker {
    typer: ChunkTyper,
    encryptor: Encryptor,
}

/// What has become of a chunk.
pub(crate) struct Made {
    pub(crate) rows: usize,
    /// The fingerprint of its rows, where a journal is kept.
    pub(crate) fingerprint: Option<u128>,
    /// `None` if it is stored.
    pub(crate) encrypted: Option<Encrypted>,
}

/// A chunk that a thread works on.
pub(super) struct UnderWay(Receiver<Result<Made, ClientError>>);

impl<'a> Line<'a> {
    pub(super) fn new(
        plan: &'a ChunkPlan<'a>,
        schema: &'a Schema,
        clear: &'a SchemaRef,
        typer: ChunkTyper,
        journal: Option<u32>,
    ) -> Self {
        Self { plan, schema, clear, typer, journal, idle: Mutex::default() }
    }

    /// Lets a thread of `scope` make chunk `index`, or pass on the error of reading it.
    pub(super) fn begin<'s>(
        &'s self,
        scope: &Scope<'s>,
        index: u32,
        raw: Result<RawChunk, SourceError>,
    ) -> UnderWay {
        let (sender, receiver) = sync_channel(1);
        // Nobody waits any more if an earlier chunk failed.
        scope
            .spawn(move |_| drop(sender.send(raw.map_err(Into::into).and_then(|raw| self.make(index, raw)))));
        UnderWay(receiver)
    }

    fn make(&self, index: u32, raw: RawChunk) -> Result<Made, ClientError> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = idle().pop();
        let mut worker =
            waiting.unwrap_or_else(|| Worker { typer: self.typer.another(), encryptor: Encryptor::new() });
        let batch = worker.typer.read(raw)?;
        let fingerprint = self.journal.map(|_| batch.fingerprint());
        let is_stored = self.journal.is_some_and(|stored| index < stored);
        let encrypted = if is_stored {
            None
        } else {
            Some(self.plan.make(&mut worker.encryptor, (index, &batch), (self.schema, self.clear), false)?)
        };
        idle().push(worker);
        Ok(Made { rows: batch.rows, fingerprint, encrypted })
    }
}

impl UnderWay {
    /// Waits for the chunk.
    ///
    /// # Errors
    /// Faults of its rows, or of reading them.
    pub(super) fn wait(self) -> Result<Made, ClientError> {
        // A thread that panicked sends nothing; its panic goes on when the scope ends.
        self.0.recv().unwrap_or(Err(ClientError::Internal { what: "a thread gave no chunk" }))
    }
}
