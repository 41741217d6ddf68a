# SPDX-License-Identifier: Apache-2.0
"""Keys and passphrases."""

from __future__ import annotations

import getpass
import os
import sys
from collections.abc import Callable

from ._data import Path
from ._errors import OwnerKeyError, usage
from ._hushtable import Key

#: A passphrase, or a function that gives one when it is needed, such as ``getpass.getpass``.
Passphrase = str | Callable[[], str]


def keygen(
    path: Path,
    *,
    passphrase: Passphrase | None = None,
    passphrase_file: Path | None = None,
    backup: Path | None = None,
) -> Key:
    """Makes a key and stores it, wrapped by a passphrase. Takes about a second. Never overwrites a file.

    Whoever loses the key file or the passphrase loses the data: nobody can restore it.
    """
    return Key.create(path, backup, secret(passphrase, passphrase_file, confirm=True))


def open_key(path: Path, *, passphrase: Passphrase | None = None, passphrase_file: Path | None = None) -> Key:
    """Opens a key file."""
    return Key.open(path, secret(passphrase, passphrase_file, confirm=False))


def require_key(keys: object) -> Key:
    """The key that an argument is.

    Raises:
        UsageError: it is something else, such as the path of one.
    """
    if isinstance(keys, Key):
        return keys
    raise usage(f"keys is a Key, not {type(keys).__name__}\n  Way out: keys=ht.open_key(PATH, passphrase_file=...)")


def secret(passphrase: Passphrase | None, file: Path | None, confirm: bool) -> str:
    """A passphrase from a function, a file's first line, or the terminal."""
    if file is not None:
        try:
            with open(file, encoding="utf-8") as lines:
                return lines.readline(4096).rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            raise OwnerKeyError("HUSH-K007", f"{os.fspath(file)}: {error.__class__.__name__}") from None
    if isinstance(passphrase, str):
        return passphrase
    if passphrase is not None:
        return passphrase()
    if not sys.stdin.isatty():
        text = "the key needs a passphrase and there is no terminal\n  Ways out: passphrase=..., passphrase_file=..."
        raise OwnerKeyError("HUSH-K007", text)
    first = getpass.getpass("Passphrase: ")
    if confirm and getpass.getpass("Again: ") != first:
        raise OwnerKeyError("HUSH-K009", "the two passphrases differ")
    return first


__all__ = ["Key", "keygen", "open_key"]
