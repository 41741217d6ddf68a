# SPDX-License-Identifier: Apache-2.0
"""The libraries behind the operations that the tables use; see libraries.py.

Each class makes its parameters when it is made and keys in `keys(is_public, rotations)`. Products of `multiply` are relinearised,
and in CKKS rescaled; those of `multiply_down` and `multiply_clear` are one level down in BGV and CKKS as well. Operands at
different levels meet at the lower one. Rotations are to the left, in each row.
"""

import importlib.metadata
import math

PLAINTEXT_MODULUS = 65537
# CKKS computes on value / 128.
REAL_UNIT = 128.0


class Case:
    """One row, as on the command line."""

    def __init__(self, arguments):
        self.table, self.scheme, degree, q_bits, p_bits, encryption, threads, repetitions = arguments
        self.degree, self.threads, self.repetitions = int(degree), int(threads), int(repetitions)
        self.q_bits, self.p_bits = self.bits(q_bits), self.bits(p_bits)
        self.is_public, self.is_ckks = encryption == "public", self.scheme == "ckks"

    @staticmethod
    def bits(text):
        """The list of bits; none for `-`."""
        return [] if text == "-" else [int(field) for field in text.split(",")]

    def encoded(self, values):
        """The values as the scheme takes them."""
        return [value / REAL_UNIT for value in values] if self.is_ckks else values


class TenSeal:
    """TenSEAL: a vector object for each ciphertext; products are relinearised and rescaled by themselves."""

    def __init__(self, case):
        import tenseal

        self.ts, self.case = tenseal, case
        bits = case.q_bits + case.p_bits
        scheme = tenseal.SCHEME_TYPE.CKKS if case.is_ckks else tenseal.SCHEME_TYPE.BFV
        modulus = -1 if case.is_ckks else PLAINTEXT_MODULUS
        # This makes every key that a vector needs as well.
        self.context = tenseal.context(scheme, case.degree, modulus, bits, n_threads=case.threads)
        if case.is_ckks:
            self.context.global_scale = 2.0 ** case.q_bits[-1]

    def keys(self, _is_public, _rotations):
        """Made with the context."""

    def encrypt(self, values):
        """A vector."""
        make = self.ts.ckks_vector if self.case.is_ckks else self.ts.bfv_vector
        return make(self.context, self.case.encoded(values))

    def add(self, a, b):
        """a + b"""
        return a + b

    def multiply(self, a, b):
        """a * b, relinearised; rescaled in CKKS."""
        return a * b

    multiply_down = multiply

    def subtract(self, a, b):
        """a - b"""
        return a - b

    def negate(self, a):
        """-a; BFV vectors have no change of sign, so a product with -1."""
        return -a if self.case.is_ckks else a * ([-1] * self.case.degree)

    def add_clear(self, a, values):
        """a + values"""
        return a + self.case.encoded(values)

    def multiply_clear(self, a, values):
        """a * values; rescaled in CKKS."""
        return a * self.case.encoded(values)

    def decrypt(self, ciphertext, count):
        """The first slots."""
        return ciphertext.decrypt()[:count]

    def describe(self, fresh):
        """What the row says beside its times."""
        note = "keys are made with the context; bytes are compressed; BFV has no levels, rotations are not offered"
        keys = self.context.serialize(
            save_public_key=True, save_secret_key=False, save_galois_keys=False, save_relin_keys=True
        )
        return {
            "library": f"TenSEAL {self.ts.__version__}",
            "note": note,
            "degree": self.case.degree,
            "slots": self.case.degree // (2 if self.case.is_ckks else 1),
            **bit_sizes(self.case),
            "ciphertext_bytes": len(fresh.serialize()),
            "key_bytes": len(keys),
        }


