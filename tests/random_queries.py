# SPDX-License-Identifier: Apache-2.0
"""Random queries on the tables of `random_tables`, and an oracle for them.

DuckDB selects rows, groups them, and evaluates arguments and windows in integers. Aggregates, expressions on them, `HAVING` and the
order of groups are worked out here in fractions and rounded once, so that nothing overflows or cancels.
"""

import dataclasses
import datetime
import decimal
import fractions
import math

from random_tables import WIDEST, atoms, by_cases, condition, key, polynomial

DIGITS = decimal.Context(prec=800)
ONES, NOTHING = "CAST(1 AS HUGEINT)", "CAST(0 AS HUGEINT)"


class Approximate(float):
    """A double that need not be the nearest one."""

    def __neg__(self):
        return Approximate(-float(self))


@dataclasses.dataclass
class Query:
    """Our SQL, DuckDB's SQL, and the function that makes the expected rows from DuckDB's rows."""

    ours: str
    duck: str
    finish: object


@dataclasses.dataclass
class Output:
    """A cell: our SQL, the expression that DuckDB computes for it, and the function that makes the value from DuckDB's."""

    ours: str
    duck: str
    value: object
    is_number: bool = True
    # Of doubles, whose sums may end in another bit: near values have no order.
    is_rounded: bool = False


def random_query(draw, table, source):
    """A query of groups or of rows; DuckDB reads the table from `source`."""
    table = table.opened() if draw.random() < 0.3 else table.served()
    return (grouped_query if draw.random() < 0.7 else row_query)(draw, table, source)


# --- Aggregates. ---


def root(square):
    """The double nearest to the root of a fraction."""
    return float(DIGITS.sqrt(DIGITS.divide(square.numerator, square.denominator)))


def moments(points, digits):
    """Count and sums of pairs (y, x) in units, then the sums of squares and of products about the means."""
    count = len(points)
    y_unit, x_unit = (10**places for places in digits)
    y_sum, x_sum = sum(y for y, _ in points), sum(x for _, x in points)
    about = lambda products, both, unit: fractions.Fraction(count * products - both, max(count, 1) * unit)
    return (
        count,
        fractions.Fraction(y_sum, y_unit),
        fractions.Fraction(x_sum, x_unit),
        about(sum(y * y for y, _ in points), y_sum * y_sum, y_unit**2),
        about(sum(x * x for _, x in points), x_sum * x_sum, x_unit**2),
        about(sum(y * x for y, x in points), y_sum * x_sum, y_unit * x_unit),
    )


OF_ONE = {
    "COUNT": lambda n, y, x, yy, xx, xy: n,
    "SUM": lambda n, y, x, yy, xx, xy: y if n else None,
    "AVG": lambda n, y, x, yy, xx, xy: float(y / n) if n else None,
    "VAR_POP": lambda n, y, x, yy, xx, xy: float(yy / n) if n else None,
    "VARIANCE": lambda n, y, x, yy, xx, xy: float(yy / (n - 1)) if n > 1 else None,
    "STDDEV": lambda n, y, x, yy, xx, xy: root(yy / (n - 1)) if n > 1 else None,
    "STDDEV_POP": lambda n, y, x, yy, xx, xy: root(yy / n) if n else None,
}
OF_TWO = {
    "COVAR_POP": lambda n, y, x, yy, xx, xy: float(xy / n) if n else None,
    "COVAR_SAMP": lambda n, y, x, yy, xx, xy: float(xy / (n - 1)) if n > 1 else None,
    "CORR": lambda n, y, x, yy, xx, xy: math.copysign(root(xy * xy / (xx * yy)), xy) if xx and yy else None,
    "REGR_COUNT": lambda n, y, x, yy, xx, xy: n,
    "REGR_AVGX": lambda n, y, x, yy, xx, xy: float(x / n) if n else None,
    "REGR_AVGY": lambda n, y, x, yy, xx, xy: float(y / n) if n else None,
    "REGR_SXX": lambda n, y, x, yy, xx, xy: float(xx) if n else None,
    "REGR_SYY": lambda n, y, x, yy, xx, xy: float(yy) if n else None,
    "REGR_SXY": lambda n, y, x, yy, xx, xy: float(xy) if n else None,
    "REGR_SLOPE": lambda n, y, x, yy, xx, xy: float(xy / xx) if xx else None,
    "REGR_INTERCEPT": lambda n, y, x, yy, xx, xy: float(y / n - xy / xx * x / n) if xx else None,
    "REGR_R2": lambda n, y, x, yy, xx, xy: (float(xy * xy / (xx * yy)) if yy else 1.0) if xx else None,
}


