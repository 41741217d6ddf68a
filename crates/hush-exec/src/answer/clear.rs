// SPDX-License-Identifier: Apache-2.0
//! The clear half as an Arrow IPC stream of one batch.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, MutableArrayData, PrimitiveArray,
    RecordBatch, RecordBatchOptions, downcast_primitive_array, make_array,
};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::{DataType, UInt64Type};
use arrow::error::ArrowError;
use arrow::ipc::reader::StreamDecoder;
use arrow::ipc::root_as_message;
use arrow::ipc::writer::StreamWriter;

use super::{AnswerError, RowNumbers, numbers};
use crate::ExecError;

/// Writes one batch, uncompressed. Batches of equal values have equal bytes.
///
/// # Errors
/// [`ExecError::Internal`] from the Arrow writer.
pub(crate) fn write_clear(batch: &RecordBatch) -> Result<Vec<u8>, ExecError> {
    let write = || -> Result<Vec<u8>, ArrowError> {
        let columns = batch.columns().iter().map(canonical).collect::<Result<_, _>>()?;
        let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema())?;
        let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        writer.write(&RecordBatch::try_new_with_options(batch.schema(), columns, &rows)?)?;
        writer.into_inner()
    };
    write().map_err(|_| ExecError::Internal { place: "clear half" })
}

/// Writes the matching rows: their numbers, which the first column is, and the other columns as [`write_clear`] does.
///
/// # Errors
/// [`ExecError::Internal`] for a batch that does not begin with ascending numbers, and from the Arrow writer.
pub(crate) fn write_matching(batch: &RecordBatch) -> Result<Vec<u8>, ExecError> {
    let internal = || ExecError::Internal { place: "matching rows" };
    let rows = batch.columns().first().and_then(|column| column.as_primitive_opt::<UInt64Type>());
    let packed = numbers::pack(rows.ok_or_else(internal)?.values())?;
    let others: Vec<usize> = (1..batch.num_columns()).collect();
    let others = write_clear(&batch.project(&others).map_err(|_| internal())?)?;
    Ok([(packed.len() as u64).to_le_bytes().as_slice(), &packed, &others].concat())
}

/// The column with nothing under its NULLs and after its last bit: whatever computed it may have left numbers there.
fn canonical(column: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    if let Some(bits) = column.as_boolean_opt() {
        return Ok(Arc::new(bits.iter().collect::<BooleanArray>()));
    }
    if column.null_count() == 0 {
        return Ok(column.clone());
    }
    downcast_primitive_array!(
        column => Ok(Arc::new(zeroed(column))),
        _ => {
            let data = column.to_data();
            let mut copied = MutableArrayData::new(vec![&data], true, column.len());
            let mut row = 0;
            while row < column.len() {
                let valid = (row..column.len()).take_while(|row| column.is_valid(*row)).count();
                copied.try_extend(0, row, row + valid)?;
                row += valid;
                let nulls = (row..column.len()).take_while(|row| column.is_null(*row)).count();
                copied.try_extend_nulls(nulls)?;
                row += nulls;
            }
            Ok(make_array(copied.freeze()))
        }
    )
}

/// The numbers with 0 under NULLs.
fn zeroed<T: ArrowPrimitiveType>(numbers: &PrimitiveArray<T>) -> PrimitiveArray<T> {
    let Some(nulls) = numbers.nulls() else { return numbers.clone() };
    let valid: BooleanBuffer = nulls.iter().collect();
    let zero = T::Native::default();
    let number = |(number, valid): (&T::Native, bool)| if valid { *number } else { zero };
    let zeroed = numbers.values().iter().zip(&valid).map(number).collect();
    PrimitiveArray::new(zeroed, Some(NullBuffer::new(valid))).with_data_type(numbers.data_type().clone())
}

