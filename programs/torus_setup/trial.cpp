// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_setup/trial.h"

#include <fmt/format.h>

#include "programs/torus_setup/own_host.h"

namespace torusmp::torus_setup {

void add_settings(std::vector<std::string>& words, const Options& options) {
    for (const config::Flag& flag : options.flags) {
        words.push_back("--set");
        words.push_back(flag.key + "=" + flag.value);
    }
}

bool test_cables(const Options& options, const std::string& geometry) {
    fmt::print("Testing every cable\n");
    std::vector<std::string> words{beside_this("torus-check"), "--config", geometry};
    if (!options.agent.empty()) words.insert(words.end(), {"--agent", options.agent});
    add_settings(words, options);
    return succeeds(words);
}

bool run_first_program(const Options& options, const std::string& geometry, bool good) {
    const std::string program =
        options.program.empty() ? beside_this("torus-halo-exchange") : options.program;
    fmt::print("Running {} on all hosts\n", program);
    std::vector<std::string> words{beside_this("torus-run"), "--config", geometry};
    if (!options.agent.empty())
        words.insert(words.end(), {"--set", "launch.agent=" + options.agent});
    add_settings(words, options);
    words.push_back(program);
    if (!succeeds(words)) return false;
    fmt::print("The machine {}: torus-run --config {} PROGRAM\n",
               good ? "is ready" : "works without the faulty cables above", geometry);
    return true;
}

}  // namespace torusmp::torus_setup