OF_SHAPE = {
    "SKEWNESS": lambda n, d2, d3, d4: math.copysign(root(n**2 * (n - 1) * d3**2 / ((n - 2) ** 2 * d2**3)), d3) if n > 2 and d2 else None,
    "KURTOSIS": lambda n, d2, d3, d4: float((n - 1) * (n * (n + 1) * d4 / d2**2 - 3 * (n - 1)) / ((n - 2) * (n - 3))) if n > 3 and d2 else None,
    "KURTOSIS_POP": lambda n, d2, d3, d4: float(n * d4 / d2**2 - 3) if d2 else None,
}


def deviations(values):
    """How many values there are, and the sums of the second to the fourth power of what they are off their mean."""
    count, total = len(values), sum(values)
    power = lambda exponent: fractions.Fraction(sum((count * value - total) ** exponent for value in values), max(count, 1) ** exponent)
    return count, power(2), power(3), power(4)


def value_of(name, points, digits):
    """An aggregate of pairs (y, x) in units."""
    if name in OF_SHAPE:
        return OF_SHAPE[name](*deviations([y for y, _ in points]))
    return {**OF_ONE, **OF_TWO}[name](*moments(points, digits))


def listed(call, name, y, x=NOTHING, digits=(0, 0), only=("", "")):
    """An aggregate of pairs (y, x) in units, some with FILTER. DuckDB makes a list of the pairs."""
    known = lambda rows: [row for row in rows or [] if None not in row]
    return Output(f"{call}{only[0]}", f"list([{y}, {x}]){only[1]}", lambda rows: value_of(name, known(rows), digits))


def of_values(call, pick, column, only=("", "")):
    """An aggregate that is a function of the values that a column has."""
    value, is_number = lambda rows: pick([cell for cell in rows or [] if cell is not None]), column.kind in ("int", "decimal", "float")
    is_rounded = column.duck_type == "DOUBLE" and not call.startswith("COUNT")
    return Output(f"{call}{only[0]}", f"list({column.duck}){only[1]}", value, is_number or call.startswith("COUNT"), is_rounded)


def only_where(when):
    """FILTER in both dialects, or nothing."""
    return tuple(f" FILTER (WHERE {text})" for text in when) if when else ("", "")


def aggregate(draw, table):
    """An aggregate, some with FILTER."""
    only = only_where(condition(draw, table) if draw.random() < 0.2 else None)
    parts, column = atoms(table), draw.choice(table.columns)
    shape = draw.random()
    if shape < 0.1 or not parts:
        return listed("COUNT(*)", "COUNT", ONES, only=only)
    if shape < 0.2:
        return count_of(column, only)
    if shape < 0.25 and column.kind == "bool":
        return listed(f"SUM({column.ours})", "SUM", f"CAST({column.duck} AS HUGEINT)", only=only)
    if shape < 0.22 and column.anywhere:
        return of_values(f"COUNT(DISTINCT {column.ours})", lambda cells: len(set(cells)), column, only)
    if shape < 0.3 and column.anywhere and column.kind in ("int", "decimal", "float"):
        name = draw.choice(["SUM", "AVG", "MIN", "MAX"] if column.duck_type == "DOUBLE" else ["MIN", "MAX"])
        return of_values(f"{name}({column.ours})", lambda cells: least_or_sum(name, cells, column), column, only)
    if shape < 0.36 and column.anywhere and column.kind in ("int", "decimal", "float"):
        return of_values(*in_order_of_values(draw, column), column, only)
    if shape < 0.65:
        name, term = draw.choice(["COUNT", "SUM", "SUM", "SUM", "AVG"]), by_cases(draw, table, parts)
    else:
        name, term = draw.choice([*OF_ONE, *OF_SHAPE]), polynomial(draw, parts, 1)
    if shape < 0.85:
        return of_term(name, term, only)
    return of_terms(draw.choice(list(OF_TWO)), term, polynomial(draw, parts, 1), only)


