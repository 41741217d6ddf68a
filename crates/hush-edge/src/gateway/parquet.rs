// SPDX-License-Identifier: Apache-2.0
//! A Parquet file is read as a table, chunk by chunk. Its places in the spool's state are rows.

use std::sync::atomic::Ordering;

use hush_plan::Schema;
use hush_table::source::{OpenOptions, Source, SourceError};

use super::{Gateway, Summary};
use crate::EdgeError;
use crate::encrypt::DeviceEncryptor;
use crate::feed::LineForm;
use crate::input::{Input, ParquetFile};
use crate::place::Place;

impl Gateway<'_> {
    /// Encrypts the rows of the file that no delivery has yet.
    pub(super) fn collect_table(
        &self,
        file: &ParquetFile<'_>,
        wake: &dyn Fn(),
    ) -> Result<Summary, EdgeError> {
        self.refuse_lines()?;
        let mut summary = Summary::default();
        let table = match Source::open(file.path(), &OpenOptions::default()) {
            // No rows, as in a CSV of a header alone.
            Err(SourceError::NoRows) => return Ok(summary),
            opened => opened?,
        };
        let source = file.identity(self.key)?;
        // Only the owner knows the table's limit on rows.
        let schema = Schema { max_rows: u64::MAX, ..self.key.schema.clone() };
        let batches = table.typed(&schema)?;
        if !file.is_present()? {
            let what = format!(
                "{} was replaced while it was opened\n  Way out: the same command, for what is there now",
                file.path().display()
            );
            return Err(EdgeError::Usage { what });
        }
        let rows = table.rows().unwrap_or(0);
        let done = self.spool.resume(source, |position| Ok((position <= rows).then_some(None)))?;
        let mut encryptor = DeviceEncryptor::new(self.key);
        for batch in batches {
            let batch = batch?;
            let position = batch.first_row + batch.rows as u64;
            if position <= done {
                continue;
            }
            if self.is_full_for_good() {
                return Err(EdgeError::SpoolFull { limit: self.options.spool_limit });
            }
            if self.options.stop.load(Ordering::Relaxed) || self.failed.load(Ordering::Acquire) {
                break;
            }
            let encrypted = encryptor.encrypt(self.key, &batch, self.spool.next_delivery(self.key))?;
            self.spool(&encrypted, Some(Place { position, mark: None }), &mut summary)?;
            wake();
        }
        Ok(summary)
    }

    /// Refuses options for lines, which a Parquet file does not have.
    fn refuse_lines(&self) -> Result<(), EdgeError> {
        let follows = matches!(self.options.input, Some(Input::File { follow: true, .. }));
        let wrong = match self.options.form {
            LineForm::Json => "--messages",
            LineForm::Csv if follows => "--follow",
            LineForm::Csv => return Ok(()),
        };
        let what = format!("{wrong} is for lines, and this is a Parquet file\n  Way out: leave it out");
        Err(EdgeError::Usage { what })
    }
}
