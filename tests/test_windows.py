# SPDX-License-Identifier: Apache-2.0
"""Windows over groups, QUALIFY, windows with names and several sets of keys, asked of one table with the program; results of many such questions: test_several_tables.py."""

import pytest

from conftest import approve


@pytest.fixture
def people(hush, key, tmp_path):
    """A table in a directory."""
    (tmp_path / "people.csv").write_text("id,ward,age\n1,a,30\n2,b,41\n3,a,\n4,,77\n", encoding="utf-8")
    hush("init", "people.csv", "--sensitive", "age", "--clear", "id,ward", "-o", "people.toml")
    approve(tmp_path / "people.toml")
    hush("encrypt", "people.csv", "--schema", "people.toml", "-o", "PEOPLE", *key)
    return tmp_path / "PEOPLE"


def test_windows_over_groups_and_sets_of_keys_of_one_table(hush, key, people):
    """By the program, which a person asks about one table."""
    for query, found in [
        ("SELECT ward, SUM(age) / SUM(SUM(age)) OVER () AS share FROM people GROUP BY ward ORDER BY share", "ward,share\na,0.20270270270270271\nb,0.27702702702702703\n,0.5202702702702703\n"),
        ("SELECT id FROM people QUALIFY RANK() OVER w = 1 OR age > 70 WINDOW w AS (ORDER BY age) ORDER BY id", "id\n1\n4\n"),
        ("SELECT ward, SUM(age) AS s, COUNT(*) AS n FROM people GROUP BY ROLLUP (ward) ORDER BY n, s", "ward,s,n\nb,41,1\n,77,1\na,30,2\n,148,4\n"),
    ]:
        assert hush("query", people, query, "--format", "csv", *key).stdout == found, query
    assert "the values of age" in hush("explain", people, "SELECT id FROM people QUALIFY RANK() OVER (ORDER BY age) = 1", *key).stdout
    for query, words in [
        ("SELECT id FROM people WHERE RANK() OVER (ORDER BY age) = 1", "WHERE: a window function"),
        ("SELECT RANK() OVER w FROM people", "a name that WINDOW does not have"),
        ("SELECT ward FROM people GROUP BY ward HAVING SUM(SUM(age)) OVER () > 3", "HAVING: a window function"),
    ]:
        refused = hush("query", people, query, *key, status=3)
        assert refused.stderr.startswith("HUSH-P005") and words in refused.stderr and refused.stdout == "", query
    refused = hush("run", people.parent / "people.csv", "SELECT ward FROM people GROUP BY ROLLUP (ward)", "--clear", "ward", status=3)
    assert refused.stderr.startswith("HUSH-P005")
