// SPDX-License-Identifier: BSD-3-Clause
// torus-setup: takes cabled hosts to a first result.
#include <signal.h>

#include "config/options.h"
#include "programs/torus_setup/options.h"
#include "programs/torus_setup/setup.h"

using namespace torusmp;

namespace {

int run(int argc, const char* const* argv) {
    const torus_setup::Options options = torus_setup::parse(argc, argv);
    if (options.help) {
        torus_setup::print_help();
        return config::exit_ok;
    }
    if (options.version) {
        config::print_version("torus-setup");
        return config::exit_ok;
    }
    ::signal(SIGPIPE, SIG_IGN);  // the end of its output shows that an agent has ended
    return torus_setup::set_up(options);
}

}  // namespace

int main(int argc, char** argv) {
    return config::run_program("torus-setup", [&] { return run(argc, argv); });
}
