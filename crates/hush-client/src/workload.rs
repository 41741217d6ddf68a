// SPDX-License-Identifier: Apache-2.0
//! Layouts for a workload: what `hush_plan::propose` proposes for the queries of a file, put into a proposed schema.
//!
//! *Values.* The proposal needs none of the data's. A cube over texts lists them, and so do conditions on texts without keys. They are read for what is
//! kept, and the account says so: the schema file holds them.

use std::collections::{BTreeMap, BTreeSet};

use arrow::array::AsArray;
use hush_plan::filter::note;
use hush_plan::propose::{
    Advice, Answer, Answered, Kept, Situation, alternatives, list_texts, listed, propose,
};
use hush_plan::sql::{asked, parse, statements};
use hush_plan::{PlanError, PrivateEncoding, Query, Schema, WayName};
use hush_table::CHUNK_ROWS;
use hush_table::source::{ColumnData, ReadAs, Source};

use crate::error::ClientError;
use crate::policy::{Proposal, protect_undecided};
use crate::table::ASSUMED_LINK;

/// What a workload changed of a proposal.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadAdvice {
    /// What is proposed.
    pub kept: Vec<Kept>,
    /// The queries, in order.
    pub answers: Vec<Answered>,
    /// Columns whose texts the schema lists now, and how many.
    pub listed: Vec<(String, usize)>,
    /// What conditions without keys take of the whole table, where it is much.
    pub filters: Option<String>,
}

/// What it takes to keep the layouts of one query.
#[derive(Clone, Debug, PartialEq)]
pub struct Keeping {
    /// Bytes of a row that its encoded columns and copies take.
    pub row_bytes: f64,
    /// A structure that takes less and answers it too.
    pub instead: Option<(Kept, Answer)>,
}

/// Adds to a proposal what makes the queries of a workload clearly cheaper.
///
/// # Errors
/// [`ClientError::Query`] with the number of the first query that is wrong; [`ClientError::Plan`] for a text that does not divide into queries. The
/// proposal then keeps its layouts.
///
/// # Cost
/// A pass over the data where texts are listed.
pub fn propose_for(
    source: &Source,
    proposal: &mut Proposal,
    text: &str,
) -> Result<WorkloadAdvice, ClientError> {
    let mut schema = proposal.schema.clone();
    protect_undecided(&mut schema);
    let queries = queries_of(&schema, text)?;
    let situation = situation(proposal.rows, &proposal.distinct);
    let Advice { schema: mut advised, kept, answers } = propose(&schema, &queries, &situation)?;
    let first = schema.cubes.len();
    let mut told = Vec::new();
    for (name, texts) in texts_of(source, &schema, &listed(&advised, first))? {
        let texts: Vec<String> = texts.into_iter().collect();
        list_texts(&mut advised, first, &name, &texts);
        told.push((name, texts.len()));
    }
    for (column, advised) in proposal.schema.columns.iter_mut().zip(&advised.columns) {
        column.purposes.clone_from(&advised.purposes);
    }
    let taken = note(&advised, proposal.rows);
    let columns = std::mem::take(&mut proposal.schema.columns);
    proposal.schema = Schema { columns, ..advised };
    Ok(WorkloadAdvice { kept, answers, listed: told, filters: taken })
}

/// The queries of a workload.
fn queries_of(schema: &Schema, text: &str) -> Result<Vec<Query>, ClientError> {
    // Editors put a mark before the text.
    let statements = statements(text.strip_prefix('\u{feff}').unwrap_or(text))?;
    if statements.is_empty() {
        let what = "the file has no query\n  Way out: SELECT ...; SELECT ...;".to_owned();
        return Err(ClientError::Usage { what });
    }
    let parsed = statements.iter().enumerate().map(|(place, statement)| {
        asked(schema, statement).map_err(|source| ClientError::Query { number: place + 1, source })
    });
    parsed.collect()
}

fn situation(rows: u64, distinct: &BTreeMap<String, u64>) -> Situation {
    Situation { rows, distinct: distinct.clone(), link: Some(ASSUMED_LINK) }
}

