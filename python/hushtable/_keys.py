# SPDX-License-Identifier: Apache-2.0
"""Keys and passphrases."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Callable

from ._data import Path
from ._errors import OwnerKeyError, usage
from ._hushtable import Key
from ._machine import byte_count

#: A passphrase, or a function that gives one when it is needed, such as ``getpass.getpass``.
Passphrase = str | Callable[[], str]


def keygen(
    path: Path,
    *,
    passphrase: Passphrase | None = None,
    passphrase_file: Path | None = None,
    backup: Path | None = None,
    weak_passphrase: bool = False,
    opens_in: int | str | None = None,
) -> Key:
    """Makes a key and stores it, wrapped by a passphrase. Never overwrites a file.

    Trying a passphrase takes about a second's work, and 128 MiB or more. For small machines ``opens_in`` is the memory that it takes at
    most: bytes, or a text such as ``"64MiB"``, of 16 MiB or more; guesses at the passphrase are cheaper then.

    A passphrase of fewer than 12 characters is refused unless ``weak_passphrase`` is given. A passphrase file must be the
    user's own and closed to others (mode 0600). Whoever loses the key file or the passphrase loses the data: nobody can restore it.
    """
    return Key.create(path, backup, secret(passphrase, passphrase_file, confirm=True), passphrase_file, weak_passphrase, byte_count(opens_in))


def open_key(path: Path, *, passphrase: Passphrase | None = None, passphrase_file: Path | None = None) -> Key:
    """Opens a key file."""
    return Key.open(path, secret(passphrase, passphrase_file, confirm=False), passphrase_file)


def require_key(keys: object) -> Key:
    """The key that an argument is.

    Raises:
        UsageError: it is something else, such as the path of one.
    """
    if isinstance(keys, Key):
        return keys
    raise usage(f"keys is a Key, not {type(keys).__name__}\n  Way out: keys=ht.open_key(PATH, passphrase_file=...)")


def secret(passphrase: Passphrase | None, file: Path | None, confirm: bool) -> str | None:
    """A passphrase from a function or the terminal; none where a file has it, which the native module reads."""
    if file is not None:
        return None
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
