// SPDX-License-Identifier: Apache-2.0
//! `hush eval`.

use std::time::Instant;

use hush::{
    BootstrapAccount, Error, EvalAccount, EvalOptions, EvalScheme, PieceAccount, SchemeKind, SumAccount,
    VectorSource, Verified,
};
use serde_json::{Value, json};

use crate::account::{bytes, grouped, moved, times, wrapped};
use crate::args::{Eval, Scheme};
use crate::output::write_result;
use crate::progress::Bar;
use crate::terminal::{self, say, visible};

/// Evaluates and prints: the result to standard output, the account to standard error.
pub(super) fn eval(args: &Eval, threads: usize) -> Result<(), Error> {
    let vectors = args.vectors.iter().map(|(name, text)| (name.clone(), VectorSource::Text(text.clone())));
    let options = EvalOptions {
        expression: args.expression.clone(),
        vectors: vectors.collect(),
        data: args.data.clone(),
        scheme: match args.scheme {
            Scheme::Auto => None,
            Scheme::Bfv => Some(EvalScheme::Slots(SchemeKind::Bfv)),
            Scheme::Bgv => Some(EvalScheme::Slots(SchemeKind::Bgv)),
            Scheme::Ckks => Some(EvalScheme::Slots(SchemeKind::Ckks)),
            Scheme::Tfhe => Some(EvalScheme::Tfhe),
        },
        precision: args.precision,
        verify: args.verify,
        threads,
    };
    let start = Instant::now();
    let evaluation = hush::eval(&options, &Bar::default())?;
    let account = &evaluation.account;
    let is_text = !args.quiet && !args.json;
    if is_text {
        say(&format!(
            "Rehearsal: nothing leaves this machine. {}, {} vectors of {} values.",
            visible(&account.expression),
            account.encrypted.len(),
            grouped(account.length as u64)
        ));
    }
    write_result(&[evaluation.batch], args.format, false)?;
    if is_text {
        say(&format!("\n{}", summary(account, start.elapsed().as_secs_f64())));
    }
    if args.json {
        say(&terminal::json(&to_json(account)));
    }
    Ok(())
}

