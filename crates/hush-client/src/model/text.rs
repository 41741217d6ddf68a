// SPDX-License-Identifier: Apache-2.0
//! Models as expressions: SQL over the columns of a table, and the language of `hush eval` over vectors.

use hush_plan::sql::quoted;

use super::tree::{Node, Tree};
use super::{Coefficients, Fit, Model, ModelError, ScoreRequest};

/// Significant digits of numbers for vectors, which become integers in units of the last one.
const DIGITS: i32 = 6;

impl Model {
    /// SQL of what the model says of a row; NULL where a feature is missing. A tree of more than some sixty leaves is more than a query may
    /// have (HUSH-P012).
    pub fn sql(&self) -> String {
        match &self.fit {
            Fit::Linear(fit) => self.linear_sql(fit),
            Fit::Logistic(fit) => format!("1e0 / (1e0 + exp(-({})))", self.linear_sql(fit)),
            Fit::Tree(tree) => {
                let missing: Vec<String> =
                    self.features.iter().map(|feature| format!("({feature}) IS NULL")).collect();
                format!("CASE WHEN {} THEN NULL ELSE {} END", missing.join(" OR "), self.tree_sql(tree, 0))
            }
        }
    }

    /// The query that scores rows of a table: the columns that are kept, then the score, or the features of a tree.
    pub(super) fn query(&self, table: &str, request: &ScoreRequest) -> String {
        let kept: String = request.keep.iter().map(|column| format!("{}, ", quoted(column))).collect();
        let condition = request.condition.as_ref().map_or(String::new(), |sql| format!(" WHERE {sql}"));
        let outputs = match &self.fit {
            Fit::Linear(_) | Fit::Logistic(_) => format!("{} AS score", self.sql()),
            Fit::Tree(_) => {
                let features = self.features.iter().enumerate();
                let features = features.map(|(place, sql)| format!("{} AS m_{place}", double(sql)));
                features.collect::<Vec<_>>().join(", ")
            }
        };
        format!("SELECT {kept}{outputs} FROM {}{condition}", quoted(table))
    }

    fn linear_sql(&self, fit: &Coefficients) -> String {
        let terms = fit.coefficients.iter().zip(&self.features);
        let terms = terms.map(|(factor, feature)| format!(" + {} * {}", number(*factor), double(feature)));
        std::iter::once(number(fit.intercept)).chain(terms).collect()
    }

    fn tree_sql(&self, tree: &Tree, place: usize) -> String {
        match tree.nodes.get(place) {
            Some(Node::Split { feature, at, below, above }) => {
                let feature = self.features.get(*feature).map_or(String::new(), |feature| double(feature));
                let [low, high] = [below, above].map(|child| self.tree_sql(tree, *child));
                format!("CASE WHEN {feature} <= {} THEN {low} ELSE {high} END", number(*at))
            }
            Some(Node::Leaf { value, .. }) => number(*value),
            None => "NULL".to_owned(),
        }
    }

    /// The model for `hush eval`, over one vector for each feature. A linear model is a linear form, a logistic one the logarithmic
    /// odds, which are positive where the chance is above a half, and a tree a choice among choices, so that table look-ups serve it. Coefficients and
    /// values of leaves are rounded to six digits.
    ///
    /// # Errors
    /// [`ModelError::NotAName`] for features that are no plain names.
    pub fn expression(&self) -> Result<String, ModelError> {
        let is_name = |feature: &str| {
            let mut letters = feature.chars();
            letters.next().is_some_and(|first| first.is_ascii_alphabetic())
                && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        };
        if let Some(feature) = self.features.iter().find(|feature| !is_name(feature)) {
            return Err(ModelError::NotAName { feature: feature.clone() });
        }
        Ok(match &self.fit {
            Fit::Linear(fit) | Fit::Logistic(fit) => {
                let terms = fit.coefficients.iter().zip(&self.features);
                let terms = terms.map(|(factor, name)| format!(" + ({})*{name}", rounded(*factor)));
                std::iter::once(rounded(fit.intercept)).chain(terms).collect()
            }
            Fit::Tree(tree) => self.choices(tree, 0),
        })
    }

    fn choices(&self, tree: &Tree, place: usize) -> String {
        match tree.nodes.get(place) {
            Some(Node::Split { feature, at, below, above }) => {
                let feature = self.features.get(*feature).map_or("", String::as_str);
                let [low, high] = [below, above].map(|child| self.choices(tree, *child));
                format!("if({feature} <= {at}, {low}, {high})")
            }
            Some(Node::Leaf { value, .. }) => rounded(*value),
            None => "0".to_owned(),
        }
    }
}

/// A double as SQL that is read as the same double.
fn number(value: f64) -> String {
    format!("{value:e}")
}

fn double(feature: &str) -> String {
    format!("CAST({feature} AS DOUBLE)")
}

/// A decimal of [`DIGITS`] significant digits, without an exponent.
fn rounded(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let place = value.abs().log10().floor() as i32;
    let decimals = usize::try_from(DIGITS - 1 - place).unwrap_or(0);
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}
