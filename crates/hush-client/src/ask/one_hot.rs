// SPDX-License-Identifier: Apache-2.0
//! Questions of sums by hidden values: a server has added up the places of all cells, in groups of clear columns. They become a table in memory in
//! which nothing is encrypted, and a row of which stands for many.

use arrow::array::ArrayRef;
use arrow::compute::cast;
use arrow::record_batch::RecordBatch;
use hush_encode::arrow_type;
use hush_exec::answer::{AggregateAnswer, Answer};
use hush_plan::bounds::Bounds;
use hush_plan::cube::CubeShape;
use hush_plan::one_hot;
use hush_plan::plan::{AggregateTask, CellsQuery, HiddenSums, OwnerPlan, PlacedSums};
use hush_plan::schema::Column;
use num_bigint::{BigInt, Sign};
use num_traits::{One, ToPrimitive};

use super::cells::{are_of_rows, narrowed, of_cells, read_part};
use super::groups::{decrypt_groups, group_rows, integers};
use super::{Asked, answer_error, gathered};
use crate::cube::Sums;
use crate::error::ClientError;
use crate::number::Number;
use crate::table::OwnedTable;

/// Builds `merged`, as for sums of a server, from cells.
///
/// # Errors
/// [`ClientError::Answer`] if the answer is not one to this task, or has cells that no rows make.
///
/// # Cost
/// A decryption for each sum and group; 32 bytes of memory for each cell, lane and group.
pub(super) fn merge(
    asked: &Asked<'_>,
    (cells, hidden): (&CellsQuery, &HiddenSums),
    task: &AggregateTask,
    answer: &Answer<'_>,
    sums: &AggregateAnswer<'_>,
) -> Result<RecordBatch, ClientError> {
    let missing = || ClientError::Internal { what: "the plan asks for groups that the schema lacks" };
    let Asked { table, .. } = *asked;
    let schema = &table.half.schema;
    let declared = schema.all_groups();
    let whole = declared.get(cells.place).and_then(|group| one_hot::shape(schema, group).ok());
    let whole = whole.ok_or_else(missing)?;
    let ClearGroups { keys, rows } = clear_groups(table, &hidden.keys, answer, sums.group_count)?;
    let owner = OwnerPlan {
        bounds: Bounds { sums: hidden.bounds.clone(), ..Bounds::default() },
        ..OwnerPlan::default()
    };
    let decrypted = decrypt_groups(&Asked { table, owner: &owner, release: None }, task, sums, &rows)?;
    let shape = read_part(&whole, cells);
    let groups = decrypted.iter().zip(&rows).map(|(numbers, rows)| {
        let found = sums_of((&whole, cells), &hidden.sums, numbers)?;
        if !are_of_rows(&whole, &found, *rows) {
            return Err(ClientError::Answer { what: "its cells are not those of its rows".into() });
        }
        Ok(narrowed((&whole, &found), &shape, cells))
    });
    let groups = groups.collect::<Result<Vec<Sums>, ClientError>>()?;
    let table_of_cells = of_cells(asked, (&shape, &groups), &keys, cells)?;
    gathered::grouped_here(&table_of_cells, asked.owner, cells.predicate.as_ref(), &cells.task)
}

/// The groups of an answer.
pub(super) struct ClearGroups {
    /// The clear columns that rows are grouped by, with a value for each group.
    pub(super) keys: Vec<(Column, ArrayRef)>,
    /// Rows of each group.
    pub(super) rows: Vec<u64>,
}

