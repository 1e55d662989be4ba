// SPDX-License-Identifier: BSD-3-Clause
// The trace: one line for each event inside the library, with time, rank and module.
//
// The last lines are kept in memory, in a fixed ring, and end the report of a hang and the message
// of an assertion. Lines of level info, which are rare, are always kept; those of debug and trace
// only if log.level asks for them. log.level also prints them to standard error.
//
// This is the one state that all Runtimes of a process share, because assertions know no Runtime;
// each line names its rank. A line that is off costs one load, so TORUSMP_TRACE stands in slow
// paths only. Any thread may call.
#pragma once

#include <fmt/core.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace torusmp::base {

enum class TraceLevel : std::uint8_t { off, info, debug, trace };
enum class TraceModule : std::uint8_t { collective, connection, link, message, packet };
inline constexpr std::size_t trace_modules = 5;

struct TraceLevels {
    std::array<TraceLevel, trace_modules> of{};  // by module
    friend bool operator==(const TraceLevels&, const TraceLevels&) = default;
};
// Reads "debug", or "info,link=trace": a level for all modules, then levels of single ones. Throws
// std::invalid_argument that names the wrong word.
TraceLevels parse_trace_levels(std::string_view text);
// Call it before other threads trace.
void set_trace_levels(const TraceLevels& levels);

namespace trace_detail {
inline constinit std::array<std::atomic<TraceLevel>, trace_modules> kept{
    TraceLevel::info, TraceLevel::info, TraceLevel::info, TraceLevel::info, TraceLevel::info};
void add(TraceModule module, TraceLevel level, int rank, fmt::string_view format,
         fmt::format_args arguments);
}  // namespace trace_detail

inline bool traces(TraceModule module, TraceLevel level) {
    return level <= trace_detail::kept[std::size_t(module)].load(std::memory_order_relaxed);
}

template <class... Arguments>
[[gnu::cold, gnu::noinline]] void trace(TraceModule module, TraceLevel level, int rank,
                                        fmt::format_string<Arguments...> format,
                                        Arguments&&... arguments) {
    trace_detail::add(module, level, rank, format, fmt::make_format_args(arguments...));
}

// The last lines of one rank, or of all ranks of the process if `rank` is negative, oldest first.
inline constexpr std::size_t most_trace_lines = 256;
std::vector<std::string> trace_lines(int rank, std::size_t most = 32);

}  // namespace torusmp::base

// TORUSMP_TRACE(link, info, rank, format, arguments...): the arguments are evaluated only if the
// line is kept or printed.
#define TORUSMP_TRACE(module, level, rank, ...)                                              \
    do {                                                                                     \
        if (::torusmp::base::traces(::torusmp::base::TraceModule::module,                    \
                                    ::torusmp::base::TraceLevel::level)) [[unlikely]]        \
            ::torusmp::base::trace(::torusmp::base::TraceModule::module,                     \
                                   ::torusmp::base::TraceLevel::level, (rank), __VA_ARGS__); \
    } while (false)
