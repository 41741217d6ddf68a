# SPDX-License-Identifier: Apache-2.0
"""`hush eval` against exact Python fractions."""

import csv
import fractions
import io
import json
import random

import pytest

from conftest import PATIENTS


def results(done):
    """The column of results, exactly."""
    return [fractions.Fraction(row["result"]) for row in csv.DictReader(io.StringIO(done.stdout))]


def given(**vectors):
    """Arguments for vectors."""
    return [word for name, values in vectors.items() for word in (f"--{name}", ",".join(map(str, values)))]


@pytest.mark.parametrize("scheme", ["auto", "bgv", "bfv", "ckks"])
def test_the_libraries_workload_in_every_scheme(hush, scheme):
    """2760 elements, as in `hush bench libraries`."""
    draw = random.Random(3)
    x, y, z = ([draw.randrange(-20, 20) for _ in range(2760)] for _ in range(3))
    done = hush("eval", "y*(x+z)", *given(x=x, y=y, z=z), "--scheme", scheme, "--verify", "--format", "csv")
    assert "equals plaintext" in done.stderr and "noise margin" in done.stderr
    for found, a, b, c in zip(results(done), x, y, z, strict=True):
        assert abs(found - b * (a + c)) <= (fractions.Fraction(1, 10**6) if scheme == "ckks" else 0)


def test_decimals_are_exact_and_wide(hush):
    """Hundreds of bits, digits after the point, division."""
    x, y = ["12345678901234567.25", "-2.5", "0"], ["3", "99999999999999999999", "-1"]
    done = hush("eval", "x^4*y/8 - 3*x + 0.1", *given(x=x, y=y), "--verify", "--format", "csv")
    expected = [fractions.Fraction(a) ** 4 * fractions.Fraction(b) / 8 - 3 * fractions.Fraction(a) + fractions.Fraction(1, 10) for a, b in zip(x, y)]
    assert results(done) == expected


def test_columns_files_and_functions(hush, tmp_path):
    """Every source of vectors; several ciphertexts; the mean of a product."""
    rows = list(csv.DictReader(PATIENTS.open()))
    ages = [int(row["age"]) for row in rows if row["age"]]
    if len(ages) == len(rows):
        done = hush("eval", "mean(age^2)", "--data", PATIENTS, "--verify", "--format", "csv")
        mean = fractions.Fraction(sum(age * age for age in ages), len(ages))
        assert abs(results(done)[0] - mean) < fractions.Fraction(1, 10**14)
    (tmp_path / "numbers.txt").write_text("1 2\n3,4\n")
    (tmp_path / "t.csv").write_text("a,b\n1,x\n2,x\n3,x\n4,x\n")
    done = hush("eval", "dot(u, v)", "--u", f"@{tmp_path / 'numbers.txt'}", "--v", f"{tmp_path / 't.csv'}:a", "--format", "csv")
    assert results(done) == [30]


