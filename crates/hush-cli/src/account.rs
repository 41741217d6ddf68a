// SPDX-License-Identifier: Apache-2.0
//! The account of a run, for people and as JSON, on standard error.

use hush::{Account, Counted, Moved, Phases, Verified};
use serde_json::{Value, json};

use crate::terminal::{say, visible};

/// The lines before the result: what is encrypted and why.
pub(crate) fn preamble(account: &Account) -> String {
    let kind = if account.dry_run {
        "Dry run: the plan of a real run, on plain values. Nothing is encrypted or leaves this machine."
    } else {
        "Rehearsal: nothing leaves this machine."
    };
    let mut out = format!("{kind} {} rows, {} columns.\n", grouped(account.rows), account.columns);
    let all = account.encrypted.iter().chain(&account.sealed).chain(&account.clear);
    let names = all.map(|(name, _)| visible(name).chars().count());
    let width = names.max().unwrap_or(0).max(10);
    for (name, reason) in &account.encrypted {
        out.push_str(&format!("  encrypted  {:<width$}  {}\n", visible(name), visible(reason)));
    }
    for (name, reason) in &account.sealed {
        out.push_str(&format!("  sealed     {:<width$}  {}\n", visible(name), visible(reason)));
    }
    for (names, reason) in by_reason(&account.clear) {
        out.push_str(&format!("  clear      {names:<width$}  {}\n", visible(reason)));
    }
    if account.unused > 0 {
        let plural = if account.unused == 1 { "" } else { "s" };
        out.push_str(&format!("  unused     {} column{plural}\n", account.unused));
    }
    for warning in &account.warnings {
        out.push_str(&format!("! {}\n", visible(warning)));
    }
    out
}

/// Warns that a result opens columns to everyone with the ciphertexts; prints nothing if it does not.
pub(crate) fn exposure(columns: &[String]) {
    if columns.is_empty() {
        return;
    }
    let names = visible(&columns.join(", "));
    let (is, s, it) = if columns.len() == 1 { ("is", "", "it") } else { ("are", "s", "them") };
    say(&format!(
        "! {names} {is} approximate: this output opens the whole column{s} to whoever holds the table's ciphertexts, as a server does.\n  \
         Keep {it} to yourself, or --release DIGITS makes an output that may be given away (docs/security/release.md)."
    ));
}

/// Says how much of the budget a release used.
pub(crate) fn released(counted: Counted) -> String {
    let Counted { numbers, left } = counted;
    let plural = if numbers == 1 { "" } else { "s" };
    format!(
        "{} number{plural}, right but for one unit of the last digit; {} of the table's budget left",
        grouped(numbers.into()),
        grouped(left.into())
    )
}

/// The lines after the result: what it cost, in `wall` seconds, and what a server would have seen.
pub(crate) fn summary(account: &Account, wall: f64) -> String {
    let mut out = String::new();
    let mut line = |label: &str, text: String| {
        out.push_str(&format!("{label:<9} {text}\n"));
    };
    match account.verified {
        Some(Verified::Exactly) => line("Verified", "equals plaintext, exactly".into()),
        Some(Verified::Within(error)) => {
            line("Verified", format!("equals plaintext; approximate columns within {error:.1e}"));
        }
        None => {}
    }
    match (account.released.filter(|counted| counted.numbers > 0), account.precision) {
        (Some(counted), _) => line("Released", released(counted)),
        (None, Some(error)) => line("Error", precision(error)),
        (None, None) => {}
    }
    if let Some(keeping) = &account.keeping {
        line("Keep", visible(&keeping.describe()));
    }
    line("Time", times(&account.phases, wall));
    if let Some(peak) = account.peak_bytes {
        line("Memory", format!("{:.0} MB peak", peak as f64 / 1e6));
    }
    if !account.dry_run {
        line("Moved", moved(account.moved, account.bytes_per_value));
    }
    for ring in &account.security {
        line(
            "Security",
            format!(
                "{} N={} log q={}, >={} bits (2024 guideline), failure < 2^-128",
                ring.scheme, ring.degree, ring.log_q, ring.bits
            ),
        );
    }
    if !account.copies.is_empty() {
        let names: Vec<&str> = account.copies.iter().map(|(name, _)| name.as_str()).collect();
        let bits: u32 = account.copies.iter().map(|(_, bits)| bits).sum();
        let text = format!(
            "{}: {bits} bits a row under XAES-256-GCM, >=128 bits; the answer is computed where they are opened",
            visible(&names.join(", "))
        );
        line("Copies", wrapped(&text, 10));
    }
    if !account.dry_run {
        line("Keys", "temporary, erased".into());
    }
    let leakage = &account.leakage;
    let seen = leakage.table.iter().chain(&leakage.query).cloned().collect::<Vec<_>>().join("; ");
    let claims = [
        ("A server would see", seen),
        ("It would not see", leakage.hidden.join("; ")),
        ("Not proven", "that a remote server computed honestly".to_owned()),
    ];
    for (label, text) in claims {
        out.push_str(&format!("{label:<19} {}\n", wrapped(&visible(&text), 20)));
    }
    out
}

/// Breaks a text into lines of up to 100 characters, all but the first indented by `indent`.
pub(crate) fn wrapped(text: &str, indent: usize) -> String {
    let mut out = String::new();
    let mut width = indent;
    for word in text.split(' ') {
        let length = word.chars().count();
        if width > indent && width + 1 + length > LINE_WIDTH {
            out.push_str(&format!("\n{:indent$}", ""));
            width = indent;
        } else if width > indent {
            out.push(' ');
            width += 1;
        }
        out.push_str(word);
        width += length;
    }
    out
}

