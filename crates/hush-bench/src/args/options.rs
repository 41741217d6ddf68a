// SPDX-License-Identifier: Apache-2.0
//! What arguments ask of the benchmarks.

use hush_bench::beside::Tools;
use hush_bench::{
    analytics, appends, bootstraps, compactions, conditions, cubes, deletions, edge_grid, encryption, joins,
    libraries, predictions, products, runs, slot_bootstraps, split_table, tpch,
};

use super::{
    Analytics, Appends, Asking, Bootstraps, Compact, Conditions, Cubes, Delete, EdgeGrid, EdgeGridKey,
    EdgeGridProfile, EdgeGridWay, Encryption, Joins, Libraries, LibrariesTable, Predictions, Products, Runs,
    SplitTable, Tpch,
};

impl Analytics {
    /// The same for the benchmark.
    pub(crate) fn options(&self, threads: usize) -> analytics::Options {
        analytics::Options {
            rows: self.rows,
            seed: self.seed,
            repeat: self.repeat,
            skip_peers: self.skip_peers,
            python: self.python.clone(),
            threads,
        }
    }
}

impl Appends {
    /// The same for the benchmark.
    pub(crate) fn options(&self, threads: usize) -> appends::Options {
        let Self { rows, appends, rows_each, seed, repeat, .. } = *self;
        appends::Options { rows, appends, rows_each, columns: self.columns.into(), seed, repeat, threads }
    }
}

impl Bootstraps {
    /// The same for the benchmark.
    pub(crate) fn options(&self, threads: usize) -> bootstraps::Options {
        let Asking { seed, repeat, .. } = self.asking;
        let bits = if self.bits.is_empty() { vec![8, 16, 32, 64] } else { self.bits.clone() };
        bootstraps::Options { bits, seed, repeat, threads, beside: self.beside() }
    }

    /// The same for the benchmark of CKKS.
    pub(crate) fn slot_options(&self, threads: usize) -> slot_bootstraps::Options {
        let Asking { seed, repeat, .. } = self.asking;
        slot_bootstraps::Options { sets: self.sets.clone(), seed, repeat, threads, beside: self.beside() }
    }

    /// How peers are reached, if they are asked for.
    fn beside(&self) -> Option<Tools> {
        let tools = || Tools { go: self.go.clone(), cargo: self.cargo.clone(), build: self.build.clone() };
        self.peers.then(tools)
    }
}

impl Compact {
    /// The same for the benchmark.
    pub(crate) fn options(&self, threads: usize) -> compactions::Options {
        let Self { rows, parts, seed, repeat, .. } = *self;
        compactions::Options { rows, parts, columns: self.columns.into(), seed, repeat, threads }
    }
}

impl Delete {
    /// The same for the benchmark.
    pub(crate) fn options(&self, threads: usize) -> deletions::Options {
        let Self { rows, seed, repeat, .. } = *self;
        deletions::Options { rows, columns: self.columns.into(), seed, repeat, threads }
    }
}

impl Encryption {
    /// The same for the benchmark.
    pub(crate) fn options(&self, threads: usize) -> encryption::Options {
        let Self { rows, seed, repeat, .. } = *self;
        let python = (!self.skip_peers).then(|| self.python.clone());
        encryption::Options { rows, seed, repeat, limits: self.limits.clone(), threads, python }
    }
}

impl Conditions {
    /// The same for the benchmark.
    pub(crate) fn options(&self, threads: usize) -> conditions::Options {
        let Self { rows, links, seed, repeat, .. } = self;
        let (rows, links, questions) = (rows.clone(), links.clone(), self.questions.clone());
        let python = (!self.skip_peers).then(|| self.python.clone());
        conditions::Options { rows, links, seed: *seed, repeat: *repeat, threads, questions, python }
    }
}

impl Asking {
    fn options(&self, rows: u64, threads: usize) -> cubes::Options {
        cubes::Options { rows, seed: self.seed, repeat: self.repeat, threads }
    }
}

