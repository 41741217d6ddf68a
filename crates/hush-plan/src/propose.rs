// SPDX-License-Identifier: Apache-2.0
//! Layouts proposed for a workload: what a table should store so that some queries cost little.
//!
//! ```text
//! queries ─ KINDS ─▶ candidates (sums, copies, cubes, groups, runs, filters) ─ priced on a table of these rows ─▶ those that make a query clearly cheaper
//! ```
//!
//! Each kind of structure is a file here and a line in `KINDS`. A candidate is priced by the planner, on the table that there would be with it.
//! It is kept if some query then takes at most half of the time or of the bytes, and no other structure makes it superfluous.
//!
//! *Invariants.* No value of the data is known here: of texts the number of distinct ones. Equal queries of equal tables give equal proposals.
//!
//! *Non-goals.* Reading data; deciding: a person approves a proposal.

mod choose;
mod columns;
mod cubes;
mod filters;
mod groups;
mod reads;
mod runs;
mod table;
#[cfg(test)]
mod tests;
mod worth;

use std::collections::{BTreeMap, BTreeSet};

use crate::error::PlanError;
use crate::limits::WayName;
use crate::schema::{Cube, Grain, Purpose, Run, Schema};
use crate::sql::Query;
pub use filters::Filters;
use table::LaidOut;

/// Where queries are asked: what is known of the data, and the link.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Situation {
    /// Rows.
    pub rows: u64,
    /// Distinct values of columns of texts, missing ones aside.
    pub distinct: BTreeMap<String, u64>,
    /// Bytes per second between server and owner.
    pub link: Option<f64>,
}

/// Something that a table can store beside what its schema asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Structure {
    /// Copies of these columns.
    Copies(BTreeSet<String>),
    /// A cube.
    Cube(Cube),
    /// Conditions without keys.
    Filters(Filters),
    /// Sums by hidden values.
    Group(Cube),
    /// A sorted run.
    Run(Run),
    /// Further encoded columns.
    Sums(Sums),
}

/// Further encoded columns, as a schema asks for them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Purposes of columns.
    pub purposes: BTreeMap<String, BTreeSet<Purpose>>,
    /// Products.
    pub products: BTreeSet<Vec<String>>,
    /// Sets of moments.
    pub moments: BTreeSet<Vec<String>>,
}

/// A structure that is worth it.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// The structure.
    pub structure: Structure,
    /// Bytes that it takes for each row.
    pub row_bytes: f64,
    /// Processor microseconds that it takes to encrypt a row, on a usual machine.
    pub row_us: f64,
}

/// A predicted answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    /// The way.
    pub way: WayName,
    /// Seconds of server, link and owner.
    pub seconds: f64,
    /// Bytes of the answer, without what the clear half of every way has.
    pub bytes_down: u64,
}

/// A query without and with what is proposed.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    /// By the schema as it was.
    pub before: Result<Answer, PlanError>,
    /// With what is proposed.
    pub after: Result<Answer, PlanError>,
}

/// A proposal for a workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// The schema with what is proposed. Texts in its cubes and filters are placeholders ([`listed`], [`list_texts`]).
    pub schema: Schema,
    /// What it got.
    pub kept: Vec<Kept>,
    /// The queries, in order.
    pub answers: Vec<Answered>,
}

/// Queries, and the table that they are asked of.
#[derive(Clone, Copy)]
struct Workload<'a> {
    schema: &'a Schema,
    queries: &'a [Query],
    situation: &'a Situation,
}

