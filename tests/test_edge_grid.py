# SPDX-License-Identifier: Apache-2.0
"""`hush bench edge-grid` on its smallest cells: every cell there, parameters secure, results checked, statistics right."""

import functools
import itertools
import json
import math
import os
import statistics
import xml.etree.ElementTree

import pytest

# Largest bits of the modulus for 128 bits of security: eprint 2024/463, Table 5.2, ternary secrets.
TABLE = {1024: 26, 2048: 53, 4096: 106, 8192: 214, 16384: 430, 32768: 868}


def grid(hush, *options, **more):
    """Runs our cells alone; returns the outcome."""
    return json.loads(hush("bench", "edge-grid", "--skip-peers", "--json", *options, **more).stdout)


def is_prime(n):
    """Miller and Rabin's test with bases that leave no doubt below 2^64."""
    if n < 2 or any(n % p == 0 and n != p for p in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)):
        return False
    odd, twos = n - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for base in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37):
        powers = [pow(base, odd << i, n) for i in range(twos)]
        if base % n and powers[0] != 1 and n - 1 not in powers:
            return False
    return True


@functools.cache
def student_975(degrees):
    """The 97.5 % quantile of Student's distribution: Simpson's rule on the density, then bisection."""
    scale = math.gamma((degrees + 1) / 2) / math.sqrt(degrees * math.pi) / math.gamma(degrees / 2)

    def half(t, steps=4000):
        density = [scale * (1 + (t * i / steps) ** 2 / degrees) ** (-(degrees + 1) / 2) for i in range(steps + 1)]
        return t / steps / 3 * (density[0] + density[-1] + 4 * sum(density[1:-1:2]) + 2 * sum(density[2:-1:2]))

    low, high = 0.0, 20.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if half(middle) < 0.475 else (low, middle)
    return low


def assert_statistics(found, values):
    """Mean, interval and median of all, of the first and of the later ones."""
    def interval(values):
        if len(values) < 2:
            return None
        return student_975(len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))

    expected = {
        "mean": statistics.fmean(values),
        "ci95": interval(values),
        "median": statistics.median(values),
        "first": values[0],
        "later_mean": statistics.fmean(values[1:]) if values[1:] else None,
        "later_ci95": interval(values[1:]),
    }
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name] == (value if value is None else pytest.approx(value, rel=1e-5, abs=1e-12)), name


