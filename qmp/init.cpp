// SPDX-License-Identifier: BSD-3-Clause
// Start and end of QMP: joining the job, the flags, the three predefined communicators.
#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "collectives/schedule/exchange.h"
#include "config/geometry.h"
#include "job/front_ends.h"
#include "qmp/communicator.h"
#include "qmp/message.h"

namespace torusmp::qmp {
namespace {

Placement placement_from_environment() {
    const char* const value = std::getenv("QMP_PLACEMENT");
    if (value == nullptr || std::string_view(value) == "auto") return Placement::automatic;
    if (std::string_view(value) == "rank") return Placement::rank;
    if (std::string_view(value) == "declared") return Placement::declared;
    throw FlagError(
        fmt::format("QMP_PLACEMENT: found '{}', expected auto, rank or declared", value));
}

// The job of this node: its part of the allocated grid, or of consecutive nodes.
int job_color(const Library& lib) {
    const auto& jobs = lib.flags.jobs;
    if (jobs.empty()) return 0;
    const auto& group = lib.allocated->group;
    if (lib.flags.geometry.empty()) return group.member() / (group.size() / jobs[0]);
    const Topology& grid = *lib.allocated->topology;
    int color = 0;
    for (std::size_t d = jobs.size(); d-- > 0;)
        color = color * jobs[d] + grid.coordinates()[d] * jobs[d] / grid.dims()[d];
    return color;
}

// Ranks that -qmp-nmpi leaves out: they relay packets until the others are done.
[[noreturn]] void sit_out(Library& lib) {
    lib.process->leave();
    lib.process.reset();
    std::exit(0);
}

void make_communicators(Library& lib, const char* call) {
    const auto& flags = lib.flags;
    core::Runtime& runtime = lib.process->runtime();
    lib.communicators.push_back(std::make_unique<QMP_comm_struct>(
        runtime, deal_nodes(flags, lib.placement, runtime.torus()), lib.next_context++,
        lib.process->collective_policy()));
    lib.allocated = lib.job = lib.default_comm = lib.communicators.back().get();
    lib.allocated->key = lib.allocated->group.member();
    lib.machine_node = lib.allocated->group.member();
    lib.machine_size = lib.allocated->group.size();

    if (!flags.geometry.empty()) {
        lib.allocated->topology.emplace(flags.geometry, flags.allocated_map, lib.machine_node);
        lib.type = QMP_GRID;
    } else if (config::node_torus(lib.process->settings()) && covers_machine(*lib.allocated)) {
        lib.allocated->topology = machine_topology(*lib.allocated);
        lib.type = QMP_GRID;
    }
    lib.job = split(*lib.allocated, job_color(lib), 0, call);
    if (!flags.jobs.empty() && !flags.geometry.empty()) {
        std::vector<int> dims = flags.geometry;
        for (std::size_t d = 0; d < dims.size(); ++d) dims[d] /= flags.jobs[d];
        lib.job->topology.emplace(dims, flags.allocated_map, lib.job->group.member());
    }
    lib.default_comm = split(*lib.job, 0, 0, call);
}

void start(int* argc, char*** argv, int required, const char* call) {
    Library& lib = library();
    if (lib.was_initialized)
        fail(call, lib.initialized ? "called a second time"
                                   : "called after QMP_finalize_msg_passing: a process can join a "
                                     "job only once");
    if (required < QMP_THREAD_SINGLE || required > QMP_THREAD_MULTIPLE)
        fail(call, fmt::format("found thread level {}, expected one of QMP_THREAD_...", required));
    try {
        lib.process = job::Process::acquire(required == QMP_THREAD_MULTIPLE);
        lib.machine_node = lib.process->rank();
        lib.machine_size = lib.process->size();
        lib.placement = placement_from_environment();
        if (argc != nullptr && argv != nullptr) lib.flags = take_flags(*argc, *argv);
        if (lib.flags.native_geometry) {
            const auto extents = lib.process->runtime().torus().extents();
            lib.flags.geometry.assign(extents.begin(), extents.end());
        }
        check_flags(lib.flags, lib.process->size());
    } catch (const FlagError& error) {
        refuse(error.what());
    } catch (const config::ConfigError& error) {
        refuse(error.what());
    }
    if (lib.process->rank() >= lib.flags.processes.value_or(lib.process->size())) sit_out(lib);
    hot.runtime = &lib.process->runtime();
    job::come_up();
    lib.initialized = true;
    lib.was_initialized = true;
    make_communicators(lib, call);
    begin_reports();
}

void finalize(const char* call) {
    Library& lib = running(call);
    lib.process->runtime().progress();
    if (const std::string open = handles_in_flight(); !open.empty())
        fail(call, "messages are still in flight and were never waited for:" + open);
    {
        // Counts as a collective: nodes that are in another one, and wait for this one, get an
        // error.
        collectives::Exchange end(lib.allocated->group);
        end.start("finalize");
        end.wait(call);
        if (end.error() == core::Error::mismatch) fail(call, end.failure());
    }
    end_reports();
    lib.initialized = false;
    hot.runtime = nullptr;
    lib.allocated = lib.job = lib.default_comm = nullptr;
    // The schedule of all nodes answers them until every node has come.
    const auto everybody = std::move(lib.communicators.front());
    if (everybody->mpi_comm != nullptr)
        job::mpi_functions.free(std::exchange(everybody->mpi_comm, nullptr));
    lib.communicators.clear();
    if (job::mpi_functions.end != nullptr) job::mpi_functions.end();
    job::go_down(*lib.process);
    const std::lock_guard lock(lib.mutex);
    if (lib.allocations == 0) lib.process.reset();
}

[[noreturn]] void abort_job(int code, const std::string& message) {
    Library& lib = library();
    const bool joined = lib.process && (lib.initialized || !lib.was_initialized);
    if (joined) lib.process->abort(code, message);
    job::end_process(code, {});
}

}  // namespace
}  // namespace torusmp::qmp

using namespace torusmp::qmp;

extern "C" {

QMP_status_t QMP_init_msg_passing(int* argc, char*** argv, QMP_thread_level_t required,
                                  QMP_thread_level_t* provided) {
    const char* const call = __func__;
    return guarded(call, [&] {
        start(argc, argv, number_of(required), call);
        // Any thread may call the Runtime, as long as no two threads call at the same time.
        const bool honoured = required != QMP_THREAD_MULTIPLE || library().process->threads();
        if (provided != nullptr) *provided = honoured ? required : QMP_THREAD_SERIALIZED;
        return QMP_SUCCESS;
    });
}

QMP_bool_t QMP_is_initialized(void) {
    return library().initialized ? QMP_TRUE : QMP_FALSE;
}

void QMP_finalize_msg_passing(void) {
    const char* const call = __func__;
    guarded(call, [&] { finalize(call); });
}

void QMP_abort(int error_code) {
    QMP_error("abort: %i", error_code);
    abort_job(error_code, fmt::format("QMP_abort({})", error_code));
}

void QMP_abort_string(int error_code, char* message) {
    QMP_error("%s", message == nullptr ? "" : message);
    QMP_abort(error_code);
}
}
