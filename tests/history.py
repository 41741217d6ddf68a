# SPDX-License-Identifier: Apache-2.0
"""A table and its twin in DuckDB, to which the same is done in random order."""

import datetime
import decimal
import random
import subprocess
import time

import duckdb
import pyarrow
import pyarrow.parquet
import pytest

import hushtable as ht
from conftest import binary
from hushtable._alter import column_text


class History:
    """A table and its twin in DuckDB, to which the same is done."""

    WARDS = ("icu", "surgery", "o'hara", None)
    QUERIES = (
        "SELECT ward, COUNT(*) AS n, COUNT(cost) AS k, SUM(cost) AS s, SUM(age) AS a FROM t GROUP BY ward ORDER BY ward NULLS LAST",
        "SELECT COUNT(*) AS n, SUM(age) AS a, MIN(day) AS d FROM t WHERE day >= DATE '2024-01-15' AND ward <> 'icu'",
        "SELECT ward, day, age FROM t WHERE ward = 'surgery' AND day < DATE '2024-01-10' ORDER BY day, age LIMIT 20",
    )

    def __init__(self, directory, seed):
        self.chance, self.next = random.Random(seed), 0
        self.directory, self.keys, self.purges, self.columns = directory, 0, 0, 0
        # Columns that were added, and their kinds; largest values of encrypted ones; pairs whose product is summed.
        self.added, self.most, self.products, self.types = {}, {"age": 120}, set(), dict(self.TYPES)
        self.db = duckdb.connect()
        first = self.frame(30)
        self.db.execute("CREATE TABLE t AS SELECT * FROM first")
        self.crashes = self.killed = 0
        (directory / "passphrase").write_text("correct horse battery\n", encoding="utf-8")
        (directory / "passphrase").chmod(0o600)
        self.key = self.new_key()
        schema = ht.propose(first, sensitive=["id", "age", "cost"], clear=["ward", "day"], name="t")
        schema.max_rows = 100_000
        schema["age"].range = (0, 120)
        schema["cost"].range = (decimal.Decimal("-1000.00"), decimal.Decimal("1000.00"))
        schema["age"].nullable = schema["cost"].nullable = True
        schema = schema.approve("a test")
        self.table = ht.encrypt(first, schema=schema, out=directory / "T", keys=self.key)

    def new_key(self):
        """A key of small machines, which opens in no time."""
        self.keys += 1
        path, secret = self.directory / f"k{self.keys}", ("--passphrase-file", self.directory / "passphrase")
        subprocess.run([binary("hush"), "keygen", "-o", path, "--opens-in", "16MiB", *secret], check=True, capture_output=True)
        self.of_key = ("--key", path, *secret)
        return ht.open_key(path, passphrase_file=self.directory / "passphrase")

    def rows(self, ids):
        chance = self.chance
        day = datetime.date(2024, 1, 1)
        return {
            "id": ids,
            "ward": [chance.choice(self.WARDS) for _ in ids],
            "day": [day + datetime.timedelta(chance.randrange(30)) for _ in ids],
            "age": [None if chance.random() < 0.1 else chance.randrange(self.most["age"] + 1) for _ in ids],
            "cost": [None if chance.random() < 0.1 else decimal.Decimal(chance.randrange(-100000, 100001)) / 100 for _ in ids],
            **{name: [self.value(name) for _ in ids] for name in self.added},
        }

    def value(self, name):
        """A value of a column that was added."""
        if self.chance.random() < 0.2:
            return None
        kind = self.added[name]
        number = self.chance.randrange(self.most[name] + 1 if kind == "encrypt" else 4)
        return f"text {number}" if kind == "seal" else number

    TYPES = {
        "id": pyarrow.string(),
        "ward": pyarrow.string(),
        "day": pyarrow.date32(),
        "age": pyarrow.int64(),
        "cost": pyarrow.decimal128(6, 2),
    }

    def frame(self, count):
        ids = [f"r{self.next + number}" for number in range(count)]
        self.next += count
        return self.arrow(self.rows(ids))

    def arrow(self, columns):
        return pyarrow.table({name: pyarrow.array(values, self.types[name]) for name, values in columns.items()})

    def ids(self, most):
        known = [name for (name,) in self.db.execute("SELECT id FROM t ORDER BY id").fetchall()]
        return self.chance.sample(known, min(most, len(known)))

    def append(self):
        frame = self.frame(self.chance.randrange(1, 40))
        self.db.execute("INSERT INTO t SELECT * FROM frame")
        self.table.append(frame)

    def delete(self):
        chance = self.chance
        named = ", ".join(f"'{name}'" for name in self.ids(chance.randrange(1, 6))) or "'nobody'"
        condition = chance.choice(
            [
                f"id IN ({named})",
                f"age = {chance.randrange(121)}",
                f"ward = 'icu' AND cost < {chance.randrange(-1000, -800)}",
                f"day = DATE '2024-01-{chance.randrange(1, 31):02}' AND age > 60",
                f"ward IS NULL AND (cost > 900 OR age < {chance.randrange(20)})",
                "cost IS NULL AND age IS NULL",
                f"cost * 2 > {chance.randrange(1900, 2000)}",
                *(f"{name} = {self.literal(name)} AND age < 30" for name in self.added),
                *(f"{name} IS NULL AND age = {chance.randrange(121)}" for name in self.added),
            ]
        )
        total = self.db.execute("SELECT COUNT(*) FROM t").fetchone()[0]
        gone = self.db.execute(f"SELECT COUNT(*) FROM t WHERE {condition}").fetchone()[0]
        if gone in (0, total):
            with pytest.raises((ht.DataError, ht.RefusedError)):
                self.table.delete(condition)
            return
        self.db.execute(f"DELETE FROM t WHERE {condition}")
        assert self.table.delete(condition).rows == gone, condition

    def literal(self, name):
        value = self.value(name)
        return "NULL" if value is None else repr(value)

    def update(self):
        chance = self.chance
        ids = self.ids(chance.randrange(1, 8))
        if not ids:
            return
        others = [name for name in self.types if name != "id"]
        columns = ["id", *chance.sample(others, chance.choice([len(others), chance.randrange(1, len(others) + 1)]))]
        is_whole = len(columns) == len(self.types)
        if chance.random() < 0.3 and is_whole:
            ids += [f"r{self.next}"]
            self.next += 1
        new = self.rows(ids)
        frame = self.arrow({name: new[name] for name in columns})
        sets = ", ".join(f"{name} = f.{name}" for name in columns[1:])
        self.db.execute(f"UPDATE t SET {sets} FROM frame f WHERE f.id = t.id")
        if is_whole:
            self.db.execute(f"INSERT INTO t SELECT {', '.join(self.types)} FROM frame f WHERE f.id NOT IN (SELECT id FROM t)")
        missing = "insert" if is_whole else "refuse"
        done = self.table.update(frame, key="id", missing=missing)
        assert done.given == len(ids) == done.updated + done.unchanged + done.inserted

    def compact(self):
        done = self.table.compact(self.chance.choice(["worth", "worth", "due", "deleted", "all"]))
        assert done.table_rows == len(self.table)

    def rotate(self):
        """Another key, or the same; new secrets for all rows, for those to come, or for none."""
        chance = self.chance
        way = chance.choice(["everything", "new_rows", "rewrap"])
        key = self.new_key() if way == "rewrap" or chance.random() < 0.3 else None
        done = self.table.rotate(key, way=way)
        self.key = key or self.key
        assert done.table_rows == len(self.table)
        assert way != "everything" or done.domains == 1

    def alter(self):
        """A column more, less, under another name, with a wider range, or with a product that is summed."""
        chance = self.chance
        encrypted = [name for name, kind in self.added.items() if kind == "encrypt"]
        unpaired = [name for name in encrypted if name not in self.products]
        changes = [self.add] * (len(self.added) < 4) + [self.drop, self.rename] * bool(self.added)
        change = chance.choice([*changes, self.widen] + [self.pair] * bool(unpaired))
        asked = change(encrypted, unpaired)
        done = self.table.alter(**asked)
        assert done.changed and done.table_rows == len(self.table), asked
        assert not self.table.alter(**asked).changed, asked

    def add(self, encrypted, unpaired):
        kind, name = self.chance.choice(["encrypt", "encrypt", "clear", "seal"]), self.name()
        self.added[name] = kind
        self.types[name] = pyarrow.string() if kind == "seal" else pyarrow.int64()
        column = {"type": "text" if kind == "seal" else "int(64)", "protect": kind}
        if kind == "encrypt":
            self.most[name] = self.chance.choice([1, 1000, 10**6])
            column["range"] = [0, self.most[name]]
        self.db.execute(f"ALTER TABLE t ADD COLUMN {name} {'VARCHAR' if kind == 'seal' else 'BIGINT'}")
        return {"add": {name: column}}

    def name(self):
        self.columns += 1
        return f"x{self.columns}"

    def drop(self, encrypted, unpaired):
        name = self.chance.choice(list(self.added))
        for known in (self.added, self.types, self.most):
            known.pop(name, None)
        self.products.discard(name)
        self.db.execute(f"ALTER TABLE t DROP COLUMN {name}")
        return {"drop": [name]}

    def rename(self, encrypted, unpaired):
        old, new = self.chance.choice(list(self.added)), self.name()
        self.added = {new if name == old else name: kind for name, kind in self.added.items()}
        self.types = {new if name == old else name: kind for name, kind in self.types.items()}
        self.most = {new if name == old else name: most for name, most in self.most.items()}
        self.products = {new if name == old else name for name in self.products}
        self.db.execute(f"ALTER TABLE t RENAME COLUMN {old} TO {new}")
        return {"rename": {old: new}}

    def widen(self, encrypted, unpaired):
        name = self.chance.choice([*encrypted, "age"])
        self.most[name] = self.most[name] * self.chance.choice([2, 1000]) if self.most[name] < 10**12 else self.most[name] + 1
        return {"widen": {name: (0, self.most[name])}}

    def pair(self, encrypted, unpaired):
        name = self.chance.choice(unpaired)
        self.products.add(name)
        return {"products": [[name, "age"]]}

    def crash(self):
        """A command that is killed somewhere, and run once more: all of it is done, and once."""
        chance, name = self.chance, f"crash{self.crashes}"
        self.crashes += 1
        what = chance.choice(["append", "append", "delete", "compact", "rotate", "alter"])
        if what == "append":
            frame = self.frame(chance.randrange(1, 40))
            pyarrow.parquet.write_table(frame, self.directory / f"{name}.parquet")
            self.db.execute("INSERT INTO t SELECT * FROM frame")
            command = ("append", self.directory / f"{name}.parquet", "-o", self.place(), "--batch", name)
        elif what == "delete":
            named = ", ".join(f"'{one}'" for one in self.ids(3)) or "'nobody'"
            self.db.execute(f"DELETE FROM t WHERE id IN ({named})")
            command = ("delete", self.place(), f"id IN ({named})", "--all")
        elif what == "compact":
            command = ("compact", self.place(), "--all")
        elif what == "rotate":
            command = ("rotate", self.place(), *chance.choice([(), ("--new-rows",)]))
        else:
            ((column, keys),) = self.add(None, None)["add"].items()
            command = ("alter", self.place(), "--add", column_text(column, keys))
        self.killed += self.kill(command)
        done = subprocess.run([binary("hush"), *command, *self.of_key], capture_output=True, text=True)
        # What the killed one had deleted matches nothing any more.
        assert done.returncode == 0 or (what == "delete" and done.stderr.startswith("HUSH-C076")), (command, done.stderr)
        self.table = ht.open(self.place(), keys=self.key)

    def place(self):
        return self.directory / "T"

    def kill(self, command):
        """Kills it soon after it has stored a file, or at the beginning; gives whether it was killed before its end."""
        def look():
            return {path.name for path in self.place().rglob("*")}

        before = look()
        process = subprocess.Popen([binary("hush"), *command, *self.of_key], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        waits = self.chance.random() < 0.9
        while waits and process.poll() is None and look() <= before:
            time.sleep(0.0005)
        time.sleep(self.chance.choice([0, 0.001, 0.003, 0.01]))
        process.kill()
        return process.wait() != 0

    def purge(self):
        self.purges += 1
        self.table.purge(self.directory / f"purge{self.purges}.json")

    def queries(self):
        yield from self.QUERIES
        for name, kind in self.added.items():
            if kind == "encrypt":
                yield f"SELECT ward, SUM({name}) AS s, COUNT({name}) AS k, SUM(age) AS a FROM t GROUP BY ward ORDER BY ward NULLS LAST"
                yield f"SELECT ward, day, {name} FROM t WHERE ward = 'icu' ORDER BY day, {name} NULLS LAST LIMIT 20"
            elif kind == "clear":
                yield f"SELECT {name}, COUNT(*) AS n, SUM(cost) AS s FROM t GROUP BY {name} ORDER BY {name} NULLS LAST"
        for name in self.products:
            yield f"SELECT SUM({name} * age) AS p, SUM({name}) AS s FROM t"

    def check(self):
        for sql in self.queries():
            found = self.table.sql(sql).to_pyarrow().to_pylist()
            # DuckDB multiplies in 64 bits where nobody says otherwise.
            expected = self.db.execute(sql.replace(" * age)", " * age::HUGEINT)")).to_arrow_table().to_pylist()
            plain = [{name: _plain(value) for name, value in row.items()} for row in found]
            assert plain == [{name: _plain(value) for name, value in row.items()} for row in expected], sql
        given_back = self.table.decrypt().to_pyarrow().to_pylist()
        expected = self.db.execute("SELECT * FROM t").to_arrow_table().to_pylist()
        assert sorted(map(repr, given_back)) == sorted(map(repr, expected))

    def run(self, steps, look_every):
        for step in range(steps):
            # Rotations are rarer than daily work, and so are alterations, purges and crashes.
            often = [self.append, self.append, self.delete, self.delete, self.update, self.compact] * 2
            self.chance.choice([*often, self.rotate, self.purge, self.alter, self.alter, self.crash])()
            if step % look_every == 0:
                self.check()
        self.check()


def _plain(value):
    """A number whatever its type; a text that DuckDB and the table both give."""
    return decimal.Decimal(value) if isinstance(value, int | decimal.Decimal) else value
