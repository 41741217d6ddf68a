# SPDX-License-Identifier: Apache-2.0
"""SEAL for Python on one cell of the edge grid; prints one JSON object.

Usage: edge_grid.py WAY KEY N COUNT REPETITIONS LIMIT_S CORES MEMORY_BYTES, where 0 cores and bytes are all. Parameters are the
library's defaults for N. Encryption that takes longer than LIMIT_S in a repetition is stopped there and extrapolated. Plaintexts
are made before the clock runs, and it stands still while a sample of the ciphertexts is decrypted.
"""

import importlib.metadata
import json
import os
import resource
import signal
import sys
import time

PLAIN_BITS, CHECKED = 10, 16
GRACE_S = 30


def integer(index):
    """Integer `index` of every cell."""
    return ((index + 1) * 0x9E3779B97F4A7C15 % 2**64) >> (64 - PLAIN_BITS)


def is_checked(index, count):
    """Whether ciphertext `index` of `count` is decrypted."""
    return index + 1 == count or index % -(-count // CHECKED) == 0


def polynomial(values):
    """The text form of a plaintext with these coefficients."""
    terms = [f"{value:X}x^{power}" if power else f"{value:X}" for power, value in enumerate(values) if value]
    return " + ".join(reversed(terms)) or "0"


class Clock:
    """A clock that can be stopped."""

    def __init__(self):
        self.before, self.since = 0.0, time.perf_counter()

    def spent(self):
        """Seconds that count."""
        return self.before + time.perf_counter() - self.since

    def stop(self):
        """Until `go`."""
        self.before = self.spent()

    def go(self):
        """After `stop`."""
        self.since = time.perf_counter()


class Cell:
    """What to measure."""

    def __init__(self, arguments):
        self.way, self.key, degree, count, repetitions, limit = arguments
        self.degree, self.count, self.repetitions, self.limit_s = int(degree), int(count), int(repetitions), float(limit)
        self.checked = self.wrong = 0

    def texts(self):
        """The plaintexts in their text form."""
        values = [integer(index) for index in range(self.count)]
        size = 1 if self.way == "one-by-one" else self.degree
        return [polynomial(values[start : start + size]) for start in range(0, self.count, size)]

    def once(self, seal, texts, plaintexts):
        """One repetition, from parameters to the last ciphertext."""
        clock = Clock()
        parms = seal.EncryptionParameters(seal.scheme_type.bfv)
        parms.set_poly_modulus_degree(self.degree)
        moduli = seal.CoeffModulus.BFVDefault(self.degree)
        parms.set_coeff_modulus(moduli)
        parms.set_plain_modulus(2**PLAIN_BITS)
        # Encryption needs no chain of levels.
        context = seal.SEALContext(parms, False)
        if not context.parameters_set():
            raise ValueError(context.parameter_error_message())
        parameters = clock.spent()
        generator = seal.KeyGenerator(context)
        secret = generator.secret_key()
        if self.key == "public":
            encryptor = seal.Encryptor(context, generator.create_public_key())
            encrypt = encryptor.encrypt
        else:
            encryptor = seal.Encryptor(context, secret)
            encrypt = encryptor.encrypt_symmetric
        keys, count = clock.spent(), len(texts)
        ciphertext, made, decryptor = seal.Ciphertext(), 0, None
        for index, text in enumerate(texts):
            encrypt(plaintexts[text], ciphertext)
            made += 1
            is_last = clock.spent() - keys > self.limit_s
            if is_last or is_checked(index, count):
                clock.stop()
                decryptor = decryptor or seal.Decryptor(context, secret)
                decrypted = seal.Plaintext()
                decryptor.decrypt(ciphertext, decrypted)
                self.checked += 1
                self.wrong += decrypted.to_string() != plaintexts[text].to_string()
                clock.go()
            if is_last:
                break
        encryption = (clock.spent() - keys) * count / made
        self.moduli = [modulus.value() for modulus in moduli]
        self.limbs = ciphertext.coeff_modulus_size()
        return {
            "parameters_s": parameters,
            "keys_s": keys - parameters,
            "encrypt_s": encryption,
            "total_s": keys + encryption,
            "encrypted": made,
        }


def restrict(cores, memory_bytes):
    """Leaves this process the first of its cores and so much memory.

    Where memory does not suffice, SEAL 4.4 neither succeeds nor fails: `main` ends what takes far too long.
    """
    if memory_bytes:
        resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes))
    if cores and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])


def peak_mb():
    """Peak resident megabytes of this process."""
    with open("/proc/self/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    return 0.0


def main():
    """Measures the cell of the command line."""
    cell = Cell(sys.argv[1:7])
    restrict(int(sys.argv[7]), int(sys.argv[8]))
    # Without a handler this ends the process, within a call of the library as well.
    signal.alarm(GRACE_S + int(cell.repetitions * 3 * cell.limit_s))
    import seal

    texts = cell.texts()
    plaintexts = {text: seal.Plaintext(text) for text in set(texts)}
    repetitions = [cell.once(seal, texts, plaintexts) for _ in range(cell.repetitions)]
    answer = {
        "library": f"seal-python {importlib.metadata.version('seal-python')}",
        "moduli": cell.moduli,
        "special_count": len(cell.moduli) - cell.limbs,
        "ciphertext_bytes": 16 * cell.limbs * cell.degree,
        "repetitions": repetitions,
        "checked": cell.checked,
        "wrong": cell.wrong,
        "peak_mb": peak_mb(),
        "cpu_s": time.process_time(),
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
