# SPDX-License-Identifier: Apache-2.0
"""Passphrases and keys: weak passphrases, files that others read, and remains in memory."""

import hashlib
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest
from conftest import PATIENTS, ROOT, approve, make_key

SECRET = "correct horse"
LINUX = pytest.mark.skipif(not pathlib.Path("/proc/self/coredump_filter").exists(), reason="what Linux offers")


def passphrase_file(directory, text, mode=0o600):
    path = directory / "given"
    path.unlink(missing_ok=True)
    path.write_text(text + "\n", encoding="utf-8")
    path.chmod(mode)
    return path


def test_a_new_key_asks_for_twelve_characters(hush, tmp_path):
    """`keygen` refuses a short passphrase unless told to take it; an existing key opens with any."""
    key, given = tmp_path / "k.hushkey", passphrase_file(tmp_path, "elevenchars")
    refused = hush("keygen", "-o", key, "--passphrase-file", given, status=4)
    assert "HUSH-K016" in refused.stderr and "11 characters" in refused.stderr and "elevenchars" not in refused.stderr
    assert not key.exists()
    hush("keygen", "-o", key, "--passphrase-file", given, "--weak-passphrase", "--opens-in", "16MiB")
    schema = tmp_path / "patients.schema.toml"
    hush("init", PATIENTS, "--sensitive", "age", "--clear", "bp,temperature", "-o", schema)
    approve(schema)
    arguments = ("--key", key, "--passphrase-file", given)
    hush("encrypt", PATIENTS, "--schema", schema, "-o", tmp_path / "T", *arguments)
    empty = passphrase_file(tmp_path, "")
    assert "HUSH-K008" in hush("keygen", "-o", tmp_path / "e", "--passphrase-file", empty, "--weak-passphrase", status=4).stderr


def test_guesses_must_cost_something(hush, tmp_path):
    """`--opens-in` has a floor of 16 MiB: below, guesses at the passphrase would be cheap."""
    given = passphrase_file(tmp_path, SECRET)
    refused = hush("keygen", "-o", tmp_path / "k", "--passphrase-file", given, "--opens-in", "8MiB", status=4)
    assert "HUSH-K017" in refused.stderr and "16 MiB" in refused.stderr
    assert not (tmp_path / "k").exists()


def test_a_passphrase_file_that_others_can_read_is_refused(hush, tmp_path):
    """For a new key and for an existing one; a descriptor is the way out."""
    _, key, _, given = make_key(hush, tmp_path)
    for mode in (0o640, 0o604, 0o644):
        given.chmod(mode)
        for command in (("decrypt", tmp_path, "--key", key), ("keygen", "-o", tmp_path / "other")):
            refused = hush(*command, "--passphrase-file", given, status=4)
            assert "HUSH-K004" in refused.stderr and "--passphrase-fd" in refused.stderr, refused.stderr
    assert not (tmp_path / "other").exists()
    with given.open("rb") as opened:
        descriptor = opened.fileno()
        hush("keygen", "-o", tmp_path / "fd", "--opens-in", "16MiB", "--passphrase-fd", descriptor, pass_fds=(descriptor,))


def running_with_an_open_key(hush, directory):
    """A `hush decrypt` that has opened its key and waits, because nobody reads its output."""
    key = make_key(hush, directory)
    schema = directory / "patients.schema.toml"
    hush("init", PATIENTS, "--sensitive", "age", "--clear", "bp,temperature", "-o", schema)
    approve(schema)
    hush("encrypt", PATIENTS, "--schema", schema, "-o", directory / "T", *key)
    process = hush.start("decrypt", directory / "T", *key, stderr=None)
    os.read(process.stdout.fileno(), 1)
    time.sleep(0.5)
    return process


@LINUX
def test_no_core_file_and_no_page_of_the_program_is_dumped(hush, tmp_path):
    """Attack: let the program that holds a key dump core, with every limit lifted from outside."""
    process = running_with_an_open_key(hush, tmp_path)
    try:
        proc = pathlib.Path(f"/proc/{process.pid}")
        assert int((proc / "coredump_filter").read_text(), 16) == 0
        limit = next(line for line in (proc / "limits").read_text().splitlines() if line.startswith("Max core file size"))
        assert limit.split()[4:6] == ["0", "0"]
        assert (proc / "mem").stat().st_uid == 0
        before = set(tmp_path.iterdir())
        process.send_signal(signal.SIGABRT)
        assert process.wait(timeout=20) == -signal.SIGABRT
        assert set(tmp_path.iterdir()) == before
    finally:
        process.kill()
        process.stdout.close()
        process.wait()


