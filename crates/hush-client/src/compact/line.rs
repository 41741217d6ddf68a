// SPDX-License-Identifier: Apache-2.0
//! Chunks on their way from parts into others: some at a time are decrypted and encrypted on all threads.

use hush_keys::Encryptor;
use hush_remote::RemoteServer;
use hush_table::source::RowBatch;
use hush_table::{
    Appender, CHUNK_ROWS, FileKind, PartBounds, PartEntry, PartFile, TableStore, files_of_part,
};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::read::{Reader, Sealed};
use super::rows::Gathered;
use crate::chunk::Encrypted;
use crate::destination::Destination;
use crate::encrypt::Flow;
use crate::error::ClientError;
use crate::place::TablePlace;
use crate::prepare::Preparer;

/// Stored chunks, for each that may be in work, that are decrypted together: chunks of small parts have few rows.
const CHUNKS_IN_ONE: usize = 8;

/// The files of a part that is read: those of a directory or bucket, or copies in memory of a server's.
pub(super) enum Files<'a> {
    Here(&'a TableStore),
    Fetched(TableStore),
}

impl<'a> Files<'a> {
    pub(super) fn of(
        place: TablePlace<'_>,
        destination: &'a Destination<'_>,
        part: &PartEntry,
    ) -> Result<Self, ClientError> {
        let TablePlace::Server(server, name) = place else { return Ok(Self::Here(destination.store())) };
        // Rows that are all deleted are not read.
        let files = files_of_part(part).filter(|_| part.living_rows() > 0);
        Ok(Self::Fetched(fetched(server, name, files)?))
    }

    pub(super) fn store(&self) -> &TableStore {
        match self {
            Self::Here(store) => store,
            Self::Fetched(store) => store,
        }
    }
}

fn fetched(
    server: &RemoteServer,
    name: &str,
    files: impl Iterator<Item = (FileKind, PartFile)>,
) -> Result<TableStore, ClientError> {
    let memory = TableStore::memory();
    for (kind, file) in files {
        memory.put_received(kind, file, server.part(name, kind, file)?.into())?;
    }
    Ok(memory)
}

/// What a step has encrypted and stored.
pub(super) struct Stored {
    pub(super) appender: Appender,
    pub(super) bounds: PartBounds,
}

/// Encrypts chunks of rows that are together, under the number of the first and those behind it.
pub(super) type Encrypting<'a> =
    dyn Fn(&mut Encryptor, u32, &[RowBatch]) -> Result<Vec<Encrypted>, ClientError> + Sync + 'a;

/// Decrypts stored chunks and encrypts their rows in new ones, some at a time on all threads.
pub(super) struct Line<'a> {
    reader: &'a Reader<'a>,
    encrypt: &'a Encrypting<'a>,
    /// How many chunks are together.
    together: usize,
    pool: &'a rayon::ThreadPool,
    flow: Flow,
    /// Chunks that are not decrypted yet, and their rows.
    waiting: Vec<Sealed>,
    waiting_rows: usize,
    gathered: Gathered,
    next_chunk: u32,
    appender: Appender,
    maker: Preparer,
    /// Parts that were sent on.
    sent: usize,
}

impl<'a> Line<'a> {
    /// Decrypts with `reader`, encrypts so many chunks together with `encrypt` and stores with `appender`.
    pub(super) fn new(
        reader: &'a Reader<'a>,
        (encrypt, together): (&'a Encrypting<'a>, usize),
        pool: &'a rayon::ThreadPool,
        flow: Flow,
        (appender, maker): (Appender, Preparer),
    ) -> Self {
        let (waiting, gathered) = (Vec::new(), Gathered::new());
        Self {
            reader,
            encrypt,
            together,
            pool,
            flow,
            waiting,
            waiting_rows: 0,
            gathered,
            next_chunk: 0,
            appender,
            maker,
            sent: 0,
        }
    }

    /// Takes the next chunk of a part.
    ///
    /// # Errors
    /// Those of decrypting, encrypting and storing.
    pub(super) fn take(&mut self, chunk: Sealed, destination: &Destination<'_>) -> Result<(), ClientError> {
        self.waiting_rows += chunk.rows();
        self.waiting.push(chunk);
        let window = self.flow.window();
        let window = window.max(self.together);
        if self.waiting_rows >= window * CHUNK_ROWS as usize || self.waiting.len() >= CHUNKS_IN_ONE * window {
            self.pass(destination, false)?;
        }
        Ok(())
    }

    /// Decrypts what waits, and encrypts what fills chunks; at the end the rest too.
    fn pass(&mut self, destination: &Destination<'_>, is_last: bool) -> Result<(), ClientError> {
        let (reader, waiting) = (self.reader, std::mem::take(&mut self.waiting));
        self.waiting_rows = 0;
        let decrypted: Vec<RowBatch> = self.pool.install(|| {
            waiting.par_iter().map(|chunk| reader.decrypt(chunk)).collect::<Result<_, ClientError>>()
        })?;
        drop(waiting);
        decrypted.into_iter().try_for_each(|batch| self.gathered.take(batch))?;
        let (full, mut all) = (CHUNK_ROWS as usize, Vec::new());
        while self.gathered.rows() >= full * self.together || (is_last && self.gathered.rows() > 0) {
            let (first, mut batches) = (self.next_chunk, Vec::with_capacity(self.together));
            while batches.len() < self.together && self.gathered.rows() > 0 {
                batches.push(self.gathered.cut(full)?);
                self.next_chunk += 1;
            }
            all.push((first, batches));
        }
        let encrypt = self.encrypt;
        let encrypted: Vec<Vec<Encrypted>> = self.pool.install(|| {
            let made = all
                .par_iter()
                .map_init(Encryptor::new, |encryptor, (first, batches)| encrypt(encryptor, *first, batches));
            made.collect::<Result<_, ClientError>>()
        })?;
        for Encrypted { clear, chunk, prepared } in encrypted.into_iter().flatten() {
            self.maker.add(prepared);
            self.appender.push(&clear, chunk)?;
            self.sent = destination.send(self.appender.stored(), self.sent)?;
        }
        Ok(())
    }

    /// Stores the last part.
    ///
    /// # Errors
    /// As [`Line::take`].
    pub(super) fn finish(mut self, destination: &Destination<'_>) -> Result<Stored, ClientError> {
        self.pass(destination, true)?;
        self.appender.finish()?;
        destination.send(self.appender.stored(), self.sent)?;
        let bounds = self.appender.take_bounds();
        Ok(Stored { appender: self.appender, bounds })
    }
}
