// SPDX-License-Identifier: Apache-2.0
//! Conditions without keys for grouped queries: flags of the columns that a query compares, derived conditions for what no flags of values say, and
//! measures of what it adds up.
//!
//! ```text
//! query ─ conditions::lacking ─▶ what is derived ─ the rest ─▶ columns, texts, measures ─ settled ─▶ digits of dates, factors
//! ```
//!
//! All of a table are in one ring under one secret. So those of several queries are weighed as one ([`joined`]).

mod conditions;
mod equality;
mod measures;

use std::collections::{BTreeMap, BTreeSet};

use super::cubes::{quantities, term};
use super::reads::Reads;
use super::table::{LaidOut, few_values};
use super::worth::improves;
use super::{Answer, Structure, Workload};
use crate::derived::{Derived, named};
use crate::error::Clause;
use crate::fetch::conjuncts;
use crate::filter::{Code, FilterShape, without_spanned};
use crate::limits::WayName;
use crate::schema::cube::{Dimension, Grain};
use crate::schema::{Column, ColumnType, Protection, Purpose, Schema};
use crate::sql::clear::encrypted_in;
use crate::sql::{Query, columns_of};

/// Texts up to which conditions on a column get a flag for each: as many as a digit has values. With more of them, conditions are derived.
const FEW_TEXTS: u64 = 64;
/// Digits that columns of conditions have at most, the most general choice first: conditions on columns of more are derived, where the products would
/// have too many factors.
const MOST_DIGITS: [usize; 3] = [4, 2, 1];
/// Columns of dates up to which both kinds of digits are tried for each by itself.
const MOST_DATES: usize = 3;
/// Rows below which they come back in fewer bytes than a sum of products takes: those of a ring element.
const FEWEST_ROWS: u64 = 4096;
/// Numbers of factors that are tried, the default last: it may have room for one more.
const FACTORS: [Option<u8>; 5] = [Some(2), Some(3), Some(4), Some(5), None];

/// Columns for conditions without keys, as a schema asks for them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filters {
    /// Encrypted columns for "filter".
    pub columns: BTreeSet<String>,
    /// Of these the dates in digits of the calendar.
    pub calendar: BTreeSet<String>,
    /// Of these what is compared for equality alone.
    pub equality: BTreeSet<String>,
    /// Texts that are listed; placeholders until they are ([`super::list_texts`]).
    pub texts: BTreeMap<String, Vec<String>>,
    /// Conditions that are derived, as SQL.
    pub derived: Vec<String>,
    /// What is added up: columns, and expressions as SQL.
    pub measures: BTreeSet<String>,
    /// Factors of products, where the schema has to say it.
    pub factors: Option<u8>,
}

/// For each query what answers it. A schema that declares some already has been thought about.
pub(super) fn find(workload: &Workload<'_>) -> Vec<Structure> {
    let declares_none = FilterShape::of(workload.schema).is_ok_and(|shape| shape.is_empty());
    if workload.schema.edge || !declares_none || workload.situation.rows < FEWEST_ROWS {
        return Vec::new();
    }
    let all = workload.schema.columns.iter().filter_map(|column| code(workload, column));
    let all: Vec<Code> = all.collect();
    let codes = MOST_DIGITS.map(|most| {
        let short = all.iter().filter(|code| code.degree() <= most);
        short.cloned().collect::<Vec<_>>()
    });
    let mut found: Vec<Structure> = Vec::new();
    for (place, query) in workload.queries.iter().enumerate() {
        let mut tried = Vec::new();
        let filters = codes.iter().flat_map(|codes| wanted(workload, codes, query)).find_map(|filters| {
            if tried.contains(&filters) {
                return None;
            }
            tried.push(filters.clone());
            settled(workload, filters, &[place])
        });
        let filters = filters.map(Structure::Filters).filter(|filters| !found.contains(filters));
        found.extend(filters);
    }
    found
}

