// SPDX-License-Identifier: Apache-2.0
//! Shapes of values: which of them look like addresses, numbers of cards or people, and so on.

use std::net::IpAddr;

use hush_plan::schema::units::parse_timestamp;

use super::{Class, checksums};

/// A recognisable kind of value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Pattern {
    /// Payment card number.
    Card,
    /// Italian fiscal code.
    CodiceFiscale,
    /// A pair of degrees.
    Coordinates,
    /// Spanish DNI or NIE.
    Dni,
    /// E-mail address.
    Email,
    /// International bank account number.
    Iban,
    /// IPv4 or IPv6 address.
    Ip,
    /// Hardware address.
    Mac,
    /// English health service number.
    Nhs,
    /// French number of registration.
    Nir,
    /// Swedish personal number.
    Personnummer,
    /// Telephone number.
    Phone,
    /// British or Canadian postcode.
    Postcode,
    /// American social security number.
    Ssn,
    /// German tax identification number.
    SteuerId,
    /// Link.
    Url,
    /// Universally unique identifier.
    Uuid,
}

const ALL: [Pattern; 17] = [
    Pattern::Card,
    Pattern::CodiceFiscale,
    Pattern::Coordinates,
    Pattern::Dni,
    Pattern::Email,
    Pattern::Iban,
    Pattern::Ip,
    Pattern::Mac,
    Pattern::Nhs,
    Pattern::Nir,
    Pattern::Personnummer,
    Pattern::Phone,
    Pattern::Postcode,
    Pattern::Ssn,
    Pattern::SteuerId,
    Pattern::Url,
    Pattern::Uuid,
];

impl Pattern {
    /// Its name for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::Card => "payment card, checksum",
            Self::CodiceFiscale => "Italian codice fiscale, checksum",
            Self::Coordinates => "position",
            Self::Dni => "Spanish DNI or NIE, checksum",
            Self::Email => "e-mail",
            Self::Iban => "IBAN, checksum",
            Self::Ip => "IP address",
            Self::Mac => "hardware address",
            Self::Nhs => "NHS number, checksum",
            Self::Nir => "French NIR, checksum",
            Self::Personnummer => "Swedish personnummer, checksum",
            Self::Phone => "phone number",
            Self::Postcode => "postcode",
            Self::Ssn => "US social security number",
            Self::SteuerId => "German Steuer-ID, checksum",
            Self::Url => "link",
            Self::Uuid => "UUID",
        }
    }

    pub(super) fn class(self) -> Class {
        match self {
            Self::Card => Class::Card,
            Self::CodiceFiscale
            | Self::Dni
            | Self::Nhs
            | Self::Nir
            | Self::Personnummer
            | Self::Ssn
            | Self::SteuerId => Class::NationalId,
            Self::Coordinates => Class::Coordinates,
            Self::Email => Class::Email,
            Self::Iban => Class::Account,
            Self::Ip | Self::Mac | Self::Url => Class::Online,
            Self::Phone => Class::Phone,
            Self::Postcode => Class::Postcode,
            Self::Uuid => Class::RecordId,
        }
    }

    /// Share of a column's values, in percent, from which the column counts as this: low for shapes that do
    /// not arise by chance, high for check digits that one number in ten passes.
    fn threshold(self) -> u64 {
        match self {
            Self::CodiceFiscale
            | Self::Dni
            | Self::Email
            | Self::Iban
            | Self::Ip
            | Self::Mac
            | Self::Uuid => 20,
            Self::Coordinates | Self::Phone | Self::Postcode | Self::Url => 60,
            Self::Card | Self::Nhs | Self::Nir | Self::Personnummer | Self::Ssn | Self::SteuerId => 80,
        }
    }
}

/// How many values of a column match each pattern. Holds no values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatternCounts {
    hits: [u64; ALL.len()],
}

impl PatternCounts {
    /// Values that match `pattern`.
    pub fn hits(&self, pattern: Pattern) -> u64 {
        self.hits.get(pattern as usize).copied().unwrap_or(0)
    }

