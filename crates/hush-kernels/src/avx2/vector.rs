// SPDX-License-Identifier: Apache-2.0
//! Vectors of four words or doubles, and the proof that the machine has them.

use std::arch::x86_64::*;

use crate::vector::Isa;

/// Four words of memory: integers, or the bits of doubles between the passes of a transform.
pub(super) type Words = [u64; 4];

/// Four doubles in a register.
pub(super) type V = __m256d;

/// Four integers, or 32 bytes, in a register.
pub(super) type I = __m256i;

/// Compiles a function with the features that [`Avx2`] proves.
macro_rules! compiled {
    ($function:item) => {
        #[target_feature(enable = "avx2,fma,aes,bmi1,bmi2,popcnt")]
        $function
    };
}
pub(crate) use compiled;

/// Proof that the machine has AVX2, FMA, the AES instructions and those for bits.
///
/// *Invariant.* [`Avx2::detect`] alone makes values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Avx2(());

/// `2^52`: the bits of `2^52 + x` as a double are those of `2^52` plus the integer `x`, for `0 ≤ x < 2^52`.
const TWO_TO_52: f64 = (1u64 << 52) as f64;
const TWO_TO_31: f64 = (1u64 << 31) as f64;

/// Defines operations on registers of one type alone.
macro_rules! operations {
    ($vector:ty: $($(#[$doc:meta])* $name:ident($($argument:ident),*) = $intrinsic:expr;)*) => {
        $($(#[$doc])*
        #[inline(always)]
        pub(super) fn $name(self, $($argument: $vector),*) -> $vector {
            // SAFETY: the token proves that the machine has the instruction, which reads and writes registers only.
            unsafe { $intrinsic($($argument),*) }
        })*
    };
}

impl Isa for Avx2 {
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

impl Avx2 {
    /// The proof, if this machine and its operating system have every feature that the path is compiled with.
    pub(crate) fn detect() -> Option<Self> {
        let is_supported = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("aes")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("popcnt");
        is_supported.then_some(Self(()))
    }

    operations! { V:
        /// `a + b`, rounded to nearest.
        add(a, b) = _mm256_add_pd;
        /// `a − b`, rounded to nearest.
        sub(a, b) = _mm256_sub_pd;
        /// `a·b`, rounded to nearest.
        mul(a, b) = _mm256_mul_pd;
        /// `a·b − c`, rounded once.
        mul_sub(a, b, c) = _mm256_fmsub_pd;
        /// `c − a·b`, rounded once.
        negative_mul_add(a, b, c) = _mm256_fnmadd_pd;
        /// The nearest integer.
        round(a) = _mm256_round_pd::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>;
        /// Bitwise and.
        and(a, b) = _mm256_and_pd;
        /// All ones where `a < b`, else zero.
        less(a, b) = _mm256_cmp_pd::<_CMP_LT_OQ>;
    }

    operations! { I:
        /// `a + b` modulo `2^64`, word by word.
        add_words(a, b) = _mm256_add_epi64;
        /// `a − b` modulo `2^64`, word by word.
        sub_words(a, b) = _mm256_sub_epi64;
        /// `a + b` modulo `2^8`, byte by byte.
        add_bytes(a, b) = _mm256_add_epi8;
        /// Bitwise exclusive or.
        xor_words(a, b) = _mm256_xor_si256;
        /// Bitwise and.
        and_words(a, b) = _mm256_and_si256;
        /// Words shifted right by as many bits as the words of `bits` say.
        shift_right(a, bits) = _mm256_srlv_epi64;
        /// In each half, byte `i` is byte `places[i]` of `a`, for places below 16.
        shuffle_bytes(a, places) = _mm256_shuffle_epi8;
    }

    /// Asks for the cache line that lies so many bytes after the start of a stream, inside it or not.
    #[inline(always)]
    pub(super) fn prefetch(self, stream: &[u8], bytes: usize) {
        // SAFETY: a prefetch reads nothing that the program sees and does not fault, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(stream.as_ptr().wrapping_add(bytes).cast()) }
    }

    #[inline(always)]
    pub(super) fn load_bytes(self, bytes: &[u8; 32]) -> I {
        // SAFETY: the token proves the instruction; the reference covers the 32 bytes read; no alignment is needed.
        unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
    }

    /// Each half from a place of its own, the low one first.
    #[inline(always)]
    pub(super) fn load_pair(self, [low, high]: [&[u8; 16]; 2]) -> I {
        // SAFETY: the token proves the instruction; the references cover the 16 bytes read each; no alignment is needed.
        unsafe { _mm256_loadu2_m128i(high.as_ptr().cast(), low.as_ptr().cast()) }
    }

    #[inline(always)]
    pub(super) fn load_words(self, words: &Words) -> I {
        // SAFETY: the token proves the instruction; the reference covers the 32 bytes read; no alignment is needed.
        unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
    }

    #[inline(always)]
    pub(super) fn store_words(self, words: &mut Words, vector: I) {
        // SAFETY: the token proves the instruction; the reference covers the 32 bytes written; no alignment is needed.
        unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), vector) }
    }

    /// The integer in every word.
    #[inline(always)]
    pub(super) fn splat_word(self, word: u64) -> I {
        // SAFETY: the token proves that the machine has the instruction, which writes a register only.
        unsafe { _mm256_set1_epi64x(word as i64) }
    }

    /// The sum of the bytes of each word.
    #[inline(always)]
    pub(super) fn sum_bytes(self, a: I) -> I {
        // SAFETY: the token proves that the machine has the instruction, which reads and writes registers only.
        unsafe { _mm256_sad_epu8(a, _mm256_setzero_si256()) }
    }

    /// Stores the low half of each word, as a signed integer.
    #[inline(always)]
    pub(super) fn store_low_halves(self, integers: &mut [i32; 4], vector: I) {
        // SAFETY: the token proves the instructions; the reference covers the 16 bytes written; no alignment is needed.
        unsafe {
            let low = _mm256_permutevar8x32_epi32(vector, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6));
            _mm_storeu_si128(integers.as_mut_ptr().cast(), _mm256_castsi256_si128(low));
        }
    }

    #[inline(always)]
    pub(super) fn zero(self) -> V {
        self.splat(0.0)
    }

    /// The number in every lane.
    #[inline(always)]
    pub(super) fn splat(self, number: f64) -> V {
        // SAFETY: the token proves that the machine has the instruction, which writes a register only.
        unsafe { _mm256_set1_pd(number) }
    }

    /// Loads doubles stored by [`Avx2::store`].
    #[inline(always)]
    pub(super) fn load(self, words: &Words) -> V {
        // SAFETY: the token proves the instruction; the reference covers the 32 bytes read; no alignment is needed.
        unsafe { _mm256_loadu_pd(words.as_ptr().cast()) }
    }

    #[inline(always)]
    pub(super) fn load_doubles(self, doubles: &[f64; 4]) -> V {
        // SAFETY: the token proves the instruction; the reference covers the 32 bytes read; no alignment is needed.
        unsafe { _mm256_loadu_pd(doubles.as_ptr()) }
    }

    /// Stores doubles as their bits.
    #[inline(always)]
    pub(super) fn store(self, words: &mut Words, vector: V) {
        // SAFETY: the token proves the instruction; the reference covers the 32 bytes written; no alignment is needed.
        unsafe { _mm256_storeu_pd(words.as_mut_ptr().cast(), vector) }
    }

    /// Loads integers below `2^52` as doubles.
    #[inline(always)]
    pub(super) fn load_integers(self, words: &Words) -> V {
        let magic = self.splat(TWO_TO_52);
        // SAFETY: the token proves the instructions, which read and write registers only.
        self.sub(unsafe { _mm256_or_pd(self.load(words), magic) }, magic)
    }

    /// Loads signed 32-bit integers as doubles.
    #[inline(always)]
    pub(super) fn load_signed_32(self, integers: &[i32; 4]) -> V {
        // SAFETY: the token proves the instructions; the reference covers the 16 bytes read; no alignment is needed.
        unsafe { _mm256_cvtepi32_pd(_mm_loadu_si128(integers.as_ptr().cast())) }
    }

    /// Loads signed words as doubles in two halves: each is `high·2^32 + low`, with `−2^31 ≤ high < 2^31` and `0 ≤ low < 2^32`.
    #[inline(always)]
    pub(super) fn load_signed_halves(self, integers: &[i64; 4]) -> (V, V) {
        let magic = self.splat(TWO_TO_52);
        // SAFETY: the token proves the instructions; the reference covers the 32 bytes read; no alignment is needed.
        let (high, low) = unsafe {
            let words = _mm256_loadu_si256(integers.as_ptr().cast());
            // With its sign turned over, the high half is 2^31 too large and positive.
            let high = _mm256_srli_epi64::<32>(_mm256_xor_si256(words, _mm256_set1_epi64x(i64::MIN)));
            let low = _mm256_and_si256(words, _mm256_set1_epi64x(0xFFFF_FFFF));
            (_mm256_castsi256_pd(high), _mm256_castsi256_pd(low))
        };
        // SAFETY: the token proves the instructions, which read and write registers only.
        let biased = |half| unsafe { _mm256_or_pd(half, magic) };
        (self.sub(biased(high), self.splat(TWO_TO_52 + TWO_TO_31)), self.sub(biased(low), magic))
    }

    /// Stores doubles that are integers in `0..2^52` as integers.
    #[inline(always)]
    pub(super) fn store_integers(self, words: &mut Words, vector: V) {
        let magic = self.splat(TWO_TO_52);
        // SAFETY: the token proves the instruction, which reads and writes registers only.
        self.store(words, unsafe { _mm256_xor_pd(self.add(vector, magic), magic) });
    }

    /// Transposes four vectors as a 4 × 4 matrix.
    #[inline(always)]
    pub(super) fn transpose(self, rows: [V; 4]) -> [V; 4] {
        let [r0, r1, r2, r3] = rows;
        // SAFETY: the token proves that the machine has the instructions, which read and write registers only.
        let even = |a, b| unsafe { _mm256_unpacklo_pd(a, b) };
        // SAFETY: as above.
        let odd = |a, b| unsafe { _mm256_unpackhi_pd(a, b) };
        // SAFETY: as above. 0x20 takes the low half of each operand.
        let low = |a, b| unsafe { _mm256_permute2f128_pd::<0x20>(a, b) };
        // SAFETY: as above. 0x31 takes the high half of each operand.
        let high = |a, b| unsafe { _mm256_permute2f128_pd::<0x31>(a, b) };
        let (e01, o01, e23, o23) = (even(r0, r1), odd(r0, r1), even(r2, r3), odd(r2, r3));
        [low(e01, e23), low(o01, o23), high(e01, e23), high(o01, o23)]
    }
}
