// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/streams/text.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <cstring>

#include "programs/torus_run/front/job.h"

namespace torusmp::launch {

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

}  // namespace torusmp::launch
