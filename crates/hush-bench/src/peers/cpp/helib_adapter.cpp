// SPDX-License-Identifier: Apache-2.0
// HElib on the workload and on random programs; see answer.hpp. The library picks its primes for a number of bits, manages levels
// and scales, and has BGV and CKKS.

#include <cmath>
#include <memory>

#include <helib/helib.h>

#include "answer.hpp"

namespace {

class Engine {
public:
    using Ct = helib::Ctxt;

    explicit Engine(const adapter::Case& request) : is_ckks_(request.scheme == "ckks") {
        if (!is_ckks_ && request.scheme != "bgv") {
            throw std::invalid_argument("HElib has BGV and CKKS");
        }
        auto m = static_cast<long>(2 * request.degree), bits = 64 + 56 * static_cast<long>(request.depth);
        if (is_ckks_) {
            helib::ContextBuilder<helib::CKKS> builder;
            context_.reset(builder.m(m).precision(30).bits(bits).c(digits).buildPtr());
        } else {
            helib::ContextBuilder<helib::BGV> builder;
            context_.reset(builder.m(m).p(adapter::plaintext_modulus).r(1).bits(bits).c(digits).buildPtr());
        }
        // Slots are coordinates in the group of automorphisms, the last one the fastest: a row is the long dimension.
        auto& group = context_->getZMStar();
        while (group.OrderOf(row_dimension_) != group.getM() / 4) {
            row_dimension_++;
        }
        slots_ = static_cast<std::size_t>(context_->getNSlots());
    }

    void keys(bool, const std::vector<int>& rotations) {
        secret_ = std::make_unique<helib::SecKey>(*context_);
        secret_->GenSecKey();
        auto& group = context_->getZMStar();
        auto length = group.OrderOf(row_dimension_);
        for (int places : rotations) {
            auto power = (length - places % length) % length;
            secret_->GenKeySWmatrix(1, group.genToPow(row_dimension_, power));
        }
        if (!rotations.empty() && !context_->getView().nativeDimension(row_dimension_)) {
            secret_->GenKeySWmatrix(1, group.genToPow(row_dimension_, -length));
        }
        secret_->setKeySwitchMap();
    }

    Ct encrypt(const std::vector<std::int64_t>& values) {
        const helib::PubKey& key = *secret_;
        Ct out(key);
        encode(values).encrypt(out);
        return out;
    }

    Ct add(Ct a, const Ct& b) {
        a += b;
        return a;
    }

    Ct subtract(Ct a, const Ct& b) {
        a -= b;
        return a;
    }

    Ct negate(Ct a) {
        a.negate();
        return a;
    }

    Ct add_clear(Ct a, const std::vector<std::int64_t>& values) {
        a += encode(values);
        return a;
    }

    Ct multiply_clear(Ct a, const std::vector<std::int64_t>& values) {
        a *= encode(values);
        return a;
    }

    Ct multiply(Ct a, const Ct& b) {
        a.multiplyBy(b);
        return a;
    }

    Ct multiply_down(const Ct& a, const Ct& b) {
        return multiply(a, b);
    }

    Ct rotate(Ct a, int places) {
        helib::rotate1D(a, row_dimension_, -places);
        return a;
    }

    adapter::Values decrypt(const Ct& ciphertext, std::size_t count) {
        helib::PtxtArray plain(*context_);
        adapter::Values out(slots_);
        if (is_ckks_) {
            // Without the noise that is for results which others see.
            plain.rawDecrypt(ciphertext, *secret_);
            plain.store(out);
        } else {
            plain.decrypt(ciphertext, *secret_);
            std::vector<long> residues;
            plain.store(residues);
            const long t = adapter::plaintext_modulus;
            for (std::size_t slot = 0; slot < slots_; slot++) {
                long residue = residues[place(slot)];
                out[slot] = static_cast<double>(residue > t / 2 ? residue - t : residue);
            }
        }
        out.resize(count);
        return out;
    }

    adapter::Answer describe(const Ct&) const {
        adapter::Answer out;
        out.library = std::string("HElib ") + helib::version::asString;
        out.note = "its own moduli, which it estimates at " + std::to_string(std::lround(context_->securityLevel())) +
                   " bits of security; one thread";
        out.degree = static_cast<std::size_t>(context_->getPhiM());
        out.slots = slots_;
        auto& primes = context_->getCtxtPrimes();
        out.q_primes = static_cast<std::size_t>(primes.card());
        out.p_primes = static_cast<std::size_t>(context_->getSpecialPrimes().card());
        out.log_q = context_->logOfProduct(primes) / std::log(2.0);
        out.log_p = context_->logOfProduct(context_->getSpecialPrimes()) / std::log(2.0);
        return out;
    }

private:
    // Where HElib keeps a slot: the coordinate in the row and, in BGV, which of the two rows.
    std::size_t place(std::size_t slot) const {
        auto row = slots_ / 2;
        return is_ckks_ || row_dimension_ == 1 ? slot : slot % row * 2 + slot / row;
    }

    helib::PtxtArray encode(const std::vector<std::int64_t>& values) {
        helib::PtxtArray out(*context_);
        if (is_ckks_) {
            auto reals = adapter::reals(values);
            reals.resize(slots_);
            out.load(reals);
        } else {
            std::vector<long> placed(slots_);
            for (std::size_t slot = 0; slot < values.size(); slot++) {
                placed[place(slot)] = static_cast<long>(values[slot]);
            }
            out.load(placed);
        }
        return out;
    }

    // Of key switching.
    static constexpr long digits = 3;

    bool is_ckks_;
    std::unique_ptr<helib::Context> context_;
    std::unique_ptr<helib::SecKey> secret_;
    long row_dimension_ = 0;
    std::size_t slots_ = 0;
};

}  // namespace

int main(int count, char** arguments) {
    return adapter::answer_with(count, arguments, [](const adapter::Case& request) {
        if (request.table == "workload") {
            adapter::workload<Engine>(request);
        } else if (request.table == "programs") {
            adapter::programs<Engine>(request);
        } else {
            throw std::invalid_argument("HElib's primitives are not measured");
        }
    });
}
