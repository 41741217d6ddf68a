// SPDX-License-Identifier: Apache-2.0
//! Turns rows of a file into chunks of a table, on any thread.

use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Mutex, PoisonError};

use arrow::datatypes::SchemaRef;
use hush_keys::Encryptor;
use hush_plan::Schema;
use hush_table::source::{ChunkTyper, RawChunk, RowBatch, SourceError};
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

    /// Lets a thread of `scope` make the chunks from `first` on, which are together, or pass on the error of reading one.
    pub(super) fn begin<'s>(
        &'s self,
        scope: &Scope<'s>,
        first: u32,
        raw: Vec<Result<RawChunk, SourceError>>,
    ) -> impl Iterator<Item = UnderWay> + use<> {
        let (senders, receivers): (Vec<_>, Vec<_>) = raw.iter().map(|_| sync_channel(1)).unzip();
        scope.spawn(move |_| {
            let raw = raw.into_iter().collect::<Result<Vec<_>, _>>();
            // Nobody waits any more if an earlier chunk failed.
            match raw.map_err(Into::into).and_then(|raw| self.make(first, raw)) {
                Ok(made) => {
                    senders.into_iter().zip(made).for_each(|(sender, made)| drop(sender.send(Ok(made))))
                }
                // Who waits for the first gets the error, and waits for no other then.
                Err(error) => {
                    if let Some(first) = senders.first() {
                        drop(first.send(Err(error)));
                    }
                }
            }
        });
        receivers.into_iter().map(UnderWay)
    }

    fn make(&self, first: u32, raw: Vec<RawChunk>) -> Result<Vec<Made>, ClientError> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = idle().pop();
        let mut worker =
            waiting.unwrap_or_else(|| Worker { typer: self.typer.another(), encryptor: Encryptor::new() });
        let batches = raw.into_iter().map(|raw| worker.typer.read(raw));
        let batches: Vec<RowBatch> = batches.collect::<Result<_, _>>()?;
        // What is stored ends with a part, and so with chunks that are together.
        let is_stored = self.journal.is_some_and(|stored| first < stored);
        let mut encrypted = match is_stored {
            true => Vec::new(),
            false => {
                let (chunks, columns) = ((first, &*batches), (self.schema, self.clear));
                self.plan.make(&mut worker.encryptor, chunks, columns, false)?
            }
        }
        .into_iter();
        idle().push(worker);
        let made = batches.iter().map(|batch| {
            let fingerprint = self.journal.map(|_| batch.fingerprint());
            Made { rows: batch.rows, fingerprint, encrypted: encrypted.next() }
        });
        Ok(made.collect())
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