/// Finds candidates of one kind.
type Finder = fn(&Workload<'_>) -> Vec<Structure>;

/// All kinds.
const KINDS: [Finder; 6] =
    [columns::sums, columns::copies, cubes::find, groups::find, runs::find, filters::find];

/// The kinds that are prepared when rows are encrypted.
const PREPARED: [Finder; 2] = [cubes::find, runs::find];

/// Proposes structures for queries of a table in this situation. Undecided columns are none: protect them before.
///
/// # Errors
/// Where no table can be made by the schema as it is.
///
/// # Cost
/// A plan for each query and candidate: candidates are some for each query.
pub fn propose(schema: &Schema, queries: &[Query], situation: &Situation) -> Result<Advice, PlanError> {
    let workload = &Workload { schema, queries, situation };
    let base = LaidOut::of(schema, situation)?;
    let chosen = choose::chosen(workload, &base);
    let mut proposed = schema.clone();
    chosen.iter().for_each(|structure| structure.add_to(&mut proposed));
    let with = LaidOut::of(&proposed, situation)?;
    let answers =
        queries.iter().map(|query| Answered { before: base.price(query), after: with.price(query) });
    let answers = answers.collect();
    let kept = together(chosen).into_iter().map(|structure| kept(workload, &base, structure));
    let kept = kept.collect::<Result<_, _>>()?;
    Ok(Advice { schema: proposed, kept, answers })
}

/// The prepared structures, cubes and runs, that would answer one query, each with what it takes and with its answer; those that take the fewest bytes first.
///
/// # Errors
/// As [`propose`].
pub fn alternatives(
    schema: &Schema,
    query: &Query,
    situation: &Situation,
) -> Result<Vec<(Kept, Answer)>, PlanError> {
    let workload = &Workload { schema, queries: std::slice::from_ref(query), situation };
    let base = LaidOut::of(schema, situation)?;
    let found = choose::candidates(workload, &base, &PREPARED).into_iter().filter_map(|candidate| {
        let answer = candidate.answers.first().copied().flatten()?;
        let own = candidate.structure.way();
        (own == Some(answer.way)).then(|| (kept(workload, &base, candidate.structure).ok(), answer))
    });
    Ok(found.filter_map(|(kept, answer)| Some((kept?, answer))).collect())
}

/// What a structure takes.
fn kept(workload: &Workload<'_>, base: &LaidOut, structure: Structure) -> Result<Kept, PlanError> {
    let mut schema = workload.schema.clone();
    structure.add_to(&mut schema);
    let with = LaidOut::of(&schema, workload.situation)?;
    let row_bytes = (with.row_bytes() - base.row_bytes()).max(0.0);
    Ok(Kept { structure, row_bytes, row_us: (with.row_us() - base.row_us()).max(0.0) })
}

/// Copies of several queries are one thing, and so are further sums.
fn together(structures: Vec<Structure>) -> Vec<Structure> {
    let mut all: Vec<Structure> = Vec::new();
    for structure in structures {
        let joined = all.iter_mut().any(|known| match (known, &structure) {
            (Structure::Copies(names), Structure::Copies(further)) => {
                names.extend(further.iter().cloned());
                true
            }
            (Structure::Sums(sums), Structure::Sums(further)) => {
                sums.join(further);
                true
            }
            _ => false,
        });
        if !joined {
            all.push(structure);
        }
    }
    all
}

impl Sums {
    fn join(&mut self, other: &Self) {
        for (name, purposes) in &other.purposes {
            self.purposes.entry(name.clone()).or_default().extend(purposes);
        }
        self.products.extend(other.products.iter().cloned());
        self.moments.extend(other.moments.iter().cloned());
    }

    fn is_empty(&self) -> bool {
        self.purposes.is_empty() && self.products.is_empty() && self.moments.is_empty()
    }
}

impl Structure {
    /// Adds it to a schema.
    fn add_to(&self, schema: &mut Schema) {
        let mut give = |name: &str, purposes: &[Purpose]| {
            let columns = schema.columns.iter_mut().filter(|column| column.name == name);
            columns.for_each(|column| column.add_purposes(purposes));
        };
        match self {
            Self::Copies(names) => names.iter().for_each(|name| give(name, &[Purpose::Fetch])),
            Self::Cube(cube) => schema.cubes.push(cube.clone()),
            Self::Filters(filters) => filters.add_to(schema),
            Self::Group(group) => schema.groups.push(group.clone()),
            Self::Run(run) => schema.runs.push(run.clone()),
            Self::Sums(sums) => {
                for (name, purposes) in &sums.purposes {
                    give(name, &purposes.iter().copied().collect::<Vec<_>>());
                }
                let add = |sets: &mut Vec<Vec<String>>, new: &BTreeSet<Vec<String>>| {
                    let new = new.iter().filter(|set| !sets.contains(set)).cloned().collect::<Vec<_>>();
                    sets.extend(new);
                };
                add(&mut schema.products, &sums.products);
                add(&mut schema.moments, &sums.moments);
            }
        }
    }

    /// The way that it is for; further sums are for several.
    fn way(&self) -> Option<WayName> {
        match self {
            Self::Copies(_) => Some(WayName::Fetch),
            Self::Cube(_) => Some(WayName::Cube),
            Self::Filters(_) => Some(WayName::Filter),
            Self::Group(_) => Some(WayName::Group),
            Self::Run(_) => Some(WayName::Order),
            Self::Sums(_) => None,
        }
    }

    /// In words, for people: `a cube by ward, age in 2 bins; sums of charges`.
    pub fn describe(&self) -> String {
        let list = |names: &[String]| names.join(", ");
        match self {
            Self::Copies(names) => {
                let names = names.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
                format!("copies of {names} (fetch)")
            }
            Self::Cube(cube) | Self::Group(cube) => {
                let by = cube.by.iter().map(|dimension| dimension.describe()).collect::<Vec<_>>().join(", ");
                let what = if matches!(self, Self::Cube(_)) { "a cube" } else { "sums of each row (group)" };
                if cube.sum.is_empty() {
                    return format!("{what} by {by}");
                }
                format!("{what} by {by}; sums of {}", list(&cube.sum))
            }
            Self::Filters(filters) => filters.describe(),
            Self::Run(run) => {
                let lists = [("sums of", &run.sum), ("covers", &run.cover)];
                let lists = lists.into_iter().filter(|(_, names)| !names.is_empty());
                let lists = lists.map(|(word, names)| format!("; {word} {}", list(names)));
                format!("a sorted run by {}{}", run.describe(), lists.collect::<String>())
            }
            Self::Sums(sums) => {
                let purposes = sums.purposes.iter().map(|(name, purposes)| {
                    let words = purposes.iter().map(|purpose| purpose.name()).collect::<Vec<_>>().join(", ");
                    format!("{name} for {words}")
                });
                let products = sums.products.iter().map(|factors| factors.join(" * "));
                let moments = sums.moments.iter().map(|set| format!("moments of {}", list(set)));
                let all = purposes.chain(products).chain(moments).collect::<Vec<_>>();
                format!("further encoded columns: {}", all.join("; "))
            }
        }
    }
}

/// The columns whose texts the cubes of a schema list, of those from place `first` on, its sums by hidden values and its filters.
pub fn listed(schema: &Schema, first: usize) -> BTreeSet<String> {
    let cubes = schema.cubes.iter().skip(first).chain(&schema.groups);
    let dimensions = cubes.flat_map(|cube| &cube.by).chain(&schema.filters);
    let texts = dimensions.filter(|dimension| matches!(dimension.grain, Grain::Texts(_)));
    texts.map(|dimension| dimension.column.clone()).collect()
}

/// Puts the texts of a column in the place of placeholders, in the cubes from place `first` on, in sums by hidden values and in filters.
pub fn list_texts(schema: &mut Schema, first: usize, column: &str, texts: &[String]) {
    let cubes = schema.cubes.iter_mut().skip(first).chain(&mut schema.groups);
    let dimensions = cubes.flat_map(|cube| &mut cube.by).chain(&mut schema.filters);
    for dimension in dimensions.filter(|dimension| dimension.column == column) {
        if matches!(dimension.grain, Grain::Texts(_)) {
            dimension.grain = Grain::Texts(texts.to_vec());
        }
    }
}
