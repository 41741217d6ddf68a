// SPDX-License-Identifier: Apache-2.0
// SEAL on one row of the side-by-side benchmark; see answer.hpp.

#include <cmath>
#include <memory>
#include <optional>

#include <seal/seal.h>
#include <seal/util/ntt.h>

#include "answer.hpp"

namespace {

using namespace seal;

class Engine {
public:
    using Ct = Ciphertext;

    explicit Engine(const adapter::Case& request)
        : is_ckks_(request.scheme == "ckks"), is_bgv_(request.scheme == "bgv") {
        EncryptionParameters parms(is_ckks_ ? scheme_type::ckks : is_bgv_ ? scheme_type::bgv : scheme_type::bfv);
        parms.set_poly_modulus_degree(request.degree);
        if (request.q_bits.empty()) {
            parms.set_coeff_modulus(CoeffModulus::BFVDefault(request.degree));
        } else {
            auto bits = request.q_bits;
            bits.insert(bits.end(), request.p_bits.begin(), request.p_bits.end());
            parms.set_coeff_modulus(CoeffModulus::Create(request.degree, bits));
            scale_ = std::pow(2.0, request.q_bits.back());
        }
        if (!is_ckks_) {
            parms.set_plain_modulus(adapter::plaintext_modulus);
        }
        // The workload goes down a level in CKKS alone; a chain that nothing needs takes most of the time of small parameters.
        bool has_levels = is_ckks_ || request.table != "workload";
        context_.emplace(parms, has_levels, sec_level_type::tc128);
        if (!context_->parameters_set()) {
            throw std::invalid_argument(context_->parameter_error_message());
        }
        evaluator_.emplace(*context_);
        if (is_ckks_) {
            reals_.emplace(*context_);
        } else {
            integers_.emplace(*context_);
        }
    }

    void keys(bool is_public, const std::vector<int>& rotations) {
        KeyGenerator generator(*context_);
        secret_ = generator.secret_key();
        generator.create_relin_keys(relinearisation_);
        key_bytes_ = relinearisation_.save_size(compr_mode_type::none);
        encryptor_.emplace(*context_, secret_);
        if (is_public) {
            PublicKey key;
            generator.create_public_key(key);
            encryptor_->set_public_key(key);
            key_bytes_ += key.save_size(compr_mode_type::none);
        }
        is_public_ = is_public;
        if (!rotations.empty()) {
            generator.create_galois_keys(rotations, galois_);
            key_bytes_ += galois_.save_size(compr_mode_type::none);
        }
        decryptor_.emplace(*context_, secret_);
    }

    Ct encrypt(const std::vector<std::int64_t>& values) {
        if (!is_public_) {
            return encrypt_secret(values);
        }
        Ct out;
        encryptor_->encrypt(encode(values), out);
        return out;
    }

    Ct encrypt_secret(const std::vector<std::int64_t>& values) {
        Ct out;
        encryptor_->encrypt_symmetric(encode(values), out);
        return out;
    }

    Ct add(const Ct& a, const Ct& b) {
        return level(a, b, [this](const Ct& a, const Ct& b, Ct& out) { evaluator_->add(a, b, out); });
    }

    Ct subtract(const Ct& a, const Ct& b) {
        return level(a, b, [this](const Ct& a, const Ct& b, Ct& out) { evaluator_->sub(a, b, out); });
    }

    Ct negate(const Ct& a) {
        Ct out;
        evaluator_->negate(a, out);
        return out;
    }

    Ct add_clear(const Ct& a, const std::vector<std::int64_t>& values) {
        Ct out;
        evaluator_->add_plain(a, encode_for(a, values), out);
        return out;
    }

    Ct multiply_clear(const Ct& a, const std::vector<std::int64_t>& values) {
        Ct out;
        evaluator_->multiply_plain(a, encode_for(a, values), out);
        if (is_ckks_) {
            evaluator_->rescale_to_next_inplace(out);
        } else if (is_bgv_) {
            evaluator_->mod_switch_to_next_inplace(out);
        }
        return out;
    }

    Ct multiply(const Ct& a, const Ct& b) {
        Ct out = level(a, b, [this](const Ct& a, const Ct& b, Ct& out) { evaluator_->multiply(a, b, out); });
        evaluator_->relinearize_inplace(out, relinearisation_);
        if (is_ckks_) {
            evaluator_->rescale_to_next_inplace(out);
        }
        return out;
    }

    Ct multiply_down(const Ct& a, const Ct& b) {
        Ct out = multiply(a, b);
        if (is_bgv_) {
            evaluator_->mod_switch_to_next_inplace(out);
        }
        return out;
    }

    Ct rotate(const Ct& a, int places) {
        Ct out;
        if (is_ckks_) {
            evaluator_->rotate_vector(a, places, galois_, out);
        } else {
            evaluator_->rotate_rows(a, places, galois_, out);
        }
        return out;
    }

