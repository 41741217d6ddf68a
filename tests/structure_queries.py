# SPDX-License-Identifier: Apache-2.0
"""Random queries that a structure of `random_structures` can answer, most of them, in our SQL and in DuckDB's.

Constants stand where cells begin and end, or are values of a run's column and what is next to them. A few questions are off by one, and
other ways answer them.
"""

import dataclasses
import datetime

from random_queries import (
    OF_ONE,
    OF_TWO,
    ONES,
    Output,
    aggregate,
    count_of,
    in_digits,
    in_order_of_values,
    least_or_sum,
    listed,
    of_groups,
    of_rows,
    of_term,
    of_terms,
    of_values,
    only_where,
    page,
    where_of,
    window,
)
from random_structures import DAY_MICROS, MONTHS, bounds, opened
from random_tables import COMPARISONS, DAYS, EPOCH, WIDEST, Table, Term, atoms, condition, constant, joined, key, simple_condition

EDGES = ["{0} >= {1}", "{0} < {1}", "{1} <= {0}", "{1} > {0}", "{0} > {2}", "{0} <= {2}", "{0} BETWEEN {1} AND {4}",
         "{0} NOT BETWEEN {1} AND {4}", "{0} >= {1} AND {0} < {3}", "{0} = {1}", "{0} IN ({1}, {3})"]  # fmt: skip
VALUES = ["{0} {5} {1}", "{0} {5} {1}", "{1} {5} {0}", "{0} BETWEEN {1} AND {2}", "{0} NOT BETWEEN {1} AND {2}",
          "{0} IN ({1}, {2}, {3})", "{0} NOT IN ({1}, {4})"]  # fmt: skip
SUMMED = ["COUNT", "SUM", "SUM", "AVG"]


def structure_query(draw, table, structure, source):
    """A question of a structure."""
    if structure.kind != "order":
        return cells_query(draw, table, structure, source)
    return (segments_query if draw.random() < 0.55 else run_rows_query)(draw, table, structure, source)


def part_of(table, columns):
    """Some columns of a table, open."""
    places = [[column.name for column in table.columns].index(column.name) for column in columns]
    return Table([opened(table.columns[place]) for place in places], [table.cells[place] for place in places], None)


def literals(column, values):
    """Values in both dialects; those of times that no calendar has are its ends."""
    if column.kind in ("date", "timestamp"):
        day = DAY_MICROS if column.kind == "timestamp" else 1
        values = [min(max(value, DAYS[0] * day), DAYS[1] * day) for value in values]
    return zip(*map(column.literal, values))


def in_both(column, pattern, values, sign=""):
    """A pattern of a column and values, in both dialects."""
    sides = zip((column.ours, column.duck), literals(column, values))
    return tuple(pattern.format(name, *texts, sign) for name, texts in sides)


# --- Cells: cubes, and sums by hidden values. ---


def cells_query(draw, table, structure, source):
    """A grouped query on the cells of a structure."""
    dimensions = structure.by
    exact = part_of(table, [dimension.column for dimension in dimensions if dimension.is_exact])
    clear = part_of(table, [column for column in table.columns if column.protect == "clear"])
    if structure.kind == "cubes":
        clear.columns.clear()
    one = lambda: cell_condition(draw, draw.choice(dimensions), exact)
    when = lambda depth=2: joined(draw, one, depth)

    def cell_key():
        dimension = draw.choice(dimensions)
        if clear.columns and draw.random() < 0.25:
            return key(draw, clear)
        if dimension.is_exact and draw.random() < 0.8:
            return key(draw, part_of(table, [dimension.column]))
        if dimension.grain in MONTHS:
            unit, stamp = draw.choice(units(dimension)), f"CAST({dimension.column.duck} AS TIMESTAMP)"
            name = draw.choice(["date_trunc", "date_part"])
            return f"{name}('{unit}', {dimension.column.ours})", f"{name}('{unit}', {stamp})", 0
        return case_key(draw, when)

    def cell_aggregate():
        only = only_where(when(1) if draw.random() < 0.25 else None)
        shape, dimension = draw.random(), draw.choice(dimensions)
        if shape < 0.15:
            return listed("COUNT(*)", "COUNT", ONES, only=only)
        if shape < 0.4 and dimension.is_exact:
            return of_dimension(draw, dimension.column, only)
        return sum_aggregate(draw, structure.sums, exact, when, only)

    keys = [cell_key() for _ in range(draw.choice([0, 1, 1, 2]))]
    parts = [cell_aggregate() for _ in range(draw.randint(1, 4))]
    where = when() if draw.random() < 0.7 or structure.kind == "group" and not keys else None
    beside = condition(draw, clear, 1) if clear.columns and draw.random() < 0.7 else None
    if where and beside:
        where = tuple(f"{one} AND {other}" for one, other in zip(where, beside))
    return of_groups(draw, keys, parts, where_of(where or beside), source)