/// The distinct texts of some columns, sorted.
fn texts_of(
    source: &Source,
    schema: &Schema,
    names: &BTreeSet<String>,
) -> Result<BTreeMap<String, BTreeSet<String>>, ClientError> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    if names.is_empty() {
        return Ok(found);
    }
    let read = |column: &hush_plan::schema::Column| {
        if names.contains(&column.name) { ReadAs::Array } else { ReadAs::Skip }
    };
    for batch in source.typed_with(schema, read)? {
        let batch = batch?;
        for (column, data) in schema.columns.iter().zip(&batch.columns) {
            let Some(ColumnData::Array(array)) = data else { continue };
            let other = ClientError::Internal { what: "a column of texts is of another type" };
            let texts = array.as_string_opt::<i32>().ok_or(other)?;
            let known = found.entry(column.name.clone()).or_default();
            for text in texts.iter().flatten() {
                if !known.contains(text) {
                    known.insert(text.to_owned());
                }
            }
        }
    }
    Ok(found)
}

/// What it takes to keep what a rehearsal of a query has encrypted: of a schema with the columns that it uses.
///
/// # Errors
/// None but those of the rehearsal itself.
pub(crate) fn keeping(
    schema: &Schema,
    encodings: &[PrivateEncoding],
    sql: &str,
    (rows, distinct): (u64, &BTreeMap<String, u64>),
) -> Result<Option<Keeping>, ClientError> {
    let mut row_bytes = 0.0;
    for encoding in encodings {
        let (packing, ring) = (&encoding.public.packing, encoding.public.ring()?);
        let chunk = packing.element_bytes(ring, None) as f64 * packing.elements_of_chunk(ring);
        row_bytes += chunk / f64::from(CHUNK_ROWS);
    }
    let copied = schema.columns.iter().filter(|column| column.has_copy());
    let bytes = |column| crate::copy::shape(column).bytes(CHUNK_ROWS.into()) as f64 / f64::from(CHUNK_ROWS);
    row_bytes += copied.map(bytes).sum::<f64>();
    if row_bytes == 0.0 {
        return Ok(None);
    }
    let query = parse(schema, sql)?;
    // What is proposed is a remark: where it cannot be priced there is none.
    let others = alternatives(schema, &query, &situation(rows, distinct)).unwrap_or_default();
    let prepared = others.into_iter().find(|(kept, answer)| {
        matches!(answer.way, WayName::Cube | WayName::Order) && kept.row_bytes < row_bytes
    });
    Ok(Some(Keeping { row_bytes, instead: prepared }))
}

impl WorkloadAdvice {
    /// What is proposed and what it does for each query, a line each.
    pub fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.kept.iter().map(structure_line).collect();
        if lines.is_empty() {
            lines.push("nothing that makes a query clearly cheaper".to_owned());
        }
        let queries = self.answers.iter().enumerate();
        lines.extend(queries.map(|(place, answered)| query_line(place + 1, answered)));
        lines.extend(self.listed.iter().map(|(name, count)| {
            let texts = if *count == 1 { "its only text".to_owned() } else { format!("its {count} texts") };
            format!("{name}: the schema file lists {texts} now")
        }));
        lines.extend(self.filters.clone());
        lines
    }
}

fn structure_line(kept: &Kept) -> String {
    let Kept { structure, row_bytes, row_us } = kept;
    format!("{}: {row_bytes:.2} bytes a row, {row_us:.2} µs to encrypt one", structure.describe())
}

fn query_line(number: usize, answered: &Answered) -> String {
    let refused = |why: &PlanError| format!("query {number}: no answer: {} {why}", why.code());
    let after = match (&answered.before, &answered.after) {
        (_, Err(why)) => return refused(why),
        (Err(_), Ok(after)) => format!("query {number}: no answer without, {}", answer_words(after)),
        (Ok(before), Ok(after)) if before == after => format!("query {number}: {}", answer_words(after)),
        (Ok(before), Ok(after)) => {
            format!("query {number}: {} -> {}", answer_words(before), answer_words(after))
        }
    };
    let comes_back = matches!(&answered.after, Ok(Answer { way: WayName::Fetch | WayName::Gather, .. }));
    let advice = if comes_back { "; asked often, keep the columns yourself (--keep)" } else { "" };
    format!("{after}{advice}")
}

fn answer_words(answer: &Answer) -> String {
    format!("{} {} down, {:.3} s", answer.way.name(), size_words(answer.bytes_down), answer.seconds)
}

/// Bytes as people say them.
fn size_words(bytes: u64) -> String {
    match bytes {
        0..1000 => format!("{bytes} B"),
        1000..100_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

impl Keeping {
    /// In a sentence.
    pub fn describe(&self) -> String {
        let own = format!("its layouts take {:.1} bytes a row", self.row_bytes);
        match &self.instead {
            None => own,
            Some((kept, answer)) => format!(
                "{own}; {}: {:.2} bytes a row, answers it in {}",
                kept.structure.describe(),
                kept.row_bytes,
                size_words(answer.bytes_down)
            ),
        }
    }
}
