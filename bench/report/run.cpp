// SPDX-License-Identifier: BSD-3-Clause
#include "bench/report/run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <vector>

#include "bench/figures/child.h"
#include "bench/report/peers.h"
#include "bench/report/reason.h"
#include "bench/torus_bench/start.h"

namespace torusmp::bench {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

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
    // A library that fails does not discard the figures of the others.
    const Ended ended = run_program_whole(words);
    if (ended.code != 0 && !fs::exists(scratch))
        throw std::runtime_error(reason_of(ended.text, ended.code));
    Recorded recorded = read_peers(scratch);
    if (recorded.table.columns.size() < 2)
        throw std::runtime_error(
            ended.code != 0
                ? reason_of(ended.text, ended.code)
                : "no other library found: expected Open MPI or MPICH, with mpicc.openmpi or "
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

// A short run determines how many iterations fill the time.
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
            return fmt::format("torus-run {} torus-wilson {}", fmt::join(part.launcher, " "),
                               fmt::join(part.words, " "));
        case ReportPart::Program::peers:
            return fmt::format("bench/compare-peers {}", fmt::join(part.words, " "));
    }
    return "";
}

}  // namespace

ReportPrograms find_programs() {
    const fs::path self = fs::read_symlink("/proc/self/exe");
    const fs::path here = self.parent_path();
    const auto first = [](const std::vector<fs::path>& candidates) -> std::string {
        for (const fs::path& candidate : candidates)
            if (access(candidate.c_str(), X_OK) == 0) return candidate;
        return "";
    };
    return {self, find_torus_run(),
            first({here / "torus-wilson", here.parent_path() / "examples/wilson/torus-wilson"}),
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
