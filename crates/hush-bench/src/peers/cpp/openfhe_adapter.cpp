// SPDX-License-Identifier: Apache-2.0
// OpenFHE on one row of the side-by-side benchmark; see answer.hpp. The library picks the moduli, and in the workload
// the ring: depth 1 there, the depth of the programs in those, and the largest one that the ring holds in the primitives. P_BITS other than `-` ask BFV for hybrid
// key switching, which is the default of the others. OMP_NUM_THREADS sets the threads.

#include <cmath>

#include <openfhe.h>

#include "answer.hpp"

namespace {

using namespace lbcrypto;

class Engine {
public:
    using Ct = Ciphertext<DCRTPoly>;

    explicit Engine(const adapter::Case& request)
        : is_ckks_(request.scheme == "ckks"), is_bgv_(request.scheme == "bgv"), is_hybrid_(!request.p_bits.empty()),
          is_manual_(request.table != "programs") {
        if (request.table == "primitives") {
            context_ = deepest(request.degree);
        } else {
            context_ = make(request.degree, request.depth);
        }
        context_->Enable(PKE);
        context_->Enable(KEYSWITCH);
        context_->Enable(LEVELEDSHE);
    }

    // Contexts and keys are registered for the life of the process, and a second context would be the first one.
    ~Engine() {
        CryptoContextImpl<DCRTPoly>::ClearEvalMultKeys();
        CryptoContextImpl<DCRTPoly>::ClearEvalAutomorphismKeys();
        CryptoContextFactory<DCRTPoly>::ReleaseAllContexts();
    }
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    void keys(bool is_public, const std::vector<int>& rotations) {
        CryptoContextImpl<DCRTPoly>::ClearEvalMultKeys();
        CryptoContextImpl<DCRTPoly>::ClearEvalAutomorphismKeys();
        keys_ = context_->KeyGen();
        context_->EvalMultKeyGen(keys_.secretKey);
        if (!rotations.empty()) {
            context_->EvalRotateKeyGen(keys_.secretKey, {rotations.begin(), rotations.end()});
        }
        is_public_ = is_public;
    }

    Ct encrypt(const std::vector<std::int64_t>& values) {
        return is_public_ ? context_->Encrypt(keys_.publicKey, encode(values)) : encrypt_secret(values);
    }

    Ct encrypt_secret(const std::vector<std::int64_t>& values) {
        return context_->Encrypt(keys_.secretKey, encode(values));
    }

    Ct add(const Ct& a, const Ct& b) {
        return context_->EvalAdd(a, b);
    }

    Ct subtract(const Ct& a, const Ct& b) {
        return context_->EvalSub(a, b);
    }

    Ct negate(const Ct& a) {
        return context_->EvalNegate(a);
    }

    Ct add_clear(const Ct& a, const std::vector<std::int64_t>& values) {
        auto plain = encode(values);
        return context_->EvalAdd(a, plain);
    }

    // In programs alone, where the library sees to the levels.
    Ct multiply_clear(const Ct& a, const std::vector<std::int64_t>& values) {
        auto plain = encode(values);
        return context_->EvalMult(a, plain);
    }

    Ct multiply(const Ct& a, const Ct& b) {
        auto product = context_->EvalMult(a, b);
        return is_ckks_ && is_manual_ ? context_->Rescale(product) : product;
    }

    Ct multiply_down(const Ct& a, const Ct& b) {
        auto product = multiply(a, b);
        return is_bgv_ && is_manual_ ? context_->ModReduce(product) : product;
    }

    Ct rotate(const Ct& a, int places) {
        return context_->EvalRotate(a, places);
    }

    adapter::Values decrypt(const Ct& ciphertext, std::size_t count) {
        Plaintext plain;
        context_->Decrypt(keys_.secretKey, ciphertext, &plain);
        plain->SetLength(count);
        if (is_ckks_) {
            auto values = plain->GetRealPackedValue();
            values.resize(count);
            return values;
        }
        auto& slots = plain->GetPackedValue();
        return adapter::Values(slots.begin(), slots.begin() + static_cast<std::ptrdiff_t>(count));
    }

    void ntt() {
        auto& prime = *context_->GetElementParams()->GetParams()[0];
        ChineseRemainderTransformFTT<NativeVector>().ForwardTransformToBitReverseInPlace(
            prime.GetRootOfUnity(), prime.GetCyclotomicOrder(), &row());
    }

    void inverse_ntt() {
        auto& prime = *context_->GetElementParams()->GetParams()[0];
        ChineseRemainderTransformFTT<NativeVector>().InverseTransformFromBitReverseInPlace(
            prime.GetRootOfUnity(), prime.GetCyclotomicOrder(), &row());
    }