/// The groups in the clear half of an answer, by these columns.
///
/// # Errors
/// [`ClientError::Answer`] for another clear half.
pub(super) fn clear_groups(
    table: &OwnedTable,
    names: &[String],
    answer: &Answer<'_>,
    group_count: u32,
) -> Result<ClearGroups, ClientError> {
    let missing = || ClientError::Internal { what: "the plan asks for groups that the schema lacks" };
    let clear = answer.clear(0).map_err(answer_error)?;
    if clear.num_columns() != names.len() + 1 {
        return Err(ClientError::Answer { what: "its clear half has another number of columns".into() });
    }
    let counts = clear.columns().last().map(integers).transpose()?;
    let rows = group_rows(table.manifest.manifest().living_rows(), counts.as_ref(), group_count)?;
    let open = table.half.schema.all_clear();
    let keys = names.iter().zip(clear.columns()).map(|(name, array)| {
        let column = open.columns.iter().find(|column| column.name == *name).ok_or_else(missing)?;
        Ok((column.clone(), cast(array, &arrow_type(column.kind))?))
    });
    Ok(ClearGroups { keys: keys.collect::<Result<_, ClientError>>()?, rows })
}

/// The sums of all cells of a group, from the numbers in whose places they stand. Lanes that the query does not read are 0.
///
/// # Errors
/// [`ClientError::Answer`] for a number that no places make.
fn sums_of(
    (whole, cells): (&CubeShape, &CellsQuery),
    placed: &[PlacedSums],
    numbers: &[Number],
) -> Result<Sums, ClientError> {
    let missing = || ClientError::Internal { what: "a sum by hidden values has no place" };
    let mut sums = Sums::zeros(whole);
    for (PlacedSums { lane, bits, low, cells: of_places }, number) in placed.iter().zip(numbers) {
        let Number::Exact(number) = number else { return Err(missing()) };
        let digits = digits(number, (*bits, *low), of_places.len());
        let digits =
            digits.ok_or_else(|| ClientError::Answer { what: "its sums are not those of cells".into() })?;
        let lane = match lane.checked_sub(1) {
            None => &mut sums.rows,
            Some(place) => {
                // The first lane is that of rows.
                let lane = cells.lanes.get(place).and_then(|lane| lane.checked_sub(1));
                lane.and_then(|lane| sums.lanes.get_mut(lane)).ok_or_else(missing)?
            }
        };
        for (cell, digit) in of_places.iter().zip(digits) {
            let cell = cell.and_then(|cell| lane.get_mut(cell as usize));
            cell.into_iter().for_each(|sum| *sum = digit);
        }
    }
    Ok(sums)
}

/// So many digits in base `2^bits`, each from `low` to less than `low + 2^bits`, the lowest first; `None` for a number that has none.
fn digits(number: &BigInt, (bits, low): (u8, i128), count: usize) -> Option<Vec<i128>> {
    let base = BigInt::one() << bits;
    let lows = (0..count).fold(BigInt::default(), |sum, _| sum * &base + low);
    let mut rest = number - lows;
    if rest.sign() == Sign::Minus {
        return None;
    }
    let mut digits = Vec::with_capacity(count);
    for _ in 0..count {
        digits.push((&rest % &base).to_i128()?.checked_add(low)?);
        rest >>= bits;
    }
    (rest == BigInt::default()).then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Digits that add up to a number are found again, and nothing else has any.
    #[test]
    fn digits_are_those_that_make_the_number() {
        let make = |digits: &[i128], bits: u8| {
            digits.iter().rev().fold(BigInt::default(), |sum, digit| (sum << bits) + digit)
        };
        for (wanted, bits, low) in [
            (vec![5, 0, 1023], 10, 0),
            (vec![-512, 511, -1, 0], 10, -512),
            (vec![-3], 3, -3),
            (vec![i128::from(i64::MIN); 3], 64, i128::from(i64::MIN)),
            (vec![7; 12], 20, -1000),
        ] {
            let number = make(&wanted, bits);
            assert_eq!(digits(&number, (bits, low), wanted.len()), Some(wanted.clone()));
            // One place less does not hold the largest digit in it.
            let most = vec![low + (1 << bits) - 1; wanted.len()];
            assert_eq!(digits(&(make(&most, bits) + 1), (bits, low), wanted.len()), None);
            let least = vec![low; wanted.len()];
            assert_eq!(digits(&(make(&least, bits) - 1), (bits, low), wanted.len()), None);
        }
    }
}
