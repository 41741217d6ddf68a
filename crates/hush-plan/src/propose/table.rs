// SPDX-License-Identifier: Apache-2.0
//! The table that there would be by a schema: its encodings, files, cubes and runs, with what they take.

use crate::cube::CubeShape;
use crate::encoding::PrivateEncoding;
use crate::error::PlanError;
use crate::filter::VALUE_SECONDS;
use crate::layout::{Needs, is_filtered, plan_encodings};
use crate::physical;
use crate::predict::{
    CHUNK_ROWS, ClearColumn, CopyShape, CubeSpread, MachineProfile, PartShape, RunSize, RunSpread,
    SealedShape, Site, TableShape,
};
use crate::run::RunShape;
use crate::schema::{Column, ColumnType, Grain, Protection, Schema};
use crate::sql::Query;

use super::{Answer, Situation};

/// Rows of a part.
const PART_ROWS: u64 = 64 * CHUNK_ROWS;
/// Values up to which a column makes few groups.
pub(super) const FEW_VALUES: u64 = 256;
/// Groups of a column of which nobody knows how many it makes.
const ASSUMED_VALUES: u64 = 1000;
/// Bytes of a clear value in a file, and of a sealed text.
const VALUE_BYTES: u64 = 8;

/// Processor microseconds to encrypt a row on a machine with vector instructions, rounded from `docs/performance.md`: for each encoded column,
/// each copy, each cube, and each column of a sorted run.
const ENCODED_US: f64 = 0.04;
const COPY_US: f64 = 0.002;
const CUBE_US: f64 = 0.1;
const RUN_COLUMN_US: f64 = 0.12;

/// A table by a schema.
pub(super) struct LaidOut {
    schema: Schema,
    encodings: Vec<PrivateEncoding>,
    site: Site,
    /// Bytes of encodings, and microseconds of all.
    encoded_bytes: f64,
    row_us: f64,
}

impl LaidOut {
    /// The table of so many rows.
    ///
    /// # Errors
    /// Purposes that no parameters serve.
    pub(super) fn of(schema: &Schema, situation: &Situation) -> Result<Self, PlanError> {
        let needs = Needs::of_purposes(schema)?;
        let mut next = 0_u32;
        let encodings = plan_encodings(schema, &needs, schema.max_rows.max(situation.rows), &mut || {
            next += 1;
            format!("{next:032x}")
        })?;
        let encoded_bytes = encodings.iter().map(stored_bytes).sum::<Result<f64, PlanError>>()?;
        let shape = shape(schema, situation, encoded_bytes);
        let profile = MachineProfile::built_in();
        let site = Site { shape, threads: 1, profile, link: situation.link };
        let copies = schema.columns.iter().filter(|column| column.has_copy()).count();
        let of_run = |run: &RunSpread| run.numbered.columns.len() as f64 * RUN_COLUMN_US;
        let filtered = encodings.iter().filter(|encoding| is_filtered(encoding)).count();
        let row_us = (encodings.len() - filtered) as f64 * ENCODED_US
            + filtered as f64 * VALUE_SECONDS * 1e6
            + copies as f64 * COPY_US
            + site.shape.cubes.len() as f64 * CUBE_US
            + site.shape.runs.values().map(of_run).sum::<f64>();
        Ok(Self { schema: schema.clone(), encodings, site, encoded_bytes, row_us })
    }

    /// How a query is answered.
    ///
    /// # Errors
    /// Why it is not.
    pub(super) fn price(&self, query: &Query) -> Result<Answer, PlanError> {
        let (way, price) = physical::price_query(&self.schema, &self.encodings, &self.site, query)?;
        Ok(Answer { way, seconds: price.seconds(self.site.link), bytes_down: price.bytes_down })
    }

    /// Bytes of a row that are not clear, sealed texts aside.
    pub(super) fn row_bytes(&self) -> f64 {
        let shape = &self.site.shape;
        let cubes = shape.cubes.values().map(|cube| {
            let parts = cube.covers.iter().filter(|covers| **covers).count() as u64;
            parts * cube.answer_bytes()
        });
        let runs = shape.runs.values().flat_map(|run| run.parts.iter().flatten()).map(RunSize::bytes);
        let files = cubes.chain(runs).sum::<u64>() as f64 / shape.rows().max(1) as f64;
        let copies = self.schema.columns.iter().filter(|column| column.has_copy());
        self.encoded_bytes + copies.map(copy_bytes).sum::<f64>() + files
    }

    /// Processor microseconds to encrypt a row.
    pub(super) fn row_us(&self) -> f64 {
        self.row_us
    }
}

