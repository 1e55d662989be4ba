// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/daemon/descendants.h"

#include <dirent.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

#include "base/process_state.h"

namespace torusmp::torus_run {
namespace {

struct CloseDirectory {
    void operator()(DIR* directory) const { closedir(directory); }
};

// For kernels without /proc/PID/task/TID/children.
std::vector<pid_t> children_by_scan(pid_t parent) {
    std::vector<pid_t> found;
    const std::unique_ptr<DIR, CloseDirectory> proc(opendir("/proc"));
    if (!proc) return found;
    while (const dirent* entry = readdir(proc.get()))
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
            base::process_state(pid_t(std::atol(entry->d_name))).parent == parent)
            found.push_back(pid_t(std::atol(entry->d_name)));
    return found;
}

}  // namespace

void adopt_orphans() {
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

std::vector<pid_t> children() {
    return children(getpid());
}

// The children of a process's main thread: the processes here start children from no other thread.
std::vector<pid_t> children(pid_t parent) {
    std::ifstream file(fmt::format("/proc/{}/task/{}/children", parent, parent));
    if (!file) return children_by_scan(parent);
    std::vector<pid_t> found;
    for (pid_t pid; file >> pid;) found.push_back(pid);
    return found;
}

bool is_stopped(pid_t pid) {
    return base::process_state(pid).state == 'T';
}

std::vector<pid_t> kill_descendants(std::chrono::milliseconds timeout) {
    const auto end = std::chrono::steady_clock::now() + timeout;
    sigset_t child_ended;
    sigemptyset(&child_ended);
    sigaddset(&child_ended, SIGCHLD);
    while (true) {
        for (const pid_t pid : children()) kill(pid, SIGKILL);
        pid_t reaped = 0;
        while ((reaped = waitpid(-1, nullptr, WNOHANG)) > 0) continue;
        if (reaped < 0) return {};  // no child is left, and so no descendant
        if (std::chrono::steady_clock::now() > end) return children();
        // The children of a dead child become children of this process: check again immediately or
        // soon.
        const timespec soon{0, 2'000'000};
        sigtimedwait(&child_ended, nullptr, &soon);
    }
}

}  // namespace torusmp::torus_run