/// One for the queries of two, each given with the answers that there are with it.
pub(super) fn joined(
    workload: &Workload<'_>,
    one: (&Filters, &[Option<Answer>]),
    other: (&Filters, &[Option<Answer>]),
) -> Option<Filters> {
    let is_served = |answer: &Option<Answer>| answer.is_some_and(|answer| answer.way == WayName::Filter);
    let served = one.1.iter().zip(other.1).enumerate();
    let served = served.filter(|(_, (one, other))| is_served(one) || is_served(other));
    let served: Vec<usize> = served.map(|(place, _)| place).collect();
    let mut both = one.0.clone();
    both.columns.extend(other.0.columns.iter().cloned());
    both.texts.extend(other.0.texts.clone());
    both.measures.extend(other.0.measures.iter().cloned());
    both.measures = without_spanned(workload.schema, &both.measures);
    for text in &other.0.derived {
        derive(workload.schema, &mut both.derived, text)?;
    }
    settled(workload, both, &served)
}

/// The code that a hidden column can have for conditions on its values.
fn code(workload: &Workload<'_>, column: &Column) -> Option<Code> {
    let grain = match is_text(column) {
        true => Grain::Texts(texts(workload, column, FEW_TEXTS)?),
        false => Grain::Each,
    };
    let code = Code::of(workload.schema, &Dimension { column: column.name.clone(), grain }).ok();
    // Ranks are asked for by who knows what they show.
    code.filter(|code| !code.is_ranked())
}

fn is_text(column: &Column) -> bool {
    matches!(column.kind, ColumnType::Category | ColumnType::Text)
}

/// What stands for the texts of a column with so few: those that queries compare it with, and others up to their number.
fn texts(workload: &Workload<'_>, column: &Column, most: u64) -> Option<Vec<String>> {
    let count = few_values(column, workload.situation).filter(|count| *count <= most)?;
    let mut compared: BTreeSet<String> = BTreeSet::new();
    for query in workload.queries {
        compared.extend(Reads::of(workload.schema, query).texts.remove(&column.name).unwrap_or_default());
    }
    let missing = (count as usize).saturating_sub(compared.len());
    let others = (0..).map(|number: u64| number.to_string()).filter(|text| !compared.contains(text));
    let others: Vec<String> = others.take(missing).collect();
    Some(compared.into_iter().chain(others).collect())
}

/// What a query needs, with the digits of dates and the factors still open: once with what it adds up measured as it stands, and once by columns and
/// their products. Nothing for a query that no conditions without keys answer.
fn wanted(workload: &Workload<'_>, codes: &[Code], query: &Query) -> Vec<Filters> {
    let Some((filters, rest)) = compared(workload, codes, query) else { return Vec::new() };
    let of = |measures: BTreeSet<String>| Filters { measures, ..filters.clone() };
    let by_columns = || {
        let reads = Reads::of(&rest.schema, &rest.query);
        let all = quantities(&rest.schema, workload.situation.rows, (&reads, &rest.query))?;
        all.iter().map(term).collect::<Option<BTreeSet<String>>>()
    };
    measures::summed(&rest.query).into_iter().chain(by_columns()).map(of).collect()
}

/// A query without its condition, and the schema that it is read with.
struct Rest {
    schema: Schema,
    query: Query,
}

