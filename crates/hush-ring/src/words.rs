// SPDX-License-Identifier: Apache-2.0
//! Buffers of words that go back to a pool of their thread instead of to the allocator.
//!
//! A polynomial at `N = 32768` has megabytes. Memory that comes fresh from the operating system costs a page fault
//! for every 4 KiB of it, which is more than most operations on it; a buffer that was in use a moment ago is warm.
//! Steady-state evaluation allocates nothing. A thread keeps at most [`POOL_BYTES`], or what [`keep_buffers`] allows it.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

use zeroize::Zeroize;

/// Words, on loan from this thread's pool.
///
/// *Layout.* On a cache line of their own: wide loads that straddle two lines cost twice. *Secrecy.* As secret as what was put in: owners of secret words call [`Zeroize::zeroize`], which wipes them before they
/// go back.
pub struct Words {
    /// The words, between up to seven on either side that only shift them to a line.
    storage: Vec<u64>,
    start: usize,
    len: usize,
}

impl Words {
    /// `len` zeros.
    pub fn zeroed(len: usize) -> Self {
        let mut words = Self::recycled(len);
        words.fill(0);
        words
    }

    /// `len` words of any content, to be overwritten.
    pub fn recycled(len: usize) -> Self {
        let pooled = POOL.try_with(|pool| pool.borrow_mut().take(len + LINE_WORDS)).ok().flatten();
        let storage = pooled.unwrap_or_else(|| vec![0; len + LINE_WORDS]);
        // In words, or larger than any vector where the platform does not tell.
        let start = storage.as_ptr().align_offset(8 * LINE_WORDS);
        Self { storage, start: if start < LINE_WORDS { start } else { 0 }, len }
    }
}

impl From<Vec<u64>> for Words {
    /// Keeps the words at their address, which need not be the start of a cache line.
    fn from(storage: Vec<u64>) -> Self {
        let len = storage.len();
        Self { storage, start: 0, len }
    }
}

impl Clone for Words {
    fn clone(&self) -> Self {
        let mut words = Self::recycled(self.len);
        words.copy_from_slice(self);
        words
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        let storage = std::mem::take(&mut self.storage);
        if storage.len() != self.len + LINE_WORDS {
            // Brought from elsewhere: no request ever asks for that length.
            return;
        }
        // While its thread ends the pool may be gone; then the allocator takes the words.
        let _ = POOL.try_with(|pool| pool.borrow_mut().put(storage));
    }
}

impl Deref for Words {
    type Target = [u64];
    fn deref(&self) -> &[u64] {
        &self.storage[self.start..self.start + self.len]
    }
}

impl DerefMut for Words {
    fn deref_mut(&mut self) -> &mut [u64] {
        &mut self.storage[self.start..self.start + self.len]
    }
}

impl PartialEq for Words {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Words {}

impl Zeroize for Words {
    /// Overwrites all words with zero. The optimiser cannot leave it out, since it must assume that the words are read
    /// afterwards; unlike volatile stores one by one, it runs at the speed of memory.
    fn zeroize(&mut self) {
        self.storage.fill(0);
        std::hint::black_box(self.storage.as_mut_slice());
    }
}

/// Short-lived secrets in memory of their own, wiped on drop as [`Words`] are wiped: at the speed of memory, where volatile
/// stores of the bytes behind a ciphertext's errors would take a sixth of its encryption at `N = 4096`.
///
/// *Secrecy.* Secret: no `Clone`, no `Debug`.
pub struct Wiped<T: Copy + Default>(Vec<T>);

impl<T: Copy + Default> Wiped<T> {
    /// `len` zeros.
    pub fn zeroed(len: usize) -> Self {
        Self(vec![T::default(); len])
    }
}

impl<T: Copy + Default> Deref for Wiped<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: Copy + Default> DerefMut for Wiped<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<T: Copy + Default> Drop for Wiped<T> {
    fn drop(&mut self) {
        self.0.fill(T::default());
        std::hint::black_box(self.0.as_mut_slice());
    }
}

/// Free buffers, the most recently used last.
struct Pool {
    free: Vec<Vec<u64>>,
    bytes: usize,
    /// Bytes that are kept.
    limit: usize,
}

impl Default for Pool {
    fn default() -> Self {
        Self { free: Vec::new(), bytes: 0, limit: POOL_BYTES }
    }
}

/// Lets this thread keep free buffers of up to so many bytes from now on, if that is more than before: for work that has more than a product in flight, over and
/// over.
pub fn keep_buffers(bytes: usize) {
    let _ = POOL.try_with(|pool| {
        let mut pool = pool.borrow_mut();
        pool.limit = pool.limit.max(bytes);
    });
}

impl Pool {
    fn take(&mut self, len: usize) -> Option<Vec<u64>> {
        let found = self.free.iter().rposition(|words| words.len() == len)?;
        self.bytes -= 8 * len;
        Some(self.free.remove(found))
    }

    fn put(&mut self, words: Vec<u64>) {
        let bytes = 8 * words.len();
        if !(MIN_BYTES..=self.limit).contains(&bytes) {
            return;
        }
        self.free.push(words);
        self.bytes += bytes;
        while self.bytes > self.limit {
            self.bytes -= 8 * self.free.remove(0).len();
        }
    }
}

/// Bytes that a thread keeps: a product with key switching at `N = 32768` has about this much in flight.
const POOL_BYTES: usize = 64 << 20;

/// Words of a cache line.
const LINE_WORDS: usize = 8;

/// Below it the allocator keeps memory warm by itself.
const MIN_BYTES: usize = 16 << 10;

thread_local! {
    static POOL: RefCell<Pool> = RefCell::default();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_comes_back_and_a_zeroed_one_is_zero() {
        let len = 5000;
        let mut words = Words::zeroed(len);
        words.fill(7);
        let address = words.as_ptr();
        drop(words);
        let again = Words::zeroed(len);
        assert_eq!(again.as_ptr(), address);
        assert!(again.iter().all(|&word| word == 0));
        assert_eq!(again.as_ptr().align_offset(64), 0);
    }

    #[test]
    fn words_from_elsewhere_do_not_fill_the_pool() {
        let before = POOL.with(|pool| pool.borrow().bytes);
        drop(Words::from(vec![1; 1 << 16]));
        assert_eq!(POOL.with(|pool| pool.borrow().bytes), before);
    }

    #[test]
    fn wiped_words_are_zero_and_the_pool_is_bounded() {
        let mut words = Words::zeroed(6000);
        words.fill(7);
        words.zeroize();
        assert!(words.iter().all(|&word| word == 0));
        let many: Vec<Words> = (0..20).map(|_| Words::zeroed(1 << 20)).collect();
        drop(many);
        let kept = POOL.with(|pool| pool.borrow().bytes);
        assert!(kept <= POOL_BYTES, "{kept}");
    }
}
