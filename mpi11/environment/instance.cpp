// SPDX-License-Identifier: BSD-3-Clause
// This process's membership in the job, and its users: the world model, sessions, QMP.
#include "mpi11/environment/instance.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "collectives/schedule/exchange.h"
#include "job/front_ends.h"
#include "job/settings.h"
#include "mpi11/attribute/attributes.h"
#include "mpi11/coll/operation.h"
#include "mpi11/comm/creation.h"
#include "mpi11/comm/group.h"
#include "mpi11/datatype/datatype.h"
#include "mpi11/environment/info.h"
#include "mpi11/error/check.h"
#include "mpi11/error/leak_report.h"
#include "mpi11/partitioned/message.h"
#include "mpi11/pt2pt/buffered.h"
#include "mpi11/pt2pt/request.h"
#include "mpi11/spawn/joined.h"
#include "mpi11/tool/events.h"
#include "mpi11/tool/tool.h"

namespace torusmp::mpi {
namespace {

void make_error_handlers() {
    const auto handler = [](ErrorHandler::Way way, MPI_Errhandler handle) {
        make_predefined(make<ErrorHandler>(way), handle);
    };
    handler(ErrorHandler::Way::fatal, MPI_ERRORS_ARE_FATAL);
    handler(ErrorHandler::Way::abort, MPI_ERRORS_ABORT);
    handler(ErrorHandler::Way::back, MPI_ERRORS_RETURN);
}

Communicator& make_communicator(const std::shared_ptr<World>& world, std::vector<Rank> members,
                                Context first, const char* name) {
    auto& comm = make_intra(world, std::move(members), first);
    comm.name = name;
    comm.error_handler = Reference<ErrorHandler>(*find<ErrorHandler>(MPI_ERRORS_ARE_FATAL));
    return comm;
}

// They exist without the world model too: errors that belong to no object go to the first one.
void make_communicators(Library& lib) {
    core::Runtime& runtime = lib.process->runtime();
    std::vector<Rank> all(std::size_t(runtime.size()));
    for (Rank rank = 0; rank < runtime.size(); ++rank) all[std::size_t(rank)] = rank;
    const auto world = std::make_shared<World>(lib.process);
    lib.world = &make_communicator(world, std::move(all), 0, "MPI_COMM_WORLD");
    lib.self = &make_communicator(world, {runtime.rank()}, contexts_each, "MPI_COMM_SELF");
    hot.world = lib.world;
    begin_reports();
}

// Releases the communicators of a job that was left, and with them its Runtime.
void drop_communicators(Library& lib) {
    release(*lib.self);
    release(*lib.world);
}

// The state between the calls of the front ends and of sessions.
struct Users {
    bool world = false;  // between MPI_Init and MPI_Finalize
    bool qmp = false;    // MPI was initialized only for QMP_get_hidden_comm
    int sessions = 0;    // open ones
    // The process that has opened the first session; -1 if none has. Sessions are a front end of
    // the job from then until this process exits: they may come and go, and its exit leaves the
    // job.
    pid_t sessions_of = -1;
};
Users users;
std::mutex users_mutex;  // sessions begin and end in any thread

void update_running() {
    hot.running = in_effect();
}

bool is_level(int level) {
    return level == MPI_THREAD_SINGLE || level == MPI_THREAD_FUNNELED ||
           level == MPI_THREAD_SERIALIZED || level == MPI_THREAD_MULTIPLE;
}

[[noreturn]] void refuse(const char* call, std::string_view why) {
    const std::string text = fmt::format("{}: {}", call, why);
    if (library().process) library().process->abort(2, text);
    job::end_process(2, text);
}

// MPI_COMM_WORLD and MPI_COMM_SELF are no longer valid handles.
void end_world_handles() {
    for (const Communicator* const comm : {library().world, library().self})
        predefined[comm->constant] = nullptr;
}

// Objects that do not depend on the job.
void make_lasting_objects() {
    make_error_handlers();
    make_operations();
    make_datatypes();
    make_predefined_group();
}

// Joins the job unless this process is in it. Returns the thread level that can be provided.
int join(int level, const char* call) {
    Library& lib = library();
    if (!lib.process) {
        try {
            lib.process = job::Process::acquire(level == MPI_THREAD_MULTIPLE);
            hot.runtime = &lib.process->runtime();
            shared_by_threads = level == MPI_THREAD_MULTIPLE && lib.process->threads();
            lib.main_thread = std::this_thread::get_id();
            if (lib.world == nullptr)
                make_lasting_objects();
            else
                drop_communicators(lib);
            make_communicators(lib);
            tool::watch_job();
        } catch (const std::exception& error) {
            refuse(call, error.what());
        }
    }
    return level == MPI_THREAD_MULTIPLE && !shared_by_threads ? MPI_THREAD_SERIALIZED : level;
}

void make_world(int level, const char* call) {
    Library& lib = library();
    lib.thread_level = join(level, call);
    lib.main_thread = std::this_thread::get_id();
    make_predefined(*lib.world, MPI_COMM_WORLD);
    make_predefined(*lib.self, MPI_COMM_SELF);
    make_predefined_info();
    lib.initialized = true;
    try {
        meet_parents();
    } catch (const std::exception& error) {
        refuse(call, error.what());
    }
}

// Counts as a collective: ranks that are in another one, and wait for this one, get an error.
void take_part_in_the_end(Communicator& world) {
    collectives::Exchange end(world.group());
    end.start("MPI_Finalize");
    end.wait("MPI_Finalize");
    // Deaths of other ranks are reported to this rank when they matter.
    if (end.error() == core::Error::mismatch) fail(MPI_ERR_OTHER, "{}", end.failure());
}

// The process takes part no more.
void forget_job() {
    end_reports();
    tool::keep_counters();
    hot.running = false;
    hot.runtime = nullptr;
    hot.world = nullptr;
    library().process.reset();
}

// Called at the exit of a process that has had sessions.
void leave_at_exit() {
    job::Process* const process = library().process.get();
    if (getpid() != users.sessions_of || process == nullptr || in_effect()) return;
    try {
        finish_orphans();
        partitioned::finish();
        leave_joined_jobs();
        job::go_down(*process, "the exit of a process after its last MPI_Session_finalize");
    } catch (const std::exception& error) {
        process->abort(1, error.what());
    }
    forget_job();
}

}  // namespace

bool in_world() {
    return users.world;
}

int begin_world(int level, const char* call) {
    Library& lib = library();
    const std::lock_guard lock(users_mutex);
    if (std::exchange(users.qmp, false)) {
        users.world = true;
        job::come_up();
        return std::min(level, lib.thread_level);
    }
    if (lib.finalized)
        refuse(call,
               "called after MPI_Finalize: MPI can be initialized only once; MPI_Session_init can "
               "still be called");
    if (!is_level(level))
        refuse(call, fmt::format("found thread level {}, expected one of MPI_THREAD_...", level));
    make_world(level, call);
    users.world = true;
    update_running();
    job::come_up();
    return lib.thread_level;
}

void end_world() {
    Library& lib = library();
    if (users.world) take_part_in_the_end(*lib.world);
    // Called first, while everything still works (MPI-2.2, section 8.7.1).
    delete_attributes(*lib.self);
    delete_attributes(*lib.world);
    finish_buffered_sends();
    lib.process->runtime().progress();
    if (users.sessions == 0) {
        if (lib.process->settings()[job::setting::mpi_check]) report_leaks();
        finish_orphans();
        partitioned::finish();
        leave_joined_jobs();
    }
    const std::lock_guard lock(users_mutex);
    if (std::exchange(users.world, false)) job::go_down(*lib.process);
    users.qmp = false;
    lib.finalized = true;
    end_world_handles();
    if (users.sessions_of < 0) return forget_job();
    update_running();
}

int open_session(int level, const char* call) {
    const std::lock_guard lock(users_mutex);
    const int provided = join(level, call);
    if (users.sessions_of < 0) {
        users.sessions_of = getpid();
        job::come_up();
        std::atexit(leave_at_exit);
    }
    ++users.sessions;
    update_running();
    return provided;
}

void close_session() {
    const std::lock_guard lock(users_mutex);
    --users.sessions;
    update_running();
}

bool in_effect() {
    return users.world || users.qmp || users.sessions > 0;
}

void want_attention() {
    hot.running = false;
}

bool give_attention() {
    if (!in_effect()) return false;
    hot.running = true;
    tool::deliver_events();
    return true;
}

bool had_sessions() {
    return users.sessions_of >= 0;
}

// --- for QMP ---

namespace {

void* communicator_for_qmp(std::vector<Rank> members, Context first) {
    if (!library().initialized) {
        make_world(MPI_THREAD_MULTIPLE, "QMP_get_hidden_comm");
        users.qmp = true;
        update_running();
    }
    if (!in_effect()) fail(MPI_ERR_OTHER, "MPI has been finalized");
    auto& comm = make_intra(hot.world->world(), std::move(members), first);
    comm.error_handler = hot.world->error_handler;
    return handle_of(comm);
}

void free_communicator_for_qmp(void* handle) {
    if (auto* const comm = find<Communicator>(static_cast<MPI_Comm>(handle))) {
        if (in_effect()) delete_attributes(*comm);
        release(*comm);
    }
}

void end_for_qmp() {
    if (users.qmp) end_world();
}

[[gnu::constructor]] void offer_to_qmp() {
    job::mpi_functions = {communicator_for_qmp, free_communicator_for_qmp, end_for_qmp};
}

}  // namespace
}  // namespace torusmp::mpi