    adapter::Values decrypt(const Ct& ciphertext, std::size_t count) {
        Plaintext plain;
        decryptor_->decrypt(ciphertext, plain);
        adapter::Values out;
        if (is_ckks_) {
            reals_->decode(plain, out);
        } else {
            std::vector<std::int64_t> slots;
            integers_->decode(plain, slots);
            out.assign(slots.begin(), slots.begin() + static_cast<std::ptrdiff_t>(count));
        }
        out.resize(count);
        return out;
    }

    void ntt() {
        util::ntt_negacyclic_harvey(row(), tables());
    }
    void inverse_ntt() {
        util::inverse_ntt_negacyclic_harvey(row(), tables());
    }

    adapter::Answer describe(const Ct& fresh) const {
        adapter::Answer out;
        out.library = std::string("SEAL ") + std::to_string(SEAL_VERSION_MAJOR) + "." +
                      std::to_string(SEAL_VERSION_MINOR) + "." + std::to_string(SEAL_VERSION_PATCH);
#ifdef SEAL_USE_INTEL_HEXL
        out.library += "+HEXL";
#endif
        out.note = "an operation uses one thread";
        auto& parms = context_->first_context_data()->parms();
        out.degree = parms.poly_modulus_degree();
        out.slots = is_ckks_ ? reals_->slot_count() : integers_->slot_count();
        out.q_primes = parms.coeff_modulus().size();
        auto& all = context_->key_context_data()->parms().coeff_modulus();
        out.p_primes = all.size() - out.q_primes;
        for (std::size_t i = 0; i < all.size(); i++) {
            (i < out.q_primes ? out.log_q : out.log_p) += std::log2(static_cast<double>(all[i].value()));
        }
        // A ciphertext of the secret key travels with a seed for half of it.
        out.ciphertext_bytes = fresh.save_size(compr_mode_type::none);
        if (!is_public_) {
            out.ciphertext_bytes = encryptor_->encrypt_zero_symmetric().save_size(compr_mode_type::none);
        }
        out.key_bytes = key_bytes_;
        return out;
    }

private:
    Plaintext encode(const std::vector<std::int64_t>& values) {
        Plaintext out;
        if (is_ckks_) {
            reals_->encode(adapter::reals(values), scale_, out);
        } else {
            integers_->encode(values, out);
        }
        return out;
    }

    // A plaintext to be used with this ciphertext: in CKKS at its level and scale.
    Plaintext encode_for(const Ct& a, const std::vector<std::int64_t>& values) {
        if (!is_ckks_) {
            return encode(values);
        }
        Plaintext out;
        reals_->encode(adapter::reals(values), a.parms_id(), a.scale(), out);
        return out;
    }

    // Applies an operation to both operands at the lower one's level.
    template <typename Operation>
    Ct level(const Ct& a, const Ct& b, Operation operation) {
        Ct out;
        auto level_of = [this](const Ct& c) { return context_->get_context_data(c.parms_id())->chain_index(); };
        if (a.parms_id() == b.parms_id()) {
            operation(a, b, out);
        } else if (level_of(a) < level_of(b)) {
            operation(a, down(b, a.parms_id()), out);
        } else {
            operation(down(a, b.parms_id()), b, out);
        }
        return out;
    }

    // The same message at a lower level; in CKKS at its scale too, by products with ones.
    Ct down(Ct a, const parms_id_type& level) {
        while (a.parms_id() != level) {
            if (is_ckks_) {
                a = multiply_clear(a, ones());
            } else {
                evaluator_->mod_switch_to_next_inplace(a);
            }
        }
        return a;
    }

    std::vector<std::int64_t> ones() const {
        return std::vector<std::int64_t>(reals_->slot_count(), static_cast<std::int64_t>(adapter::real_unit));
    }

    const util::NTTTables& tables() const {
        return *context_->first_context_data()->small_ntt_tables();
    }

    std::uint64_t* row() {
        auto& parms = context_->first_context_data()->parms();
        if (row_.empty()) {
            row_.resize(parms.poly_modulus_degree());
            for (std::size_t i = 0; i < row_.size(); i++) {
                row_[i] = i * i % parms.coeff_modulus()[0].value();
            }
        }
        return row_.data();
    }

    bool is_ckks_, is_bgv_, is_public_ = true;
    double scale_ = 1;
    std::optional<SEALContext> context_;
    std::optional<Evaluator> evaluator_;
    std::optional<BatchEncoder> integers_;
    std::optional<CKKSEncoder> reals_;
    SecretKey secret_;
    RelinKeys relinearisation_;
    GaloisKeys galois_;
    std::optional<Encryptor> encryptor_;
    std::optional<Decryptor> decryptor_;
    std::size_t key_bytes_ = 0;
    std::vector<std::uint64_t> row_;
};

}  // namespace

int main(int count, char** arguments) {
    return adapter::run<Engine>(count, arguments);
}
