// SPDX-License-Identifier: Apache-2.0
//! Slices are cut in vectors, and their ends are padded.

/// Calls `f` with the vectors of all slices, one after the other.
///
/// The ends of slices that are no multiple of `L` long go through buffers that are zero beyond them.
///
/// # Panics
/// If an input is shorter than the first output, or an output differs from it.
#[inline(always)]
pub(crate) fn zip<const L: usize, const M: usize, const N: usize, O: Copy + Default, I: Copy + Default>(
    mut outputs: [&mut [O]; M],
    inputs: [&[I]; N],
    f: impl Fn([&mut [O; L]; M], [&[I; L]; N]),
) {
    let len = outputs[0].len();
    let (count, tail_len) = (len / L, len % L);
    {
        // Slices of one length, so that the loop needs no checks.
        let mut outputs = outputs.each_mut().map(|output| &mut output.as_chunks_mut::<L>().0[..count]);
        let inputs = inputs.map(|input| &input.as_chunks::<L>().0[..count]);
        for vector in 0..count {
            f(outputs.each_mut().map(|output| &mut output[vector]), inputs.map(|input| &input[vector]));
        }
    }
    if tail_len > 0 {
        let tail = count * L..len;
        let mut padded_outputs = outputs.each_ref().map(|output| padded(&output[tail.clone()]));
        let padded_inputs = inputs.map(|input| padded(&input[tail.clone()]));
        f(padded_outputs.each_mut(), padded_inputs.each_ref());
        for (output, padded) in outputs.iter_mut().zip(&padded_outputs) {
            output[tail.clone()].copy_from_slice(&padded[..tail_len]);
        }
    }
}

/// A vector that starts with a slice of at most `L` entries, and is zero after it.
#[inline]
pub(crate) fn padded<const L: usize, T: Copy + Default>(entries: &[T]) -> [T; L] {
    let mut vector = [T::default(); L];
    vector[..entries.len()].copy_from_slice(entries);
    vector
}
