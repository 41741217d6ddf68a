// SPDX-License-Identifier: Apache-2.0
//! Walks over the parser's syntax trees, made once for all visitors.
//!
//! The parser's own walk is generic: for each visitor the compiler makes the walk anew, through all types of the tree. For thirty visitors
//! that was three fifths of the code of this crate. Here the parser sees one type of visitor, which calls the others.

use std::convert::Infallible;
use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, ObjectName, Query, Select, Statement, TableFactor, ValueWithSpan, Visit, VisitMut, Visitor,
    VisitorMut,
};

/// Shows a visitor all that it asks for, as [`Visit::visit`] does.
///
/// # Errors
/// What the visitor ends the walk with.
pub(crate) fn walk<V: Visitor>(tree: &impl Visit, visitor: &mut V) -> ControlFlow<V::Break> {
    let mut ending = Ending { visitor, end: None };
    let _ = tree.visit(&mut Only { visitor: &mut ending as &mut dyn Visitor<Break = ()> });
    ending.end.map_or(ControlFlow::Continue(()), ControlFlow::Break)
}

/// Shows a visitor all that it asks for, to change it, as [`VisitMut::visit`] does.
///
/// # Errors
/// What the visitor ends the walk with.
pub(crate) fn walk_mut<V: VisitorMut>(tree: &mut impl VisitMut, visitor: &mut V) -> ControlFlow<V::Break> {
    let mut ending = Ending { visitor, end: None };
    let _ = tree.visit(&mut Only { visitor: &mut ending as &mut dyn VisitorMut<Break = ()> });
    ending.end.map_or(ControlFlow::Continue(()), ControlFlow::Break)
}

/// Calls a function with every expression in a tree, an expression before its parts.
pub(crate) fn each_expression(tree: &impl Visit, look: impl FnMut(&Expr)) {
    struct Look<F>(F);
    impl<F: FnMut(&Expr)> Visitor for Look<F> {
        type Break = Infallible;
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Infallible> {
            (self.0)(expr);
            ControlFlow::Continue(())
        }
    }
    let _ = walk(tree, &mut Look(look));
}

/// A visitor that keeps what another one ends with, so that all end alike.
struct Ending<'a, V, B> {
    visitor: &'a mut V,
    end: Option<B>,
}

impl<V, B> Ending<'_, V, B> {
    fn after(&mut self, found: ControlFlow<B>) -> ControlFlow<()> {
        match found {
            ControlFlow::Continue(()) => ControlFlow::Continue(()),
            ControlFlow::Break(end) => {
                self.end = Some(end);
                ControlFlow::Break(())
            }
        }
    }
}

/// The only visitor that the parser sees.
struct Only<'a, V: ?Sized> {
    visitor: &'a mut V,
}

impl<V: ?Sized> Only<'_, V> {
    fn after(&mut self, found: ControlFlow<()>) -> ControlFlow<()> {
        found
    }
}

/// Makes every method of a visitor by another macro.
macro_rules! every_method {
    ($made:ident $($mutable:tt)?) => {
        $made!([$($mutable)?] pre_visit_query Query);
        $made!([$($mutable)?] post_visit_query Query);
        $made!([$($mutable)?] pre_visit_select Select);
        $made!([$($mutable)?] post_visit_select Select);
        $made!([$($mutable)?] pre_visit_relation ObjectName);
        $made!([$($mutable)?] post_visit_relation ObjectName);
        $made!([$($mutable)?] pre_visit_table_factor TableFactor);
        $made!([$($mutable)?] post_visit_table_factor TableFactor);
        $made!([$($mutable)?] pre_visit_expr Expr);
        $made!([$($mutable)?] post_visit_expr Expr);
        $made!([$($mutable)?] pre_visit_statement Statement);
        $made!([$($mutable)?] post_visit_statement Statement);
        $made!([$($mutable)?] pre_visit_value ValueWithSpan);
        $made!([$($mutable)?] post_visit_value ValueWithSpan);
    };
}

/// A method that calls the same one of `visitor`.
macro_rules! passed_on {
    ([$($mutable:tt)?] $method:ident $node:ident) => {
        fn $method(&mut self, node: &$($mutable)? $node) -> ControlFlow<()> {
            let found = self.visitor.$method(node);
            self.after(found)
        }
    };
}

impl<V: Visitor> Visitor for Ending<'_, V, V::Break> {
    type Break = ();
    every_method!(passed_on);
}

impl<V: VisitorMut> VisitorMut for Ending<'_, V, V::Break> {
    type Break = ();
    every_method!(passed_on mut);
}

impl<'a> Visitor for Only<'_, dyn Visitor<Break = ()> + 'a> {
    type Break = ();
    every_method!(passed_on);
}

impl<'a> VisitorMut for Only<'_, dyn VisitorMut<Break = ()> + 'a> {
    type Break = ();
    every_method!(passed_on mut);
}

#[cfg(test)]
mod tests {
    use sqlparser::dialect::GenericDialect;
    use sqlparser::parser::Parser;

    use super::*;

    /// Writes down what it is shown, up to a number of things.
    struct Trace {
        seen: Vec<&'static str>,
        most: usize,
    }

    macro_rules! traced {
        ([$($mutable:tt)?] $method:ident $node:ident) => {
            fn $method(&mut self, _: &$($mutable)? $node) -> ControlFlow<usize> {
                self.seen.push(stringify!($method));
                match self.seen.len() < self.most {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(self.most),
                }
            }
        };
    }

    impl Visitor for Trace {
        type Break = usize;
        every_method!(traced);
    }

    impl VisitorMut for Trace {
        type Break = usize;
        every_method!(traced mut);
    }

    /// For every end of the walk, and for none.
    #[test]
    fn a_visitor_is_shown_what_the_parser_shows() {
        let text = "SELECT a + 1 FROM t JOIN u ON t.k = u.k WHERE b IN (SELECT MAX(c) FROM v) ORDER BY a";
        let mut statements = Parser::parse_sql(&GenericDialect {}, text).unwrap();
        let mut kinds = std::collections::BTreeSet::new();
        for most in 1..1000 {
            let trace = || Trace { seen: Vec::new(), most };
            let (mut direct, mut walked, mut walked_mut) = (trace(), trace(), trace());
            let end = Visit::visit(&statements, &mut direct);
            assert_eq!(walk(&statements, &mut walked), end);
            assert_eq!(walk_mut(&mut statements, &mut walked_mut), end);
            assert_eq!((&walked.seen, &walked_mut.seen), (&direct.seen, &direct.seen));
            kinds.extend(direct.seen);
            if end.is_continue() {
                assert_eq!(kinds.len(), 14);
                return;
            }
        }
        panic!("no end");
    }

    #[test]
    fn every_expression_is_shown_once() {
        let statements =
            Parser::parse_sql(&GenericDialect {}, "SELECT a + 1, (b) FROM t WHERE NOT c").unwrap();
        let mut found = Vec::new();
        each_expression(&statements, |expr| found.push(expr.to_string()));
        assert_eq!(found, ["a + 1", "a", "1", "(b)", "b", "NOT c", "c"]);
    }
}
