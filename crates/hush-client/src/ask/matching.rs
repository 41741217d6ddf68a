// SPDX-License-Identifier: Apache-2.0
//! Which rows meet a condition: as WHERE has it in every question, whatever of the columns is encrypted.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array};
use arrow::compute::cast;
use arrow::datatypes::{Field, Int64Type, Schema as ArrowSchema};
use arrow::record_batch::RecordBatch;
use hush_encode::arrow_type;
use hush_plan::Schema;
use hush_plan::plan::OwnQuery;
use hush_plan::schema::Column;

use super::cells::counting;
use super::{local, own};
use crate::error::ClientError;
use crate::private::PrivateHalf;

/// The places of the rows of a batch that meet a condition, ascending. The batch has the condition's columns under their names; `schema` is that of
/// their table.
///
/// # Cost
/// A question to a table in memory.
///
/// # Errors
/// What the condition refuses on a row, such as a division by zero; [`ClientError::Plan`] for what is no condition on these columns.
pub(crate) fn rows_where(
    schema: &Schema,
    rows: &RecordBatch,
    condition: &str,
) -> Result<Vec<usize>, ClientError> {
    if rows.num_rows() == 0 {
        return Ok(Vec::new());
    }
    let missing = || ClientError::Internal { what: "a condition's column is not in the table" };
    let mut open = schema.all_clear();
    let mut place = "place".to_owned();
    while open.columns.iter().any(|column| column.name.eq_ignore_ascii_case(&place)) {
        place.push('_');
    }
    let given = rows.schema();
    let column = |field: &Arc<Field>| {
        let found = open.columns.iter().find(|column| column.name == *field.name());
        found.cloned().ok_or_else(missing)
    };
    let columns = given.fields().iter().map(column).collect::<Result<Vec<Column>, _>>()?;
    let arrays = columns.iter().zip(rows.columns());
    let arrays = arrays.map(|(column, array)| Ok(cast(array, &arrow_type(column.kind))?));
    let mut arrays = arrays.collect::<Result<Vec<ArrayRef>, ClientError>>()?;
    arrays.push(Arc::new(Int64Array::from_iter_values(0..rows.num_rows() as i64)));
    open.columns = columns.into_iter().chain([counting(&place)]).collect();
    let fields = open.columns.iter().map(|column| Field::new(&column.name, arrow_type(column.kind), true));
    let described = Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>()));
    let batch = RecordBatch::try_new(described, arrays)?;
    let sql = format!("SELECT {place} FROM \"{}\" WHERE {condition}", open.table.replace('"', "\"\""));
    let query = hush_plan::sql::parse(&open, &sql)?;
    let asked = OwnQuery { clear: vec![], encrypted: vec![], sealed: vec![], query };
    let table = local::table(PrivateHalf::new(open, Vec::new()), &batch, &[], 1)?;
    let mut found = Vec::new();
    for batch in own::on_table(&asked, &table)? {
        let places = batch.columns().first().and_then(|places| places.as_primitive_opt::<Int64Type>());
        let places = places.ok_or(ClientError::Internal { what: "places of rows are of another type" })?;
        found.extend(places.values().iter().filter_map(|place| usize::try_from(*place).ok()));
    }
    found.sort_unstable();
    Ok(found)
}
