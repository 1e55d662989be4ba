// SPDX-License-Identifier: BSD-3-Clause
// Start and end of MPI (MPI-1.1, section 7.5; threads: MPI-2.2, section 12.4), and functions that a
// program may call at any time.
#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "collectives/schedule/exchange.h"
#include "config/load.h"
#include "job/front_ends.h"
#include "job/settings.h"
#include "mpi11/attribute/attributes.h"
#include "mpi11/coll/operation.h"
#include "mpi11/comm/group.h"
#include "mpi11/datatype/datatype.h"
#include "mpi11/environment/info.h"
#include "mpi11/error/check.h"
#include "mpi11/error/error_codes.h"
#include "mpi11/error/leak_report.h"
#include "mpi11/pt2pt/buffered.h"
#include "mpi11/pt2pt/request.h"

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

Communicator& make_communicator(std::vector<Rank> members, Context first, MPI_Comm handle,
                                const char* name) {
    auto& comm = make<Communicator>(std::move(members), first);
    make_predefined(comm, handle);
    comm.name = name;
    comm.error_handler = Reference<ErrorHandler>(*find<ErrorHandler>(MPI_ERRORS_ARE_FATAL));
    return comm;
}

void make_communicators(Library& lib) {
    core::Runtime& runtime = lib.process->runtime();
    std::vector<Rank> all(std::size_t(runtime.size()));
    for (Rank rank = 0; rank < runtime.size(); ++rank) all[std::size_t(rank)] = rank;
    lib.world = &make_communicator(std::move(all), 0, MPI_COMM_WORLD, "MPI_COMM_WORLD");
    lib.self = &make_communicator({runtime.rank()}, contexts_each, MPI_COMM_SELF, "MPI_COMM_SELF");
    hot.world = lib.world;
    begin_reports();
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

// MPI was initialized only for QMP_get_hidden_comm: the program has not called MPI_Init.
bool up_for_qmp = false;

int begin(int level, int* provided, const char* call) {
    Library& lib = library();
    if (up_for_qmp) {
        up_for_qmp = false;
        job::come_up();
        if (provided != nullptr) *provided = std::min(level, lib.thread_level);
        return MPI_SUCCESS;
    }
    if (lib.finalized)
        refuse(call, "called after MPI_Finalize: a process can join a job only once");
    if (lib.initialized) {
        // MPI_COMM_WORLD's handler is the first one that exists.
        return api(call, [] { fail(MPI_ERR_OTHER, "called a second time"); });
    }
    if (!is_level(level))
        refuse(call, fmt::format("found thread level {}, expected one of MPI_THREAD_...", level));
    start_mpi(level, call);
    job::come_up();
    if (provided != nullptr) *provided = lib.thread_level;
    return MPI_SUCCESS;
}

// Counts as a collective: ranks that are in another one, and wait for this one, get an error.
void take_part_in_the_end(Communicator& world) {
    collectives::Exchange end(world.group());
    end.start("MPI_Finalize");
    end.wait("MPI_Finalize");
    // Deaths of other ranks are reported to this rank when they matter.
    if (end.error() == core::Error::mismatch) fail(MPI_ERR_OTHER, "{}", end.failure());
}

void end() {
    Library& lib = library();
    if (!up_for_qmp) take_part_in_the_end(*lib.world);
    // Called first, while everything still works (MPI-2.2, section 8.7.1).
    delete_attributes(*lib.self);
    delete_attributes(*lib.world);
    finish_buffered_sends();
    lib.process->runtime().progress();
    if (lib.process->settings()[job::setting::mpi_check]) report_leaks();
    finish_orphans();
    if (!up_for_qmp) job::go_down(*lib.process);
    up_for_qmp = false;
    end_reports();
    lib.finalized = true;
    hot = Hot{};
    lib.process.reset();
}

// --- for QMP ---

void* communicator_for_qmp(std::vector<Rank> members, Context first) {
    if (!library().initialized) {
        start_mpi(MPI_THREAD_MULTIPLE, "QMP_get_hidden_comm");
        up_for_qmp = true;
    }
    if (!hot.running) fail(MPI_ERR_OTHER, "MPI has been finalized");
    auto& comm = make<Communicator>(std::move(members), first);
    comm.error_handler = hot.world->error_handler;
    return handle_of(comm);
}

void free_communicator_for_qmp(void* handle) {
    if (auto* const comm = find<Communicator>(static_cast<MPI_Comm>(handle))) {
        if (hot.running) delete_attributes(*comm);
        release(*comm);
    }
}

void end_for_qmp() {
    if (up_for_qmp) end();
}

[[gnu::constructor]] void offer_to_qmp() {
    job::mpi_functions = {communicator_for_qmp, free_communicator_for_qmp, end_for_qmp};
}

}  // namespace

void start_mpi(int level, const char* call) {
    Library& lib = library();
    try {
        lib.process = job::Process::acquire(level == MPI_THREAD_MULTIPLE);
        hot.runtime = &lib.process->runtime();
        shared_by_threads = level == MPI_THREAD_MULTIPLE && lib.process->threads();
        lib.thread_level =
            level == MPI_THREAD_MULTIPLE && !shared_by_threads ? MPI_THREAD_SERIALIZED : level;
        lib.main_thread = std::this_thread::get_id();
        make_error_handlers();
        make_operations();
        make_datatypes();
        make_communicators(lib);
        make_predefined_group();
        make_predefined_info();
    } catch (const std::exception& error) {
        refuse(call, error.what());
    }
    lib.initialized = true;
    hot.running = true;
}

}  // namespace torusmp::mpi

using namespace torusmp::mpi;

