# SPDX-License-Identifier: Apache-2.0
"""A fitted tree, from the file that `hush fit` writes."""

from . import svg

WIDTH, HEIGHT, GAP, DEEP, TOP = 150, 46, 22, 96, 64


def draw(model: dict) -> str:
    """Questions as boxes, leaves below them with what the tree says there and of how many rows it is the mean."""
    nodes = model["fit"]["tree"]["nodes"]
    places: dict[int, tuple[float, int]] = {}
    columns = place(nodes, 0, 0, 0, places)
    deepest = max(level for _, level in places.values())
    width, height = columns * (WIDTH + GAP) + GAP, TOP + deepest * DEEP + HEIGHT + 46
    title = f"{model['outcome']} by {' and '.join(model['features'])}"
    canvas = svg.Canvas(
        width, height, "A fitted tree",
        f"A tree that says {title}: {len(places)} nodes, of which {columns} are leaves.",
    )
    canvas.text(GAP, 32, f"{title}: what hush fit --model tree finds in {model['rows']:,} rows", 14.5, bold=True)
    for number, (x, level) in places.items():
        node, y = nodes[number], TOP + level * DEEP
        if "split" in node:
            for child, answer in ((node["split"]["below"], "yes"), (node["split"]["above"], "no")):
                child_x, child_y = places[child][0], TOP + places[child][1] * DEEP
                canvas.curve(x, y + HEIGHT, child_x, child_y)
                canvas.text((x + child_x) / 2, (y + HEIGHT + child_y) / 2 - 4, answer, 12, svg.SOFT, "middle")
    for number, (x, level) in places.items():
        node, y = nodes[number], TOP + level * DEEP
        if "split" in node:
            split = node["split"]
            canvas.box(x - WIDTH / 2, y, WIDTH, HEIGHT, svg.SAND, svg.LINE)
            canvas.text(x, y + 28, f"{model['features'][split['feature']]} <= {split['at']:g} ?", 14, anchor="middle")
        else:
            leaf = node["leaf"]
            canvas.box(x - WIDTH / 2, y, WIDTH, HEIGHT, svg.PAPER, svg.GREEN)
            canvas.text(x, y + 20, f"{leaf['value']:,.2f}", 14, svg.GREEN, "middle", bold=True)
            canvas.text(x, y + 37, f"{leaf['rows']:,} rows", 11.5, svg.SOFT, "middle")
    canvas.text(GAP, height - 16, "The questions and the values are the owner's alone: a server has seen that two columns came back", 12, svg.SOFT)
    return canvas.finish()


def place(nodes: list[dict], number: int, level: int, taken: int, places: dict[int, tuple[float, int]]) -> int:
    """Gives a node and all below it a middle and a level; returns the columns that are taken then."""
    if "leaf" in nodes[number]:
        places[number] = (GAP + taken * (WIDTH + GAP) + WIDTH / 2, level)
        return taken + 1
    split = nodes[number]["split"]
    taken = place(nodes, split["below"], level + 1, taken, places)
    taken = place(nodes, split["above"], level + 1, taken, places)
    places[number] = ((places[split["below"]][0] + places[split["above"]][0]) / 2, level)
    return taken