@LINUX
@pytest.mark.skipif(os.geteuid() != 0, reason="only the administrator can read a hardened process")
def test_the_passphrase_is_not_in_the_programs_memory(hush, tmp_path):
    """Attack: the administrator reads the memory of a program that has opened its key."""
    process = running_with_an_open_key(hush, tmp_path)
    try:
        assert memory_of(process.pid).count(SECRET.encode()) == 0
    finally:
        process.kill()
        process.stdout.close()
        process.wait()


def memory_of(pid):
    """The memory that a process could have written, without the files that it maps and its arguments."""
    found = bytearray()
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
            addresses, how, *_ = line.split()
            first, last = (int(address, 16) for address in addresses.split("-"))
            if how.startswith("rw"):
                try:
                    found += os.pread(memory.fileno(), last - first, first)
                except OSError:
                    continue
    assert len(found) > 1 << 20
    return bytes(found)


SCAN = """
import hashlib, os, sys
import hushtable as ht
memory = open("/proc/self/mem", "rb", buffering=0)     # before the process is hardened
maps = open("/proc/self/maps")
beginning, length, digest = sys.argv[3].encode(), int(sys.argv[4]), sys.argv[5]
def count(part):
    at, found = part.find(beginning), 0
    while at >= 0:
        found += hashlib.sha256(part[at:at + length]).hexdigest() == digest
        at = part.find(beginning, at + 1)
    return found
key = ht.open_key(sys.argv[1], passphrase_file=sys.argv[2])
found = 0
for _ in range(2):
    maps.seek(0)
    for line in maps.read().splitlines():
        addresses, how, *_ = line.split()
        first, last = (int(address, 16) for address in addresses.split("-"))
        while how.startswith("rw") and first < last:
            try:
                part = os.pread(memory.fileno(), min(1 << 20, last - first), first)
            except OSError:
                break
            found += count(part)
            first += (1 << 20) - 64
    del part
    key = None
print(found, int(open("/proc/self/coredump_filter").read(), 16))
"""


@LINUX
def test_python_leaves_no_passphrase_of_a_file_in_memory(hush, tmp_path):
    """Attack: a Python process that opened a key with a passphrase file searches its own memory, with the key and without."""
    _, key, _, given = make_key(hush, tmp_path)
    # The process gets four characters and a digest, so that it finds only the passphrase itself, and not the pattern of its search.
    pattern = (SECRET[:4], str(len(SECRET)), hashlib.sha256(SECRET.encode()).hexdigest())
    done = subprocess.run([sys.executable, "-c", SCAN, key, given, *pattern], capture_output=True, timeout=120, cwd=ROOT / "tests")
    assert done.stdout.split() == [b"0", b"0"], (done.stdout, done.stderr.decode())


def test_python_refuses_what_the_command_line_refuses(tmp_path):
    """Short passphrases and open files, with the same codes."""
    ht = pytest.importorskip("hushtable")
    for given in ("elevenchars", lambda: "elevenchars"):
        with pytest.raises(ht.OwnerKeyError, match="HUSH-K016"):
            ht.keygen(tmp_path / "k", passphrase=given)
    assert not (tmp_path / "k").exists()
    assert ht.keygen(tmp_path / "weak", passphrase="short", weak_passphrase=True).id
    with pytest.raises(ht.OwnerKeyError, match="HUSH-K004"):
        ht.keygen(tmp_path / "k", passphrase_file=passphrase_file(tmp_path, SECRET, 0o644))
    with pytest.raises(ht.OwnerKeyError, match="HUSH-K004"):
        ht.open_key(tmp_path / "weak", passphrase_file=passphrase_file(tmp_path, "short", 0o640))
    assert ht.open_key(tmp_path / "weak", passphrase_file=passphrase_file(tmp_path, "short")).id