    adapter::Answer describe(const Ct& fresh) const {
        adapter::Answer out;
        out.library = "OpenFHE " + GetOPENFHEVersion();
        out.note = "its own moduli, within the standard of 2018; keys of both kinds are always made";
        out.degree = context_->GetRingDimension();
        out.slots = is_ckks_ ? out.degree / 2 : out.degree;
        for (auto& prime : context_->GetElementParams()->GetParams()) {
            out.log_q += std::log2(prime->GetModulus().ConvertToDouble());
            out.q_primes++;
        }
        auto rns = std::dynamic_pointer_cast<CryptoParametersRNS>(context_->GetCryptoParameters());
        if (rns && rns->GetKeySwitchTechnique() == HYBRID && rns->GetParamsP()) {
            for (auto& prime : rns->GetParamsP()->GetParams()) {
                out.log_p += std::log2(prime->GetModulus().ConvertToDouble());
                out.p_primes++;
            }
        }
        out.ciphertext_bytes = bytes(fresh->GetElements());
        out.key_bytes = is_public_ ? bytes(keys_.publicKey->GetPublicElements()) : 0;
        for (auto& [tag, keys] : CryptoContextImpl<DCRTPoly>::GetAllEvalMultKeys()) {
            for (auto& key : keys) {
                out.key_bytes += bytes(key->GetAVector()) + bytes(key->GetBVector());
            }
        }
        for (auto& [tag, keys] : CryptoContextImpl<DCRTPoly>::GetAllEvalAutomorphismKeys()) {
            for (auto& [element, key] : *keys) {
                out.key_bytes += bytes(key->GetAVector()) + bytes(key->GetBVector());
            }
        }
        return out;
    }

private:
    static std::size_t bytes(const std::vector<DCRTPoly>& polynomials) {
        std::size_t out = 0;
        for (auto& polynomial : polynomials) {
            out += polynomial.GetNumOfElements() * polynomial.GetRingDimension() * sizeof(std::uint64_t);
        }
        return out;
    }

    template <typename Scheme>
    static CCParams<Scheme> parameters(std::size_t degree, std::uint32_t depth) {
        CCParams<Scheme> out;
        out.SetMultiplicativeDepth(depth);
        out.SetSecurityLevel(HEStd_128_classic);
        if (degree != 0) {
            out.SetRingDim(static_cast<std::uint32_t>(degree));
        }
        return out;
    }

    // The division after a product is a call of its own where it is timed, as in the other libraries; programs leave levels and
    // scales to the library, as its users do.
    CryptoContext<DCRTPoly> make(std::size_t degree, std::uint32_t depth) const {
        if (is_ckks_) {
            auto params = parameters<CryptoContextCKKSRNS>(degree, depth);
            if (is_manual_) {
                params.SetScalingTechnique(FIXEDMANUAL);
            }
            params.SetScalingModSize(is_manual_ ? 40 : 48);
            params.SetFirstModSize(60);
            return GenCryptoContext(params);
        }
        if (is_bgv_) {
            auto params = parameters<CryptoContextBGVRNS>(degree, depth);
            if (is_manual_) {
                params.SetScalingTechnique(FIXEDMANUAL);
            }
            params.SetPlaintextModulus(adapter::plaintext_modulus);
            return GenCryptoContext(params);
        }
        auto params = parameters<CryptoContextBFVRNS>(degree, depth);
        params.SetPlaintextModulus(adapter::plaintext_modulus);
        if (is_hybrid_) {
            params.SetKeySwitchTechnique(HYBRID);
        }
        return GenCryptoContext(params);
    }

    CryptoContext<DCRTPoly> deepest(std::size_t degree) const {
        CryptoContext<DCRTPoly> out;
        for (std::uint32_t depth = 1;; depth++) {
            try {
                auto next = make(degree, depth);
                if (next->GetRingDimension() != degree) {
                    break;
                }
                out = next;
            } catch (const std::exception&) {
                break;
            }
        }
        if (!out) {
            throw std::invalid_argument("no depth fits this ring");
        }
        return out;
    }

    Plaintext encode(const std::vector<std::int64_t>& values) {
        return is_ckks_ ? context_->MakeCKKSPackedPlaintext(adapter::reals(values))
                        : context_->MakePackedPlaintext(values);
    }

    NativeVector& row() {
        if (row_.GetLength() == 0) {
            auto modulus = context_->GetElementParams()->GetParams()[0]->GetModulus();
            row_ = NativeVector(context_->GetRingDimension(), modulus);
            for (std::uint32_t i = 0; i < row_.GetLength(); i++) {
                row_[i] = NativeInteger(std::uint64_t{i} * i).Mod(modulus);
            }
        }
        return row_;
    }

    bool is_ckks_, is_bgv_, is_hybrid_, is_manual_, is_public_ = true;
    CryptoContext<DCRTPoly> context_;
    KeyPair<DCRTPoly> keys_;
    NativeVector row_;
};

}  // namespace

int main(int count, char** arguments) {
    return adapter::run<Engine>(count, arguments);
}
