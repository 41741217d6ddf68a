# SPDX-License-Identifier: Apache-2.0
"""The changes of an alteration, as texts that the native module reads."""

from __future__ import annotations

import datetime as dt
import decimal
import json
from collections.abc import Mapping
from typing import Any, Literal

from ._errors import usage

Purpose = Literal[
    "sum", "avg", "count", "variance", "stddev", "skewness", "kurtosis", "geomean", "product", "fetch", "order"
]
Bound = int | float | str | decimal.Decimal | dt.date | dt.datetime


def column_text(name: str, keys: Mapping[str, Any]) -> str:
    """A column as it stands in a schema file, on one line.

    Raises:
        UsageError: ``keys`` is no mapping, or has a value that no schema file has.
    """
    if not isinstance(keys, Mapping):
        raise usage(f"column {name!r} is described by a mapping such as {{'type': 'int(16)', 'protect': 'encrypt'}}")
    listed = ", ".join(f"{key} = {_value(name, value)}" for key, value in keys.items())
    return f"{_text(name)} = {{ {listed} }}"


def range_texts(name: str, bounds: object) -> tuple[str, str]:
    """Lowest and highest value as texts.

    Raises:
        UsageError: they are not two, or none of a range.
    """
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise usage(f"the range of {name!r} has a lowest and a highest value: ({bounds!r}) has not")
    low, high = (_bound(name, bound) for bound in bounds)
    return low, high


def _bound(name: str, bound: object) -> str:
    if isinstance(bound, bool) or not isinstance(bound, Bound):
        raise usage(f"{bound!r} is no value of a range, which column {name!r} is to have")
    return bound.isoformat(sep=" ") if isinstance(bound, dt.datetime) else str(bound)


def _value(name: str, value: object) -> str:
    if isinstance(value, bool | str):
        return json.dumps(value) if isinstance(value, bool) else _text(value)
    if isinstance(value, Bound):
        # Exact digits, and dates, are texts in a schema file.
        return str(value) if isinstance(value, int | float) else _text(_bound(name, value))
    if isinstance(value, tuple | list):
        return f"[{', '.join(_value(name, item) for item in value)}]"
    raise usage(f"column {name!r}: {value!r} is no value of a schema's key")


def _text(text: str) -> str:
    # What JSON escapes, TOML reads; and it takes no control character as it is.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")
