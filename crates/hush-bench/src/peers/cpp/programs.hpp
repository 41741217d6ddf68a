// SPDX-License-Identifier: Apache-2.0
// Random programs: read from standard input and run; the semantics are in the crate, libraries/programs.rs. Inputs are the first
// values, and each step makes the next one.

#pragma once

#include <cstdint>
#include <iostream>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace adapter {

struct Step {
    std::string name;
    std::size_t a = 0;
    std::int64_t b = 0;
};

struct Program {
    std::uint64_t seed = 0;
    std::uint32_t depth = 0;
    std::vector<std::vector<std::int64_t>> inputs, clears;
    std::vector<Step> steps;

    // How far it rotates, each once.
    std::vector<int> rotations() const {
        std::set<int> out;
        for (auto& step : steps) {
            if (step.name == "rotate") {
                out.insert(static_cast<int>(step.b));
            }
        }
        return {out.begin(), out.end()};
    }
};

inline void expect_word(const std::string& expected) {
    std::string word;
    if (!(std::cin >> word) || word != expected) {
        throw std::invalid_argument("expected \"" + expected + "\", found \"" + word + "\"");
    }
}

// The programs, with the first `slots` values of each vector.
inline std::vector<Program> read_programs(bool is_ckks) {
    std::size_t count = 0, degree = 0;
    expect_word("programs");
    std::cin >> count >> degree;
    std::vector<Program> out(std::cin ? count : 0);
    for (auto& program : out) {
        std::size_t inputs = 0, clears = 0, steps = 0;
        expect_word("program");
        std::cin >> program.seed >> program.depth >> inputs >> clears >> steps;
        for (std::size_t i = 0; i < inputs + clears && std::cin; i++) {
            std::vector<std::int64_t> vector(degree);
            for (auto& value : vector) {
                std::cin >> value;
            }
            vector.resize(is_ckks ? degree / 2 : degree);
            (i < inputs ? program.inputs : program.clears).push_back(std::move(vector));
        }
        for (std::size_t i = 0; i < steps && std::cin; i++) {
            Step step;
            std::cin >> step.name >> step.a >> step.b;
            program.steps.push_back(step);
        }
    }
    if (!std::cin) {
        throw std::invalid_argument("standard input ended before the programs did");
    }
    return out;
}

// The value of one step.
template <typename Engine, typename Ct = typename Engine::Ct>
Ct value(Engine& engine, const Program& program, const std::vector<Ct>& values, const Step& step) {
    auto& name = step.name;
    auto& a = values.at(step.a);
    auto index = static_cast<std::size_t>(step.b);
    if (name == "add") {
        return engine.add(a, values.at(index));
    }
    if (name == "sub") {
        return engine.subtract(a, values.at(index));
    }
    if (name == "neg") {
        return engine.negate(a);
    }
    if (name == "mul") {
        return engine.multiply_down(a, values.at(index));
    }
    if (name == "add_clear") {
        return engine.add_clear(a, program.clears.at(index));
    }
    if (name == "mul_clear") {
        return engine.multiply_clear(a, program.clears.at(index));
    }
    if (name == "rotate") {
        return engine.rotate(a, static_cast<int>(step.b));
    }
    throw std::invalid_argument("no step " + name);
}

}  // namespace adapter
