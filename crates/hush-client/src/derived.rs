// SPDX-License-Identifier: Apache-2.0
//! Conditions of rows, worked out when they are encrypted, as a question on rows that came back would: flags say of every row what WHERE says.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::{Field, Schema as ArrowSchema};
use arrow::record_batch::RecordBatch;
use hush_encode::QuantityValues;
use hush_exec::ExecError;
use hush_plan::quantity::Holds;
use hush_plan::schema::Column;
use hush_plan::sql::{Condition, OwnedCondition};
use hush_plan::{Quantity, Schema};
use hush_table::source::{ColumnData, RowBatch, TypedColumn, Values};

use crate::columns::ColumnKeys;
use crate::copy;
use crate::error::ClientError;
use crate::matching::rows_where;

/// The conditions that some encodings mark rows by.
pub(crate) struct DerivedPlan {
    /// That of the table with nothing encrypted.
    schema: Schema,
    conditions: Vec<Planned>,
}

struct Planned {
    condition: String,
    /// As its owner wrote it, but for spacing.
    text: String,
    owned: OwnedCondition,
    /// Where its columns stand in a batch, and what they are for their owner.
    columns: Vec<(usize, Column)>,
}

/// Which rows of a batch meet the conditions.
pub(crate) struct Flags<'a> {
    plan: &'a DerivedPlan,
    truths: Vec<Vec<Option<bool>>>,
}

impl DerivedPlan {
    /// The conditions among the encodings of a table with this schema.
    pub(crate) fn of(schema: &Schema, keys: &ColumnKeys) -> Self {
        let of_key = |quantity: &Quantity| match quantity {
            Quantity::Holds(holds) => Some(holds.condition.clone()),
            _ => None,
        };
        let texts: BTreeSet<String> = keys.iter().filter_map(|key| of_key(&key.encoding.quantity)).collect();
        if texts.is_empty() {
            return Self { schema: schema.all_clear(), conditions: Vec::new() };
        }
        let open = schema.all_clear();
        let plan = |condition: String| {
            let parsed = Condition::parse(&open, &condition).ok()?;
            let (text, owned) = (parsed.text(), parsed.owned().clone());
            let place = |name: &String| {
                let place = open.columns.iter().position(|column| column.name == *name)?;
                Some((place, open.columns.get(place)?.clone()))
            };
            let columns = owned.columns.iter().map(place).collect::<Option<_>>()?;
            Some(Planned { condition, text, owned, columns })
        };
        // One that cannot be planned is missed where it is asked for.
        let conditions = texts.into_iter().filter_map(plan).collect();
        Self { schema: open, conditions }
    }

    /// Works the conditions out.
    ///
    /// # Errors
    /// [`ClientError::Derived`] for what a condition refuses on a row, such as an overflow; [`ClientError::Internal`] for batches without its columns.
    ///
    /// # Cost
    /// Each condition twice on each row: where it is true, and where it is false.
    pub(crate) fn flags(&self, batch: &RowBatch) -> Result<Flags<'_>, ClientError> {
        let truths = self.conditions.iter().map(|planned| planned.truths(&self.schema, batch));
        Ok(Flags { plan: self, truths: truths.collect::<Result<_, _>>()? })
    }
}

impl Planned {
    fn truths(&self, schema: &Schema, batch: &RowBatch) -> Result<Vec<Option<bool>>, ClientError> {
        let missing = || ClientError::Internal { what: "a condition's column was not read" };
        let array = |(place, column): &(usize, Column)| -> Result<ArrayRef, ClientError> {
            match batch.columns.get(*place).and_then(Option::as_ref).ok_or_else(missing)? {
                ColumnData::Array(array) => Ok(array.clone()),
                ColumnData::Units(units) => copy::array(column, copied(units)),
            }
        };
        let arrays = self.columns.iter().map(array).collect::<Result<Vec<_>, _>>()?;
        let fields = self
            .columns
            .iter()
            .zip(&arrays)
            .map(|((_, column), array)| Field::new(&column.name, array.data_type().clone(), true));
        let rows = RecordBatch::try_new(Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>())), arrays)?;
        let mut truths = vec![None; batch.rows];
        let condition = &self.owned.predicate;
        for (truth, condition) in [(true, condition.clone()), (false, condition.clone().negated())] {
            for place in rows_where(schema, &rows, &condition).map_err(|error| self.of_row(error))? {
                truths.get_mut(place).into_iter().for_each(|known| *known = Some(truth));
            }
        }
        Ok(truths)
    }

    /// Which condition it was that a row refused: the engine knows of a question's alone.
    fn of_row(&self, error: ClientError) -> ClientError {
        match error {
            ClientError::Exec(source @ ExecError::Evaluation { .. }) => {
                ClientError::Derived { condition: self.text.clone(), code: source.code() }
            }
            other => other,
        }
    }
}

fn copied(units: &TypedColumn) -> TypedColumn {
    let values = match &units.values {
        Values::F64(values) => Values::F64(values.clone()),
        Values::I128(values) => Values::I128(values.clone()),
        Values::I64(values) => Values::I64(values.clone()),
    };
    TypedColumn { values, valid: units.valid.clone() }
}