    /// The pattern that most of `values` values match, with its share in percent, if it passes its threshold.
    /// Telephone numbers come last: nearly all grouped digits look like one.
    pub fn strongest(&self, values: u64) -> Option<(Pattern, u64)> {
        let percent = |pattern: Pattern| u128::from(self.hits(pattern)) * 100 / u128::from(values.max(1));
        let passing = ALL.into_iter().filter(|pattern| percent(*pattern) >= u128::from(pattern.threshold()));
        passing
            .max_by_key(|pattern| (*pattern != Pattern::Phone, percent(*pattern)))
            .map(|pattern| (pattern, percent(pattern) as u64))
    }

    /// Looks at a value that is a whole number without sign or point.
    pub(crate) fn add_digits(&mut self, digits: &[u8]) {
        match digits.len() {
            10 => {
                self.note(Pattern::Nhs, checksums::nhs(digits));
                self.note(Pattern::Personnummer, checksums::personnummer(digits));
            }
            11 => self.note(Pattern::SteuerId, checksums::steuer_id(digits)),
            12 => self.note(Pattern::Personnummer, checksums::personnummer(digits)),
            13..=19 => {
                self.note(Pattern::Card, checksums::card(digits));
                self.note(Pattern::Nir, checksums::nir(digits));
            }
            _ => {}
        }
    }

    /// Looks at any other value.
    pub(crate) fn add_text(&mut self, text: &[u8]) {
        if !(7..=320).contains(&text.len()) {
            return;
        }
        let shape = Shape::of(text);
        self.note(Pattern::Email, shape.at_signs == 1 && email(text));
        if shape.colons > 0 {
            self.note(Pattern::Url, url(text));
            self.note(Pattern::Mac, mac(text));
        }
        if shape.colons > 1 || shape.dots == 3 {
            self.note(Pattern::Ip, ip(text));
        }
        if shape.digits == 0 {
            return;
        }
        self.note(Pattern::Uuid, text.len() == 36 && uuid(text));
        if shape.letters == 0 {
            self.note(Pattern::Phone, shape.others == 0 && phone(text, &shape));
            self.note(Pattern::Ssn, checksums::ssn(text));
            self.note(Pattern::Coordinates, coordinates(text));
            if shape.digits + shape.spaces + shape.dashes == text.len() && text.len() <= 32 {
                let digits: Vec<u8> = text.iter().copied().filter(u8::is_ascii_digit).collect();
                self.add_digits(&digits);
            }
        } else if text.len() <= 42 && shape.digits + shape.letters + shape.spaces + shape.dashes == text.len()
        {
            self.add_codes(text, &shape);
        }
    }

    /// Codes of letters and digits, maybe grouped by blanks or dashes.
    fn add_codes(&mut self, text: &[u8], shape: &Shape) {
        let code: Vec<u8> = text.iter().copied().filter(u8::is_ascii_alphanumeric).collect();
        match code.len() {
            9 => self.note(Pattern::Dni, checksums::dni(&code)),
            15 if shape.letters == 1 => self.note(Pattern::Nir, checksums::nir(&code)),
            16 => self.note(Pattern::CodiceFiscale, checksums::codice_fiscale(&code)),
            _ => {}
        }
        self.note(Pattern::Iban, code.len() >= 15 && checksums::iban(&code));
        self.note(Pattern::Postcode, shape.dashes == 0 && shape.spaces == 1 && postcode(&code));
    }

    fn note(&mut self, pattern: Pattern, hit: bool) {
        if let Some(count) = self.hits.get_mut(pattern as usize) {
            *count += u64::from(hit);
        }
    }
}

/// How many bytes of each kind a value has.
#[derive(Default)]
struct Shape {
    digits: usize,
    letters: usize,
    spaces: usize,
    dashes: usize,
    dots: usize,
    colons: usize,
    at_signs: usize,
    others: usize,
}

