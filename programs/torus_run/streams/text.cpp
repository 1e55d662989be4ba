// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/streams/text.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstring>

#include "programs/torus_run/front/job.h"

namespace torusmp::torus_run {

std::string signal_name(int signal) {
    const char* name = sigabbrev_np(signal);
    const char* description = sigdescr_np(signal);
    if (!name || !description) return fmt::format("signal {}", signal);
    return fmt::format("SIG{} ({})", name, description);
}

std::string describe_end(int status) {
    if (WIFSIGNALED(status))
        return fmt::format("was killed by {}{}", signal_name(WTERMSIG(status)),
                           WCOREDUMP(status) ? ", core dumped" : "");
    return fmt::format("exited with code {}", WEXITSTATUS(status));
}

int exit_code_of(int status) {
    return WIFSIGNALED(status) ? exit_signal_base + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string list_ranks(const std::vector<int>& ranks) {
    if (ranks.empty()) return "no rank";
    if (ranks.size() == 1) return fmt::format("rank {}", ranks.front());
    if (ranks.size() == 2) return fmt::format("ranks {} and {}", ranks[0], ranks[1]);
    if (ranks.back() - ranks.front() + 1 == int(ranks.size()))
        return fmt::format("ranks {} to {}", ranks.front(), ranks.back());
    constexpr std::size_t most = 16;
    const std::vector<int> some(ranks.begin(),
                                ranks.begin() + std::ptrdiff_t(std::min(most, ranks.size())));
    return fmt::format("ranks {}{}", fmt::join(some, ", "), ranks.size() > most ? ", ..." : "");
}

}  // namespace torusmp::torus_run
