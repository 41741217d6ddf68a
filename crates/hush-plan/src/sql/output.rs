// SPDX-License-Identifier: Apache-2.0
//! The list of outputs: wildcards expanded, every output named, names unique.
//!
//! An output without an alias is named after its column (`age`), function and columns (`avg_age`, `corr_age_bp`), `count`
//! for `COUNT(*)`, else its text. A name that is taken gets `_2`, `_3`, ….

use sqlparser::ast::{
    Expr, Ident, ObjectNamePart, SelectItem, SelectItemQualifiedWildcardKind, WildcardAdditionalOptions,
};

use super::expression::{bare, column_name, shown};
use super::names::Names;
use super::{Item, functions, joint};
use crate::aggregates::Arguments;
use crate::error::{Clause, Feature, PlanError};
use crate::schema::{Protection, Schema};

/// Resolves and names the outputs.
pub(super) fn items(names: &Names<'_>, projection: Vec<SelectItem>) -> Result<Vec<Item>, PlanError> {
    let dialect = PlanError::Unsupported { clause: Clause::Select, feature: Feature::Dialect };
    let mut items: Vec<Item> = Vec::new();
    for item in projection {
        match item {
            SelectItem::UnnamedExpr(expr) => {
                let expr = names.resolve(expr, Clause::Select, &[])?;
                match joint::expand(&expr) {
                    None => {
                        let name = default_name(&expr);
                        push(&mut items, expr, name, false);
                    }
                    Some(outputs) => {
                        outputs?.into_iter().for_each(|(expr, name)| push(&mut items, expr, name, false));
                    }
                }
            }
            SelectItem::ExprWithAlias { expr, alias } => {
                let expr = names.resolve(expr, Clause::Select, &[])?;
                match joint::expand(&expr) {
                    None => push(&mut items, expr, alias.value, true),
                    Some(outputs) => outputs?.into_iter().for_each(|(expr, name)| {
                        push(&mut items, expr, format!("{}_{name}", alias.value), true);
                    }),
                }
            }
            SelectItem::Wildcard(options) if is_plain(&options) => expand(names, &mut items),
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(table), options)
                if is_plain(&options) =>
            {
                match table.0.as_slice() {
                    [ObjectNamePart::Identifier(ident)] if names.is_table(ident) => expand(names, &mut items),
                    _ => {
                        let (found, expected) = (table.to_string(), names.schema.table.clone());
                        return Err(PlanError::UnknownTable { found, expected });
                    }
                }
            }
            _ => return Err(dialect),
        }
    }
    // Only a star can have become nothing.
    let nothing = PlanError::Unsupported { clause: Clause::Select, feature: Feature::Nothing };
    if items.is_empty() { Err(nothing) } else { Ok(items) }
}

/// The columns that a `*` among the outputs leaves out.
pub(super) fn left_out(schema: &Schema, projection: &[SelectItem]) -> Vec<(String, Protection)> {
    let is_star =
        |item: &SelectItem| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
    let is_usable =
        |protect| matches!(protect, Protection::Clear | Protection::Encrypt | Protection::JoinKey);
    let rest = schema.columns.iter().filter(|column| !is_usable(column.protect));
    let rest = rest.filter(|_| projection.iter().any(is_star));
    rest.map(|column| (column.name.clone(), column.protect)).collect()
}

/// `*` stands for every column that queries can use, in file order.
fn expand(names: &Names<'_>, items: &mut Vec<Item>) {
    for column in &names.schema.columns {
        if matches!(column.protect, Protection::Clear | Protection::Encrypt | Protection::JoinKey) {
            let expr = Expr::Identifier(Ident::with_quote('"', &column.name));
            push(items, expr, column.name.clone(), false);
        }
    }
}

fn is_plain(options: &WildcardAdditionalOptions) -> bool {
    let wildcard_token = options.wildcard_token.clone();
    *options == WildcardAdditionalOptions { wildcard_token, ..WildcardAdditionalOptions::default() }
}

fn push(items: &mut Vec<Item>, expr: Expr, name: String, named: bool) {
    let taken = |name: &str| items.iter().any(|item| item.name == name);
    let mut unique = name.clone();
    let mut number = 2u32;
    while taken(&unique) {
        unique = format!("{name}_{number}");
        number += 1;
    }
    items.push(Item { expr, name: unique, named });
}

pub(super) fn default_name(expr: &Expr) -> String {
    if let Some(column) = column_name(bare(expr)) {
        return column.to_owned();
    }
    match functions::aggregate(bare(expr)) {
        Some(Ok(call)) if !call.distinct && call.filter.is_none() => {
            let columns = call.arguments.iter().map(|argument| column_name(bare(argument)));
            match columns.collect::<Option<Vec<_>>>() {
                Some(_) if call.entry.arguments == Arguments::NumberedFeatures => shown(expr),
                Some(columns) => {
                    [call.name.as_str()].into_iter().chain(columns).collect::<Vec<_>>().join("_")
                }
                None => shown(expr),
            }
        }
        _ => shown(expr),
    }
}