def test_the_grid_is_complete_secure_checked_and_drawn(hush, tmp_path):
    """Three rings, up to a thousand integers, both ways and keys."""
    degrees, plots = [1024, 2048, 4096], tmp_path / "plots"
    chosen = ("--degrees", ",".join(map(str, degrees)), "--up-to", 1000, "--repeat", 4, "--plots", plots)
    outcome = grid(hush, *chosen)
    cells = outcome["cells"]
    found = sorted((cell["degree"], cell["way"], cell["key"], cell["count"]) for cell in cells)
    ways = itertools.product(degrees, ["one_by_one", "packed"], ["public", "secret"], [1, 10, 100, 1000])
    assert found == sorted(ways)
    assert (outcome["plain_modulus"], outcome["profile"], outcome["memory_limit_bytes"]) == (1024, "pc", None)
    for cell in cells:
        degree, repetitions = cell["degree"], cell["repetitions"]
        ciphertexts = cell["count"] if cell["way"] == "one_by_one" else -(-cell["count"] // degree)
        assert len(repetitions) == 4 and cell["ciphertexts"] == ciphertexts and cell["sampled_fraction"] == 1
        for each in repetitions:
            assert each["encrypted"] == ciphertexts and min(each.values()) > 0
            phases = each["parameters_s"] + each["keys_s"] + each["encrypt_s"]
            assert each["total_s"] == pytest.approx(phases, rel=1e-6)
        assert cell["wrong"] == 0 and cell["checked"] >= 4 * min(ciphertexts, 16) and cell["digest"] != 0
        assert_statistics(cell["total_s"], [each["total_s"] for each in repetitions])
        assert_statistics(cell["encrypt_s"], [each["encrypt_s"] for each in repetitions])
        assert 0 < cell["peak_mb"] < 200 and cell["cpu_s"] > 0 and cell["cpu_percent"] > 0
        assert (cell["energy_j"] is None) == (outcome["energy_absent"] is not None)
    assert_secure(cells)
    # Without a peer. The load has no figure if every cell was too short for it.
    figures = {path.name.removeprefix("edge_grid_")[0] for path in plots.iterdir()}
    assert set("1245") <= figures <= set("12345")
    for path in plots.iterdir():
        root = xml.etree.ElementTree.parse(path).getroot()
        assert root.tag.endswith("svg") and any(element.tag.endswith("polyline") for element in root.iter()), path


def assert_secure(cells):
    """Moduli of distinct primes with roots of unity, as long as the table allows and no longer."""
    for cell in cells:
        product, degree = math.prod(cell["moduli"]), cell["degree"]
        assert product.bit_length() == TABLE[degree] == cell["log_qp_limit"]
        assert cell["log_qp"] == pytest.approx(math.log2(product))
        assert len(set(cell["moduli"])) == len(cell["moduli"])
        assert all(q % (2 * degree) == 1 and is_prime(q) for q in cell["moduli"])
        limbs = len(cell["moduli"]) - cell["special_count"]
        halves = 16 if cell["key"] == "public" else 8
        assert cell["ciphertext_bytes"] == halves * limbs * degree + (32 if cell["key"] == "secret" else 0)


def test_a_small_device_holds_the_largest_ring(hush):
    """One core and 256 MiB: the kernel refuses more, and the peak is checked."""
    outcome = grid(hush, "--degrees", 32768, "--up-to", 10, "--repeat", 1, "--profile", "edge")
    assert (outcome["profile"], outcome["memory_limit_bytes"]) == ("edge", 256 << 20)
    assert_secure(outcome["cells"])
    for cell in outcome["cells"]:
        assert cell["wrong"] == 0 and cell["checked"] >= 1 and 0 < cell["peak_mb"] < 200
        assert cell["total_s"]["ci95"] is None


# An interpreter that claims to have SEAL, and stands for SEAL itself.
PYTHON = """#!/bin/sh
[ "$2" = "import seal" ] && exit 0
%s
echo '{"library": "SEAL 0", "moduli": [268369921], "special_count": 0, "ciphertext_bytes": 16384, "repetitions":
  [{"parameters_s": 1, "keys_s": 1, "encrypt_s": 2, "total_s": 4, "encrypted": 1}],
  "checked": %d, "wrong": %d, "peak_mb": 5, "cpu_s": 1}'
"""


def beside(hush, tmp_path, before="", checked=1, wrong=0, build=None, **more):
    """One cell beside such a SEAL."""
    python = tmp_path / "python"
    python.write_text(PYTHON % (before, checked, wrong), encoding="utf-8")
    python.chmod(0o755)
    options = ("--degrees", 1024, "--up-to", 1, "--repeat", 1, "--way", "packed", "--key", "public")
    options += ("--build", build) if build else ()
    return hush("bench", "edge-grid", *options, "--python", python, **more)


def test_a_peer_is_compared_marked_and_checked(hush, tmp_path):
    """Its modulus is beyond the table; a wrong or unchecked result is an error, a failure is a line."""
    shown = beside(hush, tmp_path).stdout
    assert "28!" in shown and "beyond the 2024 security table" in shown and "times our time SEAL 0 takes" in shown
    for checked, wrong in [(1, 1), (0, 0)]:
        refused = beside(hush, tmp_path, checked=checked, wrong=wrong, status=None)
        assert refused.returncode != 0 and "WRONG" in refused.stdout and "wrong result" in refused.stderr
    shown = beside(hush, tmp_path, before="echo no memory >&2; exit 1").stdout
    assert "skipped SEAL packed public 1024 1 1: no memory" in shown


# A CMake that configures nothing and builds this adapter.
CMAKE = """#!/bin/sh
[ "$1" = -S ] && { grep -q seal_edge_grid "$2/CMakeLists.txt" && mkdir -p "$4" && echo "$6" > "$4/prefix"; exit; }
[ "$1 $3 $4" = "--build --target seal_edge_grid" ] || exit 9
cp "$0.adapter" "$2/seal_edge_grid"
"""


def test_a_library_for_cpp_goes_before_the_bindings(hush, tmp_path):
    """Its adapter is built in the directory asked for, with the prefix; the reason is CMake's complaint."""
    programs, build = tmp_path / "bin", tmp_path / "build"
    programs.mkdir()
    for name, text in {"cmake": CMAKE, "cmake.adapter": PYTHON % ("", 1, 0)}.items():
        (programs / name).write_text(text, encoding="utf-8")
        (programs / name).chmod(0o755)
    path = f"{programs}:{os.environ['PATH']}"
    hush = hush.with_environment(PATH=path, HUSH_CMAKE_PREFIX=str(tmp_path / "lib"))
    shown = beside(hush, tmp_path, before="exit 1", build=build).stdout
    assert "times our time SEAL 0 takes" in shown and "skipped" not in shown
    assert (build / "cpp-build" / "prefix").read_text().strip() == f"-DCMAKE_PREFIX_PATH={tmp_path / 'lib'}"
    (programs / "cmake").write_text("#!/bin/sh\necho no compiler >&2\nexit 1\n", encoding="utf-8")
    assert "skipped SEAL: no compiler" in beside(hush, tmp_path, build=build).stdout


def test_what_the_grid_does_not_have_is_refused(hush):
    """Degrees, counts and cells."""
    for wrong in [("--degrees", "512"), ("--up-to", "0"), ("--cell", "packed public 512 1 1"), ("--repeat", "0")]:
        hush("bench", "W1", *wrong, status=2)