const LINE_WIDTH: usize = 100;

/// The account as one JSON object, after `wall` seconds.
pub(crate) fn to_json(account: &Account, wall: f64) -> Value {
    let columns = |list: &[(String, String)]| -> Vec<Value> {
        list.iter().map(|(name, reason)| json!({ "column": name, "reason": reason })).collect()
    };
    json!({
        "dry_run": account.dry_run,
        "rows": account.rows,
        "columns": account.columns,
        "encrypted": columns(&account.encrypted),
        "sealed": columns(&account.sealed),
        "clear": columns(&account.clear),
        "unused": account.unused,
        "exposed": account.exposed,
        "released": account.released.map(|counted| json!({ "numbers": counted.numbers, "left": counted.left })),
        "warnings": account.warnings,
        "verified": account.verified.map(|verified| match verified {
            Verified::Exactly => json!("exactly"),
            Verified::Within(error) => json!({ "within": error }),
        }),
        "phases_s": account.phases.iter().map(|(name, s)| (name.to_owned(), json!(s))).collect::<serde_json::Map<_, _>>(),
        "total_s": wall,
        "error": account.precision,
        "peak_bytes": account.peak_bytes,
        "bytes_up": account.moved.up,
        "bytes_down": account.moved.down,
        "bytes_per_value": account.bytes_per_value,
        "security": account.security.iter().map(|ring| json!({
            "scheme": ring.scheme, "degree": ring.degree, "log_q": ring.log_q, "bits": ring.bits,
            "failure_log2": -128,
        })).collect::<Vec<_>>(),
        "copies": account.copies.iter().map(|(name, bits)| json!({ "column": name, "bits": bits })).collect::<Vec<_>>(),
        "keep": account.keeping.as_ref().map(|keeping| json!({
            "row_bytes": keeping.row_bytes,
            "instead": keeping.instead.as_ref().map(|(kept, answer)| json!({
                "what": kept.structure.describe(), "row_bytes": kept.row_bytes, "row_us": kept.row_us,
                "way": answer.way.name(), "bytes_down": answer.bytes_down, "seconds": answer.seconds,
            })),
        })),
        "server_sees": { "from_table": account.leakage.table, "from_query": account.leakage.query },
        "server_does_not_see": account.leakage.hidden,
    })
}

/// How exact approximate results are.
pub(crate) fn precision(error: f64) -> String {
    format!("at most {error:.1e} in each approximate sum or value; no digits are shown below that")
}

/// `0.09 s: keys 0.010, encrypt 0.04, other 0.02`: seconds of the whole command, its parts, and what is none of them.
pub(crate) fn times(phases: &Phases, wall: f64) -> String {
    let mut parts: Vec<String> = phases.iter().map(|(name, s)| format!("{name} {}", seconds(s))).collect();
    parts.push(format!("other {}", seconds((wall - phases.total()).max(0.0))));
    format!("{} s: {}", seconds(wall.max(phases.total())), parts.join(", "))
}

/// `up 0.2 MB (11.5 B per value), down 0.1 MB`.
pub(crate) fn moved(moved: Moved, bytes_per_value: Option<f64>) -> String {
    let per_value = bytes_per_value.map_or(String::new(), |bytes| format!(" ({bytes:.1} B per value)"));
    format!("up {}{per_value}, down {}", bytes(moved.up), bytes(moved.down))
}

/// Bytes with the unit that suits them.
pub(crate) fn bytes(count: u64) -> String {
    match count {
        0..1000 => format!("{count} B"),
        1000..100_000 => format!("{:.1} kB", count as f64 / 1e3),
        100_000..10_000_000_000 => format!("{:.1} MB", count as f64 / 1e6),
        _ => format!("{:.1} GB", count as f64 / 1e9),
    }
}

/// `6,000`.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Seconds with as many digits as matter.
pub(crate) fn seconds(value: f64) -> String {
    match value {
        v if v >= 10.0 => format!("{v:.0}"),
        v if v >= 0.1 => format!("{v:.2}"),
        v => format!("{v:.3}"),
    }
}

/// Columns that share a reason stand on one line.
fn by_reason(columns: &[(String, String)]) -> Vec<(String, &str)> {
    let mut lines: Vec<(String, &str)> = Vec::new();
    for (name, reason) in columns {
        match lines.iter_mut().find(|(_, known)| known == reason) {
            Some((names, _)) => {
                names.push_str(", ");
                names.push_str(&visible(name));
            }
            None => lines.push((visible(name), reason)),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_people() {
        assert_eq!([0, 999, 1000, 6_000_000].map(grouped), ["0", "999", "1,000", "6,000,000"]);
        assert_eq!(bytes(47_123), "47.1 kB");
        assert_eq!(bytes(220_000), "0.2 MB");
        assert_eq!(seconds(0.012_34), "0.012");
    }

    #[test]
    fn long_texts_are_wrapped_and_lose_nothing() {
        let text = "several words of a sentence ".repeat(9);
        let shown = wrapped(text.trim_end(), 8);
        assert!(
            shown.lines().count() > 2
                && shown.lines().skip(1).all(|line| line.starts_with("        s") || line.len() <= 100)
        );
        assert_eq!(shown.split_whitespace().collect::<Vec<_>>(), text.split_whitespace().collect::<Vec<_>>());
    }

    #[test]
    fn clear_columns_share_a_line() {
        let columns = [("ward".to_owned(), "your choice".to_owned()), ("year".into(), "your choice".into())];
        assert_eq!(by_reason(&columns), [("ward, year".to_owned(), "your choice")]);
    }
}
