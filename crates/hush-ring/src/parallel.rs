// SPDX-License-Identifier: Apache-2.0
//! Rows of a polynomial on the threads of the caller's pool.

use rayon::prelude::*;

/// Calls `work` for each row of `columns` words, on several threads where there are several and rows are worth it. Which
/// thread computes a row makes no difference to it.
pub fn for_each_row(words: &mut [u64], columns: usize, work: impl Fn(usize, &mut [u64]) + Sync) {
    if is_worthwhile(words.len()) {
        words.par_chunks_exact_mut(columns).enumerate().for_each(|(index, row)| work(index, row));
    } else {
        words.chunks_exact_mut(columns).enumerate().for_each(|(index, row)| work(index, row));
    }
}

/// [`for_each_row`] over several matrices at once.
pub fn for_each_rows<const K: usize>(
    matrices: [&mut [u64]; K],
    columns: usize,
    work: impl Fn(usize, [&mut [u64]; K]) + Sync,
) {
    let parallel = matrices.first().is_some_and(|matrix| is_worthwhile(matrix.len()));
    let mut rows = matrices.map(|matrix| matrix.chunks_exact_mut(columns));
    let count = rows.iter().map(ExactSizeIterator::len).min().unwrap_or(0);
    let next = |_| rows.each_mut().map(|rows| rows.next().unwrap_or_default());
    if parallel {
        let rows: Vec<[&mut [u64]; K]> = (0..count).map(next).collect();
        rows.into_par_iter().enumerate().for_each(|(index, rows)| work(index, rows));
    } else {
        (0..count).map(next).enumerate().for_each(|(index, rows)| work(index, rows));
    }
}

/// Handing work to another thread costs some microseconds, as much as a transform of 4096 words.
const PARALLEL_WORDS: usize = 1 << 14;

fn is_worthwhile(words: usize) -> bool {
    words >= PARALLEL_WORDS && rayon::current_num_threads() > 1
}
