// SPDX-License-Identifier: BSD-3-Clause
#include "base/process_state.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/descriptor.h"

namespace torusmp::base {

bool ProcessState::ended() const {
    constexpr unsigned exiting = 0x4;  // PF_EXITING of linux/sched.h
    return !exists() || state == 'Z' || state == 'X' || (flags & exiting) != 0;
}

ProcessState process_state(pid_t process) {
    ProcessState found;
    char text[2048];
    std::snprintf(text, sizeof text, "/proc/%d/stat", int(process));
    const Descriptor file(open(text, O_RDONLY | O_CLOEXEC));
    const ssize_t n = file ? read(file.get(), text, sizeof text - 1) : -1;
    if (n <= 0) return found;
    text[n] = 0;
    const char* const rest = std::strrchr(text, ')');  // the name before it may contain anything
    unsigned long long user = 0, kernel = 0;
    int parent = -1;
    // Fields 3 to 15; the last of the line, field 52 since Linux 3.5, is the exit status.
    if (rest == nullptr ||
        std::sscanf(rest + 1, " %c %d %*d %*d %*d %*d %u %*u %*u %*u %*u %llu %llu", &found.state,
                    &parent, &found.flags, &user, &kernel) != 5)
        return {};
    if (found.ended())
        found.exit_status = int(std::strtol(std::strrchr(rest, ' '), nullptr, 10));
    found.parent = parent;
    found.cpu = (user + kernel) * (1'000'000'000ull / std::uint64_t(sysconf(_SC_CLK_TCK)));
    return found;
}

}  // namespace torusmp::base
