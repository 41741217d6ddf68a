// SPDX-License-Identifier: Apache-2.0
//! The command, as a person runs it.

#![expect(clippy::unwrap_used, reason = "helpers of tests, not only tests")]

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

/// Dimension 12, `2^54 − 33`: no security, two products.
const TOY: [&str; 6] = ["--n", "12", "--q", "18014398509481951", "--seed", "test"];

fn lab(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_hush-lab"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn eval(arguments: &[&str]) -> (i32, String, String) {
    let output = lab(&[&["eval"], arguments].concat(), "");
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn an_expression_is_shown_evaluated_and_verified() {
    let (status, out, _) = eval(&[&TOY[..], &["1+(1*0+1)*1"]].concat());
    assert_eq!(status, 0, "{out}");
    for expected in [
        "INSECURE",
        "5 encrypted bits, 2 AND, 2 XOR, depth 2",
        "modulus q            18014398509481951 (54 bits)",
        "broken",
        "g3 = g1 * g2",
        "Sent back   noise 2^",
        "Result      0\nVerified    equals the evaluation in the clear\n",
    ] {
        assert!(out.contains(expected), "{expected}: {out}");
    }
    let again = eval(&[&TOY[..], &["1+(1*0+1)*1"]].concat()).1;
    let noise = |out: &str| {
        out.lines().filter(|line| line.starts_with("Sent")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(noise(&out), noise(&again), "a seed repeats a run");
}

#[test]
fn names_words_the_leveled_variant_and_the_partial_schemes_work() {
    let leveled = ["--scheme", "bv11-leveled", "--n", "14,13,12", "--q", "281474976710597,4294967291,131071"];
    for (arguments, result) in [
        ([&TOY[..], &["x*y+x", "--let", "x=1", "--let", "y = 0"]].concat(), "1"),
        ([&TOY[..], &["--width", "3", "3+6"]].concat(), "1"),
        ([&leveled[..], &["(1+0)*1*1"]].concat(), "1"),
        (
            vec!["--scheme", "rsa", "--modulus-bits", "128", "7*6*x", "--let", "x=2"],
            "84 (modulo the 128-bit modulus)",
        ),
        (vec!["--scheme", "paillier", "--modulus-bits", "128", "7+6"], "13 (modulo the 128-bit modulus)"),
    ] {
        let (status, out, error) = eval(&arguments);
        assert_eq!((status, out.contains(&format!("Result      {result}\n"))), (0, true), "{out} {error}");
        assert!(out.starts_with("INSECURE"));
    }
}

#[test]
fn what_is_wrong_is_said_and_has_a_status() {
    for (arguments, expected) in [
        (vec!["--n", "12", "--q", "65536", "1*1"], "q = 65536: it must be odd"),
        (vec!["--n", "12", "--q", "8191", "1*1"], "noise overflow at level 1"),
        (vec!["--security", "43", "1*1"], "no parameter set of bv11 for security 43"),
        (vec!["1*1*1*1*1"], "depth 3"),
        (vec!["1+"], "position 3"),
        (vec!["2"], "--width"),
        (vec!["y"], "--let"),
        (vec!["--scheme", "rsa", "1+1"], "they only multiply"),
        (vec!["--scheme", "paillier", "2*2"], "they only add"),
    ] {
        let (status, _, error) = eval(&arguments);
        assert!(
            status == 2 && error.starts_with("error: ") && error.contains(expected),
            "{arguments:?}: {error}"
        );
    }
    // A sum over the limit is shown as what it is: noise that drowns the bit, found by comparison.
    let overflow = ["--n", "12", "--q", "257", "--show-overflow", "--width", "8", "--seed", "test", "255+0"];
    let (status, out, _) = eval(&[&overflow[..], &["--depth", "8"]].concat());
    assert_eq!(status, 1, "{out}");
    assert!(out.contains("WRONG") && out.contains("not promised"), "{out}");
}

#[test]
fn the_prompt_keeps_keys_and_survives_mistakes() {
    let output = lab(&[&["repl"], &TOY[..]].concat(), "1*1\nx = 1\nx*1+\nx+x\nwidth 2\n1+2\nquit\n0*0\n");
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    let results: Vec<&str> = out.lines().filter(|line| line.starts_with("Result")).collect();
    assert_eq!(results, ["Result      1", "Result      0", "Result      3"]);
    assert_eq!(out.lines().filter(|line| line.starts_with("Keys")).count(), 1);
    assert!(String::from_utf8(output.stderr).unwrap().contains("position"));
}

#[test]
fn help_and_sets_say_insecure() {
    for arguments in [&["--help"][..], &["eval", "--help"], &["repl", "--help"], &["params"]] {
        let output = lab(arguments, "");
        assert!(output.status.success());
        assert!(String::from_utf8(output.stdout).unwrap().contains("INSECURE"), "{arguments:?}");
    }
    let sets = String::from_utf8(lab(&["params"], "").stdout).unwrap();
    assert!(sets.contains("995:28") && sets.contains("broken"), "{sets}");
}

/// Sizes of our own for tests of the approximate-GCD scheme.
const MINI: [&str; 6] = ["--scheme", "cnt12", "--security", "16", "--seed", "test"];

#[test]
fn the_approximate_gcd_scheme_bootstraps_after_every_product() {
    let (status, out, error) = eval(&[&MINI[..], &["1+(1*0+1)*1"]].concat());
    assert_eq!(status, 0, "{out} {error}");
    for expected in [
        "Scheme      cnt12 (insecure)",
        "depth                no limit",
        "g3 = g1 * g2",
        "Result      0\nVerified    equals the evaluation in the clear\n",
    ] {
        assert!(out.contains(expected), "{expected}: {out}");
    }
    assert_eq!(out.matches("before Recrypt").count(), 2, "{out}");
    // Deeper than any leveled set: the noise of the last product is that of the first.
    let (status, out, _) = eval(&[&MINI[..], &["--width", "3", "3*3*3"]].concat());
    assert!(status == 0 && out.contains("Result      3\nVerified"), "{out}");
}

#[test]
fn own_parameters_of_the_approximate_gcd_scheme_are_checked() {
    for (sizes, expected) in [
        ("eta=300,alpha=200", "a product of refreshed ciphertexts may have"),
        ("alpha=630", "a fresh ciphertext may have"),
        ("Theta=31", "Theta = 31 must be a multiple of theta = 15"),
        ("gamma=20031", "gamma mod 64 is 63"),
        ("omega=1", "it must be rho, eta, gamma, tau, alpha, Theta, theta or n"),
    ] {
        let (status, _, error) = eval(&[&MINI[..], &["--cnt12", sizes, "1*1"]].concat());
        assert!(status == 2 && error.contains(expected), "{sizes}: {error}");
    }
    let (status, out, _) = eval(&[&MINI[..], &["--cnt12", "eta=700,tau=10", "1*1"]].concat());
    assert!(status == 0 && out.contains("700 bits"), "{out}");
}
