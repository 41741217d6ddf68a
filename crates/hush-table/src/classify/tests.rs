// SPDX-License-Identifier: Apache-2.0
//! Names in five languages, published example numbers and their neighbours, and the judgement over both.

use super::*;

fn statistics<'a>(name: &'a str, kind: ColumnType, patterns: &'a PatternCounts) -> ColumnStatistics<'a> {
    ColumnStatistics {
        name,
        kind,
        values: 1000,
        distinct: 100,
        rare_rows: 0,
        unique: false,
        consecutive: false,
        prose: false,
        fraction_digits: 0,
        patterns,
    }
}

const INT: ColumnType = ColumnType::Int { bits: 32 };
const MONEY: ColumnType = ColumnType::Decimal { precision: 12, scale: 2 };

#[test]
fn names_in_five_languages() {
    for (class, names) in [
        (
            Class::RecordId,
            "patient_id PatientID MRN id customerNumber person_id Fallnummer matricule order_id",
        ),
        (
            Class::NationalId,
            "SSN nhs_number passportNumber Sozialversicherungsnummer numero_securite_sociale DNI codice_fiscale",
        ),
        (Class::PersonName, "name first_name lastName Nachname prénom apellidos cognome full.name"),
        (Class::Email, "email e-mail E_Mail_Address courriel correo"),
        (Class::Phone, "phone mobile_number Telefonnummer téléphone_portable_telephone telefono"),
        (
            Class::BirthDate,
            "dob birth_date DateOfBirth year_of_birth Geburtsdatum date_de_naissance fecha_nacimiento data_di_nascita",
        ),
        (Class::Postcode, "zip zip_code PLZ code_postal"),
        (Class::Coordinates, "lat longitude gps_lat"),
        (Class::Age, "age age_years Alter edad patient_age ageAtDiagnosis"),
        (Class::Trait, "sex gender Geschlecht sexe race_concept_id marital_status nationalité religion"),
        (
            Class::Clinical,
            "bp systolic_bp heartRate SpO2 hba1c Blutdruck poids glucosa pressione_arteriosa bodyTemperature value_as_number",
        ),
        (Class::Health, "diagnosis icd10_code medication hiv_status condition_concept_id Diagnose"),
        (Class::Money, "charges total_charges Gehalt salaire precio_unitario_precio importo unitPrice"),
        (Class::Card, "credit_card cardNumber Kreditkarte"),
        (Class::Account, "IBAN account_number Kontonummer"),
        (Class::EventDate, "admission_date Aufnahmedatum created_at"),
        (Class::FreeText, "notes clinical_notes Bemerkungen commentaires"),
        (Class::Public, "ward Department year quarter ward_id Abteilung product_category reparto"),
        (Class::Credential, "password api_key Passwort mot_de_passe"),
        (Class::Online, "ip_address mac_address UserName device_id url"),
    ] {
        for name in names.split(' ') {
            assert_eq!(class_of_name(name), Some(class), "{name}");
        }
    }
    // Words inside words, and words that merely end or begin alike, say nothing.
    for name in ["wage_x_y", "stage_height"] {
        assert_ne!(class_of_name(name), Some(Class::Age), "{name}");
    }
    for name in ["x", "foo", "v1", "manage", "forwarded", "score", "blob", ""] {
        assert_eq!(class_of_name(name), None, "{name}");
    }
    assert_eq!(names::words_of("HTTPServerID2x_Größe"), ["http", "server", "id", "2", "x", "groesse"]);
}

