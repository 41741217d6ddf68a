// SPDX-License-Identifier: Apache-2.0
//! Sizes as people write them.

/// Units, the longer of two names first.
const UNITS: [(&str, u64); 7] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("B", 1),
];

/// Bytes of `64MB` (million), `64MiB` (2^20), `1.5GB`, `4096B`; letters of any case. A number alone is refused: nobody could tell
/// bytes from megabytes.
///
/// # Errors
/// A sentence that says what a size looks like.
pub fn parse(text: &str) -> Result<u64, String> {
    let wanted = || format!("{text:?} is not a size such as 64MB, 64MiB or 1.5GB");
    let lower = text.trim().to_ascii_lowercase();
    let of_unit =
        |(name, unit): &(&str, u64)| Some((lower.strip_suffix(&name.to_ascii_lowercase())?.trim(), *unit));
    let (number, unit) = UNITS.iter().find_map(of_unit).ok_or_else(wanted)?;
    let is_digit = |c: char| c.is_ascii_digit() || c == '.';
    let number: f64 =
        Some(number).filter(|n| n.chars().all(is_digit)).and_then(|n| n.parse().ok()).ok_or_else(wanted)?;
    let bytes = number * unit as f64;
    // Beyond 2^53 a double does not count bytes any more; no machine has so many.
    if (1.0..9e15).contains(&bytes) { Ok(bytes as u64) } else { Err(wanted()) }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, bytes) in [
            ("64MB", 64_000_000),
            ("64mib", 64 << 20),
            ("64 MB", 64_000_000),
            ("1.5GB", 1_500_000_000),
            ("4096B", 4096),
            ("1KiB", 1024),
            ("2kb", 2000),
            ("3GiB", 3 << 30),
        ] {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
        for text in
            ["", "64", "MB", "-1MB", "1e3MB", "64TB", "infMB", "0MB", "0.1B", "99999999999GB", "1.2.3MB"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