extern "C" {

#pragma weak MPI_Init = PMPI_Init
int PMPI_Init(int*, char***) {
    return begin(MPI_THREAD_SINGLE, nullptr, "MPI_Init");
}

#pragma weak MPI_Init_thread = PMPI_Init_thread
int PMPI_Init_thread(int*, char***, int required, int* provided) {
    return begin(required, provided, "MPI_Init_thread");
}

#pragma weak MPI_Finalize = PMPI_Finalize
int PMPI_Finalize(void) {
    return api("MPI_Finalize", [] { end(); });
}

#pragma weak MPI_Initialized = PMPI_Initialized
int PMPI_Initialized(int* flag) {
    if (flag == nullptr) return MPI_ERR_ARG;
    *flag = library().initialized ? 1 : 0;
    return MPI_SUCCESS;
}

#pragma weak MPI_Finalized = PMPI_Finalized
int PMPI_Finalized(int* flag) {
    if (flag == nullptr) return MPI_ERR_ARG;
    *flag = library().finalized ? 1 : 0;
    return MPI_SUCCESS;
}

#pragma weak MPI_Query_thread = PMPI_Query_thread
int PMPI_Query_thread(int* provided) {
    return api("MPI_Query_thread", [&] {
        check_output("provided", provided);
        *provided = library().thread_level;
    });
}

#pragma weak MPI_Is_thread_main = PMPI_Is_thread_main
int PMPI_Is_thread_main(int* flag) {
    return api("MPI_Is_thread_main", [&] {
        check_output("flag", flag);
        *flag = library().main_thread == std::this_thread::get_id() ? 1 : 0;
    });
}

#pragma weak MPI_Abort = PMPI_Abort
int PMPI_Abort(MPI_Comm comm, int errorcode) {
    return api("MPI_Abort", comm, [&](Communicator& c) {
        library().process->abort(
            errorcode & 0xff, fmt::format("MPI_Abort({}, {}) on rank {}", c.describe(), errorcode,
                                          hot.world->rank()));
    });
}

#pragma weak MPI_Get_version = PMPI_Get_version
int PMPI_Get_version(int* version, int* subversion) {
    if (version == nullptr || subversion == nullptr) return MPI_ERR_ARG;
    *version = MPI_VERSION;
    *subversion = MPI_SUBVERSION;
    return MPI_SUCCESS;
}

#pragma weak MPI_Abi_get_version = PMPI_Abi_get_version
int PMPI_Abi_get_version(int* major, int* minor) {
    if (major == nullptr || minor == nullptr) return MPI_ERR_ARG;
    *major = MPI_ABI_VERSION;
    *minor = MPI_ABI_SUBVERSION;
    return MPI_SUCCESS;
}

// The sizes that the ABI leaves to the platform.
#pragma weak MPI_Abi_get_info = PMPI_Abi_get_info
int PMPI_Abi_get_info(MPI_Info* info) {
    return api_at_any_time("MPI_Abi_get_info", [&] {
        check_output("info", info);
        *info = handle_of(
            make<Info>(Info::Entries{{"mpi_aint_size", fmt::to_string(sizeof(MPI_Aint))},
                                     {"mpi_count_size", fmt::to_string(sizeof(MPI_Count))},
                                     {"mpi_offset_size", fmt::to_string(sizeof(MPI_Offset))}}));
    });
}

#pragma weak MPI_Get_library_version = PMPI_Get_library_version
int PMPI_Get_library_version(char* version, int* resultlen) {
    if (version == nullptr || resultlen == nullptr) return MPI_ERR_ARG;
    const int length =
        std::snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING, "torusmp %s", TORUSMP_VERSION);
    *resultlen = length;
    return MPI_SUCCESS;
}

#pragma weak MPI_Get_processor_name = PMPI_Get_processor_name
int PMPI_Get_processor_name(char* name, int* resultlen) {
    return api("MPI_Get_processor_name", [&] {
        check_output("name", name);
        check_output("resultlen", resultlen);
        if (gethostname(name, MPI_MAX_PROCESSOR_NAME) != 0)
            fail(MPI_ERR_OTHER, "cannot get the name of this host: {}", std::strerror(errno));
        name[MPI_MAX_PROCESSOR_NAME - 1] = '\0';
        *resultlen = int(std::strlen(name));
    });
}

#pragma weak MPI_Wtime = PMPI_Wtime
double PMPI_Wtime(void) {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

#pragma weak MPI_Wtick = PMPI_Wtick
double PMPI_Wtick(void) {
    timespec step{};
    clock_getres(CLOCK_MONOTONIC, &step);
    return double(step.tv_sec) + 1e-9 * double(step.tv_nsec);
}

#pragma weak MPI_Pcontrol = PMPI_Pcontrol
int PMPI_Pcontrol(const int, ...) {
    return MPI_SUCCESS;  // for profilers, which define MPI_Pcontrol themselves
}

#pragma weak MPI_Alloc_mem = PMPI_Alloc_mem
int PMPI_Alloc_mem(MPI_Aint size, MPI_Info, void* baseptr) {
    return api("MPI_Alloc_mem", [&] {
        check_output("baseptr", baseptr);
        if (size < 0) fail(MPI_ERR_ARG, "found size {}, expected 0 or more bytes", size);
        void* const memory = runtime().allocate(std::size_t(size > 0 ? size : 1), 64);
        if (memory == nullptr) fail(MPI_ERR_NO_MEM, "cannot allocate {} bytes", size);
        *static_cast<void**>(baseptr) = memory;
    });
}

#pragma weak MPI_Free_mem = PMPI_Free_mem
int PMPI_Free_mem(void* base) {
    return api("MPI_Free_mem", [&] {
        if (base != nullptr) runtime().free(base);
    });
}
}
