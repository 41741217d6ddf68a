// SPDX-License-Identifier: Apache-2.0
//! Models of one column by others: fitted to a table with the owner's key, and used on rows by a query or on encrypted vectors.
//!
//! | model | fitted by |
//! |---|---|
//! | linear | `LINREG`: from sums that a server adds up, or whatever way answers it |
//! | logistic | `LOGREG` |
//! | tree | the owner, on the columns that come back |
//!
//! A model is an expression over its features ([`Model::sql`], [`Model::expression`]). Everything that answers queries scores rows.

mod error;
mod exact;
mod text;
mod tree;

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array};
use arrow::datatypes::{DataType, Field, Float64Type, Int64Type, Schema as ArrowSchema};
use arrow::record_batch::RecordBatch;
use hush_plan::Schema;
use hush_plan::sql::{is_condition, is_expression, quoted};
use serde::{Deserialize, Serialize};

pub use self::error::ModelError;
pub use self::tree::{MAX_DEPTH, Node, Tree, TreeSize};
use self::tree::{Observed, grow};
use crate::ask::Outcome;
use crate::error::ClientError;
use crate::table::OwnedTable;
use hush_remote::Progress;

/// What is fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelKind {
    /// The least-squares fit of the outcome by a constant and the features.
    Linear,
    /// The most likely chances of a condition, by their logarithmic odds as a linear function of the features.
    Logistic,
    /// Means of the outcome on rows that the same questions part.
    Tree(TreeSize),
}

/// What to fit to which rows.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelRequest {
    /// The kind.
    pub kind: ModelKind,
    /// SQL of the outcome: a number, or a condition.
    pub outcome: String,
    /// SQL of each feature: a number, or a condition.
    pub features: Vec<String>,
    /// SQL of a condition on the rows.
    pub condition: Option<String>,
}

/// A fitted model. Its coefficients tell of the rows that it was fitted to, as every result of a query does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Version of the format: 1.
    pub hushtable_model: u32,
    /// SQL of the outcome.
    pub outcome: String,
    /// SQL of the features.
    pub features: Vec<String>,
    /// Rows that it was fitted to: those with all values.
    pub rows: u64,
    /// The fit.
    pub fit: Fit,
}

/// Version of the format of models.
pub(crate) const FORMAT: u32 = 1;

/// What a model says of a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Fit {
    /// `intercept + Σ coefficients · features`.
    Linear(Coefficients),
    /// `1 / (1 + exp(−(intercept + Σ coefficients · features)))`.
    Logistic(Coefficients),
    /// The value of a leaf.
    Tree(Tree),
}

/// The coefficients of a regression.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Coefficients {
    /// The constant.
    #[serde(deserialize_with = "exact::double")]
    pub intercept: f64,
    /// One for each feature.
    #[serde(deserialize_with = "exact::doubles")]
    pub coefficients: Vec<f64>,
    /// How much the fit explains, from 0 to 1: of the variance, or of the logarithm of the likelihood (McFadden).
    #[serde(deserialize_with = "exact::double")]
    pub r2: f64,
}

/// Rows to score.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScoreRequest {
    /// Columns beside the score.
    pub keep: Vec<String>,
    /// SQL of a condition on the rows.
    pub condition: Option<String>,
}

impl OwnedTable {
    /// Fits a model to rows of the table: those of the condition that have a value of the outcome and of all features.
    ///
    /// # Cost
    /// That of one query. A tree takes 8 bytes for each row and feature, and is grown in
    /// `O(depth · features · n log n)`.
    ///
    /// # Errors
    /// [`ClientError::Model`] if the rows determine no model; otherwise as [`OwnedTable::ask`].
    pub fn fit(
        &self,
        request: &ModelRequest,
        progress: &dyn Progress,
    ) -> Result<(Model, Outcome), ClientError> {
        request.check()?;
        let outcome = self.ask(&request.sql(self.schema()), progress)?;
        let model = request.model(&outcome.batches)?;
        Ok((model, outcome))
    }

    /// What the model says of rows of the table, in the column `score`; NULL where a feature is missing. A tree, which may be larger than
    /// any expression of a query, is asked for each row here.
    ///
    /// # Errors
    /// As [`OwnedTable::ask`].
    pub fn score(
        &self,
        model: &Model,
        request: &ScoreRequest,
        progress: &dyn Progress,
    ) -> Result<Outcome, ClientError> {
        let outcome = self.ask(&model.query(&self.schema().table, request), progress)?;
        let Fit::Tree(tree) = &model.fit else { return Ok(outcome) };
        let scored = outcome.batches.iter().map(|batch| tree.scored(batch, request.keep.len()));
        Ok(Outcome { batches: scored.collect::<Result<_, _>>()?, ..outcome })
    }
}

