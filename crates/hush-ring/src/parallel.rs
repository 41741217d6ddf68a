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

/// [`for_each_row`] over two matrices at once.
pub fn for_each_row_pair(
    left: &mut [u64],
    right: &mut [u64],
    columns: usize,
    work: impl Fn(usize, &mut [u64], &mut [u64]) + Sync,
) {
    if is_worthwhile(left.len()) {
        let rows = left.par_chunks_exact_mut(columns).zip(right.par_chunks_exact_mut(columns));
        rows.enumerate().for_each(|(index, (left, right))| work(index, left, right));
    } else {
        let rows = left.chunks_exact_mut(columns).zip(right.chunks_exact_mut(columns));
        rows.enumerate().for_each(|(index, (left, right))| work(index, left, right));
    }
}

/// Handing work to another thread costs some microseconds, as much as a transform of 4096 words.
const PARALLEL_WORDS: usize = 1 << 14;

fn is_worthwhile(words: usize) -> bool {
    words >= PARALLEL_WORDS && rayon::current_num_threads() > 1
}
