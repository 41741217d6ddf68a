// SPDX-License-Identifier: Apache-2.0
//! A table that is altered, the rows that it should have, and the comparison of both.

use std::collections::BTreeMap;

use arrow::array::{Array, RecordBatch};
use arrow::util::display::array_value_to_string;
use hush_plan::Schema;
use hush_plan::plan::Task;
use hush_plan::schema::alter::Alteration;
use hush_remote::Silent;
use hush_table::source::{OpenOptions, Source};
use hush_table::{Manifest, TableStore};

use super::super::{AlterOptions, AlterReport, alter};
use super::SCHEMA;
use crate::append::{AppendOptions, append};
use crate::compact::{CompactOptions, Which, compact};
use crate::decrypt::TableDecryption;
use crate::error::ClientError;
use crate::machine::ProfileInUse;
use crate::owner::{EncryptOptions, OwnerKey, encrypt};
use crate::pins::Pins;
use crate::place::{Opened, TablePlace};
use crate::table::{Evaluator, OwnedTable};

/// A row by the names of its columns; what is not among them is missing.
pub(super) type Row = BTreeMap<&'static str, String>;

pub(super) fn row(number: usize) -> Row {
    let load = if number.is_multiple_of(5) { String::new() } else { (number * 37 % 1001).to_string() };
    let level = [-1.5, 0.25, 1.0, 0.0][number % 4].to_string();
    let note = if number.is_multiple_of(3) { String::new() } else { format!("note {number}") };
    let ward = ["a", "b", "c", ""][number % 4].to_owned();
    let cost = format!("{}.{:02}", number * 97 % 9999, number % 100);
    let id = format!("id{number:04}");
    [("id", id), ("ward", ward), ("load", load), ("cost", cost), ("level", level), ("note", note)].into()
}