impl Tree {
    /// The columns of a batch that are kept, and the scores of its rows by the features behind them.
    fn scored(&self, batch: &RecordBatch, kept: usize) -> Result<RecordBatch, ClientError> {
        let columns = || batch.columns().iter();
        let features = columns().skip(kept).map(|column| column.as_primitive_opt::<Float64Type>());
        let features = features.collect::<Option<Vec<&Float64Array>>>();
        let features = features.ok_or(ClientError::Internal { what: "a feature came back as no double" })?;
        let score = |row: usize| {
            let values = features.iter().map(|column| column.is_valid(row).then(|| column.value(row)));
            self.value(&values.collect::<Option<Vec<f64>>>()?)
        };
        let scores: ArrayRef = Arc::new((0..batch.num_rows()).map(score).collect::<Float64Array>());
        let schema = batch.schema();
        let fields = schema.fields().iter().take(kept).cloned();
        let score = Arc::new(Field::new("score", DataType::Float64, true));
        let schema = ArrowSchema::new(fields.chain([score]).collect::<Vec<_>>());
        let columns = columns().take(kept).cloned().chain([scores]).collect();
        Ok(RecordBatch::try_new(Arc::new(schema), columns)?)
    }
}

impl ModelRequest {
    fn check(&self) -> Result<(), ModelError> {
        let refused = |what: &str| Err(ModelError::Request { what: what.to_owned() });
        if self.features.is_empty() {
            return refused("a model needs a feature: name a column");
        }
        let texts = std::iter::once(&self.outcome).chain(&self.features).chain(&self.condition);
        if let Some(text) = texts.into_iter().find(|text| !is_expression(text)) {
            return refused(&format!(
                "{text} is not one expression in SQL: a column, a number made of some, a condition"
            ));
        }
        if let ModelKind::Tree(size) = self.kind {
            if size.depth > MAX_DEPTH {
                return refused("a tree asks 16 questions one after the other at most: a depth up to 16");
            }
            if size.leaf_rows == 0 {
                return refused("a leaf of a tree has rows: at least 1");
            }
        }
        Ok(())
    }

    /// The query that answers it.
    fn sql(&self, schema: &Schema) -> String {
        let variables = || std::iter::once(&self.outcome).chain(&self.features);
        let outputs = match self.kind {
            ModelKind::Linear => {
                let numbers = variables().map(|sql| match is_condition(schema, sql) {
                    true => format!("CASE WHEN {sql} THEN 1 WHEN NOT ({sql}) THEN 0 END"),
                    false => sql.clone(),
                });
                format!("LINREG({}) AS m", numbers.collect::<Vec<_>>().join(", "))
            }
            ModelKind::Logistic => {
                let variables: Vec<&str> = variables().map(String::as_str).collect();
                format!("LOGREG({}) AS m", variables.join(", "))
            }
            ModelKind::Tree(_) => {
                let doubles =
                    variables().enumerate().map(|(place, sql)| format!("CAST({sql} AS DOUBLE) AS m_{place}"));
                doubles.collect::<Vec<_>>().join(", ")
            }
        };
        let condition = self.condition.as_ref().map_or(String::new(), |sql| format!(" WHERE {sql}"));
        format!("SELECT {outputs} FROM {}{condition}", quoted(&schema.table))
    }

    /// The model that the result of the query is.
    fn model(&self, batches: &[RecordBatch]) -> Result<Model, ModelError> {
        let (rows, fit) = match self.kind {
            ModelKind::Tree(size) => self.grown(batches, size)?,
            ModelKind::Linear => {
                let (rows, fit) = self.solved(batches)?;
                (rows, Fit::Linear(fit))
            }
            ModelKind::Logistic => {
                let (rows, fit) = self.solved(batches)?;
                (rows, Fit::Logistic(fit))
            }
        };
        let (outcome, features) = (self.outcome.clone(), self.features.clone());
        Ok(Model { hushtable_model: FORMAT, outcome, features, rows, fit })
    }

