// SPDX-License-Identifier: Apache-2.0
//! Work, in units that a machine profile prices.

use serde::Serialize;

/// Counted work. A *residue* is one coefficient modulo one prime.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Work {
    /// Queries that the engine for clear columns answers.
    pub queries: u64,
    /// Numbers of clear columns that are decoded, and values of expressions over clear columns.
    pub clear_cells: u64,
    /// Texts of clear columns that are decoded.
    pub text_cells: u64,
    /// Rows whose group is looked for.
    pub grouped_rows: u64,
    /// Rows that are picked for the answer.
    pub selected_rows: u64,
    /// Bytes of files that are read and whose digests are compared.
    pub bytes_read: u64,
    /// Bytes of encoded columns that are taken out of files.
    pub bytes_loaded: u64,
    /// Residues that the server expands from seeds.
    pub expanded: u64,
    /// Number-theoretic transforms of the server, one prime each.
    pub transforms: u64,
    /// Butterflies in them: `N/2 · log2 N` each.
    pub butterflies: u64,
    /// Point-wise products of residues.
    pub products: u64,
    /// Residues that the server packs, unpacks, checks or adds up.
    pub unpacked: u64,
    /// Residues that the owner expands from seeds.
    pub owner_expanded: u64,
    /// Butterflies of the owner.
    pub owner_butterflies: u64,
    /// Products of residues with the secret.
    pub owner_products: u64,
    /// Residues that the owner unpacks.
    pub owner_unpacked: u64,
    /// Coefficients that the owner puts together from their residues and decodes.
    pub owner_decoded: u64,
    /// Operations on wide integers, on rows and on groups.
    pub owner_evaluated: u64,
    /// Values of rows that become arrays and go through the last query.
    pub owner_cells: u64,
    /// Values of rows that window functions make.
    pub owner_windowed: u64,
    /// Values of rows that the owner groups.
    pub owner_regrouped: u64,
    /// Groups that the owner makes of rows.
    pub owner_groups: u64,
    /// Questions that a query engine of the owner's answers.
    pub owner_queries: u64,
}

impl Work {
    /// Adds other work.
    pub fn add(&mut self, mut other: Self) {
        self.counts().into_iter().zip(other.counts()).for_each(|(mine, theirs)| *mine += *theirs);
    }

    /// So many times the work.
    #[must_use]
    pub fn times(mut self, count: u64) -> Self {
        self.counts().into_iter().for_each(|mine| *mine *= count);
        self
    }

    /// All of it.
    pub(super) fn counts(&mut self) -> [&mut u64; 23] {
        [
            &mut self.queries,
            &mut self.clear_cells,
            &mut self.text_cells,
            &mut self.grouped_rows,
            &mut self.selected_rows,
            &mut self.bytes_read,
            &mut self.bytes_loaded,
            &mut self.expanded,
            &mut self.transforms,
            &mut self.butterflies,
            &mut self.products,
            &mut self.unpacked,
            &mut self.owner_expanded,
            &mut self.owner_butterflies,
            &mut self.owner_products,
            &mut self.owner_unpacked,
            &mut self.owner_decoded,
            &mut self.owner_evaluated,
            &mut self.owner_cells,
            &mut self.owner_windowed,
            &mut self.owner_regrouped,
            &mut self.owner_groups,
            &mut self.owner_queries,
        ]
    }
}

/// The work of one mask and parameter set, one program or one fetched column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BlockWork {
    /// `sum`, `program` or `fetch`.
    pub kind: &'static str,
    /// Index of the mask in the plan, for sums.
    pub mask: Option<usize>,
    /// Encodings that take part.
    pub columns: Vec<u32>,
    /// Parameter set.
    pub params: &'static str,
    /// Chunks worked on.
    pub chunks: u64,
    /// Ring elements in them, for each column.
    pub elements: u64,
    /// The work.
    pub work: Work,
}
