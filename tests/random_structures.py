# SPDX-License-Identifier: Apache-2.0
"""Random structures of a random table: cubes, sums by hidden values, sorted runs, filters, and purposes of columns.

`random_tables` draws the table, `structure_queries` the questions that a structure answers. Dimensions have a cell for every value that
the table has, because a value without one is refused (HUSH-C096).
"""

import dataclasses
import datetime
import json

from random_tables import EPOCH, Table, atoms, polynomial

DAY_MICROS = 86_400_000_000
MONTHS = {"month": 1, "quarter": 3, "year": 12}
MAX_CELLS = 3000
# A row stores a number for each of these cells, and for each sum in it.
MAX_HIDDEN_CELLS = 20
WIDEST_TERM = 2**100
# Values of a column with flags: of more, rows of many kilobytes would be nothing but slow.
MAX_FLAGGED = 3000


@dataclasses.dataclass
class Dimension:
    """A column whose values make cells, each from one of `starts` to the next; of texts and `each` a value is a cell."""

    column: object
    grain: str
    declared: str
    starts: tuple = ()
    values: int = 0

    @property
    def is_exact(self):
        """Whether a cell is one value."""
        return self.grain in ("each", "texts")

    @property
    def cells(self):
        """How many cells there are, that of missing values among them."""
        return (len(self.starts) or self.values) + self.column.nullable


@dataclasses.dataclass
class Structure:
    """What is prepared: dimensions (or the column of a run behind those that it is `within`), terms that are added up, columns that rows have."""

    kind: str
    by: list
    sums: list
    columns: list = dataclasses.field(default_factory=list)
    within: list = dataclasses.field(default_factory=list)
    has_numbers: bool = True
    of_purpose: bool = False


def add_structures(draw, table):
    """Gives a table structures and purposes; returns the table and what can be asked of."""
    columns = [dataclasses.replace(column) for column in table.columns]
    table = dataclasses.replace(table, columns=columns)
    for column in columns:
        # A month has to begin and end somewhere.
        column.ranged |= column.kind in ("date", "timestamp") and draw.random() < 0.9
    lines = {"cubes": [], "group": [], "order": []}
    found = []
    for kind, make, chances in (("cubes", cube, [0, 1, 1, 2]), ("group", group, [0, 1, 1]), ("order", run, [0, 1, 2, 2])):
        for structure, line in filter(None, (make(draw, table) for _ in range(draw.choice(chances)))):
            lines[kind].append(line)
            found.append(structure)
    found += [structure for column in columns if column.encrypted for structure in give_purposes(draw, table, column)]
    if filtered := filters(draw, table) if draw.random() < 0.4 else None:
        structure, listed = filtered
        found.append(structure)
        lines.update(listed)
    for structure in found:
        # A purpose adds up the columns that are there for sums.
        if structure.kind == "group" and structure.of_purpose:
            parts = [column for column in columns if column.encrypted and column.exact and {"sum", "variance"} & set(column.purposes or ["sum"])]
            structure.sums = [part for part in atoms(Table(parts, [], None)) if part.ours != structure.by[0].column.ours]
    prepared = tuple(f"{kind} = [{', '.join(listed)}]" for kind, listed in lines.items() if listed)
    return dataclasses.replace(table, prepared=prepared), found


def give_purposes(draw, table, column):
    """Gives an encrypted column purposes; returns the structures that they make."""
    is_time = column.kind in ("date", "timestamp")
    each = dimension(draw, column, table.cells[table.columns.index(column)], exactly=True)
    few = each is not None and each.cells <= MAX_HIDDEN_CELLS // 2
    base = draw.choice([["count"], ["fetch"]] if is_time else [["sum"], ["sum", "fetch"], ["fetch"], ["sum", "variance"]])
    further = draw.choice([[], [], ["order"], ["group"] if few else []])
    column.purposes = tuple(base + further) if draw.random() < 0.6 or further else ()
    if "order" in further:
        return [Structure("order", [opened(column)], [], [opened(column)], has_numbers=False)]
    if "group" in further:
        return [Structure("group", [each], [], of_purpose=True)]
    return []


def opened(column):
    """The column to a query that may ask anything of it."""
    return dataclasses.replace(column, open=True)


