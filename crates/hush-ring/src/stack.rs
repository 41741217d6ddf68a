// SPDX-License-Identifier: Apache-2.0
//! Wiping what secrets leave behind: values in memory, and the stack of functions.

use std::hint::black_box;

use zeroize::optimization_barrier;

/// Overwrites values with zeros, many at once. [`zeroize::Zeroize`] writes one after the other, which takes longer than to open a seal over them.
///
/// # Cost
/// That of filling memory.
pub fn wipe<T: Copy + Default>(values: &mut [T]) {
    values.fill(T::default());
    // For all that the compiler knows they are read here.
    optimization_barrier(values);
}

/// Runs `work` and then overwrites 64 KiB of the stack, from where its frames began.
///
/// Hash functions and key derivation copy their input into frames that nothing wipes: an image of the memory would hold a seed dozens of
/// times. Only what `work` returns stays. Deeper frames than that, and registers, are out of reach.
///
/// # Cost
/// That of filling 64 KiB of memory, some microseconds. Meant for keys, not for every row.
pub fn wiping_stack<T>(work: impl FnOnce() -> T) -> T {
    let result = framed(work);
    wipe_frames();
    result
}

/// In a frame of its own, where [`wipe_frames`] has its own afterwards.
#[inline(never)]
fn framed<T>(work: impl FnOnce() -> T) -> T {
    work()
}

#[inline(never)]
fn wipe_frames() {
    // Mutable, so that it is on the stack and no constant elsewhere.
    let mut frames = [0_u64; WORDS];
    black_box(&mut frames);
}

const WORDS: usize = 8192;

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use hush_testkit::Wanted;

    use super::*;

    /// A byte that no compiler knows.
    fn byte(index: usize) -> u8 {
        black_box(index as u8).wrapping_mul(73) ^ 0x1c
    }

    #[inline(never)]
    fn leave_behind() -> u8 {
        let mut frame = [0_u8; 4096];
        frame.iter_mut().enumerate().for_each(|(index, place)| *place = byte(index));
        black_box(&frame)[black_box(7)]
    }

    #[test]
    fn wiped_values_are_gone() {
        // Others than those of the test beside, which may be in memory at the same time.
        let other = |index| byte(index) ^ 0x55;
        let mut values: Vec<u8> = wiping_stack(|| (0..64).map(other).collect());
        let wanted = Wanted::new((0..64).map(other));
        assert!(wanted.count() > 0);
        wipe(&mut values);
        assert_eq!(wanted.count(), 0);
        assert_eq!(values, [0; 64]);
    }

    #[test]
    fn what_work_left_on_the_stack_is_gone() {
        let wanted = Wanted::new((0..64).map(byte));
        assert_eq!(wiping_stack(leave_behind), byte(7));
        assert_eq!(wanted.count(), 0);
        leave_behind();
        assert!(wanted.count() > 0, "without wiping it would be there");
    }
}
