// SPDX-License-Identifier: Apache-2.0
//! Writing results: only data goes to standard output, in the format that was asked for.

mod csv;
mod table;

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use clap::ValueEnum;
use hush::Error;

/// Result formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Comma-separated values with a header; numbers in full; an empty text is "", a missing value nothing.
    Csv,
    /// One JSON object per line.
    Json,
    /// A Parquet file; refused on a terminal.
    Parquet,
    /// Aligned columns for people; doubles shortened.
    Table,
}

/// Writes `batches` (at least one, possibly empty) to standard output; a table in lines as wide as the terminal, unless it may
/// be `wide`.
pub(crate) fn write_result(batches: &[RecordBatch], format: Format, wide: bool) -> Result<(), Error> {
    to_stdout(format, |out| match format {
        Format::Csv => {
            batches.first().map_or(Ok(()), |first| csv::header(&first.schema(), out))?;
            batches.iter().try_for_each(|batch| csv::rows(batch, out))
        }
        Format::Json => write_json(batches, out),
        Format::Parquet => write_parquet(batches, out),
        Format::Table => table::write(batches, width(wide), out),
    })
}

/// Writes a stream of batches to standard output as it comes; as a table, only after its end.
pub(crate) fn write_stream(
    schema: &SchemaRef,
    batches: impl Iterator<Item = Result<RecordBatch, Error>>,
    format: Format,
) -> Result<(), Error> {
    let mut failed = None;
    let mut batches = batches.map_while(|batch| batch.map_err(|error| failed = Some(error)).ok());
    let written = to_stdout(format, |out| match format {
        Format::Csv => {
            csv::header(schema, out)?;
            batches.try_for_each(|batch| csv::rows(&batch, out))
        }
        Format::Json => {
            let mut writer = json_lines(out);
            batches.try_for_each(|batch| writer.write(&batch)).map_err(io::Error::other)?;
            writer.finish().map_err(io::Error::other)
        }
        Format::Parquet => {
            let writer = parquet::arrow::ArrowWriter::try_new(out, schema.clone(), None);
            let mut writer = writer.map_err(io::Error::other)?;
            batches.try_for_each(|batch| writer.write(&batch)).map_err(io::Error::other)?;
            writer.close().map(|_| ()).map_err(io::Error::other)
        }
        Format::Table => {
            let mut all: Vec<RecordBatch> = batches.by_ref().collect();
            if all.is_empty() {
                all.push(RecordBatch::new_empty(schema.clone()));
            }
            table::write(&all, width(false), out)
        }
    });
    drop(batches);
    failed.map_or(written, Err)
}

/// Characters of a line of the terminal; `None` without a terminal, or if lines may have any length.
fn width(wide: bool) -> Option<usize> {
    if wide || !io::stdout().is_terminal() {
        return None;
    }
    console::Term::stdout().size_checked().map(|(_, columns)| usize::from(columns))
}

fn to_stdout(
    format: Format,
    write: impl FnOnce(&mut io::BufWriter<Pipe>) -> io::Result<()>,
) -> Result<(), Error> {
    let stdout = io::stdout();
    if format == Format::Parquet && stdout.is_terminal() {
        return Err(Error::usage("Parquet is binary: redirect standard output to a file"));
    }
    let closed = Arc::new(AtomicBool::new(false));
    let mut out = io::BufWriter::new(Pipe { stdout, closed: closed.clone() });
    match write(&mut out).and_then(|()| out.flush()) {
        // A closed pipe (`| head`) is the reader's choice, not an error. The writers of formats wrap what they get.
        Err(_) if closed.load(Ordering::Relaxed) => {
            // Nobody reads the rest of the buffer; dropping it would try to write once more.
            drop(out.into_parts());
            Ok(())
        }
        Err(error) => Err(Error::output(error)),
        Ok(()) => Ok(()),
    }
}

/// Standard output, which remembers that its reader has gone.
struct Pipe {
    stdout: io::Stdout,
    closed: Arc<AtomicBool>,
}

impl Pipe {
    fn watch<T>(&self, done: io::Result<T>) -> io::Result<T> {
        if done.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
            self.closed.store(true, Ordering::Relaxed);
        }
        done
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let done = self.stdout.write(bytes);
        self.watch(done)
    }

    fn flush(&mut self) -> io::Result<()> {
        let done = self.stdout.flush();
        self.watch(done)
    }
}

fn write_json(batches: &[RecordBatch], out: &mut impl Write) -> io::Result<()> {
    let mut writer = json_lines(out);
    for batch in batches {
        writer.write(batch).map_err(io::Error::other)?;
    }
    writer.finish().map_err(io::Error::other)
}

/// A writer of one object per line, with every key in each: `null` where there is no value.
fn json_lines<W: Write>(out: W) -> arrow::json::LineDelimitedWriter<W> {
    arrow::json::WriterBuilder::new().with_explicit_nulls(true).build(out)
}

fn write_parquet(batches: &[RecordBatch], out: &mut (impl Write + Send)) -> io::Result<()> {
    let Some(first) = batches.first() else { return Ok(()) };
    let mut writer =
        parquet::arrow::ArrowWriter::try_new(out, first.schema(), None).map_err(io::Error::other)?;
    for batch in batches {
        writer.write(batch).map_err(io::Error::other)?;
    }
    writer.close().map(|_| ()).map_err(io::Error::other)
}
