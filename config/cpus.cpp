// SPDX-License-Identifier: BSD-3-Clause
#include "config/cpus.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <sstream>
#include <string>

#include "base/first_line.h"
#include "config/cgroup.h"

namespace torusmp::config {

namespace {

constexpr int bits_a_word = 8 * sizeof(unsigned long);
constexpr std::size_t most_words = 1 << 12;  // 262144 processors: more than Linux supports

std::optional<double> ratio(double quota, double period) {
    if (quota <= 0 || period <= 0) return std::nullopt;
    return quota / period;
}

// "200000 100000", or "max 100000" for no limit.
std::optional<double> quota_v2(const std::filesystem::path& folder) {
    std::istringstream line(base::first_line(folder / "cpu.max"));
    double quota = 0, period = 0;
    if (!(line >> quota >> period)) return std::nullopt;
    return ratio(quota, period);
}

std::optional<double> quota_v1(const std::filesystem::path& folder) {
    double quota = 0, period = 0;
    std::istringstream(base::first_line(folder / "cpu.cfs_quota_us")) >> quota;
    std::istringstream(base::first_line(folder / "cpu.cfs_period_us")) >> period;
    return ratio(quota, period);
}

}  // namespace

CpuList allowed_cpus(pid_t thread) {
    // The kernel rejects a mask smaller than its own, whose size cannot be queried.
    for (std::size_t words = 16; words <= most_words; words *= 2) {
        std::vector<unsigned long> mask(words);
        auto* set = reinterpret_cast<cpu_set_t*>(mask.data());
        if (::sched_getaffinity(thread, words * sizeof(unsigned long), set) != 0) {
            if (errno == EINVAL) continue;
            break;
        }
        CpuList cpus;
        for (std::size_t i = 0; i < words * bits_a_word; ++i)
            if (mask[i / bits_a_word] >> (i % bits_a_word) & 1) cpus.push_back(int(i));
        return cpus;
    }
    return {};
}

std::optional<double> cpu_quota(const std::filesystem::path& root) {
    std::optional<double> least;
    for (const ControlGroup& group : control_groups("cpu", root))
        if (const auto limit = group.unified ? quota_v2(group.folder) : quota_v1(group.folder))
            least = least ? std::min(*least, *limit) : *limit;
    return least;
}

std::string describe_cpus(const CpuList& cpus) {
    if (cpus.empty()) return "any";
    std::string out;
    for (std::size_t i = 0; i < cpus.size();) {
        std::size_t last = i;
        while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
        out += out.empty() ? "" : ",";
        out += last == i ? fmt::format("{}", cpus[i]) : fmt::format("{}-{}", cpus[i], cpus[last]);
        i = last + 1;
    }
    return out;
}

Affinity::Affinity(const CpuList& cpus) {
    for (int cpu : cpus) {
        const auto word = std::size_t(cpu) / bits_a_word;
        if (cpu < 0 || word >= most_words) continue;
        if (mask_.size() <= word) mask_.resize(word + 1);
        mask_[word] |= 1ul << (cpu % bits_a_word);
    }
}

int Affinity::apply() const noexcept {
    if (mask_.empty()) return 0;
    const auto* set = reinterpret_cast<const cpu_set_t*>(mask_.data());
    return ::sched_setaffinity(0, mask_.size() * sizeof(unsigned long), set) == 0 ? 0 : errno;
}

}  // namespace torusmp::config
