#include "core/options.h"

#include <fmt/format.h>

#include <stdexcept>

namespace torusmp::core {

void Options::apply(const config::Settings& settings) {
    eager_limit = settings[setting::eager_limit];
    tokens = settings[setting::tokens];
    relay_tokens = settings[setting::relay_tokens];
    spin = settings[setting::spin];
    progress_thread = settings[setting::progress] == ProgressMode::thread;
    watchdog = settings[setting::watchdog];
    far_direct = settings[config::setting::forward] == config::Forward::kernel;
}

void Options::check() const {
    const auto refuse = [](std::string_view what, auto found, std::string_view expected) {
        throw std::invalid_argument(
            fmt::format("{}: found {}, expected {}", what, found, expected));
    };
    if (rank < 0 || rank >= torus.size())
        refuse("rank", rank, fmt::format("0 to {}", torus.size() - 1));
    if (tokens < 2 || tokens > transport::max_tokens)
        refuse("tokens", tokens, fmt::format("2 to {}", transport::max_tokens));
    if (relay_tokens < 2 || relay_tokens > transport::max_tokens)
        refuse("relay tokens", relay_tokens, fmt::format("2 to {}", transport::max_tokens));
    for (Rank other : direct)
        if (other < 0 || other >= torus.size())
            refuse("direct rank", other, fmt::format("0 to {}", torus.size() - 1));
}

}  // namespace torusmp::core