/// Values of a column, where there are few; missing ones aside.
pub(super) fn few_values(column: &Column, situation: &Situation) -> Option<u64> {
    use crate::schema::units::column_bounds;
    let count = match column.kind {
        ColumnType::Category | ColumnType::Text => *situation.distinct.get(&column.name)?,
        ColumnType::Float { .. } => return None,
        _ => {
            let bounds = column_bounds(column)?;
            u64::try_from(bounds.high.abs_diff(bounds.low)).ok()?.saturating_add(1)
        }
    };
    (1..=FEW_VALUES).contains(&count).then_some(count)
}

fn copy_bytes(column: &Column) -> f64 {
    CopyShape::of(column).bytes(CHUNK_ROWS) as f64 / CHUNK_ROWS as f64
}

/// Bytes of an encoding for each row of a full chunk.
fn stored_bytes(encoding: &PrivateEncoding) -> Result<f64, PlanError> {
    let fault = crate::error::EncodingFault::UnknownParams;
    let bad = |_| PlanError::BadEncoding { id: encoding.public.id.0, fault };
    let (ring, packing) = (encoding.public.ring().map_err(bad)?, &encoding.public.packing);
    Ok(packing.element_bytes(ring, None) as f64 * packing.elements_of_chunk(ring) / CHUNK_ROWS as f64)
}

fn shape(schema: &Schema, situation: &Situation, encoded_bytes: f64) -> TableShape {
    let clear: Vec<ClearColumn> = schema.protected(Protection::Clear).map(clear_column).collect();
    let sealed_bytes: f64 = schema
        .under_seal()
        .map(|column| if column.has_copy() { copy_bytes(column) } else { VALUE_BYTES as f64 })
        .sum();
    let row_bytes = encoded_bytes + sealed_bytes;
    let rows = (0..situation.rows.div_ceil(PART_ROWS))
        .map(|part| (situation.rows - part * PART_ROWS).min(PART_ROWS));
    let part = |rows: u64| PartShape {
        rows,
        clear_bytes: rows * VALUE_BYTES * clear.len() as u64,
        encrypted_bytes: (rows as f64 * row_bytes) as u64,
        ..PartShape::default()
    };
    let parts: Vec<PartShape> = rows.map(part).collect();
    let sealed = schema.under_seal().enumerate().map(|(number, column)| {
        let copy = column.has_copy().then(|| CopyShape::of(column));
        (column.name.clone(), SealedShape { number: number as u32, copy, mean: None })
    });
    let sealed = Some(sealed.collect());
    let cubes =
        (0..schema.cubes.len()).filter_map(|place| Some((place as u32, cube(schema, place, &parts)?)));
    let runs = schema.all_runs();
    let runs = runs.iter().enumerate().filter_map(|(place, run)| {
        let shape = RunShape::of(schema, run).ok()?;
        let numbered = shape.numbered(place as u32);
        let groups = groups(schema, &run.within, situation);
        let size = |part: &PartShape| Some(RunSize::expected(&shape, part.rows, groups));
        let parts = parts.iter().map(size).collect();
        Some((place as u32, RunSpread { place, numbered, parts }))
    });
    let (cubes, runs) = (cubes.collect(), runs.collect());
    TableShape { parts, clear, sealed, cubes, runs, ..TableShape::default() }
}

fn clear_column(column: &Column) -> ClearColumn {
    let is_text = matches!(column.kind, ColumnType::Category | ColumnType::Text);
    ClearColumn { name: column.name.clone(), is_text, mean: None }
}

/// A cube in those parts whose columns take no fewer bits.
fn cube(schema: &Schema, place: usize, parts: &[PartShape]) -> Option<CubeSpread> {
    let shape = CubeShape::of(schema, schema.cubes.get(place)?).ok()?;
    let read = shape.columns();
    let columns = schema.columns.iter().filter(|column| read.contains(&column.name.as_str()));
    let row_bits: u64 = columns.map(|column| u64::from(CopyShape::of(column).row_bits())).sum();
    let bits = u64::from(shape.cells()) * shape.cell_bits();
    let covers: Vec<bool> = parts.iter().map(|part| bits <= part.rows.saturating_mul(row_bits)).collect();
    let (cells, bits, lanes) = (shape.cells(), shape.bits(), shape.quantities());
    covers.contains(&true).then_some(CubeSpread { place, cells, bits, lanes, covers })
}

/// Groups that some columns make.
fn groups(schema: &Schema, within: &[String], situation: &Situation) -> u64 {
    let columns = within.iter().filter_map(|name| schema.columns.iter().find(|column| column.name == *name));
    let values = columns.map(|column| few_values(column, situation).unwrap_or(ASSUMED_VALUES));
    values.fold(1, u64::saturating_mul)
}

/// What stands for the texts of a column whose number is known.
pub(super) fn placeholders(column: &Column, situation: &Situation) -> Option<Grain> {
    let count = few_values(column, situation)?;
    Some(Grain::Texts((0..count).map(|number| number.to_string()).collect()))
}
