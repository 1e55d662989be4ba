// SPDX-License-Identifier: BSD-3-Clause
// Control variables: the settings, as texts. Until this process has joined the job they may be
// written; all ranks must write the same.
#include <string>

#include "config/load.h"
#include "job/early_settings.h"
#include "job/settings.h"
#include "mpi11/environment/library.h"
#include "mpi11/tool/tool.h"

namespace torusmp::mpi::tool {
namespace {

using config::AnySetting;

// Characters of a value, with its null; longer ones are cut.
constexpr int longest_value = 4096;

struct ControlHandle {
    const AnySetting* setting;
};
Handles<ControlHandle, MPI_T_cvar_handle> control_handles;

// The settings with which this process has joined the job, or would join one.
config::Settings settings_now() {
    if (library().process) return library().process->settings();
    try {
        return job::settings_for_rank();
    } catch (const config::ConfigError&) {
        return config::Settings(job::schema());  // MPI_Init reports it
    }
}

void write(const AnySetting& setting, const char* text) {
    if (library().process || library().finalized) refuse(MPI_T_ERR_CVAR_SET_NOT_NOW);
    try {
        job::set_early(setting, text);
    } catch (const config::ConfigError&) {
        refuse(MPI_T_ERR_INVALID);
    }
}

}  // namespace

std::vector<int> control_variables_of(std::string_view category) {
    std::vector<int> found;
    const auto& all = job::schema().settings();
    for (std::size_t i = 0; i < all.size(); ++i)
        if (all[i]->section() == category) found.push_back(int(i));
    return found;
}

}  // namespace torusmp::mpi::tool

using namespace torusmp::mpi;

extern "C" {

#pragma weak MPI_T_cvar_get_num = PMPI_T_cvar_get_num
int PMPI_T_cvar_get_num(int* num_cvar) {
    return tool::call(
        [&] { tool::required(num_cvar) = int(torusmp::job::schema().settings().size()); });
}

#pragma weak MPI_T_cvar_get_info = PMPI_T_cvar_get_info
int PMPI_T_cvar_get_info(int cvar_index, char* name, int* name_len, int* verbosity,
                         MPI_Datatype* datatype, MPI_T_enum* enumtype, char* desc, int* desc_len,
                         int* bind, int* scope) {
    return tool::call([&] {
        const auto& setting = *tool::at(torusmp::job::schema().settings(), cvar_index);
        tool::put_text(setting.key(), name, name_len);
        tool::put(verbosity, int(MPI_T_VERBOSITY_USER_BASIC));
        tool::put(datatype, MPI_CHAR);
        tool::put(enumtype, MPI_T_ENUM_NULL);
        tool::put_text(setting.help(), desc, desc_len);
        tool::put(bind, int(MPI_T_BIND_NO_OBJECT));
        tool::put(scope, int(MPI_T_SCOPE_ALL_EQ));
    });
}

#pragma weak MPI_T_cvar_get_index = PMPI_T_cvar_get_index
int PMPI_T_cvar_get_index(const char* name, int* cvar_index) {
    return tool::call([&] {
        const std::string_view wanted(&tool::required(name));
        tool::required(cvar_index) =
            tool::index_of(torusmp::job::schema().settings(),
                           [&](const auto* setting) { return setting->key() == wanted; });
    });
}

#pragma weak MPI_T_cvar_handle_alloc = PMPI_T_cvar_handle_alloc
int PMPI_T_cvar_handle_alloc(int cvar_index, void*, MPI_T_cvar_handle* handle, int* count) {
    return tool::call([&] {
        const auto* const setting = tool::at(torusmp::job::schema().settings(), cvar_index);
        tool::put(count, tool::longest_value);
        tool::required(handle) =
            tool::control_handles.add(std::make_unique<tool::ControlHandle>(tool::ControlHandle{setting}));
    });
}

#pragma weak MPI_T_cvar_handle_free = PMPI_T_cvar_handle_free
int PMPI_T_cvar_handle_free(MPI_T_cvar_handle* handle) {
    return tool::call([&] {
        tool::control_handles.end(tool::required(handle), MPI_T_ERR_INVALID_HANDLE);
        *handle = MPI_T_CVAR_HANDLE_NULL;
    });
}

#pragma weak MPI_T_cvar_read = PMPI_T_cvar_read
int PMPI_T_cvar_read(MPI_T_cvar_handle handle, void* buf) {
    return tool::call([&] {
        const auto& held = tool::control_handles.find(handle, MPI_T_ERR_INVALID_HANDLE);
        int room = tool::longest_value;
        tool::put_text(tool::settings_now().text(*held.setting),
                       &tool::required(static_cast<char*>(buf)), &room);
    });
}

#pragma weak MPI_T_cvar_write = PMPI_T_cvar_write
int PMPI_T_cvar_write(MPI_T_cvar_handle handle, const void* buf) {
    return tool::call([&] {
        const auto& held = tool::control_handles.find(handle, MPI_T_ERR_INVALID_HANDLE);
        tool::write(*held.setting, &tool::required(static_cast<const char*>(buf)));
    });
}
}
