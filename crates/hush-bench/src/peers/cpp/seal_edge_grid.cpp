// SPDX-License-Identifier: Apache-2.0
// SEAL on one cell of the edge grid; prints one JSON object.
//
// Usage: seal_edge_grid WAY KEY N COUNT REPETITIONS LIMIT_S CORES MEMORY_BYTES, as peers/python/edge_grid.py, which says what is
// measured: the same cells, clocks and checks with SEAL as it was built on this machine.

#include <ctime>
#include <memory>
#include <optional>

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <seal/seal.h>

#include "answer.hpp"

namespace {

using namespace seal;

constexpr int plain_bits = 10;
constexpr std::uint64_t checked_count = 16;
constexpr unsigned grace_s = 30;

struct Cell {
    bool is_packed = false, is_public = false;
    std::uint64_t degree = 0, count = 0, repetitions = 0;
    double limit_s = 0;
    int cores = 0;
    std::uint64_t memory_bytes = 0;
};

Cell read_cell(int count, char** arguments) {
    if (count != 9) {
        throw std::invalid_argument("usage: WAY KEY N COUNT REPETITIONS LIMIT_S CORES MEMORY_BYTES");
    }
    Cell out;
    out.is_packed = std::string(arguments[1]) == "packed";
    out.is_public = std::string(arguments[2]) == "public";
    out.degree = std::stoull(arguments[3]);
    out.count = std::stoull(arguments[4]);
    out.repetitions = std::stoull(arguments[5]);
    out.limit_s = std::stod(arguments[6]);
    out.cores = std::stoi(arguments[7]);
    out.memory_bytes = std::stoull(arguments[8]);
    return out;
}

// Integer `index` of every cell.
std::uint64_t integer(std::uint64_t index) {
    return ((index + 1) * 0x9E3779B97F4A7C15ULL) >> (64 - plain_bits);
}

// Whether ciphertext `index` of `count` is decrypted.
bool is_checked(std::uint64_t index, std::uint64_t count) {
    return index + 1 == count || index % ((count + checked_count - 1) / checked_count) == 0;
}

// The plaintexts, made before the clock runs.
std::vector<Plaintext> plaintexts(const Cell& cell) {
    std::uint64_t size = cell.is_packed ? cell.degree : 1;
    std::vector<Plaintext> out;
    for (std::uint64_t start = 0; start < cell.count; start += size) {
        auto length = std::min(size, cell.count - start);
        Plaintext plain(length);
        for (std::uint64_t place = 0; place < length; ++place) {
            plain[place] = integer(start + place);
        }
        out.push_back(std::move(plain));
    }
    return out;
}

// A clock that can be stopped.
class StopClock {
public:
    double spent() const {
        return before_ + std::chrono::duration<double>(adapter::Clock::now() - since_).count();
    }
    void stop() { before_ = spent(); }
    void go() { since_ = adapter::Clock::now(); }

private:
    double before_ = 0;
    adapter::Clock::time_point since_ = adapter::Clock::now();
};

// What the answer is made of.
struct Measured {
    std::ostringstream repetitions;
    std::vector<Modulus> moduli;
    std::size_t limbs = 0;
    std::uint64_t checked = 0, wrong = 0;
};

// One repetition, from parameters to the last ciphertext.
void once(const Cell& cell, const std::vector<Plaintext>& plains, Measured& out) {
    StopClock clock;
    EncryptionParameters parms(scheme_type::bfv);
    parms.set_poly_modulus_degree(cell.degree);
    out.moduli = CoeffModulus::BFVDefault(cell.degree);
    parms.set_coeff_modulus(out.moduli);
    parms.set_plain_modulus(std::uint64_t(1) << plain_bits);
    // Encryption needs no chain of levels.
    SEALContext context(parms, false);
    if (!context.parameters_set()) {
        throw std::invalid_argument(context.parameter_error_message());
    }
    double parameters = clock.spent();
    KeyGenerator generator(context);
    const auto& secret = generator.secret_key();
    std::optional<Encryptor> encryptor;
    if (cell.is_public) {
        PublicKey key;
        generator.create_public_key(key);
        encryptor.emplace(context, key);
    } else {
        encryptor.emplace(context, secret);
    }
    double keys = clock.spent();
    std::optional<Decryptor> decryptor;
    Ciphertext ciphertext;
    std::uint64_t made = 0;
    for (bool is_last = false; made < plains.size() && !is_last; ++made) {
        const auto& plain = plains[made];
        if (cell.is_public) {
            encryptor->encrypt(plain, ciphertext);
        } else {
            encryptor->encrypt_symmetric(plain, ciphertext);
        }
        is_last = clock.spent() - keys > cell.limit_s;
        if (is_last || is_checked(made, plains.size())) {
            clock.stop();
            if (!decryptor) {
                decryptor.emplace(context, secret);
            }
            Plaintext decrypted;
            decryptor->decrypt(ciphertext, decrypted);
            ++out.checked;
            out.wrong += decrypted.to_string() != plain.to_string();
            clock.go();
        }
    }
    double encryption = (clock.spent() - keys) * static_cast<double>(plains.size()) / static_cast<double>(made);
    out.limbs = ciphertext.coeff_modulus_size();
    out.repetitions << (out.repetitions.tellp() > 0 ? "," : "") << "{\"parameters_s\":" << parameters
                    << ",\"keys_s\":" << keys - parameters << ",\"encrypt_s\":" << encryption
                    << ",\"total_s\":" << keys + encryption << ",\"encrypted\":" << made << '}';
}

// Leaves this process the first of its cores and so much memory.
void restrict_to(const Cell& cell) {
    if (cell.memory_bytes > 0) {
        rlimit limit{cell.memory_bytes, cell.memory_bytes};
        if (setrlimit(RLIMIT_DATA, &limit) != 0) {
            throw std::runtime_error("the limit on memory was refused");
        }
    }
    cpu_set_t allowed, first;
    CPU_ZERO(&first);
    if (cell.cores > 0 && sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
        for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&first) < cell.cores; ++core) {
            if (CPU_ISSET(core, &allowed)) {
                CPU_SET(core, &first);
            }
        }
        sched_setaffinity(0, sizeof first, &first);
    }
}

