// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_check/watch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "base/printing.h"
#include "base/text.h"
#include "config/network.h"
#include "config/options.h"
#include "programs/torus_check/coordinator.h"
#include "programs/torus_check/health.h"

namespace torusmp::torus_check {

namespace {

// An unusable state file must not prevent a report on the links.
HealthState read_state(const std::string& file) {
    std::ifstream in(file);
    if (!in && errno == ENOENT) return {};
    std::ostringstream text;
    text << in.rdbuf();
    if (const auto state = parse_state(text.str()); in && state) return *state;
    fmt::print(stderr, "torus-check: {} was not written by --watch; starting with an empty state\n",
               base::printable(file, 200));
    return {};
}

// Atomic, even if two processes write at the same time.
void write_state(const std::string& file, const HealthState& state) {
    const std::string fresh = fmt::format("{}.{}", file, ::getpid());
    base::write_text_file(fresh, format_state(state));
    if (std::rename(fresh.c_str(), file.c_str()) == 0) return;
    const int error = errno;
    std::remove(fresh.c_str());
    throw std::runtime_error(
        fmt::format("cannot write {}: {}", base::printable(file, 200), std::strerror(error)));
}

}  // namespace

int watch_links(const WatchOptions& options) {
    const config::HostFacts facts = config::this_host();
    const auto counters = base::read_counters();
    std::map<std::string, LinkSample> looks;
    for (const std::string& name : options.devices) {
        LinkSample& look = looks[name];
        const config::Device* device = facts.find(name);
        if (!device) continue;
        look = {true, device->up, device->carrier, device->megabits, device->mtu, {}};
        if (const auto found = counters.find(name); found != counters.end())
            look.counters = found->second;
    }
    HealthState state = read_state(options.state_file);
    const auto now = std::chrono::duration_cast<std::chrono::seconds>(
        std::chrono::system_clock::now().time_since_epoch());
    const Health health = update_health(state, facts.machine(), now.count(), looks, options.memory);
    write_state(options.state_file, state);
    for (const std::string& change : health.changes) fmt::print("{}\n", change);
    for (const std::string& wrong : health.wrong)
        if (options.all &&
            std::find(health.changes.begin(), health.changes.end(), wrong) == health.changes.end())
            fmt::print("{}\n", wrong);
    return health.wrong.empty() ? config::exit_ok : config::exit_failure;
}

}  // namespace torusmp::torus_check