    /// The outputs of a regression: the constant, a coefficient for each feature, what it explains, and the number of rows.
    fn solved(&self, batches: &[RecordBatch]) -> Result<(u64, Coefficients), ModelError> {
        let batch = batches.iter().find(|batch| batch.num_rows() > 0).ok_or(ModelError::NoFit)?;
        let double = |place: usize| {
            let column = batch.columns().get(place)?.as_primitive_opt::<Float64Type>()?;
            column.is_valid(0).then(|| column.value(0))
        };
        let features = self.features.len();
        let count =
            batch.columns().get(features + 2).and_then(|column| column.as_primitive_opt::<Int64Type>());
        let rows = count.filter(|count| count.is_valid(0)).map_or(0, |count| count.value(0));
        let rows = u64::try_from(rows).unwrap_or(0);
        if rows == 0 {
            return Err(ModelError::NoRows { outcome: self.outcome.clone() });
        }
        let coefficients = (1..=features).map(double).collect::<Option<Vec<f64>>>();
        match (double(0), coefficients, double(features + 1)) {
            (Some(intercept), Some(coefficients), Some(r2)) => {
                Ok((rows, Coefficients { intercept, coefficients, r2 }))
            }
            _ => Err(ModelError::NoFit),
        }
    }

    /// The tree of rows that came back.
    fn grown(&self, batches: &[RecordBatch], size: TreeSize) -> Result<(u64, Fit), ModelError> {
        let names: Vec<&String> = std::iter::once(&self.outcome).chain(&self.features).collect();
        let mut columns: Vec<Vec<f64>> = vec![Vec::new(); names.len()];
        for batch in batches {
            let doubles = batch.columns().iter().map(|column| column.as_primitive_opt::<Float64Type>());
            let Some(doubles) = doubles.collect::<Option<Vec<_>>>() else { continue };
            for row in (0..batch.num_rows()).filter(|row| doubles.iter().all(|column| column.is_valid(*row)))
            {
                columns.iter_mut().zip(&doubles).for_each(|(all, column)| all.push(column.value(row)));
            }
        }
        if let Some((_, name)) =
            columns.iter().zip(&names).find(|(all, _)| all.iter().any(|x| !x.is_finite()))
        {
            return Err(ModelError::NotFinite { column: (*name).clone() });
        }
        let none = || ModelError::NoRows { outcome: self.outcome.clone() };
        let (outcomes, features) = columns.split_first().ok_or_else(none)?;
        if outcomes.is_empty() {
            return Err(none());
        }
        Ok((outcomes.len() as u64, Fit::Tree(grow(Observed { outcomes, features }, size))))
    }
}

impl Model {
    /// A model from its file.
    ///
    /// # Errors
    /// [`ModelError::File`] for anything that [`Model::to_json`] does not write.
    pub fn from_json(text: &str, place: &str) -> Result<Self, ModelError> {
        let faulty = |fault: String| ModelError::File { place: place.to_owned(), fault };
        let model: Self = serde_json::from_str(text).map_err(|error| {
            // Positions and names of fields, never a value.
            faulty(format!("line {} cannot be read as one", error.line()))
        })?;
        match model.fault() {
            None => Ok(model),
            Some(fault) => Err(faulty(fault.to_owned())),
        }
    }

    fn fault(&self) -> Option<&'static str> {
        if self.hushtable_model != FORMAT {
            return Some("it is of another version of the format; this one reads version 1");
        }
        if self.features.is_empty() || !self.features.iter().all(|feature| is_expression(feature)) {
            return Some("it has no features, or some that are no expressions in SQL");
        }
        match &self.fit {
            Fit::Tree(tree) => tree.fault(self.features.len()),
            Fit::Linear(fit) | Fit::Logistic(fit) => {
                let mut numbers = fit.coefficients.iter().chain([&fit.intercept]);
                if fit.coefficients.len() != self.features.len() {
                    Some("it has another number of coefficients than of features")
                } else if numbers.any(|number| !number.is_finite()) {
                    Some("a coefficient is not finite")
                } else {
                    None
                }
            }
        }
    }

    /// The model as its file has it.
    ///
    /// # Errors
    /// [`ClientError::Internal`].
    pub fn to_json(&self) -> Result<String, ClientError> {
        let text = serde_json::to_string_pretty(self);
        text.map(|text| text + "\n").map_err(|_| ClientError::Internal { what: "a model cannot be written" })
    }
}

#[cfg(test)]
mod tests;
