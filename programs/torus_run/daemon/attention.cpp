// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/daemon/attention.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/descriptor.h"
#include "programs/torus_run/daemon/signals.h"
#include "programs/torus_run/front/debugger.h"

namespace torusmp::torus_run {

Attention::Attention(Loop& loop, const DaemonContext& context, Listener& listener)
    : loop_(loop), front_(context.front.get()), listener_(listener) {
    sigset_t listened = forwarded_signals();
    sigaddset(&listened, SIGCHLD);
    signals_ = base::Descriptor(signalfd(-1, &listened, SFD_CLOEXEC | SFD_NONBLOCK));
    null_ = base::Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
    loop_.watch(front_, EPOLLIN, [this](auto) { hear_front(); });
    loop_.watch(signals_.get(), EPOLLIN, [](auto) {});  // checked first in every step
    rlimit files = context.files;
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
}

// Consumes the signals before reaping children: a SIGCHLD that arrives after reap() must wake the
// next step.
void Attention::step(int milliseconds) {
    loop_.step(milliseconds, [this] {
        hear_signals();
        reap();
    });
}

void Attention::hear_front() {
    int signal = 0;
    const ssize_t n = recv(front_, &signal, sizeof signal, MSG_DONTWAIT);
    if (n == sizeof signal && signal == debugger_has_looked) return listener_.debugger_ready();
    if (n == sizeof signal) return listener_.user_signal(signal);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    loop_.forget(front_);
    listener_.front_gone();
}

void Attention::hear_signals() {
    signalfd_siginfo info;
    while (read(signals_.get(), &info, sizeof info) == ssize_t(sizeof info))
        if (info.ssi_signo != SIGCHLD) listener_.user_signal(int(info.ssi_signo));
}

void Attention::reap() {
    struct Change {
        pid_t pid;
        int status;
        std::uint64_t memory;
    };
    std::vector<Change> changes;
    int status = 0;
    rusage used{};
    for (pid_t pid; (pid = wait4(-1, &status, WNOHANG | WUNTRACED | WCONTINUED, &used)) > 0;)
        changes.push_back({pid, status, std::uint64_t(used.ru_maxrss) * 1024});
    // If several ended at the same time, one killed by a signal is the more likely cause.
    std::stable_partition(changes.begin(), changes.end(),
                          [](const Change& change) { return WIFSIGNALED(change.status); });
    for (const Change& change : changes)
        listener_.child_changed(change.pid, change.status, change.memory);
}

}  // namespace torusmp::torus_run