def case_key(draw, when):
    """A key that is a condition, or what is chosen by it."""
    test = when(1)
    if draw.random() < 0.3:
        return (*test, 0)
    other = draw.choice(["", " ELSE 'no'"])
    return (*(f"CASE WHEN {text} THEN 'yes'{other} END" for text in test), 0)


def units(dimension):
    """The parts of dates that do not part cells."""
    return [unit for unit, months in MONTHS.items() if months % MONTHS[dimension.grain] == 0]


def cell_condition(draw, dimension, exact):
    """A condition that does not part cells."""
    column = dimension.column
    if draw.random() < 0.1:
        negation = draw.choice(["", "NOT "])
        return f"{column.ours} IS {negation}NULL", f"{column.duck} IS {negation}NULL"
    if dimension.is_exact:
        place = [known.name for known in exact.columns].index(column.name)
        return simple_condition(draw, column, exact.cells[place], exact)
    if dimension.grain in MONTHS and draw.random() < 0.4:
        return calendar_condition(draw, dimension)
    ends = [*dimension.starts, bounds(column)[1] + 1]
    place, other = sorted(draw.choices(range(len(ends)), k=2))
    beyond = draw.choice([0, 0, 0, 0, 0, 0, 0, -7 if place == 0 else 7 if place == len(ends) - 1 else 0])
    values = [ends[place] + beyond, ends[place] - 1 + beyond, ends[other], ends[other] - 1]
    return in_both(column, draw.choice(EDGES), values)


