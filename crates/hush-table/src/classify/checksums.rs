// SPDX-License-Identifier: Apache-2.0
//! Check digits of cards, bank accounts and national numbers. Each takes bare digits (or letters and digits)
//! and answers whether they can be one; random digits pass with a chance of about 1 in 10 or less, which is
//! why a single hit says nothing and the share of hits decides.

/// Luhn's check (ISO/IEC 7812-1): double every second digit from the right, add the digits, divisible by 10.
pub(super) fn luhn(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(i, digit)| {
            let value = u32::from(digit - b'0');
            if i % 2 == 0 { value } else { value * 2 - if value > 4 { 9 } else { 0 } }
        })
        .sum();
    sum.is_multiple_of(10)
}

/// A payment card: length, issuer prefix, Luhn.
pub(super) fn card(digits: &[u8]) -> bool {
    let prefix = |length: usize| number(digits.get(..length).unwrap_or_default());
    let issued = match digits.len() {
        13 | 19 => prefix(1) == 4 || (digits.len() == 19 && prefix(2) == 62),
        14 => matches!(prefix(2), 30 | 36 | 38 | 39),
        15 => matches!(prefix(2), 34 | 37),
        16 => {
            prefix(1) == 4
                || matches!(prefix(2), 35 | 50..=58 | 60 | 62 | 63 | 64 | 65 | 67)
                || (2221..=2720).contains(&prefix(4))
        }
        _ => false,
    };
    issued && luhn(digits)
}

/// An international bank account number: ISO 7064 MOD 97-10 over letters as 10 to 35.
pub(super) fn iban(text: &[u8]) -> bool {
    let (Some(head), Some(body)) = (text.get(..4), text.get(4..)) else { return false };
    let shaped = (11..=30).contains(&body.len())
        && head.iter().take(2).all(u8::is_ascii_alphabetic)
        && head.iter().skip(2).all(u8::is_ascii_digit);
    if !shaped {
        return false;
    }
    let mut rest = 0u32;
    for byte in body.iter().chain(head) {
        rest = match byte {
            b'0'..=b'9' => (rest * 10 + u32::from(byte - b'0')) % 97,
            b'A'..=b'Z' => (rest * 100 + u32::from(byte - b'A') + 10) % 97,
            b'a'..=b'z' => (rest * 100 + u32::from(byte - b'a') + 10) % 97,
            _ => return false,
        };
    }
    rest == 1
}

/// A number of England's health service: weights 10 to 2, check digit 11 minus the rest modulo 11.
pub(super) fn nhs(digits: &[u8]) -> bool {
    let (Some(first), Some(check)) = (digits.get(..9), digits.get(9)) else { return false };
    let sum: u32 =
        first.iter().zip((2..=10).rev()).map(|(digit, weight)| u32::from(digit - b'0') * weight).sum();
    digits.len() == 10 && (11 - sum % 11) % 11 == u32::from(check - b'0')
}

/// Spain's DNI (8 digits) and NIE (X, Y or Z and 7 digits) with their letter: the number modulo 23.
pub(super) fn dni(text: &[u8]) -> bool {
    const LETTERS: &[u8; 23] = b"TRWAGMYFPDXBNJZSQVHLCKE";
    let (Some(first), Some(body), Some(letter)) = (text.first(), text.get(1..8), text.get(8)) else {
        return false;
    };
    let lead = match first.to_ascii_uppercase() {
        digit @ b'0'..=b'9' => u64::from(digit - b'0'),
        letter @ b'X'..=b'Z' => u64::from(letter - b'X'),
        _ => return false,
    };
    let digits_ok = text.len() == 9 && body.iter().all(u8::is_ascii_digit);
    digits_ok
        && LETTERS.get(((lead * 10_000_000 + number(body)) % 23) as usize)
            == Some(&letter.to_ascii_uppercase())
}

