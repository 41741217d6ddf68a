// SPDX-License-Identifier: Apache-2.0
// What the C++ adapters share: the case on the command line, the vectors, timing, and the answer as JSON.

#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace adapter {

constexpr std::uint64_t plaintext_modulus = 65537;
// CKKS computes on value / 128.
constexpr double real_unit = 128.0;
// What takes longer than this many milliseconds is repeated only so often.
constexpr double slow_ms = 100.0;
constexpr std::size_t few = 5;

using Values = std::vector<double>;

// TABLE SCHEME N Q_BITS P_BITS ENCRYPTION THREADS REPETITIONS; bits `-` and N 0 are the library's choice.
struct Case {
    std::string table, scheme;
    std::size_t degree = 0;
    std::vector<int> q_bits, p_bits;
    bool is_public = true;
    std::size_t repetitions = 1;
};

inline std::vector<int> list(const std::string& text) {
    std::vector<int> out;
    std::istringstream fields(text == "-" ? "" : text);
    for (std::string field; std::getline(fields, field, ',');) {
        out.push_back(std::stoi(field));
    }
    return out;
}

inline Case read_case(int count, char** arguments) {
    if (count != 9) {
        throw std::invalid_argument("usage: TABLE SCHEME N Q_BITS P_BITS ENCRYPTION THREADS REPETITIONS");
    }
    Case out;
    out.table = arguments[1];
    out.scheme = arguments[2];
    out.degree = std::stoul(arguments[3]);
    out.q_bits = list(arguments[4]);
    out.p_bits = list(arguments[5]);
    out.is_public = std::string(arguments[6]) == "public";
    out.repetitions = std::stoul(arguments[8]);
    return out;
}

struct Vectors {
    std::vector<std::int64_t> x, y, z;
};

inline Vectors read_vectors() {
    std::size_t count = 0;
    std::cin >> count;
    Vectors out;
    for (auto* vector : {&out.x, &out.y, &out.z}) {
        vector->resize(count);
        for (auto& value : *vector) {
            std::cin >> value;
        }
    }
    if (!std::cin) {
        throw std::invalid_argument("standard input ended before the vectors did");
    }
    return out;
}

inline Values reals(const std::vector<std::int64_t>& values) {
    Values out;
    for (auto value : values) {
        out.push_back(static_cast<double>(value) / real_unit);
    }
    return out;
}

using Clock = std::chrono::steady_clock;

// What was timed, by name.
class Laps {
public:
    double push(const std::string& name, Clock::time_point start) {
        double ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
        times_[name].push_back(ms);
        return ms;
    }

    bool is_enough(const std::string& name, double last_ms, std::size_t repetitions) const {
        auto done = times_.at(name).size();
        return done >= repetitions || (done >= few && last_ms > slow_ms);
    }

    // Repeats an operation, after one that is not counted.
    template <typename Work>
    void time(const std::string& name, std::size_t repetitions, Work work) {
        work();
        for (;;) {
            auto start = Clock::now();
            work();
            if (is_enough(name, push(name, start), repetitions)) {
                return;
            }
        }
    }

    std::size_t fewest() const {
        std::size_t out = SIZE_MAX;
        for (auto& [name, times] : times_) {
            out = std::min(out, times.size());
        }
        return out;
    }

    std::map<std::string, double> medians() const {
        std::map<std::string, double> out;
        for (auto [name, times] : times_) {
            std::sort(times.begin(), times.end());
            auto middle = times.size() / 2;
            out[name] = times.size() % 2 ? times[middle] : (times[middle - 1] + times[middle]) / 2;
        }
        return out;
    }

private:
    std::map<std::string, std::vector<double>> times_;
};

struct Answer {
    std::string library, note;
    std::size_t degree = 0, slots = 0, q_primes = 0, p_primes = 0;
    double log_q = 0, log_p = 0;
    std::size_t ciphertext_bytes = 0, key_bytes = 0;
    std::map<std::string, Values> values;
};

inline double peak_mb() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.rfind("VmHWM:", 0) == 0) {
            return std::stod(line.substr(6)) * 1024 / 1e6;
        }
    }
    return 0;
}

