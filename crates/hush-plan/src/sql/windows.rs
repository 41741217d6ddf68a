// SPDX-License-Identifier: Apache-2.0
//! Window functions: which ones, and how the owner's query engine is asked for them.
//!
//! A window function has a value for every row that matches, so that nothing is gained by computing it on ciphertexts: the
//! answer would be as long as its operands. The server selects rows and sends back what the windows look at; the owner
//! decrypts and computes, exactly. A z-score takes one round in this way and tells the server nothing but the filter.
//!
//! *Order.* Frames of ROWS, and functions that count rows, see them in the window's order and then in that of the table, so
//! that the same query gives the same result each time. Peers of RANGE frames and of ranks stay peers.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, OrderByExpr, OrderByOptions,
    Value, Visitor, WindowFrame, WindowFrameBound, WindowFrameUnits, WindowSpec, WindowType,
};

use super::expression::{columns_of, plain_name, quoted};
use crate::aggregates::{self, Window};
use crate::error::{Clause, Feature, PlanError};
use crate::sql::walk::walk;

/// Functions that take the frame's first or some other row.
const BY_PLACE: &[&str] = &["first_value", "last_value", "nth_value"];
/// Functions that depend on the order of rows and on no frame.
const BY_ORDER: &[&str] = &["lag", "lead", "ntile", "row_number"];
/// Functions for which peers are equal.
const BY_RANK: &[&str] = &["cume_dist", "dense_rank", "percent_rank", "rank"];
/// The columns among them whose values are integers.
const COUNTING: &[&str] = &["dense_rank", "ntile", "rank", "row_number"];
/// Rows that a frame may reach.
const MAX_REACH: i64 = 1 << 31;

/// The call, if `expr` is one with OVER.
pub(crate) fn window(expr: &Expr) -> Option<&Function> {
    match expr {
        Expr::Function(function) if function.over.is_some() => Some(function),
        _ => None,
    }
}

/// Window functions in `expr`.
pub(super) fn count_windows(expr: &Expr) -> u64 {
    struct Count(u64);
    impl Visitor for Count {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            self.0 += u64::from(window(expr).is_some());
            ControlFlow::Continue(())
        }
    }
    let mut count = Count(0);
    let _ = walk(expr, &mut count);
    count.0
}

/// Every window function of an expression in words: its name, its columns, how its rows are parted and ordered. Nothing of
/// its constants.
pub(crate) fn described(expr: &Expr) -> Vec<String> {
    struct Describe(Vec<String>);
    impl Visitor for Describe {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            let Some(call) = window(expr) else { return ControlFlow::Continue(()) };
            let name = plain_name(call).unwrap_or_default().to_uppercase();
            let listed = |exprs: Vec<&Expr>, before: &str| {
                let names: Vec<String> = exprs.into_iter().flat_map(columns_of).collect();
                if names.is_empty() { String::new() } else { format!("{before}{}", names.join(", ")) }
            };
            let mut words = name + &listed(arguments(call), " of ");
            if let Some(WindowType::WindowSpec(spec)) = &call.over {
                words += &listed(spec.partition_by.iter().collect(), " by ");
                words += &listed(spec.order_by.iter().map(|key| &key.expr).collect(), " in order of ");
                let frame = spec.window_frame.as_ref();
                words += frame.map_or("", |frame| match place(&frame.start_bound) {
                    Some(i64::MIN) => "",
                    _ => " over a moving frame",
                });
            }
            self.0.push(words);
            ControlFlow::Continue(())
        }
    }
    let mut found = Describe(Vec::new());
    let _ = walk(expr, &mut found);
    found.0
}

/// Checks a call with OVER; its arguments, keys and bounds are visited by themselves.
///
/// # Errors
/// P005.
pub(super) fn check_window(function: &Function, clause: Clause) -> Result<(), PlanError> {
    let refuse = |feature| Err(PlanError::Unsupported { clause, feature });
    if !matches!(clause, Clause::Select | Clause::OrderBy) {
        return refuse(Feature::Window);
    }
    let name = plain_name(function).unwrap_or_default();
    let is_window_alone = [BY_PLACE, BY_ORDER, BY_RANK].iter().any(|names| names.contains(&name.as_str()));
    if !is_window_alone && form(&name).is_none() {
        return refuse(Feature::UnknownWindow);
    }
    if matches!(function.over, Some(WindowType::NamedWindow(_))) {
        return refuse(Feature::UnknownWindowName);
    }
    let (Some(WindowType::WindowSpec(spec)), FunctionArguments::List(list)) =
        (&function.over, &function.args)
    else {
        return refuse(Feature::Dialect);
    };
    let arguments = list.args.iter().all(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(_)) => true,
        FunctionArg::Unnamed(FunctionArgExpr::Wildcard) => form(&name) == Some(Window::Counting),
        _ => false,
    });
    let plain = arguments
        && matches!(function.parameters, FunctionArguments::None)
        && function.filter.is_none()
        && function.null_treatment.is_none()
        && function.within_group.is_empty()
        && !function.uses_odbc_syntax
        && list.duplicate_treatment.is_none()
        && list.clauses.is_empty()
        && spec.window_name.is_none()
        && spec.order_by.iter().all(|key| key.with_fill.is_none());
    if !plain {
        return refuse(Feature::Dialect);
    }
    let parts = inner(function, spec);
    if parts.into_iter().any(|part| count_windows(part) > 0) {
        return refuse(Feature::NestedWindow);
    }
    match &spec.window_frame {
        Some(frame) if !is_frame(frame) => refuse(Feature::Frame),
        _ => Ok(()),
    }
}

