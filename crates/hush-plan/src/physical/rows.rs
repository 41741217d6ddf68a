// SPDX-License-Identifier: Apache-2.0
//! Queries by row: the ways to answer one, weighed by what they are predicted to take.
//!
//! *Who evaluates.* The server on ciphertexts, or the owner on the columns that the server sends. Three columns and one product
//! are about as many bytes as the product's ciphertext; where more columns meet in an expression the server saves some.
//! *How it travels.* With residues, or rounded to what decryption needs: fewer bytes for a transform of each polynomial at both
//! ends.
//!
//! Which is quicker depends on the machine and on the link. The result is the same, and so is what the server learns.

use super::Planned;
use super::bind::Catalog;
use super::cost;
use super::found::{BoundProgram, Form, Found, Rounded};
use crate::bounds::Bounds;
use crate::by_row::{self, ByRow, Source};
use crate::error::PlanError;
use crate::plan::{OwnerPlan, OwnerProgram, ProgramSource, RowsTask, SlotExpr, Task};
use crate::quantity::Content;
use crate::report::Way;
use crate::schema::Schema;
use crate::sql::Query;

/// Seconds and bytes of a way.
pub(super) type Price<'a> = dyn Fn(&Task, &OwnerPlan) -> Result<(f64, u64), PlanError> + 'a;

/// Plans a query by row: the way with the least predicted time.
///
/// # Errors
/// Those of [`by_row::compile`], and what no encoding of the table can do.
pub(super) fn plan(
    schema: &Schema,
    catalog: &Catalog<'_>,
    query: &Query,
    price: &Price<'_>,
) -> Result<Planned, PlanError> {
    let on_server = by_row::compile(schema, query, &|program| catalog.serves(program))?;
    let has_choice = on_server.programs.iter().any(|program| !program.approximate);
    let mut candidates = ways_of(&on_server, catalog)?;
    if has_choice {
        // Precision is stated of what the server computes, so that approximate programs stay there.
        let by_owner = by_row::compile(schema, query, &|program| program.approximate);
        // What cannot be planned this way is answered the other way.
        candidates.extend(by_owner.and_then(|plan| ways_of(&plan, catalog)).into_iter().flatten());
    }
    let mut ways = Vec::with_capacity(candidates.len());
    for way in &candidates {
        let (seconds, bytes_down) = price(&way.task, &way.owner)?;
        ways.push(Way { what: words(way), seconds, bytes_down, taken: false });
    }
    // The first of equals: the server, with residues.
    let best = (0..ways.len()).min_by(|a, b| ways[*a].seconds.total_cmp(&ways[*b].seconds)).unwrap_or(0);
    let mut taken = candidates.swap_remove(best);
    if ways.len() > 1 {
        ways[best].taken = true;
        taken.ways = ways;
    }
    Ok(taken)
}

/// With residues, and rounded if anything can be.
fn ways_of(plan: &ByRow, catalog: &Catalog<'_>) -> Result<Vec<Planned>, PlanError> {
    let whole = Bound::new(catalog, plan, Form::Residues)?;
    let rounded = Bound::new(catalog, plan, Form::Rounded)?;
    let is_other = rounded.has_rounded().then(|| rounded.assemble());
    Ok(std::iter::once(whole.assemble()).chain(is_other).collect())
}

/// A compiled query with the encodings that serve it.
struct Bound<'p, 'a> {
    plan: &'p ByRow,
    fetched: Vec<Found<'a>>,
    programs: Vec<BoundProgram>,
}

impl<'p, 'a> Bound<'p, 'a> {
    fn new(catalog: &Catalog<'a>, plan: &'p ByRow, form: Form) -> Result<Self, PlanError> {
        let fetched = plan.fetch.iter().map(|content| catalog.fetched(content, form));
        let fetched = fetched.collect::<Result<Vec<_>, _>>()?;
        let programs = plan.programs.iter().map(|program| catalog.program(program, form));
        let programs = programs.collect::<Result<Vec<_>, _>>()?;
        Ok(Self { plan, fetched, programs })
    }

    fn has_rounded(&self) -> bool {
        let programs = self.programs.iter().map(|program| program.rounded);
        programs.chain(self.fetched.iter().map(|found| found.rounded)).any(|rounded| rounded.is_some())
    }

    /// The task and the owner's half.
    fn assemble(&self) -> Planned {
        let Self { plan, fetched, programs } = self;
        // The owner's programs name the encodings that were found for their columns.
        let id_of = |name: &str| {
            let of_column = |content: &Content| *content == Content::Value(name.to_owned());
            let place = plan.fetch.iter().position(of_column);
            place.and_then(|place| fetched.get(place)).map(|found| found.encoding.public.id)
        };
        let owned: Vec<SlotExpr> =
            plan.owned.iter().filter_map(|program| program.node.bind(&id_of)).collect();
        let outputs = plan.outputs.iter().map(|output| OwnerProgram {
            source: match output.source {
                Source::Clear(index) => ProgramSource::Clear(index),
                Source::Fetched(index) => ProgramSource::Fetched(index),
                Source::Owned(index) => ProgramSource::Owned(index),
                Source::Program(index) => ProgramSource::Program(index),
            },
            valid_if: output.valid_if.clone(),
            not_null: output.not_null.clone(),
            scale: output.scale,
            output: output.output,
        });
        let owner = OwnerPlan {
            aggregates: Vec::new(),
            programs: outputs.collect(),
            owned,
            regroup: None,
            bounds: Bounds {
                sums: Vec::new(),
                programs: programs.iter().map(BoundProgram::bound).collect(),
                fetched: fetched.iter().map(Found::bound).collect(),
            },
            windows: plan.windows,
            final_sql: plan.final_sql.clone(),
        };
        let bits = |rounded: Option<Rounded>| rounded.map(|rounded| rounded.bits);
        let (mut program_bits, mut fetch_bits) = (Vec::new(), Vec::new());
        if self.has_rounded() {
            program_bits.extend(programs.iter().map(|program| bits(program.rounded)));
            fetch_bits.extend(fetched.iter().map(|found| bits(found.rounded)));
        }
        let cost = cost::of_rows(fetched, programs, &plan.programs);
        let smallest = programs.iter().filter_map(|bound| bound.magnitude).fold(f64::MAX, f64::min);
        let task = Task::Rows(RowsTask {
            clear: plan.clear.clone(),
            operands: plan.operands.clone(),
            operand_limit_log2: smallest.log2().floor() as u32,
            programs: programs.iter().map(|bound| bound.expression.clone()).collect(),
            fetch: fetched.iter().map(|found| found.encoding.public.id).collect(),
            program_bits,
            fetch_bits,
            limit: plan.limit,
        });
        Planned { task, owner, cost, ways: Vec::new() }
    }
}

fn words(way: &Planned) -> String {
    let Task::Rows(task) = &way.task else { return String::new() };
    let who = match (task.programs.is_empty(), way.owner.owned.is_empty()) {
        (false, true) => "the server evaluates, ",
        (true, false) => "you evaluate, ",
        (false, false) => "server and you evaluate, ",
        (true, true) => "",
    };
    let is_rounded = task.program_bits.iter().chain(&task.fetch_bits).any(Option::is_some);
    let how = if is_rounded { "the answer is rounded" } else { "the answer has residues" };
    format!("{who}{how}")
}
