// SPDX-License-Identifier: Apache-2.0
//! Vectors of eight words, and the proof that the machine has them.

use std::arch::x86_64::*;

use crate::{avx2::Avx2, vector::Isa};

/// Eight words of memory.
pub(super) type Words = [u64; 8];

/// Eight words in a register.
pub(super) type V = __m512i;

/// Compiles a function with the features that [`Avx512`] proves.
macro_rules! compiled {
    ($function:item) => {
        #[target_feature(
            enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq,vaes,avx2,fma,aes,bmi1,bmi2,popcnt"
        )]
        $function
    };
}
pub(crate) use compiled;

/// Proof that the machine has AVX-512 with IFMA, VBMI, VPOPCNTDQ and VAES.
///
/// *Invariant.* [`Avx512::detect`] alone makes values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Avx512 {
    avx2: Avx2,
}

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

impl Isa for Avx512 {
    #[inline(always)]
    fn run<D, R>(self, data: D, kernel: impl FnOnce(D) -> R) -> R {
        compiled! {
            fn run<D, R>(data: D, kernel: impl FnOnce(D) -> R) -> R {
                kernel(data)
            }
        }
        // SAFETY: the token proves that the machine has these features.
        unsafe { run(data, kernel) }
    }
}

impl Avx512 {
    /// The proof, if this machine and its operating system have every feature that the path is compiled with.
    pub(crate) fn detect() -> Option<Self> {
        let is_supported = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512ifma")
            && is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512vpopcntdq")
            && is_x86_feature_detected!("vaes");
        Avx2::detect().filter(|_| is_supported).map(|avx2| Self { avx2 })
    }

    /// The path includes AVX2.
    pub(crate) fn avx2(self) -> Avx2 {
        self.avx2
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

    /// The first bytes of a slice, zero after its end.
    #[inline(always)]
    pub(super) fn load_first_bytes(self, bytes: &[u8]) -> V {
        // SAFETY: the token proves the instruction; the mask leaves out what lies beyond the slice, which is not read.
        unsafe { _mm512_maskz_loadu_epi8(first_bytes(bytes.len()), bytes.as_ptr().cast()) }
    }

    /// Stores as many bytes as the slice has, at most 64.
    #[inline(always)]
    pub(super) fn store_first_bytes(self, bytes: &mut [u8], vector: V) {
        // SAFETY: the token proves the instruction; the mask leaves out what lies beyond the slice, which is not written.
        unsafe { _mm512_mask_storeu_epi8(bytes.as_mut_ptr().cast(), first_bytes(bytes.len()), vector) }
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

/// A mask of the first bytes of a vector.
#[inline(always)]
fn first_bytes(count: usize) -> u64 {
    if count < 64 { (1 << count) - 1 } else { u64::MAX }
}