class SealPython:
    """SEAL through the bindings of seal-python."""

    def __init__(self, case):
        import seal

        self.seal, self.case = seal, case
        kinds = seal.scheme_type
        parms = seal.EncryptionParameters({"bgv": kinds.bgv, "bfv": kinds.bfv, "ckks": kinds.ckks}[case.scheme])
        parms.set_poly_modulus_degree(case.degree)
        create = seal.CoeffModulus
        bits = case.q_bits + case.p_bits
        moduli = create.Create(case.degree, bits) if bits else create.BFVDefault(case.degree)
        parms.set_coeff_modulus(moduli)
        self.moduli = [modulus.value() for modulus in moduli]
        if not case.is_ckks:
            parms.set_plain_modulus(PLAINTEXT_MODULUS)
        # The workload goes down a level in CKKS alone.
        self.context = seal.SEALContext(parms, case.is_ckks or case.table != "workload")
        if not self.context.parameters_set():
            raise ValueError(self.context.parameter_error_message())
        self.evaluator = seal.Evaluator(self.context)
        self.encoder = (seal.CKKSEncoder if case.is_ckks else seal.BatchEncoder)(self.context)

    def keys(self, is_public, rotations):
        """Secret, relinearisation, and what is asked for."""
        generator = self.seal.KeyGenerator(self.context)
        secret = generator.secret_key()
        self.relinearisation = generator.create_relin_keys()
        self.is_public = is_public
        if is_public:
            self.encryptor = self.seal.Encryptor(self.context, generator.create_public_key())
            self.encryptor.set_secret_key(secret)
        else:
            self.encryptor = self.seal.Encryptor(self.context, secret)
        if rotations:
            self.galois = self.seal.GaloisKeys()
            generator.create_galois_keys(rotations, self.galois)
        self.decryptor = self.seal.Decryptor(self.context, secret)

    def encrypt(self, values):
        """With the key of the row."""
        if not self.is_public:
            return self.encrypt_secret(values)
        return self.encryptor.encrypt(self.encode(values))

    def encrypt_secret(self, values):
        """With the secret key."""
        return self.encryptor.encrypt_symmetric(self.encode(values))

    def encode(self, values):
        """A plaintext."""
        if self.case.is_ckks:
            return self.encoder.encode(self.case.encoded(values), 2.0 ** self.case.q_bits[-1])
        return self.encoder.encode(values)

    def encode_for(self, a, values):
        """A plaintext to be used with this ciphertext: in CKKS at its level and scale."""
        if not self.case.is_ckks:
            return self.encoder.encode(values)
        plain = self.encoder.encode(self.case.encoded(values), a.scale())
        self.evaluator.mod_switch_to_inplace(plain, a.parms_id())
        return plain

    def level(self, a):
        """How many levels are left."""
        return self.context.get_context_data(a.parms_id()).chain_index()

    def down_to(self, a, level):
        """The same message at this level; in CKKS at its scale, by products with ones. BFV has no need of levels."""
        while self.level(a) > level:
            if self.case.is_ckks:
                a = self.multiply_clear(a, [REAL_UNIT] * self.encoder.slot_count())
            else:
                a = self.evaluator.mod_switch_to_next(a)
        return a

    def pair(self, a, b):
        """Both at the lower one's level."""
        if a.parms_id() == b.parms_id():
            return a, b
        level = min(self.level(a), self.level(b))
        return self.down_to(a, level), self.down_to(b, level)

    def add(self, a, b):
        """a + b"""
        return self.evaluator.add(*self.pair(a, b))

    def subtract(self, a, b):
        """a - b"""
        return self.evaluator.sub(*self.pair(a, b))

    def negate(self, a):
        """-a"""
        return self.evaluator.negate(a)

    def add_clear(self, a, values):
        """a + values"""
        return self.evaluator.add_plain(a, self.encode_for(a, values))

    def multiply_clear(self, a, values):
        """a * values, one level down in BGV and CKKS."""
        product = self.evaluator.multiply_plain(a, self.encode_for(a, values))
        if self.case.is_ckks:
            self.evaluator.rescale_to_next_inplace(product)
        elif self.case.scheme == "bgv":
            self.evaluator.mod_switch_to_next_inplace(product)
        return product

    def multiply(self, a, b):
        """a * b, relinearised; rescaled in CKKS."""
        product = self.evaluator.multiply(*self.pair(a, b))
        self.evaluator.relinearize_inplace(product, self.relinearisation)
        if self.case.is_ckks:
            self.evaluator.rescale_to_next_inplace(product)
        return product

    def multiply_down(self, a, b):
        """multiply, one level down in BGV as well."""
        product = self.multiply(a, b)
        if self.case.scheme == "bgv":
            self.evaluator.mod_switch_to_next_inplace(product)
        return product

    def rotate(self, a, places=1):
        """So many places to the left."""
        turn = self.evaluator.rotate_vector if self.case.is_ckks else self.evaluator.rotate_rows
        return turn(a, places, self.galois)

    def decrypt(self, ciphertext, count):
        """The first slots."""
        slots = self.encoder.decode(self.decryptor.decrypt(ciphertext))
        return [float(value) for value in slots[:count]]

    def describe(self, fresh):
        """What the row says beside its times."""
        *q, p = self.moduli
        return {
            "library": f"seal-python {version('seal-python')}",
            "note": "an operation uses one thread",
            "degree": self.case.degree,
            "slots": self.encoder.slot_count(),
            "q_primes": len(q),
            "p_primes": 1,
            "log_q": sum(math.log2(prime) for prime in q),
            "log_p": math.log2(p),
            "ciphertext_bytes": 8 * fresh.size() * len(q) * self.case.degree,
            "key_bytes": None,
        }


