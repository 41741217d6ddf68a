# SPDX-License-Identifier: Apache-2.0
"""Random schemas, tables and expressions, each expression in our SQL and in that of DuckDB.

DuckDB holds exact numbers in *units*, integers of 128 bits: a decimal of two digits after the point as its hundredfold. So it
computes without rounding, and the digits are put back afterwards. A `Term` knows its bound, so no term is drawn that overflows.

Comments with an error code (HUSH-E050) tell of expressions that are not drawn, because they fail today.
"""

import csv
import dataclasses
import datetime
import decimal
import json

ROWS = [1, 2, 7, 60, 60, 400, 2500, 8191, 8192, 8193]
NAMES = ["x", "N", "a b", "Größe", "select", "count", "row", "t", "c'q", "in%"]
TEXTS = ["a", "b", "ab", "a%", "é", "a,b", "it's", 'say "a"', "A", "1", "日本", "_"]
BITS = [1, 3, 7, 15, 20, 31, 45, 62, 63]
WIDEST = 2**126
EPOCH = datetime.datetime(1970, 1, 1)
DAYS = (-719162, 2932896)
FUNCTIONS = {"int": ["abs({0})", "{0} % 7", "coalesce({0}, 3)"], "text": ["upper({0})", "left({0}, 1)", "coalesce({0}, 'a')"]}
COMPARISONS = ["=", "<>", "<", "<=", ">", ">="]
UNITS = ["second", "hour", "day", "week", "month", "quarter", "year"]
# Patterns of SIMILAR TO, and the regular expressions that match a whole text as they do.
SIMILAR = [("a%", "a.*"), ("_", "."), ("(a|b)+", "(a|b)+"), ("%''%", ".*''.*"), ("[a-b]%", "[a-b].*"), ("a.b", "a[.]b"), ("%é%", ".*é.*"),
           ("a{2,3}|b", "a{2,3}|b"), ("[^a]+", "[^a]+"), ("a\\%", "a%"), ("%\\_%", ".*_.*"), ("[[:digit:]]+", "[0-9]+"), ("b", "b")]


@dataclasses.dataclass
class Column:
    """A column: values are units of `digits` digits after the point, days, microseconds, truths or texts from low to high."""

    name: str
    kind: str
    type: str
    duck: str
    protect: str
    nullable: bool
    digits: int = 0
    low: int = 0
    high: int = 1
    ranged: bool = False
    open: bool = False
    purposes: tuple = ()

    @property
    def ours(self):
        """Its name in our SQL."""
        return f'"{self.name}"'

    @property
    def anywhere(self):
        """Whether a query may have it anywhere: it is clear, or asked where the owner answers."""
        return self.protect == "clear" or self.open

    @property
    def encrypted(self):
        """Whether it is encrypted, so that a float is the decimal of its digits."""
        return self.protect == "encrypt"

    @property
    def exact(self):
        """Whether polynomials have it as it is."""
        return self.kind in ("int", "decimal") or self.kind == "float" and self.encrypted

    @property
    def functions(self):
        """Functions of it. The least number of 64 bits has no absolute value there (HUSH-E050)."""
        return [text for text in FUNCTIONS.get(self.kind, []) if "abs" not in text or self.low > -(2**63)]

    @property
    def duck_type(self):
        """Type in DuckDB."""
        if self.kind == "float" and not self.encrypted:
            return "DOUBLE"
        return {"bool": "BOOLEAN", "date": "DATE", "timestamp": "TIMESTAMP", "text": "VARCHAR"}.get(self.kind, "HUGEINT")

    def text(self, value):
        """A value as the file has it."""
        if value is None:
            return ""
        if self.kind in ("decimal", "float"):
            return f"{decimal.Decimal(value).scaleb(-self.digits):f}"
        if self.kind == "date":
            return (EPOCH + datetime.timedelta(days=value)).date().isoformat()
        if self.kind == "timestamp":
            return (EPOCH + datetime.timedelta(microseconds=value)).isoformat()
        return ("false", "true")[value] if self.kind == "bool" else str(value)

    def literal(self, value):
        """A value in our SQL and in DuckDB's."""
        text = self.text(value)
        if self.kind == "bool":
            return text, text
        if self.kind in ("date", "timestamp"):
            return f"{self.kind.upper()} '{text}'", f"{self.kind.upper()} '{text}'"
        if self.kind == "text":
            quoted = text.replace("'", "''")
            return f"'{quoted}'", f"'{quoted}'"
        return text, f"CAST({text} AS DOUBLE)" if self.duck_type == "DOUBLE" else f"CAST({value} AS HUGEINT)"

    def schema(self):
        """Its section of the schema file."""
        lines = [f'[columns."{self.name}"]', f'type = "{self.type}"', f'protect = "{self.protect}"']
        lines += ["nullable = true"] if self.nullable else []
        lines += [f'range = ["{self.text(self.low)}", "{self.text(self.high)}"]'] if self.ranged else []
        lines += [f"for = {json.dumps(self.purposes)}"] if self.purposes else []
        return "\n".join(lines) + "\n"


