// SPDX-License-Identifier: Apache-2.0
//! Searches this process' own memory, as a thief of a memory image would.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, PoisonError};

use rustix::process::{DumpableBehavior, set_dumpable_behavior};

/// A pattern to look for that does not hold itself: looking for it in the clear would find the looker.
pub struct Wanted(Vec<u8>);

impl Wanted {
    /// The pattern `secret`, which this copies only under a mask.
    ///
    /// # Panics
    /// Fewer than 12 bytes are found by chance.
    pub fn new(secret: impl IntoIterator<Item = u8>) -> Self {
        let masked: Vec<u8> = secret.into_iter().map(|byte| byte ^ MASK).collect();
        assert!(masked.len() >= 12, "patterns of 12 bytes and more are not found by chance");
        Self(masked)
    }

    /// How often the memory that this process can write holds the pattern.
    ///
    /// # Panics
    /// As [`Wanted::places`].
    pub fn count(&self) -> usize {
        self.places().len()
    }

    /// Where the memory that this process can write holds the pattern: heap, stacks, static variables. The end of the line of the
    /// system's map for each.
    ///
    /// # Panics
    /// The memory cannot be read.
    pub fn places(&self) -> Vec<String> {
        // The buffer of another search holds for a moment what this one looks for.
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        // A hardened process must not read itself either, unless it is the administrator's.
        set_dumpable_behavior(DumpableBehavior::Dumpable).expect("a process may undo its hardening");
        let maps = std::fs::read_to_string("/proc/self/maps").expect("the map of this process' memory");
        let memory = File::open("/proc/self/mem").expect("this process' memory");
        let mut buffer = vec![0; WINDOW];
        // The search must not find its own read buffer.
        let own = buffer.as_ptr() as u64..buffer.as_ptr() as u64 + WINDOW as u64;
        let mut places = Vec::new();
        for line in
            maps.lines().filter(|line| line.split(' ').nth(1).is_some_and(|how| how.starts_with("rw")))
        {
            let range = line.split(' ').next().and_then(|range| range.split_once('-'));
            let (from, to) = range.expect("a range of addresses");
            let [from, to] = [from, to].map(|text| u64::from_str_radix(text, 16).expect("an address"));
            for (from, to) in [(from, to.min(own.start)), (from.max(own.end), to)] {
                let found = self.find(&memory, &mut buffer, from, to);
                places.extend(found.into_iter().map(|address| format!("{address:x} of {line}")));
            }
        }
        places
    }

    /// The addresses of the pattern between two addresses.
    fn find(&self, memory: &File, buffer: &mut [u8], mut from: u64, to: u64) -> Vec<u64> {
        let mut places = Vec::new();
        while from < to {
            let length = WINDOW.min((to - from) as usize);
            // Special regions of the kernel cannot be read, nor can what other threads have given back by now.
            let Ok(read) = memory.read_at(&mut buffer[..length], from) else { break };
            buffer[..read].iter_mut().for_each(|byte| *byte ^= MASK);
            places.extend(
                memchr::memmem::find_iter(&buffer[..read], &self.0).map(|offset| from + offset as u64),
            );
            if read < length || length < WINDOW {
                break;
            }
            from += (WINDOW - self.0.len() + 1) as u64;
        }
        places
    }
}

const MASK: u8 = 0x5a;
const WINDOW: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_finds_what_is_there_and_not_itself() {
        let plain = || (0..40_u8).map(|index| index.wrapping_mul(91) ^ 0x33);
        let wanted = Wanted::new(plain());
        assert_eq!(wanted.count(), 0);
        let heap: Vec<u8> = plain().collect();
        assert!(wanted.count() >= 1);
        assert_eq!(std::hint::black_box(heap).len(), 40);
    }
}
