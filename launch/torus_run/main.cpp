// torus-run: starts the ranks of one job and stays with them to the end.
#include <fcntl.h>
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <optional>

#include "launch/torus_run/front.h"
#include "launch/torus_run/options.h"
#include "launch/torus_run/plan.h"

namespace {

using namespace torusmp;

// 0, 1 and 2 must be open, or the next descriptors would take their numbers.
void open_standard_descriptors() {
    int fd = 0;
    while ((fd = open("/dev/null", O_RDWR | O_CLOEXEC)) >= 0 && fd <= 2) fcntl(fd, F_SETFD, 0);
    if (fd > 2) close(fd);
}

// Nothing: the answer was printed.
std::optional<launch::Job> plan(int argc, char** argv) {
    const launch::Options options = launch::parse_options(argc, argv);
    if (!options.help) return launch::plan_job(options);
    fmt::print("{}", launch::help_text());
    return std::nullopt;
}

int complain(const std::exception& error, int code) {
    fmt::print(stderr, "torus-run: {}\n", error.what());
    return code;
}

}  // namespace

int main(int argc, char** argv) {
    open_standard_descriptors();
    std::optional<launch::Job> job;
    try {
        job = plan(argc, argv);
    } catch (const std::exception& error) {
        return complain(error, launch::exit_usage);
    }
    if (!job) return 0;
    try {
        return launch::run_job(*job);
    } catch (const std::exception& error) {
        return complain(error, launch::exit_failure);
    }
}