@pytest.mark.parametrize(
    ("arguments", "code", "status"),
    [
        (["x +", "--x", "1"], "HUSH-X001", 3),
        (["x/y", "--x", "1", "--y", "2"], "HUSH-X007", 3),
        (["x*y", "--x", "1,2", "--y", "1"], "HUSH-X032", 8),
        (["x*y", "--x", "1"], "HUSH-X035", 2),
        (["x", "--x", "1", "--schem", "bgv"], "HUSH-X037", 2),
        (["x*x", "--x", "1,nan"], "HUSH-X036", 8),
        (["x*x", "--x", "inf"], "HUSH-X036", 8),
        (["x*x", "--x", ""], "HUSH-X031", 8),
        (["x*x", "--x", "1,,2"], "HUSH-X036", 8),
        (["x*x", "--x", "1e0", "--precision", "0"], "HUSH-X030", 2),
        (["x*x", "--x", "1e0", "--precision", "1e-40"], "HUSH-X023", 5),
        (["x^64*x^64", "--x", "123456789"], "HUSH-X022", 5),
        (["x < 3", "--x", "1", "--scheme", "bgv"], "HUSH-X011", 3),
        (["x and y", "--x", "1,2", "--y", "0,1"], "HUSH-X012", 3),
        (["x < 3", "--x", "1e0"], "HUSH-X025", 3),
        (["x = x", "--x", "0,4"], "HUSH-X009", 3),
        (["x*x < 9", "--x", "0,18446744073709551615"], "HUSH-X022", 5),
        (["repeat(2, z := x, z + sum(z > 1))", "--x", "1,2"], "HUSH-X006", 3),
        (["sum(x) + 1", "--x", "1,2", "--scheme", "bgv"], "HUSH-X006", 3),
        (["sum(x) > 1", "--x", "1e0,2"], "HUSH-X025", 3),
        (["dot(x, x) > 1", "--x", "0,18446744073709551615"], "HUSH-X022", 5),
        (["x < y < 3", "--x", "1", "--y", "1"], "HUSH-X001", 3),
        (["min(x)", "--x", "1"], "HUSH-X005", 3),
        (["x^1025", "--x", "1"], "HUSH-X003", 3),
        (["repeat(1001, z := x, z*z)", "--x", "1"], "HUSH-X013", 3),
        (["lookup(x, 5, 7)", "--x", "0,2"], "HUSH-X014", 3),
        (["repeat(3, z := x, z, z)", "--x", "1"], "HUSH-X001", 3),
        (["repeat(100, z := x, 2*z^2 + 1)", "--x", "0,1", "--scheme", "ckks"], "HUSH-X010", 3),
        (["repeat(200, z := x, 3.9*z*(1 - z))", "--x", "0.1,0.9", "--scheme", "ckks", "--precision", "0.05"], "HUSH-X026", 3),
    ],
)
def test_refusals_have_a_code_and_a_way_out(hush, arguments, code, status):
    """Nothing is printed as a result, and no value is quoted."""
    done = hush("eval", *arguments, status=status)
    assert done.stderr.startswith(code) and "Ways out:" in done.stderr and done.stdout == ""


def test_conditions_and_choices_on_encrypted_numbers(hush):
    """Comparisons, logic, minimum, maximum and choices, as Python works them out; digits are chosen by the ranges."""
    draw = random.Random(5)
    x, y = [draw.randrange(-30, 30) for _ in range(6)], [draw.randrange(0, 90) for _ in range(6)]
    b = [draw.randrange(2) for _ in range(6)]
    for text, expected in (
        ("if(x < y and not b, max(x, 7), y - 2*x)", [max(p, 7) if p < q and not c else q - 2 * p for p, q, c in zip(x, y, b)]),
        ("(x = y) or (x + 10 >= y xor b)", [int(p == q or (p + 10 >= q) != bool(c)) for p, q, c in zip(x, y, b)]),
        ("lookup(max(min(x, 9), 0), 3, 1, 4, 1, 5, 9, 2, 6, 5, -3)*2 + b*y", [2 * (3, 1, 4, 1, 5, 9, 2, 6, 5, -3)[max(min(p, 9), 0)] + c * q for p, q, c in zip(x, y, b)]),
        ("sum(min(x, y) + b*x)", [sum(min(p, q) + c * p for p, q, c in zip(x, y, b))]),
    ):
        done = hush("eval", text, *given(x=x, y=y, b=b), "--verify", "--format", "csv")
        assert results(done) == expected, text
        assert "TFHE" in done.stderr and "equals plaintext, exactly" in done.stderr and "bootstrapping" in done.stderr


def test_digits_of_decimals_wide_numbers_and_ends_of_ranges(hush):
    """Units of vectors differ; 64 bits; constants between two multiples of a unit."""
    done = hush("eval", "if(price*4 > 10.1, price, limit)", *given(price=["2.50", "2.55", "0.05"], limit=[3, 1, 2]), "--verify", "--format", "csv")
    assert results(done) == [3, fractions.Fraction("2.55"), 2]
    for text, expected in (("x != 1.5", 1), ("2*x = 3", 0), ("x < 100", 1), ("x > 100 or x = 0.5", 0), ("x < 1e30", 1)):
        done = hush("eval", text, *given(x=[0, 1, 2, 15]), "--verify", "--format", "csv")
        assert results(done) == [expected] * 4, text
    wide = [0, 2**64 - 1, 2**63]
    done = hush("eval", "max(x, 5)", *given(x=wide), "--verify", "--format", "csv")
    assert results(done) == [5, 2**64 - 1, 2**63]
    done = hush("eval", "x*x - 3", *given(x=[-8, 7, 0]), "--scheme", "tfhe", "--verify", "--json", "--format", "csv")
    account = json.loads(done.stderr)
    assert results(done) == [61, 46, -3] and account["scheme"] == "TFHE" and account["failure_log2"] < -100
    assert account["integers"]["bits"] == 8 and account["integers"]["signed"] and account["integers"]["bootstraps"] > 0


