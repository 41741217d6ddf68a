// SPDX-License-Identifier: Apache-2.0
//! Queries by row.
//!
//! *Who evaluates.* The server on ciphertexts, or the owner on the columns that the server sends. Three columns and one product
//! are about as many bytes as the product's ciphertext; where more columns meet in an expression the server saves some.
//! *How it travels.* With residues, or rounded to what decryption needs: fewer bytes for a transform of each polynomial at both
//! ends.
//!
//! Which is quicker depends on the machine and on the link. The result is the same, and so is what the server learns.

use super::{Case, Proposal, cost};
use crate::bounds::Bounds;
use crate::by_row::{self, ByRow, Source};
use crate::catalog::{AnswerForm, BoundProgram, Catalog, Rounded, UsableEncoding};
use crate::error::PlanError;
use crate::leakage::{list, numbered};
use crate::limits::WayName;
use crate::plan::{OwnerPlan, OwnerProgram, ProgramSource, RowsTask, SlotExpr, Task};
use crate::quantity::Quantity;
use crate::sql::Query;

/// By the server and by the owner. Applies to queries by row.
///
/// # Errors
/// Those of [`by_row::compile`], and what no encoding of the table can do.
pub(super) fn plan(case: &Case<'_>, _: &[Proposal]) -> Result<Vec<Proposal>, PlanError> {
    let Case { schema, catalog, query, .. } = *case;
    if query.is_grouped() {
        return Ok(Vec::new());
    }
    let on_server = by_row::compile(schema, query, &|program| catalog.serves(program))?;
    let has_choice = on_server.programs.iter().any(|program| !program.approximate);
    let mut proposals = ways_of(&on_server, case)?;
    if has_choice {
        // Precision is stated of what the server computes, so that approximate programs stay there.
        let by_owner = by_row::compile(schema, query, &|program| program.approximate);
        // If it cannot be planned this way, the other way answers.
        proposals.extend(by_owner.and_then(|plan| ways_of(&plan, case)).into_iter().flatten());
    }
    Ok(proposals)
}

/// With residues, and rounded if anything can be.
fn ways_of(plan: &ByRow, Case { catalog, query, .. }: &Case<'_>) -> Result<Vec<Proposal>, PlanError> {
    let whole = Bound::new(catalog, plan, AnswerForm::Residues)?;
    let rounded = Bound::new(catalog, plan, AnswerForm::Rounded)?;
    let is_other = rounded.has_rounded().then(|| rounded.assemble(query));
    Ok(std::iter::once(whole.assemble(query)).chain(is_other).collect())
}

/// A compiled query with the encodings that serve it.
struct Bound<'p, 'a> {
    plan: &'p ByRow,
    fetched: Vec<UsableEncoding<'a>>,
    programs: Vec<BoundProgram>,
}

impl<'p, 'a> Bound<'p, 'a> {
    fn new(catalog: &Catalog<'a>, plan: &'p ByRow, form: AnswerForm) -> Result<Self, PlanError> {
        let fetched = plan.fetch.iter().map(|quantity| catalog.fetched(quantity, form));
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
    fn assemble(&self, query: &Query) -> Proposal {
        let Self { plan, fetched, programs } = self;
        // The owner's programs name the encodings that were found for their columns.
        let id_of = |name: &str| {
            let of_column = |quantity: &Quantity| *quantity == Quantity::Value(name.to_owned());
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
            own: None,
            run: None,
            constants: Vec::new(),
            ranks: Vec::new(),
            search: None,
            cells: None,
            hidden: None,
            filtered: None,
            matching: None,
            after_sums: false,
            bounds: Bounds {
                sums: Vec::new(),
                programs: programs.iter().map(BoundProgram::bound).collect(),
                fetched: fetched.iter().map(UsableEncoding::bound).collect(),
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
        let task = RowsTask {
            clear: plan.clear.clone(),
            operands: plan.operands.clone(),
            operand_limit_log2: smallest.log2().floor() as u32,
            programs: programs.iter().map(|bound| bound.expression.clone()).collect(),
            fetch: fetched.iter().map(|found| found.encoding.public.id).collect(),
            program_bits,
            fetch_bits,
            sealed: Vec::new(),
            cube: None,
            run: None,
            limit: plan.limit,
        };
        let (what, tells) = (describe(&task, &owner), tells(&task));
        Proposal {
            name: WayName::Rows,
            what,
            task: Task::Rows(task),
            filter: query.filter.clone(),
            owner,
            cost,
            clear_bytes: 0,
            tells,
        }
    }
}

fn describe(task: &RowsTask, owner: &OwnerPlan) -> String {
    let who = match (task.programs.is_empty(), owner.owned.is_empty()) {
        (false, true) => "the server evaluates, ",
        (true, false) => "you evaluate, ",
        (false, false) => "server and you evaluate, ",
        (true, true) => "",
    };
    let is_rounded = task.program_bits.iter().chain(&task.fetch_bits).any(Option::is_some);
    let how = if is_rounded { "the answer is rounded" } else { "the answer has residues" };
    format!("{who}{how}")
}

/// Sentences on what the server learns.
pub(super) fn tells(task: &RowsTask) -> Vec<String> {
    let mut says = Vec::new();
    if !task.fetch.is_empty() {
        let mut ids: Vec<u32> = task.fetch.iter().map(|id| id.0).collect();
        ids.sort_unstable();
        ids.dedup();
        says.push(format!("which encrypted quantities go back ({})", numbered(&ids)));
    }
    if !task.sealed.is_empty() {
        says.push(format!("which sealed columns go back ({})", numbered(&task.sealed)));
    }
    if !task.programs.is_empty() {
        let count = task.programs.len();
        says.push(format!(
            "{count} arithmetic expression{} over numbered encrypted quantities, with {} constants",
            if count == 1 { "" } else { "s" },
            if count == 1 { "its" } else { "their" },
        ));
    }
    if !task.operands.is_empty() {
        says.push(format!("that they use {}", list(&task.operands)));
    }
    if task.program_bits.iter().chain(&task.fetch_bits).any(Option::is_some) {
        says.push(
            "to how many bits numbers are rounded, which tells the order of magnitude of declared ranges that meet in them".to_owned(),
        );
    }
    // Without approximate programs it is the largest double.
    if task.operand_limit_log2 < 1023 && !task.programs.is_empty() {
        says.push(format!(
            "that clear numbers up to 2^{} may meet approximate ones: the order of magnitude of a declared range",
            task.operand_limit_log2
        ));
    }
    if let Some(limit) = task.limit {
        says.push(match limit {
            1 => "that only 1 row is wanted".to_owned(),
            limit => format!("that only {limit} rows are wanted"),
        });
    }
    says
}