/// France's number of registration: 13 characters (Corsica's departments 2A and 2B count as 19 and 18) and the
/// key 97 minus the number modulo 97.
pub(super) fn nir(text: &[u8]) -> bool {
    if text.len() != 15 || !matches!(text.first(), Some(b'1'..=b'4' | b'7' | b'8')) {
        return false;
    }
    let mut digits = text.to_vec();
    match text.get(5..7).map(<[u8]>::to_ascii_uppercase).as_deref() {
        Some(b"2A") => digits.splice(5..7, *b"19").for_each(drop),
        Some(b"2B") => digits.splice(5..7, *b"18").for_each(drop),
        _ => {}
    }
    if !digits.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let month = number(digits.get(3..5).unwrap_or_default());
    let plausible = (1..=12).contains(&month) || (20..=42).contains(&month) || month >= 50;
    let key = number(digits.get(13..).unwrap_or_default());
    plausible && key == 97 - number(digits.get(..13).unwrap_or_default()) % 97
}

/// Sweden's personal number: a date (days above 60 for coordination numbers), a serial, Luhn over the last 10.
pub(super) fn personnummer(digits: &[u8]) -> bool {
    let last = match digits.len() {
        10 => digits,
        12 if matches!(number(digits.get(..2).unwrap_or_default()), 18..=20) => {
            digits.get(2..).unwrap_or_default()
        }
        _ => return false,
    };
    let (month, day) =
        (number(last.get(2..4).unwrap_or_default()), number(last.get(4..6).unwrap_or_default()));
    (1..=12).contains(&month) && ((1..=31).contains(&day) || (61..=91).contains(&day)) && luhn(last)
}

/// Germany's tax identification number: 11 digits, not beginning with 0; among the first ten exactly one digit
/// occurs twice or three times; ISO 7064 MOD 11,10.
pub(super) fn steuer_id(digits: &[u8]) -> bool {
    if digits.len() != 11 || digits.first() == Some(&b'0') {
        return false;
    }
    let mut counts = [0u8; 10];
    let mut product = 10u32;
    for digit in digits.iter().take(10).map(|byte| byte - b'0') {
        if let Some(count) = counts.get_mut(usize::from(digit)) {
            *count += 1;
        }
        let sum = (u32::from(digit) + product) % 10;
        product = (if sum == 0 { 10 } else { sum }) * 2 % 11;
    }
    let repeated =
        counts.iter().filter(|count| **count > 1).count() == 1 && counts.iter().all(|count| *count <= 3);
    let check = (11 - product) % 10;
    repeated && digits.last().is_some_and(|last| u32::from(last - b'0') == check)
}

/// Italy's fiscal code: six letters, year, month letter, day, place and a check letter over values that differ
/// for odd and even positions. Digits may be replaced by letters where two people would share a code.
pub(super) fn codice_fiscale(text: &[u8]) -> bool {
    /// Values at odd positions of the characters 0 to 9 and A to Z.
    const ODD: [u32; 26] =
        [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23];
    const DIGIT_PLACES: [usize; 7] = [6, 7, 9, 10, 12, 13, 14];
    if text.len() != 16 {
        return false;
    }
    let mut sum = 0;
    for (i, byte) in text.iter().map(u8::to_ascii_uppercase).enumerate() {
        let place_for_digit = DIGIT_PLACES.contains(&i);
        let value = match byte {
            b'0'..=b'9' if place_for_digit => byte - b'0',
            b'L'..=b'N' | b'P'..=b'V' if place_for_digit => byte - b'A',
            b'A'..=b'Z' if !place_for_digit => byte - b'A',
            _ => return false,
        };
        if i == 15 {
            return sum % 26 == u32::from(value);
        }
        sum += if i % 2 == 0 { ODD.get(usize::from(value)).copied().unwrap_or(0) } else { u32::from(value) };
    }
    false
}

/// An American social security number in its dashed form.
pub(super) fn ssn(text: &[u8]) -> bool {
    let shaped = text.len() == 11
        && text
            .iter()
            .enumerate()
            .all(|(i, byte)| if i == 3 || i == 6 { *byte == b'-' } else { byte.is_ascii_digit() });
    let part = |from: usize, to: usize| number(text.get(from..to).unwrap_or_default());
    shaped && !matches!(part(0, 3), 0 | 666 | 900..) && part(4, 6) != 0 && part(7, 11) != 0
}

fn number(digits: &[u8]) -> u64 {
    digits
        .iter()
        .fold(0u64, |value, digit| value.wrapping_mul(10).wrapping_add(u64::from(digit.wrapping_sub(b'0'))))
}
