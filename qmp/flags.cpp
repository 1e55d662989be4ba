// SPDX-License-Identifier: BSD-3-Clause
#include "qmp/flags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>

namespace torusmp::qmp {
namespace {

bool is_number(std::string_view text) {
    return !text.empty() &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

int to_int(std::string_view flag, std::string_view text) {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size())
        throw FlagError(
            fmt::format("{}: found '{}', expected an integer up to 2147483647", flag, text));
    return value;
}

// The position of one flag in argv, [first, last), and its integers.
struct Found {
    int first = 0;
    int last = 0;
    std::vector<int> values;
    bool native = false;
};

std::optional<Found> find(std::string_view flag, int argc, char** argv, bool native_allowed) {
    std::optional<Found> found;
    for (int i = 1; i < argc; ++i) {
        if (argv[i] == nullptr || flag != argv[i]) continue;
        if (found) throw FlagError(fmt::format("{}: found twice, expected once", flag));
        Found here{i, i + 1, {}, false};
        while (here.last < argc && argv[here.last] != nullptr && is_number(argv[here.last]))
            here.values.push_back(to_int(flag, argv[here.last++]));
        if (here.values.empty()) {
            const bool more = here.last < argc && argv[here.last] != nullptr;
            if (native_allowed && more && std::strcmp(argv[here.last], "native") == 0) {
                here.native = true;
                ++here.last;
            } else {
                throw FlagError(
                    fmt::format("{}: found {}, expected integers, separated by spaces{}", flag,
                                more ? fmt::format("'{}'", argv[here.last]) : "nothing behind it",
                                native_allowed ? ", or native" : ""));
            }
        }
        found = std::move(here);
    }
    return found;
}

void check_lengths(std::string_view flag, const std::vector<int>& values) {
    for (const int value : values)
        if (value < 1)
            throw FlagError(fmt::format("{}: found {}, expected integers of at least 1", flag,
                                        fmt::join(values, " ")));
}

void check_map(std::string_view flag, const std::vector<int>& map) {
    if (!is_permutation(map))
        throw FlagError(fmt::format("{}: found {}, expected each of 0 to {} once", flag,
                                    fmt::join(map, " "), map.size() - 1));
}

long long product(const std::vector<int>& values) {
    long long result = 1;
    for (const int value : values)
        if (__builtin_mul_overflow(result, value, &result)) return -1;
    return result;
}

void check_geometry(const Flags& flags, int processes) {
    if (!flags.geometry.empty() && product(flags.geometry) != processes)
        throw FlagError(fmt::format(
            "-qmp-geom: found {}, which is a grid of {} nodes, expected one of {}, the number of "
            "processes",
            fmt::join(flags.geometry, " "), product(flags.geometry), processes));
    if (!flags.geometry.empty() && !flags.allocated_map.empty() &&
        flags.geometry.size() != flags.allocated_map.size())
        throw FlagError(fmt::format(
            "-qmp-alloc-map: found {} entries, expected {}, one for each dimension of -qmp-geom",
            flags.allocated_map.size(), flags.geometry.size()));
}

void check_jobs(const Flags& flags, int processes) {
    if (flags.jobs.empty()) return;
    const auto refuse = [&](std::string_view expected) {
        throw FlagError(
            fmt::format("-qmp-job: found {}, expected {}", fmt::join(flags.jobs, " "), expected));
    };
    if (flags.geometry.empty()) {
        if (flags.jobs.size() != 1) refuse("one integer, because -qmp-geom is not given");
        if (processes % flags.jobs[0] != 0)
            refuse(fmt::format("a divisor of {}, the number of processes", processes));
        return;
    }
    if (flags.jobs.size() != flags.geometry.size())
        refuse(
            fmt::format("{} integers, one for each dimension of -qmp-geom", flags.geometry.size()));
    for (std::size_t d = 0; d < flags.jobs.size(); ++d)
        if (flags.geometry[d] % flags.jobs[d] != 0)
            refuse(fmt::format("divisors of the geometry {}", fmt::join(flags.geometry, " ")));
}

}  // namespace

bool is_permutation(const std::vector<int>& map) {
    std::vector<bool> seen(map.size(), false);
    for (const int entry : map) {
        if (entry < 0 || std::size_t(entry) >= map.size() || seen[std::size_t(entry)]) return false;
        seen[std::size_t(entry)] = true;
    }
    return true;
}

Flags take_flags(int& argc, char** argv) {
    Flags flags;
    if (argv == nullptr) return flags;
    std::vector<bool> taken(std::size_t(std::max(argc, 0)), false);
    const auto take = [&](std::string_view flag, bool native_allowed) {
        auto found = find(flag, argc, argv, native_allowed);
        if (found) std::fill(taken.begin() + found->first, taken.begin() + found->last, true);
        return found;
    };

    if (auto found = take("-qmp-geom", true)) {
        check_lengths("-qmp-geom", found->values);
        flags.geometry = std::move(found->values);
        flags.native_geometry = found->native;
    }
    if (auto found = take("-qmp-alloc-map", false)) {
        check_map("-qmp-alloc-map", found->values);
        flags.allocated_map = std::move(found->values);
    }
    if (auto found = take("-qmp-logic-map", false)) {
        check_map("-qmp-logic-map", found->values);
        flags.logical_map = std::move(found->values);
    }
    if (auto found = take("-qmp-job", false)) {
        check_lengths("-qmp-job", found->values);
        flags.jobs = std::move(found->values);
    }
    if (auto found = take("-qmp-nmpi", false)) {
        check_lengths("-qmp-nmpi", found->values);
        if (found->values.size() != 1)
            throw FlagError(fmt::format("-qmp-nmpi: found {}, expected one integer",
                                        fmt::join(found->values, " ")));
        flags.processes = found->values[0];
    }

    int kept = 0;
    for (int i = 0; i < argc; ++i)
        if (!taken[std::size_t(i)]) argv[kept++] = argv[i];
    if (kept < argc) argv[kept] = nullptr;
    argc = kept;
    return flags;
}

void check_flags(const Flags& flags, int processes) {
    if (flags.processes && *flags.processes > processes)
        throw FlagError(
            fmt::format("-qmp-nmpi: found {}, expected at most {}, the number of "
                        "processes of the job",
                        *flags.processes, processes));
    const int used = flags.processes.value_or(processes);
    check_geometry(flags, used);
    check_jobs(flags, used);
}

}  // namespace torusmp::qmp