def test_functions_of_whole_vectors_are_compared(hush):
    """Sums and products are computed in slots, and come into digits; all elements may have one result."""
    draw = random.Random(7)
    x, y = [draw.randrange(-40, 90) for _ in range(5)], [fractions.Fraction(draw.randrange(0, 900), 100) for _ in range(5)]
    total, mean, dot = sum(x), fractions.Fraction(sum(x), 5), sum(p * q for p, q in zip(x, y))
    given_y = [str(float(value)) for value in y]
    for text, expected in (
        (f"sum(x) >= {total}", [1]),
        (f"sum(x) > {total}", [0]),
        (f"if(dot(x, y) > {float(dot) - 0.01:.2f}, sum(x), 0) - 5", [total - 5]),
        ("x > mean(x)", [int(p > mean) for p in x]),
        ("sum(x > mean(x))", [sum(p > mean for p in x)]),
        ("max(mean(x), y)", [max(mean, q) for q in y]),
        ("5*(x - mean(x))", [5 * p - total for p in x]),
        ("x*x*y > 4*x + 100", [int(p * p * q > 4 * p + 100) for p, q in zip(x, y)]),
    ):
        vectors = {name: values for name, values in (("x", x), ("y", given_y)) if name in text.replace("max", "")}
        done = hush("eval", text, *given(**vectors), "--verify", "--format", "csv", "--json")
        account = json.loads(done.stderr)
        assert account["verified"] == "exactly" and account["failure_log2"] < -110 and account["security_bits"] >= 128, text
        assert account["scheme"] == "TFHE" and account["pieces"], text
        if text == "max(mean(x), y)":
            assert all(abs(found - wanted) < fractions.Fraction(1, 10**12) for found, wanted in zip(results(done), expected, strict=True))
        else:
            assert results(done) == expected, text
    done = hush("eval", "dot(x, y) > 5", *given(x=[1] * 20000, y=[1] * 20000), "--verify", "--format", "csv")
    assert results(done) == [1] and "Slots     dot(x, y) in" in done.stderr
    # Values of 40 digits, whose sums differ by little.
    wide = [10**40, 10**40 + 3, 10**40 + 1]
    done = hush("eval", f"sum(x) > {3 * 10**40 + 4} or y > 1", *given(x=wide, y=[0, 5, 1]), "--verify", "--format", "csv")
    assert results(done) == [0, 1, 0]
    # Few bits of a sum of two are no reason for slots.
    done = hush("eval", "x + y > 3", *given(x=[1, 2], y=[2, 2]), "--verify", "--format", "csv", "--json")
    assert results(done) == [0, 1] and json.loads(done.stderr)["pieces"] == []
    # Bounds of the vectors decide one of two sums, which is not computed then.
    done = hush("eval", "sum(x*x) > 99 or sum(y) > 5", *given(x=[3, 1], y=[2, 4]), "--verify", "--format", "csv", "--json")
    assert results(done) == [1] and [piece["expression"] for piece in json.loads(done.stderr)["pieces"]] == ["sum(y)"]


