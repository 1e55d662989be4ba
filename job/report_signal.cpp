// SPDX-License-Identifier: BSD-3-Clause
#include "job/report_signal.h"

#include <signal.h>

#include <atomic>
#include <cerrno>
#include <thread>

namespace torusmp::job {
namespace {

// What the handler may touch. It runs on any thread, so it counts itself before it looks.
std::atomic<core::Runtime*> reported{nullptr};
std::atomic<int> handlers{0};

void on_signal(int) {
    const int error = errno;
    ++handlers;
    if (core::Runtime* runtime = reported.load()) runtime->request_report();
    --handlers;
    errno = error;
}

bool handled_by(void (*handler)(int)) {
    struct sigaction now {};
    return sigaction(SIGUSR1, nullptr, &now) == 0 && now.sa_handler == handler;
}

}  // namespace

ReportSignal::ReportSignal(core::Runtime& runtime) {
    reported = &runtime;
    if (!handled_by(SIG_DFL)) return;
    struct sigaction report {};
    report.sa_handler = on_signal;
    report.sa_flags = SA_RESTART;
    sigemptyset(&report.sa_mask);
    sigaction(SIGUSR1, &report, nullptr);
}

ReportSignal::~ReportSignal() {
    if (handled_by(on_signal)) signal(SIGUSR1, SIG_IGN);  // a late signal must not kill the process
    reported = nullptr;
    while (handlers != 0) std::this_thread::yield();
}

}  // namespace torusmp::job
