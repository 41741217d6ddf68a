// SPDX-License-Identifier: Apache-2.0
//! Windows: `OVER w` is written out as the clause WINDOW has it, and conditions on rows or groups have none.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, NamedWindowDefinition, NamedWindowExpr, OrderByKind, Query, SetExpr, Visitor, VisitorMut,
    WindowSpec, WindowType,
};

use super::super::statement;
use crate::error::{Clause, Feature, Measure, PlanError};
use crate::sql::walk::{walk, walk_mut};

/// Most bytes of windows that are written out: as many as a query has. A name is short, and its window need not be.
const MAX_BYTES: usize = 64 << 10;

/// Writes out the windows of every SELECT.
#[derive(Default)]
pub(super) struct NamedWindows {
    /// Bytes that were written out.
    bytes: usize,
}

impl VisitorMut for NamedWindows {
    type Break = Box<PlanError>;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        let SetExpr::Select(select) = &mut *query.body else { return ControlFlow::Continue(()) };
        let named = std::mem::take(&mut select.named_window);
        if let Err(error) = check_names(&named) {
            return ControlFlow::Break(Box::new(error));
        }
        let mut written = Written { named: &named, queries: 0, bytes: &mut self.bytes };
        for item in &mut select.projection {
            walk_mut(item, &mut written)?;
        }
        walk_mut(&mut select.qualify, &mut written)?;
        match query.order_by.as_mut().map(|order| &mut order.kind) {
            Some(OrderByKind::Expressions(keys)) => {
                keys.iter_mut().try_for_each(|key| walk_mut(&mut key.expr, &mut written))
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

/// Refuses two windows of one name.
fn check_names(named: &[NamedWindowDefinition]) -> Result<(), PlanError> {
    let names: BTreeSet<String> = named.iter().map(|window| window.0.value.to_ascii_lowercase()).collect();
    statement::refuse(names.len() < named.len(), Clause::Select, Feature::RepeatedWindowName)
}

struct Written<'a> {
    named: &'a [NamedWindowDefinition],
    /// Sub-queries that are open: their windows are their own.
    queries: u32,
    bytes: &'a mut usize,
}

impl Written<'_> {
    /// What a name stands for; one that is given by another name has that before it.
    fn spec(&self, name: &str) -> Option<&WindowSpec> {
        let (mut name, mut known) = (name, self.named);
        loop {
            let place = known.iter().position(|window| window.0.value.eq_ignore_ascii_case(name))?;
            match &known[place].1 {
                NamedWindowExpr::WindowSpec(spec) => return Some(spec),
                NamedWindowExpr::NamedWindow(other) => (name, known) = (&other.value, &known[..place]),
            }
        }
    }
}

impl VisitorMut for Written<'_> {
    type Break = Box<PlanError>;

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<Self::Break> {
        self.queries += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Self::Break> {
        self.queries = self.queries.saturating_sub(1);
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        if self.queries == 0
            && let Expr::Function(function) = expr
            && let Some(WindowType::NamedWindow(name)) = &function.over
        {
            let Some(spec) = self.spec(&name.value) else {
                let unknown = statement::unsupported(Clause::Select, Feature::UnknownWindowName);
                return ControlFlow::Break(Box::new(unknown));
            };
            let spec = spec.clone();
            *self.bytes += spec.to_string().len();
            if *self.bytes > MAX_BYTES {
                let (what, limit) = (Measure::Bytes, MAX_BYTES as u64);
                return ControlFlow::Break(Box::new(PlanError::TooComplex { what, limit }));
            }
            function.over = Some(WindowType::WindowSpec(spec));
        }
        ControlFlow::Continue(())
    }
}

/// Whether a window function is in an expression, but for its sub-queries.
pub(super) fn has_window(expr: &Expr) -> bool {
    walk(expr, &mut Seek { queries: 0 }).is_break()
}

struct Seek {
    /// Sub-queries that are open.
    queries: u32,
}

impl Visitor for Seek {
    type Break = ();

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.queries += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.queries = self.queries.saturating_sub(1);
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Function(function) if self.queries == 0 && function.over.is_some() => {
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        }
    }
}