def test_functions_are_of_what_is_compared_and_of_each_other(hush):
    """Sums stay in digits on the server: of negative values, of several blocks, of other sums."""
    draw = random.Random(26)
    x, y = [draw.randrange(-40, 90) for _ in range(4)], [draw.randrange(0, 60) for _ in range(4)]
    mean = fractions.Fraction(sum(x), len(x))
    above = sum(p > 20 for p in x)
    least = sum(min(p, 3) for p in x)
    variance = fractions.Fraction(sum(p * p for p in x), len(x)) - mean * mean
    for text, expected, of in (
        (f"sum(x > 20) >= {above}", [1], ["sum(x > 20)"]),
        (f"sum(x > 20) > {above}", [0], ["sum(x > 20)"]),
        ("x + sum(min(x, 3))", [p + least for p in x], ["sum(min(x, 3))"]),
        ("sum(x > mean(x)) > dot(y > 30, y)", [int(sum(p > mean for p in x) > sum(q for q in y if q > 30))], ["sum(x > mean(x))", "dot(y > 30, y)"]),
        ("sum(y > 2*sum(x > y))", [sum(q > 2 * sum(p > r for p, r in zip(x, y)) for q in y)], ["sum(x > y)"]),
        (f"mean((x - mean(x))^2) > {int(variance)}", [int(variance > int(variance))], []),
    ):
        vectors = {name: values for name, values in (("x", x), ("y", y)) if name in text}
        done = hush("eval", text, *given(**vectors), "--verify", "--format", "csv", "--json")
        account = json.loads(done.stderr)
        assert results(done) == expected and account["verified"] == "exactly" and account["failure_log2"] < -110, text
        assert [total["expression"] for total in account["sums"]] == of, text
        assert sum(total["bootstraps"] for total in account["sums"]) < account["integers"]["bootstraps"], text
        # What all elements share stands in front of functions: of a variance both means are sums in slots.
        if not of:
            assert {piece["expression"] for piece in account["pieces"]} == {"mean(x^2)", "mean(x)"}, text
    # Blocks of 128 elements, with negative sums.
    many = [draw.randrange(-1, 2) for _ in range(140)]
    done = hush("eval", "2*sum(min(x, 0)) + 1", *given(x=many), "--verify", "--format", "csv")
    assert results(done) == [2 * sum(min(p, 0) for p in many) + 1] and "Sums      sum(min(x, 0)):" in done.stderr
    # What bounds decide is not added up.
    done = hush("eval", "sum(x > 100) + sum(x > 2) > 1", *given(x=[1, 3, 5]), "--verify", "--format", "csv", "--json")
    assert results(done) == [1] and [total["expression"] for total in json.loads(done.stderr)["sums"]] == ["sum(x > 2)"]


def test_numbers_of_a_file_may_not_be_missing(hush):
    path = hush.directory / "numbers.txt"
    for text, expected in (("1, 2,\n3\n", [2, 4, 6]), ("1 2\t3", [2, 4, 6]), ("1,,3", "HUSH-X033"), (",1", "HUSH-X033")):
        path.write_text(text, encoding="utf-8")
        if isinstance(expected, str):
            assert hush("eval", "2*x", "--x", f"@{path}", status=8).stderr.startswith(expected), text
        else:
            assert results(hush("eval", "2*x", "--x", f"@{path}", "--format", "csv")) == expected, text


def turns(count, x, y):
    """`repeat(count, z := x, z^2/2 + y/4)`."""
    for _ in range(count):
        x = x * x / 2 + y / 4
    return x


def test_repetitions_in_every_scheme(hush):
    """Exactly, where numbers fit; with choices in digits; as deep as a chain is."""
    x, y = [3, -2, 0, 7], [1, 4, -5, 2]
    for scheme in ("bgv", "bfv"):
        done = hush("eval", "repeat(3, z := x, z^2 - y)", *given(x=x, y=y), "--scheme", scheme, "--verify", "--format", "csv")
        assert results(done) == [((a * a - b) ** 2 - b) ** 2 - b for a, b in zip(x, y)]
    done = hush("eval", "repeat(3, z := x, if(z > 4, z - 4, z + 1))", *given(x=x), "--verify", "--format", "csv")
    expected = list(x)
    for _ in range(3):
        expected = [a - 4 if a > 4 else a + 1 for a in expected]
    assert results(done) == expected
    draw = random.Random(5)
    x, y = ([draw.randrange(-1000, 1001) / 1000 for _ in range(500)] for _ in range(2))
    done = hush("eval", "repeat(14, z := x, z^2/2 + y/4)", *given(x=x, y=y), "--scheme", "ckks", "--precision", "1e-4", "--verify", "--format", "csv")
    assert "ootstrap" not in done.stderr
    assert all(abs(float(found) - turns(14, a, b)) < 1e-4 for found, a, b in zip(results(done), x, y, strict=True))
    done = hush("eval", "x^1000", *given(x=x), "--scheme", "ckks", "--verify", "--format", "csv")
    assert all(abs(float(found) - a**1000) < 1e-6 for found, a in zip(results(done), x, strict=True))