def toml(texts):
    """A list of texts in a schema file."""
    return f"[{', '.join(json.dumps(text, ensure_ascii=False) for text in texts)}]"


# --- Dimensions. ---


def bounds(column):
    """The least and the greatest value that a column may have, in units."""
    if column.ranged or column.kind not in ("int", "decimal"):
        return column.low, column.high
    if column.kind == "decimal":
        highest = 10 ** int(column.type[8:].split(",")[0]) - 1
        return -highest, highest
    half = 2 ** (int(column.type[4:-1]) - 1)
    return -half, half - 1


def dimension(draw, column, cells, exactly=False):
    """A dimension of a column, or None where there can be none of a few cells."""
    name, (low, high) = column.name, bounds(column)
    if column.kind == "text":
        values = sorted({cell for cell in cells if cell is not None} | {"none of them"})
        draw.shuffle(values)
        declared = f"{{ column = {json.dumps(name, ensure_ascii=False)}, values = {toml(values)} }}"
        return Dimension(opened(column), "texts", declared, values=len(values)) if len(values) <= 40 and not exactly else None
    # Clear and sealed floats are doubles, which have no cells (HUSH-S014).
    if column.kind == "float" and not column.encrypted:
        return None
    each = Dimension(opened(column), "each", json.dumps(name, ensure_ascii=False), values=high - low + 1)
    is_time = column.kind in ("date", "timestamp")
    if column.kind == "bool" or high == low or high - low < 40 and column.ranged and (exactly or draw.random() < 0.7):
        return each if column.ranged or column.kind == "bool" else None
    if exactly or is_time and not column.ranged:
        return None
    if is_time and draw.random() < 0.75:
        grain = draw.choice(list(MONTHS))
        if (high - low) // (DAY_MICROS if column.kind == "timestamp" else 1) < 30 * MONTHS[grain] * 100:
            declared = json.dumps(f"{grain}({name})", ensure_ascii=False)
            return Dimension(opened(column), grain, declared, tuple(calendar_starts(column, MONTHS[grain])))
    known = [cell for cell in draw.sample(cells, min(len(cells), 5)) if cell is not None]
    drawn = [low + 1, high, 0, 1, *known, *[draw.randint(low + 1, high)] * 2]
    starts = sorted({value for value in draw.sample(drawn, draw.randint(1, 4)) if low < value <= high} or {high})
    listed = toml(column.text(start) for start in starts)
    declared = f"{{ column = {json.dumps(name, ensure_ascii=False)}, bins = {listed} }}"
    return Dimension(opened(column), "bins", declared, (low, *starts))