fn summary(account: &EvalAccount, wall: f64) -> String {
    let mut lines: Vec<(&str, String)> = Vec::new();
    match account.verified {
        Some(Verified::Exactly) => lines.push(("Verified", "equals plaintext, exactly".into())),
        Some(Verified::Within(error)) => {
            lines.push(("Verified", format!("equals plaintext, within {error:.1e}")))
        }
        None => {}
    }
    lines.push((
        "Result",
        match (account.error, account.is_rounded) {
            (Some(error), _) => format!("approximate, off by {error:.1e} at most"),
            (None, true) => "exact, printed to 15 digits after the point".into(),
            (None, false) => "exact".into(),
        },
    ));
    let circuit = match account.integers {
        Some(integers) => format!(
            "{} bootstrapping{}, {} one after the other, on {} integers of {} bits; wrong with chance < 2^{:.0}",
            grouped(integers.bootstraps),
            if integers.bootstraps == 1 { "" } else { "s" },
            account.depth,
            if integers.is_signed { "signed" } else { "unsigned" },
            integers.bits,
            account.failure_log2.ceil()
        ),
        None => format!(
            "{} product{}, {} one after the other; noise margin {:.1} bits; wrong with chance < 2^{:.0}",
            account.products,
            if account.products == 1 { "" } else { "s" },
            account.depth,
            account.margin_bits,
            account.failure_log2.ceil()
        ),
    };
    lines.push(("Circuit", circuit));
    if !account.pieces.is_empty() {
        lines.push(("Slots", account.pieces.iter().map(piece).collect::<Vec<_>>().join("; ")));
    }
    if !account.sums.is_empty() {
        lines.push(("Sums", account.sums.iter().map(sum).collect::<Vec<_>>().join("; ")));
    }
    if let Some(bootstraps) = &account.bootstraps {
        lines.push(("Bootstrap", bootstrapped(bootstraps)));
    }
    let special = if account.log_p > 0.0 { format!(" log p={:.0}", account.log_p) } else { String::new() };
    let primes = account.plaintext_primes.len();
    let space = match account.plaintext_primes.first() {
        Some(prime) if primes == 1 => format!(", t = {prime}"),
        Some(prime) => format!(", {primes} plaintext primes from {prime}"),
        None => String::new(),
    };
    let set = account.integers.map(|integers| integers.set);
    let set = set.or(account.bootstraps.as_ref().map(|bootstraps| bootstraps.set));
    let parameters = match set {
        Some(set) => set.to_owned(),
        None => format!("N={} log q={:.0}{special}{space}", account.degree, account.log_q),
    };
    let source = match (&account.bootstraps, set) {
        (Some(_), _) => "Lattice Estimator; one key leads to a sparse secret",
        (None, Some(_)) => "Lattice Estimator",
        (None, None) => "2024 guideline",
    };
    lines.push((
        "Security",
        format!("{} {parameters}, >={} bits ({source})", account.scheme, account.security_bits),
    ));
    let keys = if account.key_bytes == 0 { "none".into() } else { bytes(account.key_bytes) };
    lines.push(("Keys", format!("evaluation keys {keys}; temporary, erased")));
    let plural = if account.ciphertexts == 1 { "" } else { "s" };
    let fresh = account.moved.up - account.key_bytes;
    lines.push((
        "Moved",
        format!(
            "{}; {} ciphertext{plural} {}",
            moved(account.moved, None),
            account.ciphertexts,
            bytes(fresh)
        ),
    ));
    lines.push(("Time", times(&account.phases, wall)));
    if let Some(peak) = account.peak_bytes {
        lines.push(("Memory", format!("{:.0} MB peak", peak as f64 / 1e6)));
    }
    let mut out = String::new();
    for (label, text) in lines {
        out.push_str(&format!("{label:<9} {}\n", wrapped(&text, 10)));
    }
    let leakage = &account.leakage;
    let seen = leakage.table.iter().chain(&leakage.query).cloned().collect::<Vec<_>>().join("; ");
    for (label, text) in [("A server would see", seen), ("It would not see", leakage.hidden.join("; "))] {
        out.push_str(&format!("{label:<19} {}\n", wrapped(&visible(&text), 20)));
    }
    out.push_str("Not proven          that a remote server computed honestly");
    out
}

/// A piece in slots: `sum(x) in BFV, N=8192 log q=94: 1 integer of 12 bits, then in digits`.
fn piece(piece: &PieceAccount) -> String {
    let PieceAccount { scheme, degree, log_q, results, bits, .. } = piece;
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    let (integers, of_bits) = (plural(*results), plural(*bits as usize));
    format!(
        "{} in {scheme}, N={degree} log q={log_q:.0}: {} integer{integers} of {bits} bit{of_bits}, then in digits",
        visible(&piece.expression),
        grouped(*results as u64)
    )
}

/// A sum that stays in digits: `sum(x > 3): 4 bits, 20 bootstrappings, stays encrypted on the server`.
fn sum(sum: &SumAccount) -> String {
    let plural = |count: u64| if count == 1 { "" } else { "s" };
    format!(
        "{}: {} bit{}, {} bootstrapping{}, stays encrypted on the server",
        visible(&sum.expression),
        sum.bits,
        plural(u64::from(sum.bits)),
        grouped(sum.bootstraps),
        plural(sum.bootstraps)
    )
}

