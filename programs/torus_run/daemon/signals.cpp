// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/daemon/signals.h"

#include <initializer_list>

namespace torusmp::torus_run {
namespace {

constexpr std::initializer_list<int> passed_on = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                                                  SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};

sigset_t find_forwarded() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : passed_on) {
        struct sigaction action {};
        sigaction(signal, nullptr, &action);
        if (action.sa_handler != SIG_IGN) sigaddset(&set, signal);
    }
    return set;
}

}  // namespace

const sigset_t& forwarded_signals() {
    static const sigset_t set = find_forwarded();
    return set;
}

bool ends_programs(int signal) {
    return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

sigset_t block_signals() {
    // The caller may have set SIGCHLD to ignored; then children could not be waited for.
    signal(SIGCHLD, SIG_DFL);
    sigset_t block = forwarded_signals();
    for (const int signal : {SIGCHLD, SIGPIPE, SIGXFSZ, SIGTTIN, SIGTTOU})
        sigaddset(&block, signal);
    sigset_t now;
    sigprocmask(SIG_BLOCK, &block, &now);
    static const sigset_t before = now;  // of the first call; a restart calls again
    return before;
}

}  // namespace torusmp::torus_run
