# SPDX-License-Identifier: Apache-2.0
"""One exception for each kind of error: who can mend it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from ._html import visible


class HushError(Exception):
    """Any error of Hushtable. Carries no value of a protected column, no key byte and no passphrase."""

    #: Stable code, such as ``HUSH-P014``.
    code: str
    #: What was found, and the ways out.
    message: str

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message

    def __str__(self) -> str:
        return f"{self.code} {self.message}"


class HushWarning(UserWarning):
    """What a person should know before a server reads the data. Turn it into an error with ``warnings.simplefilter``."""


class InternalError(HushError):
    """A bug of ours."""


class UsageError(HushError):
    """The call is wrong."""


class NoColumnError(UsageError, KeyError):
    """There is no column of this name."""


class RefusedError(HushError):
    """Refused by policy or planner before anything ran."""


class OwnerKeyError(HushError):
    """A key, a passphrase or a token."""


class PrecisionError(HushError):
    """Precision or ranges do not suffice."""


class ResourceError(HushError):
    """A limit, memory or disk."""


class RemoteError(HushError):
    """A server."""


class DataError(HushError):
    """The input data."""


class DamagedError(HushError):
    """Stored bytes are damaged or not what their owner signed."""


_KINDS: dict[str, type[HushError]] = {
    "Internal": InternalError,
    "Usage": UsageError,
    "Refused": RefusedError,
    "Key": OwnerKeyError,
    "Precision": PrecisionError,
    "Resource": ResourceError,
    "Remote": RemoteError,
    "Data": DataError,
    "Damaged": DamagedError,
}


def of_kind(kind: str, code: str, message: str) -> HushError:
    """The exception of a kind; called by the native module."""
    return _KINDS.get(kind, HushError)(code, message)


def usage(message: str) -> UsageError:
    """A call that is wrong."""
    return UsageError("HUSH-U001", message)


def no_column(name: object, known: Iterable[str]) -> NoColumnError:
    """No column of this name; names the nearest, or all."""
    known = list(known)
    near = difflib.get_close_matches(str(name), known, n=1)
    listed = ", ".join(known[:_LISTED]) + (f" and {len(known) - _LISTED} more" if len(known) > _LISTED else "")
    way = f"did you mean {near[0]!r}?" if near else f"the columns are {visible(listed)}."
    return NoColumnError("HUSH-U001", f"no column {name!r}\n  Way out: {way}")


#: Columns that a message lists.
_LISTED = 20