def interval(draw, limit):
    """Bounds of values up to `limit`: all, from zero, a few at the end, a single one."""
    return draw.choice([(-limit, limit), (-limit, limit), (0, limit), (max(limit - 3, 0), limit), (-limit, -limit)])


def random_column(draw, number, name):
    """A column of any type."""
    kind = draw.choice(["int", "int", "int", "decimal", "decimal", "float", "bool", "date", "timestamp", "text", "text"])
    protect = draw.choice(["clear", "clear", "clear", "seal"]) if kind == "text" else draw.choices(["clear", "encrypt", "seal"], [9, 10, 1])[0]
    column = Column(name, kind, kind, f"c{number}", protect, draw.random() < 0.5)
    if kind == "int":
        bits = draw.choice(BITS)
        column.low, column.high = interval(draw, 2**bits - max(draw.randint(0, 1), bits - 62))
        if bits == 63 and draw.random() < 0.5:
            column.low, column.high = -(2**63), 2**63 - 1
        column.type = f"int({draw.choice([size for size in (8, 16, 32, 64) if size - 1 > bits or size == 64])})"
    elif kind == "decimal":
        precision = draw.choice([2, 5, 9, 12, 18, 25])
        column.digits = draw.randint(0, min(precision, 6))
        column.low, column.high = interval(draw, 10**precision - 1)
        column.type = f"decimal({precision},{column.digits})"
    elif kind == "float":
        column.digits = draw.randint(0, 5)
        column.low, column.high = interval(draw, 10 ** draw.randint(1, 9))
        column.type = f"float({column.digits})"
    elif kind == "date":
        column.low, column.high = draw.choice([DAYS, (18000, 20000), (-5, 5)])
    elif kind == "timestamp":
        column.low, column.high = (86_400_000_000 * day for day in draw.choice([DAYS, (18000, 20000), (-1, 1)]))
    elif kind == "text":
        column.type = draw.choice(["category", "text"])
    column.ranged = kind == "float" or kind in ("int", "decimal") and draw.random() < 0.85
    return column


def random_cells(draw, column, count):
    """Values of a column: few or many different ones, the ends of the range, and any number of NULLs."""
    uniform = lambda: draw.choice([column.low, column.high, *[draw.randint(column.low, column.high)] * 6])
    if column.kind == "text":
        many = [f"{text}{number}" for number in range(30) for text in TEXTS]
        pool = draw.choice([TEXTS[:1], TEXTS[:4], TEXTS, many])
    else:
        pool = [uniform() for _ in range(draw.choice([1, 2, 4, 20, 400, 400, count]))]
    missing = draw.choice([0.02, 0.2, 0.9, 1]) if column.nullable else 0
    return [None if row and draw.random() < missing else draw.choice(pool) for row in range(count)]


@dataclasses.dataclass
class Table:
    """Columns and their cells, column by column; the lines of the schema on what is prepared of them."""

    columns: list
    cells: list
    max_rows: int | None
    prepared: tuple = ()

    @property
    def count(self):
        """Number of rows."""
        return len(self.cells[0])

    def opened(self):
        """The table to a query that may ask anything of any column."""
        return dataclasses.replace(self, columns=[dataclasses.replace(column, open=True) for column in self.columns])

    def served(self):
        """The table to a query of clear columns and sums of encrypted ones; all of it if every column is sealed."""
        kept = [place for place, column in enumerate(self.columns) if column.protect != "seal"]
        columns, cells = ([listed[place] for place in kept] for listed in (self.columns, self.cells))
        return Table(columns, cells, self.max_rows) if kept else self.opened()

    def write(self, directory):
        """Writes the file and its schema for us, and a file in units for DuckDB. Returns the `read_csv` of that."""
        head = [f"max_rows = {self.max_rows}"] if self.max_rows else []
        head = ["format = 1", 'table = "t"', 'status = "approved"', *head, *self.prepared]
        schema = "\n".join([*head, *(column.schema() for column in self.columns)])
        (directory / "t.toml").write_text(schema, encoding="utf-8")
        self.write_rows(directory / "t.csv", range(self.count))
        in_units = lambda column: column.text if column.duck_type != "HUGEINT" else lambda value: "" if value is None else value
        units = [map(in_units(column), cells) for column, cells in zip(self.columns, self.cells)]
        names = {"i": "BIGINT", **{column.duck: column.duck_type for column in self.columns}}
        write_csv(directory / "units.csv", names, zip(range(self.count), *units))
        return f"read_csv('{directory / 'units.csv'}', columns={names}, header=true, nullstr='')"

    def write_rows(self, path, rows):
        """Writes a file of some of the rows for us."""
        lines = ([column.text(cells[row]) for column, cells in zip(self.columns, self.cells)] for row in rows)
        write_csv(path, [column.name for column in self.columns], lines)