def count_of(column, only):
    """How many values a column has."""
    return listed(f"COUNT({column.ours})", "COUNT", f"CASE WHEN {column.duck} IS NOT NULL THEN {ONES} END", only=only)


def of_term(name, term, only):
    """An aggregate of a term."""
    return listed(f"{name}({term.ours})", name, term.duck, digits=(term.digits, 0), only=only)


def of_terms(name, term, other, only):
    """An aggregate of two terms."""
    return listed(f"{name}({term.ours}, {other.ours})", name, term.duck, other.duck, (term.digits, other.digits), only)


def in_order_of_values(draw, column):
    """A function of the values in their order: our SQL, and its value from cells."""
    part = decimal.Decimal(draw.choice(["0", "0.1", "0.25", "0.5", "0.5", "0.9", "0.999", "1"]))
    digits = column.digits * (column.duck_type == "HUGEINT")
    known = lambda pick: lambda cells: pick(sorted(cells)) if cells else None
    upto = lambda cells: max(math.ceil(fractions.Fraction(part) * len(cells)), 1) - 1

    def between(part, cells):
        place = fractions.Fraction(part) * (len(cells) - 1)
        low, high = (cells[min(math.floor(place) + step, len(cells) - 1)] for step in (0, 1))
        if column.kind in ("date", "timestamp"):
            return moment_between(low, high, place % 1)
        if column.duck_type == "DOUBLE":
            return Approximate(low + (high - low) * float(place % 1))
        return float((low + (high - low) * (place % 1)) / 10**digits)

    cell = lambda value: in_digits(value, digits)
    disc = [
        (f"MODE({column.ours})", known(lambda cells: cell(min(cells, key=lambda value: (-cells.count(value), value))))),
        (f"QUANTILE_DISC({column.ours}, {part})", known(lambda cells: cell(cells[upto(cells)]))),
        (f"PERCENTILE_DISC({part}) WITHIN GROUP (ORDER BY {column.ours} DESC)", known(lambda cells: cell(cells[::-1][upto(cells)]))),
    ]
    cont = [
        (f"MEDIAN({column.ours})", known(lambda cells: between(decimal.Decimal("0.5"), cells))),
        (f"QUANTILE_CONT({column.ours}, {part})", known(lambda cells: between(part, cells))),
        (f"PERCENTILE_CONT({part}) WITHIN GROUP (ORDER BY {column.ours} DESC)", known(lambda cells: between(1 - part, cells))),
    ]
    return draw.choice(disc if column.kind in ("bool", "text") else disc + cont)


