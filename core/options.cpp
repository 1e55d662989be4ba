// SPDX-License-Identifier: BSD-3-Clause
#include "core/options.h"

#include <fmt/format.h>

#include <stdexcept>

#include "config/geometry.h"
#include "core/settings.h"

namespace torusmp::core {

void Options::apply(const config::Settings& given) {
    settings = std::make_shared<const config::Settings>(given);
    eager_limit = value(setting::eager_limit);
    credits = value(setting::tokens);
    relay_credits = value(setting::relay_tokens);
    detour = value(setting::detour);
    const config::Forward forward = value(config::setting::forward);
    far_direct = forward == config::Forward::kernel;
    shortcuts = forward == config::Forward::automatic ? value(setting::shortcuts) : 0;
}

config::Settings Options::copy_of_settings() const {
    if (settings != nullptr) return *settings;
    // Never destroyed, as job::schema().
    static const config::Schema& own = *new config::Schema({setting::table});
    return config::Settings(own);
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
