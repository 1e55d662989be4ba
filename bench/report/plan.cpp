// SPDX-License-Identifier: BSD-3-Clause
#include "bench/report/plan.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>

#include "config/options.h"

namespace torusmp::bench {
namespace {

using Words = std::vector<std::string>;

Words joined(Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

// The numbers of ranks of a torus reduced to its first dimensions, and then to two along the last
// of them: 2, 4, 8 ... for 2x2x2.
std::vector<std::vector<int>> growing_tori(const routing::Torus& torus) {
    std::vector<std::vector<int>> tori = {std::vector<int>{1}};
    std::vector<int> extents;
    for (int d = 0; d < torus.dimensions(); ++d) {
        if (torus.extent(d) == 1) continue;
        extents.push_back(torus.extent(d));
        tori.push_back(extents);
    }
    return tori;
}

int product(const std::vector<int>& extents) {
    int all = 1;
    for (const int extent : extents) all *= extent;
    return all;
}

// wilson's lattice has four dimensions; further dimensions of a torus are merged into the last.
std::vector<int> four(std::vector<int> extents) {
    while (extents.size() > 4) {
        extents[3] *= extents.back();
        extents.pop_back();
    }
    extents.resize(4, 1);
    return extents;
}

std::string crossed(const std::vector<int>& extents) {
    return fmt::format("{}", fmt::join(extents, "x"));
}

void add_wilson(std::vector<ReportPart>& parts, const ReportMachine& machine) {
    std::vector<std::vector<int>> tori = growing_tori(machine.torus);
    // All ranks of a cluster's file start: smaller tori would require separate files.
    if (machine.hosts) tori.erase(tori.begin(), tori.end() - 1);
    // The largest lattice that all the tori divide, for the fixed size, with even extents on each
    // rank.
    std::vector<int> fixed = four(tori.back());
    for (int& extent : fixed) extent = extent == 1 ? 8 : 4 * extent;
    for (const bool scaled : {false, true})
        for (const auto& extents : tori) {
            const std::vector<int> grid = four(extents);
            std::vector<int> lattice = fixed;
            if (scaled)
                for (std::size_t d = 0; d < lattice.size(); ++d) lattice[d] = 4 * grid[d];
            Words launcher = machine.launcher;
            if (!machine.hosts) launcher = {"--torus", crossed(extents)};
            parts.push_back(
                {fmt::format("wilson {} {}", scaled ? "scaled" : "fixed", product(extents)),
                 "wilson against ranks",
                 ReportPart::Program::wilson,
                 {"--grid", crossed(grid), "--lattice", crossed(lattice), "--tolerance", "0"},
                 launcher,
                 3,
                 scaled ? "4^4 a rank" : crossed(fixed)});
        }
}

// Other libraries run on these ranks or, if only the owner of the hosts could start them there,
// inside this host.
void add_peers(std::vector<ReportPart>& parts, const ReportMachine& machine) {
    constexpr double libraries = 3;
    const bool beside = !machine.hosts || machine.testbed;
    Words words = {"--only", "here.*"};
    double measures = 20;
    if (!beside) {
        words = {"--only", "shm.latency.*",        "--only", "shm.bandwidth.*KiB",
                 "--only", "shm.bandwidth.*.1MiB", "--only", "shm.oversubscribed.*.8"};
        measures = 31;
    } else if (!machine.testbed) {
        words.insert(words.end(),
                     {"--torus", fmt::format("{}", fmt::join(machine.torus.extents(), "x"))});
    }
    // One run, because other libraries take seconds to end if ranks share cores.
    words.insert(words.end(), {"--runs", "1", "--timeout", "60", "--no-build"});
    parts.push_back(
        {beside ? std::string(peers_beside) : "peers on this host",
         machine.testbed ? "Other libraries over these links" : "Other libraries on this host",
         ReportPart::Program::peers,
         words,
         {},
         measures * libraries});
}

// Whether some message needs a relay.
bool has_far_ranks(const routing::Torus& torus) {
    for (int rank = 1; rank < torus.size(); ++rank)
        if (torus.distance(0, rank) > 1) return true;
    return false;
}

// Latency and bandwidth over each transport that two ranks may use.
void add_transports(std::vector<ReportPart>& parts, const ReportMachine& machine) {
    const auto pair = [&](const std::string& name, const Words& settings, const Words& more) {
        const Words launcher = joined(machine.launcher, settings);
        parts.push_back({"latency" + name, "Latency", ReportPart::Program::bench,
                         joined({"latency", "--sizes", "0:64KiB", "--step", "4"}, more), launcher,
                         more.empty() ? 20.0 : 40.0, "Latency by transport"});
        parts.push_back(
            {"bandwidth" + name, "Bandwidth", ReportPart::Program::bench,
             joined({"bandwidth", "--sizes", "64:1MiB", "--step", "4", "--window", "16"}, more),
             launcher, more.empty() ? 24.0 : 48.0, "Bandwidth by transport"});
    };
    pair("", {}, {"--raw"});
    if (!machine.hosts) pair(" links", {"--set", "transport.local=links"}, {});
    if (machine.hosts)
        for (const std::string& transport : machine.transports)
            pair(" " + transport, {"--set", "transport.use=" + transport}, {});
}

}  // namespace

std::vector<ReportPart> plan_report(const ReportMachine& machine) {
    std::vector<ReportPart> parts;
    const Words raw = machine.hosts ? Words{"--raw"} : Words{};
    const Words wire = machine.wire.empty() ? Words{} : Words{"--wire", machine.wire};
    const double beside = machine.hosts ? 2 : 1;
    const auto bench = [&](const std::string& name, const std::string& section, const Words& words,
                           double figures, const Words& settings = {}) {
        parts.push_back({name, section, ReportPart::Program::bench, words,
                         joined(machine.launcher, settings), figures});
    };
    add_transports(parts, machine);
    bench("sweep", "NetPIPE", {"sweep", "--sizes", "1:4MiB", "--raw"}, 132);
    bench("aggregate", "All links at once",
          joined(joined({"aggregate", "--sizes", "1KiB:1MiB", "--step", "4"}, raw), wire),
          6.0 * machine.torus.dimensions() * beside);
    bench("node", "All links at once",
          joined(joined({"aggregate", "--from", "0", "--sizes", "1KiB:1MiB", "--step", "4"}, raw),
                 wire),
          6.0 * machine.torus.dimensions() * beside);
    const Words links = machine.hosts ? Words{} : Words{"--set", "transport.local=links"};
    if (has_far_ranks(machine.torus))
        bench("forward", "All links at once", {"forward", "--sizes", "512:32KiB", "--step", "8"}, 4,
              links);
    bench("relay", "Hops", {"relay", "--sizes", "8:16KiB"},
          2.0 * std::max(1, machine.torus.size() / 4), links);
    const auto collective = [&](const std::string& name, const std::string& operations,
                                const std::string& sizes, double figures) {
        bench(name, "Collectives",
              {"collectives", "--operation", operations, "--sizes", sizes, "--step", "8"}, figures,
              name == "scatter" ? links : Words{});
    };
    collective("broadcast and sum", "broadcast,sum", "8:256KiB", 12);
    bench("steps", "Collectives", {"steps", "--sizes", "8:4KiB", "--step", "8"}, 8, links);
    collective("scatter", "scatter", "64:32KiB", 16);
    collective("alltoall", "alltoall", "64:4KiB", 3);
    bench("overlap", "Overlap and processor time",
          {"overlap", "--sizes", "1KiB:1MiB", "--step", "4"}, 24);
    bench("efficiency", "Overlap and processor time",
          {"efficiency", "--sizes", "8:256KiB", "--step", "8", "--window", "16"}, 28);
    if (machine.wilson) add_wilson(parts, machine);
    if (machine.peers) add_peers(parts, machine);
    return parts;
}

std::vector<ReportPart> choose_parts(const std::vector<ReportPart>& parts,
                                     const std::vector<std::string>& patterns) {
    if (patterns.empty()) return parts;
    const auto fits = [](const std::string& pattern, const ReportPart& part) {
        return fnmatch(pattern.c_str(), part.name.c_str(), 0) == 0;
    };
    for (const std::string& pattern : patterns) {
        if (std::any_of(parts.begin(), parts.end(),
                        [&](const ReportPart& part) { return fits(pattern, part); }))
            continue;
        std::vector<std::string> names;
        for (const ReportPart& part : parts) names.push_back(part.name);
        throw config::UsageError(fmt::format("--only {}: no part has this name: expected {}",
                                             pattern, fmt::join(names, ", ")));
    }
    std::vector<ReportPart> chosen;
    for (const ReportPart& part : parts)
        if (std::any_of(patterns.begin(), patterns.end(),
                        [&](const std::string& pattern) { return fits(pattern, part); }))
            chosen.push_back(part);
    return chosen;
}

double seconds_of_a_figure(const std::vector<ReportPart>& parts, double budget) {
    // Calibrating a repetition takes about as long as a figure, and starting the ranks half a
    // second.
    constexpr double with_warming_up = 2, start = 0.5, least = 0.002, most = 2;
    double figures = 0;
    for (const ReportPart& part : parts) figures += part.figures;
    const double left = budget - start * double(parts.size());
    return std::clamp(left / (with_warming_up * std::max(1.0, figures)), least, most);
}

}  // namespace torusmp::bench
