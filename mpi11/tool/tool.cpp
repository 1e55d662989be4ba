// SPDX-License-Identifier: BSD-3-Clause
// Beginning and end of the tools interface, enumerations, categories: one for each table of
// settings and those of performance variables and events.
#include "mpi11/tool/tool.h"

#include <array>
#include <string>

#include "job/settings.h"

namespace torusmp::mpi::tool {
namespace {

int users = 0;

struct Item {
    int value;
    const char* name;
};
constexpr std::array<Item, 4> link_items{{{link_absent, "absent"},
                                          {link_on_cable, "cable"},
                                          {link_on_detour, "detour"},
                                          {link_down, "down"}}};

void check_enum(MPI_T_enum type) {
    if (type != link_states()) refuse(MPI_T_ERR_INVALID);
}

struct Category {
    std::string name, help;
};

const std::vector<Category>& categories() {
    static const auto* const made = [] {
        auto list = std::make_unique<std::vector<Category>>();
        for (const std::string_view section : job::schema().sections())
            list->push_back({std::string(section),
                             "The settings whose keys begin with " + std::string(section) + "."});
        list->push_back({"link counters",
                         "The traffic of each link of this rank, and cables that "
                         "die and return."});
        list->push_back({"transport counters", "The traffic of each transport of this rank."});
        list->push_back(
            {"message counters", "Messages that have not matched a receive, and faults."});
        return list.release();
    }();
    return *made;
}

}  // namespace

std::mutex& guard() {
    static std::mutex* const mutex = std::make_unique<std::mutex>().release();
    return *mutex;
}

bool initialized() {
    return users > 0;
}

MPI_T_enum link_states() {
    return reinterpret_cast<MPI_T_enum>(const_cast<Item*>(link_items.data()));
}

}  // namespace torusmp::mpi::tool

using namespace torusmp::mpi;

extern "C" {

#pragma weak MPI_T_init_thread = PMPI_T_init_thread
int PMPI_T_init_thread(int, int* provided) {
    const std::lock_guard lock(tool::guard());
    ++tool::users;
    tool::put(provided, MPI_THREAD_MULTIPLE);
    return MPI_SUCCESS;
}

#pragma weak MPI_T_finalize = PMPI_T_finalize
int PMPI_T_finalize(void) {
    return tool::call([] { --tool::users; });
}

#pragma weak MPI_T_enum_get_info = PMPI_T_enum_get_info
int PMPI_T_enum_get_info(MPI_T_enum enumtype, int* num, char* name, int* name_len) {
    return tool::call([&] {
        tool::check_enum(enumtype);
        tool::put(num, int(tool::link_items.size()));
        tool::put_text("link state", name, name_len);
    });
}

#pragma weak MPI_T_enum_get_item = PMPI_T_enum_get_item
int PMPI_T_enum_get_item(MPI_T_enum enumtype, int indx, int* value, char* name, int* name_len) {
    return tool::call([&] {
        tool::check_enum(enumtype);
        const tool::Item& item = tool::at(tool::link_items, indx);
        tool::put(value, item.value);
        tool::put_text(item.name, name, name_len);
    });
}

#pragma weak MPI_T_category_get_num = PMPI_T_category_get_num
int PMPI_T_category_get_num(int* num_cat) {
    return tool::call([&] { tool::required(num_cat) = int(tool::categories().size()); });
}

#pragma weak MPI_T_category_get_info = PMPI_T_category_get_info
int PMPI_T_category_get_info(int cat_index, char* name, int* name_len, char* desc, int* desc_len,
                             int* num_cvars, int* num_pvars, int* num_categories) {
    return tool::call([&] {
        const tool::Category& category = tool::at(tool::categories(), cat_index);
        tool::put_text(category.name, name, name_len);
        tool::put_text(category.help, desc, desc_len);
        tool::put(num_cvars, int(tool::control_variables_of(category.name).size()));
        tool::put(num_pvars, int(tool::performance_variables_of(category.name).size()));
        tool::put(num_categories, 0);
    });
}

#pragma weak MPI_T_category_get_index = PMPI_T_category_get_index
int PMPI_T_category_get_index(const char* name, int* cat_index) {
    return tool::call([&] {
        const std::string_view wanted(&tool::required(name));
        tool::required(cat_index) = tool::index_of(
            tool::categories(), [&](const auto& category) { return category.name == wanted; });
    });
}

#pragma weak MPI_T_category_get_cvars = PMPI_T_category_get_cvars
int PMPI_T_category_get_cvars(int cat_index, int len, int indices[]) {
    return tool::call([&] {
        const std::string& name = tool::at(tool::categories(), cat_index).name;
        tool::put_indices(tool::control_variables_of(name), len, indices);
    });
}

#pragma weak MPI_T_category_get_pvars = PMPI_T_category_get_pvars
int PMPI_T_category_get_pvars(int cat_index, int len, int indices[]) {
    return tool::call([&] {
        const std::string& name = tool::at(tool::categories(), cat_index).name;
        tool::put_indices(tool::performance_variables_of(name), len, indices);
    });
}

#pragma weak MPI_T_category_get_num_events = PMPI_T_category_get_num_events
int PMPI_T_category_get_num_events(int cat_index, int* num_events) {
    return tool::call([&] {
        const std::string& name = tool::at(tool::categories(), cat_index).name;
        tool::required(num_events) = int(tool::events_of(name).size());
    });
}

#pragma weak MPI_T_category_get_events = PMPI_T_category_get_events
int PMPI_T_category_get_events(int cat_index, int len, int indices[]) {
    return tool::call([&] {
        const std::string& name = tool::at(tool::categories(), cat_index).name;
        tool::put_indices(tool::events_of(name), len, indices);
    });
}

// No category contains others.
#pragma weak MPI_T_category_get_categories = PMPI_T_category_get_categories
int PMPI_T_category_get_categories(int cat_index, int, int[]) {
    return tool::call([&] { tool::at(tool::categories(), cat_index); });
}

#pragma weak MPI_T_category_changed = PMPI_T_category_changed
int PMPI_T_category_changed(int* update_number) {
    return tool::call([&] { tool::required(update_number) = 0; });
}
}