void measure(const Cell& cell) {
    restrict_to(cell);
    alarm(grace_s + static_cast<unsigned>(static_cast<double>(cell.repetitions) * 3 * cell.limit_s));
    auto plains = plaintexts(cell);
    Measured measured;
    measured.repetitions.precision(17);
    for (std::uint64_t repetition = 0; repetition < cell.repetitions; ++repetition) {
        once(cell, plains, measured);
    }
    std::ostringstream out;
    out.precision(17);
#ifdef SEAL_USE_INTEL_HEXL
    const char* hexl = " with HEXL";
#else
    const char* hexl = "";
#endif
    out << "{\"library\":\"SEAL " << SEAL_VERSION << hexl << "\",\"moduli\":[";
    for (std::size_t index = 0; index < measured.moduli.size(); ++index) {
        out << (index > 0 ? "," : "") << measured.moduli[index].value();
    }
    out << "],\"special_count\":" << measured.moduli.size() - measured.limbs
        << ",\"ciphertext_bytes\":" << 16 * measured.limbs * cell.degree << ",\"repetitions\":["
        << measured.repetitions.str() << "],\"checked\":" << measured.checked << ",\"wrong\":" << measured.wrong
        << ",\"peak_mb\":" << adapter::peak_mb()
        << ",\"cpu_s\":" << static_cast<double>(std::clock()) / CLOCKS_PER_SEC << '}';
    std::cout << out.str() << std::endl;
}

}  // namespace

int main(int count, char** arguments) {
    try {
        measure(read_cell(count, arguments));
        return 0;
    } catch (const std::exception& error) {
        std::cerr << error.what() << std::endl;
        return 1;
    }
}
