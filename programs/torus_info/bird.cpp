// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_info/bird.h"

#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include "base/descriptor.h"

namespace torusmp::config {

Bird::Bird(const NodePlan& plan) {
    const std::string text = as_bird(plan);
    const base::Descriptor file(::memfd_create("bird.conf", 0));
    if (!file || ::write(file.get(), text.data(), text.size()) != ::ssize_t(text.size()))
        throw std::runtime_error(
            fmt::format("cannot write the configuration of BIRD: {}", std::strerror(errno)));
    const std::string path = fmt::format("/proc/self/fd/{}", file.get());
    const char* const folder = std::getenv("RUNTIME_DIRECTORY");
    const std::string control =
        fmt::format("{}/torus-bird-{}.ctl", folder ? folder : "/run", plan.node);
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ < 0)
        throw std::runtime_error(fmt::format("cannot start bird: {}", std::strerror(errno)));
    if (pid_ > 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
    if (::getppid() != parent) ::_exit(0);  // it ended before the line above
    // Programs that use all processors must not delay it: its neighbours would take its cables for
    // dead. It needs little time. Without the right to it, it runs as other programs do.
    const sched_param first{1};
    (void)::sched_setscheduler(0, SCHED_RR, &first);
    ::execlp("bird", "bird", "-f", "-c", path.c_str(), "-s", control.c_str(), nullptr);
    ::_exit(127);
}

Bird::~Bird() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
}

void Bird::check() {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) != pid_) return;
    pid_ = -1;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        throw std::runtime_error(
            "cannot run bird: expected BIRD 2 in PATH. Install the package bird2");
    throw std::runtime_error(WIFEXITED(status)
                                 ? fmt::format("bird ended with code {}", WEXITSTATUS(status))
                                 : fmt::format("bird was ended by signal {}", WTERMSIG(status)));
}

}  // namespace torusmp::config
