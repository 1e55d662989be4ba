// SPDX-License-Identifier: BSD-3-Clause
#include "bench/torus_bench/beside.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#include "bench/torus_bench/qmp_objects.h"
#include "bench/torus_bench/timing.h"

namespace torusmp::bench {
namespace {

constexpr double most_beside = 0.1;  // processors

double now_in_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

// Processor time of all programs, and of other machines on the same processors. Time of interrupts
// is left out: packets over our own links are handled there.
double machine_seconds() {
    std::ifstream stat("/proc/stat");
    std::string name;
    double user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, softirq = 0, steal = 0;
    stat >> name >> user >> nice >> system >> idle >> wait >> irq >> softirq >> steal;
    return (user + nice + system + steal) / double(sysconf(_SC_CLK_TCK));
}

}  // namespace

Beside::Beside()
    : start_(now_in_seconds()),
      machine_(machine_seconds()),
      own_(sum_over_ranks(processor_seconds())) {}

double Beside::processors() const {
    const double own = sum_over_ranks(processor_seconds()) - own_;
    const double elapsed = now_in_seconds() - start_;
    return std::max(0.0, (machine_seconds() - machine_ - own) / elapsed);
}

std::string beside_note(double processors) {
    if (processors <= most_beside) return "";
    return fmt::format(
        "Other programs used {:.1f} processors during the measurement: the machine was not idle.",
        processors);
}

}  // namespace torusmp::bench
