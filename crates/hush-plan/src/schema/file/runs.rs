// SPDX-License-Identifier: Apache-2.0
//! Reading the sorted runs of a schema file.

use super::super::run::{MAX_RUNS, Run};
use super::SchemaError;
use super::read::{Reader, SCHEMA, Value, require};

/// A run, for messages.
const RUN: &str = "a sorted run";

impl Reader<'_> {
    /// The sorted runs. Whether there can be such, [`crate::run::check`] says.
    pub(super) fn runs(&self, value: &Value<'_>) -> Result<Vec<Run>, SchemaError> {
        let wrong = || {
            let expected =
                format!("up to {MAX_RUNS} sorted runs, [{{ by = \"charges\", within = [\"ward\"] }}]");
            self.wrong(value, SCHEMA, "order", expected)
        };
        let items = value.get_ref().as_array().filter(|items| items.len() <= MAX_RUNS).ok_or_else(wrong)?;
        let run = |item: &Value<'_>| {
            let table = item.get_ref().as_table().ok_or_else(wrong)?;
            self.known_keys(table, &["by", "cover", "sum", "within"], RUN)?;
            let by = require(table, "by", RUN, self.line(item))?;
            let names = |key| table.get(key).map_or(Ok(Vec::new()), |value| self.texts(value, RUN, key));
            Ok(Run {
                by: self.text_of(by, RUN, "by")?,
                within: names("within")?,
                sum: names("sum")?,
                cover: names("cover")?,
                by_chunk: false,
            })
        };
        items.iter().map(run).collect()
    }
}