def calendar_condition(draw, dimension):
    """A condition on the year, the quarter or the month."""
    column, unit = dimension.column, draw.choice(units(dimension))
    start, sign = draw.choice(dimension.starts), draw.choice(COMPARISONS)
    day = (EPOCH + datetime.timedelta(days=start // (DAY_MICROS if column.kind == "timestamp" else 1))).date()
    number = {"year": day.year, "quarter": (day.month + 2) // 3, "month": day.month}[unit]
    stamp = f"CAST({column.duck} AS TIMESTAMP)"
    return draw.choice([
        (f"date_part('{unit}', {column.ours}) {sign} {number}", f"date_part('{unit}', {stamp}) {sign} {number}"),
        (f"EXTRACT({unit} FROM {column.ours}) IN ({number}, 2)", f"date_part('{unit}', {stamp}) IN ({number}, 2)"),
        (f"date_trunc('{unit}', {column.ours}) {sign} TIMESTAMP '{day}T00:00:00'", f"date_trunc('{unit}', {stamp}) {sign} TIMESTAMP '{day}'"),
    ])


def of_dimension(draw, column, only):
    """An aggregate of the values of a column: of their number, their ends and their order; of numbers sums as well."""
    if draw.random() < 0.15:
        return count_of(column, only)
    if column.kind == "bool" or draw.random() < 0.2:
        return of_values(f"COUNT(DISTINCT {column.ours})", lambda cells: len(set(cells)), column, only)
    if column.exact and draw.random() < 0.4:
        return of_term(draw.choice(list(OF_ONE)), atoms(Table([column], [], None))[0], only)
    if draw.random() < 0.5:
        name = draw.choice(["MIN", "MAX"])
        return of_values(f"{name}({column.ours})", lambda cells: least_or_sum(name, cells, column), column, only)
    return of_values(*in_order_of_values(draw, column), column, only)


def sum_aggregate(draw, sums, exact, when, only):
    """An aggregate of what is added up: with weights, constants and by cases."""
    if not sums:
        return listed("COUNT(*)", "COUNT", ONES, only=only)
    sums = [dataclasses.replace(term, ours=f"({term.ours})") for term in sums]
    term = draw.choice(sums)
    # Squares are of columns alone.
    names = SUMMED + (list(OF_ONE) if not set("*+-") & set(term.ours) else [])
    weights = [part for part in atoms(exact) if "CAST" not in part.ours and term.bound * part.bound < WIDEST // 2**20]
    shape = draw.random()
    if shape < 0.15 and weights:
        return of_term(draw.choice(SUMMED), term.times(draw.choice(weights)), only)
    if shape < 0.2 and weights:
        return of_terms(draw.choice(list(OF_TWO)), term, draw.choice(weights), only)
    if shape < 0.35:
        other = draw.choice([*sums, constant(draw)])
        more = constant(draw).times(term).plus(other, draw.choice("+-"))
        return of_term(draw.choice(SUMMED), more if more.bound < WIDEST else term, only)
    if shape < 0.5:
        ours, duck = (f"CASE WHEN {test} THEN {text} END" for test, text in zip(when(1), (term.ours, term.duck)))
        return of_term(draw.choice(SUMMED), Term(ours, duck, term.digits, term.bound), only)
    return of_term(draw.choice(names), term, only)


# --- Sorted runs. ---


def run_condition(draw, table, structure, within=True):
    """A condition on the column of a run, or on one that it is `within`."""
    column = structure.by[0]
    if within and structure.within and draw.random() < 0.3:
        known = part_of(table, structure.within)
        place = draw.randrange(len(known.columns))
        return simple_condition(draw, known.columns[place], known.cells[place], known)
    return value_condition(draw, column, part_of(table, [column]).cells[0])


def value_condition(draw, column, cells):
    """A comparison of a column with constants: values, what is next to them, and what is beyond all."""
    if draw.random() < 0.1:
        negation = draw.choice(["", "NOT "])
        return f"{column.ours} IS {negation}NULL", f"{column.duck} IS {negation}NULL"
    if column.kind == "bool":
        return in_both(column, draw.choice(["{0}", "NOT {0}", "{0} = {1}", "{0} <> {1}"]), [draw.randrange(2)])
    known = [cell for cell in draw.sample(cells, min(len(cells), 12)) if cell is not None]
    if column.kind == "text":
        known = [*map(str, known), "a", "", "ab", "~"]
        prefix = draw.choice(known)[: draw.randint(1, 2)]
        if prefix and not set("%_\\") & set(prefix) and draw.random() < 0.3:
            quoted, negated = prefix.replace("'", "''"), draw.choice(["", "NOT "])
            return tuple(f"{name} {negated}LIKE '{quoted}%'" for name in (column.ours, column.duck))
    else:
        low, high = bounds(column)
        known = [*known, *[value + draw.choice([-1, 1]) for value in known], *draw.choices([low, high, low - 1, high + 1, 0], k=2)]
    return in_both(column, draw.choice(VALUES), draw.choices(known, k=4), draw.choice(COMPARISONS))


def segments_query(draw, table, structure, source):
    """A grouped query on the segments of a run."""
    column = structure.by[0]
    when = lambda depth=2: joined(draw, lambda: run_condition(draw, table, structure), depth)

    def run_key():
        if structure.within and draw.random() < 0.6:
            return key(draw, part_of(table, [draw.choice(structure.within)]))
        return case_key(draw, when)

    def run_aggregate():
        only = only_where(when(1) if draw.random() < 0.25 else None)
        if draw.random() < 0.15:
            return listed("COUNT(*)", "COUNT", ONES, only=only)
        if draw.random() < 0.6 or not structure.sums:
            return of_run(draw, column, only)
        return sum_aggregate(draw, structure.sums, part_of(table, structure.within), when, only)

    keys = [run_key() for _ in range(draw.choice([0, 0, 1, 2]))]
    parts = [run_aggregate() for _ in range(draw.randint(1, 4))]
    return of_groups(draw, keys, parts, where_of(when() if draw.random() < 0.6 else None), source)


def of_run(draw, column, only):
    """An aggregate of the column of a run: its number, its ends, and what is in order."""
    shape = draw.random()
    if shape < 0.15:
        return count_of(column, only)
    if shape < 0.5 and column.kind != "bool":
        name = draw.choice(["MIN", "MAX"])
        return of_values(f"{name}({column.ours})", lambda cells: least_or_sum(name, cells, column), column, only)
    return of_values(*in_order_of_values(draw, column), column, only)


def run_rows_query(draw, table, structure, source):
    """The first rows in the order of a run, or all rows and what follows from them where a run says which they are."""
    by, columns = structure.by[0], part_of(table, structure.columns)
    when = joined(draw, lambda: run_condition(draw, table, structure), 1)
    parts, shape = atoms(columns), draw.random()
    if shape < 0.2:
        keys = [found for found in [key(draw, columns) for _ in range(draw.randint(0, 1))] if found]
        return of_groups(draw, keys, [aggregate(draw, columns) for _ in range(draw.randint(1, 3))], where_of(when), source)
    read = draw.sample(columns.columns, draw.randint(1, len(columns.columns)))
    cells = [cell_of(column) for column in read]
    if structure.has_numbers and parts and draw.random() < 0.3:
        cells.append(window(draw, columns, parts))
    # Without numbers of rows the order has to settle all that is read.
    order = [column for column in [by, *read] if structure.has_numbers or draw.random() < 0.95]
    order = list({column.name: column for column in order}.values())
    if shape < 0.7:
        limit, offset = draw.choice([1, 3, 10, 700]), draw.choice([0, 0, 2])
        paged = f" LIMIT {limit} OFFSET {offset}", slice(offset, offset + limit)
        return of_rows(draw, cells, where_of(when if draw.random() < 0.4 else None), order[: draw.choice([1, len(order)])], paged, source)
    return of_rows(draw, cells, where_of(when), order if draw.random() < 0.8 else [], page(draw), source)


def cell_of(column):
    """A column of a row."""
    digits = column.digits if column.duck_type == "HUGEINT" else 0
    return Output(column.ours, column.duck, lambda cell: in_digits(cell, digits))
