// SPDX-License-Identifier: BSD-3-Clause
#include "bench/torus_bench/start.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "bench/figures/plot.h"
#include "config/geometry.h"
#include "config/options.h"
#include "job/settings.h"
#include "launch/environment.h"
#include "launch/implementations.h"

namespace torusmp::bench {
namespace {

namespace fs = std::filesystem;

// The variable is set for torus-run and, through it, for the ranks. Its value is "1", or "terminal"
// where progress may be shown.
constexpr const char* marker = "TORUSMP_BENCH_STARTED";

bool is_set(const char* name) {
    const char* value = std::getenv(name);
    return value && *value;
}

void check_writable(const std::string& option, const std::string& file) {
    if (file.empty()) return;
    const fs::path path(file);
    const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
    std::error_code ignored;
    if (!fs::is_directory(folder, ignored))
        throw config::UsageError(
            fmt::format("{} {}: the folder {} does not exist", option, file, folder.string()));
    if (fs::is_directory(path, ignored))
        throw config::UsageError(
            fmt::format("{} {}: this is a folder, expected a file", option, file));
    if (access(folder.c_str(), W_OK) != 0)
        throw config::UsageError(fmt::format("{} {}: cannot write to the folder {}: {}", option,
                                             file, folder.string(), std::strerror(errno)));
}

std::vector<std::string> launcher_words(const Options& options) {
    std::vector<std::string> words = options.for_launcher;
    const config::Settings settings = config::load(job::schema(), options.settings);
    if (!settings[config::setting::dims].empty() || options.ranks) return words;
    if (options.command == Command::aggregate || options.command == Command::collectives)
        words.insert(words.end(), {"--torus", "2x2x2"});
    else if (options.command == Command::steps)
        words.insert(words.end(), {"--torus", "2x2x2", "--set", "transport.local=links"});
    else if (options.command == Command::forward)
        words.insert(words.end(), {"--torus", "3x3", "--set", "torus.periodic=false,false", "--set",
                                   "transport.local=links"});
    else if (options.command == Command::relay)
        words.insert(words.end(), {"--torus", "7", "--set", "torus.periodic=false", "--set",
                                   "transport.local=links"});
    else
        words.insert(words.end(), {"--torus", "2"});
    return words;
}

}  // namespace

std::string find_torus_run() {
    const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
    for (const fs::path& candidate : {here / "torus-run", here.parent_path() / "bin/torus-run"})
        if (access(candidate.c_str(), X_OK) == 0) return candidate;
    return "torus-run";
}

std::optional<Started> started_as_rank() {
    Started started;
    if (const char* mark = std::getenv(marker)) {
        started.by_itself = true;
        started.terminal = std::string_view(mark) == "terminal";
        unsetenv(marker);
        return started;
    }
    started.terminal = isatty(STDERR_FILENO) == 1;
    // A launcher that QMP cannot talk to is refused by QMP_init_msg_passing(), with the reason.
    if (is_set(launch::env_bootstrap) || is_set("PMIX_RANK") || launch::find_foreign_launcher())
        return started;
    return std::nullopt;
}

void check_files(const Options& options) {
    check_writable("--json", options.json);
    check_writable("--plot", options.plot);
    check_writable("--csv", options.csv);
    check_writable("--output", options.output);
    if (!options.plot.empty()) check_can_draw();
}

void start_ranks(const Options& options, int argc, const char* const* argv) {
    check_files(options);
    std::vector<std::string> words = {find_torus_run()};
    for (const std::string& word : launcher_words(options)) words.push_back(word);
    words.push_back(fs::read_symlink("/proc/self/exe"));
    words.insert(words.end(), argv + 1, argv + argc);

    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    setenv(marker, isatty(STDERR_FILENO) == 1 ? "terminal" : "1", 1);
    execvp(pointers[0], pointers.data());
    throw std::runtime_error(fmt::format(
        "cannot start {}: {}; install it beside torus-bench or in PATH, or start the ranks with "
        "another launcher: mpirun -np 8 torus-bench ...",
        words[0], std::strerror(errno)));
}

void refuse_launcher_options(const Options& options) {
    if (options.for_launcher.empty()) return;
    throw config::UsageError(
        fmt::format("{}: this rank was started by a launcher; give the option to the launcher",
                    options.for_launcher[0]));
}

}  // namespace torusmp::bench