def moment_between(low, high, part):
    """The timestamp that lies so far between two dates or timestamps, in whole microseconds."""
    first = low if isinstance(low, datetime.datetime) else datetime.datetime.combine(low, datetime.time())
    return first + datetime.timedelta(microseconds=math.floor((high - low) // datetime.timedelta(microseconds=1) * part))


def least_or_sum(name, values, column):
    """The least or greatest value, the sum or mean of doubles."""
    if not values:
        return None
    if name in ("MIN", "MAX"):
        return in_digits({"MIN": min, "MAX": max}[name](values), column.digits * (column.duck_type == "HUGEINT"))
    return Approximate(math.fsum(values) / (len(values) if name == "AVG" else 1))


def in_digits(value, digits):
    """Units as the number that they mean; other values as they are."""
    return fractions.Fraction(value, 10**digits) if digits and value is not None else value


def on_results(draw, parts):
    """An expression over aggregates, mostly a single aggregate: our SQL, and its value from the aggregates' values."""
    numbers = [place for place, part in enumerate(parts) if part.is_number]
    if not numbers or draw.random() > len(numbers) / len(parts):
        place = draw.choice([place for place in range(len(parts)) if place not in numbers])
        return parts[place].ours, lambda values: values[place]
    place, other = draw.choice(numbers), draw.choice(numbers)
    first, second = parts[place].ours, parts[other].ours
    known = lambda compute: lambda values: None if None in (values[place], values[other]) else compute(values[place], values[other])
    triple = lambda value: Approximate(value * 3 - 2) if isinstance(value, float) else value * 3 - 2
    return draw.choice([
        *[(first, lambda values: values[place])] * 7,
        (f"{first} / {second}", known(lambda a, b: Approximate(fractions.Fraction(a) / fractions.Fraction(b)) if b else None)),
        (f"-{first}", lambda values: None if values[place] is None else -values[place]),
        (f"{first} * 3 - 2", lambda values: None if values[place] is None else triple(values[place])),
        (f"COALESCE({first}, 0)", lambda values: 0 if values[place] is None else values[place]),
        (f"CASE WHEN {first} > 5 THEN 1 ELSE 0 END", lambda values: int(values[place] is not None and values[place] > 5)),
    ])


def having(draw, parts):
    """A condition over an aggregate and the count, which need not be in SELECT: our SQL and its truth."""
    place, limit = draw.choice([place for place, part in enumerate(parts) if part.is_number]), draw.choice([0, 0, 1, 3, 100])
    known = lambda test: lambda values: values[place] is not None and test(values[place])
    ours, test = draw.choice([
        (f"{parts[place].ours} > {limit}", known(lambda value: value > limit)),
        (f"NOT {parts[place].ours} > {limit}", known(lambda value: value <= limit)),
        (f"{parts[place].ours} IS NOT NULL", lambda values: values[place] is not None),
        (f"{parts[place].ours} BETWEEN -5 AND 5", known(lambda value: -5 <= value <= 5)),
    ])
    return draw.choice([(ours, test), (f"{ours} OR COUNT(*) > 2", lambda values: test(values) or values[-1] > 2)])


def grouped_query(draw, table, source):
    """Expressions on aggregates by up to two keys, with WHERE, HAVING, ORDER BY and LIMIT."""
    keys = [found for found in [key(draw, table) for _ in range(draw.choice([0, 1, 1, 2]))] if found]
    parts = [aggregate(draw, table) for _ in range(draw.randint(1, 4))]
    return of_groups(draw, keys, parts, filtered(draw, table), source)


def of_groups(draw, keys, parts, where, source):
    """Expressions on some aggregates by keys under a condition, with HAVING, ORDER BY and LIMIT."""
    keys = list({found[0]: found for found in keys}.values())
    of_key = lambda place, digits: lambda row: in_digits(row[0][place], digits)
    of_results = lambda value: lambda row: value(row[1])
    outputs = [(ours, of_key(place, digits)) for place, (ours, _, digits) in enumerate(keys)]
    outputs += [(ours, of_results(value)) for ours, value in [on_results(draw, parts) for _ in range(draw.randint(1, 4))]]
    rounded = [part.ours for part in parts if part.is_rounded]
    is_settled = lambda ours: (" / " not in ours or "floor" in ours) and not any(text in ours for text in rounded)
    ordered = [output for output in outputs if is_settled(output[0])]
    orders = [(*output, *direction(draw)) for output in draw.sample(ordered, draw.choice([0, 0, 1]) if ordered and keys else 0)]
    outputs = draw.sample(outputs, draw.randint(1, len(outputs)))
    where, duck_where = where
    kept, test = having(draw, parts) if draw.random() < 0.2 and any(part.is_number for part in parts) else ("", lambda values: True)
    limit, part = page(draw)

    text = f"SELECT {named(ours for ours, _ in outputs)} FROM t{where}"
    text += f" GROUP BY {', '.join(ours for ours, *_ in keys)}" * bool(keys) + f" HAVING {kept}" * bool(kept)
    text += "".join(f" ORDER BY {ours}{words}" for ours, _, _, _, words in orders) + limit
    listed = ", ".join([*(duck for _, duck, _ in keys), *(part.duck for part in parts), "COUNT(*)"])
    duck = f"SELECT {listed} FROM {source}{duck_where}"
    duck += f" GROUP BY {', '.join(str(place + 1) for place in range(len(keys)))}" * bool(keys)

    def finish(rows):
        size = len(keys)
        made = [(row[:size], [*(part.value(cell) for part, cell in zip(parts, row[size:])), row[-1]]) for row in rows]
        by_keys = [(of_key(place, 0), False, False) for place in range(size)]
        made = in_order([row for row in made if test(row[1])], [(value, *how) for _, value, *how, _ in orders] + by_keys)
        return [[value(row) for _, value in outputs] for row in made[part]]

    return Query(text, duck, finish)


# --- Rows. ---


def window(draw, table, parts):
    """A window function. If ties matter, they are in the order of the table."""
    partition = draw.choice(["", f"PARTITION BY {{{draw.randrange(len(table.columns))}}} "])
    peers = f"{partition}ORDER BY {{{draw.randrange(len(table.columns))}}}{direction(draw)[2]}"
    frame = draw.choice(["3 PRECEDING", "UNBOUNDED PRECEDING", "BETWEEN 2 PRECEDING AND 1 FOLLOWING",
                         "BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING", "BETWEEN 1 FOLLOWING AND 4 FOLLOWING"])
    total, moving = peers + "{tie}", f"{peers}{{tie}} ROWS {frame}"
    term = polynomial(draw, parts)
    exact = lambda cell: in_digits(cell, term.digits)
    mean = lambda cell: float(fractions.Fraction(cell[0], cell[1] * 10**term.digits)) if cell[1] else None
    # Our SQL, DuckDB's, the value, the window; `#` is the term, `@` the same as ours.
    choices = [
        *[(name, "@", int, total) for name in ("ROW_NUMBER()", "NTILE(4)")],
        *[(name, "@", int, peers) for name in ("RANK()", "DENSE_RANK()")],
        *[(name, "@", Approximate, peers) for name in ("PERCENT_RANK()", "CUME_DIST()")],
        *[(f"{name}(#, 2)", "@", exact, total) for name in ("LAG", "LEAD")],
        *[(f"{name}(#)", "@", exact, moving) for name in ("FIRST_VALUE", "LAST_VALUE")],
    ]
    for over in (moving, peers, partition):
        choices += [(f"{name}(#)", "@", exact, over) for name in ("MIN", "MAX")] + [("COUNT(#)", "@", int, over)]
        if term.bound * table.count < WIDEST:
            choices += [("SUM(#)", "@", exact, over), ("AVG(#)", "[SUM(#) OVER, COUNT(#) OVER]", mean, over)]
        if term.bound**2 * table.count < WIDEST:
            deviation = lambda cell: deviation_of(*cell, 10**term.digits) if cell[1] else None
            choices.append(("STDDEV_POP(#)", "[SUM(#) OVER, COUNT(#) OVER, SUM(# * #) OVER]", deviation, over))
        if table.count <= 400:
            name = draw.choice(list(OF_SHAPE))
            shape = lambda cell, name=name: OF_SHAPE[name](*deviations([value for value in cell or [] if value is not None]))
            choices.append((f"{name}(#)", "list(#) OVER", shape, over))
    ours, duck, value, over = draw.choice(choices)
    in_full = lambda text, names, inner, tie: text.replace("OVER", f"OVER ({over.format(*names, tie=tie)})").replace("#", inner)
    return Output(
        in_full(f"{ours} OVER", [column.ours for column in table.columns], term.ours, ""),
        in_full(duck.replace("@", f"{ours} OVER"), [column.duck for column in table.columns], f"({term.duck})", ", i"),
        value,
    )


def deviation_of(total, count, squares, unit):
    """The standard deviation from sums of units and of their squares."""
    return root(fractions.Fraction(squares * count - total**2, (count * unit) ** 2))


def cell_of_row(draw, table, parts):
    """A column, a polynomial, a window, or a function that the owner computes of polynomials after decryption."""
    column, shape = draw.choice(table.columns), draw.random()
    if shape < 0.3 or not parts:
        digits = column.digits if column.duck_type == "HUGEINT" else 0
        return Output(column.ours, column.duck, lambda cell: in_digits(cell, digits))
    if shape < 0.6:
        return window(draw, table, parts)
    first, second = polynomial(draw, parts), polynomial(draw, parts, 1)
    exact = Output(first.ours, first.duck, lambda cell: in_digits(cell, first.digits))
    quotient = lambda cell: None if cell is None else Approximate(fractions.Fraction(cell, 4 * 10**first.digits))
    compared = Output(f"CASE WHEN {first.ours} > {second.ours} THEN 1 ELSE 0 END",
                      f"CASE WHEN {first.plus(second, '-').duck} > 0 THEN 1 ELSE 0 END", int)
    return draw.choice([exact, exact, exact, Output(f"({first.ours}) / 4", first.duck, quotient), compared])


def row_query(draw, table, source):
    """One row for each matching row, in the order of a column or of the table."""
    parts = atoms(table)
    cells = [cell_of_row(draw, table, parts) for _ in range(draw.randint(1, 4))]
    where, column = filtered(draw, table), draw.choice(table.columns)
    return of_rows(draw, cells, where, [column] if draw.random() < 0.4 else [], page(draw), source)


def of_rows(draw, cells, where, columns, paged, source):
    """Some cells of each row under a condition, in the order of columns and then of the table."""
    words = [direction(draw)[2] for _ in columns]
    order = ", ".join(f"{column.ours}{how}" for column, how in zip(columns, words))
    duck_order = "".join(f"{column.duck}{how}, " for column, how in zip(columns, words))
    text = f"SELECT {named(cell.ours for cell in cells)} FROM t{where[0]}" + f" ORDER BY {order}" * bool(order) + paged[0]
    duck = f"SELECT {', '.join(cell.duck for cell in cells)} FROM {source}{where[1]} ORDER BY {duck_order}i"
    return Query(text, duck, lambda rows: [[c.value(cell) for c, cell in zip(cells, row)] for row in rows[paged[1]]])


# --- Clauses. ---


def named(expressions):
    """The list of outputs, each with a name: some that the program uses too, for others of its columns."""
    texts = list(expressions)
    return ", ".join(f"{text} AS {'kca'[place % 3]}{(place + 1) % len(texts)}" for place, text in enumerate(texts))


def filtered(draw, table):
    """WHERE or nothing, in both dialects."""
    return where_of(condition(draw, table) if draw.random() < 0.5 else None)


def where_of(when):
    """WHERE of a condition or of none, in both dialects."""
    return tuple(f" WHERE {text}" for text in when) if when else ("", "")


def direction(draw):
    """Whether descending, whether NULLs come first, and the words for it."""
    descending, nulls_first = draw.random() < 0.5, draw.random() < 0.5
    return descending, nulls_first, f" {'DESC' if descending else 'ASC'} NULLS {'FIRST' if nulls_first else 'LAST'}"


def page(draw):
    """LIMIT and OFFSET or nothing: our SQL and the slice."""
    if draw.random() < 0.75:
        return "", slice(None)
    limit, offset = draw.choice([1, 3, 100]), draw.choice([0, 0, 1, 5])
    return f" LIMIT {limit} OFFSET {offset}", slice(offset, offset + limit)


def in_order(rows, columns):
    """Rows by (value of a row, whether descending, whether NULLs come first); the first counts most."""
    for value, descending, nulls_first in reversed(columns):
        missing = [row for row in rows if value(row) is None]
        present = sorted((row for row in rows if value(row) is not None), key=value, reverse=descending)
        rows = missing + present if nulls_first else present + missing
    return rows
