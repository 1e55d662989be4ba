// SPDX-License-Identifier: BSD-3-Clause
#include "base/trace.h"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace torusmp::base {
namespace {

constexpr std::array<std::string_view, trace_modules> module_names{"collective", "connection",
                                                                   "link", "message", "packet"};
constexpr std::array<std::string_view, 4> level_names{"off", "info", "debug", "trace"};

struct Line {
    int rank = -1;
    std::uint32_t length = 0;
    std::array<char, 248> text{};
};

// Static, so that the last lines survive whatever an assertion found.
constinit std::mutex mutex;
constinit std::array<Line, most_trace_lines> ring;
constinit std::size_t added = 0;
constinit std::array<std::atomic<TraceLevel>, trace_modules> printed{};

template <std::size_t count>
std::size_t index_of(const std::array<std::string_view, count>& names, std::string_view word,
                     const char* what) {
    const auto found = std::find(names.begin(), names.end(), word);
    if (found == names.end())
        throw std::invalid_argument(
            fmt::format("unknown {} '{}' (expected {})", what, word, fmt::join(names, ", ")));
    return std::size_t(found - names.begin());
}

}  // namespace

TraceLevels parse_trace_levels(std::string_view text) {
    TraceLevels levels;
    for (bool first = true; first || !text.empty(); first = false) {
        const std::string_view word = text.substr(0, text.find(','));
        text.remove_prefix(std::min(text.size(), word.size() + 1));
        const std::size_t sign = word.find('=');
        if (sign != std::string_view::npos) {
            const std::size_t module = index_of(module_names, word.substr(0, sign), "module");
            levels.of[module] = TraceLevel(index_of(level_names, word.substr(sign + 1), "level"));
        } else if (first) {
            levels.of.fill(TraceLevel(index_of(level_names, word, "level")));
        } else {
            throw std::invalid_argument(
                fmt::format("'{}' does not name a module (expected link=trace)", word));
        }
    }
    return levels;
}

void set_trace_levels(const TraceLevels& levels) {
    for (std::size_t i = 0; i < trace_modules; ++i) {
        printed[i].store(levels.of[i], std::memory_order_relaxed);
        trace_detail::kept[i].store(std::max(levels.of[i], TraceLevel::info),
                                    std::memory_order_relaxed);
    }
}

void trace_detail::add(TraceModule module, TraceLevel level, int rank, fmt::string_view format,
                       fmt::format_args arguments) {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    tm day{};
    localtime_r(&now.tv_sec, &day);
    const std::lock_guard lock(mutex);
    Line& line = ring[added++ % ring.size()];
    line.rank = rank;
    char* at = line.text.data();
    char* const end = at + line.text.size() - 1;  // room for the end of the line
    at = fmt::format_to_n(at, end - at, "{:02}:{:02}:{:02}.{:06} rank {} {}: ", day.tm_hour,
                          day.tm_min, day.tm_sec, now.tv_nsec / 1000, rank,
                          module_names[std::size_t(module)])
             .out;
    at = fmt::vformat_to_n(at, std::size_t(end - at), format, arguments).out;
    line.length = std::uint32_t(at - line.text.data());
    if (level > printed[std::size_t(module)].load(std::memory_order_relaxed)) return;
    *at = '\n';
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.text.data(), line.length + 1);
}

std::vector<std::string> trace_lines(int rank, std::size_t most) {
    // An assertion may fail while a line is made: its own thread holds the mutex then.
    std::unique_lock lock(mutex, std::defer_lock);
    for (int tries = 0; tries < 1000 && !lock.try_lock(); ++tries) std::this_thread::yield();
    std::vector<std::string> lines;
    if (!lock) return lines;
    const std::size_t count = std::min(added, ring.size());
    for (std::size_t back = 1; back <= count && lines.size() < most; ++back) {
        const Line& line = ring[(added - back) % ring.size()];
        if (rank < 0 || line.rank == rank) lines.emplace_back(line.text.data(), line.length);
    }
    std::reverse(lines.begin(), lines.end());
    return lines;
}

}  // namespace torusmp::base
