// SPDX-License-Identifier: Apache-2.0
//! Accounts, plans and facts as plain Python values.

use hush::{Account, CatalogueOutcome, Counted, Leakage, Moved, Outcome, Phases, QueryPlan, Verified};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::OrRaise;

/// Kernels, memory, parameter sets and version of this machine.
#[pyfunction]
pub(crate) fn doctor(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let facts = hush::machine().or_raise(py)?;
    let dict = PyDict::new(py);
    dict.set_item("version", env!("CARGO_PKG_VERSION"))?;
    dict.set_item("kernels", facts.kernels)?;
    dict.set_item("available", facts.available)?;
    dict.set_item("threads", facts.threads)?;
    dict.set_item("memory_bytes", facts.memory_bytes)?;
    dict.set_item("params", facts.params)?;
    Ok(dict)
}

/// The cost of one query on a table.
pub(crate) fn of_query(py: Python<'_>, outcome: &Outcome) -> PyResult<Py<PyDict>> {
    let dict = PyDict::new(py);
    cost(&dict, &outcome.phases, outcome.moved)?;
    dict.set_item("leakage", of_leakage(py, &outcome.plan.leakage)?)?;
    exposure(&dict, &outcome.exposed, outcome.released)?;
    dict.set_item("notes", outcome.plan.notes.clone())?;
    Ok(dict.unbind())
}

/// The account of a rehearsal.
pub(crate) fn of_rehearsal(py: Python<'_>, account: &Account) -> PyResult<Py<PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("rows", account.rows)?;
    dict.set_item("columns", account.columns)?;
    dict.set_item("encrypted", account.encrypted.clone())?;
    dict.set_item("sealed", account.sealed.clone())?;
    dict.set_item("clear", account.clear.clone())?;
    dict.set_item("unused", account.unused)?;
    dict.set_item("warnings", account.warnings.clone())?;
    exposure(&dict, &account.exposed, account.released)?;
    let verified = match account.verified {
        None => None,
        Some(Verified::Exactly) => Some(0.0),
        Some(Verified::Within(error)) => Some(error),
    };
    dict.set_item("verified_within", verified)?;
    cost(&dict, &account.phases, account.moved)?;
    dict.set_item("peak_bytes", account.peak_bytes)?;
    dict.set_item("bytes_per_value", account.bytes_per_value)?;
    let security = account.security.iter().map(|ring| (ring.scheme, ring.degree, ring.log_q, ring.bits));
    dict.set_item("security", security.collect::<Vec<_>>())?;
    dict.set_item("copies", account.copies.clone())?;
    dict.set_item("leakage", of_leakage(py, &account.leakage)?)?;
    Ok(dict.unbind())
}

/// The cost of a question, with what each table was asked.
pub(crate) fn of_catalogue(py: Python<'_>, outcome: &CatalogueOutcome) -> PyResult<Py<PyDict>> {
    let dict = PyDict::new(py);
    cost(&dict, &outcome.phases, outcome.moved)?;
    let leakages: Vec<_> =
        outcome.answers.iter().map(|asked| (asked.table.as_str(), &asked.outcome.plan.leakage)).collect();
    dict.set_item("leakage", of_leakages(py, &leakages)?)?;
    exposure(&dict, &[], None)?;
    dict.set_item("notes", outcome.notes.clone())?;
    let questions = outcome.answers.iter().map(|asked| {
        let dict = PyDict::new(py);
        dict.set_item("table", &asked.table)?;
        dict.set_item("sql", &asked.sql)?;
        dict.set_item("rows", asked.rows)?;
        dict.set_item(
            "way",
            asked.outcome.plan.ways.iter().find(|way| way.taken).map(|way| way.name.name()),
        )?;
        dict.set_item("bytes_up", asked.outcome.moved.up)?;
        dict.set_item("bytes_down", asked.outcome.moved.down)?;
        Ok(dict)
    });
    dict.set_item("questions", questions.collect::<PyResult<Vec<_>>>()?)?;
    Ok(dict.unbind())
}

/// A plan before it runs.
pub(crate) fn of_plan<'py>(py: Python<'py>, plan: &QueryPlan) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let steps = plan.steps.iter().map(|step| (step.actor.to_string(), step.what.clone()));
    dict.set_item("steps", steps.collect::<Vec<_>>())?;
    dict.set_item("answer_bytes_each", plan.cost.answer_bytes_each)?;
    dict.set_item("params", plan.cost.params.clone())?;
    dict.set_item("security_bits", plan.cost.security_bits)?;
    dict.set_item("margin_bits", plan.cost.margin_bits)?;
    dict.set_item("depth", plan.cost.depth)?;
    dict.set_item("precision", plan.cost.precision)?;
    dict.set_item("leakage", of_leakage(py, &plan.leakage)?)?;
    let ways = plan.ways.iter().map(|way| {
        let dict = PyDict::new(py);
        dict.set_item("name", way.name.name())?;
        dict.set_item("what", &way.what)?;
        dict.set_item("seconds", way.seconds)?;
        dict.set_item("bytes_down", way.bytes_down)?;
        dict.set_item("tells", way.tells.clone())?;
        dict.set_item("taken", way.taken)?;
        Ok(dict)
    });
    dict.set_item("ways", ways.collect::<PyResult<Vec<_>>>()?)?;
    Ok(dict)
}

/// Approximate columns that a result opens to everyone with the ciphertexts, and released numbers.
pub(crate) fn exposure(
    dict: &Bound<'_, PyDict>,
    exposed: &[String],
    released: Option<Counted>,
) -> PyResult<()> {
    dict.set_item("exposed", exposed.to_vec())?;
    dict.set_item("released", released.map(|counted| (counted.numbers, counted.left)))
}

pub(crate) fn cost(dict: &Bound<'_, PyDict>, phases: &Phases, moved: Moved) -> PyResult<()> {
    let times = PyDict::new(dict.py());
    phases.iter().try_for_each(|(name, seconds)| times.set_item(name, seconds))?;
    dict.set_item("phases", times)?;
    dict.set_item("seconds", phases.total())?;
    dict.set_item("bytes_up", moved.up)?;
    dict.set_item("bytes_down", moved.down)
}

/// What the servers of several tables learn, each of its own.
pub(crate) fn of_leakages<'py>(
    py: Python<'py>,
    leakages: &[(&str, &Leakage)],
) -> PyResult<Bound<'py, PyDict>> {
    let all = |facts: fn(&Leakage) -> &Vec<String>| -> Vec<String> {
        let of_table = |(table, leakage): &(&str, &Leakage)| -> Vec<String> {
            facts(leakage).iter().map(|fact| format!("{table}: {fact}")).collect()
        };
        leakages.iter().flat_map(of_table).collect()
    };
    let dict = PyDict::new(py);
    dict.set_item("table", all(|leakage| &leakage.table))?;
    dict.set_item("query", all(|leakage| &leakage.query))?;
    dict.set_item("hidden", all(|leakage| &leakage.hidden))?;
    Ok(dict)
}

fn of_leakage<'py>(py: Python<'py>, leakage: &Leakage) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("table", leakage.table.clone())?;
    dict.set_item("query", leakage.query.clone())?;
    dict.set_item("hidden", leakage.hidden.clone())?;
    Ok(dict)
}