impl Flags<'_> {
    /// 1 for the rows that a flag marks.
    ///
    /// # Errors
    /// [`ClientError::Internal`] for a condition that was not planned.
    pub(crate) fn of<'v>(&self, holds: &Holds) -> Result<QuantityValues<'v>, ClientError> {
        let place = self.plan.conditions.iter().position(|planned| planned.condition == holds.condition);
        let truths = place.and_then(|place| self.truths.get(place));
        let truths = truths.ok_or(ClientError::Internal { what: "a condition cannot be worked out" })?;
        let marked = truths.iter().map(|truth| i64::from(*truth == Some(holds.truth)));
        Ok(QuantityValues::I64(marked.collect()))
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int64Array, StringArray};
    use hush_keys::OwnerSeed;
    use hush_plan::schema::file::from_toml;

    use super::*;

    fn planned(text: &str) -> (ColumnKeys, DerivedPlan) {
        let schema = from_toml(text).unwrap();
        let mut needs = hush_plan::Needs::default();
        needs.add_filters(&schema);
        let mut drawn = 0;
        let encodings = hush_plan::plan_encodings(&schema, &needs, 1000, &mut || {
            drawn += 1;
            format!("{drawn:032x}")
        });
        let keys = OwnerSeed::generate().unwrap();
        let keys = ColumnKeys::derive(keys.of_table([1; 16], [2; 16]), &encodings.unwrap()).unwrap();
        let plan = DerivedPlan::of(&schema, &keys);
        (keys, plan)
    }

    /// It names the condition, and nothing of the row.
    #[test]
    fn a_row_that_a_condition_refuses_is_told_by_the_condition() {
        let text = "format = 1\ntable = \"t\"\nstatus = \"approved\"\napproved_by = \"x\"\n\
             derive = [\"note = 'a'\", \"CAST(note AS INT)  >  3\"]\n\
             [columns.note]\ntype = \"text\"\nprotect = \"seal\"\n";
        let (_, plan) = planned(text);
        let rows = |values: Vec<&str>| RowBatch {
            first_row: 0,
            rows: values.len(),
            columns: vec![Some(ColumnData::Array(Arc::new(StringArray::from(values))))],
        };
        assert!(plan.flags(&rows(vec!["7", "2"])).is_ok());
        let Err(error) = plan.flags(&rows(vec!["7", "a secret"])) else { panic!("the row has flags") };
        let told = error.to_string();
        assert_eq!(error.code(), "HUSH-E050");
        assert!(told.starts_with("derive \"CAST(note AS INT) > 3\" failed on a row"), "{told}");
        assert!(!told.contains("secret") && !told.contains("WHERE"), "{told}");
    }

    /// The flags of conditions on encrypted, sealed and clear columns are what SQL says, NULL among them.
    #[test]
    fn flags_are_what_conditions_are_for_each_row() {
        let text = "format = 1\ntable = \"t\"\nstatus = \"approved\"\napproved_by = \"x\"\n\
             derive = [\"price > 3.00 * count\", \"note LIKE '%late%' OR region = 'x'\"]\n\
             [columns.price]\ntype = \"decimal(9,2)\"\nrange = [0, 100000]\nprotect = \"encrypt\"\n\
             [columns.count]\ntype = \"int(64)\"\nrange = [0, 100]\nprotect = \"encrypt\"\nnullable = true\n\
             [columns.note]\ntype = \"text\"\nprotect = \"seal\"\nnullable = true\n\
             [columns.region]\ntype = \"category\"\nprotect = \"clear\"\nnullable = true\n";
        let (keys, plan) = planned(text);
        let units = |values: &[i64], valid: Option<Vec<bool>>| {
            Some(ColumnData::Units(TypedColumn { values: Values::I64(values.to_vec()), valid }))
        };
        let columns = vec![
            units(&[1000, 300, 901, 5], None),
            units(&[3, 1, 3, 0], Some(vec![true, true, true, false])),
            Some(ColumnData::Array(Arc::new(StringArray::from(vec![
                Some("too late"),
                None,
                Some("soon"),
                None,
            ])))),
            Some(ColumnData::Array(Arc::new(StringArray::from(vec![None, Some("x"), Some("y"), None])))),
        ];
        let flags = plan.flags(&RowBatch { first_row: 0, rows: 4, columns }).unwrap();
        let of = |wanted: &str, truth: bool| {
            let mut holds = keys.iter().filter_map(|key| match &key.encoding.quantity {
                Quantity::Holds(holds) => Some(holds),
                _ => None,
            });
            let holds = holds.find(|holds| holds.condition.contains(wanted) && holds.truth == truth).unwrap();
            match flags.of(holds).unwrap() {
                QuantityValues::I64(ref values) => values.clone(),
                _ => Vec::new(),
            }
        };
        assert_eq!((of("price", true), of("price", false)), (vec![1, 0, 1, 0], vec![0, 1, 0, 0]));
        assert_eq!((of("note", true), of("note", false)), (vec![1, 1, 0, 0], vec![0, 0, 1, 0]));
        let other = Holds { condition: "1 = 1".into(), columns: Vec::new(), truth: true };
        assert!(flags.of(&other).is_err());
        let of_another = vec![Some(ColumnData::Array(Arc::new(Int64Array::from(vec![1]))))];
        assert!(plan.flags(&RowBatch { first_row: 0, rows: 1, columns: of_another }).is_err());
    }
}
