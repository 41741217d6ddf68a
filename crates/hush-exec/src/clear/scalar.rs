// SPDX-License-Identifier: Apache-2.0
//! SQL in plans: scalar expressions, and aggregates of scalars, over clear columns alone.
//!
//! A plan comes from the network. Its SQL is parsed as an *expression*, never as a statement, against a schema
//! that holds the clear columns and nothing else; then every node of the tree must be on the list below. No
//! statement, subquery, window, table function, variable or user-defined function can get through.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::DFSchema;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::DataFusionError;
use datafusion::execution::SessionState;
use datafusion::logical_expr::{Expr, ExprSchemable, Volatility, and, cast, not, or};
use hush_plan::plan::{Atom, Predicate};
use hush_plan::sql::{TextFault, check_expression};

use crate::Stop;
use crate::coerce::{expect_few_evaluations, settle};
use crate::error::{ExecError, ExpressionFault, ExpressionRole};

/// The clear columns as expressions see them, and the session that knows the functions.
pub(crate) struct Scope<'a> {
    pub(crate) state: &'a SessionState,
    pub(crate) schema: &'a DFSchema,
    /// Asked before each expression: reading a thousand of them may take minutes.
    pub(crate) stop: &'a Stop,
}

/// The nodes that an expression may have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Allowed {
    Scalars,
    ScalarsAndAggregates,
}

impl Scope<'_> {
    /// Parses a scalar expression.
    ///
    /// # Errors
    /// [`ExecError::Expression`]; [`ExecError::Cancelled`], [`ExecError::Deadline`].
    pub(crate) fn scalar(&self, role: ExpressionRole, text: &str) -> Result<Expr, ExecError> {
        self.stop.check()?;
        let expr = self.parse(text).map_err(|fault| ExecError::Expression { role, fault })?;
        check(&expr, Allowed::Scalars).map_err(|fault| ExecError::Expression { role, fault })?;
        Ok(expr)
    }

    /// Parses an expression of aggregates: no column stands outside one.
    ///
    /// # Errors
    /// [`ExecError::Expression`].
    pub(crate) fn aggregate(&self, role: ExpressionRole, text: &str) -> Result<Expr, ExecError> {
        self.stop.check()?;
        let expr = self.parse(text).map_err(|fault| ExecError::Expression { role, fault })?;
        check(&expr, Allowed::ScalarsAndAggregates).map_err(|fault| ExecError::Expression { role, fault })?;
        Ok(expr)
    }

    /// Parses a predicate: one expression, joined in the order of its members.
    ///
    /// # Errors
    /// [`ExecError::Expression`], also if an atom is not of type boolean, and if the whole is more work than one
    /// expression may be.
    pub(crate) fn predicate(&self, role: ExpressionRole, predicate: &Predicate) -> Result<Expr, ExecError> {
        let expr = self.joined(role, predicate)?;
        let checked = expect_few_evaluations(&expr).map_err(|error| fault_of(&error));
        checked.map_err(|fault| ExecError::Expression { role, fault })?;
        Ok(expr)
    }

    fn joined(&self, role: ExpressionRole, predicate: &Predicate) -> Result<Expr, ExecError> {
        let list = |members: &[Predicate], join: fn(Expr, Expr) -> Expr| {
            let mut members = members.iter().map(|member| self.joined(role, member));
            // A list that was checked has members.
            let first =
                members.next().unwrap_or(Err(ExecError::Internal { place: "members of a condition" }))?;
            members.try_fold(first, |all, member| Ok(join(all, member?)))
        };
        match predicate {
            Predicate::And(members) => list(members, and),
            Predicate::Is(Atom::Clear(text)) => self.condition(role, text),
            Predicate::Not(Atom::Clear(text)) => Ok(not(self.condition(role, text)?)),
            Predicate::Or(members) => list(members, or),
        }
    }

    /// Parses a condition that is not taken apart.
    ///
    /// # Errors
    /// [`ExecError::Expression`], also if it is not of type boolean.
    fn condition(&self, role: ExpressionRole, text: &str) -> Result<Expr, ExecError> {
        let expr = self.scalar(role, text)?;
        match self.data_type(role, &expr)? {
            DataType::Boolean => Ok(expr),
            _ => Err(ExecError::Expression { role, fault: ExpressionFault::Type }),
        }
    }

    /// Parses a group key or an output column. Gives it a type and values on which query and masks agree: no dictionaries, no
    /// views, and no negative zeros beside positive ones.
    ///
    /// # Errors
    /// [`ExecError::Expression`].
    pub(crate) fn output(&self, role: ExpressionRole, text: &str) -> Result<Expr, ExecError> {
        let expr = self.scalar(role, text)?;
        let kind = self.data_type(role, &expr)?;
        let plain = plain_type(&kind);
        let expr = if plain == kind { expr } else { cast(expr, plain) };
        match (role, kind) {
            (ExpressionRole::Key(_), DataType::Float32) => Ok(expr + datafusion::prelude::lit(0.0_f32)),
            (ExpressionRole::Key(_), DataType::Float64) => Ok(expr + datafusion::prelude::lit(0.0_f64)),
            _ => Ok(expr),
        }
    }

    /// The type of an expression.
    ///
    /// # Errors
    /// [`ExecError::Expression`] if types within it do not go together.
    pub(crate) fn data_type(&self, role: ExpressionRole, expr: &Expr) -> Result<DataType, ExecError> {
        let malformed = |_| ExecError::Expression { role, fault: ExpressionFault::Malformed };
        // Types of functions show only after coercion, which building the physical expression does.
        let physical = self.state.create_physical_expr(expr.clone(), self.schema).map_err(malformed)?;
        physical.data_type(self.schema.as_arrow()).or_else(|_| expr.get_type(self.schema)).map_err(malformed)
    }

    fn parse(&self, text: &str) -> Result<Expr, ExpressionFault> {
        check_expression(text)?;
        let expr = self.state.create_logical_expr(text, self.schema);
        // Names that the parser gave to subexpressions mean nothing here.
        let expr = expr.map(|expr| expr.unalias_nested().data);
        expr.and_then(|expr| settle(expr, self.schema)).map_err(|error| fault_of(&error))
    }
}