/// Reads matching rows of a table of so many rows back: their numbers, and their columns.
///
/// # Errors
/// [`AnswerError::Clear`], also if there are other numbers than rows.
pub(super) fn read_matching(bytes: &[u8], rows: u64) -> Result<(RowNumbers, RecordBatch), AnswerError> {
    let (packed, others) = split_matching(bytes)?;
    // Few bytes may claim many rows: they are counted, and compared, before there are numbers.
    let count = usize::try_from(numbers::count(packed, rows)?).map_err(|_| AnswerError::Clear)?;
    let others = read_clear(others, count)?;
    if others.num_rows() != count {
        return Err(AnswerError::Clear);
    }
    Ok((numbers::unpack(packed, rows)?, others))
}

/// The numbers in the first column, and the other columns.
///
/// # Errors
/// [`AnswerError::Clear`] for anything but ascending numbers of rows of the table.
pub(super) fn unnumbered(batch: &RecordBatch, rows: u64) -> Result<(RowNumbers, RecordBatch), AnswerError> {
    let fault = || AnswerError::Clear;
    let numbers = cast(batch.columns().first().ok_or_else(fault)?, &DataType::UInt64).map_err(|_| fault())?;
    let numbers = RowNumbers::new(numbers.as_primitive::<UInt64Type>().clone(), rows).ok_or_else(fault)?;
    let others: Vec<usize> = (1..batch.num_columns()).collect();
    Ok((numbers, batch.project(&others).map_err(|_| fault())?))
}

/// How many matching rows there are.
///
/// # Errors
/// [`AnswerError::Clear`].
pub(super) fn count_matching(bytes: &[u8], rows: u64) -> Result<u64, AnswerError> {
    numbers::count(split_matching(bytes)?.0, rows)
}

/// The numbers of matching rows, and their columns.
fn split_matching(bytes: &[u8]) -> Result<(&[u8], &[u8]), AnswerError> {
    let split = bytes.split_first_chunk::<8>().and_then(|(length, rest)| {
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        rest.split_at_checked(length)
    });
    split.ok_or(AnswerError::Clear)
}

/// Reads a batch of at most so many rows back. The bytes come from a server. Compressed messages are refused, because their buffers claim
/// sizes of their own. So the decoder works on a buffer of known size.
/// A panic of the decoder is an error of the answer and not the end of the owner's program.
pub(super) fn read_clear(bytes: &[u8], most: usize) -> Result<RecordBatch, AnswerError> {
    if !is_uncompressed(bytes) {
        return Err(AnswerError::Clear);
    }
    let read = || -> Result<RecordBatch, ArrowError> {
        let mut buffer = Buffer::from(bytes);
        let mut decoder = StreamDecoder::new();
        let mut batches = Vec::new();
        while !buffer.is_empty() {
            batches.extend(decoder.decode(&mut buffer)?);
        }
        decoder.finish()?;
        if batches.iter().any(|batch| batch.num_rows() > most) {
            return Err(ArrowError::IpcError("more rows than there can be".to_owned()));
        }
        let schema = decoder.schema().ok_or_else(|| ArrowError::IpcError("no schema".to_owned()))?;
        concat_batches(&schema, &batches)
    };
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(Ok(batch)) => Ok(batch),
        Ok(Err(_)) | Err(_) => Err(AnswerError::Clear),
    }
}

/// Whether each message of an IPC stream is whole and has no compressed buffers.
fn is_uncompressed(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    while let Some((word, after)) = rest.split_first_chunk::<4>() {
        let (length, after) = match (*word == CONTINUATION, after.split_first_chunk::<4>()) {
            (true, Some((length, after))) => (*length, after),
            (true, None) => return false,
            (false, _) => (*word, after),
        };
        let length = u32::from_le_bytes(length) as usize;
        if length == 0 {
            return after.is_empty();
        }
        let Some(Ok(message)) = after.get(..length).map(root_as_message) else { return false };
        let batch = message
            .header_as_record_batch()
            .or_else(|| message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data()));
        if batch.is_some_and(|batch| batch.compression().is_some()) {
            return false;
        }
        let body = usize::try_from(message.bodyLength()).ok().and_then(|body| body.checked_add(length));
        let Some(next) = body.and_then(|end| after.get(end..)) else { return false };
        rest = next;
    }
    rest.is_empty()
}

/// The marker before the length of each message.
const CONTINUATION: [u8; 4] = [0xff; 4];
