// SPDX-License-Identifier: Apache-2.0
//! The list of outputs: wildcards expanded, every output named, names unique.
//!
//! An output without an alias is named after its column (`age`), function and columns (`avg_age`, `corr_age_bp`), `count`
//! for `COUNT(*)`, else its text. A name that is taken gets `_2`, `_3`, ….

use sqlparser::ast::{
    ExcludeSelectItem, Expr, Ident, ObjectName, ObjectNamePart, SelectItem, SelectItemQualifiedWildcardKind,
    WildcardAdditionalOptions,
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
            SelectItem::Wildcard(options) => expand(names, excluded(&options)?, &mut items)?,
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(table), options) => {
                match table.0.as_slice() {
                    [ObjectNamePart::Identifier(ident)] if names.is_table(ident) => {
                        expand(names, excluded(&options)?, &mut items)?;
                    }
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

/// `*` stands for every column that queries can use, in file order, but for those that it excludes.
fn expand(names: &Names<'_>, excluded: Vec<Ident>, items: &mut Vec<Item>) -> Result<(), PlanError> {
    let resolve = |ident| names.resolve(Expr::Identifier(ident), Clause::Select, &[]);
    let excluded: Vec<Expr> = excluded.into_iter().map(resolve).collect::<Result<_, _>>()?;
    for column in &names.schema.columns {
        let expr = Expr::Identifier(Ident::with_quote('"', &column.name));
        let is_usable =
            matches!(column.protect, Protection::Clear | Protection::Encrypt | Protection::JoinKey);
        if is_usable && !excluded.contains(&expr) {
            push(items, expr, column.name.clone(), false);
        }
    }
    Ok(())
}

/// The columns that a star leaves out by EXCLUDE or EXCEPT.
///
/// # Errors
/// P005 for anything else that it has behind it.
pub(super) fn excluded(options: &WildcardAdditionalOptions) -> Result<Vec<Ident>, PlanError> {
    let dialect = || PlanError::Unsupported { clause: Clause::Select, feature: Feature::Dialect };
    let WildcardAdditionalOptions { wildcard_token, opt_exclude, opt_except, .. } = options.clone();
    let names = match &opt_exclude {
        None => Vec::new(),
        Some(ExcludeSelectItem::Single(name)) => vec![name],
        Some(ExcludeSelectItem::Multiple(names)) => names.iter().collect(),
    };
    let name = |name: &ObjectName| match name.0.as_slice() {
        [ObjectNamePart::Identifier(ident)] => Ok(ident.clone()),
        _ => Err(dialect()),
    };
    let mut excluded: Vec<Ident> = names.into_iter().map(name).collect::<Result<_, _>>()?;
    if let Some(except) = &opt_except {
        excluded.push(except.first_element.clone());
        excluded.extend(except.additional_elements.iter().cloned());
    }
    let known = WildcardAdditionalOptions { wildcard_token, opt_exclude, opt_except, ..Default::default() };
    if *options == known { Ok(excluded) } else { Err(dialect()) }
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
