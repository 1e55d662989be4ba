// SPDX-License-Identifier: BSD-3-Clause
#include "soak.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace torusmp::core::testing {
namespace {

char crash_text[128];

void on_crash(int signal) {
    [[maybe_unused]] const auto written = write(STDERR_FILENO, crash_text, std::strlen(crash_text));
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

}  // namespace

std::uint64_t whole_number(const std::string& name, const std::string& text, std::uint64_t least) {
    char* end = nullptr;
    const std::uint64_t value = std::strtoull(text.c_str(), &end, 10);
    if (text.empty() || *end != '\0' || text[0] == '-' || value < least)
        throw std::invalid_argument(
            fmt::format("{}: found '{}', expected a whole number{}", name, text,
                        least == 0 ? "" : fmt::format(", {} or more", least)));
    return value;
}

void read_numbers(int argc, char** argv, std::span<const NumberArgument> known) {
    for (int i = 1; i < argc; ++i) {
        const std::string name = argv[i];
        const auto found =
            std::find_if(known.begin(), known.end(),
                         [&](const NumberArgument& argument) { return argument.name == name; });
        if (found == known.end())
            throw std::invalid_argument(fmt::format("unknown argument '{}'", name));
        if (i + 1 == argc) throw std::invalid_argument(name + ": its value is missing");
        *found->value = whole_number(name, argv[++i], found->least);
    }
}

Seeds take_seeds(std::vector<char*>& arguments) {
    Seeds seeds;
    const std::pair<std::uint64_t*, const char*> places[] = {{&seeds.first, "FIRST"},
                                                             {&seeds.count, "COUNT"}};
    for (const auto& [number, name] : places) {
        if (arguments.size() < 2 || std::string_view(arguments[1]).starts_with("--")) break;
        *number = whole_number(name, arguments[1], 1);
        arguments.erase(arguments.begin() + 1);
    }
    return seeds;
}

void tell_on_crash(std::string_view program, std::uint64_t seed) {
    const auto end = fmt::format_to_n(crash_text, sizeof crash_text - 1,
                                      "\n{}: crashed in the round of seed {}\n", program, seed);
    *end.out = '\0';
    for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE}) std::signal(signal, on_crash);
}

}  // namespace torusmp::core::testing