/// Published examples and standards' test numbers; each with one digit or letter changed must fail.
#[test]
fn checksums_accept_examples_and_refuse_their_neighbours() {
    type Check = fn(&[u8]) -> bool;
    let cases: [(&str, Check, &[&str]); 8] = [
        (
            "card",
            checksums::card,
            &[
                "4111111111111111",
                "5555555555554444",
                "378282246310005",
                "6011111111111117",
                "30569309025904",
            ],
        ),
        (
            "iban",
            checksums::iban,
            &[
                "GB82WEST12345698765432",
                "DE89370400440532013000",
                "FR1420041010050500013M02606",
                "NO9386011117947",
            ],
        ),
        ("nhs", checksums::nhs, &["9434765919", "4505577104"]),
        ("dni", checksums::dni, &["12345678Z", "X1234567L", "00000000T"]),
        ("nir", checksums::nir, &["255081416802538", "180126955222380"]),
        ("personnummer", checksums::personnummer, &["8112189876", "198112189876", "6408233234"]),
        ("steuer_id", checksums::steuer_id, &["86095742719", "47036892816", "65929970489"]),
        ("codice_fiscale", checksums::codice_fiscale, &["RSSMRA85T10A562S", "MRTMTT91D08F205J"]),
    ];
    for (name, check, examples) in cases {
        for example in examples {
            assert!(check(example.as_bytes()), "{name} {example}");
            let last = example.len() - 1;
            let mut changed = example.as_bytes().to_vec();
            changed[last] = match changed[last] {
                b'9' => b'0',
                b'Z' => b'A',
                byte => byte + 1,
            };
            assert!(!check(&changed), "{name} {example} with another last character");
            assert!(!check(&example.as_bytes()[..last]), "{name} {example} cut");
        }
    }
}

/// Share of random 10 to 16-digit numbers that pass: none so high that a threshold of 80 % could be met by chance.
#[test]
fn chance_stays_far_below_the_thresholds() {
    let mut state = 0x0123_4567_89ab_cdefu64;
    for length in 10..=16 {
        let mut counts = PatternCounts::default();
        for _ in 0..5000 {
            let digits: Vec<u8> = (0..length)
                .map(|_| {
                    state =
                        state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    b'0' + ((state >> 33) % 10) as u8
                })
                .collect();
            counts.add_digits(&digits);
        }
        assert_eq!(counts.strongest(5000), None, "{length} digits: {counts:?}");
        for pattern in [Pattern::Card, Pattern::Nhs, Pattern::Nir, Pattern::Personnummer, Pattern::SteuerId] {
            assert!(counts.hits(pattern) < 1000, "{counts:?}");
        }
    }
}

#[test]
fn shapes_of_values() {
    let strongest = |texts: &[&str]| {
        let mut counts = PatternCounts::default();
        texts.iter().for_each(|text| counts.add_text(text.as_bytes()));
        counts.strongest(texts.len() as u64).map(|(pattern, _)| pattern)
    };
    for (pattern, texts) in [
        (Pattern::Email, ["a.b@nhs.uk", "jane+x@mail.example.org"]),
        (Pattern::Phone, ["+49 30 901820", "(555) 010-9999"]),
        (Pattern::Ip, ["192.168.0.1", "2001:db8::ff00:42:8329"]),
        (Pattern::Uuid, ["123e4567-e89b-12d3-a456-426614174000", "00000000-0000-4000-8000-00000000000a"]),
        (Pattern::Ssn, ["078-05-1120", "219-09-9999"]),
        (Pattern::Iban, ["GB82 WEST 1234 5698 7654 32", "DE89 3704 0044 0532 0130 00"]),
        (Pattern::Card, ["4111 1111 1111 1111", "5555-5555-5555-4444"]),
        (Pattern::Nhs, ["943 476 5919", "450 557 7104"]),
        (Pattern::Personnummer, ["811218-9876", "640823-3234"]),
        (Pattern::Mac, ["00:1b:44:11:3a:b7", "ff:ff:ff:ff:ff:ff"]),
        (Pattern::Url, ["https://example.org/a", "http://x.example"]),
        (Pattern::Coordinates, ["52.5200, 13.4050", "-33.8688,151.2093"]),
        (Pattern::Postcode, ["SW1A 1AA", "K1A 0B1"]),
        (Pattern::CodiceFiscale, ["RSSMRA85T10A562S", "MRTMTT91D08F205J"]),
        (Pattern::Dni, ["12345678Z", "X1234567L"]),
    ] {
        assert_eq!(strongest(&texts), Some(pattern), "{texts:?}");
    }
    for texts in [
        ["2024-03-04", "2024-03-05"],
        ["03.04.2024", "04.05.2024"],
        ["user@localhost", "a@@b.org"],
        ["123-45", "1.234567"],
        ["not an address", "nor this one"],
        ["999.1.1.1.1", "10:20"],
    ] {
        assert_eq!(strongest(&texts), None, "{texts:?}");
    }
}

