// SPDX-License-Identifier: Apache-2.0
//! Arguments.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use hush_lab::LabError;
use hush_lab::bench::{Case, Contender, Question};

/// INSECURE, for teaching: the historical homomorphic schemes, on expressions of encrypted bits.
///
/// Brakerski and Vaikuntanathan 2011 (LWE), Coron, Naccache and Tibouchi 2012 (approximate GCD), and RSA and Paillier as neighbours
/// that can only multiply or only add. Secret keys stand beside the ciphertexts, so that noise can be watched. Never use any of this to
/// protect data.
#[derive(Debug, Parser)]
#[command(name = "hush-lab", version, max_term_width = 100, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// INSECURE: evaluate an expression on encrypted bits: + is XOR, * is AND; with --width on integers modulo 2^WIDTH
    Eval {
        /// Such as "1+(1*0+1)*1", or with names: "x*y+1"
        expression: String,
        #[command(flatten)]
        options: Options,
    },
    /// INSECURE: a prompt that evaluates line by line; keys are made once
    Repl {
        #[command(flatten)]
        options: Options,
    },
    /// INSECURE schemes timed: the comparison of 2013 at security parameters 42 to 72, published seconds beside ours, and BGV at 128 bits
    Bench(Bench),
    /// Show the parameter sets, their key sizes and the security that an estimate leaves them
    Params,
}

/// What every evaluation needs.
#[derive(Clone, Debug, Args)]
pub(crate) struct Options {
    /// The scheme
    #[arg(long, value_enum, default_value_t = Scheme::Bv11)]
    pub(crate) scheme: Scheme,
    /// Security parameter of a named set: 42, 52, 62, 72, also 128 for bv11, 16 for cnt12 (bv11-leveled: any from 30 to 256)
    #[arg(long, value_name = "BITS", default_value_t = 42)]
    pub(crate) security: u32,
    /// Products one after the other that parameters must allow (default: what the circuit needs)
    #[arg(long, value_name = "N")]
    pub(crate) depth: Option<u32>,
    /// Bits of an integer: 1 for bits, up to 32 for words added and multiplied by gates
    #[arg(long, value_name = "BITS", default_value_t = 1)]
    pub(crate) width: u32,
    /// The value of a name
    #[arg(long = "let", value_name = "NAME=VALUE", value_parser = assignment)]
    pub(crate) values: Vec<(String, u64)>,
    /// Repeatable randomness, but for bgv (default: from the operating system, as bgv always)
    #[arg(long, value_name = "TEXT")]
    pub(crate) seed: Option<String>,
    /// Own parameters of bv11: the dimension, for bv11-leveled one for every level
    #[arg(long, value_name = "N", value_delimiter = ',', requires = "q")]
    pub(crate) n: Vec<u32>,
    /// Own parameters of bv11: the odd modulus, for bv11-leveled one for every level
    #[arg(long, value_name = "Q", value_delimiter = ',', requires = "n")]
    pub(crate) q: Vec<u64>,
    /// Own parameters of bv11: samples of the public key
    #[arg(long, value_name = "M", requires = "n")]
    pub(crate) m: Option<u32>,
    /// Own parameters of cnt12, the others as in the named set: rho, eta, gamma, tau, alpha, Theta, theta, n
    #[arg(long = "cnt12", value_name = "NAME=VALUE", value_delimiter = ',', value_parser = assignment)]
    pub(crate) cnt12: Vec<(String, u64)>,
    /// Accept own parameters whose noise overflows, to see what happens
    #[arg(long)]
    pub(crate) show_overflow: bool,
    /// Bits of the modulus of rsa and paillier (default: 512)
    #[arg(long, value_name = "BITS")]
    pub(crate) modulus_bits: Option<u32>,
}