impl Shape {
    fn of(text: &[u8]) -> Self {
        let mut shape = Self::default();
        for byte in text {
            let count = match byte {
                b'0'..=b'9' => &mut shape.digits,
                b'a'..=b'z' | b'A'..=b'Z' => &mut shape.letters,
                b' ' => &mut shape.spaces,
                b'-' => &mut shape.dashes,
                b'.' => &mut shape.dots,
                b':' => &mut shape.colons,
                b'@' => &mut shape.at_signs,
                b'+' | b'(' | b')' | b'/' => continue,
                _ => &mut shape.others,
            };
            *count += 1;
        }
        shape
    }
}

fn email(text: &[u8]) -> bool {
    let Some(at) = text.iter().position(|byte| *byte == b'@') else { return false };
    let (local, domain) = (text.get(..at).unwrap_or_default(), text.get(at + 1..).unwrap_or_default());
    let word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.') || *byte >= 0x80;
    let local_ok =
        !local.is_empty() && local.iter().all(|byte| word(byte) || b"!#$%&'*+/=?^_`{|}~".contains(byte));
    let mut labels = domain.split(|byte| *byte == b'.');
    let top = labels.next_back().unwrap_or_default();
    let top_ok = top.len() >= 2 && top.iter().all(|byte| byte.is_ascii_alphabetic() || *byte >= 0x80);
    local_ok
        && top_ok
        && domain.iter().all(word)
        && domain.len() > top.len() + 1
        && labels.all(|label| !label.is_empty())
}

fn url(text: &[u8]) -> bool {
    let starts =
        |prefix: &[u8]| text.get(..prefix.len()).is_some_and(|head| head.eq_ignore_ascii_case(prefix));
    !text.contains(&b' ') && (starts(b"http://") || starts(b"https://") || starts(b"ftp://"))
}

fn mac(text: &[u8]) -> bool {
    text.len() == 17
        && text
            .iter()
            .enumerate()
            .all(|(i, byte)| if i % 3 == 2 { *byte == b':' } else { byte.is_ascii_hexdigit() })
}

fn ip(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(|text| text.parse::<IpAddr>().is_ok())
}

fn uuid(text: &[u8]) -> bool {
    text.iter().enumerate().all(|(i, byte)| match i {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    })
}

/// 7 to 15 digits that begin as numbers do when written for people: `+`, `(`, `0`, or in groups.
fn phone(text: &[u8], shape: &Shape) -> bool {
    let grouped = shape.spaces + shape.dashes > 0 || shape.dots > 1;
    let begins = matches!(text.first(), Some(b'+' | b'(' | b'0')) || grouped;
    (7..=15).contains(&shape.digits)
        && begins
        && text.first() != Some(&b'-')
        && !(shape.dots == 1 && shape.spaces + shape.dashes == 0)
        && parse_timestamp(text, None).is_none()
}

/// `latitude, longitude` in degrees with a fraction.
fn coordinates(text: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(text) else { return false };
    let Some((latitude, longitude)) = text.split_once(',') else { return false };
    let degrees = |part: &str, most: f64| {
        let part = part.trim();
        part.contains('.') && part.parse::<f64>().is_ok_and(|value| value.abs() <= most)
    };
    degrees(latitude, 90.0) && degrees(longitude, 180.0)
}

/// `SW1A 1AA` or `K1A 0B1`, without the blank.
fn postcode(code: &[u8]) -> bool {
    let letter = |i: usize| code.get(i).is_some_and(u8::is_ascii_alphabetic);
    let digit = |i: usize| code.get(i).is_some_and(u8::is_ascii_digit);
    let Some(inward) = code.len().checked_sub(3).filter(|outward| (2..=4).contains(outward)) else {
        return false;
    };
    let british =
        letter(0) && digit(inward) && letter(inward + 1) && letter(inward + 2) && (digit(1) || digit(2));
    let canadian = code.len() == 6 && (0..6).all(|i| if i % 2 == 0 { letter(i) } else { digit(i) });
    british || canadian
}