#[test]
fn verdicts() {
    let none = PatternCounts::default();
    let judge = |statistics: ColumnStatistics<'_>| {
        let verdict = classify(&statistics);
        (verdict.protect, verdict.reason)
    };
    let base = |name, kind| statistics(name, kind, &none);
    for (found, protect, reason) in [
        (
            ColumnStatistics { unique: true, ..base("patient_id", ColumnType::Text) },
            Protection::Seal,
            "unique in every row",
        ),
        (base("patient_id", INT), Protection::Seal, "identifier (name)"),
        (base("age", INT), Protection::Encrypt, "quasi-identifier (whole years)"),
        (
            ColumnStatistics { fraction_digits: 2, ..base("charges", MONEY) },
            Protection::Encrypt,
            "money (name, two decimals)",
        ),
        (
            ColumnStatistics { fraction_digits: 2, ..base("x", MONEY) },
            Protection::Encrypt,
            "two decimals, as money has",
        ),
        (base("bp", INT), Protection::Decide, "clinical measurement (name)"),
        (base("bp", ColumnType::Text), Protection::Seal, "health data (name)"),
        (base("ward", ColumnType::Category), Protection::Clear, "few values; nobody singled out"),
        (
            ColumnStatistics { rare_rows: 3, ..base("ward", ColumnType::Category) },
            Protection::Decide,
            "few values, but 3 rows share theirs with fewer than 5",
        ),
        (
            ColumnStatistics { distinct: 1001, ..base("ward", ColumnType::Text) },
            Protection::Seal,
            "unknown text",
        ),
        (base("foo", INT), Protection::Encrypt, "unknown means encrypt"),
        (base("foo", ColumnType::Text), Protection::Seal, "unknown text"),
        (base("foo", ColumnType::Category), Protection::Seal, "category; unknown means not clear"),
        (
            ColumnStatistics { unique: true, ..base("foo", ColumnType::Text) },
            Protection::Seal,
            "unique in every row",
        ),
        (
            ColumnStatistics { unique: true, prose: true, ..base("foo", ColumnType::Text) },
            Protection::Seal,
            "free text",
        ),
        (
            ColumnStatistics { unique: true, consecutive: true, ..base("foo", INT) },
            Protection::Seal,
            "row number (unique in every row)",
        ),
        (ColumnStatistics { values: 0, ..base("foo", ColumnType::Text) }, Protection::Drop, NO_VALUES),
        (base("password", ColumnType::Text), Protection::Drop, "credential (name)"),
        (base("dob", ColumnType::Date), Protection::Encrypt, "birth date (name)"),
    ] {
        assert_eq!(judge(found), (protect, reason.to_owned()));
    }
    // Values speak louder than a harmless name.
    let mut mails = PatternCounts::default();
    (0..980).for_each(|_| mails.add_text(b"a@example.org"));
    let verdict = judge(statistics("ward", ColumnType::Text, &mails));
    assert_eq!(verdict, (Protection::Seal, "e-mail (98 % of values)".to_owned()));
    let verdict = judge(statistics("email", ColumnType::Text, &mails));
    assert_eq!(verdict.1, "e-mail (name, 98 % of values)");
}

/// No name and no type is clear unless it stands in the public list: unknown never leaks.
#[test]
fn only_public_names_are_ever_clear() {
    let none = PatternCounts::default();
    let kinds = [
        ColumnType::Bool,
        ColumnType::Category,
        ColumnType::Date,
        INT,
        MONEY,
        ColumnType::Text,
        ColumnType::Timestamp,
    ];
    for (class, lists) in words::DICTIONARY {
        for phrase in lists.iter().flat_map(|list| list.split(',')) {
            let name = phrase.trim_start_matches('=').replace(' ', "_");
            assert!(class_of_name(&name).is_some(), "{name}");
            for kind in kinds {
                if *class != Class::Public && class_of_name(&name) == Some(*class) {
                    assert_ne!(
                        classify(&statistics(&name, kind, &none)).protect,
                        Protection::Clear,
                        "{name}"
                    );
                }
            }
        }
    }
}
