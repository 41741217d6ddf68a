// SPDX-License-Identifier: Apache-2.0
//! The twiddle tables of the vector paths, in the order in which their passes read them.
//!
//! A transform of `2^L` points is a list of **passes** over ever smaller blocks, each of one to four layers, and ends on
//! **blocks** of 64 points: three layers between the eight rows of a block, a transposition, three layers more with one
//! twiddle per column. All twiddles together are one heap: part `b` of layer `l` has node `2^l + b`, and its twiddle
//! is `ψ^±brv(node)`. A pass or block uses a few layers below one node, which is a small heap again.

use hush_arith::Modulus;

use super::order::{bit_reversed_powers, reverse_bits};

/// The number type that a path computes in.
pub(crate) trait TwiddleWord: Copy + Default {
    /// The constant `w < q` in the form of the path, and the number that estimates the quotients of its products.
    fn value_and_companion(modulus: Modulus, w: u64) -> [Self; 2];
}

impl TwiddleWord for u64 {
    /// Shoup's pair: `w` and `⌊w·2^52/q⌋`.
    fn value_and_companion(modulus: Modulus, w: u64) -> [u64; 2] {
        [w, modulus.shoup52(w)]
    }
}

impl TwiddleWord for f64 {
    /// `w` centred in `[−q/2, q/2]`, and that over `q`, rounded.
    fn value_and_companion(modulus: Modulus, w: u64) -> [f64; 2] {
        let q = modulus.value();
        let centred = if w > q / 2 { -((q - w) as f64) } else { w as f64 };
        [centred, centred / q as f64]
    }
}

/// A constant factor.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Twiddle<W> {
    pub(crate) value: W,
    pub(crate) companion: W,
}

impl<W: TwiddleWord> Twiddle<W> {
    fn new(modulus: Modulus, w: u64) -> Self {
        let [value, companion] = W::value_and_companion(modulus, w);
        Self { value, companion }
    }
}

/// The constants of one transform.
#[derive(Debug, Clone)]
pub(crate) struct Tables<W> {
    pub(crate) modulus: Modulus,
    pub(crate) forward: Direction<W>,
    pub(crate) inverse: Direction<W>,
    /// `N⁻¹`, and `N⁻¹·w` for the twiddle `w` of the inverse's last layer.
    pub(crate) scale: [Twiddle<W>; 2],
}

/// The twiddles of one direction.
#[derive(Debug, Clone)]
pub(crate) struct Direction<W> {
    pub(crate) passes: Vec<Pass<W>>,
    pub(crate) blocks: Vec<BlockTwiddles<W>>,
}

/// A pass of `log2 radix` layers: for each of its blocks, from left to right, `radix` twiddles in heap order (entry 0 is
/// unused, entry `2^l + b` belongs to part `b` of layer `l`).
#[derive(Debug, Clone)]
pub(crate) struct Pass<W> {
    pub(crate) radix: usize,
    pub(crate) twiddles: Vec<Twiddle<W>>,
}

/// The twiddles of the six layers of one 64-point block: two heaps of three layers.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub(crate) struct BlockTwiddles<W> {
    /// For the layers between rows.
    pub(crate) rows: [Twiddle<W>; 8],
    /// For the layers after the transposition: eight values and eight companions. Entry `j` is heap entry `j + 1`.
    pub(crate) lanes: [[[W; 8]; 2]; 7],
}

impl<W: TwiddleWord> Tables<W> {
    /// `radices` are those of the passes; their product is `degree/64`.
    pub(crate) fn new(modulus: Modulus, degree: usize, psi: u64, radices: &[usize]) -> Self {
        let powers = bit_reversed_powers(modulus, degree, psi);
        // ψ^(−j) = −ψ^(N−j), and the exponent N − brv(i) stands at index brv(N − brv(i)).
        let inverse_powers: Vec<u64> = (0..degree)
            .map(|i| match reverse_bits(i, degree) {
                0 => 1,
                exponent => modulus.neg(powers[reverse_bits(degree - exponent, degree)]),
            })
            .collect();
        // N is a power of two, and (q+1)/2 is the inverse of 2 modulo the odd prime q.
        let scale = modulus.pow(modulus.value().div_ceil(2), u64::from(degree.trailing_zeros()));
        let last = modulus.mul(scale, inverse_powers[1]);
        Self {
            modulus,
            forward: Direction::new(modulus, &powers, radices),
            inverse: Direction::new(modulus, &inverse_powers, radices),
            scale: [Twiddle::new(modulus, scale), Twiddle::new(modulus, last)],
        }
    }
}

impl<W: TwiddleWord> Direction<W> {
    /// `powers[node]` is the twiddle of a node of the large heap.
    fn new(modulus: Modulus, powers: &[u64], radices: &[usize]) -> Self {
        let twiddles: Vec<Twiddle<W>> = powers.iter().map(|&w| Twiddle::new(modulus, w)).collect();
        // The heap below node `root` of the large heap.
        let heap = |root: usize, entry: usize| match entry {
            0 => Twiddle::default(),
            _ => {
                let layer = entry.ilog2();
                twiddles[(root << layer) + entry - (1 << layer)]
            }
        };
        let mut passes = Vec::with_capacity(radices.len());
        let mut block_count = 1;
        for &radix in radices {
            let twiddles = (0..block_count)
                .flat_map(|block| (0..radix).map(move |entry| heap(block_count + block, entry)))
                .collect();
            passes.push(Pass { radix, twiddles });
            block_count *= radix;
        }
        debug_assert_eq!(64 * block_count, powers.len(), "the radices must leave blocks of 64 points");
        let blocks = (0..block_count).map(|block| BlockTwiddles::new(block_count + block, heap)).collect();
        Self { passes, blocks }
    }
}

impl<W: TwiddleWord> BlockTwiddles<W> {
    /// `root` is the node of the block's first layer; `heap(root, entry)` gives the twiddles below a node.
    fn new(root: usize, heap: impl Fn(usize, usize) -> Twiddle<W>) -> Self {
        let lane = |j: usize, lane: usize| heap(8 * root + lane, j + 1);
        Self {
            rows: std::array::from_fn(|entry| heap(root, entry)),
            lanes: std::array::from_fn(|j| {
                [std::array::from_fn(|r| lane(j, r).value), std::array::from_fn(|r| lane(j, r).companion)]
            }),
        }
    }
}
