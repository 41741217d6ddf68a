#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes examples/patients.csv: 6,000 invented patients. Nobody in it exists; the same seed gives the same file."""

import csv
import pathlib
import random

SEED = 20231
ROWS = 6000
WARDS = [("cardiology", 0.36, 61, 3100), ("oncology", 0.27, 58, 5200), ("surgery", 0.37, 50, 2600)]


def main() -> None:
    """Writes the file beside this script."""
    draw = random.Random(SEED)
    path = pathlib.Path(__file__).with_name("patients.csv")
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["patient_id", "email", "ward", "year", "age", "bp", "temperature", "charges"])
        for number in range(ROWS):
            ward, _, mean_age, mean_charge = draw.choices(WARDS, weights=[w[1] for w in WARDS])[0]
            age = min(104, max(0, round(draw.gauss(mean_age, 17))))
            bp = "" if draw.random() < 0.02 else round(draw.gauss(118 + age / 4, 14))
            charges = "" if draw.random() < 0.01 else f"{draw.lognormvariate(0, 0.6) * mean_charge:.2f}"
            writer.writerow([
                f"P{draw.randrange(10**6, 10**7)}{number:04d}",
                f"patient{number}@example.org",
                ward,
                draw.choice([2021, 2022, 2023, 2023]),
                age,
                bp,
                f"{draw.gauss(36.9, 0.6):.1f}",
                charges,
            ])


if __name__ == "__main__":
    main()
