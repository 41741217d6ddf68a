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

#include "programs.hpp"

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
    // Of the deepest program.
    std::uint32_t depth = 1;
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

// A number of bytes; 0 if the library does not tell.
inline std::string bytes_text(std::size_t bytes) {
    return bytes == 0 ? "null" : std::to_string(bytes);
}

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
        << ",\"ciphertext_bytes\":" << bytes_text(answer.ciphertext_bytes)
        << ",\"key_bytes\":" << bytes_text(answer.key_bytes) << ",\"peak_mb\":" << peak_mb() << ",\"times_ms\":{";
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

// A library with its parameters is an `Engine`; messages are at the top level:
//   Engine(const Case&), void keys(bool is_public, rotations), Ct encrypt(values), add, multiply (relinearised; rescaled in
//   CKKS), Values decrypt(ciphertext, count), Answer describe(ciphertext)
// and for programs, where operands may have different levels:
//   subtract, negate, multiply_down and multiply_clear (one level down in BGV and CKKS), add_clear, rotate (places to the left)
// and for primitives:
//   encrypt_secret, void ntt(), void inverse_ntt()

// y·(x + z), phase by phase.
template <typename Engine>
void workload(const Case& request) {
    Vectors in = read_vectors();
    Laps laps;
    for (;;) {
        auto start = Clock::now();
        Engine engine(request);
        laps.push("parameters", start);
        auto at = Clock::now();
        engine.keys(request.is_public, {});
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
        if (laps.is_enough("decrypt", laps.push("total", start), request.repetitions)) {
            auto answer = engine.describe(x);
            answer.values["result"] = std::move(values);
            return print(answer, laps);
        }
    }
}

// One operation at a time.
template <typename Engine>
void primitives(const Case& request) {
    Vectors in = read_vectors();
    Laps laps;
    auto repetitions = request.repetitions;
    Engine engine(request);
    engine.keys(true, {1});
    laps.time("ntt", repetitions, [&] { engine.ntt(); });
    laps.time("inverse_ntt", repetitions, [&] { engine.inverse_ntt(); });
    auto x = engine.encrypt(in.x), y = engine.encrypt(in.y);
    laps.time("encrypt_public", repetitions, [&] { x = engine.encrypt(in.x); });
    laps.time("encrypt_secret", repetitions, [&] { engine.encrypt_secret(in.x); });
    Values decrypted;
    laps.time("decrypt", repetitions, [&] { decrypted = engine.decrypt(x, in.x.size()); });
    auto product = x, rotated = x;
    laps.time("multiply", repetitions, [&] { product = engine.multiply_down(x, y); });
    laps.time("rotate", repetitions, [&] { rotated = engine.rotate(x, 1); });
    auto answer = engine.describe(x);
    answer.values["decrypted"] = std::move(decrypted);
    answer.values["product"] = engine.decrypt(product, in.x.size());
    answer.values["rotated"] = engine.decrypt(rotated, in.x.size() - 1);
    print(answer, laps);
}

// Random programs, each with keys of its own.
template <typename Engine>
void programs(Case request) {
    auto batch = read_programs(request.scheme == "ckks");
    Laps laps;
    auto start = Clock::now();
    for (auto& program : batch) {
        request.depth = std::max(request.depth, program.depth);
    }
    Engine engine(request);
    Answer answer;
    std::map<std::string, Values> results;
    for (auto& program : batch) {
        engine.keys(true, program.rotations());
        std::vector<typename Engine::Ct> values;
        for (auto& input : program.inputs) {
            values.push_back(engine.encrypt(input));
        }
        auto count = program.inputs.at(0).size();
        answer = engine.describe(values.at(0));
        // Every program has other keys.
        answer.key_bytes = 0;
        for (auto& step : program.steps) {
            values.push_back(value(engine, program, values, step));
        }
        results[std::to_string(results.size())] = engine.decrypt(values.back(), count);
    }
    laps.push("programs", start);
    answer.values = std::move(results);
    print(answer, laps);
}

// The whole of an adapter: `table` is asked for one of the tables.
template <typename Table>
int answer_with(int count, char** arguments, Table table) {
    try {
        std::ios::sync_with_stdio(false);
        table(read_case(count, arguments));
        return 0;
    } catch (const std::exception& error) {
        std::cerr << error.what() << std::endl;
        return 1;
    }
}

// An adapter to a library with every operation.
template <typename Engine>
int run(int count, char** arguments) {
    return answer_with(count, arguments, [](const Case& request) {
        if (request.table == "workload") {
            workload<Engine>(request);
        } else if (request.table == "programs") {
            programs<Engine>(request);
        } else {
            primitives<Engine>(request);
        }
    });
}

}  // namespace adapter