def write_csv(path, header, rows):
    """Writes a file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


def random_table(draw):
    """Two to six columns, from one row to more than a chunk."""
    names = draw.sample(NAMES, draw.randint(2, 6))
    columns = [random_column(draw, number, name) for number, name in enumerate(names)]
    count = draw.choice(ROWS)
    return Table(columns, [random_cells(draw, column, count) for column in columns], draw.choice([None, None, count]))


@dataclasses.dataclass
class Term:
    """An exact number in our SQL, and in DuckDB's as units of `digits` digits after the point, at most `bound` of them."""

    ours: str
    duck: str
    digits: int
    bound: int
    degree: int = 0

    def times(self, other):
        """The product."""
        digits, degree = self.digits + other.digits, self.degree + other.degree
        return Term(f"{self.ours} * {other.ours}", f"{self.duck} * {other.duck}", digits, self.bound * other.bound, degree)

    def plus(self, other, sign):
        """The sum or the difference."""
        digits = max(self.digits, other.digits)
        raised = [(term.duck, 10 ** (digits - term.digits)) for term in (self, other)]
        duck = sign.join(f"{text} * CAST({factor} AS HUGEINT)" for text, factor in raised)
        bound = sum(term.bound * factor for term, (_, factor) in zip((self, other), raised))
        return Term(f"{self.ours} {sign} {other.ours}", f"({duck})", digits, bound, max(self.degree, other.degree))


def constant(draw):
    """A small number, some with digits after the point."""
    units, digits = draw.randint(1, 9), draw.choice([0, 0, 0, 1, 2])
    return Term(f"{decimal.Decimal(units).scaleb(-digits):f}", f"CAST({units} AS HUGEINT)", digits, units)


def atoms(table):
    """The terms of a table's polynomials: its exact columns, clear floats as decimals, differences of dates."""
    found = []
    for column in table.columns:
        bound, degree = max(abs(column.low), abs(column.high)), int(column.encrypted)
        if column.kind == "bool":
            # Without CAST it can be in a polynomial, but is none by itself.
            found.append(Term(f"CAST({column.ours} AS INT)", f"CAST({column.duck} AS HUGEINT)", 0, 1, degree))
        elif column.exact:
            found.append(Term(column.ours, f"CAST({column.duck} AS HUGEINT)", column.digits, bound, degree))
        elif column.kind == "float":
            units = f"CAST(round({column.duck} * {10**column.digits}) AS HUGEINT)"
            found.append(Term(f"CAST({column.ours} AS DECIMAL(15,{column.digits}))", units, column.digits, bound))
        for other in table.columns:
            if column.kind == other.kind and column.kind in ("date", "timestamp"):
                found.append(difference(column, other))
    return found


def difference(column, other):
    """Days between two dates, microseconds between two timestamps."""
    duck = f"date_diff('{'day' if column.kind == 'date' else 'microsecond'}', {other.duck}, {column.duck})"
    bound = column.high - column.low + other.high - other.low + abs(column.low - other.low)
    degree = int(column.encrypted or other.encrypted)
    return Term(f"({column.ours} - {other.ours})", f"CAST({duck} AS HUGEINT)", 0, bound, degree)


def monomial(draw, parts, degree):
    """A column or a product of several, with a factor."""
    found = draw.choice(parts)
    if found.degree > degree:
        return constant(draw)
    while draw.random() < 0.35:
        factor = draw.choice(parts)
        if found.degree + factor.degree > degree or found.bound * factor.bound >= WIDEST // 2**20:
            break
        found = found.times(factor)
    if draw.random() < 0.4 and found.bound < WIDEST // 2**30:
        found = constant(draw).times(found)
    return found


