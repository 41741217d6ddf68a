// SPDX-License-Identifier: Apache-2.0
//! Row masks of an aggregate task: for each chunk, the group of every row and its weight under every mask.

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::DataType;
use datafusion::logical_expr::Expr;
use hush_plan::plan::{AggregateTask, Mask, Predicate, ProductsTask};
use hush_schemes::bgv::sum::NOT_SELECTED;

use super::compiled::{Compiled, UsedColumns, integer};
use super::groups::Groups;
use super::held::PartColumns;
use super::scalar::Scope;
use super::zones::ZoneFilter;
use crate::error::{ExecError, ExpressionRole};
use crate::living::spread;

/// What a task on products asks of clear columns, as an aggregate task without sums: the rows that count (the first mask), the masks of its factors, and its
/// groups.
pub(crate) fn clear_task(task: &ProductsTask) -> AggregateTask {
    let all = Mask { condition: None, weight: None };
    let mask = |condition: &Predicate| Mask { condition: Some(condition.clone()), weight: None };
    AggregateTask {
        keys: task.keys.clone(),
        clear: vec!["COUNT(*)".to_owned()],
        masks: std::iter::once(all).chain(task.masks.iter().map(mask)).collect(),
        sums: Vec::new(),
        max_groups: task.max_groups,
    }
}

/// All masks of a task, compiled.
#[derive(Debug)]
pub(crate) struct MaskSet {
    columns: UsedColumns,
    predicate: Option<Compiled>,
    zones: Option<ZoneFilter>,
    keys: Vec<Compiled>,
    masks: Vec<CompiledMask>,
}

#[derive(Debug)]
struct CompiledMask {
    condition: Option<Compiled>,
    weight: Option<Compiled>,
}

/// One mask on the rows of one chunk.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RowMask {
    /// Every row counts once, in group 0.
    All,
    /// No row counts.
    Nothing,
    /// A group per row ([`NOT_SELECTED`] for none), and a weight per row unless all are 1.
    Rows {
        /// Groups by row.
        groups: Vec<u32>,
        /// Weights by row.
        weights: Option<Vec<i128>>,
    },
}

impl RowMask {
    /// The mask over all rows of a chunk, from one over its living rows.
    pub(crate) fn spread(self, living: Option<&BooleanBuffer>) -> Self {
        let Some(living) = living else { return self };
        match self {
            Self::Nothing => Self::Nothing,
            Self::All if living.count_set_bits() == 0 => Self::Nothing,
            Self::All => {
                let group = |lives: bool| if lives { 0 } else { NOT_SELECTED };
                Self::Rows { groups: living.iter().map(group).collect(), weights: None }
            }
            Self::Rows { groups, weights } => Self::Rows {
                groups: spread(living, &groups, NOT_SELECTED),
                weights: weights.map(|weights| spread(living, &weights, 0)),
            },
        }
    }
}

impl MaskSet {
    /// Parses and compiles predicate, keys, conditions and weights.
    ///
    /// # Errors
    /// [`ExecError::Expression`].
    pub(crate) fn parse(
        scope: &Scope<'_>,
        predicate: Option<&Expr>,
        task: &AggregateTask,
    ) -> Result<Self, ExecError> {
        let mut parsed = Vec::new();
        for (index, text) in task.keys.iter().enumerate() {
            let role = ExpressionRole::Key(index);
            parsed.push((role, scope.output(role, text)?));
        }
        for (index, mask) in task.masks.iter().enumerate() {
            if let Some(condition) = &mask.condition {
                let role = ExpressionRole::MaskCondition(index);
                parsed.push((role, scope.predicate(role, condition)?));
            }
            if let Some(text) = &mask.weight {
                let role = ExpressionRole::MaskWeight(index);
                parsed.push((role, integer(scope, role, text)?));
            }
        }
        let columns =
            UsedColumns::of(scope, predicate.into_iter().chain(parsed.iter().map(|(_, expr)| expr)))?;
        let compile = |role, expr: &Expr| columns.compile(scope.state, role, expr);
        let predicate = predicate.map(|expr| compile(ExpressionRole::Predicate, expr)).transpose()?;
        let zones = predicate.as_ref().and_then(|predicate| columns.zones(predicate));
        let mut set = Self { predicate, zones, keys: Vec::new(), masks: Vec::new(), columns };
        set.masks.extend(task.masks.iter().map(|_| CompiledMask { condition: None, weight: None }));
        for (role, expr) in &parsed {
            let compiled = set.columns.compile(scope.state, *role, expr)?;
            match *role {
                ExpressionRole::MaskCondition(index) => set.masks[index].condition = Some(compiled),
                ExpressionRole::MaskWeight(index) => set.masks[index].weight = Some(compiled),
                _ => set.keys.push(compiled),
            }
        }
        Ok(set)
    }