inline void print(const Answer& answer, const Laps& laps) {
    std::ostringstream out;
    out.precision(17);
    out << "{\"library\":\"" << answer.library << "\",\"note\":\"" << answer.note << "\",\"degree\":" << answer.degree
        << ",\"slots\":" << answer.slots << ",\"q_primes\":" << answer.q_primes << ",\"p_primes\":" << answer.p_primes
        << ",\"log_q\":" << answer.log_q << ",\"log_p\":" << answer.log_p << ",\"repetitions\":" << laps.fewest()
        << ",\"ciphertext_bytes\":" << answer.ciphertext_bytes << ",\"key_bytes\":" << answer.key_bytes
        << ",\"peak_mb\":" << peak_mb() << ",\"times_ms\":{";
    const char* comma = "";
    for (auto& [name, ms] : laps.medians()) {
        out << comma << '"' << name << "\":" << ms;
        comma = ",";
    }
    out << "},\"values\":{";
    comma = "";
    for (auto& [name, values] : answer.values) {
        out << comma << '"' << name << "\":[";
        comma = "";
        for (double value : values) {
            out << comma << value;
            comma = ",";
        }
        out << ']';
        comma = ",";
    }
    out << "}}";
    std::cout << out.str() << std::endl;
}

// The whole of an adapter; `Engine` is a library with its parameters, messages are at the top level:
//   Engine(const Case&), void keys(bool is_public, bool with_rotation), Ciphertext encrypt(values), encrypt_secret(values),
//   add, multiply (relinearised; rescaled in CKKS), multiply_down (one level down in BGV and CKKS), rotate (by one),
//   Values decrypt(ciphertext, count), void ntt(), void inverse_ntt(), Answer describe(ciphertext)
template <typename Engine>
int run(int count, char** arguments) {
    try {
        Case request = read_case(count, arguments);
        Vectors in = read_vectors();
        Laps laps;
        auto repetitions = request.repetitions;
        if (request.table == "workload") {
            for (;;) {
                auto start = Clock::now();
                Engine engine(request);
                laps.push("parameters", start);
                auto at = Clock::now();
                engine.keys(request.is_public, false);
                laps.push("keys", at);
                at = Clock::now();
                auto x = engine.encrypt(in.x), y = engine.encrypt(in.y), z = engine.encrypt(in.z);
                laps.push("encrypt", at);
                at = Clock::now();
                auto result = engine.multiply(y, engine.add(x, z));
                laps.push("evaluate", at);
                at = Clock::now();
                auto values = engine.decrypt(result, in.x.size());
                laps.push("decrypt", at);
                if (laps.is_enough("decrypt", laps.push("total", start), repetitions)) {
                    auto answer = engine.describe(x);
                    answer.values["result"] = std::move(values);
                    print(answer, laps);
                    return 0;
                }
            }
        }
        Engine engine(request);
        engine.keys(true, true);
        laps.time("ntt", repetitions, [&] { engine.ntt(); });
        laps.time("inverse_ntt", repetitions, [&] { engine.inverse_ntt(); });
        auto x = engine.encrypt(in.x), y = engine.encrypt(in.y);
        laps.time("encrypt_public", repetitions, [&] { x = engine.encrypt(in.x); });
        laps.time("encrypt_secret", repetitions, [&] { engine.encrypt_secret(in.x); });
        Values decrypted;
        laps.time("decrypt", repetitions, [&] { decrypted = engine.decrypt(x, in.x.size()); });
        auto product = x, rotated = x;
        laps.time("multiply", repetitions, [&] { product = engine.multiply_down(x, y); });
        laps.time("rotate", repetitions, [&] { rotated = engine.rotate(x); });
        auto answer = engine.describe(x);
        answer.values["decrypted"] = std::move(decrypted);
        answer.values["product"] = engine.decrypt(product, in.x.size());
        answer.values["rotated"] = engine.decrypt(rotated, in.x.size() - 1);
        print(answer, laps);
        return 0;
    } catch (const std::exception& error) {
        std::cerr << error.what() << std::endl;
        return 1;
    }
}

}  // namespace adapter
