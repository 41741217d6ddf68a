// SPDX-License-Identifier: Apache-2.0
//! How unquoted names are spelled: as the one table, column or alias that they mean. The query engine tells cases apart.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::ops::ControlFlow;

use sqlparser::ast::{
    Ident, JoinConstraint, JoinOperator, ObjectName, ObjectNamePart, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind, TableAlias, TableFactor, TableWithJoins, VisitorMut,
};

use crate::schema::Schema;
use crate::sql::walk::walk_mut;

/// The names of a query.
pub(super) struct Spelling(BTreeSet<String>);

impl Spelling {
    /// Names of the tables and their columns, and those that the query gives.
    pub(super) fn of(schemas: &[&Schema], query: &mut Query) -> Self {
        let columns =
            schemas.iter().flat_map(|schema| schema.columns.iter().map(|column| column.name.clone()));
        let mut names: BTreeSet<String> =
            columns.chain(schemas.iter().map(|schema| schema.table.clone())).collect();
        // An alias in another case than a name that there is means that name.
        let known: BTreeSet<String> = names.iter().map(|name| name.to_ascii_lowercase()).collect();
        let mut gather = |ident: &mut Ident| {
            if ident.quote_style.is_some() || !known.contains(&ident.value.to_ascii_lowercase()) {
                names.insert(ident.value.clone());
            }
        };
        let _ = walk_mut(query, &mut Aliases(&mut gather));
        Self(names)
    }

    /// Quotes a name, as it is spelled where it was given. One that nothing has, or several have, becomes lower case.
    pub(super) fn spell(&self, ident: &mut Ident) {
        if ident.quote_style.is_none() && !self.0.contains(&ident.value) {
            let mut alike = self.0.iter().filter(|name| name.eq_ignore_ascii_case(&ident.value));
            ident.value = match (alike.next(), alike.next()) {
                (Some(only), None) => only.clone(),
                _ => ident.value.to_ascii_lowercase(),
            };
        }
        ident.quote_style = Some('"');
    }
}

/// Spells the names that stand outside of expressions.
pub(super) fn respell_aliases(query: &mut Query, spelling: &Spelling) {
    let mut spell = |ident: &mut Ident| spelling.spell(ident);
    let _ = walk_mut(query, &mut Aliases(&mut spell));
    let _ = walk_mut(query, &mut Named(spelling));
}

/// Calls a function for every name that a query gives.
struct Aliases<'a>(&'a mut dyn FnMut(&mut Ident));

impl Aliases<'_> {
    fn of_table(&mut self, alias: &mut TableAlias) {
        (self.0)(&mut alias.name);
        alias.columns.iter_mut().for_each(|column| (self.0)(&mut column.name));
    }
}

impl VisitorMut for Aliases<'_> {
    type Break = Infallible;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Infallible> {
        let tables = query.with.iter_mut().flat_map(|with| &mut with.cte_tables);
        tables.for_each(|table| self.of_table(&mut table.alias));
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Infallible> {
        for item in &mut select.projection {
            if let SelectItem::ExprWithAlias { alias, .. } = item {
                (self.0)(alias);
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Infallible> {
        if let TableFactor::Table { alias: Some(alias), .. }
        | TableFactor::Derived { alias: Some(alias), .. } = factor
        {
            self.of_table(alias);
        }
        ControlFlow::Continue(())
    }
}

/// Spells tables, `t.*` and the columns of USING.
struct Named<'a>(&'a Spelling);

impl Named<'_> {
    fn object(&self, name: &mut ObjectName) {
        for part in &mut name.0 {
            if let ObjectNamePart::Identifier(ident) = part {
                self.0.spell(ident);
            }
        }
    }

    fn joins(&self, table: &mut TableWithJoins) {
        for join in &mut table.joins {
            if let Some(JoinConstraint::Using(columns)) = constraint(&mut join.join_operator) {
                columns.iter_mut().for_each(|column| self.object(column));
            }
        }
    }
}

impl VisitorMut for Named<'_> {
    type Break = Infallible;

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Infallible> {
        for item in &mut select.projection {
            if let SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) = item
            {
                self.object(name);
            }
        }
        select.from.iter_mut().for_each(|table| self.joins(table));
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Infallible> {
        match factor {
            TableFactor::Table { name, .. } => self.object(name),
            TableFactor::NestedJoin { table_with_joins, .. } => self.joins(table_with_joins),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// How the rows of a join belong together; `None` for joins of some dialect.
pub(super) fn constraint(join: &mut JoinOperator) -> Option<&mut JoinConstraint> {
    use JoinOperator as J;
    match join {
        J::Join(constraint)
        | J::Inner(constraint)
        | J::Left(constraint)
        | J::LeftOuter(constraint)
        | J::Right(constraint)
        | J::RightOuter(constraint)
        | J::FullOuter(constraint)
        | J::CrossJoin(constraint)
        | J::LeftSemi(constraint)
        | J::RightSemi(constraint)
        | J::LeftAnti(constraint)
        | J::RightAnti(constraint) => Some(constraint),
        _ => None,
    }
}