    /// The batches to evaluate on, one per chunk of a part.
    ///
    /// # Errors
    /// [`ExecError::Corrupt`].
    pub(crate) fn read(&self, part: Option<&PartColumns>, rows: u64) -> Result<Vec<RecordBatch>, ExecError> {
        self.columns.read(part, rows)
    }

    /// Whether the bounds of the part's columns prove that no mask takes any row of the part.
    pub(crate) fn excludes(&self, part: &PartColumns) -> bool {
        self.zones.as_ref().zip(part.stored()).is_some_and(|(zones, part)| zones.excludes(part))
    }

    /// Whether every mask takes every row, so that no clear data need be read.
    pub(crate) fn takes_all(&self) -> bool {
        let free = |mask: &CompiledMask| mask.condition.is_none() && mask.weight.is_none();
        self.predicate.is_none() && self.keys.is_empty() && self.masks.iter().all(free)
    }

    /// Number of masks.
    pub(crate) fn len(&self) -> usize {
        self.masks.len()
    }

    /// The types of the keys.
    ///
    /// # Errors
    /// [`ExecError::Internal`] for a key without a type.
    pub(crate) fn key_types(&self) -> Result<Vec<DataType>, ExecError> {
        self.keys.iter().map(|key| self.columns.type_of(key)).collect()
    }

    /// The matching rows of one chunk (`None` for all, without a predicate) and the keys of all its rows; `None` if no row matches.
    ///
    /// # Errors
    /// [`ExecError::Evaluation`].
    #[expect(clippy::type_complexity, reason = "a bitmap and columns, taken apart at once")]
    pub(crate) fn keys(
        &self,
        batch: &RecordBatch,
    ) -> Result<Option<(Option<BooleanBuffer>, Vec<ArrayRef>)>, ExecError> {
        let selected = self.predicate.as_ref().map(|predicate| predicate.condition(batch)).transpose()?;
        if selected.as_ref().is_some_and(|selected| selected.count_set_bits() == 0) {
            return Ok(None);
        }
        let keys = self.keys.iter().map(|key| key.array(batch)).collect::<Result<_, _>>()?;
        Ok(Some((selected, keys)))
    }

    /// The rows of one chunk for which the condition of each mask is true, whether the predicate is or not.
    ///
    /// # Errors
    /// [`ExecError::Evaluation`].
    pub(crate) fn conditions(&self, batch: &RecordBatch) -> Result<Vec<BooleanBuffer>, ExecError> {
        let all = || BooleanBuffer::new_set(batch.num_rows());
        let of_mask = |mask: &CompiledMask| match &mask.condition {
            None => Ok(all()),
            Some(condition) => condition.condition(batch),
        };
        self.masks.iter().map(of_mask).collect()
    }

    /// Evaluates all masks on one chunk.
    ///
    /// # Errors
    /// [`ExecError::Evaluation`]; [`ExecError::Internal`] if a row's key is not among the groups.
    pub(crate) fn evaluate(&self, batch: &RecordBatch, groups: &Groups) -> Result<Vec<RowMask>, ExecError> {
        let rows = batch.num_rows();
        let Some((selected, keys)) = self.keys(batch)? else {
            return Ok(vec![RowMask::Nothing; self.masks.len()]);
        };
        let mut base = vec![NOT_SELECTED; rows];
        groups.assign(&keys, selected.as_ref(), &mut base)?;
        let whole =
            !groups.has_keys() && selected.as_ref().is_none_or(|selected| selected.count_set_bits() == rows);
        self.masks.iter().map(|mask| mask.evaluate(batch, &base, whole)).collect()
    }
}

impl CompiledMask {
    fn evaluate(&self, batch: &RecordBatch, base: &[u32], whole: bool) -> Result<RowMask, ExecError> {
        if whole && self.condition.is_none() && self.weight.is_none() {
            return Ok(RowMask::All);
        }
        let mut groups = base.to_vec();
        if let Some(condition) = &self.condition {
            deselect(&mut groups, &condition.condition(batch)?);
        }
        let weights = match &self.weight {
            None => None,
            Some(weight) => {
                let array = weight.integers(batch)?;
                if let Some(nulls) = array.nulls() {
                    deselect(&mut groups, nulls.inner());
                }
                Some(array.values().to_vec())
            }
        };
        if groups.iter().all(|group| *group == NOT_SELECTED) {
            return Ok(RowMask::Nothing);
        }
        Ok(RowMask::Rows { groups, weights })
    }
}

fn deselect(groups: &mut [u32], keep: &BooleanBuffer) {
    for (group, keep) in groups.iter_mut().zip(keep.iter()) {
        if !keep {
            *group = NOT_SELECTED;
        }
    }
}
