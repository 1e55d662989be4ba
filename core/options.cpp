// SPDX-License-Identifier: BSD-3-Clause
#include "core/options.h"

#include <fmt/format.h>

#include <stdexcept>

namespace torusmp::core {

void Options::apply(const config::Settings& settings) {
    eager_limit = settings[setting::eager_limit];
    credits = settings[setting::tokens];
    relay_credits = settings[setting::relay_tokens];
    spin = settings[setting::spin];
    progress_thread = settings[setting::progress] == ProgressMode::thread;
    watchdog = settings[setting::watchdog];
    detour = settings[setting::detour];
    far_direct = settings[config::setting::forward] == config::Forward::kernel;
    const bool both = settings[config::setting::forward] == config::Forward::automatic;
    shortcuts = both ? settings[setting::shortcuts] : 0;
}

void Options::check() const {
    const auto refuse = [](std::string_view what, auto found, std::string_view expected) {
        throw std::invalid_argument(
            fmt::format("{}: found {}, expected {}", what, found, expected));
    };
    if (rank < 0 || rank >= torus.size())
        refuse("rank", rank, fmt::format("0 to {}", torus.size() - 1));
    if (credits < 2 || credits > transport::max_credits)
        refuse("credits", credits, fmt::format("2 to {}", transport::max_credits));
    if (relay_credits < 2 || relay_credits > transport::max_credits)
        refuse("relay credits", relay_credits, fmt::format("2 to {}", transport::max_credits));
    for (Rank other : direct)
        if (other < 0 || other >= torus.size())
            refuse("direct rank", other, fmt::format("0 to {}", torus.size() - 1));
}

}  // namespace torusmp::core
