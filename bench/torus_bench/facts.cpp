// SPDX-License-Identifier: BSD-3-Clause
#include "bench/torus_bench/facts.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <qmp.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>

#include "bench/torus_bench/qmp_objects.h"
#include "config/cpus.h"
#include "core/settings.h"
#include "core/transport/list.h"

namespace torusmp::bench {
namespace {

std::string cpu_model() {
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);) {
        const auto colon = line.find(": ");
        if (line.starts_with("model name") && colon != std::string::npos)
            return line.substr(colon + 2);
    }
    utsname machine{};
    uname(&machine);
    return machine.machine;
}

// A rank may be bound to one core, so its own affinity does not show their number.
double usable_cores() {
    const double online = double(sysconf(_SC_NPROCESSORS_ONLN));
    return std::min(online, config::cpu_quota().value_or(online));
}

std::string transport_name(const config::Settings& settings) {
    std::string name = settings[transport::setting::use];
    if (settings[core::setting::local] == core::LocalPaths::links) name += ", torus links only";
    return name;
}

std::string system_name() {
    utsname machine{};
    uname(&machine);
    return fmt::format("{} {}", machine.sysname, machine.release);
}

}  // namespace

std::vector<Fact> gather_facts(const config::Settings& settings, const routing::Torus& torus) {
    const double cores = usable_cores();
    const double load = double(ranks()) / cores;
    return {
        {"version", TORUSMP_VERSION},
        {"qmp", QMP_version_str()},
        {"date", fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(std::time(nullptr)))},
        {"cpu", cpu_model()},
        {"cores", fmt::format("{:g}", cores), true},
        {"system", system_name()},
        {"ranks", fmt::format("{}", ranks()), true},
        {"torus", torus.describe()},
        {"transport", transport_name(settings)},
        {"eager_limit", fmt::format("{}", settings[core::setting::eager_limit]), true},
        {"ranks_per_core", fmt::format("{:.3g}", load), true},
        {"oversubscribed", load > 1 ? "true" : "false", true},
    };
}

}  // namespace torusmp::bench
