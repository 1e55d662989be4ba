// SPDX-License-Identifier: BSD-3-Clause
// How Fortran stands in the binary interface (MPI-5.0, section 20.5): the sizes and values of
// gfortran, which are built in. A program may state its own at any time; only the same are
// accepted.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>

#include "mpi11/datatype/basic_types.h"
#include "mpi11/environment/info.h"
#include "mpi11/error/check.h"

namespace torusmp::mpi {
namespace {

Info::Entries fortran_entries() {
    Info::Entries entries;
    const auto size_of = [&](const char* key, Basic basic) {
        entries.emplace_back(key, fmt::to_string(int{facts(basic).size}));
    };
    size_of("mpi_logical_size", Basic::logical);
    size_of("mpi_integer_size", Basic::integer);
    size_of("mpi_real_size", Basic::real);
    size_of("mpi_double_precision_size", Basic::double_precision);
    const auto supports = [&](Basic basic) {
        std::string key = facts(basic).name;
        for (char& letter : key) letter = char(std::tolower(letter));
        entries.emplace_back(key + "_supported", "true");
    };
    for (auto type = int(Basic::logical1); type <= int(Basic::complex32); ++type)
        supports(Basic(type));
    supports(Basic::double_complex);
    return entries;
}

// The size and values of LOGICAL.
constexpr int logical_bytes = int(sizeof(MPI_Fint));
constexpr MPI_Fint true_value = 1, false_value = 0;

void check_booleans(int size, const void* yes, const void* no) {
    if (yes == nullptr || no == nullptr)
        fail(MPI_ERR_ARG, "found a null pointer for {}", yes == nullptr ? ".TRUE." : ".FALSE.");
    if (size != logical_bytes)
        fail(MPI_ERR_ABI, "found LOGICAL of {} bytes, expected {}", size, logical_bytes);
}

}  // namespace
}  // namespace torusmp::mpi

using namespace torusmp::mpi;

extern "C" {

#pragma weak MPI_Abi_get_fortran_info = PMPI_Abi_get_fortran_info
int PMPI_Abi_get_fortran_info(MPI_Info* info) {
    return api_at_any_time("MPI_Abi_get_fortran_info", [&] {
        check_output("info", info);
        *info = handle_of(make<Info>(fortran_entries()));
    });
}

#pragma weak MPI_Abi_set_fortran_info = PMPI_Abi_set_fortran_info
int PMPI_Abi_set_fortran_info(MPI_Info info) {
    return api_at_any_time("MPI_Abi_set_fortran_info", [&] {
        const Info ours(fortran_entries());
        for (const auto& [key, value] : entries_of(info))
            if (const std::string* const known = ours.find(key);
                known != nullptr && *known != value)
                fail(MPI_ERR_ABI, "found {} = {}, expected {}", key, value, *known);
    });
}

#pragma weak MPI_Abi_get_fortran_booleans = PMPI_Abi_get_fortran_booleans
int PMPI_Abi_get_fortran_booleans(int logical_size, void* logical_true, void* logical_false,
                                  int* is_set) {
    return api_at_any_time("MPI_Abi_get_fortran_booleans", [&] {
        check_output("is_set", is_set);
        check_booleans(logical_size, logical_true, logical_false);
        std::memcpy(logical_true, &true_value, sizeof true_value);
        std::memcpy(logical_false, &false_value, sizeof false_value);
        *is_set = 1;
    });
}

#pragma weak MPI_Abi_set_fortran_booleans = PMPI_Abi_set_fortran_booleans
int PMPI_Abi_set_fortran_booleans(int logical_size, void* logical_true, void* logical_false) {
    return api_at_any_time("MPI_Abi_set_fortran_booleans", [&] {
        check_booleans(logical_size, logical_true, logical_false);
        MPI_Fint yes = 0, no = 0;
        std::memcpy(&yes, logical_true, sizeof yes);
        std::memcpy(&no, logical_false, sizeof no);
        if (yes != true_value || no != false_value)
            fail(MPI_ERR_ABI, "found {} and {} for .TRUE. and .FALSE., expected {} and {}", yes, no,
                 true_value, false_value);
    });
}
}
