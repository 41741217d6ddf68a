// SPDX-License-Identifier: Apache-2.0
//! Circuits on rings at 128 bits.

use criterion::{Criterion, criterion_group, criterion_main};
use hush_circuits::approximate::Sign;
use hush_circuits::linear::{Diagonals, LinearTransform};
use hush_circuits::polynomial::{IntegerPolynomial, RealPolynomial};
use hush_circuits::sums::{sum_all, sum_all_elements};
use hush_keys::ChainSecret;
use hush_params::ChainParams;
use hush_ring::{Cpu, Level};
use hush_schemes::bgv::Bgv;
use hush_schemes::ckks::{Ckks, Complex};

const T: u64 = 65537;

fn integers(criterion: &mut Criterion) {
    let cpu = Cpu::detect().expect("a known machine");
    let params = ChainParams::uniform(16384, 46, 1, 6, 2, 2).expect("a secure chain");
    let scheme = Bgv::new(&params, T, cpu).expect("a scheme");
    let secret = ChainSecret::generate(scheme.chain()).expect("entropy");
    let top = scheme.chain().top();
    let fresh = secret.encrypt(scheme.encode(&[3; 16384], top).expect("slots")).expect("encryption");
    let a = scheme.ciphertext(fresh.expand().expect("expansion")).expect("a ciphertext");

    for size in [64, 256] {
        let matrix: Vec<Vec<i64>> = (0..size).map(|i| (0..size).map(|j| 1 + i * j).collect()).collect();
        let diagonals = Diagonals::of_matrix(8192, &matrix).expect("a matrix");
        let transform = LinearTransform::new(&scheme, &diagonals, top).expect("a transform");
        let keys = secret.evaluation_keys(false, &transform.split().galois_elements(16384)).expect("keys");
        criterion.bench_function(&format!("bgv_linear/n=16384/limbs=6/matrix={size}"), |bencher| {
            bencher.iter(|| transform.apply(&scheme, &a, &keys).expect("a product"));
        });
    }
    let keys = secret.evaluation_keys(true, &sum_all_elements(&scheme)).expect("keys");
    criterion.bench_function("bgv_sum_all/n=16384/limbs=6", |bencher| {
        bencher.iter(|| sum_all(&scheme, &a, &keys).expect("a sum"));
    });
    let polynomial = IntegerPolynomial::new(scheme.encoder(), &[1; 32]).expect("a polynomial");
    criterion.bench_function("bgv_polynomial/n=16384/limbs=6/degree=31", |bencher| {
        bencher.iter(|| polynomial.evaluate(&scheme, &a, &keys).expect("a value"));
    });
}

fn reals(criterion: &mut Criterion) {
    let cpu = Cpu::detect().expect("a known machine");
    let sign = Sign::new(6, 12).expect("a composite");
    let depth = sign.depth();
    let params = ChainParams::uniform(32768, 46, 2, depth as usize + 2, 3, 3).expect("a secure chain");
    let scheme = Ckks::new(&params, params.steady_scale_log2(), cpu).expect("a scheme");
    let secret = ChainSecret::generate(scheme.chain()).expect("entropy");
    let keys = secret.evaluation_keys(true, &[]).expect("keys");
    let half = [Complex { re: 0.5, im: 0.0 }; 16384];
    let encrypt = |level| {
        let fresh = secret.encrypt(scheme.encode(&half, level).expect("slots")).expect("encryption");
        scheme.ciphertext(fresh.expand().expect("expansion")).expect("a ciphertext")
    };
    let a = encrypt(scheme.chain().top());
    criterion.bench_function(&format!("ckks_sign/n=32768/depth={depth}"), |bencher| {
        bencher.iter(|| sign.evaluate(&scheme, &a, &keys).expect("a sign"));
    });
    for degree in [15, 63] {
        let polynomial =
            RealPolynomial::interpolation(|x| 1.0 / (1.1 + x), degree, -1.0, 1.0).expect("a polynomial");
        let low = encrypt(Level(7));
        criterion.bench_function(
            &format!("ckks_chebyshev/n=32768/limbs=9/degree={}", polynomial.degree()),
            |bencher| {
                bencher.iter(|| polynomial.evaluate(&scheme, &low, &keys).expect("a value"));
            },
        );
    }
}

criterion_group! {
    name = circuits;
    config = Criterion::default().sample_size(10);
    targets = integers, reals
}
criterion_main!(circuits);