class OpenFhe:
    """OpenFHE, which picks its moduli, and the ring in the workload."""

    def __init__(self, case):
        import openfhe

        self.openfhe, self.case = openfhe, case
        # Contexts and keys are registered, and a second context would be the first one.
        openfhe.ReleaseAllContexts()
        if case.table == "primitives":
            self.context = self.deepest()
        else:
            self.context = self.make(1 if case.table == "workload" else max(case.depth, 1))
        self.context.Enable(openfhe.PKESchemeFeature.PKE)
        self.context.Enable(openfhe.PKESchemeFeature.KEYSWITCH)
        self.context.Enable(openfhe.PKESchemeFeature.LEVELEDSHE)

    def make(self, depth):
        """A context of this depth."""
        fhe, case = self.openfhe, self.case
        kinds = {"bgv": fhe.CCParamsBGVRNS, "bfv": fhe.CCParamsBFVRNS, "ckks": fhe.CCParamsCKKSRNS}
        params = kinds[case.scheme]()
        params.SetMultiplicativeDepth(depth)
        params.SetSecurityLevel(fhe.SecurityLevel.HEStd_128_classic)
        if case.degree:
            params.SetRingDim(case.degree)
        # Programs leave levels and scales to the library, as its users do.
        self.is_manual = case.scheme != "bfv" and case.table != "programs"
        if self.is_manual:
            params.SetScalingTechnique(fhe.ScalingTechnique.FIXEDMANUAL)
        elif case.scheme == "bfv" and case.p_bits:
            params.SetKeySwitchTechnique(fhe.KeySwitchTechnique.HYBRID)
        if case.is_ckks:
            params.SetScalingModSize(40 if self.is_manual else 48)
            params.SetFirstModSize(60)
        else:
            params.SetPlaintextModulus(PLAINTEXT_MODULUS)
        return fhe.GenCryptoContext(params)

    def deepest(self):
        """The deepest context that the ring holds."""
        found = None
        for depth in range(1, 100):
            try:
                context = self.make(depth)
            except RuntimeError:
                break
            if context.GetRingDimension() != self.case.degree:
                break
            found = context
        if found is None:
            raise ValueError("no depth fits this ring")
        return found

    def keys(self, is_public, rotations):
        """Secret and public in one call, relinearisation, and rotation if asked for."""
        self.is_public, self.pair = is_public, self.context.KeyGen()
        self.context.EvalMultKeyGen(self.pair.secretKey)
        if rotations:
            self.context.EvalRotateKeyGen(self.pair.secretKey, rotations)

    def encrypt(self, values):
        """With the key of the row."""
        if not self.is_public:
            return self.encrypt_secret(values)
        return self.context.Encrypt(self.pair.publicKey, self.encode(values))

    def encrypt_secret(self, values):
        """With the secret key."""
        return self.context.Encrypt(self.pair.secretKey, self.encode(values))

    def encode(self, values):
        """A plaintext."""
        values = self.case.encoded(values)
        if self.case.is_ckks:
            return self.context.MakeCKKSPackedPlaintext(values)
        return self.context.MakePackedPlaintext(values)

    def add(self, a, b):
        """a + b"""
        return self.context.EvalAdd(a, b)

    def multiply(self, a, b):
        """a * b, relinearised; rescaled in CKKS."""
        product = self.context.EvalMult(a, b)
        return self.context.Rescale(product) if self.case.is_ckks and self.is_manual else product

    def multiply_down(self, a, b):
        """multiply, one level down in BGV as well."""
        product = self.multiply(a, b)
        return self.context.ModReduce(product) if self.case.scheme == "bgv" and self.is_manual else product

    def subtract(self, a, b):
        """a - b"""
        return self.context.EvalSub(a, b)

    def negate(self, a):
        """-a"""
        return self.context.EvalNegate(a)

    def add_clear(self, a, values):
        """a + values"""
        return self.context.EvalAdd(a, self.encode(values))

    def multiply_clear(self, a, values):
        """a * values, in programs alone, where the library sees to the levels."""
        return self.context.EvalMult(a, self.encode(values))

    def rotate(self, a, places=1):
        """So many places to the left."""
        return self.context.EvalRotate(a, places)

    def decrypt(self, ciphertext, count):
        """The first slots."""
        plain = self.context.Decrypt(self.pair.secretKey, ciphertext)
        plain.SetLength(count)
        return (plain.GetRealPackedValue() if self.case.is_ckks else plain.GetPackedValue())[:count]

    def describe(self, _fresh):
        """What the row says beside its times."""
        degree = self.context.GetRingDimension()
        return {
            "library": f"openfhe-python {version('openfhe')}",
            "note": "its own moduli, within the standard of 2018; does not tell how many primes they have",
            "degree": degree,
            "slots": degree // (2 if self.case.is_ckks else 1),
            "q_primes": 0,
            "p_primes": 0,
            "log_q": math.log2(self.context.GetModulus()),
            "log_p": 0.0,
            "ciphertext_bytes": None,
            "key_bytes": None,
        }


def bit_sizes(case):
    """Primes and logarithms as asked for; the library does not tell its own."""
    return {
        "q_primes": len(case.q_bits),
        "p_primes": len(case.p_bits),
        "log_q": sum(case.q_bits),
        "log_p": sum(case.p_bits),
    }


def version(package):
    """Version of an installed package."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "of unknown version"
