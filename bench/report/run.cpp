// SPDX-License-Identifier: BSD-3-Clause
#include "bench/report/run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "base/descriptor.h"
#include "bench/report/peers.h"
#include "bench/report/reason.h"
#include "bench/torus_bench/start.h"

extern char** environ;

namespace torusmp::bench {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

std::atomic<pid_t> running = 0;

// Whoever ends the report ends what it has started.
extern "C" void end_with_child(int signal) {
    if (const pid_t child = running; child > 0) kill(child, SIGTERM);
    _exit(128 + signal);
}

struct Ended {
    int code = 0;
    std::string text;  // all that it printed
};

// Its own end of the pipe is the only one left once all of its processes are gone.
Ended run_program_whole(std::vector<std::string> words) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        throw std::system_error(errno, std::generic_category(), "pipe");
    const base::Descriptor out(ends[0]);
    base::Descriptor in(ends[1]);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    pid_t child = 0;
    const int failed =
        posix_spawnp(&child, pointers[0], &actions, nullptr, pointers.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0)
        return {1, fmt::format("cannot start {}: {}", words[0], std::strerror(failed))};
    in.reset();
    running = child;
    Ended ended;
    char piece[4096];
    for (;;) {
        const ssize_t got = read(out.get(), piece, sizeof piece);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        ended.text.append(piece, std::size_t(got));
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    running = 0;
    ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return ended;
}

Ended must_end_well(const std::vector<std::string>& words) {
    Ended ended = run_program_whole(words);
    if (ended.code != 0) throw std::runtime_error(reason_of(ended.text, ended.code));
    return ended;
}

Recorded run_bench(const ReportPart& part, const ReportPrograms& programs, double seconds,
                   const std::string& scratch) {
    std::vector<std::string> words = {programs.bench};
    words.insert(words.end(), part.words.begin(), part.words.end());
    words.insert(words.end(), part.launcher.begin(), part.launcher.end());
    words.insert(words.end(), {"--seconds", fmt::format("{:.6g}", seconds), "--json", scratch});
    must_end_well(words);
    return read_figures(scratch);
}

Recorded run_peers(const ReportPart& part, const ReportPrograms& programs, double seconds,
                   const std::string& scratch) {
    std::vector<std::string> words = {programs.peers};
    words.insert(words.end(), part.words.begin(), part.words.end());
    words.insert(words.end(), {"--seconds", fmt::format("{:.6g}", seconds), "--json", scratch});
    // A library that fails takes no other's figures along.
    const Ended ended = run_program_whole(words);
    if (ended.code != 0 && !fs::exists(scratch))
        throw std::runtime_error(reason_of(ended.text, ended.code));
    Recorded recorded = read_peers(scratch);
    if (recorded.table.columns.size() < 2)
        throw std::runtime_error(
            ended.code != 0
                ? reason_of(ended.text, ended.code)
                : "no other library is here: expected Open MPI or MPICH, with mpicc.openmpi or "
                  "mpicc.mpich in PATH");
    return recorded;
}

int ranks_of_grid(const std::vector<std::string>& words) {
    const auto grid = std::find(words.begin(), words.end(), "--grid");
    int ranks = 1, extent = 0;
    for (const char c : *(grid + 1) + "x") {
        if (c != 'x') {
            extent = 10 * extent + (c - '0');
            continue;
        }
        ranks *= extent;
        extent = 0;
    }
    return ranks;
}

// A short run tells how many iterations fill the time.
Recorded run_wilson(const ReportPart& part, const ReportPrograms& programs, double seconds) {
    constexpr int runs = 3, fewest = 5, most = 1000;
    const int ranks = ranks_of_grid(part.words);
    std::vector<std::string> words = {programs.torus_run};
    words.insert(words.end(), part.launcher.begin(), part.launcher.end());
    words.push_back(programs.wilson);
    words.insert(words.end(), part.words.begin(), part.words.end());
    words.push_back("--iterations");
    const auto run = [&](int iterations) {
        std::vector<std::string> all = words;
        all.push_back(std::to_string(iterations));
        return must_end_well(all).text;
    };
    const double iteration = wilson_table(ranks, {run(fewest)}).rows[0].figures[0].value;
    const int enough = int(std::clamp(seconds * 1e6 / iteration, double(fewest), double(most)));
    std::vector<std::string> texts;
    for (int i = 0; i < runs; ++i) texts.push_back(run(enough));
    return {"wilson", {}, wilson_table(ranks, texts), {}};
}

Recorded run_any(const ReportPart& part, const ReportPrograms& programs, double seconds,
                 const std::string& scratch) {
    switch (part.program) {
        case ReportPart::Program::bench:
            return run_bench(part, programs, seconds, scratch);
        case ReportPart::Program::wilson:
            return run_wilson(part, programs, seconds);
        case ReportPart::Program::peers:
            return run_peers(part, programs, seconds, scratch);
    }
    throw std::logic_error("a part without a program");
}

std::string command_of(const ReportPart& part) {
    switch (part.program) {
        case ReportPart::Program::bench:
            return fmt::format("torus-bench {} {}", fmt::join(part.words, " "),
                               fmt::join(part.launcher, " "));
        case ReportPart::Program::wilson:
            return fmt::format("torus-run {} wilson {}", fmt::join(part.launcher, " "),
                               fmt::join(part.words, " "));
        case ReportPart::Program::peers:
            return fmt::format("bench/compare-peers {}", fmt::join(part.words, " "));
    }
    return "";
}

}  // namespace

void end_children_with_us() {
    struct sigaction action {};
    action.sa_handler = end_with_child;
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
}

ReportPrograms find_programs() {
    const fs::path self = fs::read_symlink("/proc/self/exe");
    const fs::path here = self.parent_path();
    const auto first = [](const std::vector<fs::path>& candidates) -> std::string {
        for (const fs::path& candidate : candidates)
            if (access(candidate.c_str(), X_OK) == 0) return candidate;
        return "";
    };
    return {self, find_torus_run(),
            first({here / "wilson", here.parent_path() / "examples/wilson/wilson"}),
            first({here / "../../../bench/compare-peers"})};
}

RecordedPart run_part(const ReportPart& part, const ReportPrograms& programs, double seconds,
                      const std::string& scratch) {
    RecordedPart recorded{part.name, part.section, part.overlay, command_of(part), "", 0, {}};
    const auto start = Clock::now();
    try {
        recorded.result = run_any(part, programs, seconds, scratch);
    } catch (const std::runtime_error& wrong) {
        recorded.failure = wrong.what();
    }
    std::error_code ignored;
    fs::remove(scratch, ignored);
    recorded.took = std::chrono::duration<double>(Clock::now() - start).count();
    return recorded;
}

}  // namespace torusmp::bench
