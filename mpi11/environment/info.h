// SPDX-License-Identifier: BSD-3-Clause
// Keys and values that a program passes to the library or reads from it (MPI-2.2, chapter 9).
//
// Stored in the order in which keys were first set. Any thread may use an Info, but not while
// another thread changes it. Infos may be created before MPI_Init, used in between, and freed after
// MPI_Finalize.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mpi11/object.h"

namespace torusmp::mpi {

class Info : public Object {
  public:
    using Handle = MPI_Info;
    static constexpr Kind kind_of_class = Kind::info;
    static constexpr int error_class = MPI_ERR_INFO;
    static inline const Handle null_handle = MPI_INFO_NULL;
    static constexpr const char* null_name = "MPI_INFO_NULL";
    static constexpr const char* noun = "info";

    using Entries = std::vector<std::pair<std::string, std::string>>;

    static constexpr bool at_any_time = true;

    Info() : Object(kind_of_class) {}
    explicit Info(Entries all) : Object(kind_of_class), entries(std::move(all)) {}

    const std::string* find(std::string_view key) const;
    void set(std::string_view key, std::string_view value);
    bool erase(std::string_view key);

    Entries entries;
};

// The entries of an argument; MPI_INFO_NULL has none. Throws Failure.
Info::Entries entries_of(MPI_Info info);
// The entries that are hints for communicators (MPI-4.0, section 7.4.4); others are ignored.
Info::Entries hints_in(const Info::Entries& entries);
// The resources that a program may name as "mpi_hw_resource_type", and MPI_Get_hw_resource_info
// lists: the memory that the ranks of a host share.
inline constexpr const char* shared_memory_resource = "mpi_shared_memory";
// Creates MPI_INFO_ENV; called once, when MPI starts.
void make_predefined_info();

}  // namespace torusmp::mpi