pub(super) fn source(columns: &[&'static str], rows: &[Row]) -> Source {
    let line = |row: &Row| {
        columns.iter().map(|name| row.get(name).cloned().unwrap_or_default()).collect::<Vec<_>>().join(",")
            + "\n"
    };
    let text = columns.join(",") + "\n" + &rows.iter().map(line).collect::<String>();
    Source::from_bytes(text.into_bytes().into(), &OpenOptions::default()).unwrap()
}

/// A table, the rows that it should have, and the columns of its files.
pub(super) struct Altered {
    pub(super) directory: tempfile::TempDir,
    pub(super) owner: OwnerKey,
    pub(super) pins: Pins,
    pub(super) columns: Vec<&'static str>,
    pub(super) rows: Vec<Row>,
    pub(super) bucket: Option<TableStore>,
}

pub(super) const COLUMNS: [&str; 6] = ["id", "ward", "load", "cost", "level", "note"];

impl Altered {
    pub(super) fn new(rows: usize) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let pins = Pins::in_directory(&directory.path().join("pins"));
        let owner = OwnerKey::temporary().unwrap();
        let rows = (0..rows).map(row).collect();
        let table = Self { directory, owner, pins, columns: COLUMNS.to_vec(), rows, bucket: None };
        let schema = hush_plan::schema::file::from_toml(SCHEMA).unwrap();
        table.encrypt("T", &schema, &COLUMNS);
        table
    }

    /// The same table in an object store.
    pub(super) fn in_bucket(mut self) -> Self {
        let bucket = TableStore::new(std::sync::Arc::new(object_store::memory::InMemory::new()), "t".into());
        let local = TableStore::local_existing(self.path("T")).unwrap();
        local.copy_version(&local.load().unwrap(), &bucket, &|_| ()).unwrap();
        self.bucket = Some(bucket);
        self
    }

    pub(super) fn path(&self, name: &str) -> std::path::PathBuf {
        self.directory.path().join(name)
    }

    pub(super) fn encrypt(&self, name: &str, schema: &Schema, columns: &[&'static str]) {
        let options = EncryptOptions {
            source: source(columns, &self.rows),
            schema: schema.clone(),
            output: self.path(name),
            workload: None,
            threads: 2,
            memory_limit: None,
            pins: self.pins.clone(),
            replace: true,
        };
        encrypt(&options, &self.owner, &Silent).unwrap();
    }

    pub(super) fn with<T>(&self, run: impl FnOnce(TablePlace<'_>) -> T) -> T {
        match &self.bucket {
            Some(bucket) => run(TablePlace::Bucket(bucket)),
            None => run(TablePlace::Directory(&self.path("T"))),
        }
    }

    pub(super) fn options(&self, alteration: Alteration) -> AlterOptions {
        AlterOptions { alteration, threads: 2, memory_limit: None, pins: self.pins.clone() }
    }

    pub(super) fn try_alter(&self, alteration: Alteration) -> Result<AlterReport, ClientError> {
        self.with(|place| alter(place, &self.options(alteration), &self.owner, &Silent))
    }

    pub(super) fn alter(&self, alteration: Alteration) -> AlterReport {
        self.try_alter(alteration).unwrap_or_else(|error| panic!("{error}"))
    }

    pub(super) fn try_append(&mut self, rows: Vec<Row>) -> Result<(), ClientError> {
        let options = AppendOptions {
            source: source(&self.columns, &rows),
            batch: None,
            threads: 2,
            memory_limit: None,
            pins: self.pins.clone(),
        };
        self.with(|place| append(place, &options, &self.owner, &Silent))?;
        self.rows.extend(rows);
        Ok(())
    }

    pub(super) fn append(
        &mut self,
        numbers: std::ops::Range<usize>,
        further: impl Fn(usize) -> Vec<(&'static str, String)>,
    ) {
        let rows = numbers.map(|number| {
            let mut row = row(number);
            row.extend(further(number));
            row.retain(|name, _| self.columns.contains(name));
            row
        });
        self.try_append(rows.collect()).unwrap();
    }

    pub(super) fn compact(&self) {
        let options =
            CompactOptions { which: Which::All, threads: 2, memory_limit: None, pins: self.pins.clone() };
        self.with(|place| compact(place, &options, &self.owner, &Silent)).unwrap();
    }

    pub(super) fn opened(&self) -> Opened {
        self.with(|place| place.open(self.owner.seed(), &self.pins)).unwrap()
    }

    pub(super) fn manifest(&self) -> Manifest {
        self.opened().manifest.manifest().clone()
    }

    pub(super) fn table(&self) -> OwnedTable {
        match &self.bucket {
            Some(bucket) => OwnedTable::open_bucket(bucket, &self.owner, &self.pins, 2),
            None => OwnedTable::open_directory(&self.path("T"), &self.owner, &self.pins, 2),
        }
        .unwrap()
    }

    /// The table against one of its rows that was encrypted with its schema, in what it gives back and what it answers.
    pub(super) fn check(&self, queries: &[&str]) {
        let Opened { half, .. } = self.opened();
        let stored =
            half.schema.columns.iter().filter(|column| column.protect != hush_plan::Protection::Drop);
        let names: Vec<&str> = stored.map(|column| column.name.as_str()).collect();
        assert_eq!(names, self.columns, "the columns of the table");
        let schema = Schema { table: "t".to_owned(), ..half.schema.clone() };
        self.encrypt("R", &schema, &self.columns);
        let given = |place: TablePlace<'_>| {
            let found = TableDecryption::open(place, &self.owner, &self.pins, None, &Silent).unwrap();
            let mut lines = texts(&found.map(Result::unwrap).collect::<Vec<_>>());
            lines.sort_unstable();
            lines
        };
        let reference = self.path("R");
        assert_eq!(self.with(given), given(TablePlace::Directory(&reference)));
        let (table, right) =
            (self.table(), OwnedTable::open_directory(&reference, &self.owner, &self.pins, 2).unwrap());
        for sql in queries {
            let ask = |table: &OwnedTable| {
                let found = table.ask(sql, &Silent).unwrap_or_else(|error| panic!("{sql}: {error}"));
                let mut lines = texts(&found.batches);
                lines.sort_unstable();
                (found, lines)
            };
            let (found, lines) = ask(&table);
            assert_eq!(lines, ask(&right).1, "{sql}");
            // By workers that have some of the parts each.
            let parted = self.table();
            let Evaluator::Embedded(engine) = parted.evaluator else { panic!("another evaluator") };
            let parted = OwnedTable { evaluator: Evaluator::Parted(engine, lines.len() as u64), ..parted };
            assert_eq!(ask(&parted).1, lines, "{sql}");
            let analysis = table.analyze(&found, 2, ProfileInUse::of_user()).unwrap();
            let has_sealed = matches!(&found.plan.server.task, Task::Rows(task) if !task.sealed.is_empty());
            let (predicted, measured) = (analysis.predicted.prediction, analysis.measured);
            let encrypted = predicted.bytes_down - predicted.clear_half.bytes;
            let found = measured.bytes_down - measured.clear_bytes;
            let is_by_row = predicted.blocks.iter().any(|block| block.kind != "sum");
            assert!(
                has_sealed || if is_by_row { found <= encrypted } else { found == encrypted },
                "{sql}: {found} of {encrypted}"
            );
        }
    }
}

pub(super) fn texts(batches: &[RecordBatch]) -> Vec<String> {
    let line = |batch: &RecordBatch, at: usize| {
        let cells = batch.columns().iter().map(|column| match column.is_null(at) {
            true => "NULL".to_owned(),
            false => array_value_to_string(column, at).unwrap(),
        });
        cells.collect::<Vec<_>>().join("|")
    };
    batches
        .iter()
        .flat_map(|batch| (0..batch.num_rows()).map(|at| line(batch, at)).collect::<Vec<_>>())
        .collect()
}
