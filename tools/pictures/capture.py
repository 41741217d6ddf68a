# SPDX-License-Identifier: Apache-2.0
"""What `sides` draws: the first rows of the example, and bytes of the table that `hush encrypt` makes of it.

Every run makes a new key, so the bytes differ from one capture to the next.
"""

import pathlib
import subprocess
import tempfile

ROWS, DIGITS = 5, 200
PASSPHRASE = "a passphrase for one picture"
# Name, what happens to it, and characters of the widest text shown.
COLUMNS = (
    ("patient_id", "sealed", 13),
    ("email", "dropped", 20),
    ("ward", "clear", 10),
    ("year", "clear", 5),
    ("age", "encrypted", 10),
    ("charges", "encrypted", 10),
)
PROTECT = {"sealed": "seal", "dropped": "drop", "clear": "clear", "encrypted": "encrypt"}


def capture(root: pathlib.Path, hush: pathlib.Path) -> dict:
    """Encrypts `examples/patients.csv` under a temporary key and reads what the server would have. Needs pyarrow."""
    import pyarrow.parquet

    lines = [line.split(",") for line in (root / "examples/patients.csv").read_text(encoding="utf-8").splitlines()]
    header, rows = lines[0], lines[1 : ROWS + 1]
    with tempfile.TemporaryDirectory() as folder:
        table = encrypted(hush, pathlib.Path(folder), header, lines)
        [part] = table.glob("parts/*.enc.parquet")
        stored = pyarrow.parquet.read_table(part)
    summed = [name for name in stored.column_names if name.startswith("e")]
    sealed = [name for name in stored.column_names if name.startswith("s") and name != "seed"]
    columns, digits = [], {}
    for name, protection, characters in COLUMNS:
        source = {"encrypted": summed, "sealed": sealed}.get(protection)
        stored_as = source.pop(0) if source else None
        columns.append({"name": name, "protection": protection, "characters": characters, "stored_as": stored_as})
        if stored_as:
            # The tail: a stored value begins with a header that says which scheme it is.
            blob = stored.column(stored_as)[0].as_py()
            digits[name] = blob[-DIGITS // 2 :].hex()
    places = [header.index(name) for name, _, _ in COLUMNS]
    return {"columns": columns, "rows": [[row[place] for place in places] for row in rows], "stored": digits}


def encrypted(hush: pathlib.Path, folder: pathlib.Path, header: list[str], lines: list[list[str]]) -> pathlib.Path:
    """A table of the chosen columns."""
    kept = [header.index(name) for name, _, _ in COLUMNS]
    data, secret = folder / "patients.csv", folder / "passphrase"
    data.write_text("".join(",".join(line[at] for at in kept) + "\n" for line in lines), encoding="utf-8")
    secret.touch(mode=0o600)
    secret.write_text(PASSPHRASE + "\n", encoding="utf-8")
    with_key = ["--passphrase-file", secret]

    def run(*arguments: object):
        subprocess.run([hush, *map(str, arguments)], cwd=folder, check=True, capture_output=True)

    run("init", data)
    schema = folder / "patients.schema.toml"
    schema.write_text(approved(schema.read_text(encoding="utf-8")), encoding="utf-8")
    run("keygen", "-o", folder / "owner.hushkey", *with_key)
    run("encrypt", data, "-o", folder / "table", "--key", folder / "owner.hushkey", *with_key)
    return folder / "table"


def approved(schema: str) -> str:
    """The proposal with the picture's protections, for sums alone."""
    protections = {name: PROTECT[protection] for name, protection, _ in COLUMNS}
    out, column = [], None
    for line in schema.splitlines():
        if line.startswith("[columns."):
            column = line.removeprefix("[columns.").removesuffix("]")
        key = line.partition("=")[0].strip()
        if key == "protect" and column:
            line = f'protect = "{protections[column]}"'
        elif key == "for":
            line = 'for = ["sum"]'
        elif key == "status":
            line = 'status = "approved"'
        elif key == "approved_by":
            line = 'approved_by = "the gallery"'
        out.append(line)
    return "\n".join(out) + "\n"
