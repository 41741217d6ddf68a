// SPDX-License-Identifier: Apache-2.0
//! Vectors of eight words, and the proof that the machine has them.
//!
//! The kernels are nests of small loops that only become straight code when every function in them is inlined before the
//! loops are unrolled. The compiler does that for `#[inline(always)]` functions, which may not carry target
//! features of their own; hence the operations are methods of a token, [`Avx512`], that only a function compiled with the
//! features can create. The outermost function of a kernel creates it and gives the code its features.

use std::{arch::x86_64::*, marker::PhantomData};

/// Eight words of memory.
pub(super) type Words = [u64; 8];

/// Eight words in a register.
pub(super) type V = __m512i;

/// Proof that the code runs on a machine with the features in [`Avx512::new`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Avx512(());

/// Defines operations on registers alone.
macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident($($argument:ident),*) = $intrinsic:expr;)*) => {
        $($(#[$doc])*
        #[inline(always)]
        pub(super) fn $name(self, $($argument: V),*) -> V {
            // SAFETY: the token proves that the machine has the instruction, which reads and writes registers only.
            unsafe { $intrinsic($($argument),*) }
        })*
    };
}

/// Defines operations on registers in which each word holds the bits of a double.
macro_rules! double_operations {
    ($($(#[$doc:meta])* $name:ident = $intrinsic:expr;)*) => {
        $($(#[$doc])*
        #[inline(always)]
        pub(super) fn $name(self, a: V, b: V) -> V {
            // SAFETY: the token proves that the machine has the instructions, which read and write registers only.
            unsafe { _mm512_castpd_si512($intrinsic(_mm512_castsi512_pd(a), _mm512_castsi512_pd(b))) }
        })*
    };
}

impl Avx512 {
    /// Safe to call only where the compiler knows the features, which is what makes the token a proof.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq")]
    pub(super) fn new() -> Self {
        Self(())
    }

    operations! {
        /// Sums modulo `2^64`.
        add(a, b) = _mm512_add_epi64;
        /// Differences modulo `2^64`.
        sub(a, b) = _mm512_sub_epi64;
        /// The smaller of unsigned words.
        min(a, b) = _mm512_min_epu64;
        /// Bitwise and.
        and(a, b) = _mm512_and_si512;
        /// Bitwise or.
        or(a, b) = _mm512_or_si512;
        /// `acc` plus the low 52 bits of the product of the low 52 bits of `a` and `b`.
        mul_add_low(acc, a, b) = _mm512_madd52lo_epu64;
        /// `acc` plus the high 52 bits of the product of the low 52 bits of `a` and `b`.
        mul_add_high(acc, a, b) = _mm512_madd52hi_epu64;
        /// Shifts each word of `a` right by the word of `count` in its lane.
        shift_right(a, count) = _mm512_srlv_epi64;
        /// Shifts each word of `a` left by the word of `count` in its lane.
        shift_left(a, count) = _mm512_sllv_epi64;
        /// The number of ones in each word.
        count_ones(a) = _mm512_popcnt_epi64;
        /// Byte `i` of the outcome is byte `index[i] mod 64` of `bytes`.
        permute_bytes(index, bytes) = _mm512_permutexvar_epi8;
    }

    double_operations! {
        /// Sums of doubles, rounded to nearest.
        add_doubles = _mm512_add_pd;
        /// Differences of doubles, rounded to nearest.
        sub_doubles = _mm512_sub_pd;
        /// Products of doubles, rounded to nearest.
        mul_doubles = _mm512_mul_pd;
    }

    #[inline(always)]
    pub(super) fn zero(self) -> V {
        self.splat(0)
    }

    /// The word in every lane.
    #[inline(always)]
    pub(super) fn splat(self, word: u64) -> V {
        // SAFETY: the token proves that the machine has the instruction, which writes a register only.
        unsafe { _mm512_set1_epi64(word as i64) }
    }

    #[inline(always)]
    pub(super) fn load(self, words: &Words) -> V {
        // SAFETY: the token proves the instruction; the reference covers the 64 bytes read; no alignment is needed.
        unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
    }

    #[inline(always)]
    pub(super) fn store(self, words: &mut Words, vector: V) {
        // SAFETY: the token proves the instruction; the reference covers the 64 bytes written; no alignment is needed.
        unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), vector) }
    }

    #[inline(always)]
    pub(super) fn load_bytes(self, bytes: &[u8; 64]) -> V {
        // SAFETY: the token proves the instruction; the reference covers the 64 bytes read; no alignment is needed.
        unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
    }

    /// Asks for the cache line that lies so many bytes after the start of a stream, inside it or not.
    #[inline(always)]
    pub(super) fn prefetch(self, stream: &[u8], bytes: usize) {
        // SAFETY: a prefetch reads nothing that the program sees and does not fault, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(stream.as_ptr().wrapping_add(bytes).cast()) }
    }

    #[inline(always)]
    pub(super) fn store_bytes(self, bytes: &mut [u8; 64], vector: V) {
        // SAFETY: the token proves the instruction; the reference covers the 64 bytes written; no alignment is needed.
        unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().cast(), vector) }
    }

    #[inline(always)]
    pub(super) fn load_signed(self, integers: &[i64; 8]) -> V {
        // SAFETY: the token proves the instruction; the reference covers the 64 bytes read; no alignment is needed.
        unsafe { _mm512_loadu_si512(integers.as_ptr().cast()) }
    }

    /// Loads eight 32-bit integers and extends their signs.
    #[inline(always)]
    pub(super) fn load_signed_32(self, integers: &[i32; 8]) -> V {
        // SAFETY: the token proves the instructions; the reference covers the 32 bytes read; no alignment is needed.
        unsafe { _mm512_cvtepi32_epi64(_mm256_loadu_si256(integers.as_ptr().cast())) }
    }

    /// Word `places[i] mod 64` of a block in lane `i`.
    #[inline(always)]
    pub(super) fn gather(self, block: &[u64; 64], places: &[u8; 8]) -> V {
        // SAFETY: the token proves the instructions; eight bytes are read from `places`, and the mask keeps every index below
        // 64, so that all eight words lie in the block.
        unsafe {
            let places = _mm512_cvtepu8_epi64(_mm_loadl_epi64(places.as_ptr().cast()));
            let places = _mm512_and_si512(places, _mm512_set1_epi64(63));
            _mm512_i64gather_epi64::<8>(places, block.as_ptr().cast())
        }
    }

    /// Stores the low 32 bits of each word.
    #[inline(always)]
    pub(super) fn store_low_halves(self, integers: &mut [i32; 8], vector: V) {
        // SAFETY: the token proves the instructions; the reference covers the 32 bytes written; no alignment is needed.
        unsafe { _mm256_storeu_si256(integers.as_mut_ptr().cast(), _mm512_cvtepi64_epi32(vector)) }
    }

    /// All ones in the lanes that hold a negative integer, else zero.
    #[inline(always)]
    pub(super) fn sign_mask(self, a: V) -> V {
        // SAFETY: the token proves that the machine has the instruction, which reads and writes registers only.
        unsafe { _mm512_srai_epi64::<63>(a) }
    }

    /// One bit per lane where `a ≥ b` as unsigned words.
    #[inline(always)]
    pub(super) fn not_below(self, a: V, b: V) -> u8 {
        // SAFETY: the token proves that the machine has the instruction, which reads and writes registers only.
        unsafe { _mm512_cmpge_epu64_mask(a, b) }
    }

    /// [`Avx512::permute_bytes`] where the bit of a byte is set in `covered`, zero elsewhere.
    #[inline(always)]
    pub(super) fn permute_covered_bytes(self, covered: u64, index: V, bytes: V) -> V {
        // SAFETY: the token proves that the machine has the instruction, which reads and writes registers only.
        unsafe { _mm512_maskz_permutexvar_epi8(covered, index, bytes) }
    }

    /// Transposes eight vectors as an 8 × 8 matrix of words.
    #[inline(always)]
    pub(super) fn transpose(self, rows: [V; 8]) -> [V; 8] {
        let [r0, r1, r2, r3, r4, r5, r6, r7] = rows;
        // SAFETY: the token proves that the machine has the instructions, which read and write registers only.
        let even = |a, b| unsafe { _mm512_unpacklo_epi64(a, b) };
        // SAFETY: as above.
        let odd = |a, b| unsafe { _mm512_unpackhi_epi64(a, b) };
        // SAFETY: as above. Of four 128-bit pairs of words, 0x88 takes numbers 0 and 2 of each operand.
        let low = |a, b| unsafe { _mm512_shuffle_i64x2::<0x88>(a, b) };
        // SAFETY: as above. 0xdd takes numbers 1 and 3.
        let high = |a, b| unsafe { _mm512_shuffle_i64x2::<0xdd>(a, b) };
        // Words (0, 2, 4, 6) and (1, 3, 5, 7) of two rows interleaved, then columns i and i + 4 of four rows.
        let (e01, o01, e23, o23) = (even(r0, r1), odd(r0, r1), even(r2, r3), odd(r2, r3));
        let (e45, o45, e67, o67) = (even(r4, r5), odd(r4, r5), even(r6, r7), odd(r6, r7));
        let (c04, c26, c15, c37) = (low(e01, e23), high(e01, e23), low(o01, o23), high(o01, o23));
        let (d04, d26, d15, d37) = (low(e45, e67), high(e45, e67), low(o45, o67), high(o45, o67));
        [
            low(c04, d04),
            low(c15, d15),
            low(c26, d26),
            low(c37, d37),
            high(c04, d04),
            high(c15, d15),
            high(c26, d26),
            high(c37, d37),
        ]
    }
}