impl Options {
    /// Refuses options that the scheme would ignore.
    ///
    /// # Errors
    /// [`LabError::Option`].
    pub(crate) fn check(&self) -> Result<(), LabError> {
        let lwe = [Scheme::Bv11, Scheme::Bv11Leveled].as_slice();
        let lwe_names = "bv11 and bv11-leveled";
        let leveled = [Scheme::Bgv, Scheme::Bv11, Scheme::Bv11Leveled].as_slice();
        let bits = [Scheme::Bgv, Scheme::Bv11, Scheme::Bv11Leveled, Scheme::Cnt12].as_slice();
        let numbers = [Scheme::Paillier, Scheme::Rsa].as_slice();
        let given = [
            (!self.n.is_empty(), "--n", lwe, lwe_names),
            (!self.q.is_empty(), "--q", lwe, lwe_names),
            (self.m.is_some(), "--m", lwe, lwe_names),
            (self.show_overflow, "--show-overflow", lwe, lwe_names),
            (self.depth.is_some(), "--depth", leveled, "bv11, bv11-leveled and bgv"),
            (!self.cnt12.is_empty(), "--cnt12", [Scheme::Cnt12].as_slice(), "cnt12"),
            (self.width != 1, "--width", bits, "bv11, bv11-leveled, cnt12 and bgv"),
            (self.modulus_bits.is_some(), "--modulus-bits", numbers, "rsa and paillier"),
        ];
        let foreign =
            given.into_iter().find(|(is_given, _, schemes, _)| *is_given && !schemes.contains(&self.scheme));
        match foreign {
            Some((_, option, _, expected)) => {
                Err(LabError::Option { option, scheme: self.scheme.name(), expected })
            }
            None => Ok(()),
        }
    }
}

/// What is measured.
#[derive(Clone, Debug, Args)]
pub(crate) struct Bench {
    /// Repetitions behind each median; what takes over 20 seconds together is repeated less
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) repeat: u32,
    /// Leave out larger security parameters: 62 takes minutes, 72 most of an hour
    #[arg(long, value_name = "N", default_value_t = 72)]
    pub(crate) up_to: u32,
    /// Only this question, may be repeated: add, multiply, owner-multiply, eleven (depth 1), seven (depth 2)
    #[arg(long, value_name = "QUESTION", value_parser = question)]
    pub(crate) only: Vec<Question>,
    /// Only this scheme, may be repeated: agcd, lwe, lwe-leveled, bgv
    #[arg(long, value_name = "SCHEME", value_parser = contender)]
    pub(crate) scheme: Vec<Contender>,
    /// Print JSON instead of tables
    #[arg(long)]
    pub(crate) json: bool,
    /// Write a plot of seconds against the security parameter, as SVG
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,
    /// Seed of keys, bits and noise
    #[arg(long, value_name = "TEXT", default_value = "2013")]
    pub(crate) seed: String,
    /// Measure this case alone, in this process, and print its rows as lines of JSON
    #[arg(long, hide = true, value_parser = case)]
    pub(crate) case: Option<Case>,
}

fn question(name: &str) -> Result<Question, &'static str> {
    Question::by_name(name).ok_or("expected add, multiply, owner-multiply, eleven or seven")
}

fn contender(name: &str) -> Result<Contender, &'static str> {
    Contender::by_name(name).ok_or("expected agcd, lwe, lwe-leveled or bgv")
}

fn case(text: &str) -> Result<Case, &'static str> {
    Case::parse(text).ok_or("expected SCHEME:SECURITY:DEPTH")
}

/// The schemes, all of them insecure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scheme {
    /// Hushtable's own scheme, on rings, at 128 bits whatever --security says
    Bgv,
    /// LWE, relinearisation, one reduction at the end
    Bv11,
    /// LWE, a reduction after every product
    Bv11Leveled,
    /// Approximate GCD, bootstrapping after every product
    Cnt12,
    /// Sums only
    Paillier,
    /// Products only
    Rsa,
}

impl Scheme {
    /// As on the command line.
    fn name(self) -> &'static str {
        match self {
            Self::Bgv => "bgv",
            Self::Bv11 => "bv11",
            Self::Bv11Leveled => "bv11-leveled",
            Self::Cnt12 => "cnt12",
            Self::Paillier => "paillier",
            Self::Rsa => "rsa",
        }
    }
}

/// `name = value`, blanks allowed.
pub(crate) fn assignment(text: &str) -> Result<(String, u64), &'static str> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    let name = name.trim();
    let is_name = name.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    let value =
        value.trim().parse().map_err(|_| "expected a whole number below 2^64 behind the equals sign")?;
    if is_name { Ok((name.to_owned(), value)) } else { Err("expected a name before the equals sign") }
}
