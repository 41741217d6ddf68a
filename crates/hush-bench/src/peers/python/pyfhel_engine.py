# SPDX-License-Identifier: Apache-2.0
"""Pyfhel behind the operations that programs use; see engines.py."""

from engines import PLAINTEXT_MODULUS, REAL_UNIT, bit_sizes, version


class PyFhel:
    """Pyfhel, on random programs alone: SEAL of its own, behind a class of its own."""

    def __init__(self, case):
        import numpy
        import Pyfhel

        self.pyfhel, self.numpy, self.case, self.he = Pyfhel, numpy, case, Pyfhel.Pyfhel()
        given = {"n": case.degree, "qi_sizes": case.q_bits + case.p_bits, "sec": 128}
        given |= {"scale_bits": case.q_bits[-1]} if case.is_ckks else {"t": PLAINTEXT_MODULUS}
        self.he.contextGen(scheme=case.scheme, **given)
        self.ones = [REAL_UNIT] * (case.degree // 2)

    def keys(self, _is_public, rotations):
        """All anew."""
        self.he.keyGen()
        self.he.relinKeyGen()
        if rotations:
            self.he.rotateKeyGen(rotations)

    def encode(self, values, scale=0):
        """A plaintext; at the scale of fresh ones unless another is given."""
        kind = self.numpy.float64 if self.case.is_ckks else self.numpy.int64
        vector = self.numpy.array(self.case.encoded(values), dtype=kind)
        return self.he.encode(vector, scale=scale) if self.case.is_ckks else self.he.encode(vector)

    def encrypt(self, values):
        """With the public key; a ciphertext here is one of the library's and how many primes it has lost."""
        return self.he.encryptPtxt(self.encode(values)), 0

    def change(self, operation, a, *operands):
        """Applies an operation to a copy of `a`."""
        out = self.pyfhel.PyCtxt(copy_ctxt=a[0])
        operation(out, *operands)
        return out, a[1]

    def down(self, a):
        """Divided by the last prime; BFV stays."""
        if self.case.scheme == "bfv":
            return a
        divide = self.he.rescale_to_next if self.case.is_ckks else self.he.mod_switch_to_next
        return self.change(divide, a)[0], a[1] + 1

    def lower(self, a, level):
        """The same message at this level; in CKKS at its scale, by products with ones."""
        while a[1] < level:
            a = self.multiply_clear(a, self.ones) if self.case.is_ckks else self.down(a)
        return a

    def operate(self, operation, a, b):
        """Applies an operation to both at the lower one's level."""
        level = max(a[1], b[1])
        return self.change(operation, self.lower(a, level), self.lower(b, level)[0])

    def operate_clear(self, operation, a, values):
        """Applies an operation to `a` and a plaintext of its level and scale."""
        plain = self.encode(values, a[0].scale)
        if self.case.is_ckks:
            for _ in range(a[1]):
                self.he.mod_switch_to_next_ptxt(plain, False)
        return self.change(operation, a, plain)

    def add(self, a, b):
        """a + b"""
        return self.operate(self.he.add, a, b)

    def subtract(self, a, b):
        """a - b"""
        return self.operate(self.he.sub, a, b)

    def negate(self, a):
        """-a"""
        return self.change(self.he.negate, a)

    def add_clear(self, a, values):
        """a + values"""
        return self.operate_clear(self.he.add_plain, a, values)

    def multiply_clear(self, a, values):
        """a * values, one level down in BGV and CKKS."""
        return self.down(self.operate_clear(self.he.multiply_plain, a, values))

    def multiply_down(self, a, b):
        """a * b, relinearised, one level down in BGV and CKKS."""
        product = self.operate(self.he.multiply, a, b)
        self.he.relinearize(product[0])
        return self.down(product)

    def rotate(self, a, places):
        """So many places to the left."""
        return self.change(self.he.rotate, a, places)

    def decrypt(self, ciphertext, count):
        """The first slots."""
        plain = self.he.decryptPtxt(ciphertext[0])
        decode = {"bgv": self.he.decodeBGV, "bfv": self.he.decodeInt, "ckks": self.he.decodeFrac}
        return decode[self.case.scheme](plain)[:count]

    def describe(self, _fresh):
        """What the row says beside its times."""
        return {
            "library": f"Pyfhel {version('Pyfhel')}",
            "note": "",
            "degree": self.case.degree,
            "slots": self.case.degree // (2 if self.case.is_ckks else 1),
            **bit_sizes(self.case),
            "ciphertext_bytes": None,
            "key_bytes": None,
        }