def polynomial(draw, parts, degree=4):
    """A sum of up to three products, of a degree in encrypted columns."""
    found = monomial(draw, parts, degree)
    while draw.random() < 0.35:
        more = constant(draw) if draw.random() < 0.4 else monomial(draw, parts, degree)
        candidate = found.plus(more, draw.choice("+-"))
        if candidate.bound < WIDEST:
            found = candidate
    factor = draw.choice(parts)
    if 0 < degree >= found.degree + factor.degree and found.bound * factor.bound < WIDEST // 2**20 and draw.random() < 0.15:
        return dataclasses.replace(found, ours=f"({found.ours})").times(factor)
    return found


def by_cases(draw, table, parts):
    """A polynomial, or one of two by a condition."""
    first = polynomial(draw, parts)
    when = condition(draw, table)
    if when is None or draw.random() < 0.75:
        return first
    second = polynomial(draw, parts)
    if draw.random() < 0.3 or first.digits != second.digits:
        ours, duck, bound = "", "", first.bound
    else:
        ours, duck, bound = f" ELSE {second.ours}", f" ELSE {second.duck}", max(first.bound, second.bound)
    both = [f"CASE WHEN {test} THEN {text}{other} END" for test, text, other in zip(when, (first.ours, first.duck), (ours, duck))]
    return Term(both[0], both[1], first.digits, bound, max(first.degree, second.degree))


# Some leave it to precedence which conditions belong together.
JOINED = ["({} AND {})", "({} OR {})", "(NOT {} AND {})", "NOT ({} OR NOT {})", "({} AND {} OR {})", "({} OR NOT {} AND {})"]


def condition(draw, table, depth=2):
    """A condition in both dialects, or None if there is no column for it."""
    columns = [number for number, column in enumerate(table.columns) if column.anywhere]

    def one():
        number = draw.choice(columns)
        return simple_condition(draw, table.columns[number], table.cells[number], table)

    return joined(draw, one, depth) if columns else None


def joined(draw, one, depth=2):
    """Conditions that AND, OR and NOT join, in both dialects."""
    if depth and draw.random() < 0.35:
        pattern = draw.choice(JOINED)
        sides = [joined(draw, one, depth - 1) for _ in range(pattern.count("{}"))]
        return tuple(pattern.format(*texts) for texts in zip(*sides))
    return tuple(one())