def test_models_by_gradient_descent(hush):
    """Means inside repetitions, of a number of elements that is no power of two; deviations from a mean."""
    draw = random.Random(8)
    x = [draw.randrange(-100, 101) / 100 for _ in range(300)]
    y = [round(0.4 * a + 0.2 + draw.uniform(-0.1, 0.1), 3) for a in x]
    done = hush("eval", "x - mean(x)", *given(x=x), "--scheme", "ckks", "--verify", "--format", "csv")
    mean = sum(x) / len(x)
    assert all(abs(float(found) - (a - mean)) < 1e-6 for found, a in zip(results(done), x, strict=True))
    text = "mean(repeat(3, b := 0, a := 0, b - mean((a + b*x - y)*x), a - mean(a + b*x - y)))"
    done = hush("eval", text, *given(x=x, y=y), "--scheme", "ckks", "--precision", "1e-3", "--verify", "--format", "csv")
    a = b = 0.0
    for _ in range(3):
        rests = [a + b * u - v for u, v in zip(x, y)]
        a, b = a - sum(rests) / len(x), b - sum(rest * u for rest, u in zip(rests, x)) / len(x)
    assert len(results(done)) == 1 and abs(float(results(done)[0]) - b) < 1e-3
    refused = hush("eval", "x - mean(x)", "--x", ",".join(["1", "2"] * 20000), "--scheme", "ckks", status=3)
    assert refused.stderr.startswith("HUSH-X027") and refused.stdout == ""


def check_deep(hush, count, precision, set_name, length=300):
    """More turns than any chain has levels."""
    draw = random.Random(6)
    x, y = ([draw.randrange(-1000, 1001) / 1000 for _ in range(length)] for _ in range(2))
    text = f"repeat({count}, z := x, z^2/2 + y/4)"
    done = hush("eval", text, *given(x=x, y=y), "--scheme", "ckks", "--precision", str(precision), "--verify", "--format", "csv", "--json")
    account = json.loads(done.stderr)
    assert account["bootstraps"]["set"] == set_name and account["security_bits"] >= 128
    bootstraps = account["bootstraps"]
    assert bootstraps["count"] == len(bootstraps["placed"]) > 1 and bootstraps["passes"] == 1
    assert account["error"] <= precision and account["verified"]["within"] <= account["error"]
    assert all(abs(float(found) - turns(count, a, b)) < account["error"] for found, a, b in zip(results(done), x, y, strict=True))


@pytest.mark.slow
def test_what_is_deeper_than_a_chain_is_bootstrapped(hush):
    """With the keys of a real parameter set, 5 GB."""
    check_deep(hush, 60, 0.05, "n15_boot3x31_q15p4_sec128_v1")


def test_short_vectors_take_a_set_for_few_slots(hush):
    """With half the keys."""
    check_deep(hush, 60, 0.05, "n15_boot4x31_s8_q15p4_sec128_v1", length=256)


@pytest.mark.slow
def test_short_vectors_take_a_larger_set_for_more_precision(hush):
    """9 GB."""
    check_deep(hush, 40, 1e-4, "n16_boot13x46_s8_q30p7_sec128_v1", length=7)


@pytest.mark.slow
def test_what_a_bootstrapping_errs_by_is_bootstrapped_for_more_precision(hush):
    """14 GB."""
    x = [0.5, -0.8, 1]
    done = hush("eval", "repeat(40, z := x, z*y)", *given(x=x, y=[0.99, 0.97, 1]), "--scheme", "ckks", "--precision", "3e-5", "--verify", "--format", "csv", "--json")
    account = json.loads(done.stderr)
    assert account["bootstraps"]["set"] == "n16_boot9x46_q30p7_sec128_v1" and account["bootstraps"]["passes"] == 2
    assert account["bootstraps"]["count"] == 2 * len(account["bootstraps"]["placed"])
    assert account["verified"]["within"] <= account["error"] <= 3e-5


@pytest.mark.slow
def test_a_larger_set_is_taken_for_more_precision(hush):
    """14 GB."""
    check_deep(hush, 40, 1e-4, "n16_boot9x46_q30p7_sec128_v1")


def test_the_account_as_json(hush):
    """The account for programs."""
    done = hush("eval", "x*x*x*x + y", *given(x=[3, 4], y=[1, 2]), "--json", "--verify", "--format", "json")
    account = json.loads(done.stderr)
    assert [json.loads(line)["result"] for line in done.stdout.splitlines()] == [82, 258]
    assert account["depth"] == 2 and account["products"] == 2 and account["verified"] == "exactly"
    assert account["margin_bits"] >= 0 and account["failure_log2"] < -100 and account["key_bytes"] > 0
    assert account["security_bits"] >= 128 and account["bytes_up"] > account["key_bytes"]
