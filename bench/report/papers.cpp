// SPDX-License-Identifier: BSD-3-Clause
#include "bench/report/papers.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "bench/report/derived.h"

namespace torusmp::bench {
namespace {

using Value = std::optional<double>;

const Table* table_of(const ReportRecord& record, const std::string& part) {
    const RecordedPart* found = record.find(part);
    return found != nullptr && found->failure.empty() ? &found->result.table : nullptr;
}

// Searches all groups that our curve may have, with and without a bare socket.
Value ours_at(const Table* table, std::string_view name, std::size_t row) {
    if (table == nullptr) return std::nullopt;
    for (const char* const group : {"", "torusmp"})
        if (const Value value = figure_of(*table, group, name, row)) return value;
    return std::nullopt;
}

Value last_of(const Table* table, std::string_view group, std::string_view name) {
    return table == nullptr ? std::nullopt : last_figure_of(*table, group, name);
}

Value divided(Value above, Value below) {
    if (!above || !below || *below == 0) return std::nullopt;
    return *above / *below;
}

struct Rows {
    std::vector<PaperRow> rows;
    std::string paper;

    void add(const std::string& what, const std::string& theirs, Value ours,
             const std::string& unit, const std::string& how) {
        const bool measured = ours && std::isfinite(*ours);
        rows.push_back({paper, what, theirs,
                        measured ? shorten(*ours) + (unit.empty() ? "" : " " + unit) : how,
                        measured});
    }
};

// The average time that each further link adds.
Value hop_of(const Table* relay) {
    if (relay == nullptr || relay->rows.size() < 2) return std::nullopt;
    const Row& first = relay->rows.front();
    const Row& last = relay->rows.back();
    if (first.figures.empty()) return std::nullopt;
    return (last.figures[0].value - first.figures[0].value) / double(last.bytes - first.bytes);
}

std::string ranks_of(const ReportRecord& record) {
    for (const RecordedPart& part : record.parts)
        for (const Fact& fact : part.result.facts)
            if (fact.name == "ranks") return fact.text;
    return "";
}

void mesh(Rows& rows, const ReportRecord& record) {
    rows.paper = "Mesh";
    const Table* const latency = table_of(record, "latency");
    const Table* const node = table_of(record, "node");
    const Table* const collectives = table_of(record, "broadcast and sum");
    const Table* const scatter = table_of(record, "scatter");
    rows.add("latency, neighbours", "18.5 us", ours_at(latency, "median", 16), "us", "latency");
    rows.add("latency of their link over TCP, to M-VIA's", "about 2", std::nullopt, "",
             "a driver of M-VIA: gone; --raw puts a bare socket beside");
    rows.add("a hop more", "12.5 us", hop_of(table_of(record, "relay")), "us", "relay");
    rows.add("one link, one way", "110 MB/s",
             ours_at(table_of(record, "bandwidth"), "one way", 1 << 20), "MB/s", "bandwidth");
    for (const int n : {1, 2, 3}) {
        static constexpr const char* theirs[] = {"not given", "not given", "400 MB/s"};
        rows.add(fmt::format("sum of a node's links, {}-D", n), theirs[n - 1],
                 last_of(node, fmt::format("{}-D exchange", n), "a node"), "MB/s",
                 fmt::format("node, on a torus with {} dimensions or more", n));
    }
    rows.add("one node forwards between all its links", "500 MB/s on six",
             last_of(table_of(record, "forward"), "all flows", "the node"), "MB/s", "forward");
    const Table* const steps = table_of(record, "steps");
    const auto step = [&](std::string_view of) {
        return steps == nullptr ? Value{} : figure_of(*steps, of, "a step", 8);
    };
    rows.add("broadcast of a few bytes, a step", "about 20 us", step("broadcast"), "us", "steps");
    rows.add("global sum of a few bytes, a step", "twice as many of about 20 us", step("sum"), "us",
             "steps");
    rows.add(
        "broadcast of a few bytes (they: 4x8x8)", "about 200 us",
        collectives == nullptr ? Value{} : figure_of(*collectives, "broadcast", "automatic", 8),
        "us", "broadcast and sum");
    rows.add("global sum to broadcast, a few bytes", "about 2",
             collectives == nullptr ? Value{}
                                    : divided(figure_of(*collectives, "sum", "automatic", 8),
                                              figure_of(*collectives, "broadcast", "automatic", 8)),
             "", "broadcast and sum");
    for (const std::size_t bytes : {std::size_t(64), std::size_t(4096), std::size_t(32768)})
        rows.add(fmt::format("scatter of {} B: SDF's time, one message a step, to OPT's", bytes),
                 "almost 4",
                 scatter == nullptr ? Value{}
                                    : divided(figure_of(*scatter, "scatter", "one", bytes),
                                              figure_of(*scatter, "scatter", "optimal", bytes)),
                 "", "scatter");
    rows.add("application, 4^4 a node (theirs is another code)", "0.73 Gflop/s",
             last_of(table_of(record, "wilson scaled " + ranks_of(record)), "", "a rank"),
             "Gflop/s", "wilson");
}

void netpipe(Rows& rows, const ReportRecord& record) {
    rows.paper = "NetPIPE";
    const Table* const sweep = table_of(record, "sweep");
    const Table* const latency = table_of(record, "latency");
    const std::string hosts = "latency, sweep: a bare socket on the same link, or over loopback";
    rows.add("latency of a library, to raw TCP", "1 (tuned) to 3",
             latency == nullptr ? Value{}
                                : divided(figure_of(*latency, "torusmp", "median", 16),
                                          figure_of(*latency, "bare socket", "median", 16)),
             "", hosts);
    rows.add(
        "throughput of a library at 1 MiB, of raw TCP",
        "MPICH 70 to 75 %, LAM near 100 %, PVM 60 to 75 %",
        sweep == nullptr ? Value{} : [&]() -> Value {
            const Value share = divided(figure_of(*sweep, "torusmp", "bandwidth", 1 << 20),
                                        figure_of(*sweep, "bare socket", "bandwidth", 1 << 20));
            return share ? Value{100 * *share} : share;
        }(),
        "%", hosts);
    rows.add(
        "greatest throughput of a link", "550 Mbit/s (PCs), 900 (DS20, jumbo frames)",
        [&]() -> Value {
            const Value rate = ours_at(sweep, "bandwidth", 4 << 20);
            return rate ? Value{8 * *rate} : rate;
        }(),
        "Mbit/s", "sweep");
}

void efficiency(Rows& rows, const ReportRecord& record) {
    rows.paper = "Efficiency";
    const Table* const table = table_of(record, "efficiency");
    const auto at = [&](std::string_view group, std::string_view name, std::size_t bytes) {
        return table == nullptr ? Value{} : figure_of(*table, group, name, bytes);
    };
    rows.add("throughput over processor time of both ends, 32 KiB", "no figures given",
             at("idle", "efficiency", 32768), "MB/s a core", "efficiency");
    rows.add("the same beside a busy program on each node", "no figures given",
             at("loaded", "efficiency", 32768), "MB/s a core", "efficiency");
    rows.add("processor time of a send, 8 B", "not given", at("overhead", "send", 8), "us",
             "efficiency");
    rows.add("processor time of a receive, 8 B", "not given", at("overhead", "receive", 8), "us",
             "efficiency");
    rows.add("NAS benchmarks, class W, 16 and 2 processors", "CG 493, IS 91, LU 4689 Mop/s ...",
             std::nullopt, "", "compare-peers --npb DIR --only 'npb.*.W.*'");
}

void layers(Rows& rows, const ReportRecord& record) {
    rows.paper = "Layers";
    rows.add("latency of MPI over its messaging layer", "19 us at least",
             ours_at(table_of(record, "latency"), "fastest", 1), "us", "latency");
    rows.add("greatest bandwidth", "17.3 MB/s",
             ours_at(table_of(record, "bandwidth"), "one way", 1 << 20), "MB/s", "bandwidth");
}

}  // namespace

std::vector<PaperRow> papers_beside(const ReportRecord& record) {
    Rows rows;
    mesh(rows, record);
    netpipe(rows, record);
    efficiency(rows, record);
    layers(rows, record);
    return rows.rows;
}

}  // namespace torusmp::bench
