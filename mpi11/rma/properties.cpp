// SPDX-License-Identifier: BSD-3-Clause
// Names, groups, hints, attributes and error handlers of windows.
#include <cstring>

#include "mpi11/comm/group.h"
#include "mpi11/error/check.h"
#include "mpi11/rma/window.h"

namespace torusmp::mpi::windows {
namespace {

// The standard's hints with their defaults.
constexpr std::pair<const char*, const char*> known_hints[] = {
    {"no_locks", "false"},
    {"accumulate_ordering", "rar,raw,war,waw"},
    {"accumulate_ops", "same_op_no_op"},
    {"same_size", "false"},
    {"same_disp_unit", "false"},
    {"alloc_shared_noncontig", "false"},
    {"mpi_minimum_memory_alignment", "64"},
};

Info::Entries used_hints(const Window& window) {
    Info info;
    for (const auto& [key, value] : known_hints) info.set(key, value);
    for (const auto& [key, value] : window.hints)
        if (info.find(key) != nullptr) info.set(key, value);
    return info.entries;
}

}  // namespace
}  // namespace torusmp::mpi::windows

using namespace torusmp::mpi;

extern "C" {

#pragma weak MPI_Win_get_group = PMPI_Win_get_group
int PMPI_Win_get_group(MPI_Win win, MPI_Group* group) {
    return window_api("MPI_Win_get_group", win, [&](Window& window) {
        check_output("group", group);
        *group = make_group(Members(window.comm->members()), window.comm->session);
    });
}

#pragma weak MPI_Win_set_info = PMPI_Win_set_info
int PMPI_Win_set_info(MPI_Win win, MPI_Info info) {
    return window_api("MPI_Win_set_info", win, [&](Window& window) {
        Info hints(window.hints);
        for (const auto& [key, value] : entries_of(info)) hints.set(key, value);
        window.hints = hints.entries;
    });
}

#pragma weak MPI_Win_get_info = PMPI_Win_get_info
int PMPI_Win_get_info(MPI_Win win, MPI_Info* info_used) {
    return window_api("MPI_Win_get_info", win, [&](Window& window) {
        check_output("info_used", info_used);
        *info_used = torusmp::mpi::handle_of(make<Info>(windows::used_hints(window)));
    });
}

#pragma weak MPI_Win_set_name = PMPI_Win_set_name
int PMPI_Win_set_name(MPI_Win win, const char* win_name) {
    return window_api("MPI_Win_set_name", win, [&](Window& window) {
        check_output("win_name", win_name);
        const auto guard = runtime().lock();  // reports of waits name it
        window.name.assign(win_name, strnlen(win_name, MPI_MAX_OBJECT_NAME - 1));
        window.comm->name = window.name.empty() ? "a window" : "the window " + window.name;
    });
}

#pragma weak MPI_Win_get_name = PMPI_Win_get_name
int PMPI_Win_get_name(MPI_Win win, char* win_name, int* resultlen) {
    // For the null handle it is also the name (MPI-4.1, section 7.8).
    if (win == MPI_WIN_NULL)
        return api("MPI_Win_get_name", [&] {
            copy_name(Window::null_name, "win_name", win_name, resultlen);
        });
    return window_api("MPI_Win_get_name", win, [&](Window& window) {
        copy_name(window.name, "win_name", win_name, resultlen);
    });
}

#pragma weak MPI_Win_create_errhandler = PMPI_Win_create_errhandler
int PMPI_Win_create_errhandler(MPI_Win_errhandler_function* function, MPI_Errhandler* errhandler) {
    return api("MPI_Win_create_errhandler", [&] {
        create_error_handler("win_errhandler_fn", function, errhandler);
    });
}

#pragma weak MPI_Win_set_errhandler = PMPI_Win_set_errhandler
int PMPI_Win_set_errhandler(MPI_Win win, MPI_Errhandler errhandler) {
    return window_api("MPI_Win_set_errhandler", win, [&](Window& window) {
        window.comm->error_handler = Reference<ErrorHandler>(checked<ErrorHandler>(errhandler));
    });
}

#pragma weak MPI_Win_get_errhandler = PMPI_Win_get_errhandler
int PMPI_Win_get_errhandler(MPI_Win win, MPI_Errhandler* errhandler) {
    return window_api("MPI_Win_get_errhandler", win, [&](Window& window) {
        get_error_handler(*window.comm->error_handler, errhandler);
    });
}

#pragma weak MPI_Win_call_errhandler = PMPI_Win_call_errhandler
int PMPI_Win_call_errhandler(MPI_Win win, int errorcode) {
    return window_api("MPI_Win_call_errhandler", win, [&](Window& window) {
        check_error_code(errorcode);
        raise_for_program("MPI_Win_call_errhandler", *window.comm, errorcode);
    });
}
}