def simple_condition(draw, column, cells, table):
    """A condition on one column, with values that it has; on numbers sometimes on a polynomial."""
    names = column.ours, column.duck
    if draw.random() < 0.1:
        return [f"{name} IS {draw_not}NULL" for draw_not in [draw.choice(["", "NOT "])] for name in names]
    values = [cell for cell in draw.sample(cells, min(len(cells), 12)) if cell is not None] or [column.low]
    some = [column.literal(value if column.kind != "text" else str(value)) for value in draw.choices(values, k=4)]
    both = lambda pattern: [pattern.format(name, *[text[side] for text in some]) for side, name in enumerate(names)]
    if column.kind == "bool":
        return both(draw.choice(["{0}", "NOT {0}", "{0} IS TRUE", "{0} = {1}", "{0} IS NOT FALSE"]))
    if column.kind == "text" and draw.random() < 0.4:
        pattern = draw.choice(["a%", "%a%", "_", "%''%", "a\\%%", "%é%"])
        negated = draw.choice(["", "NOT "])
        return [f"{names[0]} {negated}LIKE '{pattern}'", f"{names[1]} {negated}LIKE '{pattern}' ESCAPE '\\'"]
    if column.kind == "text" and draw.random() < 0.3:
        (pattern, regex), negated = draw.choice(SIMILAR), draw.choice(["", "NOT "])
        return [f"{names[0]} {negated}SIMILAR TO '{pattern}'", f"{negated}regexp_full_match({names[1]}, '{regex}', 's')"]
    if column.kind in ("date", "timestamp") and draw.random() < 0.5:
        return time_condition(draw, column, values)
    if column.kind in ("int", "decimal") and draw.random() < 0.3:
        others = [c for c in table.columns if c.anywhere and c.kind == "int"]
        parts = [part for c in [column, *others] for part in atoms(Table([c], [], None))]
        found = next(drawn for drawn in iter(lambda: polynomial(draw, parts, 0), None) if drawn.bound < WIDEST // 2**10)
        other, sign = constant(draw), draw.choice(COMPARISONS)
        return [f"{found.ours} {sign} {other.ours}", f"{found.plus(other, '-').duck} {sign} 0"]
    alike = lambda other: (other.kind, other.duck_type) == (column.kind, column.duck_type) and (other.duck_type != "HUGEINT" or other.digits == column.digits)
    others = [other for other in table.columns if other.anywhere and alike(other)]
    if draw.random() < 0.15:
        other, sign = draw.choice(others), draw.choice([*COMPARISONS, "IS DISTINCT FROM"])
        return [f"{names[0]} {sign} {other.ours}", f"{names[1]} {sign} {other.duck}"]
    if column.functions and draw.random() < 0.2:
        return both(draw.choice(column.functions) + " " + draw.choice(COMPARISONS) + " {1}")
    if draw.random() < 0.5:
        return both(draw.choice(["{0} IN ({1}, {2}, {3})", "{0} NOT IN ({1}, {2})", "{0} BETWEEN {1} AND {2}"]))
    return both("{0} " + draw.choice(COMPARISONS) + " {1}")


def time_condition(draw, column, values):
    """A date or a timestamp beside a timestamp, a text or a number, up to the year 9999."""
    name, duck, sign = column.ours, f"CAST({column.duck} AS TIMESTAMP)", draw.choice(COMPARISONS)
    micros = draw.choice(values) * (86_400_000_000 if column.kind == "date" else 1)
    micros = draw.choice([micros, micros, 86_400_000_000 * DAYS[0], 86_400_000_000 * DAYS[1], 0])
    instant = (EPOCH + datetime.timedelta(microseconds=micros)).isoformat()
    stamp, unit = f"TIMESTAMP '{instant}'", draw.choice(UNITS)
    text = f"'{instant[:10] if column.kind == 'date' else instant}'"
    return draw.choice([
        [f"{name} {sign} {stamp}", f"{duck} {sign} {stamp}"],
        [f"{stamp} {sign} {name}", f"{stamp} {sign} {duck}"],
        [f"{name} {sign} {text}", f"{duck} {sign} TIMESTAMP {text}"],
        [f"{name} IN ({stamp}, {text})", f"{duck} IN ({stamp}, TIMESTAMP {text})"],
        [f"{name} BETWEEN {stamp} AND TIMESTAMP '9999-12-31'", f"{duck} BETWEEN {stamp} AND TIMESTAMP '9999-12-31'"],
        [f"date_trunc('{unit}', {name}) {sign} {stamp}", f"date_trunc('{unit}', {duck}) {sign} {stamp}"],
        [f"extract(year FROM {name}) {sign} {instant[:4]}", f"extract(year FROM {duck}) {sign} {instant[:4]}"],
        [f"greatest({name}, {stamp}) {sign} {text}", f"greatest({duck}, {stamp}) {sign} TIMESTAMP {text}"],
    ])


def key(draw, table):
    """An expression to group by, in both dialects with the digits after the point, or None."""
    columns = [column for column in table.columns if column.anywhere]
    if not columns:
        return None
    column = draw.choice(columns)
    ours, duck, digits = column.ours, column.duck, column.digits if column.duck_type == "HUGEINT" else 0
    shape = draw.choice(["column", "column", "part", "part", "case", "function", "truth"])
    when = condition(draw, table, 1)
    if shape == "truth":
        return draw.choice([(*when, 0), (f"{ours} IS NULL", f"{duck} IS NULL", 0)])
    if shape == "function" and column.functions:
        function = draw.choice(column.functions)
        return function.format(ours), function.format(duck), 0
    if shape == "case":
        choose = [f"CASE WHEN {test} THEN 'yes'{other} END" for other in [draw.choice(["", " ELSE 'no'"])] for test in when]
        return (*choose, 0)
    if shape == "part" and column.kind in ("date", "timestamp"):
        part = draw.choice(["year", "month", "day", "quarter"])
        if draw.random() < 0.4:
            return f"date_trunc('{part}', {ours})", f"date_trunc('{part}', CAST({duck} AS TIMESTAMP))", 0
        return f"date_part('{part}', {ours})", f"date_part('{part}', {duck})", 0
    if shape == "part" and column.kind == "int":
        # The division of integers truncates, as `//` in DuckDB does; `floor` makes a double of the quotient.
        width, whole = draw.choice([2, 10, 1000]), "floor" if abs(column.low) + abs(column.high) < 2**53 else ""
        histogram = f"{whole}({ours} / {width})", f"{duck} // {width}", 0
        return draw.choice([histogram, (f"{ours} % {width}", f"{duck} % {width}", 0)])
    # Without a digit before the point, and at the end of its type, `floor` fails (HUSH-E050).
    if shape == "part" and column.kind == "decimal" and column.type != f"decimal({digits},{digits})":
        unit = 10 * 10**digits
        return f"floor({ours} / 10)", f"({duck} - (({duck} % {unit}) + {unit}) % {unit}) // {unit}", 0
    return ours, duck, digits