/// What the conditions and groups of a query need, and the rest of it.
fn compared(workload: &Workload<'_>, codes: &[Code], query: &Query) -> Option<(Filters, Rest)> {
    if !query.is_grouped() {
        return None;
    }
    let mut filters = Filters::default();
    let mut schema = workload.schema.clone();
    for text in conditions::lacking(&schema, codes, query) {
        derive(&schema, &mut filters.derived, &text)?;
    }
    schema.derived.clone_from(&filters.derived);
    let query = named(&schema, query);
    let (open, rest) = (schema.with_derived(), Query { filter: None, ..query.clone().into_owned() });
    let reads = Reads::of(&open, &rest);
    let conditions = query.filter.iter().flat_map(conjuncts);
    let hidden = conditions.filter(|member| !matches!(encrypted_in(&open, member, Clause::Where), Ok(None)));
    let compared: BTreeSet<String> =
        hidden.flat_map(columns_of).chain(reads.compared.iter().cloned()).collect();
    for name in compared {
        // A column that the table does not have is a condition that is derived.
        let Some(column) = workload.schema.columns.iter().find(|column| column.name == name) else {
            continue;
        };
        match column.protect {
            Protection::Encrypt => {
                filters.columns.insert(name);
            }
            Protection::Seal if is_text(column) => {
                filters.texts.insert(name, texts(workload, column, u64::MAX)?);
            }
            // Masks and groups of the server.
            Protection::Clear => {}
            Protection::Decide | Protection::Drop | Protection::JoinKey | Protection::Seal => return None,
        }
    }
    if filters == Filters::default() {
        return None;
    }
    Some((filters, Rest { schema: open.into_owned(), query: rest }))
}

/// Adds a condition to those that are derived, where none of them says the same; `None` for one that cannot be derived.
fn derive(schema: &Schema, derived: &mut Vec<String>, text: &str) -> Option<()> {
    let new = Derived::of(schema, text).ok()?;
    let is_same = |known: &String| Derived::of(schema, known).is_ok_and(|known| known.is_same(&new));
    if !derived.iter().any(is_same) {
        derived.push(text.to_owned());
    }
    Some(())
}

/// With the digits of dates, the codes of keys and the factors with which all of some queries are answered: those that take the fewest bytes, unless others make a query
/// clearly cheaper.
fn settled(workload: &Workload<'_>, filters: Filters, served: &[usize]) -> Option<Filters> {
    let is_date = |name: &&String| {
        let column = workload.schema.columns.iter().find(|column| column.name == **name);
        column.is_some_and(|column| column.kind == ColumnType::Date)
    };
    let dates: Vec<String> = filters.columns.iter().filter(is_date).cloned().collect();
    let keys = equality::keys(workload, &filters.columns, served);
    let equality = if keys.is_empty() { vec![keys] } else { vec![BTreeSet::new(), keys] };
    let choices = equality.into_iter().flat_map(|equality| {
        let days: Vec<String> = dates.iter().filter(|name| !equality.contains(*name)).cloned().collect();
        let with = |calendar| Filters { calendar, equality: equality.clone(), ..filters.clone() };
        subsets(&days).into_iter().map(with).collect::<Vec<_>>()
    });
    let settled = choices.filter_map(|filters| with_factors(workload, filters, served));
    let mut choices: Vec<Settled> = settled.collect();
    choices.sort_by(|one, other| one.row_bytes.total_cmp(&other.row_bytes));
    let taken = choices
        .into_iter()
        .reduce(|taken, next| if improves(&taken.answers, &next.answers) { next } else { taken });
    taken.map(|taken| taken.filters)
}

/// All subsets of some names; of many none and all.
fn subsets(names: &[String]) -> Vec<BTreeSet<String>> {
    if names.len() > MOST_DATES {
        return vec![BTreeSet::new(), names.iter().cloned().collect()];
    }
    names.iter().fold(vec![BTreeSet::new()], |sets, name| {
        let with = sets.iter().map(|set| set.iter().chain([name]).cloned().collect::<BTreeSet<_>>());
        let with: Vec<_> = with.collect();
        sets.into_iter().chain(with).collect()
    })
}

/// A choice, with what it takes and the answers of the queries that it is for.
struct Settled {
    filters: Filters,
    row_bytes: f64,
    answers: Vec<Option<Answer>>,
}

