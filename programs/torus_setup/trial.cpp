// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_setup/trial.h"

#include <fmt/format.h>

#include "launch/agent.h"
#include "programs/torus_setup/own_host.h"

namespace torusmp::torus_setup {

void add_launch(std::vector<std::string>& words, const Options& options) {
    if (!options.agent.empty())
        words.insert(words.end(), {"--set", "launch.agent=" + options.agent});
    if (options.here) words.insert(words.end(), {"--here", *options.here});
    for (const config::Flag& flag : options.flags) {
        words.push_back("--set");
        words.push_back(flag.key + "=" + flag.value);
    }
}

bool test_cables(const Options& options, const std::string& geometry) {
    fmt::print("Testing every cable\n");
    std::vector<std::string> words{beside_this("torus-check"), "--config", geometry};
    add_launch(words, options);
    return succeeds(words);
}

bool run_first_program(const Options& options, const std::string& geometry, bool good) {
    const std::string program =
        options.program.empty() ? beside_this("torus-halo-exchange") : options.program;
    fmt::print("Running {} on all hosts\n", program);
    std::vector<std::string> words{"--config", geometry};
    add_launch(words, options);
    std::string command = "torus-run";
    for (const std::string& word : words) command += " " + launch::quote_for_shell(word);
    words.insert(words.begin(), beside_this("torus-run"));
    words.push_back(program);
    if (!succeeds(words)) return false;
    fmt::print("The machine {}: {} PROGRAM\n",
               good ? "is ready" : "works without the faulty cables above", command);
    return true;
}

}  // namespace torusmp::torus_setup
