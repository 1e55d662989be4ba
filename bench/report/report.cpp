// SPDX-License-Identifier: BSD-3-Clause
#include "bench/report/report.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <optional>

#include "bench/figures/child.h"
#include "bench/figures/plot.h"
#include "bench/report/page.h"
#include "bench/report/plan.h"
#include "bench/report/run.h"
#include "bench/torus_bench/progress.h"
#include "bench/torus_bench/start.h"
#include "config/geometry.h"
#include "config/load.h"
#include "config/options.h"
#include "core/transport/list.h"
#include "job/settings.h"

namespace torusmp::bench {
namespace {

namespace fs = std::filesystem;

ReportMachine machine_of(const Options& options, const ReportPrograms& programs) {
    const config::Settings settings = config::load(job::schema(), options.settings);
    const auto nodes = config::node_torus(settings);
    constexpr int usual_ranks = 8;
    const int ranks = nodes ? nodes->size() * config::ranks_on_a_node(settings)
                            : options.ranks.value_or(usual_ranks);
    ReportMachine machine{config::rank_torus(settings, ranks), false, {}, options.for_launcher};
    if (!nodes && !options.ranks)
        machine.launcher.insert(machine.launcher.end(), {"--torus", "2x2x2"});
    if (machine.torus.size() < 2)
        throw config::UsageError(
            "report: one rank has no partner: expected at least two, for example with --torus "
            "2x2x2");
    machine.hosts = !config::host_names(settings).empty();
    for (const transport::Descriptor* transport : transport::transports())
        if (!transport->inside_host) machine.transports.emplace_back(transport->name);
    if (options.wire) machine.wire = fmt::format("{:g}", *options.wire);
    machine.wilson = !programs.wilson.empty();
    machine.peers = !programs.peers.empty();
    const char* const testbed = std::getenv("TORUS_TESTBED");
    machine.testbed =
        machine.hosts && testbed != nullptr && *testbed != '\0' && options.settings.file.empty();
    return machine;
}

// The properties that make two records comparable: the torus and the user's options for it.
std::string describe_machine(const ReportMachine& machine) {
    return fmt::format("torus {} {}{}{}", machine.torus.describe(),
                       machine.hosts ? "of hosts" : "on this host",
                       machine.launcher.empty() ? "" : ", ", fmt::join(machine.launcher, " "));
}

// The record that this run continues, or a new one.
ReportRecord begin_record(const Options& options, const ReportMachine& machine, double seconds) {
    ReportRecord record{describe_machine(machine),
                        config::version_text(),
                        fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(std::time(nullptr))),
                        seconds,
                        {}};
    if (!fs::exists(options.json) || options.again) return record;
    ReportRecord old = read_record(options.json);
    if (old.machine != record.machine || old.version != record.version)
        throw config::UsageError(fmt::format(
            "{} is from torusmp {}, {}; this is {}, {}: choose another -o, or repeat all "
            "measurements with --again",
            options.json, old.version, old.machine, record.version, record.machine));
    return old;
}

bool is_done(const ReportRecord& record, const ReportPart& part) {
    const RecordedPart* const done = record.find(part.name);
    return done != nullptr && done->failure.empty();
}

// Sorts in the order of the plan, so that a resumed report looks like an uninterrupted one.
void put(ReportRecord& record, RecordedPart part, const std::vector<ReportPart>& plan) {
    std::erase_if(record.parts, [&](const RecordedPart& other) { return other.name == part.name; });
    const auto place = [&](const std::string& name) {
        std::size_t at = 0;
        while (at < plan.size() && plan[at].name != name) ++at;
        return at;
    };
    auto at = record.parts.begin();
    while (at != record.parts.end() && place(at->name) < place(part.name)) ++at;
    record.parts.insert(at, std::move(part));
}

// The name of a cluster's file or a testbed's, without folders.
std::string base_name(const std::string& file) {
    return fs::path(file).filename();
}

}  // namespace

int report(const Options& options) {
    const ReportPrograms programs = find_programs();
    const ReportMachine machine = machine_of(options, programs);
    const std::vector<ReportPart> plan = plan_report(machine);
    const std::vector<ReportPart> parts = choose_parts(plan, options.only);
    check_files(options);
    check_can_draw();
    const double seconds =
        options.seconds_given ? options.seconds : seconds_of_a_figure(parts, options.budget);
    std::optional<ReportRecord> before;
    if (!options.compare.empty()) before = read_record(options.compare);
    ReportRecord record = begin_record(options, machine, seconds);

    std::size_t ahead = 0, kept = 0, failed = 0;
    for (const ReportPart& part : parts)
        is_done(record, part) ? ++kept : ahead += std::size_t(part.figures) + 1;
    if (kept > 0)
        fmt::print("{} of {} parts are in {} already\n", kept, parts.size(), options.json);
    end_children_with_us();
    {
        Progress progress(isatty(STDERR_FILENO) == 1);
        progress.expect(ahead);
        for (const ReportPart& part : parts) {
            if (is_done(record, part)) continue;
            progress.step(part.name, std::size_t(part.figures) + 1);
            RecordedPart done = run_part(part, programs, record.seconds, options.json + ".part");
            failed += !done.failure.empty();
            const std::string line =
                fmt::format("{:<24} {:>6.1f} s{}{}\n", part.name, done.took,
                            done.failure.empty() ? "" : "  left out: ", done.failure);
            put(record, std::move(done), plan);
            write_whole(options.json, as_json(record));
            progress.clear();
            fmt::print("{}", line);
            std::fflush(stdout);
        }
    }
    const std::string page =
        as_html({record, base_name(options.json), before ? &*before : nullptr,
                 base_name(options.compare), plan.size() == parts.size() ? plan.size() : 0},
                as_svg);
    write_whole(options.output, page);
    fmt::print("{}: {} parts{}; all samples in {}\n", options.output, record.parts.size(),
               failed == 0 ? "" : fmt::format(", {} of them left out", failed), options.json);
    return failed == parts.size() ? config::exit_failure : config::exit_ok;
}

}  // namespace torusmp::bench
