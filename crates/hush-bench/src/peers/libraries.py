# SPDX-License-Identifier: Apache-2.0
"""TenSEAL, SEAL or OpenFHE for Python on one row of the side-by-side benchmark; prints one JSON object.

Usage: libraries.py LIBRARY TABLE SCHEME N Q_BITS P_BITS ENCRYPTION THREADS REPETITIONS, with the number of elements and
then the vectors x, y and z on standard input, one number a line. Bits are a comma-separated list, or `-` for the
library's own choice; N = 0 likewise. OMP_NUM_THREADS sets OpenFHE's threads.
"""

import importlib
import importlib.metadata
import json
import math
import statistics
import sys
import time

PLAINTEXT_MODULUS = 65537
# CKKS computes on value / 128.
REAL_UNIT = 128.0
# What takes longer than this many milliseconds is repeated only so often.
SLOW_MS, FEW = 100.0, 5


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

    def keys(self, _is_public, _with_rotation):
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
        self.context = seal.SEALContext(parms)
        if not self.context.parameters_set():
            raise ValueError(self.context.parameter_error_message())
        self.evaluator = seal.Evaluator(self.context)
        self.encoder = (seal.CKKSEncoder if case.is_ckks else seal.BatchEncoder)(self.context)

    def keys(self, is_public, with_rotation):
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
        if with_rotation:
            self.galois = self.seal.GaloisKeys()
            generator.create_galois_keys([1], self.galois)
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

    def add(self, a, b):
        """a + b"""
        return self.evaluator.add(a, b)

    def multiply(self, a, b):
        """a * b, relinearised; rescaled in CKKS."""
        product = self.evaluator.multiply(a, b)
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

    def rotate(self, a):
        """One place to the left."""
        turn = self.evaluator.rotate_vector if self.case.is_ckks else self.evaluator.rotate_rows
        return turn(a, 1, self.galois)

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
        if case.table == "workload":
            self.context = self.make(1)
        else:
            self.context = self.deepest()
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
        if case.scheme != "bfv":
            params.SetScalingTechnique(fhe.ScalingTechnique.FIXEDMANUAL)
        elif case.p_bits:
            params.SetKeySwitchTechnique(fhe.KeySwitchTechnique.HYBRID)
        if case.is_ckks:
            params.SetScalingModSize(40)
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

    def keys(self, is_public, with_rotation):
        """Secret and public in one call, relinearisation, and rotation if asked for."""
        self.is_public, self.pair = is_public, self.context.KeyGen()
        self.context.EvalMultKeyGen(self.pair.secretKey)
        if with_rotation:
            self.context.EvalRotateKeyGen(self.pair.secretKey, [1])

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
        return self.context.Rescale(product) if self.case.is_ckks else product

    def multiply_down(self, a, b):
        """multiply, one level down in BGV as well."""
        product = self.multiply(a, b)
        return self.context.ModReduce(product) if self.case.scheme == "bgv" else product

    def rotate(self, a):
        """One place to the left."""
        return self.context.EvalRotate(a, 1)

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


LIBRARIES = {"tenseal": TenSeal, "seal": SealPython, "openfhe": OpenFhe}


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


class Laps:
    """What was timed, by name."""

    def __init__(self, repetitions):
        self.times, self.repetitions = {}, repetitions

    def push(self, name, start):
        """Ends a lap that began at `start`; its milliseconds."""
        ms = (time.perf_counter() - start) * 1e3
        self.times.setdefault(name, []).append(ms)
        return ms

    def is_enough(self, done, last_ms):
        """Whether `done` repetitions are enough."""
        return done >= self.repetitions or (done >= FEW and last_ms > SLOW_MS)

    def time(self, name, work):
        """Repeats an operation, after one that is not counted; its last result."""
        work()
        while True:
            start = time.perf_counter()
            last = work()
            if self.is_enough(len(self.times.get(name, [])) + 1, self.push(name, start)):
                return last

    def result(self):
        """Repetitions and medians."""
        medians = {name: statistics.median(times) for name, times in self.times.items()}
        return {"repetitions": min(map(len, self.times.values())), "times_ms": medians}


def workload(adapter, case, x, y, z):
    """y * (x + z), phase by phase."""
    laps = Laps(case.repetitions)
    while True:
        start = time.perf_counter()
        engine = adapter(case)
        laps.push("parameters", start)
        at = time.perf_counter()
        engine.keys(case.is_public, False)
        laps.push("keys", at)
        at = time.perf_counter()
        cx, cy, cz = engine.encrypt(x), engine.encrypt(y), engine.encrypt(z)
        laps.push("encrypt", at)
        at = time.perf_counter()
        result = engine.multiply(cy, engine.add(cx, cz))
        laps.push("evaluate", at)
        at = time.perf_counter()
        values = engine.decrypt(result, len(x))
        laps.push("decrypt", at)
        if laps.is_enough(len(laps.times["keys"]), laps.push("total", start)):
            return {**engine.describe(cx), **laps.result(), "values": {"result": values}}


def primitives(adapter, case, x, y, _z):
    """One operation at a time; those that the library does not offer are left out."""
    laps, engine = Laps(case.repetitions), adapter(case)
    engine.keys(True, True)
    cx, cy = laps.time("encrypt_public", lambda: engine.encrypt(x)), engine.encrypt(y)
    if hasattr(engine, "encrypt_secret"):
        laps.time("encrypt_secret", lambda: engine.encrypt_secret(x))
    values = {"decrypted": laps.time("decrypt", lambda: engine.decrypt(cx, len(x)))}
    values["product"] = engine.decrypt(laps.time("multiply", lambda: engine.multiply_down(cx, cy)), len(x))
    if hasattr(engine, "rotate"):
        values["rotated"] = engine.decrypt(laps.time("rotate", lambda: engine.rotate(cx)), len(x) - 1)
    return {**engine.describe(cx), **laps.result(), "values": values}


def peak_mb():
    """Peak resident megabytes of this process."""
    with open("/proc/self/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    return 0.0


def main():
    """Measures the row of the command line."""
    library, case = sys.argv[1], Case(sys.argv[2:])
    if library not in LIBRARIES:
        sys.exit(f"no adapter to {library}")
    numbers = [int(line) for line in sys.stdin]
    count = numbers[0]
    vectors = [numbers[1 + i * count : 1 + (i + 1) * count] for i in range(3)]
    measure = workload if case.table == "workload" else primitives
    # Before anything is timed.
    importlib.import_module(library)
    answer = measure(LIBRARIES[library], case, *vectors)
    answer["values"] = {name: [float(value) for value in values] for name, values in answer["values"].items()}
    print(json.dumps({**answer, "peak_mb": peak_mb()}))


if __name__ == "__main__":
    main()