/// A block of vectors seen as a matrix of `R` rows; a column is one vector of each row.
///
/// *Invariant*: `first` points to `R·width` vectors that are borrowed exclusively for `'a`.
pub(super) struct BlockColumns<'a, const R: usize> {
    first: *mut Words,
    width: usize,
    borrow: PhantomData<&'a mut [Words]>,
}

impl<'a, const R: usize> BlockColumns<'a, R> {
    /// # Panics
    /// If the block does not have whole rows.
    #[inline(always)]
    pub(super) fn new(block: &'a mut [Words]) -> Self {
        assert!(block.len().is_multiple_of(R), "the block must split in {R} rows");
        Self { first: block.as_mut_ptr(), width: block.len() / R, borrow: PhantomData }
    }

    #[inline(always)]
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// # Panics
    /// If the column is outside the block.
    #[inline(always)]
    pub(super) fn load(&self, simd: Avx512, column: usize) -> [V; R] {
        assert!(column < self.width);
        let mut rows = [simd.zero(); R];
        for (row, vector) in rows.iter_mut().enumerate() {
            // SAFETY: row < R and column < width, so by the invariant the pointer is inside the borrowed block.
            *vector = simd.load(unsafe { &*self.first.add(row * self.width + column) });
        }
        rows
    }

    /// # Panics
    /// If the column is outside the block.
    #[inline(always)]
    pub(super) fn store(&mut self, simd: Avx512, column: usize, rows: [V; R]) {
        assert!(column < self.width);
        for (row, vector) in rows.into_iter().enumerate() {
            // SAFETY: row < R and column < width, so by the invariant the pointer is inside the block, which `self`
            // borrows exclusively.
            simd.store(unsafe { &mut *self.first.add(row * self.width + column) }, vector);
        }
    }
}