/// The fault of an expression that an error of the query engine tells.
fn fault_of(error: &DataFusionError) -> ExpressionFault {
    match error.find_root() {
        DataFusionError::External(fault) => {
            fault.downcast_ref().map_or(ExpressionFault::Malformed, |fault: &TextFault| (*fault).into())
        }
        _ => ExpressionFault::Malformed,
    }
}

/// A type without dictionary or view encoding.
pub(crate) fn plain_type(kind: &DataType) -> DataType {
    match kind {
        DataType::Dictionary(_, value) => plain_type(value),
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        other => other.clone(),
    }
}

fn check(expr: &Expr, allowed: Allowed) -> Result<(), ExpressionFault> {
    let mut fault = None;
    let visited = expr.apply(|node| {
        let (verdict, next) = judge(node, allowed);
        fault = verdict;
        Ok(if fault.is_some() { TreeNodeRecursion::Stop } else { next })
    });
    match (visited, fault) {
        (_, Some(fault)) => Err(fault),
        (Err(_), None) => Err(ExpressionFault::NotScalar),
        (Ok(_), None) => Ok(()),
    }
}

/// The fault of a node, if any, and whether to look below it.
fn judge(node: &Expr, allowed: Allowed) -> (Option<ExpressionFault>, TreeNodeRecursion) {
    let below = TreeNodeRecursion::Continue;
    let verdict = match node {
        Expr::Column(_) if allowed == Allowed::ScalarsAndAggregates => Some(ExpressionFault::NotScalar),
        Expr::Column(_)
        | Expr::Literal(..)
        | Expr::BinaryExpr(_)
        | Expr::Like(_)
        | Expr::SimilarTo(_)
        | Expr::Not(_)
        | Expr::IsNotNull(_)
        | Expr::IsNull(_)
        | Expr::IsTrue(_)
        | Expr::IsFalse(_)
        | Expr::IsUnknown(_)
        | Expr::IsNotTrue(_)
        | Expr::IsNotFalse(_)
        | Expr::IsNotUnknown(_)
        | Expr::Negative(_)
        | Expr::Between(_)
        | Expr::Case(_)
        | Expr::Cast(_)
        | Expr::TryCast(_)
        | Expr::InList(_) => None,
        Expr::ScalarFunction(call) => {
            // A function of the time would differ between query and masks, and between two runs.
            let varies = call.func.signature().volatility != Volatility::Immutable;
            let refused = varies || REFUSED_FUNCTIONS.contains(&call.func.name());
            let growing = GROWING_FUNCTIONS.contains(&call.func.name()) && call.args.iter().any(grows);
            match (refused, growing) {
                (true, _) => Some(ExpressionFault::Function),
                (false, true) => Some(ExpressionFault::Growing),
                (false, false) => None,
            }
        }
        Expr::AggregateFunction(call) if allowed == Allowed::ScalarsAndAggregates => {
            let inside = call.params.args.iter().chain(call.params.filter.as_deref());
            let verdict = if !AGGREGATES.contains(&call.func.name()) {
                Some(ExpressionFault::Function)
            } else if !call.params.order_by.is_empty() || call.params.null_treatment.is_some() {
                Some(ExpressionFault::NotScalar)
            } else {
                inside.map(|arg| check(arg, Allowed::Scalars)).find_map(Result::err)
            };
            return (verdict, TreeNodeRecursion::Jump);
        }
        _ => Some(ExpressionFault::NotScalar),
    };
    (verdict, below)
}

/// Whether an argument of a growing function would let it grow without bound: a call of another one, or a long text.
fn grows(argument: &Expr) -> bool {
    let found = argument.exists(|node| {
        Ok(match node {
            Expr::ScalarFunction(call) => GROWING_FUNCTIONS.contains(&call.func.name()),
            Expr::Literal(value, _) => {
                value.try_as_str().flatten().is_some_and(|text| text.len() > MAX_GROWTH_BYTES)
            }
            _ => false,
        })
    });
    found.unwrap_or(true)
}

/// Functions that can replace every character of a text by another text.
const GROWING_FUNCTIONS: &[&str] = &["replace", "translate", "regexp_replace", "overlay"];
/// Longest text that they may insert.
const MAX_GROWTH_BYTES: usize = 64;

/// Functions with an argument that sets the size of the output, and functions that tell about the server, not the table.
const REFUSED_FUNCTIONS: &[&str] =
    &["repeat", "lpad", "rpad", "version", "input_file_name", "file_row_index"];

/// Aggregates, by the query engine's names. Their results do not depend on the order of rows (for sums
/// of floats, [`super::groups`] fixes the order).
const AGGREGATES: &[&str] = &[
    "avg",
    "bit_and",
    "bit_or",
    "bit_xor",
    "bool_and",
    "bool_or",
    "count",
    "geomean",
    "kurtosis",
    "kurtosis_pop",
    "logreg",
    "max",
    "min",
    "mode",
    "product",
    "quantile_at",
    "quantile_cont",
    "quantile_disc",
    "skewness",
    "stddev",
    "stddev_pop",
    "sum",
    "var",
    "var_pop",
];
