// SPDX-License-Identifier: Apache-2.0
//! Tables, and the question about them.

use clap::Args;
use hush::Error;

/// One or more tables, then one query. They are one list, so that options may stand between them.
#[derive(Debug, Args)]
pub(crate) struct QuestionArgs {
    /// Table directory, s3://BUCKET/PREFIX, or server URL (the table is the one that the query names); several for a join of them, then each as
    /// SERVER/tables/NAME. Last the query
    #[arg(value_name = "TABLE SQL", num_args = 1.., required = true)]
    words: Vec<String>,
}

impl QuestionArgs {
    /// The tables, and the query.
    ///
    /// # Errors
    /// Only one of the two is there.
    pub(crate) fn parts(&self) -> Result<(&[String], &str), Error> {
        match self.words.split_last() {
            Some((sql, tables)) if !tables.is_empty() => Ok((tables, sql)),
            _ => Err(Error::usage(
                "a question needs a table and a query\n  Way out: hush query TABLE \"SELECT ...\".",
            )),
        }
    }
}
