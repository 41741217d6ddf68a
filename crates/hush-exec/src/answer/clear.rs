// SPDX-License-Identifier: Apache-2.0
//! The clear half as an Arrow IPC stream of one batch.

use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow::array::RecordBatch;
use arrow::buffer::Buffer;
use arrow::compute::concat_batches;
use arrow::error::ArrowError;
use arrow::ipc::reader::StreamDecoder;
use arrow::ipc::writer::StreamWriter;

use super::AnswerError;
use crate::ExecError;

/// Writes one batch, uncompressed.
///
/// # Errors
/// [`ExecError::Internal`] from the Arrow writer.
pub(crate) fn write_clear(batch: &RecordBatch) -> Result<Vec<u8>, ExecError> {
    let write = || -> Result<Vec<u8>, ArrowError> {
        let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema())?;
        writer.write(batch)?;
        writer.into_inner()
    };
    write().map_err(|_| ExecError::Internal { place: "clear half" })
}

/// Reads the batch back. The bytes come from a server: the decoder works on a buffer of known size and allocates
/// nothing by lengths that the bytes claim; should it panic on a case that it does not foresee, that is an error
/// of the answer and not the end of the owner's program.
pub(super) fn read_clear(bytes: &[u8]) -> Result<RecordBatch, AnswerError> {
    let read = || -> Result<RecordBatch, ArrowError> {
        let mut buffer = Buffer::from(bytes);
        let mut decoder = StreamDecoder::new();
        let mut batches = Vec::new();
        while !buffer.is_empty() {
            batches.extend(decoder.decode(&mut buffer)?);
        }
        decoder.finish()?;
        let schema = decoder.schema().ok_or_else(|| ArrowError::IpcError("no schema".to_owned()))?;
        concat_batches(&schema, &batches)
    };
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(Ok(batch)) => Ok(batch),
        Ok(Err(_)) | Err(_) => Err(AnswerError::Clear),
    }
}
