# SPDX-License-Identifier: Apache-2.0
"""Ask questions of a table that the server cannot read.

    import hushtable as ht

    result = ht.run("patients.csv", "SELECT ward, AVG(age) FROM patients GROUP BY ward", clear=["ward"])
    result.to_pandas()

``run`` rehearses one query on one machine. ``encrypt`` and ``open`` give a :class:`Table` for real work. Every error is a
:class:`HushError` with a stable ``code``. Long work releases the interpreter's lock, and Ctrl-C ends it.
"""

import importlib
from types import ModuleType

from ._catalogue import Catalogue, TablePlan, catalogue
from ._devices import Accepted, Rejected, accept, device_key
from ._errors import (
    DamagedError,
    DataError,
    HushError,
    HushWarning,
    InternalError,
    NoColumnError,
    OwnerKeyError,
    PrecisionError,
    RefusedError,
    RemoteError,
    ResourceError,
    UsageError,
)
from ._expr import Expr, avg, col, count, expr, kurtosis, lit, max, median, min, mode, quantile, skewness, stddev, sum, variance
from ._keys import Key, keygen, open_key
from ._life import Altered, History, Purged, Rotated, VersionChange
from ._lookup import Lookup
from ._machine import doctor
from ._model import Model, fit
from ._plan import Plan, Way
from ._prepared import Prepared
from ._query import Query
from ._rehearsal import run
from ._result import Account, Leakage, Result
from ._schema import Column, Schema, propose, read_schema
from ._server import Listed, Pushed, drop, ls, push
from ._table import Appended, Compacted, Deleted, Table, Updated, encrypt, open, pull

__version__: str = doctor()["version"]

__all__ = [
    "Accepted", "Account", "Altered", "Appended", "Catalogue", "Column", "Compacted", "DamagedError", "DataError", "Deleted", "Expr", "History", "HushError",
    "HushWarning", "InternalError", "Key", "Leakage", "Listed", "Lookup", "Model", "NoColumnError", "OwnerKeyError", "Plan", "PrecisionError", "Prepared",
    "Purged", "Pushed", "Query", "RefusedError", "Rejected", "RemoteError", "ResourceError", "Result", "Rotated", "Schema", "Table", "TablePlan",
    "Updated", "UsageError", "VersionChange", "Way", "accept", "avg", "catalogue", "col", "count", "device_key", "doctor", "drop", "encrypt", "expr", "fit", "keygen", "kurtosis",
    "lit", "ls", "max", "median", "min", "mode", "open", "open_key", "propose", "pull", "push", "quantile", "read_schema", "run", "skewness", "stddev", "sum",
    "variance",
]  # fmt: skip


def __getattr__(name: str) -> ModuleType:
    """``hushtable.spark``, which needs more than this package, is imported when it is named."""
    if name == "spark":
        return importlib.import_module(".spark", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names, and nothing that this module imports for itself."""
    return sorted([*__all__, "__version__", "__doc__", "__name__", "__file__", "__path__", "__all__"])