/// Arguments and keys.
fn inner<'a>(function: &'a Function, spec: &'a WindowSpec) -> Vec<&'a Expr> {
    let arguments = arguments(function);
    arguments.into_iter().chain(&spec.partition_by).chain(spec.order_by.iter().map(|key| &key.expr)).collect()
}

fn arguments(function: &Function) -> Vec<&Expr> {
    let FunctionArguments::List(list) = &function.args else { return Vec::new() };
    let plain = list.args.iter().filter_map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) => Some(argument),
        _ => None,
    });
    plain.collect()
}

/// Whether a frame is one of rows that do not end before they begin, or one of peers without distances.
fn is_frame(frame: &WindowFrame) -> bool {
    let start = place(&frame.start_bound);
    let end = frame.end_bound.as_ref().map_or(Some(0), place);
    let (Some(start), Some(end)) = (start, end) else { return false };
    let is_ordered = start <= end && start < i64::MAX && end > i64::MIN;
    let is_plain = |place: i64| matches!(place, 0 | i64::MIN | i64::MAX);
    match frame.units {
        WindowFrameUnits::Rows => is_ordered,
        WindowFrameUnits::Range => is_ordered && is_plain(start) && is_plain(end),
        WindowFrameUnits::Groups => false,
    }
}

/// Rows after the current one; the extremes without a bound.
fn place(bound: &WindowFrameBound) -> Option<i64> {
    let distance = |expr: &Option<Box<Expr>>| match expr.as_deref() {
        None => Some(i64::MAX),
        Some(Expr::Value(value)) => match &value.value {
            Value::Number(digits, _) => digits.parse().ok().filter(|rows| (0..=MAX_REACH).contains(rows)),
            _ => None,
        },
        Some(_) => None,
    };
    match bound {
        WindowFrameBound::CurrentRow => Some(0),
        WindowFrameBound::Preceding(rows) => {
            distance(rows).map(|rows| if rows == i64::MAX { i64::MIN } else { -rows })
        }
        WindowFrameBound::Following(rows) => distance(rows),
    }
}

/// The argument of a sum or a moment over a frame that moves, whose engine takes away what leaves the frame: exact for exact
/// numbers, and wrong for doubles.
pub(crate) fn retracted(function: &Function) -> Option<&Expr> {
    let name = plain_name(function)?;
    let Some(WindowType::WindowSpec(spec)) = &function.over else { return None };
    let start = place(&spec.window_frame.as_ref()?.start_bound)?;
    let moves = start != i64::MIN && form(&name) == Some(Window::Retracting);
    moves.then(|| arguments(function).into_iter().next()).flatten()
}

/// The call as the engine is asked for it, when its parts have been rendered; `in_arithmetic` if its value is added or
/// multiplied.
pub(crate) fn render(function: &Function, in_arithmetic: bool) -> String {
    let mut function = function.clone();
    let name = plain_name(&function).unwrap_or_default();
    if let Some(WindowType::WindowSpec(spec)) = &mut function.over {
        order(spec, &name);
    }
    if COUNTING.contains(&name.as_str()) || form(&name) == Some(Window::Counting) {
        let kind = if in_arithmetic { "DECIMAL(38,0)" } else { "BIGINT" };
        return format!("CAST({function} AS {kind})");
    }
    if let Some(known) = aggregates::named(&name).map(|entry| entry.known_name(&name))
        && known != name
    {
        function.name = Ident::new(known).into();
    }
    function.to_string()
}

/// How the aggregate of this name stands over a window, if it is one and can.
fn form(name: &str) -> Option<Window> {
    aggregates::named(name)?.window
}

/// Settles the order of rows where it matters.
fn order(spec: &mut WindowSpec, name: &str) {
    let by_rows = spec.window_frame.as_ref().is_some_and(|frame| frame.units == WindowFrameUnits::Rows);
    let whole = BY_PLACE.contains(&name) && spec.window_frame.is_none() && spec.order_by.is_empty();
    if whole {
        // Without an order the frame is the partition; with one it would end at the current row.
        spec.window_frame = Some(WindowFrame {
            units: WindowFrameUnits::Rows,
            start_bound: WindowFrameBound::Preceding(None),
            end_bound: Some(WindowFrameBound::Following(None)),
        });
    }
    if whole || BY_ORDER.contains(&name) || by_rows && !BY_RANK.contains(&name) {
        let expr = Expr::Identifier(Ident::new(quoted("row")));
        let options = OrderByOptions { asc: None, nulls_first: None };
        spec.order_by.push(OrderByExpr { expr, options, with_fill: None });
    }
}