/// How often, where and why: `11 times, in turns 9, 18 and 27: ...`.
fn bootstrapped(account: &BootstrapAccount) -> String {
    let count = account.placed.len();
    let times = if count == 1 { "once".to_owned() } else { format!("{} times", grouped(count as u64)) };
    let blocks = match account.blocks {
        1 => String::new(),
        blocks => format!(" in each of {} blocks", grouped(blocks as u64)),
    };
    let pairs = match account.placed.iter().filter(|placed| placed.values == 2).count() {
        0 => String::new(),
        pairs if pairs == count => ", two values as one".to_owned(),
        pairs => format!(", {pairs} of them for two values as one"),
    };
    let mut turns: Vec<usize> =
        account.placed.iter().map(|placed| placed.turn).filter(|&turn| turn > 0).collect();
    turns.dedup();
    let (shown, hidden) = turns.split_at(turns.len().min(SHOWN_TURNS));
    let list = shown.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let turns = match (shown.len(), hidden.len()) {
        (0, _) => String::new(),
        (1, 0) => format!(", in turn {list}"),
        (_, 0) => format!(", in turns {list}"),
        (_, more) => format!(", in turns {list} and {} more", grouped(more as u64)),
    };
    let again = match account.passes {
        2 => ", and what each errs by once more, for the precision",
        _ => "",
    };
    format!(
        "{times}{blocks}{pairs}{turns}{again}: the program takes {} levels one after the other, more than any chain has, and a bootstrapping gives {}",
        account.needed, account.levels
    )
}

/// Turns that are listed.
const SHOWN_TURNS: usize = 8;

fn to_json(account: &EvalAccount) -> Value {
    let phases = account.phases.iter().map(|(name, s)| (name.to_owned(), json!(s)));
    json!({
        "expression": account.expression,
        "encrypted": account.encrypted,
        "length": account.length,
        "scheme": account.scheme,
        "degree": account.degree,
        "log_q": account.log_q,
        "log_p": account.log_p,
        "security_bits": account.security_bits,
        "plaintext_primes": account.plaintext_primes,
        "depth": account.depth,
        "products": account.products,
        "integers": account.integers.map(|integers| json!({
            "bits": integers.bits,
            "signed": integers.is_signed,
            "bootstraps": integers.bootstraps,
            "set": integers.set,
        })),
        "pieces": account.pieces.iter().map(|piece| json!({
            "expression": piece.expression,
            "scheme": piece.scheme,
            "degree": piece.degree,
            "log_q": piece.log_q,
            "security_bits": piece.security_bits,
            "plaintext_primes": piece.plaintext_primes,
            "depth": piece.depth,
            "results": piece.results,
            "bits": piece.bits,
        })).collect::<Vec<_>>(),
        "sums": account.sums.iter().map(|sum| json!({
            "expression": sum.expression,
            "bits": sum.bits,
            "bootstraps": sum.bootstraps,
        })).collect::<Vec<_>>(),
        "bootstraps": account.bootstraps.as_ref().map(|bootstraps| json!({
            "set": bootstraps.set,
            "needed": bootstraps.needed,
            "levels": bootstraps.levels,
            "count": bootstraps.count(),
            "blocks": bootstraps.blocks,
            "passes": bootstraps.passes,
            "placed": bootstraps.placed.iter().map(|placed| json!({
                "values": placed.values,
                "turn": placed.turn,
            })).collect::<Vec<_>>(),
        })),
        "margin_bits": account.margin_bits,
        "failure_log2": account.failure_log2,
        "error": account.error,
        "rounded": account.is_rounded,
        "key_bytes": account.key_bytes,
        "ciphertexts": account.ciphertexts,
        "bytes_up": account.moved.up,
        "bytes_down": account.moved.down,
        "phases_s": phases.collect::<serde_json::Map<_, _>>(),
        "total_s": account.phases.total(),
        "peak_bytes": account.peak_bytes,
        "verified": account.verified.map(|verified| match verified {
            Verified::Exactly => json!("exactly"),
            Verified::Within(error) => json!({ "within": error }),
        }),
        "server_sees": { "from_vectors": account.leakage.table, "from_circuit": account.leakage.query },
        "server_does_not_see": account.leakage.hidden,
    })
}