impl Cubes {
    /// The same for the benchmark.
    pub(crate) fn options(&self, threads: usize) -> cubes::Options {
        self.asking.options(self.rows, threads)
    }
}

impl Products {
    /// The same for the benchmark.
    pub(crate) fn options(&self, threads: usize) -> products::Options {
        self.asking.options(self.rows, threads)
    }
}

impl Runs {
    /// The same for the benchmark.
    pub(crate) fn options(&self, threads: usize) -> runs::Options {
        let (table, questions) = (self.asking.options(self.rows, threads), self.questions.clone());
        runs::Options { table, runs_only: self.runs_only, questions }
    }
}

impl Tpch {
    /// The same for the benchmark.
    pub(crate) fn options(&self, threads: usize) -> tpch::Options {
        let Self { scale, repeat, constants, seed, any_days, answer_keys, encrypted_constants, .. } = *self;
        let python = (!self.skip_peers).then(|| self.python.clone());
        let mut questions = self.questions.clone();
        if questions.is_empty() && encrypted_constants {
            questions.push("Q6".to_owned());
        }
        tpch::Options {
            scale,
            repeat,
            threads,
            constants,
            seed,
            questions,
            any_days,
            answer_keys,
            encrypted_constants,
            python,
        }
    }
}

impl Joins {
    /// The same for the benchmark.
    pub(crate) fn options(&self, threads: usize) -> joins::Options {
        joins::Options {
            rows: self.rows.clone(),
            seed: self.asking.seed,
            repeat: self.asking.repeat,
            threads,
        }
    }
}

impl Predictions {
    /// The same for the benchmark.
    pub(crate) fn options(&self, threads: usize) -> predictions::Options {
        predictions::Options { rows: self.rows.clone(), seed: self.seed, repeat: self.repeat, threads }
    }
}

impl SplitTable {
    /// The same for the benchmark.
    pub(crate) fn options(&self, threads: usize) -> split_table::Options {
        split_table::Options {
            rows: self.rows,
            seed: self.seed,
            repeat: self.repeat,
            skip_naive: self.skip_naive,
            skip_peers: self.skip_peers,
            python: self.python.clone(),
            threads,
            serverless: self.serverless,
        }
    }
}

impl Libraries {
    /// The same for the benchmark.
    pub(crate) fn options(&self) -> libraries::Options {
        libraries::Options {
            repetitions: self.repeat,
            table: self.table.map(|table| match table {
                LibrariesTable::Workload => libraries::Table::Workload,
                LibrariesTable::Primitives => libraries::Table::Primitives,
                LibrariesTable::Programs => libraries::Table::Programs,
            }),
            only: self.only.clone(),
            skip_peers: self.skip_peers,
            pythons: self.python.clone(),
            go: self.go.clone(),
            cmake_prefix: self.cmake_prefix.clone(),
            build: self.build.clone(),
            programs: self.programs,
            seed: self.seed,
        }
    }
}

impl EdgeGrid {
    /// The same for the benchmark.
    pub(crate) fn options(&self) -> edge_grid::Options {
        edge_grid::Options {
            repetitions: self.repeat,
            degrees: self.degrees.clone(),
            up_to: self.up_to,
            way: self.way.map(|way| match way {
                EdgeGridWay::OneByOne => edge_grid::Packing::OneByOne,
                EdgeGridWay::Packed => edge_grid::Packing::Packed,
            }),
            key: self.key.map(|key| match key {
                EdgeGridKey::Public => edge_grid::Key::Public,
                EdgeGridKey::Secret => edge_grid::Key::Secret,
            }),
            profile: match self.profile {
                EdgeGridProfile::Edge => edge_grid::Profile::Edge,
                EdgeGridProfile::Pc => edge_grid::Profile::Pc,
            },
            skip_peers: self.skip_peers,
            pythons: self.python.clone(),
            cmake_prefix: self.cmake_prefix.clone(),
            build: self.build.clone(),
            peer_limit_s: self.seal_limit,
        }
    }
}
