// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/daemon/attention.h"

#include <fcntl.h>
#include <sys/epoll.h>
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

namespace torusmp::launch {

Attention::Attention(Loop& loop, const DaemonContext& context, Listener& listener)
    : loop_(loop), front_(context.front.get()), listener_(listener) {
    sigset_t listened = forwarded_signals();
    sigaddset(&listened, SIGCHLD);
    signals_ = base::Descriptor(signalfd(-1, &listened, SFD_CLOEXEC | SFD_NONBLOCK));
    null_ = base::Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
    loop_.watch(front_, EPOLLIN, [this](auto) { hear_front(); });
    loop_.watch(signals_.get(), EPOLLIN, [](auto) {});  // every step checks them first
    rlimit files = context.files;
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
}

// The signals are consumed before children are reaped: a SIGCHLD that comes after reap() must wake
// the next step.
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
    };
    std::vector<Change> changes;
    int status = 0;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED)) > 0;)
        changes.push_back({pid, status});
    // If several have ended at once, one killed by a signal is the likelier cause.
    std::stable_partition(changes.begin(), changes.end(),
                          [](const Change& change) { return WIFSIGNALED(change.status); });
    for (const Change& change : changes) listener_.child_changed(change.pid, change.status);
}

}  // namespace torusmp::launch
