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
    for_each_rows_of(matrices.into(), columns, |index, rows| {
        if let Ok(rows) = rows.try_into() {
            work(index, rows);
        }
    });
}

/// [`for_each_rows`] for any number of matrices.
pub fn for_each_rows_of(
    matrices: Vec<&mut [u64]>,
    columns: usize,
    work: impl Fn(usize, Vec<&mut [u64]>) + Sync,
) {
    let parallel = matrices.first().is_some_and(|matrix| is_worthwhile(matrix.len()));
    // The first matrix counts; without one there is nothing to do.
    let rows = by_row(matrices, columns);
    if parallel {
        rows.into_par_iter().enumerate().for_each(|(index, rows)| work(index, rows));
    } else {
        rows.into_iter().enumerate().for_each(|(index, rows)| work(index, rows));
    }
}

/// [`for_each_rows_of`] by groups of up to `group` rows of each matrix, fewer where threads would have nothing to do: `work` gets the index of the first row and, for each row, that of all matrices.
pub fn for_each_group_of(
    matrices: Vec<&mut [u64]>,
    columns: usize,
    group: usize,
    work: impl Fn(usize, Vec<Vec<&mut [u64]>>) + Sync,
) {
    let parallel = matrices.first().is_some_and(|matrix| is_worthwhile(matrix.len()));
    let rows = matrices.first().map_or(0, |matrix| matrix.len() / columns.max(1));
    let share = if parallel { rows.div_ceil(rayon::current_num_threads()) } else { rows };
    let group = group.min(share).max(1);
    let stretch = (columns * group).max(1);
    let mut stretches: Vec<_> = matrices.into_iter().map(|matrix| matrix.chunks_mut(stretch)).collect();
    let mut groups = Vec::new();
    loop {
        let matrices: Vec<&mut [u64]> = stretches.iter_mut().filter_map(Iterator::next).collect();
        if matrices.is_empty() {
            break;
        }
        groups.push(by_row(matrices, columns));
    }
    if parallel {
        groups.into_par_iter().enumerate().for_each(|(index, rows)| work(index * group, rows));
    } else {
        groups.into_iter().enumerate().for_each(|(index, rows)| work(index * group, rows));
    }
}

/// The rows of several matrices, row by row.
fn by_row(matrices: Vec<&mut [u64]>, columns: usize) -> Vec<Vec<&mut [u64]>> {
    let count = matrices.first().map_or(0, |matrix| matrix.len() / columns.max(1));
    let mut rows: Vec<_> = matrices.into_iter().map(|matrix| matrix.chunks_exact_mut(columns)).collect();
    (0..count).map_while(|_| rows.iter_mut().map(Iterator::next).collect()).collect()
}

/// Handing work to another thread costs some microseconds, as much as a transform of 4096 words.
const PARALLEL_WORDS: usize = 1 << 14;

fn is_worthwhile(words: usize) -> bool {
    words >= PARALLEL_WORDS && rayon::current_num_threads() > 1
}