def calendar_starts(column, months):
    """Where months, quarters or years of a column begin, the first with its range."""
    day = DAY_MICROS if column.kind == "timestamp" else 1
    first, last = ((EPOCH + datetime.timedelta(days=value // day)) for value in (column.low, column.high))
    place = (first.year * 12 + first.month - 1) // months * months
    while (begin := datetime.datetime(place // 12, place % 12 + 1, 1)) <= last:
        yield max((begin - EPOCH).days * day, column.low)
        place += months
        if place // 12 > 9999:
            return


def dimensions(draw, table, columns, limit):
    """One to three dimensions with so many cells together."""
    found, cells = [], 1
    for place in draw.sample(columns, min(len(columns), draw.randint(1, 3))):
        drawn = dimension(draw, table.columns[place], table.cells[place])
        if drawn and cells * drawn.cells <= limit:
            found.append(drawn)
            cells *= drawn.cells
    return found


# --- What is added up. ---


def is_summed(column):
    """Whether a structure adds a column up: an exact one that is not sealed. Clear floats are sums of doubles (HUSH-S014), and the squares of
    truth values are none of our SQL."""
    return column.exact and column.protect != "seal"


def sums(draw, table, columns):
    """Up to three terms of some columns as a schema has them: columns, with their squares, and expressions."""
    summed = [column for column in columns if is_summed(column)]
    found = {}
    for column in draw.sample(summed, min(len(summed), draw.choice([0, 1, 1, 2]))):
        found[column.name] = next(part for part in atoms(Table([column], [], None)) if part.ours == column.ours)
    stored = [column for column in columns if column.protect != "seal" and (column.exact or column.kind == "bool") and column.ranged]
    parts = [dataclasses.replace(part, degree=1) for part in atoms(Table(stored, [], None))]
    if parts and draw.random() < 0.5:
        term = polynomial(draw, parts, 2)
        # Sums of more than 126 bits are refused, and so is what has no column, or one that cancels (HUSH-S014).
        cancels = "-" in term.ours and any(term.ours.count(column.ours) > 1 for column in stored)
        if term.degree and term.bound < WIDEST_TERM and not cancels:
            found[term.ours] = term
    return found


# --- Structures. ---


def cube(draw, table):
    """A cube and its line, or None where no column makes cells."""
    # Of a part with few rows there is no cube of many cells.
    limit = draw.choice([10, 10, max(10, table.count // 8), MAX_CELLS])
    by = dimensions(draw, table, range(len(table.columns)), limit)
    return prepared_sums(draw, table, "cubes", by)


def group(draw, table):
    """Sums by hidden values and their line, or None where no column makes cells."""
    hidden = [place for place, column in enumerate(table.columns) if column.protect != "clear"]
    return prepared_sums(draw, table, "group", dimensions(draw, table, hidden, MAX_HIDDEN_CELLS))


def prepared_sums(draw, table, kind, by):
    """Sums over the cells of some dimensions."""
    if not by:
        return None
    names = {dimension.column.name for dimension in by}
    found = sums(draw, table, [column for column in table.columns if column.name not in names])
    # Few rows may be more than a cell has, or fewer: then parts have no cube, or the whole of them is refused (HUSH-C097).
    most = draw.choice([None, None, table.count, 1 + table.count // 3, 1 + table.count // 30]) if kind == "cubes" else None
    bound = f", max_cell_rows = {most}" if most else ""
    line = f"{{ by = [{', '.join(dimension.declared for dimension in by)}], sum = {toml(found)}{bound} }}"
    return Structure(kind, by, list(found.values())), line


def filters(draw, table):
    """Conditions without keys, and the lines of texts and measures, or None where no column can have flags."""
    places = [place for place, column in enumerate(table.columns) if column.protect != "clear"]
    by, texts = [], []
    for place in draw.sample(places, min(len(places), draw.randint(1, 3))):
        column, (low, high) = table.columns[place], bounds(table.columns[place])
        if column.kind == "text" and column.protect == "seal":
            if drawn := dimension(draw, column, table.cells[place]):
                by.append(drawn)
                texts.append(drawn.declared)
        elif column.encrypted and (column.exact or column.kind in ("bool", "date")) and high - low < MAX_FLAGGED:
            by.append(Dimension(opened(column), "each", json.dumps(column.name, ensure_ascii=False), values=high - low + 1))
            is_time = column.kind in ("date", "timestamp")
            column.purposes = tuple(column.purposes or (["count"] if is_time else ["sum"])) + ("filter",)
    if not by:
        return None
    names = {dimension.column.name for dimension in by}
    found = sums(draw, table, [column for column in table.columns if column.name not in names and column.encrypted])
    found = {name: term for name, term in found.items() if term.bound < 2**60}
    return Structure("filter", by, list(found.values())), {"filter": texts, "measure": [json.dumps(name, ensure_ascii=False) for name in found]}


def run(draw, table):
    """A sorted run and its line."""
    columns = draw.sample(table.columns, len(table.columns))
    few = [column for column in columns[1:] if len(set(table.cells[table.columns.index(column)])) <= 12]
    by, within = columns[0], few[: draw.choice([0, 0, 1, 1, 2])]
    found = sums(draw, table, columns)
    cover = draw.sample(columns, draw.choice([0, 1, len(columns)]))
    lists = [("within", [column.name for column in within]), ("sum", found), ("cover", [column.name for column in cover])]
    lists = "".join(f", {key} = {toml(listed)}" for key, listed in lists if listed)
    line = f"{{ by = {json.dumps(by.name, ensure_ascii=False)}{lists} }}"
    has = [column for column in columns if column in (by, *within, *cover) or any(column.ours in term.ours for term in found.values())]
    structure = Structure("order", [opened(by)], list(found.values()), list(map(opened, has)), list(map(opened, within)), bool(cover))
    return structure, line
