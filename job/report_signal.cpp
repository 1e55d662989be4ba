// SPDX-License-Identifier: BSD-3-Clause
#include "job/report_signal.h"

#include <signal.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "launch/environment.h"

namespace torusmp::job {
namespace {

// The objects that the handler may use. It runs on any thread, so it increments a counter before it
// reads the pointer.
std::atomic<core::Runtime*> reported{nullptr};
std::atomic<int> handlers{0};

void ask_runtime(void (core::Runtime::*question)() noexcept) {
    const int error = errno;
    ++handlers;
    if (core::Runtime* runtime = reported.load()) (runtime->*question)();
    --handlers;
    errno = error;
}

// torus-run asks all ranks by itself; other senders want the report of this one.
void on_report(int, siginfo_t* info, void*) {
    if (info->si_code == SI_QUEUE && info->si_value.sival_int == launch::passed_on_by_torus_run)
        return;
    ask_runtime(&core::Runtime::request_report);
}

void on_question(int, siginfo_t*, void*) {
    ask_runtime(&core::Runtime::request_answer);
}

using Handler = void (*)(int, siginfo_t*, void*);

struct Handled {
    int signal;
    Handler handler;
};
constexpr Handled all_handled[] = {{SIGUSR1, on_report}, {launch::question_signal, on_question}};

void take(const Handled& it) {
    struct sigaction now {};
    if (sigaction(it.signal, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) return;
    struct sigaction ours {};
    ours.sa_sigaction = it.handler;
    ours.sa_flags = SA_RESTART | SA_SIGINFO;
    sigemptyset(&ours.sa_mask);
    sigaction(it.signal, &ours, nullptr);
}

// A late signal must not kill the process.
void leave(const Handled& it) {
    struct sigaction now {};
    if (sigaction(it.signal, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 &&
        now.sa_sigaction == it.handler)
        signal(it.signal, SIG_IGN);
}

}  // namespace

ReportSignal::ReportSignal(core::Runtime& runtime) {
    reported = &runtime;
    for (const Handled& it : all_handled) take(it);
}

ReportSignal::~ReportSignal() {
    for (const Handled& it : all_handled) leave(it);
    reported = nullptr;
    while (handlers != 0) std::this_thread::yield();
}

}  // namespace torusmp::job
