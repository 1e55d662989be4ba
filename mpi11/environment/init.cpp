// SPDX-License-Identifier: BSD-3-Clause
// Start and end of MPI (MPI-1.1, section 7.5; threads: MPI-2.2, section 12.4), and functions that a
// program may call at any time.
#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "mpi11/environment/info.h"
#include "mpi11/environment/instance.h"
#include "mpi11/error/check.h"

namespace torusmp::mpi {
namespace {

int begin(int level, int* provided, const char* call) {
    // MPI_COMM_WORLD's handler is the first one that exists.
    if (in_world()) return api(call, [] { fail(MPI_ERR_OTHER, "called a second time"); });
    const int found = begin_world(level, call);
    if (provided != nullptr) *provided = found;
    return MPI_SUCCESS;
}

}  // namespace
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
    return api("MPI_Finalize", [] {
        if (!in_world()) fail(MPI_ERR_OTHER, "called before MPI_Init");
        end_world();
    });
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

// Reports, for each kind of resource, whether this process is restricted to a single one.
#pragma weak MPI_Get_hw_resource_info = PMPI_Get_hw_resource_info
int PMPI_Get_hw_resource_info(MPI_Info* hw_info) {
    return api("MPI_Get_hw_resource_info", [&] {
        check_output("hw_info", hw_info);
        *hw_info = handle_of(make<Info>(Info::Entries{{shared_memory_resource, "true"}}));
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
