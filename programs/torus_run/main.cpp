// SPDX-License-Identifier: BSD-3-Clause
// torus-run: starts the ranks of one job and supervises them until the end.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "config/options.h"
#include "programs/torus_run/front/front.h"
#include "programs/torus_run/front/options.h"
#include "programs/torus_run/front/plan.h"
#include "programs/torus_run/front/restarts.h"
#include "programs/torus_run/tree/joining.h"

namespace {

using namespace torusmp;

// Opens 0, 1 and 2 if they are closed, or later descriptors would take these numbers.
void open_standard_descriptors() {
    int fd = 0;
    while ((fd = open("/dev/null", O_RDWR)) >= 0 && fd <= 2) continue;
    if (fd > 2) close(fd);
}

// "torus-run --monitor ARGUMENTS" runs torus-top, which is installed beside torus-run.
[[noreturn]] void become_torus_top(char** words) {
    char self[4096];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self);
    const std::string path(self, std::size_t(std::max<ssize_t>(length, 0)));
    const std::string program = path.substr(0, path.rfind('/') + 1) + "torus-top";
    std::string name = "torus-top";
    words[0] = name.data();
    execv(program.c_str(), words);
    throw std::runtime_error(fmt::format("--monitor: {}: {}", program, std::strerror(errno)));
}

int run(int argc, char** argv) {
    if (argc > 1 && std::string_view(argv[1]) == "--monitor") become_torus_top(argv + 1);
    const torus_run::Options options = torus_run::parse_options(argc, argv);
    if (options.help) {
        fmt::print("{}", torus_run::help_text());
        return config::exit_ok;
    }
    if (options.version) {
        config::print_version("torus-run");
        return config::exit_ok;
    }
    if (!options.join.empty()) {
        torus_run::join_daemon(options.join, options.join_version);
        return config::exit_ok;
    }
    if (options.daemon_timeout) return torus_run::run_remote_daemon(*options.daemon_timeout);
    if (!options.quiet)
        for (const std::string& what : options.ignored) fmt::print(stderr, "torus-run: {}\n", what);
    torus_run::Job job = torus_run::plan_job(options);
    if (options.display_map) fmt::print("{}", torus_run::describe_map(job));
    std::fflush(stdout);
    if (job.restarts > 0 || job.movable)
        return torus_run::run_with_restarts(options, std::move(job));
    return torus_run::run_job(job).code;
}

}  // namespace

int main(int argc, char** argv) {
    open_standard_descriptors();
    return config::run_program("torus-run", [&] { return run(argc, argv); });
}