/// With as few factors as answer the queries, or where keys are written in longer codes for fewer factors, with the fewest bytes.
fn with_factors(workload: &Workload<'_>, filters: Filters, served: &[usize]) -> Option<Settled> {
    let laid_out = |factors: Option<u8>| {
        let mut schema = workload.schema.clone();
        let filters = Filters { factors, ..filters.clone() };
        filters.add_to(&mut schema);
        let shape = FilterShape::of(&schema).ok()?;
        let stored = (shape.set()?.name(), shape.quantities().len());
        Some((filters, schema, stored))
    };
    // Of equal parameters the default says nothing.
    let (_, _, usual) = laid_out(None)?;
    let mut tried = BTreeSet::new();
    let has_keys = !filters.equality.is_empty();
    let mut settled = FACTORS.into_iter().filter_map(|factors| {
        let (filters, schema, stored) = laid_out(factors)?;
        if !tried.insert(stored) {
            return None;
        }
        let table = LaidOut::of(&schema, workload.situation).ok()?;
        let answers = served.iter().map(|place| {
            let answer = workload.queries.get(*place).and_then(|query| table.price(query).ok());
            answer.filter(|answer| answer.way == WayName::Filter)
        });
        let answers: Vec<Option<Answer>> = answers.collect();
        let factors = factors.filter(|_| stored != usual);
        let settled =
            Settled { filters: Filters { factors, ..filters }, row_bytes: table.row_bytes(), answers };
        settled.answers.iter().all(Option::is_some).then_some(settled)
    });
    let bytes = |one: &Settled, other: &Settled| one.row_bytes.total_cmp(&other.row_bytes);
    if has_keys { settled.min_by(bytes) } else { settled.next() }
}

impl Filters {
    /// Adds it to a schema.
    pub(super) fn add_to(&self, schema: &mut Schema) {
        let is_for = |name: &str| {
            let purposes = [(&self.columns, Purpose::Filter), (&self.measures, Purpose::Measure)];
            let purposes = purposes.into_iter().filter(|(names, _)| names.contains(name));
            purposes.map(|(_, purpose)| purpose).collect::<Vec<_>>()
        };
        let mut measures = self.measures.clone();
        for column in schema.columns.iter_mut().filter(|column| column.protect == Protection::Encrypt) {
            column.add_purposes(&is_for(&column.name));
            measures.remove(&column.name);
        }
        let dates = self.calendar.iter().map(|name| (name.clone(), Grain::Calendar));
        let texts = self.texts.iter().map(|(name, texts)| (name.clone(), Grain::Texts(texts.clone())));
        let keys = self.equality.iter().map(|name| (name.clone(), Grain::Equality));
        schema
            .filters
            .extend(dates.chain(keys).chain(texts).map(|(column, grain)| Dimension { column, grain }));
        schema.derived.extend(self.derived.iter().cloned());
        schema.measures.extend(measures);
        schema.filter_factors = self.factors;
    }

    /// In words, for people: `conditions without keys (filter) on calendar(day), kind; measures of price`.
    pub(super) fn describe(&self) -> String {
        let column = |name: &String| match (self.calendar.contains(name), self.equality.contains(name)) {
            (true, _) => format!("calendar({name})"),
            (_, true) => format!("equality({name})"),
            _ => name.clone(),
        };
        let columns: Vec<String> =
            self.columns.iter().map(column).chain(self.texts.keys().cloned()).collect();
        let measures: Vec<String> = self.measures.iter().cloned().collect();
        let lists = [(" on ", &columns), ("; derived: ", &self.derived), ("; measures of ", &measures)];
        let lists = lists.into_iter().filter(|(_, names)| !names.is_empty());
        let lists = lists.map(|(word, names)| format!("{word}{}", names.join(", ")));
        let factors = self.factors.map(|factors| format!("; {factors} factors")).unwrap_or_default();
        format!("conditions without keys (filter){}{factors}", lists.collect::<String>())
    }
}

#[cfg(test)]
mod tests;
