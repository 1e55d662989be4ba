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

// A rank may be bound to one core, so its own affinity does not tell how many there are.
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

const std::string& text_of(const std::vector<Fact>& facts, std::string_view name) {
    for (const Fact& fact : facts)
        if (fact.name == name) return fact.text;
    throw std::logic_error(fmt::format("there is no fact '{}'", name));
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

std::string describe(const std::vector<Fact>& facts) {
    const auto get = [&](std::string_view name) { return text_of(facts, name); };
    std::string text =
        fmt::format("torusmp {}, QMP {}, {}\n", get("version"), get("qmp"), get("date"));
    text += fmt::format("{}, {} cores, {}\n", get("cpu"), get("cores"), get("system"));
    text += fmt::format(
        "{} ranks, torus {}, transport {}{}\n", get("ranks"), get("torus"), get("transport"),
        get("oversubscribed") == "true"
            ? fmt::format("; oversubscribed, {} ranks a core", get("ranks_per_core"))
            : "");
    return text;
}

std::string summarize(const std::vector<Fact>& facts) {
    const auto get = [&](std::string_view name) { return text_of(facts, name); };
    const auto has = [&](std::string_view name) {
        return std::any_of(facts.begin(), facts.end(),
                           [&](const Fact& fact) { return fact.name == name; });
    };
    if (!has("cpu")) return fmt::format("torusmp {}", get("version"));
    // What compare-peers has recorded.
    if (!has("torus"))
        return fmt::format("{} cores ({}), {}", get("cores"), get("cpu"), get("system"));
    return fmt::format("{} ranks on {} cores ({}), torus {}, transport {}, torusmp {}",
                       get("ranks"), get("cores"), get("cpu"), get("torus"), get("transport"),
                       get("version"));
}

}  // namespace torusmp::bench
